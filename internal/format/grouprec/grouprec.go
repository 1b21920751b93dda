// Package grouprec has the records of __consumer_offsets.
//
//	key    int16 type, body, never flexible
//	value  int16 version, body; null is a tombstone
//
//	 0, 1              committed offset; 0 before 0.9
//	 2                 classic group with its members
//	 3 to 8, 16        consumer group: group, partitions (4.0 only), member, target
//	                   assignment, target of a member, assignment of a member, pattern
//	10 to 15           share group: member, group, target assignment, target of a
//	                   member, assignment of a member, initialised partitions
//	17, 19 to 23       streams group: group, member, target assignment, target of a
//	                   member, assignment of a member, topology
//
// 9 was the partitions of a share group in 4.0, 18 was never released. Kafka logs
// and skips an unknown type, and ignores bytes behind a body. Commits in a
// transaction count after the COMMIT marker of their producer id in the same
// partition. 4.0 wrote types 11 and 15 in another layout.
//
// The bodies are the structs of this package, see package schema for how their
// tags are read.
//
// Source: Kafka 4.4.0, GroupCoordinatorRecordSerde.java and the schemas in
// group-coordinator/src/main/resources/common/message.
package grouprec

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

// Name returns the name of a record type as Kafka spells it: OFFSET_COMMIT. It is
// empty for an unknown one.
func Name(recordType int16) string { return topic.Name(recordType) }

// Types returns the numbers of all record types, rising.
func Types() []int16 { return topic.Types() }

// New returns a new key and value of a type with zero fields, nil for an unknown
// type.
func New(recordType int16) (key, value any) { return topic.New(recordType) }

var topic = schema.NewCoordinator(map[int16]schema.CoordinatorType{
	0:  schema.NewCoordinatorType[LegacyOffsetCommitKey, LegacyOffsetCommitValue]("LEGACY_OFFSET_COMMIT"),
	1:  schema.NewCoordinatorType[OffsetCommitKey, OffsetCommitValue]("OFFSET_COMMIT"),
	2:  schema.NewCoordinatorType[GroupMetadataKey, GroupMetadataValue]("GROUP_METADATA"),
	3:  schema.NewCoordinatorType[ConsumerGroupMetadataKey, ConsumerGroupMetadataValue]("CONSUMER_GROUP_METADATA"),
	4:  schema.NewCoordinatorType[ConsumerGroupPartitionMetadataKey, ConsumerGroupPartitionMetadataValue]("CONSUMER_GROUP_PARTITION_METADATA"),
	5:  schema.NewCoordinatorType[ConsumerGroupMemberMetadataKey, ConsumerGroupMemberMetadataValue]("CONSUMER_GROUP_MEMBER_METADATA"),
	6:  schema.NewCoordinatorType[ConsumerGroupTargetAssignmentMetadataKey, ConsumerGroupTargetAssignmentMetadataValue]("CONSUMER_GROUP_TARGET_ASSIGNMENT_METADATA"),
	7:  schema.NewCoordinatorType[ConsumerGroupTargetAssignmentMemberKey, ConsumerGroupTargetAssignmentMemberValue]("CONSUMER_GROUP_TARGET_ASSIGNMENT_MEMBER"),
	8:  schema.NewCoordinatorType[ConsumerGroupCurrentMemberAssignmentKey, ConsumerGroupCurrentMemberAssignmentValue]("CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT"),
	10: schema.NewCoordinatorType[ShareGroupMemberMetadataKey, ShareGroupMemberMetadataValue]("SHARE_GROUP_MEMBER_METADATA"),
	11: schema.NewCoordinatorType[ShareGroupMetadataKey, ShareGroupMetadataValue]("SHARE_GROUP_METADATA"),
	12: schema.NewCoordinatorType[ShareGroupTargetAssignmentMetadataKey, ShareGroupTargetAssignmentMetadataValue]("SHARE_GROUP_TARGET_ASSIGNMENT_METADATA"),
	13: schema.NewCoordinatorType[ShareGroupTargetAssignmentMemberKey, ShareGroupTargetAssignmentMemberValue]("SHARE_GROUP_TARGET_ASSIGNMENT_MEMBER"),
	14: schema.NewCoordinatorType[ShareGroupCurrentMemberAssignmentKey, ShareGroupCurrentMemberAssignmentValue]("SHARE_GROUP_CURRENT_MEMBER_ASSIGNMENT"),
	15: schema.NewCoordinatorType[ShareGroupStatePartitionMetadataKey, ShareGroupStatePartitionMetadataValue]("SHARE_GROUP_STATE_PARTITION_METADATA"),
	16: schema.NewCoordinatorType[ConsumerGroupRegularExpressionKey, ConsumerGroupRegularExpressionValue]("CONSUMER_GROUP_REGULAR_EXPRESSION"),
	17: schema.NewCoordinatorType[StreamsGroupMetadataKey, StreamsGroupMetadataValue]("STREAMS_GROUP_METADATA"),
	19: schema.NewCoordinatorType[StreamsGroupMemberMetadataKey, StreamsGroupMemberMetadataValue]("STREAMS_GROUP_MEMBER_METADATA"),
	20: schema.NewCoordinatorType[StreamsGroupTargetAssignmentMetadataKey, StreamsGroupTargetAssignmentMetadataValue]("STREAMS_GROUP_TARGET_ASSIGNMENT_METADATA"),
	21: schema.NewCoordinatorType[StreamsGroupTargetAssignmentMemberKey, StreamsGroupTargetAssignmentMemberValue]("STREAMS_GROUP_TARGET_ASSIGNMENT_MEMBER"),
	22: schema.NewCoordinatorType[StreamsGroupCurrentMemberAssignmentKey, StreamsGroupCurrentMemberAssignmentValue]("STREAMS_GROUP_CURRENT_MEMBER_ASSIGNMENT"),
	23: schema.NewCoordinatorType[StreamsGroupTopologyKey, StreamsGroupTopologyValue]("STREAMS_GROUP_TOPOLOGY"),
})
