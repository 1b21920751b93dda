package storage

import (
	"errors"
	"io"
	"iter"

	"kf/internal/format/batch"
	"kf/internal/format/txnindex"
)

// cleanGroup makes one segment of n segments from the i-th on, and puts it in
// their place.
func (cl *cleaner) cleanGroup(i, n int, txns *cleanedTxns) error {
	group := cl.list[i : i+n]
	dst, err := cl.create(group[0].base)
	if err != nil {
		return err
	}
	err = cl.copyGroup(dst, i, n, txns)
	if err == nil {
		err = cl.swap(dst.s, group)
	}
	if err != nil {
		err = errors.Join(err, cl.discard(dst.s))
	}
	return err
}

func (cl *cleaner) copyGroup(dst *cleaned, i, n int, txns *cleanedTxns) error {
	for j := i; j < i+n; j++ {
		s := cl.list[j]
		modified, err := cl.modified(s)
		if err != nil {
			return err
		}
		if err := txns.add(cl.list, j, cl.base(j+1)); err != nil {
			return err
		}
		k := &keeper{cl: cl, txns: txns, dst: dst, keepLegacyTombstones: modified > cl.legacyHorizon, highWatermark: cl.l.HighWatermark()}
		if err := k.copy(s); err != nil {
			return err
		}
		cl.result.Segments++
	}
	if err := dst.finish(cl.list[i+n-1]); err != nil {
		return err
	}
	cl.result.NewSegments++
	return nil
}

// A keeper copies what is to be kept of a segment.
type keeper struct {
	cl   *cleaner
	txns *cleanedTxns
	dst  *cleaned

	keepLegacyTombstones bool
	highWatermark        int64 // when the segment was begun

	r *entries
	// Of the entry that is looked at.
	h       *batch.Header
	discard bool // none of its records stays
}

func (k *keeper) copy(s *segment) error {
	r, err := k.cl.open(s)
	if err != nil {
		return err
	}
	defer r.close()
	k.r = r
	for {
		p, h, err := r.next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		k.cl.result.BytesRead += int64(len(p))
		k.h = h
		if err := k.entry(p); err != nil {
			return err
		}
	}
}

// entry copies the entry p, or what is left of it.
func (k *keeper) entry(p []byte) error {
	h := k.h
	done := false // it is a marker, of a transaction without data
	if h.Control() {
		var left *txnindex.Entry
		var err error
		if done, left, err = k.txns.control(h, p); err != nil {
			return k.r.damaged(err)
		}
		if left != nil {
			if err := k.dst.s.addAbort(*left); err != nil {
				return err
			}
		}
		horizon, ok := h.DeleteHorizon()
		k.discard = done && ok && horizon <= k.cl.o.Now
	} else {
		k.discard = k.txns.data(h)
	}
	// What must stay even if it is empty: the last sequence or the epoch of a
	// producer, and the last offset that is committed. Messages cannot be empty.
	keepEmpty := h.Magic >= 2 && (k.cl.l.lastOfProducer(h) || h.LastOffset()+1 == k.highWatermark)
	if k.discard && !keepEmpty {
		return nil
	}
	rs, err := k.cl.decoder.Open(*h, p)
	if err != nil {
		return k.r.damaged(err)
	}
	f, err := k.look(&rs)
	if err != nil {
		return k.r.damaged(err)
	}
	k.cl.result.Records += f.records
	k.cl.result.RecordsKept += f.kept
	horizon, hasHorizon := h.DeleteHorizon()
	setHorizon := !hasHorizon && (f.tombstone || done)
	switch {
	case f.kept == 0 && keepEmpty:
		return k.dst.add(h.LastOffset(), h.MaxTimestamp, func(buf []byte) ([]byte, error) {
			return batch.Append(buf, emptied(h), none)
		})
	case f.kept == 0:
		return nil
	case f.kept == f.records && !setHorizon && h.Magic >= 2:
		return k.dst.add(h.LastOffset(), h.MaxTimestamp, func(buf []byte) ([]byte, error) { return append(buf, p...), nil })
	case setHorizon:
		horizon, hasHorizon = k.cl.o.Now+k.cl.c.DeleteRetentionMs, true
	}
	n := *h
	n.Attributes = h.Attributes & (batch.CodecMask | batch.LogAppendTimeBit | batch.TransactionalBit | batch.ControlBit)
	n.BaseTimestamp, n.MaxTimestamp = f.first, f.newest
	if h.Magic < 2 { // messages become a batch
		n.Magic = 2
		n.Attributes &= batch.CodecMask | batch.LogAppendTimeBit
		n.BaseOffset, n.LastOffsetDelta = f.firstOffset, int32(f.lastOffset-f.firstOffset)
	}
	if hasHorizon {
		n.Attributes |= batch.DeleteHorizonBit
		n.BaseTimestamp = horizon
	}
	return k.dst.add(n.LastOffset(), f.newest, func(buf []byte) ([]byte, error) {
		return batch.Append(buf, n, k.kept(&rs, n.BaseTimestamp))
	})
}

