package dump

import (
	"context"
	"errors"
	"fmt"
	"io"

	"kf/internal/format/batch"
	"kf/internal/format/offsetindex"
	"kf/internal/format/timeindex"
	"kf/internal/segment"
)

// timeIndex prints a .timeindex file and compares it with its log.
func (d *logDump) timeIndex(ctx context.Context, path, name string) error {
	base, err := baseOffset(name)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	log, err := segment.Open(sibling(path, name, ".log"))
	if err != nil {
		return err
	}
	defer log.Close()
	offsets, err := openIndex(sibling(path, name, ".index"))
	if err != nil {
		return err
	}
	defer offsets.Close()
	index, err := openIndex(path)
	if err != nil {
		return err
	}
	defer index.Close()
	if d.opts.SanityOnly {
		return d.timeIndexSanity(path, index, base)
	}
	if err := index.remainder(path, timeindex.EntrySize); err != nil {
		d.found(err)
	}
	padded, err := index.padded(timeindex.EntrySize)
	if err != nil {
		return err
	}
	check := timeChecker{dump: d, path: path, padded: padded, walks: newWalks(log, index.size/timeindex.EntrySize),
		positions: offsetLookup{f: offsets, base: base}, newest: map[int64]int64{}}
	decoder := batch.Decoder{MaxInflated: d.opts.MaxInflated}
	previous := timeindex.Entry{Timestamp: -1, Offset: base}
	first := true
	for e, err := range timeindex.Entries(index.reader(), base) {
		if errors.Is(err, timeindex.ErrRemainder) {
			return nil // reported above
		}
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if !first && e.EndsDump(base) {
			return nil
		}
		check.stale = check.stale || padded && (e.Timestamp <= previous.Timestamp || first && e.Timestamp == 0 && e.Offset == base)
		if err := check.entry(e, previous, &decoder); err != nil {
			return damage(fmt.Errorf("%s: byte %d: entry of timestamp %d, offset %d: %w", path, e.At, e.Timestamp, e.Offset, err))
		}
		if !d.opts.VerifyOnly {
			if err := d.printf("timestamp: %d offset: %d\n", e.Timestamp, e.Offset); err != nil {
				return err
			}
		}
		previous, first = e, false
	}
	return nil
}

func (d *logDump) timeIndexSanity(path string, index *indexFile, base int64) error {
	if entries := index.size / timeindex.EntrySize; entries > 0 {
		var p [timeindex.EntrySize]byte
		at := func(i int64) (timeindex.Entry, error) {
			if _, err := index.ReadAt(p[:], i*timeindex.EntrySize); err != nil {
				return timeindex.Entry{}, err
			}
			return timeindex.DecodeEntry(p[:], base)
		}
		first, err := at(0)
		if err != nil {
			return err
		}
		last, err := at(entries - 1)
		if err != nil {
			return err
		}
		padded, err := index.padded(timeindex.EntrySize)
		if err != nil {
			return err
		}
		switch {
		case last.Timestamp < first.Timestamp && padded:
			return fmt.Errorf("%s: zeros end the file, as they do in an active segment: this check is for files of a broker that was stopped", path)
		case last.Timestamp < first.Timestamp:
			return damage(fmt.Errorf("%s: the last entry's timestamp %d is below the first one's, %d", path, last.Timestamp, first.Timestamp))
		case last.Offset < base:
			return damage(fmt.Errorf("%s: the last entry's offset %d is below the base offset %d", path, last.Offset, base))
		}
	}
	if err := index.remainder(path, timeindex.EntrySize); err != nil {
		return damage(err)
	}
	return d.printf("%s passed sanity check.\n", path)
}

// A timeChecker compares the entries of a time index with the log.
type timeChecker struct {
	dump      *logDump
	path      string
	padded    bool // zeros end the file
	stale     bool // the entry is one that the broker does not read
	walks     *walks
	positions offsetLookup

	// The newest timestamp in the batch at a position, for entries that name the
	// same batch.
	newest map[int64]int64
	buf    []byte
}

