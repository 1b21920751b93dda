// Package txnrec has the records of __transaction_state.
//
//	key    int16 type 0, transactionalId:string
//	value  int16 version 0 or 1, the body of [TransactionLogValue]; null is a tombstone
//
// Kafka skips other types; another value version ends the loading of the partition.
//
// Source: Kafka 4.4.0, TransactionLog.java and TransactionLogValue.json.
package txnrec

import (
	"strconv"

	"kf/internal/format/schema"
)

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

// Name returns the name of a record type as Kafka spells it: TRANSACTION_LOG. It is
// empty for an unknown one.
func Name(recordType int16) string { return topic.Name(recordType) }

// Types returns the numbers of all record types, rising.
func Types() []int16 { return topic.Types() }

// New returns a new key and value of a type with zero fields, nil for an unknown
// type.
func New(recordType int16) (key, value any) { return topic.New(recordType) }

var topic = schema.NewCoordinator(map[int16]schema.CoordinatorType{
	0: schema.NewCoordinatorType[TransactionLogKey, TransactionLogValue]("TRANSACTION_LOG"),
})

// A Status is the state of a transactional id.
type Status int8

// The states that are written.
const (
	Empty Status = iota
	Ongoing
	PrepareCommit
	PrepareAbort
	CompleteCommit
	CompleteAbort
	Dead
	PrepareEpochFence
)

var statusNames = [...]string{
	"Empty", "Ongoing", "PrepareCommit", "PrepareAbort",
	"CompleteCommit", "CompleteAbort", "Dead", "PrepareEpochFence",
}

// String returns Kafka's name of the state, its number if it has none.
func (s Status) String() string {
	if s < 0 || int(s) >= len(statusNames) {
		return strconv.Itoa(int(s))
	}
	return statusNames[s]
}
