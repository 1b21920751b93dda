package group

import (
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// A classicBench speaks the classic protocol, with group g.
type classicBench struct{ *bench }

func newClassicBench(t testing.TB) classicBench { return classicBench{newBench(t, nil)} }

// joinRequest returns a request to join group g as a consumer, in the newest
// version, with a session timeout of 6 s and a rebalance timeout of 3 s. A
// protocol may have metadata: range=abc.
func joinRequest(member string, protocols ...string) *kmsg.JoinGroupRequest {
	q := kmsg.NewPtrJoinGroupRequest()
	q.Version, q.Group, q.MemberID, q.ProtocolType = 9, "g", member, "consumer"
	q.SessionTimeoutMillis, q.RebalanceTimeoutMillis = 6000, 3000
	for _, p := range protocols {
		protocol := kmsg.NewJoinGroupRequestProtocol()
		name, metadata, _ := strings.Cut(p, "=")
		protocol.Name, protocol.Metadata = name, []byte(metadata)
		q.Protocols = append(q.Protocols, protocol)
	}
	return q
}

// staticRequest returns a request to join group g as a static member.
func staticRequest(instance, member string, protocols ...string) *kmsg.JoinGroupRequest {
	q := joinRequest(member, protocols...)
	q.InstanceID = &instance
	return q
}

func (b classicBench) join(q *kmsg.JoinGroupRequest) answer[*kmsg.JoinGroupResponse] {
	return ask(b.t, func(reply func(*kmsg.JoinGroupResponse)) {
		b.JoinGroup(Client{ID: "client", Host: "/127.0.0.1"}, q, reply)
	})
}

// enter joins with an id that it asks for.
func (b classicBench) enter(q *kmsg.JoinGroupRequest) (id string, joined answer[*kmsg.JoinGroupResponse]) {
	b.t.Helper()
	r := b.join(q).get()
	if r.ErrorCode != kerr.MemberIDRequired.Code {
		b.t.Fatalf("no id was given: %+v", r)
	}
	q.MemberID = r.MemberID
	return r.MemberID, b.join(q)
}

// syncRequest returns a request to sync in group g, with assignments: m1=a, m2=b.
func syncRequest(member string, generation int32, assignments ...string) *kmsg.SyncGroupRequest {
	q := kmsg.NewPtrSyncGroupRequest()
	q.Version, q.Group, q.MemberID, q.Generation = 5, "g", member, generation
	q.ProtocolType = new("consumer")
	q.Protocol = new("range")
	for _, a := range assignments {
		id, assigned, _ := strings.Cut(a, "=")
		to := kmsg.NewSyncGroupRequestGroupAssignment()
		to.MemberID, to.MemberAssignment = id, []byte(assigned)
		q.GroupAssignment = append(q.GroupAssignment, to)
	}
	return q
}

func (b classicBench) sync(q *kmsg.SyncGroupRequest) answer[*kmsg.SyncGroupResponse] {
	return ask(b.t, func(reply func(*kmsg.SyncGroupResponse)) { b.SyncGroup(q, reply) })
}

func heartbeatRequest(member string, generation int32) *kmsg.HeartbeatRequest {
	q := kmsg.NewPtrHeartbeatRequest()
	q.Version, q.Group, q.MemberID, q.Generation = 4, "g", member, generation
	return q
}

func (b classicBench) heartbeat(q *kmsg.HeartbeatRequest) int16 {
	b.t.Helper()
	return ask(b.t, func(reply func(*kmsg.HeartbeatResponse)) { b.Heartbeat(q, reply) }).get().ErrorCode
}

// beat sends the heartbeat of a member of group g.
func (b classicBench) beat(member string, generation int32) int16 {
	b.t.Helper()
	return b.heartbeat(heartbeatRequest(member, generation))
}

// leave removes members from group g; an instance id follows the id: m1/i1.
func (b classicBench) leave(members ...string) *kmsg.LeaveGroupResponse {
	b.t.Helper()
	q := kmsg.NewPtrLeaveGroupRequest()
	q.Version, q.Group = 5, "g"
	for _, text := range members {
		id, instance, static := strings.Cut(text, "/")
		m := kmsg.NewLeaveGroupRequestMember()
		m.MemberID = id
		if static {
			m.InstanceID = &instance
		}
		q.Members = append(q.Members, m)
	}
	return ask(b.t, func(reply func(*kmsg.LeaveGroupResponse)) { b.LeaveGroup(q, reply) }).get()
}

// commit says with which code a commit of a member of group g is refused.
func (b classicBench) commit(member string, instance *string, generation int32) (code int16) {
	b.t.Helper()
	b.in(func(m *machine) {
		_, err := m.group("g").checkCommit(member, instance, generation, false, 9)
		code = codeOf(err)
	})
	return code
}

// describe describes group g.
func (b classicBench) describe() (r kmsg.DescribeGroupsResponseGroup) {
	b.t.Helper()
	b.in(func(m *machine) { r = m.describeClassic("g", 6) })
	return r
}

// want compares codes.
func want(t testing.TB, what string, got int16, want *kerr.Error) {
	t.Helper()
	if code := codeFor(want); got != code {
		t.Errorf("%s: error code %d, want %d", what, got, code)
	}
}

func codeFor(e *kerr.Error) int16 {
	if e == nil {
		return 0
	}
	return e.Code
}

// joinedAs compares what a member is told when it joins.
func joinedAs(t testing.TB, r *kmsg.JoinGroupResponse, generation int32, leader string, members ...string) {
	t.Helper()
	var got []string
	for _, m := range r.Members {
		got = append(got, m.MemberID)
	}
	if r.ErrorCode != 0 || r.Generation != generation || r.LeaderID != leader || !slices.Equal(got, members) {
		t.Errorf("joined generation %d, leader %s, members %v, error code %d; want %d, %s, %v", r.Generation, r.LeaderID, got, r.ErrorCode, generation, leader, members)
	}
}

// stable joins and syncs as the only member of group g.
func (b classicBench) stable(q *kmsg.JoinGroupRequest) (id string) {
	b.t.Helper()
	var joined answer[*kmsg.JoinGroupResponse]
	if q.InstanceID == nil {
		_, joined = b.enter(q)
	} else {
		joined = b.join(q)
	}
	r := joined.get()
	want(b.t, "join", r.ErrorCode, nil)
	s := syncRequest(r.MemberID, r.Generation, r.MemberID+"=all")
	s.Protocol = r.Protocol
	s.ProtocolType = r.ProtocolType
	want(b.t, "sync", b.sync(s).get().ErrorCode, nil)
	return r.MemberID
}
