package group

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"kf/internal/coordinator/shard"
	"kf/internal/format/grouprec"
	"kf/internal/image"
)

// OffsetDelete answers an OffsetDelete. The topics and partitions of q are there.
//
// Source: Kafka 4.4.0, OffsetMetadataManager.java.
func (c *Coordinator) OffsetDelete(q *kmsg.OffsetDeleteRequest, reply func(*kmsg.OffsetDeleteResponse)) {
	refused := func(code int16) {
		answer := q.ResponseKind().(*kmsg.OffsetDeleteResponse)
		answer.ErrorCode = code
		reply(answer)
	}
	if q.Group == "" {
		refused(kerr.InvalidGroupID.Code)
		return
	}
	c.do(q.Group, func(m *machine) shard.Result {
		g := m.groups[q.Group]
		if g == nil {
			refused(kerr.GroupIDNotFound.Code)
			return shard.Result{}
		}
		if err := g.checkOffsetDelete(); err != nil {
			refused(codeOf(err))
			return shard.Result{}
		}
		records, answer := m.deleteOffsets(g, q)
		return shard.Result{Records: records, Then: func(err error) {
			if err != nil {
				refused(codeOf(err))
				return
			}
			reply(answer)
		}}
	}, refused)
}

func (m *machine) deleteOffsets(g group, q *kmsg.OffsetDeleteRequest) (records []shard.Record, answer *kmsg.OffsetDeleteResponse) {
	answer = q.ResponseKind().(*kmsg.OffsetDeleteResponse)
	for _, t := range q.Topics {
		code := int16(0)
		if g.subscribed(t.Topic) {
			code = kerr.GroupSubscribedToTopic.Code
		}
		to := kmsg.NewOffsetDeleteResponseTopic()
		to.Topic = t.Topic
		for _, p := range t.Partitions {
			to.Partitions = append(to.Partitions, kmsg.OffsetDeleteResponseTopicPartition{Partition: p.Partition, ErrorCode: code})
			if code == 0 && m.offsets.has(q.Group, t.Topic, p.Partition) {
				records = append(records, offsetTombstone(q.Group, t.Topic, p.Partition))
			}
		}
		answer.Topics = append(answer.Topics, to)
	}
	return records, answer
}

func offsetTombstone(group, topic string, partition int32) shard.Record {
	return tombstone(&grouprec.OffsetCommitKey{Group: group, Topic: topic, Partition: partition})
}

// offsetTombstones appends the records that delete all offsets of a group, also
// those of open transactions.
func (m *machine) offsetTombstones(records []shard.Record, group string) []shard.Record {
	offsets := m.offsets.groups[group]
	for topic, t := range offsets.all() {
		for c := range t.all() {
			records = append(records, offsetTombstone(group, topic, c.partition))
		}
	}
	for s := range m.offsets.open[group] {
		if _, ok := offsets.get(s.topic, s.partition); !ok {
			records = append(records, offsetTombstone(group, s.topic, s.partition))
		}
	}
	return records
}

// topicsDeleted deletes the offsets of deleted topics: those of their id, and
// those of their name that say no id.
func (m *machine) topicsDeleted(topics []*image.Topic) shard.Result {
	var records []shard.Record
	if len(topics) == 0 {
		return shard.Result{}
	}
	for group, offsets := range m.offsets.groups {
		for _, t := range topics {
			of := offsets.topic(t.Name)
			if of == nil {
				continue
			}
			for c := range of.all() {
				if sameTopic(c.topicID, t.ID) {
					records = append(records, offsetTombstone(group, t.Name, c.partition))
				}
			}
		}
	}
	for _, places := range m.offsets.pending {
		for p, c := range places {
			for _, t := range topics {
				if p.topic == t.Name && sameTopic(c.topicID, t.ID) {
					records = append(records, offsetTombstone(p.group, p.topic, p.partition))
				}
			}
		}
	}
	return shard.Result{Records: records, Split: true}
}
