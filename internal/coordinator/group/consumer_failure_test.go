package group

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"kf/internal/storage"
)

// Whatever cannot be written did not happen, and the member is told.
func TestHeartbeatNotWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, map[string]int32{"t": 2, "u": 1})
		b.heartbeat(joins("g", "m", "t"))
		b.wrote()
		before := b.consumerText("g")
		b.log.fail(storage.ErrClosed)
		for name, q := range map[string]*kmsg.ConsumerGroupHeartbeatRequest{
			"a subscription": func() *kmsg.ConsumerGroupHeartbeatRequest {
				q := beats("g", "m", 2)
				q.SubscribedTopicNames = []string{"t", "u"}
				return q
			}(),
			"a join": joins("g", "n", "t"), "a leave": beats("g", "m", -1), "a new group": joins("h", "m", "t"),
		} {
			if got := b.refused(q); got != "16" {
				t.Errorf("%s: %s, want 16", name, got)
			}
		}
		if b.group("h") != nil {
			t.Error("there is a group that was not written")
		}
		if after := b.consumerText("g"); after != before {
			t.Errorf("was\n%s\nis\n%s", before, after)
		}
		b.log.fail(nil)
		// Its topics are looked at again, as the epoch did not rise.
		q := beats("g", "m", 2)
		q.SubscribedTopicNames = []string{"t", "u"}
		b.sleep(1000)
		if a := b.heartbeat(q); a.MemberEpoch != 3 || assigned(a.Assignment) != "t:0,1 u:0" {
			t.Errorf("again: %+v", a)
		}
		b.expectReplay()
	})
}

// A member whose departure cannot be written keeps its session, and one whose
// session ends meanwhile is tried again.
func TestFenceNotWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, map[string]int32{"t": 2})
		b.heartbeat(joins("g", "m", "t"))
		b.log.fail(errors.New("disk full"))
		if got := b.refused(beats("g", "m", -1)); got != "-1" {
			t.Errorf("leave: %s", got)
		}
		b.sleep(44999)
		b.wrote()
		b.sleep(1000)
		if b.wrote(); b.size("g") != 1 {
			t.Error("the member is gone though that was not written")
		}
		b.log.fail(nil)
		b.sleep(500)
		b.expectWrote(`
			-8 m
			-7 m
			-5 m
			3 epoch=3 topics=false
			6 epoch=3 timed=false`)
		b.expectReplay()
	})
}

// Answers wait until what they tell is committed, and those of heartbeats without
// records too.
func TestHeartbeatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, map[string]int32{"t": 2})
		b.hold()
		from := Client{ID: "c", Host: "/127.0.0.1"}
		send := func(q *kmsg.ConsumerGroupHeartbeatRequest) answer[*kmsg.ConsumerGroupHeartbeatResponse] {
			return ask(t, func(reply func(*kmsg.ConsumerGroupHeartbeatResponse)) { b.ConsumerGroupHeartbeat(from, q, reply) })
		}
		join, beat := send(joins("g", "m", "t")), send(beats("g", "m", 2))
		join.waits()
		beat.waits()
		b.release()
		if a := join.get(); a.ErrorCode != 0 || a.MemberEpoch != 2 {
			t.Errorf("join: %+v", a)
		}
		if a := beat.get(); a.ErrorCode != 0 || a.MemberEpoch != 2 {
			t.Errorf("heartbeat: %+v", a)
		}
		b.hold()
		late := send(joins("g", "n", "t"))
		b.sleep(5000)
		if a := late.get(); a.ErrorCode != kerr.CoordinatorNotAvailable.Code || a.MemberID != nil {
			t.Errorf("not committed in time: %+v", a)
		}
		b.release()
		if b.size("g") != 2 { // it is in the log, and joins again at epoch 0
			t.Error("the member is not there")
		}
	})
}

// The coordinator that takes over gives members their sessions, and those that have
// to give up partitions their rebalance timeout.
func TestConsumerSessionsAfterLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, map[string]int32{"t": 2})
		q := joins("g", "m", "t")
		q.RebalanceTimeoutMillis = 10000
		b.heartbeat(q)
		b.heartbeat(joins("g", "n", "t"))
		b.sleep(1000)
		b.heartbeat(beats("g", "m", 2)) // is to give up one
		b.wrote()
		b.restart()
		b.sleep(9999)
		b.expectWrote("")
		b.sleep(1)
		if got := b.wrote(); !strings.HasPrefix(got, "-8 m\n") {
			t.Errorf("after the rebalance timeout: %s", got)
		}
		b.sleep(34999)
		b.expectWrote("")
		b.sleep(1)
		if got := b.wrote(); !strings.HasPrefix(got, "-8 n\n") {
			t.Errorf("after the session timeout: %s", got)
		}
	})
}

