package client

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"sync"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// ErrNoGroup is the error of a group that does not exist.
var ErrNoGroup = errors.New("there is no such group")

// A Group is a group with its members, as its coordinator describes it.
type Group struct {
	ListedGroup
	Assignor    string // of a classic group the protocol that its members agreed on; "" if there is none
	Epoch       int32  // -1 for classic groups
	TargetEpoch int32  // of the assignment that members are moving to; -1 for classic groups
	Members     []GroupMember
	Topology    *Topology // of a streams group that has one
	Err         error     // why there is no description: then only ID and Coordinator may be set
}

// Active reports whether the group has members, so that its offsets must be left
// alone.
func (g *Group) Active() bool { return len(g.Members) > 0 }

// A GroupMember is a member of a group of any type. Its lists are sorted.
type GroupMember struct {
	ID         string
	InstanceID *string // of a static member
	ClientID   string
	Host       string // as the broker saw it, "/10.0.0.7"
	Rack       *string
	Epoch      int32            // -1 in a classic group
	Protocol   string           // "classic" or "consumer" in a consumer group, "classic" or "streams" in a streams group, else ""
	Topics     []string         // subscribed to by name; nil if not known
	TopicRegex *string          // subscribed to by a regular expression of the broker's kind
	Assignment kadm.TopicsList  // of a streams group the partitions of the topics that its active tasks read
	Target     *kadm.TopicsList // where the group is moving to; nil in classic and share groups
	Streams    *StreamsMember   // of a streams group
	Unreadable error            // why the assignment or subscription of a classic member is not known: it is not a consumer's
}

