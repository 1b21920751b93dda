package group

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kf/internal/format/batch"
	"kf/internal/format/grouprec"
	"kf/internal/format/kraftrec"
	"kf/internal/image"
	"kf/internal/kftest"
	"kf/internal/wire"
)

// What Java consumers did on a Kafka 4.4.0 is told by the records that it wrote: they
// do it again here, at the same times, and the same is recorded, byte for byte but for
// the order of members in one assignment. The group kip848 is left out: it has two
// topics, and what the uniform assignor gives to whom follows a hash table there.
func TestRecordsOfKafka(t *testing.T) {
	dir := t.TempDir()
	kftest.Unpack(t, filepath.Join("testdata", "directories.tar.gz"), dir)
	dir = filepath.Join(dir, "single-03-groups-killed")
	for _, group := range []string{"kip848-range", "kip848-static", "to-delete-848"} {
		t.Run(group, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { again(t, dir, group) })
		})
	}
}

// A written is a record and when it was written, in ms since the Unix epoch.
type written struct {
	grouprec.Record
	at int64
}

// recordsOf returns the records of a consumer group in the logs of a directory.
func recordsOf(t *testing.T, dir, group string) []written {
	files, err := filepath.Glob(filepath.Join(dir, "*.log"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	var all []written
	for _, file := range files {
		for _, entry := range readLog(t, file).batches {
			h, err := batch.DecodeHeader(entry)
			if err != nil {
				t.Fatal(err)
			}
			if h.Control() {
				continue
			}
			rs, err := new(batch.Decoder).Open(h, entry)
			if err != nil {
				t.Fatal(err)
			}
			for r, err := range rs.All() {
				if err != nil {
					t.Fatal(err)
				}
				decoded, err := grouprec.Decode(bytes.Clone(r.Key), bytes.Clone(r.Value))
				if err != nil {
					t.Fatal(err)
				}
				if decoded.Type >= 3 && groupOf(t, decoded) == group {
					all = append(all, written{decoded, r.Timestamp})
				}
			}
		}
	}
	return all
}

func groupOf(t *testing.T, r grouprec.Record) string {
	p, err := json.Marshal(r.Key)
	if err != nil {
		t.Fatal(err)
	}
	var key struct{ GroupID string }
	if err := json.Unmarshal(p, &key); err != nil {
		t.Fatal(err)
	}
	return key.GroupID
}

// fixtureImage returns the topics of a directory.
func fixtureImage(t *testing.T, b *bench, dir string) {
	var truth struct {
		Topics map[string]struct {
			ID         string
			Partitions int32
		}
	}
	p, err := os.ReadFile(filepath.Join(dir, "truth.json"))
	if err == nil {
		err = json.Unmarshal(p, &truth)
	}
	if err != nil {
		t.Fatal(err)
	}
	b.build = image.NewBuilder(image.Empty())
	for name, topic := range truth.Topics {
		id, err := wire.ParseUUID(topic.ID)
		if err != nil {
			t.Fatal(err)
		}
		records := []any{&kraftrec.TopicRecord{Name: name, TopicID: id}}
		if name == Topic {
			topic.Partitions = 1 // the one that the bench has
		}
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
}

// again lets the members of a group do what made the records.
func again(t *testing.T, dir, group string) {
	b := newBench(t, nil)
	b.stop()
	fixtureImage(t, b, dir)
	b.config.ConsumerSessionTimeout = 1<<31 - 1 // heartbeats that changed nothing are not known
	b.start()
	records := recordsOf(t, dir, group)
	if len(records) < 10 {
		t.Fatalf("%d records", len(records))
	}
	states := make(map[string]memberState)
	later := records[0].at - 1000 - nowMillis() // the time there, less that in this bubble
	for len(records) > 0 {
		n := operation(records)
		op := records[:n]
		records = records[n:]
		at := op[0].at - later
		for _, r := range op {
			if v, ok := r.Value.(*grouprec.ConsumerGroupTargetAssignmentMetadataValue); ok && v.AssignmentTimestamp > 0 {
				v.AssignmentTimestamp -= later
				at = v.AssignmentTimestamp // the batch was written a moment later
			}
		}
		time.Sleep(time.Until(time.UnixMilli(at)))
		from := b.log.HighWatermark()
		if op[0].Type == 6 {
			b.deleteGroups(group)
		} else {
			b.heartbeatOf(requestOf(group, op, states), op)
		}
		compareRecords(t, b.log.records(t, from), op)
	}
	b.expectReplay()
}

// operation returns how many of records one request made.
func operation(records []written) int {
	typeAt := func(i int) int16 {
		if i >= len(records) {
			return -1
		}
		return records[i].Type
	}
	n := 1
	switch first := records[0]; {
	case first.Type == 8 && first.Value == nil: // a member leaves: 8 7 5 3, and 6 behind the last one
		for n = 4; typeAt(n) == 6 && records[n].Value != nil; n++ {
		}
	case first.Type == 8:
	case first.Type == 6 && first.Value == nil: // the group is deleted: 6 4 3
		n = 3
	default: // to what a member has then
		for n < len(records) && typeAt(n-1) != 8 {
			n++
		}
	}
	return n
}

// requestOf returns the heartbeat that made the records of an operation.
func requestOf(group string, op []written, states map[string]memberState) *kmsg.ConsumerGroupHeartbeatRequest {
	last := op[len(op)-1]
	if first, ok := op[0].Key.(*grouprec.ConsumerGroupCurrentMemberAssignmentKey); ok && op[0].Value == nil {
		return beats(group, first.MemberID, -1)
	}
	member := last.Key.(*grouprec.ConsumerGroupCurrentMemberAssignmentKey).MemberID
	now := last.Value.(*grouprec.ConsumerGroupCurrentMemberAssignmentValue)
	before := states[member]
	states[member] = memberState(now.State)
	if says, ok := op[0].Value.(*grouprec.ConsumerGroupMemberMetadataValue); ok {
		q := joins(group, member, says.SubscribedTopicNames...)
		q.InstanceID, q.RackID, q.ServerAssignor, q.RebalanceTimeoutMillis = says.InstanceID, says.RackID, says.ServerAssignor, says.RebalanceTimeoutMs
		return q
	}
	q := beats(group, member, 0)
	if before == unrevoked { // it has given up what it was to
		q.Topics = []kmsg.ConsumerGroupHeartbeatRequestTopic{}
		for _, p := range now.AssignedPartitions {
			q.Topics = append(q.Topics, kmsg.ConsumerGroupHeartbeatRequestTopic{TopicID: p.TopicID, Partitions: p.Partitions})
		}
	}
	return q
}

// heartbeatOf sends a heartbeat of a client as it was, at the epoch of its member.
func (b *bench) heartbeatOf(q *kmsg.ConsumerGroupHeartbeatRequest, op []written) {
	b.t.Helper()
	from := Client{}
	if says, ok := op[0].Value.(*grouprec.ConsumerGroupMemberMetadataValue); ok {
		from = Client{says.ClientID, says.ClientHost}
	} else {
		b.consumer(q.Group, func(g *consumerGroup) {
			m := g.members[q.MemberID]
			from = Client{m.clientID, m.clientHost}
			if q.InstanceID = m.instance; q.MemberEpoch == 0 {
				q.MemberEpoch = m.epoch
			}
		})
	}
	a := ask(b.t, func(reply func(*kmsg.ConsumerGroupHeartbeatResponse)) { b.ConsumerGroupHeartbeat(from, q, reply) }).get()
	if a.ErrorCode != 0 {
		b.t.Fatalf("%+v: %+v", q, a)
	}
}

// compareRecords compares records by their bytes, and targets of members in any
// order.
func compareRecords(t *testing.T, got []grouprec.Record, want []written) {
	t.Helper()
	encode := func(r grouprec.Record) string {
		switch v := r.Value.(type) { // topics in the order of a hash table
		case *grouprec.ConsumerGroupTargetAssignmentMemberValue:
			slices.SortFunc(v.TopicPartitions, func(a, b grouprec.TopicPartitions) int { return bytes.Compare(a.TopicID[:], b.TopicID[:]) })
		case *grouprec.ConsumerGroupCurrentMemberAssignmentValue:
			slices.SortFunc(v.AssignedPartitions, func(a, b grouprec.AssignedPartitions) int { return bytes.Compare(a.TopicID[:], b.TopicID[:]) })
		}
		key, err := grouprec.AppendKey(nil, r.Key)
		if err != nil {
			t.Fatal(err)
		}
		if r.Value == nil {
			return string(key) + "-"
		}
		value, err := grouprec.AppendValue(nil, r.Value, r.Version)
		if err != nil {
			t.Fatal(err)
		}
		return string(key) + "=" + string(value)
	}
	var a, b []string
	for _, r := range got {
		a = append(a, encode(r))
	}
	for _, r := range want {
		b = append(b, encode(r.Record))
	}
	target := func(s string) bool { return strings.HasPrefix(s, "\x00\x07") }
	for _, list := range [][]string{a, b} {
		from := slices.IndexFunc(list, target)
		to := from
		for from >= 0 && to < len(list) && target(list[to]) {
			to++
		}
		slices.Sort(list[max(0, from):max(0, to)])
	}
	if !slices.Equal(a, b) {
		var texts [2][]string
		for _, r := range got {
			texts[0] = append(texts[0], recordText(r))
		}
		for _, r := range want {
			texts[1] = append(texts[1], recordText(r.Record))
		}
		t.Fatalf("wrote\n%s\nKafka wrote\n%s\n%q\n%q", strings.Join(texts[0], "\n"), strings.Join(texts[1], "\n"), a, b)
	}
}
