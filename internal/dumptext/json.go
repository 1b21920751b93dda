package dumptext

import (
	"encoding/binary"
	"errors"
	"strconv"

	"kf/internal/format/control"
	"kf/internal/format/grouprec"
	"kf/internal/format/kraftrec"
	"kf/internal/format/remoterec"
	"kf/internal/format/schema"
	"kf/internal/format/sharerec"
	"kf/internal/format/txnrec"
	"kf/internal/javafmt"
)

// The JSON of a key or value is null for null, else an object with the members
// that are known:
//
//	type     number of the record type
//	name     its name, as Kafka spells it
//	version  of the value
//	data     the body, as Kafka's JSON
//	unread   number of bytes behind the body, left out if 0
//	error    why there is no data: an unknown type or version, or damage
//	base64   all bytes of the key or value, where there is no data

// AppendKeyJSON appends the JSON of a key; nil is null. What
// cannot be decoded is in it as bytes, and the error says why: one that matches
// schema.ErrUnknownType or ErrUnknownVersion is no damage, a newer Kafka wrote it.
func (t Topic) AppendKeyJSON(dst, key []byte) ([]byte, error) {
	if key == nil {
		return append(dst, "null"...), nil
	}
	if t == ClusterMetadata || t == RemoteLogMetadata { // their keys have no meaning
		return append(javafmt.AppendBase64(append(dst, `{"base64":`...), key), '}'), nil
	}
	rec, err := t.decodeKey(key)
	o := object{dst: append(dst, '{')}
	if len(key) >= 2 {
		o.typ(rec.Type, t.name(rec.Type))
	}
	if err != nil {
		return o.failed(err, key), err
	}
	o.member("data")
	o.dst = schema.AppendJSON(o.dst, rec.Key, 0)
	return o.end(rec.KeyUnread), nil
}

// AppendValueJSON appends the JSON of a value, which the key tells how to read;
// nil is null, the tombstone of a coordinator's topic. It fails
// as AppendKeyJSON does.
func (t Topic) AppendValueJSON(dst, key, value []byte) ([]byte, error) {
	if value == nil {
		return append(dst, "null"...), nil
	}
	o := object{dst: append(dst, '{')}
	switch t {
	case ClusterMetadata:
		rec, err := kraftrec.Decode(value)
		return o.framed(rec, kraftrec.Name(rec.Type), err, value), known(rec, err)
	case RemoteLogMetadata:
		rec, err := remoterec.Decode(value)
		return o.framed(rec, remoterec.Name(rec.Type), err, value), known(rec, err)
	}
	if len(key) < 2 {
		return o.failed(errNoType, value), errNoType
	}
	rec := schema.CoordinatorRecord{Type: int16(binary.BigEndian.Uint16(key))}
	err := t.decodeValue(&rec, value)
	if len(value) >= 2 && t.name(rec.Type) != "" {
		o.member("version")
		o.dst = strconv.AppendInt(o.dst, int64(int16(binary.BigEndian.Uint16(value))), 10)
	}
	if err != nil {
		return o.failed(err, value), err
	}
	o.member("data")
	o.dst = appendValue(o.dst, rec.Value, rec.Version)
	return o.end(rec.ValueUnread), nil
}

// AppendControlJSON appends one object for key and value of a control record. It
// fails as AppendKeyJSON does; base64 is of the value. A body that only decodes as the
// version that it says it has is shown as that.
func AppendControlJSON(dst, key, value []byte) ([]byte, error) {
	o := object{dst: append(dst, '{')}
	rec, err := control.Decode(key, value)
	if err != nil {
		if own, ownErr := control.DecodeOwnVersion(key, value); ownErr == nil {
			rec, err = own, nil
		}
	}
	if !errors.Is(err, control.ErrKey) {
		name := ""
		if rec.Message != nil {
			name = rec.Type.String()
		}
		o.typ(int16(rec.Type), name)
	}
	switch {
	case err != nil:
		return o.failed(err, value), err
	case rec.Message == nil:
		return o.failed(schema.ErrUnknownType, value), schema.ErrUnknownType
	}
	o.member("data")
	o.dst = schema.AppendJSON(o.dst, rec.Message, rec.Version())
	return o.end(rec.Unread), nil
}

var errNoType = errors.New("key has no record type")

// known returns nil if a record was decoded, also if bytes are left behind it.
func known(rec schema.FramedRecord, err error) error {
	if rec.Message != nil {
		return nil
	}
	return err
}

func (t Topic) decodeKey(key []byte) (schema.CoordinatorRecord, error) {
	switch t {
	case ConsumerOffsets:
		return grouprec.DecodeKey(key)
	case TransactionState:
		return txnrec.DecodeKey(key)
	}
	return sharerec.DecodeKey(key)
}

func (t Topic) decodeValue(rec *schema.CoordinatorRecord, value []byte) error {
	switch t {
	case ConsumerOffsets:
		return grouprec.DecodeValue(rec, value)
	case TransactionState:
		return txnrec.DecodeValue(rec, value)
	}
	return sharerec.DecodeValue(rec, value)
}

func (t Topic) name(recordType int16) string {
	switch t {
	case ConsumerOffsets:
		return grouprec.Name(recordType)
	case TransactionState:
		return txnrec.Name(recordType)
	}
	return sharerec.Name(recordType)
}

// An object is a JSON object under construction, open brace written.
type object struct {
	dst     []byte
	members int
}

func (o *object) member(name string) {
	if o.members > 0 {
		o.dst = append(o.dst, ',')
	}
	o.members++
	o.dst = append(append(append(o.dst, '"'), name...), `":`...)
}

func (o *object) typ(recordType int16, name string) {
	o.member("type")
	o.dst = strconv.AppendInt(o.dst, int64(recordType), 10)
	if name != "" {
		o.member("name")
		o.dst = javafmt.AppendQuoted(o.dst, name)
	}
}

func (o *object) framed(rec schema.FramedRecord, name string, err error, value []byte) []byte {
	e, _ := errors.AsType[*schema.RecordError](err)
	if e == nil || e.Type >= 0 {
		o.typ(rec.Type, name)
	}
	if e == nil || e.Version >= 0 {
		o.member("version")
		o.dst = strconv.AppendInt(o.dst, int64(rec.Version), 10)
	}
	if rec.Message == nil {
		return o.failed(err, value)
	}
	o.member("data")
	o.dst = schema.AppendJSON(o.dst, rec.Message, rec.Version)
	return o.end(rec.Unread)
}

func (o *object) failed(err error, p []byte) []byte {
	o.member("error")
	o.dst = javafmt.AppendQuoted(o.dst, reason(err))
	if p != nil {
		o.member("base64")
		o.dst = javafmt.AppendBase64(o.dst, p)
	}
	return append(o.dst, '}')
}

// reason leaves out what the other members say.
func reason(err error) string {
	if e, ok := errors.AsType[*schema.RecordError](err); ok {
		return e.Err.Error()
	}
	return err.Error()
}

func (o *object) end(unread int) []byte {
	if unread > 0 {
		o.member("unread")
		o.dst = strconv.AppendInt(o.dst, int64(unread), 10)
	}
	return append(o.dst, '}')
}
