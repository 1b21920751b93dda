// Package schema turns the bytes of Kafka's message schemas into Go structs and
// back, and writes the structs as JSON the way Kafka does. The schema of a
// message is the struct's field tags:
//
//	type OffsetCommitValue struct {
//		_           struct{} `kf:"v0-4,flex=4"` // versions, first flexible version
//		Offset      int64    `kf:"offset"`      // Kafka's name; in all versions
//		LeaderEpoch int32    `kf:"leaderEpoch,v3+,default=-1,ignorable"`
//		Metadata    string   `kf:"metadata"`
//		TopicID     wire.UUID `kf:"topicId,v4+,tag=0"`
//		Unknown     schema.Tags // tagged fields of a newer Kafka; only where flex is given
//	}
//
// Options: v3, v1-2 or v3+ for the versions that have the field; nullable;
// tag=n; default=…; ignorable for one that may be lost in versions without it.
// Fields stand in the order of Kafka's schema. Types:
//
//	Go                      not flexible             flexible
//	bool int8 … float64     as [kf/internal/wire] has them, big-endian
//	string, *string         int16 length, UTF-8      uvarint length+1, UTF-8
//	[]byte                  int32 length             uvarint length+1
//	[]T                     int32 count, elements    uvarint count+1, elements
//	*struct                 int8 < 0: null, else the struct follows
//	*struct with a tag                               uvarint 0: null, 1: it follows
//	end of every struct     nothing                  uvarint count of tags, each: tag, size, value
//
// A length or count of -1, flexible 0, is null. A nil slice of a nullable field
// is null; where null is impossible nil and empty are the same, and decoding
// yields nil for both. Strings keep the bytes of the disk: only JSON shows them
// as Java decodes them. Decoded values share no memory with the input.
//
// A field outside its versions, and a tagged field that is not on the wire, has
// its default: the one in the tag, else 0, false, "", an empty list, a struct of
// defaults, also where null is possible. [New] makes a struct of defaults.
//
// The reader's limits are Kafka's: a string above 0x7fff bytes, a count above
// the number of bytes left, a null where none may be, and a tag of a later
// version are errors. It does not look at the versions of the message: a version
// above the highest is read as the highest, one below the lowest as the lowest.
//
// Source: Kafka 4.4.0, generator MessageDataGenerator and JsonConverterGenerator,
// org.apache.kafka.common.protocol.ByteBufferAccessor.
package schema

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"

	"kf/internal/wire"
)

// Tags are the tagged fields that the schema does not know, in the order of the
// bytes; encoding writes them back.
type Tags []Tag

// A Tag is one of them.
type Tag struct {
	Number uint32
	Data   []byte
}

// The ways bytes can fail to be a message, and a struct to be written as one;
// match with errors.Is.
var (
	ErrShort       = wire.ErrShort
	ErrVarint      = wire.ErrVarint
	ErrNull        = errors.New("null in a field that cannot be null")
	ErrLength      = errors.New("invalid length")
	ErrTag         = errors.New("tagged field of another version")
	ErrUnsupported = errors.New("field is not in this version")
)

// A DecodeError says where a message ends being one.
type DecodeError struct {
	Pos   int    // byte of the cursor at which the field starts that failed
	Field string // path of Kafka's names, "" if it is between fields
	Java  string // what the exception of Kafka's reader says, "null" if it says nothing
	Err   error
}

func (e *DecodeError) Error() string {
	if e.Field == "" {
		return fmt.Sprintf("byte %d: %v", e.Pos, e.Err)
	}
	return fmt.Sprintf("byte %d: %s: %v", e.Pos, e.Field, e.Err)
}

func (e *DecodeError) Unwrap() error { return e.Err }

// Versions returns the lowest and the highest version of the message that v, a
// pointer to its struct, is.
func Versions(v any) (lowest, highest int16) {
	p := planOf(reflect.TypeOf(v).Elem())
	return p.min, p.max
}

// New returns a message, or a struct in one, with Kafka's defaults.
func New[T any]() *T {
	v := new(T)
	setDefaults(reflect.ValueOf(v).Elem(), anyPlan(reflect.TypeFor[T]()))
	return v
}

// anyPlan also takes a struct that is only a part of messages: its defaults do
// not depend on what is flexible.
func anyPlan(t reflect.Type) *plan {
	if t.NumField() > 0 && t.Field(0).Name == "_" {
		return planOf(t)
	}
	return structPlan(t, noFlex)
}

