//go:build interop && clients

package interop

import (
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// allClients are the ways of the libraries to be in a group.
var allClients = []client{
	{"kcat", "classic", "range", true},
	{"kcat", "classic", "cooperative-sticky", true},
	{"confluent-kafka", "classic", "range", true},
	{"confluent-kafka", "classic", "roundrobin", true},
	{"confluent-kafka", "classic", "cooperative-sticky", true},
	{"confluent-kafka", "consumer", "uniform", true},
	{"confluent-kafka", "consumer", "range", true},
	{"kafka-python", "classic", "range", true},
	{"kafka-python", "classic", "roundrobin", true},
	{"kafka-python", "classic", "sticky", true},
	{"kafka-python", "classic", "cooperative-sticky", true},
	{"aiokafka", "classic", "range", true},
	{"aiokafka", "classic", "roundrobin", true},
	{"aiokafka", "classic", "sticky", true},
	{"kafkajs", "classic", "RoundRobinAssigner", false},
	{"sarama", "classic", "range", true},
	{"sarama", "classic", "roundrobin", true},
	{"sarama", "classic", "sticky", true},
	{"kafka-go", "classic", "range", false},
	{"kafka-go", "classic", "roundrobin", false},
	{"franz-go", "classic", "range", true},
	{"franz-go", "classic", "roundrobin", true},
	// A leader that comes back makes another plan and has it carried out.
	{"franz-go", "classic", "sticky", false},
	{"franz-go", "classic", "cooperative-sticky", false},
	// A static member leaves without its instance id, which brokers refuse.
	{"franz-go", "consumer", "uniform", false},
	{"franz-go", "consumer", "range", false},
}

// mixedClients are libraries that are in one group. kafka-go understands nothing but
// the oldest subscriptions, and its own are not understood by kafka-python; nobody
// else has the assignor of kafkajs.
var mixedClients = [][]client{
	{{"franz-go", "classic", "range", true}, {"sarama", "classic", "range", true}, {"confluent-kafka", "classic", "range", true}},
	{{"kafka-python", "classic", "roundrobin", true}, {"sarama", "classic", "roundrobin", true}, {"aiokafka", "classic", "roundrobin", true}},
	{{"kafka-go", "classic", "roundrobin", false}, {"aiokafka", "classic", "roundrobin", true}, {"sarama", "classic", "roundrobin", true}},
	{{"aiokafka", "classic", "sticky", true}, {"franz-go", "classic", "sticky", false}, {"sarama", "classic", "sticky", true}},
	{{"kcat", "classic", "cooperative-sticky", true}, {"franz-go", "classic", "cooperative-sticky", false}, {"kafka-python", "classic", "cooperative-sticky", true}},
	{{"confluent-kafka", "consumer", "uniform", true}, {"franz-go", "consumer", "uniform", false}},
	// Members of both protocols: the group goes from one to the other and back.
	{{"sarama", "classic", "range", true}, {"confluent-kafka", "consumer", "range", true}},
	{{"franz-go", "consumer", "range", false}, {"kafka-python", "classic", "range", true}},
}

// clientSettings are those of the broker: nobody waits long, and nothing is
// compacted that the test looks at.
var clientSettings = append(slices.Clone(calm),
	"group.initial.rebalance.delay.ms=0", "broker.session.timeout.ms=4000",
	fmt.Sprint("group.consumer.min.session.timeout.ms=", shortSessionMs), fmt.Sprint("group.consumer.session.timeout.ms=", shortSessionMs),
	fmt.Sprint("group.consumer.max.session.timeout.ms=", longSessionMs),
	fmt.Sprint("group.consumer.min.heartbeat.interval.ms=", clientHeartbeatMs), fmt.Sprint("group.consumer.heartbeat.interval.ms=", clientHeartbeatMs),
)

// TestGroupClients lets the group members of many libraries use kf serve, or Kafka
// if KF_SERVER=Kafka.
func TestGroupClients(t *testing.T) {
	s := newClientStage(t)
	static := slices.DeleteFunc(slices.Clone(allClients), func(c client) bool { return !c.static })
	places := make(chan struct{}, groupsAtOnce)
	var running sync.WaitGroup
	running.Go(func() {
		sideBySide(t, "life", places, allClients, client.String, func(t *testing.T, c client) { s.life(t, c) })
	})
	running.Go(func() { sideBySide(t, "static", places, static, client.String, s.static) })
	running.Go(func() {
		sideBySide(t, "mixed", places, mixedClients, castName, func(t *testing.T, cast []client) { s.life(t, cast...) })
	})
	running.Wait()
	t.Run("broker", s.broker)
	t.Run("startup", s.startup)
	t.Run("commits", s.commits)
	if t.Failed() {
		t.Logf("the log of %s:\n%s", s.party.name, s.serving.log())
	}
}

func castName(cast []client) string {
	var names []string
	for _, c := range cast {
		names = append(names, c.library+" "+c.protocol)
	}
	return fmt.Sprintf("%s %s", strings.Join(names, "+"), cast[0].assignor)
}

func newClientStage(t *testing.T) *clientStage {
	t.Helper()
	s := &clientStage{t: t, programs: newClientPrograms(t), address: freePort(t), dir: t.TempDir()}
	if os.Getenv("KF_SERVER") == "Kafka" {
		s.party = kafkaParty(newKafka(t))
	} else {
		s.party = kfParty(buildKF(t, t.TempDir()))
	}
	s.producer = newClient(t, kgo.SeedBrokers(s.address), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.UnknownTopicRetries(-1),
		kgo.ProducerBatchCompression(kgo.NoCompression())) // not all libraries have the codecs at hand
	s.serve()
	return s
}

// serve starts the broker, for as long as the whole test runs.
func (s *clientStage) serve() {
	s.t.Helper()
	s.serving = s.party.startAt(s.t, s.address, []string{s.dir}, clientSettings...)
	s.client = newClient(s.t, kgo.SeedBrokers(s.address)) // without broken connections
	s.admin = kadm.NewClient(s.client)
}

// groupsAtOnce is how many groups are at work at once. Most of their time they wait
// for a session to be over.
const groupsAtOnce = 10

// sideBySide runs a test for each of several things, as many at once as there are
// places.
func sideBySide[T any](t *testing.T, what string, places chan struct{}, things []T, name func(T) string, test func(*testing.T, T)) {
	t.Run(what, func(t *testing.T) {
		var running sync.WaitGroup
		for _, thing := range things {
			places <- struct{}{}
			running.Go(func() {
				defer func() { <-places }()
				t.Run(name(thing), func(t *testing.T) { test(t, thing) })
			})
		}
		running.Wait()
	})
}

// groupName makes a name for a topic and a group of the name of a test.
func groupName(t *testing.T) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == '-' {
			return r
		}
		return '.'
	}, strings.TrimPrefix(t.Name(), "TestGroupClients/"))
}

