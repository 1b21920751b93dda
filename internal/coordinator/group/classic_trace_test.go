package group

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// The tests of this file are what clients and a running Kafka 4.4.0 said to each
// other, with its times.

// A clock sleeps until a number of milliseconds since it was made.
type clock struct {
	t     *testing.T
	began time.Time
}

func newClock(t *testing.T) clock { return clock{t, time.Now()} }

func (c clock) until(ms int) {
	time.Sleep(time.Until(c.began.Add(time.Duration(ms) * time.Millisecond)))
}

// came fails if an answer did not come when it should have.
func came[R any](c clock, what string, a answer[R], ms int) R {
	c.t.Helper()
	r := a.get()
	if got := a.at.Sub(c.began).Milliseconds(); got != int64(ms) {
		c.t.Errorf("%s: the answer came after %d ms, want %d", what, got, ms)
	}
	return r
}

// Two Java consumers with the range assignor.
func TestTraceRange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newClassicBench(t)
		c := newClock(t)
		java := func() *kmsg.JoinGroupRequest {
			q := joinRequest("", "range=topics", "cooperative-sticky=topics")
			q.SessionTimeoutMillis, q.RebalanceTimeoutMillis = 45000, 300000
			return q
		}
		q1 := java()
		m1, joined := b.enter(q1)
		joinedAs(t, came(c, "m1 joins", joined, 0), 1, m1, m1)
		c.until(16)
		if r := b.sync(syncRequest(m1, 1, m1+"=0,1,2")).get(); string(r.MemberAssignment) != "0,1,2" {
			t.Errorf("m1 syncs: %+v", r)
		}
		c.until(190)
		m2, joined2 := b.enter(java())
		joined2.waits()
		c.until(3015)
		want(t, "heartbeat of m1", b.beat(m1, 1), kerr.RebalanceInProgress)
		c.until(3129)
		r1 := came(c, "m1 joins again", b.join(q1), 3129)
		joinedAs(t, came(c, "m2 joins", joined2, 3129), 2, m1)
		joinedAs(t, r1, 2, m1, m1, m2)
		if *r1.Protocol != "range" || *r1.ProtocolType != "consumer" {
			t.Errorf("protocol %s of type %s", *r1.Protocol, *r1.ProtocolType)
		}
		c.until(3136)
		if r := came(c, "m1 syncs", b.sync(syncRequest(m1, 2, m1+"=0,1", m2+"=2")), 3136); string(r.MemberAssignment) != "0,1" {
			t.Errorf("m1 syncs: %+v", r)
		}
		c.until(3214)
		if r := came(c, "m2 syncs", b.sync(syncRequest(m2, 2)), 3214); string(r.MemberAssignment) != "2" {
			t.Errorf("m2 syncs: %+v", r)
		}
		c.until(3320)
		want(t, "m2 leaves", b.leave(m2).Members[0].ErrorCode, nil)
		c.until(3751)
		want(t, "m1 leaves", b.leave(m1).Members[0].ErrorCode, nil)
		if r := b.describe(); r.State != "Empty" || r.ProtocolType != "consumer" || len(r.Members) > 0 {
			t.Errorf("%+v", r)
		}
	})
}

