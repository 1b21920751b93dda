package storage

import (
	"errors"
	"io/fs"
	"math"
	"os"
	"time"

	"kf/internal/logdir"
)

// inBackground runs f beside the log; Close waits for it. It needs l.mu.
func (l *Log) inBackground(f func()) {
	l.background.Add(1)
	go func() {
		defer l.background.Done()
		f()
	}()
}

// flushLater begins to wait for the flush of flush.ms, if there is to be one. It
// needs l.mu.
func (l *Log) flushLater(c *Config) {
	if c.FlushMs < math.MaxInt64/int64(time.Millisecond) && l.flushing == nil {
		l.flushing = time.AfterFunc(time.Duration(c.FlushMs)*time.Millisecond, func() {
			l.mu.Lock()
			l.flushing = nil
			if l.usable() != nil {
				l.mu.Unlock()
				return
			}
			l.background.Add(1)
			l.mu.Unlock()
			defer l.background.Done()
			l.ioFailed(l.flush(math.MaxInt64))
		})
	}
}

// Flush makes everything up to the log end durable and moves the recovery
// point there.
func (l *Log) Flush() error {
	if err := l.usable(); err != nil {
		return err
	}
	return l.ioFailed(l.flush(math.MaxInt64))
}

// syncWhenDue returns at once, or, with Sync and when flush.messages says so,
// when everything below offset is on the disk. Appends that wait while the flush
// of another one runs share the next.
func (l *Log) syncWhenDue(offset int64, c *Config) error {
	if !c.Sync && offset-l.recovery.Load() < c.FlushMessages {
		return nil
	}
	l.flushMu.Lock()
	defer l.flushMu.Unlock()
	if l.recovery.Load() >= offset {
		return nil
	}
	if err := l.usable(); err != nil {
		return err
	}
	return l.ioFailed(l.flushLocked(math.MaxInt64))
}

// flush makes what lies below offset durable: the segments with a lower base
// offset. It must not be called with l.mu held.
func (l *Log) flush(offset int64) error {
	l.flushMu.Lock()
	defer l.flushMu.Unlock()
	return l.flushLocked(offset)
}

func (l *Log) flushLocked(offset int64) error {
	cuts := l.cuts.Load()
	from := l.recovery.Load()
	end := l.end.load()
	offset = min(offset, end.offset)
	if offset <= from && !l.unsynced.Load() {
		return nil
	}
	err := l.syncSegments(from, func(s *segment) bool { return s.base < offset })
	if l.cuts.Load() != cuts || l.usable() != nil {
		return nil // what is gone meanwhile need not be on the disk, nor be an error
	}
	if err != nil {
		return err
	}
	l.state.Lock()
	defer l.state.Unlock()
	if l.cuts.Load() == cuts {
		l.recovery.Store(max(l.recovery.Load(), offset))
	}
	return nil
}

// syncSegments syncs the segments from the one with the offset on, of which
// those that want says; then what came into being in the directory. A sealed
// segment needs its indexes too: recovery starts behind it.
func (l *Log) syncSegments(from int64, want func(*segment) bool) error {
	segments := l.segments()
	created := l.unsynced.Swap(false)
	for i := max(0, floor(segments, from)); i < len(segments); i++ {
		s := segments[i]
		if created {
			if err := l.syncSnapshot(s.base); err != nil {
				return err
			}
		}
		if want != nil && !want(s) {
			continue
		}
		if err := s.sync(i+1 < len(segments) || want == nil); err != nil {
			if errors.Is(err, fs.ErrNotExist) && l.gone(s) {
				continue // deleted by retention
			}
			l.unsynced.Store(created)
			return err
		}
	}
	if !created {
		return nil
	}
	return l.fsys.SyncDir(l.dir)
}

// gone reports whether a segment is no longer in the log.
func (l *Log) gone(s *segment) bool {
	for _, other := range l.segments() {
		if other == s {
			return false
		}
	}
	return true
}

// sync makes a segment durable, a sealed one with its indexes.
func (s *segment) sync(sealed bool) error {
	if err := s.log.sync(); err != nil || !sealed {
		return err
	}
	if err := s.index.sync(); err != nil {
		return err
	}
	if err := s.times.sync(); err != nil {
		return err
	}
	if s.aborts.Load() == 0 {
		return nil
	}
	return s.txns.sync()
}

// syncSnapshot makes the producer snapshot at offset durable, if there is one.
func (l *Log) syncSnapshot(offset int64) error {
	f, err := l.fsys.OpenFile(l.path(logdir.KindProducerSnapshot, offset), os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
