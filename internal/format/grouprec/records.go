package grouprec

import (
	"kf/internal/format/schema"
	"kf/internal/wire"
)

// A LegacyOffsetCommitKey is the key of a [LegacyOffsetCommitValue].
type LegacyOffsetCommitKey struct {
	_         struct{} `kf:"v0"`
	Group     string   `kf:"group"`
	Topic     string   `kf:"topic"`
	Partition int32    `kf:"partition"`
}

// A LegacyOffsetCommitValue is a committed offset as Kafka wrote it before 0.9.
type LegacyOffsetCommitValue struct {
	_               struct{} `kf:"v0"`
	Offset          int64    `kf:"offset"`
	Metadata        string   `kf:"metadata"`
	CommitTimestamp int64    `kf:"commitTimestamp"` // ms since the Unix epoch
}

// A OffsetCommitKey is the key of a [OffsetCommitValue].
type OffsetCommitKey struct {
	_         struct{} `kf:"v0"`
	Group     string   `kf:"group"`
	Topic     string   `kf:"topic"`
	Partition int32    `kf:"partition"`
}

// An OffsetCommitValue is a committed offset. 4.2 and later write version 4 with the
// topic id, 4.1 version 4 without, earlier ones 3; version 1 only if the commit has
// an expiry of its own.
type OffsetCommitValue struct {
	_               struct{}  `kf:"v0-4,flex=4"`
	Offset          int64     `kf:"offset"`
	LeaderEpoch     int32     `kf:"leaderEpoch,v3+,default=-1,ignorable"` // -1 if unknown
	Metadata        string    `kf:"metadata"`
	CommitTimestamp int64     `kf:"commitTimestamp"`                         // ms since the Unix epoch
	ExpireTimestamp int64     `kf:"expireTimestamp,v1,default=-1,ignorable"` // ms since the Unix epoch, -1 for the retention of the broker
	TopicID         wire.UUID `kf:"topicId,v4+,tag=0,ignorable"`             // zero if unknown
	Unknown         schema.Tags
}

// A GroupMetadataKey is the key of a [GroupMetadataValue].
type GroupMetadataKey struct {
	_     struct{} `kf:"v0"`
	Group string   `kf:"group"`
}

// A GroupMetadataValue is the state of a classic group; 4.x writes version 3. An
// empty group has no members, no protocol and no leader.
type GroupMetadataValue struct {
	_                     struct{}      `kf:"v0-4,flex=4"`
	ProtocolType          string        `kf:"protocolType"`
	Generation            int32         `kf:"generation"`
	Protocol              *string       `kf:"protocol,nullable"`                              // the assignor, nil in an empty group
	Leader                *string       `kf:"leader,nullable"`                                // member id, nil in an empty group
	CurrentStateTimestamp int64         `kf:"currentStateTimestamp,v2+,default=-1,ignorable"` // ms since the Unix epoch, -1 if unknown
	Members               []GroupMember `kf:"members"`
	Unknown               schema.Tags
}

// A GroupMember is a member of a classic group. Where the protocol type is
// "consumer" Subscription and Assignment are a [ConsumerProtocolSubscription] and a
// [ConsumerProtocolAssignment], see [DecodeSubscription].
type GroupMember struct {
	MemberID         string  `kf:"memberId"`
	GroupInstanceID  *string `kf:"groupInstanceId,v3+,nullable,default=null,ignorable"` // nil unless static
	ClientID         string  `kf:"clientId"`
	ClientHost       string  `kf:"clientHost"`
	RebalanceTimeout int32   `kf:"rebalanceTimeout,v1+,default=-1,ignorable"` // ms, -1 for the session timeout
	SessionTimeout   int32   `kf:"sessionTimeout"`                            // ms
	Subscription     []byte  `kf:"subscription"`
	Assignment       []byte  `kf:"assignment"`
	Unknown          schema.Tags
}

// A ConsumerGroupMetadataKey is the key of a [ConsumerGroupMetadataValue].
type ConsumerGroupMetadataKey struct {
	_       struct{} `kf:"v0"`
	GroupID string   `kf:"groupId"`
}

// A ConsumerGroupMetadataValue tells that a group is of the consumer protocol
// (KIP-848).
type ConsumerGroupMetadataValue struct {
	_            struct{} `kf:"v0,flex=0"`
	Epoch        int32    `kf:"epoch"`
	MetadataHash int64    `kf:"metadataHash,tag=0"`
	Unknown      schema.Tags
}

