package group

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"kf/internal/format/grouprec"
)

// The answers of a running Kafka 4.4.0 to one member and its mistakes, in the
// order in which it was asked.
func TestClassicErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newClassicBench(t)
		code := func(what string, q *kmsg.JoinGroupRequest, e *kerr.Error) *kmsg.JoinGroupResponse {
			t.Helper()
			r := b.join(q).get()
			want(t, what, r.ErrorCode, e)
			return r
		}
		q := joinRequest("", "range")
		q.Group = ""
		code("empty group id", q, kerr.InvalidGroupID)
		for _, ms := range []int32{5999, 1800001} {
			q = joinRequest("", "range")
			q.SessionTimeoutMillis = ms
			code("session timeout", q, kerr.InvalidSessionTimeout)
		}
		if r := code("unknown member id, new group", joinRequest("x-1", "range"), kerr.UnknownMemberID); r.MemberID != "x-1" || r.Generation != -1 {
			t.Errorf("an unknown member is told %+v", r)
		}
		if b.group("g") != nil {
			t.Error("a refused member made a group")
		}
		code("no protocols", joinRequest(""), kerr.InconsistentGroupProtocol)
		if b.group("g") == nil {
			t.Error("Kafka makes a group before it looks at the protocols")
		}
		q = joinRequest("", "range")
		q.ProtocolType = ""
		code("empty protocol type", q, kerr.InconsistentGroupProtocol)

		q = joinRequest("", "range=a")
		r := code("without member id", q, kerr.MemberIDRequired)
		if !strings.HasPrefix(r.MemberID, "client-") || len(r.MemberID) != len("client-")+36 || r.Generation != -1 || r.ProtocolType != nil || r.Protocol != nil {
			t.Errorf("without a member id: %+v", r)
		}
		id := r.MemberID
		q.MemberID = id
		r = code("again with the given id", q, nil)
		joinedAs(t, r, 1, id, id)
		if *r.Protocol != "range" || *r.ProtocolType != "consumer" || r.SkipAssignment || string(r.Members[0].ProtocolMetadata) != "a" {
			t.Errorf("joined: %+v", r)
		}

		want(t, "heartbeat before sync", b.beat(id, 1), nil)
		want(t, "commit before sync", b.commit(id, nil, 1), kerr.RebalanceInProgress)
		for _, tt := range []struct {
			what   string
			change func(*kmsg.SyncGroupRequest)
			err    *kerr.Error
		}{
			{"empty group id", func(q *kmsg.SyncGroupRequest) { q.Group = "" }, kerr.InvalidGroupID},
			{"unknown group", func(q *kmsg.SyncGroupRequest) { q.Group = "other" }, kerr.UnknownMemberID},
			{"wrong generation", func(q *kmsg.SyncGroupRequest) { q.Generation = 2 }, kerr.IllegalGeneration},
			{"wrong protocol name", func(q *kmsg.SyncGroupRequest) { q.Protocol = new("sticky") }, kerr.InconsistentGroupProtocol},
			{"wrong protocol type", func(q *kmsg.SyncGroupRequest) { q.ProtocolType = new("connect") }, kerr.InconsistentGroupProtocol},
			{"unknown member", func(q *kmsg.SyncGroupRequest) { q.MemberID = "x" }, kerr.UnknownMemberID},
			{"unknown member and wrong generation", func(q *kmsg.SyncGroupRequest) { q.MemberID, q.Generation = "x", 9 }, kerr.UnknownMemberID},
			{"unknown instance", func(q *kmsg.SyncGroupRequest) { q.InstanceID = new("i") }, kerr.UnknownMemberID},
			{"good, of a version without protocol", func(q *kmsg.SyncGroupRequest) { q.Version, q.Protocol, q.ProtocolType = 4, nil, nil }, nil},
			{"once more", func(*kmsg.SyncGroupRequest) {}, nil},
		} {
			q := syncRequest(id, 1, id+"=all")
			tt.change(q)
			r := b.sync(q).get()
			want(t, "sync: "+tt.what, r.ErrorCode, tt.err)
			if tt.err == nil && (string(r.MemberAssignment) != "all" || *r.Protocol != "range" || *r.ProtocolType != "consumer") {
				t.Errorf("sync: %s: %+v", tt.what, r)
			}
		}
		for _, tt := range []struct {
			what   string
			change func(*kmsg.HeartbeatRequest)
			err    *kerr.Error
		}{
			{"good", func(*kmsg.HeartbeatRequest) {}, nil},
			{"old generation", func(q *kmsg.HeartbeatRequest) { q.Generation = 0 }, kerr.IllegalGeneration},
			{"future generation", func(q *kmsg.HeartbeatRequest) { q.Generation = 2 }, kerr.IllegalGeneration},
			{"unknown member", func(q *kmsg.HeartbeatRequest) { q.MemberID = "x" }, kerr.UnknownMemberID},
			{"unknown group", func(q *kmsg.HeartbeatRequest) { q.Group = "other" }, kerr.UnknownMemberID},
			{"empty group id", func(q *kmsg.HeartbeatRequest) { q.Group = "" }, kerr.InvalidGroupID},
			{"unknown instance", func(q *kmsg.HeartbeatRequest) { q.InstanceID = new("i") }, kerr.UnknownMemberID},
		} {
			q := heartbeatRequest(id, 1)
			tt.change(q)
			want(t, "heartbeat: "+tt.what, b.heartbeat(q), tt.err)
		}
		want(t, "commit", b.commit(id, nil, 1), nil)
		want(t, "commit of another generation", b.commit(id, nil, 2), kerr.IllegalGeneration)
		want(t, "commit of a stranger", b.commit("", nil, -1), kerr.UnknownMemberID)

		q = joinRequest("", "range")
		q.Version, q.ProtocolType = 4, "connect"
		code("another protocol type", q, kerr.InconsistentGroupProtocol)
		q = joinRequest("", "sticky")
		q.Version = 3
		code("no common protocol", q, kerr.InconsistentGroupProtocol)

		joinedAs(t, code("the leader again", joinRequest(id, "range=a"), nil), 2, id, id)
		want(t, "heartbeat of the old generation", b.beat(id, 1), kerr.IllegalGeneration)
		want(t, "sync", b.sync(syncRequest(id, 2, id+"=all")).get().ErrorCode, nil)

		want(t, "leave", b.leave(id).Members[0].ErrorCode, nil)
		want(t, "commit to an empty group", b.commit("", nil, -1), nil)
		for version := range int16(4) { // joins are let in at once
			q, timeout := joinRequest("", "range"), int32(3000)
			q.Group, q.Version = "old", version
			if version == 0 { // it has none
				q.RebalanceTimeoutMillis, timeout = -1, q.SessionTimeoutMillis
			}
			r := b.join(q).get()
			want(t, "join of an old version", r.ErrorCode, nil)
			if m := b.group("old").(*classicGroup).members[r.MemberID]; m.rebalanceTimeout != timeout {
				t.Errorf("version %d: rebalance timeout %d, want %d", version, m.rebalanceTimeout, timeout)
			}
			joinedAs(t, r, int32(2*version)+1, r.MemberID, r.MemberID)
			l := kmsg.NewPtrLeaveGroupRequest()
			l.Version, l.Group, l.MemberID = version%3, "old", r.MemberID
			for _, e := range []*kerr.Error{nil, kerr.UnknownMemberID} { // it is out after the first time
				left := ask(t, func(reply func(*kmsg.LeaveGroupResponse)) { b.LeaveGroup(l, reply) }).get()
				want(t, "leave of an old version", left.ErrorCode, e)
			}
		}
	})
}

