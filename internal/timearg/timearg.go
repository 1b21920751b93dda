// Package timearg reads points in time as people type them.
//
//	1786053600000                epoch milliseconds, as Kafka prints them
//	@1786053600                  epoch seconds
//	2026-08-06T22:00:00.5Z       RFC 3339; seconds and fraction may be missing
//	2026-08-06T22:00+02:00       T may be a blank
//	2026-08-06 22:00             in the local time zone
//	2026-08-06 22:00 Europe/Berlin
//	2026-08-06                   midnight
//	22:00                        today
//	now, now-2h, -90m, +1d       from now; ns us ms s m h d w
package timearg

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

var layouts = []string{
	"2006-01-02T15:04:05.999999999Z07:00",
	"2006-01-02T15:04Z07:00",
	"2006-01-02T15:04:05.999999999",
	"2006-01-02T15:04",
	"2006-01-02",
}

var clocks = []string{"15:04:05.999999999", "15:04"}

// Parse returns the point in time that s names. now is what relative times
// count from; its zone is that of times without one.
func Parse(s string, now time.Time) (time.Time, error) {
	s = strings.TrimSpace(s)
	if t, ok := relative(s, now); ok {
		return t, nil
	}
	if digits, ok := strings.CutPrefix(s, "@"); ok {
		if n, err := strconv.ParseInt(digits, 10, 64); err == nil {
			return time.Unix(n, 0), nil
		}
	}
	if n, err := strconv.ParseInt(s, 10, 64); err == nil && len(s) > 4 {
		return time.UnixMilli(n), nil
	}
	zone, text := now.Location(), s
	if i := strings.LastIndexByte(s, ' '); i > 0 && !strings.ContainsAny(s[i+1:], ":") {
		loc, err := time.LoadLocation(s[i+1:])
		if err != nil {
			return time.Time{}, fmt.Errorf("%q: unknown time zone %q", s, s[i+1:])
		}
		zone, text = loc, strings.TrimSpace(s[:i])
	}
	text = strings.Replace(text, " ", "T", 1)
	for _, layout := range layouts {
		if t, err := time.ParseInLocation(layout, text, zone); err == nil {
			return t, nil
		}
	}
	for _, layout := range clocks {
		if c, err := time.ParseInLocation(layout, text, zone); err == nil {
			y, m, d := now.In(zone).Date()
			return time.Date(y, m, d, c.Hour(), c.Minute(), c.Second(), c.Nanosecond(), zone), nil
		}
	}
	return time.Time{}, fmt.Errorf("%q is no time: want one like 2026-08-06T22:00Z, '2026-08-06 22:00 Europe/Berlin', 22:00, -2h, or epoch milliseconds", s)
}

// relative reads "now" and what counts from it.
func relative(s string, now time.Time) (time.Time, bool) {
	rest, fromNow := strings.CutPrefix(s, "now")
	if fromNow && rest == "" {
		return now, true
	}
	if rest == "" || rest[0] != '-' && rest[0] != '+' {
		return time.Time{}, false
	}
	days := 0
	for unit, n := range map[string]int{"d": 1, "w": 7} {
		if count, ok := strings.CutSuffix(rest, unit); ok {
			k, err := strconv.Atoi(count)
			if err != nil {
				return time.Time{}, false
			}
			days = k * n
			return now.AddDate(0, 0, days), true
		}
	}
	d, err := time.ParseDuration(rest)
	if err != nil {
		return time.Time{}, false
	}
	return now.Add(d), true
}
