package group

import (
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"kf/internal/coordinator/shard"
)

// beat starts the session of a member anew, or of an id that was given out; it
// ends after d.
func (m *machine) beat(g *classicGroup, id, timer string, d time.Duration) {
	if !m.shard.Postpone(timer, d) {
		m.shard.Schedule(timer, d, func() shard.Result { return m.expireSession(g, id) })
	}
}

// expireSession ends the session of a member, or of an id that was given out.
func (m *machine) expireSession(g *classicGroup, id string) shard.Result {
	member := g.members[id]
	switch {
	case g.pending[id]:
		m.log.Debug("a member did not come back with its id", "group", g.groupID, "member", id)
		m.drop(g, id)
	case member == nil || member.waiting():
		return shard.Result{} // the session goes on when it is answered
	default:
		m.log.Info("the session of a member ended", "group", g.groupID, "member", id)
		m.drop(g, id)
		if g.now != classicPreparing {
			return m.rebalance(g, "the session of a member ended", id)
		}
	}
	if g.now == classicPreparing && g.allJoined() {
		return m.endJoin(g)
	}
	return shard.Result{}
}

// drop removes a member, or an id that was given out.
func (m *machine) drop(g *classicGroup, id string) {
	m.shard.Cancel(sessionTimer(g.groupID, id))
	if member := g.members[id]; member != nil {
		g.answerJoin(member, joinError("", kerr.UnknownMemberID.Code))
		member.answerSync(syncError(kerr.UnknownMemberID.Code))
	}
	g.remove(id)
}

// rebalance begins a rebalance, or ends the join phase of one if nobody is
// missing. The first rebalance of a group does not end before its delay.
func (m *machine) rebalance(g *classicGroup, why, member string) shard.Result {
	switch {
	case g.now != classicPreparing:
		return m.prepare(g, why, member)
	case g.before != classicEmpty && g.allJoined():
		return m.endJoin(g)
	}
	return shard.Result{}
}

// prepare begins a rebalance.
func (m *machine) prepare(g *classicGroup, why, member string) shard.Result {
	m.log.Debug("a group rebalances", "group", g.groupID, "generation", g.generation, "state", g.state(), "reason", why, "member", member)
	if g.now == classicCompleting {
		m.withdraw(g, kerr.RebalanceInProgress.Code)
	}
	g.clearSync()
	m.shard.Cancel(g.syncTimer)
	first := g.now == classicEmpty
	g.enter(classicPreparing)
	switch {
	case first:
		delay := milliseconds(m.o.Config(g.groupID).ClassicInitialDelay)
		m.delayJoin(g, delay, max(g.rebalanceTimeout()-delay, 0))
	case g.allJoined():
		return m.endJoin(g)
	default:
		m.shard.Schedule(g.joinTimer, g.rebalanceTimeout(), func() shard.Result { return m.endJoin(g) })
	}
	return shard.Result{}
}

// delayJoin keeps the first join phase of a group open, for others that start at
// the same time: for d, and if somebody joined meanwhile as long again, while
// there is something left of the rebalance timeout.
func (m *machine) delayJoin(g *classicGroup, d, left time.Duration) {
	m.shard.Schedule(g.joinTimer, d, func() shard.Result {
		if !g.grown || left == 0 {
			return m.endJoin(g)
		}
		g.grown = false
		delay := milliseconds(m.o.Config(g.groupID).ClassicInitialDelay)
		m.delayJoin(g, min(delay, left), max(left-d, 0))
		return shard.Result{}
	})
}

// endJoin ends the join phase: dynamic members that did not join are out, the
// others are told of the next generation. Static members stay; the phase goes on
// if nobody else is there.
func (m *machine) endJoin(g *classicGroup) shard.Result {
	m.shard.Cancel(g.joinTimer)
	for _, member := range slices.Clone(g.order) {
		if member.join == nil && member.instance == nil {
			m.log.Info("a member did not join again", "group", g.groupID, "member", member.id)
			m.drop(g, member.id)
		}
	}
	if !g.electLeader() && len(g.members) > 0 {
		m.shard.Schedule(g.joinTimer, g.rebalanceTimeout(), func() shard.Result { return m.endJoin(g) })
		return shard.Result{}
	}
	g.nextGeneration()
	m.log.Debug("a group has a new generation", "group", g.groupID, "generation", g.generation, "state", g.state(), "members", len(g.members))
	if g.empty() {
		return shard.Result{Records: []shard.Record{g.record(nil)}, Replayed: true, Then: func(err error) {
			if err != nil {
				m.log.Warn("it could not be written that a group is empty", "group", g.groupID, "error", err)
			}
		}}
	}
	for _, member := range g.order {
		if member.join != nil {
			g.answerJoin(member, g.joined(member))
		}
		m.beat(g, member.id, member.timer, milliseconds(member.sessionTimeout))
		member.fresh = false
		member.unsynced = true
	}
	g.unsynced = len(g.order)
	m.shard.Schedule(g.syncTimer, g.rebalanceTimeout(), func() shard.Result { return m.endSync(g) })
	return shard.Result{}
}

// endSync removes the members that did not fetch the assignment in time. Nobody
// calls it when all have, or when another rebalance began.
func (m *machine) endSync(g *classicGroup) shard.Result {
	for _, member := range slices.Clone(g.order) {
		if member.unsynced {
			m.log.Info("a member did not sync", "group", g.groupID, "member", member.id)
			m.drop(g, member.id)
		}
	}
	return m.prepare(g, "members did not sync", "")
}

// withdraw takes the assignments of a generation back, and refuses what waits for
// them.
func (m *machine) withdraw(g *classicGroup, code int16) {
	for _, member := range g.order {
		member.assignment = nil
		if member.answerSync(syncError(code)) {
			m.beat(g, member.id, member.timer, milliseconds(member.sessionTimeout))
		}
	}
}
