package client

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"kf/internal/format/batch"
	"kf/internal/format/control"
	"kf/internal/wire"
)

// A Record is one of a partition.
type Record struct {
	Offset    int64
	Timestamp int64 // ms since the epoch; -1: none
	Key       []byte
	Value     []byte
	Headers   []RecordHeader
}

// A RecordHeader is a key and a value; a nil value is null.
type RecordHeader = batch.RecordHeader

// An Around asks for the records next to an offset of a partition.
type Around struct {
	Topic      string
	TopicID    wire.UUID
	Partition  int32
	Leader     int32 // -1: none
	Offset     int64
	Start, End int64 // the log start offset, and the offset at which to stop
	Before     int   // how many records with lower offsets
	After      int   // how many others
}

// A Surrounding is the answer: up to Before records before the offset and up to After
// from it on, by offset.
type Surrounding struct {
	Records []Record
	Cut     bool  // there may be more, but they are too far away
	Err     error // what was read before it is in Records
}

// The bounds of what is read of a partition.
const (
	aroundBytes    = 64 << 20 // of batches, from the first to the last record that is wanted
	lookbackBytes  = 8 << 20  // of batches before that, if compaction or transactions left gaps
	lookbackFar    = 1 << 16  // offsets before the one that was asked for
	aroundInflated = 64 << 20 // what one batch inflates to
	aroundFetch    = 64 << 10 // what is asked for of a partition at once; a broker gives at least a batch
	aroundAnswer   = 8 << 20
)

// Around reads records around offsets, without any group: no offset is committed. With
// committed it leaves out records of transactions that were aborted. It asks each
// leader for all its partitions at once, as often as needed, and keeps no more records
// than it returns.
func (c *Client) Around(ctx context.Context, of []Around, committed bool) []Surrounding {
	readers := make([]*aroundReader, len(of))
	at := make(map[int32][]*aroundReader)
	for i := range of {
		r := newAroundReader(of[i])
		readers[i] = r
		switch {
		case r.done():
		case r.Leader < 0:
			r.err = kerr.LeaderNotAvailable
		default:
			at[r.Leader] = append(at[r.Leader], r)
		}
	}
	var all sync.WaitGroup
	for node, readers := range at {
		all.Go(func() { c.readAround(ctx, node, readers, committed) })
	}
	all.Wait()
	answers := make([]Surrounding, len(of))
	for i, r := range readers {
		answers[i] = Surrounding{Records: slices.Concat(r.before, r.after), Cut: r.cut, Err: r.err}
	}
	return answers
}

// readAround reads from one leader until all is found.
func (c *Client) readAround(ctx context.Context, node int32, readers []*aroundReader, committed bool) {
	decoder := &batch.Decoder{MaxInflated: aroundInflated}
	for {
		readers = slices.DeleteFunc(readers, (*aroundReader).done)
		if len(readers) == 0 {
			return
		}
		answer, err := answerOf[*kmsg.FetchResponse](c.kgo.Broker(int(node)).Request(ctx, fetchAround(readers, committed)))
		if err == nil {
			err = kerr.ErrorForCode(answer.ErrorCode)
		}
		if err != nil {
			if ctx.Err() != nil {
				err = context.Cause(ctx)
			}
			for _, r := range readers {
				r.err = err
			}
			return
		}
		got := partitionsOf(answer, readers)
		moved := false
		for _, r := range readers {
			if p := got[topicPartition{r.Topic, r.Partition}]; p != nil {
				moved = r.read(p, decoder, committed) || moved
			}
		}
		if !moved {
			for _, r := range readers {
				r.err = fmt.Errorf("the broker has nothing at offset %d, though the log goes on to %d", r.next, r.End)
			}
			return
		}
		// A broker gives the first partition that has data a whole batch, however large
		// it is, and the others what is left: those that got none come first.
		slices.SortStableFunc(readers, func(a, b *aroundReader) int { return a.fed - b.fed })
	}
}

