package broker

import (
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kf/internal/format/grouprec"
	"kf/internal/wire"
)

// The builders of the cases about groups. The groups have the names that they had
// when Kafka was asked, as messages have them.

// A groupStage is what the cases about groups remember.
type groupStage struct {
	generation int32  // of the classic group
	old        string // the first member id of the static member
}

const (
	classicID  = "TOPICg"
	staticID   = "TOPICs"
	consumerID = "TOPICcg"
)

func coordinatorOf(kind int8, key string) builder {
	return func(s *stage, c errorCase) any {
		q := kmsg.NewPtrFindCoordinatorRequest()
		q.CoordinatorType, q.CoordinatorKey, q.CoordinatorKeys = kind, key, []string{key}
		return q
	}
}

// members returns the member ids of a classic group.
func (s *stage) members(group string) []string {
	q := kmsg.NewPtrDescribeGroupsRequest()
	q.Groups = []string{group}
	var ids []string
	for _, m := range s.request(5, q).(*kmsg.DescribeGroupsResponse).Groups[0].Members {
		ids = append(ids, m.MemberID)
	}
	return ids
}

// joining builds a JoinGroup of a consumer of TOPIC; who "" is a new member, "me"
// the only one.
func joining(group, who string, change ...func(q *kmsg.JoinGroupRequest)) builder {
	return func(s *stage, c errorCase) any {
		q := kmsg.NewPtrJoinGroupRequest()
		q.Group, q.MemberID = group, s.who(group, who)
		q.SessionTimeoutMillis, q.RebalanceTimeoutMillis, q.ProtocolType = 30000, 30000, grouprec.ConsumerProtocolType
		p := kmsg.NewJoinGroupRequestProtocol()
		p.Name = "range"
		var err error
		if p.Metadata, err = grouprec.AppendSubscription(nil, &grouprec.ConsumerProtocolSubscription{Topics: []string{"TOPIC"}}, 0); err != nil {
			s.t.Fatal(err)
		}
		q.Protocols = append(q.Protocols, p)
		for _, f := range change {
			f(q)
		}
		return q
	}
}

// who returns a member id: for "me" that of the only member of a group, and for
// "old" the one that the static member had.
func (s *stage) who(group, who string) string {
	switch who {
	case "old":
		return s.group.old
	case "me":
		ids := s.members(group)
		if len(ids) != 1 {
			s.t.Fatalf("group %s has the members %q, want one", group, ids)
		}
		return ids[0]
	}
	return who
}

// rejoining builds a JoinGroup of the member that was given its id.
func rejoining(s *stage, c errorCase) any {
	s.group.generation = 1
	return joining(classicID, s.last.(*kmsg.JoinGroupResponse).MemberID)(s, c)
}

func syncing(group, who string, change ...func(q *kmsg.SyncGroupRequest)) builder {
	return func(s *stage, c errorCase) any {
		q := kmsg.NewPtrSyncGroupRequest()
		q.Group, q.MemberID, q.Generation = group, s.who(group, who), s.group.generation
		q.ProtocolType, q.Protocol = value(grouprec.ConsumerProtocolType), value("range")
		a := kmsg.NewSyncGroupRequestGroupAssignment()
		a.MemberID, a.MemberAssignment = q.MemberID, []byte{0, 0, 0, 0, 0, 0, 0, 0, 0, 0}
		q.GroupAssignment = append(q.GroupAssignment, a)
		for _, f := range change {
			f(q)
		}
		return q
	}
}

// beating builds a Heartbeat in the generation that differs from the current one by
// ahead.
func beating(group, who string, ahead int32, instance ...string) builder {
	return func(s *stage, c errorCase) any {
		q := kmsg.NewPtrHeartbeatRequest()
		q.Group, q.MemberID, q.Generation = group, s.who(group, who), s.group.generation+ahead
		for _, id := range instance {
			q.InstanceID = &id
		}
		return q
	}
}

// leaving builds a LeaveGroup of one member.
func leaving(group, who string, instance *string) builder {
	return func(s *stage, c errorCase) any {
		q := kmsg.NewPtrLeaveGroupRequest()
		q.Group = group
		m := kmsg.NewLeaveGroupRequestMember()
		m.MemberID, m.InstanceID = s.who(group, who), instance
		q.Members = append(q.Members, m)
		return q
	}
}

