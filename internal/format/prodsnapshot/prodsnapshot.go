// Package prodsnapshot reads and writes .snapshot files: what a log knows of its
// producers after all records below the offset in the file name. A file is,
// big-endian:
//
//	byte  size  field
//	   0     2  version, 1
//	   2     4  CRC-32C of everything from byte 6 to the end of the file
//	   6     4  number of entries
//	  10    46  for each entry:
//	            0   8  producer ID
//	            8   2  producer epoch
//	           10   4  last sequence, -1 if no data batch in this epoch
//	           14   8  last offset of the last data batch, -1 if none
//	           22   4  offset delta: last offset - first offset of that batch
//	           26   8  timestamp of the last batch or marker, ms
//	           34   4  coordinator epoch of the last marker, -1 if none
//	           38   8  first offset of the open transaction, -1 if none
//
// Entries are in the order of a hash map. Kafka checks the version first, then
// whether the entries fit the file, then the checksum; with a right checksum it
// ignores bytes behind the last entry. A file that fails is deleted by the
// broker, which then takes the next older one.
//
// Source: Kafka 4.4.0, ProducerStateManager.java and ProducerSnapshot.json; the
// order of the checks was seen by running its reader on damaged files.
package prodsnapshot

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"

	"kf/internal/wire"
)

const (
	Version    = 1  // the only version
	HeaderSize = 10 // bytes in front of the entries
	EntrySize  = 46 // bytes

	crcEnd = 6 // first byte under the checksum
)

// The ways a file can be damaged; match with errors.Is.
var (
	ErrVersion   = errors.New("unknown version")
	ErrTruncated = errors.New("truncated producer snapshot")
	ErrCount     = errors.New("invalid number of entries")
	ErrChecksum  = errors.New("checksum mismatch")
)

// A VersionError is a version that Kafka refuses. kafka-dump-log says "Snapshot
// failed schema validation: Snapshot contained an unknown file version
// <Version>". It matches ErrVersion.
type VersionError struct {
	Version int16
}

func (e *VersionError) Error() string {
	return fmt.Sprintf("byte 0: %v %d, want %d", ErrVersion, e.Version, Version)
}

// Is makes errors.Is(err, ErrVersion) true.
func (e *VersionError) Is(target error) bool { return target == ErrVersion }

// A TruncatedError is a file that ends inside the header or an entry.
// kafka-dump-log says "Snapshot failed schema validation: null". It matches
// ErrTruncated.
type TruncatedError struct {
	Size int64 // of the file in bytes
	Need int64 // bytes that the header says there are, or its own size
}

func (e *TruncatedError) Error() string {
	return fmt.Sprintf("%v: %d bytes, need %d", ErrTruncated, e.Size, e.Need)
}

// Is makes errors.Is(err, ErrTruncated) true.
func (e *TruncatedError) Is(target error) bool { return target == ErrTruncated }

// A CountError is a number of entries below 0 or above the number of bytes left.
// kafka-dump-log says "Snapshot failed schema validation: " and, below 0,
// "non-nullable field producerEntries was serialized as null", else "Tried to
// allocate a collection of size <Count>, but there are only <Left> bytes
// remaining." It matches ErrCount.
type CountError struct {
	Count int32
	Left  int // bytes behind the header
}

func (e *CountError) Error() string {
	return fmt.Sprintf("byte %d: %v: %d, with %d bytes left", crcEnd, ErrCount, e.Count, e.Left)
}

// Is makes errors.Is(err, ErrCount) true.
func (e *CountError) Is(target error) bool { return target == ErrCount }

// A ChecksumError is a stored checksum that is not that of the bytes.
// kafka-dump-log says "Snapshot is corrupt (CRC is no longer valid). Stored crc:
// <Stored>. Computed crc: <Computed>", both in decimal. It matches ErrChecksum.
type ChecksumError struct {
	Stored, Computed uint32
	Trailing         int // bytes behind the last entry, a likely cause
}

func (e *ChecksumError) Error() string {
	s := fmt.Sprintf("byte 2: %v: stored 0x%08x, computed 0x%08x", ErrChecksum, e.Stored, e.Computed)
	if e.Trailing > 0 {
		s += fmt.Sprintf(", %d bytes behind the last entry", e.Trailing)
	}
	return s
}

// Is makes errors.Is(err, ErrChecksum) true.
func (e *ChecksumError) Is(target error) bool { return target == ErrChecksum }

