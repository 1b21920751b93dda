package broker

import "github.com/twmb/franz-go/pkg/kmsg"

// ListGroups, key 16, versions 0 to 5.
//
// Deviation from Kafka 4.4.0: the groups are sorted.

func (b *Broker) listGroups(c *call, q *kmsg.ListGroupsRequest) {
	c.later()
	b.groups.ListGroups(q, func(r *kmsg.ListGroupsResponse) { c.reply(r) })
}
