package image

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"kf/internal/format/kraftrec"
	"kf/internal/format/schema"
	"kf/internal/wire"
)

// The ways a record can break the rules of replay; match with errors.Is.
var (
	ErrDuplicate   = errors.New("exists already")
	ErrUnknown     = errors.New("does not exist")
	ErrEpoch       = errors.New("broker epoch is not that of the registration")
	ErrValue       = errors.New("value out of range")
	ErrDirectories = errors.New("not as many directories as replicas")
	ErrTransaction = errors.New("metadata transaction out of order")
)

// An Error says which record broke which rule.
type Error struct {
	Record string // type of the record as Kafka names it: TOPIC_RECORD
	About  string // what it is about: topic "orders", broker 3
	Err    error
}

func (e *Error) Error() string {
	if e.About == "" {
		return e.Record + ": " + e.Err.Error()
	}
	return e.Record + ": " + e.About + ": " + e.Err.Error()
}

func (e *Error) Unwrap() error { return e.Err }

// A Builder replays records on top of an image. It is for one goroutine.
type Builder struct {
	base *Image // as published last
	at   Position
	now  state
	o    *owner

	open *state // what was before the open transaction; nil if none is open
	// began is where the transaction began; the image that is published until
	// it ends stands there.
	began Position

	touched touched
}

// NewBuilder returns a builder on top of an image.
func NewBuilder(base *Image) *Builder {
	return &Builder{base: base, at: base.Position, now: base.state, o: new(owner)}
}

// Position returns where the builder stands.
func (b *Builder) Position() Position { return b.at }

// SetPosition says where the next record comes from. Each record that is
// replayed moves the builder by one offset.
func (b *Builder) SetPosition(p Position) { b.at = p }

// MetadataVersion returns the level of metadata.version where the builder stands.
func (b *Builder) MetadataVersion() MetadataVersion { return b.now.MetadataVersion() }

// DirectoryOwner returns the broker that is registered with a log directory.
func (b *Builder) DirectoryOwner(dir wire.UUID) (broker int32, ok bool) {
	for r := range valuesOf(&b.now.brokers) {
		if slices.Contains(r.LogDirs, dir) {
			return r.ID, true
		}
	}
	return 0, false
}

// InTransaction reports whether a metadata transaction is open.
func (b *Builder) InTransaction() bool { return b.open != nil }

// Publish returns the image of what was replayed, and what differs from the one
// before. An open transaction is not in it.
func (b *Builder) Publish() (*Image, *Delta) {
	next := &Image{b.at, b.now}
	if b.open != nil {
		next = &Image{b.began, *b.open}
	}
	d := b.touched.delta(b.base, next)
	if b.open == nil {
		b.touched = touched{}
	}
	b.base, b.o = next, new(owner)
	return next, d
}

// Replay applies a record, a pointer to one of the structs of package kraftrec,
// which is the image's from then on. An error, an [*Error], leaves the builder
// in no good state.
func (b *Builder) Replay(message any) error {
	about, err := b.replay(message)
	if err == nil {
		b.at.Offset++
		return nil
	}
	name := fmt.Sprintf("%T", message)
	if id, ok := kraftrec.TypeOf(message); ok {
		name = kraftrec.Name(id)
	}
	return &Error{name, about, err}
}

