// Package assignor computes which member of a consumer group gets which
// partitions, with the two assignors that a Kafka broker has for the groups of
// KIP-848, and the hash by which a group notices that its topics have changed.
//
//	uniform  gives every member the same number of partitions, or one more, and
//	         takes away only what that demands
//	range    cuts each topic into ranges, one for each of its subscribers in
//	         their order, whatever they had before
//
// An assignor is a pure function. It gives exactly what Kafka's gives, with one
// reservation. Kafka keeps members and topics in hash tables, and where members
// have equal claims its uniform assignor takes them as the tables yield them: by
// hash codes, and by how the table grew. Here members have the order of the range
// assignor and topics that of their ids. So:
//
//   - Range is the same as Kafka's in every case.
//   - Uniform, all members subscribed to the same topics: what each member gets is
//     what Kafka's would give it if it met members and topics in this order. In any
//     order the sizes of the assignments are the same and as few partitions move as
//     can be, so members lose and gain as many in Kafka as here.
//   - Uniform, subscriptions that differ: again the same for the same order, which is
//     of members only. In another order loads may differ, and so may moves, since
//     Kafka's algorithm looks for a good balance, not for the best.
//
// Racks decide nothing: neither assignor of Kafka 4.4 looks at those of members or
// of replicas. They are part of the hash alone.
//
// Source: Kafka 4.4.0, org.apache.kafka.coordinator.group.assignor, Utils.java.
package assignor

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"kf/internal/javafmt"
	"kf/internal/wire"
)

// ErrUnknownTopic says that a member is subscribed to a topic that there is not.
var ErrUnknownTopic = errors.New("members are subscribed to a topic that does not exist")

// A Member is a member of a group: what it wants and what it has.
type Member struct {
	ID       string
	Instance *string     // group.instance.id, nil if the member is dynamic
	Topics   []wire.UUID // that it is subscribed to, sorted by their bytes, each once
	Owned    Partitions  // its assignment so far
}

// A Spec is a group for which an assignment is wanted.
type Spec struct {
	Members []Member // in any order; no two have the same ID
	// Homogeneous says that all members have the same Topics, so that those of one
	// are enough. Kafka decides it from the names and expressions that members
	// are subscribed to, and uniform has an algorithm for each case.
	Homogeneous bool
}

// Topics knows the topics of the cluster.
type Topics interface {
	// Partitions returns the number of partitions of a topic, -1 if there is no
	// such topic.
	Partitions(id wire.UUID) int32
}

// An Assignor computes assignments. It keeps no state.
type Assignor interface {
	// Name is that by which members ask for the assignor.
	Name() string
	// Assign returns the assignment of each of spec.Members, by its index. It is
	// the member's Owned, not a copy, where that does not change. A topic that a
	// member owns but does not want, a partition that its topic has not, and one
	// that an earlier member owns too, are taken away. Assign fails with
	// ErrUnknownTopic. It changes nothing of spec; what it returns shares memory
	// with it and with itself, and must not be changed either.
	//
	// Time and memory grow with the members, the partitions, and the
	// subscriptions, of which members that have the same slice count once.
	Assign(spec Spec, topics Topics) ([]Partitions, error)
}

// Uniform returns the assignor "uniform", the first of those that
// group.consumer.assignors has by default.
func Uniform() Assignor { return &uniformAssignor }

// Range returns the assignor "range".
func Range() Assignor { return &rangeAssignor }

// An assignor is a name and a function: of members in their order and what they
// want.
type assignor struct {
	name   string
	assign func(members []Member, w *wanted) []Partitions
}

var (
	uniformAssignor = assignor{"uniform", uniform}
	rangeAssignor   = assignor{"range", ranges}
)

func (a *assignor) Name() string { return a.name }

func (a *assignor) Assign(spec Spec, topics Topics) ([]Partitions, error) {
	order := ranked(spec.Members)
	members := make([]Member, len(order))
	for rank, i := range order {
		members[rank] = spec.Members[i]
	}
	w, err := resolve(members, spec.Homogeneous, topics)
	if err != nil {
		return nil, err
	}
	out := make([]Partitions, len(members))
	for rank, p := range a.assign(members, w) {
		if owned := members[rank].Owned; p.Equal(owned) {
			p = owned
		}
		out[order[rank]] = p
	}
	return out, nil
}

// ranked returns the indices of members in the order of Kafka's range assignor:
// static members by their instance, then the others by their id.
func ranked(members []Member) []int {
	order := make([]int, len(members))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int {
		a, b := &members[i], &members[j]
		switch {
		case a.Instance != nil && b.Instance != nil:
			return cmp.Or(javafmt.Compare(*a.Instance, *b.Instance), javafmt.Compare(a.ID, b.ID))
		case a.Instance != nil:
			return -1
		case b.Instance != nil:
			return 1
		}
		return javafmt.Compare(a.ID, b.ID)
	})
	return order
}

// wanted are the topics that members are subscribed to, numbered by rising id.
type wanted struct {
	same   bool // by all members
	ids    []wire.UUID
	counts []int32   // of partitions
	of     [][]int32 // by member: the numbers of its topics, rising
}

// resolve numbers the topics of members.
func resolve(members []Member, same bool, topics Topics) (*wanted, error) {
	w := &wanted{same: same, of: make([][]int32, len(members))}
	type list struct {
		first *wire.UUID
		len   int
	}
	lists := make(map[list][]int32)
	numbers := make(map[wire.UUID]int32)
	for m := range members {
		ids := members[m].Topics
		switch {
		case same && m > 0:
			w.of[m] = w.of[0]
			continue
		case len(ids) == 0:
			continue
		}
		key := list{&ids[0], len(ids)}
		of, ok := lists[key]
		if !ok {
			of = make([]int32, len(ids))
			guess := int32(0) // most lists go on like one before
			for i, id := range ids {
				n, ok := guess, int(guess) < len(w.ids) && w.ids[guess] == id
				if !ok {
					n, ok = numbers[id]
				}
				if !ok {
					count := topics.Partitions(id)
					if count < 0 {
						return nil, fmt.Errorf("%w: %v", ErrUnknownTopic, id)
					}
					n = int32(len(w.ids))
					numbers[id] = n
					w.ids, w.counts = append(w.ids, id), append(w.counts, count)
				}
				of[i] = n
				guess = n + 1
			}
			lists[key] = of
		}
		w.of[m] = of
	}
	if !slices.IsSortedFunc(w.ids, compareIDs) {
		renumbered := w.sort()
		for _, of := range lists {
			for i, n := range of {
				of[i] = renumbered[n]
			}
		}
	}
	return w, nil
}

// sort sorts the topics by id and returns their new numbers by their old ones.
func (w *wanted) sort() []int32 {
	order := make([]int32, len(w.ids))
	for n := range order {
		order[n] = int32(n)
	}
	slices.SortFunc(order, func(a, b int32) int { return compareIDs(w.ids[a], w.ids[b]) })
	renumbered := make([]int32, len(order))
	ids, counts := make([]wire.UUID, len(order)), make([]int32, len(order))
	for n, old := range order {
		renumbered[old] = int32(n)
		ids[n], counts[n] = w.ids[old], w.counts[old]
	}
	w.ids, w.counts = ids, counts
	return renumbered
}
