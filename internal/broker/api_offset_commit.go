package broker

import (
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"kf/internal/image"
)

// OffsetCommit, key 8, versions 2 to 10.
//
// Deviations from Kafka 4.4.0:
//   - The answer keeps the order of the request also when some of it is refused.
//   - A commit for a partition that is not there is refused after refusalPause:
//     Java's consumer commits again at once while its topic is deleted, and does
//     not pause itself unless the answer takes longer than that.

// refusalPause is how long the answer is held back that refuses a commit for a
// topic that is gone.
const refusalPause = 10 * time.Millisecond

func (b *Broker) offsetCommit(c *call, q *kmsg.OffsetCommitRequest) {
	answer := q.ResponseKind().(*kmsg.OffsetCommitResponse)
	answer.Topics = make([]kmsg.OffsetCommitResponseTopic, 0, len(q.Topics))
	asked := *q // what the coordinator is asked: partitions that are there
	asked.Topics = nil
	var codes []*int16 // where its answers belong
	refused := false
	im := b.image.Load()
	for i := range q.Topics {
		t := &q.Topics[i]
		topic, code := im.Topic(t.Topic), kerr.UnknownTopicOrPartition.Code
		if q.Version >= 10 {
			topic, code = im.TopicByID(t.TopicID), kerr.UnknownTopicID.Code
		}
		known := kmsg.OffsetCommitRequestTopic{}
		if topic != nil {
			known.Topic, known.TopicID, code = topic.Name, topic.ID, kerr.UnknownTopicOrPartition.Code
		}
		if topic != nil && len(t.Partitions) == 0 {
			continue // Kafka says nothing of it
		}
		to := kmsg.OffsetCommitResponseTopic{Topic: t.Topic, TopicID: t.TopicID}
		to.Partitions = make([]kmsg.OffsetCommitResponseTopicPartition, len(t.Partitions))
		answer.Topics = append(answer.Topics, to)
		for j := range t.Partitions {
			p := &to.Partitions[j]
			p.Partition, p.ErrorCode = t.Partitions[j].Partition, code
			if hasPartition(topic, p.Partition) {
				known.Partitions = append(known.Partitions, t.Partitions[j])
				codes = append(codes, &p.ErrorCode)
			} else {
				refused = true
			}
		}
		if len(known.Partitions) > 0 {
			asked.Topics = append(asked.Topics, known)
		}
	}
	c.later()
	reply := func() { c.reply(answer) }
	if refused {
		reply = func() { time.AfterFunc(refusalPause, func() { c.reply(answer) }) }
	}
	if len(asked.Topics) == 0 {
		reply()
		return
	}
	b.groups.OffsetCommit(&asked, func(r *kmsg.OffsetCommitResponse) {
		for _, t := range r.Topics {
			for _, p := range t.Partitions {
				*codes[0], codes = p.ErrorCode, codes[1:]
			}
		}
		reply()
	})
}

// hasPartition reports whether a topic, nil if there is none, has a partition.
func hasPartition(t *image.Topic, partition int32) bool {
	return t != nil && t.Partition(partition) != nil
}
