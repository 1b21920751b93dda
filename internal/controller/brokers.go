package controller

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"

	"kf/internal/format/kraftrec"
	"kf/internal/image"
	"kf/internal/wire"
)

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

// RegisterBroker registers a broker, fenced, and returns its broker epoch. It
// settles first what the broker left when it stopped: after a clean stop it is
// eligible where it was; after another one, with eligible leader replicas, it is
// in no ISR any more, since it may have lost what it had.
//
// Source: Kafka 4.4.0, ClusterControlManager.java, registerBroker.
func (c *Controller) RegisterBroker(ctx context.Context, r Registration) (epoch int64, err error) {
	err = c.change(ctx, func(v view) ([]any, error) {
		if r.Features == nil {
			r.Features = supportedFeatures()
		}
		if err := v.checkRegistration(r); err != nil {
			return nil, err
		}
		record := &kraftrec.RegisterBrokerRecord{
			BrokerID: r.BrokerID, IncarnationID: r.IncarnationID, BrokerEpoch: c.log.End(), EndPoints: r.Endpoints, Features: r.Features, Rack: r.Rack, Fenced: true,
		}
		if v.MetadataVersion().Directories() {
			record.LogDirs = r.LogDirs
		}
		old := v.Broker(r.BrokerID)
		var records []any
		if old != nil && old.IncarnationID == r.IncarnationID {
			record.BrokerEpoch, record.Fenced, record.InControlledShutdown = old.Epoch, old.Fenced, old.InControlledShutdown
		} else {
			clean := !v.ELREnabled() || old != nil && old.Epoch == r.PreviousEpoch
			records = v.stopped(r.BrokerID, clean)
		}
		epoch = record.BrokerEpoch
		return append(records, record), nil
	})
	return epoch, err
}

// stopped returns the changes of partitions after a stop of a broker.
func (v view) stopped(broker int32, clean bool) []any {
	if clean {
		return v.reelect(cause{gone: broker, back: image.NoLeader, unclean: image.NoLeader}, inISR(broker))
	}
	return v.reelect(cause{gone: image.NoLeader, back: image.NoLeader, unclean: broker}, inISROrELR(broker))
}

func inISR(broker int32) func(*image.Partition) bool {
	return func(p *image.Partition) bool { return slices.Contains(p.ISR, broker) }
}

func inISROrELR(broker int32) func(*image.Partition) bool {
	return func(p *image.Partition) bool {
		return slices.Contains(p.ISR, broker) || slices.Contains(p.ELR, broker)
	}
}

func (v view) checkRegistration(r Registration) error {
	ranges := map[string]kraftrec.BrokerFeature{}
	for _, f := range r.Features {
		ranges[f.Name] = f
	}
	for name, level := range v.Features() {
		if f := ranges[name]; level < f.MinSupportedVersion || level > f.MaxSupportedVersion {
			return &Error{kerr.UnsupportedVersion, fmt.Sprintf("Unable to register because the broker does not support finalized version %d of %s. The broker wants a version between %d and %d, inclusive.",
				level, name, f.MinSupportedVersion, f.MaxSupportedVersion)}
		}
	}
	if !v.MetadataVersion().Directories() {
		return nil
	}
	if len(r.LogDirs) == 0 {
		return &Error{kerr.InvalidRegistration, "No directories specified in request"}
	}
	for i, dir := range r.LogDirs {
		if image.ReservedDirectory(dir) {
			return &Error{kerr.InvalidRegistration, "Reserved directory ID in request"}
		}
		if slices.Contains(r.LogDirs[:i], dir) {
			return &Error{kerr.InvalidRegistration, "Duplicate directory ID in request"}
		}
		for b := range v.Brokers() {
			if b.ID != r.BrokerID && slices.Contains(b.LogDirs, dir) {
				return &Error{kerr.InvalidRegistration, fmt.Sprintf("Broker %d is already registered with directory %v", b.ID, dir)}
			}
		}
	}
	return nil
}

// broker returns a registration if the epoch is that of it.
func (v view) broker(id int32, epoch int64) (*image.Broker, error) {
	switch b := v.Broker(id); {
	case b == nil:
		return nil, &Error{kerr.StaleBrokerEpoch, fmt.Sprintf("No broker registration found for broker id %d", id)}
	case b.Epoch != epoch:
		return nil, &Error{kerr.StaleBrokerEpoch, fmt.Sprintf("Expected broker epoch %d, but got broker epoch %d", b.Epoch, epoch)}
	default:
		return b, nil
	}
}

// Unfence lets a registered broker lead and join ISRs, and elects it for the
// partitions that waited for it.
func (c *Controller) Unfence(ctx context.Context, broker int32, epoch int64) error {
	return c.change(ctx, func(v view) ([]any, error) {
		b, err := v.broker(broker, epoch)
		if err != nil || !b.Fenced {
			return nil, err
		}
		var records []any
		if v.MetadataVersion().CordonedDirs() && b.CordonedLogDirs == nil {
			records = append(records, &kraftrec.BrokerRegistrationChangeRecord{BrokerID: broker, BrokerEpoch: epoch, CordonedLogDirs: []wire.UUID{}})
		}
		records = append(records, &kraftrec.BrokerRegistrationChangeRecord{BrokerID: broker, BrokerEpoch: epoch, Fenced: -1})
		leaderless := func(p *image.Partition) bool { return p.Leader == image.NoLeader }
		return append(records, v.reelect(cause{gone: image.NoLeader, back: broker, unclean: image.NoLeader}, leaderless)...), nil
	})
}

