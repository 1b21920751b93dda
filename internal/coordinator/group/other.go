package group

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"

	"kf/internal/coordinator/shard"
	"kf/internal/format/grouprec"
	"kf/internal/wire"
)

// An otherGroup is a share or streams group. Nobody joins one here, as their
// protocols are not served: it is listed as Kafka left it, keeps the others out,
// and its offsets are served.
//
// Source: Kafka 4.4.0, ShareGroup.java and StreamsGroup.java.
type otherGroup struct {
	name            string
	typ             Type
	epoch           int32
	assignmentEpoch int32 // -1 for none
	members         map[string]*otherMember

	sharing bool // there is state of this share group in __share_group_state

	validated int32            // the epoch of the topology that was validated, -1 for none
	topology  *streamsTopology // nil for none
}

// An otherMember is a member of such a group.
type otherMember struct {
	epoch  int32
	stable bool // it has what it is to have in its epoch
	// tasks has the assignment epochs of a streams member's active tasks, by
	// subtopology and partition, those included that it is to give up.
	tasks map[string]map[int32]int32
}

// A streamsTopology is what of a topology decides about offsets.
type streamsTopology struct {
	epoch   int32
	sources map[string]string // subtopologies by the topics that they read
}

// notReady is the state of a streams group whose topology is not validated.
const notReady = "NotReady"

func newOtherGroup(id string, t Type) *otherGroup {
	g := &otherGroup{name: id, typ: t, assignmentEpoch: -1, members: make(map[string]*otherMember), validated: -1}
	if t == Streams {
		g.epoch = 1
	}
	return g
}

func (g *otherGroup) id() string           { return g.name }
func (g *otherGroup) kind() Type           { return g.typ }
func (g *otherGroup) protocolType() string { return g.typ.String() }
func (g *otherGroup) empty() bool          { return len(g.members) == 0 }

func (g *otherGroup) state() string {
	switch {
	case g.empty():
		return "Empty"
	case g.typ == Share:
		return "Stable"
	case g.topology == nil || g.topology.epoch != g.validated:
		return notReady
	case g.epoch > g.assignmentEpoch:
		return "Assigning"
	}
	for _, m := range g.members {
		if !m.stable || m.epoch != g.assignmentEpoch {
			return "Reconciling"
		}
	}
	return "Stable"
}

// noConsumers is the refusal of a request that a share group has no answer to.
func (g *otherGroup) noConsumers() error {
	return refuse(kerr.GroupIDNotFound, fmt.Sprintf("Group %s is not a consumer group.", g.name))
}

func (g *otherGroup) unknownMember(member string) error {
	return refuse(kerr.UnknownMemberID, fmt.Sprintf("Member %s is not a member of group %s.", member, g.name))
}

func (g *otherGroup) checkCommit(member string, instance *string, epoch int32, transactional bool, version int16) (checkPartition, error) {
	if g.typ == Share {
		return nil, g.noConsumers()
	}
	if epoch < 0 && g.empty() || transactional && epoch == -1 && member == "" && instance == nil {
		return nil, nil
	}
	m := g.members[member]
	switch {
	case m == nil:
		return nil, g.unknownMember(member)
	case !transactional && version < 9:
		return nil, refuse(kerr.UnsupportedVersion, "OffsetCommit version 9 or above must be used by members using the streams group protocol")
	case epoch == m.epoch:
		return nil, nil
	case epoch > m.epoch:
		return nil, refuse(kerr.StaleMemberEpoch, fmt.Sprintf("Received member epoch %d is newer than current member epoch %d.", epoch, m.epoch))
	case g.topology == nil:
		return nil, refuse(kerr.StaleMemberEpoch, "Topology is not available for offset commit validation.")
	}
	sources := g.topology.sources
	return func(topic string, _ wire.UUID, partition int32) error {
		subtopology, ok := sources[topic]
		if !ok {
			return refuse(kerr.StaleMemberEpoch, "Topic "+topic+" is not in the topology.")
		}
		assigned, ok := m.tasks[subtopology][partition]
		switch {
		case !ok:
			return refuse(kerr.StaleMemberEpoch, fmt.Sprintf("Task %s-%d is not assigned or pending revocation for member.", subtopology, partition))
		case epoch < assigned:
			return refuse(kerr.StaleMemberEpoch,
				fmt.Sprintf("Received member epoch %d is older than assignment epoch %d for task %s-%d.", epoch, assigned, subtopology, partition))
		}
		return nil
	}, nil
}

func (g *otherGroup) checkFetch(member *string, epoch int32) error {
	if g.typ == Share {
		return g.noConsumers()
	}
	if member == nil && epoch < 0 {
		return nil
	}
	id := ""
	if member != nil {
		id = *member
	}
	m := g.members[id]
	switch {
	case m == nil:
		return g.unknownMember(id)
	case epoch != m.epoch:
		return refuse(kerr.StaleMemberEpoch, fmt.Sprintf("The received member epoch %d does not match the expected member epoch %d.", epoch, m.epoch))
	}
	return nil
}

// checkDelete refuses, beside what Kafka does, to delete a share group that has
// state which is not this coordinator's to delete.
func (g *otherGroup) checkDelete() error {
	switch {
	case !g.empty():
		return refuse(kerr.NonEmptyGroup, "")
	case g.sharing:
		return refuse(kerr.GroupDeletionFailed, fmt.Sprintf("Group %s has state in __share_group_state, whose coordinator is not served.", g.name))
	}
	return nil
}

func (g *otherGroup) checkOffsetDelete() error {
	if g.typ == Share {
		return g.noConsumers()
	}
	return nil
}

func (g *otherGroup) subscribed(topic string) bool {
	if g.typ == Share || g.empty() || g.topology == nil {
		return false
	}
	_, ok := g.topology.sources[topic]
	return ok
}

func (g *otherGroup) expires() (since int64, ok bool) { return -1, g.typ == Streams }

// tombstones appends the records that delete the group, which has no members.
func (g *otherGroup) tombstones(dst []shard.Record) []shard.Record {
	if g.typ == Share {
		return append(dst,
			tombstone(&grouprec.ShareGroupTargetAssignmentMetadataKey{GroupID: g.name}),
			tombstone(&grouprec.ShareGroupStatePartitionMetadataKey{GroupID: g.name}),
			tombstone(&grouprec.ShareGroupMetadataKey{GroupID: g.name}))
	}
	return append(dst,
		tombstone(&grouprec.StreamsGroupTargetAssignmentMetadataKey{GroupID: g.name}),
		tombstone(&grouprec.StreamsGroupMetadataKey{GroupID: g.name}),
		tombstone(&grouprec.StreamsGroupTopologyKey{GroupID: g.name}))
}

func (g *otherGroup) forget(*shard.Shard) {}
