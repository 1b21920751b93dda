package storage

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"kf/internal/format/txnindex"
)

// RaiseLogStart moves the log start offset up (DeleteRecords): to the high
// watermark at most, else it fails with ErrOffsetOutOfRange; downwards it does
// nothing. It returns the log start offset.
func (l *Log) RaiseLogStart(offset int64) (int64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.usable(); err != nil {
		return 0, err
	}
	if high := l.HighWatermark(); offset > high {
		return l.LogStartOffset(), fmt.Errorf("%w: log start offset %d, high watermark is %d", ErrOffsetOutOfRange, offset, high)
	}
	l.raiseLogStart(offset)
	return l.LogStartOffset(), nil
}

// raiseLogStart needs l.mu.
func (l *Log) raiseLogStart(offset int64) {
	if offset <= l.LogStartOffset() {
		return
	}
	l.state.Lock()
	defer l.state.Unlock()
	l.logStart.Store(offset)
	l.recovery.Store(max(l.recovery.Load(), offset))
	l.producers.committed(offset)
	l.setHighWatermark(l.HighWatermark())
	l.epochs.cutStart(offset)
}

// TruncateTo removes all records from the batch that holds offset on; the log
// ends at offset then. Above the log end it does nothing, and below the first
// segment it is TruncateAll. The recovery point goes down with the log: the
// store must write its checkpoint before more is appended.
func (l *Log) TruncateTo(offset int64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.usable(); err != nil {
		return err
	}
	switch {
	case offset < 0:
		return fmt.Errorf("%w: truncation to offset %d", ErrOffsetOutOfRange, offset)
	case offset >= l.LogEndOffset():
		l.epochs.cutEnd(l.LogEndOffset())
		return nil
	case offset < l.firstBase():
		return l.failed(l.truncateAll(offset))
	}
	return l.ioFailed(l.truncateTo(offset))
}

func (l *Log) truncateTo(offset int64) error {
	list := l.segments()
	i := floor(list, offset)
	s := list[i]
	pos := s.size.Load()
	b, err := l.find(s, offset, pos)
	switch {
	case err == nil:
		pos = b.pos
	case err != io.EOF:
		return err
	}
	l.written = true
	l.recent.clear()
	// Readers first: what they can see is never half gone.
	l.state.Lock()
	l.cuts.Add(1)
	l.recovery.Store(min(l.recovery.Load(), offset))
	l.logStart.Store(min(l.logStart.Load(), offset))
	l.end.store(place{offset, s, pos})
	l.setHighWatermark(l.HighWatermark())
	l.state.Unlock()
	l.setSegments(slices.Clone(list[:i+1]))

	// From the last one on: a kill in between leaves no hole.
	gone := slices.Clone(list[i+1:])
	slices.Reverse(gone)
	if err := l.removeSegments(gone); err != nil {
		return err
	}
	if err := l.cutSegment(s, offset, pos); err != nil {
		return err
	}
	l.epochs.cutEnd(offset)
	l.state.Lock()
	defer l.state.Unlock()
	if err := l.rebuildProducers(context.Background(), offset); err != nil {
		return err
	}
	l.producers.committed(l.HighWatermark())
	l.setStable()
	_, err = l.snapshot(true)
	return err
}

// cutSegment cuts the files of a segment at byte pos, in front of offset; it is
// the active one from now on.
func (l *Log) cutSegment(s *segment, offset, pos int64) error {
	n, err := s.index.search(offsetKey, offset-s.base-1)
	if err != nil {
		return err
	}
	if err := s.index.cut(n); err != nil {
		return err
	}
	if n, err = s.times.search(timeOffsetKey, offset-s.base-1); err != nil {
		return err
	}
	if err := s.times.cut(n); err != nil {
		return err
	}
	if err := s.cutAborts(offset); err != nil {
		return err
	}
	if err := s.log.truncate(pos); err != nil {
		return err
	}
	if err := s.countUnindexed(pos); err != nil {
		return err
	}
	s.padded, s.lastKnown = false, false
	if pos == 0 {
		s.created, s.firstTime, s.firstRead = time.Now(), noTimestamp, false
	}
	// What lies behind the last entry of the time index may have a larger
	// timestamp.
	s.setLargest(noTimestamp, s.base, false)
	timestamp, last, err := s.largest()
	if err != nil {
		return err
	}
	s.setLargest(timestamp, last, true)
	b, err := l.find(s, last, pos)
	if err == io.EOF {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = l.walk(context.Background(), s, b.pos, pos, func(b batchAt) error {
		s.sawTime(b.header.MaxTimestamp, b.header.LastOffset())
		return nil
	})
	return err
}

// cutAborts removes the aborted transactions whose marker is at or above offset.
func (s *segment) cutAborts(offset int64) error {
	if s.aborts.Load() == 0 {
		return nil
	}
	f, err := s.txns.acquire()
	if err != nil {
		return err
	}
	defer f.release()
	n := int64(0)
	for e, err := range txnindex.Entries(io.NewSectionReader(f, 0, s.aborts.Load()*txnEntry)) {
		if err != nil && isIO(err) {
			return err
		}
		if e.LastOffset >= offset {
			break
		}
		n++
	}
	s.aborts.Store(n)
	return f.Truncate(n * txnEntry)
}

// TruncateAll removes everything and starts the log anew at offset.
func (l *Log) TruncateAll(offset int64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.usable(); err != nil {
		return err
	}
	if offset < 0 {
		return fmt.Errorf("%w: truncation to offset %d", ErrOffsetOutOfRange, offset)
	}
	return l.failed(l.truncateAll(offset))
}

func (l *Log) truncateAll(offset int64) error {
	l.written = true
	l.recent.clear()
	gone := slices.Clone(l.segments())
	slices.Reverse(gone)
	if err := l.removeSegments(gone); err != nil {
		return err
	}
	if err := l.dropSnapshots(func(int64) bool { return true }); err != nil {
		return err
	}
	l.state.Lock()
	l.cuts.Add(1)
	l.recovery.Store(min(l.recovery.Load(), offset))
	l.logStart.Store(offset)
	l.producers.reset(offset)
	err := l.startAt(offset)
	l.setHighWatermark(offset)
	l.state.Unlock()
	if err != nil {
		return err
	}
	return l.epochs.clear()
}
