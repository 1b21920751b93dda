package group

import (
	"bytes"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"kf/internal/coordinator/shard"
	"kf/internal/format/grouprec"
	"kf/internal/storage"
)

// subscription returns the metadata of a consumer that subscribes to topics.
func subscription(t testing.TB, topics ...string) string {
	t.Helper()
	p, err := grouprec.AppendSubscription(nil, &grouprec.ConsumerProtocolSubscription{Topics: topics}, 3)
	if err != nil {
		t.Fatal(err)
	}
	return string(p)
}

// classicValues returns the records of group g, nil for a tombstone. They are of
// the version that Kafka 4.4 writes.
func (b classicBench) classicValues() []*grouprec.GroupMetadataValue {
	b.t.Helper()
	var values []*grouprec.GroupMetadataValue
	for _, r := range b.log.records(b.t, 0) {
		if key, ok := r.Key.(*grouprec.GroupMetadataKey); ok && key.Group == "g" {
			v, _ := r.Value.(*grouprec.GroupMetadataValue)
			if v != nil && r.Version != 3 {
				b.t.Errorf("a record of version %d", r.Version)
			}
			values = append(values, v)
		}
	}
	return values
}

func encoded(t testing.TB, v *grouprec.GroupMetadataValue) []byte {
	t.Helper()
	p, err := grouprec.AppendValue(nil, v, 3)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// A group is written when it is made, when an assignment is known, when a static
// member comes back, and when the last member left; nothing else is written.
func TestClassicRecords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newClassicBench(t)
		made := time.Now().UnixMilli()
		topics := subscription(t, "a")
		m1, joined := b.enter(joinRequest("", "range="+topics, "sticky=other"))
		joined.get()
		time.Sleep(time.Second)
		want(t, "sync", b.sync(syncRequest(m1, 1, m1+"=x", "stranger=y")).get().ErrorCode, nil)
		time.Sleep(time.Second)
		m2 := b.join(staticRequest("i", "", "range"))
		time.Sleep(time.Second)
		rejoined := b.join(joinRequest(m1, "range="+topics))
		id2 := m2.get().MemberID
		rejoined.get()
		second := time.Now().UnixMilli()
		time.Sleep(time.Second)
		want(t, "sync", b.sync(syncRequest(m1, 2, id2+"=z")).get().ErrorCode, nil)
		stable := time.Now().UnixMilli()
		time.Sleep(time.Second)
		r := b.join(staticRequest("i", "", "range=new")).get()
		want(t, "static join", r.ErrorCode, nil)
		b.leave(m1)
		b.leave(r.MemberID)
		empty := time.Now().UnixMilli()

		member := func(id string, instance *string, subscription, assignment string) grouprec.GroupMember {
			return grouprec.GroupMember{
				MemberID: id, GroupInstanceID: instance, ClientID: "client", ClientHost: "/127.0.0.1",
				RebalanceTimeout: 3000, SessionTimeout: 6000, Subscription: []byte(subscription), Assignment: []byte(assignment),
			}
		}
		wanted := []*grouprec.GroupMetadataValue{
			{CurrentStateTimestamp: made},
			{
				ProtocolType: "consumer", Generation: 1, Protocol: new("range"), Leader: &m1, CurrentStateTimestamp: made,
				Members: []grouprec.GroupMember{member(m1, nil, topics, "x")},
			}, {
				ProtocolType: "consumer", Generation: 2, Protocol: new("range"), Leader: &m1, CurrentStateTimestamp: second,
				Members: []grouprec.GroupMember{member(m1, nil, topics, ""), member(id2, new("i"), "", "z")},
			}, {
				ProtocolType: "consumer", Generation: 2, Protocol: new("range"), Leader: &m1, CurrentStateTimestamp: stable,
				Members: []grouprec.GroupMember{member(m1, nil, topics, ""), member(r.MemberID, new("i"), "new", "z")},
			}, // m1 left; the other one did not join again, and left as well
			{ProtocolType: "consumer", Generation: 3, CurrentStateTimestamp: empty},
		}
		got := b.classicValues()
		if len(got) != len(wanted) {
			t.Fatalf("%d records, want %d", len(got), len(wanted))
		}
		for i := range wanted {
			if !bytes.Equal(encoded(t, got[i]), encoded(t, wanted[i])) {
				t.Errorf("record %d: %+v, want %+v", i, got[i], wanted[i])
			}
		}
	})
}

