package group

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"kf/internal/coordinator/shard"
	"kf/internal/format/grouprec"
)

// streams writes a streams group in epoch 5 that reads t and writes between its
// parts to u. Its member has task 0 of t since epoch 3 and is to give up task 1,
// and has task 2 of u, which the record says no epoch of.
func (b *bench) streams(id string) {
	b.t.Helper()
	b.write(
		put(&grouprec.StreamsGroupMetadataKey{GroupID: id}, &grouprec.StreamsGroupMetadataValue{Epoch: 5, ValidatedTopologyEpoch: 2}),
		put(&grouprec.StreamsGroupTopologyKey{GroupID: id}, &grouprec.StreamsGroupTopologyValue{Epoch: 2, Subtopologies: []grouprec.Subtopology{
			{SubtopologyID: "0", SourceTopics: []string{"t"}, RepartitionSinkTopics: []string{"u"}},
			{SubtopologyID: "1", RepartitionSourceTopics: []grouprec.InternalTopic{{Name: "u"}}},
		}}),
		put(&grouprec.StreamsGroupMemberMetadataKey{GroupID: id, MemberID: "m"}, &grouprec.StreamsGroupMemberMetadataValue{}),
		put(&grouprec.StreamsGroupTargetAssignmentMemberKey{GroupID: id, MemberID: "m"}, &grouprec.StreamsGroupTargetAssignmentMemberValue{}),
		put(&grouprec.StreamsGroupTargetAssignmentMetadataKey{GroupID: id}, &grouprec.StreamsGroupTargetAssignmentMetadataValue{AssignmentEpoch: 5}),
		put(&grouprec.StreamsGroupCurrentMemberAssignmentKey{GroupID: id, MemberID: "m"}, &grouprec.StreamsGroupCurrentMemberAssignmentValue{
			MemberEpoch: 5, State: 1,
			ActiveTasks: []grouprec.AssignedTasks{
				{SubtopologyID: "0", Partitions: []int32{0}, AssignmentEpochs: []int32{3}}, {SubtopologyID: "1", Partitions: []int32{2}},
			},
			ActiveTasksPendingRevocation: []grouprec.AssignedTasks{{SubtopologyID: "0", Partitions: []int32{0, 1}, AssignmentEpochs: []int32{2, 2}}},
		}))
}

// leave removes the member, as Kafka writes it.
func (b *bench) leaveStreams(id string) {
	b.t.Helper()
	b.write(
		tombstone(&grouprec.StreamsGroupCurrentMemberAssignmentKey{GroupID: id, MemberID: "m"}),
		tombstone(&grouprec.StreamsGroupTargetAssignmentMemberKey{GroupID: id, MemberID: "m"}),
		tombstone(&grouprec.StreamsGroupMemberMetadataKey{GroupID: id, MemberID: "m"}),
		put(&grouprec.StreamsGroupMetadataKey{GroupID: id}, &grouprec.StreamsGroupMetadataValue{Epoch: 6, ValidatedTopologyEpoch: 2}))
}

func TestStreamsGroupState(t *testing.T) {
	metadata := func(epoch, validated int32) shard.Record {
		return put(&grouprec.StreamsGroupMetadataKey{GroupID: "g"}, &grouprec.StreamsGroupMetadataValue{Epoch: epoch, ValidatedTopologyEpoch: validated})
	}
	assignment := func(epoch int32, state int8) shard.Record {
		return put(&grouprec.StreamsGroupCurrentMemberAssignmentKey{GroupID: "g", MemberID: "m"},
			&grouprec.StreamsGroupCurrentMemberAssignmentValue{MemberEpoch: epoch, State: state})
	}
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, nil)
		b.streams("g")
		for _, tt := range []struct {
			record shard.Record
			want   string
		}{
			{metadata(5, 2), "Stable"},
			{metadata(6, 2), "Assigning"},
			{metadata(6, 1), "NotReady"},
			{metadata(5, 2), "Stable"},
			{assignment(5, 2), "Reconciling"},
			{assignment(4, 1), "Reconciling"},
			{assignment(5, 1), "Stable"},
			{tombstone(&grouprec.StreamsGroupTopologyKey{GroupID: "g"}), "NotReady"},
			{tombstone(&grouprec.StreamsGroupMemberMetadataKey{GroupID: "g", MemberID: "m"}), "Empty"},
		} {
			b.write(tt.record)
			if s := b.group("g").state(); s != tt.want {
				t.Errorf("%+v %+v: %s, want %s", tt.record.Key, tt.record.Value, s, tt.want)
			}
		}
		b.write(
			tombstone(&grouprec.StreamsGroupTargetAssignmentMetadataKey{GroupID: "g"}),
			tombstone(&grouprec.StreamsGroupMetadataKey{GroupID: "g"}),
			tombstone(&grouprec.StreamsGroupTopologyKey{GroupID: "g"}))
		if g := b.group("g"); g != nil {
			t.Errorf("deleted: %v", g)
		}
	})
}

