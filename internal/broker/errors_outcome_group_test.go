package broker

import (
	"cmp"
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// groupOutcome is outcome for the answers of group coordinators.
func groupOutcome(answer kmsg.Response) (code int16, message string, fields map[string]any) {
	fields = make(map[string]any)
	number := func(name string, n int64) { fields[name] = float64(n) }
	text := func(s *string) string {
		if s == nil {
			return ""
		}
		return *s
	}
	switch r := answer.(type) {
	case *kmsg.JoinGroupResponse:
		code = r.ErrorCode
		number("generation", int64(r.Generation))
		number("members", int64(len(r.Members)))
		fields["leader is me"], fields["memberId set"] = r.LeaderID == r.MemberID, r.MemberID != ""
		fields["protocol"], fields["skipAssignment"] = text(r.Protocol), r.SkipAssignment
	case *kmsg.SyncGroupResponse:
		code = r.ErrorCode
	case *kmsg.HeartbeatResponse:
		code = r.ErrorCode
	case *kmsg.LeaveGroupResponse:
		code = r.ErrorCode
		for _, m := range r.Members {
			code = cmp.Or(code, m.ErrorCode)
		}
	case *kmsg.OffsetCommitResponse:
		code = r.Topics[0].Partitions[0].ErrorCode
	case *kmsg.OffsetFetchResponse:
		code = r.ErrorCode
		for _, t := range r.Topics {
			p := t.Partitions[0]
			code = cmp.Or(code, p.ErrorCode)
			number("offset", p.Offset)
			number("leaderEpoch", int64(p.LeaderEpoch))
			fields["metadata"] = text(p.Metadata)
		}
		for _, g := range r.Groups {
			code = cmp.Or(code, g.ErrorCode)
			for _, t := range g.Topics {
				p := t.Partitions[0]
				code = cmp.Or(code, p.ErrorCode)
				number("offset", p.Offset)
				number("leaderEpoch", int64(p.LeaderEpoch))
				fields["metadata"] = text(p.Metadata)
			}
		}
	case *kmsg.OffsetDeleteResponse:
		code = r.ErrorCode
		for _, t := range r.Topics {
			code = cmp.Or(code, t.Partitions[0].ErrorCode)
		}
	case *kmsg.DescribeGroupsResponse:
		g := r.Groups[0]
		code, message = g.ErrorCode, text(g.ErrorMessage)
		number("members", int64(len(g.Members)))
		fields["protocol"], fields["state"], fields["type"] = g.Protocol, g.State, g.ProtocolType
	case *kmsg.ConsumerGroupDescribeResponse:
		code, message = r.Groups[0].ErrorCode, text(r.Groups[0].ErrorMessage)
	case *kmsg.DeleteGroupsResponse:
		code = r.Groups[0].ErrorCode
	case *kmsg.ListGroupsResponse:
		code = r.ErrorCode
		number("groups", int64(len(r.Groups)))
	case *kmsg.ConsumerGroupHeartbeatResponse:
		code, message = r.ErrorCode, text(r.ErrorMessage)
		number("epoch", int64(r.MemberEpoch))
		number("heartbeatMs", int64(r.HeartbeatIntervalMillis))
		fields["member set"] = text(r.MemberID) != ""
		if fields["assignment"] = any("null"); r.Assignment != nil {
			topics := [][]int32{}
			for _, t := range r.Assignment.Topics {
				topics = append(topics, t.Partitions)
			}
			fields["assignment"] = fmt.Sprint(topics)
		}
	default:
		panic(fmt.Sprintf("unknown answer %T", answer))
	}
	return code, message, fields
}
