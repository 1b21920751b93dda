package batch

import (
	"encoding/binary"
	"errors"
	"fmt"
	"iter"

	"kf/internal/format/codec"
	"kf/internal/wire"
)

// A Record is one record of a batch. Its slices belong to the batch or to the
// [Decoder] and are valid until the decoder's next Open.
type Record struct {
	Offset         int64
	Timestamp      int64 // ms; -1 in magic 0
	TimestampDelta int64 // as stored; has no meaning under LogAppendTime
	Sequence       int32 // -1 if none
	Key            []byte
	Value          []byte
	KeySize        int32 // negative: null, as is Key
	ValueSize      int32 // negative: null, as is Value
	Size           int32 // of the whole record but its length field, as stored; 0 in magic 0 and 1
	HeaderCount    int32
	headers        []byte // as stored, without their number

	// The checksum of a message of magic 0 or 1, which covers it alone.
	CRC   uint32
	Valid bool

	// Fault, a [*RecordError], is why [Records.Lenient] could not read key and value
	// of a message of magic 0 or 1. NoSizes says that their sizes could not be read either, and
	// perhaps the timestamp.
	Fault   error
	NoSizes bool
}

// A RecordHeader is a key and a value; a nil value is null.
type RecordHeader struct {
	Key   []byte
	Value []byte
}

// Headers yields the headers in stored order; keys may repeat.
func (r *Record) Headers() iter.Seq[RecordHeader] {
	return func(yield func(RecordHeader) bool) {
		c := wire.Cursor{B: r.headers}
		for range r.HeaderCount {
			h := RecordHeader{Key: c.Bytes(int(c.Varint()))}
			if n := c.Varint(); n >= 0 {
				h.Value = c.Bytes(int(n))
			}
			if !yield(h) {
				return
			}
		}
	}
}

// HeadersSize returns how many bytes the headers have, as stored.
func (r *Record) HeadersSize() int { return len(r.headers) }

// SetHeaders encodes the headers into r.
func (r *Record) SetHeaders(hs []RecordHeader) {
	r.headers, r.HeaderCount = nil, int32(len(hs))
	for _, h := range hs {
		r.headers = appendBytes(wire.AppendVarint(r.headers, int32(len(h.Key))), h.Key, h.Value)
	}
}

// A RecordError says which record of a batch is damaged. It matches ErrRecords.
type RecordError struct {
	Index int // of the record, from 0
	Pos   int // byte in the records, inflated if the batch is compressed
	Err   error
}

func (e *RecordError) Error() string {
	return fmt.Sprintf("%v: record %d, byte %d of the records: %v", ErrRecords, e.Index, e.Pos, e.Err)
}

func (e *RecordError) Unwrap() error { return e.Err }

// Is makes errors.Is(err, ErrRecords) true.
func (e *RecordError) Is(target error) bool { return target == ErrRecords }

// A Decoder opens batches and keeps the buffer that they inflate into.
type Decoder struct {
	MaxInflated int // refuse batches that inflate to more bytes

	// Decoders that work at the same time share Big for batches that inflate to a
	// lot, so that their memory does not add up. Exclusive is called before one uses
	// it: it returns once no other does, and none will until the batch is done with.
	// Without Big each has one of its own.
	Big       *BigBuffer
	Exclusive func() error

	buf []byte
}

// smallInflated is up to how many bytes a decoder inflates into its own buffer.
const smallInflated = 4 << 20

// maxReserved bounds how large a big buffer is made before it is needed.
const maxReserved = 256 << 20

// A BigBuffer is the memory of one large batch.
type BigBuffer struct{ buf []byte }

// Records are the records of one batch.
type Records struct {
	h    Header
	body []byte // inflated

	legacy     bool
	compressed bool
	base       int64 // magic 1, compressed: what inner offsets count from
}

// Open prepares the records of the entry p with header h: it inflates them, and
// fails with an error that matches ErrRecords or one of package codec's. The
// records are not checked yet.
func (d *Decoder) Open(h Header, p []byte) (Records, error) {
	if h.Magic < 2 {
		return d.openLegacy(h, p)
	}
	switch {
	case len(p) < HeaderSize:
		return Records{}, fmt.Errorf("%w: batch of %d bytes", ErrRecords, len(p))
	case h.Count < 0:
		return Records{}, fmt.Errorf("%w: record count %d", ErrRecords, h.Count)
	}
	rs := Records{h: h, body: p[HeaderSize:]}
	if id := h.Codec(); id != codec.None {
		rs.compressed = true
		if h.Count == 0 {
			return rs, nil // Kafka does not look at what an empty batch holds
		}
		var err error
		if rs.body, err = d.inflate(rs.body, id, h.Magic); err != nil {
			return Records{}, err
		}
	}
	return rs, nil
}

