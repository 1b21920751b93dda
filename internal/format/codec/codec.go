// Package codec compresses and inflates the records of a batch, in the
// framings that Kafka uses, and accepts what Kafka's readers accept:
//
//	id  name    what Kafka writes, and what it also reads
//	 0  none    –
//	 1  gzip    one RFC 1952 member; reads concatenated members, ignores a few bytes behind
//	 2  snappy  xerial stream: 16-byte header, then int32 length + raw block of
//	            at most 32 KiB; reads concatenated streams and one raw block
//	            without any framing
//	 3  lz4     LZ4 frame of independent 64 KiB blocks; only the first frame is
//	            read, whatever follows its end mark is ignored
//	 4  zstd    frames without content size; reads concatenated frames
//
// Integers inside an LZ4 frame are little-endian, all others big-endian. The
// header checksum of an LZ4 frame in a message of magic 0 is wrong on purpose:
// it covers the frame's own magic too. Readers of magic 0 ignore it.
//
// Source: Kafka 4.4.0, org.apache.kafka.common.compress; JDK 17,
// java.util.zip.GZIPInputStream; snappy-java, SnappyInputStream.
package codec

import (
	"errors"
	"fmt"

	"github.com/klauspost/compress/gzip"
)

// An ID names a codec: the low three bits of a batch's attributes.
type ID uint8

const (
	None ID = iota
	Gzip
	Snappy
	LZ4
	Zstd
)

var names = [...]string{"none", "gzip", "snappy", "lz4", "zstd"}

// Known reports whether Kafka knows the codec; 5 to 7 are free.
func (id ID) Known() bool { return int(id) < len(names) }

// String returns Kafka's name of the codec, "codec-N" for an unknown one.
func (id ID) String() string {
	if id.Known() {
		return names[id]
	}
	return fmt.Sprintf("codec-%d", uint8(id))
}

// Parse returns the codec of a name.
func Parse(name string) (ID, error) {
	for i, n := range names {
		if n == name {
			return ID(i), nil
		}
	}
	return 0, fmt.Errorf("unknown codec %q: want none, gzip, snappy, lz4 or zstd", name)
}

// The ways compressed bytes can fail; match with errors.Is.
var (
	ErrUnknown = errors.New("unknown compression codec")
	ErrCorrupt = errors.New("compressed data is damaged")
	ErrLimit   = errors.New("compressed data inflates beyond the limit")
)

// Slack is how many bytes of room behind its result Inflate may need, so that it
// makes no buffer of its own.
const Slack = 4<<20 + 1 // the largest block of LZ4

func corrupt(id ID, format string, args ...any) error {
	return fmt.Errorf("%w: %s: %w", ErrCorrupt, id, fmt.Errorf(format, args...))
}

func beyond(id ID, limit int) error {
	return fmt.Errorf("%w: %s: more than %d bytes", ErrLimit, id, limit)
}

// Inflate appends to dst what src, compressed with id in a message of the given
// magic, inflates to: at most limit bytes, else it fails with ErrLimit. Damaged
// data fails with ErrCorrupt, a codec above 4 with ErrUnknown. Memory is taken
// as data comes out, never because a length field asks for it. The result does
// not refer to src.
func Inflate(dst, src []byte, id ID, magic int8, limit int) ([]byte, error) {
	switch id {
	case None:
		if len(src) > limit {
			return dst, beyond(id, limit)
		}
		return append(dst, src...), nil
	case Gzip:
		return inflateGzip(dst, src, limit)
	case Snappy:
		return inflateSnappy(dst, src, limit)
	case LZ4:
		return inflateLZ4(dst, src, magic, limit)
	case Zstd:
		return inflateZstd(dst, src, limit)
	}
	return dst, fmt.Errorf("%w: id %d", ErrUnknown, uint8(id))
}

// Deflate appends src compressed with id as Kafka frames it for a message of
// the given magic. The compressed bytes need not be those of Kafka's
// compressor, only inflate to the same data.
func Deflate(dst, src []byte, id ID, magic int8) ([]byte, error) {
	return DeflateLevel(dst, src, id, magic, id.DefaultLevel())
}

// DeflateLevel is like [Deflate] with a level on the scale of the codec, as
// Kafka's compression.gzip.level (1 to 9, -1 for zlib's default),
// compression.lz4.level (1 to 17) and compression.zstd.level (-131072 to 22)
// have it. A level outside the scale counts as the nearest one on it. The other
// codecs have none.
func DeflateLevel(dst, src []byte, id ID, magic int8, level int) ([]byte, error) {
	switch id {
	case None:
		return append(dst, src...), nil
	case Gzip:
		return deflateGzip(dst, src, level)
	case Snappy:
		return deflateSnappy(dst, src), nil
	case LZ4:
		return deflateLZ4(dst, src, magic, level)
	case Zstd:
		return deflateZstd(dst, src, level)
	}
	return dst, fmt.Errorf("%w: id %d", ErrUnknown, uint8(id))
}

// DefaultLevel returns the level that Kafka uses if none is set, 0 for a codec
// without levels.
func (id ID) DefaultLevel() int {
	switch id {
	case Gzip:
		return gzip.DefaultCompression
	case LZ4:
		return lz4Default
	case Zstd:
		return zstdDefault
	}
	return 0
}
