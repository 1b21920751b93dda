package groups

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"kf/internal/cli"
)

// parseScope reads the values of --topic: "orders", "orders:0,2", "orders:0-5". It
// returns the partitions of each topic, sorted, nil for all. The error is one of wrong
// usage.
func parseScope(args []string) (map[string][]int32, error) {
	topics := make(map[string][]int32)
	for _, arg := range args {
		topic, list, some := strings.Cut(arg, ":")
		if topic == "" {
			return nil, cli.Usagef("--topic %q names no topic", arg)
		}
		before, twice := topics[topic]
		if twice && (before == nil || !some) {
			return nil, cli.Usagef("--topic %s: the topic is named twice", arg)
		}
		topics[topic] = before
		if !some {
			continue
		}
		for part := range strings.SplitSeq(list, ",") {
			from, to, err := parseRange(part)
			if err != nil {
				return nil, cli.Usagef("--topic %s: %w", arg, err)
			}
			for p := from; p <= to; p++ {
				topics[topic] = append(topics[topic], int32(p))
			}
		}
		slices.Sort(topics[topic])
		topics[topic] = slices.Compact(topics[topic])
	}
	return topics, nil
}

// maxPartition bounds what a range can ask for; no topic has that many.
const maxPartition = 1 << 20

// parseRange reads "3" or "0-5".
func parseRange(s string) (from, to int, err error) {
	first, last, isRange := strings.Cut(s, "-")
	if !isRange {
		last = first
	}
	low, err1 := strconv.ParseUint(first, 10, 31)
	high, err2 := strconv.ParseUint(last, 10, 31)
	switch {
	case err1 != nil, err2 != nil:
		return 0, 0, fmt.Errorf("%q is no partition", s)
	case high < low, high-low >= maxPartition:
		return 0, 0, fmt.Errorf("%q is no range of partitions", s)
	}
	return int(low), int(high), nil
}
