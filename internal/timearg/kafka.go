package timearg

import (
	"fmt"
	"strings"
	"time"
)

// ParseKafka returns the point in time that Kafka's tools understand by a
// --to-datetime, "2026-08-06T22:00:00.000": one without a zone is in UTC, wherever it
// is typed. Zones are Z, +02, +0200 and +02:00. Seconds and milliseconds, which
// Kafka needs, may be missing.
//
// Fractions of other lengths are refused rather than guessed at, for Kafka takes .6
// as 6 ms.
//
// Source: Kafka 4.4.0, Utils.java (getDateTime).
func ParseKafka(s string) (time.Time, error) {
	for _, layout := range kafkaLayouts {
		t, err := time.Parse(layout, s)
		// time.Parse takes a fraction after the seconds whether the layout has one or not.
		if err == nil && t.Nanosecond()%1e6 == 0 && wholeFraction(s) {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("%q: want yyyy-MM-ddTHH:mm:ss.SSS, in UTC unless a zone such as +02:00 follows", s)
}

var kafkaLayouts = []string{
	"2006-01-02T15:04:05", "2006-01-02T15:04:05Z07:00", "2006-01-02T15:04:05Z0700", "2006-01-02T15:04:05Z07",
	"2006-01-02T15:04", "2006-01-02T15:04Z07:00", "2006-01-02T15:04Z0700", "2006-01-02T15:04Z07",
}

// wholeFraction reports whether s has no fraction of a second, or one of 3 digits.
func wholeFraction(s string) bool {
	i := strings.IndexAny(s, ".,")
	if i < 0 {
		return true
	}
	digits := 0
	for i++; i < len(s) && '0' <= s[i] && s[i] <= '9'; i++ {
		digits++
	}
	return digits == 3
}
