package assignor_test

import (
	"fmt"
	"slices"
	"testing"

	"kf/internal/coordinator/assignor"
	"kf/internal/coordinator/assigntest"
	"kf/internal/wire"
)

// large returns a group of 1000 members for 10000 partitions of some topics.
// Mixed, each member wants all topics but one.
func large(topics int, mixed bool) (assignor.Spec, assigntest.Topics) {
	counts := assigntest.Topics{}
	var ids []wire.UUID
	for i := range topics {
		id := wire.UUID{byte(i >> 8), byte(i), 15: 1}
		ids, counts[id] = append(ids, id), int32(10000/topics)
	}
	spec := assignor.Spec{Homogeneous: !mixed}
	for i := range 1000 {
		m := assignor.Member{ID: fmt.Sprintf("member-%d", i*7919%1000), Topics: ids}
		if mixed {
			m.Topics = slices.Delete(slices.Clone(ids), i%topics, i%topics+1)
		}
		spec.Members = append(spec.Members, m)
	}
	return spec, counts
}

func BenchmarkAssign(b *testing.B) {
	for _, bb := range []struct {
		assignor assignor.Assignor
		topics   int
		mixed    bool
	}{
		{assignor.Uniform(), 10, false},
		{assignor.Uniform(), 1000, false},
		{assignor.Uniform(), 10, true},
		{assignor.Uniform(), 1000, true},
		{assignor.Range(), 10, false},
		{assignor.Range(), 1000, false},
		{assignor.Range(), 1000, true},
	} {
		spec, topics := large(bb.topics, bb.mixed)
		assign := func(spec assignor.Spec) []assignor.Partitions {
			out, err := bb.assignor.Assign(spec, topics)
			if err != nil {
				b.Fatal(err)
			}
			return out
		}
		name := fmt.Sprintf("%s/topics=%d/mixed=%t", bb.assignor.Name(), bb.topics, bb.mixed)
		b.Run(name+"/first", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				assign(spec)
			}
		})
		joined := assignor.Spec{Homogeneous: spec.Homogeneous, Members: slices.Clone(spec.Members)}
		some := assignor.Spec{Homogeneous: spec.Homogeneous, Members: joined.Members[:990]}
		for i, p := range assign(some) {
			joined.Members[i].Owned = p
		}
		b.Run(name+"/ten-join", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				assign(joined)
			}
		})
	}
}

func BenchmarkTopicHash(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		assignor.TopicHash(wire.UUID{1}, "orders", 10000, each("eu-central-1a", "eu-central-1b", "eu-central-1c"))
	}
}
