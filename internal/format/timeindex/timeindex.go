// Package timeindex reads and writes .timeindex files, which say from which
// offset on to look for a timestamp. A file is a run of 12-byte entries,
// big-endian, with no header and no checksum:
//
//	byte  size  field
//	   0     8  timestamp, ms since the Unix epoch
//	   8     4  offset, relative to the base offset of the segment
//
// An entry (T, O) says: no record at or below O has a timestamp greater than T.
// T is the largest timestamp so far in the segment, O the last offset of the
// earliest batch that has it. Timestamps rise strictly, offsets never fall. A
// file name gives the base offset.
//
// The file of an active segment is preallocated, 10,485,756 bytes by default:
// zeros follow its entries, also after a kill. Programs differ in what they
// then read:
//   - the broker takes every 12 bytes for an entry;
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
// Source: Kafka 4.4.0, AbstractIndex.java, TimeIndex.java and
// DumpLogSegments.java.
package timeindex

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
const EntrySize = 12

// The ways an entry or a file can be damaged; match with errors.Is.
// ErrPreallocated is none: it says where the entries of a live file end.
var (
	ErrTruncated    = errors.New("truncated entry")
	ErrOffset       = errors.New("relative offset out of range")
	ErrOrder        = errors.New("entry does not rise")
	ErrRemainder    = entryfile.ErrRemainder
	ErrHole         = entryfile.ErrHole
	ErrPreallocated = entryfile.ErrPreallocated
)

// An Entry says that records newer than Timestamp come after Offset.
type Entry struct {
	Timestamp int64 // ms since the Unix epoch
	Offset    int64 // absolute; below the base offset only in a damaged file
	At        int64 // byte of the .timeindex at which the entry starts, 0 if unknown
}

// DecodeEntry decodes the entry at the start of p, in the index of the segment
// that starts at base. As Kafka does it takes the relative offset as it is, also
// a negative one: [Entry.Check] tells. It fails with ErrTruncated if p is
// shorter than EntrySize.
func DecodeEntry(p []byte, base int64) (Entry, error) {
	c := wire.Cursor{B: p}
	timestamp, relative := c.Int64(), c.Int32()
	if err := c.Err(); err != nil {
		return Entry{}, fmt.Errorf("%w: %w", ErrTruncated, err)
	}
	return Entry{Timestamp: timestamp, Offset: base + int64(relative)}, nil
}

// AppendEntry appends e to dst for the index of the segment that starts at base.
// It fails with ErrOffset as [Entry.Check] does.
func AppendEntry(dst []byte, e Entry, base int64) ([]byte, error) {
	if err := e.Check(base); err != nil {
		return dst, err
	}
	dst = binary.BigEndian.AppendUint64(dst, uint64(e.Timestamp))
	return binary.BigEndian.AppendUint32(dst, uint32(e.Offset-base)), nil
}

// Check returns ErrOffset if the offset is not in the 2^31 offsets from base on.
func (e Entry) Check(base int64) error {
	// The difference is right also where base plus the relative offset wraps.
	if relative := e.Offset - base; relative < 0 || relative > math.MaxInt32 {
		return fmt.Errorf("%w: offset %d is %d from base offset %d", ErrOffset, e.Offset, relative, base)
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
// finding comes with it as an [*entryfile.Error] that matches ErrOffset or
// ErrOrder, and reading goes on. Values with a zero Entry are ErrHole, once for
// each run of zeros between entries, and as the last ones ErrPreallocated, once,
// then ErrRemainder or what r returned. Whether an ErrOrder is damage or the
// remains of a truncation is known when ErrPreallocated has come or not.
func Scan(r io.Reader, base int64) iter.Seq2[Entry, error] {
	return entryfile.Scan(r, EntrySize,
		func(raw entryfile.Raw) (Entry, error) { return decode(raw, base) },
		func(e Entry, last *Entry) error {
			if err := e.Check(base); err != nil {
				return err
			}
			if last != nil && (e.Timestamp <= last.Timestamp || e.Offset < last.Offset) {
				return fmt.Errorf("%w: timestamp %d at offset %d after timestamp %d at offset %d",
					ErrOrder, e.Timestamp, e.Offset, last.Timestamp, last.Offset)
			}
			return nil
		})
}

func decode(raw entryfile.Raw, base int64) (Entry, error) {
	e, err := DecodeEntry(raw.P, base)
	e.At = raw.At
	return e, err
}
