package broker

import (
	"bytes"
	"context"
	"maps"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"kf/internal/coordinator/group"
	"kf/internal/format/batch"
	"kf/internal/storage"
	"kf/internal/wire"
)

// newGroupStage returns a broker with the topic TOPIC.
func newGroupStage(t *testing.T, o Options) *stage {
	s := &stage{t: t, b: startBroker(t, o), ids: make(map[string]wire.UUID), followers: func() {}}
	if there := s.b.image.Load().Topic("TOPIC"); there != nil {
		s.ids["TOPIC"] = there.ID
	} else {
		s.create("TOPIC", nil)
	}
	return s
}

// ask sends what a builder makes, on a connection of its own, and returns where the
// answer comes.
func (s *stage) ask(version int16, build builder) <-chan kmsg.Response {
	s.t.Helper()
	q := build(s, errorCase{Version: version}).(kmsg.Request)
	q.SetVersion(version)
	c, err := net.Dial("tcp", s.b.Addr())
	if err != nil {
		s.t.Fatal(err)
	}
	c.SetDeadline(time.Now().Add(time.Minute)) // a broker that says nothing fails the test
	s.t.Cleanup(func() { c.Close() })
	answered := make(chan kmsg.Response, 1)
	go func() {
		defer close(answered)
		if answer, err := roundTrip(c, q); err == nil {
			answered <- answer
		}
	}()
	return answered
}

// expect sends what a builder makes and fails the test if the answer has another
// code.
func (s *stage) expect(what string, version int16, build builder, code int16) {
	s.t.Helper()
	q := build(s, errorCase{Version: version}).(kmsg.Request)
	if got, message, _ := outcome(s.request(version, q)); got != code {
		s.t.Errorf("%s: code %d, %s; want %d", what, got, message, code)
	}
}

// committed returns the offset of partition 0 of TOPIC that a group has committed.
func (s *stage) committed(group string) any {
	s.t.Helper()
	_, _, fields := outcome(s.request(8, fetchingOffsets(group, "TOPIC", 0)(s, errorCase{Version: 8}).(kmsg.Request)))
	return fields["offset"]
}

// TestGroupTopic tests how the topic of the groups is made for those who need it.
func TestGroupTopic(t *testing.T) {
	for _, tt := range []struct {
		name       string
		properties map[string]string
		ask        builder
		partitions int
		configs    map[string]string
	}{
		{"first group", nil, coordinatorOf(groupCoordinator, "g"), 50,
			map[string]string{"cleanup.policy": "compact", "compression.type": "producer", "segment.bytes": "104857600"}},
		{"settings", map[string]string{"offsets.topic.num.partitions": "3", "offsets.topic.segment.bytes": "2000000", "offsets.topic.replication.factor": "1"},
			coordinatorOf(groupCoordinator, "g"), 3, map[string]string{"cleanup.policy": "compact", "compression.type": "producer", "segment.bytes": "2000000"}},
		{"metadata", map[string]string{"offsets.topic.num.partitions": "1"}, naming(true, group.Topic), 1,
			map[string]string{"cleanup.policy": "compact", "compression.type": "producer", "segment.bytes": "104857600"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newGroupStage(t, Options{Properties: tt.properties})
			s.request(4, tt.ask(s, errorCase{Version: 4}).(kmsg.Request))
			im := s.b.image.Load()
			topic := im.Topic(group.Topic)
			if topic == nil {
				t.Fatal("the topic is not there")
			}
			if n := len(topic.Partition(0).Replicas); topic.Len() != tt.partitions || n != 1 {
				t.Errorf("%d partitions, %d replicas; want %d, 1", topic.Len(), n, tt.partitions)
			}
			if got := topicSettings(im, group.Topic); !maps.Equal(got, tt.configs) {
				t.Errorf("settings %v, want %v", got, tt.configs)
			}
			s.expect("coordinator", 4, coordinatorOf(groupCoordinator, "g"), 0)
			s.expect("a commit at once", 8, committing("g", "", -1), 0)
		})
	}
}

