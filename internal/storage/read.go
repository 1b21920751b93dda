package storage

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"

	"kf/internal/format/batch"
	"kf/internal/format/offsetindex"
	"kf/internal/format/txnindex"
)

// Read returns where the records from offset on lie, at most max bytes of them.
// A first batch that is larger is returned whole if whole is set, else nothing
// is, as in a fetch of Kafka. It fails with
// [ErrOffsetOutOfRange] below the log start offset and above the log end offset;
// between the bound and the log end there is nothing.
func (l *Log) Read(offset int64, max int, bound Bound, whole bool) (Read, error) {
	for {
		before := l.view.Load()
		r, err := l.read(offset, max, bound, whole)
		if err == nil {
			return r, nil
		}
		if errors.Is(err, fs.ErrNotExist) && l.view.Load() != before && l.usable() == nil {
			continue // the segment was deleted meanwhile
		}
		return Read{}, l.readFailed(err)
	}
}

func (l *Log) read(offset int64, max int, bound Bound, whole bool) (Read, error) {
	if err := l.usable(); err != nil {
		return Read{}, err
	}
	// In this order: what is below the bound is in the file, and in the list.
	limit := int64(0)
	r := Read{HighWatermark: l.HighWatermark(), LastStableOffset: l.LastStableOffset(), LogStartOffset: l.LogStartOffset()}
	end := l.end.load()
	switch bound {
	case ToHighWatermark:
		limit = min(r.HighWatermark, end.offset)
	case ToLastStableOffset:
		limit = min(r.LastStableOffset, end.offset)
		r.Aborted = []AbortedTxn{}
	default:
		limit = end.offset
	}
	if offset < r.LogStartOffset || offset > end.offset {
		return Read{}, fmt.Errorf("%w: %d, have %d to %d", ErrOffsetOutOfRange, offset, r.LogStartOffset, end.offset)
	}
	if offset >= limit {
		return r, nil
	}
	segments := l.segments()
	last, err := l.translate(segments, limit, end)
	if err != nil {
		return Read{}, err
	}
	for i := floor(segments, offset); i >= 0 && i < len(segments); i++ {
		s := segments[i]
		to := s.size.Load()
		if s == last.segment {
			to = last.pos
		}
		b, err := l.find(s, offset, to)
		if err == nil {
			return r, l.fill(&r, segments[i:], b, to, max, whole, offset)
		}
		if err != io.EOF {
			return Read{}, err
		}
		if s == last.segment {
			break
		}
	}
	return r, nil
}

// fill makes r the data from the batch b on, which lies in the first segment, up
// to byte to of it.
func (l *Log) fill(r *Read, segments []*segment, b batchAt, to int64, max int, whole bool, offset int64) error {
	n := int64(max)
	if size := b.header.Size(); n < size {
		if !whole {
			return nil
		}
		n = size
	}
	n = min(n, to-b.pos)
	h, err := segments[0].log.acquire()
	if err != nil {
		return err
	}
	r.Data = Region{h, b.pos, int(n)}
	if r.Aborted == nil {
		return nil
	}
	if err := l.aborted(r, segments, offset); err != nil {
		r.Data.Release()
		return err
	}
	return nil
}

// translate returns the place of an offset: everything below it lies in front.
func (l *Log) translate(segments []*segment, offset int64, end place) (place, error) {
	if offset == end.offset {
		return end, nil
	}
	for i := floor(segments, offset); i >= 0 && i < len(segments); i++ {
		s := segments[i]
		to := s.size.Load()
		if s == end.segment {
			to = end.pos
		}
		b, err := l.find(s, offset, to)
		if err == nil {
			return place{offset, s, b.pos}, nil
		}
		if err != io.EOF {
			return place{}, err
		}
	}
	return end, nil
}

