package group

import (
	"bytes"
	"iter"
	"maps"
	"slices"

	"kf/internal/coordinator/assignor"
	"kf/internal/format/grouprec"
	"kf/internal/wire"
)

// An ownership is partitions that a member has, and in which epoch each was
// assigned to it: from that one on its commits count. It is sorted by topic id and
// never changes; nil is nothing.
type ownership []topicOwnership

// A topicOwnership is the partitions of one topic, at least one.
type topicOwnership struct {
	topic      wire.UUID
	partitions []int32 // rising
	epochs     []int32 // by partition
}

// A topicPartition is a partition by its topic's id.
type topicPartition struct {
	topic     wire.UUID
	partition int32
}

// of returns the partitions of a topic.
func (o ownership) of(topic wire.UUID) topicOwnership {
	if i, ok := slices.BinarySearchFunc(o, topic, func(t topicOwnership, id wire.UUID) int { return bytes.Compare(t.topic[:], id[:]) }); ok {
		return o[i]
	}
	return topicOwnership{topic: topic}
}

// epoch returns the epoch in which a partition was assigned, ok false if it is not
// among o.
func (o ownership) epoch(topic wire.UUID, partition int32) (epoch int32, ok bool) {
	t := o.of(topic)
	i, ok := slices.BinarySearch(t.partitions, partition)
	if !ok {
		return 0, false
	}
	return t.epochs[i], true
}

// contains reports whether a partition is among o.
func (o ownership) contains(topic wire.UUID, partition int32) bool {
	_, ok := o.epoch(topic, partition)
	return ok
}

// all yields the partitions.
func (o ownership) all() iter.Seq[topicPartition] {
	return func(yield func(topicPartition) bool) {
		for i := range o {
			for _, partition := range o[i].partitions {
				if !yield(topicPartition{o[i].topic, partition}) {
					return
				}
			}
		}
	}
}

func (o ownership) equal(p ownership) bool {
	return slices.EqualFunc(o, p, func(a, b topicOwnership) bool {
		return a.topic == b.topic && slices.Equal(a.partitions, b.partitions) && slices.Equal(a.epochs, b.epochs)
	})
}

// at returns the same partitions, assigned in one epoch.
func (o ownership) at(epoch int32) ownership {
	same := slices.Clone(o)
	for i := range same {
		same[i].epochs = slices.Repeat([]int32{epoch}, len(same[i].partitions))
	}
	return same
}

// owned returns partitions, assigned in one epoch.
func owned(p assignor.Partitions, epoch int32) ownership {
	o := make(ownership, len(p))
	for i := range p {
		o[i] = topicOwnership{topic: p[i].Topic, partitions: p[i].Partitions}
	}
	return o.at(epoch)
}

// partitions returns the partitions without their epochs.
func (o ownership) partitions() assignor.Partitions {
	p := make(assignor.Partitions, len(o))
	for i := range o {
		p[i] = assignor.TopicPartitions{Topic: o[i].topic, Partitions: o[i].partitions}
	}
	return p
}

// with returns o with the partitions of a topic that come behind those of o, if
// there are any.
func (o ownership) with(t topicOwnership) ownership {
	if len(t.partitions) == 0 {
		return o
	}
	return append(o, t)
}

// add adds a partition behind those of t.
func (t *topicOwnership) add(partition, epoch int32) {
	t.partitions, t.epochs = append(t.partitions, partition), append(t.epochs, epoch)
}

// union returns the partitions of o and p, those of both with the epochs of o.
func (o ownership) union(p ownership) ownership {
	switch {
	case len(o) == 0:
		return p
	case len(p) == 0:
		return o
	}
	all := slices.Concat(p, o)
	slices.SortStableFunc(all, func(a, b topicOwnership) int { return bytes.Compare(a.topic[:], b.topic[:]) })
	var out ownership
	for _, t := range all {
		if n := len(out); n > 0 && out[n-1].topic == t.topic {
			both := topicOwnership{t.topic, slices.Concat(out[n-1].partitions, t.partitions), slices.Concat(out[n-1].epochs, t.epochs)}
			out[n-1] = both.sorted()
			continue
		}
		out = append(out, t)
	}
	return out
}

// record returns o as it is recorded.
func (o ownership) record() []grouprec.AssignedPartitions {
	v := make([]grouprec.AssignedPartitions, len(o))
	for i := range o {
		v[i] = grouprec.AssignedPartitions{TopicID: o[i].topic, Partitions: o[i].partitions, AssignmentEpochs: o[i].epochs}
	}
	return v
}

// recordedOwnership returns what is recorded. Partitions without epochs, which
// releases before 4.3 wrote, were assigned in the member's. Of a topic that comes
// twice the last counts.
//
// Source: Kafka 4.4.0, Utils.java.
func recordedOwnership(v []grouprec.AssignedPartitions, memberEpoch int32) ownership {
	o := make(ownership, 0, len(v))
	for i := range slices.Backward(v) {
		t := topicOwnership{topic: v[i].TopicID, partitions: v[i].Partitions, epochs: v[i].AssignmentEpochs}
		if len(t.epochs) != len(t.partitions) {
			t.epochs = slices.Repeat([]int32{max(memberEpoch, 0)}, len(t.partitions))
		}
		o = o.with(t.sorted())
	}
	slices.SortStableFunc(o, func(a, b topicOwnership) int { return bytes.Compare(a.topic[:], b.topic[:]) })
	return slices.CompactFunc(o, func(a, b topicOwnership) bool { return a.topic == b.topic })
}

// sorted returns t with its partitions rising, each with the last of its epochs.
func (t topicOwnership) sorted() topicOwnership {
	rising := true
	for i := 1; i < len(t.partitions); i++ {
		rising = rising && t.partitions[i-1] < t.partitions[i]
	}
	if rising {
		return t
	}
	epochs := make(map[int32]int32, len(t.partitions))
	for i, partition := range t.partitions {
		epochs[partition] = t.epochs[i]
	}
	out := topicOwnership{topic: t.topic}
	for _, partition := range slices.Sorted(maps.Keys(epochs)) {
		out.add(partition, epochs[partition])
	}
	return out
}

// recordedTarget returns the target assignment that is recorded for a member.
func recordedTarget(v []grouprec.TopicPartitions) assignor.Partitions {
	return assignor.NewPartitions(func(yield func(wire.UUID, int32) bool) {
		for i := range v {
			for _, partition := range v[i].Partitions {
				if !yield(v[i].TopicID, partition) {
					return
				}
			}
		}
	})
}
