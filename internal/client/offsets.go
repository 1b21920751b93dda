package client

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// The points in a partition that ListOffsets knows besides times in ms since the
// epoch. Source: Kafka 4.4.0, ListOffsetsRequest.java.
const (
	Latest                int64 = -1 // the high watermark, or the last stable offset
	Earliest              int64 = -2 // the log start offset
	MaxTimestamp          int64 = -3 // the record with the largest timestamp
	EarliestLocal         int64 = -4 // the first that is on the disk of the leader
	LatestTiered          int64 = -5 // the last in remote storage
	EarliestPendingUpload int64 = -6 // the first that remote storage does not have yet
)

// pointVersions are the versions of ListOffsets that know a point; for older ones it
// would be a time like any other. Source: Kafka 4.4.0, ListOffsetsRequest.json.
var pointVersions = map[int64]int16{MaxTimestamp: 7, EarliestLocal: 8, LatestTiered: 9, EarliestPendingUpload: 11}

// ListOffsets asks the leaders of partitions, each once, for the offsets at a point
// or time; committed makes Latest the last stable offset. A partition that has none
// there has offset -1 in the answer. The error is that of the whole, or of some of
// the leaders: then what others said is in the answer, and the partitions of these
// have that error.
func (c *Client) ListOffsets(ctx context.Context, at int64, committed bool, of kadm.TopicsSet) (kadm.ListedOffsets, error) {
	q := kmsg.NewPtrListOffsetsRequest()
	q.ReplicaID = -1
	if committed {
		q.IsolationLevel = 1
	}
	for topic, partitions := range of {
		t := kmsg.NewListOffsetsRequestTopic()
		t.Topic = topic
		for partition := range partitions {
			p := kmsg.NewListOffsetsRequestTopicPartition()
			p.Partition, p.Timestamp = partition, at
			t.Partitions = append(t.Partitions, p)
		}
		q.Topics = append(q.Topics, t)
	}
	listed := make(kadm.ListedOffsets)
	if len(q.Topics) == 0 {
		return listed, nil
	}
	in := func(topic string) map[int32]kadm.ListedOffset {
		if listed[topic] == nil {
			listed[topic] = make(map[int32]kadm.ListedOffset)
		}
		return listed[topic]
	}
	ctx, cancel := patience(ctx)
	defer cancel()
	var errs []error
	for _, shard := range c.kgo.RequestSharded(ctx, q) {
		if shard.Err != nil {
			if ctx.Err() != nil {
				shard.Err = context.Cause(ctx)
			}
			err := shardError(shard)
			errs = append(errs, err)
			for _, t := range shard.Req.(*kmsg.ListOffsetsRequest).Topics {
				for _, p := range t.Partitions {
					in(t.Topic)[p.Partition] = noOffset(t.Topic, p.Partition, err)
				}
			}
			continue
		}
		answer := shard.Resp.(*kmsg.ListOffsetsResponse)
		var tooOld error
		if answer.Version < pointVersions[at] {
			tooOld = brokerError(shard.Meta, &UnsupportedError{fmt.Sprintf("ListOffsets of point %d", at), kerr.UnsupportedVersion})
			errs = append(errs, tooOld)
		}
		for _, t := range answer.Topics {
			for _, p := range t.Partitions {
				if tooOld != nil {
					in(t.Topic)[p.Partition] = noOffset(t.Topic, p.Partition, tooOld)
					continue
				}
				in(t.Topic)[p.Partition] = kadm.ListedOffset{
					Topic: t.Topic, Partition: p.Partition, Timestamp: p.Timestamp, Offset: p.Offset,
					LeaderEpoch: p.LeaderEpoch, Err: kerr.ErrorForCode(p.ErrorCode),
				}
			}
		}
	}
	return listed, errors.Join(errs...)
}

func noOffset(topic string, partition int32, err error) kadm.ListedOffset {
	return kadm.ListedOffset{Topic: topic, Partition: partition, Offset: -1, Timestamp: -1, LeaderEpoch: -1, Err: err}
}

// shardError returns the error of one broker's part of a request, with its name.
func shardError(s kgo.ResponseShard) error {
	if s.Meta.NodeID < 0 || s.Meta.Host == "" {
		return reason(s.Err)
	}
	return brokerError(s.Meta, s.Err)
}

// brokerError returns err with the name of the broker whose it is.
func brokerError(b kgo.BrokerMetadata, err error) error {
	return &BrokerError{Node: b.NodeID, Host: b.Host, Port: b.Port, Err: err}
}
