package assignor

import (
	"iter"
	"slices"
)

// none owns a partition that no member has.
const none = -1

// A table says who owns each partition of the wanted topics. The partitions of
// all topics are numbered in one row, topic after topic.
type table struct {
	*wanted
	members []Member
	first   []int   // by topic: the number of its first partition
	owner   []int32 // by number: member, or none
	load    []int   // by member: how many it owns
	changed []bool  // by member: it owns others than before
}

// newTable returns the table of what members own of what they want.
func newTable(members []Member, w *wanted) *table {
	t := &table{
		wanted:  w,
		members: members,
		first:   make([]int, len(w.ids)),
		load:    make([]int, len(members)),
		changed: make([]bool, len(members)),
	}
	total := 0
	for topic, count := range w.counts {
		t.first[topic] = total
		total += int(count)
	}
	t.owner = make([]int32, total)
	for n := range t.owner {
		t.owner[n] = none
	}
	for m := range members {
		for n := range t.owned(m) {
			if n == none || t.owner[n] != none {
				t.changed[m] = true
				continue
			}
			t.owner[n] = int32(m)
			t.load[m]++
		}
	}
	return t
}

// owned yields the numbers of the partitions that a member had at first, none for
// one that it has to give up.
func (t *table) owned(m int) iter.Seq[int] {
	return func(yield func(int) bool) {
		for _, o := range t.members[m].Owned {
			topic, ok := slices.BinarySearchFunc(t.ids, o.Topic, compareIDs)
			if ok && !t.same {
				_, ok = slices.BinarySearch(t.of[m], int32(topic))
			}
			for _, partition := range o.Partitions {
				n := none
				if ok && partition >= 0 && partition < t.counts[topic] {
					n = t.first[topic] + int(partition)
				}
				if !yield(n) {
					return
				}
			}
		}
	}
}

// owners returns the owner of each partition of a topic.
func (t *table) owners(topic int) []int32 {
	return t.owner[t.first[topic]:][:t.counts[topic]]
}

// give makes a member the owner of a partition.
func (t *table) give(n int, m int32) {
	t.take(n)
	t.owner[n] = m
	t.load[m]++
	t.changed[m] = true
}

// take takes a partition away from its owner, if it has one.
func (t *table) take(n int) {
	m := t.owner[n]
	if m == none {
		return
	}
	t.owner[n] = none
	t.load[m]--
	t.changed[m] = true
}

// assignments returns what each member owns now.
func (t *table) assignments() []Partitions {
	out := make([]Partitions, len(t.members))
	numbers := make([][]int32, len(t.members))
	topics := t.topicsOwned()
	for m := range out {
		switch {
		case !t.changed[m]:
			out[m] = t.members[m].Owned
		case t.load[m] > 0: // of the size that it needs, since it lives long
			out[m] = make(Partitions, 0, topics[m])
			numbers[m] = make([]int32, 0, t.load[m])
		}
	}
	start := make([]int, len(t.members)) // of the topic's partitions in numbers
	for topic, id := range t.ids {
		for partition, m := range t.owners(topic) {
			if m == none || !t.changed[m] {
				continue
			}
			if last := len(out[m]) - 1; last < 0 || out[m][last].Topic != id {
				out[m] = append(out[m], TopicPartitions{Topic: id})
				start[m] = len(numbers[m])
			}
			numbers[m] = append(numbers[m], int32(partition))
			end := len(numbers[m])
			out[m][len(out[m])-1].Partitions = numbers[m][start[m]:end:end]
		}
	}
	return out
}

// topicsOwned returns of how many topics each member owns partitions.
func (t *table) topicsOwned() []int {
	topics := make([]int, len(t.members))
	latest := make([]int, len(t.members)) // topic, counted from 1
	for topic := range t.ids {
		for _, m := range t.owners(topic) {
			if m != none && latest[m] != topic+1 {
				latest[m] = topic + 1
				topics[m]++
			}
		}
	}
	return topics
}
