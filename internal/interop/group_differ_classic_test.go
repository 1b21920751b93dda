//go:build interop

package interop

import (
	"maps"
	"math/rand/v2"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"kf/internal/format/grouprec"
)

// next does what a client would do.
func (s *scenario) next(c *differSlot) error {
	switch {
	case c.epoch != 0:
		return s.consume(c, false)
	case c.joining.pends() || c.syncing.pends():
		return nil
	case c.id[0] == "" || c.generation == 0:
		return s.join(c, false)
	case !c.in:
		return s.sync(c, false)
	}
	return s.heartbeat(c)
}

// pends reports whether a request is not answered yet.
func (q *asked) pends() bool { return q != nil && !q.done }

// differTimeout runs out in no scenario.
const differTimeout = 1_800_000

var stranger = twin[string]{"stranger", "stranger"}

// names returns some topics, or none.
func (s *scenario) names() []string {
	names := []string{}
	for _, t := range s.p.topics {
		if s.chance(2) {
			names = append(names, t.name)
		}
	}
	if s.chance(10) {
		names = append(names, "missing")
	}
	if s.chance(15) && len(names) > 0 {
		names = append(names, names[0])
	}
	return names
}

// wish returns topics. A member that joins and wants none does not count as one in
// Kafka when it assigns.
func (s *scenario) wish() []string {
	if names := s.names(); len(names) > 0 {
		return names
	}
	return []string{s.p.topics[0].name}
}

// subscription returns metadata of a classic consumer.
func (s *scenario) subscription() []byte {
	if s.chance(60) {
		return []byte("garbage")
	}
	m := &grouprec.ConsumerProtocolSubscription{GenerationID: pick(s, int32(-1), 1, 3), Topics: s.wish()}
	if s.chance(6) {
		m.RackID = new(pick(s, "", "r1"))
	}
	if s.chance(4) {
		m.OwnedPartitions = append(m.OwnedPartitions, grouprec.ProtocolPartitions{Topic: pick(s, m.Topics...), Partitions: []int32{s.r.Int32N(4)}})
	}
	if s.chance(8) {
		m.UserData = []byte("data")
	}
	p, err := grouprec.AppendSubscription(nil, m, int16(s.r.IntN(4)))
	if err != nil {
		panic(err)
	}
	return p
}

func (s *scenario) join(c *differSlot, anything bool) error {
	version, id, instance, kind := int16(s.r.IntN(10)), c.id, c.instance, "consumer"
	if instance != nil && !s.chance(8) {
		version = max(version, 5)
	}
	if anything {
		switch s.r.IntN(20) {
		case 0:
			id = stranger
		case 1:
			id = twin[string]{}
		case 2:
			id = pick(s, s.slots...).id
		case 3:
			instance = pick(s, nil, new("i0"), new("i1"), new("other"))
		case 4:
			kind = pick(s, "connect", "", "Consumer")
		}
	}
	if version < 5 {
		instance = nil
	}
	switch {
	case s.modern && s.members == 0 && id[0] != "":
		return nil // Kafka loses the group then, until the next load
	case s.modern && s.members > 0 && id[0] == "":
		id = twin[string]{c.name + "-x", c.name + "-x"} // else the id has nothing of the client
	case c.joining.pends() && id[0] == "" && instance == nil, s.d.waits(id[0]):
		return nil // Kafka never answers what was asked again
	case s.leaderGoes(instance, id):
		return nil
	}
	if c.protocols == nil || s.chance(2) { // else it says what it said before
		c.protocols = nil
		for _, name := range pick(s, []string{"range"}, []string{"range", "roundrobin"}, []string{"roundrobin", "range"}, []string{"sticky", "range"}) {
			c.protocols = append(c.protocols, kmsg.JoinGroupRequestProtocol{Name: name, Metadata: s.subscription()})
		}
	}
	protocols := c.protocols
	if anything && s.chance(15) {
		protocols = nil
	}
	session, rebalance := int32(differTimeout), int32(differTimeout)
	if anything && s.chance(20) {
		session = pick(s, int32(0), -1, 2_000_000)
	}
	q := perSide(version, func(side int) kmsg.Request {
		q := kmsg.NewPtrJoinGroupRequest()
		q.Group, q.MemberID, q.InstanceID, q.ProtocolType, q.Protocols = s.group, id[side], instance, kind, protocols
		q.SessionTimeoutMillis, q.RebalanceTimeoutMillis = session, rebalance
		return q
	})
	mine, err := s.ask(c.name, q, func(r twin[kmsg.Response]) { s.joined(c, r) })
	c.joining = mine
	return err
}

