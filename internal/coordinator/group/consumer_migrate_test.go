package group

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"kf/internal/format/grouprec"
)

// subscribing returns the metadata of a classic consumer.
func subscribing(topics ...string) string {
	p, err := grouprec.AppendSubscription(nil, &grouprec.ConsumerProtocolSubscription{Topics: topics, GenerationID: -1}, 1)
	if err != nil {
		panic(err)
	}
	return string(p)
}

// assigning returns the assignment of a classic consumer.
func assigning(topic string, partitions ...int32) string {
	a := grouprec.ConsumerProtocolAssignment{AssignedPartitions: []grouprec.ProtocolPartitions{{Topic: topic, Partitions: partitions}}}
	p, err := grouprec.AppendAssignment(nil, &a, 1)
	if err != nil {
		panic(err)
	}
	return string(p)
}

// consumer lets a classic consumer join group g, which leads it and has t:0,1.
func (b classicBench) consumer(topics ...string) (id string) {
	b.t.Helper()
	id, joined := b.enter(joinRequest("", "range="+subscribing(topics...)))
	r := joined.get()
	want(b.t, "join", r.ErrorCode, nil)
	want(b.t, "sync", b.sync(syncRequest(id, r.Generation, id+"="+assigning("t", 0, 1))).get().ErrorCode, nil)
	return id
}

// Where group.consumer.migration.policy or a limit does not let a group change its
// protocol, it does not.
func TestMigrationPolicies(t *testing.T) {
	const cannot = "69 Cannot upgrade classic group g to consumer group because "
	for _, tt := range []struct {
		name    string
		change  func(c *Config)
		upgrade string // the answer to a consumer that joins a classic group
		enters  int16  // and to a classic consumer that joins a consumer group
		classic bool   // the group becomes classic when its last consumer leaves
	}{
		{"bidirectional", func(*Config) {}, "0", 0, true},
		{"upgrade", func(c *Config) { c.Migration = MigrateUpgrade }, "0", 0, false},
		{"downgrade", func(c *Config) { c.Migration = MigrateDowngrade }, cannot + "online upgrade is disabled.", 0, true},
		{"disabled", func(c *Config) { c.Migration = MigrateNone }, cannot + "online upgrade is disabled.", kerr.InconsistentGroupProtocol.Code, false},
		{"a small consumer group", func(c *Config) { c.ConsumerMaxSize = 0 }, cannot + "the group size exceeds the consumer group maximum size.", 0, true},
		{"a small classic group", func(c *Config) { c.ClassicMaxSize = 0 }, "0", 0, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newClassicBench(t)
				b.addTopic("t", 2)
				b.publish()
				b.consumer("t")
				tt.change(&b.bench.config)
				if got := b.refused(joins("g", "m", "t")); got != tt.upgrade {
					t.Errorf("a consumer joins: %s, want %s", got, tt.upgrade)
				}
			})
			synctest.Test(t, func(t *testing.T) {
				b := newClassicBench(t)
				b.addTopic("t", 2)
				b.publish()
				b.bench.heartbeat(joins("g", "m", "t"))
				limit := b.config.ConsumerMaxSize
				tt.change(&b.bench.config)
				b.config.ConsumerMaxSize = limit
				r := b.join(joinRequest("c", "range="+subscribing("t"))).get()
				if r.ErrorCode != tt.enters {
					t.Fatalf("a classic consumer joins: %d, want %d", r.ErrorCode, tt.enters)
				}
				if tt.enters != 0 {
					return
				}
				b.bench.heartbeat(beats("g", "m", -1))
				if kind := b.group("g").kind(); (kind == Classic) != tt.classic {
					t.Errorf("without consumers it is a %v group", kind)
				}
				b.expectReplay()
			})
		})
	}
}

