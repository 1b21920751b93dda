package group

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kf/internal/format/kraftrec"
	"kf/internal/image"
	"kf/internal/wire"
)

// heartbeat sends a heartbeat and returns its answer.
func (b *bench) heartbeat(q *kmsg.ConsumerGroupHeartbeatRequest) *kmsg.ConsumerGroupHeartbeatResponse {
	b.t.Helper()
	return ask(b.t, func(reply func(*kmsg.ConsumerGroupHeartbeatResponse)) {
		b.ConsumerGroupHeartbeat(Client{ID: "c", Host: "/127.0.0.1"}, q, reply)
	}).get()
}

// joins is the request by which a member joins.
func joins(group, member string, topics ...string) *kmsg.ConsumerGroupHeartbeatRequest {
	q := beats(group, member, 0)
	q.RebalanceTimeoutMillis, q.SubscribedTopicNames = 300000, topics
	q.Topics = []kmsg.ConsumerGroupHeartbeatRequestTopic{}
	return q
}

// beats is the request by which a member says that it is there, and nothing else.
func beats(group, member string, epoch int32) *kmsg.ConsumerGroupHeartbeatRequest {
	q := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	q.Version, q.Group, q.MemberID, q.MemberEpoch = 1, group, member, epoch
	return q
}

// topicID is the id of a topic of a bench.
func topicID(name string) (id wire.UUID) {
	copy(id[:], name)
	return id
}

func topicName(id wire.UUID) string { return strings.TrimRight(string(id[:]), "\x00") }

// owns reads "t:0,1 u:2" into what a member says it has; "" is nothing, and "-" that
// it does not say.
func owns(text string) []kmsg.ConsumerGroupHeartbeatRequestTopic {
	if text == "-" {
		return nil
	}
	topics := []kmsg.ConsumerGroupHeartbeatRequestTopic{}
	for _, of := range strings.Fields(text) {
		name, list, _ := strings.Cut(of, ":")
		t := kmsg.ConsumerGroupHeartbeatRequestTopic{TopicID: topicID(name)}
		for p := range strings.SplitSeq(list, ",") {
			n, err := strconv.Atoi(p)
			if err != nil {
				panic(err)
			}
			t.Partitions = append(t.Partitions, int32(n))
		}
		topics = append(topics, t)
	}
	return topics
}

// assigned is the reverse for an answer.
func assigned(a *kmsg.ConsumerGroupHeartbeatResponseAssignment) string {
	if a == nil {
		return "-"
	}
	of := make(map[string][]int32)
	for _, t := range a.Topics {
		of[topicName(t.TopicID)] = t.Partitions
	}
	return partitionsText(of)
}

func partitionsText(of map[string][]int32) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(of)) {
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		list := strings.ReplaceAll(strings.Trim(fmt.Sprint(slices.Sorted(slices.Values(of[name]))), "[]"), " ", ",")
		fmt.Fprintf(&b, "%s:%s", name, list)
	}
	return b.String()
}

// describe returns "Stable epoch=3 assignment=3 members=2 uniform" of a group.
func (b *bench) describe(id string) string {
	b.t.Helper()
	var d kmsg.ConsumerGroupDescribeResponseGroup
	b.in(func(m *machine) { d = m.describeConsumer(id) })
	if d.ErrorCode != 0 {
		return fmt.Sprintf("error %d %s", d.ErrorCode, *d.ErrorMessage)
	}
	return fmt.Sprintf("%s epoch=%d assignment=%d members=%d %s", d.State, d.Epoch, d.AssignmentEpoch, len(d.Members), d.AssignorName)
}

// A trace is what a member of Kafka 4.4.0 sent and was answered, at times in ms.
type trace struct {
	*bench
	began time.Time
}

func newTrace(t *testing.T, topics map[string]int32) *trace {
	b := newBench(t, topics)
	return &trace{b, time.Now()}
}

// step sends a heartbeat at its time and compares the answer with "epoch assignment",
// "-" for none.
func (tr *trace) step(ms int, member string, epoch int32, owned, want string, change ...func(*kmsg.ConsumerGroupHeartbeatRequest)) {
	tr.t.Helper()
	time.Sleep(time.Until(tr.began.Add(time.Duration(ms) * time.Millisecond)))
	q := beats("g", member, epoch)
	q.Topics = owns(owned)
	for _, f := range change {
		f(q)
	}
	a := tr.heartbeat(q)
	interval := int32(5000)
	if epoch < 0 {
		interval = 0
	}
	if got := fmt.Sprintf("%d %s", a.MemberEpoch, assigned(a.Assignment)); got != want || a.ErrorCode != 0 || *a.MemberID != member || a.HeartbeatIntervalMillis != interval {
		tr.t.Errorf("+%d %s: %s, want %s; %+v", ms, member, got, want, a)
	}
}

// subscribes makes a heartbeat one that joins.
func subscribes(topics ...string) func(*kmsg.ConsumerGroupHeartbeatRequest) {
	return func(q *kmsg.ConsumerGroupHeartbeatRequest) {
		q.RebalanceTimeoutMillis, q.SubscribedTopicNames = 300000, topics
	}
}

