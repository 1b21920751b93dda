package batch

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"iter"

	"kf/internal/format/codec"
)

// A message of magic 0 or 1, the only kinds before Kafka 0.11:
//
//	byte  size  field
//	   0     8  offset
//	   8     4  length of what follows
//	  12     4  CRC-32 (IEEE) of byte 16 to the end
//	  16     1  magic
//	  17     1  attributes: bits 0-2 codec (no zstd), 3 LogAppendTime (magic 1)
//	  18     8  timestamp, ms, -1 none; magic 1 only
//	   …     4  key length, negative: null; then the key
//	   …     4  value length, negative: null; then the value
//
// A compressed message wraps others: its value inflates to complete entries,
// and its offset is that of the last of them. Inner offsets are absolute in
// magic 0, relative in magic 1: absolute = wrapper offset - last inner offset +
// inner offset. A wrapper at offset 0 (old librdkafka) leaves them as they are.
// The timestamp type is the wrapper's; under LogAppendTime its timestamp is
// that of all inner messages. An incomplete entry at the end is no error.
//
// Source: Kafka 4.4.0, LegacyRecord, AbstractLegacyRecordBatch.

func decodeLegacyHeader(p []byte) (Header, error) {
	least := legacyHeaderSize0
	if p[16] == 1 {
		least = legacyHeaderSize1
	}
	if len(p) < least {
		return Header{}, fmt.Errorf("%w: message header needs %d bytes, %d left", ErrTruncated, least, len(p))
	}
	be := binary.BigEndian
	h := Header{
		BaseOffset:           int64(be.Uint64(p)),
		Length:               int32(be.Uint32(p[8:])),
		PartitionLeaderEpoch: noLeaderEpoch,
		CRC:                  be.Uint32(p[12:]),
		Magic:                int8(p[16]),
		Attributes:           int16(int8(p[17])),
		BaseTimestamp:        noTimestamp,
		MaxTimestamp:         noTimestamp,
		ProducerID:           noProducerID,
		ProducerEpoch:        noProducerEpoch,
		BaseSequence:         noSequence,
		Count:                1,
	}
	if h.Magic == 1 {
		h.MaxTimestamp = int64(be.Uint64(p[18:]))
		h.BaseTimestamp = h.MaxTimestamp
	}
	if h.Codec() != codec.None {
		h.Count = unknownCount
	}
	return h, nil
}

// decodeMessage decodes the whole message p, with its offset and length, into r.
func decodeMessage(r *Record, h *Header, p []byte) error {
	*r = Record{Offset: h.BaseOffset, Timestamp: h.MaxTimestamp, Sequence: noSequence, CRC: h.CRC}
	r.Valid = h.CRC == crc32.ChecksumIEEE(p[legacyStart:])
	pos := legacyHeaderSize0
	if h.Magic == 1 {
		pos = legacyHeaderSize1
	}
	var ok bool
	if r.Key, r.KeySize, pos, ok = legacyBytes(p, pos); ok {
		r.Value, r.ValueSize, _, ok = legacyBytes(p, pos)
	}
	if !ok {
		return errStructure
	}
	return nil
}

func legacyBytes(p []byte, pos int) (field []byte, size int32, next int, ok bool) {
	if len(p)-pos < 4 {
		return nil, 0, 0, false
	}
	size = int32(binary.BigEndian.Uint32(p[pos:]))
	pos += 4
	switch {
	case size < 0:
		return nil, size, pos, true
	case int64(size) > int64(len(p)-pos):
		return nil, 0, 0, false
	}
	end := pos + int(size)
	return p[pos:end:end], size, end, true
}

func (d *Decoder) openLegacy(h Header, p []byte) (Records, error) {
	rs := Records{h: h, body: p, legacy: true}
	id := h.Codec()
	if id == codec.None {
		return rs, nil
	}
	rs.compressed = true
	var wrapper Record
	if err := decodeMessage(&wrapper, &h, p); err != nil {
		return Records{}, fmt.Errorf("%w: %w", ErrRecords, err)
	}
	switch {
	case id == codec.Zstd:
		return Records{}, fmt.Errorf("%w: zstd in a message of magic %d", ErrRecords, h.Magic)
	case wrapper.Value == nil:
		return Records{}, fmt.Errorf("%w: compressed message without a value", ErrRecords)
	}
	var err error
	if rs.body, err = d.inflate(wrapper.Value, id, h.Magic); err != nil {
		return Records{}, err
	}
	if h.Magic == 1 && h.BaseOffset != 0 {
		last := int64(-1)
		for inner, err := range innerMessages(rs.body) {
			if err != nil {
				return Records{}, err
			}
			last = DecodePrefix(inner).Offset
		}
		if last > h.BaseOffset {
			return Records{}, fmt.Errorf("%w: offset %d of the wrapper is below inner offset %d", ErrRecords, h.BaseOffset, last)
		}
		rs.base = h.BaseOffset - last
	}
	return rs, nil
}

