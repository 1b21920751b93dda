package controller

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"kf/internal/image"
)

// CreatePartitions answers the request in its version. One topic that cannot get
// more partitions does not stop the others.
//
// Source: Kafka 4.4.0, ControllerApis.scala and ReplicationControlManager.java,
// createPartitions.
func (c *Controller) CreatePartitions(ctx context.Context, req *kmsg.CreatePartitionsRequest) *kmsg.CreatePartitionsResponse {
	res := req.ResponseKind().(*kmsg.CreatePartitionsResponse)
	times := map[string]int{}
	for _, t := range req.Topics {
		if times[t.Topic]++; times[t.Topic] == 1 {
			answered := kmsg.NewCreatePartitionsResponseTopic()
			answered.Topic = t.Topic
			res.Topics = append(res.Topics, answered)
		}
	}
	fail := func(err error) {
		for i := range res.Topics {
			res.Topics[i].ErrorCode, res.Topics[i].ErrorMessage = answer(err)
		}
	}
	if req.TimeoutMillis <= 0 {
		fail(&Error{Code: kerr.RequestTimedOut})
		return res
	}
	err := c.change(ctx, func(v view) ([]any, error) {
		if err := v.checkAdditional(req); err != nil {
			return nil, err
		}
		var records []any
		next := 0
		for _, t := range req.Topics {
			if times[t.Topic] < 0 {
				continue // answered as a duplicate
			}
			answered := &res.Topics[next]
			next++
			err := error(&Error{kerr.InvalidRequest, "Duplicate topic name."})
			if times[t.Topic] == 1 {
				var made []any
				made, err = v.addPartitions(t)
				records = append(records, made...)
			}
			times[t.Topic] = -1
			answered.ErrorCode, answered.ErrorMessage = answer(err)
		}
		if req.ValidateOnly {
			return nil, nil
		}
		return records, nil
	})
	if err != nil {
		fail(err)
	}
	return res
}

// checkAdditional refuses a request for too many partitions.
func (v view) checkAdditional(req *kmsg.CreatePartitionsRequest) error {
	total := int64(0)
	for _, t := range req.Topics {
		if topic := v.Topic(t.Topic); topic != nil {
			total += max(0, int64(t.Count)-int64(topic.Len()))
		}
	}
	if total > maxPartitions {
		return &Error{kerr.PolicyViolation, "Excessively large number of additional partitions per request."}
	}
	return nil
}

// addPartitions returns the records that give a topic more partitions.
func (v view) addPartitions(t kmsg.CreatePartitionsRequestTopic) ([]any, error) {
	topic := v.Topic(t.Topic)
	if topic == nil {
		return nil, &Error{kerr.UnknownTopicOrPartition, "This server does not host this topic-partition."}
	}
	has := int32(topic.Len())
	more := t.Count - has
	switch {
	case more == 0:
		return nil, &Error{kerr.InvalidPartitions, fmt.Sprintf("Topic already has %d partition(s).", has)}
	case t.Count < has:
		return nil, &Error{kerr.InvalidPartitions, fmt.Sprintf("The topic %s currently has %d partition(s); %d would not be an increase.", t.Topic, has, t.Count)}
	case t.Assignment != nil && int64(len(t.Assignment)) != int64(more):
		return nil, &Error{kerr.InvalidReplicaAssignment,
			fmt.Sprintf("Attempted to add %d additional partition(s), but only %d assignment(s) were specified.", more, len(t.Assignment))}
	}
	factor := 0
	for p := range topic.Partitions() {
		factor = len(p.Replicas)
		break
	}
	var partitions []*image.Partition
	var err error
	if t.Assignment == nil {
		partitions, err = v.placement(newRandom(), has, more, int16(factor))
	}
	for i, a := range t.Assignment {
		var p *image.Partition
		if err = v.checkAssignment(a.Replicas, factor); err != nil {
			break
		}
		if p, err = v.assigned(has+int32(i), a.Replicas); err != nil {
			break
		}
		partitions = append(partitions, p)
	}
	if err != nil {
		return nil, err
	}
	records := make([]any, 0, len(partitions))
	for _, p := range partitions {
		records = append(records, p.Record(topic.ID, v.MetadataVersion()))
	}
	return records, nil
}
