//go:build interop

package interop

import (
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// missing is a topic that there is not.
var missing = differTopic{name: "missing", id: [16]byte{9}, partitions: 1}

func (s *scenario) commit(c *differSlot) error {
	version, id, generation, instance := int16(2+s.r.IntN(9)), c.id, c.generation, c.instance
	if c.epoch != 0 {
		generation = c.epoch
		if !s.chance(6) {
			version = max(version, 9)
		}
	}
	switch s.r.IntN(6) {
	case 0:
		id, generation, instance = twin[string]{}, -1, nil
	case 1:
		generation += pick(s, int32(-1), 1, -2, -100)
	case 2:
		id = pick(s, twin[string]{}, stranger, pick(s, s.slots...).id)
	case 3:
		instance = pick(s, nil, new("i0"), new("other"))
	}
	if version < 7 {
		instance = nil
	}
	retention := int64(-1)
	if version < 5 && s.chance(4) {
		retention = 86400000
	}
	var topics []kmsg.OffsetCommitRequestTopic
	for range 1 + s.r.IntN(3) {
		t := pick(s, s.p.topics...)
		if s.chance(12) {
			t = missing
		}
		if slices.ContainsFunc(topics, func(o kmsg.OffsetCommitRequestTopic) bool { return o.Topic == t.name }) {
			continue
		}
		to := kmsg.OffsetCommitRequestTopic{Topic: t.name, TopicID: t.id}
		for partition := range t.partitions {
			if s.chance(2) {
				to.Partitions = append(to.Partitions, s.offset(partition))
			}
		}
		if s.chance(20) {
			to.Partitions = append(to.Partitions, s.offset(pick(s, int32(-1), 1000)))
		}
		topics = append(topics, to)
	}
	q := perSide(version, func(side int) kmsg.Request {
		q := kmsg.NewPtrOffsetCommitRequest()
		q.Group, q.MemberID, q.InstanceID, q.Generation, q.RetentionTimeMillis, q.Topics = s.group, id[side], instance, generation, retention, topics
		return q
	})
	_, err := s.ask(c.name, q, nil)
	return err
}

func (s *scenario) offset(partition int32) kmsg.OffsetCommitRequestTopicPartition {
	p := kmsg.NewOffsetCommitRequestTopicPartition()
	p.Partition, p.Offset, p.LeaderEpoch = partition, pick(s, s.r.Int64N(1000), -1, -5, 1<<40), pick(s, int32(-1), 0, 7)
	p.Metadata = pick(s, nil, new(""), new("note"), new("é"))
	if s.chance(15) {
		p.Metadata = new(strings.Repeat(pick(s, "x", "é", "😀"), pick(s, 4096, 4097, 2048, 2049)))
	}
	return p
}

func (s *scenario) fetch(c *differSlot) error {
	version := int16(1 + s.r.IntN(10))
	stable := version >= 7 && s.chance(2)
	names := []kmsg.OffsetFetchRequestTopic{}
	topics := []kmsg.OffsetFetchRequestGroupTopic{}
	for _, t := range append(slices.Clone(s.p.topics), missing) {
		if s.chance(2) {
			names = append(names, kmsg.OffsetFetchRequestTopic{Topic: t.name, Partitions: []int32{0, 1, 2, 5}})
			topics = append(topics, kmsg.OffsetFetchRequestGroupTopic{Topic: t.name, TopicID: t.id, Partitions: []int32{0, 1, 2, 5}})
		}
	}
	if version >= 2 && s.chance(3) { // everything
		names, topics = nil, nil
	}
	groups := []string{s.group}
	if s.chance(4) {
		groups = append(groups, "unknown")
	}
	asMember, epoch := version >= 9 && s.chance(2), c.epoch+pick(s, int32(0), 0, 0, 1, -1)
	q := perSide(version, func(side int) kmsg.Request {
		q := kmsg.NewPtrOffsetFetchRequest()
		q.RequireStable = stable
		if version < 8 {
			q.Group, q.Topics = s.group, names
			return q
		}
		for _, name := range groups {
			g := kmsg.NewOffsetFetchRequestGroup()
			g.Group, g.Topics = name, topics
			if asMember {
				g.MemberID, g.MemberEpoch = &c.id[side], epoch
			}
			q.Groups = append(q.Groups, g)
		}
		return q
	})
	_, err := s.ask(c.name, q, nil)
	return err
}

// admin sends a request of nobody in the group.
func (s *scenario) admin(version int16, q kmsg.Request) error {
	_, err := s.ask("admin", both(version, q), nil)
	return err
}

func (s *scenario) deleteOffsets(*differSlot) error {
	q := kmsg.NewPtrOffsetDeleteRequest()
	q.Group = pick(s, s.group, s.group, s.group, s.group, "unknown", "")
	for _, t := range append(slices.Clone(s.p.topics), missing) {
		if !s.chance(3) {
			continue
		}
		to := kmsg.OffsetDeleteRequestTopic{Topic: t.name}
		for p := range t.partitions + 1 {
			if s.chance(2) {
				to.Partitions = append(to.Partitions, kmsg.OffsetDeleteRequestTopicPartition{Partition: p})
			}
		}
		q.Topics = append(q.Topics, to)
	}
	return s.admin(0, q)
}

func (s *scenario) deleteGroup(*differSlot) error {
	q := kmsg.NewPtrDeleteGroupsRequest()
	q.Groups = pick(s, []string{s.group}, []string{s.group, "unknown"}, []string{"unknown", s.group}, []string{""})
	return s.admin(int16(s.r.IntN(3)), q)
}

func (s *scenario) describe(*differSlot) error {
	groups := pick(s, []string{s.group}, []string{s.group, "unknown"}, []string{})
	q := kmsg.NewPtrDescribeGroupsRequest()
	version := int16(s.r.IntN(7))
	q.Groups, q.IncludeAuthorizedOperations = groups, version >= 3 && s.chance(2)
	if err := s.admin(version, q); err != nil {
		return err
	}
	p := kmsg.NewPtrConsumerGroupDescribeRequest()
	p.Groups, p.IncludeAuthorizedOperations = groups, s.chance(2)
	return s.admin(int16(s.r.IntN(2)), p)
}

func (s *scenario) list(*differSlot) error {
	q := kmsg.NewPtrListGroupsRequest()
	version := int16(s.r.IntN(6))
	if version >= 4 {
		q.StatesFilter = pick(s, nil, []string{"stable"}, []string{"Empty", "Stable"}, []string{"reconciling"}, []string{"PreparingRebalance"}, []string{"unknown"}, []string{"Assigning"})
	}
	if version >= 5 {
		q.TypesFilter = pick(s, nil, []string{"consumer"}, []string{"Classic"}, []string{"share", "consumer"}, []string{"unknown"})
	}
	return s.admin(version, q)
}
