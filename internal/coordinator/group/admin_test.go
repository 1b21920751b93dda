package group

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"kf/internal/coordinator/shard"
	"kf/internal/format/grouprec"
	"kf/internal/format/kraftrec"
)

func (b *bench) list(states, types []string) string {
	b.t.Helper()
	q := kmsg.NewPtrListGroupsRequest()
	q.StatesFilter, q.TypesFilter = states, types
	r := ask(b.t, func(reply func(*kmsg.ListGroupsResponse)) { b.ListGroups(q, reply) }).get()
	if r.ErrorCode != 0 {
		return fmt.Sprintf("!%d %d groups", r.ErrorCode, len(r.Groups))
	}
	var parts []string
	for _, g := range r.Groups {
		parts = append(parts, strings.Join([]string{g.Group, g.ProtocolType, g.GroupState, g.GroupType}, "/"))
	}
	return strings.Join(parts, " ")
}

// all kinds of groups, in states of their own.
func (b *bench) kinds() {
	b.t.Helper()
	b.must(commitOf("simple", 9, part{"t", 0, 5}))
	b.stable("live")
	b.write(
		put(&grouprec.ConsumerGroupMetadataKey{GroupID: "new"}, &grouprec.ConsumerGroupMetadataValue{Epoch: 1}),
		put(&grouprec.ShareGroupMetadataKey{GroupID: "share"}, &grouprec.ShareGroupMetadataValue{Epoch: 1}),
		put(&grouprec.ShareGroupMemberMetadataKey{GroupID: "share", MemberID: "m"}, &grouprec.ShareGroupMemberMetadataValue{}),
		put(&grouprec.StreamsGroupMetadataKey{GroupID: "streams"}, &grouprec.StreamsGroupMetadataValue{Epoch: 1, ValidatedTopologyEpoch: -1}),
		put(&grouprec.StreamsGroupMemberMetadataKey{GroupID: "streams", MemberID: "m"}, &grouprec.StreamsGroupMemberMetadataValue{}))
}

func TestListGroups(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, map[string]int32{"t": 1})
		b.kinds()
		const (
			live    = "live/consumer/Stable/classic"
			fresh   = "new/consumer/Empty/consumer"
			share   = "share/share/Stable/share"
			simple  = "simple//Empty/classic"
			streams = "streams/streams/NotReady/streams"
		)
		for _, tt := range []struct {
			states, types []string
			want          []string
		}{
			{nil, nil, []string{live, fresh, share, simple, streams}},
			{[]string{"Stable"}, nil, []string{live, share}},
			{[]string{" sTABLE ", "empty"}, nil, []string{live, fresh, share, simple}},
			{[]string{"NotReady"}, nil, nil}, // which Kafka knows by another name
			{[]string{"not_ready"}, nil, []string{streams}},
			{[]string{"Sleeping"}, nil, nil},
			{nil, []string{"CLASSIC"}, []string{live, simple}},
			{nil, []string{"consumer", "streams"}, []string{fresh, streams}},
			{nil, []string{" classic"}, nil},
			{nil, []string{"unknown"}, nil},
			{nil, []string{"unknown", "share"}, []string{share}},
			{[]string{"Empty"}, []string{"classic"}, []string{simple}},
		} {
			if got, want := b.list(tt.states, tt.types), strings.Join(tt.want, " "); got != want {
				t.Errorf("%q %q: %s; want %s", tt.states, tt.types, got, want)
			}
		}
		b.hold()
		b.write(offsetTombstone("simple", "t", 0))
		time.Sleep(b.config.CommitTimeout - time.Second)
		list := ask(t, func(reply func(*kmsg.ListGroupsResponse)) { b.ListGroups(kmsg.NewPtrListGroupsRequest(), reply) })
		list.waits()
		b.release()
		if n := len(list.get().Groups); n != 5 {
			t.Errorf("%d groups", n)
		}
	})
}

