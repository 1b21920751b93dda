package groups

import (
	"slices"
	"strconv"
	"strings"

	"kf/internal/cli"
)

// parseScope reads the values of --topic: "orders", or "orders:0,2". It returns the
// partitions of each topic, sorted, nil for all. The error is one of wrong usage.
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
			n, err := strconv.ParseUint(part, 10, 31)
			if err != nil {
				return nil, cli.Usagef("--topic %s: %q is no partition", arg, part)
			}
			topics[topic] = append(topics[topic], int32(n))
		}
		slices.Sort(topics[topic])
		topics[topic] = slices.Compact(topics[topic])
	}
	return topics, nil
}
