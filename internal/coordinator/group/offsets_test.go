package group

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"kf/internal/coordinator/shard"
	"kf/internal/format/grouprec"
	"kf/internal/wire"
)

// write appends records as the coordinator does.
func (b *bench) write(records ...shard.Record) {
	b.t.Helper()
	b.hosted(0).do(func(*machine) shard.Result {
		return shard.Result{Records: records, Then: func(err error) {
			if err != nil {
				b.t.Error(err)
			}
		}}
	}, func(err error) { b.t.Error(err) })
}

// stable writes a classic group of consumers with one member m, in generation 3.
func (b *bench) stable(id string) {
	b.t.Helper()
	subscription, err := grouprec.AppendSubscription(nil, &grouprec.ConsumerProtocolSubscription{Topics: []string{"read"}, GenerationID: -1}, 1)
	if err != nil {
		b.t.Fatal(err)
	}
	b.write(put(&grouprec.GroupMetadataKey{Group: id}, &grouprec.GroupMetadataValue{
		ProtocolType: "consumer", Generation: 3, Protocol: new("range"), Leader: new("m"), CurrentStateTimestamp: time.Now().UnixMilli(),
		Members: []grouprec.GroupMember{{
			MemberID: "m", ClientID: "c", ClientHost: "/127.0.0.1", RebalanceTimeout: 60000, SessionTimeout: 10000,
			Subscription: subscription, Assignment: []byte{},
		}},
	}))
}

// A part is what is asked for one partition.
type part struct {
	topic     string
	partition int32
	offset    int64
}

// commitOf returns a commit by somebody who is no member.
func commitOf(group string, version int16, parts ...part) *kmsg.OffsetCommitRequest {
	q := kmsg.NewPtrOffsetCommitRequest()
	q.Version, q.Group = version, group
	for _, p := range parts {
		t := kmsg.NewOffsetCommitRequestTopic()
		t.Topic, t.TopicID = p.topic, topicID(p.topic)
		to := kmsg.NewOffsetCommitRequestTopicPartition()
		to.Partition, to.Offset, to.LeaderEpoch, to.Metadata = p.partition, p.offset, 4, new("")
		t.Partitions = append(t.Partitions, to)
		q.Topics = append(q.Topics, t)
	}
	return q
}

// commit returns the codes of a commit.
func (b *bench) commit(q *kmsg.OffsetCommitRequest) []int16 {
	b.t.Helper()
	r := ask(b.t, func(reply func(*kmsg.OffsetCommitResponse)) { b.OffsetCommit(q, reply) }).get()
	var codes []int16
	for i, t := range r.Topics {
		if t.Topic != q.Topics[i].Topic || t.TopicID != q.Topics[i].TopicID {
			b.t.Errorf("topic %d is %s, want %s", i, t.Topic, q.Topics[i].Topic)
		}
		for j, p := range t.Partitions {
			if p.Partition != q.Topics[i].Partitions[j].Partition {
				b.t.Errorf("%s: partition %d, want %d", t.Topic, p.Partition, q.Topics[i].Partitions[j].Partition)
			}
			codes = append(codes, p.ErrorCode)
		}
	}
	return codes
}

// must commits without a refusal.
func (b *bench) must(q *kmsg.OffsetCommitRequest) {
	b.t.Helper()
	for _, code := range b.commit(q) {
		if code != 0 {
			b.t.Errorf("commit of %s: code %d", q.Group, code)
		}
	}
}

// fetchOf asks for partitions of a group, or for all if there are none.
func fetchOf(group string, parts ...part) kmsg.OffsetFetchRequestGroup {
	g := kmsg.NewOffsetFetchRequestGroup()
	g.Group = group
	for _, p := range parts {
		t := kmsg.NewOffsetFetchRequestGroupTopic()
		t.Topic, t.Partitions = p.topic, []int32{p.partition}
		g.Topics = append(g.Topics, t)
	}
	return g
}

func (b *bench) fetch(q kmsg.OffsetFetchRequestGroup, stable bool) kmsg.OffsetFetchResponseGroup {
	b.t.Helper()
	return ask(b.t, func(reply func([]kmsg.OffsetFetchResponseGroup)) {
		b.OffsetFetch([]kmsg.OffsetFetchRequestGroup{q}, stable, reply)
	}).get()[0]
}