// life lets members join, leave, be killed and come back; cast says of which
// libraries they are, in turns.
func (s *clientStage) life(t *testing.T, cast ...client) {
	g := s.newGroup(t, groupName(t))
	var members []*clientMember
	join := func(what string) {
		t.Helper()
		before, others := g.seen(), members
		members = append(members, g.start(t, cast[len(before)%len(cast)], ""))
		g.settled(t, what, members...)
		for _, other := range others {
			if other.client.incremental() {
				g.unmoved(t, what, other, before[other])
			}
		}
	}
	join("one member")
	join("the second member")
	join("the third member")

	g.kill(members[1])
	members = slices.Delete(members, 1, 2)
	g.settled(t, "after a member was killed", members...)
	g.patient(t)
	join("a member comes back")

	g.stop(t, members[2])
	members = members[:2]
	g.settled(t, "after a member left", members...)

	g.finish(t)
	for _, m := range members {
		g.stop(t, m)
	}
	until(t, g.name+": the end of the group", func() string {
		if state, left := g.described(t); state != "Empty" || len(left) > 0 {
			return fmt.Sprint(state, left)
		}
		return ""
	})
	t.Log(g.tally())
}

// seen returns how many events there are of each member that ever was.
func (g *clientGroup) seen() map[*clientMember]int {
	g.mu.Lock()
	defer g.mu.Unlock()
	counts := map[*clientMember]int{}
	for _, m := range g.members {
		counts[m] = len(m.events)
	}
	return counts
}

// unmoved checks that the member gave up nothing since an event that it has now.
func (g *clientGroup) unmoved(t *testing.T, what string, m *clientMember, since int) {
	t.Helper()
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, e := range m.events[since:] {
		for _, p := range e.Partitions {
			if e.Event == "revoked" && m.owned[p] {
				t.Errorf("%s: %s: %s gave up partition %d, which it keeps", g.name, what, m.name, p)
			}
		}
	}
}

