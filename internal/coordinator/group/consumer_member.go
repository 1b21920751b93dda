package group

import (
	"slices"
	"time"

	"kf/internal/coordinator/assignor"
	"kf/internal/format/grouprec"
	"kf/internal/javafmt"
)

// A consumerMember is a member of a consumer group. It never changes: another
// takes its place.
type consumerMember struct {
	id               string
	instance, rack   *string // nil for none
	clientID         string
	clientHost       string
	topics           []string // subscribed by name: sorted, each once
	pattern          *string  // subscribed by regular expression; nil and "" for none
	rebalanceTimeout int32    // ms
	assignor         *string  // that it wants, nil for none
	classic          *grouprec.ClassicMemberMetadata

	epoch    int32 // 0 joins, epochAway is away
	previous int32 // the epoch before
	state    memberState
	assigned ownership // what it may use
	revoking ownership // what it shall give up and has not yet
}

// The epochs of members that are not there.
const (
	epochLeft = -1 // for good
	epochAway = -2 // a static member that comes back
)

// A memberState says how far a member is on its way to the target assignment, in
// the numbers of its record.
type memberState int8

const (
	stable     memberState = 0
	unrevoked  memberState = 1 // it has to give up partitions first
	unreleased memberState = 2 // others have partitions that it shall get
	unknown    memberState = 127
)

// newConsumerMember returns a member of which nothing is known.
func newConsumerMember(id string) *consumerMember {
	return &consumerMember{id: id, pattern: new(""), rebalanceTimeout: -1, previous: -1}
}

// usesPattern returns the regular expression that the member, which may be nil, is
// subscribed to, "" for none.
func (m *consumerMember) usesPattern() string {
	if m == nil || m.pattern == nil {
		return ""
	}
	return *m.pattern
}

// sessionTimeout returns the session timeout of a classic member.
func (m *consumerMember) sessionTimeout() time.Duration {
	return milliseconds(m.classic.SessionTimeoutMs)
}

// protocol returns the assignor that a classic member is told of: its first.
func (m *consumerMember) protocol() *grouprec.ClassicProtocol {
	return &m.classic.SupportedProtocols[0]
}

// reconciled reports whether the member has what the target assignment of an epoch
// gives it.
func (m *consumerMember) reconciled(epoch int32) bool { return m.state == stable && m.epoch == epoch }

// advance returns the member at an epoch with partitions.
func (m *consumerMember) advance(state memberState, epoch int32, assigned, revoking ownership) *consumerMember {
	next := *m
	next.state, next.previous, next.epoch = state, m.epoch, epoch
	next.assigned, next.revoking = assigned, revoking
	return &next
}

// equal reports whether nothing differs between two members.
func (m *consumerMember) equal(o *consumerMember) bool {
	return m.id == o.id && same(m.instance, o.instance) && same(m.rack, o.rack) &&
		m.clientID == o.clientID && m.clientHost == o.clientHost &&
		slices.Equal(m.topics, o.topics) && same(m.pattern, o.pattern) &&
		m.rebalanceTimeout == o.rebalanceTimeout && same(m.assignor, o.assignor) && sameClassic(m.classic, o.classic) &&
		m.epoch == o.epoch && m.previous == o.previous && m.state == o.state &&
		m.assigned.equal(o.assigned) && m.revoking.equal(o.revoking)
}

// same reports whether two values are equal or both missing.
func same[T comparable](a, b *T) bool { return a == b || a != nil && b != nil && *a == *b }

func sameClassic(a, b *grouprec.ClassicMemberMetadata) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.SessionTimeoutMs == b.SessionTimeoutMs && sameProtocols(a.SupportedProtocols, b.SupportedProtocols)
}

// or returns p, or q if p is nil.
func or[T any](p, q *T) *T {
	if p != nil {
		return p
	}
	return q
}

// sortedNames returns names as a member has them.
func sortedNames(names []string) []string {
	return slices.Compact(slices.SortedFunc(slices.Values(names), javafmt.Compare))
}

// metadata returns the value of the member's record.
func (m *consumerMember) metadata() *grouprec.ConsumerGroupMemberMetadataValue {
	return &grouprec.ConsumerGroupMemberMetadataValue{
		InstanceID: m.instance, RackID: m.rack, ClientID: m.clientID, ClientHost: m.clientHost,
		SubscribedTopicNames: m.topics, SubscribedTopicRegex: m.pattern, RebalanceTimeoutMs: m.rebalanceTimeout,
		ServerAssignor: m.assignor, ClassicMemberMetadata: m.classic,
	}
}

// withMetadata returns the member as its record has it.
func (m *consumerMember) withMetadata(v *grouprec.ConsumerGroupMemberMetadataValue) *consumerMember {
	next := *m
	next.instance, next.rack, next.clientID, next.clientHost = v.InstanceID, v.RackID, v.ClientID, v.ClientHost
	next.topics, next.pattern, next.rebalanceTimeout = sortedNames(v.SubscribedTopicNames), v.SubscribedTopicRegex, v.RebalanceTimeoutMs
	next.assignor, next.classic = v.ServerAssignor, v.ClassicMemberMetadata
	return &next
}

// current returns the value of the record of what the member has.
func (m *consumerMember) current() *grouprec.ConsumerGroupCurrentMemberAssignmentValue {
	return &grouprec.ConsumerGroupCurrentMemberAssignmentValue{
		MemberEpoch: m.epoch, PreviousMemberEpoch: m.previous, State: int8(m.state),
		AssignedPartitions: m.assigned.record(), PartitionsPendingRevocation: m.revoking.record(),
	}
}

// withCurrent returns the member with what its record says it has.
func (m *consumerMember) withCurrent(v *grouprec.ConsumerGroupCurrentMemberAssignmentValue) *consumerMember {
	next := *m
	next.epoch, next.previous, next.state = v.MemberEpoch, v.PreviousMemberEpoch, memberState(v.State)
	if next.state < stable || next.state > unreleased {
		next.state = unknown
	}
	next.assigned = recordedOwnership(v.AssignedPartitions, v.MemberEpoch)
	next.revoking = recordedOwnership(v.PartitionsPendingRevocation, v.MemberEpoch)
	return &next
}

// targetRecord returns the value of the record of what a member shall have.
func targetRecord(p assignor.Partitions) *grouprec.ConsumerGroupTargetAssignmentMemberValue {
	v := &grouprec.ConsumerGroupTargetAssignmentMemberValue{TopicPartitions: make([]grouprec.TopicPartitions, len(p))}
	for i := range p {
		v.TopicPartitions[i] = grouprec.TopicPartitions{TopicID: p[i].Topic, Partitions: p[i].Partitions}
	}
	return v
}
