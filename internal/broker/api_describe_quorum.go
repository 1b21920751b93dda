package broker

import (
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"kf/internal/logdir"
)

// DescribeQuorum, key 55, versions 0 to 2: what the leader of the metadata log knows
// about its voters. This node is the leader and the only voter, so that the high
// watermark is always its log end offset.
//
// Deviation from Kafka 4.4.0: the endpoint of the voter is that of the broker, for
// there is no listener for controllers.

func (b *Broker) describeQuorum(_ *call, q *kmsg.DescribeQuorumRequest) kmsg.Response {
	answer := q.ResponseKind().(*kmsg.DescribeQuorumResponse)
	answer.ErrorMessage = kmsg.StringPtr("")
	known := len(q.Topics) == 1 && q.Topics[0].Topic == logdir.TopicClusterMetadata && len(q.Topics[0].Partitions) == 1 && q.Topics[0].Partitions[0].Partition == 0
	for _, t := range q.Topics {
		to := kmsg.NewDescribeQuorumResponseTopic()
		to.Topic = t.Topic
		for _, p := range t.Partitions {
			result := kmsg.NewDescribeQuorumResponseTopicPartition()
			result.Partition, result.ErrorMessage = p.Partition, kmsg.StringPtr("")
			if known {
				b.describeVoters(&result)
			} else {
				result.ErrorCode = kerr.UnknownTopicOrPartition.Code
				result.ErrorMessage = kmsg.StringPtr("This server does not host this topic-partition.")
			}
			to.Partitions = append(to.Partitions, result)
		}
		answer.Topics = append(answer.Topics, to)
	}
	if known {
		answer.Nodes = b.voterNodes()
	}
	return answer
}

func (b *Broker) describeVoters(to *kmsg.DescribeQuorumResponseTopicPartition) {
	quorum := b.controller.Quorum()
	now := time.Now().UnixMilli()
	to.LeaderID, to.LeaderEpoch = b.node, quorum.Epoch
	to.HighWatermark = b.controller.Image().Position.Offset
	me := kmsg.NewDescribeQuorumResponseTopicPartitionReplicaState()
	me.ReplicaID, me.ReplicaDirectoryID, me.LogEndOffset = b.node, quorum.Directory, to.HighWatermark
	me.LastFetchTimestamp, me.LastCaughtUpTimestamp = now, now
	to.CurrentVoters = append(to.CurrentVoters, me)
}

// voterNodes returns where the voter is reached, as the controller registered it.
func (b *Broker) voterNodes() []kmsg.DescribeQuorumResponseNode {
	node := kmsg.NewDescribeQuorumResponseNode()
	node.NodeID = b.node
	if registered := b.controller.Image().Controller(b.node); registered != nil {
		for _, e := range registered.Endpoints {
			to := kmsg.NewDescribeQuorumResponseNodeListener()
			to.Name, to.Host, to.Port = e.Name, e.Host, e.Port
			node.Listeners = append(node.Listeners, to)
		}
	}
	return []kmsg.DescribeQuorumResponseNode{node}
}
