package client_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"kf/internal/client"
	"kf/internal/format/batch"
	"kf/internal/format/codec"
	"kf/internal/format/control"
)

// A logOf is a partition as a broker has it: batches with their offsets, of which
// compaction and markers leave gaps.
type logOf struct {
	batches []logBatch
	aborted []kmsg.FetchResponseTopicPartitionAbortedTransaction
}

type logBatch struct {
	first, last int64
	offsets     []int64 // of those that compaction left
	producer    int64   // of a transaction; 0: none
	abort       bool    // a marker
	size        int     // of each value
}

func (b *logBatch) bytes(t *testing.T) []byte {
	h := batch.Header{BaseOffset: b.first, Magic: 2, LastOffsetDelta: int32(b.last - b.first), BaseTimestamp: 1000, ProducerID: -1, ProducerEpoch: -1, BaseSequence: -1}
	if b.producer != 0 {
		h.Attributes, h.ProducerID, h.ProducerEpoch = batch.TransactionalBit, b.producer, 0
	}
	var records []*batch.Record
	for _, o := range b.offsets {
		r := &batch.Record{Offset: o, Timestamp: 1000 + o, Value: fmt.Appendf(nil, "%d%s", o, strings.Repeat("x", b.size))}
		if b.abort {
			h.Attributes |= batch.ControlBit
			r.Key = control.AppendKey(nil, control.Abort)
		}
		r.SetHeaders([]batch.RecordHeader{{Key: []byte("h"), Value: []byte("1")}})
		records = append(records, r)
	}
	p, err := batch.Append(nil, h, slices.Values(records))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// fetch answers a request as a broker does: whole batches from the one with the offset
// on, and the last one cut off at the limit, unless it is the first of all.
func (l *logOf) fetch(t *testing.T, offset int64, limit int, first bool) []byte {
	var p []byte
	for _, b := range l.batches {
		if b.last < offset {
			continue
		}
		p = append(p, b.bytes(t)...)
		if len(p) >= limit {
			if first && len(p)-len(b.bytes(t)) == 0 {
				return p
			}
			return p[:limit]
		}
	}
	return p
}

// serve makes the brokers of a cluster answer from logs, by partition of topic "t".
func (c *cluster) serve(t *testing.T, logs map[int32]*logOf) {
	c.ControlKey(int16(kmsg.Fetch), func(q kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		c.mu.Lock()
		c.counts["Fetch"]++
		c.mu.Unlock()
		fetch := q.(*kmsg.FetchRequest)
		answer := fetch.ResponseKind().(*kmsg.FetchResponse)
		room, first := int(fetch.MaxBytes), true
		for _, topic := range fetch.Topics {
			to := kmsg.NewFetchResponseTopic()
			to.Topic, to.TopicID = topic.Topic, topic.TopicID
			for _, p := range topic.Partitions {
				l := logs[p.Partition]
				part := kmsg.NewFetchResponseTopicPartition()
				part.Partition = p.Partition
				if l == nil {
					part.ErrorCode = kerr.OffsetOutOfRange.Code
				} else {
					part.RecordBatches = l.fetch(t, p.FetchOffset, min(room, int(p.PartitionMaxBytes)), first)
					part.AbortedTransactions = l.aborted
					if fetch.IsolationLevel == 0 {
						part.AbortedTransactions = nil
					}
					room -= len(part.RecordBatches)
					first = first && len(part.RecordBatches) == 0
				}
				to.Partitions = append(to.Partitions, part)
			}
			answer.Topics = append(answer.Topics, to)
		}
		return answer, nil, true
	})
}

// plain returns a batch of all offsets from first to last.
func plain(first, last int64) logBatch {
	b := logBatch{first: first, last: last}
	for o := first; o <= last; o++ {
		b.offsets = append(b.offsets, o)
	}
	return b
}

func TestAround(t *testing.T) {
	large := plain(0, 0)
	large.size = 200 << 10 // more than is asked for at once
	var largeLog []logBatch
	for i := range int64(40) {
		b := large
		b.first, b.last, b.offsets = i, i, []int64{i}
		largeLog = append(largeLog, b)
	}
	txn := func(first, last, producer int64) logBatch {
		b := plain(first, last)
		b.producer = producer
		return b
	}
	marker := func(at, producer int64) logBatch {
		return logBatch{first: at, last: at, offsets: []int64{at}, producer: producer, abort: true}
	}
	compacted := []logBatch{plain(0, 2), {first: 3, last: 499, offsets: []int64{7}}, {first: 500, last: 5000}, plain(5001, 5003), {first: 5004, last: 5010}}
	hole := []logBatch{plain(0, 9), {first: 10, last: 100_000}, plain(100_001, 100_005)}
	aborted := logOf{
		batches: []logBatch{plain(0, 1), txn(2, 3, 7), txn(4, 4, 8), marker(5, 7), txn(6, 6, 7), plain(7, 8)},
		aborted: []kmsg.FetchResponseTopicPartitionAbortedTransaction{{ProducerID: 7, FirstOffset: 2}},
	}
	for _, tt := range []struct {
		name      string
		log       logOf
		at        client.Around
		committed bool
		want      string // offsets
		cut       bool
	}{
		{"middle", logOf{batches: []logBatch{plain(0, 4), plain(5, 9)}}, client.Around{Offset: 5, End: 10, Before: 2, After: 3}, false, "[3 4 5 6 7]", false},
		{"start", logOf{batches: []logBatch{plain(0, 9)}}, client.Around{Offset: 0, End: 10, Before: 2, After: 2}, false, "[0 1]", false},
		{"end", logOf{batches: []logBatch{plain(0, 9)}}, client.Around{Offset: 10, End: 10, Before: 2, After: 2}, false, "[8 9]", false},
		{"past the end", logOf{batches: []logBatch{plain(0, 9)}}, client.Around{Offset: 50, End: 10, Before: 2, After: 2}, false, "[8 9]", false},
		{"before the start", logOf{batches: []logBatch{plain(0, 9)}}, client.Around{Offset: 1, Start: 4, End: 10, Before: 2, After: 2}, false, "[4 5]", false},
		{"behind the end that was known", logOf{batches: []logBatch{plain(0, 9)}}, client.Around{Offset: 4, End: 6, Before: 1, After: 5}, false, "[3 4 5]", false},
		{"only before", logOf{batches: []logBatch{plain(0, 9)}}, client.Around{Offset: 5, End: 10, Before: 2}, false, "[3 4]", false},
		{"only after", logOf{batches: []logBatch{plain(0, 9)}}, client.Around{Offset: 5, End: 10, After: 2}, false, "[5 6]", false},
		{"nothing", logOf{}, client.Around{Before: 2, After: 2}, false, "[]", false},
		{"compacted", logOf{batches: compacted}, client.Around{Offset: 5002, End: 5011, Before: 3, After: 5}, false, "[2 7 5001 5002 5003]", false},
		{"in a gap", logOf{batches: compacted}, client.Around{Offset: 3000, End: 5011, Before: 2, After: 1}, false, "[2 7 5001]", false},
		{"too far away", logOf{batches: hole}, client.Around{Offset: 100_003, End: 100_006, Before: 3, After: 1}, false, "[100001 100002 100003]", true},
		{"large", logOf{batches: largeLog}, client.Around{Offset: 20, End: 40, Before: 2, After: 2}, false, "[18 19 20 21]", false},
		{"markers", aborted, client.Around{Offset: 4, End: 9, Before: 2, After: 9}, false, "[2 3 4 6 7 8]", false},
		{"committed", aborted, client.Around{Offset: 4, End: 9, Before: 2, After: 9}, true, "[0 1 4 6 7 8]", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			k := newCluster(t, kfake.SeedTopics(1, "t"))
			k.serve(t, map[int32]*logOf{0: &tt.log})
			cl := k.client(t, 20*time.Second)
			topics, err := cl.Topics(t.Context(), []string{"t"})
			if err != nil {
				t.Fatal(err)
			}
			tt.at.Topic, tt.at.TopicID, tt.at.Leader = "t", topics.Topics[0].ID, topics.Topics[0].Partitions[0].Leader
			got := cl.Around(deadline(t, 20*time.Second), []client.Around{tt.at}, tt.committed)[0]
			offsets := []int64{}
			for _, r := range got.Records {
				offsets = append(offsets, r.Offset)
				if value := fmt.Sprint(r.Offset); r.Timestamp != 1000+r.Offset || !strings.HasPrefix(string(r.Value), value) || r.Key != nil || len(r.Headers) != 1 {
					t.Errorf("got %+v", r)
				}
			}
			if fmt.Sprint(offsets) != tt.want || got.Err != nil || got.Cut != tt.cut {
				t.Errorf("got %v, %v, cut %v; want %s", offsets, got.Err, got.Cut, tt.want)
			}
		})
	}
}

