package broker

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// DeleteRecords, key 21, versions 0 to 2.
//
// Deviation from Kafka 4.4.0: none known. The low watermark is the log start
// offset of this broker, as no other one follows it.

func (b *Broker) deleteRecords(c *call, q *kmsg.DeleteRecordsRequest) kmsg.Response {
	answer := q.ResponseKind().(*kmsg.DeleteRecordsResponse)
	for _, t := range q.Topics {
		to := kmsg.NewDeleteRecordsResponseTopic()
		to.Topic = t.Topic
		for _, p := range t.Partitions {
			result := kmsg.NewDeleteRecordsResponseTopicPartition()
			result.Partition = p.Partition
			result.LowWatermark, result.ErrorCode = b.deleteRecordsOf(t.Topic, p.Partition, p.Offset)
			to.Partitions = append(to.Partitions, result)
		}
		answer.Topics = append(answer.Topics, to)
	}
	return answer
}

// deleteRecordsOf raises the log start offset of a partition, to the high
// watermark if the offset is -1, and returns it; -1 with an error.
func (b *Broker) deleteRecordsOf(topic string, partition int32, offset int64) (low int64, code int16) {
	r, _, p, code := b.locateLeader(topic, [16]byte{}, false, partition)
	switch {
	case p == nil:
		return -1, code
	case internalTopic(topic):
		return -1, kerr.InvalidTopicException.Code
	case code != 0:
		return -1, code
	}
	l, err := b.replicas.open(r)
	if err != nil {
		b.log.Error("a partition cannot be opened", "partition", r.tp, "error", err)
		return -1, openCode(err)
	}
	if c := b.topicConfig(topic).log; c.Compact && !c.Delete {
		return -1, kerr.PolicyViolation.Code
	}
	switch {
	case offset == -1:
		offset = l.HighWatermark()
	case offset < 0:
		return -1, kerr.OffsetOutOfRange.Code
	}
	if low, err = l.RaiseLogStart(offset); err != nil {
		return -1, codeOf(err)
	}
	r.watch.wake() // who waits for records below it is told
	return low, 0
}
