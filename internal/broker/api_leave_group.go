package broker

import "github.com/twmb/franz-go/pkg/kmsg"

// LeaveGroup, key 13, versions 0 to 5.

func (b *Broker) leaveGroup(c *call, q *kmsg.LeaveGroupRequest) {
	c.later()
	b.groups.LeaveGroup(q, func(r *kmsg.LeaveGroupResponse) { c.reply(r) })
}