func (d *Decoder) inflate(p []byte, id codec.ID, magic int8) ([]byte, error) {
	own := min(d.MaxInflated, smallInflated)
	out, err := codec.Inflate(d.buf[:0], p, id, magic, own)
	if cap(out) > cap(d.buf) {
		d.buf = out
	}
	if own == d.MaxInflated || !errors.Is(err, codec.ErrLimit) {
		return out, err
	}
	if d.Big == nil {
		d.Big = new(BigBuffer)
	}
	if d.Exclusive != nil {
		d.buf = nil // many may wait, and each would keep it meanwhile
		if err := d.Exclusive(); err != nil {
			return nil, err
		}
	}
	if d.Big.buf == nil {
		// All at once: growing would copy, and pages that are not used cost nothing.
		d.Big.buf = make([]byte, 0, min(d.MaxInflated, maxReserved)+codec.Slack)
	}
	out, err = codec.Inflate(d.Big.buf[:0], p, id, magic, d.MaxInflated)
	if cap(out) > cap(d.Big.buf) {
		d.Big.buf = out
	}
	return out, err
}

// Compressed reports whether the records were inflated.
func (rs *Records) Compressed() bool { return rs.compressed }

// Legacy reports whether the records are messages of magic 0 or 1.
func (rs *Records) Legacy() bool { return rs.legacy }

// Check walks all records without yielding them and returns what is damaged.
func (rs *Records) Check() error {
	for _, err := range rs.All() {
		if err != nil {
			return err
		}
	}
	return nil
}

// All yields the records in stored order. Damage is the last value: an error
// that matches ErrRecords. The last record is only yielded if nothing follows
// it, as in Kafka.
func (rs *Records) All() iter.Seq2[*Record, error] {
	if !rs.legacy {
		return rs.Lenient()
	}
	return func(yield func(*Record, error) bool) {
		for r, err := range rs.Lenient() {
			if err == nil {
				err = r.Fault
			}
			if err != nil {
				yield(nil, err)
				return
			}
			if !yield(r, nil) {
				return
			}
		}
	}
}

// Lenient is like [Records.All], but goes on behind a message of magic 0 or 1
// whose key and value cannot be read: Fault of the record says why. Kafka finds
// that out only when it needs them.
func (rs *Records) Lenient() iter.Seq2[*Record, error] {
	if rs.legacy {
		return rs.allLegacy()
	}
	return func(yield func(*Record, error) bool) {
		var rec Record
		pos := 0
		for i := range int(rs.h.Count) {
			next, err := rs.Next(&rec, i, pos)
			if err != nil {
				yield(nil, err)
				return
			}
			if !yield(&rec, nil) {
				return
			}
			pos = next
		}
	}
}

// Next decodes record i of a batch of magic 2, which starts at byte pos of the
// records, into r, and returns where record i+1 starts. It is a step of
// [Records.All] for a caller that walks many small batches: it allocates
// nothing.
func (rs *Records) Next(r *Record, i, pos int) (next int, err error) {
	r.Sequence = noSequence
	size, err := rs.decode(r, rs.body[pos:])
	if err == nil && i == int(rs.h.Count)-1 && pos+size != len(rs.body) {
		pos += size
		err = fmt.Errorf("%d bytes left after the last of %d records", len(rs.body)-pos, rs.h.Count)
	}
	if err != nil {
		return pos, &RecordError{Index: i, Pos: pos, Err: err}
	}
	return pos + size, nil
}

// decode decodes the record at the start of p and returns its size.
func (rs *Records) decode(r *Record, p []byte) (int, error) {
	length, n := wire.Varint(p)
	switch {
	case n < 0:
		return 0, fmt.Errorf("record length: %w", wire.ErrVarint)
	case n == 0:
		return 0, fmt.Errorf("no record length in the %d bytes left", len(p))
	case length < 0 || int64(length) > int64(len(p)-n):
		return 0, fmt.Errorf("record of %d bytes, %d left", length, len(p)-n)
	}
	r.Size = length
	size := n + int(length)
	p = p[n:size]
	if len(p) == 0 {
		return 0, errStructure
	}
	p = p[1:] // attributes, unused
	delta, n := wire.Varlong(p)
	if n <= 0 {
		return 0, errStructure
	}
	p = p[n:]
	offsetDelta, n := wire.Varint(p)
	if n <= 0 {
		return 0, errStructure
	}
	p = p[n:]
	r.Offset = rs.h.BaseOffset + int64(offsetDelta)
	r.TimestampDelta = delta
	r.Timestamp = rs.h.BaseTimestamp + delta
	if rs.h.Attributes&LogAppendTimeBit != 0 {
		r.Timestamp = rs.h.MaxTimestamp
	}
	if rs.h.BaseSequence >= 0 {
		r.Sequence = addSequence(rs.h.BaseSequence, offsetDelta)
	}
	var ok bool
	if r.Key, r.KeySize, p, ok = nullable(p); !ok {
		return 0, errStructure
	}
	if r.Value, r.ValueSize, p, ok = nullable(p); !ok {
		return 0, errStructure
	}
	count, n := wire.Varint(p)
	if n <= 0 || count < 0 || int(count) > len(p)-n {
		return 0, errStructure
	}
	p = p[n:]
	r.HeaderCount, r.headers = count, p
	for range count {
		keyLen, n := wire.Varint(p)
		if n <= 0 || keyLen < 0 || int(keyLen) > len(p)-n {
			return 0, errStructure
		}
		if _, _, p, ok = nullable(p[n+int(keyLen):]); !ok {
			return 0, errStructure
		}
	}
	if len(p) != 0 {
		return 0, fmt.Errorf("%d bytes left in a record of %d", len(p), length)
	}
	return size, nil
}