// static lets static members come back before their session is over: they get what
// they had, and the others see nothing of it.
func (s *clientStage) static(t *testing.T, c client) {
	g := s.newGroup(t, groupName(t))
	g.patient(t)
	members := []*clientMember{g.start(t, c, "first"), g.start(t, c, "second")}
	g.settled(t, "two static members", members...)
	generation := g.generation(t)
	for i, kill := range []bool{false, false, true, true} {
		again, other := i%2, 1-i%2
		// The consumer protocol gives the place of a killed member to no other.
		if kill && c.protocol == "consumer" {
			continue
		}
		g.mu.Lock()
		had, events := members[again].has(), len(g.moves(members[other]))
		g.mu.Unlock()
		what := fmt.Sprintf("member %d, back after SIGTERM", again)
		if kill {
			what = fmt.Sprintf("member %d, back after SIGKILL", again)
			g.kill(members[again])
		} else {
			g.stop(t, members[again])
		}
		members[again] = g.start(t, c, members[again].id)
		g.settled(t, what, members...)
		g.mu.Lock()
		if got := members[again].has(); !slices.Equal(got, had) {
			t.Errorf("%s: %s has %v, not %v", g.name, what, got, had)
		}
		if moves := g.moves(members[other]); len(moves) != events {
			t.Errorf("%s: %s: the other member sees %+v", g.name, what, moves[events:])
		}
		g.mu.Unlock()
		if got := g.generation(t); got != generation {
			t.Errorf("%s: %s: generation %d became %d", g.name, what, generation, got)
		}
	}
	g.finish(t)
	t.Log(g.tally())
}

// moves returns the events that move partitions to or from a member. The mutex is
// held.
func (g *clientGroup) moves(m *clientMember) []clientEvent {
	return slices.DeleteFunc(slices.Clone(m.events), func(e clientEvent) bool { return e.Event != "assigned" && e.Event != "revoked" })
}

// broker kills the broker while groups are at work: when it is back, they go on
// with the offsets that they had committed.
func (s *clientStage) broker(t *testing.T) {
	var casts []client
	for _, c := range allClients {
		if !slices.ContainsFunc(casts, func(o client) bool { return o.library == c.library && o.protocol == c.protocol }) {
			casts = append(casts, c)
		}
	}
	groups := make([]*clientGroup, len(casts))
	members := make([][]*clientMember, len(casts))
	all := func(what string, step func(t *testing.T, i int)) {
		t.Run(what, func(t *testing.T) {
			var running sync.WaitGroup
			for i, c := range casts {
				running.Go(func() { t.Run(c.String(), func(t *testing.T) { step(t, i) }) })
			}
			running.Wait()
		})
	}
	for i, c := range casts {
		groups[i] = s.newGroup(t, strings.ReplaceAll("broker "+c.String(), " ", "."))
		for range 2 {
			members[i] = append(members[i], groups[i].start(t, c, ""))
		}
	}
	all("before", func(t *testing.T, i int) { groups[i].settled(t, "two members", members[i]...) })
	if t.Failed() {
		return
	}
	s.serving.kill()
	var acked [][clientPartitions]int64
	for _, g := range groups {
		g.mu.Lock()
		acked = append(acked, g.acked)
		g.mu.Unlock()
	}
	s.serve()
	all("after", func(t *testing.T, i int) {
		g := groups[i]
		for p, offset := range g.committed(t) {
			if offset < acked[i][p] {
				t.Errorf("%s: partition %d was committed at %d and is at %d", g.name, p, acked[i][p], offset)
			}
		}
		g.finish(t)
		g.settled(t, "after the broker came back", members[i]...)
		for _, m := range members[i] {
			g.stop(t, m)
		}
	})
}

// startups is how often a member starts with the broker.
const startups = 20

// startup starts a member in the moment in which the broker takes connections,
// again and again. sarama takes some answers of a broker that is not ready for the
// end.
func (s *clientStage) startup(t *testing.T) {
	g := s.newGroup(t, groupName(t))
	for round := range startups {
		s.serving.kill()
		accepts := make(chan struct{})
		go func() {
			defer close(accepts)
			for end := time.Now().Add(startLimit); time.Now().Before(end); time.Sleep(time.Millisecond) {
				if c, err := net.Dial("tcp", s.address); err == nil {
					c.Close()
					return
				}
			}
		}()
		started := make(chan *clientMember, 1)
		go func() {
			<-accepts
			started <- g.start(t, client{"sarama", "classic", "range", true}, "")
		}()
		s.serve()
		m := <-started
		what := fmt.Sprint("start ", round)
		g.settled(t, what, m)
		g.await(t, what, func() string {
			if len(m.next) < clientPartitions {
				return "not all partitions are read"
			}
			for _, e := range m.events {
				if strings.Contains(e.Error, "consuming:") { // most applications give up
					t.Errorf("%s: %s", what, e.Error)
				}
			}
			return ""
		})
		if round == startups-1 {
			g.finish(t)
		}
		g.stop(t, m)
	}
}
