package broker

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"kf/internal/image"
)

// OffsetFetch, key 9, versions 1 to 10.
//
// Deviation from Kafka 4.4.0: who does not ask for stable offsets gets what the
// coordinator knows once it is committed; Kafka answers with what was committed
// before.

func (b *Broker) offsetFetch(c *call, q *kmsg.OffsetFetchRequest) {
	groups := q.Groups
	if q.Version < 8 {
		groups = []kmsg.OffsetFetchRequestGroup{onlyGroup(q)}
	}
	var unknown [][]kmsg.OffsetFetchResponseGroupTopic // by group, from version 10 on
	im := b.image.Load()
	if q.Version >= 10 {
		unknown = make([][]kmsg.OffsetFetchResponseGroupTopic, len(groups))
		for i := range groups {
			unknown[i] = nameTopics(im, &groups[i])
		}
	}
	c.later()
	b.groups.OffsetFetch(groups, q.RequireStable, func(answers []kmsg.OffsetFetchResponseGroup) {
		answer := q.ResponseKind().(*kmsg.OffsetFetchResponse)
		switch {
		case q.Version < 8:
			answerOnly(answer, q, &answers[0])
		case q.Version >= 10:
			for i := range answers {
				if a := &answers[i]; a.ErrorCode == 0 {
					identifyTopics(im, a)
					a.Topics = append(a.Topics, unknown[i]...)
				}
			}
			fallthrough
		default:
			answer.Groups = answers
		}
		c.reply(answer)
	})
}

// onlyGroup returns the group of a request that can have no other.
func onlyGroup(q *kmsg.OffsetFetchRequest) kmsg.OffsetFetchRequestGroup {
	g := kmsg.NewOffsetFetchRequestGroup()
	g.Group = q.Group
	if q.Topics == nil { // all
		return g
	}
	g.Topics = make([]kmsg.OffsetFetchRequestGroupTopic, len(q.Topics))
	for i, t := range q.Topics {
		g.Topics[i].Topic, g.Topics[i].Partitions = t.Topic, t.Partitions
	}
	return g
}

// answerOnly answers for the group of a request that can have no other. Before
// version 2 an error of the group can only be told for each partition.
func answerOnly(answer *kmsg.OffsetFetchResponse, q *kmsg.OffsetFetchRequest, g *kmsg.OffsetFetchResponseGroup) {
	answer.ErrorCode = g.ErrorCode
	if g.ErrorCode != 0 && q.Version < 2 {
		for _, t := range q.Topics {
			g.Topics = append(g.Topics, kmsg.OffsetFetchResponseGroupTopic{Topic: t.Topic, Partitions: nothingFetched(t.Partitions, g.ErrorCode)})
		}
	}
	for _, t := range g.Topics {
		to := kmsg.NewOffsetFetchResponseTopic()
		to.Topic = t.Topic
		for _, p := range t.Partitions {
			one := kmsg.NewOffsetFetchResponseTopicPartition()
			one.Partition, one.Offset, one.LeaderEpoch, one.Metadata, one.ErrorCode = p.Partition, p.Offset, p.LeaderEpoch, p.Metadata, p.ErrorCode
			to.Partitions = append(to.Partitions, one)
		}
		answer.Topics = append(answer.Topics, to)
	}
}

// nothingFetched returns the answer for partitions about which a code is all that
// there is to say.
func nothingFetched(partitions []int32, code int16) []kmsg.OffsetFetchResponseGroupTopicPartition {
	answers := make([]kmsg.OffsetFetchResponseGroupTopicPartition, len(partitions))
	for i, p := range partitions {
		one := kmsg.NewOffsetFetchResponseGroupTopicPartition()
		one.Partition, one.Offset, one.LeaderEpoch, one.Metadata, one.ErrorCode = p, -1, -1, new(string), code
		answers[i] = one
	}
	return answers
}

// nameTopics gives the topics of a group, which the request names by id, their
// names. Those that nobody knows it takes away, and returns the answer for them.
func nameTopics(im *image.Image, g *kmsg.OffsetFetchRequestGroup) (unknown []kmsg.OffsetFetchResponseGroupTopic) {
	for i := range g.Topics {
		t := &g.Topics[i]
		if topic := im.TopicByID(t.TopicID); topic != nil {
			t.Topic = topic.Name
			continue
		}
		unknown = append(unknown, kmsg.OffsetFetchResponseGroupTopic{TopicID: t.TopicID, Partitions: nothingFetched(t.Partitions, kerr.UnknownTopicID.Code)})
	}
	if unknown != nil {
		g.Topics = slices.DeleteFunc(g.Topics, func(t kmsg.OffsetFetchRequestGroupTopic) bool { return t.Topic == "" })
	}
	return unknown
}

// identifyTopics gives the topics of an answer that has only their names their
// ids. Those that are not there any more it takes away.
func identifyTopics(im *image.Image, g *kmsg.OffsetFetchResponseGroup) {
	g.Topics = slices.DeleteFunc(g.Topics, func(t kmsg.OffsetFetchResponseGroupTopic) bool {
		return t.TopicID == [16]byte{} && im.Topic(t.Topic) == nil
	})
	for i := range g.Topics {
		if t := &g.Topics[i]; t.TopicID == [16]byte{} {
			t.TopicID = im.Topic(t.Topic).ID
		}
	}
}
