package groups

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/twmb/franz-go/pkg/kerr"

	"kf/internal/client"
	"kf/internal/resetplan"
)

// groupCommits are the commits of a group of any type; those of a share group are its
// start offsets.
type groupCommits struct {
	of  map[resetplan.TopicPartition]client.Commit
	err error // why they are not known
}

// A commitAsker tells what groups have committed.
type commitAsker interface {
	Commits(ctx context.Context, ids []string) map[string]client.GroupCommits
	ShareOffsets(ctx context.Context, ids []string) map[string]client.ShareOffsets
}

// askCommits asks what groups have committed.
func askCommits(ctx context.Context, cl commitAsker, groups []client.Group) map[string]groupCommits {
	var share, other []string
	for _, g := range groups {
		if g.Type == client.ShareGroup {
			share = append(share, g.ID)
		} else {
			other = append(other, g.ID)
		}
	}
	var (
		committed map[string]client.GroupCommits
		shared    map[string]client.ShareOffsets
		both      sync.WaitGroup
	)
	both.Go(func() { committed = cl.Commits(ctx, other) })
	both.Go(func() { shared = cl.ShareOffsets(ctx, share) })
	both.Wait()
	all := make(map[string]groupCommits)
	for id, c := range committed {
		g := groupCommits{make(map[resetplan.TopicPartition]client.Commit), c.Err}
		for topic, of := range c.Of {
			for p, commit := range of {
				g.of[resetplan.TopicPartition{Topic: topic, Partition: p}] = commit
			}
		}
		all[id] = g
	}
	for id, s := range shared {
		g := groupCommits{make(map[resetplan.TopicPartition]client.Commit), s.Err}
		for topic, of := range s.Of {
			for p, o := range of {
				if o.Start >= 0 || o.Err != nil {
					g.of[resetplan.TopicPartition{Topic: topic, Partition: p}] = client.Commit{Offset: o.Start, LeaderEpoch: -1, Err: o.Err}
				}
			}
		}
		all[id] = g
	}
	return all
}

// now returns what is committed in a partition, nil for nothing.
func (g groupCommits) now(p resetplan.TopicPartition) (*resetplan.Commit, error) {
	c, ok := g.of[p]
	if !ok || c.Err != nil {
		return nil, c.Err
	}
	return &resetplan.Commit{Offset: c.Offset, LeaderEpoch: c.LeaderEpoch, Metadata: c.Metadata}, nil
}

// Words of errors that name no place in the protocol.
var (
	errForeign     = errors.New("how far it is is not in committed offsets")
	errNothing     = errors.New("it has committed nothing: name topics with --topic")
	errNoTopic     = errors.New("there is no such topic")
	errNoPartition = errors.New("there is no such partition")
	errNoLeader    = errors.New("the partition has no leader")
	errNoOffsets   = errors.New("no broker says what the partition holds")
	errNewTopic    = errors.New("the topic was deleted and created anew since the plan was made")
)

func topicError(t *client.Topic) error {
	if t == nil || errors.Is(t.Err, kerr.UnknownTopicOrPartition) {
		return errNoTopic
	}
	return t.Err
}

// findPartition returns a partition of a topic, nil if there is none, that can be read.
func findPartition(t *client.Topic, partition int32) (client.Partition, error) {
	if t == nil || t.Err != nil {
		return client.Partition{}, topicError(t)
	}
	i := slices.IndexFunc(t.Partitions, func(p client.Partition) bool { return p.ID == partition })
	switch {
	case i < 0:
		return client.Partition{}, errNoPartition
	case t.Partitions[i].Leader < 0:
		return client.Partition{}, errNoLeader
	}
	return t.Partitions[i], nil
}
