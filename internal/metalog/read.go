package metalog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"kf/internal/format/batch"
	"kf/internal/format/control"
	"kf/internal/format/kraftrec"
	"kf/internal/storage/disk"
)

// The ways a metadata log or snapshot can be damaged, beside those of packages
// batch, kraftrec and image; match with errors.Is.
var (
	ErrGap      = errors.New("offsets are missing")
	ErrRules    = errors.New("batch breaks the rules of the metadata log")
	ErrSnapshot = errors.New("unusable snapshot")
)

// An Error says where in which file; Err says what, and what to do.
type Error struct {
	Path   string
	Pos    int64 // byte at which the batch starts
	Offset int64 // of the batch or the record, -1 if unknown
	Err    error
}

func (e *Error) Error() string {
	where := fmt.Sprintf("%s: byte %d", e.Path, e.Pos)
	if e.Offset >= 0 {
		where += fmt.Sprintf(": offset %d", e.Offset)
	}
	return where + ": " + e.Err.Error()
}

func (e *Error) Unwrap() error { return e.Err }

// maxBatch is the most bytes of a batch that are read into memory. Kafka writes
// up to 8 MiB.
const maxBatch = 64 << 20

// A reader reads the batches of one file, one in memory at a time.
type reader struct {
	path string
	f    disk.File
	size int64
	pos  int64 // of the next batch

	buf   []byte
	start int64 // position of buf
}

const readAhead = 256 << 10

// bytes returns n bytes of the file at pos, which has them; they are valid until
// the next call.
func (r *reader) bytes(pos int64, n int) ([]byte, error) {
	if pos < r.start || pos+int64(n) > r.start+int64(len(r.buf)) {
		want := int(min(int64(max(n, readAhead)), r.size-pos))
		if want > cap(r.buf) {
			r.buf = make([]byte, want)
		}
		r.buf, r.start = r.buf[:want], pos
		if _, err := r.f.ReadAt(r.buf, pos); err != nil {
			r.buf = r.buf[:0]
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF // it was longer a moment ago
			}
			return nil, fmt.Errorf("%s: byte %d: %w", r.path, pos, err)
		}
	}
	at := int(pos - r.start)
	return r.buf[at : at+n], nil
}

// next returns the batch at pos, checked, and steps over it. At the end of the
// file it returns io.EOF. What is damaged is an [*Error].
func (r *reader) next() (batch.Header, []byte, error) {
	if r.pos == r.size {
		return batch.Header{}, nil, io.EOF
	}
	h, p, err := r.at(r.pos)
	if err == nil {
		r.pos += int64(len(p))
	}
	return h, p, err
}

func (r *reader) at(pos int64) (batch.Header, []byte, error) {
	fail := func(offset int64, err error) (batch.Header, []byte, error) {
		return batch.Header{}, nil, &Error{r.path, pos, offset, err}
	}
	left := r.size - pos
	if left < batch.HeaderSize {
		return fail(-1, fmt.Errorf("%w: header needs %d bytes, %d left", batch.ErrTruncated, batch.HeaderSize, left))
	}
	p, err := r.bytes(pos, batch.HeaderSize)
	if err != nil {
		return batch.Header{}, nil, err
	}
	h, err := batch.DecodeHeader(p)
	switch {
	case err != nil:
		return fail(-1, err)
	case h.Magic != 2:
		return fail(-1, fmt.Errorf("%w: %d", batch.ErrMagic, h.Magic))
	case h.Size() < batch.HeaderSize || h.Size() > maxBatch:
		return fail(-1, fmt.Errorf("%w: %d", batch.ErrLength, h.Length))
	case h.Size() > left:
		return fail(h.BaseOffset, fmt.Errorf("%w: need %d bytes, %d left", batch.ErrTruncated, h.Size(), left))
	}
	if p, err = r.bytes(pos, int(h.Size())); err != nil {
		return batch.Header{}, nil, err
	}
	if err := h.Check(p); err != nil {
		return fail(h.BaseOffset, err)
	}
	return h, p, nil
}

// sound returns the position of the first sound batch at or behind pos whose
// offsets are not below offset, -1 if there is none. A batch of the log has at
// least a byte for each offset, so that chance bytes are seldom looked at twice.
func (r *reader) sound(pos, offset int64) (int64, error) {
	for ; pos+batch.HeaderSize <= r.size; pos++ {
		p, err := r.bytes(pos, batch.PrefixSize)
		if err != nil {
			return -1, err
		}
		base := int64(binary.BigEndian.Uint64(p))
		if p[batch.PrefixSize-1] != 2 || base < offset || base-offset > r.size {
			continue
		}
		switch _, _, err := r.at(pos); {
		case err == nil:
			return pos, nil
		case !isDamage(err):
			return -1, err
		}
	}
	return -1, nil
}

// isDamage reports whether err is about what a file holds, not about reading it.
func isDamage(err error) bool {
	_, ok := errors.AsType[*Error](err)
	return ok
}

// A visitor sees the records of a batch in order.
type visitor struct {
	control func(control.Record) error
	data    func(offset int64, r kraftrec.Record) error
}

// walk checks a batch as Kafka's reader of the metadata log does and shows its
// records to v.
//
// Source: Kafka 4.4.0, RecordsIterator.java.
func walk(path string, pos int64, h batch.Header, p []byte, v visitor) error {
	if h.LastOffsetDelta != h.Count-1 {
		return &Error{path, pos, h.BaseOffset, fmt.Errorf("%w: %d records, last offset delta %d", ErrRules, h.Count, h.LastOffsetDelta)}
	}
	d := batch.Decoder{MaxInflated: maxBatch}
	records, err := d.Open(h, p)
	if err != nil {
		return &Error{path, pos, h.BaseOffset, err}
	}
	for r, err := range records.All() {
		if err != nil {
			return &Error{path, pos, h.BaseOffset, err}
		}
		if err := visit(h.Control(), r, v); err != nil {
			return &Error{path, pos, r.Offset, err}
		}
	}
	return nil
}

func visit(isControl bool, r *batch.Record, v visitor) error {
	switch {
	case r.TimestampDelta != 0:
		return fmt.Errorf("%w: timestamp delta %d, want 0", ErrRules, r.TimestampDelta)
	case r.HeaderCount != 0:
		return fmt.Errorf("%w: record has %d headers", ErrRules, r.HeaderCount)
	case isControl:
		c, err := control.Decode(r.Key, r.Value)
		switch {
		case err != nil:
			return fmt.Errorf("control record: %w", err)
		case c.Type < control.LeaderChange || !c.Type.Known():
			return fmt.Errorf("%w: control record of type %v", ErrRules, c.Type)
		}
		return v.control(c)
	case r.KeySize >= 0:
		return fmt.Errorf("%w: record has a key", ErrRules)
	}
	rec, err := kraftrec.Decode(r.Value)
	if err != nil {
		return err
	}
	return v.data(r.Offset, rec)
}