// show writes what a group was answered: t-0=5, or t-0!88.
func show(g kmsg.OffsetFetchResponseGroup) string {
	var parts []string
	if g.ErrorCode != 0 {
		parts = append(parts, fmt.Sprintf("!%d", g.ErrorCode))
	}
	for _, t := range g.Topics {
		for _, p := range t.Partitions {
			if p.ErrorCode != 0 {
				parts = append(parts, fmt.Sprintf("%s-%d!%d", t.Topic, p.Partition, p.ErrorCode))
				continue
			}
			s := fmt.Sprintf("%s-%d=%d", t.Topic, p.Partition, p.Offset)
			if *p.Metadata != "" {
				s += ":" + *p.Metadata
			}
			parts = append(parts, s)
		}
	}
	return strings.Join(parts, " ")
}

// all returns everything that a group has committed.
func (b *bench) offsets(group string) string {
	b.t.Helper()
	return show(b.fetch(fetchOf(group), false))
}

func TestCommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, map[string]int32{"t": 3})
		q := commitOf("g", 9, part{"t", 0, 5}, part{"t", 2, -7})
		q.Topics[0].Partitions[0].Metadata = nil
		q.Topics[1].Partitions[0].Metadata = new("m")
		b.must(q)
		now := time.Now().UnixMilli()
		id := topicID("t")
		want := []grouprec.OffsetCommitValue{
			{Offset: 5, LeaderEpoch: 4, CommitTimestamp: now, ExpireTimestamp: -1, TopicID: id},
			{Offset: -7, LeaderEpoch: 4, Metadata: "m", CommitTimestamp: now, ExpireTimestamp: -1, TopicID: id},
		}
		for i, r := range b.log.records(t, 0) {
			key, value := r.Key.(*grouprec.OffsetCommitKey), r.Value.(*grouprec.OffsetCommitValue)
			value.Unknown = nil
			if r.Version != 4 || *key != (grouprec.OffsetCommitKey{Group: "g", Topic: "t", Partition: int32(2 * i)}) ||
				fmt.Sprint(*value) != fmt.Sprint(want[i]) {
				t.Errorf("record %d: version %d, %+v, %+v; want %+v", i, r.Version, key, value, want[i])
			}
		}
		for range 2 { // the second time from the log
			got := b.fetch(fetchOf("g", part{topic: "t"}, part{"t", 1, 0}, part{"t", 2, 0}, part{topic: "u"}), false)
			if s := show(got); s != "t-0=5 t-1=-1 t-2=-7:m u-0=-1" {
				t.Error(s)
			}
			if e := got.Topics[0].Partitions[0].LeaderEpoch; e != 4 {
				t.Errorf("leader epoch %d", e)
			}
			if e := got.Topics[1].Partitions[0].LeaderEpoch; e != -1 {
				t.Errorf("leader epoch %d of nothing", e)
			}
			if s := b.offsets("g"); s != "t-0=5 t-2=-7:m" {
				t.Error(s)
			}
			if g := b.group("g"); g == nil || g.kind() != Classic || g.state() != "Empty" || g.protocolType() != "" {
				t.Errorf("the group is %v", g)
			}
			b.restart()
		}
	})
}

// An offset that expires at a time of its own is written as 4.4 writes it, without
// what that version of the record cannot say.
func TestCommitRetention(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, map[string]int32{"t": 1})
		q := commitOf("g", 4, part{"t", 0, 5})
		q.RetentionTimeMillis = 1000
		b.must(q)
		r := b.log.records(t, 0)[0]
		v := r.Value.(*grouprec.OffsetCommitValue)
		if now := time.Now().UnixMilli(); r.Version != 1 || v.CommitTimestamp != now || v.ExpireTimestamp != now+1000 || v.LeaderEpoch != -1 || !v.TopicID.IsZero() {
			t.Errorf("version %d: %+v", r.Version, v)
		}
	})
}

