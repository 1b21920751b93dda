package groups

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/twmb/franz-go/pkg/kadm"

	"kf/internal/client"
)

// A position is how far a group is in a partition.
type position struct {
	topic     string
	partition int32
	commit    int64 // the next record to read, of a share group the first that may still be delivered; -1 if there is none
	epoch     int32 // committed leader epoch; -1 if there is none
	metadata  string
	end       int64 // log end offset as consumers see it; -1 if it is not known
	lag       int64 // end - commit, or what the broker says of a share group; meaningless unless lagKnown
	lagKnown  bool
	owner     *client.GroupMember // nil if nobody reads the partition, or several do
	owners    int
	err       error // why something is not known
}

func (p *position) name() string { return fmt.Sprintf("%s-%d", p.topic, p.partition) }

// A standing is how far a group is.
type standing struct {
	*client.Group
	positions []position // by topic and partition
	err       error      // why they are not known
}

// An asker is what has to be known of a cluster to tell how far groups are.
type asker interface {
	DescribeGroupsByID(ctx context.Context, ids []string) []client.Group
	Commits(ctx context.Context, ids []string) map[string]client.GroupCommits
	ShareOffsets(ctx context.Context, ids []string) map[string]client.ShareOffsets
	Partitions(ctx context.Context, topics []string) (kadm.TopicsSet, error)
	ListOffsets(ctx context.Context, at int64, committed bool, of kadm.TopicsSet) (kadm.ListedOffsets, error)
}

// measure tells how far groups are in the partitions that they have committed, own or
// subscribe to by name; topics, if there are any, restricts it to those. With stable
// the end of a partition is its last stable offset.
//
// The commits are asked for before the ends, so that a lag can be too large by what
// was written meanwhile, but never below 0 by that.
func measure(ctx context.Context, cl asker, groups []client.Group, topics []string, stable bool) []standing {
	var share, other []string
	for _, g := range groups {
		switch {
		case g.Err != nil:
		case g.Type == client.ShareGroup:
			share = append(share, g.ID)
		default:
			other = append(other, g.ID)
		}
	}
	var (
		commits map[string]client.GroupCommits
		shares  map[string]client.ShareOffsets
		both    sync.WaitGroup
	)
	both.Go(func() { commits = cl.Commits(ctx, other) })
	both.Go(func() { shares = cl.ShareOffsets(ctx, share) })
	both.Wait()

	wanted := func(topic string) bool { return len(topics) == 0 || slices.Contains(topics, topic) }
	subscribed := make(map[string]bool)
	for _, g := range groups {
		for _, t := range g.Subscribed() {
			if wanted(t) {
				subscribed[t] = true
			}
		}
	}
	partitions, err := cl.Partitions(ctx, slices.Sorted(maps.Keys(subscribed)))
	all := make([]standing, 0, len(groups))
	asked := make(kadm.TopicsSet)
	for i := range groups {
		s := standing{Group: &groups[i], err: groups[i].Err}
		if s.err == nil {
			s.err = cmp.Or(commits[s.ID].Err, shares[s.ID].Err, err)
		}
		if s.err == nil {
			s.positions = collect(s.Group, commits[s.ID].Of, shares[s.ID].Of, partitions, wanted)
		}
		for _, p := range s.positions {
			asked.Add(p.topic, p.partition)
		}
		all = append(all, s)
	}
	ends, err := cl.ListOffsets(ctx, client.Latest, stable, asked)
	for _, s := range all {
		for i := range s.positions {
			s.positions[i].measure(ends, err, s.Type)
		}
	}
	return all
}

// collect returns the partitions of a group, without their ends.
func collect(g *client.Group, commits map[string]map[int32]client.Commit, shares map[string]map[int32]client.ShareOffset,
	partitions kadm.TopicsSet, wanted func(string) bool) []position {
	all := make(map[string]map[int32]*position)
	at := func(topic string, partition int32) *position {
		if all[topic] == nil {
			all[topic] = make(map[int32]*position)
		}
		p := all[topic][partition]
		if p == nil {
			p = &position{topic: topic, partition: partition, commit: -1, epoch: -1, end: -1}
			all[topic][partition] = p
		}
		return p
	}
	for topic, of := range commits {
		for partition, c := range of {
			p := at(topic, partition)
			p.commit, p.epoch, p.metadata, p.err = c.Offset, c.LeaderEpoch, c.Metadata, c.Err
		}
	}
	for topic, of := range shares {
		for partition, s := range of {
			p := at(topic, partition)
			p.commit, p.epoch, p.err = s.Start, s.LeaderEpoch, s.Err
			p.lag, p.lagKnown = s.Lag, s.Lag >= 0 && s.Err == nil
		}
	}
	for _, topic := range g.Subscribed() {
		for partition := range partitions[topic] {
			at(topic, partition)
		}
	}
	for i := range g.Members {
		m := &g.Members[i]
		for _, t := range m.Assignment {
			for _, partition := range t.Partitions {
				// A task of Kafka Streams reads its partition of each topic that has it.
				if count, ok := partitions[t.Topic]; m.Streams != nil && ok {
					if _, has := count[partition]; !has {
						continue
					}
				}
				p := at(t.Topic, partition)
				p.owner = m
				if p.owners++; p.owners > 1 {
					p.owner = nil
				}
			}
		}
	}
	var list []position
	for topic, of := range all {
		if !wanted(topic) {
			continue
		}
		for _, p := range of {
			list = append(list, *p)
		}
	}
	slices.SortFunc(list, func(a, b position) int {
		return cmp.Or(cmp.Compare(a.topic, b.topic), cmp.Compare(a.partition, b.partition))
	})
	return list
}

// measure sets the end of the partition and the lag. Err is that of the question for
// ends, if it failed as a whole.
func (p *position) measure(ends kadm.ListedOffsets, err error, typ client.GroupType) {
	switch end, ok := ends.Lookup(p.topic, p.partition); {
	case ok && end.Err == nil:
		p.end = end.Offset
	case p.err != nil:
	case ok:
		p.err = end.Err
	case err != nil:
		p.err = err
	default:
		p.err = errNoEnd
	}
	if typ != client.ShareGroup && p.commit >= 0 && p.end >= 0 {
		p.lag, p.lagKnown = p.end-p.commit, true
	}
}

// errNoEnd is the error of a partition whose end no broker told.
var errNoEnd = errors.New("no broker told its log end offset")
