// Package sharerec has the records of __share_group_state.
//
//	key    int16 type, groupId:string, topicId:uuid, partition:int32
//	value  int16 version 0, body, flexible; null is a tombstone
//
// Type 0 is a snapshot, 1 an update, which replaces the state of the offsets that
// it names in the snapshot of the same epoch. 4.0 (early access) wrote both in
// another layout, and version 1 before updates: such values are an unknown version
// or do not decode.
//
// Source: Kafka 4.4.0, ShareCoordinatorRecordSerde.java and the schemas in
// share-coordinator/src/main/resources/common/message.
package sharerec

import "kf/internal/format/schema"

// A Record is a decoded record: Type, Key and Value, pointers to structs of this
// package, and Version of the value. A nil Value is a tombstone.
type Record = schema.CoordinatorRecord

// Decode decodes a record in the order in which Kafka does; a nil value is a
// tombstone. The error is a [*schema.RecordError]; skip the record if it matches
// [schema.ErrUnknownType]. If the value is at fault the record has its key.
func Decode(key, value []byte) (Record, error) { return topic.Decode(key, value) }

// DecodeKey decodes the key alone.
func DecodeKey(key []byte) (Record, error) { return topic.DecodeKey(key) }

// DecodeValue decodes value, which is not nil, into rec, whose Type is set.
func DecodeValue(rec *Record, value []byte) error { return topic.DecodeValue(rec, value) }

// AppendKey appends the key of a record, a pointer to one of the key structs.
func AppendKey(dst []byte, key any) ([]byte, error) { return topic.AppendKey(dst, key) }

// AppendValue appends the value of a record in a version.
func AppendValue(dst []byte, value any, version int16) ([]byte, error) {
	return topic.AppendValue(dst, value, version)
}

// Name returns the name of a record type as Kafka spells it: SHARE_SNAPSHOT. It is
// empty for an unknown one.
func Name(recordType int16) string { return topic.Name(recordType) }

// Types returns the numbers of all record types, rising.
func Types() []int16 { return topic.Types() }

// New returns a new key and value of a type with zero fields, nil for an unknown
// type.
func New(recordType int16) (key, value any) { return topic.New(recordType) }

var topic = schema.NewCoordinator(map[int16]schema.CoordinatorType{
	0: schema.NewCoordinatorType[ShareSnapshotKey, ShareSnapshotValue]("SHARE_SNAPSHOT"),
	1: schema.NewCoordinatorType[ShareUpdateKey, ShareUpdateValue]("SHARE_UPDATE"),
})
