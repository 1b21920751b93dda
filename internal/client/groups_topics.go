package client

import (
	"context"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Partitions returns all partitions of those of the topics that exist. What franz-go
// learned of them within the last seconds is not asked for again.
func (c *Client) Partitions(ctx context.Context, topics []string) (kadm.TopicsSet, error) {
	set := make(kadm.TopicsSet)
	if len(topics) == 0 {
		return set, nil
	}
	q := kmsg.NewPtrMetadataRequest()
	for _, topic := range topics {
		t := kmsg.NewMetadataRequestTopic()
		t.Topic = kmsg.StringPtr(topic)
		q.Topics = append(q.Topics, t)
	}
	var answer *kmsg.MetadataResponse
	err := anyBroker(ctx, func(ctx context.Context) (err error) {
		answer, err = c.kgo.RequestCachedMetadata(ctx, q, 0)
		return err
	})
	if err != nil {
		return set, err
	}
	for _, t := range answer.Topics {
		if t.Topic == nil || t.ErrorCode != 0 {
			continue
		}
		for _, p := range t.Partitions {
			set.Add(*t.Topic, p.Partition)
		}
	}
	return set, nil
}
