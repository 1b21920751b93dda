package schema

import (
	"encoding/binary"
	"fmt"
	"math"
	"reflect"
	"slices"

	"kf/internal/wire"
)

// Append appends the message v, a pointer to its struct, in a version. It fails
// with ErrUnsupported if a field that the version does not have, and that is not
// ignorable, is not at its default, and with ErrLength for what is too long. On
// error what it returns has the bytes of dst only.
func Append(dst []byte, v any, version int16) ([]byte, error) {
	rv := reflect.ValueOf(v).Elem()
	return appendMessage(dst, rv, planOf(rv.Type()), version)
}

func appendMessage(dst []byte, v reflect.Value, p *plan, version int16) ([]byte, error) {
	out, err := encoder{version}.encode(dst, v, p)
	if err != nil {
		return dst, err
	}
	return out, nil
}

type encoder struct{ version int16 }

func (e encoder) encode(dst []byte, v reflect.Value, p *plan) ([]byte, error) {
	flexible := e.version >= p.flex
	present := 0 // tagged fields
	for i := range p.fields {
		f := &p.fields[i]
		fv := v.Field(f.index)
		switch {
		case !f.in(e.version):
			if !f.ignorable && !isDefault(fv, f) {
				return nil, fmt.Errorf("%s of %s: %w: %d", f.name, p.name, ErrUnsupported, e.version)
			}
		case f.tag != noTag:
			if !isDefault(fv, f) {
				present++
			}
		default:
			var err error
			if dst, err = e.field(dst, fv, f, flexible); err != nil {
				return nil, fmt.Errorf("%s: %w", f.name, err)
			}
		}
	}
	var unknown Tags
	if p.unknown >= 0 && v.Field(p.unknown).Len() > 0 {
		unknown = *v.Field(p.unknown).Addr().Interface().(*Tags)
	}
	if !flexible {
		if len(unknown) > 0 {
			return nil, fmt.Errorf("unknown tags of %s: %w: %d", p.name, ErrUnsupported, e.version)
		}
		return dst, nil
	}
	dst = wire.AppendUvarint(dst, uint32(present+len(unknown)))
	for _, f := range p.tagged {
		fv := v.Field(f.index)
		if !f.in(e.version) || isDefault(fv, f) {
			continue
		}
		for len(unknown) > 0 && unknown[0].Number < uint32(f.tag) {
			dst, unknown = appendTag(dst, unknown[0]), unknown[1:]
		}
		dst = wire.AppendUvarint(dst, uint32(f.tag))
		start := len(dst)
		var err error
		if dst, err = e.field(dst, fv, f, true); err != nil {
			return nil, fmt.Errorf("%s: %w", f.name, err)
		}
		var room [5]byte
		dst = slices.Insert(dst, start, wire.AppendUvarint(room[:0], uint32(len(dst)-start))...)
	}
	for _, tag := range unknown {
		dst = appendTag(dst, tag)
	}
	return dst, nil
}

func appendTag(dst []byte, tag Tag) []byte {
	dst = wire.AppendUvarint(wire.AppendUvarint(dst, tag.Number), uint32(len(tag.Data)))
	return append(dst, tag.Data...)
}

