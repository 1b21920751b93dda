package group

import (
	"maps"
	"slices"

	"kf/internal/coordinator/assignor"
	"kf/internal/image"
)

// subscriptions are the topics that the members of a group are subscribed to, by
// name.
type subscriptions map[string]subscribers

// subscribers are those of a topic, none of which is not in the map.
type subscribers struct {
	members  int // by its name
	patterns int // regular expressions that match it, whatever number of members has them
}

// add adds to the subscribers of a topic, and reports whether there are any.
func (s subscriptions) add(topic string, members, patterns int) bool {
	n := s[topic]
	n.members += members
	n.patterns += patterns
	if n == (subscribers{}) {
		delete(s, topic)
		return false
	}
	s[topic] = n
	return true
}

func (s subscriptions) addAll(topics []string, members, patterns int) {
	for _, t := range topics {
		s.add(t, members, patterns)
	}
}

// subscribe counts subscriptions of the group.
func (g *consumerGroup) subscribe(topics []string, members, patterns int) {
	for _, t := range topics {
		was := g.subscribed(t)
		is := g.topics.add(t, members, patterns)
		if is != was && g.watch != nil {
			g.watch(t, is)
		}
	}
}

// A demand is what the members of a group want, taken together, as it will be when
// one of them has changed or some have left.
type demand struct {
	topics   subscriptions
	patterns map[string]int
	members  int
}

// demandWith returns the demand when updated has taken the place of old, which
// may not be in the group yet.
//
// Source: Kafka 4.4.0, GroupMetadataManager.java, updateSubscriptionMetadata.
func (g *consumerGroup) demandWith(old, updated *consumerMember) demand {
	d := demand{maps.Clone(g.topics), maps.Clone(g.patterns), len(g.members)}
	d.topics.addAll(updated.topics, 1, 0)
	d.topics.addAll(old.topics, -1, 0)
	if was, is := old.usesPattern(), updated.usesPattern(); was != is {
		if r := g.resolved[was]; r != nil && g.patterns[was] == 1 {
			d.topics.addAll(r.topics, 0, -1)
		}
		count(d.patterns, was, -1)
		count(d.patterns, is, 1)
	}
	if g.members[updated.id] == nil && g.static(updated.instance) == nil {
		d.members++
	}
	return d
}

// count adds to a count by name, and forgets it at 0; the name "" has none.
func count(counts map[string]int, name string, n int) {
	if name == "" {
		return
	}
	if counts[name] += n; counts[name] == 0 {
		delete(counts, name)
	}
}

// homogeneous reports whether all members want the same topics, as far as counts
// tell.
//
// Source: Kafka 4.4.0, ConsumerGroup.java, subscriptionType.
func (d demand) homogeneous() bool {
	if len(d.patterns) == 0 {
		for _, n := range d.topics {
			if n.members != d.members {
				return false
			}
		}
		return true
	}
	for _, n := range d.patterns {
		if n != d.members {
			return false
		}
	}
	for _, n := range d.topics {
		if n != (subscribers{patterns: 1}) {
			return false
		}
	}
	return true
}

// preferred returns the assignor that most members want, the first of assignors if
// none wants any. Of those that equally many want it is the one that comes first in
// assignors.
//
// Deviation from Kafka 4.4.0: with as many votes for one as for the other Kafka
// takes what a hash table yields first, which depends on who votes, and raises the
// group epoch at each change of its mind.
func preferred(votes map[string]int, assignors []string) string {
	best := assignors[0]
	for _, name := range slices.Concat(assignors, slices.Sorted(maps.Keys(votes))) {
		if votes[name] > votes[best] {
			best = name
		}
	}
	return best
}

// metadataHash returns the hash of topics, of which those that do not exist do not
// count.
func (m *machine) metadataHash(topics subscriptions) int64 {
	hashes := make(map[string]int64, len(topics))
	for name := range topics {
		t := m.image.Topic(name)
		if t == nil {
			continue
		}
		hash, ok := m.topics.hashes[name]
		if !ok {
			hash = assignor.TopicHash(t.ID, name, int32(t.Len()), func(partition int32) []string { return racks(m.image, t, partition) })
			m.topics.hashes[name] = hash
		}
		hashes[name] = hash
	}
	return assignor.GroupHash(hashes)
}

// racks returns the racks in which the replicas of a partition are.
func racks(im *image.Image, t *image.Topic, partition int32) []string {
	p := t.Partition(partition)
	if p == nil {
		return nil
	}
	var racks []string
	for _, id := range p.Replicas {
		if b := im.Broker(id); b != nil && b.Rack != nil {
			racks = append(racks, *b.Rack)
		}
	}
	return racks
}

// topicWatch is what a shard knows of topics for its consumer groups.
type topicWatch struct {
	// hashes has those of topics that groups are subscribed to, until they change.
	hashes map[string]int64
	// created is the version of the newest image that has new topics, or of the
	// first: regular expressions that were resolved before it are resolved anew.
	created int64
}

func newTopicWatch() topicWatch { return topicWatch{hashes: make(map[string]int64)} }

// imageVersion is the offset of the last record that an image has, which Kafka
// records with what a regular expression matched.
func imageVersion(im *image.Image) int64 { return im.Position.Offset - 1 }

// watchTopic notes that a group is subscribed to a topic, or is not any more.
func (m *machine) watchTopic(topic, group string, subscribed bool) {
	switch groups := m.byTopic[topic]; {
	case !subscribed:
		delete(groups, group)
		if len(groups) == 0 {
			delete(m.byTopic, topic)
			delete(m.topics.hashes, topic)
		}
	case groups == nil:
		m.byTopic[topic] = map[string]bool{group: true}
	default:
		groups[group] = true
	}
}

// topicsChanged makes the groups that subscribe to changed topics look at them
// again, at the next heartbeat of a member.
//
// Source: Kafka 4.4.0, GroupMetadataManager.java, onMetadataUpdate.
func (m *machine) topicsChanged(d *image.Delta) {
	if len(d.Created) > 0 {
		m.topics.created = imageVersion(m.image)
	}
	changed := func(topic string) {
		delete(m.topics.hashes, topic)
		for id := range m.byTopic[topic] {
			if g, ok := m.groups[id].(*consumerGroup); ok {
				g.fresh = freshness{}
			}
		}
	}
	for _, t := range d.Created {
		changed(t.Name)
	}
	for i, p := range d.Partitions { // by topic
		if i == 0 || p.Topic != d.Partitions[i-1].Topic {
			changed(p.Topic.Name)
		}
	}
	for _, t := range d.Deleted {
		changed(t.Name)
	}
}
