//go:build interop

package interop

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestGroupsDiffer sends kf and Kafka the same requests of groups, by random: those of
// clients of both protocols and of administrators, and such as no client should send.
// Each answer, the state after each, and what both wrote down in the end must be the
// same.
//
// Nothing depends on time: no timer runs out in a scenario. Nor on what hash tables
// yield first, which is different each time that Kafka makes up an id: nobody asks for
// the uniform assignor, ids sort alike on both sides, and a leader does not leave if
// several could follow it.
func TestGroupsDiffer(t *testing.T) {
	p := newBrokerPair(t)
	n := differSetting(t, "KF_SEED", 5) // the same each time, unlike in other tests
	count := differSetting(t, "KF_DIFFER", 24)
	steps, records, abandoned := 0, 0, 0
	for i := range count {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			s := newScenario(p, fmt.Sprint("group-", i), rand.New(rand.NewPCG(uint64(n), uint64(i))))
			defer s.d.disconnect()
			err := s.run()
			steps, records = steps+s.steps, records+s.records
			if errors.Is(err, errAbandoned) {
				abandoned++
				return
			}
			if err != nil {
				t.Errorf("KF_SEED=%d: step %d, %v\nbefore:\n%s", n, s.steps, err, s.history())
			}
		})
	}
	t.Logf("KF_SEED=%d: %d scenarios, %d abandoned, %d steps, %d records", n, count, abandoned, steps, records)
	if abandoned > count/4 {
		t.Errorf("%d of %d scenarios were abandoned: %v", abandoned, count, errAbandoned)
	}
}

