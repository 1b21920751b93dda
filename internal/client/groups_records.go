package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"kf/internal/format/batch"
)

// A FirstRecord is what a consumer would read first from an offset on. A record of an
// aborted transaction is one too.
type FirstRecord struct {
	Offset    int64 // -1: there is none up to the end of the partition
	Timestamp int64 // ms since the epoch; below 0 if the record has none
	LogStart  int64 // log start offset; -1 if it is not known
	Err       error // why the record is not known
}

// A Place is an offset of a partition.
type Place struct {
	Topic     string
	Partition int32
	Offset    int64
}

// FirstRecords reads the first record at or behind each of the places, or behind the
// log start offset where that is larger. With committed the end of a partition is its
// last stable offset.
//
// Each leader is asked at first for a few KiB of every partition, which a small batch
// fits into, and again with more where that brought nothing; no answer is much larger
// than fetchBytes, unless a single batch is.
func (c *Client) FirstRecords(ctx context.Context, places []Place, committed bool) map[Place]FirstRecord {
	ctx, cancel := patience(ctx)
	defer cancel()
	records := make(map[Place]FirstRecord, len(places))
	var all []*reading
	for _, place := range places {
		if _, twice := records[place]; !twice {
			records[place] = FirstRecord{}
			all = append(all, &reading{Place: place, next: place.Offset, first: FirstRecord{Offset: -1, Timestamp: -1, LogStart: -1, Err: errNoAnswer}})
		}
	}
	slices.SortFunc(all, func(a, b *reading) int {
		return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition), cmp.Compare(a.Offset, b.Offset))
	})
	// The first attempt is all, unless leaders move or records were deleted.
	pending := all
	for attempt := 0; attempt < 4 && len(pending) > 0; attempt++ {
		c.read(ctx, pending, attempt > 0, committed)
		c.clamp(ctx, pending)
		pending = slices.DeleteFunc(slices.Clone(pending), func(r *reading) bool { return !r.again })
	}
	for _, r := range all {
		records[r.Place] = r.first
	}
	return records
}

const (
	fetchBytes     = 4 << 20 // of all partitions in an answer
	fetchBrokers   = 8       // brokers that answer at the same time
	maxInflated    = 64 << 20
	firstPartition = 8 << 10  // of one partition, at first, …
	lastPartition  = 32 << 20 // … and at last, when it is asked for alone: then a batch of any size comes
)

// A reading is how far the search for the first record of a partition is.
type reading struct {
	Place
	id    [16]byte // of the topic
	next  int64    // where to fetch from
	limit int32    // bytes
	again bool     // not done: another attempt may help
	first FirstRecord
}

func (r *reading) fail(err error) {
	r.first.Err, r.again = err, false
}

// read asks the leaders of partitions for their records; fresh says not to trust what
// is known of leaders.
func (c *Client) read(ctx context.Context, pending []*reading, fresh, committed bool) {
	at, err := c.leaders(ctx, pending, fresh)
	if err != nil {
		for _, r := range pending {
			r.fail(err)
		}
		return
	}
	var all sync.WaitGroup
	slots := make(chan struct{}, fetchBrokers)
	for node, queue := range at {
		all.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			c.readFrom(ctx, node, queue, committed)
		})
	}
	all.Wait()
}

// leaders returns the partitions by leader. What has none fails.
func (c *Client) leaders(ctx context.Context, pending []*reading, fresh bool) (map[int32][]*reading, error) {
	q := kmsg.NewPtrMetadataRequest()
	of := make(map[string]map[int32][]*reading)
	for _, r := range pending {
		if of[r.Topic] == nil {
			of[r.Topic] = make(map[int32][]*reading)
			t := kmsg.NewMetadataRequestTopic()
			t.Topic = kmsg.StringPtr(r.Topic)
			q.Topics = append(q.Topics, t)
		}
		of[r.Topic][r.Partition] = append(of[r.Topic][r.Partition], r)
		r.fail(kerr.UnknownTopicOrPartition)
	}
	age := time.Duration(0) // franz-go's own idea of what is not too old
	if fresh {
		age = 1
	}
	answer, err := c.kgo.RequestCachedMetadata(ctx, q, age)
	if err != nil {
		return nil, err
	}
	at := make(map[int32][]*reading)
	for _, t := range answer.Topics {
		if t.Topic == nil {
			continue
		}
		for _, p := range t.Partitions {
			for _, r := range of[*t.Topic][p.Partition] {
				if p.Leader < 0 {
					r.fail(kerr.LeaderNotAvailable)
					continue
				}
				r.id, r.limit = t.TopicID, firstPartition
				r.fail(errNoAnswer)
				at[p.Leader] = append(at[p.Leader], r)
			}
		}
	}
	return at, nil
}

// readFrom reads the partitions of one leader.
func (c *Client) readFrom(ctx context.Context, node int32, queue []*reading, committed bool) {
	decoder := &batch.Decoder{MaxInflated: maxInflated}
	for len(queue) > 0 {
		var asked []*reading
		asked, queue = some(queue)
		answer, err := answerOf[*kmsg.FetchResponse](c.kgo.Broker(int(node)).Request(ctx, fetchRequest(asked, committed)))
		if err == nil {
			err = kerr.ErrorForCode(answer.ErrorCode)
		}
		if err != nil {
			if ctx.Err() != nil {
				err = context.Cause(ctx)
			}
			for _, r := range append(asked, queue...) {
				r.fail(fmt.Errorf("broker %d: %w", node, err))
			}
			return
		}
		of := make(map[string]map[int32]*kmsg.FetchResponseTopicPartition)
		for i := range answer.Topics {
			t := &answer.Topics[i]
			key := t.Topic
			if answer.Version >= 13 {
				key = string(t.TopicID[:])
			}
			of[key] = make(map[int32]*kmsg.FetchResponseTopicPartition)
			for j := range t.Partitions {
				of[key][t.Partitions[j].Partition] = &t.Partitions[j]
			}
		}
		for _, r := range asked {
			key := r.Topic
			if answer.Version >= 13 {
				key = string(r.id[:])
			}
			if p := of[key][r.Partition]; p != nil && r.take(p, decoder, committed) {
				queue = append(queue, r)
			}
		}
		slices.SortStableFunc(queue, func(a, b *reading) int {
			return cmp.Or(cmp.Compare(a.limit, b.limit), cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition))
		})
	}
}