// A static member that comes back, and who is left with its old id, as a running
// Kafka 4.4.0 answered.
func TestStaticErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newClassicBench(t)
		r := b.join(staticRequest("i1", "", "range")).get()
		old := r.MemberID
		if !strings.HasPrefix(old, "i1-") {
			t.Errorf("member id %s", old)
		}
		joinedAs(t, r, 1, old, old)
		want(t, "sync", b.sync(syncRequest(old, 1, old+"=all")).get().ErrorCode, nil)
		r = b.join(staticRequest("i1", "", "range")).get()
		id := r.MemberID
		joinedAs(t, r, 1, id, id)
		if !r.SkipAssignment || id == old {
			t.Errorf("the leader came back: %+v", r)
		}
		q := heartbeatRequest(old, 1)
		q.InstanceID = new("i1")
		want(t, "heartbeat of the old id with the instance id", b.heartbeat(q), kerr.FencedInstanceID)
		want(t, "heartbeat of the old id alone", b.beat(old, 1), kerr.UnknownMemberID)
		q.MemberID = id
		want(t, "heartbeat of the new id", b.heartbeat(q), nil)
		s := syncRequest(old, 1)
		s.InstanceID = new("i1")
		want(t, "sync of the old id", b.sync(s).get().ErrorCode, kerr.FencedInstanceID)
		s.MemberID = id
		if r := b.sync(s).get(); r.ErrorCode != 0 || string(r.MemberAssignment) != "all" {
			t.Errorf("sync of the new id: %+v", r)
		}
		if r := b.join(staticRequest("i1", old, "range")).get(); r.ErrorCode != kerr.FencedInstanceID.Code || r.MemberID != old {
			t.Errorf("join of the old id: %+v", r)
		}
		want(t, "commit of the old id", b.commit(old, new("i1"), 1), kerr.FencedInstanceID)
		want(t, "commit of the new id", b.commit(id, new("i1"), 1), nil)
		want(t, "leave of the old id", b.leave(old + "/i1").Members[0].ErrorCode, kerr.FencedInstanceID)
		want(t, "leave by the instance id", b.leave("/i1").Members[0].ErrorCode, nil)
		if b.group("g").state() != "Empty" {
			t.Errorf("state %s", b.group("g").state())
		}
	})
}

