package storage

import (
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"time"

	"kf/internal/format/batch"
	"kf/internal/format/prodsnapshot"
	"kf/internal/logdir"
	"kf/internal/storage/disk"
)

// rollIfDue returns the segment to append to: the active one, or a new one if it
// is full, old enough, or cannot name the offsets. It needs l.mu.
//
// Source: Kafka 4.4.0, LogSegment.shouldRoll.
func (l *Log) rollIfDue(in *incoming, c *Config) (*segment, error) {
	s := l.active()
	due, err := s.rollDue(in, c)
	if err != nil {
		return nil, l.failed(err)
	}
	if !due {
		return s, nil
	}
	base := in.first
	if in.legacy {
		// The first offset stands inside a compressed message: this is at or below.
		base = in.last - math.MaxInt32
	}
	return l.roll(max(base, l.LogEndOffset()))
}

func (s *segment) rollDue(in *incoming, c *Config) (bool, error) {
	size := s.size.Load()
	if size+int64(len(in.bytes)) > int64(c.SegmentBytes) || !s.canHold(in.last) ||
		s.index.full(c.SegmentIndexBytes) || s.times.full(c.SegmentIndexBytes) {
		return true, nil
	}
	if size == 0 {
		return false, nil
	}
	if !s.firstRead {
		var p [batch.HeaderSize]byte
		n, err := s.log.readAt(p[:min(size, batch.HeaderSize)], 0)
		if err != nil && err != io.EOF {
			return false, err
		}
		if h, err := batch.DecodeHeader(p[:n]); err == nil {
			s.firstTime = h.MaxTimestamp
		}
		s.firstRead = true
	}
	waited := time.Since(s.created).Milliseconds()
	if s.firstTime >= 0 {
		waited = in.maxTime - s.firstTime
	}
	return waited > c.rollMs()-s.jitter, nil
}

// rollMs returns after how many ms a segment rolls.
func (c *Config) rollMs() int64 {
	if c.Compact && c.MaxCompactionLagMs > 0 {
		return min(c.SegmentMs, c.MaxCompactionLagMs)
	}
	return c.SegmentMs
}

// roll ends the active segment and begins a new one at base. What was written
// so far is flushed in the background. It needs l.mu.
func (l *Log) roll(base int64) (*segment, error) {
	old := l.active()
	if old.base == base {
		return old, l.restart(old)
	}
	if err := l.seal(old); err != nil {
		return nil, l.failed(err)
	}
	s, err := l.newSegment(base)
	if err != nil {
		return nil, l.failed(err)
	}
	l.producers.end = base
	if _, err := l.snapshot(false); err != nil {
		return nil, l.failed(err)
	}
	l.setSegments(insertSegment(l.segments(), s))
	l.end.store(place{l.LogEndOffset(), s, 0})
	l.recent.clear()
	// Without a descriptor left the next flush does it.
	l.inBackground(func() { l.readFailed(l.flush(base)) })
	return s, nil
}

// restart is a roll where the active segment has the base offset of the new one,
// because it is empty: it begins to count its age anew.
func (l *Log) restart(s *segment) error {
	if s.size.Load() > 0 {
		return nil
	}
	for _, x := range []*index{s.index, s.times} {
		if err := x.cut(0); err != nil {
			return l.failed(err)
		}
	}
	s.setLargest(noTimestamp, s.base, true)
	s.created, s.firstTime, s.firstRead, s.unindexed, s.lastKnown = time.Now(), noTimestamp, false, 0, false
	return nil
}

// seal gives the files of a segment the form that they have when nothing more is
// appended: a final time index entry, and no byte behind the last entry.
func (l *Log) seal(s *segment) error {
	if _, _, err := s.largest(); err != nil {
		return err
	}
	if err := s.prepareTime(l.config.Load().SegmentIndexBytes); err != nil {
		return err
	}
	s.addTime()
	if err := s.index.trim(); err != nil {
		return err
	}
	if err := s.times.trim(); err != nil {
		return err
	}
	if !s.padded {
		return nil
	}
	s.padded = false
	return s.log.truncate(s.size.Load())
}

// newSegment makes the files of an empty segment. What a failed attempt left is
// used again; data under that name is not.
func (l *Log) newSegment(base int64) (*segment, error) {
	c := l.config.Load()
	s := l.openSegment(base, 0, 0, 0, 0)
	s.maxKnown, s.lastKnown, s.lastTime, s.firstRead = true, true, noTimestamp, true
	size := int64(0)
	if c.Preallocate {
		size, s.padded = int64(c.SegmentBytes), true
	}
	if info, err := l.fsys.Stat(s.log.name()); err == nil && info.Size() > 0 {
		return nil, &fs.PathError{Op: "create", Path: s.log.name(), Err: errors.New("has data already")}
	}
	if err := createSized(l.fsys, s.log.name(), size); err != nil {
		return nil, err
	}
	for _, x := range []*index{s.index, s.times} {
		if err := createSized(l.fsys, x.name(), x.limit(c.SegmentIndexBytes)*x.kind.size); err != nil {
			return nil, err
		}
		x.grown = true
	}
	if err := l.fsys.Remove(s.txns.name()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	l.unsynced.Store(true)
	l.written = true // Close trims the indexes
	return s, nil
}

// createSized makes an empty file, or empties the one that is there, and gives
// it size bytes of zeros, which take no space on the disk.
func createSized(fsys disk.FS, path string, size int64) error {
	f, err := fsys.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	if size > 0 {
		err = f.Truncate(size)
	}
	return errors.Join(err, f.Close())
}

// snapshot writes the producer state unless there is a snapshot of it or of a
// later one, and says whether it did. It needs l.mu.
func (l *Log) snapshot(sync bool) (bool, error) {
	offset := l.producers.end
	if n := len(l.snapshots); offset <= l.logStart.Load() || n > 0 && l.snapshots[n-1] >= offset {
		return false, nil
	}
	p := prodsnapshot.Append(nil, l.producers.entries())
	f, err := l.fsys.OpenFile(l.path(logdir.KindProducerSnapshot, offset), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return false, err
	}
	_, err = f.WriteAt(p, 0)
	if err == nil && sync {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return false, err
	}
	l.snapshots = append(l.snapshots, offset)
	l.unsynced.Store(true)
	return true, nil
}
