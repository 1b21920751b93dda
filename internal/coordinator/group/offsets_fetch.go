package group

import (
	"errors"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"kf/internal/coordinator/shard"
	"kf/internal/wire"
)

// OffsetFetch answers for the groups of an OffsetFetch, in their order. The topics
// of a group have their names, and ids from version 10 on; nil stands for all
// topics that the group has offsets in, which are answered by name. An error is
// one of the group.
//
// Kafka answers who does not ask for stable offsets from what is committed in the
// log at that time; here the answer waits until what it tells is committed.
//
// Source: Kafka 4.4.0, OffsetMetadataManager.java.
func (c *Coordinator) OffsetFetch(qs []kmsg.OffsetFetchRequestGroup, requireStable bool, reply func([]kmsg.OffsetFetchResponseGroup)) {
	gather(qs, func(q kmsg.OffsetFetchRequestGroup, answer func(kmsg.OffsetFetchResponseGroup)) {
		refused := func(code int16) {
			g := kmsg.NewOffsetFetchResponseGroup()
			g.Group, g.ErrorCode = q.Group, code
			answer(g)
		}
		c.do(q.Group, func(m *machine) shard.Result {
			g, err := m.fetch(q, requireStable)
			if err != nil {
				refused(codeOf(err))
				return shard.Result{}
			}
			return shard.Result{Then: func(err error) {
				switch {
				case err == nil:
					answer(g)
				case errors.Is(err, shard.ErrTimeout):
					refused(kerr.NotCoordinator.Code)
				default:
					refused(codeOf(err))
				}
			}}
		}, refused)
	}, reply)
}

func (m *machine) fetch(q kmsg.OffsetFetchRequestGroup, requireStable bool) (answer kmsg.OffsetFetchResponseGroup, err error) {
	answer = kmsg.NewOffsetFetchResponseGroup()
	answer.Group = q.Group
	offsets := m.offsets.groups[q.Group]
	if g := m.groups[q.Group]; g == nil {
		offsets = nil
	} else if err := g.checkFetch(q.MemberID, q.MemberEpoch); err != nil {
		if codeOf(err) != kerr.GroupIDNotFound.Code {
			return answer, err
		}
		offsets = nil
	}
	unstable := func(topic string, partition int32) bool {
		return requireStable && m.offsets.isOpen(q.Group, topic, partition)
	}
	if q.Topics == nil {
		for topic, t := range offsets.all() {
			to := kmsg.NewOffsetFetchResponseGroupTopic()
			to.Topic = topic
			for c := range t.all() {
				to.Partitions = append(to.Partitions, fetched(c.partition, c, true, unstable(topic, c.partition)))
			}
			answer.Topics = append(answer.Topics, to)
		}
		return answer, nil
	}
	for i := range q.Topics {
		t := &q.Topics[i]
		to := kmsg.NewOffsetFetchResponseGroupTopic()
		to.Topic, to.TopicID = t.Topic, t.TopicID
		to.Partitions = make([]kmsg.OffsetFetchResponseGroupTopicPartition, 0, len(t.Partitions))
		for _, p := range t.Partitions {
			c, ok := offsets.get(t.Topic, p)
			to.Partitions = append(to.Partitions, fetched(p, c, ok && sameTopic(c.topicID, t.TopicID), unstable(t.Topic, p)))
		}
		answer.Topics = append(answer.Topics, to)
	}
	return answer, nil
}

// sameTopic reports whether two topics of one name are the same, as far as their
// ids are known.
func sameTopic(a, b wire.UUID) bool { return a == b || a.IsZero() || b.IsZero() }

// fetched returns the answer for a partition.
func fetched(partition int32, c committed, ok, unstable bool) kmsg.OffsetFetchResponseGroupTopicPartition {
	p := kmsg.NewOffsetFetchResponseGroupTopicPartition()
	p.Partition, p.Offset, p.LeaderEpoch, p.Metadata = partition, -1, -1, new(string)
	switch {
	case unstable:
		p.ErrorCode = kerr.UnstableOffsetCommit.Code
	case ok:
		p.Offset, p.LeaderEpoch, p.Metadata = c.offset, c.epoch, &c.metadata
	}
	return p
}