// Subscribed returns the topics that members subscribe to by name, sorted.
func (g *Group) Subscribed() []string {
	all := make(map[string]bool)
	for _, m := range g.Members {
		for _, t := range m.Topics {
			all[t] = true
		}
	}
	if g.Topology != nil {
		for _, t := range g.Topology.sources() {
			all[t] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// DescribeGroupsByID asks the coordinators of groups for their descriptions, in the
// order of ids. What could not be described has an error; one that does not exist has
// [ErrNoGroup].
func (c *Client) DescribeGroupsByID(ctx context.Context, ids []string) []Group {
	var old []string // whose type is known from an earlier question
	for _, id := range ids {
		if known, ok := c.groups.get(id); ok && known.Type != "" {
			old = append(old, id)
		}
	}
	groups := c.describe(ctx, ids)
	// A group can be deleted and come back as another type, and a classic group becomes
	// a consumer group while it runs.
	var again []string
	for _, id := range old {
		if errors.Is(groups[id].Err, kerr.GroupIDNotFound) {
			c.groups.forget(id)
			again = append(again, id)
		}
	}
	if len(again) > 0 {
		maps.Copy(groups, c.describe(ctx, again))
	}
	all := make([]Group, 0, len(ids))
	for _, id := range ids {
		g := groups[id]
		if errors.Is(g.Err, kerr.GroupIDNotFound) {
			g.Err = ErrNoGroup
		}
		all = append(all, *g)
	}
	return all
}

func (c *Client) describe(ctx context.Context, ids []string) map[string]*Group {
	groups := make(map[string]*Group, len(ids))
	failed := c.learnTypes(ctx, ids)
	of := make(map[GroupType][]string)
	for _, id := range ids {
		known, _ := c.groups.get(id)
		known.ID = id
		groups[id] = &Group{ListedGroup: known, Epoch: -1, TargetEpoch: -1, Err: failed[id]}
		if failed[id] == nil {
			of[known.Type] = append(of[known.Type], id)
		}
	}
	var all sync.WaitGroup
	for typ, ids := range of {
		all.Go(func() {
			// Nothing else touches the groups of these ids meanwhile.
			for id, err := range c.askCoordinators(ctx, ids, describer(typ, groups)) {
				groups[id].Err = err
			}
			for _, id := range ids {
				if known, ok := c.groups.get(id); ok {
					groups[id].Coordinator = known.Coordinator // it may have moved
				}
			}
		})
	}
	all.Wait()
	return groups
}

// learnTypes asks the coordinators of groups whose type is not known for all their
// groups: no other answer tells the type. One that is not listed does not exist, or
// may not be seen: that comes out when it is described as a classic group.
func (c *Client) learnTypes(ctx context.Context, ids []string) map[string]error {
	var unknown []string
	for _, id := range ids {
		if known, ok := c.groups.get(id); !ok || known.Type == "" {
			unknown = append(unknown, id)
		}
	}
	return c.askCoordinators(ctx, unknown, func(ctx context.Context, b *kgo.Broker, ids []string) (map[string]error, error) {
		answer, err := answerOf[*kmsg.ListGroupsResponse](b.Request(ctx, kmsg.NewPtrListGroupsRequest()))
		if err == nil {
			err = kerr.ErrorForCode(answer.ErrorCode)
		}
		if err != nil {
			return nil, err
		}
		listed := make(map[string]kmsg.ListGroupsResponseGroup, len(answer.Groups))
		for _, g := range answer.Groups {
			listed[g.Group] = g
		}
		for _, id := range ids {
			known, _ := c.groups.get(id)
			g := listed[id]
			g.Group = id
			c.groups.learn([]ListedGroup{listedGroup(g, known.Coordinator)})
		}
		return nil, nil
	})
}

// answerOf returns an answer as what it is.
func answerOf[T kmsg.Response](answer kmsg.Response, err error) (T, error) {
	if err != nil {
		var none T
		return none, err
	}
	return answer.(T), nil
}

// describer returns the question for descriptions of groups of a type, which it
// writes to groups.
func describer(typ GroupType, all map[string]*Group) groupQuestion {
	// A broker may mention what it was not asked about, and another one be asked about
	// that at the same time.
	asked := func(ids []string) map[string]*Group {
		groups := make(map[string]*Group, len(ids))
		for _, id := range ids {
			groups[id] = all[id]
		}
		return groups
	}
	switch typ {
	case ConsumerGroup:
		return func(ctx context.Context, b *kgo.Broker, ids []string) (map[string]error, error) {
			q := kmsg.NewPtrConsumerGroupDescribeRequest()
			q.Groups = ids
			answer, err := answerOf[*kmsg.ConsumerGroupDescribeResponse](b.Request(ctx, q))
			if err != nil {
				return nil, err
			}
			failed, groups := unmentioned(ids), asked(ids)
			for _, g := range answer.Groups {
				if to := groups[g.Group]; to != nil {
					failed[g.Group] = answerError(g.ErrorCode, g.ErrorMessage)
					to.consumer(g)
				}
			}
			return failed, nil
		}
	case ShareGroup:
		return func(ctx context.Context, b *kgo.Broker, ids []string) (map[string]error, error) {
			q := kmsg.NewPtrShareGroupDescribeRequest()
			q.GroupIDs = ids
			answer, err := answerOf[*kmsg.ShareGroupDescribeResponse](b.Request(ctx, q))
			if err != nil {
				return nil, err
			}
			failed, groups := unmentioned(ids), asked(ids)
			for _, g := range answer.Groups {
				if to := groups[g.GroupID]; to != nil {
					failed[g.GroupID] = answerError(g.ErrorCode, g.ErrorMessage)
					to.share(g)
				}
			}
			return failed, nil
		}
	case StreamsGroup:
		return func(ctx context.Context, b *kgo.Broker, ids []string) (map[string]error, error) {
			q := kmsg.NewPtrStreamsGroupDescribeRequest()
			q.Groups = ids
			answer, err := answerOf[*kmsg.StreamsGroupDescribeResponse](b.Request(ctx, q))
			if err != nil {
				return nil, err
			}
			failed, groups := unmentioned(ids), asked(ids)
			for _, g := range answer.Groups {
				if to := groups[g.Group]; to != nil {
					failed[g.Group] = answerError(g.ErrorCode, g.ErrorMessage)
					to.streams(g)
				}
			}
			return failed, nil
		}
	}
	return func(ctx context.Context, b *kgo.Broker, ids []string) (map[string]error, error) {
		q := kmsg.NewPtrDescribeGroupsRequest()
		q.Groups = ids
		answer, err := answerOf[*kmsg.DescribeGroupsResponse](b.Request(ctx, q))
		if err != nil {
			return nil, err
		}
		failed, groups := unmentioned(ids), asked(ids)
		for _, g := range answer.Groups {
			if to := groups[g.Group]; to != nil {
				failed[g.Group] = answerError(g.ErrorCode, g.ErrorMessage)
				if g.ErrorCode == 0 && g.State == "Dead" { // what brokers before version 6 say
					failed[g.Group] = kerr.GroupIDNotFound
				}
				to.classic(g)
			}
		}
		return failed, nil
	}
}

// unmentioned says of all groups that an answer does not mention them.
func unmentioned(ids []string) map[string]error {
	failed := make(map[string]error, len(ids))
	for _, id := range ids {
		failed[id] = errNoAnswer
	}
	return failed
}

func (to *Group) classic(g kmsg.DescribeGroupsResponseGroup) {
	to.State, to.Protocol, to.Assignor, to.Members = g.State, g.ProtocolType, g.Protocol, nil
	for _, m := range g.Members {
		member := GroupMember{ID: m.MemberID, InstanceID: m.InstanceID, ClientID: m.ClientID, Host: m.ClientHost, Epoch: -1}
		if g.ProtocolType == "consumer" {
			member.readClassic(m.ProtocolMetadata, m.MemberAssignment)
		}
		to.Members = append(to.Members, member)
	}
	to.sort()
}

// readClassic reads what a consumer of the classic protocol said when it joined and
// what the leader of the group gave it. Both are empty in a rebalance, and may hold
// anything: they are a matter between the members.
func (m *GroupMember) readClassic(subscription, assignment []byte) {
	if len(subscription) > 0 {
		var s kmsg.ConsumerMemberMetadata
		if err := s.ReadFrom(subscription); err != nil {
			m.Unreadable = err
		} else {
			m.Topics = slices.Sorted(slices.Values(s.Topics))
		}
	}
	if len(assignment) > 0 {
		var a kmsg.ConsumerMemberAssignment
		if err := a.ReadFrom(assignment); err != nil {
			m.Unreadable = err
			return
		}
		for _, t := range a.Topics {
			m.Assignment = append(m.Assignment, kadm.TopicPartitions{Topic: t.Topic, Partitions: t.Partitions})
		}
		m.Assignment = sorted(m.Assignment)
	}
}

func (to *Group) consumer(g kmsg.ConsumerGroupDescribeResponseGroup) {
	to.State, to.Protocol, to.Assignor, to.Epoch, to.TargetEpoch, to.Members = g.State, "consumer", g.AssignorName, g.Epoch, g.AssignmentEpoch, nil
	for _, m := range g.Members {
		target := assigned(m.TargetAssignment.TopicPartitions)
		member := GroupMember{
			ID: m.MemberID, InstanceID: m.InstanceID, ClientID: m.ClientID, Host: m.ClientHost, Rack: m.RackID, Epoch: m.MemberEpoch,
			Topics: slices.Sorted(slices.Values(m.SubscribedTopics)), TopicRegex: m.SubscribedTopicRegex,
			Assignment: assigned(m.Assignment.TopicPartitions), Target: &target,
		}
		switch m.MemberType {
		case 0:
			member.Protocol = "classic"
		case 1:
			member.Protocol = "consumer"
		}
		to.Members = append(to.Members, member)
	}
	to.sort()
}

func (to *Group) share(g kmsg.ShareGroupDescribeResponseGroup) {
	to.State, to.Protocol, to.Assignor, to.Epoch, to.TargetEpoch, to.Members = g.GroupState, "share", g.Assignor, g.GroupEpoch, g.AssignmentEpoch, nil
	for _, m := range g.Members {
		member := GroupMember{
			ID: m.MemberID, ClientID: m.ClientID, Host: m.ClientHost, Rack: m.RackID, Epoch: m.MemberEpoch,
			Topics: slices.Sorted(slices.Values(m.SubscribedTopicNames)),
		}
		for _, t := range m.Assignment.TopicPartitions {
			member.Assignment = append(member.Assignment, kadm.TopicPartitions{Topic: t.Topic, Partitions: t.Partitions})
		}
		member.Assignment = sorted(member.Assignment)
		to.Members = append(to.Members, member)
	}
	to.sort()
}

func assigned(topics []kmsg.AssignmentTopicPartition) kadm.TopicsList {
	var list kadm.TopicsList
	for _, t := range topics {
		list = append(list, kadm.TopicPartitions{Topic: t.Topic, Partitions: t.Partitions})
	}
	return sorted(list)
}

// sorted sorts list by topic and partition, in place.
func sorted(list kadm.TopicsList) kadm.TopicsList {
	for _, t := range list {
		slices.Sort(t.Partitions)
	}
	slices.SortFunc(list, func(a, b kadm.TopicPartitions) int { return cmp.Compare(a.Topic, b.Topic) })
	return list
}

// sort orders members by client, then host and id.
func (to *Group) sort() {
	slices.SortFunc(to.Members, func(a, b GroupMember) int {
		return cmp.Or(cmp.Compare(a.ClientID, b.ClientID), cmp.Compare(a.Host, b.Host), cmp.Compare(a.ID, b.ID))
	})
}
