package schema

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"

	"kf/internal/wire"
)

// The ways a record of an internal topic can fail to be decoded, beside those
// of its body; match with errors.Is.
var (
	ErrMissingKey     = errors.New("record has no key")
	ErrFrame          = errors.New("invalid frame")
	ErrUnknownType    = errors.New("unknown record type")
	ErrUnknownVersion = errors.New("unknown record version")
	ErrUnread         = errors.New("bytes left over")
)

// A RecordError says why a record of an internal topic cannot be decoded.
type RecordError struct {
	Part    string // "key" or "value"
	Type    int16  // record type, -1 if it could not be read
	Version int16  // of the value, -1 if it could not be read
	Java    string // what the exception of Kafka's reader says
	Err     error  // one of the errors above or a *DecodeError
}

func (e *RecordError) Error() string {
	switch {
	case e.Version >= 0:
		return fmt.Sprintf("%s of type %d, version %d: %v", e.Part, e.Type, e.Version, e.Err)
	case e.Type >= 0:
		return fmt.Sprintf("%s of type %d: %v", e.Part, e.Type, e.Err)
	}
	return e.Part + ": " + e.Err.Error()
}

func (e *RecordError) Unwrap() error { return e.Err }

// A CoordinatorType is a type of record in the topic of a coordinator.
type CoordinatorType struct {
	Name               string // as Kafka spells its enum: OFFSET_COMMIT
	key                func() any
	value              func() any
	keyType            reflect.Type
	keyPlan, valuePlan *plan
}

// NewCoordinatorType returns the type whose records have the keys K and values V.
func NewCoordinatorType[K, V any](name string) CoordinatorType {
	return CoordinatorType{
		Name: name, key: func() any { return new(K) }, value: func() any { return new(V) },
		keyType: reflect.TypeFor[*K](), keyPlan: planOf(reflect.TypeFor[K]()), valuePlan: planOf(reflect.TypeFor[V]()),
	}
}

// A Coordinator knows the records of a coordinator's topic. Their key is int16
// type and body, never flexible; the value int16 version and body, null for a
// tombstone. Bytes behind a body are ignored by Kafka, and counted here.
//
// Source: Kafka 4.4.0, CoordinatorRecordSerde.java.
type Coordinator struct {
	types []*CoordinatorType     // by number, nil where there is none
	ids   map[reflect.Type]int16 // of keys
}

// NewCoordinator returns the coordinator with these types, by their numbers.
func NewCoordinator(types map[int16]CoordinatorType) *Coordinator {
	c := &Coordinator{ids: make(map[reflect.Type]int16)}
	for _, id := range slices.Sorted(maps.Keys(types)) {
		t := types[id]
		c.types = append(c.types, make([]*CoordinatorType, int(id)-len(c.types))...)
		c.types = append(c.types, &t)
		c.ids[t.keyType] = id
	}
	return c
}

// find returns a record type, nil for an unknown one.
func (c *Coordinator) find(id int16) *CoordinatorType {
	if id < 0 || int(id) >= len(c.types) {
		return nil
	}
	return c.types[id]
}

// A CoordinatorRecord is one of them, decoded.
type CoordinatorRecord struct {
	Type        int16
	Key         any   // pointer to the key's struct
	Version     int16 // of the value
	Value       any   // pointer to the value's struct; nil for a tombstone
	KeyUnread   int   // bytes behind the body of the key
	ValueUnread int
}

// Name returns the name of a record type, "" if it is unknown.
func (c *Coordinator) Name(id int16) string {
	if t := c.find(id); t != nil {
		return t.Name
	}
	return ""
}

// Types returns the numbers of the record types, rising.
func (c *Coordinator) Types() []int16 { return slices.Sorted(maps.Values(c.ids)) }

// New returns a new key and value of a type, both zero; nil for an unknown one.
func (c *Coordinator) New(id int16) (key, value any) {
	if t := c.find(id); t != nil {
		return t.key(), t.value()
	}
	return nil, nil
}

// Decode decodes a record in the order in which Kafka does. A nil value is a
// tombstone. On failure, a [*RecordError], the record has what was decoded
// before it: the key, if the value is what is wrong.
func (c *Coordinator) Decode(key, value []byte) (CoordinatorRecord, error) {
	rec, err := c.DecodeKey(key)
	if err != nil || value == nil {
		return rec, err
	}
	err = c.DecodeValue(&rec, value)
	return rec, err
}

