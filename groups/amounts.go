package groups

import (
	"fmt"
	"math"
	"strconv"
	"time"
)

// seconds is a duration: in JSON and CSV a number of seconds, in tables as people say
// it. NaN is null. +Inf, which tables call never, is null for programs.
type seconds struct {
	n     float64
	table bool
	zero  string // what tables say for 0; "0s" if it is empty
}

func (s *seconds) IsNumber() {}

func (s *seconds) AppendJSON(dst []byte) []byte {
	if math.IsNaN(s.n) || math.IsInf(s.n, 0) {
		return append(dst, "null"...)
	}
	return strconv.AppendFloat(dst, round(s.n, 1000), 'f', -1, 64)
}

func (s *seconds) AppendText(dst []byte) ([]byte, bool) {
	switch {
	case math.IsNaN(s.n), !s.table && math.IsInf(s.n, 0):
		return dst, false
	case !s.table:
		return s.AppendJSON(dst), true
	case s.n == 0 && s.zero != "":
		return append(dst, s.zero...), true
	}
	return append(dst, span(s.n)...), true
}

// span returns seconds in two units: "3d4h", "12m5s", "350ms"; +Inf is never.
func span(n float64) string {
	const day = 24 * 60 * 60
	switch {
	case math.IsInf(n, 1) || n > 100*365*day:
		return "never"
	case n == 0:
		return "0s"
	case n < 1:
		return fmt.Sprintf("%dms", max(1, int(math.Round(n*1000))))
	case n < 10:
		return strconv.FormatFloat(round(n, 10), 'f', -1, 64) + "s"
	}
	whole := int64(math.Round(n))
	for _, u := range []struct {
		size, small   int64
		unit, smaller string
	}{{day, 3600, "d", "h"}, {3600, 60, "h", "m"}, {60, 1, "m", "s"}} {
		if whole < u.size {
			continue
		}
		text := fmt.Sprintf("%d%s", whole/u.size, u.unit)
		if rest := whole % u.size / u.small; rest > 0 {
			text += fmt.Sprintf("%d%s", rest, u.smaller)
		}
		return text
	}
	return fmt.Sprintf("%ds", whole)
}

func round(n, parts float64) float64 { return math.Round(n*parts) / parts }

// float returns n for a column that is null where nothing is known, which is NaN.
func float(n float64) *float64 {
	if math.IsNaN(n) || math.IsInf(n, 0) {
		return nil
	}
	return new(round(n, 10))
}

// whole returns n, which has no fraction, for a column that is null where nothing is
// known.
func whole(n float64) *int64 {
	if math.IsNaN(n) || math.IsInf(n, 0) {
		return nil
	}
	return new(int64(n))
}

// A clock is a point in time: for programs as RFC 3339 has it, in tables the time of
// the day, with the day if that is not today's. The zero time is null.
type clock struct {
	t   time.Time
	now time.Time // zero for programs
}

func (c *clock) AppendJSON(dst []byte) []byte {
	if c.t.IsZero() {
		return append(dst, "null"...)
	}
	dst = append(dst, '"')
	dst = c.t.UTC().AppendFormat(dst, "2006-01-02T15:04:05.000Z07:00")
	return append(dst, '"')
}

func (c *clock) AppendText(dst []byte) ([]byte, bool) {
	switch {
	case c.t.IsZero():
		return dst, false
	case c.now.IsZero():
		return c.t.UTC().AppendFormat(dst, "2006-01-02T15:04:05.000Z07:00"), true
	}
	t := c.t.In(c.now.Location())
	if t.Format(time.DateOnly) == c.now.Format(time.DateOnly) {
		return t.AppendFormat(dst, time.TimeOnly), true
	}
	return t.AppendFormat(dst, time.DateTime), true
}

// plot draws numbers as a line of bars from 0 to the largest; NaN is a dot, for a
// blank at the start would be quoted in tables.
func plot(numbers []float64) string {
	bars := []rune("▁▂▃▄▅▆▇█")
	top := 0.0
	for _, n := range numbers {
		if !math.IsNaN(n) {
			top = max(top, n)
		}
	}
	line := make([]rune, 0, len(numbers))
	for _, n := range numbers {
		switch {
		case math.IsNaN(n):
			line = append(line, '·')
		case top == 0 || n <= 0:
			line = append(line, bars[0])
		default:
			line = append(line, bars[int(math.Ceil(n/top*float64(len(bars))))-1])
		}
	}
	return string(line)
}
