package dump

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"kf/internal/format/batch"
	"kf/internal/format/offsetindex"
	"kf/internal/format/prodsnapshot"
	"kf/internal/format/timeindex"
	"kf/internal/format/txnindex"
	"kf/internal/segment"
)

// sibling returns the path of another file of the segment that the index at
// path belongs to.
func sibling(path, name, suffix string) string {
	digits, _, _ := strings.Cut(name, ".")
	return filepath.Join(filepath.Dir(path), digits+suffix)
}

// An indexFile is an open .index or .timeindex.
type indexFile struct {
	*os.File
	size int64 // bytes when it was opened
}

func openIndex(path string) (*indexFile, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &os.PathError{Op: "open", Path: path, Err: errors.New("not a regular file")}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return &indexFile{f, info.Size()}, nil
}

func (f *indexFile) reader() io.Reader { return io.NewSectionReader(f, 0, f.size) }

// padded reports whether zeros end the file: it belongs to an active segment, or
// to one that was active when the broker was killed. Behind the entries of such a
// file may stand others that a truncation of the log left; the broker does not
// read them, and builds the file anew after a kill.
func (f *indexFile) padded(entrySize int64) (bool, error) {
	entries := f.size / entrySize
	if entries < 2 {
		return false, nil
	}
	p := make([]byte, entrySize)
	if _, err := f.ReadAt(p, (entries-1)*entrySize); err != nil {
		return false, err
	}
	return len(bytes.Trim(p, "\x00")) == 0, nil
}

// remainder returns what the check of a starting broker refuses: a size that is
// not that of whole entries.
func (f *indexFile) remainder(path string, entrySize int64) error {
	if n := f.size % entrySize; n != 0 {
		return fmt.Errorf("%s: byte %d: %d bytes are left behind the last entry, entries have %d", path, f.size-n, n, entrySize)
	}
	return nil
}

// offsetIndex prints a .index file and compares it with its log.
func (d *logDump) offsetIndex(ctx context.Context, path, name string) error {
	maxMessageSize, err := d.opts.maxMessageSize.int()
	if err != nil {
		return err
	}
	base, err := baseOffset(name)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	log, err := segment.Open(sibling(path, name, ".log"))
	if err != nil {
		return err
	}
	defer log.Close()
	index, err := openIndex(path)
	if err != nil {
		return err
	}
	defer index.Close()
	entries := index.size / offsetindex.EntrySize
	if entries == 0 {
		if err := index.remainder(path, offsetindex.EntrySize); err != nil {
			d.found(err)
		}
		return d.printf("%s is empty.\n", path)
	}
	if d.opts.SanityOnly {
		return d.offsetIndexSanity(path, index, base, entries)
	}
	if err := index.remainder(path, offsetindex.EntrySize); err != nil {
		d.found(err)
	}
	padded, err := index.padded(offsetindex.EntrySize)
	if err != nil {
		return err
	}
	check := offsetChecker{dump: d, walks: newWalks(log, entries), places: map[int32]verdict{}, decoder: batch.Decoder{MaxInflated: d.opts.MaxInflated}}
	stale := false // what the broker does not read
	var before *offsetindex.Entry
	for e, err := range offsetindex.Entries(index.reader(), base) {
		if errors.Is(err, offsetindex.ErrRemainder) {
			return nil // reported above
		}
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if before != nil && e.EndsDump(base) {
			return nil
		}
		rises := before == nil || e.Offset > before.Offset && e.Position > before.Position
		stale = stale || padded && (!rises || before == nil && e.Offset == base && e.Position == 0 || int64(e.Position) >= log.Size)
		found := func(err error) {
			if !stale {
				d.found(fmt.Errorf("%s: byte %d: entry of offset %d at position %d: %w", path, e.At, e.Offset, e.Position, err))
			}
		}
		last, err := d.lastOffsetAt(check.walks.w, e, maxMessageSize)
		switch {
		case err != nil && stale:
			return fmt.Errorf("%s: byte %d: nothing is behind the entry of offset %d at position %d: the preallocated index of an active segment: %w", path, e.At, e.Offset, e.Position, err)
		case err != nil:
			return damage(fmt.Errorf("%s: byte %d: entry of offset %d: %w", path, e.At, e.Offset, err))
		}
		if last != e.Offset {
			d.reports.mismatch(path, pair{e.Offset, last})
			if err := check.indexed(e); err != nil {
				found(err)
			}
		}
		if !rises {
			found(fmt.Errorf("it does not rise above offset %d at position %d", before.Offset, before.Position))
		}
		if !d.opts.VerifyOnly {
			if err := d.printf("offset: %d position: %d\n", e.Offset, e.Position); err != nil {
				return err
			}
		}
		before = &e
	}
	return nil
}

