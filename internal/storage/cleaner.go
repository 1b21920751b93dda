package storage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"kf/internal/format/batch"
)

// Compaction keeps the newest record of each key. A round reads the dirty part
// of the log, what was appended since the last round, and notes the last offset
// of each key; then it copies the log from its first segment on without the
// records that the dirty part made old. Segments are copied in groups that give
// one full segment each, which takes their place.
//
//	cleaner.go           a round: what is dirty, what can be cleaned, the groups
//	cleaner_keys.go      the last offset of each key
//	cleaner_txns.go      which transactions were aborted, and which markers are done
//	cleaner_read.go      the entries of a segment, one after the other
//	cleaner_copy.go      what stays of an entry
//	cleaner_swap.go      the new segment takes the place of the old ones
//	cleaner_throttle.go  the limit of its input and output
//
// Source: Kafka 4.4.0, Cleaner, LogCleanerManager, MemoryRecords.filterTo.

// ErrChanged says that the log was truncated, or segments of it were deleted,
// while it was cleaned. The segments that were not done stay as they were.
var ErrChanged = errors.New("log has changed while it was cleaned")

// maxCleanInflated is how many bytes the records of a batch may inflate to when
// it is cleaned; a log with a larger one cannot be compacted.
const maxCleanInflated = 1 << 30

// CleanOptions say how a log is cleaned.
type CleanOptions struct {
	FirstDirty int64 // what the cleaner checkpoint says; the log start offset where it says nothing
	Now        int64 // ms
	// MapBytes bounds the memory for the keys of a round: log.cleaner.dedupe.buffer.size
	// divided by the threads. It is taken as keys come; when it grows, half as much
	// again is needed for a moment. MapLoad is log.cleaner.io.buffer.load.factor.
	MapBytes int64
	MapLoad  float64
	// BufferBytes is the size of the read buffer and of the write buffer. A larger
	// batch gets room of its own.
	BufferBytes int
	// Throttle is told of bytes before they are read and written, and waits as
	// long as the limit of the I/O rate wants; nil for no limit.
	Throttle func(ctx context.Context, n int) error
}

// A CleanResult says what a round did.
type CleanResult struct {
	// FirstDirty is the first offset that is not clean, for the cleaner checkpoint:
	// that of the options if nothing could be cleaned.
	FirstDirty int64

	Segments     int // read
	NewSegments  int
	BytesRead    int64
	BytesWritten int64
	Records      int64 // read
	RecordsKept  int64
	Keys         int // in the map
}

// A Dirtiness says how much of a log waits to be cleaned.
type Dirtiness struct {
	// FirstDirty is where the dirty part begins: the offset of the checkpoint, or
	// the log start offset if that offset is not in the log. Reset says that it is
	// another than the checkpoint's, which is to be corrected.
	FirstDirty int64
	Reset      bool

	FirstUncleanable int64 // where what must not be cleaned yet begins
	CleanBytes       int64 // in front of FirstDirty
	CleanableBytes   int64 // from there to FirstUncleanable
	// Overdue says for how many ms a record has waited longer than
	// max.compaction.lag.ms; 0 if none has.
	Overdue int64
}

// Ratio returns the share of the dirty bytes, from 0 to 1.
func (d *Dirtiness) Ratio() float64 {
	total := d.CleanBytes + d.CleanableBytes
	if total == 0 {
		return 0
	}
	return float64(d.CleanableBytes) / float64(total)
}

// Due reports whether a log with settings c is to be cleaned: enough of it is
// dirty, or something dirty is overdue. The one with the highest ratio is first.
func (d *Dirtiness) Due(c *Config) bool {
	return d.CleanableBytes > 0 && (d.Overdue > 0 || d.Ratio() > c.MinCleanableRatio)
}

// Dirtiness returns how much of the log waits to be cleaned at the time now, ms,
// if the cleaner checkpoint says firstDirty; -1 stands for no entry.
func (l *Log) Dirtiness(firstDirty, now int64) (Dirtiness, error) {
	if err := l.usable(); err != nil {
		return Dirtiness{}, err
	}
	for {
		view := l.view.Load()
		d, err := l.dirtiness(*view, firstDirty, now)
		if errors.Is(err, fs.ErrNotExist) && l.view.Load() != view && l.usable() == nil {
			continue // a segment was deleted meanwhile
		}
		return d, l.ioFailed(err)
	}
}