// Two Java consumers with the cooperative assignor: the second rebalance gives the
// partitions that the first took away.
func TestTraceCooperative(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newClassicBench(t)
		c := newClock(t)
		sync := func(member string, generation int32, assignments ...string) answer[*kmsg.SyncGroupResponse] {
			q := syncRequest(member, generation, assignments...)
			q.Protocol = new("cooperative-sticky")
			return b.sync(q)
		}
		q1, q2 := joinRequest("", "cooperative-sticky=owns nothing"), joinRequest("", "cooperative-sticky=owns nothing")
		for _, q := range []*kmsg.JoinGroupRequest{q1, q2} {
			q.SessionTimeoutMillis, q.RebalanceTimeoutMillis = 45000, 300000
		}
		m1, joined1 := b.enter(q1)
		joinedAs(t, joined1.get(), 1, m1, m1)
		c.until(102)
		want(t, "m1 syncs", sync(m1, 1, m1+"=0,1,2").get().ErrorCode, nil)
		c.until(177)
		m2, joined2 := b.enter(q2)
		joined2.waits()
		c.until(3040)
		want(t, "heartbeat of m1", b.beat(m1, 1), kerr.RebalanceInProgress)
		want(t, "it goes on committing", b.commit(m1, nil, 1), nil)
		c.until(3058)
		q1.Protocols[0].Metadata = []byte("owns 0,1,2")
		joined1 = b.join(q1)
		joinedAs(t, came(c, "m1 joins again", joined1, 3058), 2, m1, m1, m2)
		joinedAs(t, came(c, "m2 joins", joined2, 3058), 2, m1)
		c.until(3069)
		synced2 := sync(m2, 2)
		synced2.waits()
		c.until(3070)
		if r := came(c, "m1 syncs", sync(m1, 2, m1+"=0,1", m2+"="), 3070); string(r.MemberAssignment) != "0,1" {
			t.Errorf("m1 syncs: %+v", r)
		}
		if r := came(c, "m2 syncs", synced2, 3070); r.ErrorCode != 0 || len(r.MemberAssignment) > 0 {
			t.Errorf("m2 syncs: %+v", r)
		}
		c.until(6060)
		q1.Protocols[0].Metadata = []byte("owns 0,1")
		joined1 = b.join(q1) // the leader gave something up
		joined1.waits()
		c.until(6066)
		want(t, "heartbeat of m2", b.beat(m2, 2), kerr.RebalanceInProgress)
		c.until(6069)
		joined2 = b.join(q2)
		joinedAs(t, came(c, "m2 joins again", joined2, 6069), 3, m1)
		joinedAs(t, came(c, "m1 joins again", joined1, 6069), 3, m1, m1, m2)
		c.until(6074)
		synced2 = sync(m2, 3)
		want(t, "m1 syncs", sync(m1, 3, m1+"=0,1", m2+"=2").get().ErrorCode, nil)
		if r := came(c, "m2 syncs", synced2, 6074); string(r.MemberAssignment) != "2" {
			t.Errorf("m2 syncs: %+v", r)
		}
		c.until(6738)
		want(t, "m2 leaves", b.leave(m2).Members[0].ErrorCode, nil)
		c.until(7167)
		want(t, "m1 leaves", b.leave(m1).Members[0].ErrorCode, nil)
	})
}

// A static member comes back with another subscription, and keeps its assignment:
// an old client is not told that it leads, a newer one that it need not assign.
func TestTraceStatic(t *testing.T) {
	for _, version := range []int16{8, 9} {
		synctest.Test(t, func(t *testing.T) {
			b := newClassicBench(t)
			old := b.stable(staticRequest("i1", "", "range=topic a"))
			q := staticRequest("i1", "", "range=topic b")
			q.Version, q.SessionTimeoutMillis, q.RebalanceTimeoutMillis = version, 10000, 60000
			r := b.join(q).get()
			m1 := r.MemberID
			if version == 8 {
				joinedAs(t, r, 1, old)
			} else {
				joinedAs(t, r, 1, m1, m1)
			}
			if r.SkipAssignment != (version == 9) || *r.Protocol != "range" {
				t.Errorf("version %d: %+v", version, r)
			}
			if r := b.sync(syncRequest(m1, 1)).get(); string(r.MemberAssignment) != "all" {
				t.Errorf("version %d: %+v", version, r)
			}
			time.Sleep(5999 * time.Millisecond) // the first session is the old one
			want(t, "heartbeat", b.beat(m1, 1), nil)
			time.Sleep(9999 * time.Millisecond)
			want(t, "heartbeat within the new session", b.beat(m1, 1), nil)
			if r := b.describe(); string(r.Members[0].ProtocolMetadata) != "topic b" || r.State != "Stable" {
				t.Errorf("version %d: %+v", version, r)
			}
			time.Sleep(10001 * time.Millisecond)
			want(t, "heartbeat after it", b.beat(m1, 1), kerr.UnknownMemberID)
		})
	}
}