// lastOffsetAt returns the last offset of what Kafka takes for a batch at the
// position of e.
func (d *logDump) lastOffsetAt(w *segment.Walker, e offsetindex.Entry, maxMessageSize int) (int64, error) {
	if e.Position < 0 || maxMessageSize < 0 {
		return 0, fmt.Errorf("position %d, at most %d bytes there: impossible", e.Position, maxMessageSize)
	}
	prefix, err := w.Prefix(int64(e.Position))
	switch {
	case err == io.EOF || err == nil && prefix.Size() > int64(maxMessageSize):
		return 0, fmt.Errorf("no whole batch of at most %d bytes at position %d of the log", maxMessageSize, e.Position)
	case err != nil:
		return 0, err
	}
	return w.LastOffset(int64(e.Position), prefix)
}

// An offsetChecker finds out what is wrong with entries of an offset index.
type offsetChecker struct {
	dump    *logDump
	walks   *walks
	places  map[int32]verdict
	decoder batch.Decoder
	buf     []byte
}

// A verdict is what is known of the batch at a position.
type verdict struct {
	damage error
	first  int64 // offset of the first record, -1 if not known
}

// indexed says what is wrong with an entry whose offset is not that of the batch
// at its position. Kafka's tool calls every such entry a mismatch, but an append
// of several batches makes one: it points at the first and names the last.
func (c *offsetChecker) indexed(e offsetindex.Entry) error {
	at, ok := c.places[e.Position]
	if !ok {
		if c.walks.exhausted() {
			return errBudget
		}
		entry, err := c.entry(e)
		if err == nil {
			err = entry.Check()
		}
		at = verdict{err, -1}
		c.keep(e, at)
	}
	if at.damage != nil {
		return fmt.Errorf("no sound batch begins there: %w", at.damage)
	}
	pos, h, err := c.walks.find(int64(e.Position), e.Offset)
	switch {
	case err == io.EOF:
		return fmt.Errorf("the log has no such offset from there on")
	case err != nil:
		return err
	case h.LastOffset() != e.Offset && (pos != int64(e.Position) || h.BaseOffset != e.Offset && c.first(e, at) != e.Offset):
		return fmt.Errorf("it is not the last offset of a batch: that at position %d ends with %d", pos, h.LastOffset())
	}
	return nil
}

// first returns the offset of the first record of the batch, -1 if there is none:
// brokers up to 1.0 put that into the index.
func (c *offsetChecker) first(e offsetindex.Entry, at verdict) int64 {
	if at.first >= 0 || c.walks.exhausted() {
		return at.first
	}
	entry, err := c.entry(e)
	if err != nil {
		return -1
	}
	rs, err := entry.Open(&c.decoder)
	if err != nil {
		return -1
	}
	for r, err := range rs.Lenient() {
		if err == nil {
			at.first = r.Offset
		}
		break
	}
	c.keep(e, at)
	return at.first
}

