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
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"kf/internal/format/kraftrec"
	"kf/internal/image"
	"kf/internal/metalog"
	"kf/internal/storage"
	"kf/internal/storage/disk"
	"kf/internal/wire"
)

// Options say where the metadata log is and how the controller decides.
type Options struct {
	FS          disk.FS
	Dir         string   // the log directory that has, or gets, __cluster_metadata-0
	LogDirs     []string // the other log directories of the node
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
	// CheckTogether checks all that a resource sets after a change, each of which
	// Validate allows. Its error is answered as INVALID_CONFIG; its text is the
	// message.
	CheckTogether func(r image.Resource, all map[string]string) error
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

// A Controller is the active controller. Its methods may be called from several
// goroutines.
type Controller struct {
	o            Options
	log          *metalog.Log
	im           atomic.Pointer[image.Image]
	done         sync.WaitGroup // a snapshot that is being written
	snapshotting atomic.Bool

	mu          sync.Mutex // one change at a time
	builder     *image.Builder
	failed      error // why nothing can be changed any more
	subscribers []*subscription
	timer       *time.Timer // until a snapshot is due by time; nil if nothing was appended since the last
}

type subscription struct{ tell Subscriber }

// Open opens the metadata log, makes it if the directory has none, becomes the
// leader of a new epoch and registers the controller.
func Open(ctx context.Context, o Options) (*Controller, error) {
	if o.Notice == nil {
		o.Notice = func(storage.Notice) {}
	}
	if o.Log.SnapshotMs == 0 {
		o.Log.SnapshotMs = metalog.DefaultSnapshotMs
	}
	c := &Controller{o: o}
	var err error
	c.log, c.builder, err = metalog.Open(ctx, metalog.Options{
		FS: o.FS, Dir: o.Dir, LogDirs: o.LogDirs, NodeID: o.NodeID, DirectoryID: o.DirectoryID, Notice: o.Notice, Bootstrap: c.bootstrapRecords,
		SegmentBytes: o.Log.SegmentBytes, SegmentMs: o.Log.SegmentMs, SnapshotBytes: o.Log.SnapshotBytes, SnapshotMs: o.Log.SnapshotMs,
		RetentionBytes: o.Log.RetentionBytes, RetentionMs: o.Log.RetentionMs,
	})
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.begin(); err != nil {
		return nil, errors.Join(err, c.log.Close())
	}
	return c, nil
}

// bootstrapRecords returns what the 0-0 snapshot of a new cluster has.
func (c *Controller) bootstrapRecords() []image.Record {
	b := image.NewBuilder(image.Empty())
	for name, level := range c.o.Levels {
		if err := b.Replay(&kraftrec.FeatureLevelRecord{Name: name, FeatureLevel: level}); err != nil {
			c.failed = fmt.Errorf("levels of a new cluster: %w", err)
			return nil
		}
	}
	im, _ := b.Publish()
	var records []image.Record
	for r := range im.Records() {
		records = append(records, r)
	}
	return records
}

// begin makes the log that of an active controller: it ends what another one
// left open, fills the log of a new cluster, and registers the controller.
func (c *Controller) begin() error {
	if c.failed != nil {
		return c.failed
	}
	if c.builder.InTransaction() {
		reason := "the controller that began it did not end it"
		if err := c.append([]any{&kraftrec.AbortTransactionRecord{Reason: &reason}}); err != nil {
			return err
		}
	}
	im, _ := c.builder.Publish()
	c.im.Store(im)
	if records := c.log.Bootstrap(); records != nil {
		if err := c.commit(c.bootstrap(records)); err != nil {
			return err
		}
	}
	if c.Image().MetadataVersion() == 0 {
		return fmt.Errorf("%s: the records of the cluster have no %s; Kafka does not start with it either", metalog.Dir(c.o.Dir), image.FeatureMetadataVersion)
	}
	if !c.Image().MetadataVersion().ControllerRegistrations() {
		return nil
	}
	return c.commit([]any{&kraftrec.RegisterControllerRecord{
		ControllerID: c.o.NodeID, IncarnationID: metalog.RandomID(), EndPoints: c.o.Endpoints, Features: supportedFeatures(),
	}})
}

// bootstrap returns the first records of a new cluster: those of its 0-0
// snapshot, all or none.
//
// Source: Kafka 4.4.0, ActivationRecordsGenerator.java.
func (c *Controller) bootstrap(records []image.Record) []any {
	var all []any
	version, elr := image.MetadataVersion(0), false
	for _, r := range records {
		all = append(all, r.Message)
		if f, ok := r.Message.(*kraftrec.FeatureLevelRecord); ok {
			switch f.Name {
			case image.FeatureMetadataVersion:
				version = image.MetadataVersion(f.FeatureLevel)
			case image.FeatureELR:
				elr = f.FeatureLevel > 0
			}
		}
	}
	if elr {
		value := strconv.Itoa(int(max(1, c.o.MinInsyncReplicas)))
		all = append(all, &kraftrec.ConfigRecord{ResourceType: int8(image.BrokerResource), Name: minInsyncReplicas, Value: &value})
	}
	if !version.Transactions() {
		return all
	}
	name := "Bootstrap records"
	return append(append([]any{&kraftrec.BeginTransactionRecord{Name: &name}}, all...), &kraftrec.EndTransactionRecord{})
}

// supportedFeatures are those that this program says it supports: Kafka's.
func supportedFeatures() []kraftrec.BrokerFeature {
	all := []kraftrec.BrokerFeature{{Name: image.FeatureKRaftVersion, MaxSupportedVersion: 1}}
	for _, name := range image.SupportedNames() {
		r := image.Supported[name]
		all = append(all, kraftrec.BrokerFeature{Name: name, MinSupportedVersion: r.Min, MaxSupportedVersion: r.Max})
	}
	return all
}

// Close ends the controller; brokers are stopped before. It waits for a snapshot
// that is being written, and writes one if the next start would be long without.
func (c *Controller) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	sound := c.failed == nil
	if sound {
		c.failed = storage.ErrClosed
	}
	if c.timer != nil {
		c.timer.Stop()
	}
	c.done.Wait()
	if sound && c.log.LongStart() {
		c.log.SnapshotTaken()
		c.snapshot(c.Image())
	}
	return c.log.Close()
}

