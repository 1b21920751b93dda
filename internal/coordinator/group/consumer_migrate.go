package group

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"

	"kf/internal/coordinator/assignor"
	"kf/internal/coordinator/shard"
	"kf/internal/format/grouprec"
	"kf/internal/wire"
)

// A classic group becomes a consumer group when a member joins it by the consumer
// protocol, and a consumer group a classic one when the last such member is gone,
// as group.consumer.migration.policy allows. The members keep what they have.
//
// Source: Kafka 4.4.0, GroupMetadataManager.java, ConsumerGroup.java and
// ClassicGroup.java.

func (p Migration) upgrades() bool   { return p == MigrateUpgrade || p == MigrateBoth }
func (p Migration) downgrades() bool { return p == MigrateDowngrade || p == MigrateBoth }

// upgrade begins the change with the records that make a consumer group of a
// classic one. It fails with GROUP_ID_NOT_FOUND if that may not be.
func (ch *consumerChange) upgrade(from *classicGroup) error {
	if from.empty() {
		ch.records = ch.m.replaceEmptyClassic(from.groupID, ch.records)
		ch.g = newConsumerGroup(from.groupID)
		return nil
	}
	cannot := func(why string) error {
		return refuse(kerr.GroupIDNotFound, fmt.Sprintf("Cannot upgrade classic group %s to consumer group because %s.", from.groupID, why))
	}
	switch {
	case !ch.config.Migration.upgrades():
		return cannot("online upgrade is disabled")
	case !from.ofConsumers():
		return cannot("the group does not use the consumer embedded protocol")
	case len(from.members) > int(ch.config.ConsumerMaxSize):
		return cannot("the group size exceeds the consumer group maximum size")
	}
	g := newConsumerGroup(from.groupID)
	g.epoch, g.targetedIn = from.generation, from.generation
	for _, old := range from.order {
		m, target, err := ch.m.fromClassic(from, old)
		switch {
		case errors.Is(err, errCustomAssignor):
			return cannot("an unsupported custom assignor is in use. Please refer to the documentation or switch to a default assignor before re-attempting the upgrade")
		case errors.Is(err, errNoMetadata):
			return refuse(kerr.CoordinatorLoadInProgress, "")
		case err != nil:
			return cannot("the embedded consumer protocol is malformed")
		}
		g.setMember(nil, m)
		g.targets[m.id] = target
	}
	g.hash = ch.m.metadataHash(g.topics)
	ch.g = g
	ch.records = g.creation(from.tombstones(ch.records))
	ch.done = append(ch.done, func() {
		ch.m.log.Info("a classic group is a consumer group now", "group", g.groupID)
		for _, m := range g.members {
			ch.m.scheduleSession(g.groupID, m.id, m.sessionTimeout())
		}
	})
	return nil
}

// creation appends the records that make the group as it is.
func (g *consumerGroup) creation(dst []shard.Record) []shard.Record {
	ids := g.sortedMembers()
	for _, id := range ids {
		dst = append(dst, g.memberRecord(g.members[id]))
	}
	dst = append(dst, g.epochRecord(g.epoch, g.hash))
	for _, id := range ids {
		dst = append(dst, g.targetRecord(id, g.targets[id]))
	}
	dst = append(dst, g.targetEpochRecord(g.targetedIn, g.targetedAt))
	for _, id := range ids {
		dst = append(dst, g.currentRecord(g.members[id]))
	}
	return dst
}

var (
	errCustomAssignor = errors.New("the assignment has data of a client's own assignor")
	errNoMetadata     = errors.New("the member has said nothing for the assignor of this generation")
)

// fromClassic returns a member of a classic group as one of a consumer group, and
// what it has.
//
// Deviation from Kafka 4.4.0: while the first rebalance of the classic group goes on,
// and for a member that joins with other assignors than that of the generation,
// Kafka runs into an error of its own, and UNKNOWN_SERVER_ERROR ends the client
// that wants to join. Here it is told to try again.
func (m *machine) fromClassic(g *classicGroup, old *classicMember) (*consumerMember, assignor.Partitions, error) {
	var target assignor.Partitions
	if len(old.assignment) > 0 {
		a, _, err := grouprec.DecodeAssignment(old.assignment)
		switch {
		case err != nil:
			return nil, nil, err
		case len(a.UserData) > 0:
			return nil, nil, errCustomAssignor
		}
		target = assignor.NewPartitions(func(yield func(wire.UUID, int32) bool) {
			for _, p := range a.AssignedPartitions {
				t := m.image.Topic(p.Topic)
				if t == nil {
					continue
				}
				for _, partition := range p.Partitions {
					if !yield(t.ID, partition) {
						return
					}
				}
			}
		})
	}
	if g.protocol == nil || !old.supports(*g.protocol) {
		return nil, nil, errNoMetadata
	}
	s, _, err := grouprec.DecodeSubscription(old.metadata(*g.protocol))
	if err != nil {
		return nil, nil, err
	}
	next := newConsumerMember(old.id)
	next.instance, next.clientID, next.clientHost = old.instance, old.clientID, old.host
	if s.RackID != nil && *s.RackID != "" {
		next.rack = s.RackID
	}
	next.rebalanceTimeout, next.topics = old.rebalanceTimeout, sortedNames(s.Topics)
	next.classic = &grouprec.ClassicMemberMetadata{SessionTimeoutMs: old.sessionTimeout, SupportedProtocols: old.protocols}
	next.epoch, next.previous = g.generation, g.generation
	next.assigned = owned(target, g.generation)
	return next, target, nil
}