// find returns the first batch in the first size bytes of a segment whose last
// offset is at least offset, io.EOF if there is none.
func (l *Log) find(s *segment, offset, size int64) (batchAt, error) {
	if size == 0 {
		return batchAt{}, io.EOF
	}
	w, err := s.walk(size)
	if err != nil {
		return batchAt{}, err
	}
	defer w.done()
	if pos, ok := l.recent.find(offset); ok && pos < size && s == l.active() {
		if b, err := findFrom(w, pos, offset); err == nil && b.pos == pos && b.header.BaseOffset == offset {
			return b, nil
		}
	}
	from, below, err := s.lookup(offset)
	if err != nil {
		return batchAt{}, err
	}
	if from != 0 && !startsBatch(w, from, below) {
		// Kafka would find nothing or fail here.
		if s.distrusted.CompareAndSwap(false, true) {
			l.notice(Warn, s.index.name(), "position %d for offset %d is not that of a batch: the segment is searched without the index", from, below)
		}
		from = 0
	}
	return findFrom(w, from, offset)
}

func findFrom(w *walk, pos, offset int64) (batchAt, error) {
	pos, h, err := w.Find(pos, offset)
	if err != nil && err != io.EOF && !isIO(err) {
		err = fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	return batchAt{pos, h}, err
}

// startsBatch reports whether what lies at pos looks like a batch that begins at
// or below offset. Where a message of magic 0 or 1 begins is not to be seen.
func startsBatch(w *walk, pos, offset int64) bool {
	if pos < 0 {
		return false
	}
	prefix, err := w.Prefix(pos)
	return err == nil && prefix.Magic >= 0 && prefix.Magic <= 2 && prefix.Offset >= 0 && (prefix.Magic < 2 || prefix.Offset <= offset)
}

// lookup returns the position from which on to look for offset, and the offset
// of the index entry that says so.
func (s *segment) lookup(offset int64) (pos, below int64, err error) {
	if s.distrusted.Load() {
		return 0, s.base, nil
	}
	n, err := s.index.search(offsetKey, offset-s.base)
	if err != nil || n == 0 {
		return 0, s.base, err
	}
	var p [offsetindex.EntrySize]byte
	if err := s.index.entry(n-1, p[:]); err != nil {
		return 0, s.base, err
	}
	return positionKey(p[:]), s.base + offsetKey(p[:]), nil
}

// aborted collects the aborted transactions that overlap the data of r.
func (l *Log) aborted(r *Read, segments []*segment, offset int64) error {
	// As in Kafka the first offset that the index knows to be behind the data.
	upper := l.LogEndOffset()
	if len(segments) > 1 {
		upper = segments[1].base
	}
	x := segments[0].index
	n, err := x.search(positionKey, r.Data.pos+int64(r.Data.n)-1)
	if err != nil {
		return err
	}
	if n < x.count() {
		var p [offsetindex.EntrySize]byte
		if err := x.entry(n, p[:]); err != nil {
			return err
		}
		upper = segments[0].base + offsetKey(p[:])
	}
	for _, s := range segments {
		complete, err := s.collectAborted(&r.Aborted, offset, upper)
		if err != nil {
			return err
		}
		if complete {
			break
		}
	}
	slices.SortFunc(r.Aborted, func(a, b AbortedTxn) int {
		return cmp.Or(cmp.Compare(a.FirstOffset, b.FirstOffset), cmp.Compare(a.ProducerID, b.ProducerID))
	})
	return nil
}

// collectAborted adds the aborted transactions of a segment that overlap the
// offsets from on, below upper. Complete says that no later segment has another.
func (s *segment) collectAborted(all *[]AbortedTxn, from, upper int64) (complete bool, err error) {
	n := s.aborts.Load()
	if n == 0 {
		return false, nil
	}
	f, err := s.txns.acquire()
	if err != nil {
		return false, err
	}
	defer f.release()
	for e, err := range txnindex.Entries(io.NewSectionReader(f, 0, n*txnEntry)) {
		if err != nil && !errors.Is(err, txnindex.ErrVersion) {
			return false, err
		}
		if e.LastOffset >= from && e.FirstOffset < upper {
			*all = append(*all, AbortedTxn{e.ProducerID, e.FirstOffset})
		}
		if e.LastStableOffset >= upper {
			return true, nil
		}
	}
	return false, nil
}

// read reads the whole entry at pos into memory.
func (s *segment) readEntry(pos int64, h *batch.Header, limit int64) ([]byte, error) {
	if h.Size() > limit {
		return nil, fmt.Errorf("%w: %s: byte %d: batch of %d bytes, limit is %d", ErrUnreadable, s.log.name(), pos, h.Size(), limit)
	}
	p := make([]byte, h.Size())
	return p, readFull(s.log, p, pos)
}
