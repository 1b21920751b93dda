//go:build interop && linux

package interop

import (
	"context"
	"encoding/binary"
	"fmt"
	"sync"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// A groupMember is a member of a group that changes.
type groupMember interface {
	// settle returns when the group has settled with size members, of which this
	// is one: all have their part of the partitions.
	settle(size int) error
	leave() error
	close()
}

// A classicMember is a member of a classic group.
type classicMember struct {
	*groupConn
	group      string
	id         string // empty before the first JoinGroup
	generation int32  // 0 while it is in none
	size       int    // of its generation
}

// settle takes the member from generation to generation until it is in one of
// size members.
func (m *classicMember) settle(size int) error {
	for m.generation == 0 || m.size != size {
		code := kerr.RebalanceInProgress.Code
		var err error
		if m.generation != 0 {
			code, err = m.heartbeat()
		}
		if err == nil && code != 0 {
			code, err = m.rejoin()
		}
		if err != nil {
			return err
		}
		switch code {
		case 0:
		case kerr.RebalanceInProgress.Code, kerr.IllegalGeneration.Code:
		default:
			return fmt.Errorf("member of %s: %w", m.group, kerr.ErrorForCode(code))
		}
	}
	return nil
}

func (m *classicMember) heartbeat() (int16, error) {
	q := kmsg.NewPtrHeartbeatRequest()
	q.Version, q.Group, q.MemberID, q.Generation = 4, m.group, m.id, m.generation
	r, err := askGroup[*kmsg.HeartbeatResponse](m.groupConn, q)
	return r.ErrorCode, err
}

// rejoin joins the next generation and gets an assignment in it.
func (m *classicMember) rejoin() (int16, error) {
	joined, err := m.join()
	if err != nil || joined.ErrorCode != 0 {
		return joined.ErrorCode, err
	}
	m.generation = joined.Generation
	q := kmsg.NewPtrSyncGroupRequest()
	q.Version, q.Group, q.MemberID, q.Generation = 5, m.group, m.id, m.generation
	q.ProtocolType, q.Protocol = joined.ProtocolType, joined.Protocol
	for i := range joined.Members {
		to := kmsg.NewSyncGroupRequestGroupAssignment()
		to.MemberID, to.MemberAssignment = joined.Members[i].MemberID, assignment(i, len(joined.Members))
		q.GroupAssignment = append(q.GroupAssignment, to)
	}
	r, err := askGroup[*kmsg.SyncGroupResponse](m.groupConn, q)
	if err != nil || r.ErrorCode != 0 {
		return r.ErrorCode, err
	}
	var a kmsg.ConsumerMemberAssignment
	if err := a.ReadFrom(r.MemberAssignment); err != nil || len(a.UserData) != 4 {
		return 0, fmt.Errorf("assignment %x: %v", r.MemberAssignment, err)
	}
	m.size = int(binary.BigEndian.Uint32(a.UserData))
	return 0, nil
}

// join sends JoinGroup, twice if the member has no id yet.
func (m *classicMember) join() (r *kmsg.JoinGroupResponse, err error) {
	subscription := kmsg.ConsumerMemberMetadata{Version: 1, Topics: []string{"orders"}}
	q := kmsg.NewPtrJoinGroupRequest()
	q.Version, q.Group, q.SessionTimeoutMillis, q.RebalanceTimeoutMillis, q.ProtocolType = 9, m.group, 45000, 60000, "consumer"
	q.Protocols = []kmsg.JoinGroupRequestProtocol{{Name: "range", Metadata: subscription.AppendTo(nil)}}
	for {
		q.MemberID = m.id
		_, err := untilThere(func() (int16, error) {
			r, err = askGroup[*kmsg.JoinGroupResponse](m.groupConn, q)
			return r.ErrorCode, err
		})
		if err != nil || r.ErrorCode != kerr.MemberIDRequired.Code {
			return r, err
		}
		m.id = r.MemberID
	}
}

// assignment returns what the leader assigns to a member: its partitions, and the
// size of the group, by which it knows that all are there.
func assignment(member, size int) []byte {
	t := kmsg.ConsumerMemberAssignmentTopic{Topic: "orders"}
	for i := range partitionsEach {
		t.Partitions = append(t.Partitions, int32(member*partitionsEach+i))
	}
	a := kmsg.ConsumerMemberAssignment{
		Version: 1, Topics: []kmsg.ConsumerMemberAssignmentTopic{t}, UserData: binary.BigEndian.AppendUint32(nil, uint32(size)),
	}
	return a.AppendTo(nil)
}

// leave leaves the group.
func (m *classicMember) leave() error {
	q := kmsg.NewPtrLeaveGroupRequest()
	q.Version, q.Group = 5, m.group
	q.Members = []kmsg.LeaveGroupRequestMember{{MemberID: m.id}}
	r, err := askGroup[*kmsg.LeaveGroupResponse](m.groupConn, q)
	if err == nil {
		err = kerr.ErrorForCode(r.ErrorCode)
	}
	m.id, m.generation = "", 0
	return err
}

// newClassicMembers returns members that are not in their group yet.
func newClassicMembers(ctx context.Context, b *testing.B, s *server, group string, size int) (members []groupMember) {
	for _, conn := range dialGroups(ctx, b, s, group, size) {
		members = append(members, &classicMember{groupConn: conn, group: group})
	}
	return members
}

// dialGroups opens connections to the coordinator of a group.
func dialGroups(ctx context.Context, b *testing.B, s *server, group string, n int) []*groupConn {
	b.Helper()
	conns := make([]*groupConn, n)
	for i := range conns {
		c, err := dialGroup(ctx, s)
		if err == nil && i == 0 {
			err = c.findCoordinator(group)
		}
		if err != nil {
			b.Fatalf("%s: %v", s.name, err)
		}
		conns[i] = c
	}
	return conns
}

// A consumerMember is a member of a consumer group (KIP-848).
type consumerMember struct {
	*groupConn
	group *consumerMembers
	id    string
	epoch int32 // 0 while it is not in the group
	owned []kmsg.ConsumerGroupHeartbeatRequestTopic
	news  bool // the coordinator does not know what it owns now
}

// newConsumerMembers returns members that are not in their group yet.
func newConsumerMembers(ctx context.Context, b *testing.B, s *server, group string, size int) (members []groupMember) {
	shared := &consumerMembers{group: group, partitions: size * partitionsEach, states: make(map[*consumerMember]memberState)}
	for i, conn := range dialGroups(ctx, b, s, group, size) {
		members = append(members, &consumerMember{groupConn: conn, group: shared, id: fmt.Sprintf("%s-member-%d", group, i)})
	}
	return members
}

// settle sends heartbeats until every member has the assignment of one epoch.
func (m *consumerMember) settle(size int) error {
	for !m.group.settled(size) {
		changed, err := m.heartbeat()
		if err == nil && changed {
			err = m.group.note(m)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// heartbeat sends a heartbeat and takes what it is answered. It reports whether the
// member is now somewhere else than before.
func (m *consumerMember) heartbeat() (changed bool, err error) {
	q := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	q.Version, q.Group, q.MemberID, q.MemberEpoch = 1, m.group.group, m.id, m.epoch
	switch {
	case m.epoch == 0:
		q.RebalanceTimeoutMillis, q.SubscribedTopicNames = 60000, []string{"orders"}
		q.Topics = []kmsg.ConsumerGroupHeartbeatRequestTopic{}
	case m.news:
		q.Topics = m.owned
	}
	r, err := m.ask(q)
	if err != nil {
		return false, err
	}
	changed = m.news || r.Assignment != nil || r.MemberEpoch != m.epoch
	m.epoch, m.news = r.MemberEpoch, r.Assignment != nil
	if r.Assignment == nil {
		return changed, nil
	}
	m.owned = []kmsg.ConsumerGroupHeartbeatRequestTopic{}
	for _, t := range r.Assignment.Topics {
		m.owned = append(m.owned, kmsg.ConsumerGroupHeartbeatRequestTopic{TopicID: t.TopicID, Partitions: t.Partitions})
	}
	return changed, nil
}

func (m *consumerMember) ask(q *kmsg.ConsumerGroupHeartbeatRequest) (r *kmsg.ConsumerGroupHeartbeatResponse, err error) {
	code, err := untilThere(func() (int16, error) {
		r, err = askGroup[*kmsg.ConsumerGroupHeartbeatResponse](m.groupConn, q)
		return r.ErrorCode, err
	})
	if err == nil {
		err = kerr.ErrorForCode(code)
	}
	if err != nil {
		err = fmt.Errorf("%s in epoch %d: %w", m.id, m.epoch, err)
	}
	return r, err
}

func (m *consumerMember) leave() error {
	q := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	q.Version, q.Group, q.MemberID, q.MemberEpoch = 1, m.group.group, m.id, -1
	_, err := m.ask(q)
	m.epoch, m.owned, m.news = 0, nil, false
	m.group.left(m)
	return err
}

// consumerMembers is what the members of a consumer group know of each other.
type consumerMembers struct {
	group      string
	partitions int

	mu     sync.Mutex
	states map[*consumerMember]memberState // after the last heartbeat of each
	size   int                             // with how many members it has settled
}

// A memberState is how far a member is.
type memberState struct {
	epoch int32
	owned []kmsg.ConsumerGroupHeartbeatRequestTopic // as the coordinator knows
}

// settled reports whether the group has settled with size members.
func (c *consumerMembers) settled(size int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.size == size
}

// left forgets a member.
func (c *consumerMembers) left(m *consumerMember) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.states, m)
}

// note notes the state of a member. The group has settled if all members are in
// one epoch and own all partitions together. It fails if a partition then has two
// owners, or one member two partitions more than another.
func (c *consumerMembers) note(m *consumerMember) error {
	state := memberState{epoch: m.epoch}
	if !m.news {
		state.owned = m.owned
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.states[m] = state
	sum, fewest, most := 0, c.partitions, 0
	for _, other := range c.states {
		if other.epoch != state.epoch {
			return nil
		}
		n := 0
		for _, t := range other.owned {
			n += len(t.Partitions)
		}
		sum, fewest, most = sum+n, min(fewest, n), max(most, n)
	}
	if sum != c.partitions || fewest == 0 {
		return nil
	}
	if most-fewest > 1 {
		return fmt.Errorf("members of %s have from %d to %d partitions", c.group, fewest, most)
	}
	owners := make(map[int32]*consumerMember)
	for m, other := range c.states {
		for _, t := range other.owned {
			for _, p := range t.Partitions {
				if o := owners[p]; o != nil {
					return fmt.Errorf("partition %d belongs to %s and %s", p, o.id, m.id)
				}
				owners[p] = m
			}
		}
	}
	c.size = len(c.states)
	return nil
}
