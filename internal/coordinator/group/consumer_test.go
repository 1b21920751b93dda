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

// The trace of a probe against Kafka 4.4.0 that heartbeats every 250 ms.
func TestTraceOfTwoMembers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, map[string]int32{"t": 3, "u": 1})
		began := time.Now()
		step := func(ms int, member string, epoch int32, owned string, change func(*kmsg.ConsumerGroupHeartbeatRequest), want string) {
			t.Helper()
			time.Sleep(time.Until(began.Add(time.Duration(ms) * time.Millisecond)))
			q := beats("g", member, epoch)
			q.Topics = owns(owned)
			if change != nil {
				change(q)
			}
			a := b.heartbeat(q)
			got := fmt.Sprintf("err=%d epoch=%d interval=%d assignment=%s", a.ErrorCode, a.MemberEpoch, a.HeartbeatIntervalMillis, assigned(a.Assignment))
			if got != want || *a.MemberID != member {
				t.Errorf("+%d %s: %s %s, want %s", ms, member, *a.MemberID, got, want)
			}
		}
		describe := func(want string) {
			t.Helper()
			if got := b.describe("g"); got != want {
				t.Errorf("described: %s, want %s", got, want)
			}
		}
		join := func(q *kmsg.ConsumerGroupHeartbeatRequest) {
			q.RebalanceTimeoutMillis, q.SubscribedTopicNames = 300000, []string{"t"}
		}
		step(10, "m1", 0, "", join, "err=0 epoch=2 interval=5000 assignment=t:0,1,2")
		describe("Stable epoch=2 assignment=2 members=1 uniform")
		step(14, "m1", 2, "t:0,1,2", nil, "err=0 epoch=2 interval=5000 assignment=-")
		step(19, "m2", 0, "", join, "err=0 epoch=2 interval=5000 assignment=")
		describe("Assigning epoch=3 assignment=2 members=2 uniform")
		step(273, "m2", 2, "-", nil, "err=0 epoch=2 interval=5000 assignment=-")
		step(1009, "m2", 2, "-", nil, "err=0 epoch=2 interval=5000 assignment=-")
		step(1041, "m2", 2, "-", nil, "err=0 epoch=3 interval=5000 assignment=-")
		step(1044, "m1", 2, "-", nil, "err=0 epoch=2 interval=5000 assignment=t:0,1")
		describe("Reconciling epoch=3 assignment=3 members=2 uniform")
		step(1051, "m2", 3, "-", nil, "err=0 epoch=3 interval=5000 assignment=-")
		step(1054, "m1", 2, "t:0,1", nil, "err=0 epoch=3 interval=5000 assignment=-")
		step(1057, "m2", 3, "-", nil, "err=0 epoch=3 interval=5000 assignment=t:2")
		step(1058, "m2", 3, "t:2", nil, "err=0 epoch=3 interval=5000 assignment=-")
		describe("Stable epoch=3 assignment=3 members=2 uniform")
		step(1313, "m1", 3, "-", nil, "err=0 epoch=3 interval=5000 assignment=-")
		step(2332, "m1", -1, "-", nil, "err=0 epoch=-1 interval=0 assignment=-")
		step(2339, "m2", 3, "-", nil, "err=0 epoch=4 interval=5000 assignment=t:0,1,2")
		step(2590, "m2", 4, "-", nil, "err=0 epoch=4 interval=5000 assignment=-")
		step(4101, "m2", 4, "t:0,1,2", nil, "err=0 epoch=4 interval=5000 assignment=-")
		describe("Stable epoch=4 assignment=4 members=1 uniform")
		step(4113, "m2", 4, "-", func(q *kmsg.ConsumerGroupHeartbeatRequest) { q.SubscribedTopicNames = []string{"u", "t"} },
			"err=0 epoch=5 interval=5000 assignment=t:0,1,2 u:0")
		step(4364, "m2", 5, "-", nil, "err=0 epoch=5 interval=5000 assignment=-")
		step(5626, "m2", -1, "-", nil, "err=0 epoch=-1 interval=0 assignment=-")
		describe("Empty epoch=6 assignment=6 members=0 uniform")
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
