package broker

import "github.com/twmb/franz-go/pkg/kmsg"

// Heartbeat, key 12, versions 0 to 4.

func (b *Broker) heartbeat(c *call, q *kmsg.HeartbeatRequest) {
	c.later()
	b.groups.Heartbeat(q, func(r *kmsg.HeartbeatResponse) { c.reply(r) })
}
