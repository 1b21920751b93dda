package group

import (
	"bytes"
	"maps"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"

	"kf/internal/coordinator/assignor"
	"kf/internal/coordinator/shard"
	"kf/internal/image"
	"kf/internal/wire"
)

// assign computes the target assignment for the group epoch of a change. It returns
// the records of what differs from the last one, and the target of the member.
//
// Source: Kafka 4.4.0, TargetAssignmentBuilder.java.
func (ch *consumerChange) assign() ([]shard.Record, assignor.Partitions, error) {
	g := ch.g
	name := preferred(ch.votes(), ch.config.Assignors)
	members := maps.Clone(g.members)
	if before := g.static(ch.updated.instance); before != nil {
		delete(members, before.id)
	}
	members[ch.updated.id] = ch.updated

	ids := slices.Sorted(maps.Keys(members))
	spec := assignor.Spec{Members: make([]assignor.Member, len(ids)), Homogeneous: g.demandWith(ch.old, ch.updated).homogeneous()}
	interest := interests{g: g, image: ch.m.image, known: make(map[string][]wire.UUID)}
	for i, id := range ids {
		m := members[id]
		spec.Members[i] = assignor.Member{ID: id, Instance: m.instance, Topics: interest.of(m), Owned: ch.lastTarget(m)}
	}
	targets, err := assignorNamed(name, ch.config.Assignors).Assign(spec, topicsOf{ch.m.image})
	if err != nil {
		ch.m.log.Error("no assignment could be computed", "group", g.groupID, "epoch", ch.epoch, "assignor", name, "error", err)
		return nil, nil, refuse(kerr.UnknownServerError, "")
	}
	var records []shard.Record
	var own assignor.Partitions
	for i, id := range ids {
		if id == ch.updated.id {
			own = targets[i]
		}
		if last, ok := ch.lastTargetOf(members[id]); !ok || !last.Equal(targets[i]) {
			records = append(records, g.targetRecord(id, targets[i]))
		}
	}
	return append(records, g.targetEpochRecord(ch.epoch, ch.now)), own, nil
}

// assignorNamed returns an assignor, the first of those that are on if it is none of
// ours: members may want one that only Kafka had.
func assignorNamed(name string, on []string) assignor.Assignor {
	for _, a := range []assignor.Assignor{assignor.Uniform(), assignor.Range()} {
		if a.Name() == name {
			return a
		}
	}
	return assignorNamed(on[0], []string{assignor.Uniform().Name()})
}

// lastTarget is what a member was to have.
func (ch *consumerChange) lastTarget(m *consumerMember) assignor.Partitions {
	p, _ := ch.lastTargetOf(m)
	return p
}

// lastTargetOf is lastTarget, ok false if no record tells it.
func (ch *consumerChange) lastTargetOf(m *consumerMember) (p assignor.Partitions, ok bool) {
	if ch.replaced != nil && m == ch.updated {
		p, ok = ch.g.targets[ch.replaced.id]
	} else {
		p, ok = ch.g.targets[m.id]
	}
	return p, ok
}

// interests are the topics that members want, by id. Members that want the same
// share them.
type interests struct {
	g     *consumerGroup
	image *image.Image
	known map[string][]wire.UUID // by subscription
}

func (in interests) of(m *consumerMember) []wire.UUID {
	key := strings.Join(m.topics, "\x00") + "\x00\x00" + m.usesPattern()
	if ids, ok := in.known[key]; ok {
		return ids
	}
	names := m.topics
	if r := in.g.resolved[m.usesPattern()]; r != nil {
		names = slices.Concat(names, r.topics)
	}
	var ids []wire.UUID
	for _, name := range names {
		if t := in.image.Topic(name); t != nil {
			ids = append(ids, t.ID)
		}
	}
	slices.SortFunc(ids, func(a, b wire.UUID) int { return bytes.Compare(a[:], b[:]) })
	ids = slices.Compact(ids)
	in.known[key] = ids
	return ids
}

// topicsOf knows the topics of an image.
type topicsOf struct{ *image.Image }

// Partitions implements [assignor.Topics].
func (t topicsOf) Partitions(id wire.UUID) int32 {
	if topic := t.TopicByID(id); topic != nil {
		return int32(topic.Len())
	}
	return -1
}
