package broker

import "github.com/twmb/franz-go/pkg/kmsg"

// JoinGroup, key 11, versions 0 to 9.
//
// Deviation from Kafka 4.4.0: a request that another one of the same member
// supersedes is answered with REBALANCE_IN_PROGRESS; Kafka never answers it.

func (b *Broker) joinGroup(c *call, q *kmsg.JoinGroupRequest) {
	c.later()
	b.groups.JoinGroup(c.client(), q, func(r *kmsg.JoinGroupResponse) { c.reply(r) })
}
