package schema

import (
	"math"
	"reflect"
	"strconv"

	"kf/internal/javafmt"
	"kf/internal/wire"
)

// A Writer writes messages as JSON. The zero Writer writes what Kafka's own
// converters do, byte for byte: on one line without blanks, keys in schema
// order, fields of the version only, tagged fields only where they differ from
// their default, unknown tagged fields never; bytes as base64 with padding,
// uuids as their 22 characters, NaN and infinities as strings.
type Writer struct {
	// Bytes and Int8, if set, may write the value of a field otherwise: they
	// append it to dst and report true.
	Bytes func(dst []byte, field string, p []byte) ([]byte, bool)
	Int8  func(dst []byte, field string, n int8) ([]byte, bool)
}

// AppendJSON appends v, a pointer to a message, as Kafka writes that version.
func AppendJSON(dst []byte, v any, version int16) []byte {
	return (&Writer{}).Append(dst, v, version)
}

// Append appends v, a pointer to a message, in that version.
func (w *Writer) Append(dst []byte, v any, version int16) []byte {
	rv := reflect.ValueOf(v).Elem()
	return w.object(dst, rv, planOf(rv.Type()), version)
}

func (w *Writer) object(dst []byte, v reflect.Value, p *plan, version int16) []byte {
	separator := byte('{')
	for i := range p.fields {
		f := &p.fields[i]
		fv := v.Field(f.index)
		if !f.in(version) || f.tag != noTag && isDefault(fv, f) {
			continue
		}
		dst = w.value(append(append(dst, separator), f.key...), fv, f, version)
		separator = ','
	}
	if separator == '{' {
		dst = append(dst, '{')
	}
	return append(dst, '}')
}

func (w *Writer) value(dst []byte, v reflect.Value, f *field, version int16) []byte {
	ptr := v.Addr().Interface()
	switch f.kind {
	case kindBool:
		return strconv.AppendBool(dst, *ptr.(*bool))
	case kindInt8:
		n := *ptr.(*int8)
		if w.Int8 != nil {
			if out, ok := w.Int8(dst, f.name, n); ok {
				return out
			}
		}
		return strconv.AppendInt(dst, int64(n), 10)
	case kindInt16:
		return strconv.AppendInt(dst, int64(*ptr.(*int16)), 10)
	case kindInt32:
		return strconv.AppendInt(dst, int64(*ptr.(*int32)), 10)
	case kindInt64:
		return strconv.AppendInt(dst, *ptr.(*int64), 10)
	case kindUint16:
		return strconv.AppendUint(dst, uint64(*ptr.(*uint16)), 10)
	case kindUint32:
		return strconv.AppendUint(dst, uint64(*ptr.(*uint32)), 10)
	case kindFloat64:
		n := *ptr.(*float64)
		if math.IsNaN(n) || math.IsInf(n, 0) {
			return append(javafmt.AppendDouble(append(dst, '"'), n), '"')
		}
		return javafmt.AppendDouble(dst, n)
	case kindUUID:
		return appendUUID(dst, *ptr.(*wire.UUID))
	case kindString:
		return javafmt.AppendQuoted(dst, *ptr.(*string))
	case kindNullableString:
		if s := *ptr.(**string); s != nil {
			return javafmt.AppendQuoted(dst, *s)
		}
		return append(dst, "null"...)
	case kindBytes:
		p := *ptr.(*[]byte)
		if p == nil && f.nullable {
			return append(dst, "null"...)
		}
		if w.Bytes != nil {
			if out, ok := w.Bytes(dst, f.name, p); ok {
				return out
			}
		}
		return javafmt.AppendBase64(dst, p)
	case kindStruct:
		return w.object(dst, v, f.elem, version)
	case kindNullableStruct:
		if v.IsNil() {
			return append(dst, "null"...)
		}
		return w.object(dst, v.Elem(), f.elem, version)
	}
	if v.IsNil() && f.nullable {
		return append(dst, "null"...)
	}
	dst = append(dst, '[')
	start := len(dst)
	switch f.kind {
	case kindInt16s:
		for _, n := range *ptr.(*[]int16) {
			dst = append(strconv.AppendInt(dst, int64(n), 10), ',')
		}
	case kindInt32s:
		for _, n := range *ptr.(*[]int32) {
			dst = append(strconv.AppendInt(dst, int64(n), 10), ',')
		}
	case kindInt64s:
		for _, n := range *ptr.(*[]int64) {
			dst = append(strconv.AppendInt(dst, n, 10), ',')
		}
	case kindUUIDs:
		for _, id := range *ptr.(*[]wire.UUID) {
			dst = append(appendUUID(dst, id), ',')
		}
	case kindStrings:
		for _, s := range *ptr.(*[]string) {
			dst = append(javafmt.AppendQuoted(dst, s), ',')
		}
	default:
		for i := range v.Len() {
			dst = append(w.object(dst, v.Index(i), f.elem, version), ',')
		}
	}
	if len(dst) > start {
		dst[len(dst)-1] = ']'
		return dst
	}
	return append(dst, ']')
}

func appendUUID(dst []byte, id wire.UUID) []byte {
	return append(id.AppendTo(append(dst, '"')), '"')
}
