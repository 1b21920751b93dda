//go:build interop && linux

package interop

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// The words of KF_BENCH_ONLY: brokers, and what is measured on them.
var (
	benchBrokers      = []string{"kf", "kafka", "kfake", "kfake-mem"}
	serveMeasurements = []string{"restart", "none", "gzip", "snappy", "lz4", "zstd", "latency", "partitions"}
	groupMeasurements = []string{"commit", "rebalance", "load"}
)

// A selection is what KF_BENCH_ONLY names: the brokers and measurements to do
// without the others. Without a broker all of them are meant, and without a
// measurement likewise.
type selection []string

func newSelection(b *testing.B) selection {
	s := strings.FieldsFunc(os.Getenv("KF_BENCH_ONLY"), func(r rune) bool { return r == ',' || r == ' ' })
	known := slices.Concat(benchBrokers, serveMeasurements, groupMeasurements)
	for _, word := range s {
		if !slices.Contains(known, word) {
			b.Fatalf("KF_BENCH_ONLY: %q is none of %s", word, strings.Join(known, ", "))
		}
	}
	return s
}

// wants reports whether one of the measurements is to be done.
func (s selection) wants(measurements ...string) bool {
	return s.chosen(measurements, slices.Concat(serveMeasurements, groupMeasurements))
}

// chosen reports whether one of the words is named, or nothing of their kind.
func (s selection) chosen(words, kind []string) bool {
	named := func(words []string) bool {
		return slices.ContainsFunc(s, func(word string) bool { return slices.Contains(words, word) })
	}
	return named(words) || !named(kind)
}

// rivals returns the brokers to measure. Settings are added to their defaults.
func (s selection) rivals(b *testing.B, settings ...string) (rivals []rival) {
	for _, name := range benchBrokers {
		// kfake without a directory keeps nothing, so it is no match unless asked for.
		if s.chosen([]string{name}, benchBrokers) && (name != "kfake-mem" || slices.Contains(s, name)) {
			rivals = append(rivals, newRival(b, name, settings))
		}
	}
	return rivals
}

func intFromEnv(b *testing.B, name string, value int) int {
	text := os.Getenv(name)
	if text == "" {
		return value
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		b.Fatalf("%s=%q is no positive number", name, text)
	}
	return n
}