func TestCommitRefusals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, map[string]int32{"t": 1, "read": 1})
		b.stable("live")
		b.write(put(&grouprec.ShareGroupMetadataKey{GroupID: "share"}, &grouprec.ShareGroupMetadataValue{}))
		for _, tt := range []struct {
			name, group string
			member      string
			instance    *string
			generation  int32
			version     int16
			want        int16
		}{
			{name: "member", group: "live", member: "m", generation: 3, version: 9},
			{name: "old generation", group: "live", member: "m", generation: 2, version: 9, want: kerr.IllegalGeneration.Code},
			{name: "unknown member", group: "live", member: "x", generation: 3, version: 9, want: kerr.UnknownMemberID.Code},
			{name: "instance that is not there", group: "live", member: "m", instance: new("i"), generation: 3, version: 9, want: kerr.UnknownMemberID.Code},
			{name: "no member, group with members", group: "live", generation: -1, version: 9, want: kerr.UnknownMemberID.Code},
			{name: "no member, new group", group: "new", generation: -1, version: 9},
			{name: "generation of a group that is not there", group: "none", generation: 3, version: 9, want: kerr.GroupIDNotFound.Code},
			{name: "the same, before its code", group: "none", generation: 3, version: 8, want: kerr.IllegalGeneration.Code},
			{name: "no group id", group: "", generation: -1, version: 9},
			{name: "share group", group: "share", generation: -1, version: 9, want: kerr.GroupIDNotFound.Code},
		} {
			from := b.log.HighWatermark()
			q := commitOf(tt.group, tt.version, part{"t", 0, 1}, part{"read", 0, 1})
			q.MemberID, q.InstanceID, q.Generation = tt.member, tt.instance, tt.generation
			if got, want := b.commit(q), []int16{tt.want, tt.want}; !slices.Equal(got, want) {
				t.Errorf("%s: %v, want %v", tt.name, got, want)
			}
			if n, want := b.log.HighWatermark()-from, map[bool]int64{true: 2}[tt.want == 0]; n != want {
				t.Errorf("%s: %d records, want %d", tt.name, n, want)
			}
		}
		if b.group("none") != nil {
			t.Error("a refused commit made a group")
		}
	})
}

func TestCommitMetadataLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, map[string]int32{"t": 1})
		for _, tt := range []struct {
			metadata string
			want     int16
		}{
			{strings.Repeat("m", 4096), 0},
			{strings.Repeat("m", 4097), kerr.OffsetMetadataTooLarge.Code},
			{strings.Repeat("é", 4096), 0}, // UTF-16 units count, not bytes
			{strings.Repeat("😀", 2048), 0},
			{strings.Repeat("😀", 2049), kerr.OffsetMetadataTooLarge.Code},
		} {
			q := commitOf("g", 9, part{"t", 0, 1}, part{"t", 0, 2})
			q.Topics[0].Partitions[0].Metadata = &tt.metadata
			if got := b.commit(q); !slices.Equal(got, []int16{tt.want, 0}) {
				t.Errorf("%d bytes: %v, want %d", len(tt.metadata), got, tt.want)
			}
		}
		// As in Kafka there is a group even if nothing of it was taken.
		q := commitOf("refused", 9, part{"t", 0, 1})
		q.Topics[0].Partitions[0].Metadata = new(strings.Repeat("m", 4097))
		if b.commit(q); b.group("refused") == nil {
			t.Error("no group")
		}
	})
}

// A commit is answered when it is committed, or when it is known that it is not.
func TestCommitWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, map[string]int32{"t": 1})
		commit := func() answer[*kmsg.OffsetCommitResponse] {
			return ask(t, func(reply func(*kmsg.OffsetCommitResponse)) { b.OffsetCommit(commitOf("g", 9, part{"t", 0, 5}), reply) })
		}
		fetch := func() answer[[]kmsg.OffsetFetchResponseGroup] {
			return ask(t, func(reply func([]kmsg.OffsetFetchResponseGroup)) {
				b.OffsetFetch([]kmsg.OffsetFetchRequestGroup{fetchOf("g")}, false, reply)
			})
		}
		b.hold()
		c, f := commit(), fetch()
		c.waits()
		f.waits()
		b.release()
		if got := c.get().Topics[0].Partitions[0].ErrorCode; got != 0 {
			t.Errorf("code %d", got)
		}
		if got := show(f.get()[0]); got != "t-0=5" {
			t.Error(got)
		}
		b.hold()
		c, f = commit(), fetch()
		time.Sleep(b.config.CommitTimeout)
		if got := c.get().Topics[0].Partitions[0].ErrorCode; got != kerr.CoordinatorNotAvailable.Code {
			t.Errorf("too late: code %d", got)
		}
		if got := f.get()[0].ErrorCode; got != kerr.NotCoordinator.Code {
			t.Errorf("fetch, too late: code %d", got)
		}
		b.release()
		b.log.fail(shard.ErrUnavailable)
		if got := commit().get().Topics[0].Partitions[0].ErrorCode; got != kerr.CoordinatorNotAvailable.Code {
			t.Errorf("failed append: code %d", got)
		}
		b.log.fail(nil)
		b.stop()
		if got := commit().get().Topics[0].Partitions[0].ErrorCode; got != kerr.NotCoordinator.Code {
			t.Errorf("not the coordinator: code %d", got)
		}
		if got := fetch().get()[0].ErrorCode; got != kerr.NotCoordinator.Code {
			t.Errorf("fetch, not the coordinator: code %d", got)
		}
	})
}

