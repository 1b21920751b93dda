package group

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"kf/internal/coordinator/shard"
	"kf/internal/format/grouprec"
	"kf/internal/image"
)

type offsets struct{}

func newOffsets() offsets { return offsets{} }

// OffsetCommit … the topics of q have names and ids, where they are known.
func (c *Coordinator) OffsetCommit(from Client, q *kmsg.OffsetCommitRequest, reply func(*kmsg.OffsetCommitResponse)) {
	panic("offsets")
}

// OffsetFetch … answers for one group.
func (c *Coordinator) OffsetFetch(q kmsg.OffsetFetchRequestGroup, requireStable bool, reply func(kmsg.OffsetFetchResponseGroup)) {
	panic("offsets")
}
func (c *Coordinator) OffsetDelete(q *kmsg.OffsetDeleteRequest, reply func(*kmsg.OffsetDeleteResponse)) {
	panic("offsets")
}

// replayLegacyOffset …
func (m *machine) replayLegacyOffset(key *grouprec.LegacyOffsetCommitKey, value *grouprec.LegacyOffsetCommitValue, producer int64) {
	panic("offsets")
}
func (m *machine) replayOffset(key *grouprec.OffsetCommitKey, value *grouprec.OffsetCommitValue, producer int64) {
	panic("offsets")
}
func (m *machine) endTransaction(producer int64, committed bool) { panic("offsets") }

// scheduleExpiry …
func (m *machine) scheduleExpiry() { panic("offsets") }

// topicsDeleted deletes the offsets of deleted topics.
func (m *machine) topicsDeleted(topics []*image.Topic) shard.Result { panic("offsets") }