// A member that gives up its partitions in time is not fenced by the timer that was
// started for it.
func TestRebalanceTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, map[string]int32{"t": 2})
		q := joins("g", "m", "t")
		q.RebalanceTimeoutMillis = 10000
		b.heartbeat(q)
		b.heartbeat(joins("g", "n", "t"))
		b.sleep(1000)
		if got := assigned(b.heartbeat(beats("g", "m", 2)).Assignment); got != "t:0" && got != "t:1" {
			t.Fatalf("assigned %s", got)
		}
		b.sleep(9999)
		var has ownership
		b.consumer("g", func(g *consumerGroup) { has = g.members["m"].assigned })
		q = beats("g", "m", 2)
		q.Topics = []kmsg.ConsumerGroupHeartbeatRequestTopic{{TopicID: has[0].topic, Partitions: has[0].partitions}}
		if a := b.heartbeat(q); a.MemberEpoch != 3 {
			t.Fatalf("gave up: %+v", a)
		}
		b.sleep(20000)
		if b.size("g") != 2 {
			t.Error("a member was fenced")
		}
	})
}

// A group of which Kafka 4.0 recorded the partitions of its topics loses that record,
// and a member in a state of a later release joins anew.
func TestGroupsOfOtherReleases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, map[string]int32{"t": 2})
		b.heartbeat(joins("g", "m", "t"))
		b.sleep(1000)
		b.in(func(m *machine) {
			g := m.groups["g"].(*consumerGroup)
			g.described = true
			v := g.members["m"].current()
			v.State = 9
			g.setCurrent("m", v)
			g.fresh = freshness{}
		})
		b.wrote()
		const want = "110 The consumer group member is in a unknown state. The member must abandon all its partitions and rejoin."
		if got := b.refused(beats("g", "m", 2)); got != want {
			t.Errorf("%s, want %s", got, want)
		}
		b.in(func(m *machine) { m.groups["g"].(*consumerGroup).fresh = freshness{} })
		q := joins("g", "m", "t")
		if a := b.heartbeat(q); a.MemberEpoch != 2 || assigned(a.Assignment) != "t:0,1" {
			t.Errorf("joins anew: %+v", a)
		}
		b.expectWrote(`
			-4
			8 m 2<-2 stable has t:0@2,1@2`)
	})
}

// keepAlive lets a member be heard of every second.
func (b *bench) keepAlive(group, member string, epoch int32, d time.Duration) {
	for range int(d / time.Second) {
		b.sleep(1000)
		b.heartbeat(beats(group, member, epoch))
	}
}

// Topics are looked at again when they change, and only then.
func TestTopicsLookedAt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, map[string]int32{"t": 1, "other": 1})
		b.heartbeat(joins("g", "m", "t", "later"))
		b.wrote()
		b.grow(b.image.Topic("other"), 2)
		b.publish()
		b.keepAlive("g", "m", 2, 10*time.Second)
		b.expectWrote("")
		b.grow(b.image.Topic("t"), 2)
		b.publish()
		b.heartbeat(beats("g", "m", 2))
		b.expectWrote(`
			3 epoch=3 topics=true
			7 m t:0,1
			6 epoch=3 timed=true
			8 m 3<-2 stable has t:0@2,1@3`)
		b.sleep(1000)
		b.addTopic("later", 1)
		b.publish()
		b.heartbeat(beats("g", "m", 3))
		b.expectWrote(`
			3 epoch=4 topics=true
			7 m later:0 t:0,1
			6 epoch=4 timed=true
			8 m 4<-3 stable has later:0@4 t:0@2,1@3`)
		b.in(func(m *machine) {
			if len(m.topics.hashes) != 2 {
				t.Errorf("hashes of %v", m.topics.hashes)
			}
		})
		b.heartbeat(beats("g", "m", -1))
		b.in(func(m *machine) {
			if len(m.topics.hashes) != 0 || len(m.byTopic) != 0 {
				t.Errorf("hashes of %v and groups of %v without a group", m.topics.hashes, m.byTopic)
			}
		})
	})
}