// Another broker finds the groups of the log. Members go on in their generation,
// and have a session from the start.
func TestClassicRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newClassicBench(t)
		m1, joined := b.enter(joinRequest("", "range="+subscription(t, "a"), "sticky"))
		joined.get()
		static := b.join(staticRequest("i", "", "range="+subscription(t, "b")))
		rejoined := b.join(joinRequest(m1, "range="+subscription(t, "a"), "sticky"))
		m2 := static.get().MemberID
		rejoined.get()
		synced := b.sync(syncRequest(m2, 2))
		b.sync(syncRequest(m1, 2, m1+"=x", m2+"=y")).get()
		synced.get()
		time.Sleep(5 * time.Second)
		before := b.describe()
		b.restart()
		if after := b.describe(); !reflect.DeepEqual(before, after) {
			t.Errorf("after a restart: %+v, want %+v", after, before)
		}
		if g := b.group("g"); !g.subscribed("a") || !g.subscribed("b") || g.subscribed("c") {
			t.Error("the subscriptions are lost")
		}
		time.Sleep(5999 * time.Millisecond)
		want(t, "heartbeat", b.beat(m1, 2), nil)
		q := heartbeatRequest(m2, 2)
		q.InstanceID = new("i")
		want(t, "heartbeat of the static member", b.heartbeat(q), nil)
		if r := b.sync(syncRequest(m2, 2)).get(); string(r.MemberAssignment) != "y" {
			t.Errorf("sync after a restart: %+v", r)
		}
		joinedAs(t, b.join(staticRequest("i", m2, "range="+subscription(t, "b"))).get(), 2, m1)

		// What the records do not have is gone: ids that were given out, a
		// rebalance that was under way.
		pending := b.join(joinRequest("", "range")).get().MemberID
		b.restart()
		want(t, "join with an id given before", b.join(joinRequest(pending, "range")).get().ErrorCode, kerr.UnknownMemberID)
		time.Sleep(6001 * time.Millisecond)
		synctest.Wait()
		want(t, "heartbeat after the session", b.beat(m1, 2), kerr.UnknownMemberID)
	})
}

// A group that was larger than groups may be now rebalances after the load, and
// the members have their rebalance timeout to commit.
func TestClassicTooLargeAfterLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newClassicBench(t)
		m1, joined := b.enter(joinRequest("", "range"))
		joined.get()
		m2, joined := b.enter(joinRequest("", "range"))
		rejoined := b.join(joinRequest(m1, "range"))
		joined.get()
		rejoined.get()
		b.sync(syncRequest(m1, 2)).get()
		b.config.ClassicMaxSize = 1
		b.restart()
		want(t, "heartbeat", b.beat(m1, 2), kerr.RebalanceInProgress)
		want(t, "commit", b.commit(m1, nil, 2), nil)
		a := b.join(joinRequest(m2, "range"))
		want(t, "join of one too many", b.join(joinRequest(m1, "range")).get().ErrorCode, kerr.GroupMaxSizeReached)
		time.Sleep(3001 * time.Millisecond)
		joinedAs(t, a.get(), 3, m2, m2)
	})
}

// Who waits is told when this broker is no longer the coordinator.
func TestClassicUnloaded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newClassicBench(t)
		m1 := b.stable(joinRequest("", "range"))
		m2, joined := b.enter(joinRequest("", "range"))
		b.stop()
		if r := joined.get(); r.ErrorCode != kerr.NotCoordinator.Code || r.MemberID != m2 {
			t.Errorf("join: %+v", r)
		}
		want(t, "heartbeat", b.beat(m1, 1), kerr.NotCoordinator)
		want(t, "join", b.join(joinRequest(m1, "range")).get().ErrorCode, kerr.NotCoordinator)

		b.start()
		_, joined = b.enter(joinRequest("", "range"))
		rejoined := b.join(joinRequest(m1, "range"))
		m2 = joined.get().MemberID
		rejoined.get()
		synced := b.sync(syncRequest(m2, 2))
		b.hold() // the leader's assignment is not committed
		leader := b.sync(syncRequest(m1, 2))
		b.stop()
		want(t, "sync", synced.get().ErrorCode, kerr.NotCoordinator)
		want(t, "sync of the leader", leader.get().ErrorCode, kerr.NotCoordinator)
	})
}

