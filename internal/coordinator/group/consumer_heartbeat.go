package group

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"kf/internal/coordinator/shard"
	"kf/internal/format/grouprec"
	"kf/internal/javafmt"
	"kf/internal/wire"
)

// ConsumerGroupHeartbeat takes a heartbeat of a member of a consumer group: it
// joins, says what it has and is told what it shall have, or leaves.
func (c *Coordinator) ConsumerGroupHeartbeat(from Client, q *kmsg.ConsumerGroupHeartbeatRequest, reply func(*kmsg.ConsumerGroupHeartbeatResponse)) {
	fail := func(code int16, message *string) {
		a := newHeartbeatAnswer(q)
		a.ErrorCode, a.ErrorMessage = code, message
		reply(a)
	}
	config := c.o.Config(q.Group)
	if !config.ConsumerProtocol {
		fail(kerr.UnsupportedVersion.Code, nil)
		return
	}
	if err := checkHeartbeat(q, config.Assignors); err != nil {
		fail(codeOf(err), messageOf(err))
		return
	}
	c.do(q.Group, func(m *machine) shard.Result {
		var answer *kmsg.ConsumerGroupHeartbeatResponse
		var result shard.Result
		var err error
		if q.MemberEpoch == epochLeft || q.MemberEpoch == epochAway {
			answer, result, err = m.consumerLeave(q)
		} else {
			answer, result, err = m.consumerHeartbeat(from, q)
		}
		if err != nil {
			return shard.Result{Then: func(error) { fail(codeOf(err), messageOf(err)) }}
		}
		return then(result, func(err error) {
			if err != nil {
				fail(codeOf(err), messageOf(err))
				return
			}
			reply(answer)
		})
	}, func(code int16) { fail(code, nil) })
}

// then adds to what is done when the records of a result are committed, or are not.
func then(r shard.Result, f func(err error)) shard.Result {
	first := r.Then
	r.Then = func(err error) {
		if first != nil {
			first(err)
		}
		f(err)
	}
	return r
}

func newHeartbeatAnswer(q *kmsg.ConsumerGroupHeartbeatRequest) *kmsg.ConsumerGroupHeartbeatResponse {
	return q.ResponseKind().(*kmsg.ConsumerGroupHeartbeatResponse)
}

// checkHeartbeat checks what can be told from a request alone.
//
// Source: Kafka 4.4.0, GroupCoordinatorService.java.
func checkHeartbeat(q *kmsg.ConsumerGroupHeartbeatRequest, assignors []string) error {
	switch {
	case (q.Version >= 1 || q.MemberEpoch > 0 || q.MemberEpoch == epochLeft) && blank(&q.MemberID):
		return refuse(kerr.InvalidRequest, "MemberId can't be empty.")
	case blank(&q.Group):
		return refuse(kerr.InvalidRequest, "GroupId can't be empty.")
	case blank(q.InstanceID):
		return refuse(kerr.InvalidRequest, "InstanceId can't be empty.")
	case blank(q.RackID):
		return refuse(kerr.InvalidRequest, "RackId can't be empty.")
	case q.MemberEpoch == 0 && q.RebalanceTimeoutMillis == -1:
		return refuse(kerr.InvalidRequest, "RebalanceTimeoutMs must be provided in first request.")
	case q.MemberEpoch == 0 && (q.Topics == nil || len(q.Topics) > 0):
		return refuse(kerr.InvalidRequest, "TopicPartitions must be empty when (re-)joining.")
	case q.MemberEpoch == 0 && q.SubscribedTopicNames == nil && q.SubscribedTopicRegex == nil:
		return refuse(kerr.InvalidRequest, "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining.")
	case q.MemberEpoch == epochAway && q.InstanceID == nil:
		return refuse(kerr.InvalidRequest, "InstanceId can't be null.")
	case q.MemberEpoch < epochAway:
		return refuse(kerr.InvalidRequest, "MemberEpoch is invalid.")
	case q.ServerAssignor != nil && !slices.Contains(assignors, *q.ServerAssignor):
		return refuse(kerr.UnsupportedAssignor, fmt.Sprintf("ServerAssignor %s is not supported. Supported assignors: %s.",
			*q.ServerAssignor, strings.Join(javafmt.MapOrder(assignors), ", ")))
	}
	return nil
}

