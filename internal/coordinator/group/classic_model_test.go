package group

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"kf/internal/kftest"
	"kf/internal/storage"
)

// Clients that do anything at any time, on a broker whose log fails, lags and
// moves, against what may never happen: a partition with two owners in one
// generation, a generation that is given out again, a commit of a member that is
// out, a request that is never answered, a group that is not what its log says.
func TestClassicModel(t *testing.T) {
	r := kftest.Random(t)
	for range 40 {
		synctest.Test(t, func(t *testing.T) {
			m := &classicModel{classicBench: newClassicBench(t), r: r, owners: make(map[int32]map[string]string), out: make(map[string]bool)}
			m.config.ClassicInitialDelay = int32(r.IntN(2) * 1500)
			if r.IntN(4) == 0 {
				m.config.ClassicMaxSize = 4
			}
			for i := range 2 + r.IntN(6) {
				c := &modelClient{version: int16(r.IntN(10)), metadata: subscription(t, fmt.Sprint(i))}
				if c.version >= 5 && r.IntN(2) == 0 {
					c.instance = new("i" + strconv.Itoa(i%4)) // some have the same
				}
				m.clients = append(m.clients, c)
			}
			for range 300 {
				m.step()
			}
			m.settle()
		})
	}
}

const (
	modelPartitions = 12
	// modelPatience is how long any request may wait: the rebalance timeout of the
	// slowest member, which at version 0 of JoinGroup is that of its session, the
	// time that a commit may take, and a little.
	modelPatience  = max(modelRebalance, modelSession) + 5*time.Second + 100*time.Millisecond
	modelRebalance = 4 * time.Second
	modelSession   = 6 * time.Second
)

// A classicModel is a group with its clients, and what is known of it.
type classicModel struct {
	classicBench
	r       *rand.Rand
	clients []*modelClient
	waiting []*modelRequest

	generation int32                       // the newest that a member was told of
	durable    int32                       // the newest whose assignment was acknowledged
	owners     map[int32]map[string]string // of the partitions, by generation; a static member is its instance
	out        map[string]bool             // dynamic members that were told that they are out
	calm       bool                        // no faults, and clients do what they should
	fault      time.Time                   // when the log works again
}

type modelClient struct {
	version  int16
	instance *string
	metadata string

	id         string
	generation int32
	members    []string // of the generation that it leads, nil for none
	phase      modelPhase
	asked      *modelRequest // the newest request that waits
	heard      time.Time     // when it was last told that it is a member
}

type modelPhase int8

const (
	modelOut modelPhase = iota
	modelJoining
	modelJoined
	modelSyncing
	modelMember
)

// A modelRequest is a request that is not answered.
type modelRequest struct {
	what   string
	sent   time.Time
	done   atomic.Bool // it was answered
	answer chan func() // gets what processes the answer
}

// name is what a client is known by in the group's assignments.
func (c *modelClient) name() string {
	if c.instance != nil {
		return *c.instance
	}
	return c.id
}

// step lets one client do something, or the log fail, and time go on.
func (m *classicModel) step() {
	if m.r.IntN(40) == 0 && !m.calm {
		m.disturb()
	}
	m.act(m.clients[m.r.IntN(len(m.clients))])
	m.pass(time.Duration(m.r.IntN(600)) * time.Millisecond)
}

// pass lets time go on, and looks at everything.
func (m *classicModel) pass(d time.Duration) {
	m.t.Helper()
	time.Sleep(d)
	synctest.Wait()
	if !m.fault.IsZero() && time.Now().After(m.fault) {
		m.repair()
	}
	m.collect()
	m.in(func(s *machine) {
		if g, ok := s.group("g").(*classicGroup); ok {
			checkClassic(m.t, s, g)
		}
	})
}

