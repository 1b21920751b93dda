package storage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"kf/internal/format/batch"
	"kf/internal/format/timeindex"
	"kf/internal/storage/validate"
)

var decoders = sync.Pool{New: func() any { return &batch.Decoder{MaxInflated: validate.MaxInflated} }}

var nothingFound = Found{Timestamp: noTimestamp, Offset: -1, LeaderEpoch: -1}

// errFound ends a walk.
var errFound = errors.New("found")

// FindTime returns the first record at or after a time, by Kafka's rules, of
// those below bound. As records need not be in the order of their times it is
// the first one in the first segment that has such a record. Segments without
// timestamps have that of their last modification for this.
func (l *Log) FindTime(timestamp int64, bound Bound) (Found, error) {
	f, err := l.search(func() (Found, error) { return l.findTime(timestamp) })
	if err != nil {
		return nothingFound, err
	}
	limit := l.LogEndOffset()
	switch bound {
	case ToHighWatermark:
		limit = l.HighWatermark()
	case ToLastStableOffset:
		limit = l.LastStableOffset()
	}
	if f.Offset >= limit {
		return nothingFound, nil
	}
	return f, nil
}

// search calls find until no segment is deleted meanwhile.
func (l *Log) search(find func() (Found, error)) (Found, error) {
	for {
		if err := l.usable(); err != nil {
			return nothingFound, err
		}
		before := l.view.Load()
		f, err := find()
		if err == nil {
			return f, nil
		}
		if l.view.Load() == before {
			return nothingFound, l.readFailed(err)
		}
	}
}

func (l *Log) findTime(timestamp int64) (Found, error) {
	start := l.LogStartOffset()
	for _, s := range l.segments() {
		newest, err := l.newest(s)
		if err != nil {
			return nothingFound, err
		}
		if newest < timestamp {
			continue
		}
		from := start
		n, err := s.times.search(timestampKey, timestamp)
		if err != nil {
			return nothingFound, err
		}
		if n > 0 {
			var p [timeindex.EntrySize]byte
			if err := s.times.entry(n-1, p[:]); err != nil {
				return nothingFound, err
			}
			from = max(from, s.base+timeOffsetKey(p[:]))
		}
		f, err := l.findRecord(s, from, func(h *batch.Header) bool { return h.MaxTimestamp >= timestamp },
			func(r *batch.Record) bool { return r.Timestamp >= timestamp && r.Offset >= start })
		if err != nil || f.Offset >= 0 {
			return f, err
		}
	}
	return nothingFound, nil
}

// MaxTime returns the record with the highest timestamp, the first of several.
func (l *Log) MaxTime() (Found, error) { return l.search(l.maxTime) }

func (l *Log) maxTime() (Found, error) {
	start := l.LogStartOffset()
	var in *segment
	highest, at := int64(noTimestamp), int64(-1)
	for _, s := range l.segments() {
		t, offset, err := s.largest()
		if err == nil && t >= 0 && offset < start {
			t, offset, err = l.largestFrom(s, start) // its record was deleted
		}
		if err != nil {
			return nothingFound, err
		}
		if t > highest {
			in, highest, at = s, t, offset
		}
	}
	if in == nil {
		return nothingFound, nil
	}
	return l.findRecord(in, at, func(h *batch.Header) bool { return h.MaxTimestamp == highest },
		func(r *batch.Record) bool { return r.Timestamp == highest && r.Offset >= start })
}

// largestFrom returns the largest timestamp of the batches that end at or above
// an offset, and the last offset of the first one that has it.
func (l *Log) largestFrom(s *segment, offset int64) (timestamp, last int64, err error) {
	timestamp, last = noTimestamp, offset
	size := s.size.Load()
	b, err := l.find(s, offset, size)
	if err == io.EOF {
		return timestamp, last, nil
	}
	if err != nil {
		return timestamp, last, err
	}
	_, err = l.walk(context.Background(), s, b.pos, size, func(b batchAt) error {
		if b.header.MaxTimestamp > timestamp {
			timestamp, last = b.header.MaxTimestamp, b.header.LastOffset()
		}
		return nil
	})
	return timestamp, last, err
}

// findRecord returns the first record that is wanted, in the batches that are,
// from an offset of the segment on.
func (l *Log) findRecord(s *segment, from int64, wantBatch func(*batch.Header) bool, want func(*batch.Record) bool) (Found, error) {
	size := s.size.Load()
	first, err := l.find(s, from, size)
	if err == io.EOF {
		return nothingFound, nil
	}
	if err != nil {
		return nothingFound, err
	}
	d := decoders.Get().(*batch.Decoder)
	defer decoders.Put(d)
	f := nothingFound
	_, err = l.walk(context.Background(), s, first.pos, size, func(b batchAt) error {
		h := &b.header
		if !wantBatch(h) {
			return nil
		}
		p, err := s.readEntry(b.pos, h, l.maxRead())
		if err != nil {
			return err
		}
		rs, err := d.Open(*h, p)
		if err != nil {
			return fmt.Errorf("%w: batch at offset %d: %w", ErrUnreadable, h.BaseOffset, err)
		}
		for r, err := range rs.All() {
			if err != nil {
				return fmt.Errorf("%w: batch at offset %d: %w", ErrUnreadable, h.BaseOffset, err)
			}
			if want(r) {
				f = Found{r.Timestamp, r.Offset, h.PartitionLeaderEpoch}
				return errFound
			}
		}
		return nil
	})
	if err == errFound {
		err = nil
	}
	return f, err
}
