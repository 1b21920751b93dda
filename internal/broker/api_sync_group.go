package broker

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// SyncGroup, key 14, versions 0 to 5.
//
// Deviation from Kafka 4.4.0: a request that another one of the same member
// supersedes is answered with REBALANCE_IN_PROGRESS, and one of a member that an
// administrator removes with UNKNOWN_MEMBER_ID; Kafka never answers them. Of several
// assignments that a leader sends for one generation the first counts; Kafka may tell
// the members of the first, and record the last.

func (b *Broker) syncGroup(c *call, q *kmsg.SyncGroupRequest) {
	if q.Version >= 5 && (q.ProtocolType == nil || q.Protocol == nil) {
		r := q.ResponseKind().(*kmsg.SyncGroupResponse)
		r.ErrorCode = kerr.InconsistentGroupProtocol.Code
		c.reply(r)
		return
	}
	c.later()
	b.groups.SyncGroup(q, func(r *kmsg.SyncGroupResponse) { c.reply(r) })
}