// TestFirstCoordinator tests that whoever looks for the coordinator of the first
// group can go on at once: it is there and its groups are loaded.
func TestFirstCoordinator(t *testing.T) {
	s := newGroupStage(t, Options{})
	for version := range int16(7) {
		name := "g" + itoa(version)
		answer := s.request(version, coordinatorOf(groupCoordinator, name)(s, errorCase{}).(kmsg.Request)).(*kmsg.FindCoordinatorResponse)
		node, host := answer.NodeID, answer.Host
		if version >= 4 {
			node, host = answer.Coordinators[0].NodeID, answer.Coordinators[0].Host
		}
		if node != 1 || host != "127.0.0.1" {
			t.Errorf("v%d: node %d, host %q", version, node, host)
		}
		s.expect("a commit", 8, committing(name, "", -1), 0)
	}
	q := coordinatorOf(groupCoordinator, "")(s, errorCase{}).(*kmsg.FindCoordinatorRequest)
	q.CoordinatorKeys = []string{"a", "b", "a"}
	if got := s.request(6, q).(*kmsg.FindCoordinatorResponse).Coordinators; len(got) != 3 || got[1].Key != "b" || got[2].NodeID != 1 {
		t.Errorf("%+v for three keys", got)
	}
}

// TestFirstCoordinators tests that all who look for it first, at the same time, can go
// on at once.
func TestFirstCoordinators(t *testing.T) {
	s := newGroupStage(t, Options{})
	var answers []<-chan kmsg.Response
	for i := range int16(20) {
		answers = append(answers, s.ask(4, coordinatorOf(groupCoordinator, "g"+itoa(i))))
	}
	for i, answer := range answers {
		if code, _, _ := outcome(<-answer); code != 0 {
			t.Errorf("request %d: code %d", i, code)
		}
	}
}

// TestGroupsRestart tests that what groups committed is there after a restart, that
// it is loaded although nobody asks for it, and that no partition is opened for it
// that has no records.
func TestGroupsRestart(t *testing.T) {
	o := Options{Dirs: []string{t.TempDir()}, Properties: map[string]string{"offsets.topic.num.partitions": "5"}}
	s := newGroupStage(t, o)
	names := []string{"a", "b", "c", "d"} // of 5 partitions: 2, 3, 4, 0
	s.expect("coordinator", 4, coordinatorOf(groupCoordinator, "a"), 0)
	for _, name := range names {
		s.expect(name, 8, committing(name, "", -1), 0)
	}
	if err := s.b.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	s = newGroupStage(t, o)
	var want []int32
	for _, name := range names {
		want = append(want, group.Partition(name, 5))
	}
	slices.Sort(want)
	for len(s.opened(5)) < len(want) {
		time.Sleep(time.Millisecond)
	}
	for _, name := range names {
		s.expect("coordinator", 4, coordinatorOf(groupCoordinator, name), 0)
		if got := s.committed(name); got != 7.0 {
			t.Errorf("group %s committed %v, want 7", name, got)
		}
	}
	s.expect("the empty one", 4, coordinatorOf(groupCoordinator, "e"), 0)
	if got := s.committed("e"); got != -1.0 {
		t.Errorf("a group that is not there committed %v", got)
	}
	if got := s.opened(5); !slices.Equal(got, want) {
		t.Errorf("open are the partitions %v, want %v", got, want)
	}
	s.expect("a commit to the empty one", 8, committing("e", "", -1), 0)
	if got := s.committed("e"); got != 7.0 {
		t.Errorf("the new group committed %v, want 7", got)
	}
}

// opened returns which of the partitions of the groups are open.
func (s *stage) opened(n int32) (open []int32) {
	for p := range n {
		if s.b.store.Get(storage.TopicPartition{Topic: group.Topic, Partition: p}) != nil {
			open = append(open, p)
		}
	}
	return open
}

// TestCoordinatorChanges tests that members that wait are told when the broker
// coordinates their group no more, and that it goes on with what was committed when
// it does again: after another epoch of its partition, and in a new topic without.
func TestCoordinatorChanges(t *testing.T) {
	s := newGroupStage(t, Options{Properties: map[string]string{"offsets.topic.num.partitions": "1", "group.initial.rebalance.delay.ms": "600000"}})
	s.expect("coordinator", 4, coordinatorOf(groupCoordinator, "g"), 0)
	s.expect("commit", 8, committing("g", "", -1), 0)
	join := joining("joined", "")
	waits := s.ask(3, join)
	for len(s.members("joined")) == 0 {
		time.Sleep(time.Millisecond)
	}
	fenced(s)
	if code, _, _ := outcome(<-waits); code != kerr.NotCoordinator.Code {
		t.Errorf("a join got code %d when the coordinator changed, want NOT_COORDINATOR", code)
	}
	s.expect("coordinator", 4, coordinatorOf(groupCoordinator, "g"), 0)
	if got := s.committed("g"); got != 7.0 {
		t.Errorf("committed %v in the next epoch, want 7", got)
	}
	s.expect("commit", 8, committing("g", "", -1), 0)

	s.request(5, deleting(value(group.Topic), wire.UUID{})(s, errorCase{Version: 5}).(kmsg.Request))
	s.expect("commit without the topic", 8, committing("g", "", -1), kerr.NotCoordinator.Code)
	s.expect("coordinator", 4, coordinatorOf(groupCoordinator, "g"), 0)
	if got := s.committed("g"); got != -1.0 {
		t.Errorf("committed %v in a new topic, want nothing", got)
	}
	s.expect("commit", 8, committing("g", "", -1), 0)
}

