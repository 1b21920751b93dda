package group

import (
	"fmt"
	"log/slog"
	"runtime"
	"sort"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kf/internal/format/batch"
	"kf/internal/format/grouprec"
	"kf/internal/image"
)

// A bulkLog is a log that is read, and that appends to nowhere.
type bulkLog struct {
	p    []byte
	at   []int // where the batches begin
	next int64
}

func (l *bulkLog) Append(p []byte) (int64, error) {
	h, err := batch.DecodeHeader(p)
	l.next += int64(h.LastOffsetDelta) + 1
	return l.next, err
}

func (l *bulkLog) Read(offset int64, max int) ([]byte, error) {
	i := sort.Search(len(l.at), func(i int) bool {
		h, err := batch.DecodeHeader(l.p[l.at[i]:])
		return err != nil || h.LastOffset() >= offset
	})
	if i == len(l.at) {
		return nil, nil
	}
	j := sort.Search(len(l.at), func(j int) bool { return l.at[j] > l.at[i]+max })
	if j == len(l.at) {
		return l.p[l.at[i]:], nil
	}
	return l.p[l.at[i]:l.at[j-1]], nil
}

func (l *bulkLog) LogStartOffset() int64 { return 0 }
func (l *bulkLog) HighWatermark() int64  { return l.next }

// commits returns a log with the commits of groups, each of which reads topics of
// some partitions and commits ten partitions at once.
func commits(b *testing.B, groups, topics, partitions int) *bulkLog {
	l := new(bulkLog)
	var records []batch.Record
	flush := func() {
		h := batch.Header{
			BaseOffset: l.next, Magic: 2, LastOffsetDelta: int32(len(records) - 1), BaseTimestamp: 1, MaxTimestamp: 1,
			ProducerID: -1, ProducerEpoch: -1, BaseSequence: 0,
		}
		l.at = append(l.at, len(l.p))
		var err error
		l.p, err = batch.Append(l.p, h, func(yield func(*batch.Record) bool) {
			for i := range records {
				records[i].Offset = l.next + int64(i)
				if !yield(&records[i]) {
					return
				}
			}
		})
		if err != nil {
			b.Fatal(err)
		}
		l.next += int64(len(records))
		records = records[:0]
	}
	for g := range groups {
		for t := range topics {
			topic := fmt.Sprintf("orders-of-region-%03d", t)
			for p := range partitions {
				key, err := grouprec.AppendKey(nil, &grouprec.OffsetCommitKey{Group: fmt.Sprintf("order-fulfillment-%06d", g), Topic: topic, Partition: int32(p)})
				if err != nil {
					b.Fatal(err)
				}
				value, err := grouprec.AppendValue(nil, &grouprec.OffsetCommitValue{
					Offset: int64(p), LeaderEpoch: 1, CommitTimestamp: 1, ExpireTimestamp: -1, TopicID: topicID(topic[17:]),
				}, 4)
				if err != nil {
					b.Fatal(err)
				}
				if records = append(records, batch.Record{Key: key, Value: value}); len(records) == 10 {
					flush()
				}
			}
		}
	}
	if len(records) > 0 {
		flush()
	}
	return l
}

// serveLog returns a coordinator that has loaded a log.
func serveLog(b *testing.B, config *Config, im *image.Image, l *bulkLog) *Coordinator {
	c := New(Options{
		Image: func() *image.Image { return im }, Config: func(string) *Config { return config }, Log: slog.New(slog.DiscardHandler),
	})
	c.Lead(0, 1, l)
	<-c.Loaded(0)
	if err := c.hosted(0).shard.Err(); err != nil {
		b.Fatal(err)
	}
	return c
}

// BenchmarkLoad loads up to a million offsets, and says how much memory one takes
// with its share of what a group does.
func BenchmarkLoad(b *testing.B) {
	for _, shape := range [][3]int{{1000, 10, 100}, {100_000, 1, 10}, {100_000, 1, 1}} {
		b.Run(fmt.Sprintf("%dx%dx%d", shape[0], shape[1], shape[2]), func(b *testing.B) {
			s := newBench(b, nil)
			l := commits(b, shape[0], shape[1], shape[2])
			b.SetBytes(int64(len(l.p)))
			b.ReportAllocs()
			before := heap()
			for b.Loop() {
				c := serveLog(b, &s.config, s.image, l)
				b.StopTimer()
				b.ReportMetric(float64(heap()-before)/float64(l.next), "B/offset")
				c.Close()
				b.StartTimer()
			}
		})
	}
}

// heap returns what is in use, in bytes.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// BenchmarkCommit commits ten partitions a request.
func BenchmarkCommit(b *testing.B) {
	s := newBench(b, map[string]int32{"t": 10})
	c := serveLog(b, &s.config, s.image, new(bulkLog))
	q := commitOf("g", 9)
	t := kmsg.NewOffsetCommitRequestTopic()
	t.Topic, t.TopicID = "t", topicID("t")
	for i := range int32(10) {
		p := kmsg.NewOffsetCommitRequestTopicPartition()
		p.Partition, p.Offset = i, 5
		t.Partitions = append(t.Partitions, p)
	}
	q.Topics = append(q.Topics, t)
	b.ReportAllocs()
	for b.Loop() {
		c.OffsetCommit(q, func(r *kmsg.OffsetCommitResponse) {
			if code := r.Topics[0].Partitions[9].ErrorCode; code != 0 {
				b.Fatalf("code %d", code)
			}
		})
	}
	b.StopTimer()
	c.Close()
}