// Requests while the groups are loading: heartbeats are fine.
func TestClassicLoading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newClassicBench(t)
		b.log.mu.Lock() // holds the load up
		b.Lead(0, 9, b.log)
		q := heartbeatRequest("m", 1)
		heartbeat := ask(t, func(reply func(*kmsg.HeartbeatResponse)) { b.Heartbeat(q, reply) })
		joined := b.join(joinRequest("", "range"))
		synced := b.sync(syncRequest("m", 1))
		b.log.mu.Unlock()
		want(t, "heartbeat", heartbeat.get().ErrorCode, nil)
		want(t, "join", joined.get().ErrorCode, kerr.CoordinatorLoadInProgress)
		want(t, "sync", synced.get().ErrorCode, kerr.CoordinatorLoadInProgress)
	})
}

// Records as another release or a damaged disk may have them: loaded as far as
// they make sense.
func TestReplayOddRecords(t *testing.T) {
	member := func(id string, instance *string) grouprec.GroupMember {
		return grouprec.GroupMember{MemberID: id, GroupInstanceID: instance, SessionTimeout: 6000, RebalanceTimeout: -1, Assignment: []byte(id)}
	}
	for _, tt := range []struct {
		name    string
		value   *grouprec.GroupMetadataValue
		state   string
		leader  string
		members []string
	}{
		{"no members", &grouprec.GroupMetadataValue{CurrentStateTimestamp: -1}, "Empty", "", nil},
		{"no protocol", &grouprec.GroupMetadataValue{ProtocolType: "consumer", Members: []grouprec.GroupMember{member("a", nil)}}, "Stable", "a", []string{"a"}},
		{
			"an unknown leader", &grouprec.GroupMetadataValue{Protocol: new("range"), Leader: new("x"), Members: []grouprec.GroupMember{member("a", nil), member("b", nil)}},
			"Stable", "a", []string{"a", "b"},
		}, {
			"the same member twice", &grouprec.GroupMetadataValue{Protocol: new("range"), Leader: new("b"), Members: []grouprec.GroupMember{member("a", nil), member("b", nil), member("a", new("i"))}},
			"Stable", "b", []string{"b", "a"},
		}, {
			"the same instance twice", &grouprec.GroupMetadataValue{Protocol: new("range"), Leader: new("a"), Members: []grouprec.GroupMember{member("a", new("i")), member("b", new("i"))}},
			"Stable", "b", []string{"b"},
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			b := newClassicBench(t)
			b.in(func(m *machine) {
				m.replayClassic(&grouprec.GroupMetadataKey{Group: "g"}, tt.value)
				m.loadedClassic(m.group("g").(*classicGroup))
			})
			b.in(func(m *machine) {
				g := m.group("g").(*classicGroup)
				var members []string
				for _, m := range g.order {
					members = append(members, m.id)
					if m.rebalanceTimeout != 6000 {
						t.Errorf("%s: rebalance timeout %d", tt.name, m.rebalanceTimeout)
					}
				}
				leader := ""
				if g.leader != nil {
					leader = g.leader.id
				}
				if g.state() != tt.state || leader != tt.leader || !slices.Equal(members, tt.members) {
					t.Errorf("%s: state %s, leader %s, members %v", tt.name, g.state(), leader, members)
				}
			})
			if r := b.describe(); r.State != tt.state {
				t.Errorf("%s: %+v", tt.name, r)
			}
			time.Sleep(20 * time.Second) // all sessions end
			b.in(func(m *machine) {
				g := m.group("g").(*classicGroup)
				if g.state() != "Empty" || len(g.members)+len(g.static)+len(g.support)+g.joining+g.unsynced > 0 || g.leader != nil {
					t.Errorf("%s: %+v", tt.name, g)
				}
			})
		})
	}
}

