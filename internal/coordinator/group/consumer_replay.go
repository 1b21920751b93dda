package group

import (
	"slices"

	"kf/internal/format/grouprec"
	"kf/internal/javafmt"
)

// The replay of the records of consumer groups. A group is changed by the methods
// of consumerGroup here and by nothing else. Kafka stops the load of a partition
// whose records contradict each other; here the later record counts.
//
// Source: Kafka 4.4.0, GroupMetadataManager.java and ConsumerGroup.java.

// replayTo returns the group that a record belongs to. It is nil if there is none,
// and the record is a tombstone, or if the group has another type.
func (m *machine) replayTo(id string, value bool) *consumerGroup {
	g := m.groups[id]
	switch c, ok := g.(*consumerGroup); {
	case ok:
		return c
	case g != nil && !isSimple(g):
		m.log.Warn("a record of a consumer group is passed over, as the group has another type", "group", id, "type", g.kind())
		return nil
	case !value:
		return nil
	}
	// What had no members, and only offsets, becomes a consumer group.
	c := newConsumerGroup(id)
	c.watch = func(topic string, subscribed bool) { m.watchTopic(topic, id, subscribed) }
	m.groups[id] = c
	return c
}

// isSimple reports whether a group is nothing but offsets.
func isSimple(g group) bool {
	c, ok := g.(*classicGroup)
	return ok && c.simple()
}

// dropConsumer lets go of a group, which is deleted or becomes one of another
// type; what it waits for is forgotten by whoever wants that.
func (m *machine) dropConsumer(g *consumerGroup) {
	for topic := range g.topics {
		m.watchTopic(topic, g.groupID, false)
	}
	delete(m.groups, g.groupID)
}

func (m *machine) replayConsumerGroup(key *grouprec.ConsumerGroupMetadataKey, value *grouprec.ConsumerGroupMetadataValue) {
	g := m.replayTo(key.GroupID, value != nil)
	switch {
	case g == nil:
	case value == nil:
		m.dropConsumer(g)
	default:
		g.setEpoch(value)
	}
}

func (m *machine) replayConsumerPartitions(key *grouprec.ConsumerGroupPartitionMetadataKey, value *grouprec.ConsumerGroupPartitionMetadataValue) {
	if g := m.replayTo(key.GroupID, value != nil); g != nil {
		g.described = value != nil
	}
}

func (m *machine) replayConsumerMember(key *grouprec.ConsumerGroupMemberMetadataKey, value *grouprec.ConsumerGroupMemberMetadataValue) {
	if g := m.replayTo(key.GroupID, value != nil); g != nil {
		g.setMetadata(key.MemberID, value)
	}
}

func (m *machine) replayConsumerTarget(key *grouprec.ConsumerGroupTargetAssignmentMetadataKey, value *grouprec.ConsumerGroupTargetAssignmentMetadataValue) {
	if g := m.replayTo(key.GroupID, value != nil); g != nil {
		g.setTargetEpoch(value)
	}
}

func (m *machine) replayConsumerTargetMember(key *grouprec.ConsumerGroupTargetAssignmentMemberKey, value *grouprec.ConsumerGroupTargetAssignmentMemberValue) {
	if g := m.replayTo(key.GroupID, value != nil); g != nil {
		g.setTarget(key.MemberID, value)
	}
}

func (m *machine) replayConsumerCurrent(key *grouprec.ConsumerGroupCurrentMemberAssignmentKey, value *grouprec.ConsumerGroupCurrentMemberAssignmentValue) {
	if g := m.replayTo(key.GroupID, value != nil); g != nil {
		g.setCurrent(key.MemberID, value)
	}
}

func (m *machine) replayConsumerRegex(key *grouprec.ConsumerGroupRegularExpressionKey, value *grouprec.ConsumerGroupRegularExpressionValue) {
	if g := m.replayTo(key.GroupID, value != nil); g != nil {
		g.setResolved(key.RegularExpression, value)
	}
}

func (g *consumerGroup) setEpoch(v *grouprec.ConsumerGroupMetadataValue) {
	g.epoch, g.hash = v.Epoch, v.MetadataHash
}