func setDefaults(v reflect.Value, p *plan) {
	for i := range p.fields {
		f := &p.fields[i]
		setDefault(v.Field(f.index), f)
	}
	if p.unknown >= 0 {
		v.Field(p.unknown).SetZero()
	}
}

func setDefault(v reflect.Value, f *field) {
	switch f.kind {
	case kindBool:
		v.SetBool(f.defInt != 0)
	case kindInt8, kindInt16, kindInt32, kindInt64:
		v.SetInt(f.defInt)
	case kindUint16, kindUint32:
		v.SetUint(uint64(f.defInt))
	case kindStruct:
		setDefaults(v, f.elem)
	default:
		if f.defNull || !f.nullable {
			v.SetZero()
			return
		}
		switch f.kind {
		case kindNullableString:
			v.Set(reflect.ValueOf(new(string)))
		case kindNullableStruct:
			v.Set(reflect.New(f.elemType))
			setDefaults(v.Elem(), f.elem)
		default:
			v.Set(reflect.MakeSlice(v.Type(), 0, 0))
		}
	}
}

// Decode reads a message from c into v, a pointer to its struct; every field of
// the struct is set. Bytes behind the message stay in c. The error is a
// [*DecodeError].
func Decode(c *wire.Cursor, v any, version int16) error {
	if c.Err() != nil {
		return c.Err()
	}
	rv := reflect.ValueOf(v).Elem()
	return decode(c, rv, planOf(rv.Type()), version)
}

func decode(c *wire.Cursor, v reflect.Value, p *plan, version int16) error {
	d := decoder{Cursor: c, version: version, highest: p.max}
	return d.decode(v, p)
}

type decoder struct {
	*wire.Cursor
	version int16
	highest int16 // version of the message that the schema knows
}

// part decodes a struct inside the message. Kafka reads a message in any version,
// its parts only in those that it knows.
func (d *decoder) part(v reflect.Value, p *plan) error {
	if d.version > d.highest {
		return &DecodeError{d.Pos(), "", fmt.Sprintf("Can't read version %d of %s", d.version, p.name),
			fmt.Errorf("%w: %d, known are those up to %d", ErrUnknownVersion, d.version, d.highest)}
	}
	return d.decode(v, p)
}

func (d *decoder) decode(v reflect.Value, p *plan) error {
	flexible := d.version >= p.flex
	for i := range p.fields {
		f := &p.fields[i]
		if f.tag != noTag || !f.in(d.version) {
			setDefault(v.Field(f.index), f)
			continue
		}
		if err := d.field(v.Field(f.index), f, flexible); err != nil {
			return err
		}
	}
	if p.unknown >= 0 {
		v.Field(p.unknown).SetZero()
	}
	if !flexible {
		return nil
	}
	return d.tags(v, p)
}

const maxTags = 10000 // in one struct

func (d *decoder) tags(v reflect.Value, p *plan) error {
	pos := d.Pos()
	count := int32(d.Uvarint())
	if d.Err() != nil {
		return d.fail(pos, "")
	}
	if count < 0 {
		return &DecodeError{pos, "", fmt.Sprintf("Invalid negative number of tagged fields %d", count),
			fmt.Errorf("%w: %d tagged fields", ErrLength, count)}
	}
	if int(count) > d.Len() {
		return &DecodeError{pos, "", fmt.Sprintf("Tried to read %d tagged fields, but there are only %d bytes remaining.", count, d.Len()),
			fmt.Errorf("%w: %d tagged fields, have %d bytes", ErrLength, count, d.Len())}
	}
	if count > maxTags {
		return &DecodeError{pos, "", fmt.Sprintf("Tried to read %d tagged fields, which exceeds the maximum allowed count of %d.", count, maxTags),
			fmt.Errorf("%w: %d tagged fields, limit is %d", ErrLength, count, maxTags)}
	}
next:
	for range count {
		pos := d.Pos()
		number, size := d.Uvarint(), int32(d.Uvarint())
		if d.Err() != nil {
			return d.fail(pos, "")
		}
		for _, f := range p.tagged {
			if uint32(f.tag) != number {
				continue
			}
			if !f.in(d.version) {
				return &DecodeError{pos, f.name, fmt.Sprintf("Tag %d is not valid for version %d", number, d.version),
					fmt.Errorf("%w: tag %d in version %d", ErrTag, number, d.version)}
			}
			if err := d.field(v.Field(f.index), f, true); err != nil {
				return err
			}
			continue next
		}
		data, err := d.bytes(size)
		if err != nil {
			return err
		}
		if p.unknown >= 0 {
			tags := v.Field(p.unknown).Addr().Interface().(*Tags)
			*tags = append(*tags, Tag{number, append([]byte(nil), data...)})
		}
	}
	return nil
}