// The groups of several shards are listed by one request, and while one of them is
// loading nothing is told.
func TestListManyShards(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, map[string]int32{"t": 1})
		b.addPartitions(Topic, 3)
		b.publish()
		others := []*memoryLog{new(memoryLog), new(memoryLog)}
		for i, l := range others {
			b.Lead(int32(i+1), 1, l)
			<-b.Loaded(int32(i + 1))
		}
		ids := []string{"a", "b", "c", "d", "e"}
		for _, id := range ids {
			b.must(commitOf(id, 9, part{"t", 0, 5}))
		}
		if n := len(others[0].batches) * len(others[1].batches) * len(b.log.batches); n == 0 {
			t.Fatal("a shard without a group")
		}
		if s := b.list(nil, nil); s != "a//Empty/classic b//Empty/classic c//Empty/classic d//Empty/classic e//Empty/classic" {
			t.Error(s)
		}
		q := kmsg.NewPtrDescribeGroupsRequest()
		q.Groups = []string{"e", "none", "a", "e"}
		for i, g := range ask(t, func(reply func(*kmsg.DescribeGroupsResponse)) { b.DescribeGroups(q, reply) }).get().Groups {
			if want := map[bool]string{true: "Dead", false: "Empty"}[g.Group == "none"]; g.Group != q.Groups[i] || g.State != want {
				t.Errorf("group %d: %s is %s", i, g.Group, g.State)
			}
		}
		b.Resign(1)
		left := 0
		for _, id := range ids {
			if Partition(id, 3) != 1 {
				left++
			}
		}
		if n := strings.Count(b.list(nil, nil), "classic"); n != left {
			t.Errorf("%d groups without a shard, want %d", n, left)
		}
		opened := make(chan struct{})
		b.Lead(1, 2, slowLog{others[0], opened})
		b.Loaded(1)
		if s := b.list(nil, nil); s != "!14 0 groups" {
			t.Error(s)
		}
		close(opened)
		<-b.Loaded(1)
		if n := strings.Count(b.list(nil, nil), "classic"); n != len(ids) {
			t.Errorf("%d groups", n)
		}
	})
}

// addPartitions gives a topic more partitions in the next image.
func (b *bench) addPartitions(name string, to int32) {
	b.t.Helper()
	t := b.image.Topic(name)
	for i := int32(t.Len()); i < to; i++ {
		r := &kraftrec.PartitionRecord{PartitionID: i, TopicID: t.ID, Replicas: []int32{1}, ISR: []int32{1}, Leader: 1}
		if err := b.build.Replay(r); err != nil {
			b.t.Fatal(err)
		}
	}
}

// A slowLog cannot be read before it is opened.
type slowLog struct {
	*memoryLog
	opened chan struct{}
}

func (l slowLog) Read(offset int64, max int) ([]byte, error) {
	<-l.opened
	return l.memoryLog.Read(offset, max)
}

func (b *bench) deleteGroups(ids ...string) string {
	b.t.Helper()
	q := kmsg.NewPtrDeleteGroupsRequest()
	q.Groups = ids
	var parts []string
	for _, g := range ask(b.t, func(reply func(*kmsg.DeleteGroupsResponse)) { b.DeleteGroups(q, reply) }).get().Groups {
		s := fmt.Sprintf("%s=%d", g.Group, g.ErrorCode)
		if g.ErrorMessage != nil {
			s += " " + *g.ErrorMessage
		}
		parts = append(parts, s)
	}
	return strings.Join(parts, ", ")
}

func TestDeleteGroups(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, map[string]int32{"t": 2})
		b.kinds()
		b.must(commitOf("simple", 9, part{"t", 1, 5}))
		b.must(commitOf("", 9, part{"t", 1, 5}))
		b.transact(7, offsetRecord("simple", "t", 0, 9), offsetRecord("pending", "t", 0, 9))
		b.write(
			put(&grouprec.ShareGroupMetadataKey{GroupID: "kept"}, &grouprec.ShareGroupMetadataValue{Epoch: 1}),
			put(&grouprec.ShareGroupStatePartitionMetadataKey{GroupID: "kept"}, &grouprec.ShareGroupStatePartitionMetadataValue{
				InitializedTopics: []grouprec.TopicPartitionsInfo{{TopicName: "t", Partitions: []int32{0}}},
			}),
			put(&grouprec.ShareGroupMetadataKey{GroupID: "bare"}, &grouprec.ShareGroupMetadataValue{Epoch: 1}),
			put(&grouprec.StreamsGroupMetadataKey{GroupID: "old"}, &grouprec.StreamsGroupMetadataValue{Epoch: 1, ValidatedTopologyEpoch: -1}))
		for _, tt := range []struct{ ids, want, records string }{
			{"live new share streams none", "live=68, new=0, share=68, streams=68, none=69",
				"-CONSUMER_GROUP_TARGET_ASSIGNMENT_METADATA -CONSUMER_GROUP_PARTITION_METADATA -CONSUMER_GROUP_METADATA"},
			{"simple pending", "simple=0, pending=0", "-simple/t-0 -simple/t-1 -GROUP_METADATA -pending/t-0 -GROUP_METADATA"},
			{"kept", "kept=134 Group kept has state in __share_group_state, whose coordinator is not served.", ""},
			{"bare", "bare=0", "-SHARE_GROUP_TARGET_ASSIGNMENT_METADATA -SHARE_GROUP_STATE_PARTITION_METADATA -SHARE_GROUP_METADATA"},
			{"old", "old=0", "-STREAMS_GROUP_TARGET_ASSIGNMENT_METADATA -STREAMS_GROUP_METADATA -STREAMS_GROUP_TOPOLOGY"},
		} {
			from := b.log.HighWatermark()
			if got := b.deleteGroups(strings.Fields(tt.ids)...); got != tt.want {
				t.Errorf("%s: %s; want %s", tt.ids, got, tt.want)
			}
			if got := brief(b.log.records(t, from)); got != tt.records {
				t.Errorf("%s: records %s; want %s", tt.ids, got, tt.records)
			}
		}
		if got := b.deleteGroups(""); got != "=0" {
			t.Errorf("no id: %s", got)
		}
		b.end(7, true) // of offsets that are gone
		for range 2 {
			if s := b.list(nil, nil); s != "kept/share/Empty/share live/consumer/Stable/classic share/share/Stable/share streams/streams/NotReady/streams" {
				t.Error(s)
			}
			if s := b.offsets("simple") + b.offsets("pending"); s != "" {
				t.Error(s)
			}
			b.restart()
		}
		if got := b.deleteGroups(); got != "" {
			t.Errorf("none: %s", got)
		}
	})
}

