// Package image turns the records of a KRaft metadata log into the state of a
// cluster.
//
//	Image    the state at an offset; immutable, so that any number of readers
//	         share it
//	Builder  replays records on top of an image, then publishes the next one
//	Delta    what differs between two images that a builder published
//
// An image shares with the one before whatever did not change: an image more
// costs a few nodes of a tree, also in a cluster of 100,000 partitions.
//
// The rules of replay are those of Kafka's controller, the strictest of its
// readers: what stops a node of Kafka is an [*Error] here.
//
// Source: Kafka 4.4.0, org.apache.kafka.image and org.apache.kafka.controller.
package image

import (
	"bytes"
	"cmp"
	"iter"
	"slices"
	"strings"

	"kf/internal/format/kraftrec"
	"kf/internal/wire"
)

// A Position is where in the metadata log an image stands.
type Position struct {
	Offset    int64 // of the next record: the image has what is below
	Epoch     int32 // leader epoch of the last record, 0 if there is none
	Timestamp int64 // ms, of the last record's batch, 0 if there is none
}

// An Image is the state of a cluster. The values that it hands out belong to
// it: nobody changes them.
type Image struct {
	Position Position
	state
}

type state struct {
	features    tree[string, int16]
	brokers     tree[int32, *Broker]
	controllers tree[int32, *Controller]
	names       tree[string, *Topic]
	topics      tree[wire.UUID, *Topic]
	configs     tree[Resource, *values]
	quotas      tree[string, *Quota]
	producerIDs int64
	acls        tree[wire.UUID, *ACL]
	scram       tree[scramKey, *ScramCredential]
	tokens      tree[string, *DelegationToken]
}

// values are the configs of a resource.
type values struct {
	owner *owner
	tree  tree[string, string]
}

type scramKey struct {
	mechanism int8
	user      string
}

// Empty returns the image of a cluster without anything.
func Empty() *Image {
	return &Image{state: state{
		features:    tree[string, int16]{cmp: strings.Compare},
		brokers:     tree[int32, *Broker]{cmp: cmp.Compare[int32]},
		controllers: tree[int32, *Controller]{cmp: cmp.Compare[int32]},
		names:       tree[string, *Topic]{cmp: strings.Compare},
		topics:      tree[wire.UUID, *Topic]{cmp: compareUUID},
		configs:     tree[Resource, *values]{cmp: compareResource},
		quotas:      tree[string, *Quota]{cmp: strings.Compare},
		producerIDs: -1,
		acls:        tree[wire.UUID, *ACL]{cmp: compareUUID},
		scram:       tree[scramKey, *ScramCredential]{cmp: compareScram},
		tokens:      tree[string, *DelegationToken]{cmp: strings.Compare},
	}}
}

func compareUUID(a, b wire.UUID) int { return bytes.Compare(a[:], b[:]) }

func compareResource(a, b Resource) int {
	return cmp.Or(cmp.Compare(a.Type, b.Type), strings.Compare(a.Name, b.Name))
}

func compareScram(a, b scramKey) int {
	return cmp.Or(cmp.Compare(a.mechanism, b.mechanism), strings.Compare(a.user, b.user))
}

// A Broker is the registration of a broker.
type Broker struct {
	ID                   int32
	Epoch                int64 // offset of the batch of the registration
	IncarnationID        wire.UUID
	Endpoints            []kraftrec.BrokerEndpoint
	Features             []kraftrec.BrokerFeature
	Rack                 *string // nil if there is none
	Fenced               bool
	InControlledShutdown bool
	LogDirs              []wire.UUID // the log directories that are online
	CordonedLogDirs      []wire.UUID // nil if not known
	MigratingZK          bool
	// Offset is that of the newest registration record, which a broker must
	// have replayed before it is unfenced.
	Offset int64
}

// Active reports whether the broker may lead and join an ISR.
func (b *Broker) Active() bool { return b != nil && !b.Fenced && !b.InControlledShutdown }

