package storage

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"kf/internal/format/offsetindex"
	"kf/internal/format/timeindex"
	"kf/internal/logdir"
)

// checkLog looks at a log that a clean stop left: whether files are missing, and
// at the tail of the active segment. Unlike Kafka it does not believe the last
// entry of the active index, and takes what follows the last batch out of the
// way of appends.
func (ld *loader) checkLog() error {
	list := ld.segments()
	for i, s := range list {
		if s.size.Load() == 0 && i+1 < len(list) {
			continue
		}
		for _, kind := range []logdir.Kind{logdir.KindIndex, logdir.KindTimeIndex} {
			if !ld.lacks(s, kind) {
				continue
			}
			if s.size.Load() > 0 {
				ld.notice(Warn, ld.path(kind, s.base), "is missing: the indexes of the segment are rebuilt")
			}
			if _, err := ld.reindex(s); err != nil {
				return err
			}
			break
		}
	}
	if err := ld.checkTail(ld.active()); err != nil {
		return err
	}
	return ld.checkAborts(list)
}

// checkTail finds where the active segment ends, from the last entry of its index
// on, and cuts what does not belong there.
func (ld *loader) checkTail(s *segment) error {
	why, err := ld.checkPadding(s)
	if err != nil {
		return err
	}
	size := s.size.Load()
	var t tail
	if why == nil {
		t, why, err = ld.readTail(s)
	}
	if err == nil && why == nil {
		why, err = ld.checkTime(s, t)
	}
	if err != nil {
		return err
	}
	if why != nil {
		level := Warn
		if errors.Is(why, errPadded) {
			level = Info // Kafka never trims those of the metadata log
		}
		ld.notice(level, s.log.name(), "%v: the indexes of the segment are rebuilt", why)
		if t, err = ld.reindex(s); err != nil {
			return err
		}
	}
	if t.pos < size {
		name, err := ld.keep(s, t.pos, size)
		if err != nil {
			return err
		}
		ld.written, ld.cut = true, true
		if name == "" {
			ld.notice(Info, s.log.name(), "%d zeros from byte %d on, behind offset %d, are cut", size-t.pos, t.pos, t.next-1)
		} else {
			ld.notice(Warn, s.log.name(), "%d bytes from byte %d on, behind offset %d, are not a whole batch: cut, and kept as %s", size-t.pos, t.pos, t.next-1, name)
		}
	}
	ld.end.store(place{t.next, s, t.pos})
	return nil
}

// A tail says where a segment ends.
type tail struct {
	pos  int64 // behind the last whole batch
	next int64 // offset behind the last record
}

var errPadded = errors.New("ends in zeros")

// checkPadding says which index ends in zeros, which a stop should have cut off;
// its final entry is missing too then. Kafka takes the zeros for entries.
func (ld *loader) checkPadding(s *segment) (why, err error) {
	for _, x := range []*index{s.index, s.times} {
		n := x.count()
		if n < 2 {
			continue // one entry may be zero: timestamp 0 at the base offset
		}
		p := make([]byte, x.kind.size)
		if err := x.entry(n-1, p); err != nil {
			return nil, err
		}
		if allZero(p) {
			return fmt.Errorf("%s %w", filepath.Base(x.name()), errPadded), nil
		}
	}
	return nil, nil
}

func allZero(p []byte) bool {
	for _, b := range p {
		if b != 0 {
			return false
		}
	}
	return true
}

// readTail steps over the batches from the last index entry on. Why says that the
// entry is wrong.
func (ld *loader) readTail(s *segment) (t tail, why, err error) {
	size := s.size.Load()
	t = tail{next: s.base}
	want := int64(-1)
	if n := s.index.count(); n > 0 {
		var p [offsetindex.EntrySize]byte
		if err := s.index.entry(n-1, p[:]); err != nil {
			return t, nil, err
		}
		t.pos, want = positionKey(p[:]), s.base+offsetKey(p[:])
		wrong := fmt.Errorf("the last entry of %s, offset %d at byte %d, does not fit", logdir.FileName(logdir.KindIndex, s.base), want, t.pos)
		if t.pos < 0 || t.pos >= size || want < s.base {
			return t, wrong, nil
		}
		why = wrong
		sound, err := ld.soundAt(s, t.pos, want)
		if !sound || err != nil {
			return t, wrong, err
		}
	}
	from := t.pos
	end, err := ld.walk(ld.ctx, s, from, size, func(b batchAt) error {
		h := &b.header
		if !inOrder(h, t.next) {
			if sound, err := ld.sound(s, b); err != nil || !sound {
				return cmp.Or(err, io.EOF) // a loose end that looks like a batch
			}
		}
		// Older releases noted the first offset of an append, not the last one.
		if h.LastOffset() == want || b.pos == from && h.LastOffset() > want {
			why = nil
		}
		t.next = max(t.next, h.LastOffset()+1)
		return nil
	})
	if err != nil && err != io.EOF {
		return t, nil, err
	}
	t.pos = end
	return t, why, nil
}

// soundAt reports whether a batch with a right checksum lies at pos that begins
// at or below offset.
func (ld *loader) soundAt(s *segment, pos, offset int64) (bool, error) {
	size := s.size.Load()
	w, err := s.walk(size)
	if err != nil {
		return false, err
	}
	defer w.done()
	if !startsBatch(w, pos, offset) {
		return false, nil
	}
	h, err := w.Header(pos)
	if err != nil || h.Size() > size-pos {
		return false, nil
	}
	return ld.sound(s, batchAt{pos, h})
}

// sound reports whether the checksum of a batch is right, or the batch too large
// to look at.
func (ld *loader) sound(s *segment, b batchAt) (bool, error) {
	p, err := s.readEntry(b.pos, &b.header, ld.maxRead())
	if errors.Is(err, ErrUnreadable) {
		return true, nil
	}
	return err == nil && b.header.Check(p) == nil, err
}

// maxRead is how large a batch may be that a load or a look-up by time reads into
// memory.
func (l *Log) maxRead() int64 { return max(64<<20, int64(l.config.Load().MaxMessageBytes)) }

// checkTime says why the last entry of the time index cannot be right, if so.
func (ld *loader) checkTime(s *segment, t tail) (why, err error) {
	n := s.times.count()
	if n == 0 {
		if t.pos == 0 {
			return nil, nil
		}
		b, err := ld.find(s, s.base, t.pos)
		if err == io.EOF || errors.Is(err, ErrCorrupt) {
			return nil, nil
		}
		if err != nil || b.header.MaxTimestamp < 0 {
			return nil, err
		}
		return fmt.Errorf("%s is empty", logdir.FileName(logdir.KindTimeIndex, s.base)), nil
	}
	var p [timeindex.EntrySize]byte
	if err := s.times.entry(n-1, p[:]); err != nil {
		return nil, err
	}
	timestamp, offset := timestampKey(p[:]), s.base+timeOffsetKey(p[:])
	wrong := fmt.Errorf("the last entry of %s, timestamp %d at offset %d, does not fit", logdir.FileName(logdir.KindTimeIndex, s.base), timestamp, offset)
	if offset < s.base || offset >= t.next {
		return wrong, nil
	}
	b, err := ld.find(s, offset, t.pos)
	switch {
	case err == io.EOF || errors.Is(err, ErrCorrupt):
		return wrong, nil
	case err != nil:
		return nil, err
	case b.header.MaxTimestamp != timestamp:
		return wrong, nil
	}
	return nil, nil
}
