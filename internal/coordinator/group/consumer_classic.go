package group

import (
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"kf/internal/coordinator/shard"
	"kf/internal/format/grouprec"
	"kf/internal/image"
	"kf/internal/wire"
)

// Classic members of a consumer group. They join, sync and heartbeat as in a classic
// group, and know nothing of epochs: their generation is their member epoch, they
// are told to join again when it is behind, and get their assignment from the
// coordinator instead of from a leader.
//
// Source: Kafka 4.4.0, GroupMetadataManager.java.

// joinConsumer takes a JoinGroup request of a classic member.
func (m *machine) joinConsumer(g *consumerGroup, from Client, q *kmsg.JoinGroupRequest, reply func(*kmsg.JoinGroupResponse)) shard.Result {
	a, result, err := m.joinClassicMember(g, from, q)
	if err != nil {
		return shard.Result{Then: func(error) { reply(joinError("", codeOf(err))) }}
	}
	return then(result, func(err error) {
		if err != nil {
			a = joinError("", codeOf(err))
		}
		reply(a)
	})
}

func (m *machine) joinClassicMember(g *consumerGroup, from Client, q *kmsg.JoinGroupRequest) (*kmsg.JoinGroupResponse, shard.Result, error) {
	var none shard.Result
	ch, err := m.changeConsumer(g.groupID, false)
	if err != nil {
		return nil, none, err
	}
	if ch.config.Migration == MigrateNone {
		return nil, none, refuse(kerr.InconsistentGroupProtocol, "")
	}
	member, protocols := q.MemberID, protocolsOf(q)
	if member == "" {
		member = wire.RandomUUID().String()
	}
	switch err := ch.checkRoom(member, q.InstanceID); {
	case err != nil:
		return nil, none, err
	case !g.supports(q.ProtocolType, protocols):
		return nil, none, refuse(kerr.InconsistentGroupProtocol, "")
	case q.InstanceID == nil && q.MemberID == "" && q.Version >= joinRequiresID:
		return joinError(member, kerr.MemberIDRequired.Code), none, nil
	}
	if err := ch.findMember(member, q.InstanceID, q.InstanceID == nil || q.MemberID == "", true); err != nil {
		return nil, none, err
	}
	subscription, _, err := grouprec.DecodeSubscription(protocols[0].Metadata)
	if err != nil {
		return nil, none, refuse(kerr.InconsistentGroupProtocol, "")
	}

	updated := *ch.old
	updated.instance = or(q.InstanceID, updated.instance)
	if subscription.RackID != nil && *subscription.RackID != "" {
		updated.rack = subscription.RackID
	}
	if q.RebalanceTimeoutMillis != -1 {
		updated.rebalanceTimeout = q.RebalanceTimeoutMillis
	}
	updated.topics, updated.pattern = sortedNames(subscription.Topics), new("")
	updated.clientID, updated.clientHost = from.ID, from.Host
	updated.classic = &grouprec.ClassicMemberMetadata{SessionTimeoutMs: q.SessionTimeoutMillis, SupportedProtocols: protocols}
	ch.update(&updated)

	names := ch.writeMember()
	pattern, err := ch.updatePattern()
	if err != nil {
		return nil, none, err
	}
	changed := names || pattern != patternSame
	ch.updateEpoch(changed)
	owned := subscriptionOwned(subscription, m.image)
	result, err := m.downgradeByReplacing(ch, g.static(q.InstanceID), owned, changed)
	if err == nil && result == nil {
		if err = ch.updateTarget(); err == nil {
			err = ch.reconcile(owned, changed)
		}
		result = &shard.Result{Records: ch.records}
		// Kafka does this when the records are committed, and never if that takes too
		// long: then nobody would miss the member.
		ch.done = append(ch.done, func() {
			m.shard.Cancel(timerKey(consumerJoin, q.Group, member))
			m.scheduleSession(q.Group, member, milliseconds(q.SessionTimeoutMillis))
			m.scheduleFence(q.Group, consumerSync, member, milliseconds(q.RebalanceTimeoutMillis), "it did not sync in time")
		})
	}
	if err != nil {
		return nil, none, err
	}
	ch.finish()

	a := kmsg.NewPtrJoinGroupResponse()
	a.MemberID, a.Generation = member, ch.updated.epoch
	a.ProtocolType, a.Protocol = new(grouprec.ConsumerProtocolType), &protocols[0].Name
	return a, *result, nil
}

// supports reports whether a classic member has an assignor that all classic members
// of the group have.
func (g *consumerGroup) supports(protocolType string, protocols []grouprec.ClassicProtocol) bool {
	return protocolType == grouprec.ConsumerProtocolType && slices.ContainsFunc(protocols, func(p grouprec.ClassicProtocol) bool {
		return g.protocols[p.Name] == g.classic
	})
}

// subscriptionOwned returns the partitions that a classic member says it has.
func subscriptionOwned(s *grouprec.ConsumerProtocolSubscription, im *image.Image) *claim {
	var c claim
	for _, p := range s.OwnedPartitions {
		if t := im.Topic(p.Topic); t != nil {
			c = append(c, grouprec.TopicPartitions{TopicID: t.ID, Partitions: p.Partitions})
		}
	}
	return &c
}

