package group

import (
	"bytes"
	"cmp"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"kf/internal/coordinator/shard"
	"kf/internal/format/grouprec"
	"kf/internal/javafmt"
)

// A classicState is where a classic group is in its rebalance:
//
//	Empty -> PreparingRebalance -> CompletingRebalance -> Stable
//	         members join          the leader assigns
//
// Each of the latter two goes back to PreparingRebalance, and that one to Empty if
// nobody joins. A group is dead when it is no longer in the machine; what waited
// for a commit looks at that.
type classicState int8

const (
	classicEmpty classicState = iota
	classicPreparing
	classicCompleting
	classicStable
	classicDead
)

var classicStateNames = [...]string{"Empty", "PreparingRebalance", "CompletingRebalance", "Stable", "Dead"}

// A classicGroup is a group whose members agree on an assignor, which one of them
// runs. The record of a group is written when it is made, when the assignment of
// a generation is known, when a static member comes back, and when the last
// member left; in between the state is in memory alone, as in Kafka: whoever takes
// over has the last assignment, and members that know of a later generation join
// again.
//
// Source: Kafka 4.4.0, ClassicGroup.java and GroupMetadataManager.java.
type classicGroup struct {
	groupID    string
	now        classicState
	before     classicState
	since      int64   // when now was entered, in ms since the Unix epoch; -1 if unknown
	memberType string  // the protocol type, "" if none was ever seen
	protocol   *string // the assignor of this generation, nil if the group is empty
	generation int32
	leader     *classicMember // nil if there are no members

	members   map[string]*classicMember
	order     []*classicMember          // the members as they came
	static    map[string]*classicMember // by instance id
	pending   map[string]bool           // ids that were given out and not yet used to join
	joining   int                       // members that wait for the join phase to end
	unsynced  int                       // members that have yet to fetch the assignment
	support   map[string]int            // how many members support an assignor
	assigning int32                     // the generation whose assignment was written last
	grown     bool                      // somebody joined since the initial delay began

	// topics are those that the members of this generation subscribe to, nil if
	// they are unknown: another protocol type, or metadata that cannot be read.
	topics map[string]bool

	joinTimer, syncTimer string // keys
}

func newClassicGroup(id string) *classicGroup {
	return &classicGroup{
		groupID: id, since: time.Now().UnixMilli(), before: classicDead,
		members: make(map[string]*classicMember), static: make(map[string]*classicMember),
		pending: make(map[string]bool), support: make(map[string]int),
		joinTimer: timerKey("join", id, ""), syncTimer: timerKey("sync", id, ""),
	}
}

func (g *classicGroup) id() string           { return g.groupID }
func (g *classicGroup) kind() Type           { return Classic }
func (g *classicGroup) state() string        { return classicStateNames[g.now] }
func (g *classicGroup) protocolType() string { return g.memberType }
func (g *classicGroup) empty() bool          { return g.now == classicEmpty }

// simple reports whether the group is nothing but offsets: nobody ever was a
// member, or is about to be one.
func (g *classicGroup) simple() bool {
	return g.memberType == "" && g.empty() && len(g.pending) == 0
}

// ofConsumers reports whether the members are consumers, whose metadata says
// what they subscribe to.
func (g *classicGroup) ofConsumers() bool { return g.memberType == grouprec.ConsumerProtocolType }

// enter changes the state.
func (g *classicGroup) enter(s classicState) {
	g.before, g.now, g.since = g.now, s, time.Now().UnixMilli()
}

// checkMember says whether a request comes from a member: it carries the id, and
// the instance id if the member says that it is static.
func (g *classicGroup) checkMember(id string, instance *string) error {
	if instance != nil {
		switch m := g.static[*instance]; {
		case m == nil:
			return refuse(kerr.UnknownMemberID, "")
		case m.id != id:
			return refuse(kerr.FencedInstanceID, "")
		}
	}
	if g.members[id] == nil {
		return refuse(kerr.UnknownMemberID, "")
	}
	return nil
}

func (g *classicGroup) checkCommit(member string, instance *string, generation int32, transactional bool, _ int16) (checkPartition, error) {
	stranger := member == "" && instance == nil
	switch {
	case generation < 0 && g.empty():
		return nil, nil
	case generation < 0 && stranger && !transactional:
		return nil, refuse(kerr.UnknownMemberID, "") // offsets of members are theirs
	case generation < 0 && stranger:
	default:
		if err := g.checkMember(member, instance); err != nil {
			return nil, err
		}
		if generation != g.generation {
			return nil, refuse(kerr.IllegalGeneration, "")
		}
	}
	if !transactional && g.now == classicCompleting {
		return nil, refuse(kerr.RebalanceInProgress, "")
	}
	return nil, nil
}