// A ConsumerGroupPartitionMetadataKey is the key of a [ConsumerGroupPartitionMetadataValue].
type ConsumerGroupPartitionMetadataKey struct {
	_       struct{} `kf:"v0"`
	GroupID string   `kf:"groupId"`
}

// A ConsumerGroupPartitionMetadataValue is what a consumer group knew of its
// topics; only 4.0 wrote it.
type ConsumerGroupPartitionMetadataValue struct {
	_       struct{}                 `kf:"v0,flex=0"`
	Topics  []PartitionMetadataTopic `kf:"topics"`
	Unknown schema.Tags
}

// A PartitionMetadataTopic is a topic of that.
type PartitionMetadataTopic struct {
	TopicID           wire.UUID           `kf:"topicId"` // zero if unknown
	TopicName         string              `kf:"topicName"`
	NumPartitions     int32               `kf:"numPartitions"`
	PartitionMetadata []PartitionMetadata `kf:"partitionMetadata"`
	Unknown           schema.Tags
}

// A PartitionMetadata is a partition of that.
type PartitionMetadata struct {
	Partition int32    `kf:"partition"`
	Racks     []string `kf:"racks"`
	Unknown   schema.Tags
}

// A ConsumerGroupMemberMetadataKey is the key of a [ConsumerGroupMemberMetadataValue].
type ConsumerGroupMemberMetadataKey struct {
	_        struct{} `kf:"v0"`
	GroupID  string   `kf:"groupId"`
	MemberID string   `kf:"memberId"`
}

// A ConsumerGroupMemberMetadataValue is what a member of a consumer group said of
// itself.
type ConsumerGroupMemberMetadataValue struct {
	_                     struct{}               `kf:"v0,flex=0"`
	InstanceID            *string                `kf:"instanceId,nullable"` // nil unless static
	RackID                *string                `kf:"rackId,nullable"`     // nil if there is none
	ClientID              string                 `kf:"clientId"`
	ClientHost            string                 `kf:"clientHost"`
	SubscribedTopicNames  []string               `kf:"subscribedTopicNames"`
	SubscribedTopicRegex  *string                `kf:"subscribedTopicRegex,nullable"`
	RebalanceTimeoutMs    int32                  `kf:"rebalanceTimeoutMs,default=-1"` // ms, -1 if unknown
	ServerAssignor        *string                `kf:"serverAssignor,nullable"`
	ClassicMemberMetadata *ClassicMemberMetadata `kf:"classicMemberMetadata,tag=0,nullable"` // nil unless the member is classic
	Unknown               schema.Tags
}

// A ClassicMemberMetadata belongs to a classic member of a consumer group.
type ClassicMemberMetadata struct {
	SessionTimeoutMs   int32             `kf:"sessionTimeoutMs"` // ms
	SupportedProtocols []ClassicProtocol `kf:"supportedProtocols"`
	Unknown            schema.Tags
}

// A ClassicProtocol is an assignor that a classic member supports, and its
// subscription for it.
type ClassicProtocol struct {
	Name     string `kf:"name"`
	Metadata []byte `kf:"metadata"`
	Unknown  schema.Tags
}

// A ConsumerGroupTargetAssignmentMetadataKey is the key of a [ConsumerGroupTargetAssignmentMetadataValue].
type ConsumerGroupTargetAssignmentMetadataKey struct {
	_       struct{} `kf:"v0"`
	GroupID string   `kf:"groupId"`
}

// A ConsumerGroupTargetAssignmentMetadataValue is the epoch of the target
// assignment.
type ConsumerGroupTargetAssignmentMetadataValue struct {
	_                   struct{} `kf:"v0,flex=0"`
	AssignmentEpoch     int32    `kf:"assignmentEpoch"`
	AssignmentTimestamp int64    `kf:"assignmentTimestamp,tag=0"` // ms since the Unix epoch, 0 if unknown
	Unknown             schema.Tags
}

// A ConsumerGroupTargetAssignmentMemberKey is the key of a [ConsumerGroupTargetAssignmentMemberValue].
type ConsumerGroupTargetAssignmentMemberKey struct {
	_        struct{} `kf:"v0"`
	GroupID  string   `kf:"groupId"`
	MemberID string   `kf:"memberId"`
}

