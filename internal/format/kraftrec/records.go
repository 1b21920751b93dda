package kraftrec

import (
	"kf/internal/format/schema"
	"kf/internal/wire"
)

// A RegisterBrokerRecord says that a broker has registered. Write version 4 from
// metadata.version 30 on, 3 from 17, 2 from 8, else 1.
type RegisterBrokerRecord struct {
	_                    struct{}         `kf:"v0-4,flex=0"`
	BrokerID             int32            `kf:"brokerId"`
	IsMigratingZKBroker  bool             `kf:"isMigratingZkBroker,v2+"`
	IncarnationID        wire.UUID        `kf:"incarnationId"`
	BrokerEpoch          int64            `kf:"brokerEpoch"` // offset of the batch of the registration
	EndPoints            []BrokerEndpoint `kf:"endPoints"`
	Features             []BrokerFeature  `kf:"features"`
	Rack                 *string          `kf:"rack,nullable"` // nil if there is none
	Fenced               bool             `kf:"fenced,default=true"`
	InControlledShutdown bool             `kf:"inControlledShutdown,v1+"`
	LogDirs              []wire.UUID      `kf:"logDirs,v3+,tag=0"`
	CordonedLogDirs      []wire.UUID      `kf:"cordonedLogDirs,v4+,tag=1,nullable,default=null"` // nil for not known
	Unknown              schema.Tags
}

// A BrokerEndpoint is a listener of a broker or controller.
type BrokerEndpoint struct {
	Name             string `kf:"name"`
	Host             string `kf:"host"`
	Port             uint16 `kf:"port"`
	SecurityProtocol int16  `kf:"securityProtocol"` // 0 PLAINTEXT, 1 SSL, 2 SASL_PLAINTEXT, 3 SASL_SSL
	Unknown          schema.Tags
}

// A BrokerFeature is a feature and the levels of it that a node supports.
type BrokerFeature struct {
	Name                string `kf:"name"`
	MinSupportedVersion int16  `kf:"minSupportedVersion"`
	MaxSupportedVersion int16  `kf:"maxSupportedVersion"`
	Unknown             schema.Tags
}

// An UnregisterBrokerRecord takes a broker off the list.
type UnregisterBrokerRecord struct {
	_           struct{} `kf:"v0,flex=0"`
	BrokerID    int32    `kf:"brokerId"`
	BrokerEpoch int64    `kf:"brokerEpoch"` // offset of the batch of the registration
	Unknown     schema.Tags
}

// A TopicRecord makes a topic. Its partitions follow.
type TopicRecord struct {
	_       struct{}  `kf:"v0,flex=0"`
	Name    string    `kf:"name"`
	TopicID wire.UUID `kf:"topicId"`
	Unknown schema.Tags
}

// A PartitionRecord makes a partition. Write version 2 from metadata.version 23
// on, 1 from 17, else 0.
type PartitionRecord struct {
	_                      struct{}    `kf:"v0-2,flex=0"`
	PartitionID            int32       `kf:"partitionId,default=-1"`
	TopicID                wire.UUID   `kf:"topicId"`
	Replicas               []int32     `kf:"replicas"`
	ISR                    []int32     `kf:"isr"`
	RemovingReplicas       []int32     `kf:"removingReplicas"`
	AddingReplicas         []int32     `kf:"addingReplicas"`
	Leader                 int32       `kf:"leader,default=-1"`         // -1 if there is none
	LeaderRecoveryState    int8        `kf:"leaderRecoveryState,tag=0"` // 0 recovered, 1 recovering after an unclean election
	LeaderEpoch            int32       `kf:"leaderEpoch,default=-1"`
	PartitionEpoch         int32       `kf:"partitionEpoch,default=-1"`
	Directories            []wire.UUID `kf:"directories,v1+"` // none, or one for each replica
	EligibleLeaderReplicas []int32     `kf:"eligibleLeaderReplicas,v2+,tag=1,nullable,default=null"`
	LastKnownELR           []int32     `kf:"lastKnownElr,v2+,tag=2,nullable,default=null"`
	Unknown                schema.Tags
}

// A ConfigRecord sets one configuration value of a resource.
type ConfigRecord struct {
	_            struct{} `kf:"v0,flex=0"`
	ResourceType int8     `kf:"resourceType"` // 2 topic, 4 broker, 8 broker logger, 16 client metrics, 32 group
	ResourceName string   `kf:"resourceName"` // "" for the default of all brokers
	Name         string   `kf:"name"`
	Value        *string  `kf:"value,nullable"` // nil deletes
	Unknown      schema.Tags
}

