package topics

import (
	"context"
	"slices"

	"github.com/twmb/franz-go/pkg/kadm"

	"kf/internal/client"
)

// A dirSource answers for log directories.
type dirSource interface {
	LogDirs(ctx context.Context, brokers kadm.BrokerDetails, of kadm.TopicsSet) ([]client.LogDir, error)
}

// A size is how much of the disks a partition, or a topic, takes.
type size struct {
	one, all int64 // bytes of the largest replica; of those that were found
	replicas int   // how many were found
}

// sizes are those of partitions.
type sizes map[string]map[int32]size

// of returns the bytes of one copy of partitions of a topic and of all copies, nil for
// what is not known of each of them.
func (s sizes) of(topic string, partitions ...client.Partition) (one, all *int64) {
	one, all = new(int64), new(int64)
	for _, p := range partitions {
		found := s[topic][p.ID]
		if found.replicas == 0 {
			return nil, nil
		}
		if *one += found.one; all != nil {
			*all += found.all
		}
		if found.replicas < len(p.Replicas) {
			all = nil
		}
	}
	return one, all
}

// askSizes asks the brokers that have replicas of the topics, each once. What they
// said counts, also if the error is that of others.
func askSizes(ctx context.Context, cl dirSource, cluster *client.Cluster, all bool) (sizes, error) {
	var of kadm.TopicsSet
	if !all { // a list of all topics would be longer than the answer
		of = partitionsOf(cluster.Topics)
		if len(of) == 0 {
			return nil, nil
		}
	}
	hosts := make(map[int32]bool)
	for _, t := range cluster.Topics {
		for _, p := range t.Partitions {
			for _, id := range p.Replicas {
				hosts[id] = true
			}
		}
	}
	brokers := slices.DeleteFunc(slices.Clone(cluster.Brokers), func(b kadm.BrokerDetail) bool { return !hosts[b.NodeID] })
	dirs, err := cl.LogDirs(ctx, brokers, of)
	found := make(sizes)
	for _, d := range dirs {
		for _, r := range d.Replicas {
			if r.Future { // a copy for a move to another directory of the same broker
				continue
			}
			if found[r.Topic] == nil {
				found[r.Topic] = make(map[int32]size)
			}
			s := found[r.Topic][r.Partition]
			found[r.Topic][r.Partition] = size{max(s.one, r.Size), s.all + r.Size, s.replicas + 1}
		}
	}
	return found, err
}

// partitionsOf returns the partitions of topics.
func partitionsOf(topics []client.Topic) kadm.TopicsSet {
	set := make(kadm.TopicsSet)
	for _, t := range topics {
		for _, p := range t.Partitions {
			set.Add(t.Name, p.ID)
		}
	}
	return set
}
