//go:build interop && clients

package interop

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// A clientStage is a broker, those who look at it from outside, and the members'
// programs.
type clientStage struct {
	t        *testing.T // the whole test
	party    party
	programs *clientPrograms
	address  string
	dir      string
	serving  *serving
	producer *kgo.Client
	client   *kgo.Client // of the broker that runs
	admin    *kadm.Client
}

// clientPartitions is how many partitions a topic has. Two or three members cannot
// have the same number of them, which tells assignors apart.
const clientPartitions = 7

// A clientGroup is a group of members that read one topic, and what they said.
// Topic and group have the same name.
type clientGroup struct {
	stage   *clientStage
	name    string
	session int // session timeout of the members that start, in ms

	mu      sync.Mutex
	changed chan struct{} // closed when an event has come
	members []*clientMember
	read    [clientPartitions]map[int64]int // how often each offset was read
	acked   [clientPartitions]int64         // the highest commit that a broker has confirmed
	wrong   []string                        // what no group may do

	traffic context.CancelFunc
	written sync.WaitGroup
	writing sync.Mutex // held while a record is written
}

// newGroup creates a topic and writes to it until quiet is called.
func (s *clientStage) newGroup(t *testing.T, name string) *clientGroup {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	g := &clientGroup{stage: s, name: name, session: shortSessionMs, changed: make(chan struct{}), traffic: cancel}
	for p := range g.read {
		g.read[p] = map[int64]int{}
	}
	if _, err := s.admin.CreateTopic(t.Context(), clientPartitions, 1, nil, name); err != nil {
		t.Fatalf("creating %s: %v", name, err)
	}
	write := func(i int) error {
		g.writing.Lock()
		defer g.writing.Unlock()
		r := &kgo.Record{Topic: name, Partition: int32(i % clientPartitions), Value: fmt.Append(nil, name, i)}
		return s.producer.ProduceSync(context.Background(), r).FirstErr()
	}
	// With a record in each partition the topic is there for everybody.
	for i := range clientPartitions {
		if err := write(i); err != nil {
			t.Fatalf("producing to %s: %v", name, err)
		}
	}
	g.written.Go(func() {
		for i := 0; ctx.Err() == nil; i++ {
			if err := write(i); err != nil {
				g.fault("producing: %v", err)
				return
			}
			select {
			case <-time.After(50 * time.Millisecond): // the pace of the records
			case <-ctx.Done():
			}
		}
	})
	t.Cleanup(func() {
		cancel()
		g.written.Wait()
	})
	return g
}

// patient gives a long session to the members that start from now on.
func (g *clientGroup) patient(t *testing.T) {
	t.Helper()
	g.session = longSessionMs
	// Brokers decide on the sessions of the consumer protocol.
	const group = kmsg.ConfigResourceType(32)
	r := kmsg.NewPtrIncrementalAlterConfigsRequest()
	r.Resources = []kmsg.IncrementalAlterConfigsRequestResource{{
		ResourceType: group, ResourceName: g.name,
		Configs: []kmsg.IncrementalAlterConfigsRequestResourceConfig{{Name: "consumer.session.timeout.ms", Value: new(fmt.Sprint(longSessionMs))}},
	}}
	answer, err := r.RequestWith(t.Context(), g.stage.client)
	if err == nil {
		err = kerr.ErrorForCode(answer.Resources[0].ErrorCode)
	}
	if err != nil {
		t.Fatalf("%s: setting the session timeout: %v", g.name, err)
	}
}

// happened wakes those that await something. The mutex is held.
func (g *clientGroup) happened() {
	close(g.changed)
	g.changed = make(chan struct{})
}

func (g *clientGroup) fault(format string, args ...any) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.wrong = append(g.wrong, fmt.Sprintf(format, args...))
	g.happened()
}