// Image returns the newest image.
func (c *Controller) Image() *image.Image { return c.im.Load() }

// Epoch returns the leader epoch of the controller.
func (c *Controller) Epoch() int32 { return c.log.Epoch() }

// Subscribe calls s with the image that is there, old being an empty one, and
// then for each that follows. Stop ends that.
func (c *Controller) Subscribe(s Subscriber) (stop func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	im := c.Image()
	s(image.Empty(), im, image.Everything(im))
	sub := &subscription{s}
	c.subscribers = append(c.subscribers, sub)
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		for i, other := range c.subscribers {
			if other == sub {
				c.subscribers = append(c.subscribers[:i:i], c.subscribers[i+1:]...)
				return
			}
		}
	}
}

// change runs f, which turns the state into records, and commits those; f must
// not keep what it is given.
func (c *Controller) change(ctx context.Context, f func(v view) ([]any, error)) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return &Error{kerr.RequestTimedOut, err.Error()}
	}
	if c.failed != nil {
		return &Error{kerr.KafkaStorageError, c.failed.Error()}
	}
	records, err := f(newView(c.Image(), c.o.Configs, c.o.NodeID))
	if err != nil {
		return err
	}
	return c.commit(records)
}

// Records that are appended at once count together. A change of more is put in a
// metadata transaction of several batches.
const (
	maxRecords     = 10_000 // as in Kafka
	recordsInBatch = 2_000
)

// commit appends records, replays them and tells the subscribers.
func (c *Controller) commit(records []any) error {
	if len(records) == 0 {
		return nil
	}
	if err := c.appendAll(records); err != nil {
		return err
	}
	old := c.Image()
	next, d := c.builder.Publish()
	c.im.Store(next)
	for _, s := range c.subscribers {
		s.tell(old, next, d)
	}
	c.snapshotIfDue()
	return nil
}

func (c *Controller) appendAll(records []any) error {
	if len(records) <= recordsInBatch {
		return c.append(records)
	}
	if !c.Image().MetadataVersion().Transactions() {
		if len(records) > maxRecords {
			return &Error{kerr.PolicyViolation, fmt.Sprintf("The change needs %d records, and metadata.version %v allows %d.", len(records), c.Image().MetadataVersion(), maxRecords)}
		}
		return c.append(records)
	}
	name := "change of " + strconv.Itoa(len(records)) + " records"
	if err := c.append([]any{&kraftrec.BeginTransactionRecord{Name: &name}}); err != nil {
		return err
	}
	for len(records) > 0 {
		n := min(len(records), recordsInBatch)
		if err := c.append(records[:n]); err != nil {
			return c.abort(err)
		}
		records = records[n:]
	}
	if err := c.append([]any{&kraftrec.EndTransactionRecord{}}); err != nil {
		return c.abort(err)
	}
	return nil
}

// abort ends a transaction whose records could not all be appended. If that
// fails too, the next start does it.
func (c *Controller) abort(why error) error {
	reason := "not all records could be written"
	if err := c.append([]any{&kraftrec.AbortTransactionRecord{Reason: &reason}}); err != nil && c.failed == nil {
		c.failed = err
	}
	return why
}

// append appends records as one batch and replays them.
func (c *Controller) append(messages []any) error {
	version := c.builder.MetadataVersion()
	records := make([]image.Record, len(messages))
	for i, m := range messages {
		records[i] = image.NewRecord(m, version)
	}
	at, err := c.log.Append(records)
	switch {
	case errors.Is(err, metalog.ErrTooLarge):
		return &Error{kerr.PolicyViolation, err.Error()}
	case err != nil:
		return &Error{kerr.KafkaStorageError, err.Error()}
	}
	c.builder.SetPosition(at)
	for _, m := range messages {
		if err := c.builder.Replay(m); err != nil {
			// The record is in the log, so every start from now on fails: the
			// controller must not have made it.
			c.failed = fmt.Errorf("record at offset %d: %w", c.builder.Position().Offset, err)
			return &Error{kerr.UnknownServerError, c.failed.Error()}
		}
	}
	return nil
}

// snapshotIfDue writes a snapshot in the background, or sees to it that one is
// written in time.
func (c *Controller) snapshotIfDue() {
	if c.timer == nil {
		c.timer = time.AfterFunc(time.Duration(c.o.Log.SnapshotMs)*time.Millisecond, func() {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.timer = nil
			if c.failed == nil {
				c.snapshotIfDue()
			}
		})
	}
	if c.snapshotting.Load() || !c.log.SnapshotDue() {
		return
	}
	c.snapshotting.Store(true)
	c.timer.Stop() // the next time counts from the next change
	c.timer = nil
	c.log.SnapshotTaken()
	im := c.Image()
	c.done.Go(func() {
		c.snapshot(im)
		c.snapshotting.Store(false)
	})
}

// snapshot writes a snapshot. Without it nothing is missing: the log has all.
func (c *Controller) snapshot(im *image.Image) {
	if err := c.log.Snapshot(im); err != nil {
		c.o.Notice(storage.Notice{Level: storage.Error, Path: metalog.Dir(c.o.Dir), Message: fmt.Sprintf("no snapshot of the metadata at offset %d: %v", im.Position.Offset, err)})
	}
}
