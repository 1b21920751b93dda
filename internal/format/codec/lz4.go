package codec

import (
	"encoding/binary"
	"sync"

	"github.com/pierrec/lz4/v4"
)

// An LZ4 frame: magic, FLG, BD, content size if FLG says so, HC; then blocks,
// each with its length in front, whose top bit says that it is stored; length 0
// ends the frame. A general reader refuses what Kafka takes (the wrong header
// checksum of magic 0, bytes behind the frame), so the frame is read here and
// only the blocks by the library.
const (
	lz4Magic  = 0x184D2204
	lz4Stored = 1 << 31

	flgReserved        = 0x03
	flgContentChecksum = 1 << 2
	flgContentSize     = 1 << 3
	flgBlockChecksum   = 1 << 4
	flgIndependent     = 1 << 5

	lz4FLG = 1<<6 | flgIndependent // what Kafka writes: version 1, nothing optional
	lz4BD  = 4 << 4                // blocks of at most 64 KiB
)

func inflateLZ4(dst, src []byte, magic int8, limit int) ([]byte, error) {
	max := len(dst) + limit
	if len(src) < 7 {
		return dst, corrupt(LZ4, "frame of %d bytes is too short", len(src))
	}
	if m := binary.LittleEndian.Uint32(src); m != lz4Magic {
		return dst, corrupt(LZ4, "frame magic 0x%08x", m)
	}
	flg, bd := src[4], src[5]
	blockCode := bd >> 4 & 7
	switch {
	case flg>>6 != 1:
		return dst, corrupt(LZ4, "frame version %d", flg>>6)
	case flg&flgReserved != 0 || bd&0x8f != 0:
		return dst, corrupt(LZ4, "reserved bits are set")
	case flg&flgIndependent == 0:
		return dst, corrupt(LZ4, "dependent blocks are not supported")
	case blockCode < 4:
		return dst, corrupt(LZ4, "block size code %d", blockCode)
	}
	maxBlock := 1 << (8 + 2*blockCode)
	pos := 6
	if flg&flgContentSize != 0 {
		pos += 8
	}
	if pos >= len(src) {
		return dst, corrupt(LZ4, "frame header is cut off")
	}
	if magic > 0 {
		if stored, computed := src[pos], byte(xxh32(src[4:pos])>>8); stored != computed {
			return dst, corrupt(LZ4, "header checksum mismatch: stored 0x%02x, computed 0x%02x", stored, computed)
		}
	}
	pos++
	for {
		if len(src)-pos < 4 {
			return dst, corrupt(LZ4, "byte %d: no end mark", pos)
		}
		word := binary.LittleEndian.Uint32(src[pos:])
		n := int64(word &^ lz4Stored)
		if n == 0 {
			if flg&flgContentChecksum != 0 && len(src)-pos < 8 {
				return dst, corrupt(LZ4, "byte %d: content checksum is cut off", pos)
			}
			return dst, nil
		}
		left := int64(len(src) - pos - 4)
		if flg&flgBlockChecksum != 0 {
			left -= 4
		}
		if n > int64(maxBlock) || n > left {
			return dst, corrupt(LZ4, "byte %d: block of %d bytes, at most %d allowed, %d left", pos, n, maxBlock, left)
		}
		block := src[pos+4 : pos+4+int(n)]
		if word&lz4Stored != 0 {
			if len(block) > max-len(dst) {
				return dst, beyond(LZ4, limit)
			}
			dst = append(dst, block...)
		} else {
			dst = grow(dst, maxBlock)
			size, err := lz4.UncompressBlock(block, dst[len(dst):len(dst)+maxBlock])
			if err != nil {
				return dst, corrupt(LZ4, "byte %d: %w", pos, err)
			}
			if size > max-len(dst) {
				return dst, beyond(LZ4, limit)
			}
			dst = dst[:len(dst)+size]
		}
		pos += 4 + int(n)
		if flg&flgBlockChecksum != 0 {
			if stored, computed := binary.LittleEndian.Uint32(src[pos:]), xxh32(block); stored != computed {
				return dst, corrupt(LZ4, "byte %d: block checksum mismatch: stored 0x%08x, computed 0x%08x", pos, stored, computed)
			}
			pos += 4
		}
	}
}