// What a group subscribes to, and from when on its offsets may expire.
func TestClassicSubscriptions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newClassicBench(t)
		look := func(f func(g *classicGroup)) { b.in(func(m *machine) { f(m.group("g").(*classicGroup)) }) }
		expires := func(what string, since int64, ok bool) {
			t.Helper()
			look(func(g *classicGroup) {
				if s, o := g.expires(); o != ok || ok && s != since {
					t.Errorf("%s: expires %v since %d", what, o, s)
				}
			})
		}
		subscribed := func(what string, topics string) {
			t.Helper()
			look(func(g *classicGroup) {
				var got []string
				for _, topic := range []string{"a", "b", "c", "d"} {
					if g.subscribed(topic) {
						got = append(got, topic)
					}
				}
				if strings.Join(got, "") != topics {
					t.Errorf("%s: subscribed to %v, want %s", what, got, topics)
				}
			})
		}
		b.in(func(m *machine) { _, _ = m.classicGroup("g", true) })
		expires("a group of offsets alone", -1, true)
		look(func(g *classicGroup) {
			if !g.simple() {
				t.Error("a group of offsets alone is not simple")
			}
		})
		subscribed("a group of offsets alone", "")
		b.config.ClassicInitialDelay = 1000
		m1, joined := b.enter(joinRequest("", "range="+subscription(t, "a", "b")))
		expires("before the first rebalance ended", 0, false)
		time.Sleep(time.Second)
		joined.get()
		expires("before the first assignment", 0, false)
		b.sync(syncRequest(m1, 1)).get()
		expires("stable", -1, true)
		subscribed("one member", "ab")

		truncated := subscription(t, "c")
		truncated = truncated[:len(truncated)-5] // owned partitions and what follows
		_, joined = b.enter(joinRequest("", "range="+truncated))
		rejoined := b.join(joinRequest(m1, "range="+subscription(t, "a")))
		m2 := joined.get().MemberID
		rejoined.get()
		subscribed("two members", "ac")
		b.sync(syncRequest(m1, 2)).get()
		b.sync(syncRequest(m2, 2)).get()

		rejoined = b.join(joinRequest(m1, "range=\x00"))
		b.join(joinRequest(m2, "range="+subscription(t, "a"))).get()
		rejoined.get()
		b.sync(syncRequest(m1, 3)).get()
		subscribed("metadata that cannot be read", "abcd")
		expires("metadata that cannot be read", 0, false)
		time.Sleep(time.Second)
		b.leave(m1, m2)
		expires("empty", time.Now().UnixMilli(), true)
		subscribed("empty", "")
		look(func(g *classicGroup) {
			want(t, "delete", codeOf(g.checkDelete()), nil)
			want(t, "fetch", codeOf(g.checkFetch(nil, 7)), nil)
		})
	})
}

// An empty group of another type gives way to a classic one; records and memory
// agree, also if it cannot be written.
func TestClassicReplacesEmpty(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newClassicBench(t)
		restore := func() {
			for _, r := range []shard.Record{
				put(&grouprec.StreamsGroupMetadataKey{GroupID: "g"}, &grouprec.StreamsGroupMetadataValue{Epoch: 3}),
				put(&grouprec.ShareGroupMetadataKey{GroupID: "shared"}, &grouprec.ShareGroupMetadataValue{Epoch: 3}),
			} {
				b.in(func(m *machine) { m.Replay(r, -1) })
			}
		}
		restore()
		q := joinRequest("", "range")
		q.Group = "shared"
		want(t, "join of a share group", b.join(q).get().ErrorCode, kerr.InconsistentGroupProtocol)
		want(t, "join with an id", b.join(joinRequest("m", "range")).get().ErrorCode, kerr.UnknownMemberID)
		if b.group("g").kind() != Streams {
			t.Error("a refused member took the group")
		}
		b.log.fail(storage.ErrOffline)
		want(t, "join that cannot be written", b.join(staticRequest("i", "", "range")).get().ErrorCode, kerr.NotCoordinator)
		if b.group("g").kind() != Streams {
			t.Error("a failed join took the group")
		}
		b.log.fail(nil)
		b.stable(joinRequest("", "range"))
		if b.group("g").kind() != Classic {
			t.Error("the group did not give way")
		}
		var types []int16
		for _, r := range b.log.records(t, 0) {
			if r.Value == nil {
				types = append(types, r.Type)
			}
		}
		if !slices.Equal(types, []int16{20, 17, 23}) {
			t.Errorf("tombstones of types %v", types)
		}
		b.restart()
		if b.group("g").kind() != Classic || b.describe().State != "Stable" {
			t.Error("the restart finds another group")
		}
	})
}

// A classic group that gives way to a group of another type.
func TestReplaceEmptyClassic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newClassicBench(t)
		id := b.stable(joinRequest("", "range"))
		b.in(func(m *machine) {
			if r := m.replaceEmptyClassic("g", nil); r != nil {
				t.Errorf("a group with members gives way: %v", r)
			}
			if r := m.replaceEmptyClassic("none", nil); r != nil {
				t.Errorf("a group that is not there gives way: %v", r)
			}
		})
		b.leave(id)
		b.join(joinRequest("", "range")).get()
		b.in(func(m *machine) {
			r := m.replaceEmptyClassic("g", nil)
			if len(r) != 1 || r[0].Value != nil {
				t.Fatalf("%v", r)
			}
			m.Replay(r[0], -1)
			if m.group("g") != nil {
				t.Error("it is still there")
			}
			_, err := m.classicGroup("g", false)
			want(t, "classic group", codeOf(err), kerr.GroupIDNotFound)
		})
	})
}
