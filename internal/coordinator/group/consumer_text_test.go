package group

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"kf/internal/coordinator/assignor"
	"kf/internal/format/grouprec"
	"kf/internal/wire"
)

// What consumer groups and their records are, in words.

// recordText returns a record of a consumer group in short: its type, with - before
// it for a tombstone, the member, and what it says.
func recordText(r grouprec.Record) string {
	switch key := r.Key.(type) {
	case *grouprec.ConsumerGroupMetadataKey:
		if v := valueOf[grouprec.ConsumerGroupMetadataValue](r); v != nil {
			return fmt.Sprintf("3 epoch=%d topics=%v", v.Epoch, v.MetadataHash != 0)
		}
		return "-3"
	case *grouprec.ConsumerGroupPartitionMetadataKey:
		if r.Value == nil {
			return "-4"
		}
		return "4"
	case *grouprec.ConsumerGroupMemberMetadataKey:
		if v := valueOf[grouprec.ConsumerGroupMemberMetadataValue](r); v != nil {
			return "5 " + key.MemberID + metadataText(v)
		}
		return "-5 " + key.MemberID
	case *grouprec.ConsumerGroupTargetAssignmentMetadataKey:
		if v := valueOf[grouprec.ConsumerGroupTargetAssignmentMetadataValue](r); v != nil {
			return fmt.Sprintf("6 epoch=%d timed=%v", v.AssignmentEpoch, v.AssignmentTimestamp != 0)
		}
		return "-6"
	case *grouprec.ConsumerGroupTargetAssignmentMemberKey:
		if v := valueOf[grouprec.ConsumerGroupTargetAssignmentMemberValue](r); v != nil {
			return strings.TrimSpace("7 " + key.MemberID + " " + targetText(recordedTarget(v.TopicPartitions)))
		}
		return "-7 " + key.MemberID
	case *grouprec.ConsumerGroupCurrentMemberAssignmentKey:
		if v := valueOf[grouprec.ConsumerGroupCurrentMemberAssignmentValue](r); v != nil {
			return "8 " + key.MemberID + " " + currentText(v)
		}
		return "-8 " + key.MemberID
	case *grouprec.ConsumerGroupRegularExpressionKey:
		if v := valueOf[grouprec.ConsumerGroupRegularExpressionValue](r); v != nil {
			return fmt.Sprintf("16 %s %v", key.RegularExpression, v.Topics)
		}
		return "-16 " + key.RegularExpression
	case *grouprec.GroupMetadataKey:
		if v := valueOf[grouprec.GroupMetadataValue](r); v != nil {
			var ids []string
			for _, m := range v.Members {
				a, _, _ := grouprec.DecodeAssignment(m.Assignment)
				of := make(map[string][]int32)
				for _, p := range a.AssignedPartitions {
					of[p.Topic] = p.Partitions
				}
				ids = append(ids, strings.TrimSpace(m.MemberID+" "+partitionsText(of)))
			}
			return fmt.Sprintf("2 generation=%d %q", v.Generation, ids)
		}
		return "-2"
	}
	return fmt.Sprintf("%T", r.Key)
}

func metadataText(v *grouprec.ConsumerGroupMemberMetadataValue) string {
	var b strings.Builder
	fmt.Fprintf(&b, " %v", v.SubscribedTopicNames)
	add := func(name string, value *string) {
		if value != nil {
			fmt.Fprintf(&b, " %s=%s", name, *value)
		}
	}
	if v.SubscribedTopicRegex != nil && *v.SubscribedTopicRegex != "" {
		add("regex", v.SubscribedTopicRegex)
	}
	add("instance", v.InstanceID)
	add("rack", v.RackID)
	add("assignor", v.ServerAssignor)
	if c := v.ClassicMemberMetadata; c != nil {
		b.WriteString(" classic=")
		for i, p := range c.SupportedProtocols {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString(p.Name)
		}
	}
	return b.String()
}