func (c *offsetChecker) entry(e offsetindex.Entry) (*segment.Entry, error) {
	entry, err := c.walks.w.Entry(int64(e.Position), c.buf, c.dump.opts.MaxBatch)
	if err == nil {
		c.buf = entry.Data
	}
	return entry, err
}

func (c *offsetChecker) keep(e offsetindex.Entry, at verdict) {
	if len(c.places) == maxEnds {
		clear(c.places)
	}
	c.places[e.Position] = at
}

func (d *logDump) offsetIndexSanity(path string, index *indexFile, base, entries int64) error {
	var p [offsetindex.EntrySize]byte
	if _, err := index.ReadAt(p[:], (entries-1)*offsetindex.EntrySize); err != nil {
		return err
	}
	last, err := offsetindex.DecodeEntry(p[:], base)
	if err != nil {
		return err
	}
	if last.Offset < base {
		return damage(fmt.Errorf("%s: the last entry's offset %d is below the base offset %d: a starting broker would build the index anew", path, last.Offset, base))
	}
	if err := index.remainder(path, offsetindex.EntrySize); err != nil {
		return damage(err)
	}
	return d.printf("%s passed sanity check.\n", path)
}

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

// txnIndex prints a .txnindex file.
func (d *logDump) txnIndex(path, name string) error {
	base, err := baseOffset(name)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	f, err := openIndex(path)
	if err != nil {
		return err
	}
	defer f.Close()
	// Kafka reads all entries before it prints one: a wrong version anywhere
	// means no output at all.
	for _, err := range txnindex.Entries(f.reader()) {
		if errors.Is(err, txnindex.ErrVersion) {
			return damage(fmt.Errorf("%s: %w", path, err))
		}
	}
	for e, err := range txnindex.Scan(f.reader(), base) {
		if err != nil {
			d.found(fmt.Errorf("%s: %w", path, err))
			if !errors.Is(err, txnindex.ErrOffset) && !errors.Is(err, txnindex.ErrOrder) { // the rest comes without an entry
				return nil
			}
		}
		if err := d.printf("version: 0 producerId: %d firstOffset: %d lastOffset: %d lastStableOffset: %d\n",
			e.ProducerID, e.FirstOffset, e.LastOffset, e.LastStableOffset); err != nil {
			return err
		}
	}
	return nil
}

// maxSnapshot bounds how large a producer snapshot may be; 46 bytes a producer.
const maxSnapshot = 256 << 20

// producerSnapshot prints a .snapshot file.
func (d *logDump) producerSnapshot(path string) error {
	f, err := openIndex(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if f.size > maxSnapshot {
		return fmt.Errorf("%s: %d bytes are too many for a producer snapshot", path, f.size)
	}
	p, err := io.ReadAll(f.reader())
	if err != nil {
		return err
	}
	s, err := prodsnapshot.Decode(p)
	if err != nil {
		d.found(fmt.Errorf("%s: %w", path, err))
		return nil
	}
	for _, e := range s.Entries {
		out := appendField(d.buf[:0], "producerId: ", e.ProducerID)
		out = appendField(out, " producerEpoch: ", e.ProducerEpoch)
		out = appendField(out, " coordinatorEpoch: ", e.CoordinatorEpoch)
		out = appendOptional(append(out, " currentTxnFirstOffset: "...), e.CurrentTxnFirstOffset, e.CurrentTxnFirstOffset >= 0)
		out = appendField(out, " lastTimestamp: ", e.Timestamp)
		if e.LastOffset >= 0 {
			out = appendField(out, " firstSequence: ", e.FirstSequence())
			out = appendField(out, " lastSequence: ", e.LastSequence)
			out = appendField(out, " lastOffset: ", e.LastOffset)
			out = appendField(out, " offsetDelta: ", e.OffsetDelta)
			out = appendField(out, " timestamp: ", e.Timestamp)
		}
		d.buf = append(out, '\n')
		if _, err := d.out.Write(d.buf); err != nil {
			return err
		}
	}
	return nil
}
