package group

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"kf/internal/coordinator/shard"
)

// Heartbeat keeps the session of a member, and tells it whether the group
// rebalances. While the groups are loading all is well: sessions begin after it.
func (c *Coordinator) Heartbeat(q *kmsg.HeartbeatRequest, reply func(*kmsg.HeartbeatResponse)) {
	answer := func(code int16) {
		r := kmsg.NewPtrHeartbeatResponse()
		r.ErrorCode = code
		reply(r)
	}
	if q.Group == "" {
		answer(kerr.InvalidGroupID.Code)
		return
	}
	c.do(q.Group, func(m *machine) shard.Result {
		switch g := m.groups[q.Group].(type) {
		case *classicGroup:
			code := m.heartbeatClassic(g, q)
			return shard.Result{Then: func(err error) {
				if err != nil {
					code = codeOf(err)
				}
				answer(code)
			}}
		case *consumerGroup:
			return m.heartbeatConsumer(g, q, reply)
		}
		answer(kerr.UnknownMemberID.Code)
		return shard.Result{}
	}, func(code int16) {
		if code == kerr.CoordinatorLoadInProgress.Code {
			code = 0
		}
		answer(code)
	})
}

func (m *machine) heartbeatClassic(g *classicGroup, q *kmsg.HeartbeatRequest) int16 {
	if err := g.checkMember(q.MemberID, q.InstanceID); err != nil {
		return codeOf(err)
	}
	if q.Generation != g.generation {
		return kerr.IllegalGeneration.Code
	}
	member := g.members[q.MemberID]
	m.beat(g, member.id, member.timer, milliseconds(member.sessionTimeout))
	if g.now == classicPreparing {
		return kerr.RebalanceInProgress.Code
	}
	return 0
}

// committedClassic is told that a member of a classic group committed: its
// session goes on.
func (m *machine) committedClassic(g *classicGroup, member string) {
	if mem := g.members[member]; mem != nil && (g.now == classicStable || g.now == classicPreparing) {
		m.beat(g, mem.id, mem.timer, milliseconds(mem.sessionTimeout))
	}
}

// LeaveGroup removes members. Before version 3 it names one, and its error stands
// at the top.
func (c *Coordinator) LeaveGroup(q *kmsg.LeaveGroupRequest, reply func(*kmsg.LeaveGroupResponse)) {
	if q.Version < 3 {
		one := kmsg.NewLeaveGroupRequestMember()
		one.MemberID = q.MemberID
		q.Members = []kmsg.LeaveGroupRequestMember{one}
	}
	answer := func(r *kmsg.LeaveGroupResponse) {
		if q.Version < 3 && r.ErrorCode == 0 && len(r.Members) > 0 {
			r.ErrorCode = r.Members[0].ErrorCode
		}
		reply(r)
	}
	refused := func(code int16) {
		r := kmsg.NewPtrLeaveGroupResponse()
		r.ErrorCode = code
		answer(r)
	}
	if q.Group == "" {
		refused(kerr.InvalidGroupID.Code)
		return
	}
	c.do(q.Group, func(m *machine) shard.Result {
		switch g := m.groups[q.Group].(type) {
		case *classicGroup:
			r, result := m.leaveClassic(g, q)
			return then(result, func(err error) {
				if err != nil {
					refused(codeOf(err))
					return
				}
				answer(r)
			})
		case *consumerGroup:
			return m.leaveConsumer(g, q, answer)
		}
		r := kmsg.NewPtrLeaveGroupResponse()
		for i := range q.Members {
			r.Members = append(r.Members, left(&q.Members[i], kerr.UnknownMemberID.Code))
		}
		answer(r)
		return shard.Result{}
	}, refused)
}

// left is the answer for one member.
func left(q *kmsg.LeaveGroupRequestMember, code int16) kmsg.LeaveGroupResponseMember {
	r := kmsg.NewLeaveGroupResponseMember()
	r.MemberID, r.InstanceID, r.ErrorCode = q.MemberID, q.InstanceID, code
	return r
}

func (m *machine) leaveClassic(g *classicGroup, q *kmsg.LeaveGroupRequest) (*kmsg.LeaveGroupResponse, shard.Result) {
	r := kmsg.NewPtrLeaveGroupResponse()
	gone := ""
	for i := range q.Members {
		l := &q.Members[i]
		id, err := g.leaver(l)
		if err == nil {
			m.drop(g, id)
			gone = id
		}
		r.Members = append(r.Members, left(l, codeOf(err)))
	}
	if gone == "" || g.empty() {
		return r, shard.Result{}
	}
	return r, m.rebalance(g, "a member left", gone)
}

// leaver returns the id of a member that leaves. A static one may be named by its
// instance id alone: by an administrator, who knows no other.
func (g *classicGroup) leaver(q *kmsg.LeaveGroupRequestMember) (string, error) {
	switch {
	case q.MemberID == "":
		if q.InstanceID != nil && g.static[*q.InstanceID] != nil {
			return g.static[*q.InstanceID].id, nil
		}
		return "", refuse(kerr.UnknownMemberID, "")
	case g.pending[q.MemberID]:
		return q.MemberID, nil
	}
	return q.MemberID, g.checkMember(q.MemberID, q.InstanceID)
}
