package remoterec

import (
	"kf/internal/format/schema"
	"kf/internal/wire"
)

// A RemoteLogSegmentMetadataRecord says that a segment is being copied.
type RemoteLogSegmentMetadataRecord struct {
	_                     struct{}             `kf:"v0,flex=0"`
	RemoteLogSegmentID    RemoteLogSegmentID   `kf:"remoteLogSegmentId"`
	StartOffset           int64                `kf:"startOffset"`
	EndOffset             int64                `kf:"endOffset"` // the last one in the segment
	BrokerID              int32                `kf:"brokerId"`
	MaxTimestampMs        int64                `kf:"maxTimestampMs"`   // ms since the Unix epoch
	EventTimestampMs      int64                `kf:"eventTimestampMs"` // ms since the Unix epoch
	SegmentLeaderEpochs   []SegmentLeaderEpoch `kf:"segmentLeaderEpochs"`
	SegmentSizeInBytes    int32                `kf:"segmentSizeInBytes"`
	CustomMetadata        []byte               `kf:"customMetadata,nullable,default=null"` // nil if there is none
	RemoteLogSegmentState int8                 `kf:"remoteLogSegmentState"`                // a [SegmentState]
	TxnIndexEmpty         bool                 `kf:"txnIndexEmpty,tag=0"`                  // from 3.9 on
	Unknown               schema.Tags
}

// A RemoteLogSegmentID names a segment in the remote storage.
type RemoteLogSegmentID struct {
	TopicIDPartition TopicIDPartition `kf:"topicIdPartition"`
	ID               wire.UUID        `kf:"id"`
	Unknown          schema.Tags
}

// A TopicIDPartition names a partition.
type TopicIDPartition struct {
	Name      string    `kf:"name"`
	ID        wire.UUID `kf:"id"`
	Partition int32     `kf:"partition"`
	Unknown   schema.Tags
}

// A SegmentLeaderEpoch says at which offset a leader epoch starts.
type SegmentLeaderEpoch struct {
	LeaderEpoch int32 `kf:"leaderEpoch"`
	Offset      int64 `kf:"offset"`
	Unknown     schema.Tags
}

// A RemoteLogSegmentMetadataUpdateRecord changes the state of a segment.
type RemoteLogSegmentMetadataUpdateRecord struct {
	_                     struct{}           `kf:"v0,flex=0"`
	RemoteLogSegmentID    RemoteLogSegmentID `kf:"remoteLogSegmentId"`
	BrokerID              int32              `kf:"brokerId"`
	EventTimestampMs      int64              `kf:"eventTimestampMs"`                     // ms since the Unix epoch
	CustomMetadata        []byte             `kf:"customMetadata,nullable,default=null"` // nil if there is none
	RemoteLogSegmentState int8               `kf:"remoteLogSegmentState"`                // a [SegmentState]
	Unknown               schema.Tags
}

// A RemotePartitionDeleteMetadataRecord says how far the deletion of a partition is.
type RemotePartitionDeleteMetadataRecord struct {
	_                          struct{}         `kf:"v0,flex=0"`
	TopicIDPartition           TopicIDPartition `kf:"topicIdPartition"`
	BrokerID                   int32            `kf:"brokerId"`
	EventTimestampMs           int64            `kf:"eventTimestampMs"`           // ms since the Unix epoch
	RemotePartitionDeleteState int8             `kf:"remotePartitionDeleteState"` // a [DeleteState]
	Unknown                    schema.Tags
}

// A RemoteLogSegmentMetadataSnapshotRecord is a segment without its partition.
type RemoteLogSegmentMetadataSnapshotRecord struct {
	_                     struct{}             `kf:"v0,flex=0"`
	SegmentID             wire.UUID            `kf:"segmentId"`
	StartOffset           int64                `kf:"startOffset"`
	EndOffset             int64                `kf:"endOffset"` // the last one in the segment
	BrokerID              int32                `kf:"brokerId"`
	MaxTimestampMs        int64                `kf:"maxTimestampMs"`   // ms since the Unix epoch
	EventTimestampMs      int64                `kf:"eventTimestampMs"` // ms since the Unix epoch
	SegmentLeaderEpochs   []SegmentLeaderEpoch `kf:"segmentLeaderEpochs"`
	SegmentSizeInBytes    int32                `kf:"segmentSizeInBytes"`
	CustomMetadata        []byte               `kf:"customMetadata,nullable,default=null"` // nil if there is none
	RemoteLogSegmentState int8                 `kf:"remoteLogSegmentState"`                // a [SegmentState]
	TxnIndexEmpty         bool                 `kf:"txnIndexEmpty,tag=0"`                  // from 3.9 on
	Unknown               schema.Tags
}
