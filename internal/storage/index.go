package storage

import (
	"encoding/binary"
	"errors"
	"io"
	"sort"
	"sync"
	"sync/atomic"

	"kf/internal/format/offsetindex"
	"kf/internal/format/timeindex"
)

// An index is an .index or .timeindex file: entries of one size that rise.
//
// The newest entries are in memory until there are enough for a write; a kill
// loses them, and recovery makes them anew, as it does with Kafka's mapped
// files. One goroutine changes an index, any number search it without a lock.
type index struct {
	*file
	kind  *indexKind
	tail  atomic.Pointer[indexTail]
	grown bool // the file has its full size of zeros
}

// An indexTail is the end of an index: the entries from start on are in buf,
// those in front of them in the file.
type indexTail struct {
	start int64
	buf   []byte
	n     atomic.Int64 // entries in buf
}

// An indexKind says what the entries of an index are.
type indexKind struct {
	size     int64 // of an entry, bytes
	reserved int64 // entries that only the last one of a segment may take
}

var (
	offsetKind = &indexKind{size: offsetindex.EntrySize}
	timeKind   = &indexKind{size: timeindex.EntrySize, reserved: 1}
)

// A key is what of an entry a search compares.
type key func(entry []byte) int64

// The keys; offsets are relative to the base offset of the segment.
func offsetKey(e []byte) int64    { return int64(int32(binary.BigEndian.Uint32(e))) }
func positionKey(e []byte) int64  { return int64(int32(binary.BigEndian.Uint32(e[4:]))) }
func timestampKey(e []byte) int64 { return int64(binary.BigEndian.Uint64(e)) }

// timeOffsetKey is the offset of a time index entry, which never falls.
func timeOffsetKey(e []byte) int64 { return int64(int32(binary.BigEndian.Uint32(e[8:]))) }

const (
	firstTail  = 64  // entries in memory at first
	laterTail  = 512 // and once there were as many
	searchPage = 4 << 10
)

func newIndex(f *file, kind *indexKind, entries int64) *index {
	x := &index{file: f, kind: kind}
	x.tail.Store(&indexTail{start: entries})
	return x
}

// count returns the number of entries.
func (x *index) count() int64 {
	t := x.tail.Load()
	return t.start + t.n.Load()
}

// limit returns how many entries fit into a file of maxBytes.
func (x *index) limit(maxBytes int32) int64 { return int64(maxBytes) / x.kind.size }

// full reports whether the segment must be rolled before another entry.
func (x *index) full(maxBytes int32) bool {
	return x.count() >= x.limit(maxBytes)-x.kind.reserved
}

// prepare makes room for an entry, so that add cannot fail; maxBytes is the
// size that the file of an active segment has.
func (x *index) prepare(maxBytes int32) error {
	t := x.tail.Load()
	if int(t.n.Load()+1)*int(x.kind.size) <= len(t.buf) {
		return nil
	}
	if err := x.flush(); err != nil {
		return err
	}
	if !x.grown {
		if err := x.truncate(max(x.limit(maxBytes), x.count()) * x.kind.size); err != nil {
			return err
		}
		x.grown = true
	}
	entries := int64(firstTail)
	if len(t.buf) > 0 {
		entries = laterTail
	}
	x.tail.Store(&indexTail{start: x.count(), buf: make([]byte, entries*x.kind.size)})
	return nil
}

// add appends the entry for which prepare made room. put writes it.
func (x *index) add(put func(entry []byte)) {
	t := x.tail.Load()
	at := t.n.Load() * x.kind.size
	put(t.buf[at : at+x.kind.size])
	t.n.Add(1)
}

// flush writes the entries in memory to the file.
func (x *index) flush() error {
	t := x.tail.Load()
	n := t.n.Load()
	if n == 0 {
		return nil
	}
	if err := x.writeAt(t.buf[:n*x.kind.size], t.start*x.kind.size); err != nil {
		return err
	}
	x.tail.Store(&indexTail{start: t.start + n})
	return nil
}

// trim writes what is in memory and cuts the file behind the last entry.
func (x *index) trim() error {
	if err := x.flush(); err != nil {
		return err
	}
	x.grown = false
	return x.truncate(x.count() * x.kind.size)
}

// cut keeps the first n entries.
func (x *index) cut(n int64) error {
	if err := x.flush(); err != nil {
		return err
	}
	x.tail.Store(&indexTail{start: n})
	return nil
}

// entry reads entry i into p, which has its size. One that was cut off since it was
// found is still in the file.
func (x *index) entry(i int64, p []byte) error {
	t := x.tail.Load()
	if i >= t.start && i < t.start+t.n.Load() {
		at := (i - t.start) * x.kind.size
		copy(p, t.buf[at:at+x.kind.size])
		return nil
	}
	return readFull(x.file, p, i*x.kind.size)
}

// readFull fills p; an end of the file before that is io.ErrUnexpectedEOF.
func readFull(f *file, p []byte, off int64) error {
	n, err := f.readAt(p, off)
	if n == len(p) {
		return nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return err
}

var searchPages = sync.Pool{New: func() any { return new([searchPage]byte) }}

// search returns how many entries have a key of at most target.
func (x *index) search(k key, target int64) (int64, error) {
	t, size := x.tail.Load(), x.kind.size
	if n := t.n.Load(); n > 0 && (t.start == 0 || k(t.buf) <= target) {
		return t.start + below(t.buf[:n*size], size, k, target), nil
	}
	page := searchPages.Get().(*[searchPage]byte)
	defer searchPages.Put(page)
	per := searchPage / size
	// Entries in front of lo are at most target, those from hi on are above it.
	for lo, hi := int64(0), t.start; ; {
		from, to := lo, hi
		if hi-lo > per {
			from = lo + (hi-lo-per)/2
			to = from + per
		}
		p := page[:(to-from)*size]
		if err := readFull(x.file, p, from*size); err != nil {
			return 0, err
		}
		switch n := below(p, size, k, target); {
		case n == 0 && from > lo:
			hi = from
		case n == to-from && to < hi:
			lo = to
		default:
			return from + n, nil
		}
	}
}

// below returns how many of the entries in p have a key of at most target.
func below(p []byte, size int64, k key, target int64) int64 {
	return int64(sort.Search(len(p)/int(size), func(i int) bool { return k(p[int64(i)*size:]) > target }))
}
