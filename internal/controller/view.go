package controller

import (
	"slices"
	"strconv"

	"kf/internal/image"
	"kf/internal/wire"
)

// Configurations that decide about elections.
const (
	minInsyncReplicas = "min.insync.replicas"
	uncleanElection   = "unclean.leader.election.enable"
)

// A view is the state that a request is decided on.
type view struct {
	*image.Image
	configs Configs
	node    int32 // of the controller
	known   map[topicKey]string
}

func newView(im *image.Image, configs Configs, node int32) view {
	return view{im, configs, node, map[topicKey]string{}}
}

// A topicKey is a configuration of a topic whose value was worked out: once for
// all of its partitions.
type topicKey struct{ topic, name string }

// topicConfig returns the effective value of a configuration of a topic whose
// name is the same for brokers.
func (v view) topicConfig(topic, name string) string {
	key := topicKey{topic, name}
	value, ok := v.known[key]
	if !ok {
		value = v.lookUp(topic, name)
		v.known[key] = value
	}
	return value
}

func (v view) lookUp(topic, name string) string {
	for _, r := range []image.Resource{
		{Type: image.TopicResource, Name: topic},
		{Type: image.BrokerResource, Name: strconv.Itoa(int(v.node))},
		{Type: image.BrokerResource},
	} {
		if value, ok := v.Config(r, name); ok {
			return value
		}
	}
	if v.configs.Default != nil {
		if value, ok := v.configs.Default(image.TopicResource, name); ok {
			return value
		}
	}
	return ""
}

// minISR returns how many replicas must be in sync at least: not more than the
// topic has.
func (v view) minISR(t *image.Topic) int {
	n, err := strconv.Atoi(v.topicConfig(t.Name, minInsyncReplicas))
	if err != nil {
		n = 1
	}
	if first := t.Partition(0); first != nil {
		n = min(n, len(first.Replicas))
	}
	return n
}

// active reports whether a broker may lead.
func (v view) active(broker int32) bool { return v.Broker(broker).Active() }

// online reports whether a replica of a partition is in a log directory that its
// broker has. One that the broker has yet to choose counts.
func (v view) online(p *image.Partition, broker int32) bool {
	b := v.Broker(broker)
	dir, ok := p.Directory(broker)
	switch {
	case b == nil || !ok || dir == image.Lost:
		return false
	case dir == image.Unassigned || dir == image.Migrating || len(b.LogDirs) == 0:
		return true
	}
	return slices.Contains(b.LogDirs, dir)
}

// newDirectory returns where a new replica of a broker goes: into its only log
// directory, else where the broker wants.
func (v view) newDirectory(broker int32) wire.UUID {
	b := v.Broker(broker)
	switch {
	case b == nil:
		return image.Unassigned
	case len(b.LogDirs) == 0:
		return image.Migrating
	case len(b.LogDirs) == 1:
		return b.LogDirs[0]
	}
	return image.Unassigned
}
