package group

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kf/internal/kftest"
	"kf/internal/storage"
)

// Consumers of both protocols that come, go, stall and lose what they are told, with
// topics that come, grow and go, on a broker whose log fails, lags and moves. What
// may never happen: a partition that a client is told to use while another one that
// is a member still does, an epoch that falls, a commit that is taken from a client
// that lost the partition, a group that is not what its log says. And when all are
// quiet in the end the group is stable, every partition has one owner, and the
// assignment is one that the assignor would not change.
func TestConsumerModel(t *testing.T) {
	r := kftest.Random(t)
	for range 30 {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, r)
			for range 250 {
				w.step()
			}
			w.settle()
		})
	}
}

const (
	worldSession   = 10 * time.Second // of consumers and classic members
	worldRebalance = 6 * time.Second
)

// A world is a group, its topics, and its clients.
type world struct {
	*bench
	r           *rand.Rand
	clients     []client
	topics      []string // those that there are
	made        int      // topics so far
	members     int      // ids given out so far
	cooperative bool     // classic clients are
	calm        bool     // nothing is lost, and clients do what they should
	fault       time.Time

	epoch, assignment int32 // of the group, as last seen
	kind              Type  //
	history           []string
}

// note remembers what happened, for the report of a failure.
func (w *world) note(format string, args ...any) {
	w.history = append(w.history, fmt.Sprintf("%s ", time.Now().Format("05.000"))+fmt.Sprintf(format, args...))
}

// fatalf ends the test with what happened lately.
func (w *world) fatalf(format string, args ...any) {
	w.t.Helper()
	last := w.history[max(0, len(w.history)-110):]
	w.t.Fatalf(format+"\n%s", append(args, strings.Join(last, "\n"))...)
}

// A client is what wants to use partitions.
type client interface {
	// act lets it do what is due now, or something odd.
	act()
	// memberID is its id, "" if it has none.
	memberID() string
	// uses are the partitions that it uses: "t:0".
	uses() map[string]bool
	// alive reports whether its process runs.
	alive() bool
	// wants reports whether it subscribes to a topic.
	wants(topic string) bool
	// known reports whether the coordinator knows what it uses.
	known() bool
	// stale reports whether its group may rest, till something else changes, with an
	// assignment that is not what its members want by now. So it is in Kafka: it
	// assigns nothing anew for classic members, nor for a regular expression that
	// matches no topic, whatever the one before it matched.
	stale() bool
}

// converted notes when the group has another protocol. What it then takes for the
// assignment of classic members is the target of the consumer group, or what their
// leader said last or not at all, and they may use something else till they join
// again: so it is in Kafka.
func (w *world) converted() {
	w.in(func(m *machine) {
		g := m.groups["g"]
		if g == nil || g.empty() || g.kind() == w.kind {
			return
		}
		w.kind = g.kind()
		w.note("it is a %s group", w.kind)
		for _, c := range w.clients {
			if c, ok := c.(*classicClient); ok {
				c.unknown = true
			}
		}
	})
}

func newWorld(t *testing.T, r *rand.Rand) *world {
	w := &world{bench: newBench(t, nil), r: r, cooperative: r.IntN(2) == 0}
	w.config.ConsumerSessionTimeout, w.config.ConsumerRegexRefresh = int32(worldSession.Milliseconds()), 30000
	w.config.ClassicInitialDelay = int32(r.IntN(2) * 1000)
	if r.IntN(4) == 0 {
		w.config.ConsumerAssignmentInterval = int32(r.IntN(3) * 500)
	}
	if r.IntN(3) == 0 {
		w.config.Migration = Migration(r.IntN(4))
	}
	if r.IntN(5) == 0 {
		w.config.ConsumerMaxSize = 4
	}
	for range 1 + r.IntN(3) {
		w.createTopic()
	}
	w.publish()
	for range 2 + r.IntN(5) {
		w.hire()
	}
	return w
}

func (w *world) createTopic() {
	name := fmt.Sprintf("t%d", w.made)
	w.made++
	w.addTopic(name, 1+w.r.Int32N(5))
	w.topics = append(w.topics, name)
}

// newID returns a member id that nobody had.
func (w *world) newID() string {
	w.members++
	return fmt.Sprintf("m%d", w.members)
}