func none(func(*batch.Record) bool) {}

// emptied returns the header of what is left of a batch without its records.
func emptied(h *batch.Header) batch.Header {
	n := *h
	n.Attributes &= batch.LogAppendTimeBit | batch.TransactionalBit | batch.ControlBit
	n.BaseTimestamp = noTimestamp
	return n
}

// A finding is what is to be kept of an entry.
type finding struct {
	records, kept int64
	// Of the kept records:
	tombstone               bool  // one has no value
	first, newest           int64 // timestamps: of the first one, and the largest
	firstOffset, lastOffset int64
}

func (k *keeper) look(rs *batch.Records) (finding, error) {
	f := finding{first: noTimestamp, newest: noTimestamp}
	for r, err := range rs.All() {
		if err != nil {
			return f, err
		}
		f.records++
		if !k.keeps(r) {
			continue
		}
		if f.kept == 0 {
			f.first, f.firstOffset = r.Timestamp, r.Offset
		}
		f.kept++
		f.newest = max(f.newest, r.Timestamp)
		f.lastOffset = r.Offset
		f.tombstone = f.tombstone || r.ValueSize < 0
	}
	return f, nil
}

// kept yields the records that are to be kept, which [keeper.look] has found
// sound, for a batch with a base timestamp.
func (k *keeper) kept(rs *batch.Records, base int64) iter.Seq[*batch.Record] {
	return func(yield func(*batch.Record) bool) {
		for r := range rs.All() {
			r.TimestampDelta = r.Timestamp - base
			if k.keeps(r) && !yield(r) {
				return
			}
		}
	}
}

// keeps reports whether a record stays.
func (k *keeper) keeps(r *batch.Record) bool {
	switch {
	case k.discard:
		return false
	case k.h.Control(), r.Offset > k.cl.keys.latest:
		return true
	case r.KeySize < 0 || r.Offset < k.cl.keys.last(r.Key):
		return false
	case r.ValueSize >= 0:
		return true
	case k.h.Magic < 2:
		return k.keepLegacyTombstones
	}
	horizon, ok := k.h.DeleteHorizon()
	return !ok || k.cl.o.Now < horizon
}

// lastOfProducer reports whether a batch holds the last sequence of a producer
// that is active, or, of one without data, a marker with its epoch.
func (l *Log) lastOfProducer(h *batch.Header) bool {
	if h.ProducerID < 0 {
		return false
	}
	l.state.Lock()
	defer l.state.Unlock()
	p := l.producers.byID[h.ProducerID]
	switch {
	case p == nil:
		return false
	case p.n > 0:
		return p.batches[p.n-1].lastOffset == h.LastOffset()
	}
	return h.Control() && h.ProducerEpoch == p.epoch
}
