package broker

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"kf/internal/storage"
)

// ListOffsets, key 2, versions 1 to 11.
//
// Deviation from Kafka 4.4.0: there is no tiered storage, so -5 and -6 find
// nothing, as in a Kafka that has none.

// Timestamps that stand for something else, and the version from which on.
const (
	latest         = -1
	earliest       = -2
	maxTimestamp   = -3 // from v7
	earliestLocal  = -4 // from v8
	latestTiered   = -5 // from v9
	earliestUpload = -6 // from v11
)

func (b *Broker) listOffsets(c *call, q *kmsg.ListOffsetsRequest) kmsg.Response {
	answer := q.ResponseKind().(*kmsg.ListOffsetsResponse)
	bound := storage.ToLogEnd
	if q.ReplicaID == consumerReplica {
		bound = storage.ToHighWatermark
		if q.IsolationLevel == readCommitted {
			bound = storage.ToLastStableOffset
		}
	}
	count := make(map[storage.TopicPartition]int)
	var closed []*replica
	for _, t := range q.Topics {
		for _, p := range t.Partitions {
			count[storage.TopicPartition{Topic: t.Topic, Partition: p.Partition}]++
			if r, _, _, code := b.locateLeader(t.Topic, [16]byte{}, false, p.Partition); code == 0 && r.log.Load() == nil {
				closed = append(closed, r)
			}
		}
	}
	b.replicas.prepare(closed)
	for _, t := range q.Topics {
		to := kmsg.NewListOffsetsResponseTopic()
		to.Topic = t.Topic
		for i := range t.Partitions {
			p := &t.Partitions[i]
			result := kmsg.NewListOffsetsResponseTopicPartition()
			result.Partition = p.Partition
			result.Timestamp, result.Offset, result.LeaderEpoch = -1, -1, -1
			if count[storage.TopicPartition{Topic: t.Topic, Partition: p.Partition}] > 1 {
				result.ErrorCode = kerr.InvalidRequest.Code
			} else if found, code := b.listOffset(q.Version, t.Topic, p, bound); code != 0 {
				result.ErrorCode = code
			} else {
				result.Timestamp, result.Offset, result.LeaderEpoch = found.Timestamp, found.Offset, found.LeaderEpoch
			}
			to.Partitions = append(to.Partitions, result)
		}
		answer.Topics = append(answer.Topics, to)
	}
	return answer
}

func (b *Broker) listOffset(version int16, topic string, p *kmsg.ListOffsetsRequestTopicPartition, bound storage.Bound) (storage.Found, int16) {
	from := int16(0)
	switch p.Timestamp {
	case maxTimestamp:
		from = 7
	case earliestLocal:
		from = 8
	case latestTiered:
		from = 9
	case earliestUpload:
		from = 11
	}
	none := storage.Found{Timestamp: -1, Offset: -1, LeaderEpoch: -1}
	if version < from || p.Timestamp < earliestUpload {
		return none, kerr.UnsupportedVersion.Code
	}
	r, _, _, code := b.locateLeader(topic, [16]byte{}, false, p.Partition)
	if code != 0 {
		return none, code
	}
	if code := r.checkEpoch(p.CurrentLeaderEpoch); code != 0 {
		return none, code
	}
	l, err := b.replicas.open(r)
	if err != nil {
		b.log.Error("a partition cannot be opened", "partition", r.tp, "error", err)
		return none, openCode(err)
	}
	found := none
	switch p.Timestamp {
	case latest:
		found.Offset, found.LeaderEpoch = boundOf(l, bound), r.state.Load().LeaderEpoch
	case earliest, earliestLocal:
		found.Offset = l.LogStartOffset()
		found.LeaderEpoch = l.EpochAt(found.Offset)
	case maxTimestamp:
		found, err = l.MaxTime()
	case latestTiered, earliestUpload:
	default:
		found, err = l.FindTime(p.Timestamp, bound)
	}
	if err != nil {
		b.log.Error("an offset cannot be looked up", "partition", r.tp, "timestamp", p.Timestamp, "error", err)
		return none, codeOf(err)
	}
	if found.Offset < 0 || p.Timestamp == maxTimestamp && found.Offset >= boundOf(l, bound) {
		return none, 0
	}
	return found, 0
}
