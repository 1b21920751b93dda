package broker

import "github.com/twmb/franz-go/pkg/kmsg"

// DescribeGroups, key 15, versions 0 to 6.
//
// Deviation from Kafka 4.4.0: the groups are answered in the order of the
// request.

func (b *Broker) describeGroups(c *call, q *kmsg.DescribeGroupsRequest) {
	c.later()
	b.groups.DescribeGroups(q, func(r *kmsg.DescribeGroupsResponse) {
		if q.IncludeAuthorizedOperations {
			for i := range r.Groups {
				if g := &r.Groups[i]; g.ErrorCode == 0 {
					g.AuthorizedOperations = groupOperations
				}
			}
		}
		c.reply(r)
	})
}