// A PartitionChangeRecord changes a partition; what is at its default stays. Make
// one with schema.New: its zero value is not "no change". Every change raises the
// partition epoch by one, and one of the leader the leader epoch; neither is in the
// record. Versions as those of [PartitionRecord].
type PartitionChangeRecord struct {
	_                      struct{}    `kf:"v0-2,flex=0"`
	PartitionID            int32       `kf:"partitionId,default=-1"`
	TopicID                wire.UUID   `kf:"topicId"`
	ISR                    []int32     `kf:"isr,tag=0,nullable,default=null"` // nil for no change, as for the lists below
	Leader                 int32       `kf:"leader,tag=1,default=-2"`         // -2 for no change, -1 for none
	Replicas               []int32     `kf:"replicas,tag=2,nullable,default=null"`
	RemovingReplicas       []int32     `kf:"removingReplicas,tag=3,nullable,default=null"`
	AddingReplicas         []int32     `kf:"addingReplicas,tag=4,nullable,default=null"`
	LeaderRecoveryState    int8        `kf:"leaderRecoveryState,tag=5,default=-1"` // -1 for no change
	Directories            []wire.UUID `kf:"directories,v1+,tag=8,nullable,default=null"`
	EligibleLeaderReplicas []int32     `kf:"eligibleLeaderReplicas,v2+,tag=6,nullable,default=null"`
	LastKnownELR           []int32     `kf:"lastKnownElr,v2+,tag=7,nullable,default=null"`
	Unknown                schema.Tags
}

// A FenceBrokerRecord fences a broker: it cannot lead.
type FenceBrokerRecord struct {
	_       struct{} `kf:"v0,flex=0"`
	ID      int32    `kf:"id"`
	Epoch   int64    `kf:"epoch"`
	Unknown schema.Tags
}

// An UnfenceBrokerRecord lifts that.
type UnfenceBrokerRecord struct {
	_       struct{} `kf:"v0,flex=0"`
	ID      int32    `kf:"id"`
	Epoch   int64    `kf:"epoch"`
	Unknown schema.Tags
}

// A RemoveTopicRecord deletes a topic with its partitions.
type RemoveTopicRecord struct {
	_       struct{}  `kf:"v0,flex=0"`
	TopicID wire.UUID `kf:"topicId"`
	Unknown schema.Tags
}

// A DelegationTokenRecord makes or renews a delegation token.
type DelegationTokenRecord struct {
	_                   struct{} `kf:"v0,flex=0"`
	Owner               string   `kf:"owner"`
	Requester           string   `kf:"requester"`
	Renewers            []string `kf:"renewers"`
	IssueTimestamp      int64    `kf:"issueTimestamp"`      // ms since the Unix epoch
	MaxTimestamp        int64    `kf:"maxTimestamp"`        // ms since the Unix epoch
	ExpirationTimestamp int64    `kf:"expirationTimestamp"` // ms since the Unix epoch
	TokenID             string   `kf:"tokenId"`
	Unknown             schema.Tags
}

// A UserScramCredentialRecord sets the SCRAM credential of a user for a mechanism.
type UserScramCredentialRecord struct {
	_          struct{} `kf:"v0,flex=0"`
	Name       string   `kf:"name"`
	Mechanism  int8     `kf:"mechanism"` // 1 SCRAM-SHA-256, 2 SCRAM-SHA-512
	Salt       []byte   `kf:"salt"`
	StoredKey  []byte   `kf:"storedKey"`
	ServerKey  []byte   `kf:"serverKey"`
	Iterations int32    `kf:"iterations"`
	Unknown    schema.Tags
}

// A FeatureLevelRecord sets the level of a feature. Level 0 is said by the lack of
// the record.
type FeatureLevelRecord struct {
	_            struct{} `kf:"v0,flex=0"`
	Name         string   `kf:"name"`
	FeatureLevel int16    `kf:"featureLevel"`
	Unknown      schema.Tags
}

// A ClientQuotaRecord sets or removes one quota of an entity.
type ClientQuotaRecord struct {
	_       struct{}      `kf:"v0,flex=0"`
	Entity  []QuotaEntity `kf:"entity"`
	Key     string        `kf:"key"`
	Value   float64       `kf:"value"`
	Remove  bool          `kf:"remove"`
	Unknown schema.Tags
}

// A QuotaEntity is a part of what a quota is for.
type QuotaEntity struct {
	EntityType string  `kf:"entityType"`
	EntityName *string `kf:"entityName,nullable"` // nil for the default
	Unknown    schema.Tags
}

// A ProducerIDsRecord gives a block of 1000 producer ids to a broker.
type ProducerIDsRecord struct {
	_              struct{} `kf:"v0,flex=0"`
	BrokerID       int32    `kf:"brokerId"`
	BrokerEpoch    int64    `kf:"brokerEpoch,default=-1"` // offset of the batch of the registration
	NextProducerID int64    `kf:"nextProducerId"`         // first of the next block
	Unknown        schema.Tags
}

