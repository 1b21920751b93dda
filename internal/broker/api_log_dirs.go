package broker

import (
	"cmp"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"kf/internal/storage"
	"kf/internal/storage/disk"
)

// DescribeLogDirs, key 35, versions 1 to 5: the log directories in the order of
// log.dirs, with the sizes of partitions that are not open taken from their files.
//
// Deviations from Kafka 4.4.0:
//   - A copy for a move between log directories, which kf finishes when an earlier
//     Kafka began it, is not listed.
//   - No log directory is ever cordoned.

func (b *Broker) describeLogDirs(_ *call, q *kmsg.DescribeLogDirsRequest) kmsg.Response {
	answer := q.ResponseKind().(*kmsg.DescribeLogDirsResponse)
	asked := make(map[storage.TopicPartition]bool)
	for _, t := range q.Topics {
		for _, p := range t.Partitions {
			asked[storage.TopicPartition{Topic: t.Topic, Partition: p}] = true
		}
	}
	in := make([][]storage.TopicPartition, len(b.o.Dirs))
	for _, r := range b.store.Replicas() {
		if q.Topics == nil || asked[r.TP] {
			in[r.Dir] = append(in[r.Dir], r.TP)
		}
	}
	offline := b.store.Offline()
	for i, path := range b.o.Dirs {
		answer.Dirs = append(answer.Dirs, b.describeLogDir(path, offline[i], in[i]))
	}
	return answer
}

func (b *Broker) describeLogDir(path string, offline error, partitions []storage.TopicPartition) kmsg.DescribeLogDirsResponseDir {
	to := kmsg.NewDescribeLogDirsResponseDir()
	to.Dir = path
	if absolute, err := filepath.Abs(path); err == nil {
		to.Dir = absolute
	}
	if offline != nil {
		to.ErrorCode = kerr.KafkaStorageError.Code
		return to
	}
	total, usable, err := disk.Space(path)
	if err != nil {
		b.log.Error("the space on a volume is unknown", "dir", to.Dir, "error", err)
		to.ErrorCode = kerr.UnknownServerError.Code
		return to
	}
	to.TotalBytes, to.UsableBytes = total, usable
	slices.SortFunc(partitions, func(a, b storage.TopicPartition) int {
		return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition))
	})
	for _, tp := range partitions {
		size, err := b.store.Size(tp)
		switch {
		case errors.Is(err, storage.ErrNoReplica), errors.Is(err, fs.ErrNotExist):
			continue // deleted meanwhile
		case err != nil:
			b.log.Error("the size of a partition is unknown", "partition", tp, "error", err)
			to.ErrorCode, to.Topics = codeOf(err), nil
			return to
		}
		p := kmsg.NewDescribeLogDirsResponseDirTopicPartition()
		p.Partition, p.Size = tp.Partition, size // the high watermark is never past the end: no lag
		if n := len(to.Topics); n == 0 || to.Topics[n-1].Topic != tp.Topic {
			t := kmsg.NewDescribeLogDirsResponseDirTopic()
			t.Topic = tp.Topic
			to.Topics = append(to.Topics, t)
		}
		last := &to.Topics[len(to.Topics)-1]
		last.Partitions = append(last.Partitions, p)
	}
	return to
}