// take takes in what a member says.
func (g *clientGroup) take(m *clientMember, e clientEvent) {
	g.mu.Lock()
	defer g.mu.Unlock()
	defer g.happened()
	m.events = append(m.events, e)
	if slices.ContainsFunc(append(slices.Clone(e.Partitions), e.Partition), func(p int32) bool { return p < 0 || p >= clientPartitions }) {
		g.wrong = append(g.wrong, fmt.Sprintf("%s: a partition that is none: %+v", m.name, e))
		return
	}
	switch e.Event {
	case "assigned":
		for _, p := range e.Partitions {
			m.owned[p] = true
			delete(m.next, p)
		}
	case "revoked":
		for _, p := range e.Partitions {
			delete(m.owned, p)
		}
	case "record":
		if want, ok := m.next[e.Partition]; ok && e.Offset != want {
			g.wrong = append(g.wrong, fmt.Sprintf("%s reads offset %d of partition %d instead of %d", m.name, e.Offset, e.Partition, want))
		}
		m.next[e.Partition] = e.Offset + 1
		g.read[e.Partition][e.Offset]++
	case "committed":
		g.acked[e.Partition] = max(g.acked[e.Partition], e.Offset)
	}
}

// await waits until missing, which is called with the mutex held, finds nothing.
func (g *clientGroup) await(t *testing.T, what string, missing func() string) {
	t.Helper()
	late := time.After(startLimit)
	for {
		g.mu.Lock()
		why, changed := missing(), g.changed
		broken := slices.Clone(g.wrong)
		for _, m := range g.members {
			select {
			case <-m.ended:
				if !m.over {
					broken = append(broken, m.name+" has ended: "+m.cmd.ProcessState.String())
				}
			default:
			}
		}
		g.mu.Unlock()
		if len(broken) > 0 {
			t.Fatalf("%s: %s: %s\n%s", g.name, what, strings.Join(broken, "\n"), g.describe())
		}
		if why == "" {
			return
		}
		select {
		case <-changed:
		case <-late:
			t.Fatalf("%s: %s: %s\n%s", g.name, what, why, g.describe())
		}
	}
}

// describe tells of the members that live.
func (g *clientGroup) describe() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	var text strings.Builder
	for _, m := range g.members {
		if !m.over {
			fmt.Fprintln(&text, m.describe())
		}
	}
	return text.String()
}

// settled waits until each partition has one owner among the members, which have as
// many as the assignor says, and the broker says the same.
func (g *clientGroup) settled(t *testing.T, what string, members ...*clientMember) {
	t.Helper()
	g.await(t, what, func() string {
		var shares [][]int32
		for _, m := range members {
			shares = append(shares, m.has())
		}
		return unbalanced(members[0].client.assignor, shares)
	})
	until(t, g.name+": "+what+": what the broker says of the group", func() string { return g.disagrees(t, members) })
}

// unbalanced says what is wrong with the members' shares of the partitions, nothing
// if they are what the assignor makes of them.
func unbalanced(assignor string, shares [][]int32) string {
	seen := 0
	for _, share := range shares {
		seen += len(share)
		if least := clientPartitions / len(shares); len(share) < least || len(share) > least+1 {
			return fmt.Sprintf("%v: not balanced", shares)
		}
		for i := range share[1:] {
			step := share[i+1] - share[i]
			switch {
			case assignor == "range" && step != 1:
				return fmt.Sprintf("%v: no ranges", shares)
			case strings.HasPrefix(strings.ToLower(assignor), "roundrobin") && step != int32(len(shares)):
				return fmt.Sprintf("%v: not by turns", shares)
			}
		}
	}
	if all := slices.Concat(shares...); seen != clientPartitions || len(slices.Compact(slices.Sorted(slices.Values(all)))) != clientPartitions {
		return fmt.Sprintf("%v: not one owner for each partition", shares)
	}
	return ""
}

// until asks again and again until missing finds nothing.
func until(t *testing.T, what string, missing func() string) {
	t.Helper()
	for end := time.Now().Add(startLimit); ; time.Sleep(50 * time.Millisecond) {
		why := missing()
		if why == "" {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%s: %s", what, why)
		}
	}
}

// disagrees compares what the broker says of the group with what the members say.
func (g *clientGroup) disagrees(t *testing.T, members []*clientMember) string {
	t.Helper()
	var want []string
	g.mu.Lock()
	for _, m := range members {
		want = append(want, fmt.Sprint(m.id, m.has()))
	}
	g.mu.Unlock()
	slices.Sort(want)
	state, got := g.described(t)
	if state != "Stable" || !slices.Equal(got, want) {
		return fmt.Sprintf("%s with %v, the members say %v", state, got, want)
	}
	return ""
}

