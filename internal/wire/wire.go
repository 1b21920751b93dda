// Package wire turns bytes into fields and back: the primitive encodings that
// every Kafka file and message is made of. It knows no Kafka structure.
//
// Fixed-width integers are big-endian two's complement. Variable-length ones
// are base-128, low group first, high bit set when more follow; signed ones are
// zigzag-encoded before that. A 32-bit varint has at most 5 bytes, a 64-bit one
// at most 10; overlong forms are accepted, as Kafka's reader does, and excess
// bits of the fifth byte are dropped.
//
// Source: Kafka 4.4.0, org.apache.kafka.common.utils.ByteUtils.
package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// The ways bytes can fail to be a field; match with errors.Is.
var (
	ErrShort  = errors.New("not enough bytes")
	ErrVarint = errors.New("varint too long")
	ErrLength = errors.New("invalid length")
)

// A ShortError says that a field needs more bytes than are left. It matches
// ErrShort.
type ShortError struct {
	Pos  int // where the field starts, in bytes from the start of Cursor.B
	Need int // bytes that the field needs
	Have int // bytes that are left
}

func (e *ShortError) Error() string {
	return fmt.Sprintf("byte %d: need %d bytes, have %d", e.Pos, e.Need, e.Have)
}

// Is makes errors.Is(err, ErrShort) true.
func (e *ShortError) Is(target error) bool { return target == ErrShort }

// A Cursor reads fields from B one after the other. After the first failure
// every read yields a zero value, and Err keeps that failure. The zero Cursor
// with B set is ready to use.
type Cursor struct {
	B   []byte
	pos int
	err error
}

// Err returns the first failure, nil if there was none.
func (c *Cursor) Err() error { return c.err }

// Pos returns how many bytes were read.
func (c *Cursor) Pos() int { return c.pos }

// Len returns how many bytes are left; 0 after a failure.
func (c *Cursor) Len() int {
	if c.err != nil {
		return 0
	}
	return len(c.B) - c.pos
}

// Bytes returns the next n bytes, which stay part of B. A negative n fails
// with ErrLength.
func (c *Cursor) Bytes(n int) []byte {
	switch {
	case c.err != nil:
		return nil
	case n < 0:
		c.err = fmt.Errorf("byte %d: %w: %d", c.pos, ErrLength, n)
		return nil
	case n > len(c.B)-c.pos:
		c.err = &ShortError{Pos: c.pos, Need: n, Have: len(c.B) - c.pos}
		return nil
	}
	p := c.B[c.pos : c.pos+n : c.pos+n]
	c.pos += n
	return p
}

// Int8 reads one byte.
func (c *Cursor) Int8() int8 {
	if p := c.Bytes(1); p != nil {
		return int8(p[0])
	}
	return 0
}

// Bool reads one byte; any value but 0 is true.
func (c *Cursor) Bool() bool { return c.Int8() != 0 }

// Int16 reads 2 bytes.
func (c *Cursor) Int16() int16 { return int16(c.Uint16()) }

// Uint16 reads 2 bytes.
func (c *Cursor) Uint16() uint16 {
	if p := c.Bytes(2); p != nil {
		return binary.BigEndian.Uint16(p)
	}
	return 0
}

// Int32 reads 4 bytes.
func (c *Cursor) Int32() int32 { return int32(c.Uint32()) }

// Uint32 reads 4 bytes.
func (c *Cursor) Uint32() uint32 {
	if p := c.Bytes(4); p != nil {
		return binary.BigEndian.Uint32(p)
	}
	return 0
}

// Int64 reads 8 bytes.
func (c *Cursor) Int64() int64 {
	if p := c.Bytes(8); p != nil {
		return int64(binary.BigEndian.Uint64(p))
	}
	return 0
}

// Float64 reads 8 bytes, IEEE 754.
func (c *Cursor) Float64() float64 { return math.Float64frombits(uint64(c.Int64())) }

// UUID reads 16 bytes.
func (c *Cursor) UUID() UUID {
	var u UUID
	copy(u[:], c.Bytes(len(u)))
	return u
}

// Uvarint reads an unsigned varint of at most 5 bytes.
func (c *Cursor) Uvarint() uint32 {
	if c.err != nil {
		return 0
	}
	v, n := Uvarint(c.B[c.pos:])
	return advance(c, v, n)
}

// Varint reads a zigzag varint of at most 5 bytes.
func (c *Cursor) Varint() int32 {
	if c.err != nil {
		return 0
	}
	v, n := Varint(c.B[c.pos:])
	return advance(c, v, n)
}

// Varlong reads a zigzag varint of at most 10 bytes.
func (c *Cursor) Varlong() int64 {
	if c.err != nil {
		return 0
	}
	v, n := Varlong(c.B[c.pos:])
	return advance(c, v, n)
}

func advance[T any](c *Cursor, v T, n int) T {
	var zero T
	switch {
	case n == 0:
		have := len(c.B) - c.pos
		c.err = &ShortError{Pos: c.pos, Need: have + 1, Have: have}
		return zero
	case n < 0:
		c.err = fmt.Errorf("byte %d: %w", c.pos, ErrVarint)
		return zero
	}
	c.pos += n
	return v
}

// Uvarint decodes an unsigned varint at the start of p and returns how many
// bytes it takes: 0 if p ends inside it, -1 if it is longer than 5 bytes.
func Uvarint(p []byte) (uint32, int) {
	if len(p) > 0 && p[0] < 0x80 {
		return uint32(p[0]), 1
	}
	var v uint32
	for i, b := range p {
		if i == 4 && b >= 0x80 {
			return 0, -1
		}
		v |= uint32(b&0x7f) << (7 * i)
		if b < 0x80 {
			return v, i + 1
		}
	}
	return 0, 0
}

// Varint decodes a zigzag varint at the start of p; the count is that of
// [Uvarint].
func Varint(p []byte) (int32, int) {
	v, n := Uvarint(p)
	return int32(v>>1) ^ -int32(v&1), n
}

// Varlong decodes a zigzag varint of at most 10 bytes at the start of p and
// returns how many bytes it takes: 0 if p ends inside it, -1 if it is longer.
func Varlong(p []byte) (int64, int) {
	var v uint64
	for i, b := range p {
		if i == 9 && b >= 0x80 {
			return 0, -1
		}
		v |= uint64(b&0x7f) << (7 * i)
		if b < 0x80 {
			return int64(v>>1) ^ -int64(v&1), i + 1
		}
	}
	return 0, 0
}

// AppendUvarint appends v in its shortest form.
func AppendUvarint(dst []byte, v uint32) []byte {
	for v >= 0x80 {
		dst = append(dst, byte(v)|0x80)
		v >>= 7
	}
	return append(dst, byte(v))
}

// AppendVarint appends v, zigzag-encoded, in its shortest form.
func AppendVarint(dst []byte, v int32) []byte {
	return AppendUvarint(dst, uint32(v<<1)^uint32(v>>31))
}

// AppendVarlong appends v, zigzag-encoded, in its shortest form.
func AppendVarlong(dst []byte, v int64) []byte {
	return binary.AppendUvarint(dst, uint64(v<<1)^uint64(v>>63))
}