func (b *Builder) replay(message any) (about string, err error) {
	switch r := message.(type) {
	case *kraftrec.RegisterBrokerRecord:
		b.touched.broker(r.BrokerID)
		b.now.brokers.set(b.o, r.BrokerID, &Broker{
			ID: r.BrokerID, Epoch: r.BrokerEpoch, IncarnationID: r.IncarnationID, Endpoints: r.EndPoints, Features: r.Features, Rack: r.Rack,
			Fenced: r.Fenced, InControlledShutdown: r.InControlledShutdown, LogDirs: r.LogDirs, CordonedLogDirs: r.CordonedLogDirs,
			MigratingZK: r.IsMigratingZKBroker, Offset: b.at.Offset,
		})
	case *kraftrec.UnregisterBrokerRecord:
		_, err = b.broker(r.BrokerID, r.BrokerEpoch)
		if err == nil {
			b.touched.broker(r.BrokerID)
			b.now.brokers.delete(b.o, r.BrokerID)
		}
		return aboutBroker(r.BrokerID), err
	case *kraftrec.FenceBrokerRecord:
		return aboutBroker(r.ID), b.changeBroker(r.ID, r.Epoch, 1, 0, nil, nil)
	case *kraftrec.UnfenceBrokerRecord:
		return aboutBroker(r.ID), b.changeBroker(r.ID, r.Epoch, -1, 0, nil, nil)
	case *kraftrec.BrokerRegistrationChangeRecord:
		return aboutBroker(r.BrokerID), b.changeBroker(r.BrokerID, r.BrokerEpoch, r.Fenced, r.InControlledShutdown, r.LogDirs, r.CordonedLogDirs)
	case *kraftrec.RegisterControllerRecord:
		b.touched.controllers = true
		b.now.controllers.set(b.o, r.ControllerID, &Controller{r.ControllerID, r.IncarnationID, r.ZKMigrationReady, r.EndPoints, r.Features})
	case *kraftrec.UnregisterControllerRecord:
		about = fmt.Sprintf("controller %d", r.ControllerID)
		if _, ok := b.now.controllers.get(r.ControllerID); !ok {
			return about, ErrUnknown
		}
		b.touched.controllers = true
		b.now.controllers.delete(b.o, r.ControllerID)
	case *kraftrec.TopicRecord:
		return b.addTopic(r)
	case *kraftrec.RemoveTopicRecord:
		return b.removeTopic(r.TopicID)
	case *kraftrec.PartitionRecord:
		return b.setPartition(r)
	case *kraftrec.PartitionChangeRecord:
		return b.changePartition(r)
	case *kraftrec.ClearELRRecord:
		return b.clearELR(r.TopicName)
	case *kraftrec.ConfigRecord:
		b.setConfig(Resource{ResourceType(r.ResourceType), r.ResourceName}, r.Name, r.Value)
	case *kraftrec.ClientQuotaRecord:
		b.setQuota(r)
	case *kraftrec.ProducerIDsRecord:
		if r.NextProducerID <= b.now.producerIDs {
			return "", fmt.Errorf("%w: next producer ID %d is not above %d", ErrValue, r.NextProducerID, b.now.producerIDs)
		}
		b.touched.producerIDs = true
		b.now.producerIDs = r.NextProducerID
	case *kraftrec.FeatureLevelRecord:
		return "feature " + quote(r.Name), b.setFeature(r.Name, r.FeatureLevel)
	case *kraftrec.AccessControlEntryRecord:
		b.touched.acls = true
		b.now.acls.set(b.o, r.ID, r)
	case *kraftrec.RemoveAccessControlEntryRecord:
		if _, ok := b.now.acls.get(r.ID); !ok {
			return "ACL " + r.ID.String(), ErrUnknown
		}
		b.touched.acls = true
		b.now.acls.delete(b.o, r.ID)
	case *kraftrec.UserScramCredentialRecord:
		b.touched.scram = true
		b.now.scram.set(b.o, scramKey{r.Mechanism, r.Name}, r)
	case *kraftrec.RemoveUserScramCredentialRecord:
		key := scramKey{r.Mechanism, r.Name}
		if _, ok := b.now.scram.get(key); !ok {
			return fmt.Sprintf("user %s, mechanism %d", quote(r.Name), r.Mechanism), ErrUnknown
		}
		b.touched.scram = true
		b.now.scram.delete(b.o, key)
	case *kraftrec.DelegationTokenRecord:
		b.touched.tokens = true
		b.now.tokens.set(b.o, r.TokenID, r)
	case *kraftrec.RemoveDelegationTokenRecord:
		b.touched.tokens = true
		b.now.tokens.delete(b.o, r.TokenID)
	case *kraftrec.BeginTransactionRecord:
		if b.open != nil {
			return "", fmt.Errorf("%w: the one that began at offset %d is open", ErrTransaction, b.began.Offset)
		}
		// What the transaction does must not reach what was before.
		b.open, b.began, b.o = new(b.now), b.at, new(owner)
	case *kraftrec.EndTransactionRecord:
		if b.open == nil {
			return "", fmt.Errorf("%w: none is open", ErrTransaction)
		}
		b.open = nil
	case *kraftrec.AbortTransactionRecord:
		if b.open == nil {
			return "", fmt.Errorf("%w: none is open", ErrTransaction)
		}
		b.now, b.open, b.o = *b.open, nil, new(owner)
	case *kraftrec.NoOpRecord, *kraftrec.ZKMigrationStateRecord:
		// 4.x has no use for the latter.
	default:
		return "", schema.ErrUnknownType
	}
	return about, nil
}