func currentText(v *grouprec.ConsumerGroupCurrentMemberAssignmentValue) string {
	m := newConsumerMember("").withCurrent(v)
	state := map[memberState]string{stable: "stable", unrevoked: "unrevoked", unreleased: "unreleased", unknown: "unknown"}[m.state]
	s := fmt.Sprintf("%d<-%d %s", m.epoch, m.previous, state)
	if len(m.assigned) > 0 {
		s += " has " + ownershipText(m.assigned)
	}
	if len(m.revoking) > 0 {
		s += " revokes " + ownershipText(m.revoking)
	}
	return s
}

func ownershipText(o ownership) string {
	var of []string
	for _, t := range o {
		s := topicName(t.topic) + ":"
		for i, p := range t.partitions {
			if i > 0 {
				s += ","
			}
			s += fmt.Sprintf("%d@%d", p, t.epochs[i])
		}
		of = append(of, s)
	}
	slices.Sort(of)
	return strings.Join(of, " ")
}

func targetText(p assignor.Partitions) string {
	of := make(map[string][]int32)
	for topic, partition := range p.All() {
		of[topicName(topic)] = append(of[topicName(topic)], partition)
	}
	return partitionsText(of)
}

// wrote returns the records of groups that were written since it was asked last, a
// line each.
func (b *bench) wrote() string {
	b.t.Helper()
	synctest.Wait()
	var lines []string
	for _, r := range b.log.records(b.t, b.read) {
		lines = append(lines, recordText(r))
	}
	b.read = b.log.HighWatermark()
	return strings.Join(lines, "\n")
}

func (b *bench) expectWrote(want string) {
	b.t.Helper()
	want = strings.ReplaceAll(strings.TrimSpace(want), "\t", "")
	if got := b.wrote(); got != want {
		b.t.Errorf("wrote:\n%s\nwant:\n%s", got, want)
	}
}

// groupText returns everything that a consumer group is.
func groupText(g *consumerGroup) string {
	var b bytes.Buffer
	fmt.Fprintf(&b, "epoch %d, hash %d, assignment %d at %d, described %v, classic %d\n", g.epoch, g.hash, g.targetedIn, g.targetedAt, g.described, g.classic)
	for _, id := range slices.Sorted(maps.Keys(g.members)) {
		m := g.members[id]
		fmt.Fprintf(&b, "member %s%s %s %s %d; %s\n", id, metadataText(m.metadata()), m.clientID, m.clientHost, m.rebalanceTimeout, currentText(m.current()))
	}
	for _, id := range slices.Sorted(maps.Keys(g.targets)) {
		fmt.Fprintf(&b, "target %s %s\n", id, targetText(g.targets[id]))
	}
	for _, p := range slices.Sorted(maps.Keys(g.resolved)) {
		fmt.Fprintf(&b, "resolved %s %v %d %d\n", p, g.resolved[p].topics, g.resolved[p].version, g.resolved[p].at)
	}
	owners := make(map[string]string)
	for tp, id := range g.owners {
		owners[fmt.Sprintf("%s-%d", topicName(tp.topic), tp.partition)] = id
	}
	fmt.Fprintf(&b, "statics %v\nowners %v\ntopics %v\npatterns %v\nvotes %v\nprotocols %v\n", g.statics, owners, g.topics, g.patterns, g.votes, g.protocols)
	return b.String()
}

// consumer calls f with a consumer group.
func (b *bench) consumer(id string, f func(g *consumerGroup)) {
	b.t.Helper()
	b.in(func(m *machine) {
		g, ok := m.groups[id].(*consumerGroup)
		if !ok {
			b.t.Errorf("%s is a %T", id, m.groups[id])
			return
		}
		f(g)
	})
}

// consumerText returns everything that a consumer group is.
func (b *bench) consumerText(id string) (text string) {
	b.t.Helper()
	b.consumer(id, func(g *consumerGroup) { text = groupText(g) })
	return text
}