// some takes readings off the queue for one request, which can hold a partition only
// once: those with the limit of the first, as long as they fit into an answer.
func some(queue []*reading) (asked, rest []*reading) {
	limit, last := queue[0].limit, (*reading)(nil)
	for _, r := range queue {
		fits := len(asked) == 0 || (len(asked)+1)*int(limit) <= fetchBytes
		if r.limit == limit && fits && (last == nil || r.Topic != last.Topic || r.Partition != last.Partition) {
			asked, last = append(asked, r), r
		} else {
			rest = append(rest, r)
		}
	}
	return asked, rest
}

func fetchRequest(asked []*reading, committed bool) *kmsg.FetchRequest {
	q := kmsg.NewPtrFetchRequest()
	q.MaxBytes = fetchBytes
	if committed {
		q.IsolationLevel = 1
	}
	for _, r := range asked {
		if n := len(q.Topics); n == 0 || q.Topics[n-1].Topic != r.Topic {
			t := kmsg.NewFetchRequestTopic()
			t.Topic, t.TopicID = r.Topic, r.id
			q.Topics = append(q.Topics, t)
		}
		p := kmsg.NewFetchRequestTopicPartition()
		p.Partition, p.FetchOffset, p.PartitionMaxBytes = r.Partition, r.next, r.limit
		t := &q.Topics[len(q.Topics)-1]
		t.Partitions = append(t.Partitions, p)
	}
	return q
}

// take takes what was fetched of the partition. It reports whether to fetch on.
func (r *reading) take(p *kmsg.FetchResponseTopicPartition, decoder *batch.Decoder, committed bool) (more bool) {
	switch err := kerr.ErrorForCode(p.ErrorCode); err {
	case nil:
	case kerr.NotLeaderForPartition, kerr.UnknownTopicID, kerr.UnknownTopicOrPartition, kerr.OffsetOutOfRange:
		r.fail(err)
		r.again = true
		return false
	default:
		r.fail(err)
		return false
	}
	if p.LogStartOffset >= 0 {
		r.first.LogStart = p.LogStartOffset
	}
	end := p.HighWatermark
	if committed && p.LastStableOffset >= 0 {
		end = p.LastStableOffset
	}
	found, next, err := firstRecord(p.RecordBatches, r.next, decoder)
	switch {
	case err != nil:
		r.fail(err)
	case found != nil && found.Offset < end:
		r.fail(nil)
		r.first.Offset, r.first.Timestamp = found.Offset, found.Timestamp
	case found != nil, next >= end:
		r.fail(nil) // all up to the end are markers, or were compacted away
	case next > r.next:
		r.next = next
		return true
	case r.limit < lastPartition:
		r.limit *= 16 // the first batch is larger
		return true
	default:
		r.fail(errNoRecord)
	}
	return false
}

var errNoRecord = errors.New("the broker returns no record though there are some")

// firstRecord returns the first record at or behind offset in fetched entries, of
// which the last may be cut off. If there is none it returns where to look further:
// offset if no entry is whole.
func firstRecord(p []byte, offset int64, decoder *batch.Decoder) (found *batch.Record, next int64, err error) {
	next = offset
	for len(p) >= batch.PrefixSize {
		size := batch.DecodePrefix(p).Size()
		if size < batch.PrefixSize || size > int64(len(p)) {
			break
		}
		entry := p[:size]
		p = p[size:]
		h, err := batch.DecodeHeader(entry)
		if err == nil {
			err = h.Check(entry)
		}
		if err != nil {
			return nil, next, err
		}
		last := h.BaseOffset
		if h.Magic >= 2 {
			last = h.LastOffset()
		}
		if last < offset {
			continue
		}
		if !h.Control() {
			records, err := decoder.Open(h, entry)
			if err != nil {
				return nil, next, err
			}
			for r, err := range records.All() {
				if err != nil {
					return nil, next, err
				}
				if r.Offset < offset {
					continue
				}
				found := *r
				return &found, next, nil
			}
		}
		next = max(next, last+1)
	}
	return nil, next, nil
}

// clamp asks for the log start offset of partitions that could not be read and did
// not tell it. Those whose records before it are gone are read from there.
func (c *Client) clamp(ctx context.Context, pending []*reading) {
	unknown := make(kadm.TopicsSet)
	for _, r := range pending {
		if r.first.Err != nil && r.first.LogStart < 0 {
			unknown.Add(r.Topic, r.Partition)
		}
	}
	starts, _ := c.ListOffsets(ctx, Earliest, false, unknown) // an error is that of partitions too, and they have one
	for _, r := range pending {
		start, ok := starts.Lookup(r.Topic, r.Partition)
		if !ok || start.Err != nil || start.Offset < 0 {
			continue
		}
		r.first.LogStart = start.Offset
		if errors.Is(r.first.Err, kerr.OffsetOutOfRange) {
			r.again = r.next < start.Offset
			r.next = max(r.next, start.Offset)
		}
	}
}
