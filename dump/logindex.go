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