func (s *scenario) joined(c *differSlot, r twin[kmsg.Response]) {
	kf, kafka := r[ofKF].(*kmsg.JoinGroupResponse), r[ofKafka].(*kmsg.JoinGroupResponse)
	switch kf.ErrorCode {
	case 0:
		c.id, c.generation, c.in, c.epoch = twin[string]{kf.MemberID, kafka.MemberID}, kf.Generation, kf.SkipAssignment, 0
		c.protocol, c.leads = kf.Protocol, kf.LeaderID == kf.MemberID
		for side, a := range []*kmsg.JoinGroupResponse{kf, kafka} {
			c.members[side] = nil
			for _, m := range a.Members {
				c.members[side] = append(c.members[side], m.MemberID)
			}
		}
	case kerr.MemberIDRequired.Code:
		c.id, c.generation = twin[string]{kf.MemberID, kafka.MemberID}, 0
	case kerr.UnknownMemberID.Code, kerr.FencedInstanceID.Code:
		c.out()
	}
}

// leaderGoes reports whether the leader of a classic group would leave, or lose its
// id, with a request, and several others could follow it: Kafka takes the first of a
// hash table.
func (s *scenario) leaderGoes(instance *string, ids ...twin[string]) bool {
	if s.modern || s.members < 3 {
		return false
	}
	return slices.ContainsFunc(s.slots, func(o *differSlot) bool {
		return o.leads && (instance != nil && o.instance != nil && *instance == *o.instance || slices.Contains(ids, o.id))
	})
}

func (s *scenario) sync(c *differSlot, anything bool) error {
	version, id, generation, instance := int16(s.r.IntN(6)), c.id, c.generation, c.instance
	kind, protocol := new("consumer"), c.protocol
	if anything {
		switch s.r.IntN(15) {
		case 0:
			id = pick(s, twin[string]{}, stranger, pick(s, s.slots...).id)
		case 1:
			generation += pick(s, int32(-1), 1, 100)
		case 2:
			instance = pick(s, nil, new("i0"), new("other"))
		case 3:
			kind = pick(s, nil, new("connect"), new(""))
		case 4:
			protocol = pick(s, nil, new("other"), new(""))
		}
	}
	if version < 3 {
		instance = nil
	}
	if s.d.waits(id[0]) {
		return nil
	}
	seed := s.r.Uint64()
	q := perSide(version, func(side int) kmsg.Request {
		q := kmsg.NewPtrSyncGroupRequest()
		q.Group, q.MemberID, q.InstanceID, q.Generation, q.ProtocolType, q.Protocol = s.group, id[side], instance, generation, kind, protocol
		if c.leads {
			q.GroupAssignment = s.assignments(c.members[side], rand.New(rand.NewPCG(seed, 0)))
		}
		return q
	})
	mine, err := s.ask(c.name, q, func(r twin[kmsg.Response]) {
		if id == c.id && generation == c.generation && instance == c.instance {
			s.synced(c, r)
		}
	})
	c.syncing = mine
	return err
}

func (s *scenario) synced(c *differSlot, r twin[kmsg.Response]) {
	switch a := r[ofKF].(*kmsg.SyncGroupResponse); a.ErrorCode {
	case 0:
		c.in = true
	case kerr.UnknownMemberID.Code, kerr.FencedInstanceID.Code:
		c.out()
	case kerr.RebalanceInProgress.Code, kerr.IllegalGeneration.Code:
		c.generation, c.in = 0, false
	}
}

