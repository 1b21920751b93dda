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
	"kf/internal/format/batch"
	"kf/internal/format/grouprec"
	"kf/internal/format/kraftrec"
)

// deleted returns the top code and those of the partitions of an OffsetDelete.
func (b *bench) deleted(group string, parts ...part) (code int16, codes []int16) {
	b.t.Helper()
	q := kmsg.NewPtrOffsetDeleteRequest()
	q.Group = group
	for _, p := range parts {
		q.Topics = append(q.Topics, kmsg.OffsetDeleteRequestTopic{
			Topic: p.topic, Partitions: []kmsg.OffsetDeleteRequestTopicPartition{{Partition: p.partition}},
		})
	}
	r := ask(b.t, func(reply func(*kmsg.OffsetDeleteResponse)) { b.OffsetDelete(q, reply) }).get()
	for i, t := range r.Topics {
		if t.Topic != parts[i].topic || t.Partitions[0].Partition != parts[i].partition {
			b.t.Errorf("topic %d is %s", i, t.Topic)
		}
		codes = append(codes, t.Partitions[0].ErrorCode)
	}
	return r.ErrorCode, codes
}

// brief writes records: the keys of tombstones, other types by their name.
func brief(records []grouprec.Record) string {
	var parts []string
	for _, r := range records {
		s := grouprec.Name(r.Type)
		if key, ok := r.Key.(*grouprec.OffsetCommitKey); ok {
			s = fmt.Sprintf("%s/%s-%d", key.Group, key.Topic, key.Partition)
		}
		if r.Value == nil {
			s = "-" + s
		}
		parts = append(parts, s)
	}
	return strings.Join(parts, " ")
}

func TestOffsetDelete(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, map[string]int32{"t": 2, "read": 1})
		b.must(commitOf("g", 9, part{"t", 0, 5}, part{"t", 1, 6}))
		from := b.log.HighWatermark()
		if code, codes := b.deleted("g", part{topic: "t"}, part{topic: "read"}); code != 0 || !slices.Equal(codes, []int16{0, 0}) {
			t.Errorf("%d %v", code, codes)
		}
		if s := brief(b.log.records(t, from)); s != "-g/t-0" {
			t.Errorf("records %s", s)
		}
		for range 2 {
			if s := b.offsets("g"); s != "t-1=6" {
				t.Error(s)
			}
			b.restart()
		}

		b.stable("live")
		b.write(put(&grouprec.ShareGroupMetadataKey{GroupID: "share"}, &grouprec.ShareGroupMetadataValue{}))
		connect := &grouprec.GroupMetadataValue{
			ProtocolType: "connect", Generation: 1, Protocol: new("default"), Leader: new("m"),
			Members: []grouprec.GroupMember{{MemberID: "m", SessionTimeout: 10000, RebalanceTimeout: 10000}},
		}
		b.write(put(&grouprec.GroupMetadataKey{Group: "connect"}, connect))
		for _, tt := range []struct {
			group string
			code  int16
			codes []int16
		}{
			{"live", 0, []int16{0, kerr.GroupSubscribedToTopic.Code}},
			{"connect", kerr.NonEmptyGroup.Code, nil},
			{"none", kerr.GroupIDNotFound.Code, nil},
			{"share", kerr.GroupIDNotFound.Code, nil},
			{"", kerr.InvalidGroupID.Code, nil},
		} {
			if code, codes := b.deleted(tt.group, part{topic: "t"}, part{topic: "read"}); code != tt.code || !slices.Equal(codes, tt.codes) {
				t.Errorf("%q: %d %v, want %d %v", tt.group, code, codes, tt.code, tt.codes)
			}
		}
		b.log.fail(shard.ErrUnavailable)
		if code, codes := b.deleted("g", part{topic: "t", partition: 1}); code != kerr.CoordinatorNotAvailable.Code || codes != nil {
			t.Errorf("failed append: %d %v", code, codes)
		}
		if s := b.offsets("g"); s != "t-1=6" {
			t.Error(s)
		}
	})
}

// deleteTopic deletes a topic in the next image.
func (b *bench) deleteTopic(name string) {
	b.t.Helper()
	if err := b.build.Replay(&kraftrec.RemoveTopicRecord{TopicID: b.image.Topic(name).ID}); err != nil {
		b.t.Fatal(err)
	}
}

func TestTopicsDeleted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, map[string]int32{"t": 2, "other": 1})
		b.must(commitOf("g", 9, part{"t", 0, 5}, part{"t", 1, 6}, part{"other", 0, 7}))
		b.must(commitOf("h", 9, part{"t", 0, 5}))
		b.write( // of no topic that is known, and of an earlier one of that name
			put(&grouprec.OffsetCommitKey{Group: "old", Topic: "t"}, &grouprec.OffsetCommitValue{Offset: 1, ExpireTimestamp: -1}),
			put(&grouprec.OffsetCommitKey{Group: "old", Topic: "t", Partition: 1}, &grouprec.OffsetCommitValue{Offset: 2, ExpireTimestamp: -1, TopicID: topicID("x")}))
		b.transact(7, offsetRecord("g", "t", 1, 9), offsetRecord("h", "other", 0, 9))
		b.deleteTopic("t")
		b.publish()
		for range 2 {
			for group, want := range map[string]string{"g": "other-0=7", "h": "", "old": "t-1=2"} {
				if s := b.offsets(group); s != want {
					t.Errorf("%s: %q, want %q", group, s, want)
				}
			}
			b.restart()
		}
		b.end(7, true)
		if s := b.offsets("g") + "; " + b.offsets("h"); s != "other-0=7; other-0=9" {
			t.Error(s)
		}
		from := b.log.HighWatermark()
		b.publish()
		if b.log.HighWatermark() != from {
			t.Error("an image without a deleted topic wrote something")
		}
	})
}