// hire starts a client.
func (w *world) hire() {
	switch w.r.IntN(4) {
	case 0:
		w.clients = append(w.clients, &classicClient{w: w, topics: w.wish()})
	default:
		c := &consumerClient{w: w, id: w.newID()}
		c.topics, c.pattern = w.wish(), new("")
		if w.r.IntN(4) == 0 {
			c.topics, c.pattern = nil, new([]string{"t.*", "t[0-2]", "none"}[w.r.IntN(3)])
		}
		if w.r.IntN(3) == 0 {
			c.instance = new(fmt.Sprintf("i%d", w.r.IntN(3)))
		}
		if w.r.IntN(4) == 0 {
			c.assignor = new([]string{"uniform", "range"}[w.r.IntN(2)])
		}
		w.clients = append(w.clients, c)
	}
}

// wish returns topics that a client may subscribe to; most want the same.
func (w *world) wish() []string {
	if w.r.IntN(3) > 0 {
		return []string{"t0", "t1"}
	}
	topics := []string{}
	for range 1 + w.r.IntN(3) {
		topics = append(topics, fmt.Sprintf("t%d", w.r.IntN(4)))
	}
	return topics
}

// step lets a client act, or the world change, and time go on.
func (w *world) step() {
	switch w.r.IntN(30) {
	case 0:
		w.disturb()
	case 1:
		w.changeTopics()
	case 2:
		if len(w.clients) < 10 {
			w.hire()
		}
	case 3:
		w.bury()
	}
	if len(w.clients) == 0 {
		w.hire()
	}
	w.clients[w.r.IntN(len(w.clients))].act()
	w.pass(time.Duration(w.r.IntN(500)) * time.Millisecond)
}

// bury forgets a client that is dead.
func (w *world) bury() {
	w.clients = slices.DeleteFunc(w.clients, func(c client) bool { return !c.alive() && len(w.clients) > 2 && c.memberID() == "" })
}

// disturb lets the log fail or lag for a while, or moves the shard.
func (w *world) disturb() {
	switch w.r.IntN(3) {
	case 0:
		w.note("the log fails")
		w.log.fail(storage.ErrOffline)
	case 1:
		w.note("the log lags")
		w.hold()
	default:
		w.note("the shard moves")
		w.repair()
		w.restart()
		w.epoch, w.assignment = 0, 0 // generations without an assignment are forgotten
		return
	}
	w.fault = time.Now().Add(time.Duration(w.r.IntN(7000)) * time.Millisecond)
}

func (w *world) repair() {
	w.fault = time.Time{}
	w.log.fail(nil)
	w.release()
	synctest.Wait()
}

func (w *world) changeTopics() {
	switch at := w.r.IntN(max(1, len(w.topics))); {
	case len(w.topics) < 4 && w.r.IntN(2) == 0:
		w.createTopic()
	case len(w.topics) > 1 && w.r.IntN(4) == 0:
		w.remove(w.image.Topic(w.topics[at]))
		w.topics = slices.Delete(w.topics, at, at+1)
	default:
		t := w.image.Topic(w.topics[at])
		w.grow(t, int32(t.Len())+1)
	}
	w.publish()
}

// pass lets time go on, and looks at everything.
func (w *world) pass(d time.Duration) {
	w.t.Helper()
	time.Sleep(d)
	synctest.Wait()
	if !w.fault.IsZero() && time.Now().After(w.fault) {
		w.repair()
	}
	w.converted()
	w.in(func(m *machine) {
		switch g := m.groups["g"].(type) {
		case *consumerGroup:
			w.rises(g.epoch, g.targetedIn)
			if wrong := checkConsumer(m, g); wrong != "" {
				w.fatalf("%s", wrong)
			}
		case *classicGroup:
			w.rises(g.generation, g.generation)
			checkClassic(w.t, m, g)
		}
		if g := m.groups["g"]; g == nil || g.empty() { // whoever comes may begin a new group
			w.epoch, w.assignment = 0, 0
		}
	})
}