func TestStreamsGroupOffsets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, map[string]int32{"t": 3, "u": 3, "v": 1})
		b.streams("g")
		stale, unknown := kerr.StaleMemberEpoch.Code, kerr.UnknownMemberID.Code
		for _, tt := range []struct {
			name    string
			member  string
			epoch   int32
			version int16
			part    part
			want    int16
		}{
			{"its epoch", "m", 5, 9, part{"v", 0, 1}, 0},
			{"later epoch", "m", 6, 9, part{"t", 0, 1}, stale},
			{"since it has the task", "m", 3, 9, part{"t", 0, 3}, 0},
			{"before that", "m", 2, 9, part{"t", 0, 1}, stale},
			{"a task that it gives up", "m", 2, 9, part{"t", 1, 4}, 0},
			{"before it had that", "m", 1, 9, part{"t", 1, 1}, stale},
			{"a task that it has not", "m", 4, 9, part{"t", 2, 1}, stale},
			{"a task without an epoch", "m", 4, 9, part{"u", 2, 1}, stale},
			{"a topic that it does not read", "m", 4, 9, part{"v", 0, 1}, stale},
			{"unknown member", "x", 5, 9, part{"t", 0, 1}, unknown},
			{"no member", "", -1, 9, part{"t", 0, 1}, unknown},
			{"old version", "m", 5, 8, part{"t", 0, 1}, kerr.UnsupportedVersion.Code},
		} {
			q := commitOf("g", tt.version, tt.part)
			q.MemberID, q.Generation = tt.member, tt.epoch
			if got := b.commit(q)[0]; got != tt.want {
				t.Errorf("%s: %d, want %d", tt.name, got, tt.want)
			}
		}
		for _, tt := range []struct {
			name   string
			member *string
			epoch  int32
			want   string
		}{
			{"nobody", nil, -1, "t-0=3 t-1=4 v-0=1"},
			{"the member", new("m"), 5, "t-0=3 t-1=4 v-0=1"},
			{"another epoch", new("m"), 4, "!113"},
			{"unknown member", new("x"), 5, "!25"},
			{"an epoch alone", nil, 5, "!25"},
		} {
			q := fetchOf("g")
			q.MemberID, q.MemberEpoch = tt.member, tt.epoch
			if got := show(b.fetch(q, true)); got != tt.want {
				t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
			}
		}
		if code, codes := b.deleted("g", part{"t", 0, 0}, part{"v", 0, 0}); code != 0 || codes[0] != kerr.GroupSubscribedToTopic.Code || codes[1] != 0 {
			t.Errorf("delete: %d %v", code, codes)
		}
		b.restart()

		// What the group reads stays while it has members, then it expires like the
		// offsets of others, and the group with them.
		time.Sleep(8 * 24 * time.Hour)
		synctest.Wait()
		if s := b.offsets("g"); s != "t-0=3 t-1=4" {
			t.Error(s)
		}
		b.leaveStreams("g")
		b.must(commitOf("g", 8, part{"t", 0, 9}))
		if s := b.group("g").state(); s != "Empty" || b.group("g").kind() != Streams {
			t.Errorf("%v is %s", b.group("g"), s)
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		if s := b.offsets("g"); s != "t-0=9" {
			t.Error(s)
		}
		time.Sleep(7 * 24 * time.Hour)
		synctest.Wait()
		if g := b.group("g"); g != nil || b.offsets("g") != "" {
			t.Errorf("left: %v, %s", g, b.offsets("g"))
		}
	})
}

