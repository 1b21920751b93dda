package group

import (
	"bytes"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"

	"kf/internal/coordinator/assignor"
	"kf/internal/image"
	"kf/internal/wire"
)

// A reconciliation is the next step of a member to its target assignment.
//
//	has more than it shall       -> it is told what to give up, and stays in its epoch
//	gave that up, or need not    -> it comes to the epoch of the assignment, with what
//	                                nobody else has
//	shall have what others have  -> it is asked for again at each heartbeat
//
// Source: Kafka 4.4.0, CurrentAssignmentBuilder.java.
type reconciliation struct {
	g                   *consumerGroup
	image               *image.Image
	member              *consumerMember
	epoch               int32 // of the target assignment
	target              assignor.Partitions
	owned               *claim // what the member says it has
	subscriptionChanged bool   // what it had may be of topics that it does not want
}

// next returns the member after the step: itself if there is none to be made. It
// fails with FENCED_MEMBER_EPOCH.
func (r *reconciliation) next() (*consumerMember, error) {
	m := r.member
	switch m.state {
	case stable:
		if m.epoch != r.epoch {
			return r.advance(m.epoch), nil
		}
	case unrevoked:
		if !r.owned.touches(m.revoking) {
			return r.advance(m.epoch), nil
		}
	case unreleased:
		return r.advance(m.epoch), nil
	default: // a state of a later release
		if r.owned != nil && len(*r.owned) == 0 {
			return r.advance(r.epoch), nil
		}
		return nil, refuse(kerr.FencedMemberEpoch, "The consumer group member is in a unknown state. The member must abandon all its partitions and rejoin.")
	}
	if r.subscriptionChanged {
		return r.unsubscribe(), nil
	}
	return m, nil
}

// advance takes the member as far as it can go: to the epoch of the assignment, or
// in epoch to the state of one that has something to give up.
func (r *reconciliation) advance(epoch int32) *consumerMember {
	m := r.member
	var keep, revoke, next ownership
	waits := false
	for topic := range topicsInOrder(r.target, m.assigned) {
		target := r.target.Of(topic)
		if !r.wants(topic) {
			target = nil
		}
		has := m.assigned.of(topic)
		kept, revoked := topicOwnership{topic: topic}, topicOwnership{topic: topic}
		for i, partition := range has.partitions {
			if _, ok := slices.BinarySearch(target, partition); ok {
				kept.add(partition, has.epochs[i])
			} else {
				revoked.add(partition, has.epochs[i])
			}
		}
		with := topicOwnership{topic: topic}
		for _, partition := range target {
			if since, ok := m.assigned.epoch(topic, partition); ok {
				with.add(partition, since)
				continue
			}
			if _, taken := r.g.owners[topicPartition{topic, partition}]; taken && !m.revoking.contains(topic, partition) {
				waits = true
				continue
			}
			with.add(partition, r.epoch)
		}
		keep, revoke, next = keep.with(kept), revoke.with(revoked), next.with(with)
	}
	if len(revoke) > 0 && r.owned.touches(revoke) {
		return m.advance(unrevoked, epoch, keep, revoke)
	}
	state := stable
	if waits {
		state = unreleased
	}
	return m.advance(state, r.epoch, next, nil)
}

// unsubscribe takes from the member the partitions of topics that it does not want
// any more, though there is no new assignment for it yet.
func (r *reconciliation) unsubscribe() *consumerMember {
	m := r.member
	var keep, revoke ownership
	for _, t := range m.assigned {
		if r.wants(t.topic) {
			keep = keep.with(t)
		} else {
			revoke = revoke.with(t)
		}
	}
	nothing := len(m.topics) == 0 && len(r.matched()) == 0 && len(m.revoking) == 0
	if len(revoke) == 0 && !nothing {
		return m
	}
	revoke = revoke.union(m.revoking)
	if len(revoke) > 0 && r.owned.touches(revoke) {
		return m.advance(unrevoked, m.epoch, keep, revoke)
	}
	return m.advance(m.state, m.epoch, keep, m.revoking)
}

// wants reports whether the member is subscribed to a topic.
func (r *reconciliation) wants(topic wire.UUID) bool {
	t := r.image.TopicByID(topic)
	return t != nil && r.g.subscribedTo(r.member, t.Name)
}

// matched returns the topics that the member's regular expression matches.
func (r *reconciliation) matched() []string {
	if p := r.g.resolved[r.member.usesPattern()]; p != nil {
		return p.topics
	}
	return nil
}

// topicsInOrder yields the topics of a and b in the order of their ids, each once.
func topicsInOrder(a assignor.Partitions, b ownership) func(func(wire.UUID) bool) {
	return func(yield func(wire.UUID) bool) {
		for len(a) > 0 || len(b) > 0 {
			var topic wire.UUID
			switch {
			case len(b) == 0 || len(a) > 0 && bytes.Compare(a[0].Topic[:], b[0].topic[:]) <= 0:
				topic = a[0].Topic
			default:
				topic = b[0].topic
			}
			if len(a) > 0 && a[0].Topic == topic {
				a = a[1:]
			}
			if len(b) > 0 && b[0].topic == topic {
				b = b[1:]
			}
			if !yield(topic) {
				return
			}
		}
	}
}
