package client

import (
	"cmp"
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// A Topology is what the members of a streams group run.
type Topology struct {
	Epoch         int32
	Subtopologies []Subtopology // by id
}

// A Subtopology reads its topics in as many tasks as the largest of them has
// partitions: task n reads partition n of each.
type Subtopology struct {
	ID          string
	Sources     []string // topics of the user
	Repartition []string // topics between subtopologies, which Kafka Streams creates
	Changelogs  []string // topics of its state stores
}

// Tasks are those of one subtopology: the partitions that they read.
type Tasks struct {
	Subtopology string
	Partitions  []int32
}

// A StreamsMember is what only the members of streams groups have.
type StreamsMember struct {
	ProcessID     string
	TopologyEpoch int32
	Active        []Tasks
	Standby       []Tasks
	Warmup        []Tasks
	TargetActive  []Tasks
	TargetStandby []Tasks
	TargetWarmup  []Tasks
}

// sources returns the topics that the tasks read, those of Kafka Streams' own too.
func (t *Topology) sources() []string {
	all := make(map[string]bool)
	for _, s := range t.Subtopologies {
		for _, topic := range append(s.Sources[:len(s.Sources):len(s.Sources)], s.Repartition...) {
			all[topic] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// partitions returns what tasks read. A task of a topic with fewer partitions reads
// nothing of it: the caller knows how many there are.
func (t *Topology) partitions(tasks []Tasks) kadm.TopicsList {
	set := make(kadm.TopicsSet)
	for _, task := range tasks {
		for _, s := range t.Subtopologies {
			if s.ID != task.Subtopology {
				continue
			}
			for _, topic := range append(s.Sources[:len(s.Sources):len(s.Sources)], s.Repartition...) {
				set.Add(topic, task.Partitions...)
			}
		}
	}
	return sorted(set.IntoList())
}

func (to *Group) streams(g kmsg.StreamsGroupDescribeResponseGroup) {
	to.State, to.Protocol, to.Epoch, to.TargetEpoch, to.Members, to.Topology = g.State, "streams", g.Epoch, g.AssignmentEpoch, nil, nil
	to.Assignor = ""
	if g.AssignorName != nil {
		to.Assignor = *g.AssignorName
	}
	if g.Topology != nil {
		to.Topology = &Topology{Epoch: g.Topology.Epoch}
		for _, s := range g.Topology.Subtopologies {
			to.Topology.Subtopologies = append(to.Topology.Subtopologies, Subtopology{
				ID: s.SubtopologyID, Sources: slices.Sorted(slices.Values(s.SourceTopics)),
				Repartition: topicNames(s.RepartitionSourceTopics), Changelogs: topicNames(s.StateChangelogTopics),
			})
		}
		slices.SortFunc(to.Topology.Subtopologies, func(a, b Subtopology) int { return cmp.Compare(a.ID, b.ID) })
	}
	for _, m := range g.Members {
		s := &StreamsMember{
			ProcessID: m.ProcessID, TopologyEpoch: m.TopologyEpoch,
			Active: tasks(m.Assignment.ActiveTasks), Standby: tasks(m.Assignment.StandbyTasks), Warmup: tasks(m.Assignment.WarmupTasks),
			TargetActive: tasks(m.TargetAssignment.ActiveTasks), TargetStandby: tasks(m.TargetAssignment.StandbyTasks), TargetWarmup: tasks(m.TargetAssignment.WarmupTasks),
		}
		member := GroupMember{
			ID: m.MemberID, InstanceID: m.InstanceID, ClientID: m.ClientID, Host: m.ClientHost, Rack: m.RackID, Epoch: m.MemberEpoch,
			Protocol: "streams", Streams: s,
		}
		if m.IsClassic {
			member.Protocol = "classic"
		}
		if to.Topology != nil {
			member.Topics = to.Topology.sources()
			member.Assignment = to.Topology.partitions(s.Active)
			target := to.Topology.partitions(s.TargetActive)
			member.Target = &target
		}
		to.Members = append(to.Members, member)
	}
	to.sort()
}

func topicNames(infos []kmsg.TopicInfo) []string {
	var names []string
	for _, t := range infos {
		names = append(names, t.Topic)
	}
	slices.Sort(names)
	return names
}

func tasks(ids []kmsg.TaskIDs) []Tasks {
	var all []Tasks
	for _, t := range ids {
		all = append(all, Tasks{t.SubtopologyID, slices.Sorted(slices.Values(t.Partitions))})
	}
	slices.SortFunc(all, func(a, b Tasks) int { return cmp.Compare(a.Subtopology, b.Subtopology) })
	return all
}
