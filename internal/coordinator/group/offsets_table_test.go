package group

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestOffsetTable compares the table with a map, in orders that fill, split and
// empty its chunks.
func TestOffsetTable(t *testing.T) {
	for _, tt := range []struct {
		name string
		next func(r *rand.Rand, i int) int32
	}{
		{"rising", func(_ *rand.Rand, i int) int32 { return int32(i) }},
		{"falling", func(_ *rand.Rand, i int) int32 { return int32(-i) }},
		{"random", func(r *rand.Rand, _ int) int32 { return r.Int32N(5000) }},
		{"far apart", func(r *rand.Rand, _ int) int32 { return int32(r.Uint32()) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for seed := range uint64(20) {
				r := rand.New(rand.NewPCG(seed, 2))
				g, want := make(groupOffsets), make(map[int32]int64)
				for i := range 5000 {
					p := tt.next(r, i)
					g.put("t", committed{offset: int64(i), partition: p}, detail{expires: -1})
					want[p] = int64(i)
					if i%5 == 0 { // one of those that are there, mostly
						p = tt.next(r, i/2)
						g.remove("t", p)
						delete(want, p)
					}
				}
				checkTable(t, g, want)
				for p := range want {
					g.remove("t", p)
				}
				if len(g) != 0 {
					t.Errorf("%d topics are left", len(g))
				}
			}
		})
	}
}

func checkTable(t *testing.T, g groupOffsets, want map[int32]int64) {
	t.Helper()
	var partitions []int32
	for topic, offsets := range g.all() {
		if topic != "t" {
			t.Errorf("a topic %q", topic)
		}
		for c := range offsets.all() {
			partitions = append(partitions, c.partition)
			if c.offset != want[c.partition] {
				t.Errorf("partition %d: %d, want %d", c.partition, c.offset, want[c.partition])
			}
			if got, ok := g.get("t", c.partition); !ok || got != c {
				t.Errorf("partition %d: got %v, %v", c.partition, got, ok)
			}
		}
		for i, chunk := range offsets.chunks {
			if len(chunk) == 0 || len(chunk) > chunkLen {
				t.Errorf("chunk %d has %d offsets", i, len(chunk))
			}
		}
	}
	if len(partitions) != len(want) || !slices.IsSorted(partitions) {
		t.Errorf("%d offsets, sorted %v; want %d", len(partitions), slices.IsSorted(partitions), len(want))
	}
}

// What offsets have in common they share, whoever commits next.
func TestOffsetDetails(t *testing.T) {
	g := make(groupOffsets)
	common := detail{topicID: [16]byte{1}, expires: -1}
	own := detail{topicID: [16]byte{1}, metadata: "m", expires: 5}
	for i, d := range []detail{common, common, own, own} {
		g.put("t", committed{partition: int32(i)}, d)
	}
	at := func(p int32) *detail { c, _ := g.get("t", p); return c.detail }
	if at(0) != at(1) || at(2) != at(3) || *at(0) != common || *at(3) != own {
		t.Errorf("details %v %v %v %v", at(0), at(1), at(2), at(3))
	}
}
