package storage

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"kf/internal/wire"
)

// A cleaning is what the cleaner threads of a store share.
type cleaning struct {
	store    *Store
	throttle *Throttle // nil for no limit

	mu          sync.Mutex
	busy        map[*replica]bool // being cleaned
	uncleanable map[*replica]bool // failed, until the next start
}

// startCleaner starts the threads that compact logs.
func (s *Store) startCleaner(ctx context.Context) {
	o := &s.o.Cleaner
	if !o.Enabled || o.Threads <= 0 {
		return
	}
	c := &cleaning{store: s, busy: map[*replica]bool{}, uncleanable: map[*replica]bool{}}
	if o.BytesPerSec > 0 && o.BytesPerSec < math.MaxFloat64 {
		c.throttle = NewThrottle(o.BytesPerSec)
	}
	pause := time.Duration(o.BackoffMs) * time.Millisecond
	for range o.Threads {
		s.wg.Go(func() {
			for ctx.Err() == nil {
				if c.cleanOne(ctx) {
					continue
				}
				select {
				case <-ctx.Done():
				case <-time.After(pause):
				}
			}
		})
	}
}

// cleanOne cleans the log that needs it most; it reports whether there was one.
func (c *cleaning) cleanOne(ctx context.Context) bool {
	r, dirty := c.choose(ctx)
	if r == nil {
		return false
	}
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.busy, r)
	}()
	o := &c.store.o.Cleaner
	options := CleanOptions{
		FirstDirty: dirty.FirstDirty, Now: time.Now().UnixMilli(),
		MapBytes: o.DedupeBytes / int64(o.Threads), MapLoad: o.LoadFactor,
		BufferBytes: max(1, o.BufferBytes/o.Threads/2),
	}
	if c.throttle != nil {
		options.Throttle = c.throttle.Wait
	}
	result, err := r.log.Load().Clean(ctx, options)
	switch {
	case err == nil:
		c.note(r, result.FirstDirty)
	case ctx.Err() != nil, errors.Is(err, ErrChanged), errors.Is(err, ErrClosed):
	case errors.Is(err, ErrOffline):
		c.store.fail(r.dir, err)
	default:
		c.store.o.Notice(Notice{Error, r.path(), fmt.Sprintf("cannot be compacted, which is not tried again before the next start: %v", err)})
		c.mu.Lock()
		c.uncleanable[r] = true
		c.mu.Unlock()
	}
	return true
}

// note keeps the first dirty offset of a log in the cleaner checkpoint.
func (c *cleaning) note(r *replica, firstDirty int64) {
	r.dir.set(cleanerOffsets, r.tp, firstDirty)
	if err := c.store.writeCheckpoints(r.dir, cleanerOffsets); err != nil {
		c.store.fail(r.dir, err)
	}
}

// choose returns the log with the largest dirty share of those that are due,
// and marks it busy; one in which something is overdue goes first.
func (c *cleaning) choose(ctx context.Context) (best *replica, dirty Dirtiness) {
	now := time.Now().UnixMilli()
	settings := c.store.settings()
	for _, d := range c.store.dirs {
		if d.failure() != nil {
			continue
		}
		for _, r := range c.store.list(d) {
			if ctx.Err() != nil {
				return nil, dirty
			}
			config := settings(r.tp.Topic)
			if !config.Compact || c.skip(r) {
				continue
			}
			l := c.open(ctx, r)
			if l == nil {
				continue
			}
			firstDirty, ok := d.at(cleanerOffsets, r.tp)
			if !ok {
				firstDirty = -1
			}
			is, err := l.Dirtiness(firstDirty, now)
			if err != nil {
				c.store.failed(d, err)
				continue
			}
			if is.Reset {
				c.store.o.Notice(Notice{Warn, r.path(), fmt.Sprintf("the cleaner checkpoint says offset %d, which is not in the log: cleaning starts from offset %d", firstDirty, is.FirstDirty)})
				c.note(r, is.FirstDirty)
			}
			if is.Due(config) && (best == nil || is.Overdue > dirty.Overdue || is.Overdue == dirty.Overdue && is.Ratio() > dirty.Ratio()) {
				best, dirty = r, is
			}
		}
	}
	if best == nil {
		return nil, dirty
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.busy[best] {
		return nil, dirty // another thread was quicker
	}
	c.busy[best] = true
	return best, dirty
}

func (c *cleaning) skip(r *replica) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.busy[r] || c.uncleanable[r]
}

// open returns the log of a partition. One that is not open is opened only if
// the names of its files say that a segment was sealed since the last round.
func (c *cleaning) open(ctx context.Context, r *replica) *Log {
	if l := r.log.Load(); l != nil {
		return l
	}
	if !r.clean {
		return nil // its recovery is under way
	}
	firstDirty, _ := r.dir.at(cleanerOffsets, r.tp)
	if files, err := c.store.segments(r); err != nil || files.n < 2 || files.lastBase <= firstDirty {
		return nil
	}
	l, err := c.store.open(ctx, r, wire.UUID{})
	if err != nil {
		if ctx.Err() == nil {
			c.store.o.Notice(Notice{Error, r.path(), "cannot be opened for compaction: " + err.Error()})
		}
		return nil
	}
	return l
}
