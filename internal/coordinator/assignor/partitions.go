package assignor

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"iter"
	"slices"

	"kf/internal/wire"
)

// Partitions are partitions of any number of topics. They are sorted by the
// bytes of the topic id, each topic once; nil are none. Nobody changes them once
// they are handed out, so that everybody may share them.
type Partitions []TopicPartitions

// TopicPartitions are partitions of one topic.
type TopicPartitions struct {
	Topic      wire.UUID
	Partitions []int32 // rising, at least one
}

// NewPartitions returns the partitions that all yields in any order, each once.
func NewPartitions(all iter.Seq2[wire.UUID, int32]) Partitions {
	byTopic := make(map[wire.UUID][]int32)
	for topic, partition := range all {
		byTopic[topic] = append(byTopic[topic], partition)
	}
	if len(byTopic) == 0 {
		return nil
	}
	p := make(Partitions, 0, len(byTopic))
	for topic, partitions := range byTopic {
		slices.Sort(partitions)
		p = append(p, TopicPartitions{topic, slices.Compact(partitions)})
	}
	slices.SortFunc(p, func(a, b TopicPartitions) int { return compareIDs(a.Topic, b.Topic) })
	return p
}

// Of returns the partitions of a topic, rising.
func (p Partitions) Of(topic wire.UUID) []int32 {
	i, ok := slices.BinarySearchFunc(p, topic, func(t TopicPartitions, id wire.UUID) int { return compareIDs(t.Topic, id) })
	if !ok {
		return nil
	}
	return p[i].Partitions
}

// Contains reports whether a partition is among p.
func (p Partitions) Contains(topic wire.UUID, partition int32) bool {
	_, ok := slices.BinarySearch(p.Of(topic), partition)
	return ok
}

// All yields the partitions, topic by topic.
func (p Partitions) All() iter.Seq2[wire.UUID, int32] {
	return func(yield func(wire.UUID, int32) bool) {
		for i := range p {
			for _, partition := range p[i].Partitions {
				if !yield(p[i].Topic, partition) {
					return
				}
			}
		}
	}
}

// Equal reports whether p and q are the same partitions. It is quick when they
// are the same memory.
func (p Partitions) Equal(q Partitions) bool {
	if len(p) != len(q) {
		return false
	}
	if len(p) == 0 || &p[0] == &q[0] {
		return true
	}
	return slices.EqualFunc(p, q, func(a, b TopicPartitions) bool {
		return a.Topic == b.Topic && slices.Equal(a.Partitions, b.Partitions)
	})
}

func compareIDs(a, b wire.UUID) int { return bytes.Compare(a[:], b[:]) }

// compareKafkaIDs is the order of Kafka's Uuid: two signed halves.
func compareKafkaIDs(a, b wire.UUID) int {
	half := func(p []byte) int64 { return int64(binary.BigEndian.Uint64(p)) }
	return cmp.Or(cmp.Compare(half(a[:8]), half(b[:8])), cmp.Compare(half(a[8:]), half(b[8:])))
}
