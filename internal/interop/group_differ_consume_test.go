//go:build interop

package interop

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// consume sends a heartbeat of a consumer.
func (s *scenario) consume(c *differSlot, anything bool) error {
	if !s.modern && s.state != "" && s.state != "Empty" && s.state != "Stable" {
		// Kafka refuses what waits for a rebalance even if no consumer group comes
		// about.
		return nil
	}
	q := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	q.Group, q.MemberID, q.MemberEpoch, q.InstanceID, q.RebalanceTimeoutMillis = s.group, c.id[0], c.epoch, c.instance, -1
	id := c.id
	joins := c.epoch == 0 || anything && s.chance(8)
	if joins {
		q.MemberEpoch = 0
		if id[0] == "" || s.chance(8) {
			name := c.name + "-" + pick(s, "x", "y", "z")
			id = twin[string]{name, name}
		}
	}
	all := slices.Clone(c.assigned)
	if all == nil {
		all = []kmsg.ConsumerGroupHeartbeatRequestTopic{}
	}
	switch {
	case joins:
		q.SubscribedTopicNames, q.RebalanceTimeoutMillis, q.Topics = s.wish(), differTimeout, all[:0]
	case s.chance(2):
		q.Topics = all
	case anything && s.chance(2):
		q.Topics = all[:len(all)/2]
	}
	if anything {
		switch s.r.IntN(11) {
		case 0:
			q.SubscribedTopicNames = s.wish()
		case 1:
			if !joins {
				q.SubscribedTopicNames = s.names()
			}
		case 2:
			q.SubscribedTopicRegex = new(pick(s, "(", ""))
		case 3:
			q.ServerAssignor = new(pick(s, "range", "unknown", ""))
		case 4:
			q.RackID = new(pick(s, "r1", "r2", ""))
		case 5:
			if epoch := c.epoch + pick(s, int32(-1), 1, 5); epoch > 0 {
				q.MemberEpoch = epoch
			}
		case 6:
			q.MemberEpoch = c.previous
		case 7:
			q.InstanceID = pick(s, nil, new("i0"), new("i1"), new(""))
		case 8: // everything
			q.RebalanceTimeoutMillis, q.Topics = differTimeout, all
			if q.SubscribedTopicNames == nil {
				q.SubscribedTopicNames = s.names()
			}
		case 9:
			id = pick(s, stranger, pick(s, s.slots...).id)
		}
	}
	if q.MemberEpoch == 0 && q.SubscribedTopicNames != nil && len(q.SubscribedTopicNames) == 0 {
		q.SubscribedTopicNames = s.wish()
	}
	if id[0] == "" { // the one that is made up then has nothing of the client
		id = twin[string]{c.name + "-x", c.name + "-x"}
	}
	_, err := s.ask(c.name, perSide(int16(s.r.IntN(2)), func(side int) kmsg.Request {
		q := *q
		q.MemberID = id[side]
		return &q
	}), func(r twin[kmsg.Response]) { s.consumed(c, id, r) })
	return err
}

func (s *scenario) consumed(c *differSlot, id twin[string], r twin[kmsg.Response]) {
	switch a := r[ofKF].(*kmsg.ConsumerGroupHeartbeatResponse); a.ErrorCode {
	case 0:
		if c.epoch != a.MemberEpoch {
			c.previous = c.epoch
		}
		c.id, c.epoch, c.generation, c.leads = id, a.MemberEpoch, 0, false
		if a.Assignment == nil {
			return
		}
		c.assigned = nil
		for _, t := range a.Assignment.Topics {
			c.assigned = append(c.assigned, kmsg.ConsumerGroupHeartbeatRequestTopic{TopicID: t.TopicID, Partitions: t.Partitions})
		}
	case kerr.UnknownMemberID.Code, kerr.FencedMemberEpoch.Code, kerr.UnreleasedInstanceID.Code, kerr.FencedInstanceID.Code, kerr.GroupIDNotFound.Code:
		if id == c.id {
			c.out()
		}
	}
}

func (s *scenario) consumerLeave(c *differSlot) error {
	epoch, instance := int32(-1), c.instance
	if s.chance(2) && instance != nil || s.chance(8) {
		epoch = -2
	}
	if s.chance(10) {
		instance = pick(s, nil, new("i0"), new("other"))
	}
	q := perSide(int16(s.r.IntN(2)), func(side int) kmsg.Request {
		q := kmsg.NewPtrConsumerGroupHeartbeatRequest()
		q.Group, q.MemberID, q.MemberEpoch, q.InstanceID, q.RebalanceTimeoutMillis = s.group, c.id[side], epoch, instance, -1
		return q
	})
	_, err := s.ask(c.name, q, func(r twin[kmsg.Response]) {
		if r[ofKF].(*kmsg.ConsumerGroupHeartbeatResponse).ErrorCode == 0 {
			c.out()
		}
	})
	return err
}
