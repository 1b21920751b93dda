package broker

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// CreateTopics, key 19, versions 2 to 7, DeleteTopics, key 20, versions 1 to 6,
// and CreatePartitions, key 37, versions 0 to 3. The controller decides; here is
// what Kafka's broker checks before it asks it.
//
// Deviation from Kafka 4.4.0: none known.

// metadataTopic is the topic of the cluster's metadata, which nobody creates.
const metadataTopic = "__cluster_metadata"

func (b *Broker) createTopics(c *call, q *kmsg.CreateTopicsRequest) kmsg.Response {
	answer := q.ResponseKind().(*kmsg.CreateTopicsResponse)
	fail := func(name string, code int16, message string) {
		to := kmsg.NewCreateTopicsResponseTopic()
		to.Topic, to.ErrorCode, to.NumPartitions, to.ReplicationFactor = name, code, -1, -1
		to.ErrorMessage = &message
		to.Configs = []kmsg.CreateTopicsResponseTopicConfig{}
		answer.Topics = append(answer.Topics, to)
	}
	count := make(map[string]int)
	for _, t := range q.Topics {
		count[t.Topic]++
	}
	pass := *q
	pass.Topics = nil
	for _, t := range q.Topics {
		switch {
		case count[t.Topic] == 0: // the duplicates are answered once
		case t.Topic == metadataTopic:
			fail(t.Topic, kerr.InvalidRequest.Code, "Creation of internal topic "+metadataTopic+" is prohibited.")
		case count[t.Topic] > 1:
			fail(t.Topic, kerr.InvalidRequest.Code, "Duplicate topic name.")
			count[t.Topic] = 0
		case q.TimeoutMillis <= 0:
			fail(t.Topic, kerr.RequestTimedOut.Code, "The request timed out.")
		default:
			pass.Topics = append(pass.Topics, t)
		}
	}
	if len(pass.Topics) > 0 {
		ctx, cancel := b.within(q.TimeoutMillis)
		defer cancel()
		answer.Topics = append(b.controller.CreateTopics(ctx, &pass).Topics, answer.Topics...)
	}
	return answer
}

// within returns a context that ends after a request's time-out.
func (b *Broker) within(millis int32) (context.Context, context.CancelFunc) {
	return context.WithTimeout(b.ctx, time.Duration(millis)*time.Millisecond)
}

func (b *Broker) deleteTopics(c *call, q *kmsg.DeleteTopicsRequest) kmsg.Response {
	answer := q.ResponseKind().(*kmsg.DeleteTopicsResponse)
	code := int16(0)
	switch {
	case !b.deleteTopic && q.Version < 3:
		code = kerr.InvalidRequest.Code
	case !b.deleteTopic:
		code = kerr.TopicDeletionDisabled.Code
	case q.TimeoutMillis <= 0:
		code = kerr.RequestTimedOut.Code
	}
	if code == 0 {
		ctx, cancel := b.within(q.TimeoutMillis)
		defer cancel()
		return b.controller.DeleteTopics(ctx, q)
	}
	for _, t := range q.Topics {
		to := kmsg.NewDeleteTopicsResponseTopic()
		to.Topic, to.TopicID, to.ErrorCode = t.Topic, t.TopicID, code
		answer.Topics = append(answer.Topics, to)
	}
	for _, name := range q.TopicNames {
		to := kmsg.NewDeleteTopicsResponseTopic()
		to.Topic, to.ErrorCode = &name, code
		answer.Topics = append(answer.Topics, to)
	}
	return answer
}

func (b *Broker) createPartitions(c *call, q *kmsg.CreatePartitionsRequest) kmsg.Response {
	ctx, cancel := b.within(q.TimeoutMillis)
	defer cancel()
	return b.controller.CreatePartitions(ctx, q)
}