// A member that uses an instance id with an id that was given to a dynamic one
// meets an exception in Kafka.
func TestPendingWithInstance(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newClassicBench(t)
		id := b.join(joinRequest("", "range")).get().MemberID
		want(t, "join", b.join(staticRequest("i", id, "range")).get().ErrorCode, kerr.UnknownServerError)
	})
}

// LeaveGroup says for each member what became of it.
func TestLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newClassicBench(t)
		if r := b.leave("x", "/i"); r.ErrorCode != 0 || len(r.Members) != 2 || r.Members[1].ErrorCode != kerr.UnknownMemberID.Code || *r.Members[1].InstanceID != "i" {
			t.Errorf("an unknown group: %+v", r)
		}
		q := kmsg.NewPtrLeaveGroupRequest()
		q.Version = 5
		want(t, "empty group id", ask(t, func(reply func(*kmsg.LeaveGroupResponse)) { b.LeaveGroup(q, reply) }).get().ErrorCode, kerr.InvalidGroupID)

		static := b.stable(staticRequest("i", "", "range"))
		dynamic, joined := b.enter(joinRequest("", "range"))
		pending := b.join(joinRequest("", "range")).get().MemberID
		joined.waits()
		r := b.leave("x", pending, "/nobody", "", dynamic, static+"/i")
		var codes []int16
		for _, m := range r.Members {
			codes = append(codes, m.ErrorCode)
		}
		unknown := kerr.UnknownMemberID.Code
		if !slices.Equal(codes, []int16{unknown, 0, unknown, unknown, 0, 0}) {
			t.Errorf("codes %v", codes)
		}
		if r := joined.get(); r.ErrorCode != unknown || r.MemberID != "" {
			t.Errorf("a member that left while it joined: %+v", r)
		}
		if g := b.group("g"); g.state() != "Empty" {
			t.Errorf("state %s", g.state())
		}
	})
}

// What a group and its members look like in each state.
func TestDescribeClassic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newClassicBench(t)
		if r := b.describe(); r.State != "Dead" || r.ErrorCode != kerr.GroupIDNotFound.Code || *r.ErrorMessage != "Group g not found." || r.Group != "g" {
			t.Errorf("an unknown group: %+v", r)
		}
		b.in(func(m *machine) {
			if r := m.describeClassic("g", 5); r.State != "Dead" || r.ErrorCode != 0 || r.ErrorMessage != nil {
				t.Errorf("an unknown group, version 5: %+v", r)
			}
		})
		is := func(state, protocol, metadata, assignment string) {
			t.Helper()
			r := b.describe()
			m := r.Members[0]
			if r.State != state || r.Protocol != protocol || r.ProtocolType != "consumer" || string(m.ProtocolMetadata) != metadata || string(m.MemberAssignment) != assignment {
				t.Errorf("%+v", r)
			}
			if m.ClientID != "client" || m.ClientHost != "/127.0.0.1" || m.InstanceID != nil {
				t.Errorf("member %+v", m)
			}
		}
		id := b.stable(joinRequest("", "range=topics"))
		is("Stable", "range", "topics", "all")
		_, joined := b.enter(joinRequest("", "range"))
		is("PreparingRebalance", "", "", "all")
		rejoined := b.join(joinRequest(id, "range=topics"))
		joined.get()
		rejoined.get()
		is("CompletingRebalance", "", "", "all")
	})
}

// The protocol is one that all support; each votes for the first of those on its
// list. Who has none of them stays out.
func TestProtocolVotes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newClassicBench(t)
		b.config.ClassicInitialDelay = 3000
		_, a1 := b.enter(joinRequest("", "range", "sticky"))
		_, a2 := b.enter(joinRequest("", "sticky", "range"))
		_, a3 := b.enter(joinRequest("", "sticky"))
		want(t, "join", b.join(joinRequest("", "roundrobin")).get().ErrorCode, kerr.InconsistentGroupProtocol)
		time.Sleep(3 * time.Second)
		for _, a := range []answer[*kmsg.JoinGroupResponse]{a1, a2, a3} {
			if r := a.get(); r.ErrorCode != 0 || *r.Protocol != "sticky" {
				t.Errorf("%+v", r)
			}
		}
	})
}

