// Package txnindex reads and writes .txnindex files, which list the aborted
// transactions whose marker lies in the segment. A file is a run of 34-byte
// entries, big-endian, with no header and no checksum:
//
//	byte  size  field
//	   0     2  version, 0
//	   2     8  producer ID
//	  10     8  first offset of the transaction; may lie below the base offset
//	  18     8  last offset: that of the abort marker
//	  26     8  last stable offset after this abort
//
// Last offsets rise strictly and are not below the base offset. The file comes
// into being with the first abort and is not preallocated. Kafka refuses every
// version but 0 (both bytes count) and does not look at bytes behind the last
// whole entry.
//
// Source: Kafka 4.4.0, TransactionIndex.java and AbortedTxn.json.
package txnindex

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"

	"kf/internal/format/entryfile"
	"kf/internal/wire"
)

const (
	EntrySize = 34 // bytes
	Version   = 0  // the only version
)

// The ways an entry or a file can be damaged; match with errors.Is.
var (
	ErrTruncated = errors.New("truncated entry")
	ErrVersion   = errors.New("unknown version")
	ErrOffset    = errors.New("last offset out of range")
	ErrOrder     = errors.New("last offset does not rise")
	ErrRemainder = entryfile.ErrRemainder
)

// A VersionError is an entry with a version that Kafka refuses. It matches
// ErrVersion.
type VersionError struct {
	Version int16
}

func (e *VersionError) Error() string {
	return fmt.Sprintf("%v %d, want %d", ErrVersion, e.Version, Version)
}

// Is makes errors.Is(err, ErrVersion) true.
func (e *VersionError) Is(target error) bool { return target == ErrVersion }

// An Entry is an aborted transaction. Offsets are absolute.
type Entry struct {
	ProducerID       int64
	FirstOffset      int64 // of the transaction
	LastOffset       int64 // of the abort marker
	LastStableOffset int64 // after this abort
	At               int64 // byte of the .txnindex at which the entry starts, 0 if unknown
}

// DecodeEntry decodes the entry at the start of p. It fails with ErrTruncated if
// p is shorter than EntrySize, and with a [*VersionError] if the version is not
// 0; the fields are those of version 0 even then.
func DecodeEntry(p []byte) (Entry, error) {
	c := wire.Cursor{B: p}
	version := c.Int16()
	e := Entry{ProducerID: c.Int64(), FirstOffset: c.Int64(), LastOffset: c.Int64(), LastStableOffset: c.Int64()}
	switch {
	case c.Err() != nil:
		return Entry{}, fmt.Errorf("%w: %w", ErrTruncated, c.Err())
	case version != Version:
		return e, &VersionError{version}
	}
	return e, nil
}

// AppendEntry appends e to dst.
func AppendEntry(dst []byte, e Entry) []byte {
	dst = binary.BigEndian.AppendUint16(dst, Version)
	for _, v := range []int64{e.ProducerID, e.FirstOffset, e.LastOffset, e.LastStableOffset} {
		dst = binary.BigEndian.AppendUint64(dst, uint64(v))
	}
	return dst
}

// Check returns ErrOffset if the last offset is below the base offset of the
// segment, which makes Kafka rebuild the index, or below the first offset.
func (e Entry) Check(base int64) error {
	switch {
	case e.LastOffset < base:
		return fmt.Errorf("%w: %d is below base offset %d", ErrOffset, e.LastOffset, base)
	case e.LastOffset < e.FirstOffset:
		return fmt.Errorf("%w: %d is below first offset %d", ErrOffset, e.LastOffset, e.FirstOffset)
	}
	return nil
}

// Entries yields all entries of r as they are. An entry with another version
// than 0 comes with an [*entryfile.Error] that matches ErrVersion, and reading
// goes on; Kafka's readers refuse the whole file. Any other error is the last
// value: ErrRemainder, or what r returned.
func Entries(r io.Reader) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		for raw, err := range entryfile.Read(r, EntrySize) {
			var e Entry
			if err == nil {
				if e, err = DecodeEntry(raw.P); err != nil {
					err = &entryfile.Error{At: raw.At, Err: err}
				}
				e.At = raw.At
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// Scan yields the entries of r in the index of the segment that starts at base.
// An entry with a finding comes with it as an [*entryfile.Error] that matches
// ErrVersion, ErrOffset or ErrOrder, and reading goes on. Any other error is the
// last value: ErrRemainder, or what r returned.
func Scan(r io.Reader, base int64) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		var last, prev *Entry = nil, new(Entry) // nil at first, then prev
		for e, err := range Entries(r) {
			if err == nil {
				if finding := e.check(base, last); finding != nil {
					err = &entryfile.Error{At: e.At, Err: finding}
				}
				last = prev
				*last = e
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

func (e Entry) check(base int64, last *Entry) error {
	if err := e.Check(base); err != nil {
		return err
	}
	if last != nil && e.LastOffset <= last.LastOffset {
		return fmt.Errorf("%w: %d after %d", ErrOrder, e.LastOffset, last.LastOffset)
	}
	return nil
}
