package broker

import (
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"kf/internal/image"
	"kf/internal/javafmt"
)

// DescribeTopicPartitions, key 75, version 0: topics in the order of their names,
// a page at a time.
//
// Deviation from Kafka 4.4.0: none known.

// partitionsPerPage is the default of max.request.partition.size.limit.
const partitionsPerPage = 2000

func (b *Broker) describeTopicPartitions(c *call, q *kmsg.DescribeTopicPartitionsRequest) kmsg.Response {
	answer := q.ResponseKind().(*kmsg.DescribeTopicPartitionsResponse)
	im := b.image.Load()
	names, code := describedTopics(im, q)
	if code != 0 {
		for _, t := range q.Topics {
			answer.Topics = append(answer.Topics, undescribed(t.Topic, code))
		}
		return answer
	}
	left := max(1, min(partitionsPerPage, int(q.ResponsePartitionLimit)))
	for _, name := range names {
		from := 0
		if q.Cursor != nil && name == q.Cursor.Topic {
			from = int(q.Cursor.Partition)
		}
		t := im.Topic(name)
		switch {
		case left == 0:
			answer.NextCursor = nextPartition(name, 0)
			return answer
		case t == nil && checkTopicName(name) != "":
			answer.Topics = append(answer.Topics, undescribed(name, kerr.InvalidTopicException.Code))
			continue
		case t == nil:
			answer.Topics = append(answer.Topics, undescribed(name, kerr.UnknownTopicOrPartition.Code))
			continue
		}
		to := describePartitions(im, t, c.conn.listener.name, from, left)
		answer.Topics = append(answer.Topics, to)
		left -= len(to.Partitions)
		if next := from + len(to.Partitions); next < t.Len() {
			answer.NextCursor = nextPartition(name, next)
			return answer
		}
	}
	return answer
}

// describedTopics returns the names of the topics that the request asks for, from
// its cursor on, sorted.
func describedTopics(im *image.Image, q *kmsg.DescribeTopicPartitionsRequest) (names []string, code int16) {
	first := ""
	if q.Cursor != nil {
		if q.Cursor.Partition < 0 {
			return nil, kerr.InvalidRequest.Code
		}
		first = q.Cursor.Topic
	}
	if len(q.Topics) == 0 {
		for t := range im.TopicsFrom(first) {
			names = append(names, t.Name)
		}
		return names, 0
	}
	asked := make(map[string]bool)
	for _, t := range q.Topics {
		if javafmt.Compare(t.Topic, first) >= 0 {
			asked[t.Topic] = true
		}
	}
	if q.Cursor != nil && !asked[first] {
		return nil, kerr.InvalidRequest.Code
	}
	return slices.SortedFunc(maps.Keys(asked), javafmt.Compare), 0
}

func undescribed(name string, code int16) kmsg.DescribeTopicPartitionsResponseTopic {
	to := kmsg.NewDescribeTopicPartitionsResponseTopic()
	to.Topic, to.ErrorCode, to.IsInternal = &name, code, internalTopic(name)
	to.AuthorizedOperations = topicOperations
	return to
}

func nextPartition(topic string, partition int) *kmsg.DescribeTopicPartitionsResponseNextCursor {
	next := kmsg.NewDescribeTopicPartitionsResponseNextCursor()
	next.Topic, next.Partition = topic, int32(partition)
	return &next
}

// describePartitions describes a topic with at most limit partitions.
func describePartitions(im *image.Image, t *image.Topic, listener string, from, limit int) kmsg.DescribeTopicPartitionsResponseTopic {
	to := undescribed(t.Name, 0)
	to.TopicID = t.ID
	for id := from; id < t.Len() && len(to.Partitions) < limit; id++ {
		p := t.Partition(int32(id))
		result := kmsg.NewDescribeTopicPartitionsResponseTopicPartition()
		result.Partition, result.LeaderID, result.LeaderEpoch = p.ID, -1, p.LeaderEpoch
		if _, ok := endpointOf(im.Broker(p.Leader), listener); ok {
			result.LeaderID = p.Leader
		}
		result.Replicas, result.ISR = p.Replicas, p.ISR
		result.OfflineReplicas = offlineReplicas(im, p)
		result.EligibleLeaderReplicas, result.LastKnownELR = noNull(p.ELR), noNull(p.LastKnownELR)
		to.Partitions = append(to.Partitions, result)
	}
	return to
}

// noNull returns an empty list for none: the field can be null, and Kafka's is
// not.
func noNull(ids []int32) []int32 {
	if ids == nil {
		return []int32{}
	}
	return ids
}
