package shard

import (
	"slices"
	"time"

	"kf/internal/format/batch"
)

// An encoder makes batches of records. Its memory is used again.
type encoder struct {
	batch   []byte
	bytes   []byte   // keys and values
	ends    [][2]int // of the key and the value of each record, in bytes
	records []batch.Record
}

// encode returns a batch of the first n records: all of them, or with split as
// many as the limit allows, one at least. The bytes are valid until the next
// call.
//
// A coordinator's batch has no producer, and base sequence 0 all the same.
//
// Source: Kafka 4.4.0, CoordinatorRuntime.java.
func (e *encoder) encode(o *Options, records []Record, split bool, now time.Time) (p []byte, n int, err error) {
	limit := o.BatchBytes()
	e.bytes, e.ends, e.records = e.bytes[:0], e.ends[:0], e.records[:0]
	for _, r := range records {
		from := len(e.bytes)
		if e.bytes, err = o.Format.AppendKey(e.bytes, r.Key); err != nil {
			return nil, 0, err
		}
		key := len(e.bytes)
		if r.Value != nil {
			if e.bytes, err = o.Format.AppendValue(e.bytes, r.Value, r.Version); err != nil {
				return nil, 0, err
			}
		}
		if split && n > 0 && batch.HeaderSize+len(e.bytes)+recordOverhead*(n+1) > limit {
			e.bytes = e.bytes[:from]
			break
		}
		e.ends = append(e.ends, [2]int{key, len(e.bytes)})
		n++
	}
	from := 0
	for i, end := range e.ends {
		r := batch.Record{Offset: int64(i), Timestamp: now.UnixMilli(), Key: e.bytes[from:end[0]:end[0]]}
		if records[i].Value != nil {
			r.Value = e.bytes[end[0]:end[1]:end[1]]
		}
		e.records = append(e.records, r)
		from = end[1]
	}
	ms := now.UnixMilli()
	h := batch.Header{
		Magic: 2, Attributes: o.Compression(), LastOffsetDelta: int32(n - 1), BaseTimestamp: ms, MaxTimestamp: ms,
		ProducerID: -1, ProducerEpoch: -1, BaseSequence: 0, PartitionLeaderEpoch: -1,
	}
	e.batch, err = batch.Append(e.batch[:0], h, func(yield func(*batch.Record) bool) {
		for i := range e.records {
			if !yield(&e.records[i]) {
				return
			}
		}
	})
	if cap(e.bytes) > maxKept {
		e.bytes = nil
	}
	p = e.batch
	if cap(e.batch) > maxKept {
		e.batch = nil
	}
	return slices.Clip(p), n, err
}

const (
	// recordOverhead is what a record takes beside its key and value, at most.
	recordOverhead = 40
	// maxKept is how much of a large batch's memory is kept for the next one.
	maxKept = 1 << 20
)
