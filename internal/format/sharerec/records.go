package sharerec

import (
	"kf/internal/format/schema"
	"kf/internal/wire"
)

// A ShareSnapshotKey is the key of a [ShareSnapshotValue].
type ShareSnapshotKey struct {
	_         struct{}  `kf:"v0"`
	GroupID   string    `kf:"groupId"`
	TopicID   wire.UUID `kf:"topicId"`
	Partition int32     `kf:"partition"`
}

// A ShareSnapshotValue is the whole state of a share partition.
type ShareSnapshotValue struct {
	_                     struct{}     `kf:"v0,flex=0"`
	SnapshotEpoch         int32        `kf:"snapshotEpoch"`
	StateEpoch            int32        `kf:"stateEpoch"`
	LeaderEpoch           int32        `kf:"leaderEpoch"`
	StartOffset           int64        `kf:"startOffset"`                            // -1 if not initialised
	DeliveryCompleteCount int32        `kf:"deliveryCompleteCount,tag=0,default=-1"` // -1 if unknown
	CreateTimestamp       int64        `kf:"createTimestamp"`                        // ms since the Unix epoch
	WriteTimestamp        int64        `kf:"writeTimestamp"`                         // ms since the Unix epoch
	StateBatches          []StateBatch `kf:"stateBatches"`
	Unknown               schema.Tags
}

// A StateBatch is the state of a run of offsets, both ends included.
type StateBatch struct {
	FirstOffset   int64 `kf:"firstOffset"`
	LastOffset    int64 `kf:"lastOffset"`
	DeliveryState int8  `kf:"deliveryState"` // 0 available, 1 acquired, 2 acknowledged, 4 archived
	DeliveryCount int16 `kf:"deliveryCount"`
	Unknown       schema.Tags
}

// A ShareUpdateKey is the key of a [ShareUpdateValue].
type ShareUpdateKey struct {
	_         struct{}  `kf:"v0"`
	GroupID   string    `kf:"groupId"`
	TopicID   wire.UUID `kf:"topicId"`
	Partition int32     `kf:"partition"`
}

// A ShareUpdateValue replaces the state of the offsets that it names, in the
// snapshot of the same epoch.
type ShareUpdateValue struct {
	_                     struct{}     `kf:"v0,flex=0"`
	SnapshotEpoch         int32        `kf:"snapshotEpoch"`
	LeaderEpoch           int32        `kf:"leaderEpoch"`
	StartOffset           int64        `kf:"startOffset"`                            // -1 if not initialised
	DeliveryCompleteCount int32        `kf:"deliveryCompleteCount,tag=0,default=-1"` // -1 if unknown
	StateBatches          []StateBatch `kf:"stateBatches"`
	Unknown               schema.Tags
}
