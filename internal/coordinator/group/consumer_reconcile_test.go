package group

import (
	"testing"

	"kf/internal/coordinator/assignor"
	"kf/internal/format/grouprec"
	"kf/internal/format/kraftrec"
	"kf/internal/image"
)

// claimOf reads "t:0,1", nil for "-".
func claimOf(text string) *claim {
	topics := owns(text)
	if topics == nil {
		return nil
	}
	c := claim{}
	for _, t := range topics {
		c = append(c, grouprec.TopicPartitions{TopicID: t.TopicID, Partitions: t.Partitions})
	}
	return &c
}

// A member that missed an answer is heard at the epoch before, if it says that it has
// nothing but what it may have.
func TestEpochBefore(t *testing.T) {
	m := &consumerMember{id: "m", epoch: 5, previous: 3, assigned: owned(recordedTarget((*claimOf("t:0,1"))), 5)}
	for _, tt := range []struct {
		epoch int32
		owned string
		ok    bool
	}{
		{5, "-", true}, {5, "x:9", true}, {0, "-", true}, {6, "t:0", false}, {4, "t:0", false},
		{3, "", true}, {3, "t:0", true}, {3, "t:0,1", true},
		{3, "t:0,1,2", false}, {3, "u:0", false}, {3, "-", false},
	} {
		if err := m.checkEpoch(tt.epoch, claimOf(tt.owned)); (err == nil) != tt.ok {
			t.Errorf("epoch %d with %q: %v", tt.epoch, tt.owned, err)
		}
	}
	if (&claim{{TopicID: topicID("u")}}).within(m.assigned) {
		t.Error("a topic that it has nothing of is within what it has")
	}
	if !(&claim{{TopicID: topicID("t")}}).within(m.assigned) {
		t.Error("no partition of a topic is not within what it has")
	}
}

