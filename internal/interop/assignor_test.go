//go:build interop

package interop

import (
	"bufio"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"kf/internal/coordinator/assignor"
	"kf/internal/coordinator/assigntest"
	"kf/internal/javafmt"
	"kf/internal/wire"
)

// An oracle is a running Assign.java.
type oracle struct {
	in  io.Writer
	out *bufio.Reader
}

// newOracle starts it; t ends it.
func newOracle(t *testing.T) *oracle {
	t.Helper()
	k := newKafka(t)
	java := k.java(filepath.Join(t.TempDir(), "kafka.log"), "Assign")
	java.Stderr = os.Stderr
	in, err := java.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := java.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := java.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		if err := java.Wait(); err != nil {
			t.Error(err)
		}
	})
	return &oracle{in, bufio.NewReader(out)}
}

// ask sends a line and returns the words of the answer.
func (o *oracle) ask(t *testing.T, line string) []string {
	t.Helper()
	if _, err := fmt.Fprintln(o.in, line); err != nil {
		t.Fatal(err)
	}
	answer, err := o.out.ReadString('\n')
	if err != nil {
		t.Fatalf("no answer to %s: %v", line, err)
	}
	return strings.Fields(answer)
}

// assign returns what Kafka's assignor gives the members of a spec.
func (o *oracle) assign(t *testing.T, a assignor.Assignor, spec assignor.Spec, topics assigntest.Topics, ordered bool) []assignor.Partitions {
	t.Helper()
	words := []string{"assign", "hashed", a.Name(), "differ"}
	if ordered {
		words[1] = "ordered"
	}
	if spec.Homogeneous {
		words[3] = "same"
	}
	var counts []string
	for id, n := range topics {
		counts = append(counts, fmt.Sprintf("%x=%d", id[:], n))
	}
	words = append(words, orDash(counts))
	for i, m := range spec.Members {
		instance, rack := "-", []string{"-", "7230", "7231"}[i%3]
		if m.Instance != nil {
			instance = hex.EncodeToString([]byte(*m.Instance))
		}
		var wanted, owned []string
		for _, id := range m.Topics {
			wanted = append(wanted, hex.EncodeToString(id[:]))
		}
		for _, p := range m.Owned {
			numbers := strings.Trim(strings.ReplaceAll(fmt.Sprint(p.Partitions), " ", "+"), "[]")
			owned = append(owned, fmt.Sprintf("%x=%s", p.Topic[:], numbers))
		}
		words = append(words, fmt.Sprintf("%x/%s/%s/%s/%s", m.ID, instance, rack, orDash(wanted), orDash(owned)))
	}
	line := strings.Join(words, " ")
	answer := o.ask(t, line)
	if len(answer) != len(spec.Members) {
		t.Fatalf("%s: Kafka says %q", line, answer)
	}
	out := make([]assignor.Partitions, len(answer))
	for m, word := range answer {
		out[m] = readPartitions(t, word)
	}
	return out
}

// orDash writes a list as Assign.java reads it.
func orDash(words []string) string {
	if len(words) == 0 {
		return "-"
	}
	return strings.Join(words, ",")
}

// readPartitions reads those of a member from an answer.
func readPartitions(t *testing.T, word string) assignor.Partitions {
	t.Helper()
	var p assignor.Partitions
	if word == "-" {
		return p
	}
	for topic := range strings.SplitSeq(word, ",") {
		name, numbers, _ := strings.Cut(topic, "=")
		of := assignor.TopicPartitions{}
		if n, err := hex.Decode(of.Topic[:], []byte(name)); err != nil || n != len(of.Topic) {
			t.Fatalf("Kafka says %q", word)
		}
		for number := range strings.SplitSeq(numbers, "+") {
			n, err := strconv.ParseInt(number, 10, 32)
			if err != nil {
				t.Fatalf("Kafka says %q", word)
			}
			of.Partitions = append(of.Partitions, int32(n))
		}
		p = append(p, of)
	}
	return p
}

// inOrder makes ids for topics such that Java's HashSet iterates over up to 16 of
// them in the order of their bytes: the hash code is the number of the name, and the
// first byte rises with it. Half of them are negative to Java.
func inOrder(r *rand.Rand, name int) wire.UUID {
	id := assigntest.RandomID(r)
	id[0] = byte(name)<<4 | id[0]&15
	code := uint32(name)
	for at := 0; at < 12; at += 4 {
		code ^= binary.BigEndian.Uint32(id[at:])
	}
	binary.BigEndian.PutUint32(id[12:], code)
	return id
}

// byRank sorts members as the range assignor does.
func byRank(a, b assignor.Member) int {
	switch {
	case a.Instance != nil && b.Instance != nil:
		return javafmt.Compare(*a.Instance, *b.Instance)
	case a.Instance != nil:
		return -1
	case b.Instance != nil:
		return 1
	}
	return javafmt.Compare(a.ID, b.ID)
}

