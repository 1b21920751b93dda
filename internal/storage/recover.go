package storage

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"slices"

	"kf/internal/format/batch"
	"kf/internal/format/checkpoint"
	"kf/internal/format/txnindex"
	"kf/internal/logdir"
	segfile "kf/internal/segment"
)

// recoverLog recovers the segments from the one with the recovery point on, after
// a kill: their indexes are made anew and what is damaged is taken out. What
// Kafka cuts off or deletes then is kept aside, and a segment is given up only if
// records in front of it are missing.
func (ld *loader) recoverLog() error {
	list := ld.segments()
	first := max(0, floor(list, ld.o.RecoveryPoint))
	for _, s := range list[:first] {
		if s.size.Load() > 0 && (ld.lacks(s, logdir.KindIndex) || ld.lacks(s, logdir.KindTimeIndex)) {
			ld.notice(Warn, s.log.name(), "an index is missing: the indexes of the segment are rebuilt")
			if _, err := ld.reindex(s); err != nil {
				return err
			}
		}
	}
	if err := ld.checkAborts(list[:first]); err != nil {
		return err
	}
	if err := ld.rebuildProducers(ld.ctx, list[first].base); err != nil {
		return err
	}
	ld.written = true
	next, end := list[first].base, int64(0)
	for i := first; i < len(ld.segments()); i++ {
		s := ld.segments()[i]
		r, err := ld.recoverSegment(s)
		if err != nil {
			return err
		}
		next, end = max(next, r.next), r.next
		if r.damage != nil {
			if err := ld.cutDamage(i, r, next); err != nil {
				return err
			}
		}
		ld.producers.end = max(ld.producers.end, next)
		if _, err := ld.snapshot(false); err != nil {
			return err
		}
	}
	s := ld.active()
	// Not next: a clean start looks at the active segment only.
	ld.end.store(place{end, s, s.size.Load()})
	return nil
}

// A recovered is what recovery found in a segment.
type recovered struct {
	tail
	size   int64 // of the file
	damage error // what is at pos, nil if the file ends there
	// far is the base offset of the batch at pos if that is too far from the
	// segment's and a segment of its own makes it right, else -1.
	far int64
}

// recoverSegment reads a segment and makes its indexes, its part of the producer
// state and of the leader epochs anew.
func (ld *loader) recoverSegment(s *segment) (recovered, error) {
	if err := ld.fsys.Remove(s.txns.name()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return recovered{}, err
	}
	s.aborts.Store(0)
	latest, known := ld.epochs.latest()
	limit, err := ld.startAfter(s)
	if err != nil {
		return recovered{}, err
	}
	return ld.scan(s, limit, func(e *segfile.Entry) error {
		if err := e.Check(); err != nil {
			return &damageError{err}
		}
		h := &e.Header
		if h.BaseOffset < limit && h.LastOffset() >= limit {
			return &damageError{fmt.Errorf("offsets %d to %d reach into the next segment, which begins at %d", h.BaseOffset, h.LastOffset(), limit)}
		}
		if h.Magic < 2 {
			return nil
		}
		if epoch := h.PartitionLeaderEpoch; epoch >= 0 && (!known || epoch > latest) && h.BaseOffset >= 0 {
			ld.epochs.replace(assigned(ld.epochs.all(), checkpoint.Epoch{Epoch: epoch, StartOffset: h.BaseOffset}))
			latest, known = epoch, true
		}
		return ld.replayBatch(s, h, func() ([]byte, error) { return e.Data, nil }, true)
	})
}

// reindex makes the indexes of a segment anew and changes nothing else: it does
// not look at checksums and stops at what is no batch.
func (ld *loader) reindex(s *segment) (tail, error) {
	ld.written = true
	next := s.base
	r, err := ld.scan(s, math.MaxInt64, func(e *segfile.Entry) error {
		if !inOrder(&e.Header, next) && e.Check() != nil {
			return &damageError{errors.New("no batch")}
		}
		next = max(next, e.Header.LastOffset()+1)
		return nil
	})
	if s != ld.active() {
		s.size.Store(r.size) // served as it is
	}
	return r.tail, err
}