// All partitions of a leader come in one request, and if it has not room for all of
// them in the next.
func TestAroundMany(t *testing.T) {
	const partitions = 6
	k := newCluster(t, kfake.SeedTopics(partitions, "t"))
	logs := make(map[int32]*logOf)
	for p := range int32(partitions - 1) {
		b := plain(0, 4)
		b.size = 30 << 10
		logs[p] = &logOf{batches: []logBatch{b}}
	}
	k.serve(t, logs)
	cl := k.client(t, 20*time.Second)
	topics, err := cl.Topics(t.Context(), []string{"t"})
	if err != nil {
		t.Fatal(err)
	}
	var of []client.Around
	for p := range int32(partitions + 1) {
		a := client.Around{Topic: "t", TopicID: topics.Topics[0].ID, Partition: p, Leader: -1, Offset: 2, End: 5, Before: 1, After: 2}
		if p < partitions {
			a.Leader = topics.Topics[0].Partitions[p].Leader
		}
		of = append(of, a)
	}
	k.requests()
	got := cl.Around(deadline(t, 20*time.Second), of, false)
	for p, s := range got {
		switch {
		case p < partitions-1 && (s.Err != nil || len(s.Records) != 3):
			t.Errorf("partition %d: %d records, %v", p, len(s.Records), s.Err)
		case p == partitions-1 && !errors.Is(s.Err, kerr.OffsetOutOfRange), p == partitions && !errors.Is(s.Err, kerr.LeaderNotAvailable):
			t.Errorf("partition %d: %v", p, s.Err)
		}
	}
	// A batch is larger than what is asked for, so that a broker gives all of it only
	// for the first partition that has data.
	k.mu.Lock()
	defer k.mu.Unlock()
	if n := k.counts["Fetch"]; n < 1 || n > partitions {
		t.Errorf("%d fetches", n)
	}
}

