package client

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// A Commit is what a group has committed for a partition.
type Commit struct {
	Offset      int64 // of the next record to read
	LeaderEpoch int32 // of the last record read; -1 if it was not committed
	Metadata    string
	Err         error // why it is not known
}

// GroupCommits are the commits of one group, by topic and partition. Partitions for
// which nothing was committed are not in it.
type GroupCommits struct {
	Of  map[string]map[int32]Commit
	Err error // why they are not known: then Of is empty
}

// Partitions returns the partitions that have a commit.
func (g GroupCommits) Partitions() kadm.TopicsSet {
	set := make(kadm.TopicsSet)
	for topic, partitions := range g.Of {
		set.Add(topic, slices.Collect(maps.Keys(partitions))...)
	}
	return set
}

// Commits asks the coordinators of groups for all that the groups have committed: one
// request to each, for all its groups. A group that does not exist has none.
func (c *Client) Commits(ctx context.Context, ids []string) map[string]GroupCommits {
	var mu sync.Mutex
	answers := make(map[string][]kmsg.OffsetFetchResponseGroupTopic)
	failed := c.askCoordinators(ctx, ids, func(ctx context.Context, b *kgo.Broker, ids []string) (map[string]error, error) {
		failed := unmentioned(ids)
		for len(ids) > 0 {
			answer, err := answerOf[*kmsg.OffsetFetchResponse](b.Request(ctx, offsetFetch(ids)))
			if err != nil {
				return nil, err
			}
			if answer.Version < 8 { // Kafka before 3.0 answers for the first alone
				answer.Groups = []kmsg.OffsetFetchResponseGroup{oneGroup(ids[0], answer)}
				ids = ids[1:]
			} else {
				ids = nil
			}
			mu.Lock()
			for _, g := range answer.Groups {
				if _, asked := failed[g.Group]; asked {
					failed[g.Group] = kerr.ErrorForCode(g.ErrorCode)
					if failed[g.Group] == kerr.GroupIDNotFound { // Kafka itself answers with no commits
						failed[g.Group] = nil
					}
					answers[g.Group] = g.Topics
				}
			}
			mu.Unlock()
		}
		return failed, nil
	})
	names, err := c.topicNames(ctx, answers)
	all := make(map[string]GroupCommits, len(ids))
	for _, id := range ids {
		g := GroupCommits{Err: failed[id], Of: make(map[string]map[int32]Commit)}
		for _, t := range answers[id] {
			if g.Err != nil {
				break
			}
			var gone error
			if t.Topic == "" && names[t.TopicID] == "" {
				if g.Err = err; err != nil {
					break
				}
				t.Topic, gone = kadm.TopicID(t.TopicID).String(), kerr.UnknownTopicID
			} else if t.Topic == "" {
				t.Topic = names[t.TopicID]
			}
			of := make(map[int32]Commit, len(t.Partitions))
			for _, p := range t.Partitions {
				if p.Offset < 0 && p.ErrorCode == 0 {
					continue
				}
				commit := Commit{Offset: p.Offset, LeaderEpoch: p.LeaderEpoch, Err: cmp.Or(kerr.ErrorForCode(p.ErrorCode), gone)}
				if p.Metadata != nil {
					commit.Metadata = *p.Metadata
				}
				of[p.Partition] = commit
			}
			if len(of) > 0 {
				g.Of[t.Topic] = of
			}
		}
		delete(answers, id)
		all[id] = g
	}
	return all
}

// offsetFetch asks for all commits of groups. A broker that knows only requests for
// one group takes it for the first.
func offsetFetch(ids []string) *kmsg.OffsetFetchRequest {
	q := kmsg.NewPtrOffsetFetchRequest()
	q.Group = ids[0]
	for _, id := range ids {
		g := kmsg.NewOffsetFetchRequestGroup()
		g.Group = id
		q.Groups = append(q.Groups, g)
	}
	return q
}

// oneGroup makes an old answer, which is about one group, a new one.
func oneGroup(id string, old *kmsg.OffsetFetchResponse) kmsg.OffsetFetchResponseGroup {
	g := kmsg.NewOffsetFetchResponseGroup()
	g.Group, g.ErrorCode = id, old.ErrorCode
	for _, t := range old.Topics {
		topic := kmsg.NewOffsetFetchResponseGroupTopic()
		topic.Topic = t.Topic
		for _, p := range t.Partitions {
			topic.Partitions = append(topic.Partitions, kmsg.OffsetFetchResponseGroupTopicPartition{
				Partition: p.Partition, Offset: p.Offset, LeaderEpoch: p.LeaderEpoch, Metadata: p.Metadata, ErrorCode: p.ErrorCode,
			})
		}
		g.Topics = append(g.Topics, topic)
	}
	return g
}

// topicNames returns the names of the topics in answers that have only an id, as
// version 10 of OffsetFetch gives them. One that was deleted meanwhile has none.
func (c *Client) topicNames(ctx context.Context, answers map[string][]kmsg.OffsetFetchResponseGroupTopic) (map[[16]byte]string, error) {
	names := make(map[[16]byte]string)
	q := kmsg.NewPtrMetadataRequest()
	for _, topics := range answers {
		for _, t := range topics {
			if _, asked := names[t.TopicID]; asked || t.Topic != "" {
				continue
			}
			names[t.TopicID] = ""
			topic := kmsg.NewMetadataRequestTopic()
			topic.TopicID = t.TopicID
			q.Topics = append(q.Topics, topic)
		}
	}
	if len(q.Topics) == 0 {
		return names, nil
	}
	var answer *kmsg.MetadataResponse
	err := anyBroker(ctx, func(ctx context.Context) (err error) {
		answer, err = q.RequestWith(ctx, c.kgo)
		return err
	})
	if err != nil {
		return names, fmt.Errorf("the names of topics: %w", err)
	}
	for _, t := range answer.Topics {
		if t.Topic != nil {
			names[t.TopicID] = *t.Topic
		}
	}
	return names, nil
}
