package group

import (
	"fmt"
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"

	"kf/internal/coordinator/assignor"
	"kf/internal/coordinator/shard"
	"kf/internal/format/grouprec"
	"kf/internal/wire"
)

// A consumerGroup is a group whose partitions the coordinator assigns (KIP-848).
//
// What its members want decides a target assignment: the group epoch rises when
// that changes, and the assignment epoch follows it when the target is computed.
// Each member is then led from what it has to what it shall have, at its own pace:
// it gives partitions up, its epoch rises to that of the assignment, and it gets
// what others have given up. So no partition has two owners at any time, and
// nobody waits who keeps what it has.
//
// All of it is the replay of records, except for timers and when the topics were
// looked at last.
//
// Source: Kafka 4.4.0, ConsumerGroup.java and ModernGroup.java.
type consumerGroup struct {
	groupID string
	epoch   int32 // rises when members or topics change
	hash    int64 // of the topics that members are subscribed to, as the epoch rose last
	members map[string]*consumerMember
	statics map[string]string // member by instance

	targets    map[string]assignor.Partitions // by member
	targetedIn int32                          // the assignment epoch: that of the group when targets were computed
	targetedAt int64                          // and when that was in ms since the Unix epoch, 0 if nobody need wait

	owners    map[topicPartition]string // member by partition, also of those to be given up
	topics    subscriptions
	patterns  map[string]int         // members by regular expression
	resolved  map[string]*resolution // by regular expression
	votes     map[string]int         // members by the assignor that they want
	classic   int                    // members that use the classic protocol
	protocols map[string]int         // and how many of them support an assignor of clients

	// described says that there is a record of the topics' partitions, which 4.0
	// wrote.
	described bool
	// fresh says until when the topics need not be looked at again.
	fresh freshness
	// watch is told when the group begins or ends to be subscribed to a topic; nil
	// for a group that is only being made.
	watch func(topic string, subscribed bool)
}

// firstEpoch is the epoch of a group, and of its assignment, before a record says
// it.
const firstEpoch = 1

func newConsumerGroup(id string) *consumerGroup {
	return &consumerGroup{
		groupID: id, epoch: firstEpoch, targetedIn: firstEpoch,
		members: make(map[string]*consumerMember), statics: make(map[string]string),
		targets: make(map[string]assignor.Partitions), owners: make(map[topicPartition]string),
		topics: make(subscriptions), patterns: make(map[string]int), resolved: make(map[string]*resolution),
		votes: make(map[string]int), protocols: make(map[string]int),
	}
}

// A freshness is how long what a group knows of its topics holds: till a time, as
// long as the group's epoch is not below what it was to become.
type freshness struct {
	until int64 // ms since the Unix epoch
	epoch int32
}

func (g *consumerGroup) id() string           { return g.groupID }
func (g *consumerGroup) kind() Type           { return Consumer }
func (g *consumerGroup) protocolType() string { return grouprec.ConsumerProtocolType }
func (g *consumerGroup) empty() bool          { return len(g.members) == 0 }

func (g *consumerGroup) state() string {
	switch {
	case g.empty():
		return "Empty"
	case g.epoch > g.targetedIn:
		return "Assigning"
	}
	for _, m := range g.members {
		if !m.reconciled(g.targetedIn) {
			return "Reconciling"
		}
	}
	return "Stable"
}

// member returns a member. It fails with UNKNOWN_MEMBER_ID.
func (g *consumerGroup) member(id string) (*consumerMember, error) {
	if m := g.members[id]; m != nil {
		return m, nil
	}
	return nil, refuse(kerr.UnknownMemberID, fmt.Sprintf("Member %s is not a member of group %s.", id, g.groupID))
}

// static returns the member of an instance, nil if there is none.
func (g *consumerGroup) static(instance *string) *consumerMember {
	if instance == nil {
		return nil
	}
	return g.members[g.statics[*instance]]
}

// target returns what a member shall have: that of its instance, which may have had
// another member id.
func (g *consumerGroup) target(m *consumerMember) assignor.Partitions {
	if m.instance == nil {
		return g.targets[m.id]
	}
	return g.targets[g.statics[*m.instance]]
}

// sortedMembers returns the ids of the members in the order in which records of
// them follow each other. Kafka's is that of a hash table.
func (g *consumerGroup) sortedMembers() []string { return slices.Sorted(maps.Keys(g.members)) }

func (g *consumerGroup) checkCommit(member string, instance *string, epoch int32, transactional bool, version int16) (checkPartition, error) {
	switch {
	case epoch < 0 && g.empty(): // whoever sets offsets from outside
		return nil, nil
	case transactional && epoch == -1 && member == "" && instance == nil: // a producer that does not know of members
		return nil, nil
	}
	m, err := g.member(member)
	switch {
	case err != nil:
		return nil, err
	case !transactional && m.classic == nil && version < 9:
		return nil, refuse(kerr.UnsupportedVersion, "OffsetCommit version 9 or above must be used by members using the consumer group protocol")
	case epoch > m.epoch:
		return nil, m.stale("Received %s %d is newer than current member epoch %d.", m.epochName(), epoch, m.epoch)
	case epoch < m.epoch:
		return m.checkAssigned(epoch), nil
	}
	return nil, nil
}