type topicPartition struct {
	topic     string
	partition int32
}

// partitionsOf finds what an answer, which may have ids instead of names, says of
// partitions.
func partitionsOf(answer *kmsg.FetchResponse, readers []*aroundReader) map[topicPartition]*kmsg.FetchResponseTopicPartition {
	names := make(map[wire.UUID]string)
	for _, r := range readers {
		names[r.TopicID] = r.Topic
	}
	got := make(map[topicPartition]*kmsg.FetchResponseTopicPartition)
	for i := range answer.Topics {
		t := &answer.Topics[i]
		if t.Topic == "" {
			t.Topic = names[t.TopicID]
		}
		for j := range t.Partitions {
			got[topicPartition{t.Topic, t.Partitions[j].Partition}] = &t.Partitions[j]
		}
	}
	return got
}

func fetchAround(readers []*aroundReader, committed bool) *kmsg.FetchRequest {
	q := kmsg.NewPtrFetchRequest()
	q.MaxBytes, q.MinBytes, q.MaxWaitMillis = aroundAnswer, 0, 0
	if committed {
		q.IsolationLevel = 1
	}
	for _, r := range readers {
		i := slices.IndexFunc(q.Topics, func(t kmsg.FetchRequestTopic) bool { return t.Topic == r.Topic })
		if i < 0 {
			t := kmsg.NewFetchRequestTopic()
			t.Topic, t.TopicID = r.Topic, r.TopicID
			q.Topics, i = append(q.Topics, t), len(q.Topics)
		}
		p := kmsg.NewFetchRequestTopicPartition()
		p.Partition, p.FetchOffset, p.PartitionMaxBytes = r.Partition, r.next, aroundFetch
		q.Topics[i].Partitions = append(q.Topics[i].Partitions, p)
	}
	return q
}

// An aroundReader reads forward from as many offsets before the one that was asked for
// as records are wanted. If that were too few records, it looks for others in ranges
// farther and farther back.
type aroundReader struct {
	Around
	from, to      int64    // the range that is being read
	next          int64    // the offset to ask for
	found         []Record // before Offset, in the range
	before, after []Record
	far           int64 // how far before Offset the range starts
	bytes         int   // read so far
	fed           int   // answers with data
	over          bool
	cut           bool
	err           error
}

func newAroundReader(of Around) *aroundReader {
	r := &aroundReader{Around: of, far: int64(of.Before)}
	r.Offset = max(r.Start, min(r.Offset, r.End))
	r.from, r.to = max(r.Start, r.Offset-r.far), r.End
	r.next = r.from
	r.step()
	return r
}

func (r *aroundReader) done() bool { return r.err != nil || r.over }

// step goes on to another range when all of one was read.
func (r *aroundReader) step() {
	enough := r.to == r.End && r.next >= r.Offset && len(r.after) >= r.After
	if r.next < r.to && !enough {
		return
	}
	r.before = slices.Concat(r.found, r.before)
	r.before = r.before[max(0, len(r.before)-r.Before):]
	r.found = nil
	switch {
	case len(r.before) == r.Before, r.from <= r.Start:
		r.over = true
	case r.far >= lookbackFar:
		r.over, r.cut = true, true
	default:
		if r.to == r.End {
			r.bytes = 0
		}
		r.far = min(lookbackFar, max(64, 16*r.far))
		r.from, r.to = max(r.Start, r.Offset-r.far), r.from
		r.next = r.from
	}
}

// spent counts bytes, and ends the reading when they are too many.
func (r *aroundReader) spent(n int) bool {
	limit := lookbackBytes
	if r.to == r.End {
		limit = aroundBytes
	}
	if r.bytes += n; r.bytes <= limit {
		return false
	}
	if r.to == r.End {
		r.before = r.found
	}
	r.over, r.cut = true, true
	return true
}

