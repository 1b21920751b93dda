package group

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// two joins and syncs a group of two members, the first of which leads. Requests
// without an instance id get one that Kafka gives.
func (b classicBench) two(q1, q2 *kmsg.JoinGroupRequest) (m1, m2 string) {
	b.t.Helper()
	m1 = b.stable(q1)
	var joined answer[*kmsg.JoinGroupResponse]
	if q2.InstanceID == nil {
		_, joined = b.enter(q2)
	} else {
		joined = b.join(q2)
	}
	q1.MemberID = m1
	rejoined := b.join(q1)
	r := joined.get()
	m2 = r.MemberID
	joinedAs(b.t, rejoined.get(), 2, m1, m1, m2)
	synced := b.sync(syncRequest(m2, 2))
	want(b.t, "sync", b.sync(syncRequest(m1, 2, m1+"=x", m2+"=y")).get().ErrorCode, nil)
	want(b.t, "sync", synced.get().ErrorCode, nil)
	return m1, m2
}

// beats sends heartbeats of a member each second for some seconds, which are
// answered with code.
func (b classicBench) beats(seconds int, member string, generation int32, e *kerr.Error) {
	b.t.Helper()
	for range seconds {
		time.Sleep(time.Second)
		want(b.t, "heartbeat", b.beat(member, generation), e)
	}
}

// A member that vanishes between join and sync has had its share until the rebalance
// timeout; then another one has it. Each rebalance is one generation.
func TestVanishedBeforeSync(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newClassicBench(t)
		q := joinRequest("", "range")
		a := b.stable(q)
		_, joined := b.enter(joinRequest("", "range"))
		want(t, "heartbeat", b.beat(a, 1), kerr.RebalanceInProgress)
		q.MemberID = a
		rejoined := b.join(q)
		vanished := joined.get().MemberID
		joinedAs(t, rejoined.get(), 2, a, a, vanished)
		if r := b.sync(syncRequest(a, 2, a+"=half", vanished+"=half")).get(); string(r.MemberAssignment) != "half" {
			t.Errorf("%+v", r)
		}
		b.beats(2, a, 2, nil)
		time.Sleep(1001 * time.Millisecond)
		want(t, "heartbeat", b.beat(a, 2), kerr.RebalanceInProgress)
		joinedAs(t, b.join(q).get(), 3, a, a)
		if r := b.sync(syncRequest(a, 3, a+"=all")).get(); string(r.MemberAssignment) != "all" {
			t.Errorf("%+v", r)
		}
	})
}

// A static member that does not join again stays, until its session ends. If it
// led another one does now.
func TestStaticAbsent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newClassicBench(t)
		q := joinRequest("", "range")
		absent, m2 := b.two(staticRequest("i", "", "range"), q)
		c := newClock(t)
		m3, joined := b.enter(joinRequest("", "range"))
		q.MemberID = m2
		rejoined := b.join(q)
		time.Sleep(3001 * time.Millisecond)
		joinedAs(t, came(c, "m3 joins", joined, 3000), 3, m2)
		joinedAs(t, rejoined.get(), 3, m2, absent, m2, m3)
		want(t, "sync", b.sync(syncRequest(m2, 3)).get().ErrorCode, nil)
		want(t, "sync", b.sync(syncRequest(m3, 3)).get().ErrorCode, nil)
		// It is told of the new generation when it asks, and has the old one.
		want(t, "heartbeat of the absent member", b.beat(absent, 2), kerr.IllegalGeneration)
		time.Sleep(3001 * time.Millisecond) // it did not sync either
		if r := b.describe(); r.State != "PreparingRebalance" || len(r.Members) != 2 {
			t.Errorf("%+v", r)
		}
	})
}

// With nobody but absent static members the join phase goes on.
func TestStaticAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newClassicBench(t)
		q := staticRequest("i", "", "range")
		q.SessionTimeoutMillis = 60000
		m1 := b.stable(q)
		m2, joined := b.enter(joinRequest("", "range"))
		b.leave(m2)
		want(t, "left while it joined", joined.get().ErrorCode, kerr.UnknownMemberID)
		b.beats(20, m1, 1, kerr.RebalanceInProgress)
		q.MemberID = m1
		joinedAs(t, b.join(q).get(), 2, m1, m1)
		want(t, "sync", b.sync(syncRequest(m1, 2)).get().ErrorCode, nil)

		m2, _ = b.enter(joinRequest("", "range"))
		b.leave(m2)
		time.Sleep(61 * time.Second)
		if r := b.describe(); r.State != "Empty" {
			t.Errorf("%+v", r)
		}
	})
}