// checkAssigned returns the check of a commit in an epoch that has passed: it is
// taken for partitions that the member has had since then.
func (m *consumerMember) checkAssigned(epoch int32) checkPartition {
	return func(topic string, id wire.UUID, partition int32) error {
		since, ok := m.assigned.epoch(id, partition)
		if !ok {
			since, ok = m.revoking.epoch(id, partition)
		}
		switch {
		case !ok:
			return m.stale("Partition %s-%d is not assigned or pending revocation for member.", topic, partition)
		case epoch < since:
			return m.stale("Received %s %d is older than assignment epoch %d for partition %s-%d.", m.epochName(), epoch, since, topic, partition)
		}
		return nil
	}
}

func (g *consumerGroup) checkFetch(member *string, epoch int32) error {
	if member == nil && epoch < 0 {
		return nil
	}
	id := "null"
	if member != nil {
		id = *member
	}
	m, err := g.member(id)
	switch {
	case err != nil:
		return err
	case epoch != m.epoch:
		return m.stale("The received %s %d does not match the expected member epoch %d.", m.epochName(), epoch, m.epoch)
	}
	return nil
}

// stale returns the refusal of a request with a wrong epoch of a member.
func (m *consumerMember) stale(format string, args ...any) error {
	if m.classic != nil {
		return refuse(kerr.IllegalGeneration, fmt.Sprintf(format, args...))
	}
	return refuse(kerr.StaleMemberEpoch, fmt.Sprintf(format, args...))
}

// epochName is what clients of the member call its epoch.
func (m *consumerMember) epochName() string {
	if m.classic != nil {
		return "generation id"
	}
	return "member epoch"
}

func (g *consumerGroup) checkDelete() error {
	if !g.empty() {
		return refuse(kerr.NonEmptyGroup, "")
	}
	return nil
}

func (g *consumerGroup) checkOffsetDelete() error { return nil }

func (g *consumerGroup) subscribed(topic string) bool {
	_, ok := g.topics[topic]
	return ok
}

func (g *consumerGroup) expires() (since int64, ok bool) { return -1, true }

func (g *consumerGroup) tombstones(dst []shard.Record) []shard.Record {
	return g.tombstonesOf(dst, g.sortedMembers())
}

// tombstonesOf appends the records that delete the group with members.
func (g *consumerGroup) tombstonesOf(dst []shard.Record, members []string) []shard.Record {
	for _, id := range members {
		dst = append(dst, tombstone(&grouprec.ConsumerGroupCurrentMemberAssignmentKey{GroupID: g.groupID, MemberID: id}))
	}
	for _, id := range members {
		dst = append(dst, tombstone(&grouprec.ConsumerGroupTargetAssignmentMemberKey{GroupID: g.groupID, MemberID: id}))
	}
	dst = append(dst, tombstone(&grouprec.ConsumerGroupTargetAssignmentMetadataKey{GroupID: g.groupID}))
	for _, id := range members {
		dst = append(dst, tombstone(&grouprec.ConsumerGroupMemberMetadataKey{GroupID: g.groupID, MemberID: id}))
	}
	for _, pattern := range slices.Sorted(maps.Keys(g.resolved)) {
		dst = append(dst, g.patternTombstone(pattern))
	}
	return append(dst, g.describedTombstone(), tombstone(&grouprec.ConsumerGroupMetadataKey{GroupID: g.groupID}))
}

func (g *consumerGroup) forget(s *shard.Shard) {
	for id := range g.members {
		g.cancelTimers(s, id)
	}
	s.Stop(g.timerKey(consumerPatterns, ""))
}

// The records of a group.

func (g *consumerGroup) epochRecord(epoch int32, hash int64) shard.Record {
	return put(&grouprec.ConsumerGroupMetadataKey{GroupID: g.groupID}, &grouprec.ConsumerGroupMetadataValue{Epoch: epoch, MetadataHash: hash})
}

func (g *consumerGroup) memberRecord(m *consumerMember) shard.Record {
	return put(&grouprec.ConsumerGroupMemberMetadataKey{GroupID: g.groupID, MemberID: m.id}, m.metadata())
}

func (g *consumerGroup) currentRecord(m *consumerMember) shard.Record {
	return put(&grouprec.ConsumerGroupCurrentMemberAssignmentKey{GroupID: g.groupID, MemberID: m.id}, m.current())
}

func (g *consumerGroup) targetRecord(member string, p assignor.Partitions) shard.Record {
	return put(&grouprec.ConsumerGroupTargetAssignmentMemberKey{GroupID: g.groupID, MemberID: member}, targetRecord(p))
}

func (g *consumerGroup) targetEpochRecord(epoch int32, at int64) shard.Record {
	return put(&grouprec.ConsumerGroupTargetAssignmentMetadataKey{GroupID: g.groupID},
		&grouprec.ConsumerGroupTargetAssignmentMetadataValue{AssignmentEpoch: epoch, AssignmentTimestamp: at})
}

// memberTombstones appends the records that remove a member.
func (g *consumerGroup) memberTombstones(dst []shard.Record, member string) []shard.Record {
	return append(dst,
		tombstone(&grouprec.ConsumerGroupCurrentMemberAssignmentKey{GroupID: g.groupID, MemberID: member}),
		tombstone(&grouprec.ConsumerGroupTargetAssignmentMemberKey{GroupID: g.groupID, MemberID: member}),
		tombstone(&grouprec.ConsumerGroupMemberMetadataKey{GroupID: g.groupID, MemberID: member}),
	)
}

func (g *consumerGroup) patternTombstone(pattern string) shard.Record {
	return tombstone(&grouprec.ConsumerGroupRegularExpressionKey{GroupID: g.groupID, RegularExpression: pattern})
}

func (g *consumerGroup) describedTombstone() shard.Record {
	return tombstone(&grouprec.ConsumerGroupPartitionMetadataKey{GroupID: g.groupID})
}
