package group

import (
	"fmt"
	"log/slog"

	"kf/internal/coordinator/shard"
	"kf/internal/format/grouprec"
	"kf/internal/image"
)

// A machine is the state of one shard: the replay of its records, and what waits
// and runs out beside it. Its methods are called with the shard's lock held.
type machine struct {
	o     *Options
	log   *slog.Logger
	shard *shard.Shard // for timers and background work

	// image is the newest that the shard was told of; Update replaces it.
	image  *image.Image
	groups map[string]group
	// byTopic has the consumer groups whose members subscribe to a topic, by
	// its name.
	byTopic map[string]map[string]bool
	topics  topicWatch
	offsets offsets
}

func newMachine(o *Options) *machine {
	return &machine{
		o: o, log: o.Log, image: o.Image(), groups: make(map[string]group),
		byTopic: make(map[string]map[string]bool), topics: newTopicWatch(), offsets: newOffsets(),
	}
}

// put returns a record of the newest version that Kafka 4.4 writes.
func put(key, value any) shard.Record {
	return shard.Record{Key: key, Value: value, Version: writtenVersion(value)}
}

// tombstone returns the record that deletes what key stands for.
func tombstone(key any) shard.Record { return shard.Record{Key: key} }

// writtenVersion is the version in which Kafka 4.4.0 writes a value.
//
// Source: Kafka 4.4.0, GroupCoordinatorRecordHelpers.java.
func writtenVersion(value any) int16 {
	switch v := value.(type) {
	case *grouprec.OffsetCommitValue:
		if v.ExpireTimestamp != -1 {
			return 1
		}
		return 4
	case *grouprec.GroupMetadataValue:
		return 3
	}
	return 0
}

// Replay implements [shard.Machine].
func (m *machine) Replay(r shard.Record, producer int64) {
	switch key := r.Key.(type) {
	case *grouprec.LegacyOffsetCommitKey:
		m.replayLegacyOffset(key, valueOf[grouprec.LegacyOffsetCommitValue](r), producer)
	case *grouprec.OffsetCommitKey:
		m.replayOffset(key, valueOf[grouprec.OffsetCommitValue](r), producer)
	case *grouprec.GroupMetadataKey:
		m.replayClassic(key, valueOf[grouprec.GroupMetadataValue](r))
	case *grouprec.ConsumerGroupMetadataKey:
		m.replayConsumerGroup(key, valueOf[grouprec.ConsumerGroupMetadataValue](r))
	case *grouprec.ConsumerGroupPartitionMetadataKey:
		m.replayConsumerPartitions(key, valueOf[grouprec.ConsumerGroupPartitionMetadataValue](r))
	case *grouprec.ConsumerGroupMemberMetadataKey:
		m.replayConsumerMember(key, valueOf[grouprec.ConsumerGroupMemberMetadataValue](r))
	case *grouprec.ConsumerGroupTargetAssignmentMetadataKey:
		m.replayConsumerTarget(key, valueOf[grouprec.ConsumerGroupTargetAssignmentMetadataValue](r))
	case *grouprec.ConsumerGroupTargetAssignmentMemberKey:
		m.replayConsumerTargetMember(key, valueOf[grouprec.ConsumerGroupTargetAssignmentMemberValue](r))
	case *grouprec.ConsumerGroupCurrentMemberAssignmentKey:
		m.replayConsumerCurrent(key, valueOf[grouprec.ConsumerGroupCurrentMemberAssignmentValue](r))
	case *grouprec.ConsumerGroupRegularExpressionKey:
		m.replayConsumerRegex(key, valueOf[grouprec.ConsumerGroupRegularExpressionValue](r))
	default:
		m.replayOther(r)
	}
}

// valueOf returns the value of a record, nil for a tombstone.
func valueOf[V any](r shard.Record) *V {
	v, _ := r.Value.(*V)
	return v
}

// ReplayEnd implements [shard.Machine].
func (m *machine) ReplayEnd(producer int64, committed bool) {
	m.endTransaction(producer, committed)
}

// Loaded implements [shard.Machine].
func (m *machine) Loaded() {
	m.image = m.o.Image()
	m.topics.created = imageVersion(m.image)
	for _, g := range m.groups {
		switch g := g.(type) {
		case *classicGroup:
			m.loadedClassic(g)
		case *consumerGroup:
			m.loadedConsumer(g)
		}
	}
	m.scheduleExpiry()
}

// Unloaded implements [shard.Machine].
func (m *machine) Unloaded(err error) {
	for _, g := range m.groups {
		if g, ok := g.(*classicGroup); ok {
			m.unloadedClassic(g, err)
		}
	}
}

// group returns a group, nil if there is none.
func (m *machine) group(id string) group { return m.groups[id] }

// timerKey returns the key of a timer of a group, or of one of its members. No
// two of them are the same, whatever clients call themselves.
func timerKey(kind, group, member string) string {
	return fmt.Sprintf("%s %d %s %s", kind, len(group), group, member)
}