// field reads f.
func (d *decoder) field(v reflect.Value, f *field, flexible bool) error {
	pos := d.Pos()
	switch f.kind {
	case kindBool:
		v.SetBool(d.Bool())
	case kindInt8:
		v.SetInt(int64(d.Int8()))
	case kindInt16:
		v.SetInt(int64(d.Int16()))
	case kindInt32:
		v.SetInt(int64(d.Int32()))
	case kindInt64:
		v.SetInt(d.Int64())
	case kindUint16:
		v.SetUint(uint64(d.Uint16()))
	case kindUint32:
		v.SetUint(uint64(d.Uint32()))
	case kindFloat64:
		v.SetFloat(d.Float64())
	case kindUUID:
		id := d.UUID()
		copy(v.Bytes(), id[:])
	case kindString:
		p, _, err := d.string(pos, f, f.name, flexible)
		if err != nil {
			return err
		}
		v.SetString(string(p))
		return nil
	case kindNullableString:
		p, null, err := d.string(pos, f, f.name, flexible)
		if err != nil {
			return err
		}
		if null {
			v.SetZero()
		} else {
			v.Set(reflect.ValueOf(new(string(p))))
		}
		return nil
	case kindBytes:
		n, err := d.length(pos, f, f.name, flexible, false)
		if err != nil {
			return err
		}
		var value []byte
		if n >= 0 {
			p, err := d.bytes(n)
			if err != nil {
				return inField(err, f.name)
			}
			if value = append(value, p...); value == nil && f.nullable {
				value = []byte{}
			}
		}
		v.SetBytes(value)
		return nil
	case kindStruct:
		return inField(d.part(v, f.elem), f.name)
	case kindNullableStruct:
		var present bool
		if f.tag == noTag {
			present = d.Int8() >= 0
		} else {
			present = int32(d.Uvarint()) > 0
		}
		if d.Err() != nil {
			break
		}
		if !present {
			v.SetZero()
			return nil
		}
		v.Set(reflect.New(f.elemType))
		return inField(d.part(v.Elem(), f.elem), f.name)
	default:
		return d.array(v, f, flexible)
	}
	if d.Err() != nil {
		return d.fail(pos, f.name)
	}
	return nil
}

func (d *decoder) array(v reflect.Value, f *field, flexible bool) error {
	pos := d.Pos()
	count, err := d.length(pos, f, f.name, flexible, false)
	if err != nil {
		return err
	}
	if count < 0 {
		v.SetZero()
		return nil
	}
	if int(count) > d.Len() {
		return &DecodeError{pos, f.name, fmt.Sprintf("Tried to allocate a collection of size %d, but there are only %d bytes remaining.", count, d.Len()),
			fmt.Errorf("%w: %d elements, have %d bytes", ErrLength, count, d.Len())}
	}
	if count == 0 {
		if f.nullable {
			v.Set(reflect.MakeSlice(v.Type(), 0, 0))
		} else {
			v.SetZero()
		}
		return nil
	}
	n := int(count)
	ptr := v.Addr().Interface()
	switch f.kind {
	case kindInt16s:
		err = readAll(d, ptr.(*[]int16), n, 2, d.Int16)
	case kindInt32s:
		err = readAll(d, ptr.(*[]int32), n, 4, d.Int32)
	case kindInt64s:
		err = readAll(d, ptr.(*[]int64), n, 8, d.Int64)
	case kindUUIDs:
		err = readAll(d, ptr.(*[]wire.UUID), n, 16, d.UUID)
	case kindStrings:
		list := make([]string, 0, min(n, 8))
		for range n {
			p, _, err := d.string(d.Pos(), f, f.name+" element", flexible)
			if err != nil {
				return err
			}
			list = append(list, string(p))
		}
		*ptr.(*[]string) = list
	default:
		v.SetZero()
		room := min(n, 4)
		list := reflect.MakeSlice(v.Type(), room, room)
		for i := range n {
			if i == list.Len() { // a count claims, only elements that are there make room
				grown := reflect.MakeSlice(v.Type(), min(n, 2*i), min(n, 2*i))
				reflect.Copy(grown, list)
				list = grown
			}
			if err := d.part(list.Index(i), f.elem); err != nil {
				return inField(err, f.name)
			}
		}
		v.Set(list)
	}
	if err != nil {
		return inField(err, f.name)
	}
	return nil
}

