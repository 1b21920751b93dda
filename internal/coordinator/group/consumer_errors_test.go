package group

import (
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kf/internal/wire"
)

// refused sends a heartbeat and returns "code message" of its answer, "0" if it is
// none. A refusal says nothing else.
func (b *bench) refused(q *kmsg.ConsumerGroupHeartbeatRequest) string {
	b.t.Helper()
	a := b.heartbeat(q)
	if a.ErrorCode == 0 {
		return "0"
	}
	if a.MemberID != nil || a.MemberEpoch != 0 || a.HeartbeatIntervalMillis != 0 || a.Assignment != nil {
		b.t.Errorf("a refusal that says more: %+v", a)
	}
	if a.ErrorMessage == nil {
		return fmt.Sprint(a.ErrorCode)
	}
	return fmt.Sprintf("%d %s", a.ErrorCode, *a.ErrorMessage)
}

// What is refused by a look at the request, as Kafka 4.4.0 refuses it.
func TestCheckHeartbeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, map[string]int32{"t": 3})
		for _, tt := range []struct {
			name   string
			epoch  int32
			change func(q *kmsg.ConsumerGroupHeartbeatRequest)
			want   string
		}{
			{"member id", 0, func(q *kmsg.ConsumerGroupHeartbeatRequest) { q.MemberID = "" }, "42 MemberId can't be empty."},
			{"blank member id", 0, func(q *kmsg.ConsumerGroupHeartbeatRequest) { q.MemberID = " \t\x00" }, "42 MemberId can't be empty."},
			{"member id, v0, epoch 1", 1, func(q *kmsg.ConsumerGroupHeartbeatRequest) { q.Version, q.MemberID = 0, "" }, "42 MemberId can't be empty."},
			{"member id, v0, leave", -1, func(q *kmsg.ConsumerGroupHeartbeatRequest) { q.Version, q.MemberID = 0, "" }, "42 MemberId can't be empty."},
			{"member id, v0, leave for now", -2, func(q *kmsg.ConsumerGroupHeartbeatRequest) { q.Version, q.MemberID = 0, "" }, "42 InstanceId can't be null."},
			{"member id before group id", 0, func(q *kmsg.ConsumerGroupHeartbeatRequest) { q.MemberID, q.Group = "", "" }, "42 MemberId can't be empty."},
			{"group id", 0, func(q *kmsg.ConsumerGroupHeartbeatRequest) { q.Group = "" }, "42 GroupId can't be empty."},
			{"instance id", 0, func(q *kmsg.ConsumerGroupHeartbeatRequest) { q.InstanceID = new(" ") }, "42 InstanceId can't be empty."},
			{"rack id", 0, func(q *kmsg.ConsumerGroupHeartbeatRequest) { q.RackID = new("") }, "42 RackId can't be empty."},
			{"no rebalance timeout", 0, func(q *kmsg.ConsumerGroupHeartbeatRequest) { q.RebalanceTimeoutMillis = -1 }, "42 RebalanceTimeoutMs must be provided in first request."},
			{"owned partitions null", 0, func(q *kmsg.ConsumerGroupHeartbeatRequest) { q.Topics = nil }, "42 TopicPartitions must be empty when (re-)joining."},
			{"owned partitions", 0, func(q *kmsg.ConsumerGroupHeartbeatRequest) { q.Topics = owns("t:0") }, "42 TopicPartitions must be empty when (re-)joining."},
			{"no subscription", 0, func(q *kmsg.ConsumerGroupHeartbeatRequest) { q.SubscribedTopicNames = nil },
				"42 Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining."},
			{"leave for now without instance", -2, nil, "42 InstanceId can't be null."},
			{"epoch -3", -3, nil, "42 MemberEpoch is invalid."},
			{"assignor", 0, func(q *kmsg.ConsumerGroupHeartbeatRequest) { q.ServerAssignor = new("bogus") },
				"112 ServerAssignor bogus is not supported. Supported assignors: uniform, range."},
			{"assignor of a heartbeat", 7, func(q *kmsg.ConsumerGroupHeartbeatRequest) { q.ServerAssignor = new("") },
				"112 ServerAssignor  is not supported. Supported assignors: uniform, range."},
			{"no group", 5, nil, "69 Consumer group g not found."},
			{"leave, no group", -1, nil, "69 Group g not found."},
			{"leave for now, no group", -2, func(q *kmsg.ConsumerGroupHeartbeatRequest) { q.InstanceID = new("i") }, "69 Group g not found."},
			{"regular expression", 0, func(q *kmsg.ConsumerGroupHeartbeatRequest) { q.SubscribedTopicRegex = new("[") },
				"128 SubscribedTopicRegex `[` is not a valid regular expression: missing closing ]."},
		} {
			q := joins("g", "m", "t")
			q.MemberEpoch = tt.epoch
			if tt.change != nil {
				tt.change(q)
			}
			if got := b.refused(q); got != tt.want {
				t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
			}
		}
		if b.group("g") != nil || b.log.next != 0 {
			t.Error("refused requests left something behind")
		}
		b.config.ConsumerProtocol = false
		if got := b.refused(joins("g", "m", "t")); got != "35" {
			t.Errorf("without the protocol: %s, want 35", got)
		}
		b.config.ConsumerProtocol = true

		q := joins("g", "", "t")
		q.Version = 0
		a := b.heartbeat(q)
		if id, err := wire.ParseUUID(*a.MemberID); err != nil || id[6]>>4 != 4 || a.MemberEpoch != 2 || assigned(a.Assignment) != "t:0,1,2" {
			t.Errorf("version 0 without a member id: %+v, %v", a, err)
		}
		b.stop()
		if got := b.refused(joins("g", "m", "t")); got != "16" {
			t.Errorf("of another broker's group: %s, want 16", got)
		}
	})
}

