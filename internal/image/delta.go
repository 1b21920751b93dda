package image

import (
	"cmp"
	"slices"
	"strings"

	"kf/internal/wire"
)

// A Delta is what differs between two images. Lists are in the order of names
// and numbers.
type Delta struct {
	Created []*Topic // as they are now
	Deleted []*Topic // as they were; a topic made anew under its name has another id
	// Partitions has the new and the changed partitions, those of created
	// topics included, those of deleted ones not.
	Partitions []PartitionChange
	Configs    []ConfigChange
	Brokers    []BrokerChange

	Features, Controllers, Quotas, ProducerIDs, ACLs, Scram, Tokens bool
}

// A PartitionChange is a partition that differs.
type PartitionChange struct {
	Topic *Topic     // as it is now
	Old   *Partition // nil if it is new
	New   *Partition
}

// A ConfigChange is a configuration that differs. A topic that is deleted loses
// its configurations.
type ConfigChange struct {
	Resource Resource
	Name     string
	Old, New *string // nil if it was, or is, not set
}

// A BrokerChange is a registration that differs.
type BrokerChange struct {
	Old, New *Broker // nil if there was, or is, none
}

// touched is what records named. What of it differs shows only when both images
// are there: a transaction may be aborted, a change may change nothing.
type touched struct {
	topics  map[wire.UUID]map[int32]struct{}
	configs map[configKey]struct{}
	brokers map[int32]struct{}

	features, controllers, quotas, producerIDs, acls, scram, tokens bool
}

type configKey struct {
	Resource
	name string
}

func (t *touched) topic(id wire.UUID) {
	if t.topics == nil {
		t.topics = map[wire.UUID]map[int32]struct{}{}
	}
	if _, ok := t.topics[id]; !ok {
		t.topics[id] = nil
	}
}

func (t *touched) partition(topic wire.UUID, id int32) {
	t.topic(topic)
	if t.topics[topic] == nil {
		t.topics[topic] = map[int32]struct{}{}
	}
	t.topics[topic][id] = struct{}{}
}

func (t *touched) config(r Resource, name string) {
	if t.configs == nil {
		t.configs = map[configKey]struct{}{}
	}
	t.configs[configKey{r, name}] = struct{}{}
}

func (t *touched) broker(id int32) {
	if t.brokers == nil {
		t.brokers = map[int32]struct{}{}
	}
	t.brokers[id] = struct{}{}
}

// delta compares what was touched.
func (t *touched) delta(old, new *Image) *Delta {
	d := &Delta{
		Features: t.features, Controllers: t.controllers, Quotas: t.quotas, ProducerIDs: t.producerIDs,
		ACLs: t.acls, Scram: t.scram, Tokens: t.tokens,
	}
	for id, partitions := range t.topics {
		before, after := old.TopicByID(id), new.TopicByID(id)
		switch {
		case before == nil && after == nil:
			continue
		case after == nil:
			d.Deleted = append(d.Deleted, before)
			continue
		case before == nil:
			d.Created = append(d.Created, after)
		}
		for p := range partitions {
			c := PartitionChange{Topic: after, New: after.Partition(p)}
			if before != nil {
				c.Old = before.Partition(p)
			}
			if c.New != c.Old {
				d.Partitions = append(d.Partitions, c)
			}
		}
	}
	for key := range t.configs {
		c := ConfigChange{Resource: key.Resource, Name: key.name, Old: old.config(key), New: new.config(key)}
		if (c.Old == nil) != (c.New == nil) || c.Old != nil && *c.Old != *c.New {
			d.Configs = append(d.Configs, c)
		}
	}
	for id := range t.brokers {
		if c := (BrokerChange{old.Broker(id), new.Broker(id)}); c.Old != c.New {
			d.Brokers = append(d.Brokers, c)
		}
	}
	d.sort()
	return d
}

// Everything returns the difference between an empty image and im.
func Everything(im *Image) *Delta {
	t := touched{features: true, controllers: true, quotas: true, producerIDs: true, acls: true, scram: true, tokens: true}
	for topic := range im.Topics() {
		t.topic(topic.ID)
		for p := range topic.Partitions() {
			t.partition(topic.ID, p.ID)
		}
	}
	for r := range im.Resources() {
		for name := range im.Configs(r) {
			t.config(r, name)
		}
	}
	for b := range im.Brokers() {
		t.broker(b.ID)
	}
	return t.delta(Empty(), im)
}

func (im *Image) config(key configKey) *string {
	if value, ok := im.Config(key.Resource, key.name); ok {
		return &value
	}
	return nil
}

func (d *Delta) sort() {
	byName := func(a, b *Topic) int { return strings.Compare(a.Name, b.Name) }
	slices.SortFunc(d.Created, byName)
	slices.SortFunc(d.Deleted, byName)
	slices.SortFunc(d.Partitions, func(a, b PartitionChange) int {
		return cmp.Or(strings.Compare(a.Topic.Name, b.Topic.Name), cmp.Compare(a.New.ID, b.New.ID))
	})
	slices.SortFunc(d.Configs, func(a, b ConfigChange) int {
		return cmp.Or(compareResource(a.Resource, b.Resource), strings.Compare(a.Name, b.Name))
	})
	slices.SortFunc(d.Brokers, func(a, b BrokerChange) int { return cmp.Compare(a.id(), b.id()) })
}

func (c BrokerChange) id() int32 {
	if c.New != nil {
		return c.New.ID
	}
	return c.Old.ID
}