// A ConsumerGroupTargetAssignmentMemberValue is what a member shall have.
type ConsumerGroupTargetAssignmentMemberValue struct {
	_               struct{}          `kf:"v0,flex=0"`
	TopicPartitions []TopicPartitions `kf:"topicPartitions"`
	Unknown         schema.Tags
}

// A TopicPartitions is partitions of one topic.
type TopicPartitions struct {
	TopicID    wire.UUID `kf:"topicId"` // zero if unknown
	Partitions []int32   `kf:"partitions"`
	Unknown    schema.Tags
}

// A ConsumerGroupCurrentMemberAssignmentKey is the key of a [ConsumerGroupCurrentMemberAssignmentValue].
type ConsumerGroupCurrentMemberAssignmentKey struct {
	_        struct{} `kf:"v0"`
	GroupID  string   `kf:"groupId"`
	MemberID string   `kf:"memberId"`
}

// A ConsumerGroupCurrentMemberAssignmentValue is what a member has.
type ConsumerGroupCurrentMemberAssignmentValue struct {
	_                           struct{}             `kf:"v0,flex=0"`
	MemberEpoch                 int32                `kf:"memberEpoch"`
	PreviousMemberEpoch         int32                `kf:"previousMemberEpoch"`
	State                       int8                 `kf:"state"` // 0 STABLE, 1 UNREVOKED_PARTITIONS, 2 UNRELEASED_PARTITIONS, 127 UNKNOWN
	AssignedPartitions          []AssignedPartitions `kf:"assignedPartitions"`
	PartitionsPendingRevocation []AssignedPartitions `kf:"partitionsPendingRevocation"`
	Unknown                     schema.Tags
}

// An AssignedPartitions is partitions of one topic and the epochs in which they
// were assigned.
type AssignedPartitions struct {
	TopicID          wire.UUID `kf:"topicId"` // zero if unknown
	Partitions       []int32   `kf:"partitions"`
	AssignmentEpochs []int32   `kf:"assignmentEpochs,tag=0,nullable"` // one for each partition, or empty
	Unknown          schema.Tags
}

// A ShareGroupMemberMetadataKey is the key of a [ShareGroupMemberMetadataValue].
type ShareGroupMemberMetadataKey struct {
	_        struct{} `kf:"v0"`
	GroupID  string   `kf:"groupId"`
	MemberID string   `kf:"memberId"`
}

// A ShareGroupMemberMetadataValue is what a member of a share group said of itself.
type ShareGroupMemberMetadataValue struct {
	_                    struct{} `kf:"v0,flex=0"`
	RackID               *string  `kf:"rackId,nullable"` // nil if there is none
	ClientID             string   `kf:"clientId"`
	ClientHost           string   `kf:"clientHost"`
	SubscribedTopicNames []string `kf:"subscribedTopicNames"`
	Unknown              schema.Tags
}

// A ShareGroupMetadataKey is the key of a [ShareGroupMetadataValue].
type ShareGroupMetadataKey struct {
	_       struct{} `kf:"v0"`
	GroupID string   `kf:"groupId"`
}

// A ShareGroupMetadataValue tells that a group is a share group. 4.0 wrote it
// without MetadataHash.
type ShareGroupMetadataValue struct {
	_            struct{} `kf:"v0,flex=0"`
	Epoch        int32    `kf:"epoch"`
	MetadataHash int64    `kf:"metadataHash"`
	Unknown      schema.Tags
}

// A ShareGroupTargetAssignmentMetadataKey is the key of a [ShareGroupTargetAssignmentMetadataValue].
type ShareGroupTargetAssignmentMetadataKey struct {
	_       struct{} `kf:"v0"`
	GroupID string   `kf:"groupId"`
}

// A ShareGroupTargetAssignmentMetadataValue is the epoch of the target assignment.
type ShareGroupTargetAssignmentMetadataValue struct {
	_                   struct{} `kf:"v0,flex=0"`
	AssignmentEpoch     int32    `kf:"assignmentEpoch"`
	AssignmentTimestamp int64    `kf:"assignmentTimestamp,tag=0"` // ms since the Unix epoch, 0 if unknown
	Unknown             schema.Tags
}