// collect takes the answers that came, and fails if one is late.
func (m *classicModel) collect() {
	m.t.Helper()
	rest := m.waiting[:0]
	var came []func()
	for _, q := range m.waiting {
		select {
		case answer := <-q.answer:
			came = append(came, answer)
			continue
		default:
		}
		if time.Since(q.sent) > modelPatience {
			m.t.Fatalf("%s waits for %v", q.what, time.Since(q.sent))
		}
		rest = append(rest, q)
	}
	m.waiting = rest
	for _, answer := range came {
		answer()
	}
}

// disturb lets the log fail or lag for a while, or moves the shard.
func (m *classicModel) disturb() {
	switch m.r.IntN(3) {
	case 0:
		m.log.fail(storage.ErrOffline)
	case 1:
		m.hold()
	case 2:
		m.repair()
		m.restart()
		synctest.Wait()
		m.collect() // those that waited are told
		if len(m.waiting) > 0 {
			m.t.Fatalf("%s waits for a broker that is not the coordinator", m.waiting[0].what)
		}
		m.generation = m.durable // the rest was in memory alone
		clear(m.out)
		return
	}
	m.fault = time.Now().Add(time.Duration(m.r.IntN(8000)) * time.Millisecond)
}

func (m *classicModel) repair() {
	m.fault = time.Time{}
	m.log.fail(nil)
	m.release()
	synctest.Wait()
}

// act lets a client do what it might do now.
func (m *classicModel) act(c *modelClient) {
	odd := !m.calm && m.r.IntN(6) == 0
	switch c.phase {
	case modelOut:
		m.joins(c)
	case modelJoining:
		if odd {
			m.joins(c) // again: it lost the connection
		}
	case modelJoined:
		switch {
		case !odd:
			m.syncs(c)
		case m.r.IntN(2) == 0:
			m.vanish(c)
		default:
			m.joins(c)
		}
	case modelSyncing:
		if odd {
			m.syncs(c)
		}
	case modelMember:
		switch {
		case !odd && m.r.IntN(2) == 0:
			m.commits(c)
		case !odd:
			m.beats(c)
		case m.r.IntN(3) == 0:
			m.leaves(c)
		case m.r.IntN(2) == 0:
			m.vanish(c)
		default:
			c.metadata = subscription(m.t, fmt.Sprint(m.r.IntN(9)))
			m.joins(c)
		}
	}
}

// vanish lets a client forget all; what it asked is answered all the same.
func (m *classicModel) vanish(c *modelClient) { c.phase, c.id, c.asked = modelOut, "", nil }

// send notes a request of a client. The answer counts if it is the newest one.
func send[R any](m *classicModel, c *modelClient, what string, call func(reply func(R)), answered func(R)) {
	q := &modelRequest{what: fmt.Sprintf("%s of %s", what, c.id), sent: time.Now(), answer: make(chan func(), 1)}
	c.asked = q
	m.waiting = append(m.waiting, q)
	call(func(r R) {
		if q.done.Swap(true) {
			m.t.Errorf("%s is answered again", q.what)
			return
		}
		q.answer <- func() {
			if c.asked == q {
				answered(r)
			}
		}
	})
	synctest.Wait()
	m.collect()
}

func (m *classicModel) joins(c *modelClient) {
	q := joinRequest(c.id, "range="+c.metadata, "sticky")
	q.Version, q.InstanceID = c.version, c.instance
	q.SessionTimeoutMillis, q.RebalanceTimeoutMillis = int32(modelSession.Milliseconds()), int32(modelRebalance.Milliseconds())
	if m.r.IntN(2) == 0 {
		q.RebalanceTimeoutMillis /= 2
	}
	c.phase, c.members = modelJoining, nil
	send(m, c, "join", func(reply func(*kmsg.JoinGroupResponse)) {
		m.JoinGroup(Client{ID: "client", Host: "/127.0.0.1"}, q, reply)
	}, func(r *kmsg.JoinGroupResponse) { m.joined(c, r) })
}

