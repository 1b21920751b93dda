package broker

import "github.com/twmb/franz-go/pkg/kmsg"

// ConsumerGroupDescribe, key 69, versions 0 and 1.
//
// Deviation from Kafka 4.4.0: the groups are answered in the order of the
// request.

func (b *Broker) consumerGroupDescribe(c *call, q *kmsg.ConsumerGroupDescribeRequest) {
	c.later()
	b.groups.ConsumerGroupDescribe(q, func(r *kmsg.ConsumerGroupDescribeResponse) {
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