// A Controller is the registration of a controller.
type Controller struct {
	ID               int32
	IncarnationID    wire.UUID
	ZKMigrationReady bool
	Endpoints        []kraftrec.BrokerEndpoint
	Features         []kraftrec.BrokerFeature
}

// A Topic is a topic with its partitions.
type Topic struct {
	Name       string
	ID         wire.UUID
	owner      *owner
	partitions tree[int32, *Partition]
}

// Partition returns a partition, nil if there is no such.
func (t *Topic) Partition(id int32) *Partition {
	p, _ := t.partitions.get(id)
	return p
}

// Partitions yields the partitions by rising number.
func (t *Topic) Partitions() iter.Seq[*Partition] { return valuesOf(&t.partitions) }

// Len returns the number of partitions.
func (t *Topic) Len() int { return t.partitions.len }

// No broker, in the place of one that leads.
const NoLeader = -1

// A Partition is the state of a partition.
type Partition struct {
	ID               int32
	Replicas         []int32
	ISR              []int32
	AddingReplicas   []int32
	RemovingReplicas []int32
	// Directories has for each of Replicas the directory id of its log
	// directory, or one of [Migrating], [Unassigned] and [Lost].
	Directories    []wire.UUID
	ELR            []int32 // eligible leader replicas, KIP-966
	LastKnownELR   []int32
	Leader         int32 // NoLeader if there is none
	LeaderEpoch    int32
	PartitionEpoch int32
	Recovering     bool // the leader was elected uncleanly and has not recovered yet
}

// Reserved directory ids.
var (
	Migrating  = wire.UUID{}       // written by a release before directory ids
	Unassigned = wire.UUID{15: 1}  // the broker chooses
	Lost       = wire.UUID{15: 2}  // was in a log directory that is gone
	reserved   = wire.UUID{15: 99} // the last of them
)

// ReservedDirectory reports whether no log directory may have the id.
func ReservedDirectory(id wire.UUID) bool {
	// Kafka compares the second half as a signed number.
	return [8]byte(id[:8]) == [8]byte{} && (id[8] >= 0x80 || compareUUID(id, reserved) <= 0)
}

// Directory returns the directory id of a replica, ok false if the broker has
// none.
func (p *Partition) Directory(broker int32) (id wire.UUID, ok bool) {
	i := slices.Index(p.Replicas, broker)
	if i < 0 || i >= len(p.Directories) {
		return wire.UUID{}, false
	}
	return p.Directories[i], true
}

// Preferred returns the first of the replicas, NoLeader if there is none.
func (p *Partition) Preferred() int32 {
	if len(p.Replicas) == 0 {
		return NoLeader
	}
	return p.Replicas[0]
}

// Reassigning reports whether replicas are being added or removed.
func (p *Partition) Reassigning() bool { return len(p.AddingReplicas)+len(p.RemovingReplicas) > 0 }

// A ResourceType is what has configurations.
type ResourceType int8

// The types of resources.
const (
	TopicResource         ResourceType = 2
	BrokerResource        ResourceType = 4 // the name is "" for the default of all brokers
	BrokerLoggerResource  ResourceType = 8
	ClientMetricsResource ResourceType = 16
	GroupResource         ResourceType = 32
)

// A Resource is something that has configurations.
type Resource struct {
	Type ResourceType
	Name string
}

// A Quota is the quotas of an entity.
type Quota struct {
	// Entity is sorted by type; a nil name stands for the default.
	Entity []kraftrec.QuotaEntity
	values tree[string, float64]
	owner  *owner
}

// Values yields the quotas by key.
func (q *Quota) Values() iter.Seq2[string, float64] { return q.values.all() }

// An ACL is an access control entry.
type ACL = kraftrec.AccessControlEntryRecord

// A ScramCredential is what a user proves its password by.
type ScramCredential = kraftrec.UserScramCredentialRecord

// A DelegationToken is a delegation token.
type DelegationToken = kraftrec.DelegationTokenRecord

// Feature returns the finalised level of a feature, 0 if it has none.
func (im *Image) Feature(name string) int16 {
	level, _ := im.features.get(name)
	return level
}