// Another instance takes the place of a static member while the group rebalances.
func TestStaticTakeOverInRebalance(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newClassicBench(t)
		q1 := joinRequest("", "range")
		m1, old := b.two(q1, staticRequest("i", "", "range"))
		pending := b.join(joinRequest("", "range")).get().MemberID // so that the join phase goes on
		q1.MemberID = m1
		rejoined := b.join(q1)
		first := b.join(staticRequest("i", old, "range"))
		first.waits()
		second := b.join(staticRequest("i", "", "range", "sticky"))
		if r := first.get(); r.ErrorCode != kerr.FencedInstanceID.Code || r.MemberID != old || r.LeaderID != "" {
			t.Errorf("the first instance: %+v", r)
		}
		b.leave(pending)
		r := second.get()
		joinedAs(t, r, 3, m1)
		joinedAs(t, rejoined.get(), 3, m1, m1, r.MemberID)

		synced := b.sync(syncRequest(r.MemberID, 3))
		synced.waits()
		third := b.join(staticRequest("i", "", "range")) // in CompletingRebalance it begins anew
		want(t, "sync of the second instance", synced.get().ErrorCode, kerr.FencedInstanceID)
		third.waits()
		want(t, "heartbeat", b.beat(m1, 3), kerr.RebalanceInProgress)
		rejoined = b.join(q1)
		joinedAs(t, third.get(), 4, m1)
		rejoined.get()
	})
}

// A static member that comes back with other protocols starts a rebalance if the
// group is to have another one.
func TestStaticChangesProtocol(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newClassicBench(t)
		old := b.stable(staticRequest("i", "", "range", "sticky"))
		r := b.join(staticRequest("i", "", "sticky", "range")).get()
		if *r.Protocol != "sticky" || r.SkipAssignment {
			t.Errorf("%+v", r)
		}
		joinedAs(t, r, 2, r.MemberID, r.MemberID)
		want(t, "no common protocol", b.join(staticRequest("i", "", "roundrobin")).get().ErrorCode, kerr.InconsistentGroupProtocol)
		want(t, "heartbeat of the old id", b.beat(old, 2), kerr.UnknownMemberID)
	})
}

// A static member that comes back before it fetched its assignment has as long for
// that as it had; once it did nobody is missing.
func TestStaticTakeOverBeforeSync(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newClassicBench(t)
		q1 := joinRequest("", "range")
		q2 := staticRequest("i", "", "range")
		q2.SessionTimeoutMillis = 60000
		m1, m2 := b.two(q1, q2)
		q1.MemberID, q2.MemberID = m1, m2
		rejoined, rejoined2 := b.join(q1), b.join(q2)
		rejoined.get()
		rejoined2.get()
		want(t, "sync", b.sync(syncRequest(m1, 3, m2+"=z")).get().ErrorCode, nil)
		q2.MemberID = ""
		next := b.join(q2).get().MemberID
		if r := b.sync(syncRequest(next, 3)).get(); r.ErrorCode != 0 || string(r.MemberAssignment) != "z" {
			t.Errorf("%+v", r)
		}
		b.beats(4, m1, 3, nil)

		b.join(q1).waits() // the leader: a rebalance
		time.Sleep(3001 * time.Millisecond)
		want(t, "sync", b.sync(syncRequest(m1, 4)).get().ErrorCode, nil)
		b.join(q2).get()
		b.beats(2, m1, 4, nil)
		time.Sleep(1001 * time.Millisecond)
		want(t, "heartbeat", b.beat(m1, 4), kerr.RebalanceInProgress)
		if r := b.describe(); len(r.Members) != 1 {
			t.Errorf("%+v", r)
		}
	})
}

// An id that was given out keeps a rebalance waiting as long as a session.
func TestPendingMember(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newClassicBench(t)
		q := joinRequest("", "range")
		q.RebalanceTimeoutMillis = 60000
		id := b.stable(q)
		c := newClock(t)
		pending := b.join(joinRequest("", "range")).get().MemberID
		b.beats(3, id, 1, nil)
		q.MemberID = id
		rejoined := b.join(q)
		rejoined.waits()
		c.until(7000)
		joinedAs(t, came(c, "the member that is there", rejoined, 6000), 2, id, id)
		want(t, "join with an id that is too old", b.join(joinRequest(pending, "range")).get().ErrorCode, kerr.UnknownMemberID)
	})
}

// A new member that waits in the join phase is given up after five minutes: it
// sends no heartbeats, so it may be gone. One that was there is not.
func TestNewMemberTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newClassicBench(t)
		q := joinRequest("", "range")
		q.RebalanceTimeoutMillis = 600000
		q1 := *q
		m1, m2 := b.two(&q1, q)
		c := newClock(t)
		_, joined := b.enter(joinRequest("", "range"))
		q.MemberID = m2
		rejoined := b.join(q)
		b.beats(301, m1, 2, kerr.RebalanceInProgress)
		if r := came(c, "the new member", joined, 300000); r.ErrorCode != kerr.UnknownMemberID.Code || r.MemberID != "" {
			t.Errorf("%+v", r)
		}
		rejoined.waits()
		q1.MemberID = m1
		joinedAs(t, b.join(&q1).get(), 3, m1, m1, m2)
		joinedAs(t, rejoined.get(), 3, m1)
	})
}

