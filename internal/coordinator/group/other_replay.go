package group

import (
	"kf/internal/coordinator/shard"
	"kf/internal/format/grouprec"
)

// replayOther applies a record of a share or streams group.
//
// Source: Kafka 4.4.0, GroupMetadataManager.java.
func (m *machine) replayOther(r shard.Record) {
	switch key := r.Key.(type) {
	case *grouprec.ShareGroupMetadataKey:
		apply(m, key.GroupID, Share, r, func(g *otherGroup, v *grouprec.ShareGroupMetadataValue) { g.epoch = v.Epoch }, m.removeOther)
	case *grouprec.ShareGroupTargetAssignmentMetadataKey:
		apply(m, key.GroupID, Share, r, func(g *otherGroup, v *grouprec.ShareGroupTargetAssignmentMetadataValue) {
			g.assignmentEpoch = v.AssignmentEpoch
		}, (*otherGroup).unassign)
	case *grouprec.ShareGroupTargetAssignmentMemberKey: // which tells nothing that is asked for here
		apply(m, key.GroupID, Share, r, func(*otherGroup, *grouprec.ShareGroupTargetAssignmentMemberValue) {}, func(*otherGroup) {})
	case *grouprec.ShareGroupMemberMetadataKey:
		apply(m, key.GroupID, Share, r, func(g *otherGroup, _ *grouprec.ShareGroupMemberMetadataValue) { g.member(key.MemberID) },
			func(g *otherGroup) { delete(g.members, key.MemberID) })
	case *grouprec.ShareGroupCurrentMemberAssignmentKey:
		apply(m, key.GroupID, Share, r, func(g *otherGroup, v *grouprec.ShareGroupCurrentMemberAssignmentValue) {
			g.member(key.MemberID).epoch = v.MemberEpoch
		}, func(g *otherGroup) { g.release(key.MemberID) })
	case *grouprec.ShareGroupStatePartitionMetadataKey:
		apply(m, key.GroupID, Share, r, func(g *otherGroup, v *grouprec.ShareGroupStatePartitionMetadataValue) {
			g.sharing = len(v.InitializingTopics)+len(v.InitializedTopics)+len(v.DeletingTopics) > 0
		}, func(g *otherGroup) { g.sharing = false })

	case *grouprec.StreamsGroupMetadataKey:
		apply(m, key.GroupID, Streams, r, func(g *otherGroup, v *grouprec.StreamsGroupMetadataValue) {
			g.epoch, g.validated = v.Epoch, v.ValidatedTopologyEpoch
		}, m.removeOther)
	case *grouprec.StreamsGroupTargetAssignmentMetadataKey:
		apply(m, key.GroupID, Streams, r, func(g *otherGroup, v *grouprec.StreamsGroupTargetAssignmentMetadataValue) {
			g.assignmentEpoch = v.AssignmentEpoch
		}, (*otherGroup).unassign)
	case *grouprec.StreamsGroupTargetAssignmentMemberKey:
		apply(m, key.GroupID, Streams, r, func(*otherGroup, *grouprec.StreamsGroupTargetAssignmentMemberValue) {}, func(*otherGroup) {})
	case *grouprec.StreamsGroupMemberMetadataKey:
		apply(m, key.GroupID, Streams, r, func(g *otherGroup, _ *grouprec.StreamsGroupMemberMetadataValue) { g.member(key.MemberID) },
			func(g *otherGroup) { delete(g.members, key.MemberID) })
	case *grouprec.StreamsGroupCurrentMemberAssignmentKey:
		apply(m, key.GroupID, Streams, r, func(g *otherGroup, v *grouprec.StreamsGroupCurrentMemberAssignmentValue) {
			g.member(key.MemberID).assign(v)
		}, func(g *otherGroup) { g.release(key.MemberID) })
	case *grouprec.StreamsGroupTopologyKey:
		apply(m, key.GroupID, Streams, r, func(g *otherGroup, v *grouprec.StreamsGroupTopologyValue) { g.topology = newStreamsTopology(v) },
			func(g *otherGroup) { g.topology = nil })
	}
}

// apply changes the group of a record: set by its value, or clear for a tombstone.
// A value makes a group that is not there. The record is passed over if there is
// a group of another type: Kafka would not load this partition any more.
func apply[V any](m *machine, id string, t Type, r shard.Record, set func(*otherGroup, *V), clear func(*otherGroup)) {
	v := valueOf[V](r)
	old := m.groups[id]
	g, ok := old.(*otherGroup)
	switch {
	case ok && g.typ == t:
	case v == nil:
		return
	case old == nil || t == Streams && onlyOffsets(old):
		g = newOtherGroup(id, t)
		m.groups[id] = g
	default:
		m.log.Warn("a record of a group is passed over: there is a group of another type", "group", id, "type", old.kind(), "record", t)
		return
	}
	if v == nil {
		clear(g)
		return
	}
	set(g, v)
}

// onlyOffsets reports whether a group is nothing but offsets, which may turn out
// to be those of a group of another type.
func onlyOffsets(g group) bool {
	c, ok := g.(*classicGroup)
	return ok && c.simple()
}

func (m *machine) removeOther(g *otherGroup) { delete(m.groups, g.name) }

func (g *otherGroup) unassign() { g.assignmentEpoch = -1 }

// member returns a member, which is made if it is not there.
func (g *otherGroup) member(id string) *otherMember {
	m := g.members[id]
	if m == nil {
		m = new(otherMember)
		g.members[id] = m
	}
	return m
}

// release takes from a member what it is assigned.
func (g *otherGroup) release(id string) {
	if m := g.members[id]; m != nil {
		m.epoch, m.tasks = -1, nil
	}
}

// assign sets what a streams member is assigned.
func (m *otherMember) assign(v *grouprec.StreamsGroupCurrentMemberAssignmentValue) {
	const stable = 1
	m.epoch, m.stable = v.MemberEpoch, v.State == stable
	m.tasks = make(map[string]map[int32]int32)
	for _, tasks := range [][]grouprec.AssignedTasks{v.ActiveTasksPendingRevocation, v.ActiveTasks} {
		for _, t := range tasks {
			epochs := m.tasks[t.SubtopologyID]
			if epochs == nil {
				epochs = make(map[int32]int32)
				m.tasks[t.SubtopologyID] = epochs
			}
			for i, p := range t.Partitions {
				epochs[p] = v.MemberEpoch
				if len(t.AssignmentEpochs) == len(t.Partitions) {
					epochs[p] = t.AssignmentEpochs[i]
				}
			}
		}
	}
}

func newStreamsTopology(v *grouprec.StreamsGroupTopologyValue) *streamsTopology {
	t := &streamsTopology{v.Epoch, make(map[string]string)}
	for _, s := range v.Subtopologies {
		for _, topic := range s.SourceTopics {
			t.sources[topic] = s.SubtopologyID
		}
		for _, topic := range s.RepartitionSourceTopics {
			t.sources[topic.Name] = s.SubtopologyID
		}
	}
	return t
}
