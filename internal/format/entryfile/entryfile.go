// Package entryfile reads files that are nothing but a run of entries of one
// size: .index (8 bytes), .timeindex (12) and .txnindex (34). Such files have no
// header, no magic and no checksum. A reader of Kafka takes size/entrySize
// entries and does not look at bytes that are left.
//
// Source: Kafka 4.4.0, AbstractIndex.java and TransactionIndex.java.
package entryfile

import (
	"errors"
	"fmt"
	"io"
	"iter"
)

// What can be said of such a file; match with errors.Is. ErrPreallocated is no
// damage: it says where the entries of a live file end.
var (
	ErrRemainder    = errors.New("size is no multiple of the entry size")
	ErrPreallocated = errors.New("preallocated")
	ErrHole         = errors.New("zeros between entries")
)

// An Error says at which byte of the file something is wrong; Err says what.
type Error struct {
	At  int64 // byte at which the entry starts
	Err error
}

func (e *Error) Error() string { return fmt.Sprintf("byte %d: %v", e.At, e.Err) }
func (e *Error) Unwrap() error { return e.Err }

// bufferEntries is how many entries are read at once.
const bufferEntries = 4096

// A Raw is the bytes of one entry.
type Raw struct {
	At int64  // byte of the file at which it starts
	P  []byte // valid until the next step
}

// Read yields the entries of r in file order with a buffer of fixed size. An
// error is the last value, always an [*Error]: ErrRemainder if fewer than size
// bytes are left behind the last entry, else what r returned.
func Read(r io.Reader, size int) iter.Seq2[Raw, error] {
	return func(yield func(Raw, error) bool) {
		buf := make([]byte, bufferEntries*size)
		for at := int64(0); ; {
			n, err := io.ReadFull(r, buf)
			whole := n - n%size
			for i := 0; i < whole; i += size {
				if !yield(Raw{at + int64(i), buf[i : i+size : i+size]}, nil) {
					return
				}
			}
			at += int64(whole)
			switch {
			case err == nil:
				continue
			case err != io.EOF && err != io.ErrUnexpectedEOF:
				yield(Raw{}, &Error{at, err})
			case n > whole:
				yield(Raw{}, &Error{at, fmt.Errorf("%w: %d bytes left, an entry has %d", ErrRemainder, n-whole, size)})
			}
			return
		}
	}
}

// Scan yields the entries of r up to its preallocated tail. decode makes an
// entry of its bytes; check gets it and the entry before, nil for the first, and
// what it returns comes with the entry as an [*Error]; reading goes on. Entries
// of which all bytes are 0 are none, except a single one at byte 0: at the end
// of the file they come as one ErrPreallocated, elsewhere as one ErrHole, with a
// zero E. The last value may be an error of [Read].
func Scan[E any](r io.Reader, size int, decode func(Raw) (E, error), check func(e E, last *E) error) iter.Seq2[E, error] {
	return func(yield func(E, error) bool) {
		var (
			none  E
			last  *E       // nil at first
			prev  = new(E) // what last points to then
			zeros Raw      // the first entry held back, until it is known what follows
			held  int64    // how many are held back
		)
		emit := func(raw Raw) bool {
			e, err := decode(raw)
			if err == nil {
				err = check(e, last)
			}
			last = prev
			*last = e
			if err != nil {
				err = &Error{raw.At, err}
			}
			return yield(e, err)
		}
		release := func(what error) bool {
			n := held
			held = 0
			switch {
			case n == 0:
				return true
			case n == 1 && zeros.At == 0:
				return emit(zeros)
			}
			return yield(none, &Error{zeros.At, fmt.Errorf("%w: %d bytes of zeros", what, n*int64(size))})
		}
		for raw, err := range Read(r, size) {
			switch {
			case err != nil:
				if release(ErrPreallocated) {
					yield(none, err)
				}
				return
			case isZero(raw.P):
				if held == 0 {
					zeros = Raw{raw.At, make([]byte, size)}
				}
				held++
			case !release(ErrHole) || !emit(raw):
				return
			}
		}
		release(ErrPreallocated)
	}
}

func isZero(p []byte) bool {
	for _, b := range p {
		if b != 0 {
			return false
		}
	}
	return true
}
