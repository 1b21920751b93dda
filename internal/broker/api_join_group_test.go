package broker

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// joinsAtOnce are settings with which the first member of a group need not wait
// for others.
var joinsAtOnce = map[string]string{"group.initial.rebalance.delay.ms": "0"}

// another returns a stage of the same broker, with a connection of its own.
func (s *stage) another() *stage { return &stage{t: s.t, b: s.b, ids: s.ids} }

// joinRequest returns a request to join a group, as a static member from version 5 on.
func joinRequest(group string, version int16) *kmsg.JoinGroupRequest {
	q := kmsg.NewPtrJoinGroupRequest()
	q.Group, q.ProtocolType, q.SessionTimeoutMillis, q.RebalanceTimeoutMillis = group, "consumer", 10000, 10000
	p := kmsg.NewJoinGroupRequestProtocol()
	p.Name, p.Metadata = "range", []byte("metadata of "+group)
	q.Protocols = append(q.Protocols, p)
	if version >= 5 {
		q.InstanceID = new("i")
	}
	return q
}

// member makes a member, the only one of a group.
func (s *stage) member(group string) *kmsg.JoinGroupResponse {
	s.t.Helper()
	s.request(1, coordinatorOf(0, group)(s, errorCase{}).(kmsg.Request))
	r := s.request(9, joinRequest(group, 9)).(*kmsg.JoinGroupResponse)
	if r.ErrorCode != 0 {
		s.t.Fatalf("error code %d", r.ErrorCode)
	}
	return r
}

func syncRequest(group string, r *kmsg.JoinGroupResponse) *kmsg.SyncGroupRequest {
	q := kmsg.NewPtrSyncGroupRequest()
	q.Group, q.MemberID, q.Generation, q.ProtocolType, q.Protocol = group, r.MemberID, r.Generation, new("consumer"), new("range")
	for _, m := range r.Members {
		to := kmsg.NewSyncGroupRequestGroupAssignment()
		to.MemberID, to.MemberAssignment = m.MemberID, []byte("for "+m.MemberID)
		q.GroupAssignment = append(q.GroupAssignment, to)
	}
	return q
}

func heartbeatRequest(group string, r *kmsg.JoinGroupResponse) *kmsg.HeartbeatRequest {
	q := kmsg.NewPtrHeartbeatRequest()
	q.Group, q.MemberID, q.Generation = group, r.MemberID, r.Generation
	return q
}

func leaveRequest(group string, r *kmsg.JoinGroupResponse) *kmsg.LeaveGroupRequest {
	q := kmsg.NewPtrLeaveGroupRequest()
	m := kmsg.NewLeaveGroupRequestMember()
	m.MemberID = r.MemberID
	q.Group, q.MemberID, q.Members = group, r.MemberID, append(q.Members, m)
	return q
}

// Members on connections of their own: a join and a sync wait for those of others,
// and what a request brought is still there when its buffer has another use.
func TestJoinFromConnections(t *testing.T) {
	first := newGroupStage(t, Options{Properties: joinsAtOnce})
	q1 := joinRequest("g", 9)
	r1 := first.member("g")
	if r := first.request(5, syncRequest("g", r1)).(*kmsg.SyncGroupResponse); string(r.MemberAssignment) != "for "+r1.MemberID {
		t.Errorf("%+v", r)
	}

	second := first.another()
	q2 := joinRequest("g", 4)
	q2.MemberID = second.request(9, q2).(*kmsg.JoinGroupResponse).MemberID
	q2.Protocols[0].Metadata = []byte("metadata of the second")
	q2.SetVersion(9)
	second.send(errorCase{}, frame(1, q2))
	for {
		r := first.request(4, heartbeatRequest("g", r1)).(*kmsg.HeartbeatResponse)
		if r.ErrorCode == kerr.RebalanceInProgress.Code {
			break
		}
		time.Sleep(time.Millisecond)
	}
	second.send(errorCase{}, frame(2, q2)) // on the same connection, in front of the answer
	q1.MemberID = r1.MemberID
	read := func(s *stage, answer kmsg.Response) {
		t.Helper()
		p, err := readFrame(s.conn)
		if err == nil {
			err = answer.ReadFrom(p[5:]) // the correlation id, and no tags
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	superseded := kmsg.NewPtrJoinGroupResponse()
	superseded.Version = 9
	read(second, superseded)
	if superseded.ErrorCode != kerr.RebalanceInProgress.Code {
		t.Errorf("the first of two requests: %+v", superseded)
	}
	r1 = first.request(9, q1).(*kmsg.JoinGroupResponse)
	r2 := kmsg.NewPtrJoinGroupResponse()
	r2.Version = 9
	read(second, r2)
	if r1.Generation != 2 || r2.Generation != 2 || r2.LeaderID != r1.MemberID || len(r1.Members) != 2 || string(r1.Members[1].ProtocolMetadata) != "metadata of the second" {
		t.Errorf("joined: %+v, %+v", r1, r2)
	}

	s2 := syncRequest("g", r2)
	s2.SetVersion(5)
	second.send(errorCase{}, frame(3, s2))
	if r := first.request(5, syncRequest("g", r1)).(*kmsg.SyncGroupResponse); string(r.MemberAssignment) != "for "+r1.MemberID {
		t.Errorf("%+v", r)
	}
	a2 := kmsg.NewPtrSyncGroupResponse()
	a2.Version = 5
	read(second, a2)
	if string(a2.MemberAssignment) != "for "+r2.MemberID || *a2.Protocol != "range" {
		t.Errorf("%+v", a2)
	}

	// A client that goes away while it waits harms nobody.
	third := first.another()
	q3 := joinRequest("g", 0)
	q3.SetVersion(0)
	third.dial()
	third.send(errorCase{}, frame(1, q3))
	for first.request(4, heartbeatRequest("g", r1)).(*kmsg.HeartbeatResponse).ErrorCode == 0 {
		time.Sleep(time.Millisecond)
	}
	third.conn.Close()
	for _, r := range []*kmsg.JoinGroupResponse{r1, r2} {
		if r := first.request(5, leaveRequest("g", r)).(*kmsg.LeaveGroupResponse); r.ErrorCode != 0 || r.Members[0].ErrorCode != 0 {
			t.Errorf("%+v", r)
		}
	}
}

// SyncGroup has to say from version 5 on which protocol it is about.
func TestSyncWithoutProtocol(t *testing.T) {
	s := newGroupStage(t, Options{Properties: joinsAtOnce})
	r := s.member("g")
	for _, strip := range []func(q *kmsg.SyncGroupRequest){
		func(q *kmsg.SyncGroupRequest) { q.Protocol = nil },
		func(q *kmsg.SyncGroupRequest) { q.ProtocolType = nil },
		func(q *kmsg.SyncGroupRequest) { q.Group, q.Protocol = "", nil },
	} {
		q := syncRequest("g", r)
		strip(q)
		if r := s.request(5, q).(*kmsg.SyncGroupResponse); r.ErrorCode != kerr.InconsistentGroupProtocol.Code {
			t.Errorf("%+v", r)
		}
	}
	q := syncRequest("g", r)
	q.Protocol, q.ProtocolType = nil, nil
	if r := s.request(4, q).(*kmsg.SyncGroupResponse); r.ErrorCode != 0 {
		t.Errorf("version 4: %+v", r)
	}
}