// entry checks one entry: an error ends the run as it ends Kafka's.
func (c *timeChecker) entry(e, previous timeindex.Entry, decoder *batch.Decoder) error {
	reports := &c.dump.reports
	found := func(format string, a ...any) {
		if !c.stale {
			c.dump.found(fmt.Errorf("%s: byte %d: entry of timestamp %d, offset %d: %w", c.path, e.At, e.Timestamp, e.Offset, fmt.Errorf(format, a...)))
		}
	}
	pos, err := c.positions.lookup(e.Offset)
	if err != nil {
		return err
	}
	if size := c.walks.w.Size(); pos < 0 || pos > size {
		return fmt.Errorf("the offset index gives position %d, the log has %d bytes", pos, size)
	}
	// Kafka reads all headers behind the position before it compares anything, and
	// fails if one is impossible.
	if err := c.walks.toEnd(pos); err != nil {
		return err
	}
	at, h, err := c.walks.find(pos, e.Offset)
	switch {
	case err == io.EOF:
		reports.notFound(c.path, pair{e.Offset, -1})
		c.stale = c.stale || c.padded
		found("the log has no such offset")
		return nil
	case err != nil:
		return err
	case h.LastOffset() != e.Offset:
		reports.notFound(c.path, pair{e.Offset, h.LastOffset()})
		// Older releases named the record that has the timestamp.
		if e.Offset < h.BaseOffset || e.Timestamp != h.MaxTimestamp {
			found("it is not the last offset of a batch: that at position %d has offsets %d to %d", at, h.BaseOffset, h.LastOffset())
		}
		return nil
	}
	newest, err := c.newestAt(at, decoder)
	if err != nil {
		return err
	}
	if newest != e.Timestamp {
		reports.timestamp(c.path, pair{e.Timestamp, newest})
		if e.Timestamp != h.MaxTimestamp {
			found("the newest record of the batch at position %d has timestamp %d", at, newest)
		}
	}
	if previous.Timestamp >= e.Timestamp {
		reports.outOfOrder(c.path, pair{e.Timestamp, previous.Timestamp})
		found("the timestamp does not rise above %d", previous.Timestamp)
	}
	return nil
}

// newestAt returns the newest timestamp in the batch at a position.
func (c *timeChecker) newestAt(pos int64, decoder *batch.Decoder) (int64, error) {
	if newest, ok := c.newest[pos]; ok {
		return newest, nil
	}
	entry, err := c.walks.w.Entry(pos, c.buf, c.dump.opts.MaxBatch)
	if err != nil {
		return 0, err
	}
	c.buf = entry.Data
	rs, err := entry.Open(decoder)
	if err != nil {
		return 0, err
	}
	newest := int64(-1)
	for r, err := range rs.Lenient() {
		if err != nil {
			return 0, err
		}
		newest = max(newest, r.Timestamp)
	}
	if len(c.newest) == maxEnds {
		clear(c.newest)
	}
	c.newest[pos] = newest
	return newest, nil
}

// An offsetLookup finds positions as the broker does: a binary search over every
// 8 bytes of the file, padding included, the last 8 KiB first.
type offsetLookup struct {
	f    *indexFile
	base int64
	page []byte
	at   int64
}

func (l *offsetLookup) entry(i int64) (offsetindex.Entry, error) {
	const page = 8 << 10
	pos := i * offsetindex.EntrySize
	if l.page == nil || pos < l.at || pos+offsetindex.EntrySize > l.at+int64(len(l.page)) {
		if l.page == nil {
			l.page = make([]byte, page)
		}
		l.at = pos / page * page
		n, err := l.f.ReadAt(l.page[:page], l.at)
		if err != nil && err != io.EOF {
			return offsetindex.Entry{}, err
		}
		l.page = l.page[:n]
	}
	return offsetindex.DecodeEntry(l.page[min(pos-l.at, int64(len(l.page))):], l.base)
}

// lookup returns the position of the entry with the largest offset up to offset,
// 0 if there is none.
func (l *offsetLookup) lookup(offset int64) (int64, error) {
	const warm = 8 << 10 / offsetindex.EntrySize
	entries := l.f.size / offsetindex.EntrySize
	if entries == 0 {
		return 0, nil
	}
	hot := max(0, entries-1-warm)
	e, err := l.entry(hot)
	if err != nil {
		return 0, err
	}
	lo, hi := int64(0), hot
	if e.Offset < offset {
		lo, hi = hot, entries-1
	} else {
		first, err := l.entry(0)
		if err != nil {
			return 0, err
		}
		if first.Offset > offset {
			return 0, nil
		}
	}
	for lo < hi {
		mid := (lo + hi + 1) / 2
		if e, err = l.entry(mid); err != nil {
			return 0, err
		}
		switch {
		case e.Offset > offset:
			hi = mid - 1
		case e.Offset < offset:
			lo = mid
		default:
			return int64(e.Position), nil
		}
	}
	e, err = l.entry(lo)
	return int64(e.Position), err
}