// read takes the answer for its partition. It reports whether it came nearer to its
// end.
func (r *aroundReader) read(p *kmsg.FetchResponseTopicPartition, decoder *batch.Decoder, committed bool) (moved bool) {
	if r.err = kerr.ErrorForCode(p.ErrorCode); r.err != nil {
		return true
	}
	aborted := slices.Clone(p.AbortedTransactions)
	slices.SortFunc(aborted, func(a, b kmsg.FetchResponseTopicPartitionAbortedTransaction) int {
		return cmp.Compare(a.FirstOffset, b.FirstOffset)
	})
	open := make(map[int64]bool) // producers whose transaction here was aborted
	for data := p.RecordBatches; !r.done(); {
		h, entry, rest := cutBatch(data)
		if entry == nil {
			break
		}
		data = rest
		if r.spent(len(entry)) {
			return true
		}
		for len(aborted) > 0 && aborted[0].FirstOffset <= h.LastOffset() {
			open[aborted[0].ProducerID] = true
			aborted = aborted[1:]
		}
		next, err := r.batch(h, entry, decoder, committed && open[h.ProducerID], func() { delete(open, h.ProducerID) })
		if err != nil {
			r.err = fmt.Errorf("the batch at offset %d: %w", h.BaseOffset, err)
			return true
		}
		if next <= r.next {
			continue // the broker starts with the batch that holds the offset
		}
		r.next, moved = next, true
		if r.step(); r.next < next {
			break // another range
		}
	}
	if moved {
		r.fed++
	}
	return moved
}

// batch takes the records of one batch and returns the offset behind it. Ended is
// called if it says that a transaction was aborted.
func (r *aroundReader) batch(h batch.Header, entry []byte, decoder *batch.Decoder, aborted bool, ended func()) (next int64, err error) {
	if err := h.Check(entry); err != nil {
		return 0, err
	}
	records, err := decoder.Open(h, entry)
	if err != nil {
		return 0, err
	}
	if h.Magic >= 2 {
		next = h.LastOffset() + 1
	}
	skip := h.Control() || h.Transactional() && aborted
	for rec, err := range records.All() {
		if err != nil {
			return 0, err
		}
		if h.Control() {
			if t, err := control.DecodeKey(rec.Key); err == nil && t == control.Abort {
				ended()
			}
		}
		if rec.Offset >= r.next && rec.Offset < r.to && !skip {
			r.add(rec)
		}
		next = max(next, rec.Offset+1)
	}
	return next, nil
}

// add keeps a record if it is one of those wanted.
func (r *aroundReader) add(rec *batch.Record) {
	if rec.Offset >= r.Offset && len(r.after) >= r.After || rec.Offset < r.Offset && r.Before == 0 {
		return
	}
	kept := Record{Offset: rec.Offset, Timestamp: rec.Timestamp, Key: bytes.Clone(rec.Key), Value: bytes.Clone(rec.Value)}
	for h := range rec.Headers() {
		kept.Headers = append(kept.Headers, RecordHeader{Key: bytes.Clone(h.Key), Value: bytes.Clone(h.Value)})
	}
	if rec.Offset >= r.Offset {
		r.after = append(r.after, kept)
		return
	}
	if len(r.found) == r.Before {
		r.found = slices.Delete(r.found, 0, 1)
	}
	r.found = append(r.found, kept)
}

// cutBatch takes a batch off the start of data; nil if there is no whole one, as at the
// end of an answer that its limit cut off.
func cutBatch(data []byte) (h batch.Header, entry, rest []byte) {
	if len(data) < batch.PrefixSize {
		return h, nil, nil
	}
	size := batch.DecodePrefix(data).Size()
	if size < batch.PrefixSize || size > int64(len(data)) {
		return h, nil, nil
	}
	h, err := batch.DecodeHeader(data[:size])
	if err != nil && !errors.Is(err, batch.ErrMagic) {
		return h, nil, nil
	}
	return h, data[:size], data[size:]
}