// The next step of a member, whatever it was at.
func TestReconcile(t *testing.T) {
	b := image.NewBuilder(image.Empty())
	for _, name := range []string{"t", "u"} {
		if err := b.Replay(&kraftrec.TopicRecord{Name: name, TopicID: topicID(name)}); err != nil {
			t.Fatal(err)
		}
	}
	im, _ := b.Publish()
	of := func(text string) assignor.Partitions { return recordedTarget(*claimOf(text)) }
	for _, tt := range []struct {
		name       string
		state      memberState
		epoch      int32
		has        string // assigned in epoch 2
		revokes    string // likewise
		target     string // of epoch 5
		others     string // what other members have
		owned      string
		topics     []string // subscriptions
		changed    bool     // these are new
		want       string
		wantRefuse bool
	}{
		{"nothing to do", stable, 5, "t:0", "", "t:0", "", "-", []string{"t"}, false, "5<-4 stable has t:0@2", false},
		{"first assignment", stable, 0, "", "", "t:0,1 u:0", "", "", []string{"t", "u"}, false, "5<-0 stable has t:0@5,1@5 u:0@5", false},
		{"a new epoch changes nothing", stable, 4, "t:0", "", "t:0", "", "-", []string{"t"}, false, "5<-4 stable has t:0@2", false},
		{"more", stable, 4, "t:0", "", "t:0,2", "", "-", []string{"t"}, false, "5<-4 stable has t:0@2,2@5", false},
		{"less", stable, 4, "t:0,1", "", "t:0", "", "-", []string{"t"}, false, "4<-4 unrevoked has t:0@2 revokes t:1@2", false},
		{"less, which it has given up", stable, 4, "t:0,1", "", "t:0", "", "t:0", []string{"t"}, false, "5<-4 stable has t:0@2", false},
		{"other ones", stable, 4, "t:0", "", "t:1", "", "t:0", []string{"t"}, false, "4<-4 unrevoked revokes t:0@2", false},
		{"others have it", stable, 4, "t:0", "", "t:0,1", "t:1", "-", []string{"t"}, false, "5<-4 unreleased has t:0@2", false},
		{"others have some of it", stable, 4, "", "", "t:0,1", "t:1", "-", []string{"t"}, false, "5<-4 unreleased has t:0@5", false},
		{"still not given up", unrevoked, 4, "t:0", "t:1", "t:0", "", "t:0,1", []string{"t"}, false, "4<-3 unrevoked has t:0@2 revokes t:1@2", false},
		{"it does not say", unrevoked, 4, "t:0", "t:1", "t:0", "", "-", []string{"t"}, false, "4<-3 unrevoked has t:0@2 revokes t:1@2", false},
		{"given up", unrevoked, 4, "t:0", "t:1", "t:0", "", "t:0", []string{"t"}, false, "5<-4 stable has t:0@2", false},
		{"given up, and more to give up", unrevoked, 4, "t:0", "t:1", "", "", "t:0", []string{"t"}, false, "4<-4 unrevoked revokes t:0@2", false},
		{"given up, and to have it again", unrevoked, 4, "t:0", "t:1", "t:0,1", "", "t:0", []string{"t"}, false, "5<-4 stable has t:0@2,1@5", false},
		{"released by then", unreleased, 5, "t:0", "", "t:0,1", "", "-", []string{"t"}, false, "5<-5 stable has t:0@2,1@5", false},
		{"not released", unreleased, 5, "t:0", "", "t:0,1", "t:1", "-", []string{"t"}, false, "5<-5 unreleased has t:0@2", false},
		{"not wanted any more", stable, 5, "t:0 u:0", "", "t:0 u:0", "", "-", []string{"t"}, true, "5<-5 unrevoked has t:0@2 revokes u:0@2", false},
		{"not wanted, nor had", stable, 5, "t:0 u:0", "", "t:0 u:0", "", "t:0", []string{"t"}, true, "5<-5 stable has t:0@2", false},
		{"nothing wanted", stable, 5, "t:0", "", "t:0", "", "t:0", nil, true, "5<-5 unrevoked revokes t:0@2", false},
		{"nothing wanted or had", stable, 5, "", "", "", "", "-", nil, true, "5<-5 stable", false},
		{"not wanted while it gives up others", unrevoked, 4, "t:0 u:1", "u:0", "t:0", "", "u:0", []string{"t"}, true, "4<-4 unrevoked has t:0@2 revokes u:0@2,1@2", false},
		{"a target that is not wanted", stable, 4, "t:0", "", "t:0 u:0", "", "-", []string{"t"}, true, "5<-4 stable has t:0@2", false},
		{"a topic that is gone", stable, 4, "t:0 x:0", "", "t:0", "", "-", []string{"t", "x"}, false, "4<-4 unrevoked has t:0@2 revokes x:0@2", false},
		{"an unknown state", unknown, 4, "t:0", "", "t:0", "", "-", []string{"t"}, false, "", true},
		{"an unknown state, with partitions", unknown, 4, "t:0", "", "t:0", "", "t:0", []string{"t"}, false, "", true},
		{"an unknown state, without", unknown, 4, "t:0", "", "t:0", "", "", []string{"t"}, false, "5<-4 stable has t:0@2", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g := newConsumerGroup("g")
			m := &consumerMember{
				id: "m", epoch: tt.epoch, previous: tt.epoch - 1, state: tt.state, topics: tt.topics,
				assigned: owned(of(tt.has), 2), revoking: owned(of(tt.revokes), 2),
			}
			g.setMember(nil, m)
			g.setMember(nil, &consumerMember{id: "other", assigned: owned(of(tt.others), 3)})
			r := reconciliation{g: g, image: im, member: m, epoch: 5, target: of(tt.target), owned: claimOf(tt.owned), subscriptionChanged: tt.changed}
			next, err := r.next()
			if (err != nil) != tt.wantRefuse {
				t.Fatalf("refused: %v", err)
			}
			if err != nil {
				return
			}
			if got := currentText(next.current()); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

// Most votes win, and of several assignors with as many the one that the broker has
// first. One that the broker has not may win, and another one is used.
func TestPreferred(t *testing.T) {
	on := []string{"uniform", "range"}
	for _, tt := range []struct {
		votes      map[string]int
		name, used string
	}{
		{nil, "uniform", "uniform"},
		{map[string]int{"range": 1}, "range", "range"},
		{map[string]int{"range": 1, "uniform": 1}, "uniform", "uniform"},
		{map[string]int{"range": 2, "uniform": 1}, "range", "range"},
		{map[string]int{"org.example.Mine": 3, "range": 2}, "org.example.Mine", "uniform"},
		{map[string]int{"b": 1, "a": 1}, "a", "uniform"},
	} {
		name := preferred(tt.votes, on)
		if used := assignorNamed(name, on).Name(); name != tt.name || used != tt.used {
			t.Errorf("%v: %s, and %s is used; want %s, %s", tt.votes, name, used, tt.name, tt.used)
		}
	}
	if name := assignorNamed("x", []string{"range", "uniform"}).Name(); name != "range" {
		t.Errorf("%s is used where range is first", name)
	}
	if name := assignorNamed("x", []string{"y"}).Name(); name != "uniform" {
		t.Errorf("%s is used where none of ours is on", name)
	}
}

// The racks of replicas are part of the hash of a topic, and of nothing else.
func TestRacks(t *testing.T) {
	hash := func(racks ...*string) int64 {
		b := image.NewBuilder(image.Empty())
		records := []any{
			&kraftrec.TopicRecord{Name: "t", TopicID: topicID("t")},
			&kraftrec.PartitionRecord{TopicID: topicID("t"), Replicas: []int32{1, 2, 9}, ISR: []int32{1}, Leader: 1},
		}
		for i, rack := range racks {
			records = append(records, &kraftrec.RegisterBrokerRecord{BrokerID: int32(i + 1), Rack: rack})
		}
		for _, r := range records {
			if err := b.Replay(r); err != nil {
				t.Fatal(err)
			}
		}
		im, _ := b.Publish()
		m := &machine{image: im, topics: newTopicWatch()}
		topics := subscriptions{"t": {members: 1}, "unknown": {members: 1}}
		first := m.metadataHash(topics)
		if again := m.metadataHash(topics); again != first || len(m.topics.hashes) != 1 {
			t.Errorf("%d, then %d; hashes of %v are kept", first, again, m.topics.hashes)
		}
		return first
	}
	none, a, both, turned := hash(nil, nil), hash(new("a"), nil), hash(new("a"), new("b")), hash(new("b"), new("a"))
	if none == a || a == both || none == both {
		t.Errorf("racks do not count: %d %d %d", none, a, both)
	}
	if both != turned {
		t.Error("the order of racks counts")
	}
}
