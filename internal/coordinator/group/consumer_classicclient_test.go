package group

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"kf/internal/format/grouprec"
)

// A classicClient is a consumer of the classic protocol. It gives up everything
// before it joins again, or what it is not assigned any more if it is cooperative. In
// a classic group it assigns the partitions if it leads.
type classicClient struct {
	w      *world
	topics []string

	id         string
	generation int32
	protocol   string
	phase      modelPhase
	has        map[string]bool
	members    []kmsg.JoinGroupResponseMember // if it leads
	leads      bool
	since      time.Time // when it asked
	came       chan func()
	dead       bool
	unknown    bool // the coordinator does not know what it uses
}

func (c *classicClient) memberID() string      { return c.id }
func (c *classicClient) uses() map[string]bool { return c.has }
func (c *classicClient) alive() bool           { return !c.dead }
func (c *classicClient) known() bool           { return !c.unknown }
func (c *classicClient) stale() bool           { return true }

func (c *classicClient) wants(topic string) bool { return slices.Contains(c.topics, topic) }

func (c *classicClient) act() {
	c.collect()
	odd := !c.w.calm && c.w.r.IntN(10) == 0
	switch {
	case c.dead:
		if c.w.r.IntN(20) == 0 {
			c.id, c.has = "", nil
		}
	case odd && c.w.r.IntN(4) == 0:
		c.dead = true
	case odd && c.id != "" && c.w.r.IntN(3) == 0:
		c.leave()
	case c.phase == modelOut:
		c.join()
	case c.phase == modelJoined:
		c.sync()
	case c.phase == modelMember && !odd:
		if !c.w.calm && c.w.r.IntN(3) == 0 {
			c.w.commits(c, c.generation)
			return
		}
		c.beat()
	case c.phase == modelMember:
		c.topics = c.w.wish()
		c.join()
	case time.Since(c.since) > 20*time.Second: // it waits for an answer: the request was lost
		c.phase = modelOut
	}
}

// collect takes the answer that came.
func (c *classicClient) collect() {
	select {
	case f := <-c.came:
		f()
	default:
	}
}

// call sends a request; what comes of it counts unless another one is sent.
func call[R any](c *classicClient, send func(reply func(R)), answered func(R)) {
	came := make(chan func(), 1)
	c.came, c.since = came, time.Now()
	send(func(r R) { came <- func() { answered(r) } })
	if !c.w.calm && c.w.r.IntN(20) == 0 {
		c.came = nil // the answer is lost
		return
	}
	c.collect()
}

// protocols are those that the client has.
func (c *classicClient) protocols() []string {
	if c.w.cooperative {
		return []string{"cooperative-sticky"}
	}
	return []string{"range", "roundrobin"}
}

func (c *classicClient) join() {
	if !c.w.cooperative {
		c.has = nil
	}
	s := grouprec.ConsumerProtocolSubscription{Topics: c.topics, GenerationID: c.generation}
	for name, partitions := range partitionLists(c.has) {
		s.OwnedPartitions = append(s.OwnedPartitions, grouprec.ProtocolPartitions{Topic: name, Partitions: partitions})
	}
	metadata, err := grouprec.AppendSubscription(nil, &s, 3)
	if err != nil {
		c.w.t.Fatal(err)
	}
	q := kmsg.NewPtrJoinGroupRequest()
	q.Version, q.Group, q.MemberID, q.ProtocolType = 9, "g", c.id, "consumer"
	q.SessionTimeoutMillis, q.RebalanceTimeoutMillis = int32(worldSession.Milliseconds()), int32(worldRebalance.Milliseconds())
	for _, name := range c.protocols() {
		q.Protocols = append(q.Protocols, kmsg.JoinGroupRequestProtocol{Name: name, Metadata: metadata})
	}
	c.phase = modelJoining
	if !c.w.isMember(c.id) { // it was given up, and does not know; as in Kafka it is taken in under its id
		c.unknown = true
	}
	c.w.note("%s joins with %s and wants %v", c.id, ownText(c.has), c.topics)
	call(c, func(reply func(*kmsg.JoinGroupResponse)) {
		c.w.JoinGroup(Client{ID: "c", Host: "/127.0.0.1"}, q, reply)
	}, c.joined)
}

func partitionLists(has map[string]bool) map[string][]int32 {
	of := make(map[string][]int32)
	for _, p := range slices.Sorted(maps.Keys(has)) {
		name, n := splitPartition(p)
		of[name] = append(of[name], n)
	}
	return of
}

func (c *classicClient) joined(r *kmsg.JoinGroupResponse) {
	c.w.note("%s joined: %d %s generation %d", c.id, r.ErrorCode, r.MemberID, r.Generation)
	switch r.ErrorCode {
	case 0:
		c.id, c.generation, c.protocol, c.phase = r.MemberID, r.Generation, *r.Protocol, modelJoined
		c.leads, c.members = r.LeaderID == r.MemberID, r.Members
	case kerr.MemberIDRequired.Code:
		c.id, c.phase = r.MemberID, modelOut
	case kerr.UnknownMemberID.Code, kerr.GroupMaxSizeReached.Code, kerr.InconsistentGroupProtocol.Code:
		c.lost()
	case kerr.RebalanceInProgress.Code, kerr.NotCoordinator.Code, kerr.CoordinatorNotAvailable.Code, kerr.UnknownServerError.Code:
		c.phase = modelOut
	default:
		c.w.fatalf("join of %s: %v", c.id, kerr.ErrorForCode(r.ErrorCode))
	}
}

