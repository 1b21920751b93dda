// Package offsetindex reads and writes .index files, which say at which byte of
// the .log to look for an offset. A file is a run of 8-byte entries, big-endian,
// with no header and no checksum:
//
//	byte  size  field
//	   0     4  offset, relative to the base offset of the segment
//	   4     4  position: byte of the .log
//
// An entry made by an append holds the last offset of the append and the
// position at which it starts, so the position may be that of an earlier batch
// than the one with the offset. Offsets and positions both rise strictly. A file
// name gives the base offset.
//
// The file of an active segment is preallocated, 10,485,760 bytes by default:
// zeros follow its entries, also after a kill. Programs differ in what they
// then read:
//   - the broker takes every 8 bytes for an entry;
//   - kafka-dump-log stops in front of the first entry, after entry 0, whose
//     relative offset is 0: that is [Entries] and [Entry.EndsDump];
//   - kf takes zeros up to the end of the file for preallocation and says so:
//     that is [Scan].
//
// A truncation of the log lowers the number of entries in memory only: until they
// are overwritten the entries it dropped stay in the preallocated file, behind
// the live ones. So an entry that does not rise is damage in a file without
// preallocation, but ends the live entries of one with it.
//
// An entry 0 with offset and position 0 is healthy when it is the only one: the
// relative offset of a one-record batch at the base offset is 0.
//
// Source: Kafka 4.4.0, AbstractIndex.java, OffsetIndex.java and
// DumpLogSegments.java.
package offsetindex

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"

	"kf/internal/format/entryfile"
	"kf/internal/wire"
)

// EntrySize is the size of an entry in bytes.
const EntrySize = 8

// The ways an entry or a file can be damaged; match with errors.Is.
// ErrPreallocated is none: it says where the entries of a live file end.
var (
	ErrTruncated    = errors.New("truncated entry")
	ErrOffset       = errors.New("relative offset out of range")
	ErrPosition     = errors.New("negative position")
	ErrOrder        = errors.New("entry does not rise")
	ErrRemainder    = entryfile.ErrRemainder
	ErrHole         = entryfile.ErrHole
	ErrPreallocated = entryfile.ErrPreallocated
)

// An Entry says that the batch with Offset is found from Position on.
type Entry struct {
	Offset   int64 // absolute; below the base offset only in a damaged file
	Position int32 // byte of the .log; below 0 only in a damaged file
	At       int64 // byte of the .index at which the entry starts, 0 if unknown
}

// DecodeEntry decodes the entry at the start of p, in the index of the segment
// that starts at base. As Kafka does it takes the relative offset and the
// position as they are, also negative ones: [Entry.Check] tells. It fails with
// ErrTruncated if p is shorter than EntrySize.
func DecodeEntry(p []byte, base int64) (Entry, error) {
	c := wire.Cursor{B: p}
	relative, position := c.Int32(), c.Int32()
	if err := c.Err(); err != nil {
		return Entry{}, fmt.Errorf("%w: %w", ErrTruncated, err)
	}
	return Entry{Offset: base + int64(relative), Position: position}, nil
}

// AppendEntry appends e to dst for the index of the segment that starts at base.
// It fails with ErrOffset or ErrPosition as [Entry.Check] does.
func AppendEntry(dst []byte, e Entry, base int64) ([]byte, error) {
	if err := e.Check(base); err != nil {
		return dst, err
	}
	dst = binary.BigEndian.AppendUint32(dst, uint32(e.Offset-base))
	return binary.BigEndian.AppendUint32(dst, uint32(e.Position)), nil
}

// Check returns ErrOffset if the offset is not in the 2^31 offsets from base on,
// and ErrPosition if the position is negative.
func (e Entry) Check(base int64) error {
	// The difference is right also where base plus the relative offset wraps.
	switch relative := e.Offset - base; {
	case relative < 0 || relative > math.MaxInt32:
		return fmt.Errorf("%w: offset %d is %d from base offset %d", ErrOffset, e.Offset, relative, base)
	case e.Position < 0:
		return fmt.Errorf("%w: %d", ErrPosition, e.Position)
	}
	return nil
}

// EndsDump reports whether kafka-dump-log stops in front of e in the index of
// the segment that starts at base.
func (e Entry) EndsDump(base int64) bool { return e.At > 0 && e.Offset == base }

// Entries yields all entries of r as they are, padding included. An error is the
// last value, an [*entryfile.Error]: ErrRemainder, or what r returned.
func Entries(r io.Reader, base int64) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		for raw, err := range entryfile.Read(r, EntrySize) {
			var e Entry
			if err == nil {
				e, err = decode(raw, base)
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// Scan yields the entries of r up to its preallocated tail. An entry with a
// finding comes with it as an [*entryfile.Error] that matches ErrOffset,
// ErrPosition or ErrOrder, and reading goes on. Values with a zero Entry are
// ErrHole, once for each run of zeros between entries, and as the last ones
// ErrPreallocated, once, then ErrRemainder or what r returned.
func Scan(r io.Reader, base int64) iter.Seq2[Entry, error] {
	return entryfile.Scan(r, EntrySize,
		func(raw entryfile.Raw) (Entry, error) { return decode(raw, base) },
		func(e Entry, last *Entry) error {
			if err := e.Check(base); err != nil {
				return err
			}
			if last != nil && (e.Offset <= last.Offset || e.Position <= last.Position) {
				return fmt.Errorf("%w: offset %d at position %d after offset %d at position %d",
					ErrOrder, e.Offset, e.Position, last.Offset, last.Position)
			}
			return nil
		})
}

func decode(raw entryfile.Raw, base int64) (Entry, error) {
	e, err := DecodeEntry(raw.P, base)
	e.At = raw.At
	return e, err
}
