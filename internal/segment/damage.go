package segment

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/bits"

	"kf/internal/format/batch"
)

// damaged makes c the damage at its position and steps over it: to the end of
// the file or, with Resync, to the next sound entry.
func (s *Scanner) damaged(ctx context.Context, c *Chunk, damage error) error {
	offset := int64(-1)
	var length int32
	if len(c.buf) >= batch.PrefixSize && errors.Is(damage, batch.ErrTruncated) {
		prefix := batch.DecodePrefix(c.buf)
		offset, length = prefix.Offset, prefix.Length
	}
	tail := true // nothing sound follows
	e := &Error{Path: s.file.Path, Pos: c.Pos, BaseOffset: offset, Err: damage}
	c.Damage = e
	if s.Limit >= 0 {
		s.err = io.EOF // what lies behind is not looked at
		c.Size = s.end(c) - c.Pos
		return nil
	}
	empty := true // nothing but zeros so far
	for {
		from := 0
		if c.skipped == 0 {
			from = 1
		}
		at := -1
		if s.Resync {
			if at = s.search(c, from); at >= 0 {
				empty = empty && allZero(c.buf[:at])
			}
		}
		if at >= 0 {
			c.Size = c.skipped + int64(at)
			s.rest = append(s.rest[:0], c.buf[at:]...)
			tail = false
			break
		}
		empty = empty && allZero(c.buf)
		if s.ended(c) {
			c.Size = c.skipped + int64(len(c.buf))
			s.rest = s.rest[:0]
			break
		}
		if !empty && !s.Resync && s.file.Size >= 0 {
			c.Size = s.file.Size - c.Pos
			s.rest = s.rest[:0]
			break
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		// Keep what may be the start of an entry that is not all here yet.
		keep := 0
		if s.Resync {
			keep = min(len(c.buf), batch.HeaderSize)
		}
		c.skipped += int64(len(c.buf) - keep)
		c.buf = append(c.buf[:0], c.buf[len(c.buf)-keep:]...)
		if err := s.fill(c, chunkSize); err != nil {
			return err
		}
	}
	s.pos += c.Size
	switch {
	case empty && tail && c.Size > batch.PrefixSize:
		e.Err = fmt.Errorf("%w: %d bytes, preallocated or never written", ErrZeros, c.Size)
	case empty && c.Size > batch.PrefixSize:
		e.Err = fmt.Errorf("%w: %d zeros", ErrGarbage, c.Size)
	case !tail && errors.Is(damage, batch.ErrTruncated): // it only looks like the end of the file
		e.Err = fmt.Errorf("%w: length %d is more than the file has; %d bytes skipped", ErrGarbage, length, c.Size)
	case s.Resync:
		e.Err = fmt.Errorf("%w; %d bytes skipped", damage, c.Size)
	}
	if !s.Resync {
		s.err = io.EOF
	}
	c.buf = nil
	return nil
}

// Zeros reports whether all that r yields is zero.
func Zeros(r io.Reader) (bool, error) {
	buf := make([]byte, len(zeros))
	for {
		n, err := r.Read(buf)
		switch {
		case !allZero(buf[:n]):
			return false, nil
		case err == io.EOF:
			return true, nil
		case err != nil:
			return false, err
		}
	}
}

var zeros [4 << 10]byte

func allZero(p []byte) bool {
	for len(p) > len(zeros) {
		if !bytes.Equal(p[:len(zeros)], zeros[:]) {
			return false
		}
		p = p[len(zeros):]
	}
	return bytes.Equal(p, zeros[:len(p)])
}

// search returns where in c.buf, from the given byte on, a sound entry starts,
// reading more if one may; -1 if there is none.
func (s *Scanner) search(c *Chunk, from int) int {
	for at := from; at+batch.HeaderSize <= len(c.buf) || s.ended(c) && at+batch.PrefixSize < len(c.buf); at++ {
		s.searched++
		if !plausible(c.buf[at:], s.MaxBatch) {
			continue
		}
		size := int(batch.DecodePrefix(c.buf[at:]).Size())
		if s.end(c)-c.Pos-c.skipped < int64(at+size) || !s.worth(size) {
			continue
		}
		if s.sound(c, at, size) {
			return at
		}
	}
	return -1
}

// sound reports whether the checksum of the entry at c.buf[at:] is right. What is
// not in the buffer is read past it; from a pipe it can only be read into it.
func (s *Scanner) sound(c *Chunk, at, size int) bool {
	h, err := batch.DecodeHeader(c.buf[at:])
	if err != nil {
		return false
	}
	missing := at + size - len(c.buf)
	if missing > 0 && s.file.Size < 0 {
		if s.fill(c, max(at+size, 2*len(c.buf))) != nil || len(c.buf) < at+size {
			return false
		}
		missing = 0
	}
	if missing <= 0 {
		return h.Check(c.buf[at:at+size]) == nil
	}
	if s.scratch == nil {
		s.scratch = make([]byte, headroom)
	}
	sum, start := batch.NewChecksum(h.Magic)
	sum.Write(c.buf[at+start:])
	from := c.Pos + c.skipped + int64(len(c.buf))
	n, err := io.CopyBuffer(sum, io.NewSectionReader(s.file.f, from, int64(missing)), s.scratch)
	return err == nil && n == int64(missing) && sum.Sum32() == h.CRC
}

// What checksums may cost while damage is passed: for entries of about one size so
// many bytes, and so many for each byte that was searched. Sound entries do not
// overlap, so they cost 1. What only looks like one can be at every byte.
const (
	checkAlways = 256 << 20
	checkEach   = 4
)

// worth reports whether the checksum of an entry of that size may be computed.
func (s *Scanner) worth(size int) bool {
	class := &s.checked[bits.Len64(uint64(size))]
	if *class+int64(size) > checkAlways+checkEach*s.searched {
		return false
	}
	*class += int64(size)
	return true
}

// plausible reports whether p may start an entry, so that its checksum is worth
// computing.
func plausible(p []byte, maxBatch int64) bool {
	prefix := batch.DecodePrefix(p)
	if prefix.Offset < 0 || prefix.Length < batch.MinLength || prefix.Size() > maxBatch {
		return false
	}
	switch prefix.Magic {
	case 0, 1:
		return p[17]&0xf0 == 0 && p[17]&batch.CodecMask <= 3
	case 2:
		if len(p) < batch.HeaderSize || prefix.Size() < batch.HeaderSize {
			return false
		}
		h, err := batch.DecodeHeader(p)
		return err == nil && h.Attributes>>7 == 0 && h.Codec().Known() && h.LastOffsetDelta >= 0 && h.Count >= 0
	}
	return false
}