// A ShareGroupTargetAssignmentMemberKey is the key of a [ShareGroupTargetAssignmentMemberValue].
type ShareGroupTargetAssignmentMemberKey struct {
	_        struct{} `kf:"v0"`
	GroupID  string   `kf:"groupId"`
	MemberID string   `kf:"memberId"`
}

// A ShareGroupTargetAssignmentMemberValue is what a member shall have.
type ShareGroupTargetAssignmentMemberValue struct {
	_               struct{}          `kf:"v0,flex=0"`
	TopicPartitions []TopicPartitions `kf:"topicPartitions"`
	Unknown         schema.Tags
}

// A ShareGroupCurrentMemberAssignmentKey is the key of a [ShareGroupCurrentMemberAssignmentValue].
type ShareGroupCurrentMemberAssignmentKey struct {
	_        struct{} `kf:"v0"`
	GroupID  string   `kf:"groupId"`
	MemberID string   `kf:"memberId"`
}

// A ShareGroupCurrentMemberAssignmentValue is what a member has.
type ShareGroupCurrentMemberAssignmentValue struct {
	_                   struct{}          `kf:"v0,flex=0"`
	MemberEpoch         int32             `kf:"memberEpoch"`
	PreviousMemberEpoch int32             `kf:"previousMemberEpoch"`
	State               int8              `kf:"state"` // 0 STABLE, 1 UNREVOKED_PARTITIONS, 2 UNRELEASED_PARTITIONS, 127 UNKNOWN
	AssignedPartitions  []TopicPartitions `kf:"assignedPartitions"`
	Unknown             schema.Tags
}

// A ShareGroupStatePartitionMetadataKey is the key of a [ShareGroupStatePartitionMetadataValue].
type ShareGroupStatePartitionMetadataKey struct {
	_       struct{} `kf:"v0"`
	GroupID string   `kf:"groupId"`
}

// A ShareGroupStatePartitionMetadataValue says for which partitions the share
// coordinator keeps state. 4.0 wrote it without InitializingTopics.
type ShareGroupStatePartitionMetadataValue struct {
	_                  struct{}              `kf:"v0,flex=0"`
	InitializingTopics []TopicPartitionsInfo `kf:"initializingTopics"`
	InitializedTopics  []TopicPartitionsInfo `kf:"initializedTopics"`
	DeletingTopics     []TopicInfo           `kf:"deletingTopics"`
	Unknown            schema.Tags
}

// A TopicPartitionsInfo is partitions of one topic, with its name.
type TopicPartitionsInfo struct {
	TopicID    wire.UUID `kf:"topicId"` // zero if unknown
	TopicName  string    `kf:"topicName"`
	Partitions []int32   `kf:"partitions"`
	Unknown    schema.Tags
}

// A TopicInfo is a topic.
type TopicInfo struct {
	TopicID   wire.UUID `kf:"topicId"` // zero if unknown
	TopicName string    `kf:"topicName"`
	Unknown   schema.Tags
}

// A ConsumerGroupRegularExpressionKey is the key of a [ConsumerGroupRegularExpressionValue].
type ConsumerGroupRegularExpressionKey struct {
	_                 struct{} `kf:"v0"`
	GroupID           string   `kf:"groupId"`
	RegularExpression string   `kf:"regularExpression"`
}

// A ConsumerGroupRegularExpressionValue is what a subscribed pattern matched.
type ConsumerGroupRegularExpressionValue struct {
	_         struct{} `kf:"v0,flex=0"`
	Topics    []string `kf:"topics"`
	Version   int64    `kf:"version"`
	Timestamp int64    `kf:"timestamp"` // ms since the Unix epoch
	Unknown   schema.Tags
}

// A StreamsGroupMetadataKey is the key of a [StreamsGroupMetadataValue].
type StreamsGroupMetadataKey struct {
	_       struct{} `kf:"v0"`
	GroupID string   `kf:"groupId"`
}

// A StreamsGroupMetadataValue tells that a group is a streams group.
type StreamsGroupMetadataValue struct {
	_                              struct{}   `kf:"v0,flex=0"`
	Epoch                          int32      `kf:"epoch"`
	MetadataHash                   int64      `kf:"metadataHash"`
	ValidatedTopologyEpoch         int32      `kf:"validatedTopologyEpoch,tag=0,default=-1"`
	LastAssignmentConfigs          []KeyValue `kf:"lastAssignmentConfigs,tag=1,nullable"`
	StoredDescriptionTopologyEpoch int32      `kf:"storedDescriptionTopologyEpoch,tag=2,default=-1"`
	FailedDescriptionTopologyEpoch int32      `kf:"failedDescriptionTopologyEpoch,tag=3,default=-1"`
	Unknown                        schema.Tags
}

