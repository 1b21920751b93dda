package assignor

import "slices"

// A balancer goes through the subscribers of a topic from both ends: the least
// loaded, who are to get a partition, and the most loaded, who are to lose one.
// They are sorted once; then the members that are level at an end are a range, which
// takes in the next ones as the end moves over their load.
type balancer struct {
	load []int // by member; the caller changes it as partitions move

	keys    []uint64
	members []int32 // sorted by load and member

	// The low range is members[:lowEnd], and once lowNext has gone through it each
	// has lowLoad partitions, one more than when it started.
	lowEnd, lowNext, lowLoad int
	// The high range is members[highStart:highEnd], gone through downwards: those
	// above highEnd have no partition to give. Each will have highLoad-1.
	highStart, highEnd, highNext, highLoad int
}

// spread returns by how much the loads of members differ, of which there is one at
// least.
func (b *balancer) spread(members []int32) int {
	low, high := b.load[members[0]], b.load[members[0]]
	for _, m := range members {
		low, high = min(low, b.load[m]), max(high, b.load[m])
	}
	return high - low
}

// reset starts anew, with other members. There is one at least, and they rise.
func (b *balancer) reset(members []int32) {
	b.keys, b.members = b.keys[:0], b.members[:0]
	for _, m := range members {
		b.keys = append(b.keys, uint64(b.load[m])<<32|uint64(m))
	}
	slices.Sort(b.keys)
	for _, key := range b.keys {
		b.members = append(b.members, int32(key))
	}
	n := len(members)
	b.lowEnd, b.lowNext, b.lowLoad = 0, 0, b.load[b.members[0]]-1
	b.highStart, b.highEnd, b.highNext, b.highLoad = n, n, n-1, b.load[b.members[n-1]]+1
}

// nextLow returns the member that is to get the next partition.
func (b *balancer) nextLow() int32 {
	if b.lowNext == b.lowEnd {
		b.lowLoad++
		for b.lowEnd < len(b.members) && b.load[b.members[b.lowEnd]] == b.lowLoad {
			b.lowEnd++
		}
		b.lowNext = 0
	}
	m := b.members[b.lowNext]
	b.lowNext++
	return m
}

// nextHigh returns the member that is to lose the next partition, none if all are
// excluded.
func (b *balancer) nextHigh() int32 {
	if b.highNext < b.highStart {
		if b.highStart == b.highEnd && b.highStart > 0 {
			b.highLoad = b.load[b.members[b.highStart-1]]
		} else {
			b.highLoad--
		}
		for b.highStart > 0 && b.load[b.members[b.highStart-1]] == b.highLoad {
			b.highStart--
		}
		b.highNext = b.highEnd - 1
	}
	if b.highNext < 0 {
		return none
	}
	m := b.members[b.highNext]
	b.highNext--
	return m
}

// exclude takes the member that nextHigh returned last out of the high range.
func (b *balancer) exclude() {
	b.highEnd--
	m := b.members
	m[b.highNext+1], m[b.highEnd] = m[b.highEnd], m[b.highNext+1]
}

// even reports whether the ends have met: no move would bring the loads closer.
func (b *balancer) even() bool { return b.highLoad-b.lowLoad <= 1 }