// What the members of a group are refused.
func TestHeartbeatRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, map[string]int32{"t": 3})
		b.heartbeat(joins("g", "m", "t"))
		const again = " The member must abandon all its partitions and rejoin."
		expect := func(name string, q *kmsg.ConsumerGroupHeartbeatRequest, want string) {
			t.Helper()
			if got := b.refused(q); got != want {
				t.Errorf("%s: %s, want %s", name, got, want)
			}
		}
		with := func(q *kmsg.ConsumerGroupHeartbeatRequest, change func(q *kmsg.ConsumerGroupHeartbeatRequest)) *kmsg.ConsumerGroupHeartbeatRequest {
			change(q)
			return q
		}
		instance := func(i string) func(q *kmsg.ConsumerGroupHeartbeatRequest) {
			return func(q *kmsg.ConsumerGroupHeartbeatRequest) { q.InstanceID = &i }
		}
		expect("one epoch above", beats("g", "m", 3), "110 The consumer group member has a greater member epoch (3) than the one known by the group coordinator (2)."+again)
		expect("five epochs above", beats("g", "m", 7), "110 The consumer group member has a greater member epoch (7) than the one known by the group coordinator (2)."+again)
		expect("an epoch below", beats("g", "m", 1), "110 The consumer group member has a smaller member epoch (1) than the one known by the group coordinator (2)."+again)
		expect("unknown member", beats("g", "x", 2), "25 Member x is not a member of group g.")
		expect("unknown member leaves", beats("g", "x", -1), "25 Member x is not a member of group g.")
		expect("unknown instance", with(beats("g", "m", 2), instance("i")), "25 Instance id i is unknown.")
		expect("unknown instance leaves", with(beats("g", "m", -2), instance("i")), "25 Instance id i is unknown.")
		expect("a live member joins again", joins("g", "m", "t"), "0")
		expect("a regular expression of a member", with(beats("g", "m", 2), func(q *kmsg.ConsumerGroupHeartbeatRequest) { q.SubscribedTopicRegex = new("(") }),
			"128 SubscribedTopicRegex `(` is not a valid regular expression: missing closing ).")

		b.heartbeat(with(joins("s", "m1", "t"), instance("i")))
		expect("an instance in use", with(joins("s", "m2", "t"), instance("i")),
			"111 Static member m2 with instance id i cannot join the group because the instance id is owned by m1 member.")
		expect("the same member joins again", with(joins("s", "m1", "t"), instance("i")),
			"111 Static member m1 with instance id i cannot join the group because the instance id is owned by m1 member.")
		expect("leaves for now", with(beats("s", "m1", -2), instance("i")), "0")
		expect("another takes its place", with(joins("s", "m2", "t"), instance("i")), "0")
		expect("the first one goes on", with(beats("s", "m1", 2), instance("i")), "82 Static member m1 with instance id i was fenced by member m2.")
		expect("the first one leaves", with(beats("s", "m1", -1), instance("i")), "82 Static member m1 with instance id i was fenced by member m2.")
		expect("without its instance", beats("s", "m1", 2), "25 Member m1 is not a member of group s.")

		b.config.ConsumerMaxSize = 1
		expect("a full group", joins("g", "n", "t"), "81 The consumer group has reached its maximum capacity of 1 members.")
		expect("a full group without a member id", with(joins("g", "", "t"), func(q *kmsg.ConsumerGroupHeartbeatRequest) { q.Version = 0 }),
			"81 The consumer group has reached its maximum capacity of 1 members.")
		expect("a member of it", joins("g", "m", "t"), "0")
		expect("an instance of it", with(beats("s", "m2", 2), instance("i")), "0")
		b.config.ConsumerMaxSize = 1<<31 - 1

		b.in(func(m *machine) { m.groups["o"] = &otherGroup{} })
		expect("a share group", joins("o", "m", "t"), "69 Group o is not a consumer group.")
		expect("a heartbeat to a share group", beats("o", "m", 1), "69 Group o is not a consumer group.")
		expect("a share group is left", beats("o", "m", -1), "69 Group o is not a consumer group.")
	})
}

