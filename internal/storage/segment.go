package storage

import (
	"encoding/binary"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"kf/internal/format/offsetindex"
	"kf/internal/format/timeindex"
	"kf/internal/format/txnindex"
	"kf/internal/logdir"
)

// A segment is a .log file with its indexes. Its files are opened when they are
// needed. Readers use the atomic fields; the rest belongs to the goroutine that
// changes the log.
type segment struct {
	base   int64 // offset in the name
	log    *file
	index  *index
	times  *index
	txns   *file
	size   atomic.Int64 // bytes of entries
	aborts atomic.Int64 // entries of the .txnindex; without one there may be no file
	// distrusted says that the offset index was found wrong and is not used until
	// the next start.
	distrusted atomic.Bool

	stamps sync.Mutex
	// The largest timestamp and the last offset of the first batch with it; -1
	// and the base offset without one. Unknown until it is read from the time
	// index.
	maxTime, maxTimeOffset int64
	maxKnown               bool

	created   time.Time // or opened
	firstTime int64     // largest timestamp of the first append, -1 without one
	firstRead bool      // firstTime is known
	jitter    int64     // ms by which it rolls earlier
	lastTime  int64     // timestamp of the last time index entry
	lastKnown bool      // lastTime is known
	unindexed int64     // bytes since the last index entry
	padded    bool      // the .log is longer than its entries
}

func (l *Log) path(kind logdir.Kind, base int64) string {
	return filepath.Join(l.dir, logdir.FileName(kind, base))
}

// openSegment returns the segment of files that are there.
func (l *Log) openSegment(base, size, entries, times, aborts int64) *segment {
	file := func(kind logdir.Kind) *file { return newFile(l.files, l.fsys, l.path(kind, base)) }
	s := &segment{
		base:          base,
		log:           file(logdir.KindLog),
		index:         newIndex(file(logdir.KindIndex), offsetKind, entries),
		times:         newIndex(file(logdir.KindTimeIndex), timeKind, times),
		txns:          file(logdir.KindTxnIndex),
		maxTime:       noTimestamp,
		maxTimeOffset: base,
		created:       time.Now(),
		firstTime:     noTimestamp,
		jitter:        l.config.Load().jitter(),
	}
	s.size.Store(size)
	s.aborts.Store(aborts)
	return s
}

// jitter returns by how many ms a new segment rolls earlier.
func (c *Config) jitter() int64 {
	if n := min(c.SegmentJitterMs, c.SegmentMs); n > 0 {
		return rand.Int64N(n)
	}
	return 0
}

// files yields the files of a segment, the .log first: without it a load takes
// the others for left over.
func (s *segment) files() []*file { return []*file{s.log, s.index.file, s.times.file, s.txns} }

func (s *segment) drop() {
	for _, f := range s.files() {
		f.drop()
	}
}

// largest returns the largest timestamp of the segment and the last offset of
// the first batch that has it; -1 and the base offset if none has one.
func (s *segment) largest() (timestamp, offset int64, err error) {
	s.stamps.Lock()
	defer s.stamps.Unlock()
	if !s.maxKnown {
		if n := s.times.count(); n > 0 {
			var p [timeindex.EntrySize]byte
			if err := s.times.entry(n-1, p[:]); err != nil {
				return 0, 0, err
			}
			s.maxTime, s.maxTimeOffset = timestampKey(p[:]), s.base+timeOffsetKey(p[:])
		}
		s.maxKnown = true
	}
	return s.maxTime, s.maxTimeOffset, nil
}

// sawTime notes a timestamp, which counts if it is larger than those so far.
func (s *segment) sawTime(timestamp, offset int64) {
	s.stamps.Lock()
	defer s.stamps.Unlock()
	if timestamp > s.maxTime {
		s.maxTime, s.maxTimeOffset = timestamp, offset
	}
}

// setLargest replaces what largest returns; known false makes it read again.
func (s *segment) setLargest(timestamp, offset int64, known bool) {
	s.stamps.Lock()
	defer s.stamps.Unlock()
	s.maxTime, s.maxTimeOffset, s.maxKnown = timestamp, offset, known
}

// countUnindexed sets how many bytes of a segment of size bytes lie behind the start
// of the batch that was indexed last. Kafka counts from 0 again after a start: of a
// segment that several starts went on with it needs more index entries when it
// recovers it than an index file may have, and then does not start.
func (s *segment) countUnindexed(size int64) error {
	s.unindexed = size
	n := s.index.count()
	if n == 0 {
		return nil
	}
	var p [offsetindex.EntrySize]byte
	if err := s.index.entry(n-1, p[:]); err != nil {
		return err
	}
	s.unindexed -= positionKey(p[:])
	return nil
}

// canHold reports whether the indexes can name offset.
func (s *segment) canHold(offset int64) bool {
	relative := offset - s.base
	return relative >= 0 && relative == int64(int32(relative))
}

// prepareEntries makes room in both indexes, and for the final entry of the
// time index.
func (s *segment) prepareEntries(maxBytes int32) error {
	if err := s.index.prepare(maxBytes); err != nil {
		return err
	}
	return s.prepareTime(maxBytes)
}

func (s *segment) prepareTime(maxBytes int32) error {
	if !s.lastKnown {
		s.lastTime = noTimestamp
		if n := s.times.count(); n > 0 {
			var p [timeindex.EntrySize]byte
			if err := s.times.entry(n-1, p[:]); err != nil {
				return err
			}
			s.lastTime = timestampKey(p[:])
		}
		s.lastKnown = true
	}
	return s.times.prepare(maxBytes)
}

// addEntries appends to both indexes, which were prepared: the batches that end
// with offset start at pos.
func (s *segment) addEntries(offset, pos int64) {
	s.index.add(func(p []byte) {
		binary.BigEndian.PutUint32(p, uint32(offset-s.base))
		binary.BigEndian.PutUint32(p[4:], uint32(pos))
	})
	s.addTime()
}

// addTime appends the largest timestamp to the prepared time index if it is
// larger than that of the last entry.
func (s *segment) addTime() {
	s.stamps.Lock()
	timestamp, offset := s.maxTime, s.maxTimeOffset
	s.stamps.Unlock()
	if timestamp <= s.lastTime {
		return
	}
	s.lastTime = timestamp
	s.times.add(func(p []byte) {
		binary.BigEndian.PutUint64(p, uint64(timestamp))
		binary.BigEndian.PutUint32(p[8:], uint32(offset-s.base))
	})
}

const (
	offsetEntry = offsetindex.EntrySize
	txnEntry    = txnindex.EntrySize
	noTimestamp = -1
)
