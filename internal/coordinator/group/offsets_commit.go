package group

import (
	"time"
	"unicode/utf16"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"kf/internal/coordinator/shard"
	"kf/internal/format/grouprec"
)

// OffsetCommit answers an OffsetCommit of topics that are there: q has their
// names and ids in every version.
//
// Source: Kafka 4.4.0, OffsetMetadataManager.java.
func (c *Coordinator) OffsetCommit(q *kmsg.OffsetCommitRequest, reply func(*kmsg.OffsetCommitResponse)) {
	c.do(q.Group, func(m *machine) shard.Result {
		check, err := m.checkCommit(q.Group, q.MemberID, q.InstanceID, q.Generation, q.Version)
		if err != nil {
			reply(commitRefused(q, codeOf(err)))
			return shard.Result{}
		}
		if g, ok := m.groups[q.Group].(*classicGroup); ok {
			m.committedClassic(g, q.MemberID)
		}
		records, answer, err := m.commit(q, check)
		if err != nil {
			reply(commitRefused(q, codeOf(err)))
			return shard.Result{}
		}
		return shard.Result{Records: records, Then: func(err error) {
			if err != nil {
				answer = commitRefused(q, codeOf(err))
			}
			reply(answer)
		}}
	}, func(code int16) { reply(commitRefused(q, code)) })
}

// checkCommit says whether a member may commit offsets of a group, as the
// method of a group does. Who names no generation may commit to a group that is
// not there: that makes it, in memory, also if then nothing is written.
func (m *machine) checkCommit(id, member string, instance *string, epoch int32, version int16) (checkPartition, error) {
	g := m.groups[id]
	if g == nil && epoch >= 0 {
		if version < 9 {
			return nil, refuse(kerr.IllegalGeneration, "")
		}
		return nil, refuse(kerr.GroupIDNotFound, "")
	}
	if g == nil {
		made, err := m.classicGroup(id, true)
		if err != nil {
			return nil, err
		}
		g = made
	}
	return g.checkCommit(member, instance, epoch, false, version)
}

// commit returns the records of a commit and its answer.
func (m *machine) commit(q *kmsg.OffsetCommitRequest, check checkPartition) (records []shard.Record, answer *kmsg.OffsetCommitResponse, err error) {
	now := time.Now().UnixMilli()
	expires := int64(-1)
	if q.RetentionTimeMillis != -1 { // versions 2 to 4
		expires = now + q.RetentionTimeMillis
	}
	limit := int(m.o.Config(q.Group).OffsetMetadataBytes)
	answer = commitRefused(q, 0)
	// The records of a request take two allocations, not two each.
	n := 0
	for i := range q.Topics {
		n += len(q.Topics[i].Partitions)
	}
	records = make([]shard.Record, 0, n)
	parts := make([]struct {
		key   grouprec.OffsetCommitKey
		value grouprec.OffsetCommitValue
	}, n)
	for i := range q.Topics {
		t := &q.Topics[i]
		for j := range t.Partitions {
			p := &t.Partitions[j]
			metadata := ""
			if p.Metadata != nil {
				metadata = *p.Metadata
			}
			if longer(metadata, limit) {
				answer.Topics[i].Partitions[j].ErrorCode = kerr.OffsetMetadataTooLarge.Code
				continue
			}
			if check != nil {
				if err := check(t.Topic, t.TopicID, p.Partition); err != nil {
					return nil, nil, err
				}
			}
			r := &parts[len(records)]
			r.key = grouprec.OffsetCommitKey{Group: q.Group, Topic: t.Topic, Partition: p.Partition}
			r.value = grouprec.OffsetCommitValue{
				Offset: p.Offset, LeaderEpoch: p.LeaderEpoch, Metadata: metadata, CommitTimestamp: now, ExpireTimestamp: expires, TopicID: t.TopicID,
			}
			records = append(records, put(&r.key, &r.value))
		}
	}
	return records, answer, nil
}

// longer reports whether a string has more than n UTF-16 units, which is how
// Kafka counts what offset.metadata.max.bytes limits.
func longer(s string, n int) bool {
	if len(s) <= n {
		return false
	}
	for _, r := range s {
		if n -= utf16.RuneLen(r); n < 0 {
			return true
		}
	}
	return false
}

// commitRefused returns the answer with one code for all partitions.
func commitRefused(q *kmsg.OffsetCommitRequest, code int16) *kmsg.OffsetCommitResponse {
	answer := q.ResponseKind().(*kmsg.OffsetCommitResponse)
	answer.Topics = make([]kmsg.OffsetCommitResponseTopic, len(q.Topics))
	for i, t := range q.Topics {
		to := &answer.Topics[i]
		to.Topic, to.TopicID = t.Topic, t.TopicID
		to.Partitions = make([]kmsg.OffsetCommitResponseTopicPartition, len(t.Partitions))
		for j, p := range t.Partitions {
			to.Partitions[j] = kmsg.OffsetCommitResponseTopicPartition{Partition: p.Partition, ErrorCode: code}
		}
	}
	return answer
}