var errStructure = fmt.Errorf("record structure does not fit its length")

// nullable splits a varint length and as many bytes off p; a negative length,
// which it returns as -1, is null.
func nullable(p []byte) (field []byte, size int32, rest []byte, ok bool) {
	size, n := wire.Varint(p)
	switch {
	case n <= 0 || int64(size) > int64(len(p)-n):
		return nil, 0, nil, false
	case size < 0:
		return nil, -1, p[n:], true
	}
	end := n + int(size)
	return p[n:end:end], size, p[end:], true
}

// appendBytes appends key as it is, then value with its length in front.
func appendBytes(dst, key, value []byte) []byte {
	dst = append(dst, key...)
	if value == nil {
		return wire.AppendVarint(dst, -1)
	}
	dst = wire.AppendVarint(dst, int32(len(value)))
	return append(dst, value...)
}

// Append appends a record batch of magic 2 with header h and records. It sets
// the length, the number of records and the checksum, and compresses with the
// codec of h's attributes; all other fields are h's. Offsets are stored relative
// to h.BaseOffset and timestamps to h.BaseTimestamp (under LogAppendTime the
// stored deltas are TimestampDelta).
func Append(dst []byte, h Header, records iter.Seq[*Record]) ([]byte, error) {
	return AppendLevel(dst, h, records, h.Codec().DefaultLevel())
}

// AppendLevel is like [Append] with a compression level of the codec.
func AppendLevel(dst []byte, h Header, records iter.Seq[*Record], level int) ([]byte, error) {
	start := len(dst)
	dst = append(dst, make([]byte, HeaderSize)...)
	body := dst[start+HeaderSize:]
	id := h.Codec()
	if id != codec.None {
		body = nil
	}
	h.Count = 0
	one := make([]byte, 0, 256) // grows with a few long records, not with every short one
	for r := range records {
		delta := r.TimestampDelta
		if h.Attributes&LogAppendTimeBit == 0 {
			delta = r.Timestamp - h.BaseTimestamp
		}
		one = append(one[:0], 0)
		one = wire.AppendVarlong(one, delta)
		one = wire.AppendVarint(one, int32(r.Offset-h.BaseOffset))
		one = appendBytes(one, nil, r.Key)
		one = appendBytes(one, nil, r.Value)
		one = wire.AppendVarint(one, r.HeaderCount)
		one = append(one, r.headers...)
		body = append(wire.AppendVarint(body, int32(len(one))), one...)
		h.Count++
	}
	switch {
	case id == codec.None:
		dst = append(dst[:start+HeaderSize], body...)
	case h.Count > 0:
		var err error
		if dst, err = codec.DeflateLevel(dst, body, id, h.Magic, level); err != nil {
			return dst[:start], err
		}
	}
	h.Length = int32(len(dst) - start - LogSize)
	h.Put(dst[start:])
	binary.BigEndian.PutUint32(dst[start+17:], Checksum(dst[start:]))
	return dst, nil
}

// Put writes the fields of a header of magic 2 into the first HeaderSize bytes
// of p, with the checksum as it stands in h.
func (h *Header) Put(p []byte) {
	be := binary.BigEndian
	be.PutUint64(p, uint64(h.BaseOffset))
	be.PutUint32(p[8:], uint32(h.Length))
	be.PutUint32(p[12:], uint32(h.PartitionLeaderEpoch))
	p[16] = byte(h.Magic)
	be.PutUint32(p[17:], h.CRC)
	be.PutUint16(p[21:], uint16(h.Attributes))
	be.PutUint32(p[23:], uint32(h.LastOffsetDelta))
	be.PutUint64(p[27:], uint64(h.BaseTimestamp))
	be.PutUint64(p[35:], uint64(h.MaxTimestamp))
	be.PutUint64(p[43:], uint64(h.ProducerID))
	be.PutUint16(p[51:], uint16(h.ProducerEpoch))
	be.PutUint32(p[53:], uint32(h.BaseSequence))
	be.PutUint32(p[57:], uint32(h.Count))
}
