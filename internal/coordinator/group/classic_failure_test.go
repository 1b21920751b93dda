package group

import (
	"errors"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"kf/internal/coordinator/shard"
	"kf/internal/storage"
)

// What an append fails with, and what the members are told.
var appendErrors = []struct {
	err  error
	code *kerr.Error
}{
	{storage.ErrOffline, kerr.NotCoordinator},
	{storage.ErrTooLarge, kerr.UnknownServerError},
	{shard.ErrResigned, kerr.NotCoordinator},
	{errors.New("disk full"), kerr.UnknownServerError},
}

// An assignment that cannot be written is nobody's: the members join again.
func TestClassicAssignmentFails(t *testing.T) {
	for _, tt := range appendErrors {
		synctest.Test(t, func(t *testing.T) {
			b := newClassicBench(t)
			m1 := b.stable(joinRequest("", "range"))
			m2, joined := b.enter(joinRequest("", "range"))
			rejoined := b.join(joinRequest(m1, "range"))
			joined.get()
			rejoined.get()
			follower := b.sync(syncRequest(m2, 2))
			b.log.fail(tt.err)
			want(t, "sync of the leader", b.sync(syncRequest(m1, 2, m1+"=x", m2+"=y")).get().ErrorCode, tt.code)
			if r := follower.get(); r.ErrorCode != tt.code.Code || len(r.MemberAssignment) > 0 {
				t.Errorf("sync: %+v", r)
			}
			if r := b.describe(); r.State != "PreparingRebalance" || len(r.Members[0].MemberAssignment) > 0 {
				t.Errorf("%+v", r)
			}
			want(t, "heartbeat", b.beat(m1, 2), kerr.RebalanceInProgress)
			b.log.fail(nil)
			rejoined = b.join(joinRequest(m1, "range"))
			r := b.join(joinRequest(m2, "range")).get()
			joinedAs(t, rejoined.get(), 3, m1, m1, m2)
			follower = b.sync(syncRequest(m2, r.Generation))
			want(t, "sync", b.sync(syncRequest(m1, 3, m1+"=x", m2+"=y")).get().ErrorCode, nil)
			if r := follower.get(); string(r.MemberAssignment) != "y" {
				t.Errorf("sync: %+v", r)
			}
		})
	}
}

// An assignment that is not committed in time is in the log, and nobody's all the
// same. One that a rebalance overtakes is passed over.
func TestClassicAssignmentLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newClassicBench(t)
		m1, joined := b.enter(joinRequest("", "range"))
		joined.get()
		b.hold()
		synced := b.sync(syncRequest(m1, 1, m1+"=x"))
		time.Sleep(4999 * time.Millisecond)
		synced.waits()
		want(t, "commit meanwhile", b.commit(m1, nil, 1), kerr.RebalanceInProgress)
		time.Sleep(2 * time.Millisecond)
		want(t, "sync", synced.get().ErrorCode, kerr.CoordinatorNotAvailable)
		joinedAs(t, b.join(joinRequest(m1, "range")).get(), 2, m1, m1)

		synced = b.sync(syncRequest(m1, 2, m1+"=y"))
		joinedAs(t, b.join(joinRequest(m1, "range")).get(), 2, m1, m1) // it asks again, nothing changed
		again := b.sync(syncRequest(m1, 2, m1+"=z"))
		want(t, "superseded", synced.get().ErrorCode, kerr.RebalanceInProgress)
		b.release()
		if r := again.get(); string(r.MemberAssignment) != "y" { // the one that was written first
			t.Errorf("sync: %+v", r)
		}
		b.restart()
		if r := b.describe(); string(r.Members[0].MemberAssignment) != "y" {
			t.Errorf("the log has %+v", r)
		}
		b.hold()
		joinedAs(t, b.join(joinRequest(m1, "range")).get(), 3, m1, m1)
		synced = b.sync(syncRequest(m1, 3, m1+"=a"))
		rejoined := b.join(joinRequest(m1, "range=other"))
		want(t, "sync overtaken by a rebalance", synced.get().ErrorCode, kerr.RebalanceInProgress)
		joinedAs(t, rejoined.get(), 4, m1, m1)
		b.release()
		if r := b.describe(); r.State != "CompletingRebalance" || len(r.Members[0].MemberAssignment) > 0 {
			t.Errorf("%+v", r)
		}
	})
}

// A new group that cannot be written is not there.
func TestClassicNewGroupFails(t *testing.T) {
	for _, tt := range appendErrors {
		synctest.Test(t, func(t *testing.T) {
			b := newClassicBench(t)
			b.log.fail(tt.err)
			r := b.join(staticRequest("i", "", "range")).get()
			want(t, "join", r.ErrorCode, tt.code)
			if b.group("g") != nil {
				t.Error("the group is there")
			}
			id := b.join(joinRequest("", "range")).get().MemberID
			b.log.fail(nil)
			want(t, "join", b.join(joinRequest(id, "range")).get().ErrorCode, kerr.UnknownMemberID)
			time.Sleep(10 * time.Minute)
			if n := len(b.log.records(t, 0)); n > 0 {
				t.Errorf("%d records of a group that is not there", n)
			}
			b.stable(staticRequest("i", "", "range"))
		})
	}
	synctest.Test(t, func(t *testing.T) { // it is in the log, but not committed in time
		b := newClassicBench(t)
		b.config.ClassicInitialDelay = 20000
		b.hold()
		joined := b.join(staticRequest("i", "", "range"))
		time.Sleep(5001 * time.Millisecond)
		want(t, "join", joined.get().ErrorCode, kerr.CoordinatorNotAvailable)
		if b.group("g") == nil {
			t.Error("the group is gone")
		}
		b.release()
		again := b.join(staticRequest("i", "", "range"))
		time.Sleep(20 * time.Second)
		r := again.get()
		joinedAs(t, r, 1, r.MemberID, r.MemberID)
	})
}

