package storage

import (
	"errors"
	"io"
	"os"
)

// A Region is a range of bytes of a segment file. The file stays open, even if
// the segment is deleted meanwhile, until Release. A truncation of the log can
// take its end away: reads are then short.
type Region struct {
	file *handle
	pos  int64
	n    int
}

// Len returns the number of bytes.
func (r *Region) Len() int { return r.n }

// Pos returns the position of the first byte in the file.
func (r *Region) Pos() int64 { return r.pos }

// Truncate makes the region shorter; n is at most its length.
func (r *Region) Truncate(n int) { r.n = min(r.n, n) }

// ReadAt reads from the region as [io.ReaderAt] says; off counts from its first
// byte.
func (r *Region) ReadAt(p []byte, off int64) (int, error) {
	switch {
	case off < 0:
		return 0, errors.New("negative offset in a region")
	case off >= int64(r.n):
		return 0, io.EOF
	}
	if left := int64(r.n) - off; int64(len(p)) > left {
		n, err := r.file.ReadAt(p[:left], r.pos+off)
		if err == nil {
			err = io.EOF
		}
		return n, err
	}
	return r.file.ReadAt(p, r.pos+off)
}

// OS returns the file for sendfile(2), nil if there is none.
func (r *Region) OS() *os.File {
	if r.file == nil {
		return nil
	}
	return r.file.OS()
}

// Release ends the use of the region. It may be called more than once.
func (r *Region) Release() {
	if r.file != nil {
		r.file.release()
		r.file, r.n = nil, 0
	}
}