// readAll reads n elements of size bytes each.
func readAll[T any](d *decoder, to *[]T, n, size int, read func() T) error {
	if fits := d.Len() / size; fits < n {
		_ = d.Bytes(fits * size)
		pos := d.Pos()
		read() // fails, as it does in Kafka, at the first that is not whole
		return d.fail(pos, "")
	}
	list := make([]T, n)
	for i := range list {
		list[i] = read()
	}
	*to = list
	return nil
}

// length reads the length or count of f, -1 for a null.
func (d *decoder) length(pos int, f *field, name string, flexible, short bool) (int32, error) {
	var n int32
	switch {
	case flexible:
		n = int32(d.Uvarint()) - 1
	case short:
		n = int32(d.Int16())
	default:
		n = d.Int32()
	}
	if d.Err() != nil {
		return 0, d.fail(pos, name)
	}
	if n < 0 {
		if !f.nullable || name != f.name {
			return 0, &DecodeError{pos, name, "non-nullable field " + name + " was serialized as null", ErrNull}
		}
		return -1, nil
	}
	return n, nil
}

const maxString = 0x7fff // bytes

func (d *decoder) string(pos int, f *field, name string, flexible bool) (p []byte, null bool, err error) {
	n, err := d.length(pos, f, name, flexible, true)
	switch {
	case err != nil:
		return nil, false, err
	case n < 0:
		return nil, true, nil
	case n > maxString:
		return nil, false, &DecodeError{pos, name, "string field " + name + " had invalid length " + strconv.Itoa(int(n)),
			fmt.Errorf("%w: string of %d bytes, limit is %d", ErrLength, n, maxString)}
	}
	p, err = d.bytes(n)
	return p, false, inField(err, name)
}

// bytes returns the next n bytes, which belong to the cursor.
func (d *decoder) bytes(n int32) ([]byte, error) {
	pos, have := d.Pos(), d.Len()
	switch {
	case n < 0:
		return nil, &DecodeError{pos, "", strconv.Itoa(int(n)), fmt.Errorf("%w: %d", ErrLength, n)}
	case int(n) > have:
		return nil, &DecodeError{pos, "", fmt.Sprintf("Error reading byte array of %d byte(s): only %d byte(s) available", n, have),
			fmt.Errorf("%w: need %d, have %d", ErrShort, n, have)}
	}
	return d.Bytes(int(n)), nil
}

// fail turns the failure of the cursor into a DecodeError.
func (d *decoder) fail(pos int, name string) error {
	err := d.Err()
	java := "null" // a BufferUnderflowException
	if errors.Is(err, wire.ErrVarint) {
		java = varintText(d.B[min(d.Pos(), len(d.B)):])
		err = wire.ErrVarint
	} else if short, ok := errors.AsType[*wire.ShortError](err); ok {
		err = fmt.Errorf("%w: need %d, have %d", ErrShort, short.Need, short.Have)
	}
	return &DecodeError{pos, name, java, err}
}

// varintText is what Kafka says of a varint of more than 5 bytes.
func varintText(p []byte) string {
	var v uint32
	for i := range min(len(p), 5) {
		if i < 4 {
			v |= uint32(p[i]&0x7f) << (7 * i)
		} else {
			v |= uint32(p[i]) << 28
		}
	}
	return "Varint is too long, the most significant bit in the 5th byte is set, converted value: " + strconv.FormatUint(uint64(v), 16)
}

// inField puts the name of the enclosing field before the path of err.
func inField(err error, name string) error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*DecodeError](err); ok {
		if e.Field == "" {
			e.Field = name
		} else {
			e.Field = name + "." + e.Field
		}
	}
	return err
}