// randomGroup returns a group that is small, or sometimes not.
func randomGroup(r *rand.Rand, id func(*rand.Rand, int) wire.UUID, mixed bool) *assigntest.Group {
	o := assigntest.Options{Members: r.IntN(13), Topics: r.IntN(17), Partitions: 1 + r.Int32N(20), Mixed: mixed, ID: id}
	if r.IntN(20) == 0 {
		o.Members, o.Partitions = 60, 100
	}
	return assigntest.New(r, o)
}

// kf assigns and hashes as Kafka's own classes do.
func TestAssignors(t *testing.T) {
	o, seed := newOracle(t), seed(t)
	t.Run("exactly", func(t *testing.T) { assignExactly(t, o, random(seed, 1)) })
	t.Run("as well", func(t *testing.T) { assignAsWell(t, o, random(seed, 2)) })
	t.Run("edges", func(t *testing.T) { assignEdges(t, o) })
	t.Run("hash", func(t *testing.T) { hashTopics(t, o, random(seed, 3)) })
}

// assignExactly: where the order of hash tables does not matter, or is the same for
// both, kf's assignors give what Kafka's give, bit for bit.
func assignExactly(t *testing.T, o *oracle, r *rand.Rand) {
	for _, tt := range []struct {
		assignor       assignor.Assignor
		mixed, ordered bool
	}{
		{assignor.Range(), false, false},
		{assignor.Range(), true, false},
		{assignor.Uniform(), false, true},
		{assignor.Uniform(), true, true},
	} {
		specs, moved, partitions := 0, 0, 0
		for range 500 {
			g := randomGroup(r, inOrder, tt.mixed)
			for range 12 {
				what := g.Step()
				spec := g.Spec()
				if tt.ordered {
					slices.SortFunc(spec.Members, byRank)
				}
				got, err := tt.assignor.Assign(spec, g.Topics)
				if err != nil {
					t.Fatal(err)
				}
				want := o.assign(t, tt.assignor, spec, g.Topics, tt.ordered)
				verdict, err := assigntest.Judge(spec, g.Topics, want)
				if err != nil {
					t.Fatal(err)
				}
				for m := range want {
					if !got[m].Equal(want[m]) {
						t.Fatalf("%s, mixed %t, %s: %q has %v: kf gives %v, Kafka %v\n%v\n%v", tt.assignor.Name(), tt.mixed, what,
							spec.Members[m].ID, spec.Members[m].Owned, got[m], want[m], spec, g.Topics)
					}
				}
				g.Take(spec, got)
				specs++
				for _, load := range verdict.Loads {
					partitions += load
				}
				moved -= verdict.Kept
			}
		}
		moved += partitions
		t.Logf("%s, mixed %t: %d specs alike, %d of %d partitions new to their member", tt.assignor.Name(), tt.mixed, specs, moved, partitions)
		if moved < partitions/20 || moved > partitions/2 {
			t.Errorf("%d of %d partitions move: the groups say too little", moved, partitions)
		}
	}
}

// assignAsWell: with Kafka's hash tables as they are, kf's uniform assignor makes
// loads as even and moves as few partitions, whoever of the two made the assignment
// before.
func assignAsWell(t *testing.T, o *oracle, r *rand.Rand) {
	a := assignor.Uniform()
	for _, mixed := range []bool{false, true} {
		partitions := 0
		var kf, kafka struct{ kept, spread, uneven int }
		for range 500 {
			g := randomGroup(r, nil, mixed)
			for range 12 {
				what := g.Step()
				spec := g.Spec()
				ours, err := a.Assign(spec, g.Topics)
				if err != nil {
					t.Fatal(err)
				}
				theirs := o.assign(t, a, spec, g.Topics, false)
				our, err := assigntest.Judge(spec, g.Topics, ours)
				if err != nil {
					t.Fatalf("kf, %s: %v", what, err)
				}
				their, err := assigntest.Judge(spec, g.Topics, theirs)
				if err != nil {
					t.Fatalf("Kafka, %s: %v", what, err)
				}
				if !mixed && (our.Kept != their.Kept || our.Spread() != their.Spread()) {
					t.Fatalf("%s: members keep %d and differ by %d, with Kafka %d and %d\n%v\n%v", what, our.Kept, our.Spread(), their.Kept, their.Spread(), spec, g.Topics)
				}
				for _, load := range our.Loads {
					partitions += load
				}
				kf.kept, kf.spread, kf.uneven = kf.kept+our.Kept, kf.spread+our.Spread(), kf.uneven+our.Uneven
				kafka.kept, kafka.spread, kafka.uneven = kafka.kept+their.Kept, kafka.spread+their.Spread(), kafka.uneven+their.Uneven
				if r.IntN(2) == 0 {
					g.Take(spec, ours)
				} else {
					g.Take(spec, theirs)
				}
			}
		}
		t.Logf("mixed %t, %d partitions in all: kf %+v, Kafka %+v", mixed, partitions, kf, kafka)
		if kf.kept < kafka.kept-partitions/200 || kf.spread > kafka.spread+kafka.spread/100 || kf.uneven > kafka.uneven+partitions/1000 {
			t.Errorf("mixed %t, %d partitions in all: kf %+v is worse than Kafka %+v", mixed, partitions, kf, kafka)
		}
	}
}