// A BrokerRegistrationChangeRecord changes a registration; what is at its default
// stays. It is written with the lowest version that has its fields.
type BrokerRegistrationChangeRecord struct {
	_                    struct{}    `kf:"v0-3,flex=0"`
	BrokerID             int32       `kf:"brokerId"`
	BrokerEpoch          int64       `kf:"brokerEpoch"`                    // offset of the batch of the registration
	Fenced               int8        `kf:"fenced,tag=0"`                   // -1 unfenced, 0 no change, 1 fenced
	InControlledShutdown int8        `kf:"inControlledShutdown,v1+,tag=1"` // 0 no change, 1 yes
	LogDirs              []wire.UUID `kf:"logDirs,v2+,tag=2"`
	CordonedLogDirs      []wire.UUID `kf:"cordonedLogDirs,v3+,tag=3,nullable,default=null"` // nil for not known
	Unknown              schema.Tags
}

// An AccessControlEntryRecord makes an ACL. Its numbers are those of Kafka's enums.
type AccessControlEntryRecord struct {
	_              struct{}  `kf:"v0,flex=0"`
	ID             wire.UUID `kf:"id"`
	ResourceType   int8      `kf:"resourceType"` // a ResourceType: 2 topic, 3 group, …
	ResourceName   string    `kf:"resourceName"`
	PatternType    int8      `kf:"patternType"`
	Principal      string    `kf:"principal"`
	Host           string    `kf:"host"`
	Operation      int8      `kf:"operation"`
	PermissionType int8      `kf:"permissionType"`
	Unknown        schema.Tags
}

// A RemoveAccessControlEntryRecord deletes an ACL.
type RemoveAccessControlEntryRecord struct {
	_       struct{}  `kf:"v0,flex=0"`
	ID      wire.UUID `kf:"id"`
	Unknown schema.Tags
}

// A NoOpRecord says nothing; an idle controller writes one every 500 ms.
type NoOpRecord struct {
	_       struct{} `kf:"v0,flex=0"`
	Unknown schema.Tags
}

// A ZKMigrationStateRecord tells how far the migration from ZooKeeper is. 4.x
// ignores it.
type ZKMigrationStateRecord struct {
	_                struct{} `kf:"v0,flex=0"`
	ZKMigrationState int8     `kf:"zkMigrationState"` // 0 none, 1 migration, 2 pre, 3 post
	Unknown          schema.Tags
}

// A RemoveUserScramCredentialRecord deletes a SCRAM credential.
type RemoveUserScramCredentialRecord struct {
	_         struct{} `kf:"v0,flex=0"`
	Name      string   `kf:"name"`
	Mechanism int8     `kf:"mechanism"` // 1 SCRAM-SHA-256, 2 SCRAM-SHA-512
	Unknown   schema.Tags
}

// A BeginTransactionRecord starts records that count only together.
type BeginTransactionRecord struct {
	_       struct{} `kf:"v0,flex=0"`
	Name    *string  `kf:"name,tag=0,nullable,default=null"`
	Unknown schema.Tags
}

// An EndTransactionRecord commits them.
type EndTransactionRecord struct {
	_       struct{} `kf:"v0,flex=0"`
	Unknown schema.Tags
}

// An AbortTransactionRecord drops them.
type AbortTransactionRecord struct {
	_       struct{} `kf:"v0,flex=0"`
	Reason  *string  `kf:"reason,tag=0,nullable,default=null"`
	Unknown schema.Tags
}

// A RemoveDelegationTokenRecord deletes a delegation token.
type RemoveDelegationTokenRecord struct {
	_       struct{} `kf:"v0,flex=0"`
	TokenID string   `kf:"tokenId"`
	Unknown schema.Tags
}

// A RegisterControllerRecord says that a controller has registered.
type RegisterControllerRecord struct {
	_                struct{}         `kf:"v0,flex=0"`
	ControllerID     int32            `kf:"controllerId"`
	IncarnationID    wire.UUID        `kf:"incarnationId"`
	ZKMigrationReady bool             `kf:"zkMigrationReady"`
	EndPoints        []BrokerEndpoint `kf:"endPoints"`
	Features         []BrokerFeature  `kf:"features"`
	Unknown          schema.Tags
}

// A ClearELRRecord empties the eligible leader replicas of a topic.
type ClearELRRecord struct {
	_         struct{} `kf:"v0,flex=0"`
	TopicName string   `kf:"topicName"` // "" for all topics
	Unknown   schema.Tags
}

// An UnregisterControllerRecord takes a controller off the list. From
// metadata.version 33 on.
type UnregisterControllerRecord struct {
	_            struct{} `kf:"v0,flex=0"`
	ControllerID int32    `kf:"controllerId"`
	Unknown      schema.Tags
}
