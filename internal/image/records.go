package image

import (
	"iter"

	"kf/internal/format/kraftrec"
	"kf/internal/wire"
)

// A Record is a record to be written: a message, a pointer to one of the structs
// of package kraftrec, and the version in which.
type Record struct {
	Message any
	Version int16
}

// NewRecord returns the record of a message in the version that a metadata.version
// wants.
func NewRecord(message any, v MetadataVersion) Record {
	switch m := message.(type) {
	case *kraftrec.RegisterBrokerRecord:
		return Record{m, v.registerBroker()}
	case *kraftrec.PartitionRecord, *kraftrec.PartitionChangeRecord:
		return Record{m, v.partition()}
	case *kraftrec.BrokerRegistrationChangeRecord:
		switch {
		case m.CordonedLogDirs != nil:
			return Record{m, 3}
		case len(m.LogDirs) > 0:
			return Record{m, 2}
		case m.InControlledShutdown != 0:
			return Record{m, 1}
		}
	}
	return Record{message, 0}
}

// Records yields the records of a snapshot of the image, in Kafka's order; where
// Kafka's is that of a hash map, sorted.
//
// Source: Kafka 4.4.0, MetadataImage.java and the images it writes.
func (im *Image) Records() iter.Seq[Record] {
	v := im.MetadataVersion()
	return func(yield func(Record) bool) {
		for message := range im.messages(v) {
			if !yield(NewRecord(message, v)) {
				return
			}
		}
	}
}

func (im *Image) messages(v MetadataVersion) iter.Seq[any] {
	return func(yield func(any) bool) {
		for _, part := range []iter.Seq[any]{
			im.featureRecords(),
			im.brokerRecords(v),
			im.controllerRecords(),
			im.topicRecords(v),
			im.configRecords(),
			im.quotaRecords(),
			im.producerIDRecords(),
			pointers(im.ACLs()),
			pointers(im.ScramCredentials()),
			pointers(im.DelegationTokens()),
		} {
			for message := range part {
				if !yield(message) {
					return
				}
			}
		}
	}
}

func pointers[T any](seq iter.Seq[*T]) iter.Seq[any] {
	return func(yield func(any) bool) {
		for v := range seq {
			if !yield(v) {
				return
			}
		}
	}
}

func (im *Image) featureRecords() iter.Seq[any] {
	return func(yield func(any) bool) {
		if v := im.MetadataVersion(); v > 0 && !yield(&kraftrec.FeatureLevelRecord{Name: FeatureMetadataVersion, FeatureLevel: int16(v)}) {
			return
		}
		for name, level := range im.Features() {
			if name != FeatureMetadataVersion && !yield(&kraftrec.FeatureLevelRecord{Name: name, FeatureLevel: level}) {
				return
			}
		}
	}
}

func (im *Image) brokerRecords(v MetadataVersion) iter.Seq[any] {
	return func(yield func(any) bool) {
		for b := range im.Brokers() {
			if !yield(b.record(v)) {
				return
			}
		}
	}
}

func (b *Broker) record(v MetadataVersion) *kraftrec.RegisterBrokerRecord {
	r := &kraftrec.RegisterBrokerRecord{
		BrokerID: b.ID, IncarnationID: b.IncarnationID, BrokerEpoch: b.Epoch, EndPoints: b.Endpoints, Features: b.Features, Rack: b.Rack,
		Fenced: b.Fenced, InControlledShutdown: b.InControlledShutdown,
	}
	if v >= 8 {
		r.IsMigratingZKBroker = b.MigratingZK
	}
	if v.Directories() {
		r.LogDirs = b.LogDirs
	}
	if v.CordonedDirs() {
		r.CordonedLogDirs = b.CordonedLogDirs
	}
	return r
}

func (im *Image) controllerRecords() iter.Seq[any] {
	return func(yield func(any) bool) {
		for c := range im.Controllers() {
			r := &kraftrec.RegisterControllerRecord{
				ControllerID: c.ID, IncarnationID: c.IncarnationID, ZKMigrationReady: c.ZKMigrationReady, EndPoints: c.Endpoints, Features: c.Features,
			}
			if !yield(r) {
				return
			}
		}
	}
}

func (im *Image) topicRecords(v MetadataVersion) iter.Seq[any] {
	return func(yield func(any) bool) {
		for t := range im.Topics() {
			if !yield(&kraftrec.TopicRecord{Name: t.Name, TopicID: t.ID}) {
				return
			}
			for p := range t.Partitions() {
				if !yield(p.Record(t.ID, v)) {
					return
				}
			}
		}
	}
}

// Record returns the record that makes the partition, of the topic with that id,
// as it is.
func (p *Partition) Record(topic wire.UUID, v MetadataVersion) *kraftrec.PartitionRecord {
	r := &kraftrec.PartitionRecord{
		PartitionID: p.ID, TopicID: topic, Replicas: p.Replicas, ISR: p.ISR, RemovingReplicas: p.RemovingReplicas, AddingReplicas: p.AddingReplicas,
		Leader: p.Leader, LeaderEpoch: p.LeaderEpoch, PartitionEpoch: p.PartitionEpoch,
	}
	if p.Recovering {
		r.LeaderRecoveryState = 1
	}
	if v.Directories() {
		r.Directories = p.Directories
	}
	if v.ELR() && len(p.ELR) > 0 {
		r.EligibleLeaderReplicas = p.ELR
	}
	if v.ELR() && len(p.LastKnownELR) > 0 {
		r.LastKnownELR = p.LastKnownELR
	}
	return r
}

func (im *Image) configRecords() iter.Seq[any] {
	return func(yield func(any) bool) {
		for r, v := range im.configs.all() {
			for name, value := range v.tree.all() {
				if !yield(&kraftrec.ConfigRecord{ResourceType: int8(r.Type), ResourceName: r.Name, Name: name, Value: &value}) {
					return
				}
			}
		}
	}
}

func (im *Image) quotaRecords() iter.Seq[any] {
	return func(yield func(any) bool) {
		for q := range im.Quotas() {
			for key, value := range q.Values() {
				if !yield(&kraftrec.ClientQuotaRecord{Entity: q.Entity, Key: key, Value: value}) {
					return
				}
			}
		}
	}
}

func (im *Image) producerIDRecords() iter.Seq[any] {
	return func(yield func(any) bool) {
		if im.producerIDs >= 0 {
			yield(&kraftrec.ProducerIDsRecord{BrokerID: -1, BrokerEpoch: -1, NextProducerID: im.producerIDs})
		}
	}
}
