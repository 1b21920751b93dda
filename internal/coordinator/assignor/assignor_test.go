package assignor_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"kf/internal/coordinator/assignor"
	"kf/internal/coordinator/assigntest"
	"kf/internal/javafmt"
	"kf/internal/kftest"
	"kf/internal/wire"
)

// id is the id of the topic named by a letter.
func id(letter byte) wire.UUID { return wire.UUID{0: letter, 15: 1} }

// read reads partitions, like "A0 A1 B0"; "-" are none.
func read(t *testing.T, s string) assignor.Partitions {
	t.Helper()
	return assignor.NewPartitions(func(yield func(wire.UUID, int32) bool) {
		for word := range strings.FieldsSeq(strings.TrimPrefix(s, "-")) {
			n, err := strconv.Atoi(word[1:])
			if err != nil {
				t.Fatal(err)
			}
			if !yield(id(word[0]), int32(n)) {
				return
			}
		}
	})
}

// text is the reverse of read.
func text(p assignor.Partitions) string {
	words := []string{}
	for topic, n := range p.All() {
		words = append(words, fmt.Sprintf("%s%d", topic[:1], n))
	}
	if len(words) == 0 {
		return "-"
	}
	return strings.Join(words, " ")
}

// A group is written down: topics like "A3 B1" with their numbers of partitions, and
// members like "id/instance AB A0 A1", with the topics that they want, or "-", and
// the partitions that they have.
type group struct {
	topics  string
	members []string
	mixed   bool
}

func (g group) read(t *testing.T) (assignor.Spec, assigntest.Topics) {
	t.Helper()
	topics := assigntest.Topics{}
	maps.Insert(topics, read(t, g.topics).All())
	spec := assignor.Spec{Homogeneous: !g.mixed}
	for _, s := range g.members {
		name, rest, _ := strings.Cut(s, " ")
		wanted, owned, _ := strings.Cut(rest, " ")
		memberID, instance, static := strings.Cut(name, "/")
		m := assignor.Member{ID: memberID, Owned: read(t, owned)}
		if static {
			m.Instance = &instance
		}
		for _, letter := range []byte(strings.TrimPrefix(wanted, "-")) {
			m.Topics = append(m.Topics, id(letter))
		}
		spec.Members = append(spec.Members, m)
	}
	return spec, topics
}

