// Package nearest finds what somebody probably meant who misspelt a name.
package nearest

import (
	"slices"
	"strings"
)

// Name returns the candidate that word is probably a misspelling of, "" if there is
// none: at most this many letters differ, fewer in short words, or word is how it
// starts.
func Name(word string, candidates []string, most int) string {
	best, least := "", min(most, len(word)/2)+1
	sorted := slices.Sorted(slices.Values(candidates))
	for _, c := range sorted {
		if len(word) > 2 && strings.HasPrefix(c, word) {
			return c
		}
	}
	for _, c := range sorted {
		if d := distance(word, c); d < least {
			best, least = c, d
		}
	}
	return best
}

// distance is how many bytes must be added, dropped or replaced to turn a into
// b, where two neighbours in the wrong order count as one.
func distance(a, b string) int {
	var before, last []int
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before, last, row = last, row, make([]int, len(b)+1)
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(last[j+1]+1, row[j]+1, last[j]+cost)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
	}
	return row[len(b)]
}
