package storage

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strings"
	"time"

	"kf/internal/logdir"
)

const cleanedSuffix = "." + string(logdir.StateCleaned)

// A cleaned is the segment that takes the place of others. Until it does, its
// files end in .cleaned.
type cleaned struct {
	cl  *cleaner
	s   *segment
	buf []byte // what was not written yet
}

// create makes the files of a new segment.
func (cl *cleaner) create(base int64) (*cleaned, error) {
	l := cl.l
	s := l.openSegment(base, 0, 0, 0, 0)
	s.maxKnown, s.lastKnown, s.lastTime = true, true, noTimestamp
	for _, f := range s.files() {
		name := f.name() + cleanedSuffix
		f.path.Store(&name)
		if err := l.fsys.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	for _, f := range s.files()[:3] {
		if err := create(l.fsys, f.name()); err != nil {
			return nil, err
		}
	}
	return &cleaned{cl: cl, s: s}, nil
}

// add appends an entry that ends with the offset last. put appends its bytes.
func (c *cleaned) add(last, maxTimestamp int64, put func(buf []byte) ([]byte, error)) error {
	s := c.s
	if !s.canHold(last) {
		return fmt.Errorf("%w: offset %d does not fit into the segment of %d", ErrUnreadable, last, s.base)
	}
	before := len(c.buf)
	var err error
	if c.buf, err = put(c.buf); err != nil {
		return err
	}
	pos, n := s.size.Load()+int64(before), int64(len(c.buf)-before)
	if pos+n > math.MaxInt32 {
		return fmt.Errorf("%w: %d bytes do not fit into the segment of %d", ErrUnreadable, pos+n, s.base)
	}
	s.sawTime(maxTimestamp, last)
	limit := c.cl.c.SegmentIndexBytes
	if s.unindexed > int64(c.cl.c.IndexIntervalBytes) && !s.index.full(limit) && !s.times.full(limit) {
		if err := s.prepareEntries(limit); err != nil {
			return err
		}
		s.addEntries(last, pos)
		s.unindexed = 0
	}
	s.unindexed += n
	if len(c.buf) < c.cl.o.BufferBytes {
		return nil
	}
	return c.flush()
}

func (c *cleaned) flush() error {
	if len(c.buf) == 0 {
		return nil
	}
	if err := c.cl.throttle(len(c.buf)); err != nil {
		return err
	}
	if err := c.s.log.writeAt(c.buf, c.s.size.Load()); err != nil {
		return err
	}
	c.s.size.Add(int64(len(c.buf)))
	c.cl.result.BytesWritten += int64(len(c.buf))
	c.buf = c.buf[:0]
	return nil
}

// finish makes the files durable, as old as those of the segment last.
func (c *cleaned) finish(last *segment) error {
	if err := c.flush(); err != nil {
		return err
	}
	c.buf = nil
	if err := c.cl.l.seal(c.s); err != nil {
		return err
	}
	if err := c.s.sync(true); err != nil {
		return err
	}
	modified, err := c.cl.modified(last)
	if err != nil {
		return err
	}
	for _, f := range c.s.files()[:3] {
		t := time.UnixMilli(modified)
		if err := c.cl.l.fsys.Chtimes(f.name(), t, t); err != nil {
			return err
		}
	}
	return nil
}

// discard removes the files of a segment that does not take the place of others.
// If the log is offline they are left to the next load, perhaps to finish the
// swap.
func (cl *cleaner) discard(s *segment) error {
	var errs []error
	s.drop()
	if cl.l.usable() != nil {
		return nil
	}
	for _, f := range s.files() {
		if err := cl.l.fsys.Remove(f.name()); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// swap puts s in the place of old, so that a load finds either all of the old
// segments or s, wherever it is interrupted:
//
//   - while there is a .cleaned file, it removes that and the .swap files;
//   - with .swap files alone it removes what is left of the old segments and
//     renames them.
func (cl *cleaner) swap(s *segment, old []*segment) error {
	l := cl.l
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := cl.alive(); err != nil {
		return err
	}
	list := l.segments()
	i := slices.Index(list, old[0])
	if l.cuts.Load() != cl.cuts || i < 0 || len(list) <= i+len(old) || !slices.Equal(list[i:i+len(old)], old) {
		return fmt.Errorf("%s: %w", l.dir, ErrChanged)
	}
	if err := rename(s, func(name string) string { return strings.TrimSuffix(name, cleanedSuffix) + swapSuffix }); err != nil {
		return l.failed(err)
	}
	if err := l.fsys.SyncDir(l.dir); err != nil {
		return l.failed(err)
	}
	l.setSegments(slices.Concat(list[:i], []*segment{s}, list[i+len(old):]))
	// The producer snapshot of the first one stays: there is a segment at its
	// offset.
	if err := l.removeReplaced(old[0]); err != nil {
		return l.failed(err)
	}
	if err := l.removeSegments(old[1:]); err != nil {
		return l.failed(err)
	}
	if err := rename(s, func(name string) string { return strings.TrimSuffix(name, swapSuffix) }); err != nil {
		return l.failed(err)
	}
	return l.failed(l.fsys.SyncDir(l.dir))
}

// rename renames the files of a segment that are there, the .log first.
func rename(s *segment, to func(name string) string) error {
	for i, f := range s.files() {
		err := f.rename(to(f.name()))
		if err == nil {
			continue
		}
		if i < 3 || !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		// There is no .txnindex; the first abort would make one.
		name := to(f.name())
		f.path.Store(&name)
	}
	return nil
}

// removeReplaced is removeSegments for a segment in whose place there is another
// with its base offset.
func (l *Log) removeReplaced(s *segment) error {
	var names []string
	for _, f := range s.files() {
		name := f.name() + deletedSuffix
		if err := f.rename(name); err == nil {
			names = append(names, name)
		} else if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	l.removeLater([]*segment{s}, names)
	return nil
}