// syncConsumer takes a SyncGroup request of a classic member.
func (m *machine) syncConsumer(g *consumerGroup, q *kmsg.SyncGroupRequest, reply func(*kmsg.SyncGroupResponse)) shard.Result {
	member, err := m.checkSync(g, q)
	var assignment []byte
	if err == nil {
		assignment, err = m.classicAssignment(member.assigned.partitions(), member.protocol().Metadata)
	}
	if err != nil {
		return shard.Result{Then: func(error) { reply(syncError(codeOf(err))) }}
	}
	return shard.Result{Then: func(err error) {
		if err != nil {
			reply(syncError(codeOf(err)))
			return
		}
		m.shard.Cancel(g.timerKey(consumerSync, member.id))
		m.scheduleSession(g.groupID, member.id, member.sessionTimeout())
		a := syncError(0)
		a.ProtocolType, a.Protocol, a.MemberAssignment = q.ProtocolType, q.Protocol, assignment
		reply(a)
	}}
}

func (m *machine) checkSync(g *consumerGroup, q *kmsg.SyncGroupRequest) (*consumerMember, error) {
	member, err := g.classicMember(q.MemberID, q.InstanceID, q.Generation)
	switch {
	case err != nil:
		return nil, err
	case q.ProtocolType != nil && *q.ProtocolType != grouprec.ConsumerProtocolType, q.Protocol != nil && *q.Protocol != member.protocol().Name:
		return nil, refuse(kerr.InconsistentGroupProtocol, "")
	case g.targetedIn > member.epoch && member.state != unrevoked:
		g.awaitJoin(m, member)
		return nil, refuse(kerr.RebalanceInProgress, "")
	}
	return member, nil
}

// classicMember returns a classic member by what a request of it says. It fails with
// UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID or ILLEGAL_GENERATION.
func (g *consumerGroup) classicMember(id string, instance *string, generation int32) (*consumerMember, error) {
	var m *consumerMember
	var err error
	if instance == nil {
		m, err = g.member(id)
	} else {
		m, err = g.knownStatic(id, *instance)
	}
	switch {
	case err != nil:
		return nil, err
	case m.classic == nil:
		return nil, refuse(kerr.UnknownMemberID, fmt.Sprintf("Member %s does not use the classic protocol.", m.id))
	case m.epoch != generation:
		return nil, refuse(kerr.IllegalGeneration, "")
	}
	return m, nil
}

// awaitJoin gives a classic member its rebalance timeout to join again, from the
// first time that it is told to.
func (g *consumerGroup) awaitJoin(m *machine, member *consumerMember) {
	if !m.shard.Scheduled(g.timerKey(consumerJoin, member.id)) {
		m.scheduleFence(g.groupID, consumerJoin, member.id, milliseconds(member.rebalanceTimeout), "it did not join in time")
	}
}

// heartbeatConsumer takes a Heartbeat request of a classic member.
func (m *machine) heartbeatConsumer(g *consumerGroup, q *kmsg.HeartbeatRequest, reply func(*kmsg.HeartbeatResponse)) shard.Result {
	a := kmsg.NewPtrHeartbeatResponse()
	member, err := g.classicMember(q.MemberID, q.InstanceID, q.Generation)
	if err != nil {
		a.ErrorCode = codeOf(err)
		return shard.Result{Then: func(error) { reply(a) }}
	}
	m.scheduleSession(g.groupID, member.id, member.sessionTimeout())
	if member.epoch < g.targetedIn || member.state == unrevoked || member.state == unreleased && !g.waits(member) {
		a.ErrorCode = kerr.RebalanceInProgress.Code
		g.awaitJoin(m, member)
	}
	return shard.Result{Then: func(err error) {
		if err != nil {
			a.ErrorCode = codeOf(err)
		}
		reply(a)
	}}
}

// waits reports whether others still have what a member shall get.
func (g *consumerGroup) waits(m *consumerMember) bool {
	for topic, partition := range g.targets[m.id].All() {
		if _, taken := g.owners[topicPartition{topic, partition}]; taken && !m.assigned.contains(topic, partition) {
			return true
		}
	}
	return false
}

// leaveConsumer takes a LeaveGroup request. Members of either protocol may be told
// to leave by it.
func (m *machine) leaveConsumer(g *consumerGroup, q *kmsg.LeaveGroupRequest, reply func(*kmsg.LeaveGroupResponse)) shard.Result {
	a := kmsg.NewPtrLeaveGroupResponse()
	var leaving []*consumerMember
	for i := range q.Members {
		of := &q.Members[i]
		member, err := g.leavingMember(of)
		if err == nil && !slices.Contains(leaving, member) {
			leaving = append(leaving, member)
		}
		a.Members = append(a.Members, left(of, codeOf(err)))
	}
	return then(m.fence(g, leaving), func(err error) {
		if err != nil {
			a = kmsg.NewPtrLeaveGroupResponse()
			a.ErrorCode = codeOf(err)
		}
		reply(a)
	})
}

func (g *consumerGroup) leavingMember(of *kmsg.LeaveGroupRequestMember) (*consumerMember, error) {
	switch m := g.static(of.InstanceID); {
	case of.InstanceID == nil:
		return g.member(of.MemberID)
	case m != nil && of.MemberID == "":
		return m, nil
	}
	return g.knownStatic(of.MemberID, *of.InstanceID)
}
