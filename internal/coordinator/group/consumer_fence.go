package group

import (
	"errors"
	"iter"
	"maps"
	"slices"
	"time"

	"kf/internal/coordinator/shard"
	"kf/internal/javafmt"
)

// fence takes members out of a group, which leave or are given up. The partitions
// that they had are free at once.
//
// Source: Kafka 4.4.0, GroupMetadataManager.java, consumerGroupFenceMembers.
func (m *machine) fence(g *consumerGroup, members []*consumerMember) shard.Result {
	if len(members) == 0 {
		return shard.Result{}
	}
	if m.mayDowngrade(g, members) {
		if to, ok := m.asClassic(g, members, nil); ok {
			return m.downgrade(g, to, g.tombstones(nil), true)
		}
	}
	var records []shard.Record
	rest := demand{topics: maps.Clone(g.topics), patterns: maps.Clone(g.patterns)}
	for _, member := range members {
		records = g.memberTombstones(records, member.id)
		rest.topics.addAll(member.topics, -1, 0)
		count(rest.patterns, member.usesPattern(), -1)
	}
	for _, pattern := range slices.SortedFunc(maps.Keys(g.patterns), javafmt.Compare) {
		if rest.patterns[pattern] > 0 {
			continue
		}
		records = append(records, g.patternTombstone(pattern))
		if r := g.resolved[pattern]; r != nil {
			rest.topics.addAll(r.topics, 0, -1)
		}
	}
	records = append(records, g.epochRecord(g.epoch+1, m.metadataHash(rest.topics)))
	if len(members) == len(g.members) { // whoever comes next need not wait
		records = append(records, g.targetEpochRecord(g.epoch+1, 0))
	}
	for _, member := range members {
		g.cancelTimers(m.shard, member.id)
	}
	return shard.Result{Records: records, Then: func(err error) {
		if notWritten(err) { // they are still there, and must be heard of
			m.resumeTimers(g.groupID, slices.Values(members), "")
		}
	}}
}

// The kinds of timers and tasks of consumer groups.
const (
	consumerSession   = "consumer session"   // a member must be heard of
	consumerRebalance = "consumer rebalance" // a member must give up what it shall
	consumerJoin      = "consumer join"      // a classic member must join again
	consumerSync      = "consumer sync"      // a classic member must fetch its assignment
	consumerPatterns  = "consumer patterns"  // resolves the regular expressions
)

func (g *consumerGroup) timerKey(kind, member string) string {
	return timerKey(kind, g.groupID, member)
}

func (g *consumerGroup) cancelTimers(s *shard.Shard, member string) {
	for _, kind := range []string{consumerSession, consumerRebalance, consumerJoin, consumerSync} {
		s.Cancel(g.timerKey(kind, member))
	}
}

// scheduleFence takes a member out of the group after a time, for a reason, unless
// the timer is cancelled or started again.
func (m *machine) scheduleFence(group, kind, member string, after time.Duration, reason string) {
	m.scheduleFenceIf(group, kind, member, after, reason, func(*consumerMember) bool { return true })
}

func (m *machine) scheduleFenceIf(group, kind, member string, after time.Duration, reason string, still func(*consumerMember) bool) {
	m.shard.Schedule(timerKey(kind, group, member), after, func() shard.Result {
		g, _ := m.groups[group].(*consumerGroup)
		if g == nil || g.members[member] == nil || !still(g.members[member]) {
			return shard.Result{}
		}
		m.log.Info("a member is fenced", "group", group, "member", member, "reason", reason)
		fenced := []*consumerMember{g.members[member]}
		r := m.fence(g, fenced)
		if !r.Replayed {
			r.Then = func(err error) {
				if notWritten(err) { // this timer tries again, and the others may be first
					m.resumeTimers(group, slices.Values(fenced), kind)
				}
			}
		}
		return r
	})
}

// scheduleSession gives a member time to be heard of again.
func (m *machine) scheduleSession(group, member string, timeout time.Duration) {
	if !m.shard.Postpone(timerKey(consumerSession, group, member), timeout) {
		m.scheduleFence(group, consumerSession, member, timeout, "its session expired")
	}
}

// scheduleRebalance gives a member that has to give up partitions its rebalance
// timeout to do so. The timer of one that has done it finds that out by itself: were
// it cancelled, and could it then not be written, the member might keep them for ever.
func (m *machine) scheduleRebalance(group string, member *consumerMember) {
	if member.state != unrevoked {
		return
	}
	m.scheduleFenceIf(group, consumerRebalance, member.id, milliseconds(member.rebalanceTimeout), "it did not give up its partitions in time",
		func(now *consumerMember) bool { return now.state == unrevoked && now.epoch == member.epoch })
}

// loadedConsumer starts the timers of a group that was loaded. As in Kafka, classic
// members have those of the others till they are heard of.
func (m *machine) loadedConsumer(g *consumerGroup) {
	for _, member := range g.members {
		m.startTimers(g.groupID, member)
	}
}

func (m *machine) startTimers(group string, member *consumerMember) {
	m.scheduleSession(group, member.id, milliseconds(m.o.Config(group).ConsumerSessionTimeout))
	m.scheduleRebalance(group, member)
}

// resumeTimers starts the timers of members that are still there as if they had been
// heard of, except for those of a kind.
func (m *machine) resumeTimers(group string, members iter.Seq[*consumerMember], except string) {
	for member := range members {
		if member.classic != nil {
			m.scheduleSession(group, member.id, member.sessionTimeout())
		} else {
			m.startTimers(group, member)
		}
		if except != "" {
			m.shard.Cancel(timerKey(except, group, member.id))
		}
	}
}

// notWritten reports whether err says that records are not in the log. Those that
// were not committed in time are.
func notWritten(err error) bool { return err != nil && !errors.Is(err, shard.ErrTimeout) }
