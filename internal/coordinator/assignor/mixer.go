package assignor

import (
	"cmp"
	"slices"
)

// A mixer spreads partitions over members whose subscriptions differ.
//
// What no one owns goes to the least loaded of the topic's subscribers. Then, one
// topic at a time, the most loaded subscribers hand over partitions of that topic to
// the least loaded ones, for as long as they differ by more than one. That changes
// the loads of other topics' subscribers, so it is done in rounds, until one changes
// nothing or there were maxRounds.
type mixer struct {
	*table
	subscribers [][]int32 // by topic: the members that want it, rising
	topics      []int     // in the order in which they have their turn
	balancer    balancer
	// Of the topic that is being balanced: its partitions sorted by owner, and where
	// in them those of each subscriber start and end.
	byOwner    []int32
	start, end []int
}

// maxRounds is how often the mixer goes over all topics at most.
const maxRounds = 16

func newMixer(t *table) *mixer {
	x := &mixer{
		table:       t,
		subscribers: make([][]int32, len(t.ids)),
		topics:      make([]int, len(t.ids)),
		balancer:    balancer{load: t.load},
		start:       make([]int, len(t.members)),
		end:         make([]int, len(t.members)),
	}
	sizes := make([]int, len(t.ids))
	for _, of := range t.of {
		for _, topic := range of {
			sizes[topic]++
		}
	}
	for topic, size := range sizes {
		x.subscribers[topic] = make([]int32, 0, size)
		x.topics[topic] = topic
	}
	for m, of := range t.of {
		for _, topic := range of {
			x.subscribers[topic] = append(x.subscribers[topic], int32(m))
		}
	}
	// Topics with the most partitions per subscriber come first: when the loads
	// are still far apart, each of them can even out much.
	share := func(topic int) float64 { return float64(t.counts[topic]) / float64(sizes[topic]) }
	slices.SortFunc(x.topics, func(a, b int) int {
		return cmp.Or(
			cmp.Compare(share(b), share(a)),
			cmp.Compare(sizes[a], sizes[b]),
			compareKafkaIDs(t.ids[a], t.ids[b]))
	})
	return x
}

func (x *mixer) mix() {
	for _, topic := range x.topics {
		x.deal(topic)
	}
	last := none // the topic at which something changed last
	for range maxRounds {
		for i, topic := range x.topics {
			if i == last {
				return
			}
			if x.balance(topic) || last == none {
				last = i
			}
		}
	}
}

// deal gives the partitions of a topic that no one owns to the least loaded.
func (x *mixer) deal(topic int) {
	owners := x.owners(topic)
	if !slices.Contains(owners, none) {
		return
	}
	x.balancer.reset(x.subscribers[topic])
	for partition, m := range owners {
		if m == none {
			x.give(x.first[topic]+partition, x.balancer.nextLow())
		}
	}
}

// balance moves partitions of a topic from the most to the least loaded of its
// subscribers. It reports whether any moved.
func (x *mixer) balance(topic int) bool {
	b := &x.balancer
	if b.spread(x.subscribers[topic]) <= 1 {
		return false
	}
	b.reset(x.subscribers[topic])
	x.sortByOwner(topic)
	moved := false
	for !b.even() {
		high := b.nextHigh()
		if high == none {
			break
		}
		if x.end[high] == x.start[high] {
			b.exclude()
			continue
		}
		x.end[high]--
		partition := x.byOwner[x.end[high]]
		low := b.nextLow()
		if b.even() {
			break
		}
		x.give(x.first[topic]+int(partition), low)
		moved = true
	}
	return moved
}

// sortByOwner sorts the partitions of a topic, all of which subscribers own, by
// owner and number.
func (x *mixer) sortByOwner(topic int) {
	owners := x.owners(topic)
	for _, m := range x.subscribers[topic] {
		x.end[m] = 0
	}
	for _, m := range owners {
		x.end[m]++
	}
	total := 0
	for _, m := range x.subscribers[topic] {
		size := x.end[m]
		x.start[m], x.end[m] = total, total
		total += size
	}
	x.byOwner = slices.Grow(x.byOwner[:0], total)[:total]
	for partition, m := range owners {
		x.byOwner[x.end[m]] = int32(partition)
		x.end[m]++
	}
}