// A KeyValue is a pair.
type KeyValue struct {
	Key     string `kf:"key"`
	Value   string `kf:"value"`
	Unknown schema.Tags
}

// A StreamsGroupMemberMetadataKey is the key of a [StreamsGroupMemberMetadataValue].
type StreamsGroupMemberMetadataKey struct {
	_        struct{} `kf:"v0"`
	GroupID  string   `kf:"groupId"`
	MemberID string   `kf:"memberId"`
}

// A StreamsGroupMemberMetadataValue is what a member of a streams group said of
// itself.
type StreamsGroupMemberMetadataValue struct {
	_                  struct{}   `kf:"v0,flex=0"`
	InstanceID         *string    `kf:"instanceId,nullable"` // nil unless static
	RackID             *string    `kf:"rackId,nullable"`     // nil if there is none
	ClientID           string     `kf:"clientId"`
	ClientHost         string     `kf:"clientHost"`
	RebalanceTimeoutMs int32      `kf:"rebalanceTimeoutMs,default=-1"` // ms, -1 if unknown
	TopologyEpoch      int32      `kf:"topologyEpoch"`
	ProcessID          string     `kf:"processId"`
	UserEndpoint       *Endpoint  `kf:"userEndpoint,nullable,default=null"`
	ClientTags         []KeyValue `kf:"clientTags"`
	Unknown            schema.Tags
}

// An Endpoint is where a streams process answers queries.
type Endpoint struct {
	Host    string `kf:"host"`
	Port    uint16 `kf:"port"`
	Unknown schema.Tags
}

// A StreamsGroupTargetAssignmentMetadataKey is the key of a [StreamsGroupTargetAssignmentMetadataValue].
type StreamsGroupTargetAssignmentMetadataKey struct {
	_       struct{} `kf:"v0"`
	GroupID string   `kf:"groupId"`
}

// A StreamsGroupTargetAssignmentMetadataValue is the epoch of the target assignment.
type StreamsGroupTargetAssignmentMetadataValue struct {
	_                   struct{} `kf:"v0,flex=0"`
	AssignmentEpoch     int32    `kf:"assignmentEpoch"`
	AssignmentTimestamp int64    `kf:"assignmentTimestamp,tag=0"` // ms since the Unix epoch, 0 if unknown
	Unknown             schema.Tags
}

// A StreamsGroupTargetAssignmentMemberKey is the key of a [StreamsGroupTargetAssignmentMemberValue].
type StreamsGroupTargetAssignmentMemberKey struct {
	_        struct{} `kf:"v0"`
	GroupID  string   `kf:"groupId"`
	MemberID string   `kf:"memberId"`
}

// A StreamsGroupTargetAssignmentMemberValue is what a member shall have.
type StreamsGroupTargetAssignmentMemberValue struct {
	_            struct{}  `kf:"v0,flex=0"`
	ActiveTasks  []TaskIDs `kf:"activeTasks"`
	StandbyTasks []TaskIDs `kf:"standbyTasks"`
	WarmupTasks  []TaskIDs `kf:"warmupTasks"`
	Unknown      schema.Tags
}

// A TaskIDs is tasks of one subtopology.
type TaskIDs struct {
	SubtopologyID string  `kf:"subtopologyId"`
	Partitions    []int32 `kf:"partitions"`
	Unknown       schema.Tags
}

// A StreamsGroupCurrentMemberAssignmentKey is the key of a [StreamsGroupCurrentMemberAssignmentValue].
type StreamsGroupCurrentMemberAssignmentKey struct {
	_        struct{} `kf:"v0"`
	GroupID  string   `kf:"groupId"`
	MemberID string   `kf:"memberId"`
}