// Features yields the finalised features by name.
func (im *Image) Features() iter.Seq2[string, int16] { return im.features.all() }

// MetadataVersion returns the level of metadata.version, 0 if there is none.
func (s *state) MetadataVersion() MetadataVersion {
	level, _ := s.features.get(FeatureMetadataVersion)
	return MetadataVersion(level)
}

// ELREnabled reports whether eligible leader replicas are kept.
func (im *Image) ELREnabled() bool { return im.Feature(FeatureELR) > 0 }

// Broker returns the registration of a broker, nil if there is none.
func (im *Image) Broker(id int32) *Broker {
	b, _ := im.brokers.get(id)
	return b
}

// Brokers yields the registrations by rising id.
func (im *Image) Brokers() iter.Seq[*Broker] { return valuesOf(&im.brokers) }

// Controller returns the registration of a controller, nil if there is none.
func (im *Image) Controller(id int32) *Controller {
	c, _ := im.controllers.get(id)
	return c
}

// Controllers yields the registrations by rising id.
func (im *Image) Controllers() iter.Seq[*Controller] { return valuesOf(&im.controllers) }

// Topic returns the topic of a name, nil if there is none.
func (im *Image) Topic(name string) *Topic {
	t, _ := im.names.get(name)
	return t
}

// TopicByID returns the topic of an id, nil if there is none.
func (im *Image) TopicByID(id wire.UUID) *Topic {
	t, _ := im.topics.get(id)
	return t
}

// Topics yields the topics by name.
func (im *Image) Topics() iter.Seq[*Topic] { return valuesOf(&im.names) }

// TopicsFrom yields the topics whose names are not below name.
func (im *Image) TopicsFrom(name string) iter.Seq[*Topic] {
	return func(yield func(*Topic) bool) {
		for _, t := range im.names.from(name) {
			if !yield(t) {
				return
			}
		}
	}
}

// TopicCount returns the number of topics.
func (im *Image) TopicCount() int { return im.names.len }

// Config returns a configuration that is set for a resource.
func (im *Image) Config(r Resource, name string) (value string, ok bool) {
	if v, found := im.configs.get(r); found {
		return v.tree.get(name)
	}
	return "", false
}

// Configs yields the configurations that are set for a resource, by name.
func (im *Image) Configs(r Resource) iter.Seq2[string, string] {
	if v, ok := im.configs.get(r); ok {
		return v.tree.all()
	}
	return func(func(string, string) bool) {}
}

// Resources yields the resources that have configurations, by type and name.
func (im *Image) Resources() iter.Seq[Resource] {
	return func(yield func(Resource) bool) {
		for r := range im.configs.all() {
			if !yield(r) {
				return
			}
		}
	}
}

// Quotas yields the entities that have quotas.
func (im *Image) Quotas() iter.Seq[*Quota] { return valuesOf(&im.quotas) }

// NextProducerID returns the first producer ID that no block has, 0 if no block
// was given out.
func (im *Image) NextProducerID() int64 { return max(0, im.producerIDs) }

// ACLs yields the access control entries by id.
func (im *Image) ACLs() iter.Seq[*ACL] { return valuesOf(&im.acls) }

// ScramCredential returns the credential of a user, nil if there is none.
func (im *Image) ScramCredential(mechanism int8, user string) *ScramCredential {
	c, _ := im.scram.get(scramKey{mechanism, user})
	return c
}

// ScramCredentials yields the credentials by mechanism and user.
func (im *Image) ScramCredentials() iter.Seq[*ScramCredential] { return valuesOf(&im.scram) }

// DelegationTokens yields the delegation tokens by id.
func (im *Image) DelegationTokens() iter.Seq[*DelegationToken] { return valuesOf(&im.tokens) }

func valuesOf[K, V any](t *tree[K, V]) iter.Seq[V] {
	return func(yield func(V) bool) {
		for _, v := range t.all() {
			if !yield(v) {
				return
			}
		}
	}
}
