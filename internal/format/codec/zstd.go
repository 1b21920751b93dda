package codec

import (
	"errors"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// Kafka's reader refuses windows above 2^27 bytes, zstd's own default.
const zstdMaxWindow = 128 << 20

// A block never inflates to more than this.
const zstdMaxBlock = 128 << 10

var zstdDecoder = sync.OnceValue(func() *zstd.Decoder {
	d, err := zstd.NewReader(nil,
		zstd.WithDecoderConcurrency(0), // as many DecodeAll at once as there are processors
		zstd.WithDecoderMaxWindow(zstdMaxWindow),
		zstd.WithDecodeAllCapLimit(true))
	if err != nil {
		panic(err) // the options are constants
	}
	return d
})

func inflateZstd(dst, src []byte, limit int) ([]byte, error) {
	room := int(min(zstdBound(src), int64(limit)+zstdMaxBlock))
	dst = grow(dst, room)
	out, err := zstdDecoder().DecodeAll(src, dst[:len(dst):len(dst)+room])
	switch {
	case len(out)-len(dst) > limit || errors.Is(err, zstd.ErrDecoderSizeExceeded) && room > limit:
		return dst, beyond(Zstd, limit)
	case err != nil:
		return dst, corrupt(Zstd, "%w", err)
	}
	return dst[:len(out)], nil // the capacity limit keeps the result in dst
}

// zstdBound returns how many bytes the blocks of the frames in src can inflate
// to at most, from the block headers alone: the stored content size is a claim,
// this is not. A malformed frame ends the walk; the decoder will say what is
// wrong with it.
func zstdBound(src []byte) int64 {
	var sum int64
	for len(src) > 0 {
		var h zstd.Header
		if h.Decode(src) != nil || len(src) < h.HeaderSize {
			return sum
		}
		if h.Skippable {
			skip := int64(h.HeaderSize) + int64(h.SkippableSize)
			if skip > int64(len(src)) {
				return sum
			}
			src = src[skip:]
			continue
		}
		src = src[h.HeaderSize:]
		for last := false; !last; {
			if len(src) < 3 {
				return sum
			}
			word := uint32(src[0]) | uint32(src[1])<<8 | uint32(src[2])<<16
			src = src[3:]
			last = word&1 != 0
			size, stored := int64(word>>3), int64(word>>3)
			switch word >> 1 & 3 {
			case 0: // raw
				sum += size
			case 1: // one byte repeated
				sum += size
				stored = 1
			default:
				sum += zstdMaxBlock
			}
			if stored > int64(len(src)) {
				return sum
			}
			src = src[stored:]
		}
		if h.HasCheckSum {
			if len(src) < 4 {
				return sum
			}
			src = src[4:]
		}
	}
	return sum
}

var zstdEncoders = sync.Pool{New: func() any {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false), zstd.WithZeroFrames(true), zstd.WithLowerEncoderMem(true))
	if err != nil {
		panic(err) // the options are constants
	}
	return e
}}

func deflateZstd(dst, src []byte) ([]byte, error) {
	e := zstdEncoders.Get().(*zstd.Encoder)
	defer zstdEncoders.Put(e)
	out := sliceWriter{dst}
	e.Reset(&out)
	if _, err := e.Write(src); err != nil {
		return dst, err
	}
	if err := e.Close(); err != nil {
		return dst, err
	}
	return out.p, nil
}
