package storage

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"kf/internal/format/timeindex"
	"kf/internal/logdir"
	"kf/internal/wire"
)

// retain deletes what retention no longer wants, in all partitions. One that is
// not open is opened only if the sizes and times of its files say that there
// may be something to delete.
func (s *Store) retain(ctx context.Context) {
	settings := s.settings()
	for _, d := range s.dirs {
		for _, r := range s.list(d) {
			if ctx.Err() != nil || d.failure() != nil {
				break
			}
			l := r.log.Load()
			if l == nil && r.clean && s.mayRetain(r, settings(r.tp.Topic)) {
				opened, err := s.open(ctx, r, wire.UUID{})
				if err != nil {
					s.o.Notice(Notice{Warn, r.path(), fmt.Sprintf("cannot be opened for retention: %v", err)})
					continue
				}
				l = opened
			}
			if l == nil {
				continue
			}
			if _, err := l.Retain(); err != nil {
				s.failed(d, err)
			}
		}
	}
}

// settings returns a function for the settings of topics, which works them out
// once for all partitions of a topic as long as those come one after the other.
func (s *Store) settings() func(topic string) *Config {
	var last string
	var c *Config
	return func(topic string) *Config {
		if c == nil || topic != last {
			last, c = topic, new(s.o.LogConfig(topic))
		}
		return c
	}
}

// mayRetain reports whether a partition that is not open may have a segment to
// delete. Retention by time counts from the largest timestamp, which may lie
// before the file's modification time, as in a copy, or after it.
func (s *Store) mayRetain(r *replica, c *Config) bool {
	if !c.Delete {
		return false
	}
	files, err := s.segments(r)
	if err != nil || files.size == 0 {
		return false
	}
	if c.RetentionBytes >= 0 && files.size > c.RetentionBytes {
		return true
	}
	if c.RetentionMs < 0 {
		return false
	}
	limit := time.Now().Add(-time.Duration(c.RetentionMs) * time.Millisecond)
	if files.oldest.Before(limit) {
		return true
	}
	t, ok := s.largestTime(r, files.firstBase)
	return ok && t < limit.UnixMilli()
}

// largestTime returns the timestamp of the last entry in the time index of a
// segment that a clean stop left, which is the largest of the segment; ok is
// false if there is none.
func (s *Store) largestTime(r *replica, base int64) (ms int64, ok bool) {
	f, err := s.o.FS.OpenFile(filepath.Join(r.path(), logdir.FileName(logdir.KindTimeIndex, base)), os.O_RDONLY, 0)
	if err != nil {
		return 0, false
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || info.Size() < timeindex.EntrySize {
		return 0, false
	}
	var p [timeindex.EntrySize]byte
	if _, err := f.ReadAt(p[:], info.Size()/timeindex.EntrySize*timeindex.EntrySize-timeindex.EntrySize); err != nil {
		return 0, false
	}
	e, err := timeindex.DecodeEntry(p[:], base)
	return e.Timestamp, err == nil && e.Timestamp > 0
}