// rises fails if an epoch is below one that was seen.
func (w *world) rises(epoch, assignment int32) {
	w.t.Helper()
	if epoch < w.epoch || assignment < w.assignment {
		w.fatalf("epochs %d, %d after %d, %d", epoch, assignment, w.epoch, w.assignment)
	}
	w.epoch, w.assignment = epoch, assignment
}

// isMember reports whether the coordinator takes an id for that of a member.
func (w *world) isMember(id string) (is bool) {
	w.in(func(m *machine) {
		switch g := m.groups["g"].(type) {
		case *consumerGroup:
			is = g.members[id] != nil
		case *classicGroup:
			is = g.members[id] != nil
		}
	})
	return is
}

// takes notes that a client begins to use partitions, which no other member does. One
// that does not know that it is no member any more is late, as it can be in Kafka.
func (w *world) takes(c client, partitions map[string]bool) {
	w.t.Helper()
	if !w.isMember(c.memberID()) {
		return
	}
	w.converted()
	for p := range partitions {
		if c.uses()[p] {
			continue
		}
		for _, o := range w.clients {
			if o != c && o.uses()[p] && o.known() && o.memberID() != "" && w.isMember(o.memberID()) {
				for _, r := range w.log.records(w.t, 0) {
					if line := recordText(r); strings.Contains(line, c.memberID()) || strings.Contains(line, o.memberID()) {
						w.history = append(w.history, line)
					}
				}
				w.fatalf("%s is told to use %s, which %s uses", c.memberID(), p, o.memberID())
			}
		}
	}
}

// commits lets a client commit what it uses; whatever is taken is not another
// member's.
func (w *world) commits(c client, epoch int32) {
	w.t.Helper()
	q := kmsg.NewPtrOffsetCommitRequest()
	q.Version, q.Group, q.MemberID, q.Generation = 9, "g", c.memberID(), epoch
	for p := range c.uses() {
		name, n, _ := strings.Cut(p, ":")
		if w.image.Topic(name) == nil {
			continue
		}
		t := kmsg.NewOffsetCommitRequestTopic()
		t.Topic, t.TopicID = name, w.image.Topic(name).ID
		of := kmsg.NewOffsetCommitRequestTopicPartition()
		fmt.Sscan(n, &of.Partition)
		t.Partitions = append(t.Partitions, of)
		q.Topics = append(q.Topics, t)
	}
	member := w.isMember(c.memberID())
	var r *kmsg.OffsetCommitResponse
	w.OffsetCommit(q, func(a *kmsg.OffsetCommitResponse) { r = a })
	synctest.Wait()
	if r == nil { // it waits for what lags
		return
	}
	for _, t := range r.Topics {
		for _, p := range t.Partitions {
			if p.ErrorCode != 0 {
				continue
			}
			if !member {
				w.fatalf("a commit of %s is taken, which is no member", c.memberID())
			}
			w.in(func(m *machine) {
				g, ok := m.groups["g"].(*consumerGroup)
				if owner := ""; ok {
					if owner = g.owners[topicPartition{t.TopicID, p.Partition}]; owner != "" && owner != c.memberID() {
						w.fatalf("a commit of %s at %d is taken for %s:%d, which %s has", c.memberID(), epoch, t.Topic, p.Partition, owner)
					}
				}
			})
		}
	}
}

// settle lets everything come to rest, and looks at what came of it.
func (w *world) settle() {
	w.calm = true
	w.repair()
	w.clients = slices.DeleteFunc(w.clients, func(c client) bool { return !c.alive() })
	w.idle()
	if slices.ContainsFunc(w.clients, client.stale) {
		w.growAll()
		w.idle()
	}
	w.expectSettled()
	w.expectReplay()
}

// idle lets a minute pass in which clients do what they should.
func (w *world) idle() {
	for range 120 {
		for _, c := range w.clients {
			c.act()
		}
		w.pass(500 * time.Millisecond)
	}
}

// growAll adds a partition to each topic, and lets classic clients hear of that, of
// whom a leader watches its topics.
func (w *world) growAll() {
	w.note("all topics grow")
	for _, name := range w.topics {
		t := w.image.Topic(name)
		w.grow(t, int32(t.Len())+1)
	}
	w.publish()
	for _, c := range w.clients {
		if c, ok := c.(*classicClient); ok && c.phase == modelMember {
			c.phase = modelOut
		}
	}
}