// committing builds an OffsetCommit of offset 7 of a partition of TOPIC.
func committing(group, who string, generation int32, change ...func(s *stage, q *kmsg.OffsetCommitRequest)) builder {
	return func(s *stage, c errorCase) any {
		q := kmsg.NewPtrOffsetCommitRequest()
		q.Group, q.MemberID, q.Generation = group, s.who(group, who), generation
		t := kmsg.NewOffsetCommitRequestTopic()
		t.Topic, t.TopicID = "TOPIC", s.ids["TOPIC"]
		p := kmsg.NewOffsetCommitRequestTopicPartition()
		p.Offset, p.Metadata = 7, value("m")
		t.Partitions = append(t.Partitions, p)
		q.Topics = append(q.Topics, t)
		for _, f := range change {
			f(s, q)
		}
		return q
	}
}

// ahead changes the generation to one that differs from the current one.
func ahead(n int32) func(s *stage, q *kmsg.OffsetCommitRequest) {
	return func(s *stage, q *kmsg.OffsetCommitRequest) { q.Generation = s.group.generation + n }
}

func instance(id string) func(s *stage, q *kmsg.OffsetCommitRequest) {
	return func(s *stage, q *kmsg.OffsetCommitRequest) { q.InstanceID = &id }
}

func ofTopic(name string, id wire.UUID, partition int32) func(s *stage, q *kmsg.OffsetCommitRequest) {
	return func(s *stage, q *kmsg.OffsetCommitRequest) {
		q.Topics[0].Topic, q.Topics[0].TopicID, q.Topics[0].Partitions[0].Partition = name, id, partition
	}
}

// fetchingOffsets builds an OffsetFetch of a partition of a topic, of all if the
// topic is "".
func fetchingOffsets(group, topic string, partition int32, change ...func(s *stage, g *kmsg.OffsetFetchRequestGroup)) builder {
	return func(s *stage, c errorCase) any {
		q := kmsg.NewPtrOffsetFetchRequest()
		g := kmsg.NewOffsetFetchRequestGroup()
		q.Group, g.Group = group, group
		if topic != "" {
			t := kmsg.NewOffsetFetchRequestGroupTopic()
			t.Topic, t.TopicID, t.Partitions = topic, s.ids[topic], []int32{partition}
			if strings.HasPrefix(topic, "no such") {
				t.TopicID = wire.UUID{1, 2, 3}
			}
			g.Topics = append(g.Topics, t)
			old := kmsg.NewOffsetFetchRequestTopic()
			old.Topic, old.Partitions = topic, t.Partitions
			q.Topics = append(q.Topics, old)
		}
		for _, f := range change {
			f(s, &g)
		}
		q.Groups = append(q.Groups, g)
		return q
	}
}

// by names the member that asks for offsets, and its generation or epoch.
func by(who string, epoch int32) func(s *stage, g *kmsg.OffsetFetchRequestGroup) {
	return func(s *stage, g *kmsg.OffsetFetchRequestGroup) {
		member := s.who(g.Group, who)
		g.MemberID, g.MemberEpoch = &member, epoch
	}
}

func deletingOffsets(group, topic string) builder {
	return func(s *stage, c errorCase) any {
		q := kmsg.NewPtrOffsetDeleteRequest()
		q.Group = group
		t := kmsg.NewOffsetDeleteRequestTopic()
		t.Topic = topic
		t.Partitions = append(t.Partitions, kmsg.NewOffsetDeleteRequestTopicPartition())
		q.Topics = append(q.Topics, t)
		return q
	}
}

func describingGroup(group string) builder {
	return func(s *stage, c errorCase) any {
		q := kmsg.NewPtrDescribeGroupsRequest()
		q.Groups = []string{group}
		return q
	}
}

func describingConsumers(group string) builder {
	return func(s *stage, c errorCase) any {
		q := kmsg.NewPtrConsumerGroupDescribeRequest()
		q.Groups = []string{group}
		return q
	}
}

func deletingGroup(group string) builder {
	return func(s *stage, c errorCase) any {
		q := kmsg.NewPtrDeleteGroupsRequest()
		q.Groups = []string{group}
		return q
	}
}

func listingGroups(states, types []string) builder {
	return func(s *stage, c errorCase) any {
		q := kmsg.NewPtrListGroupsRequest()
		q.StatesFilter, q.TypesFilter = states, types
		return q
	}
}

