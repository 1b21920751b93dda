package kafkaconf

import (
	"math/big"
	"regexp"
	"strings"
)

// isOffsetReset reports whether a value says where a share group starts.
//
// Source: Kafka 4.4.0, AutoOffsetResetStrategy.java; the durations are those of
// Java's Duration.parse.
func isOffsetReset(value string) bool {
	if value == "earliest" || value == "latest" {
		return true
	}
	duration, ok := strings.CutPrefix(value, "by_duration:")
	return ok && isDuration(duration)
}

// duration matches sign, days, the part behind T, hours, minutes, seconds and their
// fraction.
var duration = regexp.MustCompile(`(?i)^([-+]?)P(?:([-+]?[0-9]+)D)?(T(?:([-+]?[0-9]+)H)?(?:([-+]?[0-9]+)M)?(?:([-+]?[0-9]+)(?:[.,]([0-9]{0,9}))?S)?)?$`)

// isDuration reports whether a text is an ISO 8601 duration of 0 or more, of days
// at most, that fits into 64 bits of seconds.
func isDuration(text string) bool {
	m := duration.FindStringSubmatch(text)
	if m == nil || strings.EqualFold(m[3], "T") || m[2]+m[3] == "" {
		return false
	}
	nanos := new(big.Int)
	for i, seconds := range map[int]int64{2: 86400, 4: 3600, 5: 60, 6: 1} {
		n, ok := new(big.Int).SetString(strings.TrimPrefix(m[i], "+"), 10)
		if m[i] == "" {
			continue
		}
		if !ok || !n.IsInt64() || !n.Mul(n, big.NewInt(seconds)).IsInt64() {
			return false
		}
		nanos.Add(nanos, n.Mul(n, big.NewInt(1e9)))
	}
	if fraction := m[7]; fraction != "" {
		n, _ := new(big.Int).SetString(fraction+strings.Repeat("0", 9-len(fraction)), 10)
		if strings.HasPrefix(m[6], "-") {
			n.Neg(n)
		}
		nanos.Add(nanos, n)
	}
	if m[1] == "-" {
		nanos.Neg(nanos)
	}
	whole := new(big.Int).Div(nanos, big.NewInt(1e9)) // rounds down, as a Duration is kept
	return nanos.Sign() >= 0 && whole.IsInt64()
}