// A classic group is no consumer group as long as it is not clear what its members
// want, or if what they have would be lost.
func TestUpgradeRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newClassicBench(t)
		b.addTopic("t", 2)
		b.publish()
		b.config.ClassicInitialDelay = 3000
		_, joined := b.enter(joinRequest("", "range="+subscribing("t")))
		if got := b.refused(joins("g", "m", "t")); got != "14" {
			t.Errorf("in the first rebalance: %s, want 14", got)
		}
		joined.waits()
		b.sleep(3000)
		r := joined.get()
		for name, tt := range map[string][2]string{
			"an assignor of its own": {assigning("t", 0) + "\x00\x00\x00\x01x", "an unsupported custom assignor is in use. Please refer to the documentation " +
				"or switch to a default assignor before re-attempting the upgrade."},
			"no assignment": {"\x00", "the embedded consumer protocol is malformed."},
		} {
			assignment := tt[0]
			if strings.HasSuffix(assignment, "x") {
				assignment = strings.Replace(assignment, "\xff\xff\xff\xff", "", 1)
			}
			want(t, "sync", b.sync(syncRequest(r.MemberID, r.Generation, r.MemberID+"="+assignment)).get().ErrorCode, nil)
			if got, want := b.refused(joins("g", "m", "t")), "69 Cannot upgrade classic group g to consumer group because "+tt[1]; got != want {
				t.Errorf("%s: %s, want %s", name, got, want)
			}
			if b.group("g").kind() != Classic {
				t.Errorf("%s: it is a consumer group", name)
			}
			q := joinRequest(r.MemberID, "range="+subscribing("t"))
			r = b.join(q).get() // the leader: a rebalance
		}
		want(t, "sync", b.sync(syncRequest(r.MemberID, r.Generation, r.MemberID+"="+assigning("t", 0))).get().ErrorCode, nil)
		// One that joins with another assignor, while the rebalance waits for another.
		_, waits := b.enter(joinRequest("", "range="+subscribing("t")))
		waits.waits()
		if got := b.refused(joins("g", "m", "t")); got != "0" {
			t.Errorf("in a rebalance: %s, want 0", got)
		}
		if got := waits.get().ErrorCode; got != kerr.RebalanceInProgress.Code {
			t.Errorf("who waited is told %d", got)
		}
		b.expectReplay()
	})
	synctest.Test(t, func(t *testing.T) {
		b := newClassicBench(t)
		b.stable(joinRequest("", "range=\x00"))
		if got, want := b.refused(joins("g", "m", "t")), "69 Cannot upgrade classic group g to consumer group because the embedded consumer protocol is malformed."; got != want {
			t.Errorf("a subscription that cannot be read: %s, want %s", got, want)
		}
		b.bench.heartbeat(joins("h", "m", "t"))
		q := joinRequest("c", "range=\x00")
		q.Group = "h"
		want(t, "such a member of a consumer group", b.join(q).get().ErrorCode, kerr.InconsistentGroupProtocol)
	})
}

// A consumer group that cannot be written as a classic one is a consumer group still,
// with the sessions of its members.
func TestDowngradeNotWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newClassicBench(t)
		b.addTopic("t", 2)
		b.publish()
		b.bench.heartbeat(joins("g", "m", "t"))
		want(t, "join", b.join(joinRequest("c", "range="+subscribing("t"))).get().ErrorCode, nil)
		before := b.consumerText("g")
		b.log.fail(errors.New("disk full"))
		if got := b.refused(beats("g", "m", -1)); got != "-1" {
			t.Errorf("leave: %s", got)
		}
		if after := b.consumerText("g"); after != before {
			t.Errorf("was\n%s\nis\n%s", before, after)
		}
		b.log.fail(nil)
		b.addTopic("other", 1)
		b.grow(b.image.Topic("t"), 3)
		b.publish()
		b.bench.heartbeat(beats("g", "m", 2))
		b.bench.consumer("g", func(g *consumerGroup) {
			if g.epoch != 4 {
				t.Errorf("it did not see that its topic has grown: epoch %d", g.epoch)
			}
		})
		b.wrote()
		b.sleep(45000 + 6000 + 3000) // the consumer is gone, and the group classic, then the other
		if !b.group("g").empty() {
			t.Errorf("nobody was heard of, and it is %s", b.group("g").state())
		}
	})
	synctest.Test(t, func(t *testing.T) { // when the session of the consumer ends
		b := newClassicBench(t)
		b.addTopic("t", 2)
		b.publish()
		q := joinRequest("c", "range="+subscribing("t"))
		q.SessionTimeoutMillis = 100000
		b.bench.heartbeat(joins("g", "m", "t"))
		want(t, "join", b.join(q).get().ErrorCode, nil)
		b.sleep(2900) // it must sync
		want(t, "sync", b.sync(syncRequest("c", 2)).get().ErrorCode, nil)
		b.log.fail(errors.New("disk full"))
		b.sleep(44000)
		b.log.fail(nil)
		if b.group("g").kind() != Consumer {
			t.Fatal("it is classic")
		}
		b.wrote()
		b.sleep(45000)
		if kind := b.group("g").kind(); kind != Classic {
			t.Errorf("it is a %v group", kind)
		}
	})
}

// A record that is in the log is not taken back because it was not committed in
// time.
func TestDowngradeLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newClassicBench(t)
		b.addTopic("t", 2)
		b.publish()
		b.bench.heartbeat(joins("g", "m", "t"))
		q := joinRequest("c", "range="+subscribing("t"))
		q.SessionTimeoutMillis, q.RebalanceTimeoutMillis = 60000, 60000
		want(t, "join", b.join(q).get().ErrorCode, nil)
		b.hold()
		left := ask(t, func(reply func(*kmsg.ConsumerGroupHeartbeatResponse)) {
			b.ConsumerGroupHeartbeat(Client{}, beats("g", "m", -1), reply)
		})
		b.sleep(5000)
		want(t, "leave", left.get().ErrorCode, kerr.CoordinatorNotAvailable)
		b.release()
		if kind := b.group("g").kind(); kind != Classic {
			t.Errorf("it is a %v group", kind)
		}
		if got := b.beat("c", 3); got != kerr.RebalanceInProgress.Code {
			t.Errorf("the member is told %d", got)
		}
		b.expectReplay()
	})
}

