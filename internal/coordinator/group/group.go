// Package group is the group coordinator: who is in a consumer group, which
// partitions each member reads, and how far the group has come.
//
// Everything lives in __consumer_offsets, exactly as Apache Kafka keeps it: a
// group belongs to the partition that the hash of its id names, the broker that
// leads that partition coordinates it, and its state is the replay of that
// partition. Kafka takes over a directory with its groups, and the other way
// round.
//
//	Coordinator   the shards of this broker; one method for each API, in the file
//	              of its API: classic_*, consumer_*, offsets_*, admin
//	machine       the state of one shard, changed by records alone: groups, offsets
//	classicGroup  members agree on an assignor, and one of them assigns
//	consumerGroup the coordinator assigns (KIP-848); classic members may be in it
//	otherGroup    share and streams groups, which Kafka left in the directory
//
// The package knows requests by their kmsg types, and no connections: an answer
// is a call of a function, now or later.
//
// Source: Kafka 4.4.0, module group-coordinator.
package group

import (
	"kf/internal/coordinator/shard"
	"kf/internal/wire"
)

// A Type is a kind of group.
type Type int8

const (
	Classic Type = iota
	Consumer
	Share
	Streams
)

var typeNames = [...]string{"classic", "consumer", "share", "streams"}

func (t Type) String() string { return typeNames[t] }

// A group is a group of any type.
type group interface {
	id() string
	kind() Type
	// state is the name of the group's state, as ListGroups gives it: Stable.
	state() string
	// protocolType is what ListGroups gives as the protocol type, "" for none.
	protocolType() string
	empty() bool // it has no members

	// checkCommit says whether a member may commit. The epoch is the generation
	// of a classic member. It returns a check for each partition, nil for none;
	// both fail with an [Error].
	checkCommit(member string, instance *string, epoch int32, transactional bool, version int16) (checkPartition, error)
	// checkFetch says whether a member may ask for offsets; member is nil if the
	// request names none.
	checkFetch(member *string, epoch int32) error
	// checkDelete says whether the group may be deleted, checkOffsetDelete
	// whether offsets of it may.
	checkDelete() error
	checkOffsetDelete() error
	subscribed(topic string) bool
	// expires says from when the retention of its offsets counts, in ms since the
	// Unix epoch: -1 for the time of each commit. Without ok they do not expire
	// as long as the group is as it is.
	expires() (since int64, ok bool)

	// tombstones appends the records that delete the group, without its offsets.
	tombstones(dst []shard.Record) []shard.Record
	// forget cancels its timers and what it waits for, as it is deleted or
	// becomes a group of another type.
	forget(s *shard.Shard)
}

// A checkPartition says whether a commit for a partition is taken.
type checkPartition func(topic string, id wire.UUID, partition int32) error
