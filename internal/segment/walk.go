package segment

import (
	"errors"
	"fmt"
	"io"

	"kf/internal/format/batch"
)

// A Walker looks at single entries of a file at given positions, headers only:
// what index entries point at. It keeps a window of the file, so that steps
// over small batches do not cost a read each.
type Walker struct {
	Cost int64 // of all that was looked at: 1 for a prefix, readCost for a read

	f      *File
	window []byte
	at     int64 // of window[0] in the file
}

// readCost is how many prefixes in the window take as long as a read.
const readCost = 20

// NewWalker returns a walker over a regular file.
func NewWalker(f *File) *Walker { return &Walker{f: f} }

// Reset makes w walk over another file.
func (w *Walker) Reset(f *File) { w.f, w.window, w.at, w.Cost = f, w.window[:0], 0, 0 }

// bytes returns n bytes at pos, fewer at the end of the file.
func (w *Walker) bytes(pos int64, n int) ([]byte, error) {
	if pos < w.at || pos+int64(n) > w.at+int64(len(w.window)) {
		const size = 4 << 10
		if cap(w.window) < size {
			w.window = make([]byte, size)
		}
		w.Cost += readCost
		got, err := w.f.ReadAt(w.window[:size], pos)
		if err != nil && err != io.EOF {
			w.window = w.window[:0]
			return nil, err
		}
		w.window, w.at = w.window[:got], pos
	}
	p := w.window[pos-w.at:]
	return p[:min(n, len(p))], nil
}

// Prefix returns the start of the entry at pos. It returns io.EOF if no whole
// entry is left there, and an *[Error] with batch.ErrLength if what is there has
// an impossible length.
func (w *Walker) Prefix(pos int64) (batch.Prefix, error) {
	w.Cost++
	if pos >= w.f.Size-batch.PrefixSize {
		return batch.Prefix{}, io.EOF
	}
	p, err := w.bytes(pos, batch.PrefixSize)
	if err == nil && len(p) < batch.PrefixSize {
		return batch.Prefix{}, io.EOF
	}
	if err != nil {
		return batch.Prefix{}, err
	}
	prefix := batch.DecodePrefix(p)
	switch {
	case prefix.Length < batch.MinLength:
		err := fmt.Errorf("%w: %d, at least %d", batch.ErrLength, prefix.Length, batch.MinLength)
		return prefix, &Error{Path: w.f.Path, Pos: pos, BaseOffset: -1, Err: err}
	case prefix.Size() > w.f.Size-pos:
		return prefix, io.EOF
	}
	return prefix, nil
}

// Header returns the header of the entry at pos. A magic below 0 is no error here.
func (w *Walker) Header(pos int64) (batch.Header, error) {
	p, err := w.bytes(pos, batch.HeaderSize)
	if err != nil {
		return batch.Header{}, err
	}
	h, err := batch.DecodeHeader(p)
	if err != nil && !errors.Is(err, batch.ErrMagic) {
		return h, &Error{Path: w.f.Path, Pos: pos, BaseOffset: -1, Err: err}
	}
	return h, nil
}

// Entry reads the whole entry at pos, which Prefix has found, into buf or, if
// that is too small, a new buffer. It fails with ErrTooLarge above maxBatch.
func (w *Walker) Entry(pos int64, buf []byte, maxBatch int64) (*Entry, error) {
	h, err := w.Header(pos)
	if err != nil {
		return nil, err
	}
	size := h.Size()
	if size > maxBatch {
		return nil, &Error{Path: w.f.Path, Pos: pos, BaseOffset: h.BaseOffset, Err: fmt.Errorf("%w: %d bytes, limit is %d", ErrTooLarge, size, maxBatch)}
	}
	if int64(cap(buf)) < size {
		buf = make([]byte, size)
	}
	w.Cost += readCost + size/(4<<10)
	if _, err := w.f.ReadAt(buf[:size], pos); err != nil {
		return nil, &Error{Path: w.f.Path, Pos: pos, BaseOffset: h.BaseOffset, Err: err}
	}
	return &Entry{Pos: pos, Header: h, Data: buf[:size]}, nil
}

// LastOffset returns the last offset of the entry at pos, which Prefix has found.
// That of a message stands in the prefix, whatever its magic says.
func (w *Walker) LastOffset(pos int64, prefix batch.Prefix) (int64, error) {
	if prefix.Magic < 2 {
		return prefix.Offset, nil
	}
	h, err := w.Header(pos)
	return h.LastOffset(), err
}

// Find returns the position and header of the first entry from pos on whose last
// offset is at least offset, io.EOF if there is none. Where the magic is impossible
// and the offset is not the given one, the header is what the prefix says.
func (w *Walker) Find(pos, offset int64) (int64, batch.Header, error) {
	for {
		prefix, err := w.Prefix(pos)
		if err != nil {
			return pos, batch.Header{}, err
		}
		last, err := w.LastOffset(pos, prefix)
		switch {
		case err == nil && last < offset:
		case err == nil && last > offset && prefix.Magic < 0:
			return pos, batch.Header{BaseOffset: prefix.Offset, Length: prefix.Length, Magic: prefix.Magic}, nil
		case err == nil:
			h, err := w.Header(pos)
			return pos, h, err
		default:
			return pos, batch.Header{}, err
		}
		pos += prefix.Size()
	}
}

// Size returns the size of the file, in bytes.
func (w *Walker) Size() int64 { return w.f.Size }