func aboutBroker(id int32) string { return fmt.Sprintf("broker %d", id) }

// quote keeps messages short: a name in a damaged log may be anything.
func quote(s string) string {
	if len(s) > 250 {
		s = s[:250] + "…"
	}
	return fmt.Sprintf("%q", s)
}

func (b *Builder) broker(id int32, epoch int64) (*Broker, error) {
	r, ok := b.now.brokers.get(id)
	switch {
	case !ok:
		return nil, fmt.Errorf("%w: it is not registered", ErrUnknown)
	case r.Epoch != epoch:
		return nil, fmt.Errorf("%w: %d, registered is %d", ErrEpoch, epoch, r.Epoch)
	}
	return r, nil
}

// changeBroker changes a registration: fenced is -1, 0 or 1, leaving 0 or 1;
// nil lists stay as they are, as does an empty list of log directories.
func (b *Builder) changeBroker(id int32, epoch int64, fenced, leaving int8, dirs, cordoned []wire.UUID) error {
	r, err := b.broker(id, epoch)
	if err != nil {
		return err
	}
	next := *r
	switch fenced {
	case -1:
		next.Fenced = false
	case 0:
	case 1:
		next.Fenced = true
	default:
		return fmt.Errorf("%w: fenced is %d", ErrValue, fenced)
	}
	switch leaving {
	case 0:
	case 1:
		next.InControlledShutdown = true
	default:
		return fmt.Errorf("%w: inControlledShutdown is %d", ErrValue, leaving)
	}
	if len(dirs) > 0 {
		next.LogDirs = dirs
	}
	if cordoned != nil {
		next.CordonedLogDirs = cordoned
	}
	b.touched.broker(id)
	b.now.brokers.set(b.o, id, &next)
	return nil
}

func (b *Builder) addTopic(r *kraftrec.TopicRecord) (about string, err error) {
	about = "topic " + quote(r.Name)
	if _, ok := b.now.names.get(r.Name); ok {
		return about, ErrDuplicate
	}
	if t, ok := b.now.topics.get(r.TopicID); ok {
		return about, fmt.Errorf("%w: id %v is that of %s", ErrDuplicate, r.TopicID, quote(t.Name))
	}
	t := &Topic{Name: r.Name, ID: r.TopicID, owner: b.o, partitions: tree[int32, *Partition]{cmp: cmp.Compare[int32]}}
	b.now.names.set(b.o, t.Name, t)
	b.now.topics.set(b.o, t.ID, t)
	b.touched.topic(t.ID)
	return about, nil
}

func (b *Builder) removeTopic(id wire.UUID) (about string, err error) {
	t, ok := b.now.topics.get(id)
	if !ok {
		return "topic id " + id.String(), ErrUnknown
	}
	b.now.topics.delete(b.o, id)
	b.now.names.delete(b.o, t.Name)
	b.touched.topic(id)
	r := Resource{TopicResource, t.Name}
	if v, ok := b.now.configs.get(r); ok {
		for name := range v.tree.all() {
			b.touched.config(r, name)
		}
		b.now.configs.delete(b.o, r)
	}
	return "", nil
}