// assignments are what a leader gives to members, the same on both sides.
func (s *scenario) assignments(members []string, r *rand.Rand) []kmsg.SyncGroupRequestGroupAssignment {
	ids := make(map[string]string) // by what is the same on both sides
	for _, id := range members {
		ids[s.d.rename(id)] = id
	}
	names := slices.Sorted(maps.Keys(ids))
	strange := r.IntN(20)
	given := make([]grouprec.ConsumerProtocolAssignment, len(names))
	for _, t := range s.p.topics {
		for i := range given {
			a := grouprec.ProtocolPartitions{Topic: t.name}
			for p := int32(i); p < t.partitions; p += int32(len(given)) {
				a.Partitions = append(a.Partitions, p)
			}
			if a.Partitions != nil {
				given[i].AssignedPartitions = append(given[i].AssignedPartitions, a)
			}
		}
	}
	var out []kmsg.SyncGroupRequestGroupAssignment
	for i, name := range names {
		if strange == 0 {
			given[i].UserData = []byte("custom")
		}
		p, err := grouprec.AppendAssignment(nil, &given[i], int16(r.IntN(4)))
		if err != nil {
			panic(err)
		}
		if strange == 1 && i == 0 {
			p = []byte("garbage")
		}
		out = append(out, kmsg.SyncGroupRequestGroupAssignment{MemberID: ids[name], MemberAssignment: p})
	}
	return out
}

func (s *scenario) heartbeat(c *differSlot) error {
	version, id, generation, instance := int16(s.r.IntN(5)), c.id, c.generation, c.instance
	switch s.r.IntN(30) {
	case 0:
		id = pick(s, twin[string]{}, stranger, pick(s, s.slots...).id)
	case 1:
		generation += pick(s, int32(-1), 1)
	case 2:
		instance = pick(s, nil, new("i0"), new("other"))
	}
	if version < 3 {
		instance = nil
	}
	q := perSide(version, func(side int) kmsg.Request {
		q := kmsg.NewPtrHeartbeatRequest()
		q.Group, q.MemberID, q.InstanceID, q.Generation = s.group, id[side], instance, generation
		return q
	})
	_, err := s.ask(c.name, q, func(r twin[kmsg.Response]) {
		if id != c.id || generation != c.generation || instance != nil && instance != c.instance {
			return
		}
		switch r[ofKF].(*kmsg.HeartbeatResponse).ErrorCode {
		case kerr.RebalanceInProgress.Code, kerr.IllegalGeneration.Code:
			c.generation, c.in = 0, false
		case kerr.UnknownMemberID.Code, kerr.FencedInstanceID.Code:
			c.out()
		}
	})
	return err
}

func (s *scenario) leave(c *differSlot) error {
	if c.epoch != 0 && s.chance(2) {
		return s.consumerLeave(c)
	}
	if slices.ContainsFunc(s.slots, func(o *differSlot) bool { return o.syncing.pends() }) {
		return nil // Kafka never answers it if its member leaves
	}
	version := int16(s.r.IntN(6))
	reason := pick(s, nil, new("a reason"))
	type leaver struct {
		id       twin[string]
		instance *string
	}
	leaving := []leaver{{c.id, pick(s, nil, c.instance)}}
	for version >= 3 && s.chance(3) {
		o := pick(s, s.slots...)
		leaving = append(leaving, pick(s, leaver{o.id, nil}, leaver{o.id, o.instance}, leaver{twin[string]{}, o.instance}, leaver{stranger, nil}, leaving[0]))
	}
	for _, l := range leaving {
		if s.leaderGoes(l.instance, l.id, c.id) {
			return nil
		}
	}
	if version >= 3 && s.chance(20) {
		leaving = nil
	}
	q := perSide(version, func(side int) kmsg.Request {
		q := kmsg.NewPtrLeaveGroupRequest()
		q.Group, q.MemberID = s.group, c.id[side]
		for _, l := range leaving {
			q.Members = append(q.Members, kmsg.LeaveGroupRequestMember{MemberID: l.id[side], InstanceID: l.instance, Reason: reason})
		}
		return q
	})
	_, err := s.ask(c.name, q, func(r twin[kmsg.Response]) {
		a := r[ofKF].(*kmsg.LeaveGroupResponse)
		if version < 3 && a.ErrorCode == 0 {
			c.out()
		}
		for _, m := range a.Members {
			for _, o := range s.slots {
				if m.ErrorCode == 0 && (o.id[ofKF] == m.MemberID || m.MemberID == "" && m.InstanceID != nil && o.instance != nil && *o.instance == *m.InstanceID) {
					o.out()
				}
			}
		}
	})
	return err
}