// The ids of members of consumer groups.
const (
	member1 = "EAAAAAAAAAAAAAAAAAAAAQ"
	member2 = "EAAAAAAAAAAAAAAAAAAACQ" // nobody
	static1 = "EAAAAAAAAAAAAAAAAAAAAw"
	static2 = "EAAAAAAAAAAAAAAAAAAABA"
)

// consuming builds the first ConsumerGroupHeartbeat of a member, which subscribes to
// a topic of three partitions.
func consuming(group, member string, change ...func(q *kmsg.ConsumerGroupHeartbeatRequest)) builder {
	return func(s *stage, c errorCase) any {
		q := kmsg.NewPtrConsumerGroupHeartbeatRequest()
		q.Group, q.MemberID, q.RebalanceTimeoutMillis = group, member, 300000
		q.SubscribedTopicNames, q.Topics = []string{"wide"}, []kmsg.ConsumerGroupHeartbeatRequestTopic{}
		for _, f := range change {
			f(q)
		}
		return q
	}
}

// at epoch builds one that only says that the member is there.
func consumingAt(group, member string, epoch int32, change ...func(q *kmsg.ConsumerGroupHeartbeatRequest)) builder {
	return consuming(group, member, append(change, func(q *kmsg.ConsumerGroupHeartbeatRequest) {
		q.MemberEpoch, q.RebalanceTimeoutMillis, q.SubscribedTopicNames, q.Topics = epoch, -1, nil, nil
	})...)
}

func asInstance(id string) func(q *kmsg.ConsumerGroupHeartbeatRequest) {
	return func(q *kmsg.ConsumerGroupHeartbeatRequest) { q.InstanceID = &id }
}

// groupsElsewhere makes another broker the coordinator of all groups, once.
func groupsElsewhere(s *stage) {
	s.otherBrokers()
	if s.b.image.Load().Topic("__consumer_offsets").Partition(0).Leader == 2 {
		return
	}
	q := kmsg.NewPtrDeleteTopicsRequest()
	q.SetVersion(5)
	q.TopicNames, q.TimeoutMillis = []string{"__consumer_offsets"}, 10000
	s.b.controller.DeleteTopics(s.t.Context(), q)
	s.create("__consumer_offsets", nil, 2)
}

