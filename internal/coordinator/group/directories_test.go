package group

import (
	"encoding/json"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kf/internal/format/batch"
	"kf/internal/format/kraftrec"
	"kf/internal/image"
	"kf/internal/kftest"
	"kf/internal/wire"
)

// A seen is what the clients of a Kafka broker saw of a group before a directory
// was copied from it.
type seen struct {
	Type            string
	State           string
	ProtocolType    string
	Epoch           *int32           // nil for a classic group
	AssignmentEpoch *int32           //
	Members         map[string]int32 // member epochs by id, -1 for classic members
	Offsets         map[string]offsetSeen
}

// An offsetSeen is an offset, its leader epoch and its metadata.
type offsetSeen struct {
	offset   int64
	epoch    int32
	metadata string
}

func (o *offsetSeen) UnmarshalJSON(p []byte) error {
	return json.Unmarshal(p, &[]any{&o.offset, &o.epoch, &o.metadata})
}

// later names the groups that are in a directory beside those that were seen: of
// commits between the look at the broker and the copy, and of a deleted offset,
// whose group the coordinator before Kafka 4.0 forgot without a record.
var later = map[string][]string{
	"single-03-groups-live":       {"connect-cluster", "raw-retention-v2", "raw-retention-v3", "raw-retention-v4", "raw-v5"},
	"single-09-older-3.3.2-clean": {"simple"},
	"single-09-older-3.9.1-clean": {"simple"},
}

// TestDirectories loads what Kafka wrote of __consumer_offsets, releases 3.3 to
// 4.4, and compares the groups with what Kafka's clients saw of them.
func TestDirectories(t *testing.T) {
	dir := t.TempDir()
	kftest.Unpack(t, filepath.Join("testdata", "directories.tar.gz"), dir)
	names, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(names) < 9 {
		t.Fatalf("%d directories, %v", len(names), err)
	}
	for _, name := range names {
		t.Run(filepath.Base(name), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { testDirectory(t, name) })
		})
	}
}

func testDirectory(t *testing.T, dir string) {
	var truth struct {
		Topics map[string]struct {
			ID         string
			Partitions int32
		}
		Groups map[string]seen
	}
	p, err := os.ReadFile(filepath.Join(dir, "truth.json"))
	if err == nil {
		err = json.Unmarshal(p, &truth)
	}
	if err != nil {
		t.Fatal(err)
	}
	b := newBench(t, nil)
	b.stop()
	b.build = image.NewBuilder(image.Empty())
	for name, topic := range truth.Topics {
		id, err := wire.ParseUUID(topic.ID)
		if err != nil {
			t.Fatal(err)
		}
		records := []any{&kraftrec.TopicRecord{Name: name, TopicID: id}}
		for i := range topic.Partitions {
			records = append(records, &kraftrec.PartitionRecord{PartitionID: i, TopicID: id, Replicas: []int32{1}, ISR: []int32{1}, Leader: 1})
		}
		for _, r := range records {
			if err := b.build.Replay(r); err != nil {
				t.Fatal(err)
			}
		}
	}
	b.image, _ = b.build.Publish()
	b.Coordinator = New(Options{
		Image:  func() *image.Image { return b.image },
		Config: func(string) *Config { return &b.config },
		Log:    slog.New(slog.DiscardHandler),
	})
	for partition := range truth.Topics[Topic].Partitions {
		b.Lead(partition, 1, readLog(t, filepath.Join(dir, strconv.Itoa(int(partition))+".log")))
		<-b.Loaded(partition)
		if err := b.hosted(partition).shard.Err(); err != nil {
			t.Fatal(err)
		}
	}
	b.compare(truth.Groups, later[filepath.Base(dir)])
}

// readLog returns the log of a segment file.
func readLog(t testing.TB, path string) *memoryLog {
	t.Helper()
	p, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	l := new(memoryLog)
	for len(p) > 0 {
		h, err := batch.DecodeHeader(p)
		if err != nil {
			t.Fatal(err)
		}
		l.batches, l.next = append(l.batches, p[:h.Size()]), h.LastOffset()+1
		p = p[h.Size():]
	}
	return l
}

func (b *bench) compare(groups map[string]seen, later []string) {
	t := b.t
	list := ask(t, func(reply func(*kmsg.ListGroupsResponse)) { b.ListGroups(kmsg.NewPtrListGroupsRequest(), reply) }).get()
	got := make(map[string]kmsg.ListGroupsResponseGroup)
	for _, g := range list.Groups {
		got[g.Group] = g
	}
	want := slices.Sorted(slices.Values(slices.AppendSeq(slices.Clone(later), maps.Keys(groups))))
	if ids := slices.Sorted(maps.Keys(got)); !slices.Equal(ids, want) {
		t.Errorf("groups %q, want %q", ids, want)
	}
	for id, want := range groups {
		g := got[id]
		if g.GroupType != want.Type || g.ProtocolType != want.ProtocolType || g.GroupState != want.loaded() {
			t.Errorf("%s is %s %s %s, want %s %s %s", id, g.GroupType, g.ProtocolType, g.GroupState, want.Type, want.ProtocolType, want.loaded())
		}
		b.compareMembers(id, want)
		if want.Type == "share" {
			continue
		}
		offsets := make(map[string]offsetSeen)
		for _, t := range b.fetch(fetchOf(id), false).Topics {
			for _, p := range t.Partitions {
				offsets[t.Topic+"-"+strconv.Itoa(int(p.Partition))] = offsetSeen{p.Offset, p.LeaderEpoch, *p.Metadata}
			}
		}
		if !maps.Equal(offsets, want.Offsets) {
			t.Errorf("offsets of %s: %v, want %v", id, offsets, want.Offsets)
		}
	}
}

// loaded returns the state after a load: a rebalance of a classic group is not
// written down before it is over.
func (s *seen) loaded() string {
	if s.State == "PreparingRebalance" || s.State == "CompletingRebalance" {
		return "Stable"
	}
	return s.State
}

func (b *bench) compareMembers(id string, want seen) {
	t := b.t
	members := make(map[string]int32)
	epoch, assignmentEpoch := int32(-1), int32(-1)
	switch g := b.at(id).(type) {
	case *classicGroup:
		for id := range g.members {
			members[id] = -1
		}
	case *consumerGroup:
		d := ask(t, func(reply func(*kmsg.ConsumerGroupDescribeResponse)) {
			b.ConsumerGroupDescribe(&kmsg.ConsumerGroupDescribeRequest{Groups: []string{id}}, reply)
		}).get().Groups[0]
		epoch, assignmentEpoch = d.Epoch, d.AssignmentEpoch
		for _, m := range d.Members {
			members[m.MemberID] = m.MemberEpoch
		}
	case *otherGroup:
		epoch, assignmentEpoch = g.epoch, g.assignmentEpoch
		for id, m := range g.members {
			members[id] = m.epoch
		}
	}
	if want.Epoch != nil && (epoch != *want.Epoch || assignmentEpoch != *want.AssignmentEpoch) {
		t.Errorf("%s is at epochs %d, %d; want %d, %d", id, epoch, assignmentEpoch, *want.Epoch, *want.AssignmentEpoch)
	}
	if !maps.Equal(members, want.Members) && !strings.HasSuffix(want.State, "Rebalance") {
		t.Errorf("members of %s: %v, want %v", id, members, want.Members)
	}
}

// at returns a group of any shard.
func (b *bench) at(id string) (g group) { return b.find(id).machine.group(id) }
