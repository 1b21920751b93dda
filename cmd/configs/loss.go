package configs

import (
	"slices"
	"strconv"
	"strings"

	"kf/internal/client"
)

// Settings by which brokers delete records are easily made too small, and what they
// delete does not come back: the change is made, but not in silence.

// retentions are the keys of how much or how long is kept; -1 is without a limit.
var retentions = []string{"retention.ms", "retention.bytes", "log.retention.ms", "log.retention.minutes", "log.retention.hours", "log.retention.bytes"}

// policies are the keys of what becomes of old records.
var policies = []string{"cleanup.policy", "log.cleanup.policy"}

// loss returns what a change of an entity makes brokers delete that they would have
// kept, "" if nothing.
func (a *alteration) loss(c *change) string {
	if c.op != client.SetConfig && c.op != client.AppendConfig {
		return ""
	}
	before := ""
	if x := a.before[c.key]; x != nil && x.value != nil {
		before = *x.value
	}
	switch {
	case slices.Contains(retentions, c.key):
		after, err := strconv.ParseInt(c.value, 10, 64)
		was, unknown := strconv.ParseInt(before, 10, 64)
		if err == nil && after >= 0 && (unknown != nil || was < 0 || after < was) {
			from := ""
			if before != "" {
				from = " from " + before
			}
			return c.key + " goes down" + from + " to " + c.value + ": brokers soon delete the records beyond that"
		}
	case slices.Contains(policies, c.key):
		if before == "" {
			before = "delete" // Kafka's default
		}
		for policy := range strings.SplitSeq(c.value, ",") {
			policy = strings.TrimSpace(policy)
			switch had := slices.Contains(strings.Split(before, ","), policy); {
			case policy == "delete" && !had:
				return c.key + " has delete now: brokers soon delete the records beyond the retention"
			case policy == "compact" && !had:
				return c.key + " has compact now: brokers soon delete all but the last record of each key"
			}
		}
	}
	return ""
}