// topic returns the topic of an id, to be changed.
func (b *Builder) topic(id wire.UUID) (*Topic, bool) {
	t, ok := b.now.topics.get(id)
	if !ok || t.owner == b.o {
		return t, ok
	}
	next := *t
	next.owner = b.o
	b.now.topics.set(b.o, id, &next)
	b.now.names.set(b.o, next.Name, &next)
	return &next, true
}

func (b *Builder) setPartition(r *kraftrec.PartitionRecord) (about string, err error) {
	t, ok := b.topic(r.TopicID)
	if !ok {
		return fmt.Sprintf("partition %d of topic id %v", r.PartitionID, r.TopicID), fmt.Errorf("the topic %w", ErrUnknown)
	}
	p := &Partition{
		ID: r.PartitionID, Replicas: r.Replicas, ISR: r.ISR, AddingReplicas: r.AddingReplicas, RemovingReplicas: r.RemovingReplicas,
		Directories: r.Directories, ELR: r.EligibleLeaderReplicas, LastKnownELR: r.LastKnownELR,
		Leader: r.Leader, LeaderEpoch: r.LeaderEpoch, PartitionEpoch: r.PartitionEpoch, Recovering: r.LeaderRecoveryState == 1,
	}
	if r.LeaderRecoveryState < 0 || r.LeaderRecoveryState > 1 {
		return aboutPartition(t, p.ID), fmt.Errorf("%w: leaderRecoveryState is %d", ErrValue, r.LeaderRecoveryState)
	}
	return b.putPartition(t, p)
}

func (b *Builder) putPartition(t *Topic, p *Partition) (about string, err error) {
	if !slices.ContainsFunc(p.Directories, func(id wire.UUID) bool { return id != Migrating }) {
		p.Directories = make([]wire.UUID, len(p.Replicas))
	}
	if len(p.Directories) != len(p.Replicas) {
		return aboutPartition(t, p.ID), fmt.Errorf("%w: %d and %d", ErrDirectories, len(p.Directories), len(p.Replicas))
	}
	t.partitions.set(b.o, p.ID, p)
	b.touched.partition(t.ID, p.ID)
	return "", nil
}

func aboutPartition(t *Topic, id int32) string {
	return fmt.Sprintf("partition %d of topic %s", id, quote(t.Name))
}

func (b *Builder) changePartition(r *kraftrec.PartitionChangeRecord) (about string, err error) {
	t, ok := b.topic(r.TopicID)
	if !ok {
		return fmt.Sprintf("partition %d of topic id %v", r.PartitionID, r.TopicID), fmt.Errorf("the topic %w", ErrUnknown)
	}
	p, ok := t.partitions.get(r.PartitionID)
	if !ok {
		return aboutPartition(t, r.PartitionID), ErrUnknown
	}
	next, err := p.After(r)
	if err != nil {
		return aboutPartition(t, r.PartitionID), err
	}
	return b.putPartition(t, next)
}

// After returns the partition after a change.
func (p *Partition) After(r *kraftrec.PartitionChangeRecord) (*Partition, error) {
	next := *p
	for _, list := range []struct {
		to   *[]int32
		from []int32
	}{
		{&next.ISR, r.ISR},
		{&next.Replicas, r.Replicas},
		{&next.RemovingReplicas, r.RemovingReplicas},
		{&next.AddingReplicas, r.AddingReplicas},
		{&next.ELR, r.EligibleLeaderReplicas},
		{&next.LastKnownELR, r.LastKnownELR},
	} {
		if list.from != nil {
			*list.to = list.from
		}
	}
	if r.Directories != nil {
		next.Directories = r.Directories
	}
	if r.Leader != noChange {
		next.Leader = r.Leader
		next.LeaderEpoch++
	}
	switch r.LeaderRecoveryState {
	case -1:
	case 0, 1:
		next.Recovering = r.LeaderRecoveryState == 1
	default:
		return nil, fmt.Errorf("%w: leaderRecoveryState is %d", ErrValue, r.LeaderRecoveryState)
	}
	next.PartitionEpoch++
	return &next, nil
}

