package group

import (
	"bytes"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"kf/internal/format/grouprec"
)

// A classicMember is a member of a classic group.
type classicMember struct {
	id               string
	instance         *string // instance id, nil unless static
	clientID         string
	host             string // of the client, as Kafka writes it
	rebalanceTimeout int32  // ms
	sessionTimeout   int32  // ms
	// protocols are the assignors that the member supports, the preferred one
	// first, each with its metadata; a name occurs once. They are replaced, not
	// changed.
	protocols  []grouprec.ClassicProtocol
	assignment []byte

	join     func(*kmsg.JoinGroupResponse) // nil unless it waits for the join phase to end
	sync     func(*kmsg.SyncGroupResponse) // nil unless it waits for the leader's assignment
	fresh    bool                          // it joined and has not seen a generation yet
	unsynced bool                          // it has yet to fetch the assignment of this generation
	timer    string                        // key of the timer of its session
}

func sessionTimer(group, member string) string { return timerKey("session", group, member) }

// metadata returns what the member says under an assignor that it supports.
func (m *classicMember) metadata(protocol string) []byte {
	for _, p := range m.protocols {
		if p.Name == protocol {
			return p.Metadata
		}
	}
	return nil
}

// waiting reports whether a member is alive although it sends no heartbeats,
// because it waits for an answer. A fresh one may not wait for ever: its client
// might be gone, and nothing else would tell.
func (m *classicMember) waiting() bool { return !m.fresh && (m.join != nil || m.sync != nil) }

// awaitJoin lets a member wait for the join phase to end. Kafka leaves the request
// that waits already without an answer: its client gave up the connection, as a
// rule. On the same connection the next one would come to nothing.
func (g *classicGroup) awaitJoin(m *classicMember, reply func(*kmsg.JoinGroupResponse)) {
	g.answerJoin(m, joinError(m.id, kerr.RebalanceInProgress.Code))
	m.join = reply
	g.joining++
}

// answerJoin answers a member that waits for the join phase to end.
func (g *classicGroup) answerJoin(m *classicMember, r *kmsg.JoinGroupResponse) {
	if m.join == nil {
		return
	}
	reply := m.join
	m.join = nil
	g.joining--
	reply(r)
}

// answerSync answers a member that waits for its assignment, and reports whether
// it did.
func (m *classicMember) answerSync(r *kmsg.SyncGroupResponse) bool {
	if m.sync == nil {
		return false
	}
	reply := m.sync
	m.sync = nil
	reply(r)
	return true
}

// protocolsOf returns the protocols of a request, which own their memory: of
// several of one name the first.
func protocolsOf(q *kmsg.JoinGroupRequest) []grouprec.ClassicProtocol {
	seen := make(map[string]bool, len(q.Protocols))
	protocols := make([]grouprec.ClassicProtocol, 0, len(q.Protocols))
	for _, p := range q.Protocols {
		if !seen[p.Name] {
			seen[p.Name] = true
			protocols = append(protocols, grouprec.ClassicProtocol{Name: p.Name, Metadata: bytes.Clone(p.Metadata)})
		}
	}
	return protocols
}

func joinError(member string, code int16) *kmsg.JoinGroupResponse {
	r := kmsg.NewPtrJoinGroupResponse()
	r.MemberID, r.ErrorCode = member, code
	return r
}

func syncError(code int16) *kmsg.SyncGroupResponse {
	r := kmsg.NewPtrSyncGroupResponse()
	r.ErrorCode = code
	return r
}