// Fence takes a broker out of every ISR and elects others for what it led, as
// when its session is over.
func (c *Controller) Fence(ctx context.Context, broker int32, epoch int64) error {
	return c.change(ctx, func(v view) ([]any, error) {
		b, err := v.broker(broker, epoch)
		if err != nil || b.Fenced {
			return nil, err
		}
		return v.fence(broker, epoch), nil
	})
}

func (v view) fence(broker int32, epoch int64) []any {
	records := v.reelect(cause{gone: broker, back: image.NoLeader, unclean: image.NoLeader}, inISR(broker))
	return append(records, &kraftrec.BrokerRegistrationChangeRecord{BrokerID: broker, BrokerEpoch: epoch, Fenced: 1})
}

// ControlledShutdown moves what the broker leads to others and fences it; when
// it returns nil the broker may stop. Partitions without another replica in
// sync end without a leader, this one eligible.
func (c *Controller) ControlledShutdown(ctx context.Context, broker int32, epoch int64) error {
	// A broker that leads is told to others as leaving before it is fenced, so
	// that they take over while it still answers.
	err := c.change(ctx, func(v view) ([]any, error) {
		b, err := v.broker(broker, epoch)
		if err != nil || !b.Active() || !v.leads(broker) {
			return nil, err
		}
		records := []any{&kraftrec.BrokerRegistrationChangeRecord{BrokerID: broker, BrokerEpoch: epoch, InControlledShutdown: 1}}
		return append(records, v.reelect(cause{gone: broker, back: image.NoLeader, unclean: image.NoLeader}, inISR(broker))...), nil
	})
	if err != nil {
		return err
	}
	return c.Fence(ctx, broker, epoch)
}

func (v view) leads(broker int32) bool {
	for t := range v.Topics() {
		for p := range t.Partitions() {
			if p.Leader == broker {
				return true
			}
		}
	}
	return false
}

// UnregisterBroker forgets a broker.
func (c *Controller) UnregisterBroker(ctx context.Context, broker int32) error {
	return c.change(ctx, func(v view) ([]any, error) {
		b := v.Broker(broker)
		if b == nil {
			return nil, &Error{kerr.BrokerIDNotRegistered, fmt.Sprintf("Broker ID %d is not currently registered", broker)}
		}
		records := v.reelect(cause{gone: broker, back: image.NoLeader, unclean: image.NoLeader}, inISROrELR(broker))
		return append(records, &kraftrec.UnregisterBrokerRecord{BrokerID: broker, BrokerEpoch: b.Epoch}), nil
	})
}

// ProducerIDBlock is how many producer IDs a block has.
const ProducerIDBlock = 1000

// AllocateProducerIDs gives a block of producer IDs to a broker.
func (c *Controller) AllocateProducerIDs(ctx context.Context, broker int32, epoch int64) (first int64, n int32, err error) {
	err = c.change(ctx, func(v view) ([]any, error) {
		if _, err := v.broker(broker, epoch); err != nil {
			return nil, err
		}
		first = v.NextProducerID()
		if first > math.MaxInt64-ProducerIDBlock {
			return nil, &Error{kerr.UnknownServerError, "Exhausted all producerIds as the next block's end producerId has exceeded the int64 type limit"}
		}
		return []any{&kraftrec.ProducerIDsRecord{BrokerID: broker, BrokerEpoch: epoch, NextProducerID: first + ProducerIDBlock}}, nil
	})
	if err != nil {
		return 0, 0, err
	}
	return first, ProducerIDBlock, nil
}

// A DirectoryAssignment says that a replica is in a log directory.
type DirectoryAssignment struct {
	TopicID   wire.UUID
	Partition int32
	Directory wire.UUID
}

// AssignDirectories notes in which of its log directories replicas of a broker
// are. A broker whose directory ids changed calls it before [Controller.Unfence]:
// who is in a log directory that is not online is not elected. Partitions that
// are gone meanwhile are passed over.
func (c *Controller) AssignDirectories(ctx context.Context, broker int32, epoch int64, dirs []DirectoryAssignment) error {
	return c.change(ctx, func(v view) ([]any, error) {
		if _, err := v.broker(broker, epoch); err != nil {
			return nil, err
		}
		if !v.MetadataVersion().Directories() {
			return nil, &Error{kerr.UnsupportedVersion, "Directory assignment is not supported yet."}
		}
		var records []any
		for _, d := range dirs {
			t := v.TopicByID(d.TopicID)
			if t == nil {
				continue
			}
			p := t.Partition(d.Partition)
			if p == nil || !slices.Contains(p.Replicas, broker) {
				continue
			}
			next := *p
			next.Directories = slices.Clone(p.Directories)
			next.Directories[slices.Index(p.Replicas, broker)] = d.Directory
			a := v.alter(t, p, v.active)
			a.next = next
			if r := a.record(); r != nil {
				records = append(records, r)
			}
		}
		return records, nil
	})
}