func (l *Log) dirtiness(list []*segment, firstDirty, now int64) (Dirtiness, error) {
	c := l.config.Load()
	start := l.LogStartOffset()
	d := Dirtiness{FirstDirty: firstDirty}
	switch {
	case firstDirty < 0:
		d.FirstDirty = start
	case firstDirty < start || firstDirty > l.LogEndOffset():
		d.FirstDirty, d.Reset = start, true
	}
	active := len(list) - 1
	dirty := list[min(max(floor(list, d.FirstDirty), 0), active):active]

	limit := min(l.LastStableOffset(), list[active].base)
	oldest := int64(-1)
	for _, s := range dirty {
		if c.MinCompactionLagMs > 0 && s.base < limit {
			t, err := l.newest(s)
			if err != nil {
				return d, err
			}
			if t > now-c.MinCompactionLagMs {
				limit = s.base
			}
		}
		t, err := s.firstTimestamp()
		if err != nil {
			return d, err
		}
		if t > 0 && (oldest < 0 || t < oldest) {
			oldest = t
		}
	}
	if due := now - max(c.MaxCompactionLagMs, 0); oldest >= 0 && oldest < due {
		d.Overdue = due - oldest
	}
	// Whole segments only.
	d.FirstUncleanable = list[max(floor(list, max(d.FirstDirty, limit)), 0)].base
	for _, s := range list[:active] {
		switch {
		case s.base >= d.FirstUncleanable:
		case s.base >= list[max(floor(list, d.FirstDirty), 0)].base:
			d.CleanableBytes += s.size.Load()
		}
		if s.base < d.FirstDirty {
			d.CleanBytes += s.size.Load()
		}
	}
	return d, nil
}

// firstTimestamp returns the largest timestamp of the first batch, -1 without one.
func (s *segment) firstTimestamp() (int64, error) {
	var p [batch.HeaderSize]byte
	n, err := s.log.readAt(p[:min(s.size.Load(), batch.HeaderSize)], 0)
	if err != nil && err != io.EOF {
		return 0, err
	}
	h, err := batch.DecodeHeader(p[:n])
	if err != nil {
		return noTimestamp, nil
	}
	return h.MaxTimestamp, nil
}

// Clean runs one round of compaction. Appends and reads go on meanwhile; the log
// must not be cleaned twice at the same time, which waits. It fails with the
// error of ctx when that ends, with [ErrChanged], with [ErrCorrupt] or
// [ErrUnreadable] if the log has an entry that cannot be copied, and with
// [ErrOffline]. Groups that were done before an error stay done; the checkpoint
// stays where it was.
//
// Unlike Kafka's cleaner it compares the checksum of every batch, so that no
// damage becomes a sound batch with a new checksum.
func (l *Log) Clean(ctx context.Context, o CleanOptions) (CleanResult, error) {
	l.cleaning.Lock()
	defer l.cleaning.Unlock()
	l.mu.Lock()
	if err := l.usable(); err != nil {
		l.mu.Unlock()
		return CleanResult{FirstDirty: o.FirstDirty}, err
	}
	l.background.Add(1) // Close waits, and makes the round end
	l.mu.Unlock()
	defer l.background.Done()

	cl := &cleaner{
		l: l, ctx: ctx, o: o, c: l.config.Load(), cuts: l.cuts.Load(),
		decoder: batch.Decoder{MaxInflated: maxCleanInflated},
	}
	view := l.view.Load()
	r, err := cl.run(*view)
	if err == nil {
		return r, nil
	}
	r.FirstDirty = o.FirstDirty
	if l.usable() == nil && cl.ctx.Err() == nil && (l.cuts.Load() != cl.cuts || errors.Is(err, fs.ErrNotExist) && l.view.Load() != view) {
		return r, fmt.Errorf("%s: %w: %w", l.dir, ErrChanged, err)
	}
	return r, l.ioFailed(err)
}

// A cleaner runs one round.
type cleaner struct {
	l    *Log
	ctx  context.Context
	o    CleanOptions
	c    *Config
	cuts int64 // of the log when the round began

	list          []*segment // when the round began
	keys          keys
	uncleanable   int64 // the round ends in front of this offset
	legacyHorizon int64 // ms: tombstones of magic 0 and 1 in older segments go
	decoder       batch.Decoder
	result        CleanResult
}

// alive returns why the round must end, nil if it need not.
func (cl *cleaner) alive() error {
	if err := cl.ctx.Err(); err != nil {
		return err
	}
	return cl.l.usable()
}

