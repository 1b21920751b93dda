package codec

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"sync"

	"github.com/klauspost/compress/gzip"
)

// Kafka reads through java.util.zip.GZIPInputStream with a buffer of this size.
// After a member it looks for another one only if the buffer holds more than
// gzipMinNext bytes behind the deflated data, or if there are bytes that were not
// in the buffer yet, and takes whatever does not start like a member as the end.
const (
	gzipBuffer  = 8 << 10
	gzipMinNext = 26 // trailer and the shortest header
)

var inflaters = sync.Pool{New: func() any { return new(inflater) }}

func inflateGzip(dst, src []byte, limit int) ([]byte, error) {
	start := len(dst)
	pos, err := gzipHeader(src)
	if err != nil {
		return dst, corrupt(Gzip, "%w", err)
	}
	z := inflaters.Get().(*inflater)
	defer inflaters.Put(z)
	dst = grow(dst, min(4*len(src), limit))
	window := min(pos+gzipBuffer, len(src)) // end of what Java's buffer holds
	for {
		member, n := len(dst), 0
		dst, n, err = z.inflate(dst, src[pos:], start+limit)
		pos += n
		if errors.Is(err, ErrLimit) {
			return dst, beyond(Gzip, limit)
		}
		if err != nil {
			return dst, corrupt(Gzip, "byte %d: %w", pos, err)
		}
		for window < pos {
			window = min(window+gzipBuffer, len(src))
		}
		if len(src)-pos < 8 {
			return dst, corrupt(Gzip, "byte %d: trailer is cut off", pos)
		}
		stored := binary.LittleEndian.Uint32(src[pos:])
		if computed := crc32.ChecksumIEEE(dst[member:]); stored != computed {
			return dst, corrupt(Gzip, "byte %d: checksum mismatch: stored 0x%08x, computed 0x%08x", pos, stored, computed)
		}
		if size := binary.LittleEndian.Uint32(src[pos+4:]); size != uint32(len(dst)-member) {
			return dst, corrupt(Gzip, "byte %d: stored size %d, inflated %d", pos+4, size, len(dst)-member)
		}
		if window-pos <= gzipMinNext && len(src) <= max(window, pos+8) {
			return dst, nil
		}
		n, err = gzipHeader(src[pos+8:])
		if err != nil {
			return dst, nil
		}
		pos += 8 + n
		if window <= pos {
			window = min(pos+gzipBuffer, len(src))
		}
	}
}

// gzipHeader returns the length of the member header at the start of p.
func gzipHeader(p []byte) (int, error) {
	const (
		hcrc, extra, name, comment = 1 << 1, 1 << 2, 1 << 3, 1 << 4
	)
	cut := errors.New("header is cut off")
	switch {
	case len(p) < 2:
		return 0, cut
	case p[0] != 0x1f || p[1] != 0x8b:
		return 0, errors.New("not in gzip format")
	case len(p) < 3:
		return 0, cut
	case p[2] != 8:
		return 0, errors.New("unsupported compression method")
	case len(p) < 10:
		return 0, cut
	}
	flags, n := p[3], 10
	if flags&extra != 0 {
		if len(p) < n+2 {
			return 0, cut
		}
		n += 2 + int(binary.LittleEndian.Uint16(p[n:]))
	}
	for _, field := range []byte{name, comment} {
		if flags&field == 0 {
			continue
		}
		if n > len(p) {
			return 0, cut
		}
		end := bytes.IndexByte(p[n:], 0)
		if end < 0 {
			return 0, cut
		}
		n += end + 1
	}
	if flags&hcrc != 0 {
		if len(p) < n+2 {
			return 0, cut
		}
		if binary.LittleEndian.Uint16(p[n:]) != uint16(crc32.ChecksumIEEE(p[:n])) {
			return 0, errors.New("header checksum mismatch")
		}
		n += 2
	}
	if n > len(p) {
		return 0, cut
	}
	return n, nil
}

var gzipWriters [gzip.BestCompression - gzip.DefaultCompression + 1]sync.Pool // by level

func deflateGzip(dst, src []byte, level int) ([]byte, error) {
	level = min(max(level, gzip.DefaultCompression), gzip.BestCompression)
	pool := &gzipWriters[level-gzip.DefaultCompression]
	w, ok := pool.Get().(*gzip.Writer)
	if !ok {
		var err error
		if w, err = gzip.NewWriterLevel(nil, level); err != nil {
			return dst, err
		}
	}
	defer pool.Put(w)
	out := sliceWriter{dst}
	w.Reset(&out)
	if _, err := w.Write(src); err != nil {
		return dst, err
	}
	if err := w.Close(); err != nil {
		return dst, err
	}
	return out.p, nil
}

type sliceWriter struct{ p []byte }

func (w *sliceWriter) Write(p []byte) (int, error) {
	w.p = append(w.p, p...)
	return len(p), nil
}
