// Package kraftrec has the records of __cluster_metadata-0 and of its snapshots.
// The value of a data record is framed:
//
//	frame version  uvarint  1
//	type           uvarint  table below
//	version        uvarint  of the record; not compared with the schema by readers
//	body                    flexible in every version
//
// Keys are null and ignored; nothing may follow the body. Types: 0 RegisterBroker,
// 1 UnregisterBroker, 2 Topic, 3 Partition, 4 Config, 5 PartitionChange, 7
// FenceBroker, 8 UnfenceBroker, 9 RemoveTopic, 10 DelegationToken, 11
// UserScramCredential, 12 FeatureLevel, 14 ClientQuota, 15 ProducerIds, 17
// BrokerRegistrationChange, 18 AccessControlEntry, 19 RemoveAccessControlEntry, 20
// NoOp, 21 ZkMigrationState, 22 RemoveUserScramCredential, 23 BeginTransaction, 24
// EndTransaction, 25 AbortTransaction, 26 RemoveDelegationToken, 27
// RegisterController, 28 ClearElr, 29 UnregisterController; 6, 13 and 16 are
// unused. The bodies are the structs of this package, see package schema for how
// their tags are read. Kafka refuses an unknown type.
//
// Source: Kafka 4.4.0, AbstractApiMessageSerde.java, MetadataRecordSerde.java and
// the schemas in metadata/src/main/resources/common/metadata.
package kraftrec

import "kf/internal/format/schema"

// A Record is a decoded record: Type, Version and Message, a pointer to one of
// the structs of this package.
type Record = schema.FramedRecord

// Decode decodes the value of a data record. The error is a
// [*schema.RecordError]; with [schema.ErrUnread] the record is whole.
func Decode(value []byte) (Record, error) { return topic.Decode(value) }

// Append appends the value of the record that message, a pointer to one of the
// structs of this package, is in a version.
func Append(dst []byte, message any, version int16) ([]byte, error) {
	return topic.Append(dst, message, version)
}

// Name returns the name of a record type as Kafka prints it: TOPIC_RECORD. It is
// empty for an unknown one.
func Name(recordType int16) string { return topic.Name(recordType) }

// Types returns the numbers of all record types, rising.
func Types() []int16 { return topic.Types() }

// New returns a new message of a type with zero fields, nil for an unknown type.
func New(recordType int16) any { return topic.New(recordType) }

// TypeOf returns the type of message, a pointer to one of the structs.
func TypeOf(message any) (int16, bool) { return topic.TypeOf(message) }

var topic = schema.NewFramed(map[int16]schema.FramedType{
	0:  schema.NewFramedType[RegisterBrokerRecord]("REGISTER_BROKER_RECORD"),
	1:  schema.NewFramedType[UnregisterBrokerRecord]("UNREGISTER_BROKER_RECORD"),
	2:  schema.NewFramedType[TopicRecord]("TOPIC_RECORD"),
	3:  schema.NewFramedType[PartitionRecord]("PARTITION_RECORD"),
	4:  schema.NewFramedType[ConfigRecord]("CONFIG_RECORD"),
	5:  schema.NewFramedType[PartitionChangeRecord]("PARTITION_CHANGE_RECORD"),
	7:  schema.NewFramedType[FenceBrokerRecord]("FENCE_BROKER_RECORD"),
	8:  schema.NewFramedType[UnfenceBrokerRecord]("UNFENCE_BROKER_RECORD"),
	9:  schema.NewFramedType[RemoveTopicRecord]("REMOVE_TOPIC_RECORD"),
	10: schema.NewFramedType[DelegationTokenRecord]("DELEGATION_TOKEN_RECORD"),
	11: schema.NewFramedType[UserScramCredentialRecord]("USER_SCRAM_CREDENTIAL_RECORD"),
	12: schema.NewFramedType[FeatureLevelRecord]("FEATURE_LEVEL_RECORD"),
	14: schema.NewFramedType[ClientQuotaRecord]("CLIENT_QUOTA_RECORD"),
	15: schema.NewFramedType[ProducerIDsRecord]("PRODUCER_IDS_RECORD"),
	17: schema.NewFramedType[BrokerRegistrationChangeRecord]("BROKER_REGISTRATION_CHANGE_RECORD"),
	18: schema.NewFramedType[AccessControlEntryRecord]("ACCESS_CONTROL_ENTRY_RECORD"),
	19: schema.NewFramedType[RemoveAccessControlEntryRecord]("REMOVE_ACCESS_CONTROL_ENTRY_RECORD"),
	20: schema.NewFramedType[NoOpRecord]("NO_OP_RECORD"),
	21: schema.NewFramedType[ZKMigrationStateRecord]("ZK_MIGRATION_STATE_RECORD"),
	22: schema.NewFramedType[RemoveUserScramCredentialRecord]("REMOVE_USER_SCRAM_CREDENTIAL_RECORD"),
	23: schema.NewFramedType[BeginTransactionRecord]("BEGIN_TRANSACTION_RECORD"),
	24: schema.NewFramedType[EndTransactionRecord]("END_TRANSACTION_RECORD"),
	25: schema.NewFramedType[AbortTransactionRecord]("ABORT_TRANSACTION_RECORD"),
	26: schema.NewFramedType[RemoveDelegationTokenRecord]("REMOVE_DELEGATION_TOKEN_RECORD"),
	27: schema.NewFramedType[RegisterControllerRecord]("REGISTER_CONTROLLER_RECORD"),
	28: schema.NewFramedType[ClearELRRecord]("CLEAR_ELR_RECORD"),
	29: schema.NewFramedType[UnregisterControllerRecord]("UNREGISTER_CONTROLLER_RECORD"),
})