func (e encoder) field(dst []byte, v reflect.Value, f *field, flexible bool) ([]byte, error) {
	switch f.kind {
	case kindBool:
		if v.Bool() {
			return append(dst, 1), nil
		}
		return append(dst, 0), nil
	case kindInt8:
		return append(dst, byte(v.Int())), nil
	case kindInt16:
		return binary.BigEndian.AppendUint16(dst, uint16(v.Int())), nil
	case kindInt32:
		return binary.BigEndian.AppendUint32(dst, uint32(v.Int())), nil
	case kindInt64:
		return binary.BigEndian.AppendUint64(dst, uint64(v.Int())), nil
	case kindUint16:
		return binary.BigEndian.AppendUint16(dst, uint16(v.Uint())), nil
	case kindUint32:
		return binary.BigEndian.AppendUint32(dst, uint32(v.Uint())), nil
	case kindFloat64:
		return binary.BigEndian.AppendUint64(dst, math.Float64bits(v.Float())), nil
	case kindUUID:
		return append(dst, v.Bytes()...), nil
	case kindString:
		return appendString(dst, v.String(), flexible)
	case kindNullableString:
		if v.IsNil() {
			return appendLength(dst, -1, flexible, true), nil
		}
		return appendString(dst, v.Elem().String(), flexible)
	case kindBytes:
		p := v.Bytes()
		if p == nil && f.nullable {
			return appendLength(dst, -1, flexible, false), nil
		}
		if len(p) >= math.MaxInt32 {
			return nil, fmt.Errorf("%w: %d bytes", ErrLength, len(p))
		}
		return append(appendLength(dst, len(p), flexible, false), p...), nil
	case kindStruct:
		return e.encode(dst, v, f.elem)
	case kindNullableStruct:
		null, present := byte(0xff), byte(1)
		if f.tag != noTag {
			null = 0
		}
		if v.IsNil() {
			return append(dst, null), nil
		}
		return e.encode(append(dst, present), v.Elem(), f.elem)
	}
	if v.IsNil() && f.nullable {
		return appendLength(dst, -1, flexible, false), nil
	}
	n := v.Len()
	if n >= math.MaxInt32 {
		return nil, fmt.Errorf("%w: %d elements", ErrLength, n)
	}
	dst = appendLength(dst, n, flexible, false)
	ptr := v.Addr().Interface()
	var err error
	switch f.kind {
	case kindInt16s:
		for _, n := range *ptr.(*[]int16) {
			dst = binary.BigEndian.AppendUint16(dst, uint16(n))
		}
	case kindInt32s:
		for _, n := range *ptr.(*[]int32) {
			dst = binary.BigEndian.AppendUint32(dst, uint32(n))
		}
	case kindInt64s:
		for _, n := range *ptr.(*[]int64) {
			dst = binary.BigEndian.AppendUint64(dst, uint64(n))
		}
	case kindUUIDs:
		for _, id := range *ptr.(*[]wire.UUID) {
			dst = append(dst, id[:]...)
		}
	case kindStrings:
		for _, s := range *ptr.(*[]string) {
			if dst, err = appendString(dst, s, flexible); err != nil {
				return nil, err
			}
		}
	default:
		for i := range n {
			if dst, err = e.encode(dst, v.Index(i), f.elem); err != nil {
				return nil, err
			}
		}
	}
	return dst, nil
}

func appendLength(dst []byte, n int, flexible, short bool) []byte {
	switch {
	case flexible:
		return wire.AppendUvarint(dst, uint32(n+1))
	case short:
		return binary.BigEndian.AppendUint16(dst, uint16(n))
	}
	return binary.BigEndian.AppendUint32(dst, uint32(n))
}

func appendString(dst []byte, s string, flexible bool) ([]byte, error) {
	if len(s) > maxString {
		return nil, fmt.Errorf("%w: string of %d bytes, limit is %d", ErrLength, len(s), maxString)
	}
	return append(appendLength(dst, len(s), flexible, true), s...), nil
}

// isDefault reports whether v has the default of f.
func isDefault(v reflect.Value, f *field) bool {
	switch f.kind {
	case kindBool:
		return v.Bool() == (f.defInt != 0)
	case kindInt8, kindInt16, kindInt32, kindInt64:
		return v.Int() == f.defInt
	case kindUint16, kindUint32:
		return v.Uint() == uint64(f.defInt)
	case kindFloat64:
		return v.Float() == 0
	case kindUUID:
		return v.IsZero()
	case kindString:
		return v.Len() == 0
	case kindStruct:
		return isDefaultStruct(v, f.elem)
	}
	switch {
	case f.defNull:
		return v.IsNil()
	case v.IsNil():
		return !f.nullable
	case f.kind == kindNullableString:
		return v.Elem().Len() == 0
	case f.kind == kindNullableStruct:
		return isDefaultStruct(v.Elem(), f.elem)
	}
	return v.Len() == 0
}

func isDefaultStruct(v reflect.Value, p *plan) bool {
	for i := range p.fields {
		if !isDefault(v.Field(p.fields[i].index), &p.fields[i]) {
			return false
		}
	}
	return p.unknown < 0 || v.Field(p.unknown).Len() == 0
}