// assignEdges: where kf leaves partitions unbalanced, and where a topic is missing,
// Kafka does the same.
func assignEdges(t *testing.T, o *oracle) {
	a := assignor.Uniform()
	spec, topics := assigntest.Chain(20)
	for round := range 5 {
		got, err := a.Assign(spec, topics)
		if err != nil {
			t.Fatal(err)
		}
		want := o.assign(t, a, spec, topics, true)
		for m := range want {
			if !got[m].Equal(want[m]) {
				t.Fatalf("round %d: %q gets %v, with Kafka %v", round, spec.Members[m].ID, got[m], want[m])
			}
			spec.Members[m].Owned = got[m]
		}
	}
	for _, a := range []assignor.Assignor{assignor.Uniform(), assignor.Range()} {
		for _, kind := range []string{"same", "differ"} {
			spec := assignor.Spec{Homogeneous: kind == "same", Members: []assignor.Member{{ID: "a", Topics: []wire.UUID{{1}, {2}}}}}
			topics := assigntest.Topics{{1}: 1}
			if _, err := a.Assign(spec, topics); !errors.Is(err, assignor.ErrUnknownTopic) {
				t.Errorf("%s, %s: kf says %v", a.Name(), kind, err)
			}
			line := fmt.Sprintf("assign ordered %s %s 01%030d=1 61/-/-/01%030d,02%030d/-", a.Name(), kind, 0, 0, 0)
			if answer := o.ask(t, line); answer[0] != "error" {
				t.Errorf("%s, %s: Kafka says %q", a.Name(), kind, answer)
			}
		}
	}
}

// randomText returns a name of characters of any length in UTF-8 and UTF-16.
func randomText(r *rand.Rand) string {
	runes := []rune("az09.-_é中\ue000\uffff\U00010000\U0010ffff")
	text := make([]rune, 1+r.IntN(12))
	for i := range text {
		text[i] = runes[r.IntN(len(runes))]
		if r.IntN(3) > 0 {
			text[i] = rune('a' + r.IntN(26))
		}
	}
	return string(text)
}

// hashTopics: the hashes of topics and groups are Kafka's.
func hashTopics(t *testing.T, o *oracle, r *rand.Rand) {
	topics := 0
	for range 3000 {
		hashes := make(map[string]int64)
		words := []string{"hash", ""}
		var want, subscribed []string
		inGroup := make(map[string]int64)
		for range r.IntN(6) {
			name, id := randomText(r), assigntest.RandomID(r)
			if _, ok := hashes[name]; ok {
				continue
			}
			racks := make([][]string, 1+r.IntN(20))
			if r.IntN(50) == 0 {
				racks = make([][]string, 2000)
			}
			var text []string
			for p := range racks {
				var in []string
				for range r.IntN(4) {
					racks[p] = append(racks[p], randomText(r))
					in = append(in, hex.EncodeToString([]byte(racks[p][len(racks[p])-1])))
				}
				if len(in) == 0 {
					in = []string{"-"}
				}
				text = append(text, strings.Join(in, "+"))
			}
			hash := assignor.TopicHash(id, name, int32(len(racks)), func(p int32) []string { return racks[p] })
			hashes[name] = hash
			words = append(words, fmt.Sprintf("%x/%x/%s", id[:], name, strings.Join(text, ",")))
			want = append(want, strconv.FormatInt(hash, 10))
			if r.IntN(4) > 0 {
				subscribed = append(subscribed, hex.EncodeToString([]byte(name)))
				inGroup[name] = hash
			}
			topics++
		}
		for range r.IntN(3) { // topics that there are not
			subscribed = append(subscribed, hex.EncodeToString([]byte("missing-"+randomText(r))))
		}
		words[1] = orDash(subscribed)
		want = append([]string{strconv.FormatInt(assignor.GroupHash(inGroup), 10)}, want...)
		if line := strings.Join(words, " "); !slices.Equal(o.ask(t, line), want) {
			t.Fatalf("kf %q, Kafka otherwise: %s", want, line)
		}
	}
	t.Logf("%d topics", topics)
}
