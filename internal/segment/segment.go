// Package segment reads one open .log or .checkpoint file: entries with their
// positions, a bounded number of bytes at a time, from files and from pipes.
//
// Damage does not end a process: it is a value with a place. Kafka stops at the
// first entry that it cannot step over; so does a [Scanner], unless it is asked
// to search for the next sound entry.
package segment

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"

	"kf/internal/format/batch"
)

// Defaults of a [Scanner].
const (
	DefaultMaxBatch = 64 << 20  // bytes
	chunkSize       = 256 << 10 // fits the second-level cache of a core
	headroom        = 64 << 10  // in front of a block, for the rest of the one before
	maxBlock        = 2 << 20
	bigChunk        = 4 << 20 // larger buffers exist one at a time and are not kept
)

// The ways a file can end other than behind an entry; match with errors.Is,
// as well as with the errors of package batch.
var (
	ErrTail     = errors.New("bytes behind the last batch")
	ErrZeros    = errors.New("zeros behind the last batch")
	ErrGarbage  = errors.New("no batch")
	ErrTooLarge = errors.New("batch above the size limit")
)

// An Error says where in which file; Err says what.
type Error struct {
	Path       string // as the user gave it
	Pos        int64  // byte at which the damaged structure starts
	BaseOffset int64  // of the batch at Pos, -1 if unknown
	Err        error
}

func (e *Error) Error() string {
	where := fmt.Sprintf("%s: byte %d", e.Path, e.Pos)
	if e.BaseOffset >= 0 {
		where += fmt.Sprintf(": batch at offset %d", e.BaseOffset)
	}
	return where + ": " + e.Err.Error()
}

func (e *Error) Unwrap() error { return e.Err }

// A File is an open segment. It is only ever read.
type File struct {
	Path string
	Size int64 // when it was opened; -1 for a pipe
	f    io.ReaderAt
	pipe io.Reader // what a file without size is read from
	c    io.Closer // nil if the file is somebody else's
}

// FileOf returns the first size bytes of r as a file, which others open and
// close; path is for messages.
func FileOf(path string, r io.ReaderAt, size int64) File { return File{Path: path, Size: size, f: r} }

// FromReader returns a file that can only be read from start to end, such as
// standard input.
func FromReader(path string, r io.Reader) *File { return &File{Path: path, Size: -1, pipe: r} }

// Open opens the file for reading. A directory or a device is an error.
func Open(path string) (*File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	switch {
	case err != nil:
	case info.IsDir():
		err = &os.PathError{Op: "open", Path: path, Err: errors.New("is a directory")}
	case info.Mode()&os.ModeDevice != 0: // some never end
		err = &os.PathError{Op: "open", Path: path, Err: errors.New("is a device")}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return &File{Path: path, Size: -1, f: f, pipe: f, c: f}, nil
	}
	return &File{Path: path, Size: info.Size(), f: f, c: f}, nil
}

// Close closes the file.
func (f *File) Close() error {
	if f.c == nil {
		return nil
	}
	return f.c.Close()
}

// ReadAt reads as io.ReaderAt does; it fails on a pipe.
func (f *File) ReadAt(p []byte, off int64) (int, error) { return f.f.ReadAt(p, off) }

// A Scanner splits a file into chunks of whole entries, in order. Several
// goroutines may call Next, each with a Chunk of its own: they read blocks of the
// file at the same time, and only then, one after the other, find out where in
// its block the entries begin.
type Scanner struct {
	MaxBatch int64 // entries above this many bytes are not kept in memory
	Resync   bool  // after damage, search for the next sound entry
	Limit    int64 // look at the first bytes only; -1 for all

	file *File

	claims sync.Mutex
	ticket int          // of the next block
	next   int64        // where in the file it starts
	block  int64        // how large it is
	done   atomic.Int64 // pos, for claims

	turns  sync.Mutex
	passed *sync.Cond
	turn   int    // ticket whose owner may use what follows
	pos    int64  // in the file: everything in front is in a chunk
	rest   []byte // what was read from pos on
	index  int    // of the next chunk
	eof    bool   // nothing follows what was read
	err    error  // what Next returns from now on

	searched int64     // bytes at which a sound entry was looked for
	scratch  []byte    // for checksums of what is not in a chunk
	checked  [33]int64 // bytes of checksums that took, by the length of the size of an entry in bits

	big       sync.Mutex // held by the one chunk that is larger than bigChunk
	bigBuffer []byte     // its memory
}

