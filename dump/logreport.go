package dump

import (
	"cmp"
	"fmt"
	"io"
	"slices"

	"kf/internal/javafmt"
)

// maxPairs bounds how many lines a report keeps for one file: a compacted log
// of any size has a gap for every few records.
const maxPairs = 100_000

// A report collects pairs of numbers for each file.
type report struct {
	paths   []string
	pairs   map[string][]pair
	dropped map[string]int64
}

func (r *report) add(path string, p pair) {
	path = absolute(path)
	if r.pairs == nil {
		r.pairs, r.dropped = map[string][]pair{}, map[string]int64{}
	}
	// Java's map grows when it is asked again, so two calls in a row are to be seen.
	if n := len(r.paths); n < 2 || r.paths[n-1] != path || r.paths[n-2] != path {
		r.paths = append(r.paths, path)
	}
	if len(r.pairs[path]) == maxPairs {
		r.dropped[path]++
		return
	}
	r.pairs[path] = append(r.pairs[path], p)
}

// print writes the report of all files, in the order of Java's HashMap.
func (r *report) print(w io.Writer, heading, line string, arrange func([]pair) []pair) {
	for _, path := range javafmt.MapOrder(r.paths) {
		fmt.Fprintf(w, "%s%s\n", heading, path)
		pairs := r.pairs[path]
		if arrange != nil {
			pairs = arrange(pairs)
		}
		for _, p := range pairs {
			fmt.Fprintf(w, line, p.first, p.second)
		}
		if n := r.dropped[path]; n > 0 {
			fmt.Fprintf(w, "  … and %d more\n", n)
		}
	}
}

// logReports are what kafka-dump-log.sh says behind the last file.
type logReports struct {
	mismatches, timestamps, disorder, missing, gaps report
}

func (r *logReports) mismatch(path string, p pair)   { r.mismatches.add(path, p) }
func (r *logReports) timestamp(path string, p pair)  { r.timestamps.add(path, p) }
func (r *logReports) outOfOrder(path string, p pair) { r.disorder.add(path, p) }
func (r *logReports) notFound(path string, p pair)   { r.missing.add(path, p) }
func (r *logReports) gap(path string, p pair)        { r.gaps.add(path, p) }

func (r *logReports) print(w io.Writer) {
	descending := func(a, b pair) int { return cmp.Compare(b.first, a.first) }
	ascending := func(a, b pair) int { return cmp.Compare(a.first, b.first) }
	r.mismatches.print(w, "Mismatches in :", "  Index offset: %d, log offset: %d\n", lastOfEach(descending))
	r.timestamps.print(w, "Found timestamp mismatch in :", "  Index timestamp: %d, log timestamp: %d\n", nil)
	r.disorder.print(w, "Found out of order timestamp in :", "  Index timestamp: %d, Previously indexed timestamp: %d\n", nil)
	r.missing.print(w, "The following indexed offsets are not found in :", "Indexed offset: %d, found log offset: %d\n", nil)
	r.gaps.print(w, "Non-consecutive offsets in ", "  %d is followed by %d\n", lastOfEach(ascending))
}

// lastOfEach sorts pairs and keeps of those with the same first number the last
// that was found, as a map does.
func lastOfEach(order func(a, b pair) int) func([]pair) []pair {
	return func(pairs []pair) []pair {
		sorted := slices.Clone(pairs)
		slices.SortStableFunc(sorted, order)
		out := sorted[:0]
		for i, p := range sorted {
			if i+1 == len(sorted) || sorted[i+1].first != p.first {
				out = append(out, p)
			}
		}
		return out
	}
}
