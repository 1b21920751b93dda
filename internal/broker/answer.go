package broker

import (
	"encoding/binary"
	"net"

	"kf/internal/storage"
)

// An answer is a response on its way to the connection: the bytes that were
// encoded, with holes that regions of segment files fill. The records of a
// fetch are in no memory of ours at any time.
type answer struct {
	buf   *buffer
	holes []hole // by position
}

// A hole is a place where the bytes of a region belong.
type hole struct {
	at     int // in answer.buf
	region storage.Region
}

// finish writes the length of the frame into its first four bytes.
func (a *answer) finish() {
	n := len(a.buf.b) - 4
	for i := range a.holes {
		n += a.holes[i].region.Len()
	}
	binary.BigEndian.PutUint32(a.buf.b, uint32(n))
}

// release gives back the memory and the files of the answer.
func (a *answer) release() {
	for i := range a.holes {
		a.holes[i].region.Release()
	}
	a.holes = nil
	if a.buf != nil {
		a.buf.free()
		a.buf = nil
	}
}

// send writes the answer, and calls progress whenever some of it is gone.
func (a *answer) send(out output, progress func()) error {
	from := 0
	for i := range a.holes {
		h := &a.holes[i]
		if err := out.write(a.buf.b[from:h.at], true); err != nil {
			return err
		}
		from = h.at
		if err := out.send(&h.region, progress); err != nil {
			return err
		}
		h.region.Release()
	}
	err := out.write(a.buf.b[from:], false)
	progress()
	return err
}

// An output writes to one connection.
type output interface {
	// write writes bytes; more says that others follow at once.
	write(p []byte, more bool) error
	send(r *storage.Region, progress func()) error
}

// maxChunk is how much of a region is sent in one step, in bytes.
const maxChunk = 1 << 20

// copier sends through a buffer: what a connection that cannot take a file
// (another system, TLS) is given.
type copier struct{ conn net.Conn }

func (c copier) write(p []byte, _ bool) error {
	if len(p) == 0 {
		return nil
	}
	_, err := c.conn.Write(p)
	return err
}

func (c copier) send(r *storage.Region, progress func()) error {
	b := newBuffer(min(r.Len(), maxChunk))
	defer b.free()
	for at := 0; at < r.Len(); {
		p := b.b[:min(r.Len()-at, cap(b.b))]
		if _, err := r.ReadAt(p, int64(at)); err != nil {
			return err
		}
		if _, err := c.conn.Write(p); err != nil {
			return err
		}
		progress()
		at += len(p)
	}
	return nil
}
