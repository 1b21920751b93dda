package image

import (
	"cmp"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
)

// Random changes of a tree are those of a map, and leave frozen copies alone.
func TestTree(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	type frozen struct {
		tree tree[int, int]
		want map[int]int
	}
	var copies []frozen
	tr, want, o := tree[int, int]{cmp: cmp.Compare[int]}, map[int]int{}, new(owner)
	check := func(tr *tree[int, int], want map[int]int) {
		t.Helper()
		if tr.len != len(want) {
			t.Fatalf("%d entries, want %d", tr.len, len(want))
		}
		var keys []int
		for k, v := range tr.all() {
			if got, ok := tr.get(k); !ok || got != v || want[k] != v {
				t.Fatalf("key %d: %d, then %d, %v, want %d", k, v, got, ok, want[k])
			}
			keys = append(keys, k)
		}
		if sorted := slices.Sorted(maps.Keys(want)); !slices.Equal(keys, sorted) {
			t.Fatalf("keys %v, want %v", keys, sorted)
		}
		from := random.IntN(3000)
		var behind []int
		for k := range tr.from(from) {
			behind = append(behind, k)
		}
		at, _ := slices.BinarySearch(keys, from)
		if !slices.Equal(behind, keys[at:]) {
			t.Fatalf("from %d: %v, want %v", from, behind, keys[at:])
		}
	}
	for step := range 40_000 {
		k := random.IntN(3000)
		// It grows, then shrinks, then grows again.
		if grow := step/10_000%2 == 0; random.IntN(10) < 7 == grow {
			tr.set(o, k, step)
			want[k] = step
		} else {
			tr.delete(o, k)
			delete(want, k)
		}
		if step%997 == 0 {
			check(&tr, want)
			copies = append(copies, frozen{tr, maps.Clone(want)})
			o = new(owner)
		}
	}
	for k := range want {
		tr.delete(o, k)
	}
	if tr.root != nil || tr.len != 0 {
		t.Errorf("%d entries in an empty tree", tr.len)
	}
	for _, c := range copies {
		check(&c.tree, c.want)
	}
}

// Keys that come below all others go to first children, whose halves must not
// get keys out of order: names that count up, such as "t-99" and "t-100", do that.
func TestTreeFallingKeys(t *testing.T) {
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 0))
		tr, want, o := tree[int, int]{cmp: cmp.Compare[int]}, map[int]int{}, new(owner)
		for step := range 3000 {
			k := 10_000*(1+step/500) - step%500*10 + random.IntN(100) // falls, then falls from above again
			if random.IntN(4) > 0 {
				tr.set(o, k, step)
				want[k] = step
			} else {
				for old := range want {
					tr.delete(o, old)
					delete(want, old)
					break
				}
			}
			if step%10 == 0 {
				o = new(owner)
			}
			for k, v := range want {
				if got, ok := tr.get(k); !ok || got != v {
					t.Fatalf("seed %d, step %d: key %d: %d, %v, want %d", seed, step, k, got, ok, v)
				}
				if step%100 != 0 {
					break // all of them now and then
				}
			}
			if tr.len != len(want) {
				t.Fatalf("seed %d, step %d: %d entries, want %d", seed, step, tr.len, len(want))
			}
		}
	}
}

// A change of a large tree copies the way to the key, nothing else.
func TestTreeShares(t *testing.T) {
	tr, o := tree[int, int]{cmp: cmp.Compare[int]}, new(owner)
	for i := range 100_000 {
		tr.set(o, i, i)
	}
	o = new(owner)
	next := tr
	next.set(o, 50_000, -1)
	made, all := count(next.root, o), count(next.root, nil)
	if made > 4 || all < 3000 {
		t.Errorf("%d new nodes of %d", made, all)
	}
	if v, _ := tr.get(50_000); v != 50_000 {
		t.Errorf("the old tree has %d", v)
	}
}

// count counts the nodes of an owner, all with nil.
func count(n *node[int, int], o *owner) int {
	total := 0
	if o == nil || n.owner == o {
		total = 1
	}
	for _, kid := range n.kids {
		total += count(kid, o)
	}
	return total
}
