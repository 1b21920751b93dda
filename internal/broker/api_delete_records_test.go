package broker

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// deletingRecords asks to delete the records of a partition below an offset.
func deletingRecords(topic string, partition int32, offset int64) *kmsg.DeleteRecordsRequest {
	q := kmsg.NewPtrDeleteRecordsRequest()
	t := kmsg.NewDeleteRecordsRequestTopic()
	p := kmsg.NewDeleteRecordsRequestTopicPartition()
	t.Topic, p.Partition, p.Offset = topic, partition, offset
	t.Partitions = append(t.Partitions, p)
	q.Topics = append(q.Topics, t)
	return q
}

// The codes are those of Kafka 4.4.0, area delete-records of its recorded answers.
func TestDeleteRecords(t *testing.T) {
	s := newCaseStage(t, Options{})
	s.create("compacted", map[string]string{"cleanup.policy": "compact"})
	s.create("both", map[string]string{"cleanup.policy": "compact,delete"})
	s.create("__consumer_offsets", nil)
	produceAll(t, client(t, s.b), "t", values(5))
	for _, c := range []struct {
		topic     string
		partition int32
		offset    int64
		code      int16
		low       int64
	}{
		{"t", 0, 9, kerr.OffsetOutOfRange.Code, -1},
		{"t", 0, -2, kerr.OffsetOutOfRange.Code, -1},
		{"t", 0, 2, 0, 2},
		{"t", 0, 1, 0, 2}, // below the log start
		{"t", 0, -1, 0, 5},
		{"t", 7, 0, kerr.UnknownTopicOrPartition.Code, -1},
		{"t", -1, 0, kerr.UnknownTopicOrPartition.Code, -1},
		{"no such", 0, 0, kerr.UnknownTopicOrPartition.Code, -1},
		{"a b", 0, 0, kerr.UnknownTopicOrPartition.Code, -1},
		{"compacted", 0, 0, kerr.PolicyViolation.Code, -1},
		{"both", 0, 0, 0, 0},
		{"__consumer_offsets", 0, 0, kerr.InvalidTopicException.Code, -1},
	} {
		for version := int16(0); version <= 2; version++ {
			answer := s.request(version, deletingRecords(c.topic, c.partition, c.offset)).(*kmsg.DeleteRecordsResponse)
			got := answer.Topics[0].Partitions[0]
			if c.low >= 0 && version == 2 && got.LowWatermark != c.low || got.ErrorCode != c.code || c.low < 0 && got.LowWatermark != -1 {
				t.Errorf("%s-%d to %d, version %d: code %d, low watermark %d, want %d, %d", c.topic, c.partition, c.offset, version, got.ErrorCode, got.LowWatermark, c.code, c.low)
			}
		}
	}
	if code, _, _ := outcome(s.request(18, s.fetch(18, "t", 4))); code != kerr.OffsetOutOfRange.Code {
		t.Errorf("a fetch below the new log start: %d", code)
	}
}