var groupBuilders = map[string]builder{
	"classic-group: FindCoordinator group ''":                                       coordinatorOf(groupCoordinator, ""),
	"classic-group: FindCoordinator transaction ''":                                 coordinatorOf(transactionCoordinator, ""),
	"classic-group: FindCoordinator type 7":                                         coordinatorOf(7, "g"),
	"classic-group: FindCoordinator type 2 (share), key 'g' not group:id:partition": coordinatorOf(shareCoordinator, "g"),
	"classic-group: FindCoordinator type 2 in v5":                                   coordinatorOf(shareCoordinator, "g"),

	"classic-group: JoinGroup empty group id":                                       joining("", ""),
	"classic-group: JoinGroup session timeout 5999":                                 joining(classicID, "", func(q *kmsg.JoinGroupRequest) { q.SessionTimeoutMillis = 5999 }),
	"classic-group: JoinGroup session timeout 1800001":                              joining(classicID, "", func(q *kmsg.JoinGroupRequest) { q.SessionTimeoutMillis = 1800001 }),
	"classic-group: JoinGroup unknown member id, new group":                         joining("TOPICnew", "nobody"),
	"classic-group: JoinGroup no protocols":                                         joining(classicID, "", func(q *kmsg.JoinGroupRequest) { q.Protocols = nil }),
	"classic-group: JoinGroup empty protocol type":                                  joining(classicID, "", func(q *kmsg.JoinGroupRequest) { q.ProtocolType = "" }),
	"classic-group: JoinGroup v9 without member id":                                 joining(classicID, ""),
	"classic-group: JoinGroup again with the given id":                              rejoining,
	"classic-group: JoinGroup of another protocol type":                             joining(classicID, "", func(q *kmsg.JoinGroupRequest) { q.ProtocolType = "connect" }),
	"classic-group: JoinGroup with no common protocol":                              joining(classicID, "", func(q *kmsg.JoinGroupRequest) { q.Protocols[0].Name = "sticky" }),
	"classic-group: OffsetCommit before SyncGroup":                                  committing(classicID, "me", 1),
	"classic-group: SyncGroup wrong generation":                                     syncing(classicID, "me", func(q *kmsg.SyncGroupRequest) { q.Generation++ }),
	"classic-group: SyncGroup wrong protocol name":                                  syncing(classicID, "me", func(q *kmsg.SyncGroupRequest) { q.Protocol = value("sticky") }),
	"classic-group: SyncGroup unknown member":                                       syncing(classicID, "nobody"),
	"classic-group: SyncGroup good":                                                 syncing(classicID, "me"),
	"classic-group: Heartbeat good":                                                 beating(classicID, "me", 0),
	"classic-group: Heartbeat old generation":                                       beating(classicID, "me", -1),
	"classic-group: Heartbeat future generation":                                    beating(classicID, "me", 1),
	"classic-group: Heartbeat unknown member":                                       beating(classicID, "nobody", 0),
	"classic-group: Heartbeat unknown group":                                        beating("nosuchgroup", "nobody", 0),
	"classic-group: Heartbeat empty group id":                                       beating("", "nobody", 0),
	"classic-group: Heartbeat with instance id the group lacks":                     beating(classicID, "me", 0, "i9"),
	"classic-group: Heartbeat before SyncGroup (group waits for the leader's sync)": beating(classicID, "me", 0),
	"classic-group: Heartbeat in CompletingRebalance, old generation":               beating(classicID, "me", -1),
	"classic-group: JoinGroup rejoin of the only member (leader), same metadata": func(s *stage, c errorCase) any {
		s.group.generation = 2
		return joining(classicID, "me")(s, c)
	},
	"classic-group: JoinGroup without member id, old version": func(s *stage, c errorCase) any {
		if c.Version == 1 { // version 0 joined before
			s.request(5, leaving("TOPICold", "me", nil)(s, c).(kmsg.Request))
		}
		return joining("TOPICold", "")(s, c)
	},

	"offsets: commit good v9":              committing(classicID, "me", 2),
	"offsets: commit good v10 by id":       committing(classicID, "me", 2),
	"offsets: commit v10 unknown topic id": committing(classicID, "me", 2, ofTopic("", wire.UUID{1, 2, 3}, 0)),
	"offsets: commit unknown topic":        committing(classicID, "me", 2, ofTopic("no such", wire.UUID{}, 0)),
	"offsets: commit unknown partition":    committing(classicID, "me", 2, ofTopic("TOPIC", wire.UUID{}, 99)),
	"offsets: commit old generation":       committing(classicID, "me", 0, ahead(-1)),
	"offsets: commit unknown member":       committing(classicID, "nobody", 2),
	"offsets: commit metadata of 4097 bytes": committing(classicID, "me", 2, func(_ *stage, q *kmsg.OffsetCommitRequest) {
		q.Topics[0].Partitions[0].Metadata = value(strings.Repeat("x", 4097))
	}),
	"offsets: commit empty group id":                                       committing("", "", -1),
	"offsets: commit negative offset -7":                                   committing("TOPICnegative", "", -1, func(_ *stage, q *kmsg.OffsetCommitRequest) { q.Topics[0].Partitions[0].Offset = -7 }),
	"offsets: fetch good v8":                                               fetchingOffsets(classicID, "TOPIC", 0),
	"offsets: fetch good v10 by id":                                        fetchingOffsets(classicID, "TOPIC", 0),
	"offsets: fetch partition without commit":                              fetchingOffsets(classicID, "TOPIC", 1),
	"offsets: fetch all topics":                                            fetchingOffsets(classicID, "", 0),
	"offsets: fetch unknown group v8":                                      fetchingOffsets("nosuchgroup", "TOPIC", 0),
	"offsets: fetch unknown group v10":                                     fetchingOffsets("nosuchgroup", "TOPIC", 0),
	"offsets: fetch unknown group v1":                                      fetchingOffsets("nosuchgroup", "TOPIC", 0),
	"offsets: fetch unknown group, all topics":                             fetchingOffsets("nosuchgroup", "", 0),
	"offsets: fetch unknown topic":                                         fetchingOffsets(classicID, "no such", 0),
	"offsets: fetch unknown topic id v10":                                  fetchingOffsets(classicID, "no such", 0),
	"offsets: fetch empty group id":                                        fetchingOffsets("", "TOPIC", 0),
	"offsets: fetch with an unknown member v9":                             fetchingOffsets(classicID, "TOPIC", 0, by("nobody", 2)),
	"offsets: fetch with a wrong generation v9":                            fetchingOffsets(classicID, "TOPIC", 0, by("me", 7)),
	"offsets: fetch with member id and epoch of a classic group v9":        fetchingOffsets(classicID, "TOPIC", 0, by("me", 2)),
	"offsets: commit generation -1 to a new group (simple)":                committing("TOPICsimple", "", -1),
	"offsets: commit generation 3 to a group that does not exist":          committing("nosuchgroup", "nobody", 3),
	"offsets: commit generation -1, empty member, to a group with members": committing(classicID, "", -1),

	"group-admin: OffsetDelete of a subscribed topic":       deletingOffsets(classicID, "TOPIC"),
	"group-admin: OffsetDelete unknown group":               deletingOffsets("nosuchgroup", "TOPIC"),
	"group-admin: DescribeGroups live":                      describingGroup(classicID),
	"group-admin: DescribeGroups unknown v5":                describingGroup("nosuchgroup"),
	"group-admin: DescribeGroups unknown v6":                describingGroup("nosuchgroup"),
	"group-admin: DescribeGroups '' v6":                     describingGroup(""),
	"group-admin: ConsumerGroupDescribe of a classic group": describingConsumers(classicID),
	"group-admin: ConsumerGroupDescribe unknown":            describingConsumers("nosuchgroup"),
	"group-admin: DeleteGroups with members":                deletingGroup(classicID),
	"group-admin: DeleteGroups unknown":                     deletingGroup("nosuchgroup"),
	"group-admin: DeleteGroups ''":                          deletingGroup(""),
	"group-admin: DeleteGroups good":                        deletingGroup("TOPICsimple"),
	"group-admin: LeaveGroup unknown member":                leaving(classicID, "nobody", nil),
	"group-admin: LeaveGroup unknown instance":              leaving(classicID, "", value("i9")),
	"group-admin: LeaveGroup good":                          leaving(classicID, "me", nil),
	"group-admin: ListGroups with an unknown state filter":  listingGroups([]string{"Bogus"}, nil),
	"group-admin: ListGroups with an unknown type filter":   listingGroups(nil, []string{"bogus"}),

	"static-member: JoinGroup v9 static, first": joining(staticID, "", func(q *kmsg.JoinGroupRequest) { q.InstanceID = value("i1") }),
	"static-member: SyncGroup": func(s *stage, c errorCase) any {
		s.group.generation = 1
		return syncing(staticID, "me", func(q *kmsg.SyncGroupRequest) { q.InstanceID = value("i1") })(s, c)
	},
	"static-member: JoinGroup v9 same instance, no member id, stable group": func(s *stage, c errorCase) any {
		s.group.old = s.who(staticID, "me")
		return joining(staticID, "", func(q *kmsg.JoinGroupRequest) { q.InstanceID = value("i1") })(s, c)
	},
	"static-member: Heartbeat of the old member id with the instance id": beating(staticID, "old", 0, "i1"),
	"static-member: Heartbeat of the old member id without instance id":  beating(staticID, "old", 0),
	"static-member: Heartbeat of the new member id":                      beating(staticID, "me", 0, "i1"),
	"static-member: SyncGroup of the old member id":                      syncing(staticID, "old", func(q *kmsg.SyncGroupRequest) { q.InstanceID = value("i1") }),
	"static-member: JoinGroup of the old member id":                      joining(staticID, "old", func(q *kmsg.JoinGroupRequest) { q.InstanceID = value("i1") }),
	"static-member: OffsetCommit of the old member id":                   committing(staticID, "old", 1, instance("i1")),

	"consumer-group: epoch 0, v1, empty member id":                                         consuming(consumerID, ""),
	"consumer-group: epoch 0, v0, empty member id":                                         consuming(consumerID, ""),
	"consumer-group: empty group id":                                                       consuming("", member1),
	"consumer-group: epoch 0 without subscription":                                         consuming(consumerID, member1, func(q *kmsg.ConsumerGroupHeartbeatRequest) { q.SubscribedTopicNames = nil }),
	"consumer-group: epoch 0 without rebalance timeout":                                    consuming(consumerID, member1, func(q *kmsg.ConsumerGroupHeartbeatRequest) { q.RebalanceTimeoutMillis = -1 }),
	"consumer-group: epoch 0 with owned partitions null":                                   consuming(consumerID, member1, func(q *kmsg.ConsumerGroupHeartbeatRequest) { q.Topics = nil }),
	"consumer-group: epoch 0, unknown assignor":                                            consuming(consumerID, member1, func(q *kmsg.ConsumerGroupHeartbeatRequest) { q.ServerAssignor = value("bogus") }),
	"consumer-group: epoch 5, group does not exist":                                        consumingAt("TOPICcgnone", member1, 5),
	"consumer-group: epoch -1 (leave), group does not exist":                               consumingAt("TOPICcgnone", member1, -1),
	"consumer-group: epoch -3":                                                             consumingAt(consumerID, member1, -3),
	"consumer-group: bad regex":                                                            consuming(consumerID, member1, func(q *kmsg.ConsumerGroupHeartbeatRequest) { q.SubscribedTopicRegex = value("[") }),
	"consumer-group: join":                                                                 consuming(consumerID, member1),
	"consumer-group: heartbeat at the epoch":                                               consumingAt(consumerID, member1, 2),
	"consumer-group: heartbeat one epoch above":                                            consumingAt(consumerID, member1, 3),
	"consumer-group: heartbeat 5 epochs above":                                             consumingAt(consumerID, member1, 7),
	"consumer-group: unknown member":                                                       consumingAt(consumerID, member2, 2),
	"consumer-group: commit, member epoch right":                                           committing(consumerID, member1, 2),
	"consumer-group: commit, member epoch stale":                                           committing(consumerID, member1, 1),
	"consumer-group: commit v8 with a stale epoch":                                         committing(consumerID, member1, 1),
	"consumer-group: commit, epoch above":                                                  committing(consumerID, member1, 3),
	"consumer-group: commit, unknown member":                                               committing(consumerID, member2, 2),
	"consumer-group: offset fetch, stale epoch":                                            fetchingOffsets(consumerID, "TOPIC", 0, by(member1, 1)),
	"consumer-group: offset fetch, unknown member":                                         fetchingOffsets(consumerID, "TOPIC", 0, by(member2, 2)),
	"consumer-group: classic Heartbeat with the member id":                                 beating(consumerID, member1, 0),
	"consumer-group: DescribeGroups of a consumer group v5":                                describingGroup(consumerID),
	"consumer-group: DescribeGroups of a consumer group v6":                                describingGroup(consumerID),
	"consumer-group: static join":                                                          consuming("TOPICcgs", static1, asInstance("i1")),
	"consumer-group: first leaves for a while (epoch -2)":                                  consumingAt("TOPICcgs", static1, -2, asInstance("i1")),
	"consumer-group: second member with the instance id now":                               consuming("TOPICcgs", static2, asInstance("i1")),
	"consumer-group: first member heartbeats again":                                        consumingAt("TOPICcgs", static1, 2, asInstance("i1")),
	"consumer-group: leave (epoch -1)":                                                     consumingAt("TOPICcgs", static2, -1, asInstance("i1")),
	"consumer-group: same full heartbeat again at epoch 0 (rejoin of a live member)":       consuming(consumerID, member1),
	"consumer-group: second member with the same instance id while the first lives":        consuming("TOPICcgs", static2, asInstance("i1")),
	"consumer-group: ConsumerGroupHeartbeat to a classic group that is empty":              consuming(classicID, member1),
	"consumer-group: classic JoinGroup into the consumer group (no common assignor 'foo')": joining(consumerID, "", func(q *kmsg.JoinGroupRequest) { q.Protocols[0].Name = "foo" }),

	"not-leader: JoinGroup to a node that is not the coordinator": after(groupsElsewhere, joining(classicID, "nobody")),
	"not-leader: Heartbeat to it":                                 beating(classicID, "nobody", 0),
	"not-leader: OffsetCommit to it":                              committing(classicID, "", -1),
	"not-leader: OffsetFetch to it":                               fetchingOffsets(classicID, "TOPIC", 0),
	"not-leader: ConsumerGroupHeartbeat to it":                    consuming(consumerID, member1),
	"not-leader: DescribeGroups to it":                            describingGroup(classicID),
}
