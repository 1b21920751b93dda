package assigntest

import (
	"fmt"
	"slices"

	"kf/internal/coordinator/assignor"
	"kf/internal/wire"
)

// A Verdict is what can be said of sound assignments.
type Verdict struct {
	Loads []int // partitions of each member
	Kept  int   // partitions that members have and had before
	// Uneven are the partitions whose owner has at least two more than another
	// subscriber of their topic.
	Uneven int
}

// Spread returns by how much the loads of members differ.
func (v Verdict) Spread() int {
	if len(v.Loads) == 0 {
		return 0
	}
	return slices.Max(v.Loads) - slices.Min(v.Loads)
}

// Judge judges the assignments of spec's members. It fails unless every partition of
// the topics that members are subscribed to has exactly one owner, which is
// subscribed to it, and no other partition has one.
func Judge(spec assignor.Spec, topics Topics, out []assignor.Partitions) (Verdict, error) {
	var v Verdict
	if len(out) != len(spec.Members) {
		return v, fmt.Errorf("%d assignments for %d members", len(out), len(spec.Members))
	}
	type partition struct {
		topic  wire.UUID
		number int32
	}
	owners := make(map[partition]int)
	v.Loads = make([]int, len(out))
	for m, p := range out {
		if again := assignor.NewPartitions(p.All()); !again.Equal(p) {
			return v, fmt.Errorf("member %d gets %v, which is not in order", m, p)
		}
		for topic, number := range p.All() {
			at := partition{topic, number}
			if other, ok := owners[at]; ok {
				return v, fmt.Errorf("%v-%d goes to both members %d and %d", topic, number, other, m)
			}
			owners[at] = m
			v.Loads[m]++
			switch _, wanted := slices.BinarySearchFunc(spec.Members[m].Topics, topic, compare); {
			case !wanted:
				return v, fmt.Errorf("member %d gets %v-%d, to which it is not subscribed", m, topic, number)
			case number < 0 || number >= topics.Partitions(topic):
				return v, fmt.Errorf("member %d gets %v-%d of %d", m, topic, number, topics.Partitions(topic))
			}
			if spec.Members[m].Owned.Contains(topic, number) {
				v.Kept++
			}
		}
	}
	least := make(map[wire.UUID]int) // load of a subscriber
	for m := range spec.Members {
		for _, topic := range spec.Members[m].Topics {
			if load, ok := least[topic]; !ok || v.Loads[m] < load {
				least[topic] = v.Loads[m]
			}
		}
	}
	for topic, low := range least {
		for number := range topics.Partitions(topic) {
			m, ok := owners[partition{topic, number}]
			if !ok {
				return v, fmt.Errorf("%v-%d goes to no one", topic, number)
			}
			if v.Loads[m]-low > 1 {
				v.Uneven++
			}
		}
	}
	return v, nil
}

// MostKept returns how many partitions at most the members can keep if all are
// subscribed to the same topics and their loads shall differ by one at most.
func MostKept(spec assignor.Spec, topics Topics) int {
	if len(spec.Members) == 0 {
		return 0
	}
	total := 0
	wanted := spec.Members[0].Topics
	for _, topic := range wanted {
		total += int(topics.Partitions(topic))
	}
	quota, extra := total/len(spec.Members), total%len(spec.Members)
	kept, more := 0, 0 // more have more than their quota
	for m := range spec.Members {
		owned := 0
		for topic, number := range spec.Members[m].Owned.All() {
			if slices.Contains(wanted, topic) && number < topics.Partitions(topic) {
				owned++
			}
		}
		kept += min(owned, quota)
		if owned > quota {
			more++
		}
	}
	return kept + min(more, extra)
}

func compare(a, b wire.UUID) int { return slices.Compare(a[:], b[:]) }
