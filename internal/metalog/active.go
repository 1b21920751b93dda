package metalog

import (
	"errors"
	"fmt"
	"os"

	"kf/internal/format/batch"
	"kf/internal/format/offsetindex"
	"kf/internal/format/timeindex"
	"kf/internal/logdir"
	"kf/internal/storage/disk"
)

// Sizes of the index files of the active segment, and how often they get an
// entry: index.interval.bytes. Kafka's defaults; the metadata log has no others.
const (
	indexSize     = 10 << 20
	timeIndexSize = indexSize / timeindex.EntrySize * timeindex.EntrySize
	indexInterval = 4096
)

// active is a segment with its indexes, open for appending.
type active struct {
	base  int64
	log   disk.File
	index disk.File
	times disk.File
	size  int64

	entries     int   // of the index
	timeEntries int   // of the time index
	sinceIndex  int64 // bytes behind the batch that got the last index entry
	lastTime    int64 // timestamp of the last time index entry, -1 if there is none
	maxTime     int64 // largest timestamp so far, and the last offset of its batch; -1 if there is none
	maxOffset   int64
	first       int64 // timestamp of the first batch, -1 if there is none

	startOffset int64 // of the batch from which on the segment was read
}

func (a *active) close() error {
	var all []error
	for _, f := range []disk.File{a.log, a.index, a.times} {
		if f != nil {
			all = append(all, f.Close())
		}
	}
	a.log, a.index, a.times = nil, nil, nil
	return errors.Join(all...)
}

// openIndexes opens the indexes of a segment, new ones if there are none.
func (l *Log) openIndexes(a *active) (err error) {
	a.lastTime, a.maxTime, a.first = -1, -1, -1
	a.index, err = l.o.FS.OpenFile(l.path(logdir.FileName(logdir.KindIndex, a.base)), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return err
	}
	a.times, err = l.o.FS.OpenFile(l.path(logdir.FileName(logdir.KindTimeIndex, a.base)), os.O_CREATE|os.O_RDWR, 0o644)
	return err
}

// seek moves the reader of the segment to a batch at or before offset that the
// index knows, else to the first. The indexes are right up to there, and made
// anew behind.
func (a *active) seek(rd *reader, offset int64) error {
	if rd.size >= batch.HeaderSize {
		p, err := rd.bytes(0, batch.HeaderSize)
		if err != nil {
			return err
		}
		if h, err := batch.DecodeHeader(p); err == nil && h.BaseOffset == a.base {
			a.first = h.MaxTimestamp
		}
	}
	e, n, err := a.lookUp(offset)
	if err != nil {
		return err
	}
	if n > 0 {
		// A crash may leave anything in an index: the batch must be what it says.
		switch h, _, err := rd.at(int64(e.Position)); {
		case err == nil && h.LastOffset() == e.Offset && h.BaseOffset <= offset:
			rd.pos, a.startOffset, a.entries = int64(e.Position), h.BaseOffset, n
		case err != nil && !isDamage(err):
			return err
		}
	}
	if a.entries > 0 {
		if err := a.seekTimes(e.Offset); err != nil {
			return err
		}
	}
	return a.resize(int64(a.entries*offsetindex.EntrySize), int64(a.timeEntries*timeindex.EntrySize), true)
}

// resize cuts the indexes to their entries and makes them full-size if grown.
func (a *active) resize(index, times int64, grown bool) error {
	for _, x := range []struct {
		f          disk.File
		size, full int64
	}{{a.index, index, indexSize}, {a.times, times, timeIndexSize}} {
		if err := x.f.Truncate(x.size); err != nil {
			return err
		}
		if grown {
			if err := x.f.Truncate(x.full); err != nil {
				return err
			}
		}
	}
	return nil
}

// lookUp returns the last index entry at or below offset, and how many entries
// there are up to it. Entries rise, zeros follow them.
func (a *active) lookUp(offset int64) (e offsetindex.Entry, n int, err error) {
	info, err := a.index.Stat()
	if err != nil {
		return e, 0, err
	}
	var p [offsetindex.EntrySize]byte
	low, high := 0, int(info.Size()/offsetindex.EntrySize)
	for low < high {
		mid := (low + high) / 2
		if _, err := a.index.ReadAt(p[:], int64(mid*offsetindex.EntrySize)); err != nil {
			return e, 0, err
		}
		found, err := offsetindex.DecodeEntry(p[:], a.base)
		if err != nil {
			return e, 0, err
		}
		if found.Position > 0 && found.Offset <= offset {
			e, low = found, mid+1
		} else {
			high = mid
		}
	}
	return e, low, nil
}