func (g *classicGroup) checkFetch(*string, int32) error { return nil }

func (g *classicGroup) checkDelete() error {
	if !g.empty() {
		return refuse(kerr.NonEmptyGroup, "")
	}
	return nil
}

func (g *classicGroup) checkOffsetDelete() error {
	if !g.empty() && !g.ofConsumers() {
		return refuse(kerr.NonEmptyGroup, "")
	}
	return nil
}

func (g *classicGroup) subscribed(topic string) bool {
	if g.topics != nil {
		return g.topics[topic]
	}
	return g.ofConsumers() // it may be
}

func (g *classicGroup) expires() (since int64, ok bool) {
	switch {
	case g.memberType == "":
		return -1, true
	case g.empty():
		return g.since, true
	}
	return -1, g.ofConsumers() && g.topics != nil && g.now == classicStable
}

func (g *classicGroup) tombstones(dst []shard.Record) []shard.Record {
	return append(dst, tombstone(&grouprec.GroupMetadataKey{Group: g.groupID}))
}

func (g *classicGroup) forget(s *shard.Shard) {
	s.Cancel(g.joinTimer)
	s.Cancel(g.syncTimer)
	for id := range g.pending {
		s.Cancel(sessionTimer(g.groupID, id))
	}
	for _, m := range g.order {
		s.Cancel(m.timer)
	}
	g.answerAll(kerr.RebalanceInProgress.Code)
	g.enter(classicDead)
}

// answerAll refuses all requests that wait.
func (g *classicGroup) answerAll(code int16) {
	for _, m := range g.order {
		g.answerJoin(m, joinError(m.id, code))
		m.answerSync(syncError(code))
	}
}

// add adds a member. Nobody else has its ids.
func (g *classicGroup) add(m *classicMember) {
	if m.instance != nil {
		g.static[*m.instance] = m
	}
	if g.leader == nil {
		g.leader = m
	}
	g.members[m.id] = m
	g.order = append(g.order, m)
	g.count(m, 1)
	if m.join != nil {
		g.joining++
	}
	delete(g.pending, m.id)
}

// remove removes a member, whose requests are answered already, or an id that
// was given out. The group has another leader then, if there is one.
func (g *classicGroup) remove(id string) {
	delete(g.pending, id)
	m := g.members[id]
	if m == nil {
		return
	}
	delete(g.members, id)
	g.order = slices.DeleteFunc(g.order, func(o *classicMember) bool { return o == m })
	g.count(m, -1)
	if m.join != nil {
		g.joining--
	}
	g.synced(m)
	if m.instance != nil {
		delete(g.static, *m.instance)
	}
	if g.leader == m {
		g.leader = nil
		if len(g.order) > 0 {
			g.leader = g.order[0]
		}
	}
}

// replace gives a static member a new id. Whoever has the old one is told that
// another took its place.
func (g *classicGroup) replace(old *classicMember, id string) *classicMember {
	g.answerJoin(old, joinError(old.id, kerr.FencedInstanceID.Code))
	old.answerSync(syncError(kerr.FencedInstanceID.Code))
	m := &classicMember{
		id: id, instance: old.instance, clientID: old.clientID, host: old.host,
		rebalanceTimeout: old.rebalanceTimeout, sessionTimeout: old.sessionTimeout,
		protocols: old.protocols, assignment: old.assignment, unsynced: old.unsynced,
		timer: sessionTimer(g.groupID, id),
	}
	delete(g.members, old.id)
	g.members[id] = m
	g.order[slices.Index(g.order, old)] = m
	g.static[*m.instance] = m
	if g.leader == old {
		g.leader = m
	}
	return m
}

// update takes what a member says of itself when it joins again.
func (g *classicGroup) update(m *classicMember, protocols []grouprec.ClassicProtocol, rebalanceTimeout, sessionTimeout int32) {
	g.count(m, -1)
	m.protocols = protocols
	g.count(m, 1)
	m.rebalanceTimeout, m.sessionTimeout = rebalanceTimeout, sessionTimeout
}

// count adds n to the number of members that support what m does.
func (g *classicGroup) count(m *classicMember, n int) {
	for _, p := range m.protocols {
		if g.support[p.Name] += n; g.support[p.Name] == 0 {
			delete(g.support, p.Name)
		}
	}
}