// Groups of other protocols keep those out that are served, but an empty streams
// group, whose place one takes.
func TestOtherGroupsAndJoins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, map[string]int32{"t": 1})
		b.streams("live")
		b.streams("left")
		b.leaveStreams("left")
		b.write(
			put(&grouprec.ShareGroupMetadataKey{GroupID: "share"}, &grouprec.ShareGroupMetadataValue{Epoch: 1}),
			offsetRecord("left", "t", 0, 5))
		join := func(id string) int16 {
			q := kmsg.NewPtrJoinGroupRequest()
			q.Version, q.Group, q.ProtocolType, q.SessionTimeoutMillis, q.RebalanceTimeoutMillis = 3, id, "consumer", 10000, 10000
			q.Protocols = []kmsg.JoinGroupRequestProtocol{{Name: "range"}}
			return ask(t, func(reply func(*kmsg.JoinGroupResponse)) { b.JoinGroup(Client{ID: "c", Host: "/127.0.0.1"}, q, reply) }).get().ErrorCode
		}
		for id, want := range map[string]int16{"live": kerr.InconsistentGroupProtocol.Code, "share": kerr.InconsistentGroupProtocol.Code, "left": 0} {
			if got := join(id); got != want {
				t.Errorf("join %s: %d, want %d", id, got, want)
			}
		}
		for _, id := range []string{"live", "left", "share"} {
			q := kmsg.NewPtrConsumerGroupHeartbeatRequest()
			q.Version, q.Group, q.MemberID, q.RebalanceTimeoutMillis, q.SubscribedTopicNames = 1, id, "x", 1000, []string{"t"}
			q.Topics = []kmsg.ConsumerGroupHeartbeatRequestTopic{}
			if id == "left" {
				continue // it has a classic member by now
			}
			r := ask(t, func(reply func(*kmsg.ConsumerGroupHeartbeatResponse)) {
				b.ConsumerGroupHeartbeat(Client{ID: "c", Host: "/127.0.0.1"}, q, reply)
			}).get()
			if r.ErrorCode != kerr.GroupIDNotFound.Code {
				t.Errorf("heartbeat to %s: %d", id, r.ErrorCode)
			}
		}
		for range 2 {
			if s := b.list(nil, nil); !strings.Contains(s, "left/") || !strings.Contains(s, "/classic") || !strings.Contains(s, "live/streams/Stable/streams share/share/Empty/share") {
				t.Error(s)
			}
			if s := b.offsets("left"); s != "t-0=5" {
				t.Error(s)
			}
			b.restart()
		}
	})
}

// Offsets may come before the group that they belong to; a record that does not
// fit the group that is there is passed over.
func TestOtherGroupReplay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, map[string]int32{"t": 1})
		b.write(offsetRecord("g", "t", 0, 5))
		b.streams("g")
		b.stable("classic")
		b.write(
			put(&grouprec.StreamsGroupMetadataKey{GroupID: "classic"}, &grouprec.StreamsGroupMetadataValue{Epoch: 1}),
			put(&grouprec.ShareGroupMetadataKey{GroupID: "g"}, &grouprec.ShareGroupMetadataValue{Epoch: 1}),
			tombstone(&grouprec.ShareGroupMetadataKey{GroupID: "g"}),
			tombstone(&grouprec.StreamsGroupMetadataKey{GroupID: "classic"}),
			tombstone(&grouprec.ShareGroupMetadataKey{GroupID: "none"}),
			tombstone(&grouprec.StreamsGroupTopologyKey{GroupID: "none"}),
			tombstone(&grouprec.ShareGroupMemberMetadataKey{GroupID: "none", MemberID: "m"}))
		for range 2 {
			if s := b.list(nil, nil); s != "classic/consumer/Stable/classic g/streams/Stable/streams" {
				t.Error(s)
			}
			if s := b.offsets("g"); s != "t-0=5" {
				t.Error(s)
			}
			b.restart()
		}
	})
}

// Share groups never expire, with or without members.
func TestShareGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, nil)
		member := &grouprec.ShareGroupMemberMetadataKey{GroupID: "g", MemberID: "m"}
		b.write(
			put(&grouprec.ShareGroupMetadataKey{GroupID: "g"}, &grouprec.ShareGroupMetadataValue{Epoch: 1}),
			put(member, &grouprec.ShareGroupMemberMetadataValue{}),
			put(&grouprec.ShareGroupTargetAssignmentMemberKey{GroupID: "g", MemberID: "m"}, &grouprec.ShareGroupTargetAssignmentMemberValue{}),
			put(&grouprec.ShareGroupTargetAssignmentMetadataKey{GroupID: "g"}, &grouprec.ShareGroupTargetAssignmentMetadataValue{AssignmentEpoch: 1}),
			put(&grouprec.ShareGroupCurrentMemberAssignmentKey{GroupID: "g", MemberID: "m"}, &grouprec.ShareGroupCurrentMemberAssignmentValue{MemberEpoch: 1}))
		if s := b.group("g").state(); s != "Stable" {
			t.Error(s)
		}
		b.write(
			tombstone(&grouprec.ShareGroupCurrentMemberAssignmentKey{GroupID: "g", MemberID: "m"}),
			tombstone(&grouprec.ShareGroupTargetAssignmentMemberKey{GroupID: "g", MemberID: "m"}),
			tombstone(member))
		b.restart()
		from := b.log.HighWatermark()
		time.Sleep(30 * 24 * time.Hour)
		synctest.Wait()
		if s := b.list(nil, nil); s != "g/share/Empty/share" || b.log.HighWatermark() != from {
			t.Errorf("%s, %d records", s, b.log.HighWatermark()-from)
		}
	})
}