// NewScanner returns a scanner over the file from byte pos on, which must be
// where an entry starts; a pipe is read from where it stands.
func NewScanner(f *File, pos int64) *Scanner {
	s := &Scanner{MaxBatch: DefaultMaxBatch, Limit: -1, file: f, pos: pos, next: pos, block: chunkSize}
	s.passed = sync.NewCond(&s.turns)
	return s
}

// A Chunk is a run of whole entries, or one piece of damage.
type Chunk struct {
	Index  int   // from 0, in file order
	Pos    int64 // in the file
	Size   int64 // bytes of the file that the chunk stands for
	Damage error // an *Error; there are no entries then

	mem     []byte // what buf is part of, unless an entry was too long
	buf     []byte
	end     int   // of the last whole entry in buf
	skipped int64 // bytes between Pos and buf, while damage is passed
	large   *Entry
	release func()
}

// An Entry is a record batch or a message, whole, with its place.
type Entry struct {
	Pos    int64
	Header batch.Header
	Data   []byte // valid as long as the chunk; nil if above MaxBatch
	large  error  // what Check says without Data
}

// Check compares length and checksum with the bytes of the entry.
func (e *Entry) Check() error {
	if e.Data == nil {
		return e.large
	}
	return e.Header.Check(e.Data)
}

// Open prepares the records of the entry.
func (e *Entry) Open(d *batch.Decoder) (batch.Records, error) {
	if e.Data == nil {
		return batch.Records{}, fmt.Errorf("%w: %d bytes", ErrTooLarge, e.Header.Size())
	}
	return d.Open(e.Header, e.Data)
}

// Entries yields the entries of the chunk. An entry whose header cannot be
// decoded comes with an [*Error] and its prefix in the header, and is the last.
func (c *Chunk) Entries(path string) func(yield func(*Entry, error) bool) {
	return func(yield func(*Entry, error) bool) {
		if c.large != nil {
			yield(c.large, nil)
			return
		}
		var e Entry
		for at := 0; at < c.end; {
			prefix := batch.DecodePrefix(c.buf[at:])
			size := int(prefix.Size())
			e = Entry{Pos: c.Pos + int64(at), Data: c.buf[at : at+size : at+size]}
			var err error
			if e.Header, err = batch.DecodeHeader(c.buf[at:]); err != nil {
				e.Header = batch.Header{BaseOffset: prefix.Offset, Length: prefix.Length, Magic: prefix.Magic}
				err = &Error{Path: path, Pos: e.Pos, BaseOffset: prefix.Offset, Err: err}
			}
			if !yield(&e, err) || err != nil {
				return
			}
			at += size
		}
	}
}

// Release gives the chunk's buffer back; its entries are no longer valid.
func (c *Chunk) Release() {
	if c.release != nil {
		c.release()
		c.release = nil
	}
	c.buf, c.large = nil, nil
}

// Next fills c with the next entries or the next piece of damage. At the end it
// returns io.EOF. A file that cannot be read is any other error.
func (s *Scanner) Next(ctx context.Context, c *Chunk) error {
	for {
		c.Release()
		ticket, start, n := s.claim()
		block, readErr := s.file.block(c, start, n)
		s.wait(ticket)
		more, err := s.take(ctx, c, start, block, readErr)
		s.pass()
		if !more {
			return err
		}
	}
}

// claim gives out the next block of the file, empty at its end and in a pipe.
func (s *Scanner) claim() (ticket int, start, n int64) {
	s.claims.Lock()
	defer s.claims.Unlock()
	s.next = max(s.next, s.done.Load()) // a long entry or damage went further
	ticket, start = s.ticket, s.next
	s.ticket++
	if end := s.known(); end > start {
		n = min(s.block, end-start)
	}
	s.next += n
	return ticket, start, n
}

// known returns where what is looked at of a file ends; 0 for a pipe.
func (s *Scanner) known() int64 {
	if s.file.Size < 0 {
		return 0
	}
	if s.Limit >= 0 {
		// The header of a batch that is too short for one reaches beyond it.
		return min(s.file.Size, s.Limit+batch.HeaderSize)
	}
	return s.file.Size
}

func (s *Scanner) wait(ticket int) {
	s.turns.Lock()
	for s.turn != ticket {
		s.passed.Wait()
	}
}

