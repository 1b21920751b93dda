package group

import (
	"bytes"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"kf/internal/coordinator/shard"
)

// SyncGroup brings the assignment of the leader, and fetches that of a member. A
// follower that comes before the leader waits.
func (c *Coordinator) SyncGroup(q *kmsg.SyncGroupRequest, reply func(*kmsg.SyncGroupResponse)) {
	if q.Group == "" {
		reply(syncError(kerr.InvalidGroupID.Code))
		return
	}
	c.do(q.Group, func(m *machine) shard.Result {
		switch g := m.groups[q.Group].(type) {
		case *classicGroup:
			return m.syncClassic(g, q, reply)
		case *consumerGroup:
			if !g.empty() {
				return m.syncConsumer(g, q, reply)
			}
		}
		reply(syncError(kerr.UnknownMemberID.Code))
		return shard.Result{}
	}, func(code int16) { reply(syncError(code)) })
}

func (m *machine) syncClassic(g *classicGroup, q *kmsg.SyncGroupRequest, reply func(*kmsg.SyncGroupResponse)) shard.Result {
	if err := g.checkSync(q); err != nil {
		reply(syncError(codeOf(err)))
		return shard.Result{}
	}
	if g.now == classicPreparing {
		reply(syncError(kerr.RebalanceInProgress.Code))
		return shard.Result{}
	}
	member := g.members[q.MemberID]
	g.synced(member)
	if g.unsynced == 0 {
		m.shard.Cancel(g.syncTimer)
	}
	if g.now == classicStable {
		reply(g.assigned(member))
		return shard.Result{}
	}
	// As with JoinGroup, Kafka leaves an older request without an answer.
	member.answerSync(syncError(kerr.RebalanceInProgress.Code))
	member.sync = reply
	// A leader that asks again waits for what it sent first. Kafka writes the
	// second assignment as well, and whoever loads it disagrees with the members.
	if g.leader != member || g.assigning == g.generation {
		return shard.Result{}
	}
	g.assigning = g.generation
	assigned := make(map[string][]byte, len(g.members))
	for _, a := range q.GroupAssignment {
		assigned[a.MemberID] = bytes.Clone(a.MemberAssignment)
	}
	generation := g.generation
	return shard.Result{Records: []shard.Record{g.record(assigned)}, Replayed: true, Then: func(err error) {
		if g.now != classicCompleting || g.generation != generation {
			return // a rebalance began meanwhile
		}
		if err != nil {
			m.log.Warn("an assignment could not be written", "group", g.groupID, "generation", generation, "error", err)
			m.withdraw(g, codeOf(err))
			_ = m.rebalance(g, "the assignment could not be written", "") // nobody joined yet, so there is no record
			return
		}
		m.assign(g, assigned)
	}}
}

// assign gives the members what the leader assigned to them, and ends the
// rebalance.
func (m *machine) assign(g *classicGroup, assigned map[string][]byte) {
	for _, member := range g.order {
		member.assignment = assigned[member.id]
		if member.answerSync(g.assigned(member)) {
			m.beat(g, member.id, member.timer, milliseconds(member.sessionTimeout))
		}
	}
	g.enter(classicStable)
}

// assigned tells a member its assignment.
func (g *classicGroup) assigned(m *classicMember) *kmsg.SyncGroupResponse {
	r := kmsg.NewPtrSyncGroupResponse()
	r.ProtocolType, r.Protocol, r.MemberAssignment = &g.memberType, g.protocol, m.assignment
	return r
}

// checkSync says whether a request belongs to this generation.
func (g *classicGroup) checkSync(q *kmsg.SyncGroupRequest) error {
	if err := g.checkMember(q.MemberID, q.InstanceID); err != nil {
		return err
	}
	differs := func(have, want *string) bool { return have != nil && want != nil && *have != *want }
	switch {
	case q.Generation != g.generation:
		return refuse(kerr.IllegalGeneration, "")
	case differs(q.ProtocolType, &g.memberType), differs(q.Protocol, g.protocol):
		return refuse(kerr.InconsistentGroupProtocol, "")
	}
	return nil
}