// differSetting returns a number from the environment.
func differSetting(t *testing.T, name string, n int) int {
	t.Helper()
	if s := os.Getenv(name); s != "" {
		var err error
		if n, err = strconv.Atoi(s); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	return n
}

// A brokerPair is kf and Kafka on copies of one directory with topics.
type brokerPair struct {
	brokers twin[*serving]
	dirs    twin[string]
	topics  []differTopic
}

// A twin is something of kf and of Kafka.
type twin[T any] [2]T

const (
	ofKF    = 0
	ofKafka = 1
)

type differTopic struct {
	name       string
	id         [16]byte
	partitions int32
}

var differConfigs = append([]string{
	"offsets.topic.num.partitions=3", "group.initial.rebalance.delay.ms=0", "group.consumer.assignors=range,uniform",
	"group.consumer.session.timeout.ms=10000000", "group.consumer.max.session.timeout.ms=10000000", "group.consumer.assignment.interval.ms=0",
	"group.coordinator.append.linger.ms=0", "auto.create.topics.enable=false",
	"broker.session.timeout.ms=60000", // of Kafka, on a busy machine
}, calm...)

func newBrokerPair(t *testing.T) *brokerPair {
	p := &brokerPair{dirs: twin[string]{t.TempDir(), filepath.Join(t.TempDir(), "kafka")}}
	kf, kafka := kfParty(buildKF(t, t.TempDir())), kafkaParty(newKafka(t))
	b := kf.start(t, p.dirs[:1], differConfigs...)
	p.createTopics(t, b)
	b.stop(t)
	copyTree(t, p.dirs[ofKF], p.dirs[ofKafka])
	p.brokers = twin[*serving]{kf.start(t, p.dirs[:1], differConfigs...), kafka.start(t, p.dirs[1:], differConfigs...)}
	for _, b := range p.brokers {
		cl := newClient(t, kgo.SeedBrokers(b.bootstrap))
		for i := range 12 { // of every partition of the groups
			await(t, b.name+" answers for all groups", func() bool {
				q := kmsg.NewPtrDescribeGroupsRequest()
				q.Groups = []string{fmt.Sprint("any-", i)}
				r, err := q.RequestWith(t.Context(), cl.Broker(1))
				return err == nil && (r.Groups[0].ErrorCode == 0 || r.Groups[0].ErrorCode == kerr.GroupIDNotFound.Code)
			})
		}
	}
	return p
}

// createTopics makes s0 to s3, and that of the groups.
func (p *brokerPair) createTopics(t *testing.T, b *serving) {
	admin := kadm.NewClient(newClient(t, kgo.SeedBrokers(b.bootstrap)))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for i, partitions := range []int32{1, 2, 3, 6} {
		made, err := admin.CreateTopic(ctx, partitions, 1, nil, fmt.Sprint("s", i))
		if err != nil {
			t.Fatal(err)
		}
		p.topics = append(p.topics, differTopic{made.Topic, made.ID, partitions})
	}
	if r := admin.FindGroupCoordinators(ctx, "any"); r.Error() != nil {
		t.Fatal(r.Error())
	}
}

// A scenario is a group, and what is done to it.
type scenario struct {
	p       *brokerPair
	d       *duo
	r       *rand.Rand
	group   string
	slots   []*differSlot
	weights int // the column of differOps
	log     []string
	steps   int
	records int

	// What kf said of the group last.
	state   string // of a classic group, "" for none
	modern  bool   // it is a consumer group
	members int
}

// A differSlot is a client of the group.
type differSlot struct {
	name     string
	instance *string
	id       twin[string]

	generation int32
	leads      bool
	members    twin[[]string] // of the generation, for the leader
	protocol   *string
	protocols  []kmsg.JoinGroupRequestProtocol // that it said it has
	joining    *asked
	syncing    *asked
	in         bool // it had an assignment

	epoch    int32 // of a consumer, 0 if it is none
	previous int32
	assigned []kmsg.ConsumerGroupHeartbeatRequestTopic
}

func (c *differSlot) out() {
	c.id, c.generation, c.leads, c.in, c.epoch, c.assigned = twin[string]{}, 0, false, false, 0, nil
}

func newScenario(p *brokerPair, group string, r *rand.Rand) *scenario {
	s := &scenario{p: p, d: newDuo(p, group), r: r, group: group, weights: r.IntN(4)}
	for i := range 1 + r.IntN(4) {
		c := &differSlot{name: fmt.Sprint("c", i)}
		if s.chance(3) { // two of them may have the same
			c.instance = new(fmt.Sprint("i", i/2))
		}
		s.slots = append(s.slots, c)
	}
	return s
}

// differOps are the steps, with how often they are taken: by clients of both protocols,
// of the classic one, mostly consumers, and consumers.
var differOps = []struct {
	name    string
	weights [4]int
	do      func(*scenario, *differSlot) error
}{
	{"next", [4]int{100, 100, 60, 60}, (*scenario).next},
	{"join", [4]int{10, 10, 2, 0}, func(s *scenario, c *differSlot) error { return s.join(c, true) }},
	{"sync", [4]int{6, 6, 6, 6}, func(s *scenario, c *differSlot) error { return s.sync(c, true) }},
	{"heartbeat", [4]int{4, 4, 4, 4}, (*scenario).heartbeat},
	{"consume", [4]int{6, 0, 40, 40}, func(s *scenario, c *differSlot) error { return s.consume(c, true) }},
	{"leave", [4]int{10, 10, 10, 10}, (*scenario).leave},
	{"commit", [4]int{15, 15, 15, 15}, (*scenario).commit},
	{"fetch", [4]int{8, 8, 8, 8}, (*scenario).fetch},
	{"delete offsets", [4]int{3, 3, 3, 3}, (*scenario).deleteOffsets},
	{"delete group", [4]int{2, 2, 2, 2}, (*scenario).deleteGroup},
	{"describe", [4]int{6, 6, 6, 6}, (*scenario).describe},
	{"list", [4]int{4, 4, 4, 4}, (*scenario).list},
}

func (s *scenario) run() (err error) {
	total := 0
	for _, op := range differOps {
		total += op.weights[s.weights]
	}
	for range 30 + s.r.IntN(60) {
		n, at := s.r.IntN(total), 0
		for ; n >= differOps[at].weights[s.weights]; at++ {
			n -= differOps[at].weights[s.weights]
		}
		if err := differOps[at].do(s, pick(s, s.slots...)); err != nil {
			return fmt.Errorf("%s: %w", differOps[at].name, err)
		}
		s.steps++
		differs, err := s.look()
		for n := 0; differs != nil && err == nil && n < 20; n++ { // what nobody waits for may take a moment
			time.Sleep(100 * time.Millisecond)
			differs, err = s.look()
		}
		if err = cmp.Or(err, differs); err != nil {
			return fmt.Errorf("after %s: %w", differOps[at].name, err)
		}
	}
	s.records, err = s.compareRecords()
	return err
}

// look returns how the states of the group differ.
func (s *scenario) look() (differs, err error) {
	q := kmsg.NewPtrDescribeGroupsRequest()
	q.Groups = []string{s.group}
	classic, err := s.d.ask("look", both(6, q), nil)
	if err != nil {
		return nil, err
	}
	p := kmsg.NewPtrConsumerGroupDescribeRequest()
	p.Groups = []string{s.group}
	modern, err := s.d.ask("look", both(1, p), nil)
	if err != nil {
		return nil, err
	}
	s.state, s.members = "", 0
	if g := classic.answer[ofKF].(*kmsg.DescribeGroupsResponse).Groups[0]; g.ErrorCode == 0 {
		s.state, s.members = g.State, len(g.Members)
	}
	g := modern.answer[ofKF].(*kmsg.ConsumerGroupDescribeResponse).Groups[0]
	if s.modern = g.ErrorCode == 0; s.modern {
		s.members = len(g.Members)
	}
	return cmp.Or(classic.differs, modern.differs), nil
}

// ask sends a request of a client to both. What comes of it is told to then, if
// answers do not come at once later.
func (s *scenario) ask(client string, q twin[kmsg.Request], then func(twin[kmsg.Response])) (*asked, error) {
	// The names of clients are parts of ids, which sort alike if no two are the same.
	client = fmt.Sprintf("%s-%03d", client, len(s.log))
	text := fmt.Sprintf("%s: %s v%d", client, kmsg.NameForKey(q[0].Key()), q[0].GetVersion())
	s.log = append(s.log, text+": "+s.d.of(q[ofKF]))
	return s.d.ask(client, q, func(r twin[kmsg.Response]) {
		s.log = append(s.log, "    "+text+" is answered: "+s.d.of(r[ofKF]))
		if then != nil {
			then(r)
		}
	})
}

// history is what happened lately.
func (s *scenario) history() string {
	var b strings.Builder
	for _, line := range s.log[max(0, len(s.log)-30):] {
		fmt.Fprintf(&b, "%.1000s\n", line)
	}
	return b.String()
}

// chance is true once in n times.
func (s *scenario) chance(n int) bool { return s.r.IntN(n) == 0 }

func pick[T any](s *scenario, of ...T) T { return of[s.r.IntN(len(of))] }

// both returns the same request for both.
func both(version int16, q kmsg.Request) twin[kmsg.Request] {
	q.SetVersion(version)
	return twin[kmsg.Request]{q, q}
}

// perSide returns a request for each side.
func perSide(version int16, make func(side int) kmsg.Request) (qs twin[kmsg.Request]) {
	for side := range qs {
		qs[side] = make(side)
		qs[side].SetVersion(version)
	}
	return qs
}
