package client

import (
	"context"
	"sync"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// SetCommits commits offsets for groups that have no members, as somebody outside of
// them: it is refused for others. TopicID of the offsets is needed by brokers from 4.1
// on. Each coordinator gets one request for each of its groups, one after another. The
// answer has an error, or nil, for each partition.
func (c *Client) SetCommits(ctx context.Context, of map[string]kadm.Offsets) map[string]map[string]map[int32]error {
	ids := make([]string, 0, len(of))
	answers := make(map[string]map[string]map[int32]error, len(of))
	for id, offsets := range of {
		ids = append(ids, id)
		answers[id] = make(map[string]map[int32]error)
		for topic, partitions := range offsets {
			answers[id][topic] = make(map[int32]error, len(partitions))
			for p := range partitions {
				answers[id][topic][p] = errNoAnswer
			}
		}
	}
	var mu sync.Mutex
	failed := c.askCoordinators(ctx, ids, func(ctx context.Context, b *kgo.Broker, ids []string) (map[string]error, error) {
		failed := make(map[string]error)
		for _, id := range ids {
			answer, err := answerOf[*kmsg.OffsetCommitResponse](b.Request(ctx, offsetCommit(id, of[id])))
			if err != nil {
				return nil, err
			}
			mu.Lock()
			failed[id] = readCommitted(answer, of[id], answers[id])
			mu.Unlock()
		}
		return failed, nil
	})
	for id, err := range failed {
		for _, of := range answers[id] {
			for p := range of {
				of[p] = err
			}
		}
	}
	return answers
}

func offsetCommit(group string, offsets kadm.Offsets) *kmsg.OffsetCommitRequest {
	q := kmsg.NewPtrOffsetCommitRequest()
	q.Group = group
	for topic, partitions := range offsets {
		t := kmsg.NewOffsetCommitRequestTopic()
		t.Topic = topic
		for _, o := range partitions {
			t.TopicID = o.TopicID
			p := kmsg.NewOffsetCommitRequestTopicPartition()
			p.Partition, p.Offset, p.LeaderEpoch, p.Metadata = o.Partition, o.At, o.LeaderEpoch, &o.Metadata
			t.Partitions = append(t.Partitions, p)
		}
		q.Topics = append(q.Topics, t)
	}
	return q
}

// readCommitted writes the errors of an answer to those of a group. It returns the one
// of the whole group that may pass, if there is one: brokers give it to each partition.
func readCommitted(answer *kmsg.OffsetCommitResponse, asked kadm.Offsets, to map[string]map[int32]error) error {
	names := make(map[kadm.TopicID]string)
	for topic, partitions := range asked {
		for _, o := range partitions {
			names[o.TopicID] = topic
		}
	}
	for _, t := range answer.Topics {
		if t.Topic == "" {
			t.Topic = names[t.TopicID]
		}
		for _, p := range t.Partitions {
			err := kerr.ErrorForCode(p.ErrorCode)
			if err != nil && mayPass(err) {
				return err
			}
			if _, ok := to[t.Topic][p.Partition]; ok {
				to[t.Topic][p.Partition] = err
			}
		}
	}
	return nil
}