// supports reports whether a member with these protocols fits in: all members
// have one of them in common.
func (g *classicGroup) supports(memberType string, protocols []grouprec.ClassicProtocol) bool {
	if g.empty() {
		return memberType != "" && len(protocols) > 0
	}
	return g.memberType == memberType && slices.ContainsFunc(protocols, func(p grouprec.ClassicProtocol) bool {
		return g.support[p.Name] == len(g.members)
	})
}

// vote returns the assignor that most members prefer, of those that all support.
// Of several, Kafka takes the first that its hash table happens to yield.
func (g *classicGroup) vote() string {
	votes := make(map[string]int)
	var names []string
	for _, m := range g.order {
		for _, p := range m.protocols {
			if g.support[p.Name] == len(g.members) {
				if votes[p.Name]++; votes[p.Name] == 1 {
					names = append(names, p.Name)
				}
				break
			}
		}
	}
	return slices.MaxFunc(javafmt.MapOrder(names), func(a, b string) int { return cmp.Compare(votes[a], votes[b]) })
}

// rebalanceTimeout is how long the slowest member may take to join again.
func (g *classicGroup) rebalanceTimeout() time.Duration {
	longest := int32(0)
	for _, m := range g.order {
		longest = max(longest, m.rebalanceTimeout)
	}
	return milliseconds(longest)
}

func milliseconds(n int32) time.Duration { return time.Duration(n) * time.Millisecond }

// allJoined reports whether nobody is missing in the join phase.
func (g *classicGroup) allJoined() bool {
	return g.joining == len(g.members) && len(g.pending) == 0
}

// electLeader sees to it that a member that joined leads, and reports whether
// there is one.
func (g *classicGroup) electLeader() bool {
	if g.leader != nil && g.leader.join != nil {
		return true
	}
	for _, m := range g.order {
		if m.join != nil {
			g.leader = m
			return true
		}
	}
	return false
}

// nextGeneration begins a generation with the members that are there.
func (g *classicGroup) nextGeneration() {
	g.generation++
	g.protocol = nil
	if len(g.members) > 0 {
		g.protocol = new(g.vote())
		g.enter(classicCompleting)
	} else {
		g.enter(classicEmpty)
	}
	g.topics = g.subscriptions()
	g.clearSync()
}

// subscriptions returns the topics that the members subscribe to, nil if they are
// unknown. Of the metadata only what every version starts with is read.
func (g *classicGroup) subscriptions() map[string]bool {
	if !g.ofConsumers() {
		return nil
	}
	all := make(map[string]bool)
	for _, m := range g.order {
		topics, err := grouprec.DecodeSubscribedTopics(m.metadata(*g.protocol))
		if err != nil {
			return nil
		}
		for _, topic := range topics {
			all[topic] = true
		}
	}
	return all
}

// synced notes that a member fetched its assignment, or is no longer to.
func (g *classicGroup) synced(m *classicMember) {
	if m.unsynced {
		m.unsynced = false
		g.unsynced--
	}
}

func (g *classicGroup) clearSync() {
	for _, m := range g.order {
		g.synced(m)
	}
}

// record returns the record of the group with the assignments of this generation;
// nil are those that the members have.
func (g *classicGroup) record(assigned map[string][]byte) shard.Record {
	v := &grouprec.GroupMetadataValue{
		ProtocolType: g.memberType, Generation: g.generation, Protocol: g.protocol, CurrentStateTimestamp: g.since,
		Members: make([]grouprec.GroupMember, 0, len(g.order)),
	}
	if g.leader != nil {
		v.Leader = &g.leader.id
	}
	for _, m := range g.order {
		r := grouprec.GroupMember{
			MemberID: m.id, GroupInstanceID: m.instance, ClientID: m.clientID, ClientHost: m.host,
			RebalanceTimeout: m.rebalanceTimeout, SessionTimeout: m.sessionTimeout,
			Subscription: m.metadata(*g.protocol), Assignment: m.assignment,
		}
		if assigned != nil {
			r.Assignment = assigned[m.id]
		}
		v.Members = append(v.Members, r)
	}
	return put(&grouprec.GroupMetadataKey{Group: g.groupID}, v)
}

// firstRecord returns the record of a group that is new, whatever happened to it
// since.
func (g *classicGroup) firstRecord() shard.Record {
	return put(&grouprec.GroupMetadataKey{Group: g.groupID}, &grouprec.GroupMetadataValue{CurrentStateTimestamp: g.since})
}

// sameProtocols compares what a member supports, with its metadata and the order
// of its preferences.
func sameProtocols(a, b []grouprec.ClassicProtocol) bool {
	return slices.EqualFunc(a, b, func(p, q grouprec.ClassicProtocol) bool {
		return p.Name == q.Name && bytes.Equal(p.Metadata, q.Metadata)
	})
}