func (m *classicModel) joined(c *modelClient, r *kmsg.JoinGroupResponse) {
	switch r.ErrorCode {
	case 0:
	case kerr.MemberIDRequired.Code:
		c.id, c.phase = r.MemberID, modelOut
		return
	case kerr.UnknownMemberID.Code, kerr.FencedInstanceID.Code, kerr.GroupMaxSizeReached.Code:
		m.expel(c)
		return
	case kerr.RebalanceInProgress.Code, kerr.NotCoordinator.Code, kerr.CoordinatorNotAvailable.Code:
		c.phase = modelOut
		return
	default:
		m.t.Fatalf("join of %s: %v", c.id, kerr.ErrorForCode(r.ErrorCode))
	}
	if r.Generation < m.generation || c.id != "" && c.instance == nil && r.MemberID != c.id {
		m.t.Fatalf("%s joined generation %d as %s after generation %d", c.id, r.Generation, r.MemberID, m.generation)
	}
	m.generation = r.Generation
	c.id, c.generation, c.phase, c.heard = r.MemberID, r.Generation, modelJoined, time.Now()
	if r.LeaderID == r.MemberID && !r.SkipAssignment {
		c.members = []string{}
		for _, o := range r.Members {
			c.members = append(c.members, o.MemberID)
		}
	}
}

// expel notes that a client is not in the group, under its id.
func (m *classicModel) expel(c *modelClient) {
	if c.instance == nil { // a static id may be given back
		m.out[c.id] = true
	}
	m.vanish(c)
}

func (m *classicModel) syncs(c *modelClient) {
	q := syncRequest(c.id, c.generation)
	q.InstanceID = c.instance
	if len(c.members) > 0 {
		to := make(map[string][]string)
		for p := range modelPartitions {
			id := c.members[m.r.IntN(len(c.members))]
			to[id] = append(to[id], strconv.Itoa(p))
		}
		for id, partitions := range to {
			a := kmsg.NewSyncGroupRequestGroupAssignment()
			a.MemberID, a.MemberAssignment = id, []byte(strings.Join(partitions, " "))
			q.GroupAssignment = append(q.GroupAssignment, a)
		}
	}
	c.phase = modelSyncing
	send(m, c, "sync", func(reply func(*kmsg.SyncGroupResponse)) { m.SyncGroup(q, reply) }, func(r *kmsg.SyncGroupResponse) { m.synced(c, r) })
}

func (m *classicModel) synced(c *modelClient, r *kmsg.SyncGroupResponse) {
	switch r.ErrorCode {
	case 0:
	case kerr.UnknownMemberID.Code, kerr.FencedInstanceID.Code:
		m.expel(c)
		return
	case kerr.RebalanceInProgress.Code, kerr.NotCoordinator.Code, kerr.CoordinatorNotAvailable.Code, kerr.IllegalGeneration.Code:
		c.phase = modelOut
		return
	default:
		m.t.Fatalf("sync of %s: %v", c.id, kerr.ErrorForCode(r.ErrorCode))
	}
	c.phase, c.heard = modelMember, time.Now()
	m.durable = max(m.durable, c.generation)
	if m.owners[c.generation] == nil {
		m.owners[c.generation] = make(map[string]string)
	}
	for p := range strings.FieldsSeq(string(r.MemberAssignment)) {
		if owner, ok := m.owners[c.generation][p]; ok && owner != c.name() {
			m.t.Fatalf("generation %d: partition %s is %s's and %s's", c.generation, p, owner, c.name())
		}
		m.owners[c.generation][p] = c.name()
	}
}

func (m *classicModel) beats(c *modelClient) {
	q := heartbeatRequest(c.id, c.generation)
	q.InstanceID = c.instance
	stale := m.stale(c)
	send(m, c, "heartbeat", func(reply func(*kmsg.HeartbeatResponse)) { m.Heartbeat(q, reply) }, func(r *kmsg.HeartbeatResponse) {
		switch r.ErrorCode {
		case 0:
			m.alive(c, "heartbeat", stale)
		case kerr.UnknownMemberID.Code, kerr.FencedInstanceID.Code:
			m.expel(c)
		case kerr.RebalanceInProgress.Code, kerr.IllegalGeneration.Code:
			if m.calm || m.r.IntN(3) > 0 { // some go on as if nothing was
				c.phase = modelOut
			}
		case kerr.NotCoordinator.Code, kerr.CoordinatorNotAvailable.Code:
		default:
			m.t.Fatalf("heartbeat of %s: %v", c.id, kerr.ErrorForCode(r.ErrorCode))
		}
	})
}

