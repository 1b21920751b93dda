package client

import (
	"context"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// A ShareOffset says how far a share group is in a partition.
type ShareOffset struct {
	Start       int64 // the first record that may still be delivered; -1 if the partition was not initialised
	LeaderEpoch int32
	Lag         int64 // records to deliver; -1 if the broker does not say: Kafka before 4.2, or not known
	Err         error // why it is not known
}

// ShareOffsets are those of one share group, by topic and partition.
type ShareOffsets struct {
	Of  map[string]map[int32]ShareOffset
	Err error // why they are not known: then Of is empty
}

// ShareOffsets asks the coordinators of share groups how far the groups are, in all
// their partitions: one request to each.
func (c *Client) ShareOffsets(ctx context.Context, ids []string) map[string]ShareOffsets {
	all := make(map[string]ShareOffsets, len(ids))
	answers := make(chan kmsg.DescribeShareGroupOffsetsResponseGroup, len(ids))
	failed := c.askCoordinators(ctx, ids, func(ctx context.Context, b *kgo.Broker, ids []string) (map[string]error, error) {
		q := kmsg.NewPtrDescribeShareGroupOffsetsRequest()
		for _, id := range ids {
			q.Groups = append(q.Groups, kmsg.DescribeShareGroupOffsetsRequestGroup{GroupID: id})
		}
		answer, err := answerOf[*kmsg.DescribeShareGroupOffsetsResponse](b.Request(ctx, q))
		if err != nil {
			return nil, err
		}
		failed := unmentioned(ids)
		for _, g := range answer.Groups {
			if failed[g.GroupID] == errNoAnswer {
				failed[g.GroupID] = answerError(g.ErrorCode, g.ErrorMessage)
				if g.ErrorCode == 0 {
					answers <- g
				}
			}
		}
		return failed, nil
	})
	close(answers)
	for g := range answers {
		offsets := ShareOffsets{Of: make(map[string]map[int32]ShareOffset)}
		for _, t := range g.Topics {
			of := make(map[int32]ShareOffset, len(t.Partitions))
			for _, p := range t.Partitions {
				of[p.Partition] = ShareOffset{p.StartOffset, p.LeaderEpoch, p.Lag, answerError(p.ErrorCode, p.ErrorMessage)}
			}
			offsets.Of[t.Topic] = of
		}
		all[g.GroupID] = offsets
	}
	for id, err := range failed {
		all[id] = ShareOffsets{Err: err}
	}
	return all
}