// A static member whose new id cannot be written has the old one.
func TestClassicTakeOverFails(t *testing.T) {
	for _, tt := range appendErrors {
		synctest.Test(t, func(t *testing.T) {
			b := newClassicBench(t)
			old := b.stable(staticRequest("i", "", "range=a"))
			before := b.describe()
			b.log.fail(tt.err)
			q := staticRequest("i", "", "range=b", "sticky")
			q.SessionTimeoutMillis = 9000
			r := b.join(q).get()
			if r.ErrorCode != tt.code.Code || r.MemberID != "" || r.Generation != 1 || r.LeaderID != old || len(r.Members) > 0 {
				t.Errorf("join: %+v", r)
			}
			if after := b.describe(); !reflect.DeepEqual(before, after) {
				t.Errorf("after the failure: %+v, want %+v", after, before)
			}
			time.Sleep(5999 * time.Millisecond)
			want(t, "heartbeat", b.beat(old, 1), nil)
			b.log.fail(nil)
			r = b.join(staticRequest("i", "", "range=b")).get()
			joinedAs(t, r, 1, r.MemberID, r.MemberID)
		})
	}
}

// What happens to a static member while its new id is being committed: nothing,
// another instance takes over, a rebalance begins.
func TestClassicTakeOverLate(t *testing.T) {
	run := func(meanwhile func(b classicBench, joined answer[*kmsg.JoinGroupResponse])) {
		synctest.Test(t, func(t *testing.T) {
			b := newClassicBench(t)
			b.stable(staticRequest("i", "", "range=a"))
			b.hold()
			joined := b.join(staticRequest("i", "", "range=b"))
			joined.waits()
			meanwhile(b, joined)
		})
	}
	run(func(b classicBench, joined answer[*kmsg.JoinGroupResponse]) {
		b.release()
		r := joined.get()
		joinedAs(t, r, 1, r.MemberID, r.MemberID)
	})
	run(func(b classicBench, joined answer[*kmsg.JoinGroupResponse]) {
		time.Sleep(5001 * time.Millisecond)
		want(t, "late", joined.get().ErrorCode, kerr.CoordinatorNotAvailable)
		if r := b.describe(); string(r.Members[0].ProtocolMetadata) != "a" {
			t.Errorf("%+v", r)
		}
	})
	run(func(b classicBench, joined answer[*kmsg.JoinGroupResponse]) {
		next := b.join(staticRequest("i", "", "range=c"))
		want(t, "another instance took over", joined.get().ErrorCode, kerr.FencedInstanceID)
		b.release()
		r := next.get()
		joinedAs(t, r, 1, r.MemberID, r.MemberID)
	})
	run(func(b classicBench, joined answer[*kmsg.JoinGroupResponse]) {
		next := b.join(staticRequest("i", "", "range=c"))
		joined.get()
		time.Sleep(5001 * time.Millisecond)
		want(t, "late", next.get().ErrorCode, kerr.CoordinatorNotAvailable)
		if r := b.describe(); len(r.Members) != 1 || r.State != "Stable" || string(r.Members[0].ProtocolMetadata) == "c" {
			t.Errorf("%+v", r)
		}
	})
	run(func(b classicBench, joined answer[*kmsg.JoinGroupResponse]) {
		pending := b.join(joinRequest("", "range")).get().MemberID // keeps the join phase open
		other := b.join(staticRequest("j", "", "range"))
		b.release()
		joined.waits()
		b.leave(pending)
		r := joined.get()
		joinedAs(b.t, other.get(), 2, r.MemberID)
		if r.Generation != 2 || len(r.Members) != 2 || r.SkipAssignment {
			b.t.Errorf("%+v", r)
		}
	})
	run(func(b classicBench, joined answer[*kmsg.JoinGroupResponse]) {
		other := b.join(staticRequest("j", "", "range")) // a rebalance, for which the first has joined
		r := joined.get()
		if r.Generation != 2 || len(r.Members) != 2 || r.SkipAssignment {
			t.Errorf("%+v", r)
		}
		joinedAs(t, other.get(), 2, r.MemberID)
		b.release()
		if r := b.describe(); r.State != "CompletingRebalance" {
			t.Errorf("%+v", r)
		}
	})
}

// It matters to nobody in the group that its end could not be written; the next
// load finds the members, whose sessions end.
func TestClassicEmptyFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newClassicBench(t)
		id := b.stable(joinRequest("", "range"))
		b.log.fail(storage.ErrOffline)
		want(t, "leave", b.leave(id).ErrorCode, kerr.NotCoordinator)
		if r := b.describe(); r.State != "Empty" || len(r.Members) > 0 {
			t.Errorf("%+v", r)
		}
		b.log.fail(nil)
		b.restart()
		if r := b.describe(); r.State != "Stable" {
			t.Errorf("%+v", r)
		}
		b.log.fail(storage.ErrOffline)
		time.Sleep(6001 * time.Millisecond)
		synctest.Wait()
		if r := b.describe(); r.State != "Empty" {
			t.Errorf("%+v", r)
		}
		b.log.fail(nil)
		time.Sleep(time.Minute)
		if n := len(b.classicValues()); n != 2 {
			t.Errorf("%d records: the end of a session is not tried again", n)
		}
	})
}
