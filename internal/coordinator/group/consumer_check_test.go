package group

import (
	"fmt"
	"slices"
	"testing"

	"kf/internal/coordinator/assignor"
	"kf/internal/wire"
)

// expectSettled looks at a world that came to rest.
func (w *world) expectSettled() {
	t := w.t
	owners := make(map[string]string)
	counts := make(map[string]int)
	inGroup := 0
	for _, c := range w.clients {
		if !w.isMember(c.memberID()) {
			continue // it may not be one: the group is full, of another protocol, or its instance taken
		}
		inGroup++
		for p := range c.uses() {
			if owners[p] != "" {
				t.Errorf("%s and %s use %s", owners[p], c.memberID(), p)
			}
			owners[p] = c.memberID()
			counts[c.memberID()]++
		}
	}
	for _, name := range w.topics {
		wanted := slices.ContainsFunc(w.clients, func(c client) bool { return w.isMember(c.memberID()) && c.wants(name) })
		for i := range w.image.Topic(name).Len() {
			if p := fmt.Sprintf("%s:%d", name, i); (owners[p] != "") != wanted {
				text := ""
				w.in(func(m *machine) {
					if g, ok := m.groups["g"].(*consumerGroup); ok {
						text = groupText(g)
					}
				})
				for _, c := range w.clients {
					text += fmt.Sprintf("%s uses %s\n", c.memberID(), ownText(c.uses()))
				}
				w.fatalf("%s is used by %q, and wanted: %v\n%s", p, owners[p], wanted, text)
			}
		}
	}
	w.in(func(m *machine) {
		switch g := m.groups["g"].(type) {
		case *consumerGroup:
			if len(g.members) != inGroup {
				t.Errorf("%d members, and %d clients that are", len(g.members), inGroup)
			}
			if s := g.state(); inGroup > 0 && s != "Stable" {
				t.Errorf("the group is %s\n%s", s, groupText(g))
			}
			checkBalanced(t, m, g)
		case *classicGroup:
			if s := g.state(); inGroup > 0 && s != "Stable" {
				t.Errorf("the group is %s", s)
			}
		}
	})
	if t.Failed() {
		t.FailNow()
	}
}

// checkBalanced checks that the assignor would leave the target of a group that
// settled as it is, and that members that want the same have the same number of
// partitions, or one more.
func checkBalanced(t testing.TB, m *machine, g *consumerGroup) {
	var spec assignor.Spec
	in := interests{g: g, image: m.image, known: make(map[string][]wire.UUID)}
	ids := g.sortedMembers()
	var counts []int
	for _, id := range ids {
		member := g.members[id]
		spec.Members = append(spec.Members, assignor.Member{ID: id, Instance: member.instance, Topics: in.of(member), Owned: g.targets[id]})
		n := 0
		for range g.targets[id].All() {
			n++
		}
		counts = append(counts, n)
		if !member.assigned.partitions().Equal(g.targets[id]) {
			t.Errorf("%s has %v and shall have %v", id, member.assigned, g.targets[id])
		}
	}
	d := demand{g.topics, g.patterns, len(g.members)}
	spec.Homogeneous = d.homogeneous()
	name := preferred(g.votes, m.o.Config("g").Assignors)
	out, err := assignorNamed(name, m.o.Config("g").Assignors).Assign(spec, topicsOf{m.image})
	if err != nil {
		t.Fatal(err)
	}
	for i, id := range ids {
		if !out[i].Equal(g.targets[id]) {
			t.Errorf("%s is to have %v, and the assignor %s would give it %v", id, g.targets[id], name, out[i])
		}
	}
	if spec.Homogeneous && name == "uniform" && len(counts) > 0 && slices.Max(counts)-slices.Min(counts) > 1 {
		t.Errorf("members that want the same have %v partitions", counts)
	}
}

// checkConsumer checks that a group's counts are those of its members, that no
// partition is in the hands of two of them, and that each will be missed.
func checkConsumer(m *machine, g *consumerGroup) (wrong string) {
	again := newConsumerGroup(g.groupID)
	for pattern, r := range g.resolved {
		again.resolved[pattern] = r
		again.subscribe(r.topics, 0, 1)
		if g.patterns[pattern] == 0 {
			return fmt.Sprintf("%s is resolved, and nobody wants it", pattern)
		}
	}
	for id, member := range g.members {
		for _, o := range []ownership{member.assigned, member.revoking} {
			for tp := range o.all() {
				if owner := again.owners[tp]; owner != "" {
					return fmt.Sprintf("%s and %s have %s-%d", owner, id, topicName(tp.topic), tp.partition)
				}
				again.owners[tp] = id
			}
		}
		again.setMember(nil, member)
		// One that is to be fenced, which could not be written, is tried again by the
		// timer that ran out.
		missed := slices.ContainsFunc([]string{consumerSession, consumerRebalance, consumerJoin, consumerSync}, func(kind string) bool {
			return m.shard.Scheduled(g.timerKey(kind, id))
		})
		switch {
		case !missed:
			return fmt.Sprintf("nobody would miss %s", id)
		case member.classic == nil && len(member.revoking) > 0 && !m.shard.Scheduled(g.timerKey(consumerRebalance, id)):
			return fmt.Sprintf("%s may keep what it has for ever: %s", id, currentText(member.current()))
		case member.epoch > g.targetedIn, g.targetedIn > g.epoch:
			return fmt.Sprintf("epoch %d of %s, assignment epoch %d, group epoch %d", member.epoch, id, g.targetedIn, g.epoch)
		}
	}
	again.epoch, again.hash, again.targetedIn, again.targetedAt, again.described, again.targets = g.epoch, g.hash, g.targetedIn, g.targetedAt, g.described, g.targets
	if got, want := groupText(g), groupText(again); got != want {
		return fmt.Sprintf("the group is\n%s\nits members make\n%s", got, want)
	}
	for id := range g.targets {
		if g.members[id] == nil {
			return fmt.Sprintf("%s shall have something, and is no member", id)
		}
	}
	return ""
}