// A follower that waits for the leader's assignment needs no heartbeats; the join
// phase needs them neither.
func TestWaitingNeedsNoHeartbeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newClassicBench(t)
		q1, q2 := joinRequest("", "range"), joinRequest("", "range")
		q1.RebalanceTimeoutMillis, q2.RebalanceTimeoutMillis = 60000, 60000
		m1, m2 := b.two(q1, q2)
		q1.MemberID, q2.MemberID = m1, m2
		rejoined := b.join(q1)
		b.beats(20, m2, 2, kerr.RebalanceInProgress)
		joinedAs(t, b.join(q2).get(), 3, m1)
		rejoined.get()
		synced := b.sync(syncRequest(m2, 3))
		b.beats(20, m1, 3, nil)
		synced.waits()
		want(t, "sync", b.sync(syncRequest(m1, 3, m2+"=z")).get().ErrorCode, nil)
		if r := synced.get(); string(r.MemberAssignment) != "z" {
			t.Errorf("%+v", r)
		}
	})
}

// SyncGroup while others join is refused, and so is what waits when a rebalance
// begins or when the member is removed.
func TestSyncMeetsRebalance(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newClassicBench(t)
		q1, q2 := joinRequest("", "range"), joinRequest("", "range")
		m1, m2 := b.two(q1, q2)
		q1.MemberID, q2.MemberID = m1, m2
		rejoined := b.join(q1)
		want(t, "sync in the join phase", b.sync(syncRequest(m2, 2)).get().ErrorCode, kerr.RebalanceInProgress)
		b.join(q2).get()
		rejoined.get()
		synced := b.sync(syncRequest(m2, 3))
		b.join(joinRequest(m1, "range=other"))
		want(t, "sync when a rebalance begins", synced.get().ErrorCode, kerr.RebalanceInProgress)
		b.join(q2).get()
		synced = b.sync(syncRequest(m2, 4))
		b.leave(m2)
		want(t, "sync of a member that is removed", synced.get().ErrorCode, kerr.UnknownMemberID)
	})
}

// A commit is as good as a heartbeat, but for a member that has yet to sync.
func TestCommitKeepsSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newClassicBench(t)
		committed := func(member string) {
			b.in(func(m *machine) { m.committedClassic(m.group("g").(*classicGroup), member) })
		}
		q1, q2 := joinRequest("", "range"), joinRequest("", "range")
		q1.RebalanceTimeoutMillis = 30000
		m1, m2 := b.two(q1, q2)
		for range 5 {
			time.Sleep(4 * time.Second)
			committed(m1)
			committed(m2)
			committed("stranger")
		}
		b.enter(joinRequest("", "range"))
		for range 5 {
			time.Sleep(4 * time.Second)
			committed(m1)
			committed(m2)
		}
		want(t, "heartbeat", b.beat(m1, 2), kerr.RebalanceInProgress)
		want(t, "heartbeat", b.beat(m2, 2), kerr.RebalanceInProgress)
	})
}

// A group that is deleted takes its timers along.
func TestClassicForget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newClassicBench(t)
		b.stable(joinRequest("", "range"))
		b.join(joinRequest("", "range")).get()
		_, joined := b.enter(joinRequest("", "range"))
		b.in(func(m *machine) {
			for _, r := range m.group("g").tombstones(nil) {
				m.Replay(r, -1)
			}
		})
		want(t, "join", joined.get().ErrorCode, kerr.RebalanceInProgress)
		before := b.log.next
		time.Sleep(time.Hour)
		synctest.Wait()
		if b.log.next != before || b.group("g") != nil {
			t.Error("something happened to a deleted group")
		}
	})
}

// A rebalance that nobody is left in ends with the timer of its join phase, which
// is due at once.
func TestAllLeaveWhilePending(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newClassicBench(t)
		id := b.stable(joinRequest("", "range"))
		b.join(joinRequest("", "range")).get()
		b.leave(id)
		synctest.Wait()
		if r := b.describe(); r.State != "Empty" {
			t.Errorf("%+v", r)
		}
	})
}

// Heartbeats of 100,000 members.
func BenchmarkHeartbeat(b *testing.B) {
	bench := newClassicBench(b)
	var members []string
	bench.in(func(m *machine) {
		g := newClassicGroup("g")
		m.groups["g"] = g
		g.enter(classicStable)
		g.protocol, g.generation = new("range"), 1
		for i := range 100000 {
			id := "consumer-" + newUUID()
			members = append(members, id)
			g.add(&classicMember{id: id, sessionTimeout: 45000 + int32(i%1000), timer: sessionTimer("g", id)})
		}
		m.loadedClassic(g)
	})
	q := heartbeatRequest("", 1)
	reply := func(r *kmsg.HeartbeatResponse) {
		if r.ErrorCode != 0 {
			b.Fatal(r.ErrorCode)
		}
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		q.MemberID = members[i%len(members)]
		bench.Heartbeat(q, reply)
	}
}