// A group whose deletion cannot be written is there as before.
func TestDeleteGroupFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, map[string]int32{"t": 1})
		b.must(commitOf("g", 9, part{"t", 0, 5}))
		b.log.fail(shard.ErrUnavailable)
		if got, want := b.deleteGroups("g"), fmt.Sprintf("g=%d", kerr.CoordinatorNotAvailable.Code); got != want {
			t.Errorf("%s, want %s", got, want)
		}
		b.log.fail(nil)
		b.must(commitOf("g", 9, part{"t", 0, 6}))
		if s := b.offsets("g"); s != "t-0=6" {
			t.Error(s)
		}
		b.stop()
		if got := b.deleteGroups("g"); got != "g=16" {
			t.Errorf("not the coordinator: %s", got)
		}
	})
}

// A group with more offsets than fit in a batch can be deleted.
func TestDeleteLargeGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, map[string]int32{"t": 500})
		var parts []part
		for i := range 500 {
			parts = append(parts, part{"t", int32(i), 1})
		}
		b.must(commitOf("g", 9, parts...))
		b.stop()
		b.config.BatchBytes = 1000
		b.start()
		if got := b.deleteGroups("g"); got != "g=0" {
			t.Error(got)
		}
		if s := b.list(nil, nil) + b.offsets("g"); s != "" {
			t.Errorf("left: %s", s)
		}
	})
}

func TestDescribeGroups(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, map[string]int32{"t": 1})
		b.kinds()
		for _, tt := range []struct {
			id      string
			version int16
			want    string
		}{
			{"live", 6, "live 0 Stable consumer range 1"},
			{"simple", 6, "simple 0 Empty   0"},
			{"none", 5, "none 0 Dead   0"},
			{"none", 6, "none 69 Dead   0 Group none not found."},
			{"", 6, " 69 Dead   0 Group  not found."},
			{"new", 5, "new 0 Dead   0"},
			{"new", 6, "new 69 Dead   0 Group new is not a classic group."},
			{"share", 6, "share 69 Dead   0 Group share is not a classic group."},
		} {
			q := kmsg.NewPtrDescribeGroupsRequest()
			q.Version, q.Groups = tt.version, []string{tt.id}
			g := ask(t, func(reply func(*kmsg.DescribeGroupsResponse)) { b.DescribeGroups(q, reply) }).get().Groups[0]
			got := fmt.Sprintf("%s %d %s %s %s %d", g.Group, g.ErrorCode, g.State, g.ProtocolType, g.Protocol, len(g.Members))
			if g.ErrorMessage != nil {
				got += " " + *g.ErrorMessage
			}
			if got != tt.want {
				t.Errorf("v%d: %q, want %q", tt.version, got, tt.want)
			}
		}
		q := kmsg.NewPtrConsumerGroupDescribeRequest()
		q.Groups = []string{"none", "", "live", "new"}
		var got []string
		for _, g := range ask(t, func(reply func(*kmsg.ConsumerGroupDescribeResponse)) { b.ConsumerGroupDescribe(q, reply) }).get().Groups {
			s := fmt.Sprintf("%s %d %s", g.Group, g.ErrorCode, g.State)
			if g.ErrorMessage != nil {
				s += " " + *g.ErrorMessage
			}
			got = append(got, s)
		}
		if s := strings.Join(got, "; "); s != "none 69  Group none not found.;  24 ; live 69  Group live is not a consumer group.; new 0 Empty" {
			t.Error(s)
		}
		b.stop()
		d := kmsg.NewPtrDescribeGroupsRequest()
		d.Groups = []string{"live"}
		if g := ask(t, func(reply func(*kmsg.DescribeGroupsResponse)) { b.DescribeGroups(d, reply) }).get().Groups[0]; g.ErrorCode != kerr.NotCoordinator.Code || g.State != "" {
			t.Errorf("not the coordinator: %+v", g)
		}
	})
}