func TestAssign(t *testing.T) {
	uniform, ranges := assignor.Uniform(), assignor.Range()
	if uniform.Name() != "uniform" || ranges.Name() != "range" {
		t.Errorf("names %q and %q", uniform.Name(), ranges.Name())
	}
	for _, tt := range []struct {
		name     string
		assignor assignor.Assignor
		group
		want []string // by member
	}{
		{"no members", uniform, group{topics: "A3"}, nil},
		{"no members", uniform, group{topics: "A3", mixed: true}, nil},
		{"no members", ranges, group{topics: "A3"}, nil},
		{"no topics", uniform, group{members: []string{"a - A0", "b -"}}, []string{"-", "-"}},
		{"no topics", uniform, group{members: []string{"a - A0", "b -"}, mixed: true}, []string{"-", "-"}},
		{"no topics", ranges, group{members: []string{"a - A0", "b -"}}, []string{"-", "-"}},

		{"all of one topic", uniform, group{topics: "A5", members: []string{"b A", "a A"}}, []string{"A2 A3 A4", "A0 A1"}},
		{"topics in turn", uniform, group{topics: "A3 B4", members: []string{"a AB", "b AB"}}, []string{"A0 A1 A2", "B0 B1 B2 B3"}},
		{"more members than partitions", uniform, group{topics: "A1 B1", members: []string{"a AB", "b AB", "c AB"}}, []string{"-", "A0", "B0"}},
		{"a member joins", uniform, group{topics: "A6", members: []string{"a A A0 A1 A2", "b A A3 A4 A5", "c A"}}, []string{"A0 A1", "A3 A4", "A2 A5"}},
		{"a member leaves", uniform, group{topics: "A6", members: []string{"a A A0 A1", "c A A2 A5"}}, []string{"A0 A1 A3", "A2 A4 A5"}},
		{"who has one more keeps it", uniform, group{topics: "A5", members: []string{"a A A0", "b A A1 A2", "c A A3 A4"}}, []string{"A0", "A1 A2", "A3 A4"}},
		{"the last get one more if the first need not", uniform, group{topics: "A8", members: []string{"a A A0", "b A A1", "c A A2"}}, []string{"A0 A3", "A1 A4 A5", "A2 A6 A7"}},
		{"a topic grows", uniform, group{topics: "A4", members: []string{"a A A0", "b A A1"}}, []string{"A0 A2", "A1 A3"}},
		{"a topic is deleted", uniform, group{topics: "A2", members: []string{"a A B0 B1", "b A A0 A1"}}, []string{"A1", "A0"}},
		{"what is not there", uniform, group{topics: "A2", members: []string{"a A A0 A7", "b A A0 C1"}}, []string{"A0", "A1"}},
		{"a partition below 0", uniform, group{topics: "A2 B1", members: []string{"a AB B-1", "b AB"}}, []string{"A0", "A1 B0"}},
		{"static members come first", uniform, group{topics: "A3", members: []string{"a A", "z/2 A", "b/3 A", "y/1 A"}}, []string{"A2", "A0", "A1", "-"}},

		{"what only one wants", uniform, group{topics: "A2 B2", members: []string{"a AB", "b B"}, mixed: true}, []string{"A0 A1", "B0 B1"}},
		{"nothing wanted", uniform, group{topics: "A2", members: []string{"a A", "b -"}, mixed: true}, []string{"A0 A1", "-"}},
		{"no longer wanted", uniform, group{topics: "A2 B2", members: []string{"a A A0 B0", "b AB A1 B1"}, mixed: true}, []string{"A0 A1", "B0 B1"}},
		{"from the most to the least loaded", uniform, group{topics: "A4 B1", members: []string{"a A A0 A1 A2 A3", "b A", "c B"}, mixed: true}, []string{"A0 A1", "A2 A3", "B0"}},
		{"topics with more for each come first", uniform, group{topics: "A1 B4", members: []string{"a AB", "b A", "c B"}, mixed: true}, []string{"B0 B2", "A0", "B1 B3"}},
		{"then topics of fewer", uniform, group{topics: "A3 B2", members: []string{"a AB", "b A", "c AB"}, mixed: true}, []string{"A2 B0", "A0 A1", "B1"}},
		{"then negative ids", uniform, group{topics: "A1 \x801", members: []string{"a A\x80", "b A", "c \x80"}, mixed: true}, []string{"\x800", "A0", "-"}},
		{"what is not there", uniform, group{topics: "A2", members: []string{"a A A0 A7", "b AC A0 C1"}, mixed: true}, nil},

		{"ranges", ranges, group{topics: "A5 B2", members: []string{"b AB B0 B1", "a AB"}}, []string{"A3 A4 B1", "A0 A1 A2 B0"}},
		{"ranges of those who want the topic", ranges, group{topics: "A5 B2", members: []string{"a A", "b AB", "c B"}, mixed: true}, []string{"A0 A1 A2", "A3 A4 B0", "B1"}},
		{"more members than partitions", ranges, group{topics: "A1 B2", members: []string{"a AB", "b AB", "c AB"}}, []string{"A0 B0", "B1", "-"}},
		{"static members come first", ranges, group{topics: "A4", members: []string{"a A", "z/2 A", "b/3 A", "y/1 A"}}, []string{"A3", "A1", "A2", "A0"}},
		{"by UTF-16 units", ranges, group{topics: "A4", members: []string{"\uffff A", "\U00010000 A", "x/\ue000 A", "x/\U0001f600 A"}}, []string{"A3", "A2", "A1", "A0"}},
	} {
		t.Run(tt.assignor.Name()+" "+tt.name, func(t *testing.T) {
			spec, topics := tt.read(t)
			out, err := tt.assignor.Assign(spec, topics)
			var got []string
			for _, p := range out {
				got = append(got, text(p))
			}
			if unknown := tt.want == nil && len(tt.members) > 0; errors.Is(err, assignor.ErrUnknownTopic) != unknown || err != nil != unknown {
				t.Fatal(err)
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// options are those of a group small enough to see much in, or a larger one.
func options(r *rand.Rand) assigntest.Options {
	o := assigntest.Options{Members: r.IntN(10), Topics: r.IntN(8), Partitions: 1 + r.Int32N(12), Mixed: r.IntN(2) == 0}
	if r.IntN(10) == 0 {
		o.Members, o.Topics, o.Partitions = 50, 20, 60
	}
	return o
}

// Groups live for a while. Whatever happens, assignments are sound, do not depend
// on the order of members, and leave the spec alone.
func TestGroups(t *testing.T) {
	r := kftest.Random(t)
	for range 120 {
		o := options(r)
		g := assigntest.New(r, o)
		for _, a := range []assignor.Assignor{assignor.Uniform(), assignor.Range()} {
			for range 20 {
				what := g.Step()
				spec := g.Spec()
				before := fmt.Sprint(spec)
				out, err := a.Assign(spec, g.Topics)
				if err != nil {
					t.Fatal(err)
				}
				if after := fmt.Sprint(spec); after != before {
					t.Fatalf("%s, %s: the spec was\n%v\nand is\n%v", a.Name(), what, before, after)
				}
				verdict, err := assigntest.Judge(spec, g.Topics, out)
				if err != nil {
					t.Fatalf("%s, %s, %+v: %v", a.Name(), what, o, err)
				}
				switch {
				case a == assignor.Range():
					checkRanges(t, spec, g.Topics, out)
				case !o.Mixed:
					if most := assigntest.MostKept(spec, g.Topics); verdict.Spread() > 1 || verdict.Kept != most {
						t.Errorf("%s, %+v: loads differ by %d, %d of %d are kept", what, o, verdict.Spread(), verdict.Kept, most)
					}
				case verdict.Uneven > 0:
					t.Errorf("%s, %+v: %d partitions should move", what, o, verdict.Uneven)
				}
				g.Take(spec, out)
				again := g.Spec()
				repeated, err := a.Assign(again, g.Topics)
				if err != nil {
					t.Fatal(err)
				}
				// Nothing changed, so all have what they had, in the same memory.
				for m, p := range repeated {
					if owned := again.Members[m].Owned; !p.Equal(owned) || len(p) > 0 && &p[0] != &owned[0] {
						t.Fatalf("%s, %s, %+v: has %v, gets %v", a.Name(), what, o, owned, p)
					}
				}
			}
		}
	}
}

// checkRanges checks that each topic is cut as the package says.
func checkRanges(t *testing.T, spec assignor.Spec, topics assigntest.Topics, out []assignor.Partitions) {
	t.Helper()
	order := make([]int, len(spec.Members))
	for i := range order {
		order[i] = i
	}
	// Instances and ids start with different characters of the same set.
	rank := func(m assignor.Member) (dynamic bool, name string) {
		if m.Instance != nil {
			return false, *m.Instance
		}
		return true, m.ID
	}
	slices.SortFunc(order, func(i, j int) int {
		iDynamic, iName := rank(spec.Members[i])
		jDynamic, jName := rank(spec.Members[j])
		if iDynamic != jDynamic {
			return map[bool]int{true: 1, false: -1}[iDynamic]
		}
		return javafmt.Compare(iName, jName)
	})
	for topic, count := range topics {
		var all []int32
		var sizes []int
		for _, m := range order {
			if slices.Contains(spec.Members[m].Topics, topic) {
				part := out[m].Of(topic)
				all = append(all, part...)
				sizes = append(sizes, len(part))
			}
		}
		if len(sizes) == 0 {
			continue
		}
		falling := slices.IsSortedFunc(sizes, func(a, b int) int { return b - a })
		if int32(len(all)) != count || !slices.IsSorted(all) || !falling || sizes[0]-sizes[len(sizes)-1] > 1 {
			t.Fatalf("%d partitions go out as %v in parts of %v", count, all, sizes)
		}
	}
}

// After sixteen rounds the mixer leaves it at that, as Kafka does, and goes on the
// next time.
func TestRounds(t *testing.T) {
	spec, topics := assigntest.Chain(20)
	var uneven []int
	for range 5 {
		out, err := assignor.Uniform().Assign(spec, topics)
		if err != nil {
			t.Fatal(err)
		}
		verdict, err := assigntest.Judge(spec, topics, out)
		if err != nil {
			t.Fatal(err)
		}
		uneven = append(uneven, verdict.Uneven)
		for m := range out {
			spec.Members[m].Owned = out[m]
		}
	}
	if want := []int{877, 450, 145, 0, 0}; !slices.Equal(uneven, want) {
		t.Errorf("partitions that should move: %d, want %d", uneven, want)
	}
}

// FuzzAssign reads a group from bytes: what members have may contradict what they
// want, what there is, and each other.
func FuzzAssign(f *testing.F) {
	f.Add([]byte("\x03\x05\x02\x01"), []byte("\x01\x00a0a1b0\x00c1a9"), true)
	f.Add([]byte("\x10"), []byte("\x03\x00\x00\x00a0a1a2a3a4\x00\x02"), false)
	f.Fuzz(func(t *testing.T, counts, members []byte, mixed bool) {
		topics := assigntest.Topics{}
		for i, count := range counts[:min(len(counts), 8)] {
			topics[id(byte(i))] = int32(count)
		}
		spec := assignor.Spec{Homogeneous: !mixed}
		for i, s := range strings.SplitN(string(members), "\x00", 50) {
			m := assignor.Member{ID: strconv.Itoa(i)}
			if len(s)%3 == 1 {
				m.Instance = new("i" + m.ID)
			}
			wanted := byte(0xff)
			if mixed && s != "" {
				wanted, s = s[0], s[1:]
			}
			for topic := range byte(8) {
				if _, ok := topics[id(topic)]; ok && wanted>>topic&1 != 0 {
					m.Topics = append(m.Topics, id(topic))
				}
			}
			m.Owned = assignor.NewPartitions(func(yield func(wire.UUID, int32) bool) {
				for ; len(s) > 1 && yield(id(s[0]%10), int32(int8(s[1]))); s = s[2:] {
				}
			})
			spec.Members = append(spec.Members, m)
		}
		for _, a := range []assignor.Assignor{assignor.Uniform(), assignor.Range()} {
			out, err := a.Assign(spec, topics)
			if err != nil {
				t.Fatal(err)
			}
			verdict, err := assigntest.Judge(spec, topics, out)
			if err != nil {
				t.Fatalf("%s: %v", a.Name(), err)
			}
			if a == assignor.Uniform() && !mixed && verdict.Spread() > 1 {
				t.Errorf("loads %d", verdict.Loads)
			}
		}
	})
}
