package broker

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func describingQuorum(topic string, partitions ...int32) *kmsg.DescribeQuorumRequest {
	q := kmsg.NewPtrDescribeQuorumRequest()
	t := kmsg.NewDescribeQuorumRequestTopic()
	t.Topic = topic
	for _, p := range partitions {
		t.Partitions = append(t.Partitions, kmsg.DescribeQuorumRequestTopicPartition{Partition: p})
	}
	q.Topics = append(q.Topics, t)
	return q
}

func TestDescribeQuorum(t *testing.T) {
	s := newCaseStage(t, Options{})
	before := time.Now().UnixMilli()
	answer := s.request(2, describingQuorum("__cluster_metadata", 0)).(*kmsg.DescribeQuorumResponse)
	if answer.ErrorCode != 0 || len(answer.Topics) != 1 || len(answer.Topics[0].Partitions) != 1 || len(answer.Nodes) != 1 {
		t.Fatalf("%+v", answer)
	}
	p := answer.Topics[0].Partitions[0]
	if p.LeaderID != 1 || p.LeaderEpoch != 1 || p.HighWatermark != s.b.controller.Image().Position.Offset || len(p.CurrentVoters) != 1 || len(p.Observers) != 0 {
		t.Errorf("%+v", p)
	}
	v := p.CurrentVoters[0]
	if v.ReplicaID != 1 || v.LogEndOffset != p.HighWatermark || v.LastFetchTimestamp < before || v.LastCaughtUpTimestamp != v.LastFetchTimestamp || v.ReplicaDirectoryID != ([16]byte{}) {
		t.Errorf("%+v", v)
	}
	node, broker := answer.Nodes[0], s.b.endpoints[0]
	if node.NodeID != 1 || len(node.Listeners) != 1 || node.Listeners[0].Name != "CONTROLLER" || node.Listeners[0].Host != broker.Host || node.Listeners[0].Port != broker.Port {
		t.Errorf("%+v", node)
	}

	// The log grows with the cluster.
	s.create("more", nil)
	later := s.request(2, describingQuorum("__cluster_metadata", 0)).(*kmsg.DescribeQuorumResponse)
	if got := later.Topics[0].Partitions[0].HighWatermark; got <= p.HighWatermark {
		t.Errorf("high watermark %d after %d", got, p.HighWatermark)
	}

	// It describes this one log, and nothing else beside it.
	two := describingQuorum("__cluster_metadata", 0)
	two.Topics = append(two.Topics, two.Topics[0])
	for name, q := range map[string]*kmsg.DescribeQuorumRequest{
		"other topic": describingQuorum("t", 0), "other partition": describingQuorum("__cluster_metadata", 1),
		"two partitions": describingQuorum("__cluster_metadata", 0, 1), "twice": two, "no partition": describingQuorum("__cluster_metadata"),
	} {
		answer := s.request(2, q).(*kmsg.DescribeQuorumResponse)
		if answer.ErrorCode != 0 || len(answer.Nodes) != 0 || len(answer.Topics) != len(q.Topics) {
			t.Errorf("%s: %+v", name, answer)
		}
		for i, to := range answer.Topics {
			if len(to.Partitions) != len(q.Topics[i].Partitions) {
				t.Errorf("%s: %+v", name, to)
			}
			for _, p := range to.Partitions {
				if p.ErrorCode != kerr.UnknownTopicOrPartition.Code || p.ErrorMessage == nil || len(p.CurrentVoters) != 0 {
					t.Errorf("%s: %+v", name, p)
				}
			}
		}
	}
}