func (tr *trace) described(want string) {
	tr.t.Helper()
	if got := tr.describe("g"); got != want {
		tr.t.Errorf("described: %s, want %s", got, want)
	}
}

// A probe that heartbeats every 250 ms.
func TestTraceOfProbe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := newTrace(t, map[string]int32{"t": 3, "u": 1})
		tr.step(10, "m1", 0, "", "2 t:0,1,2", subscribes("t"))
		tr.described("Stable epoch=2 assignment=2 members=1 uniform")
		tr.step(14, "m1", 2, "t:0,1,2", "2 -")
		tr.step(19, "m2", 0, "", "2 ", subscribes("t"))
		tr.described("Assigning epoch=3 assignment=2 members=2 uniform")
		tr.step(273, "m2", 2, "-", "2 -")
		tr.step(1009, "m2", 2, "-", "2 -")
		tr.step(1041, "m2", 2, "-", "3 -")
		tr.step(1044, "m1", 2, "-", "2 t:0,1")
		tr.described("Reconciling epoch=3 assignment=3 members=2 uniform")
		tr.step(1051, "m2", 3, "-", "3 -")
		tr.step(1054, "m1", 2, "t:0,1", "3 -")
		tr.step(1057, "m2", 3, "-", "3 t:2")
		tr.step(1058, "m2", 3, "t:2", "3 -")
		tr.described("Stable epoch=3 assignment=3 members=2 uniform")
		tr.step(1313, "m1", 3, "-", "3 -")
		tr.step(2332, "m1", -1, "-", "-1 -")
		tr.step(2339, "m2", 3, "-", "4 t:0,1,2")
		tr.step(2590, "m2", 4, "-", "4 -")
		tr.step(4101, "m2", 4, "t:0,1,2", "4 -")
		tr.described("Stable epoch=4 assignment=4 members=1 uniform")
		tr.step(4113, "m2", 4, "-", "5 t:0,1,2 u:0", func(q *kmsg.ConsumerGroupHeartbeatRequest) { q.SubscribedTopicNames = []string{"u", "t"} })
		tr.step(4364, "m2", 5, "-", "5 -")
		tr.step(5626, "m2", -1, "-", "-1 -")
		tr.described("Empty epoch=6 assignment=6 members=0 uniform")
	})
}

// Java consumers, dynamic and static, which say that they own and want nothing when
// they leave.
func TestTraceOfJavaConsumers(t *testing.T) {
	leaves := func(q *kmsg.ConsumerGroupHeartbeatRequest) { q.SubscribedTopicNames = []string{} }
	synctest.Test(t, func(t *testing.T) {
		tr := newTrace(t, map[string]int32{"t": 3})
		tr.step(0, "m1", 0, "", "2 t:0,1,2", subscribes("t"))
		tr.step(286, "m1", 2, "t:0,1,2", "2 -")
		tr.step(438, "m2", 0, "", "2 ", subscribes("t"))
		tr.step(833, "m2", 2, "", "2 -")
		tr.step(5287, "m1", 2, "-", "2 t:0,1")
		tr.step(5588, "m1", 2, "t:0,1", "3 -")
		tr.step(5836, "m2", 2, "-", "3 t:2")
		tr.step(5856, "m2", 3, "t:2", "3 -")
		tr.step(5960, "m2", -1, "", "-1 -", leaves)
		tr.step(6007, "m1", -1, "", "-1 -", leaves)
		tr.described("Empty epoch=5 assignment=5 members=0 uniform")
	})
	synctest.Test(t, func(t *testing.T) {
		static := func(q *kmsg.ConsumerGroupHeartbeatRequest) { q.InstanceID = new("i1") }
		tr := newTrace(t, map[string]int32{"t": 3})
		tr.step(0, "m1", 0, "", "2 t:0,1,2", subscribes("t"), static)
		tr.step(72, "m1", 2, "t:0,1,2", "2 -", static)
		tr.step(279, "m1", -2, "", "-2 -", leaves, static)
		tr.described("Reconciling epoch=2 assignment=2 members=1 uniform")
	})
}

// sleep lets time pass, in ms.
func (b *bench) sleep(ms int) {
	time.Sleep(time.Duration(ms) * time.Millisecond)
	synctest.Wait()
}

// grow adds partitions to a topic in the next image.
func (b *bench) grow(t *image.Topic, partitions int32) {
	b.t.Helper()
	for i := int32(t.Len()); i < partitions; i++ {
		p := &kraftrec.PartitionRecord{PartitionID: i, TopicID: t.ID, Replicas: []int32{1}, ISR: []int32{1}, Leader: 1}
		if err := b.build.Replay(p); err != nil {
			b.t.Fatal(err)
		}
	}
}

// remove removes a topic from the next image.
func (b *bench) remove(t *image.Topic) {
	b.t.Helper()
	if err := b.build.Replay(&kraftrec.RemoveTopicRecord{TopicID: t.ID}); err != nil {
		b.t.Fatal(err)
	}
}
