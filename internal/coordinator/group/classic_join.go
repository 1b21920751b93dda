package group

import (
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"kf/internal/coordinator/shard"
	"kf/internal/format/grouprec"
)

// newMemberTimeout is how long a member may wait for its first generation.
//
// Source: Kafka 4.4.0, GroupCoordinatorConfig.java.
const newMemberTimeout = 5 * time.Minute

// The versions of JoinGroup from which on a dynamic member must come back with
// the id that it was given, and a static leader can be told not to assign.
const (
	joinRequiresID     = 4
	joinSkipAssignment = 9
)

// JoinGroup lets a member into a group. It is answered when the join phase of the
// rebalance ends.
//
// Source: Kafka 4.4.0, GroupCoordinatorService.java and GroupMetadataManager.java.
func (c *Coordinator) JoinGroup(from Client, q *kmsg.JoinGroupRequest, reply func(*kmsg.JoinGroupResponse)) {
	conf := c.o.Config(q.Group)
	switch {
	case q.Group == "":
		reply(joinError(q.MemberID, kerr.InvalidGroupID.Code))
		return
	case q.SessionTimeoutMillis < conf.ClassicMinSessionTimeout || q.SessionTimeoutMillis > conf.ClassicMaxSessionTimeout:
		reply(joinError(q.MemberID, kerr.InvalidSessionTimeout.Code))
		return
	}
	if q.Version == 0 {
		q.RebalanceTimeoutMillis = q.SessionTimeoutMillis
	}
	c.do(q.Group, func(m *machine) shard.Result { return m.join(from, q, reply) },
		func(code int16) { reply(joinError("", code)) })
}

func (m *machine) join(from Client, q *kmsg.JoinGroupRequest, reply func(*kmsg.JoinGroupResponse)) shard.Result {
	old := m.groups[q.Group]
	if g, ok := old.(*classicGroup); ok {
		return m.joinClassic(&classicJoin{from, q, protocolsOf(q), reply}, g)
	}
	if old != nil {
		if g, ok := old.(*consumerGroup); ok && !g.empty() {
			return m.joinConsumer(g, from, q, reply)
		}
		if old.kind() == Share || !old.empty() {
			reply(joinError("", kerr.InconsistentGroupProtocol.Code))
			return shard.Result{}
		}
	}
	// Kafka lets go of an empty group of another type even if the member is then
	// refused, so that it is back after the next load.
	if q.MemberID != "" {
		reply(joinError(q.MemberID, kerr.UnknownMemberID.Code))
		return shard.Result{}
	}
	return m.joinNewGroup(&classicJoin{from, q, protocolsOf(q), reply}, old)
}

// A classicJoin is a request to join.
type classicJoin struct {
	from      Client
	q         *kmsg.JoinGroupRequest
	protocols []grouprec.ClassicProtocol
	reply     func(*kmsg.JoinGroupResponse)
}

func (j *classicJoin) refuse(member string, why *kerr.Error) shard.Result {
	j.reply(joinError(member, why.Code))
	return shard.Result{}
}

// joinNewGroup makes a group, in the place of an empty one of another type if old
// is not nil. It is written down even if the member is refused.
func (m *machine) joinNewGroup(j *classicJoin, old group) shard.Result {
	var records []shard.Record
	if old != nil {
		records = old.tombstones(records)
		old.forget(m.shard)
	}
	g := newClassicGroup(j.q.Group)
	m.groups[g.groupID] = g
	_ = m.joinClassic(j, g) // the first rebalance begins with a delay, and no record
	return shard.Result{Records: append(records, g.firstRecord()), Replayed: true, Then: func(err error) {
		if err == nil {
			return
		}
		m.log.Warn("a new group could not be written", "group", g.groupID, "error", err)
		g.answerAll(codeOf(err))
		if errors.Is(err, shard.ErrTimeout) || m.groups[g.groupID] != g {
			return // it is in the log, or gone
		}
		g.forget(m.shard)
		delete(m.groups, g.groupID)
		if old != nil {
			m.groups[g.groupID] = old
		}
	}}
}

func (m *machine) joinClassic(j *classicJoin, g *classicGroup) shard.Result {
	id := j.q.MemberID
	switch {
	case !g.accepts(id, int(m.o.Config(g.groupID).ClassicMaxSize)):
		m.drop(g, id)
		return j.refuse("", kerr.GroupMaxSizeReached)
	case !g.supports(j.q.ProtocolType, j.protocols):
		return j.refuse(id, kerr.InconsistentGroupProtocol)
	case id != "":
		return m.rejoin(j, g)
	}
	name := j.from.ID
	if j.q.InstanceID != nil {
		name = *j.q.InstanceID
	}
	id = name + "-" + newUUID()
	if j.q.InstanceID != nil {
		if old := g.static[*j.q.InstanceID]; old != nil {
			return m.takeOver(j, g, old, id)
		}
	} else if j.q.Version >= joinRequiresID {
		g.pending[id] = true
		m.beat(g, id, sessionTimer(g.groupID, id), milliseconds(j.q.SessionTimeoutMillis))
		return j.refuse(id, kerr.MemberIDRequired)
	}
	return m.addMember(j, g, id)
}

