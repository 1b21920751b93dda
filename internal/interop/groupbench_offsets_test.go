//go:build interop && linux

package interop

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"kf/internal/coordinator/group"
	"kf/internal/format/batch"
	"kf/internal/format/grouprec"
	"kf/internal/storage"
)

// An offsetsFile is a segment of __consumer_offsets with the offsets of groups in
// topics of partitionsEach partitions, a batch for each group and topic.
type offsetsFile struct {
	partition int32
	groups    []string // that belong to the partition
	topics    int      // of each group
	first     string   // another group of the partition, which is in it before
	elsewhere string   // a group of another partition
}

// offsetsTopicPartitions is Kafka's offsets.topic.num.partitions.
const offsetsTopicPartitions = 50

// newOffsetsFile returns a file of about n offsets: 100 partitions for each group.
func newOffsetsFile(n int) *offsetsFile {
	const first = "first"
	f := &offsetsFile{topics: 10, first: first, partition: group.Partition(first, offsetsTopicPartitions)}
	for i := 0; len(f.groups) < max(1, n/f.each()); i++ {
		name := fmt.Sprintf("group-%d", i)
		if group.Partition(name, offsetsTopicPartitions) == f.partition {
			f.groups = append(f.groups, name)
		} else {
			f.elsewhere = name
		}
	}
	return f
}

// each returns how many offsets a group has.
func (f *offsetsFile) each() int { return f.topics * partitionsEach }

// write appends the offsets to the partition in a directory of a broker that has
// stopped, and removes its indexes, which do not know of them.
func (f *offsetsFile) write(b *testing.B, dir string) {
	b.Helper()
	segment := filepath.Join(dir, storage.TopicPartition{Topic: group.Topic, Partition: f.partition}.String(), "00000000000000000000.log")
	p, err := os.ReadFile(segment)
	if err != nil {
		b.Fatal(err)
	}
	next := int64(0)
	for rest := p; len(rest) > 0; {
		h, err := batch.DecodeHeader(rest)
		if err != nil {
			b.Fatal(err)
		}
		next, rest = h.LastOffset()+1, rest[h.Size():]
	}
	now := time.Now().UnixMilli()
	for _, g := range f.groups {
		for t := range f.topics {
			if p, err = f.appendBatch(p, next, g, fmt.Sprintf("orders-%d", t), now); err != nil {
				b.Fatal(err)
			}
			next += partitionsEach
		}
	}
	if err := os.WriteFile(segment, p, 0o644); err != nil {
		b.Fatal(err)
	}
	for _, index := range []string{".index", ".timeindex"} {
		if err := os.Remove(segment[:len(segment)-len(".log")] + index); err != nil && !errors.Is(err, fs.ErrNotExist) {
			b.Fatal(err)
		}
	}
}

func (f *offsetsFile) appendBatch(p []byte, base int64, g, topic string, now int64) ([]byte, error) {
	var records []batch.Record
	for i := range int32(partitionsEach) {
		key, err := grouprec.AppendKey(nil, &grouprec.OffsetCommitKey{Group: g, Topic: topic, Partition: i})
		if err != nil {
			return p, err
		}
		id := [16]byte{1}
		copy(id[1:], topic)
		value, err := grouprec.AppendValue(nil, &grouprec.OffsetCommitValue{
			Offset: base + int64(i), LeaderEpoch: -1, CommitTimestamp: now, ExpireTimestamp: -1, TopicID: id,
		}, 4)
		if err != nil {
			return p, err
		}
		records = append(records, batch.Record{Offset: base + int64(i), Timestamp: now, Key: key, Value: value})
	}
	return batch.Append(p, batch.Header{
		BaseOffset: base, Magic: 2, LastOffsetDelta: partitionsEach - 1, BaseTimestamp: now, MaxTimestamp: now,
		ProducerID: -1, ProducerEpoch: -1, BaseSequence: 0, PartitionLeaderEpoch: 0,
	}, func(yield func(*batch.Record) bool) {
		for i := range records {
			if !yield(&records[i]) {
				return
			}
		}
	})
}

// commitFirst lets a group that has no members commit one offset, as soon as the
// server is there for it.
func (s *server) commitFirst(ctx context.Context, group string) error {
	c, err := dialGroup(ctx, s)
	if err != nil {
		return err
	}
	defer c.close()
	if err := c.findCoordinator(group); err != nil {
		return err
	}
	q := kmsg.NewPtrOffsetCommitRequest()
	q.Version, q.Group = 9, group
	q.Topics = []kmsg.OffsetCommitRequestTopic{{Topic: "orders", Partitions: []kmsg.OffsetCommitRequestTopicPartition{{LeaderEpoch: -1}}}}
	code, err := untilThere(func() (int16, error) {
		r, err := askGroup[*kmsg.OffsetCommitResponse](c, q)
		if err != nil || len(r.Topics) != 1 || len(r.Topics[0].Partitions) != 1 {
			return -1, err
		}
		return r.Topics[0].Partitions[0].ErrorCode, nil
	})
	if err == nil {
		err = kerr.ErrorForCode(code)
	}
	return err
}

// awaitOffsets waits until the server answers for groups that have n offsets each.
func (s *server) awaitOffsets(ctx context.Context, b *testing.B, groups []string, n int) {
	b.Helper()
	for _, g := range groups {
		if err := s.offsets(ctx, g, n); err != nil {
			b.Fatalf("%s: %v\n%s", s.name, err, &s.output)
		}
	}
}

// offsets waits until the server answers for a group, and checks that it has n
// offsets.
func (s *server) offsets(ctx context.Context, group string, n int) error {
	c, err := s.patientDial(ctx)
	if err != nil {
		return err
	}
	defer c.close()
	q := kmsg.NewPtrOffsetFetchRequest()
	q.Version, q.Groups = 9, []kmsg.OffsetFetchRequestGroup{{Group: group, MemberEpoch: -1}}
	var r *kmsg.OffsetFetchResponse
	code, err := untilThere(func() (int16, error) {
		r, err = askGroup[*kmsg.OffsetFetchResponse](c, q)
		if err != nil || len(r.Groups) != 1 {
			return -1, err
		}
		return r.Groups[0].ErrorCode, nil
	})
	if err == nil {
		err = kerr.ErrorForCode(code)
	}
	if err != nil {
		return err
	}
	for _, t := range r.Groups[0].Topics {
		n -= len(t.Partitions)
	}
	if n != 0 {
		return fmt.Errorf("%s: %d offsets are missing", group, n)
	}
	return nil
}

// patientDial connects when the server listens.
func (s *server) patientDial(ctx context.Context) (*groupConn, error) {
	for {
		c, err := dialGroup(ctx, s)
		if err == nil {
			return c, nil
		}
		select {
		case <-s.ended:
			return nil, fmt.Errorf("it has ended: %v", s.cmd.ProcessState)
		case <-ctx.Done():
			return nil, err
		case <-time.After(time.Millisecond):
		}
	}
}
