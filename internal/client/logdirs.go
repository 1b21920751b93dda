package client

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// A LogDir is a log directory of a broker.
type LogDir struct {
	Broker   int32
	Path     string
	Total    int64 // bytes of its volume, -1 from brokers before 3.3
	Usable   int64 // bytes that are free there, -1 likewise
	Cordoned bool  // gets no new replicas
	Replicas []LogDirReplica
	Err      error // it is offline
}

// A LogDirReplica is a partition in a log directory.
type LogDirReplica struct {
	Topic     string
	Partition int32
	Size      int64 // bytes of its segments
	// OffsetLag is how far its end is behind the high watermark, or that of a future
	// replica behind the end of the current one.
	OffsetLag int64
	Future    bool // it will take the place of one in another directory
}

// LogDirs asks brokers, each once and all at the same time, for their log directories
// with the partitions of a set, or with all if it is nil. The error is that of brokers
// which did not answer; the directories of the others are there, by broker.
func (c *Client) LogDirs(ctx context.Context, brokers kadm.BrokerDetails, of kadm.TopicsSet) ([]LogDir, error) {
	ctx, cancel := patience(ctx)
	defer cancel()
	var (
		wg   sync.WaitGroup
		dirs = make([][]LogDir, len(brokers))
		errs = make([]error, len(brokers))
	)
	for i, b := range brokers {
		q := kmsg.NewPtrDescribeLogDirsRequest()
		if of != nil {
			q.Topics = []kmsg.DescribeLogDirsRequestTopic{}
		}
		for topic, partitions := range of {
			t := kmsg.NewDescribeLogDirsRequestTopic()
			t.Topic = topic
			for p := range partitions {
				t.Partitions = append(t.Partitions, p)
			}
			q.Topics = append(q.Topics, t)
		}
		wg.Go(func() {
			r, err := q.RequestWith(ctx, c.kgo.Broker(int(b.NodeID)))
			switch {
			case ctx.Err() != nil:
				err = context.Cause(ctx)
			case err == nil:
				err = kerr.ErrorForCode(r.ErrorCode)
			}
			if err != nil {
				errs[i] = brokerError(b, serves(q, err))
				return
			}
			for _, d := range r.Dirs {
				dirs[i] = append(dirs[i], logDirOf(b.NodeID, d))
			}
		})
	}
	wg.Wait()
	return slices.Concat(dirs...), errors.Join(errs...)
}

func logDirOf(broker int32, d kmsg.DescribeLogDirsResponseDir) LogDir {
	to := LogDir{
		Broker: broker, Path: d.Dir, Total: d.TotalBytes, Usable: d.UsableBytes, Cordoned: d.IsCordoned,
		Err: kerr.ErrorForCode(d.ErrorCode),
	}
	for _, t := range d.Topics {
		for _, p := range t.Partitions {
			to.Replicas = append(to.Replicas, LogDirReplica{t.Topic, p.Partition, p.Size, p.OffsetLag, p.IsFuture})
		}
	}
	return to
}
