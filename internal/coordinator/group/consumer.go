package group

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"kf/internal/coordinator/shard"
	"kf/internal/format/grouprec"
	"kf/internal/image"
)

type consumerGroup struct{ group }

func (c *Coordinator) ConsumerGroupHeartbeat(from Client, q *kmsg.ConsumerGroupHeartbeatRequest, reply func(*kmsg.ConsumerGroupHeartbeatResponse)) {
	panic("consumer")
}

// describeConsumer answers ConsumerGroupDescribe for one group.
func (m *machine) describeConsumer(id string) kmsg.ConsumerGroupDescribeResponseGroup {
	panic("consumer")
}

// Classic members of a consumer group; JoinGroup and so on call these when the group that they name is one with members.
func (m *machine) joinConsumer(g *consumerGroup, from Client, q *kmsg.JoinGroupRequest, reply func(*kmsg.JoinGroupResponse)) shard.Result {
	panic("consumer")
}
func (m *machine) syncConsumer(g *consumerGroup, q *kmsg.SyncGroupRequest, reply func(*kmsg.SyncGroupResponse)) shard.Result {
	panic("consumer")
}
func (m *machine) heartbeatConsumer(g *consumerGroup, q *kmsg.HeartbeatRequest, reply func(*kmsg.HeartbeatResponse)) shard.Result {
	panic("consumer")
}
func (m *machine) leaveConsumer(g *consumerGroup, q *kmsg.LeaveGroupRequest, reply func(*kmsg.LeaveGroupResponse)) shard.Result {
	panic("consumer")
}

// replaceEmptyConsumer, if id is a consumer group without members, appends its tombstones and lets go of it, as a classic group takes its place.
func (m *machine) replaceEmptyConsumer(id string, records []shard.Record) []shard.Record {
	panic("consumer")
}

func (m *machine) loadedConsumer(g *consumerGroup) { panic("consumer") }

// topicsChanged makes the groups that subscribe to changed topics look at them again.
func (m *machine) topicsChanged(d *image.Delta) { panic("consumer") }

func (m *machine) replayConsumerGroup(key *grouprec.ConsumerGroupMetadataKey, value *grouprec.ConsumerGroupMetadataValue) {
	panic("consumer")
}
func (m *machine) replayConsumerPartitions(key *grouprec.ConsumerGroupPartitionMetadataKey, value *grouprec.ConsumerGroupPartitionMetadataValue) {
	panic("consumer")
}
func (m *machine) replayConsumerMember(key *grouprec.ConsumerGroupMemberMetadataKey, value *grouprec.ConsumerGroupMemberMetadataValue) {
	panic("consumer")
}
func (m *machine) replayConsumerTarget(key *grouprec.ConsumerGroupTargetAssignmentMetadataKey, value *grouprec.ConsumerGroupTargetAssignmentMetadataValue) {
	panic("consumer")
}
func (m *machine) replayConsumerTargetMember(key *grouprec.ConsumerGroupTargetAssignmentMemberKey, value *grouprec.ConsumerGroupTargetAssignmentMemberValue) {
	panic("consumer")
}
func (m *machine) replayConsumerCurrent(key *grouprec.ConsumerGroupCurrentMemberAssignmentKey, value *grouprec.ConsumerGroupCurrentMemberAssignmentValue) {
	panic("consumer")
}
func (m *machine) replayConsumerRegex(key *grouprec.ConsumerGroupRegularExpressionKey, value *grouprec.ConsumerGroupRegularExpressionValue) {
	panic("consumer")
}