// A topic that is deleted while the offsets are loading takes its own with it.
func TestTopicDeletedInLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, map[string]int32{"t": 1, "other": 1})
		b.must(commitOf("g", 9, part{"t", 0, 5}, part{"other", 0, 7}))
		opened := make(chan struct{})
		b.Lead(0, b.epoch+1, slowLog{b.log, opened})
		loaded := b.Loaded(0)
		b.deleteTopic("t")
		b.publish()
		close(opened)
		<-loaded
		synctest.Wait()
		if s := b.offsets("g"); s != "other-0=7" {
			t.Error(s)
		}
		opened = make(chan struct{})
		b.Lead(0, b.epoch+2, slowLog{b.log, opened})
		b.Loaded(0)
		b.deleteTopic("other")
		b.publish()
		from := b.log.HighWatermark()
		b.Resign(0) // before it is loaded
		synctest.Wait()
		close(opened)
		synctest.Wait()
		if b.log.HighWatermark() != from {
			t.Error("a shard that ended wrote something")
		}
	})
}

func TestExpiry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, map[string]int32{"t": 3, "read": 1})
		b.config.OffsetRetention = time.Hour.Milliseconds()
		b.config.OffsetCheckInterval = time.Minute.Milliseconds()
		b.restart()
		left := func(group, want string) {
			t.Helper()
			synctest.Wait()
			if s := b.offsets(group); s != want {
				t.Errorf("%s: %q, want %q", group, s, want)
			}
		}
		there := func(group string, want bool) {
			t.Helper()
			if got := b.group(group) != nil; got != want {
				t.Errorf("%s: there %v, want %v", group, got, want)
			}
		}

		b.must(commitOf("simple", 9, part{"t", 0, 5}))
		b.stable("live")
		q := commitOf("live", 9, part{"t", 0, 5}, part{"read", 0, 5})
		q.MemberID, q.Generation = "m", 3
		b.must(q)
		b.stable("idle") // has members and no offsets
		for id, after := range map[string]time.Duration{"own": 2 * time.Minute, "late": 2*time.Minute + time.Millisecond} {
			own := commitOf(id, 4, part{"t", 0, 5})
			own.RetentionTimeMillis = after.Milliseconds()
			b.must(own)
		}
		b.must(commitOf("pending", 9, part{"t", 0, 5}))
		b.transact(7, offsetRecord("pending", "t", 0, 9))

		// The member of live keeps alive until it is told otherwise.
		pass := func(d time.Duration) {
			for ; d > 0; d -= 8 * time.Second {
				time.Sleep(min(d, 8*time.Second))
				b.beat("live", "m", 3)
			}
		}
		pass(2*time.Minute + time.Second)
		left("own", "")
		there("own", false)
		left("late", "t-0=5")
		there("idle", true)
		left("simple", "t-0=5")
		pass(28 * time.Minute)
		b.must(commitOf("simple", 9, part{"t", 1, 6}))
		pass(31 * time.Minute)
		left("simple", "t-1=6")
		there("simple", true)
		left("live", "read-0=5") // as the member is subscribed
		there("live", true)
		left("pending", "t-0=5") // until the transaction ends
		b.end(7, false)
		pass(time.Minute)
		left("pending", "")
		there("pending", false)

		// The member is gone: its group is empty, and from then on time counts.
		time.Sleep(11 * time.Second)
		synctest.Wait()
		if s := b.group("live").state(); s != "Empty" {
			t.Fatalf("the group is %s", s)
		}
		time.Sleep(58 * time.Minute)
		left("simple", "")
		there("simple", false)
		left("live", "read-0=5")
		time.Sleep(3 * time.Minute)
		left("live", "")
		there("live", false)
		b.restart()
		there("live", false)
		there("simple", false)
	})
}

// beat sends a heartbeat.
func (b *bench) beat(group, member string, generation int32) {
	b.t.Helper()
	q := kmsg.NewPtrHeartbeatRequest()
	q.Group, q.MemberID, q.Generation = group, member, generation
	if r := ask(b.t, func(reply func(*kmsg.HeartbeatResponse)) { b.Heartbeat(q, reply) }).get(); r.ErrorCode != 0 {
		b.t.Errorf("heartbeat: %d", r.ErrorCode)
	}
}

// What expires at once goes in as many batches as it needs, offsets before their
// group; if it cannot be written it is tried at the next check.
func TestExpiryInBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, map[string]int32{"t": 200})
		b.config.OffsetRetention = time.Hour.Milliseconds()
		var parts []part
		for i := range 200 {
			parts = append(parts, part{"t", int32(i), 1})
		}
		b.must(commitOf("g", 9, parts...))
		b.stop()
		b.config.BatchBytes = 1000
		b.start()
		b.log.fail(shard.ErrUnavailable)
		time.Sleep(71 * time.Minute) // one check is missed
		synctest.Wait()
		b.log.fail(nil)
		if b.group("g") == nil || len(b.fetch(fetchOf("g"), false).Topics) != 1 {
			t.Error("expired without a record")
		}
		from := b.log.HighWatermark()
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		records := b.log.records(t, from)
		if n := len(records); n != 201 || records[200].Type != 2 {
			t.Errorf("%d records, the last one of type %d", n, records[n-1].Type)
		}
		p, _ := b.log.Read(from, 0)
		if h, err := batch.DecodeHeader(p); err != nil || h.Size() > 1000 || h.LastOffsetDelta == 0 {
			t.Errorf("a batch of %d bytes and %d records, %v", h.Size(), h.LastOffsetDelta+1, err)
		}
		if b.group("g") != nil || b.offsets("g") != "" {
			t.Error("something is left")
		}
	})
}