// blank reports whether there is a text that is empty but for what Java trims.
func blank(s *string) bool {
	return s != nil && strings.Trim(*s, blanks) == ""
}

var blanks = func() string {
	var b strings.Builder
	for c := range byte(' ' + 1) {
		b.WriteByte(c)
	}
	return b.String()
}()

// consumerHeartbeat takes a heartbeat of a member that is there or joins.
//
// Source: Kafka 4.4.0, GroupMetadataManager.java.
func (m *machine) consumerHeartbeat(from Client, q *kmsg.ConsumerGroupHeartbeatRequest) (*kmsg.ConsumerGroupHeartbeatResponse, shard.Result, error) {
	joins := q.MemberEpoch == 0
	ch, err := m.changeConsumer(q.Group, joins)
	if err != nil {
		return nil, shard.Result{}, err
	}
	member := q.MemberID
	if err := ch.checkRoom(member, q.InstanceID); err != nil {
		return nil, shard.Result{}, err
	}
	if member == "" { // version 0
		member = wire.RandomUUID().String()
	}
	owned := heartbeatOwned(q)
	if err := ch.findMember(member, q.InstanceID, joins, false); err != nil {
		return nil, shard.Result{}, err
	}
	if err := ch.old.checkEpoch(q.MemberEpoch, owned); err != nil {
		return nil, shard.Result{}, err
	}

	updated := *ch.old
	updated.instance, updated.rack = or(q.InstanceID, updated.instance), or(q.RackID, updated.rack)
	if q.RebalanceTimeoutMillis != -1 {
		updated.rebalanceTimeout = q.RebalanceTimeoutMillis
	}
	updated.assignor = or(q.ServerAssignor, updated.assignor)
	if q.SubscribedTopicNames != nil {
		updated.topics = sortedNames(q.SubscribedTopicNames)
	}
	updated.pattern = or(q.SubscribedTopicRegex, updated.pattern)
	updated.clientID, updated.clientHost = from.ID, from.Host
	updated.classic = nil
	ch.update(&updated)

	names := ch.writeMember()
	pattern, err := ch.updatePattern()
	if err != nil {
		return nil, shard.Result{}, err
	}
	ch.updateEpoch(names || pattern == patternResolved || ch.assignorChanged())
	if err := ch.updateTarget(); err != nil {
		return nil, shard.Result{}, err
	}
	if err := ch.reconcile(owned, names || pattern != patternSame); err != nil {
		return nil, shard.Result{}, err
	}
	ch.finish()
	// It need not join or sync any more, for which Kafka 4.4.0 removes it all the same.
	if ch.old.classic != nil {
		m.shard.Cancel(timerKey(consumerJoin, q.Group, member))
		m.shard.Cancel(timerKey(consumerSync, q.Group, member))
	}
	m.scheduleSession(q.Group, member, milliseconds(ch.config.ConsumerSessionTimeout))

	a := newHeartbeatAnswer(q)
	a.MemberID, a.MemberEpoch, a.HeartbeatIntervalMillis = &ch.updated.id, ch.updated.epoch, ch.config.ConsumerHeartbeatInterval
	full := q.RebalanceTimeoutMillis != -1 && (q.SubscribedTopicNames != nil || q.SubscribedTopicRegex != nil) && q.Topics != nil
	if joins || full || !ch.updated.assigned.equal(ch.old.assigned) {
		a.Assignment = heartbeatAssignment(ch.updated.assigned)
	}
	return a, shard.Result{Records: ch.records}, nil
}

// heartbeatOwned returns the partitions that a member says it has, nil if it does
// not say.
func heartbeatOwned(q *kmsg.ConsumerGroupHeartbeatRequest) *claim {
	if q.Topics == nil {
		return nil
	}
	c := make(claim, len(q.Topics))
	for i, t := range q.Topics {
		c[i] = grouprec.TopicPartitions{TopicID: t.TopicID, Partitions: t.Partitions}
	}
	return &c
}

func heartbeatAssignment(o ownership) *kmsg.ConsumerGroupHeartbeatResponseAssignment {
	a := &kmsg.ConsumerGroupHeartbeatResponseAssignment{}
	for i := range o {
		a.Topics = append(a.Topics, kmsg.ConsumerGroupHeartbeatResponseAssignmentTopic{TopicID: o[i].topic, Partitions: o[i].partitions})
	}
	return a
}