func (m *classicModel) commits(c *modelClient) {
	stale := m.stale(c)
	if code := m.commit(c.id, c.instance, c.generation); code == 0 {
		m.alive(c, "commit", stale)
		m.in(func(s *machine) { s.committedClassic(s.group("g").(*classicGroup), c.id) })
	}
}

// stale reports whether a client is not, in its generation, the member that it takes
// itself for. That counts when it asks: the answer may wait for a log that lags.
func (m *classicModel) stale(c *modelClient) bool { return c.generation < m.generation || m.out[c.id] }

// alive notes that a client was taken for a member, which must not have been stale.
func (m *classicModel) alive(c *modelClient, what string, stale bool) {
	m.t.Helper()
	if stale {
		m.t.Fatalf("a %s of %s in generation %d is taken in generation %d; out: %v", what, c.id, c.generation, m.generation, m.out[c.id])
	}
	c.heard = time.Now()
}

func (m *classicModel) leaves(c *modelClient) {
	q := kmsg.NewPtrLeaveGroupRequest()
	q.Version, q.Group, q.MemberID = 2, "g", c.id
	if c.version >= 3 {
		q.Version = 5
		l := kmsg.NewLeaveGroupRequestMember()
		l.MemberID, l.InstanceID = c.id, c.instance
		if c.instance != nil && m.r.IntN(2) == 0 {
			l.MemberID = ""
		}
		q.Members = append(q.Members, l)
	}
	send(m, c, "leave", func(reply func(*kmsg.LeaveGroupResponse)) { m.LeaveGroup(q, reply) }, func(r *kmsg.LeaveGroupResponse) {
		code := r.ErrorCode
		if code == 0 && len(r.Members) > 0 {
			code = r.Members[0].ErrorCode
		}
		switch code {
		case 0, kerr.UnknownMemberID.Code, kerr.FencedInstanceID.Code:
			m.expel(c)
		case kerr.NotCoordinator.Code, kerr.CoordinatorNotAvailable.Code:
			m.vanish(c)
		default:
			m.t.Fatalf("leave of %s: %v", c.id, kerr.ErrorForCode(code))
		}
	})
}

// settle ends all faults. The clients that fit in become members of a stable
// group, in which each partition has an owner; the log knows all of it.
func (m *classicModel) settle() {
	m.t.Helper()
	m.repair()
	m.calm = true
	instances := make(map[string]bool)
	kept := m.clients[:0]
	for _, c := range m.clients {
		if c.instance == nil || !instances[*c.instance] { // two of one instance never come to rest
			kept = append(kept, c)
		}
		if c.instance != nil {
			instances[*c.instance] = true
		}
	}
	m.clients = kept[:min(len(kept), int(m.config.ClassicMaxSize))]
	rested := func() bool {
		for _, c := range m.clients {
			if c.phase != modelMember || c.generation != m.generation || time.Since(c.heard) > time.Second {
				return false
			}
		}
		r := m.describe()
		return r.State == "Stable" && len(r.Members) == len(m.clients) && len(m.owners[m.generation]) == modelPartitions && len(m.waiting) == 0
	}
	for n := 0; !rested(); n++ {
		if n > 3000 {
			m.t.Fatalf("the group comes to no rest: %+v", m.describe())
		}
		for _, c := range m.clients {
			m.act(c)
		}
		m.pass(100 * time.Millisecond)
	}
	before := m.describe()
	m.restart()
	if after := m.describe(); !reflect.DeepEqual(before, after) {
		m.t.Fatalf("the log has %+v, want %+v", after, before)
	}
}
