package storage

import (
	"errors"
	"fmt"
	"io"

	"kf/internal/format/batch"
)

// entries reads the entries of a segment, one after the other.
type entries struct {
	cl     *cleaner
	s      *segment
	file   *handle
	size   int64
	buf    []byte
	header batch.Header
	at     int64 // of the entry that next returned
	pos    int64 // of the one that it returns next
	from   int64 // what of the file is in buf
	to     int64
}

// open begins to read a segment, which must not be the active one.
func (cl *cleaner) open(s *segment) (*entries, error) {
	h, err := s.log.acquire()
	if err != nil {
		return nil, err
	}
	return &entries{cl: cl, s: s, file: h, size: s.size.Load(), buf: make([]byte, cl.o.BufferBytes)}, nil
}

func (r *entries) close() { r.file.release() }

// next returns the next entry with its header, io.EOF behind the last one. Both
// are valid until the next call.
func (r *entries) next() ([]byte, *batch.Header, error) {
	if r.at = r.pos; r.pos == r.size {
		return nil, nil, io.EOF
	}
	p, err := r.bytes(batch.PrefixSize)
	if err != nil {
		return nil, nil, err
	}
	prefix := batch.DecodePrefix(p)
	switch {
	case prefix.Length < batch.MinLength:
		return nil, nil, r.damaged(fmt.Errorf("%w: %d, at least %d", batch.ErrLength, prefix.Length, batch.MinLength))
	case prefix.Magic > 2:
		return nil, nil, r.damaged(fmt.Errorf("%w: %d", batch.ErrMagic, prefix.Magic))
	}
	if p, err = r.bytes(prefix.Size()); err != nil {
		return nil, nil, err
	}
	if r.header, err = batch.DecodeHeader(p); err == nil {
		err = r.header.Check(p)
	}
	if err != nil {
		return nil, nil, r.damaged(err)
	}
	r.pos += prefix.Size()
	return p, &r.header, nil
}

// bytes returns the next n bytes without going on.
func (r *entries) bytes(n int64) ([]byte, error) {
	if left := r.size - r.pos; n > left {
		return nil, r.damaged(fmt.Errorf("%w: need %d bytes, segment has %d left", batch.ErrTruncated, n, left))
	}
	if r.pos < r.from || r.pos+n > r.to {
		if err := r.fill(n); err != nil {
			return nil, err
		}
	}
	i := r.pos - r.from
	return r.buf[i : i+n : i+n], nil
}

// fill reads a buffer full, n bytes at least, from pos on.
func (r *entries) fill(n int64) error {
	if err := r.cl.alive(); err != nil {
		return err
	}
	if n > int64(len(r.buf)) {
		r.buf = make([]byte, n) // which the segment has
	}
	room := min(int64(len(r.buf)), r.size-r.pos)
	if err := r.cl.throttle(int(room)); err != nil {
		return err
	}
	r.from, r.to = r.pos, r.pos+room
	got, err := r.file.ReadAt(r.buf[:room], r.pos)
	switch {
	case int64(got) == room:
		return nil
	case err == io.EOF || err == nil:
		return fmt.Errorf("%w: %s: byte %d: file ends", ErrChanged, r.s.log.name(), r.pos+int64(got))
	}
	return err
}

// damaged names the entry that cannot be copied.
func (r *entries) damaged(err error) error {
	kind := ErrUnreadable
	if errors.Is(err, batch.ErrChecksum) || errors.Is(err, batch.ErrLength) || errors.Is(err, batch.ErrMagic) || errors.Is(err, batch.ErrTruncated) {
		kind = ErrCorrupt
	}
	return fmt.Errorf("%w: %s: byte %d: %w", kind, r.s.log.name(), r.at, err)
}