// DecodeKey decodes the key alone.
func (c *Coordinator) DecodeKey(key []byte) (CoordinatorRecord, error) {
	if key == nil {
		return CoordinatorRecord{}, &RecordError{"key", -1, -1, "null", ErrMissingKey}
	}
	cur := wire.Cursor{B: key}
	rec := CoordinatorRecord{Type: cur.Int16()}
	if err := cur.Err(); err != nil {
		return CoordinatorRecord{}, &RecordError{"key", -1, -1, "Could not read version from key's buffer.", err}
	}
	t := c.find(rec.Type)
	if t == nil {
		return rec, &RecordError{"key", rec.Type, -1, fmt.Sprintf("Found an unknown record type %d", rec.Type),
			fmt.Errorf("%w: %d", ErrUnknownType, rec.Type)}
	}
	body := t.key()
	if err := decode(&cur, reflect.ValueOf(body).Elem(), t.keyPlan, 0); err != nil {
		return rec, bodyError("key", rec.Type, rec.Type, err)
	}
	rec.Key, rec.KeyUnread = body, cur.Len()
	return rec, nil
}

// DecodeValue decodes value, which is not nil, into rec, whose Type says what
// it is.
func (c *Coordinator) DecodeValue(rec *CoordinatorRecord, value []byte) error {
	t := c.find(rec.Type)
	if t == nil {
		return &RecordError{"value", rec.Type, -1, fmt.Sprintf("Found an unknown record type %d", rec.Type),
			fmt.Errorf("%w: %d", ErrUnknownType, rec.Type)}
	}
	cur := wire.Cursor{B: value}
	version := cur.Int16()
	if err := cur.Err(); err != nil {
		return &RecordError{"value", rec.Type, -1, "Could not read version from value's buffer.", err}
	}
	if p := t.valuePlan; version < p.min || version > p.max {
		return &RecordError{"value", rec.Type, version, fmt.Sprintf("Found an unknown record version %d for %d type", version, rec.Type),
			fmt.Errorf("%w: %d, known are %d to %d", ErrUnknownVersion, version, p.min, p.max)}
	}
	body := t.value()
	if err := decode(&cur, reflect.ValueOf(body).Elem(), t.valuePlan, version); err != nil {
		return bodyError("value", rec.Type, version, err)
	}
	rec.Version, rec.Value, rec.ValueUnread = version, body, cur.Len()
	return nil
}

func bodyError(part string, id, version int16, err error) error {
	java := "null"
	if e, ok := errors.AsType[*DecodeError](err); ok {
		java = e.Java
	}
	e := &RecordError{part, id, version, fmt.Sprintf("Could not read record with version %d from %s's buffer due to: %s.", version, part, java), err}
	if part == "key" {
		e.Version = -1
	}
	return e
}

// AppendKey appends the key of a record; its type follows from that of key, a
// pointer to the key's struct.
func (c *Coordinator) AppendKey(dst []byte, key any) ([]byte, error) {
	id, ok := c.ids[reflect.TypeOf(key)]
	if !ok {
		return dst, fmt.Errorf("%w: no key is a %T", ErrUnknownType, key)
	}
	out, err := appendMessage(binary.BigEndian.AppendUint16(dst, uint16(id)), reflect.ValueOf(key).Elem(), c.types[id].keyPlan, 0)
	if err != nil {
		return dst, err
	}
	return out, nil
}

// AppendValue appends the value of a record in a version.
func (c *Coordinator) AppendValue(dst []byte, value any, version int16) ([]byte, error) {
	v := reflect.ValueOf(value).Elem()
	p := planOf(v.Type())
	if version < p.min || version > p.max {
		return dst, fmt.Errorf("%w: %T has %d to %d, not %d", ErrUnknownVersion, value, p.min, p.max, version)
	}
	out, err := appendMessage(binary.BigEndian.AppendUint16(dst, uint16(version)), v, p, version)
	if err != nil {
		return dst, err
	}
	return out, nil
}

// A FramedType is a type of record in a framed topic.
type FramedType struct {
	Name string // as Kafka spells its enum: TOPIC_RECORD
	new  func() any
	typ  reflect.Type
}

// NewFramedType returns the type whose records are Ts.
func NewFramedType[T any](name string) FramedType {
	Versions(new(T)) // panics now, not at the first record, if T is no message
	return FramedType{name, func() any { return new(T) }, reflect.TypeFor[*T]()}
}

// A Framed knows the records of __cluster_metadata or __remote_log_metadata.
// Their value is framed: uvarint frame version 1, uvarint type, uvarint version,
// body; nothing may follow. The version is not compared with those of the schema.
//
// Source: Kafka 4.4.0, AbstractApiMessageSerde.java.
type Framed struct {
	types map[int16]FramedType
	ids   map[reflect.Type]int16
}

