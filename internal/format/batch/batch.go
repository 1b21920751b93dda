// Package batch decodes and encodes the entries of a .log file: record batches
// of magic 2 and the messages of magic 0 and 1 that older releases wrote.
//
// A segment is a run of entries without header or trailer. All entries begin
// alike, big-endian:
//
//	byte  size  field
//	   0     8  offset: base offset of a batch, offset of a message (the last one
//	            inside, if it is compressed)
//	   8     4  length of what follows, at least 14
//	  16     1  magic: 0 and 1 are messages (see legacy.go), 2 a record batch
//
// A record batch, magic 2:
//
//	byte  size  field
//	   0     8  base offset
//	   8     4  length of what follows, at least 49
//	  12     4  partition leader epoch, -1 unknown
//	  16     1  magic
//	  17     4  CRC-32C of byte 21 to the end; offset, length, leader epoch and
//	            magic are not covered, so the broker sets them without a new one
//	  21     2  attributes: bits 0-2 codec, 3 LogAppendTime, 4 transactional,
//	            5 control, 6 delete horizon; the rest is unused
//	  23     4  last offset delta
//	  27     8  base timestamp, ms; with bit 6 the delete horizon
//	  35     8  max timestamp, ms; with bit 3 the time of the append
//	  43     8  producer ID, -1 none
//	  51     2  producer epoch, -1 none
//	  53     4  base sequence, -1 none
//	  57     4  number of records
//	  61        records, compressed as one stream if there is a codec
//
// A record: varint length of what follows, int8 attributes (unused), varlong
// timestamp delta, varint offset delta, varint key length (negative: null),
// key, varint value length (negative: null), value, varint number of headers;
// a header: varint key length, key, varint value length (negative: null), value.
//
// Kafka reads a batch of any magic above 2 like one of magic 2. The number of
// records is neither below 0 nor derived from the last offset delta: compaction
// leaves gaps, and empty batches whose bytes after 61 nobody looks at.
//
// Source: Kafka 4.4.0, DefaultRecordBatch, DefaultRecord, FileLogInputStream.
package batch

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"math"

	"kf/internal/format/codec"
)

// Sizes in bytes.
const (
	PrefixSize = 17 // what all entries begin with, up to the magic
	LogSize    = 12 // offset and length, which the length does not count
	HeaderSize = 61 // a record batch without records
	MinLength  = 14 // the lowest length that Kafka takes for an entry
)

// Bits of [Header.Attributes].
const (
	CodecMask         = 0x07
	LogAppendTimeBit  = 0x08
	TransactionalBit  = 0x10
	ControlBit        = 0x20
	DeleteHorizonBit  = 0x40
	castagnoliStart   = 21 // the first byte under the CRC, magic 2
	legacyStart       = 16 // the same, magic 0 and 1
	noTimestamp       = -1
	noSequence        = -1
	noLeaderEpoch     = -1
	noProducerID      = -1
	noProducerEpoch   = -1
	unknownCount      = -1
	maxSequence       = math.MaxInt32
	legacyHeaderSize0 = 18 // up to the attributes
	legacyHeaderSize1 = 26 // up to the timestamp
)

// The ways an entry can be damaged; match with errors.Is.
var (
	ErrTruncated = errors.New("truncated batch")
	ErrLength    = errors.New("invalid batch length")
	ErrMagic     = errors.New("invalid magic")
	ErrChecksum  = errors.New("checksum mismatch")
	ErrRecords   = errors.New("invalid records")
)

// A TimestampType says what the timestamps of a batch are.
type TimestampType uint8

const (
	NoTimestamp   TimestampType = iota // magic 0 has none
	CreateTime                         // set by the producer, a record each
	LogAppendTime                      // set by the broker, one for the batch
)

// String returns Kafka's name of the type.
func (t TimestampType) String() string {
	switch t {
	case CreateTime:
		return "CreateTime"
	case LogAppendTime:
		return "LogAppendTime"
	}
	return "NoTimestampType"
}

// A Prefix is what every entry begins with.
type Prefix struct {
	Offset int64
	Length int32 // of what follows the length field, as stored
	Magic  int8
}

// DecodePrefix decodes the start of an entry; p has at least PrefixSize bytes.
func DecodePrefix(p []byte) Prefix {
	_ = p[PrefixSize-1]
	return Prefix{
		Offset: int64(binary.BigEndian.Uint64(p)),
		Length: int32(binary.BigEndian.Uint32(p[8:])),
		Magic:  int8(p[16]),
	}
}

// Size returns the bytes of the whole entry.
func (p Prefix) Size() int64 { return LogSize + int64(p.Length) }

// A Header holds the fields of an entry before its records. For magic 0 and 1
// BaseOffset is the offset of the message, both timestamps are the message's
// (-1 in magic 0), Count is 1, or -1 if the message is compressed, and what
// these formats do not have is -1.
type Header struct {
	BaseOffset           int64
	Length               int32 // as stored: the size less 12
	PartitionLeaderEpoch int32
	Magic                int8
	CRC                  uint32 // as stored
	Attributes           int16
	LastOffsetDelta      int32
	BaseTimestamp        int64 // ms
	MaxTimestamp         int64 // ms
	ProducerID           int64
	ProducerEpoch        int16
	BaseSequence         int32
	Count                int32
}

