package group

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"kf/internal/coordinator/shard"
	"kf/internal/format/grouprec"
)

// replayClassic applies the record of a classic group. It replaces a group of any
// type.
func (m *machine) replayClassic(key *grouprec.GroupMetadataKey, value *grouprec.GroupMetadataValue) {
	if old := m.groups[key.Group]; old != nil {
		old.forget(m.shard)
		if g, ok := old.(*consumerGroup); ok {
			m.dropConsumer(g)
		}
		delete(m.groups, key.Group)
	}
	if value == nil {
		return
	}
	g := newClassicGroup(key.Group)
	g.memberType, g.protocol, g.generation, g.since = value.ProtocolType, value.Protocol, value.Generation, value.CurrentStateTimestamp
	if len(value.Members) > 0 {
		g.now = classicStable
		if g.protocol == nil {
			g.protocol = new("")
		}
	}
	for i := range value.Members {
		g.load(&value.Members[i])
	}
	if value.Leader != nil && g.members[*value.Leader] != nil {
		g.leader = g.members[*value.Leader]
	}
	g.topics = g.subscriptions()
	m.groups[key.Group] = g
}

// load adds a member from the record of a group. Of several with the same ids the
// last one counts; Kafka writes none.
func (g *classicGroup) load(r *grouprec.GroupMember) {
	g.remove(r.MemberID)
	if r.GroupInstanceID != nil && g.static[*r.GroupInstanceID] != nil {
		g.remove(g.static[*r.GroupInstanceID].id)
	}
	rebalance := r.RebalanceTimeout
	if rebalance == -1 {
		rebalance = r.SessionTimeout
	}
	g.add(&classicMember{
		id: r.MemberID, instance: r.GroupInstanceID, clientID: r.ClientID, host: r.ClientHost,
		rebalanceTimeout: rebalance, sessionTimeout: r.SessionTimeout,
		protocols:  []grouprec.ClassicProtocol{{Name: *g.protocol, Metadata: r.Subscription}},
		assignment: r.Assignment, timer: sessionTimer(g.groupID, r.MemberID),
	})
}

// loadedClassic starts the sessions of the members. A group that has more of them
// than it may have now rebalances, so that they can commit before some must go.
func (m *machine) loadedClassic(g *classicGroup) {
	for _, member := range g.order {
		m.beat(g, member.id, member.timer, milliseconds(member.sessionTimeout))
	}
	if len(g.members) > int(m.o.Config(g.groupID).ClassicMaxSize) {
		_ = m.prepare(g, "the group is too large", "") // nobody joined yet, so there is no record
	}
}

func (m *machine) unloadedClassic(g *classicGroup, err error) {
	g.answerAll(codeOf(err))
	g.enter(classicDead)
}

// classicGroup returns a classic group; with create one that is not there is made,
// in memory alone. It fails with GROUP_ID_NOT_FOUND.
func (m *machine) classicGroup(id string, create bool) (*classicGroup, error) {
	switch g := m.groups[id].(type) {
	case *classicGroup:
		return g, nil
	case nil:
		if !create {
			return nil, refuse(kerr.GroupIDNotFound, fmt.Sprintf("Group %s not found.", id))
		}
		made := newClassicGroup(id)
		m.groups[id] = made
		return made, nil
	}
	return nil, refuse(kerr.GroupIDNotFound, fmt.Sprintf("Group %s is not a classic group.", id))
}

// replaceEmptyClassic appends the tombstone of a classic group without members, as
// a group of another type takes its place.
func (m *machine) replaceEmptyClassic(id string, records []shard.Record) []shard.Record {
	if g, ok := m.groups[id].(*classicGroup); ok && g.empty() {
		return g.tombstones(records)
	}
	return records
}

// describeClassic answers DescribeGroups for one group, in a version. What the
// members say of themselves is told while the group is stable.
func (m *machine) describeClassic(id string, version int16) kmsg.DescribeGroupsResponseGroup {
	r := kmsg.NewDescribeGroupsResponseGroup()
	r.Group = id
	g, err := m.classicGroup(id, false)
	if err != nil {
		r.State = classicStateNames[classicDead]
		if version >= 6 {
			r.ErrorCode, r.ErrorMessage = codeOf(err), messageOf(err)
		}
		return r
	}
	r.State, r.ProtocolType = g.state(), g.memberType
	if g.now == classicStable {
		r.Protocol = *g.protocol
	}
	for _, member := range g.order {
		to := kmsg.NewDescribeGroupsResponseGroupMember()
		to.MemberID, to.InstanceID, to.ClientID, to.ClientHost = member.id, member.instance, member.clientID, member.host
		to.MemberAssignment = member.assignment
		if g.now == classicStable {
			to.ProtocolMetadata = member.metadata(*g.protocol)
		}
		r.Members = append(r.Members, to)
	}
	return r
}