// TestCoordinatorChurn changes the coordinator's epoch again and again, and makes and
// deletes topics, while groups commit. Nothing hangs, and the last commit that was
// acknowledged to each group is there in the end.
func TestCoordinatorChurn(t *testing.T) {
	const groups, rounds = 4, 15
	s := newGroupStage(t, Options{Properties: map[string]string{"offsets.topic.num.partitions": "2"}})
	s.expect("coordinator", 4, coordinatorOf(groupCoordinator, "g"), 0)
	var committers sync.WaitGroup
	var acked [groups]int64
	stop := make(chan struct{})
	for g := range groups {
		c, err := net.Dial("tcp", s.b.Addr())
		if err != nil {
			t.Fatal(err)
		}
		c.SetDeadline(time.Now().Add(time.Minute))
		defer c.Close()
		q := committing("g"+itoa(int16(g)), "", -1)(s, errorCase{}).(*kmsg.OffsetCommitRequest)
		q.SetVersion(8)
		committers.Go(func() {
			for n := int64(1); ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				q.Topics[0].Partitions[0].Offset = n
				answer, err := roundTrip(c, q)
				if err != nil {
					t.Error(err)
					return
				}
				switch code, _, _ := outcome(answer); code {
				case 0:
					acked[g] = n
				case kerr.NotCoordinator.Code, kerr.CoordinatorLoadInProgress.Code, kerr.CoordinatorNotAvailable.Code:
				default:
					t.Errorf("a commit got code %d", code)
				}
			}
		})
	}
	for i := range rounds {
		name := "short-lived-" + itoa(int16(i))
		s.create(name, nil)
		fenced(s)
		s.request(5, deleting(&name, wire.UUID{})(s, errorCase{Version: 5}).(kmsg.Request))
	}
	close(stop)
	committers.Wait()
	for g, want := range acked {
		name := "g" + itoa(int16(g))
		s.expect("coordinator", 4, coordinatorOf(groupCoordinator, name), 0)
		if got := s.committed(name); want == 0 || got.(float64) < float64(want) {
			t.Errorf("group %s committed %v, %d was acknowledged", name, got, want)
		}
	}
}

// TestCommitWaits tests that a commit is answered when the followers have it, that it
// is refused while too few are in sync, and that groups of other brokers are found
// there.
func TestCommitWaits(t *testing.T) {
	s := newGroupStage(t, Options{})
	s.otherBrokers()
	s.create(group.Topic, map[string]string{"min.insync.replicas": "2", "cleanup.policy": "compact"}, 1, 2)
	s.expect("coordinator", 4, coordinatorOf(groupCoordinator, "g"), 0)
	answer := s.ask(8, committing("g", "", -1))
	r := s.b.replicas.get(s.ids[group.Topic], 0)
	for l := r.log.Load(); l.LogEndOffset() == 0; {
		time.Sleep(time.Millisecond)
	}
	select {
	case got := <-answer:
		t.Fatalf("answered before the follower has it: %+v", got)
	default:
	}
	asked := s.ask(8, fetchingOffsets("g", "TOPIC", 0)) // is told of nothing that could be lost
	follow := s.fetch(18, group.Topic, 1)
	follow.ReplicaState.ID = 2
	s.request(18, follow)
	if code, _, _ := outcome(<-answer); code != 0 {
		t.Errorf("code %d when the follower has it", code)
	}
	if _, _, fields := outcome(<-asked); fields["offset"] != 7.0 {
		t.Errorf("committed %v, want 7", fields["offset"])
	}
	if err := s.b.controller.Fence(t.Context(), 2, s.b.image.Load().Broker(2).Epoch); err != nil {
		t.Fatal(err)
	}
	s.expect("a commit with one replica in sync", 8, committing("g", "", -1), kerr.CoordinatorNotAvailable.Code)

}

