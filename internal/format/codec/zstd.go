package codec

import (
	"errors"
	"strings"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// Kafka's reader refuses windows above 2^27 bytes, zstd's own default.
const zstdMaxWindow = 128 << 20

// A block never inflates to more than this.
const zstdMaxBlock = 128 << 10

// Kafka reads through a buffer of this size, and takes the end of the data for
// the end of the stream if the buffer holds the end of a frame. So what follows a
// frame there need not be whole.
const zstdBuffer = zstdMaxBlock + 3

var zstdDecoders sync.Map // limit → *zstd.Decoder

// zstdDecoder returns a decoder for frames of up to limit bytes. It would look at
// the capacity of its buffer too, but only after it has made a larger one. Windows
// fall under its limit as well.
func zstdDecoder(limit int) *zstd.Decoder {
	limit = max(limit, zstdMaxWindow)
	if d, ok := zstdDecoders.Load(limit); ok {
		return d.(*zstd.Decoder)
	}
	d, err := zstd.NewReader(nil,
		zstd.WithDecoderMaxMemory(uint64(limit)),
		zstd.WithDecoderConcurrency(0), // as many DecodeAll at once as there are processors
		zstd.WithDecoderMaxWindow(zstdMaxWindow),
		zstd.WithDecodeAllCapLimit(true))
	if err != nil {
		panic(err) // no option is out of range
	}
	kept, _ := zstdDecoders.LoadOrStore(limit, d)
	return kept.(*zstd.Decoder)
}

func inflateZstd(dst, src []byte, limit int) ([]byte, error) {
	bound, whole := zstdBound(src)
	if whole > 0 && whole < len(src) && len(src) <= (whole-1)/zstdBuffer*zstdBuffer+zstdBuffer {
		src = src[:whole]
	}
	room := int(min(bound, int64(limit)+zstdMaxBlock))
	dst = grow(dst, room)
	out, err := zstdDecoder(limit).DecodeAll(src, dst[:len(dst):len(dst)+room])
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
// wrong with it. If src ends in a frame that has not inflated to anything yet, whole
// is where that frame starts, else it is -1.
func zstdBound(src []byte) (bound int64, whole int) {
	pos := 0
	for pos < len(src) {
		p := src[pos:]
		var h zstd.Header
		if zstdHeaderCut(p) {
			return bound, pos
		}
		if h.Decode(p) != nil {
			return bound, -1
		}
		if h.Skippable {
			skip := int64(h.HeaderSize) + int64(h.SkippableSize)
			if skip > int64(len(p)) {
				return bound, pos
			}
			pos += int(skip)
			continue
		}
		cut := pos
		if h.WindowSize > zstdMaxWindow || h.SingleSegment && h.FrameContentSize > zstdMaxWindow || h.DictionaryID != 0 {
			cut = -1
		}
		maxBlock := int64(zstdMaxBlock)
		if !h.SingleSegment {
			maxBlock = min(maxBlock, int64(h.WindowSize))
		}
		before := bound
		p = p[h.HeaderSize:]
		for last := false; !last; {
			if len(p) < 3 {
				return bound, cut
			}
			word := uint32(p[0]) | uint32(p[1])<<8 | uint32(p[2])<<16
			p = p[3:]
			last = word&1 != 0
			size, stored := int64(word>>3), int64(word>>3)
			kind := word >> 1 & 3
			switch kind {
			case 0: // raw
				bound += size
			case 1: // one byte repeated
				bound += size
				stored = 1
			default:
				bound += zstdMaxBlock
			}
			if kind == 3 || stored > maxBlock || kind == 0 && size > 0 && len(p) > 0 {
				cut = -1
			}
			if stored > int64(len(p)) {
				return bound, cut
			}
			p = p[stored:]
			if bound > before {
				cut = -1
			}
		}
		if h.HasCheckSum {
			if len(p) < 4 {
				return bound, cut
			}
			p = p[4:]
		}
		pos = len(src) - len(p)
	}
	return bound, -1
}

// zstdHeaderCut reports whether p is the start of a frame's header.
func zstdHeaderCut(p []byte) bool {
	const frame, skippable = "\x28\xb5\x2f\xfd", "\x2a\x4d\x18"
	magic := string(p[:min(len(p), 4)])
	if p[0]&0xf0 == 0x50 {
		return len(p) < 8 && strings.HasPrefix(skippable, magic[1:])
	}
	if len(p) < 5 {
		return strings.HasPrefix(frame, magic)
	}
	flags := p[4]
	size := 5 + int([]byte{0, 1, 2, 4}[flags&3]) + int([]byte{0, 2, 4, 8}[flags>>6])
	if single := flags&(1<<5) != 0; !single || flags>>6 == 0 { // a window, or a content size of one byte
		size++
	}
	return magic == frame && len(p) < size
}

const zstdDefault = 3

var zstdEncoders [zstd.SpeedBestCompression + 1]sync.Pool // by level of the library

func deflateZstd(dst, src []byte, level int) ([]byte, error) {
	speed := zstd.EncoderLevelFromZstd(level)
	pool := &zstdEncoders[speed]
	e, ok := pool.Get().(*zstd.Encoder)
	if !ok {
		var err error
		e, err = zstd.NewWriter(nil, zstd.WithEncoderLevel(speed), zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false), zstd.WithZeroFrames(true), zstd.WithLowerEncoderMem(true))
		if err != nil {
			return dst, err
		}
	}
	defer pool.Put(e)
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