func (g *consumerGroup) setTargetEpoch(v *grouprec.ConsumerGroupTargetAssignmentMetadataValue) {
	if v == nil { // the group is about to be deleted
		v = &grouprec.ConsumerGroupTargetAssignmentMetadataValue{AssignmentEpoch: -1}
	}
	g.targetedIn, g.targetedAt = v.AssignmentEpoch, v.AssignmentTimestamp
}

func (g *consumerGroup) setTarget(member string, v *grouprec.ConsumerGroupTargetAssignmentMemberValue) {
	if v == nil {
		delete(g.targets, member)
		return
	}
	g.targets[member] = recordedTarget(v.TopicPartitions)
}

func (g *consumerGroup) setMetadata(member string, v *grouprec.ConsumerGroupMemberMetadataValue) {
	old := g.members[member]
	switch {
	case v != nil:
		g.setMember(old, g.orNew(old, member).withMetadata(v))
	case old != nil:
		g.setMember(old, nil)
	}
}

func (g *consumerGroup) setCurrent(member string, v *grouprec.ConsumerGroupCurrentMemberAssignmentValue) {
	old := g.members[member]
	switch {
	case v != nil:
		g.setMember(old, g.orNew(old, member).withCurrent(v))
	case old != nil: // what is left of it goes with the next records
		g.setMember(old, old.withCurrent(&grouprec.ConsumerGroupCurrentMemberAssignmentValue{
			MemberEpoch: epochLeft, PreviousMemberEpoch: epochLeft, State: int8(old.state),
		}))
	}
}

func (g *consumerGroup) orNew(m *consumerMember, id string) *consumerMember {
	if m == nil {
		return newConsumerMember(id)
	}
	return m
}

// setMember puts a member in the place of old; one of them may be nil.
func (g *consumerGroup) setMember(old, m *consumerMember) {
	// What counts members goes up before it goes down, so that nothing comes and
	// goes that stays.
	g.tally(m, 1)
	g.tally(old, -1)
	if old != nil {
		delete(g.members, old.id)
		if old.instance != nil && g.statics[*old.instance] == old.id {
			delete(g.statics, *old.instance)
		}
		g.disown(old.id, old.assigned)
		g.disown(old.id, old.revoking)
	}
	if m != nil {
		g.members[m.id] = m
		if m.instance != nil {
			g.statics[*m.instance] = m.id
		}
		g.own(m.id, m.assigned)
		g.own(m.id, m.revoking)
	}
}

// tally counts what a member wants, n times.
func (g *consumerGroup) tally(m *consumerMember, n int) {
	if m == nil {
		return
	}
	g.subscribe(m.topics, n, 0)
	count(g.patterns, m.usesPattern(), n)
	if m.assignor != nil {
		count(g.votes, *m.assignor, n)
	}
	if m.classic != nil {
		g.classic += n
		for _, p := range m.classic.SupportedProtocols {
			count(g.protocols, p.Name, n)
		}
	}
}

func (g *consumerGroup) own(member string, o ownership) {
	for tp := range o.all() {
		g.owners[tp] = member
	}
}

func (g *consumerGroup) disown(member string, o ownership) {
	for tp := range o.all() {
		if g.owners[tp] == member {
			delete(g.owners, tp)
		}
	}
}

func (g *consumerGroup) setResolved(pattern string, v *grouprec.ConsumerGroupRegularExpressionValue) {
	old := g.resolved[pattern]
	if v == nil {
		delete(g.resolved, pattern)
	} else {
		r := &resolution{topics: sortedNames(v.Topics), version: v.Version, at: v.Timestamp}
		g.resolved[pattern] = r
		g.subscribe(r.topics, 0, 1)
	}
	if old != nil {
		g.subscribe(old.topics, 0, -1)
	}
}

// A resolution is the topics that a regular expression matches.
type resolution struct {
	topics  []string // sorted, each once
	version int64    // of the image of the cluster
	at      int64    // ms since the Unix epoch
}

// matches reports whether a topic is among them; r may be nil.
func (r *resolution) matches(topic string) bool {
	if r == nil {
		return false
	}
	_, ok := slices.BinarySearchFunc(r.topics, topic, javafmt.Compare)
	return ok
}

// subscribedTo reports whether a member is subscribed to a topic.
func (g *consumerGroup) subscribedTo(m *consumerMember, topic string) bool {
	_, ok := slices.BinarySearchFunc(m.topics, topic, javafmt.Compare)
	return ok || g.resolved[m.usesPattern()].matches(topic)
}