// noChange is the leader in a change of a partition that keeps it.
const noChange = -2

// clearELR empties the eligible leader replicas of a topic, of all if the name
// is empty. It counts as a change of each partition that has some.
func (b *Builder) clearELR(name string) (about string, err error) {
	if name != "" {
		t, ok := b.now.names.get(name)
		if !ok {
			return "topic " + quote(name), ErrUnknown
		}
		b.clearTopicELR(t)
		return "", nil
	}
	for _, t := range slices.Collect(valuesOf(&b.now.names)) {
		b.clearTopicELR(t)
	}
	return "", nil
}

func (b *Builder) clearTopicELR(t *Topic) {
	for p := range t.Partitions() {
		if len(p.ELR)+len(p.LastKnownELR) == 0 {
			continue
		}
		next := *p
		next.ELR, next.LastKnownELR = nil, nil
		next.PartitionEpoch++
		// The tree that is walked stays: this one is a copy, or its values change in place.
		t, _ = b.topic(t.ID)
		t.partitions.set(b.o, p.ID, &next)
		b.touched.partition(t.ID, p.ID)
	}
}

func (b *Builder) setConfig(r Resource, name string, value *string) {
	v, ok := b.now.configs.get(r)
	switch {
	case !ok && value == nil:
		return
	case !ok:
		v = &values{b.o, tree[string, string]{cmp: strings.Compare}}
		b.now.configs.set(b.o, r, v)
	case v.owner != b.o:
		v = &values{b.o, v.tree}
		b.now.configs.set(b.o, r, v)
	}
	b.touched.config(r, name)
	if value != nil {
		v.tree.set(b.o, name, *value)
		return
	}
	if v.tree.delete(b.o, name); v.tree.len == 0 {
		b.now.configs.delete(b.o, r)
	}
}

func (b *Builder) setQuota(r *kraftrec.ClientQuotaRecord) {
	entity := slices.Clone(r.Entity)
	slices.SortStableFunc(entity, func(a, b kraftrec.QuotaEntity) int { return strings.Compare(a.EntityType, b.EntityType) })
	// A type that occurs twice counts as its last name.
	entity = slices.CompactFunc(reversed(entity), func(a, b kraftrec.QuotaEntity) bool { return a.EntityType == b.EntityType })
	slices.Reverse(entity)
	key := quotaKey(entity)
	q, ok := b.now.quotas.get(key)
	switch {
	case !ok && r.Remove:
		return
	case !ok:
		q = &Quota{entity, tree[string, float64]{cmp: strings.Compare}, b.o}
		b.now.quotas.set(b.o, key, q)
	case q.owner != b.o:
		q = &Quota{q.Entity, q.values, b.o}
		b.now.quotas.set(b.o, key, q)
	}
	b.touched.quotas = true
	if !r.Remove {
		q.values.set(b.o, r.Key, r.Value)
		return
	}
	if q.values.delete(b.o, r.Key); q.values.len == 0 {
		b.now.quotas.delete(b.o, key)
	}
}

func reversed[T any](s []T) []T {
	slices.Reverse(s)
	return s
}

func quotaKey(entity []kraftrec.QuotaEntity) string {
	var key strings.Builder
	for _, e := range entity {
		if e.EntityName == nil {
			fmt.Fprintf(&key, "%q,", e.EntityType)
		} else {
			fmt.Fprintf(&key, "%q=%q,", e.EntityType, *e.EntityName)
		}
	}
	return key.String()
}

func (b *Builder) setFeature(name string, level int16) error {
	r, ok := Supported[name]
	if !ok && level != 0 {
		return fmt.Errorf("%w: level %d of a feature that is not known", ErrValue, level)
	}
	if level < r.Min || level > r.Max {
		return fmt.Errorf("%w: level %d, supported are %d to %d", ErrValue, level, r.Min, r.Max)
	}
	b.touched.features = true
	if level == 0 {
		b.now.features.delete(b.o, name)
	} else {
		b.now.features.set(b.o, name, level)
	}
	return nil
}