// A claim is the partitions that a member says it has.
type claim []grouprec.TopicPartitions

// within reports whether all of them are among o; a member that does not say what
// it has may have anything.
func (c *claim) within(o ownership) bool {
	if c == nil {
		return false
	}
	for i := range *c {
		t := &(*c)[i]
		of := o.of(t.TopicID)
		if len(of.partitions) == 0 { // though it names no partition
			return false
		}
		for _, partition := range t.Partitions {
			if _, ok := slices.BinarySearch(of.partitions, partition); !ok {
				return false
			}
		}
	}
	return true
}

// touches reports whether any of them is among o; a member that does not say what
// it has may have anything.
func (c *claim) touches(o ownership) bool {
	if c == nil {
		return true
	}
	for i := range *c {
		t := &(*c)[i]
		of := o.of(t.TopicID)
		for _, partition := range t.Partitions {
			if _, ok := slices.BinarySearch(of.partitions, partition); ok {
				return true
			}
		}
	}
	return false
}

// checkEpoch checks the epoch of a heartbeat. One epoch behind is fine if the
// member has nothing that it may not have: the last answer was lost.
func (m *consumerMember) checkEpoch(epoch int32, owned *claim) error {
	how := "greater"
	switch {
	case epoch == 0 || epoch == m.epoch || epoch < m.epoch && epoch == m.previous && owned.within(m.assigned):
		return nil
	case epoch < m.epoch:
		how = "smaller"
	}
	return refuse(kerr.FencedMemberEpoch, fmt.Sprintf("The consumer group member has a %s member epoch (%d) than the one known by the group "+
		"coordinator (%d). The member must abandon all its partitions and rejoin.", how, epoch, m.epoch))
}

// consumerLeave takes the heartbeat by which a member leaves.
func (m *machine) consumerLeave(q *kmsg.ConsumerGroupHeartbeatRequest) (*kmsg.ConsumerGroupHeartbeatResponse, shard.Result, error) {
	g, err := m.consumerGroup(q.Group)
	if err != nil {
		return nil, shard.Result{}, err
	}
	a := newHeartbeatAnswer(q)
	a.MemberID, a.MemberEpoch = &q.MemberID, q.MemberEpoch
	var member *consumerMember
	if q.InstanceID == nil {
		member, err = g.member(q.MemberID)
	} else {
		member, err = g.knownStatic(q.MemberID, *q.InstanceID)
	}
	switch {
	case err != nil:
		return nil, shard.Result{}, err
	case q.MemberEpoch == epochLeft:
		return a, m.fence(g, []*consumerMember{member}), nil
	}
	// It keeps what it had for whoever comes back, who is not asked in which epoch
	// it got that.
	away := *member
	away.epoch, away.assigned, away.revoking = epochAway, member.assigned.at(0), nil
	return a, shard.Result{Records: []shard.Record{g.currentRecord(&away)}}, nil
}

// consumerGroup returns a group that is there. It fails with GROUP_ID_NOT_FOUND.
func (m *machine) consumerGroup(id string) (*consumerGroup, error) {
	switch g := m.groups[id].(type) {
	case *consumerGroup:
		return g, nil
	case nil:
		return nil, refuse(kerr.GroupIDNotFound, fmt.Sprintf("Group %s not found.", id))
	}
	return nil, refuse(kerr.GroupIDNotFound, fmt.Sprintf("Group %s is not a consumer group.", id))
}

// knownStatic returns the member of an instance, which must have a member id. It
// fails with UNKNOWN_MEMBER_ID or FENCED_INSTANCE_ID.
func (g *consumerGroup) knownStatic(member, instance string) (*consumerMember, error) {
	m := g.static(&instance)
	if m == nil {
		return nil, refuse(kerr.UnknownMemberID, fmt.Sprintf("Instance id %s is unknown.", instance))
	}
	return m, m.checkInstance(member, instance)
}

func (m *consumerMember) checkInstance(member, instance string) error {
	if m.id != member {
		return refuse(kerr.FencedInstanceID, fmt.Sprintf("Static member %s with instance id %s was fenced by member %s.", member, instance, m.id))
	}
	return nil
}

// nowMillis is the time in ms since the Unix epoch.
func nowMillis() int64 { return time.Now().UnixMilli() }
