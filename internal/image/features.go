package image

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Names of features.
const (
	FeatureMetadataVersion    = "metadata.version"
	FeatureKRaftVersion       = "kraft.version" // in control records only
	FeatureELR                = "eligible.leader.replicas.version"
	FeatureGroupVersion       = "group.version"
	FeatureShareVersion       = "share.version"
	FeatureStreamsVersion     = "streams.version"
	FeatureTransactionVersion = "transaction.version"
)

// A Range is the levels of a feature that Kafka 4.4 supports.
type Range struct{ Min, Max int16 }

// Supported has the features that a record may finalise.
//
// Source: Kafka 4.4.0, MetadataVersion.java, Feature.java.
var Supported = map[string]Range{
	FeatureMetadataVersion:    {7, 33},
	FeatureELR:                {0, 1},
	FeatureGroupVersion:       {0, 1},
	FeatureShareVersion:       {0, 2},
	FeatureStreamsVersion:     {0, 1},
	FeatureTransactionVersion: {0, 2},
}

// SupportedNames returns the names of these features, sorted.
func SupportedNames() []string { return slices.Sorted(maps.Keys(Supported)) }

// A MetadataVersion is a level of metadata.version. It decides which records a
// cluster may have and in which versions they are written.
type MetadataVersion int16

// metadataVersions are the names of the levels from 7 on.
var metadataVersions = strings.Fields(`3.3-IV3 3.4-IV0 3.5-IV0 3.5-IV1 3.5-IV2 3.6-IV0 3.6-IV1 3.6-IV2
	3.7-IV0 3.7-IV1 3.7-IV2 3.7-IV3 3.7-IV4 3.8-IV0 3.9-IV0 4.0-IV0 4.0-IV1 4.0-IV2 4.0-IV3
	4.1-IV0 4.1-IV1 4.2-IV0 4.2-IV1 4.3-IV0 4.4-IV0 4.4-IV1 4.4-IV2`)

// String returns Kafka's name of the level.
func (v MetadataVersion) String() string {
	if i := int(v - firstMetadataVersion); i >= 0 && i < len(metadataVersions) {
		return metadataVersions[i]
	}
	return fmt.Sprintf("level %d", int16(v))
}

// What a level brings.
const (
	withTransactions      MetadataVersion = 13
	withControllerRecords MetadataVersion = 15
	withDirectories       MetadataVersion = 17
	withELR               MetadataVersion = 23
	withCordonedDirs      MetadataVersion = 30
)

// Transactions reports whether records may be put between BeginTransaction and
// EndTransaction.
func (v MetadataVersion) Transactions() bool { return v >= withTransactions }

// ControllerRegistrations reports whether controllers register.
func (v MetadataVersion) ControllerRegistrations() bool { return v >= withControllerRecords }

// Directories reports whether partitions are assigned to log directories.
func (v MetadataVersion) Directories() bool { return v >= withDirectories }

// ELR reports whether partition records can have eligible leader replicas.
func (v MetadataVersion) ELR() bool { return v >= withELR }

// CordonedDirs reports whether brokers say which log directories are cordoned.
func (v MetadataVersion) CordonedDirs() bool { return v >= withCordonedDirs }

// EpochBumpOnShrink reports whether the leader epoch rises when the ISR shrinks,
// as it had to before 3.6.
func (v MetadataVersion) EpochBumpOnShrink() bool { return v < 12 }

// registerBroker returns the version of a RegisterBrokerRecord.
func (v MetadataVersion) registerBroker() int16 {
	switch {
	case v >= withCordonedDirs:
		return 4
	case v >= withDirectories:
		return 3
	case v >= 8:
		return 2
	}
	return 1
}

// partition returns the version of a PartitionRecord and a PartitionChangeRecord.
func (v MetadataVersion) partition() int16 {
	switch {
	case v >= withELR:
		return 2
	case v >= withDirectories:
		return 1
	}
	return 0
}
