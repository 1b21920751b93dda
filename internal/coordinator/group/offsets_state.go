package group

import (
	"kf/internal/format/grouprec"
)

// offsets are the committed offsets of a shard, and those of transactions that
// have not ended.
type offsets struct {
	groups map[string]groupOffsets // none empty

	// pending has what transactions committed, by producer id; it counts when
	// they are. open has the same partitions by group: who asks for stable
	// offsets is told to wait for them.
	pending map[int64]map[place]pendingOffset
	open    map[string]map[spot]*openOffset
	order   int64 // of the newest record while transactions are open
}

// A spot is a partition within a group, a place one within a shard.
type spot struct {
	topic     string
	partition int32
}

type place struct {
	group string
	spot
}

// A pendingOffset is an offset in an open transaction.
type pendingOffset struct {
	committed
	order int64
}

// An openOffset is a partition for which offsets are pending.
type openOffset struct {
	producers int
	// newest is the order of the record that the committed offset is from, 0 if
	// it is older than what is pending.
	newest int64
}

func newOffsets() offsets {
	return offsets{
		groups: make(map[string]groupOffsets), pending: make(map[int64]map[place]pendingOffset), open: make(map[string]map[spot]*openOffset),
	}
}

// put replaces the committed offset of a partition.
func (o *offsets) put(p place, c committed, d detail) {
	g := o.groups[p.group]
	if g == nil {
		g = make(groupOffsets)
		o.groups[p.group] = g
	}
	g.put(p.topic, c, d)
}

// commit is put for the replay of a record of no transaction.
func (o *offsets) commit(p place, c committed, d detail) {
	o.put(p, c, d)
	if open := o.open[p.group][p.spot]; open != nil {
		o.order++
		open.newest = o.order
	}
}

// await keeps an offset until the producer's transaction ends.
func (o *offsets) await(producer int64, p place, c committed, d detail) {
	c.detail = &d
	places := o.pending[producer]
	if places == nil {
		places = make(map[place]pendingOffset)
		o.pending[producer] = places
	}
	spots := o.open[p.group]
	if spots == nil {
		spots = make(map[spot]*openOffset)
		o.open[p.group] = spots
	}
	if spots[p.spot] == nil {
		spots[p.spot] = new(openOffset)
	}
	if _, again := places[p]; !again {
		spots[p.spot].producers++
	}
	o.order++
	places[p] = pendingOffset{c, o.order}
}

// end ends a producer's transaction. Its offsets count, if it is committed, from
// where their records are: a commit behind them is newer.
func (o *offsets) end(producer int64, commit bool) {
	for p, c := range o.pending[producer] {
		open := o.open[p.group][p.spot]
		if commit && c.order > open.newest {
			o.put(p, c.committed, *c.detail)
			open.newest = c.order
		}
		if open.producers--; open.producers == 0 {
			o.settle(p)
		}
	}
	delete(o.pending, producer)
}

// settle forgets that offsets are pending for a partition.
func (o *offsets) settle(p place) {
	spots := o.open[p.group]
	if delete(spots, p.spot); len(spots) == 0 {
		delete(o.open, p.group)
	}
}

// remove forgets the offset of a partition, also what transactions committed.
func (o *offsets) remove(p place) {
	if g := o.groups[p.group]; g != nil {
		if g.remove(p.topic, p.partition); len(g) == 0 {
			delete(o.groups, p.group)
		}
	}
	if o.open[p.group][p.spot] == nil {
		return
	}
	for producer, places := range o.pending {
		if delete(places, p); len(places) == 0 {
			delete(o.pending, producer)
		}
	}
	o.settle(p)
}

// isOpen reports whether offsets are pending for a partition.
func (o *offsets) isOpen(group, topic string, partition int32) bool {
	return o.open[group][spot{topic, partition}] != nil
}

// has reports whether there is an offset for a partition, committed or pending.
func (o *offsets) has(group, topic string, partition int32) bool {
	_, ok := o.groups[group].get(topic, partition)
	return ok || o.isOpen(group, topic, partition)
}

// replayOffset applies the record of an offset.
//
// Source: Kafka 4.4.0, OffsetMetadataManager.java.
func (m *machine) replayOffset(key *grouprec.OffsetCommitKey, value *grouprec.OffsetCommitValue, producer int64) {
	p := place{key.Group, spot{key.Topic, key.Partition}}
	if value == nil {
		m.offsets.remove(p)
		return
	}
	if m.groups[key.Group] == nil {
		// Who commits without being a member makes a group all the same. It
		// cannot fail, as there is none of another type.
		_, _ = m.classicGroup(key.Group, true)
	}
	c := committed{offset: value.Offset, time: value.CommitTimestamp, partition: key.Partition, epoch: value.LeaderEpoch}
	d := detail{value.TopicID, value.Metadata, value.ExpireTimestamp}
	if producer < 0 {
		m.offsets.commit(p, c, d)
	} else {
		m.offsets.await(producer, p, c, d)
	}
}

// replayLegacyOffset applies the record of an offset from before Kafka 0.9.
func (m *machine) replayLegacyOffset(key *grouprec.LegacyOffsetCommitKey, value *grouprec.LegacyOffsetCommitValue, producer int64) {
	var v *grouprec.OffsetCommitValue
	if value != nil {
		v = &grouprec.OffsetCommitValue{
			Offset: value.Offset, LeaderEpoch: -1, Metadata: value.Metadata, CommitTimestamp: value.CommitTimestamp, ExpireTimestamp: -1,
		}
	}
	m.replayOffset(&grouprec.OffsetCommitKey{Group: key.Group, Topic: key.Topic, Partition: key.Partition}, v, producer)
}

// endTransaction applies the end of a producer's transaction.
func (m *machine) endTransaction(producer int64, committed bool) { m.offsets.end(producer, committed) }
