package broker

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// DeleteGroups, key 42, versions 0 to 3.
//
// Deviation from Kafka 4.4.0: the groups are answered in the order of the
// request. A share group that has state is not deleted, as the coordinator of
// that state is not served: GROUP_DELETION_FAILED.

func (b *Broker) deleteGroups(c *call, q *kmsg.DeleteGroupsRequest) {
	asked := *q
	asked.Groups = nil
	seen := make(map[string]bool, len(q.Groups))
	for _, g := range q.Groups {
		if !seen[g] {
			seen[g] = true
			asked.Groups = append(asked.Groups, g)
		}
	}
	c.later()
	b.groups.DeleteGroups(&asked, func(r *kmsg.DeleteGroupsResponse) {
		if q.Version < 3 { // which has no message that says why
			for i := range r.Groups {
				if g := &r.Groups[i]; g.ErrorCode == kerr.GroupDeletionFailed.Code {
					g.ErrorCode = kerr.UnknownServerError.Code
				}
			}
		}
		c.reply(r)
	})
}
