package codec

import (
	"bytes"
	"encoding/binary"

	"github.com/golang/snappy"
)

// The header of a xerial stream: 8 bytes of magic, then the version and the
// lowest compatible version, both 1.
const (
	xerialMagic   = "\x82SNAPPY\x00"
	xerialHeader  = len(xerialMagic) + 8
	xerialBlock   = 32 << 10
	xerialVersion = 1
)

// A snappy block cannot inflate to more than this many times its size: its
// densest element is a copy of 64 bytes in 3.
const snappyMaxRatio = 22

func inflateSnappy(dst, src []byte, limit int) ([]byte, error) {
	max := len(dst) + limit
	if len(src) == 0 {
		return dst, corrupt(Snappy, "empty stream")
	}
	if len(src) < xerialHeader || string(src[:len(xerialMagic)]) != xerialMagic {
		return snappyBlock(dst, src, max, 0)
	}
	start := len(dst)
	for pos := xerialHeader; len(src)-pos >= 4; { // fewer bytes are the end, as in snappy-java
		if bytes.HasPrefix(src[pos:], []byte(xerialMagic[:4])) {
			if len(src)-pos < xerialHeader {
				return dst, corrupt(Snappy, "byte %d: stream header is cut off", pos)
			}
			if string(src[pos:pos+len(xerialMagic)]) != xerialMagic {
				// snappy-java says that nothing follows. Kafka believes that at the start
				// only; else it asks again, and gets what follows.
				if len(dst) == start {
					return dst, nil
				}
			} else if v := int32(binary.BigEndian.Uint32(src[pos+len(xerialMagic):])); v < xerialVersion {
				return dst, corrupt(Snappy, "byte %d: incompatible version %d", pos, v)
			}
			pos += xerialHeader
			continue
		}
		n := int64(int32(binary.BigEndian.Uint32(src[pos:])))
		if n <= 0 || n > int64(len(src)-pos-4) {
			return dst, corrupt(Snappy, "byte %d: block of %d bytes, %d left", pos, n, len(src)-pos-4)
		}
		pos += 4
		var err error
		if dst, err = snappyBlock(dst, src[pos:pos+int(n)], max, pos); err != nil {
			return dst, err
		}
		pos += int(n)
	}
	return dst, nil
}

// snappyBlock appends the raw block p, found at pos, to dst, which may grow to
// max bytes.
func snappyBlock(dst, p []byte, max, pos int) ([]byte, error) {
	n, err := snappy.DecodedLen(p)
	switch {
	case err != nil || n > snappyMaxRatio*len(p):
		return dst, corrupt(Snappy, "byte %d: not a snappy block", pos)
	case n > max-len(dst):
		return dst, beyond(Snappy, max)
	}
	dst = grow(dst, n)
	if _, err := snappy.Decode(dst[len(dst):len(dst)+n], p); err != nil {
		return dst, corrupt(Snappy, "byte %d: %w", pos, err)
	}
	return dst[:len(dst)+n], nil
}

// grow returns dst with room for n more bytes.
func grow(dst []byte, n int) []byte {
	if cap(dst)-len(dst) >= n {
		return dst
	}
	bigger := make([]byte, len(dst), max(2*cap(dst), len(dst)+n))
	copy(bigger, dst)
	return bigger
}

func deflateSnappy(dst, src []byte) []byte {
	dst = append(dst, xerialMagic...)
	dst = binary.BigEndian.AppendUint32(dst, xerialVersion)
	dst = binary.BigEndian.AppendUint32(dst, xerialVersion)
	for len(src) > 0 {
		n := min(len(src), xerialBlock)
		block := snappy.Encode(nil, src[:n])
		dst = binary.BigEndian.AppendUint32(dst, uint32(len(block)))
		dst = append(dst, block...)
		src = src[n:]
	}
	return dst
}
