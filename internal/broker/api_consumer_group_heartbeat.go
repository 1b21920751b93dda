package broker

import "github.com/twmb/franz-go/pkg/kmsg"

// ConsumerGroupHeartbeat, key 68, versions 0 and 1.

func (b *Broker) consumerGroupHeartbeat(c *call, q *kmsg.ConsumerGroupHeartbeatRequest) {
	c.later()
	b.groups.ConsumerGroupHeartbeat(c.client(), q, func(r *kmsg.ConsumerGroupHeartbeatResponse) { c.reply(r) })
}
