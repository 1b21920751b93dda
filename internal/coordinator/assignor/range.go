package assignor

import "slices"

// ranges cuts each topic into ranges of partitions, one for each subscriber in
// the order of members. The first of them get one partition more if the number
// does not divide. Members whose subscriptions are the same so get the same
// partition numbers of topics that have equally many.
func ranges(members []Member, w *wanted) []Partitions {
	subscribers := make([]int32, len(w.ids))
	for _, of := range w.of {
		for _, topic := range of {
			subscribers[topic]++
		}
	}
	var most int32
	for _, count := range w.counts {
		most = max(most, count)
	}
	numbers := make([]int32, most) // every range is a part of it
	for i := range numbers {
		numbers[i] = int32(i)
	}
	next := make([]int32, len(w.ids))  // partition of each topic
	turns := make([]int32, len(w.ids)) // subscribers of each topic that had theirs
	out := make([]Partitions, len(members))
	var p Partitions
	for m, of := range w.of {
		p = p[:0]
		for _, topic := range of {
			size := w.counts[topic] / subscribers[topic]
			if turns[topic] < w.counts[topic]%subscribers[topic] {
				size++
			}
			turns[topic]++
			if size == 0 {
				continue
			}
			start := next[topic]
			next[topic] += size
			p = append(p, TopicPartitions{w.ids[topic], numbers[start:next[topic]:next[topic]]})
		}
		out[m] = slices.Clone(p) // without room to spare
	}
	return out
}