// described returns the state of the group and what each member has, as the broker
// describes them.
func (g *clientGroup) described(t *testing.T) (state string, members []string) {
	t.Helper()
	say := func(id *string, partitions []int32) {
		if id == nil {
			id = new("")
		}
		slices.Sort(partitions)
		members = append(members, fmt.Sprint(*id, partitions))
	}
	if d, ok := g.describedConsumer(t); ok {
		for _, m := range d.Members {
			say(m.InstanceID, slices.Collect(maps.Keys(m.Assignment[g.name])))
		}
		state = d.State
	} else {
		all, err := g.stage.admin.DescribeGroups(t.Context(), g.name)
		if err != nil || all[g.name].Err != nil {
			t.Fatalf("describing %s: %v, %v", g.name, err, all[g.name].Err)
		}
		for _, m := range all[g.name].Members {
			var partitions []int32
			if a, ok := m.Assigned.AsConsumer(); ok {
				for _, topic := range a.Topics {
					partitions = append(partitions, topic.Partitions...)
				}
			}
			say(m.InstanceID, partitions)
		}
		state = all[g.name].State
	}
	slices.Sort(members)
	return state, members
}

// describedConsumer describes a group of the consumer protocol, and reports whether
// it is one.
func (g *clientGroup) describedConsumer(t *testing.T) (kadm.DescribedConsumerGroup, bool) {
	t.Helper()
	all, err := g.stage.admin.DescribeConsumerGroups(t.Context(), g.name)
	d := all[g.name]
	if err != nil || d.Err != nil && !errors.Is(d.Err, kerr.GroupIDNotFound) {
		t.Fatalf("describing %s: %v, %v", g.name, err, d.Err)
	}
	return d, d.Err == nil
}

// committed returns the offsets that the broker keeps, 0 where there is none.
func (g *clientGroup) committed(t *testing.T) (offsets [clientPartitions]int64) {
	t.Helper()
	all, err := g.stage.admin.FetchOffsets(t.Context(), g.name)
	if err != nil {
		t.Fatalf("%s: fetching offsets: %v", g.name, err)
	}
	for p := range offsets {
		if o, ok := all.Lookup(g.name, int32(p)); ok {
			if o.Err != nil {
				t.Fatalf("%s: fetching offsets: %v", g.name, o.Err)
			}
			offsets[p] = o.At
		}
	}
	return offsets
}

// pause stops the records, until the function is called that it returns, and waits
// until the members have read them all.
func (g *clientGroup) pause(t *testing.T) (resume func()) {
	t.Helper()
	g.writing.Lock()
	g.readAll(t)
	return g.writing.Unlock
}

// finish stops the records and waits until the members have read and committed them
// all.
func (g *clientGroup) finish(t *testing.T) {
	t.Helper()
	g.traffic()
	g.written.Wait()
	ends := g.readAll(t)
	until(t, g.name+": committing all", func() string {
		if got := g.committed(t); got != ends {
			return fmt.Sprintf("%v of %v are committed\n%s", got, ends, g.describe())
		}
		return ""
	})
	g.await(t, "the end", func() string { return "" })
}

// readAll waits until the members have read all records, and returns where they end.
func (g *clientGroup) readAll(t *testing.T) (ends [clientPartitions]int64) {
	t.Helper()
	listed, err := g.stage.admin.ListEndOffsets(t.Context(), g.name)
	if err != nil {
		t.Fatal(err)
	}
	for p := range ends {
		o, ok := listed.Lookup(g.name, int32(p))
		if !ok || o.Err != nil || o.Offset == 0 {
			t.Fatalf("%s: no records in partition %d: %+v", g.name, p, o)
		}
		ends[p] = o.Offset
	}
	g.await(t, "reading all records", func() string {
		for p, end := range ends {
			if n := int64(len(g.read[p])); n < end {
				return fmt.Sprintf("%d of %d records of partition %d are read", n, end, p)
			}
		}
		return ""
	})
	return ends
}

// tally tells how many records were read.
func (g *clientGroup) tally() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	records, again := 0, 0
	for _, offsets := range g.read {
		for _, times := range offsets {
			records++
			again += times - 1
		}
	}
	return fmt.Sprintf("%d records, of which %d were read again", records, again)
}