func (cl *cleaner) throttle(n int) error {
	if cl.o.Throttle == nil {
		return nil
	}
	return cl.o.Throttle(cl.ctx, n)
}

func (cl *cleaner) run(list []*segment) (CleanResult, error) {
	cl.list = list
	d, err := cl.l.dirtiness(cl.list, cl.o.FirstDirty, cl.o.Now)
	if err != nil {
		return cl.result, err
	}
	cl.uncleanable = d.FirstUncleanable
	cl.result.FirstDirty = d.FirstDirty
	if cl.uncleanable <= d.FirstDirty {
		return cl.result, nil
	}
	for _, s := range cl.list {
		if s.base >= d.FirstDirty {
			break
		}
		modified, err := cl.modified(s)
		if err != nil {
			return cl.result, err
		}
		cl.legacyHorizon = modified - cl.c.DeleteRetentionMs
	}
	cl.keys.init(cl.o.MapBytes, cl.o.MapLoad)
	if err := cl.readKeys(d.FirstDirty); err != nil {
		return cl.result, err
	}
	cl.result.Keys = cl.keys.n
	end := cl.keys.latest + 1
	if end <= d.FirstDirty {
		return cl.result, nil
	}
	var txns cleanedTxns
	for i := 0; i < len(cl.list) && cl.list[i].base < end; {
		n := cl.group(i, end)
		if err := cl.cleanGroup(i, n, &txns); err != nil {
			return cl.result, err
		}
		i += n
	}
	cl.result.FirstDirty = end
	return cl.result, nil
}

// modified returns the modification time of a segment, ms.
func (cl *cleaner) modified(s *segment) (int64, error) {
	info, err := cl.l.fsys.Stat(s.log.name())
	if err != nil {
		return 0, err
	}
	return info.ModTime().UnixMilli(), nil
}

// base returns the base offset of segment i, which is behind a cleanable one.
func (cl *cleaner) base(i int) int64 { return cl.list[min(i, len(cl.list)-1)].base }

// group returns how many segments from the i-th on, of those below end, become
// one: as many as fit into a segment, its indexes and their offsets.
func (cl *cleaner) group(i int, end int64) int {
	first := cl.list[i]
	size, entries, times := first.size.Load(), first.index.count(), first.times.count()
	n := 1
	for i+n < len(cl.list) && cl.list[i+n].base < end {
		s := cl.list[i+n]
		last := cl.uncleanable - 1
		if i+n+1 < len(cl.list) && cl.list[i+n+1].base < end {
			last = cl.list[i+n+1].base - 1
		}
		size, entries, times = size+s.size.Load(), entries+s.index.count(), times+s.times.count()
		if size > int64(cl.c.SegmentBytes) || entries*offsetKind.size > int64(cl.c.SegmentIndexBytes) ||
			times*timeKind.size > int64(cl.c.SegmentIndexBytes) || s.size.Load() > 0 && !first.canHold(last) {
			break
		}
		n++
	}
	return n
}

// readKeys notes the last offset of each key from the offset start on, until the
// map is full.
func (cl *cleaner) readKeys(start int64) error {
	var txns cleanedTxns
	for i := max(floor(cl.list, start), 0); i < len(cl.list) && cl.list[i].base < cl.uncleanable; i++ {
		s := cl.list[i]
		if err := txns.add(cl.list, i, cl.base(i+1)); err != nil {
			return err
		}
		full, err := cl.readSegmentKeys(s, start, &txns)
		if err != nil || full {
			return err
		}
		// No offset up to the next segment is left to read, even if none has a record.
		cl.keys.latest = cl.base(i+1) - 1
	}
	return nil
}

func (cl *cleaner) readSegmentKeys(s *segment, start int64, txns *cleanedTxns) (full bool, err error) {
	r, err := cl.open(s)
	if err != nil {
		return false, err
	}
	defer r.close()
	for {
		p, h, err := r.next()
		if err == io.EOF {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		if h.Control() {
			if _, _, err := txns.control(h, p); err != nil {
				return false, r.damaged(err)
			}
		} else if !txns.data(h) {
			rs, err := cl.decoder.Open(*h, p)
			if err != nil {
				return false, r.damaged(err)
			}
			for rec, err := range rs.All() {
				if err != nil {
					return false, r.damaged(err)
				}
				if rec.KeySize >= 0 && rec.Offset >= start && !cl.keys.put(rec.Key, rec.Offset) {
					return true, nil
				}
			}
		}
		if h.LastOffset() >= start {
			cl.keys.latest = h.LastOffset()
		}
	}
}
