// Package controller decides what happens to the metadata of a cluster: it turns
// the requests of admins and brokers into records of the metadata log, as the
// active controller of a quorum of one voter.
//
// State is only the replay of records. A request becomes (answer, records); the
// records are appended to the log and, once durable, replayed into the next
// [image.Image]; subscribers see it, then the request is answered. A start reads
// the newest snapshot and the log behind it, so what was answered is there again.
//
// Requests and answers are those of package kmsg, error codes those of kerr. The
// messages are Kafka's.
//
// Source: Kafka 4.4.0, org.apache.kafka.controller.
package controller

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kf/internal/format/kraftrec"
	"kf/internal/image"
	"kf/internal/storage"
	"kf/internal/storage/disk"
	"kf/internal/wire"
)

// Options say where the metadata log is and how the controller decides.
type Options struct {
	FS          disk.FS
	Dir         string // the log directory that has, or gets, __cluster_metadata-0
	NodeID      int32
	DirectoryID wire.UUID // of Dir, from its meta.properties
	// Endpoints are the listeners of the controller, for its registration.
	Endpoints []kraftrec.BrokerEndpoint
	Notice    func(storage.Notice)

	// Levels has the features that a new cluster gets; a directory that exists
	// keeps its own. [NewClusterLevels] makes it.
	Levels map[string]int16

	NumPartitions            int32 // num.partitions
	DefaultReplicationFactor int16 // default.replication.factor
	MinInsyncReplicas        int32 // min.insync.replicas of the configuration, for a new cluster

	Configs Configs
	Log     LogOptions
}

// LogOptions are the settings of the metadata log; zero values are Kafka's
// defaults.
type LogOptions struct {
	// NoSync leaves it to the operating system when records reach the disk:
	// for clusters that do not outlive their process.
	NoSync         bool
	SegmentBytes   int64 // metadata.log.segment.bytes
	SegmentMs      int64 // metadata.log.segment.ms
	SnapshotBytes  int64 // metadata.log.max.record.bytes.between.snapshots
	SnapshotMs     int64 // metadata.log.max.snapshot.interval.ms
	RetentionBytes int64 // metadata.max.retention.bytes
	RetentionMs    int64 // metadata.max.retention.ms
}

// Configs is what the controller asks about configurations. A nil function
// stands for "no rule": everything is valid, nothing is a list, no default.
type Configs struct {
	// Validate checks a configuration of a resource before it is set; value is
	// nil before it is removed. A [*kerr.Error] in the chain of the error it
	// returns is the code of the answer, INVALID_CONFIG stands for any other
	// error; its text is the message.
	Validate func(r image.Resource, name string, value *string) error
	// IsList reports whether APPEND and SUBTRACT are possible.
	IsList func(t image.ResourceType, name string) bool
	// Default returns the value of a configuration that is not set.
	Default func(t image.ResourceType, name string) (value string, ok bool)
	// DescribeTopic returns all configurations of a topic that sets those in
	// topic, for the answer to CreateTopics.
	DescribeTopic func(im *image.Image, topic map[string]string) []kmsg.CreateTopicsResponseTopicConfig
}

// NewClusterLevels returns the features of a new cluster: those of a release of
// Kafka such as "4.4", except that features other than metadata.version and
// eligible.leader.replicas.version get at most the level that implemented says.
func NewClusterLevels(release string, implemented map[string]int16) (map[string]int16, error) {
	levels, err := image.ReleaseLevels(release)
	if err != nil {
		return nil, err
	}
	for name, level := range levels {
		switch name {
		case image.FeatureMetadataVersion, image.FeatureELR:
		default:
			if levels[name] = min(level, implemented[name]); levels[name] <= 0 {
				delete(levels, name)
			}
		}
	}
	return levels, nil
}

// A Subscriber is told about every image that follows another, in order and
// before the request that made it is answered. It must not call the controller.
type Subscriber func(old, new *image.Image, d *image.Delta)