// inOrder reports whether h may be what follows a batch that ends below next. It
// is a cheap look: what it refuses may still be sound.
func inOrder(h *batch.Header, next int64) bool {
	return h.Magic >= 0 && h.BaseOffset >= next && h.LastOffset() >= h.BaseOffset
}

// A damageError says that an entry is the end of what can be used.
type damageError struct{ error }

// scan reads all entries of a segment, makes its indexes anew, and calls each for
// every entry until one is damaged. The next segment begins at limit. Kafka fails at entries whose offsets do not
// rise and empties the segment; here they get no index entry.
func (ld *loader) scan(s *segment, limit int64, each func(*segfile.Entry) error) (recovered, error) {
	r := recovered{tail: tail{next: s.base}, size: s.size.Load(), far: -1}
	if err := s.beginIndexes(); err != nil {
		return r, err
	}
	h, err := s.log.acquire()
	if err != nil {
		return r, err
	}
	defer h.release()
	c := ld.config.Load()
	file := segfile.FileOf(s.log.name(), h, r.size)
	scanner := segfile.NewScanner(&file, 0)
	var chunk segfile.Chunk
	defer func() { chunk.Release() }()
	indexed := int64(0)
	for r.damage == nil {
		err := scanner.Next(ld.ctx, &chunk)
		if err == io.EOF {
			break
		}
		if err != nil {
			return r, err
		}
		if chunk.Damage != nil {
			r.pos, r.damage = chunk.Pos, chunk.Damage
			if e, ok := errors.AsType[*segfile.Error](chunk.Damage); ok {
				r.damage = e.Err // the place is said anyway
			}
			break
		}
		for e, err := range chunk.Entries(s.log.name()) {
			last := e.Header.LastOffset()
			if err == nil && last-s.base > math.MaxInt32 {
				if last < limit {
					r.far = e.Header.BaseOffset
				}
				err = fmt.Errorf("offset %d is too far from the base offset", last)
			} else if err == nil {
				err = each(e)
			}
			if _, damaged := errors.AsType[*damageError](err); damaged || err != nil && !isIO(err) && ld.ctx.Err() == nil {
				r.pos, r.damage = e.Pos, err
				break
			}
			if err != nil {
				return r, err
			}
			s.sawTime(e.Header.MaxTimestamp, last)
			if e.Pos-indexed > int64(c.IndexIntervalBytes) {
				if s.canHold(last) && last >= r.next && !s.index.full(c.SegmentIndexBytes) && !s.times.full(c.SegmentIndexBytes) {
					if err := s.prepareEntries(c.SegmentIndexBytes); err != nil {
						return r, err
					}
					s.addEntries(last, e.Pos)
				}
				indexed = e.Pos
			}
			r.pos, r.next = e.Pos+e.Header.Size(), max(r.next, last+1)
		}
	}
	s.size.Store(r.pos)
	if r.damage == nil && r.pos < r.size { // cannot be, but must not be lost if it is
		r.damage = fmt.Errorf("%d bytes are left", r.size-r.pos)
	}
	return r, ld.seal(s)
}

// startAfter returns where the segment behind s begins, the largest offset if there
// is none. Its name may say less than its first batch.
func (ld *loader) startAfter(s *segment) (int64, error) {
	list := ld.segments()
	i := floor(list, s.base) + 1
	if i == len(list) {
		return math.MaxInt64, nil
	}
	start := list[i].base
	_, err := ld.walk(ld.ctx, list[i], 0, list[i].size.Load(), func(b batchAt) error {
		start = max(start, b.header.BaseOffset)
		return io.EOF
	})
	if err == io.EOF {
		err = nil
	}
	return start, err
}

// beginIndexes empties both indexes, and makes their files if they are missing.
func (s *segment) beginIndexes() error {
	for _, x := range []*index{s.index, s.times} {
		h, err := x.acquireWith(os.O_RDWR | os.O_CREATE)
		if err != nil {
			return err
		}
		h.release()
		if err := x.cut(0); err != nil {
			return err
		}
	}
	s.setLargest(noTimestamp, s.base, true)
	s.lastTime, s.lastKnown = noTimestamp, true
	return nil
}

