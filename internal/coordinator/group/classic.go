package group

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"kf/internal/coordinator/shard"
	"kf/internal/format/grouprec"
)

type classicGroup struct{ group }

// JoinGroup …
func (c *Coordinator) JoinGroup(from Client, q *kmsg.JoinGroupRequest, reply func(*kmsg.JoinGroupResponse)) {
	panic("classic")
}
func (c *Coordinator) SyncGroup(from Client, q *kmsg.SyncGroupRequest, reply func(*kmsg.SyncGroupResponse)) {
	panic("classic")
}
func (c *Coordinator) Heartbeat(from Client, q *kmsg.HeartbeatRequest, reply func(*kmsg.HeartbeatResponse)) {
	panic("classic")
}
func (c *Coordinator) LeaveGroup(from Client, q *kmsg.LeaveGroupRequest, reply func(*kmsg.LeaveGroupResponse)) {
	panic("classic")
}

// describeClassic answers DescribeGroups for one group, in a version.
func (m *machine) describeClassic(id string, version int16) kmsg.DescribeGroupsResponseGroup {
	panic("classic")
}

func (m *machine) replayClassic(key *grouprec.GroupMetadataKey, value *grouprec.GroupMetadataValue) {
	panic("classic")
}
func (m *machine) loadedClassic(g *classicGroup)              { panic("classic") }
func (m *machine) unloadedClassic(g *classicGroup, err error) { panic("classic") }

// classicGroup returns a classic group; with create one that is not there is made, in memory alone.
// It fails with GROUP_ID_NOT_FOUND.
func (m *machine) classicGroup(id string, create bool) (*classicGroup, error) { panic("classic") }

// committedClassic is told that a member of a classic group committed: its session goes on.
func (m *machine) committedClassic(g *classicGroup, member string) { panic("classic") }

// replaceEmptyClassic, if id is a classic group without members, appends its tombstone and lets go of it, as a group of another type takes its place.
func (m *machine) replaceEmptyClassic(id string, records []shard.Record) []shard.Record {
	panic("classic")
}
