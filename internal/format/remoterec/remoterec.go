// Package remoterec has the records of __remote_log_metadata, which say what is in
// tiered storage. Keys are null; the value is framed as in __cluster_metadata:
//
//	frame version  uvarint  1
//	type           uvarint  0 segment, 1 update, 2 partition deletion, 3 segment snapshot
//	version        uvarint  0
//	body                    flexible; the structs of this package
//
// Every struct, the ids in the records too, ends with its own tagged fields.
//
// Source: Kafka 4.4.0, RemoteLogMetadataSerde.java and the schemas
// storage/src/main/resources/message/Remote*.json.
package remoterec

import (
	"strconv"

	"kf/internal/format/schema"
)

// A Record is a decoded record: Type, Version and Message, a pointer to one of
// the structs of this package.
type Record = schema.FramedRecord

// Decode decodes the value of a record. The error is a [*schema.RecordError]; with
// [schema.ErrUnread] the record is whole.
func Decode(value []byte) (Record, error) { return topic.Decode(value) }

// Append appends the value of the record that message, a pointer to one of the
// structs of this package, is in a version.
func Append(dst []byte, message any, version int16) ([]byte, error) {
	return topic.Append(dst, message, version)
}

// Name returns the name of a record type as Kafka spells it:
// REMOTE_LOG_SEGMENT_METADATA_RECORD. It is empty for an unknown one.
func Name(recordType int16) string { return topic.Name(recordType) }

// Types returns the numbers of all record types, rising.
func Types() []int16 { return topic.Types() }

// New returns a new message of a type with zero fields, nil for an unknown type.
func New(recordType int16) any { return topic.New(recordType) }

var topic = schema.NewFramed(map[int16]schema.FramedType{
	0: schema.NewFramedType[RemoteLogSegmentMetadataRecord]("REMOTE_LOG_SEGMENT_METADATA_RECORD"),
	1: schema.NewFramedType[RemoteLogSegmentMetadataUpdateRecord]("REMOTE_LOG_SEGMENT_METADATA_UPDATE_RECORD"),
	2: schema.NewFramedType[RemotePartitionDeleteMetadataRecord]("REMOTE_PARTITION_DELETE_METADATA_RECORD"),
	3: schema.NewFramedType[RemoteLogSegmentMetadataSnapshotRecord]("REMOTE_LOG_SEGMENT_METADATA_SNAPSHOT_RECORD"),
})

// A SegmentState is the state of a segment in tiered storage.
type SegmentState int8

// The states of a segment, in the order of its life.
const (
	CopySegmentStarted SegmentState = iota
	CopySegmentFinished
	DeleteSegmentStarted
	DeleteSegmentFinished
)

var segmentStates = [...]string{"COPY_SEGMENT_STARTED", "COPY_SEGMENT_FINISHED", "DELETE_SEGMENT_STARTED", "DELETE_SEGMENT_FINISHED"}

// Known reports whether Kafka knows the state.
func (s SegmentState) Known() bool { return s >= 0 && int(s) < len(segmentStates) }

// String returns Kafka's name of the state, its number if it has none.
func (s SegmentState) String() string {
	if !s.Known() {
		return strconv.Itoa(int(s))
	}
	return segmentStates[s]
}

// A DeleteState is how far the deletion of a partition is.
type DeleteState int8

// The states of a deletion, in their order.
const (
	DeletePartitionMarked DeleteState = iota
	DeletePartitionStarted
	DeletePartitionFinished
)

var deleteStates = [...]string{"DELETE_PARTITION_MARKED", "DELETE_PARTITION_STARTED", "DELETE_PARTITION_FINISHED"}

// Known reports whether Kafka knows the state.
func (s DeleteState) Known() bool { return s >= 0 && int(s) < len(deleteStates) }

// String returns Kafka's name of the state, its number if it has none.
func (s DeleteState) String() string {
	if !s.Known() {
		return strconv.Itoa(int(s))
	}
	return deleteStates[s]
}