// Classic members of a consumer group that do not sync, or do not join again when
// they are told to, are given up.
func TestClassicMembersInTime(t *testing.T) {
	for _, tt := range []struct {
		name string
		do   func(b classicBench)
	}{
		{"it does not sync", func(b classicBench) {
			for range 2 {
				b.sleep(1000)
				b.beat("c", 2)
			}
			b.sleep(999)
		}},
		{"it does not join again", func(b classicBench) {
			want(b.t, "sync", b.sync(syncRequest("c", 2)).get().ErrorCode, nil)
			b.sleep(1000)
			b.bench.heartbeat(beats("g", "m", 2)) // a new target
			for range 3 {
				want(b.t, "heartbeat", b.beat("c", 2), kerr.RebalanceInProgress)
				b.sleep(999)
			}
			b.sleep(2)
		}},
		{"it is not heard of", func(b classicBench) {
			want(b.t, "sync", b.sync(syncRequest("c", 2)).get().ErrorCode, nil)
			b.sleep(5999)
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newClassicBench(t)
				b.addTopic("t", 2)
				b.publish()
				b.bench.heartbeat(joins("g", "m", "t"))
				want(t, "join", b.join(joinRequest("c", "range="+subscribing("t"))).get().ErrorCode, nil)
				tt.do(b)
				if b.size("g") != 2 {
					t.Fatal("it was given up too soon")
				}
				b.sleep(1)
				if b.size("g") != 1 {
					t.Error("it was not given up")
				}
				b.expectReplay()
			})
		})
	}
}

// Members may change between the protocols under one id; what waited for the classic
// one does not end the other.
func TestMemberChangesProtocol(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newClassicBench(t)
		b.addTopic("t", 2)
		b.publish()
		b.bench.heartbeat(joins("g", "m", "t"))
		want(t, "join", b.join(joinRequest("c", "range="+subscribing("t"))).get().ErrorCode, nil)
		if a := b.bench.heartbeat(joins("g", "c", "t")); a.ErrorCode != 0 {
			t.Fatalf("%+v", a)
		}
		b.sleep(3000)
		b.bench.consumer("g", func(g *consumerGroup) {
			if len(g.members) != 2 || g.classic != 0 {
				t.Errorf("%d members, %d of them classic", len(g.members), g.classic)
			}
		})
		want(t, "heartbeat", b.beat("c", 2), kerr.UnknownMemberID)
		want(t, "sync", b.sync(syncRequest("c", 2)).get().ErrorCode, kerr.UnknownMemberID)
		b.expectReplay()
	})
}

// A LeaveGroup takes several members out at once, of either protocol, each once.
func TestLeaveTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newClassicBench(t)
		b.addTopic("t", 3)
		b.publish()
		q := joins("g", "s", "t")
		q.InstanceID = new("i")
		b.bench.heartbeat(joins("g", "m", "t"))
		b.bench.heartbeat(q)
		want(t, "join", b.join(joinRequest("c", "range="+subscribing("t"))).get().ErrorCode, nil)
		b.wrote()
		r := b.leave("c", "c", "x", "/i", "s/i", "m/i", "x/j")
		var codes []int16
		for _, m := range r.Members {
			codes = append(codes, m.ErrorCode)
		}
		if got, want := fmt.Sprint(r.ErrorCode, codes), "0 [0 0 25 0 0 82 25]"; got != want {
			t.Errorf("left: %s, want %s", got, want)
		}
		b.expectWrote(`
			-8 c
			-7 c
			-5 c
			-8 s
			-7 s
			-5 s
			3 epoch=5 topics=true`)
		if r := b.leave("x"); r.Members[0].ErrorCode != kerr.UnknownMemberID.Code {
			t.Errorf("nobody left: %+v", r)
		}
		b.expectWrote("")
		b.leave("m")
		b.expectWrote(`
			-8 m
			-7 m
			-5 m
			3 epoch=6 topics=false
			6 epoch=6 timed=false`)
	})
}

// A member is assigned in the version of the first of its assignors, whatever else
// it says for that one: another one may have made it a member of the group.
func TestClassicAssignmentVersion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newClassicBench(t)
		b.addTopic("t", 2)
		b.publish()
		for _, version := range []byte{0, 1, 3, 9} {
			b.in(func(m *machine) {
				p, err := m.classicAssignment(owned(nil, 1).partitions(), append([]byte{0, version}, "not a subscription"...))
				a, got, undecoded := grouprec.DecodeAssignment(p)
				if err != nil || undecoded != nil || len(a.AssignedPartitions) != 0 || got != min(int16(version), 3) {
					t.Errorf("version %d: %+v in version %d, %v, %v", version, a, got, err, undecoded)
				}
			})
		}
		b.in(func(m *machine) {
			for _, metadata := range []string{"", "\x00"} {
				if p, err := m.classicAssignment(nil, []byte(metadata)); err == nil {
					t.Errorf("%q: %q", metadata, p)
				}
			}
		})
	})
}