// A Registration is what a broker says about itself when it starts.
type Registration struct {
	BrokerID      int32
	IncarnationID wire.UUID // random, for each start of the broker
	Endpoints     []kraftrec.BrokerEndpoint
	Features      []kraftrec.BrokerFeature // nil for what this program supports
	Rack          *string
	LogDirs       []wire.UUID // directory ids of the log directories that are online
	// PreviousEpoch is the broker epoch in .kafka_cleanshutdown, -1 if there is
	// none: if it is that of the last registration, the last stop was clean.
	PreviousEpoch int64
}

// A Controller is the active controller. Its methods may be called from several
// goroutines.
type Controller struct{}

// Open opens the metadata log, makes it if the directory has none, becomes the
// leader of a new epoch and registers the controller.
func Open(ctx context.Context, o Options) (*Controller, error) { panic("stub") }

// Close writes nothing more. Brokers are stopped before.
func (c *Controller) Close() error { panic("stub") }

// Image returns the newest image.
func (c *Controller) Image() *image.Image { panic("stub") }

// Epoch returns the leader epoch of the controller.
func (c *Controller) Epoch() int32 { panic("stub") }

// Subscribe calls s with the image that is there, old being an empty one, and
// then for each that follows. Stop ends that.
func (c *Controller) Subscribe(s Subscriber) (stop func()) { panic("stub") }

// CreateTopics answers the request in its version.
func (c *Controller) CreateTopics(ctx context.Context, req *kmsg.CreateTopicsRequest) *kmsg.CreateTopicsResponse {
	panic("stub")
}

// DeleteTopics answers the request in its version, of which those below 6 name
// topics in TopicNames.
func (c *Controller) DeleteTopics(ctx context.Context, req *kmsg.DeleteTopicsRequest) *kmsg.DeleteTopicsResponse {
	panic("stub")
}

// IncrementalAlterConfigs answers the request in its version. Which broker a
// client may ask to change which broker's configurations is for the broker to
// check; the controller knows all that are registered.
func (c *Controller) IncrementalAlterConfigs(ctx context.Context, req *kmsg.IncrementalAlterConfigsRequest) *kmsg.IncrementalAlterConfigsResponse {
	panic("stub")
}

// AllocateProducerIDs gives a block of producer IDs to a broker.
func (c *Controller) AllocateProducerIDs(ctx context.Context, broker int32, epoch int64) (first int64, n int32, err error) {
	panic("stub")
}

// RegisterBroker registers a broker, fenced, and returns its broker epoch. What
// the last start of the broker left is settled first: see [Registration].
func (c *Controller) RegisterBroker(ctx context.Context, r Registration) (epoch int64, err error) {
	panic("stub")
}

// Unfence lets a registered broker lead and join ISRs, and elects it for the
// partitions that waited for it.
func (c *Controller) Unfence(ctx context.Context, broker int32, epoch int64) error { panic("stub") }

// Fence takes a broker out of every ISR and elects others for what it led, as
// when its session is over.
func (c *Controller) Fence(ctx context.Context, broker int32, epoch int64) error { panic("stub") }

// ControlledShutdown moves what the broker leads to others and fences it; when
// it returns nil the broker may stop. Partitions without another replica in
// sync end without a leader, this one eligible.
func (c *Controller) ControlledShutdown(ctx context.Context, broker int32, epoch int64) error {
	panic("stub")
}

// UnregisterBroker forgets a broker.
func (c *Controller) UnregisterBroker(ctx context.Context, broker int32) error { panic("stub") }

// AlterPartition changes ISRs as leaders ask for it, and their leader recovery
// state. It answers as version 3 of the request.
func (c *Controller) AlterPartition(ctx context.Context, req *kmsg.AlterPartitionRequest) *kmsg.AlterPartitionResponse {
	panic("stub")
}

// AssignDirectories notes in which of its log directories replicas of a broker
// are.
func (c *Controller) AssignDirectories(ctx context.Context, broker int32, epoch int64, dirs []DirectoryAssignment) error {
	panic("stub")
}

// A DirectoryAssignment says that a replica is in a log directory.
type DirectoryAssignment struct {
	TopicID   wire.UUID
	Partition int32
	Directory wire.UUID
}