// Votes are counted; of several with as many Kafka takes the first of its hash
// table. Java 17 says which that is.
func TestVoteTies(t *testing.T) {
	for _, tt := range []struct {
		lists []string
		want  string
	}{
		{[]string{"a b", "b a", "b a"}, "b"},
		{[]string{"a b c", "c b", "b c"}, "b"},
		{[]string{"a b", "b a"}, "a"},
		{[]string{"b a", "a b"}, "a"},
		{[]string{"range cooperative-sticky", "cooperative-sticky range"}, "range"},
		{[]string{"roundrobin range", "range roundrobin"}, "range"},
		{[]string{"cooperative-sticky roundrobin", "roundrobin cooperative-sticky"}, "roundrobin"},
		{[]string{"range sticky", "sticky range"}, "sticky"},
		{[]string{"sessioned compatible default", "compatible sessioned default"}, "compatible"},
		{[]string{"compatible default", "default compatible"}, "default"},
		{[]string{" a", "a "}, ""},
	} {
		g := newClassicGroup("g")
		for i, list := range tt.lists {
			var protocols []grouprec.ClassicProtocol
			for name := range strings.SplitSeq(list, " ") {
				protocols = append(protocols, grouprec.ClassicProtocol{Name: name})
			}
			g.add(&classicMember{id: string(rune('1' + i)), protocols: protocols})
		}
		if got := g.vote(); got != tt.want {
			t.Errorf("%v: %q, want %q", tt.lists, got, tt.want)
		}
	}
}

// group.max.size bounds a group, and in the join phase those that have joined.
func TestMaxSize(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newClassicBench(t)
		b.config.ClassicMaxSize = 1
		id := b.stable(joinRequest("", "range"))
		r := b.join(joinRequest("", "range")).get()
		want(t, "second member", r.ErrorCode, kerr.GroupMaxSizeReached)
		if r.MemberID != "" {
			t.Errorf("member id %s", r.MemberID)
		}
		b.config.ClassicMaxSize = 2
		second, joined := b.enter(joinRequest("", "range"))
		b.config.ClassicMaxSize = 1
		want(t, "the first again", b.join(joinRequest(id, "range")).get().ErrorCode, kerr.GroupMaxSizeReached)
		joined.waits()
		again := b.join(joinRequest(second, "range")) // it has its place
		want(t, "superseded", joined.get().ErrorCode, kerr.RebalanceInProgress)
		joinedAs(t, again.get(), 2, second, second)
	})
}

// A member that names a protocol twice counts once.
func TestRepeatedProtocol(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newClassicBench(t)
		id := b.stable(joinRequest("", "range=a", "range=b"))
		if r := b.describe(); string(r.Members[0].ProtocolMetadata) != "a" {
			t.Errorf("%+v", r)
		}
		_, joined := b.enter(joinRequest("", "range"))
		rejoined := b.join(joinRequest(id, "range=a", "range=b"))
		want(t, "join", joined.get().ErrorCode, nil)
		want(t, "join", rejoined.get().ErrorCode, nil)
	})
}

// Protocol types other than consumer are served, and their metadata is theirs.
func TestOtherProtocolTypes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newClassicBench(t)
		for _, tt := range []struct{ typ, protocol string }{{"connect", "sessioned"}, {"sr", "v0"}, {"stream", "stream"}} {
			q := joinRequest("", tt.protocol+"=\xff")
			q.ProtocolType = tt.typ
			id := b.stable(q)
			g := b.group("g")
			if g.protocolType() != tt.typ || g.subscribed("t") {
				t.Errorf("%s: type %s", tt.typ, g.protocolType())
			}
			if _, ok := g.expires(); ok {
				t.Errorf("%s: offsets expire while there are members", tt.typ)
			}
			want(t, tt.typ+": delete offsets", codeOf(g.checkOffsetDelete()), kerr.NonEmptyGroup)
			want(t, tt.typ+": delete", codeOf(g.checkDelete()), kerr.NonEmptyGroup)
			want(t, tt.typ+": leave", b.leave(id).Members[0].ErrorCode, nil)
			want(t, tt.typ+": delete offsets", codeOf(g.checkOffsetDelete()), nil)
			if _, ok := g.expires(); !ok {
				t.Errorf("%s: offsets of an empty group do not expire", tt.typ)
			}
		}
	})
}
