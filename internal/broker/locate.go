package broker

import (
	"github.com/twmb/franz-go/pkg/kerr"

	"kf/internal/image"
	"kf/internal/wire"
)

// locate finds the replica of a partition that a request names, by id if byID is
// set. The code is 0, or says why there is none here; p is nil if the partition
// does not exist.
func (b *Broker) locate(key fetchKey, byID bool) (r *replica, topic string, p *image.Partition, code int16) {
	im := b.image.Load()
	var t *image.Topic
	if byID {
		if t = im.TopicByID(key.id); t == nil {
			return nil, "", nil, kerr.UnknownTopicID.Code
		}
	} else if t = im.Topic(key.topic); t == nil {
		return nil, key.topic, nil, kerr.UnknownTopicOrPartition.Code
	}
	if p = t.Partition(key.partition); p == nil {
		return nil, t.Name, nil, kerr.UnknownTopicOrPartition.Code
	}
	if r = b.replicas.get(t.ID, key.partition); r == nil {
		return nil, t.Name, p, kerr.NotLeaderForPartition.Code
	}
	return r, t.Name, p, 0
}

// locateLeader is locate for a request that only the leader answers.
func (b *Broker) locateLeader(topic string, id wire.UUID, byID bool, partition int32) (r *replica, name string, p *image.Partition, code int16) {
	r, name, p, code = b.locate(fetchKey{topic, id, partition}, byID)
	if code == 0 && !r.leads() {
		return nil, name, p, kerr.NotLeaderForPartition.Code
	}
	return r, name, p, code
}

// An endpoint is where clients of a listener reach a node.
type endpoint struct {
	id     int32
	host   string
	port   int32
	rack   *string
	fenced bool
}

// endpointOf returns where clients of a listener reach a broker.
func endpointOf(br *image.Broker, listener string) (endpoint, bool) {
	if br == nil {
		return endpoint{}, false
	}
	for _, e := range br.Endpoints {
		if e.Name == listener {
			return endpoint{br.ID, e.Host, int32(e.Port), br.Rack, !br.Active()}, true
		}
	}
	return endpoint{}, false
}

// leaderHint is what a client that asked the wrong node is told.
type leaderHint struct {
	leader, epoch int32
	nodes         []endpoint
}

// hint returns the current leader of a partition.
func (b *Broker) hint(p *image.Partition, listener string) leaderHint {
	h := leaderHint{leader: p.Leader, epoch: p.LeaderEpoch}
	if e, ok := endpointOf(b.image.Load().Broker(p.Leader), listener); ok {
		h.nodes = []endpoint{e}
	}
	return h
}