// NewFramed returns the topic with these types.
func NewFramed(types map[int16]FramedType) *Framed {
	f := &Framed{types, map[reflect.Type]int16{}}
	for id, t := range types {
		f.ids[t.typ] = id
	}
	return f
}

// A FramedRecord is one of them, decoded.
type FramedRecord struct {
	Type    int16
	Version int16
	Message any // pointer to the struct
	Unread  int // bytes behind the body, with ErrUnread
}

// Name returns the name of a record type, "" if it is unknown.
func (f *Framed) Name(id int16) string { return f.types[id].Name }

// Types returns the numbers of the record types, rising.
func (f *Framed) Types() []int16 { return slices.Sorted(maps.Keys(f.types)) }

// New returns a new message of a type, zero; nil for an unknown one.
func (f *Framed) New(id int16) any {
	if t, ok := f.types[id]; ok {
		return t.new()
	}
	return nil
}

// TypeOf returns the record type of message, a pointer to its struct.
func (f *Framed) TypeOf(message any) (int16, bool) {
	id, ok := f.ids[reflect.TypeOf(message)]
	return id, ok
}

const frameVersion = 1

// Decode decodes the value of a record. The error is a [*RecordError]; with
// ErrUnread the record is whole.
func (f *Framed) Decode(value []byte) (FramedRecord, error) {
	cur := wire.Cursor{B: value}
	fail := func(id, version int16, err error, java string, args ...any) error {
		return &RecordError{"value", id, version, fmt.Sprintf(java, args...), err}
	}
	id := int16(-1)
	read := func(entity string) (int16, error) {
		n := int32(cur.Uvarint())
		switch {
		case cur.Err() != nil:
			return -1, fail(id, -1, fmt.Errorf("%w: %s: %w", ErrFrame, entity, cur.Err()), "Error while reading %s", entity)
		case n > math.MaxInt16:
			return -1, fail(id, -1, fmt.Errorf("%w: %s %d is too large", ErrFrame, entity, n), "Value for %s was too large.", entity)
		}
		return int16(n), nil
	}
	frame, err := read("frame version")
	switch {
	case err != nil:
		return FramedRecord{}, err
	case frame == 0:
		return FramedRecord{}, fail(-1, -1, fmt.Errorf("%w: frame version 0, want %d", ErrFrame, frameVersion),
			"Could not deserialize metadata record with frame version 0. Note that upgrades from the preview release of KRaft in 2.8 to newer versions are not supported.")
	case frame != frameVersion:
		return FramedRecord{}, fail(-1, -1, fmt.Errorf("%w: frame version %d, want %d", ErrFrame, frame, frameVersion),
			"Could not deserialize metadata record due to unknown frame version %d(only frame version %d is supported)", frame, frameVersion)
	}
	id, err = read("type")
	if err != nil {
		return FramedRecord{}, err
	}
	version, err := read("version")
	if err != nil {
		return FramedRecord{Type: id}, err
	}
	rec := FramedRecord{Type: id, Version: version}
	t, ok := f.types[id]
	if !ok {
		return rec, fail(id, version, fmt.Errorf("%w: %d", ErrUnknownType, id),
			"org.apache.kafka.common.errors.UnsupportedVersionException: Unknown metadata id %d", id)
	}
	body := t.new()
	if err := Decode(&cur, body, version); err != nil {
		return rec, fail(id, version, err, "Failed to deserialize record with type %d", id)
	}
	rec.Message = body
	if n := cur.Len(); n > 0 {
		rec.Unread = n
		return rec, fail(id, version, fmt.Errorf("%w: %d", ErrUnread, n), "Found %d byte(s) of garbage after %d", n, id)
	}
	return rec, nil
}

// Append appends the value of the record that message, a pointer to its struct,
// is in a version.
func (f *Framed) Append(dst []byte, message any, version int16) ([]byte, error) {
	id, ok := f.TypeOf(message)
	if !ok {
		return dst, fmt.Errorf("%w: no record is a %T", ErrUnknownType, message)
	}
	if version < 0 {
		return dst, fmt.Errorf("%w: %s", ErrUnknownVersion, strconv.Itoa(int(version)))
	}
	out := wire.AppendUvarint(dst, frameVersion)
	out = wire.AppendUvarint(wire.AppendUvarint(out, uint32(id)), uint32(version))
	out, err := Append(out, message, version)
	if err != nil {
		return dst, err
	}
	return out, nil
}
