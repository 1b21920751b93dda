package controller

import (
	"context"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"kf/internal/wire"
)

// AlterPartition changes ISRs as leaders ask for it, and their leader recovery
// state. It answers as version 3 of the request.
//
// Source: Kafka 4.4.0, ReplicationControlManager.java, alterPartition.
func (c *Controller) AlterPartition(ctx context.Context, req *kmsg.AlterPartitionRequest) *kmsg.AlterPartitionResponse {
	res := req.ResponseKind().(*kmsg.AlterPartitionResponse)
	for _, t := range req.Topics {
		answered := kmsg.NewAlterPartitionResponseTopic()
		answered.TopidID = t.TopicID // kmsg spells it so
		for _, p := range t.Partitions {
			part := kmsg.NewAlterPartitionResponseTopicPartition()
			part.Partition = p.Partition
			answered.Partitions = append(answered.Partitions, part)
		}
		res.Topics = append(res.Topics, answered)
	}
	err := c.change(ctx, func(v view) ([]any, error) {
		if _, err := v.broker(req.BrokerID, req.BrokerEpoch); err != nil {
			return nil, err
		}
		var records []any
		for i, t := range req.Topics {
			for j, p := range t.Partitions {
				answered := &res.Topics[i].Partitions[j]
				a, err := v.alterISR(req.BrokerID, t.TopicID, p)
				if err != nil {
					answered.ErrorCode, _ = answer(err)
					continue
				}
				if r := a.record(); r != nil {
					records = append(records, r)
					next, err := a.old.After(r)
					if err != nil {
						return nil, err
					}
					a.next = *next
				}
				n := &a.next
				answered.LeaderID, answered.LeaderEpoch, answered.ISR, answered.PartitionEpoch = n.Leader, n.LeaderEpoch, n.ISR, n.PartitionEpoch
				if n.Recovering {
					answered.LeaderRecoveryState = 1
				}
			}
		}
		return records, nil
	})
	if err != nil {
		res.ErrorCode, _ = answer(err)
		res.Topics = nil
	}
	return res
}

// alterISR checks what a leader wants for a partition.
func (v view) alterISR(leader int32, topic wire.UUID, req kmsg.AlterPartitionRequestTopicPartition) (*alteration, error) {
	t := v.TopicByID(topic)
	if t == nil {
		return nil, kerr.UnknownTopicID
	}
	p := t.Partition(req.Partition)
	if p == nil {
		return nil, kerr.UnknownTopicOrPartition
	}
	isr := slices.Clone(req.NewISR)
	for _, m := range req.NewEpochISR {
		isr = append(isr, m.BrokerID)
	}
	switch {
	case req.LeaderEpoch > p.LeaderEpoch, req.PartitionEpoch > p.PartitionEpoch:
		return nil, kerr.NotController // the leader knows more than this controller
	case req.LeaderEpoch < p.LeaderEpoch:
		return nil, kerr.FencedLeaderEpoch
	case leader != p.Leader:
		return nil, kerr.InvalidRequest
	case req.PartitionEpoch < p.PartitionEpoch:
		return nil, kerr.InvalidUpdateVersion
	case !containsAll(p.Replicas, isr) || hasDuplicate(isr) || !slices.Contains(isr, leader):
		return nil, kerr.InvalidRequest
	case req.LeaderRecoveryState < 0 || req.LeaderRecoveryState > 1:
		return nil, kerr.InvalidRequest
	case req.LeaderRecoveryState == 1 && (len(isr) > 1 || !p.Recovering):
		return nil, kerr.InvalidRequest
	}
	for _, m := range req.NewEpochISR {
		b := v.Broker(m.BrokerID)
		if !b.Active() || m.BrokerEpoch != -1 && m.BrokerEpoch != b.Epoch {
			return nil, kerr.IneligibleReplica
		}
	}
	if slices.ContainsFunc(isr, func(broker int32) bool { return !v.active(broker) }) {
		return nil, kerr.IneligibleReplica
	}
	a := v.alter(t, p, v.active)
	a.next.ISR, a.next.Recovering = isr, req.LeaderRecoveryState == 1
	return a, nil
}

func hasDuplicate(list []int32) bool {
	sorted := slices.Sorted(slices.Values(list))
	return len(slices.Compact(sorted)) != len(list)
}