func (s *Scanner) pass() {
	s.done.Store(s.pos)
	s.turn++
	s.turns.Unlock()
	s.passed.Broadcast()
}

// block reads n bytes at start into the memory of c, behind room for the rest
// of the block in front.
func (f *File) block(c *Chunk, start, n int64) ([]byte, error) {
	if need := headroom + int(n); cap(c.mem) < need {
		c.mem = make([]byte, need)
	}
	block := c.mem[headroom : headroom+int(n)]
	if n == 0 {
		return block, nil
	}
	got, err := f.f.ReadAt(block, start)
	if err == io.EOF {
		err = nil
	}
	return block[:got], err
}

// take makes c the next chunk, given the block of the file at start. More means
// that there was nothing left to do in this block.
func (s *Scanner) take(ctx context.Context, c *Chunk, start int64, block []byte, readErr error) (more bool, err error) {
	if s.err == nil {
		s.err = ctx.Err()
	}
	if s.err != nil {
		return false, s.err
	}
	end := start + int64(len(block))
	if len(block) > 0 && s.pos >= end { // a long entry or damage went beyond this block
		if s.pos < s.known() {
			return true, nil
		}
		s.err = io.EOF
		return false, s.err
	}
	if readErr != nil {
		return false, s.fail(readErr)
	}
	*c = Chunk{Index: s.index, Pos: s.pos, mem: c.mem}
	switch have := s.pos + int64(len(s.rest)); {
	case len(block) > 0 && s.pos >= start:
		c.buf = block[s.pos-start:]
	case len(block) > 0 && have == start && len(s.rest) <= headroom:
		c.buf = c.mem[headroom-len(s.rest) : headroom+len(block)]
		copy(c.buf, s.rest)
	default:
		c.buf = append(c.mem[:0], s.rest...)
		want := chunkSize
		if len(block) > 0 {
			want = int(end - s.pos)
		}
		if err := s.fill(c, want); err != nil {
			return false, s.fail(err)
		}
	}
	if err := s.fill(c, batch.HeaderSize); err != nil { // for a block that ended early, with the file
		return false, s.fail(err)
	}
	if c.Pos >= s.end(c) {
		s.err = io.EOF
		return false, s.err
	}
	damage := s.split(c)
	if c.end == 0 && damage == nil { // the first entry is longer than the buffer
		if damage, err = s.readLong(c); err != nil {
			return false, s.fail(err)
		}
	}
	switch {
	case c.large != nil:
		s.rest = append(s.rest[:0], c.buf[min(int64(len(c.buf)), c.Size):]...)
		s.pos += c.Size
	case c.end > 0:
		s.rest = append(s.rest[:0], c.buf[c.end:]...)
		c.Size = int64(c.end)
		s.pos += c.Size
	default:
		if err := s.damaged(ctx, c, damage); err != nil {
			return false, s.fail(err)
		}
	}
	s.index++
	return false, nil
}

func (s *Scanner) fail(err error) error {
	if !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
		err = &Error{Path: s.file.Path, Pos: s.pos, BaseOffset: -1, Err: err}
	}
	s.err = err
	return err
}

// fill reads until c.buf has n bytes or the file ends.
func (s *Scanner) fill(c *Chunk, n int) error {
	if len(c.buf) >= n {
		return nil
	}
	if cap(c.buf) < n {
		c.buf = append(make([]byte, 0, n), c.buf...)
	}
	room := c.buf[len(c.buf):n]
	var got int
	var err error
	if s.file.Size >= 0 {
		from := c.Pos + c.skipped + int64(len(c.buf))
		if left := s.known() - from; left < int64(len(room)) {
			room = room[:max(left, 0)]
		}
		if len(room) > 0 {
			got, err = s.file.f.ReadAt(room, from)
		}
	} else if !s.eof {
		got, err = io.ReadFull(s.file.pipe, room)
	}
	c.buf = c.buf[:len(c.buf)+got]
	if err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) {
		s.eof = true
		err = nil
	}
	return err
}

// ended reports whether nothing is left to read behind c.buf.
func (s *Scanner) ended(c *Chunk) bool {
	return s.eof || s.file.Size >= 0 && c.Pos+c.skipped+int64(len(c.buf)) >= s.known()
}

