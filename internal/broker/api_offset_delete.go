package broker

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// OffsetDelete, key 47, version 0.
//
// Deviation from Kafka 4.4.0: the answer keeps the order of the request also when
// some of it is refused.

func (b *Broker) offsetDelete(c *call, q *kmsg.OffsetDeleteRequest) {
	answer := q.ResponseKind().(*kmsg.OffsetDeleteResponse)
	answer.Topics = make([]kmsg.OffsetDeleteResponseTopic, 0, len(q.Topics))
	asked := *q // what the coordinator is asked: partitions that are there
	asked.Topics = nil
	var codes []*int16 // where its answers belong
	im := b.image.Load()
	for i := range q.Topics {
		t := &q.Topics[i]
		topic := im.Topic(t.Topic)
		if topic != nil && len(t.Partitions) == 0 {
			continue // Kafka says nothing of it
		}
		to := kmsg.OffsetDeleteResponseTopic{Topic: t.Topic, Partitions: make([]kmsg.OffsetDeleteResponseTopicPartition, len(t.Partitions))}
		answer.Topics = append(answer.Topics, to)
		known := kmsg.OffsetDeleteRequestTopic{Topic: t.Topic}
		for j, p := range t.Partitions {
			to.Partitions[j].Partition = p.Partition
			if !hasPartition(topic, p.Partition) {
				to.Partitions[j].ErrorCode = kerr.UnknownTopicOrPartition.Code
				continue
			}
			known.Partitions = append(known.Partitions, p)
			codes = append(codes, &to.Partitions[j].ErrorCode)
		}
		if len(known.Partitions) > 0 {
			asked.Topics = append(asked.Topics, known)
		}
	}
	c.later()
	b.groups.OffsetDelete(&asked, func(r *kmsg.OffsetDeleteResponse) {
		if r.ErrorCode != 0 { // which is all that is said then
			c.reply(r)
			return
		}
		for _, t := range r.Topics {
			for _, p := range t.Partitions {
				*codes[0], codes = p.ErrorCode, codes[1:]
			}
		}
		c.reply(answer)
	})
}