// One member does not join again although it heartbeats, one stops heartbeating,
// one never syncs: the rebalance timeout ends all of that.
func TestTraceSilentMembers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newClassicBench(t)
		c := newClock(t)
		c.until(7)
		m1, joined := b.enter(joinRequest("", "range"))
		joinedAs(t, joined.get(), 1, m1, m1)
		c.until(8)
		want(t, "m1 syncs", b.sync(syncRequest(m1, 1, m1+"=0")).get().ErrorCode, nil)
		c.until(9)
		m2, joined2 := b.enter(joinRequest("", "range"))
		for _, ms := range []int{511, 1018, 1520, 2022, 2525} {
			c.until(ms)
			want(t, "heartbeat of m1", b.beat(m1, 1), kerr.RebalanceInProgress)
		}
		c.until(3012)
		joinedAs(t, came(c, "m2 joins", joined2, 3009), 2, m2, m2)
		want(t, "heartbeat of m1", b.beat(m1, 1), kerr.UnknownMemberID)
		c.until(3013)
		want(t, "m2 syncs", b.sync(syncRequest(m2, 2, m2+"=0")).get().ErrorCode, nil)
		c.until(4015) // m2 does not heartbeat
		m3, joined3 := b.enter(joinRequest("", "range"))
		c.until(7017)
		joinedAs(t, came(c, "m3 joins", joined3, 7015), 3, m3, m3)
		c.until(10014)
		if r := b.describe(); r.State != "CompletingRebalance" {
			t.Errorf("state %s", r.State)
		}
		c.until(10015)
		synctest.Wait()
		want(t, "heartbeat of m3, which did not sync", b.beat(m3, 3), kerr.UnknownMemberID)
		if r := b.describe(); r.State != "Empty" || len(r.Members) > 0 {
			t.Errorf("%+v", r)
		}
	})
}

// The first rebalance waits group.initial.rebalance.delay.ms, and as long again
// while others come, at most for the rebalance timeout.
func TestTraceInitialDelay(t *testing.T) {
	for _, tt := range []struct {
		name     string
		timeouts int32 // rebalance timeout
		others   []int // when they join, in ms
		end      int
	}{
		{"alone", 10000, nil, 3000},
		{"the second comes early", 10000, []int{1500}, 6000},
		{"one for each delay", 10000, []int{1500, 4500}, 9000},
		{"until the rebalance timeout", 10000, []int{1500, 4500, 7500, 9500}, 10000},
		{"a short rebalance timeout", 5000, []int{1500, 4500}, 5000},
		{"one below the delay", 1000, []int{1500}, 3000},
	} {
		synctest.Test(t, func(t *testing.T) {
			b := newClassicBench(t)
			b.config.ClassicInitialDelay = 3000
			c := newClock(t)
			enter := func() answer[*kmsg.JoinGroupResponse] {
				q := joinRequest("", "range")
				q.RebalanceTimeoutMillis = tt.timeouts
				_, joined := b.enter(q)
				return joined
			}
			all := []answer[*kmsg.JoinGroupResponse]{enter()}
			for _, ms := range tt.others {
				c.until(ms)
				all = append(all, enter())
			}
			c.until(20000)
			for i, joined := range all {
				r := came(c, tt.name, joined, tt.end)
				if r.Generation != 1 || len(r.Members) != map[bool]int{true: len(all)}[i == 0] {
					t.Errorf("%s: member %d: generation %d, %d members", tt.name, i, r.Generation, len(r.Members))
				}
			}
		})
	}
}