// supports reports whether a classic member has said something for an assignor.
func (m *classicMember) supports(protocol string) bool {
	for _, p := range m.protocols {
		if p.Name == protocol {
			return true
		}
	}
	return false
}

// mayDowngrade reports whether a group becomes a classic one when members leave it.
func (m *machine) mayDowngrade(g *consumerGroup, leaving []*consumerMember) bool {
	rest, classic := len(g.members)-len(leaving), g.classic
	for _, member := range leaving {
		if member.classic != nil {
			classic--
		}
	}
	config := m.o.Config(g.groupID)
	return classic == rest && rest > 0 && config.Migration.downgrades() && rest <= int(config.ClassicMaxSize)
}

// downgradeByReplacing makes a classic group of one in which a classic member takes
// the place of before, if that is the only member that is not classic. It returns
// nil if that is not so; before may be nil.
func (m *machine) downgradeByReplacing(ch *consumerChange, before *consumerMember, owned *claim, changed bool) (*shard.Result, error) {
	g := ch.g
	if before == nil || before.classic != nil || g.classic != len(g.members)-1 ||
		!ch.config.Migration.downgrades() || len(g.members) > int(ch.config.ClassicMaxSize) {
		return nil, nil
	}
	to, ok := m.asClassic(g, []*consumerMember{before}, ch.updated)
	if !ok {
		return nil, nil
	}
	rebalance := g.targetedIn < ch.epoch
	if !rebalance {
		ch.targeted, ch.target = g.targetedIn, g.target(ch.updated)
		if err := ch.reconcile(owned, changed); err != nil {
			return nil, err
		}
	}
	members := g.sortedMembers()
	members[slices.Index(members, before.id)] = ch.updated.id
	result := m.downgrade(g, to, g.tombstonesOf(ch.records, members), rebalance)
	return &result, nil
}

// asClassic returns a group as a classic one, without the members that leave, and
// with one that takes the place of the first of them if it is not nil. It is not ok
// if what members said of themselves cannot be read.
func (m *machine) asClassic(g *consumerGroup, leaving []*consumerMember, joining *consumerMember) (to *classicGroup, ok bool) {
	to = newClassicGroup(g.groupID)
	to.now, to.memberType, to.generation = classicStable, grouprec.ConsumerProtocolType, g.epoch
	gone := make(map[string]bool)
	for _, member := range leaving {
		gone[member.id] = true
	}
	targets := make(map[string]assignor.Partitions)
	add := func(member *consumerMember, target assignor.Partitions) {
		to.add(&classicMember{
			id: member.id, instance: member.instance, clientID: member.clientID, host: member.clientHost,
			rebalanceTimeout: member.rebalanceTimeout, sessionTimeout: member.classic.SessionTimeoutMs,
			protocols: member.classic.SupportedProtocols, timer: sessionTimer(g.groupID, member.id),
		})
		targets[member.id] = target
	}
	for _, id := range g.sortedMembers() {
		if !gone[id] {
			add(g.members[id], g.targets[id])
		}
	}
	if joining != nil {
		add(joining, g.targets[leaving[0].id])
	}
	to.protocol = new(to.vote())
	to.topics = to.subscriptions()
	for _, member := range to.order {
		var err error
		member.assignment, err = m.classicAssignment(targets[member.id], member.metadata(*to.protocol))
		if err != nil {
			m.log.Warn("a consumer group cannot become a classic one", "group", g.groupID, "member", member.id, "error", err)
			return nil, false
		}
	}
	return to, true
}

// downgrade puts a classic group in the place of a consumer group. The records end
// the one, and are followed by that of the other; its members join again if they
// have to.
func (m *machine) downgrade(g *consumerGroup, to *classicGroup, records []shard.Record, rebalance bool) shard.Result {
	m.log.Info("a consumer group becomes a classic one", "group", g.groupID)
	g.forget(m.shard)
	m.dropConsumer(g)
	m.groups[to.groupID] = to
	records = append(records, to.record(nil))
	for _, member := range to.order {
		m.beat(to, member.id, member.timer, milliseconds(member.sessionTimeout))
	}
	if rebalance {
		_ = m.prepare(to, "it was a consumer group", "") // nobody joined yet, so there is no record
	}
	return shard.Result{Records: records, Replayed: true, Then: func(err error) {
		if !notWritten(err) || m.groups[to.groupID] != to {
			return
		}
		m.log.Warn("a consumer group could not become a classic one", "group", g.groupID, "error", err)
		to.forget(m.shard)
		m.restoreConsumer(g)
	}}
}

// restoreConsumer puts a group back that was to become a classic one.
func (m *machine) restoreConsumer(g *consumerGroup) {
	m.groups[g.groupID] = g
	for topic := range g.topics {
		m.watchTopic(topic, g.groupID, true)
	}
	m.resumeTimers(g.groupID, maps.Values(g.members), "")
}

// classicAssignment returns partitions as a classic member reads them that sent
// metadata. Of that only the version counts: it may be the metadata of an assignor
// which the group does not use, and nobody has looked at the rest of it.
func (m *machine) classicAssignment(p assignor.Partitions, metadata []byte) ([]byte, error) {
	c := wire.Cursor{B: metadata}
	version := c.Int16()
	if c.Err() != nil {
		return nil, c.Err()
	}
	var a grouprec.ConsumerProtocolAssignment
	for i := range p {
		if t := m.image.TopicByID(p[i].Topic); t != nil {
			a.AssignedPartitions = append(a.AssignedPartitions, grouprec.ProtocolPartitions{Topic: t.Name, Partitions: p[i].Partitions})
		}
	}
	return grouprec.AppendAssignment(nil, &a, min(version, 3))
}