// lost is what happens when the client is no member.
func (c *classicClient) lost() { c.id, c.phase, c.has, c.generation = "", modelOut, nil, -1 }

func (c *classicClient) sync() {
	q := kmsg.NewPtrSyncGroupRequest()
	q.Version, q.Group, q.MemberID, q.Generation = 5, "g", c.id, c.generation
	q.ProtocolType, q.Protocol = new("consumer"), &c.protocol
	if c.leads {
		q.GroupAssignment = c.assign()
	}
	c.phase = modelSyncing
	call(c, func(reply func(*kmsg.SyncGroupResponse)) { c.w.SyncGroup(q, reply) }, c.synced)
}

// assign shares the partitions out, one by one. What a cooperative member still has
// is given to nobody else yet.
func (c *classicClient) assign() []kmsg.SyncGroupRequestGroupAssignment {
	owner := make(map[string]string)
	wants := make(map[string][]string)
	for _, m := range c.members {
		s, _, err := grouprec.DecodeSubscription(m.ProtocolMetadata)
		if err != nil {
			c.w.t.Fatal(err)
		}
		for _, topic := range s.Topics {
			wants[topic] = append(wants[topic], m.MemberID)
		}
		for _, p := range s.OwnedPartitions {
			for _, n := range p.Partitions {
				owner[fmt.Sprintf("%s:%d", p.Topic, n)] = m.MemberID
			}
		}
	}
	to := make(map[string]map[string][]int32)
	for _, topic := range slices.Sorted(maps.Keys(wants)) {
		t := c.w.image.Topic(topic)
		if t == nil {
			continue
		}
		ids := slices.Compact(slices.Sorted(slices.Values(wants[topic])))
		for i := range int32(t.Len()) {
			id := ids[int(i)%len(ids)]
			if o := owner[fmt.Sprintf("%s:%d", topic, i)]; c.w.cooperative && o != "" && o != id {
				continue
			}
			if to[id] == nil {
				to[id] = make(map[string][]int32)
			}
			to[id][topic] = append(to[id][topic], i)
		}
	}
	var all []kmsg.SyncGroupRequestGroupAssignment
	for _, m := range c.members {
		var a grouprec.ConsumerProtocolAssignment
		for _, topic := range slices.Sorted(maps.Keys(to[m.MemberID])) {
			a.AssignedPartitions = append(a.AssignedPartitions, grouprec.ProtocolPartitions{Topic: topic, Partitions: to[m.MemberID][topic]})
		}
		p, err := grouprec.AppendAssignment(nil, &a, 3)
		if err != nil {
			c.w.t.Fatal(err)
		}
		all = append(all, kmsg.SyncGroupRequestGroupAssignment{MemberID: m.MemberID, MemberAssignment: p})
	}
	return all
}

func (c *classicClient) synced(r *kmsg.SyncGroupResponse) {
	c.w.note("%s synced: %d", c.id, r.ErrorCode)
	switch r.ErrorCode {
	case 0:
	case kerr.UnknownMemberID.Code:
		c.lost()
		return
	case kerr.RebalanceInProgress.Code, kerr.NotCoordinator.Code, kerr.CoordinatorNotAvailable.Code, kerr.IllegalGeneration.Code,
		kerr.UnknownServerError.Code, kerr.InconsistentGroupProtocol.Code:
		c.phase = modelOut
		return
	default:
		c.w.fatalf("sync of %s: %v", c.id, kerr.ErrorForCode(r.ErrorCode))
	}
	told := make(map[string]bool)
	if len(r.MemberAssignment) > 0 {
		a, _, err := grouprec.DecodeAssignment(r.MemberAssignment)
		if err != nil {
			c.w.t.Fatal(err)
		}
		for _, p := range a.AssignedPartitions {
			for _, n := range p.Partitions {
				told[fmt.Sprintf("%s:%d", p.Topic, n)] = true
			}
		}
	}
	before := len(c.has)
	maps.DeleteFunc(c.has, func(p string, _ bool) bool { return !told[p] })
	gaveUp := len(c.has) < before
	c.w.note("%s is assigned %s", c.id, ownText(told))
	c.w.takes(c, told)
	c.unknown = false
	c.has, c.phase = told, modelMember
	if gaveUp { // the others may have it now
		c.phase = modelOut
	}
}

func (c *classicClient) beat() {
	q := kmsg.NewPtrHeartbeatRequest()
	q.Version, q.Group, q.MemberID, q.Generation = 4, "g", c.id, c.generation
	call(c, func(reply func(*kmsg.HeartbeatResponse)) { c.w.Heartbeat(q, reply) }, func(r *kmsg.HeartbeatResponse) {
		switch r.ErrorCode {
		case 0, kerr.NotCoordinator.Code, kerr.CoordinatorNotAvailable.Code:
		case kerr.UnknownMemberID.Code:
			c.lost()
		case kerr.RebalanceInProgress.Code, kerr.IllegalGeneration.Code:
			c.phase = modelOut
		default:
			c.w.fatalf("heartbeat of %s: %v", c.id, kerr.ErrorForCode(r.ErrorCode))
		}
	})
}

func (c *classicClient) leave() {
	q := kmsg.NewPtrLeaveGroupRequest()
	q.Version, q.Group = 5, "g"
	m := kmsg.NewLeaveGroupRequestMember()
	m.MemberID = c.id
	q.Members = append(q.Members, m)
	c.has = nil
	call(c, func(reply func(*kmsg.LeaveGroupResponse)) { c.w.LeaveGroup(q, reply) }, func(*kmsg.LeaveGroupResponse) {})
	c.lost()
}