// A level of Kafka's other than the default stands for the slow compressor; the
// default is the fast one, although it lies in the middle of the scale.
const (
	lz4Default = 9
	lz4Slowest = 9 // of the library's levels
)

var (
	lz4Compressors = sync.Pool{New: func() any { return new(lz4.Compressor) }}
	lz4Slow        = sync.Pool{New: func() any { return new(lz4.CompressorHC) }}
)

// lz4Compressor returns a block compressor for a level, and what to do with it
// when it is no longer needed.
func lz4Compressor(level int) (compress func(src, dst []byte) (int, error), done func()) {
	if level == lz4Default {
		c := lz4Compressors.Get().(*lz4.Compressor)
		return c.CompressBlock, func() { lz4Compressors.Put(c) }
	}
	c := lz4Slow.Get().(*lz4.CompressorHC)
	c.Level = lz4.Level1 << (min(max(level, 1), lz4Slowest) - 1)
	return c.CompressBlock, func() { lz4Slow.Put(c) }
}

func deflateLZ4(dst, src []byte, magic int8, level int) ([]byte, error) {
	const blockSize = 64 << 10
	compress, done := lz4Compressor(level)
	defer done()
	start := len(dst)
	dst = binary.LittleEndian.AppendUint32(dst, lz4Magic)
	dst = append(dst, lz4FLG, lz4BD)
	covered := dst[start+4:]
	if magic == 0 {
		covered = dst[start:] // the mistake that readers of magic 0 ignore
	}
	dst = append(dst, byte(xxh32(covered)>>8))
	for len(src) > 0 {
		n := min(len(src), blockSize)
		dst = grow(dst, 4+lz4.CompressBlockBound(n))
		room := dst[len(dst)+4 : cap(dst)]
		size, err := compress(src[:n], room)
		if err != nil {
			return dst, err
		}
		if size == 0 || size >= n {
			dst = binary.LittleEndian.AppendUint32(dst, uint32(n)|lz4Stored)
			dst = append(dst, src[:n]...)
		} else {
			dst = binary.LittleEndian.AppendUint32(dst, uint32(size))
			dst = dst[:len(dst)+size]
		}
		src = src[n:]
	}
	return binary.LittleEndian.AppendUint32(dst, 0), nil
}

// xxh32 is the 32-bit xxHash of p with seed 0, as the LZ4 frame format uses it.
func xxh32(p []byte) uint32 {
	const (
		p1 = 2654435761
		p2 = 2246822519
		p3 = 3266489917
		p4 = 668265263
		p5 = 374761393
	)
	rotl := func(x uint32, r int) uint32 { return x<<r | x>>(32-r) }
	n := uint32(len(p))
	h := uint32(p5)
	if len(p) >= 16 {
		var v [4]uint32
		v[0], v[1], v[2], v[3] = p1, p2, 0, 0
		v[0] += p2 // wraps
		v[3] -= p1
		for ; len(p) >= 16; p = p[16:] {
			for i := range v {
				v[i] = rotl(v[i]+binary.LittleEndian.Uint32(p[4*i:])*p2, 13) * p1
			}
		}
		h = rotl(v[0], 1) + rotl(v[1], 7) + rotl(v[2], 12) + rotl(v[3], 18)
	}
	h += n
	for ; len(p) >= 4; p = p[4:] {
		h = rotl(h+binary.LittleEndian.Uint32(p)*p3, 17) * p4
	}
	for _, b := range p {
		h = rotl(h+uint32(b)*p5, 11) * p1
	}
	h = (h ^ h>>15) * p2
	h = (h ^ h>>13) * p3
	return h ^ h>>16
}
