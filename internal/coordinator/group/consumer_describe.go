package group

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"kf/internal/coordinator/assignor"
)

// describeConsumer answers ConsumerGroupDescribe for one group.
//
// Source: Kafka 4.4.0, ConsumerGroup.java, asDescribedGroup.
func (m *machine) describeConsumer(id string) kmsg.ConsumerGroupDescribeResponseGroup {
	a := kmsg.NewConsumerGroupDescribeResponseGroup()
	a.Group = id
	g, err := m.consumerGroup(id)
	if err != nil {
		a.ErrorCode, a.ErrorMessage = codeOf(err), messageOf(err)
		return a
	}
	a.State, a.Epoch, a.AssignmentEpoch = g.state(), g.epoch, g.targetedIn
	a.AssignorName = preferred(g.votes, m.o.Config("").Assignors)
	for _, member := range g.sortedMembers() {
		a.Members = append(a.Members, m.describeMember(g, g.members[member]))
	}
	return a
}

func (m *machine) describeMember(g *consumerGroup, member *consumerMember) kmsg.ConsumerGroupDescribeResponseGroupMember {
	a := kmsg.NewConsumerGroupDescribeResponseGroupMember()
	a.MemberID, a.InstanceID, a.RackID, a.MemberEpoch = member.id, member.instance, member.rack, member.epoch
	a.ClientID, a.ClientHost = member.clientID, member.clientHost
	a.SubscribedTopics, a.SubscribedTopicRegex = member.topics, member.pattern
	a.Assignment = m.describeAssignment(member.assigned.union(member.revoking).partitions())
	a.TargetAssignment = m.describeAssignment(g.targets[member.id])
	a.MemberType = 1 // consumer
	if member.classic != nil {
		a.MemberType = 0
	}
	return a
}

// describeAssignment returns partitions with the names of their topics; those of
// topics that there are not are left out.
func (m *machine) describeAssignment(p assignor.Partitions) kmsg.Assignment {
	var a kmsg.Assignment
	for i := range p {
		if t := m.image.TopicByID(p[i].Topic); t != nil {
			a.TopicPartitions = append(a.TopicPartitions, kmsg.AssignmentTopicPartition{TopicID: t.ID, Topic: t.Name, Partitions: p[i].Partitions})
		}
	}
	return a
}