// end returns where the file, or what is looked at of it, ends as far as is
// known: bytes in the buffer only count if there are no more.
func (s *Scanner) end(c *Chunk) int64 {
	end := int64(1<<63 - 1)
	switch {
	case s.eof: // of a file too: it may have become shorter since it was opened
		end = c.Pos + c.skipped + int64(len(c.buf))
	case s.file.Size >= 0:
		end = s.file.Size
	}
	if s.Limit >= 0 {
		end = min(end, s.Limit)
	}
	return end
}

// split finds the whole entries in c.buf. Only if there is none does it return
// what is wrong with the first, nil if that is just not all in the buffer.
func (s *Scanner) split(c *Chunk) error {
	end := s.end(c) - c.Pos
	for c.end < len(c.buf) {
		at := int64(c.end)
		if at >= end-batch.PrefixSize {
			return s.tail(c, at, end)
		}
		if len(c.buf)-c.end < batch.PrefixSize {
			return nil
		}
		prefix := batch.DecodePrefix(c.buf[c.end:])
		if prefix.Length < batch.MinLength {
			return fmt.Errorf("%w: %d, at least %d", batch.ErrLength, prefix.Length, batch.MinLength)
		}
		if prefix.Size() > end-at {
			return s.tail(c, at, end)
		}
		// The header of a batch that is too short for one reaches beyond it.
		need := prefix.Size()
		if prefix.Magic >= 2 {
			need = max(need, batch.HeaderSize)
		}
		if need > int64(len(c.buf))-at && !s.ended(c) || prefix.Size() > s.MaxBatch {
			return nil
		}
		c.end += int(prefix.Size())
	}
	return nil
}

func (s *Scanner) tail(c *Chunk, at, end int64) error {
	if end-at <= batch.PrefixSize {
		return fmt.Errorf("%w: %d bytes, too few for another", ErrTail, end-at)
	}
	prefix := batch.DecodePrefix(c.buf[at:])
	return fmt.Errorf("%w: %d bytes of a batch of %d (%w)", ErrTail, end-at, prefix.Size(), batch.ErrTruncated)
}

// readLong reads the entry at the start of c.buf, which is longer than the
// buffer: into memory up to MaxBatch, beyond that only through its checksum.
func (s *Scanner) readLong(c *Chunk) (damage, err error) {
	size := batch.DecodePrefix(c.buf).Size()
	if size <= s.MaxBatch {
		need := max(size, batch.HeaderSize)
		s.claims.Lock()
		s.block = min(max(s.block, 4*size), maxBlock)
		s.claims.Unlock()
		if need > bigChunk {
			s.big.Lock()
			c.release = func() {
				s.bigBuffer = c.buf[:0]
				s.big.Unlock()
			}
			c.buf = append(s.bigBuffer, c.buf...)
		}
		// On a pipe nothing says whether as much will come: grow as it does.
		for n := int64(len(c.buf)); int64(len(c.buf)) < need && !s.ended(c); {
			if n = min(2*n, need); s.file.Size >= 0 {
				n = need
			}
			if err := s.fill(c, int(n)); err != nil {
				return nil, err
			}
		}
		if damage = s.split(c); c.end > 0 {
			damage = nil
		}
		return damage, nil
	}
	header, err := batch.DecodeHeader(c.buf)
	if err != nil {
		return err, nil
	}
	sum, start := batch.NewChecksum(header.Magic)
	have := min(int64(len(c.buf)), size) // a low MaxBatch: what follows may be in the buffer too
	sum.Write(c.buf[start:have])
	n, err := io.CopyN(sum, s.behind(c), size-have)
	if err == io.EOF { // a pipe, or a file that became shorter
		s.eof = true
		return fmt.Errorf("%w: %d bytes of a batch of %d (%w)", ErrTail, have+n, size, batch.ErrTruncated), nil
	}
	if err != nil {
		return nil, err
	}
	c.large, c.Size = &Entry{Pos: c.Pos, Header: header}, size
	if computed := sum.Sum32(); computed != header.CRC {
		c.large.large = &batch.ChecksumError{Stored: header.CRC, Computed: computed}
	}
	return nil, nil
}

// behind returns what follows c.buf in the file.
func (s *Scanner) behind(c *Chunk) io.Reader {
	if s.file.Size < 0 {
		return s.file.pipe
	}
	from := c.Pos + int64(len(c.buf))
	return io.NewSectionReader(s.file.f, from, s.file.Size-from)
}
