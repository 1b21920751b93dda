package groups

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"kf/internal/cli"
)

// A scope says which partitions a command is about: of each topic some, or all, which
// is an empty list.
type scope map[string][]int32

// parseScope reads the values of --topic: "orders", "orders:0,2", "orders:0-5". The
// error is one of wrong usage.
func parseScope(args []string) (scope, error) {
	s := make(scope)
	for _, arg := range args {
		topic, list, some := strings.Cut(arg, ":")
		if topic == "" || some && list == "" {
			return nil, cli.Usagef("--topic %s: want a topic, or topic:0,2", arg)
		}
		if whole, seen := s[topic]; seen && (len(whole) == 0 || !some) {
			return nil, cli.Usagef("--topic %s: all partitions of %s and some of them", arg, topic)
		}
		if !some {
			s[topic] = nil
			continue
		}
		for part := range strings.SplitSeq(list, ",") {
			from, to, err := parseRange(part)
			if err != nil {
				return nil, cli.Usagef("--topic %s: %w", arg, err)
			}
			for p := from; p <= to; p++ {
				s[topic] = append(s[topic], int32(p))
			}
		}
		slices.Sort(s[topic])
		s[topic] = slices.Compact(s[topic])
	}
	return s, nil
}

// maxPartition bounds what a range can ask for; no topic has that many.
const maxPartition = 1 << 20

func parseRange(s string) (from, to int, err error) {
	first, last, isRange := strings.Cut(s, "-")
	if !isRange {
		last = first
	}
	from, err1 := strconv.Atoi(first)
	to, err2 := strconv.Atoi(last)
	if err1 != nil || err2 != nil || from > to || to > maxPartition {
		return 0, 0, fmt.Errorf("%q is no partition, nor a range of them like 0-5", s)
	}
	return from, to, nil
}