// size returns the number of members of a consumer group.
func (b *bench) size(id string) (n int) {
	b.t.Helper()
	b.consumer(id, func(g *consumerGroup) { n = len(g.members) })
	return n
}

// expectReplay lets another coordinator take over, and compares its consumer groups
// with those that there were.
func (b *bench) expectReplay() {
	b.t.Helper()
	texts := func() (all string) {
		b.in(func(m *machine) {
			for _, id := range slices.Sorted(maps.Keys(m.groups)) {
				if g, ok := m.groups[id].(*consumerGroup); ok {
					all += id + "\n" + groupText(g)
				} else {
					all += id + " is " + m.groups[id].kind().String() + "\n"
				}
			}
			for _, topic := range slices.Sorted(maps.Keys(m.byTopic)) {
				all += fmt.Sprintf("%s is of %v\n", topic, slices.Sorted(maps.Keys(m.byTopic[topic])))
			}
		})
		return all
	}
	before := texts()
	b.restart()
	if after := texts(); after != before {
		b.t.Errorf("before:\n%s\nreplayed:\n%s", before, after)
	}
}

// TestOwnership compares ownerships with sets of partitions that have epochs.
func TestOwnership(t *testing.T) {
	id := func(n byte) (u wire.UUID) { u[3] = n; return u }
	of := func(entries ...[3]int32) []grouprec.AssignedPartitions {
		var v []grouprec.AssignedPartitions
		for _, e := range entries {
			v = append(v, grouprec.AssignedPartitions{TopicID: id(byte(e[0])), Partitions: []int32{e[1]}, AssignmentEpochs: []int32{e[2]}})
		}
		return v
	}
	o := recordedOwnership([]grouprec.AssignedPartitions{
		{TopicID: id(2), Partitions: []int32{5, 1, 3, 1}, AssignmentEpochs: []int32{7, 8, 9, 4}},
		{TopicID: id(1), Partitions: []int32{0, 1}},
		{TopicID: id(9)},
		{TopicID: id(3), Partitions: []int32{4}, AssignmentEpochs: []int32{1, 2}},
		{TopicID: id(3), Partitions: []int32{6}, AssignmentEpochs: []int32{2}},
	}, 3)
	want := ownership{{id(1), []int32{0, 1}, []int32{3, 3}}, {id(2), []int32{1, 3, 5}, []int32{4, 9, 7}}, {id(3), []int32{6}, []int32{2}}}
	if !o.equal(want) {
		t.Errorf("read %v, want %v", o, want)
	}
	if back := recordedOwnership(o.record(), 0); !back.equal(want) {
		t.Errorf("read again: %v", back)
	}
	if away := recordedOwnership(of([3]int32{1, 0, 4})[:1], epochAway); !away.equal(ownership{{id(1), []int32{0}, []int32{4}}}) {
		t.Errorf("with epochs, of a member that is away: %v", away)
	}
	if none := recordedOwnership([]grouprec.AssignedPartitions{{TopicID: id(1), Partitions: []int32{0}}}, epochAway); !none.equal(ownership{{id(1), []int32{0}, []int32{0}}}) {
		t.Errorf("without epochs, of a member that is away: %v", none)
	}
	u := recordedOwnership(of([3]int32{1, 1, 8}, [3]int32{4, 0, 8}), 0).union(o)
	if want := (ownership{{id(1), []int32{0, 1}, []int32{3, 8}}, o[1], o[2], {id(4), []int32{0}, []int32{8}}}); !u.equal(want) {
		t.Errorf("union %v, want %v", u, want)
	}
	if _, ok := o.epoch(id(2), 2); ok {
		t.Error("partition 2 of topic 2 is nobody's")
	}
	if e, ok := o.epoch(id(2), 3); !ok || e != 9 {
		t.Errorf("partition 3 of topic 2 since %d, %v", e, ok)
	}
}