// What commits and fetches of members are refused.
func TestCommitOfMembers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, map[string]int32{"t": 3})
		b.heartbeat(joins("g", "m", "t"))
		var g *consumerGroup // that nobody changes while it is asked
		b.consumer("g", func(now *consumerGroup) { g = now })
		commit := func(member string, epoch int32, transactional bool, version int16) string {
			check, err := g.checkCommit(member, nil, epoch, transactional, version)
			if err == nil && check != nil {
				err = check("t", topicID("t"), 1)
			}
			return errorText(err)
		}
		for _, tt := range []struct {
			name, got, want string
		}{
			{"its epoch", commit("m", 2, false, 9), "0"},
			{"an epoch above", commit("m", 3, false, 9), "113 Received member epoch 3 is newer than current member epoch 2."},
			{"an epoch before the partition was assigned", commit("m", 1, false, 9), "113 Received member epoch 1 is older than assignment epoch 2 for partition t-1."},
			{"version 8", commit("m", 2, false, 8), "35 OffsetCommit version 9 or above must be used by members using the consumer group protocol"},
			{"version 8, a transaction", commit("m", 2, true, 4), "0"},
			{"unknown member", commit("x", 2, false, 9), "25 Member x is not a member of group g."},
			{"from outside", commit("", -1, false, 9), "25 Member  is not a member of group g."},
			{"from outside, a transaction", commit("", -1, true, 4), "0"},
			{"fetch, its epoch", errorText(g.checkFetch(new("m"), 2)), "0"},
			{"fetch, wrong epoch", errorText(g.checkFetch(new("m"), 1)), "113 The received member epoch 1 does not match the expected member epoch 2."},
			{"fetch, unknown member", errorText(g.checkFetch(new("x"), 2)), "25 Member x is not a member of group g."},
			{"fetch, no member", errorText(g.checkFetch(nil, -1)), "0"},
			{"fetch, an epoch without member", errorText(g.checkFetch(nil, 2)), "25 Member null is not a member of group g."},
			{"delete", errorText(g.checkDelete()), "68"},
		} {
			if tt.got != tt.want {
				t.Errorf("%s: %s, want %s", tt.name, tt.got, tt.want)
			}
		}
		// In epoch 3 it keeps 0 and 1, and a commit in epoch 2 counts for them only.
		time2 := joins("g", "n", "t")
		b.heartbeat(time2)
		b.sleep(1000)
		b.heartbeat(beats("g", "n", 2))
		b.heartbeat(beats("g", "m", 2))
		q := beats("g", "m", 2)
		q.Topics = owns("t:0,1")
		b.heartbeat(q)
		check, err := g.checkCommit("m", nil, 2, false, 9)
		if err != nil || check == nil {
			t.Fatalf("epoch 2 in epoch 3: %v", err)
		}
		if got := errorText(check("t", topicID("t"), 1)); got != "0" {
			t.Errorf("a partition that it keeps: %s", got)
		}
		if got, want := errorText(check("t", topicID("t"), 2)), "113 Partition t-2 is not assigned or pending revocation for member."; got != want {
			t.Errorf("a partition that it gave up: %s, want %s", got, want)
		}
		b.heartbeat(beats("g", "m", -1))
		b.heartbeat(beats("g", "n", -1))
		if got := commit("", -1, false, 2); got != "0" {
			t.Errorf("from outside, an empty group: %s", got)
		}
		if got := errorText(g.checkDelete()); got != "0" {
			t.Errorf("delete an empty group: %s", got)
		}
	})
}

func errorText(err error) string {
	if err == nil {
		return "0"
	}
	if m := messageOf(err); m != nil {
		return fmt.Sprintf("%d %s", codeOf(err), *m)
	}
	return fmt.Sprint(codeOf(err))
}