// seekTimes keeps the entries of the time index up to an offset.
func (a *active) seekTimes(offset int64) error {
	info, err := a.times.Stat()
	if err != nil {
		return err
	}
	var p [timeindex.EntrySize]byte
	low, high := 0, int(info.Size()/timeindex.EntrySize)
	for low < high {
		mid := (low + high) / 2
		if _, err := a.times.ReadAt(p[:], int64(mid*timeindex.EntrySize)); err != nil {
			return err
		}
		found, err := timeindex.DecodeEntry(p[:], a.base)
		if err != nil {
			return err
		}
		if found.Timestamp > 0 && found.Offset <= offset {
			a.lastTime, a.maxTime, a.maxOffset, low = found.Timestamp, found.Timestamp, found.Offset, mid+1
		} else {
			high = mid
		}
	}
	a.timeEntries = low
	return nil
}

// note adds to the indexes what a batch at pos wants there.
//
// Source: Kafka 4.4.0, LogSegment.java, append.
func (a *active) note(h batch.Header, pos int64) error {
	if pos == 0 {
		a.first = h.MaxTimestamp
	}
	if h.MaxTimestamp > a.maxTime {
		a.maxTime, a.maxOffset = h.MaxTimestamp, h.LastOffset()
	}
	if a.sinceIndex > indexInterval && a.entries < indexSize/offsetindex.EntrySize {
		p, err := offsetindex.AppendEntry(nil, offsetindex.Entry{Offset: h.LastOffset(), Position: int32(pos)}, a.base)
		if err != nil {
			return err
		}
		if _, err := a.index.WriteAt(p, int64(a.entries*offsetindex.EntrySize)); err != nil {
			return err
		}
		a.entries++
		a.sinceIndex = 0
		if err := a.noteTime(); err != nil {
			return err
		}
	}
	a.sinceIndex += h.Size()
	return nil
}

// noteTime adds the largest timestamp to the time index if it is new.
func (a *active) noteTime() error {
	if a.maxTime <= a.lastTime || a.timeEntries >= timeIndexSize/timeindex.EntrySize {
		return nil
	}
	p, err := timeindex.AppendEntry(nil, timeindex.Entry{Timestamp: a.maxTime, Offset: a.maxOffset}, a.base)
	if err != nil {
		return err
	}
	if _, err := a.times.WriteAt(p, int64(a.timeEntries*timeindex.EntrySize)); err != nil {
		return err
	}
	a.timeEntries++
	a.lastTime = a.maxTime
	return nil
}

// seal ends appending to the segment: its indexes get their last entry and are
// trimmed, everything reaches the disk.
func (a *active) seal() error {
	if err := a.noteTime(); err != nil {
		return err
	}
	if err := a.resize(int64(a.entries*offsetindex.EntrySize), int64(a.timeEntries*timeindex.EntrySize), false); err != nil {
		return err
	}
	for _, f := range []disk.File{a.log, a.index, a.times} {
		if err := f.Sync(); err != nil {
			return err
		}
	}
	return a.close()
}

// create makes an empty segment at an offset and appends to it from then on.
func (l *Log) create(base int64) (err error) {
	a := active{base: base}
	defer func() {
		if err != nil {
			err = errors.Join(err, a.close())
		}
	}()
	if a.log, err = l.o.FS.OpenFile(l.logPath(base), os.O_CREATE|os.O_RDWR, 0o644); err != nil {
		return err
	}
	if err := l.openIndexes(&a); err != nil {
		return err
	}
	if err := a.resize(0, 0, true); err != nil {
		return err
	}
	if err := l.o.FS.SyncDir(l.dir); err != nil {
		return err
	}
	l.active = a
	l.mu.Lock()
	l.segments = append(l.segments, segment{base: base})
	l.mu.Unlock()
	return nil
}

// roll seals the active segment and makes the next.
func (l *Log) roll() error {
	if err := l.writeProducerSnapshot(l.end); err != nil {
		return err
	}
	if err := l.active.seal(); err != nil {
		return fmt.Errorf("%s: %w", l.logPath(l.active.base), err)
	}
	return l.create(l.end)
}
