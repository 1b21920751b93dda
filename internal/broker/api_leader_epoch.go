package broker

import (
	"github.com/twmb/franz-go/pkg/kmsg"
)

// OffsetForLeaderEpoch, key 23, versions 2 to 4.
//
// Deviation from Kafka 4.4.0: none known.

func (b *Broker) offsetForLeaderEpoch(c *call, q *kmsg.OffsetForLeaderEpochRequest) kmsg.Response {
	answer := q.ResponseKind().(*kmsg.OffsetForLeaderEpochResponse)
	for _, t := range q.Topics {
		to := kmsg.NewOffsetForLeaderEpochResponseTopic()
		to.Topic = t.Topic
		for _, p := range t.Partitions {
			result := kmsg.NewOffsetForLeaderEpochResponseTopicPartition()
			result.Partition = p.Partition
			result.LeaderEpoch, result.EndOffset, result.ErrorCode = b.epochEnd(t.Topic, p.Partition, p.CurrentLeaderEpoch, p.LeaderEpoch)
			to.Partitions = append(to.Partitions, result)
		}
		answer.Topics = append(answer.Topics, to)
	}
	return answer
}

// epochEnd returns where a leader epoch of a partition ends: the largest known
// one at or below it, -1 and -1 if there is none or with an error.
func (b *Broker) epochEnd(topic string, partition, current, asked int32) (epoch int32, end int64, code int16) {
	r, _, _, code := b.locateLeader(topic, [16]byte{}, false, partition)
	if code == 0 {
		code = r.checkEpoch(current)
	}
	if code != 0 {
		return -1, -1, code
	}
	l, err := b.replicas.open(r)
	if err != nil {
		b.log.Error("a partition cannot be opened", "partition", r.tp, "error", err)
		return -1, -1, openCode(err)
	}
	epoch, end = l.EpochEnd(asked)
	return epoch, end, 0
}
