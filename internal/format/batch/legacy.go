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
	if least := legacyHeaderSize(int8(p[16])); len(p) < least {
		return Header{}, fmt.Errorf("%w: message header needs %d bytes, %d left", ErrTruncated, least, len(p))
	}
	return legacyHeader(p), nil
}

// legacyHeaderSize returns the size of the header of a message. Inside a wrapper
// Kafka reads any magic but 0 like 1.
func legacyHeaderSize(magic int8) int {
	if magic == 0 {
		return legacyHeaderSize0
	}
	return legacyHeaderSize1
}

// legacyHeader decodes the header of the message p, which has MinLength bytes at
// least. Without room for a timestamp there is none.
func legacyHeader(p []byte) Header {
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
	if h.Magic != 0 && len(p) >= legacyHeaderSize1 {
		h.MaxTimestamp = int64(be.Uint64(p[18:]))
		h.BaseTimestamp = h.MaxTimestamp
	}
	if h.Codec() != codec.None {
		h.Count = unknownCount
	}
	return h
}

// decodeMessage decodes the whole message p, with its offset and length, into r.
// What does not fit is r.Fault.
func decodeMessage(r *Record, h *Header, p []byte) {
	*r = Record{Offset: h.BaseOffset, Timestamp: h.MaxTimestamp, Sequence: noSequence, CRC: h.CRC}
	r.Valid = h.CRC == crc32.ChecksumIEEE(p[legacyStart:])
	pos := int64(legacyHeaderSize(h.Magic))
	keySize, ok := sizeAt(p, pos)
	pos += sizeField
	end := pos + int64(max(keySize, 0))
	valueSize, sized := sizeAt(p, end)
	if !ok || !sized {
		r.Fault, r.NoSizes = errStructure, true
		return
	}
	r.KeySize, r.ValueSize = keySize, valueSize
	if keySize >= 0 {
		r.Key = p[pos:end:end]
	}
	value := p[end+sizeField:]
	switch {
	case valueSize < 0:
	case int64(valueSize) > int64(len(value)):
		r.Fault = &ValueSizeError{valueSize, len(value)}
	default:
		r.Value = value[:valueSize:valueSize]
	}
}

const sizeField = 4

// A ValueSizeError says that the value of a message of magic 0 or 1 would be
// larger than what the message has left.
type ValueSizeError struct {
	Size int32
	Left int // bytes
}

func (e *ValueSizeError) Error() string {
	return fmt.Sprintf("value of %d bytes, %d left", e.Size, e.Left)
}

// sizeAt returns the size that stands in p at pos.
func sizeAt(p []byte, pos int64) (size int32, ok bool) {
	if int64(len(p))-pos < sizeField {
		return 0, false
	}
	return int32(binary.BigEndian.Uint32(p[pos:])), true
}

func (d *Decoder) openLegacy(h Header, p []byte) (Records, error) {
	rs := Records{h: h, body: p, legacy: true}
	id := h.Codec()
	if id == codec.None {
		return rs, nil
	}
	rs.compressed = true
	var wrapper Record
	decodeMessage(&wrapper, &h, p)
	switch {
	case wrapper.Fault != nil:
		return Records{}, fmt.Errorf("%w: %w", ErrRecords, wrapper.Fault)
	case id == codec.Zstd:
		return Records{}, fmt.Errorf("%w: zstd in a message of magic %d", ErrRecords, h.Magic)
	case wrapper.Value == nil:
		return Records{}, fmt.Errorf("%w: compressed message without a value", ErrRecords)
	}
	var err error
	if rs.body, err = d.inflate(wrapper.Value, id, h.Magic); err != nil {
		return Records{}, err
	}
	last, count := int64(0), 0
	for inner, err := range innerMessages(rs.body) {
		if err != nil {
			return Records{}, err
		}
		last = DecodePrefix(inner).Offset
		count++
	}
	switch {
	case count == 0:
		return Records{}, fmt.Errorf("%w: compressed message holds no message", ErrRecords)
	case h.Magic == 0 || h.BaseOffset == 0:
	case last > h.BaseOffset:
		return Records{}, fmt.Errorf("%w: offset %d of the wrapper is below inner offset %d", ErrRecords, h.BaseOffset, last)
	default:
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
			decodeMessage(&rec, &rs.h, rs.body)
			if rec.Fault != nil {
				rec.Fault = &RecordError{Err: rec.Fault}
			}
			yield(&rec, nil)
			return
		}
		i, pos := 0, 0
		for p, err := range innerMessages(rs.body) {
			if err != nil {
				yield(nil, err)
				return
			}
			h := legacyHeader(p)
			if id := h.Codec(); id != codec.None {
				err := fmt.Errorf("message with codec %s inside a compressed message", id)
				yield(nil, &RecordError{Index: i, Pos: pos, Err: err})
				return
			}
			decodeMessage(&rec, &h, p)
			if h.Magic == 1 && rs.h.TimestampType() == LogAppendTime {
				rec.Timestamp = rs.h.MaxTimestamp
			}
			if rs.h.Magic == 1 {
				rec.Offset += rs.base
			}
			if rec.Fault != nil {
				rec.Fault = &RecordError{Index: i, Pos: pos, Err: rec.Fault}
			}
			if !yield(&rec, nil) {
				return
			}
			i, pos = i+1, pos+len(p)
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