// TestCoordinatorElsewhere tests that groups of another broker are found there.
func TestCoordinatorElsewhere(t *testing.T) {
	s := newGroupStage(t, Options{})
	s.otherBrokers()
	s.create(group.Topic, nil, 2)
	answer := s.request(3, coordinatorOf(groupCoordinator, "g")(s, errorCase{}).(kmsg.Request)).(*kmsg.FindCoordinatorResponse)
	if answer.ErrorCode != 0 || answer.NodeID != 2 || answer.Host != "other" || answer.Port != 9094 {
		t.Errorf("%+v, want node 2 at other:9094", answer)
	}
	s.expect("a commit", 8, committing("g", "", -1), kerr.NotCoordinator.Code)
	if err := s.b.controller.Fence(t.Context(), 2, s.b.image.Load().Broker(2).Epoch); err != nil {
		t.Fatal(err)
	}
	s.expect("coordinator of a broker that is gone", 3, coordinatorOf(groupCoordinator, "g"), kerr.CoordinatorNotAvailable.Code)
}

// TestShutdownAnswersJoins tests that a member that waits for others is told that the
// coordinator stops, and that the stop does not wait for them.
func TestShutdownAnswersJoins(t *testing.T) {
	s := newGroupStage(t, Options{Properties: map[string]string{"group.initial.rebalance.delay.ms": "600000"}})
	s.expect("coordinator", 4, coordinatorOf(groupCoordinator, "g"), 0)
	waits := s.ask(3, joining("g", ""))
	for len(s.members("g")) == 0 {
		time.Sleep(time.Millisecond)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := s.b.Shutdown(ctx); err != nil {
		t.Fatal(err)
	}
	answer, ok := <-waits
	if !ok {
		t.Fatal("the connection was closed")
	}
	if code, _, _ := outcome(answer); code != kerr.NotCoordinator.Code {
		t.Errorf("code %d, want NOT_COORDINATOR", code)
	}
}

// TestGroupLogReads tests that the log of a shard gives all batches, whole, whatever
// is asked for at once.
func TestGroupLogReads(t *testing.T) {
	s := newGroupStage(t, Options{Properties: map[string]string{"offsets.topic.num.partitions": "1"}})
	s.expect("coordinator", 4, coordinatorOf(groupCoordinator, "g"), 0)
	const n = 20
	for range n {
		s.expect("commit", 8, committing("g", "", -1), 0)
	}
	topic := s.b.image.Load().Topic(group.Topic)
	log := newGroupLog(s.b.replicas, s.b.replicas.get(topic.ID, 0), topic.Partition(0).LeaderEpoch)
	for _, max := range []int{1, 300, 1 << 20} {
		var offsets []int64
		for next := log.LogStartOffset(); ; {
			p, err := log.Read(next, max)
			if err != nil {
				t.Fatal(err)
			}
			if len(p) == 0 {
				break
			}
			for len(p) > 0 {
				h, err := batch.DecodeHeader(p)
				if err != nil || h.Check(p[:h.Size()]) != nil {
					t.Fatalf("max %d, offset %d: %v", max, next, err)
				}
				offsets = append(offsets, h.BaseOffset)
				next, p = h.LastOffset()+1, p[h.Size():]
			}
		}
		if len(offsets) != n || offsets[n-1] != n-1 {
			t.Errorf("max %d: batches at %v, want %d", max, offsets, n)
		}
	}
	if got := log.HighWatermark(); got != n {
		t.Errorf("high watermark %d, want %d", got, n)
	}
	log.epoch++
	if _, err := log.Append(batch75(plainHeader(1))); err == nil {
		t.Error("an append in another leader epoch was taken")
	}
}

func TestWholeBatches(t *testing.T) {
	one := batch75(plainHeader(1))
	three := bytes.Repeat(one, 3)
	for n := range len(three) + 1 {
		want := n / len(one) * len(one)
		if want == 0 {
			want = n // its decoder is to see that there is too little
		}
		if got := len(wholeBatches(three[:n])); got != want {
			t.Errorf("%d of %d bytes, want %d", got, n, want)
		}
	}
	for _, length := range []int32{-1, 0, -1 << 31, 1<<31 - 1} {
		p := bytes.Clone(three)
		put32(len(one)+8, length)(p)
		if got := len(wholeBatches(p)); got != len(one) {
			t.Errorf("a second batch of length %d: %d bytes, want %d", length, got, len(one))
		}
	}
}