// innerMessages splits inflated data into entries.
func innerMessages(body []byte) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for i, pos := 0, 0; len(body)-pos >= LogSize; i++ {
			length := int32(binary.BigEndian.Uint32(body[pos+8:]))
			if length < MinLength {
				yield(nil, &RecordError{Index: i, Pos: pos, Err: fmt.Errorf("message of %d bytes, at least %d", length, MinLength)})
				return
			}
			if int64(length) > int64(len(body)-pos-LogSize) {
				return
			}
			end := pos + LogSize + int(length)
			if !yield(body[pos:end], nil) {
				return
			}
			pos = end
		}
	}
}

func (rs *Records) allLegacy() iter.Seq2[*Record, error] {
	return func(yield func(*Record, error) bool) {
		var rec Record
		if !rs.compressed {
			if err := decodeMessage(&rec, &rs.h, rs.body); err != nil {
				yield(nil, &RecordError{Err: err})
				return
			}
			yield(&rec, nil)
			return
		}
		i, pos := 0, 0
		fail := func(err error) { yield(nil, &RecordError{Index: i, Pos: pos, Err: err}) }
		for p, err := range innerMessages(rs.body) {
			if err != nil {
				yield(nil, err)
				return
			}
			h, err := DecodeHeader(p)
			if err == nil {
				err = decodeMessage(&rec, &h, p)
			}
			if err == nil && h.Codec() != codec.None {
				err = fmt.Errorf("compressed message inside a compressed message")
			}
			if err != nil {
				fail(err)
				return
			}
			if h.Magic == 1 && rs.h.TimestampType() == LogAppendTime {
				rec.Timestamp = rs.h.MaxTimestamp
			}
			if rs.h.Magic == 1 {
				rec.Offset += rs.base
			}
			if !yield(&rec, nil) {
				return
			}
			i, pos = i+1, pos+len(p)
		}
		if i == 0 {
			fail(fmt.Errorf("compressed message holds no message"))
		}
	}
}

// AppendMessages appends the records as messages of magic 0 or 1: one by one
// without a codec, else in one wrapper with the offset of the last. Kafka has
// written neither since 4.0.
func AppendMessages(dst []byte, magic int8, id codec.ID, tt TimestampType, records []Record) ([]byte, error) {
	attributes := byte(id)
	if tt == LogAppendTime {
		attributes |= LogAppendTimeBit
	}
	if id == codec.None {
		for i := range records {
			dst = appendMessage(dst, magic, attributes, &records[i])
		}
		return dst, nil
	}
	if len(records) == 0 {
		return dst, fmt.Errorf("%w: nothing to wrap", ErrRecords)
	}
	var inner []byte
	wrapper := Record{Offset: records[len(records)-1].Offset, Timestamp: noTimestamp}
	for _, r := range records {
		wrapper.Timestamp = max(wrapper.Timestamp, r.Timestamp)
		if magic == 1 {
			r.Offset -= records[0].Offset
		}
		inner = appendMessage(inner, magic, 0, &r)
	}
	var err error
	if wrapper.Value, err = codec.Deflate(nil, inner, id, magic); err != nil {
		return dst, err
	}
	return appendMessage(dst, magic, attributes, &wrapper), nil
}

func appendMessage(dst []byte, magic int8, attributes byte, r *Record) []byte {
	be := binary.BigEndian
	start := len(dst)
	dst = be.AppendUint64(dst, uint64(r.Offset))
	dst = append(dst, 0, 0, 0, 0, 0, 0, 0, 0, byte(magic), attributes)
	if magic == 1 {
		dst = be.AppendUint64(dst, uint64(r.Timestamp))
	}
	for _, field := range [][]byte{r.Key, r.Value} {
		if field == nil {
			dst = be.AppendUint32(dst, 1<<32-1)
			continue
		}
		dst = append(be.AppendUint32(dst, uint32(len(field))), field...)
	}
	be.PutUint32(dst[start+8:], uint32(len(dst)-start-LogSize))
	be.PutUint32(dst[start+12:], crc32.ChecksumIEEE(dst[start+legacyStart:]))
	return dst
}