// An Entry is the state of one producer.
type Entry struct {
	ProducerID            int64
	ProducerEpoch         int16
	LastSequence          int32 // -1 if no data batch in this epoch
	LastOffset            int64 // of the last data batch, -1 if none
	OffsetDelta           int32 // last offset - first offset of that batch, 0 if none
	Timestamp             int64 // ms: largest of the last batch, or of the last marker; -1 if unknown
	CoordinatorEpoch      int32 // of the last end marker, -1 if none
	CurrentTxnFirstOffset int64 // -1 if no transaction is open
}

// FirstSequence returns the sequence of the first record of the last batch.
// Sequences go on with 0 after 2^31-1. It means nothing if LastOffset is -1.
func (e Entry) FirstSequence() int32 {
	if e.OffsetDelta <= e.LastSequence {
		return e.LastSequence - e.OffsetDelta
	}
	return math.MaxInt32 - (e.OffsetDelta - e.LastSequence) + 1
}

// FirstOffset returns the offset of the first record of the last batch. It means
// nothing if LastOffset is -1.
func (e Entry) FirstOffset() int64 { return e.LastOffset - int64(e.OffsetDelta) }

// A Snapshot is a whole file.
type Snapshot struct {
	Version  int16
	CRC      uint32 // as stored
	Entries  []Entry
	Trailing int // bytes behind the last entry
}

// Decode decodes the file p. Its errors are, in the order in which Kafka looks
// for them, [*TruncatedError] (no version), [*VersionError], [*CountError],
// [*TruncatedError] and [*ChecksumError]. With an error the Snapshot holds what
// could be read: for version 1 all entries that are whole.
func Decode(p []byte) (Snapshot, error) {
	if len(p) < 2 {
		return Snapshot{}, &TruncatedError{Size: int64(len(p)), Need: HeaderSize}
	}
	c := wire.Cursor{B: p}
	s := Snapshot{Version: c.Int16()}
	if s.Version != Version {
		return s, &VersionError{s.Version}
	}
	s.CRC = c.Uint32()
	count := c.Int32()
	if c.Err() != nil {
		return s, &TruncatedError{Size: int64(len(p)), Need: HeaderSize}
	}
	left := len(p) - HeaderSize
	whole := min(int64(count), int64(left/EntrySize))
	if count < 0 {
		whole = int64(left / EntrySize)
	}
	s.Entries = make([]Entry, whole)
	for i := range s.Entries {
		s.Entries[i] = Entry{
			ProducerID:            c.Int64(),
			ProducerEpoch:         c.Int16(),
			LastSequence:          c.Int32(),
			LastOffset:            c.Int64(),
			OffsetDelta:           c.Int32(),
			Timestamp:             c.Int64(),
			CoordinatorEpoch:      c.Int32(),
			CurrentTxnFirstOffset: c.Int64(),
		}
	}
	s.Trailing = c.Len()
	switch {
	case count < 0, int64(count) > int64(left):
		return s, &CountError{count, left}
	case whole < int64(count):
		return s, &TruncatedError{Size: int64(len(p)), Need: HeaderSize + int64(count)*EntrySize}
	}
	if computed := checksum(p); computed != s.CRC {
		return s, &ChecksumError{s.CRC, computed, s.Trailing}
	}
	return s, nil
}

// Append appends the file with the entries to dst, in the order given.
func Append(dst []byte, entries []Entry) []byte {
	start := len(dst)
	dst = binary.BigEndian.AppendUint16(dst, Version)
	dst = append(dst, 0, 0, 0, 0) // the checksum, below
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(entries)))
	for _, e := range entries {
		dst = binary.BigEndian.AppendUint64(dst, uint64(e.ProducerID))
		dst = binary.BigEndian.AppendUint16(dst, uint16(e.ProducerEpoch))
		dst = binary.BigEndian.AppendUint32(dst, uint32(e.LastSequence))
		dst = binary.BigEndian.AppendUint64(dst, uint64(e.LastOffset))
		dst = binary.BigEndian.AppendUint32(dst, uint32(e.OffsetDelta))
		dst = binary.BigEndian.AppendUint64(dst, uint64(e.Timestamp))
		dst = binary.BigEndian.AppendUint32(dst, uint32(e.CoordinatorEpoch))
		dst = binary.BigEndian.AppendUint64(dst, uint64(e.CurrentTxnFirstOffset))
	}
	file := dst[start:]
	binary.BigEndian.PutUint32(file[2:], checksum(file))
	return dst
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func checksum(file []byte) uint32 { return crc32.Checksum(file[crcEnd:], castagnoli) }