// A StreamsGroupCurrentMemberAssignmentValue is what a member has.
type StreamsGroupCurrentMemberAssignmentValue struct {
	_                             struct{}        `kf:"v0,flex=0"`
	MemberEpoch                   int32           `kf:"memberEpoch"`
	PreviousMemberEpoch           int32           `kf:"previousMemberEpoch"`
	State                         int8            `kf:"state"` // 1 STABLE, 2 UNREVOKED_TASKS, 3 UNRELEASED_TASKS, 127 UNKNOWN
	ActiveTasks                   []AssignedTasks `kf:"activeTasks"`
	StandbyTasks                  []AssignedTasks `kf:"standbyTasks"`
	WarmupTasks                   []AssignedTasks `kf:"warmupTasks"`
	ActiveTasksPendingRevocation  []AssignedTasks `kf:"activeTasksPendingRevocation"`
	StandbyTasksPendingRevocation []AssignedTasks `kf:"standbyTasksPendingRevocation"`
	WarmupTasksPendingRevocation  []AssignedTasks `kf:"warmupTasksPendingRevocation"`
	Unknown                       schema.Tags
}

// An AssignedTasks is tasks of one subtopology and the epochs in which they were
// assigned.
type AssignedTasks struct {
	SubtopologyID    string  `kf:"subtopologyId"`
	Partitions       []int32 `kf:"partitions"`
	AssignmentEpochs []int32 `kf:"assignmentEpochs,tag=0,nullable"` // one for each partition, or empty
	Unknown          schema.Tags
}

// A StreamsGroupTopologyKey is the key of a [StreamsGroupTopologyValue].
type StreamsGroupTopologyKey struct {
	_       struct{} `kf:"v0"`
	GroupID string   `kf:"groupId"`
}

// A StreamsGroupTopologyValue is the topology of a streams group.
type StreamsGroupTopologyValue struct {
	_             struct{}      `kf:"v0,flex=0"`
	Epoch         int32         `kf:"epoch"`
	Subtopologies []Subtopology `kf:"subtopologies"`
	Unknown       schema.Tags
}

// A Subtopology is a part of it.
type Subtopology struct {
	SubtopologyID           string             `kf:"subtopologyId"`
	SourceTopics            []string           `kf:"sourceTopics"`
	SourceTopicRegex        []string           `kf:"sourceTopicRegex"`
	StateChangelogTopics    []InternalTopic    `kf:"stateChangelogTopics"`
	RepartitionSinkTopics   []string           `kf:"repartitionSinkTopics"`
	RepartitionSourceTopics []InternalTopic    `kf:"repartitionSourceTopics"`
	CopartitionGroups       []CopartitionGroup `kf:"copartitionGroups"`
	Unknown                 schema.Tags
}

// An InternalTopic is a topic that the group needs.
type InternalTopic struct {
	Name              string     `kf:"name"`
	Partitions        int32      `kf:"partitions"`
	ReplicationFactor int16      `kf:"replicationFactor"`
	TopicConfigs      []KeyValue `kf:"topicConfigs"`
	Unknown           schema.Tags
}

// A CopartitionGroup is topics that must have as many partitions, as indexes into
// the lists of the subtopology.
type CopartitionGroup struct {
	SourceTopics            []int16 `kf:"sourceTopics"`
	SourceTopicRegex        []int16 `kf:"sourceTopicRegex"`
	RepartitionSourceTopics []int16 `kf:"repartitionSourceTopics"`
	Unknown                 schema.Tags
}

// A ConsumerProtocolAssignment is what it got.
type ConsumerProtocolAssignment struct {
	_                  struct{}             `kf:"v0-3"`
	AssignedPartitions []ProtocolPartitions `kf:"assignedPartitions"`
	UserData           []byte               `kf:"userData,nullable,default=null"`
}

// A ProtocolPartitions is partitions of one topic, by name.
type ProtocolPartitions struct {
	Topic      string  `kf:"topic"`
	Partitions []int32 `kf:"partitions"`
}

// A ConsumerProtocolSubscription is what a classic consumer wants.
type ConsumerProtocolSubscription struct {
	_               struct{}             `kf:"v0-3"`
	Topics          []string             `kf:"topics"`
	UserData        []byte               `kf:"userData,nullable,default=null"`
	OwnedPartitions []ProtocolPartitions `kf:"ownedPartitions,v1+,ignorable"`
	GenerationID    int32                `kf:"generationId,v2+,default=-1,ignorable"`      // -1 if there is none
	RackID          *string              `kf:"rackId,v3+,nullable,default=null,ignorable"` // nil if there is none
}
