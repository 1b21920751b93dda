package assignor

// uniform gives all members the same number of partitions, as far as their
// subscriptions allow.
func uniform(members []Member, w *wanted) []Partitions {
	t := newTable(members, w)
	if w.same {
		t.even()
	} else {
		newMixer(t).mix()
	}
	return t.assignments()
}

// even spreads the partitions over members that all want all topics: a quota is
// theirs, and those left over go to one member each. As few as possible move.
func (t *table) even() {
	if len(t.members) == 0 {
		return
	}
	quota, extra := len(t.owner)/len(t.members), len(t.owner)%len(t.members)
	var free []int
	for n, m := range t.owner {
		if m == none {
			free = append(free, n)
		}
	}
	missing := make([]int, len(t.members))
	for m := range t.members {
		due := quota
		// One more is for those who have it already. When the members to come are
		// no more than what is left over, each of them gets one.
		if extra > 0 && (t.load[m] > quota || len(t.members)-m <= extra) {
			due++
			extra--
		}
		missing[m] = due - t.load[m]
		if missing[m] < 0 {
			free = t.keep(m, due, free)
		}
	}
	for m, k := range missing {
		if k <= 0 {
			continue
		}
		for _, n := range free[:k] {
			t.give(n, int32(m))
		}
		free = free[k:]
	}
}

// keep leaves a member the first few of its partitions and appends the others to
// free.
func (t *table) keep(m, few int, free []int) []int {
	for n := range t.owned(m) {
		switch {
		case n == none || t.owner[n] != int32(m):
		case few > 0:
			few--
		default:
			t.take(n)
			free = append(free, n)
		}
	}
	return free
}