// DecodeHeader decodes the header of the entry at the start of p. It needs
// HeaderSize bytes, of a message fewer, and fails with ErrTruncated if p is
// shorter, with ErrMagic if the magic is below 0; the header is then what magic 1
// would make of it, as in Kafka. It checks nothing else.
func DecodeHeader(p []byte) (Header, error) {
	if len(p) < PrefixSize {
		return Header{}, fmt.Errorf("%w: header needs %d bytes, %d left", ErrTruncated, PrefixSize, len(p))
	}
	switch magic := int8(p[16]); {
	case magic < 0:
		h, err := decodeLegacyHeader(p)
		if err == nil {
			err = fmt.Errorf("%w: %d", ErrMagic, magic)
		}
		return h, err
	case magic < 2:
		return decodeLegacyHeader(p)
	case len(p) < HeaderSize:
		return Header{}, fmt.Errorf("%w: header needs %d bytes, %d left", ErrTruncated, HeaderSize, len(p))
	}
	be := binary.BigEndian
	return Header{
		BaseOffset:           int64(be.Uint64(p)),
		Length:               int32(be.Uint32(p[8:])),
		PartitionLeaderEpoch: int32(be.Uint32(p[12:])),
		Magic:                int8(p[16]),
		CRC:                  be.Uint32(p[17:]),
		Attributes:           int16(be.Uint16(p[21:])),
		LastOffsetDelta:      int32(be.Uint32(p[23:])),
		BaseTimestamp:        int64(be.Uint64(p[27:])),
		MaxTimestamp:         int64(be.Uint64(p[35:])),
		ProducerID:           int64(be.Uint64(p[43:])),
		ProducerEpoch:        int16(be.Uint16(p[51:])),
		BaseSequence:         int32(be.Uint32(p[53:])),
		Count:                int32(be.Uint32(p[57:])),
	}, nil
}

// Size returns the bytes of the whole entry.
func (h *Header) Size() int64 { return LogSize + int64(h.Length) }

// LastOffset returns the offset of the last record, also if compaction removed it.
func (h *Header) LastOffset() int64 { return h.BaseOffset + int64(h.LastOffsetDelta) }

// LastSequence returns the sequence of the last record, -1 if there is none.
func (h *Header) LastSequence() int32 {
	if h.BaseSequence == noSequence {
		return noSequence
	}
	return addSequence(h.BaseSequence, h.LastOffsetDelta)
}

// addSequence returns the sequence n records after s; 0 follows 2³¹-1.
func addSequence(s, n int32) int32 {
	if s > maxSequence-n { // wraps as Kafka's int does if n is negative
		return n - (maxSequence - s) - 1
	}
	return s + n
}

// Codec returns the codec of the records.
func (h *Header) Codec() codec.ID { return codec.ID(h.Attributes & CodecMask) }

// TimestampType returns what the timestamps are.
func (h *Header) TimestampType() TimestampType {
	switch {
	case h.Magic == 0:
		return NoTimestamp
	case h.Attributes&LogAppendTimeBit != 0:
		return LogAppendTime
	}
	return CreateTime
}

// Transactional reports whether the records belong to a transaction.
func (h *Header) Transactional() bool { return h.Magic >= 2 && h.Attributes&TransactionalBit != 0 }

// Control reports whether the records are control records.
func (h *Header) Control() bool { return h.Magic >= 2 && h.Attributes&ControlBit != 0 }

// DeleteHorizon returns the time, in ms, from which on the cleaner may drop the
// tombstones and markers of the batch; ok is false if none was set.
func (h *Header) DeleteHorizon() (ms int64, ok bool) {
	if h.Magic >= 2 && h.Attributes&DeleteHorizonBit != 0 {
		return h.BaseTimestamp, true
	}
	return 0, false
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// NewChecksum returns the checksum of an entry of the given magic and the byte
// of the entry from which on it counts.
func NewChecksum(magic int8) (sum hash.Hash32, start int) {
	if magic < 2 {
		return crc32.NewIEEE(), legacyStart
	}
	return crc32.New(castagnoli), castagnoliStart
}

// Checksum computes the checksum of the whole entry p, whose magic is at byte 16.
func Checksum(p []byte) uint32 {
	if int8(p[16]) < 2 {
		return crc32.ChecksumIEEE(p[legacyStart:])
	}
	return crc32.Checksum(p[castagnoliStart:], castagnoli)
}

// Check compares the stored checksum with that of the whole entry p, and the
// length with the least that the magic needs: ErrMagic, ErrLength, ErrChecksum or
// nil.
func (h *Header) Check(p []byte) error {
	if h.Magic < 0 {
		return fmt.Errorf("%w: %d", ErrMagic, h.Magic)
	}
	least := int64(HeaderSize)
	if h.Magic < 2 {
		least = LogSize + MinLength
	}
	if h.Size() < least {
		return fmt.Errorf("%w: %d, at least %d with magic %d", ErrLength, h.Length, least-LogSize, h.Magic)
	}
	if computed := Checksum(p); computed != h.CRC {
		return &ChecksumError{Stored: h.CRC, Computed: computed}
	}
	return nil
}

// A ChecksumError matches ErrChecksum.
type ChecksumError struct{ Stored, Computed uint32 }

func (e *ChecksumError) Error() string {
	return fmt.Sprintf("%v: stored 0x%08x, computed 0x%08x", ErrChecksum, e.Stored, e.Computed)
}

// Is makes errors.Is(err, ErrChecksum) true.
func (e *ChecksumError) Is(target error) bool { return target == ErrChecksum }