// cutDamage takes the bytes of segment i from r.pos on out, and the segments
// behind it if they do not go on where it then ends.
func (ld *loader) cutDamage(i int, r recovered, next int64) error {
	list := ld.segments()
	s := list[i]
	ld.cut = true
	if r.far >= 0 {
		return ld.split(i, r)
	}
	later := list[i+1:]
	goesOn := len(later) == 0 || later[0].base == next
	if !goesOn && ld.config.Load().Compact && later[0].base > next {
		zero, err := s.zeros(r.pos, r.size)
		if err != nil {
			return err
		}
		goesOn = zero || r.size-r.pos <= batch.PrefixSize // too few bytes for the records of the gap
	}
	name, err := ld.keep(s, r.pos, r.size)
	if err != nil {
		return err
	}
	switch {
	case name == "":
		ld.notice(Info, s.log.name(), "%d zeros from byte %d on, behind offset %d, are cut", r.size-r.pos, r.pos, next-1)
	default:
		ld.notice(Warn, s.log.name(), "byte %d, behind offset %d: %v: %d bytes are cut, and kept as %s", r.pos, next-1, r.damage, r.size-r.pos, name)
	}
	if goesOn {
		return nil
	}
	// From the last one on: a kill in between leaves no hole.
	for _, s := range slices.Backward(later) {
		path := s.log.name()
		name, err := ld.keepWhole(s)
		if err != nil {
			return err
		}
		if name != "" {
			ld.notice(Warn, path, "records from offset %d to %d are missing in front of this segment: out of service, and kept as %s", next, later[0].base-1, name)
		}
	}
	ld.setSegments(slices.Clone(list[:i+1]))
	return nil
}

// split makes a segment of its own of the bytes of segment i from r.pos on, as
// their offsets are too far from its base offset.
func (ld *loader) split(i int, r recovered) error {
	list := ld.segments()
	s := list[i]
	_, taken := slices.BinarySearchFunc(list, r.far, func(s *segment, base int64) int { return int(min(1, max(-1, s.base-base))) })
	if taken || r.far <= s.base {
		// The other half of a split that a kill interrupted.
		name, err := ld.keep(s, r.pos, r.size)
		ld.notice(Warn, s.log.name(), "byte %d: %v: %d bytes are cut, and kept as %s", r.pos, r.damage, r.size-r.pos, name)
		return err
	}
	name := ld.path(logdir.KindLog, r.far)
	if err := ld.copyTo(name+".cleaned", s, r.pos, r.size); err != nil {
		return err
	}
	if err := ld.fsys.Rename(name+".cleaned", name); err != nil {
		return err
	}
	if err := ld.fsys.SyncDir(ld.dir); err != nil {
		return err
	}
	if err := s.log.truncate(r.pos); err != nil {
		return err
	}
	ld.notice(Warn, s.log.name(), "byte %d: %v: %d bytes become the segment %s", r.pos, r.damage, r.size-r.pos, logdir.FileName(logdir.KindLog, r.far))
	ld.setSegments(insertSegment(list, ld.openSegment(r.far, r.size-r.pos, 0, 0, 0)))
	return nil
}

// replayBatch takes a batch of a segment into the producer state; index says that
// an aborted transaction gets an entry in the .txnindex. Kafka refuses to start
// where a batch contradicts the state.
func (l *Log) replayBatch(s *segment, h *batch.Header, data func() ([]byte, error), index bool) error {
	if h.ProducerID < 0 {
		return nil
	}
	var marker *endMarker
	if h.Control() {
		p, err := data()
		if err != nil {
			return err
		}
		if marker, err = markerOf(h, p); err != nil {
			l.notice(Warn, s.log.name(), "control batch at offset %d cannot be read: %v", h.BaseOffset, err)
		}
		if marker == nil {
			return nil
		}
	}
	done, stable, ok := l.producers.apply(h, marker)
	if !index || !ok || !marker.abort {
		return nil
	}
	return s.addAbort(txnindex.Entry{ProducerID: done.producer, FirstOffset: done.first, LastOffset: done.last, LastStableOffset: stable})
}