// What a broker answers may be anything.
func TestAroundDamage(t *testing.T) {
	sound := plain(0, 9)
	p := sound.bytes(t)
	broken := slices.Clone(p)
	broken[len(broken)-1] ^= 1
	garbage, err := batch.Append(nil, batch.Header{Magic: 2, Attributes: int16(codec.None)}, slices.Values([]*batch.Record{}))
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{
		"checksum": broken, "nothing": nil, "zeros": make([]byte, 1000), "cut": p[:len(p)-1], "short": p[:10], "an empty batch": garbage,
	} {
		k := newCluster(t, kfake.SeedTopics(1, "t"))
		k.ControlKey(int16(kmsg.Fetch), func(q kmsg.Request) (kmsg.Response, error, bool) {
			k.KeepControl()
			fetch := q.(*kmsg.FetchRequest)
			answer := fetch.ResponseKind().(*kmsg.FetchResponse)
			to := kmsg.NewFetchResponseTopic()
			to.Topic, to.TopicID = fetch.Topics[0].Topic, fetch.Topics[0].TopicID
			part := kmsg.NewFetchResponseTopicPartition()
			part.RecordBatches = data
			to.Partitions = append(to.Partitions, part)
			answer.Topics = append(answer.Topics, to)
			return answer, nil, true
		})
		cl := k.client(t, 20*time.Second)
		topics, err := cl.Topics(t.Context(), []string{"t"})
		if err != nil {
			t.Fatal(err)
		}
		at := client.Around{Topic: "t", TopicID: topics.Topics[0].ID, Leader: topics.Topics[0].Partitions[0].Leader, Offset: 5, End: 10, Before: 2, After: 2}
		if got := cl.Around(deadline(t, 20*time.Second), []client.Around{at}, false)[0]; got.Err == nil || len(got.Records) > 0 {
			t.Errorf("%s: got %+v", name, got)
		}
	}
}
