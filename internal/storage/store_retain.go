package storage

import (
	"context"
	"fmt"
	"time"

	"kf/internal/wire"
)

// retain deletes what retention no longer wants, in all partitions. One that is
// not open is opened only if the sizes and times of its files say that there
// may be something to delete.
func (s *Store) retain(ctx context.Context) {
	for _, d := range s.dirs {
		for _, r := range s.list(d) {
			if ctx.Err() != nil || d.failure() != nil {
				break
			}
			l := r.log.Load()
			if l == nil && r.clean && s.mayRetain(r) {
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

// mayRetain reports whether a partition that is not open may have a segment to
// delete. Retention by time counts from the largest timestamp, which may lie
// before or after the file's modification time: a segment with a timestamp far
// before it waits until the partition is opened.
func (s *Store) mayRetain(r *replica) bool {
	c := s.o.LogConfig(r.tp.Topic)
	if !c.Delete {
		return false
	}
	files, err := s.segments(r)
	if err != nil || files.size == 0 {
		return false
	}
	return c.RetentionBytes >= 0 && files.size > c.RetentionBytes ||
		c.RetentionMs >= 0 && time.Since(files.oldest) > time.Duration(c.RetentionMs)*time.Millisecond
}
