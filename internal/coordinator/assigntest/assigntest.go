// Package assigntest is for tests of assignors: random consumer groups that live
// for a while, and a judge of the assignments they get.
package assigntest

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"kf/internal/coordinator/assignor"
	"kf/internal/wire"
)

// Topics are the partition counts of topics.
type Topics map[wire.UUID]int32

// Partitions returns the number of partitions of a topic, -1 if there is none.
func (t Topics) Partitions(id wire.UUID) int32 {
	if n, ok := t[id]; ok {
		return n
	}
	return -1
}

// Options say what a group is like.
type Options struct {
	Members    int   // that it has at first
	Topics     int   // names that members may subscribe to
	Partitions int32 // that a topic has at most
	Mixed      bool  // subscriptions differ
	// ID returns a new id for the topic of the nth name, by default a random one.
	ID func(r *rand.Rand, name int) wire.UUID
}

// A Group is a group and the cluster that it is in.
type Group struct {
	Topics Topics

	options Options
	r       *rand.Rand
	ids     []wire.UUID // by name, zero for a topic that there is not
	members []member
	wanted  []bool // by name, unless subscriptions differ
}

type member struct {
	assignor.Member
	wanted []bool // by name
}

// New returns a random group, whose members have nothing yet.
func New(r *rand.Rand, options Options) *Group {
	if options.ID == nil {
		options.ID = func(r *rand.Rand, name int) wire.UUID { return RandomID(r) }
	}
	g := &Group{Topics: Topics{}, options: options, r: r, ids: make([]wire.UUID, options.Topics)}
	for name := range g.ids {
		if r.IntN(10) > 0 {
			g.create(name)
		}
	}
	g.wanted = g.wish()
	for range options.Members {
		g.join()
	}
	return g
}

// RandomID returns the id of a topic.
func RandomID(r *rand.Rand) wire.UUID {
	var id wire.UUID
	for i := range id {
		id[i] = byte(r.Uint32())
	}
	return id
}

// Spec returns the group as assignors see it, its members in random order.
func (g *Group) Spec() assignor.Spec {
	spec := assignor.Spec{Homogeneous: !g.options.Mixed, Members: make([]assignor.Member, len(g.members))}
	shared := g.r.IntN(2) == 0
	var latest []wire.UUID
	for i, at := range g.r.Perm(len(g.members)) {
		m := &spec.Members[at]
		*m = g.members[i].Member
		m.Topics = g.subscription(g.members[i].wanted)
		if shared && slices.Equal(m.Topics, latest) {
			m.Topics = latest
		}
		latest = m.Topics
	}
	return spec
}

// Take makes out, the assignments of spec's members, what the members have.
func (g *Group) Take(spec assignor.Spec, out []assignor.Partitions) {
	owned := make(map[string]assignor.Partitions)
	for i, m := range spec.Members {
		owned[m.ID] = out[i]
	}
	for i := range g.members {
		g.members[i].Owned = owned[g.members[i].ID]
	}
}

// Step changes something, and says what.
func (g *Group) Step() string {
	r := g.r
	switch n := len(g.members); r.IntN(10) {
	case 0, 1:
		joining := 1 + r.IntN(1+n/3)
		for range joining {
			g.join()
		}
		return fmt.Sprint(joining, " join")
	case 2, 3:
		leaving := min(n, 1+r.IntN(1+n/3))
		for range leaving {
			i := r.IntN(len(g.members))
			g.members = slices.Delete(g.members, i, i+1)
		}
		return fmt.Sprint(leaving, " leave")
	case 4, 5:
		for id := range g.Topics {
			if r.IntN(3) == 0 && g.Topics[id] < g.options.Partitions {
				g.Topics[id] += 1 + r.Int32N(g.options.Partitions-g.Topics[id])
			}
		}
		return "topics grow"
	case 6:
		if len(g.ids) == 0 {
			return "no topic"
		}
		name := r.IntN(len(g.ids))
		if exists := !g.ids[name].IsZero(); exists {
			g.delete(name)
			if r.IntN(2) == 0 {
				return "a topic is deleted"
			}
		}
		g.create(name)
		return "a topic is created"
	case 7:
		g.wanted = g.wish()
		for i := range g.members {
			if !g.options.Mixed {
				g.members[i].wanted = g.wanted
			} else if r.IntN(3) == 0 {
				g.members[i].wanted = g.wish()
			}
		}
		return "subscriptions change"
	case 8:
		for i := range g.members {
			if g.members[i].Instance != nil && r.IntN(2) == 0 {
				g.members[i].ID = g.name()
			}
		}
		return "static members restart"
	}
	return "nothing changes"
}

func (g *Group) create(name int) {
	id := g.options.ID(g.r, name)
	g.ids[name] = id
	g.Topics[id] = 1 + g.r.Int32N(g.options.Partitions)
}

func (g *Group) delete(name int) {
	delete(g.Topics, g.ids[name])
	g.ids[name] = wire.UUID{}
}

func (g *Group) join() {
	m := member{Member: assignor.Member{ID: g.name()}, wanted: g.wanted}
	if g.r.IntN(3) == 0 {
		m.Instance = new(g.name())
	}
	if g.options.Mixed {
		m.wanted = g.wish()
	}
	g.members = append(g.members, m)
}

// wish returns names that someone may subscribe to.
func (g *Group) wish() []bool {
	wanted := make([]bool, len(g.ids))
	likely := g.r.IntN(4) // at 0, none
	for name := range wanted {
		wanted[name] = g.r.IntN(4) < likely || likely == 3
	}
	return wanted
}

// subscription returns the ids of the topics that exist.
func (g *Group) subscription(wanted []bool) []wire.UUID {
	var ids []wire.UUID
	for name, id := range g.ids {
		if wanted[name] && !id.IsZero() {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, compare)
	return ids
}

// name returns the id of a member or an instance, which no other has. Some are of
// characters that UTF-8 and UTF-16 sort differently.
func (g *Group) name() string {
	runes := []rune("aZ~é中\ue000\uffff\U00010000\U0010ffff")
	name := make([]rune, 1+g.r.IntN(3))
	for i := range name {
		name[i] = runes[g.r.IntN(len(runes))]
	}
	return fmt.Sprintf("%s%08x", string(name), g.r.Uint32())
}

// Chain returns a group of n members, of which each shares a topic with the next.
// The first has too much, which has to move on from member to member while topics
// have their turn against that direction, so that it takes many rounds.
func Chain(n int) (assignor.Spec, Topics) {
	const partitions = 100
	topics := Topics{}
	spec := assignor.Spec{Members: make([]assignor.Member, n)}
	own := func(m int, topic wire.UUID) {
		topics[topic] = partitions
		owned := assignor.TopicPartitions{Topic: topic}
		for partition := range int32(partitions) {
			owned.Partitions = append(owned.Partitions, partition)
		}
		spec.Members[m].Owned = append(spec.Members[m].Owned, owned)
	}
	shared := func(m int) wire.UUID { return wire.UUID{1, byte(n - m)} } // with the next
	alone := wire.UUID{2}
	for m := range spec.Members {
		of := &spec.Members[m]
		of.ID = fmt.Sprintf("%03d", m)
		if m < n-1 {
			of.Topics = append(of.Topics, shared(m))
			own(m, shared(m))
		}
		if m > 0 {
			of.Topics = append(of.Topics, shared(m-1))
		}
	}
	spec.Members[0].Topics = append(spec.Members[0].Topics, alone)
	own(0, alone)
	return spec, topics
}