// accepts reports whether there is room for a member. In the join phase those
// count that have joined.
func (g *classicGroup) accepts(id string, limit int) bool {
	m := g.members[id]
	switch g.now {
	case classicPreparing:
		return m != nil && m.join != nil || g.joining < limit
	case classicCompleting, classicStable:
		return m != nil || len(g.members) < limit
	}
	return true
}

// addMember lets in a member that the group does not have.
func (m *machine) addMember(j *classicJoin, g *classicGroup, id string) shard.Result {
	member := &classicMember{
		id: id, instance: j.q.InstanceID, clientID: j.from.ID, host: j.from.Host,
		rebalanceTimeout: j.q.RebalanceTimeoutMillis, sessionTimeout: j.q.SessionTimeoutMillis,
		protocols: j.protocols, join: j.reply, fresh: true, timer: sessionTimer(g.groupID, id),
	}
	if g.now == classicPreparing && g.before == classicEmpty {
		g.grown = true
	}
	if len(g.members) == 0 {
		g.memberType = j.q.ProtocolType
	}
	g.add(member)
	m.beat(g, id, member.timer, newMemberTimeout)
	return m.rebalance(g, "a new member joined", id)
}

// rejoin is for members that know their id.
func (m *machine) rejoin(j *classicJoin, g *classicGroup) shard.Result {
	id := j.q.MemberID
	if g.pending[id] {
		if j.q.InstanceID != nil { // ids are given to dynamic members
			return j.refuse("", kerr.UnknownServerError)
		}
		return m.addMember(j, g, id)
	}
	if err := g.checkMember(id, j.q.InstanceID); err != nil {
		j.reply(joinError(id, codeOf(err)))
		return shard.Result{}
	}
	member := g.members[id]
	same := sameProtocols(member.protocols, j.protocols)
	switch {
	case g.now == classicPreparing, !same, g.now == classicStable && g.leader == member:
		g.update(member, j.protocols, j.q.RebalanceTimeoutMillis, j.q.SessionTimeoutMillis)
		g.awaitJoin(member, j.reply)
		return m.rebalance(g, "a member joined again", id)
	}
	// The member missed the answer; nothing changed since. In Stable it does not
	// lead.
	j.reply(g.joined(member))
	return shard.Result{}
}

// joined tells a member of the generation; its leader gets the members.
func (g *classicGroup) joined(m *classicMember) *kmsg.JoinGroupResponse {
	r := kmsg.NewPtrJoinGroupResponse()
	r.MemberID, r.Generation = m.id, g.generation
	r.ProtocolType = &g.memberType
	if *g.protocol != "" { // null stands for it
		r.Protocol = g.protocol
	}
	r.LeaderID = g.leader.id
	if g.leader == m {
		for _, o := range g.order {
			to := kmsg.NewJoinGroupResponseMember()
			to.MemberID, to.InstanceID, to.ProtocolMetadata = o.id, o.instance, o.metadata(*g.protocol)
			r.Members = append(r.Members, to)
		}
	}
	return r
}

// takeOver lets a static member come back without the id that it had. If nothing
// depends on what it says now the group goes on without a rebalance.
func (m *machine) takeOver(j *classicJoin, g *classicGroup, old *classicMember, id string) shard.Result {
	leader := g.leader.id
	m.shard.Cancel(old.timer)
	member := g.replace(old, id)
	m.beat(g, id, member.timer, milliseconds(member.sessionTimeout))
	g.update(member, j.protocols, j.q.RebalanceTimeoutMillis, j.q.SessionTimeoutMillis)
	g.awaitJoin(member, j.reply)
	switch {
	case g.now != classicStable || g.vote() != *g.protocol:
		return m.rebalance(g, "a static member came back", id)
	}
	return shard.Result{Records: []shard.Record{g.record(nil)}, Replayed: true, Then: func(err error) {
		switch {
		case member.join == nil:
			// It was answered: another instance took its place, it left, or a
			// rebalance began and ended.
		case err != nil:
			m.log.Warn("the new id of a static member could not be written", "group", g.groupID, "member", id, "error", err)
			r := g.joined(member)
			r.ErrorCode, r.MemberID, r.LeaderID, r.Members = codeOf(err), "", leader, nil
			m.giveBack(g, member, old, r)
		case g.now != classicStable:
			// It joined in time for the rebalance, which answers it.
		default:
			r := g.joined(member)
			if j.q.Version >= joinSkipAssignment {
				r.SkipAssignment = g.leader == member
			} else {
				r.LeaderID, r.Members = leader, nil // or it would assign, in vain
			}
			g.answerJoin(member, r)
		}
	}}
}

// giveBack undoes that a member took the place of old.
func (m *machine) giveBack(g *classicGroup, member, old *classicMember, why *kmsg.JoinGroupResponse) {
	g.update(member, old.protocols, old.rebalanceTimeout, old.sessionTimeout)
	g.answerJoin(member, why)
	m.shard.Cancel(member.timer)
	back := g.replace(member, old.id)
	m.beat(g, back.id, back.timer, milliseconds(back.sessionTimeout))
}

// newUUID returns a random UUID in its usual form.
func newUUID() string {
	var u [16]byte
	rand.Read(u[:])
	u[6] = u[6]&0x0f | 0x40 // version 4
	u[8] = u[8]&0x3f | 0x80 // variant of RFC 9562
	return fmt.Sprintf("%x-%x-%x-%x-%x", u[:4], u[4:6], u[6:8], u[8:10], u[10:])
}