// A commit keeps the session of a classic member.
func TestCommitIsSignOfLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, map[string]int32{"t": 1})
		b.stable("g")
		b.restart() // sessions begin
		for range 5 {
			time.Sleep(9 * time.Second)
			q := commitOf("g", 9, part{"t", 0, 5})
			q.MemberID, q.Generation = "m", 3
			b.must(q)
		}
		time.Sleep(11 * time.Second)
		if s := b.group("g").state(); s != "Empty" {
			t.Errorf("without a commit: %s", s)
		}
	})
}

func TestFetchRefusals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, map[string]int32{"t": 1})
		b.stable("live")
		q := commitOf("live", 9, part{"t", 0, 5})
		q.MemberID, q.Generation = "m", 3
		b.must(q)
		b.must(commitOf("", 9, part{"t", 0, 6}))
		b.write(put(&grouprec.ShareGroupMetadataKey{GroupID: "share"}, &grouprec.ShareGroupMetadataValue{}))
		for _, tt := range []struct {
			name, group string
			member      *string
			epoch       int32
			all, some   string
		}{
			{name: "member", group: "live", member: new("m"), epoch: 3, all: "t-0=5", some: "t-0=5"},
			{name: "member of a classic group that is not there", group: "live", member: new("x"), epoch: 3, all: "t-0=5", some: "t-0=5"},
			{name: "wrong generation", group: "live", member: new("m"), epoch: 9, all: "t-0=5", some: "t-0=5"},
			{name: "no group", group: "none", epoch: -1, some: "t-0=-1"},
			{name: "share group", group: "share", epoch: -1, some: "t-0=-1"},
			{name: "no group id", group: "", epoch: -1, all: "t-0=6", some: "t-0=6"},
		} {
			q := fetchOf(tt.group)
			q.MemberID, q.MemberEpoch = tt.member, tt.epoch
			if got := show(b.fetch(q, true)); got != tt.all {
				t.Errorf("%s, all: %s, want %s", tt.name, got, tt.all)
			}
			q.Topics = fetchOf("", part{topic: "t"}).Topics
			if got := show(b.fetch(q, true)); got != tt.some {
				t.Errorf("%s: %s, want %s", tt.name, got, tt.some)
			}
		}
	})
}

// Offsets of a topic that was made anew are those of another one, for who says
// which he means.
func TestFetchByTopicID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, map[string]int32{"t": 1, "old": 1})
		b.must(commitOf("g", 10, part{"t", 0, 5}))
		b.write(put(&grouprec.OffsetCommitKey{Group: "g", Topic: "old"}, &grouprec.OffsetCommitValue{Offset: 6, ExpireTimestamp: -1}))
		for id, want := range map[wire.UUID]string{{}: "t-0=5 old-0=6", topicID("t"): "t-0=5 old-0=6", topicID("x"): "t-0=-1 old-0=6"} {
			q := fetchOf("g", part{topic: "t"}, part{topic: "old"})
			for i := range q.Topics {
				q.Topics[i].TopicID = id
			}
			got := b.fetch(q, false)
			if s := show(got); s != want || got.Topics[0].TopicID != id {
				t.Errorf("%v: %s, want %s", id, s, want)
			}
		}
	})
}

func TestFetchManyGroups(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, map[string]int32{"t": 1})
		b.must(commitOf("a", 9, part{"t", 0, 1}))
		b.must(commitOf("b", 9, part{"t", 0, 2}))
		got := ask(t, func(reply func([]kmsg.OffsetFetchResponseGroup)) {
			b.OffsetFetch([]kmsg.OffsetFetchRequestGroup{fetchOf("b"), fetchOf("none"), fetchOf("a"), fetchOf("b")}, false, reply)
		}).get()
		var s []string
		for _, g := range got {
			s = append(s, g.Group+" "+show(g))
		}
		if want := []string{"b t-0=2", "none ", "a t-0=1", "b t-0=2"}; !slices.Equal(s, want) {
			t.Errorf("%q, want %q", s, want)
		}
		if got := ask(t, func(reply func([]kmsg.OffsetFetchResponseGroup)) { b.OffsetFetch(nil, false, reply) }).get(); len(got) != 0 {
			t.Errorf("no group: %v", got)
		}
	})
}
