package timearg

import (
	"fmt"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// ParseDuration returns the duration that s names, as Java prints and takes it
// (PT1H30M, P2D, -PT0.5S: ISO 8601 without years, months and weeks) or as Go does,
// with days of 24 hours and weeks before the rest (90m, 1h30m, 7d, 1w2d).
//
// Source: the Java SE 17 documentation of java.time.Duration.parse.
func ParseDuration(s string) (time.Duration, error) {
	if m := isoDuration.FindStringSubmatch(strings.ToUpper(s)); m != nil && !strings.HasSuffix(m[0], "T") && m[0] != m[1]+"P" {
		return sum(s, m[1], []part{{m[2], 24 * time.Hour}, {m[3], time.Hour}, {m[4], time.Minute}, {strings.Replace(m[5], ",", ".", 1), time.Second}})
	}
	m := days.FindStringSubmatch(s)
	if m == nil || m[0] == m[1] {
		return 0, noDuration(s)
	}
	if m[4] == "" {
		return sum(s, m[1], []part{{m[2], 7 * 24 * time.Hour}, {m[3], 24 * time.Hour}})
	}
	rest, err := time.ParseDuration(m[4])
	if err != nil {
		return 0, noDuration(s)
	}
	return sum(s, m[1], []part{{m[2], 7 * 24 * time.Hour}, {m[3], 24 * time.Hour}, {fmt.Sprint(int64(rest)), 1}})
}

var (
	isoDuration = regexp.MustCompile(`^([-+]?)P(?:([-+]?[0-9]+)D)?(?:T(?:([-+]?[0-9]+)H)?(?:([-+]?[0-9]+)M)?(?:([-+]?[0-9]+(?:[.,][0-9]{0,9})?)S)?)?$`)
	days        = regexp.MustCompile(`^([-+]?)(?:([0-9]+)w)?(?:([0-9]+)d)?((?:[0-9.].*)?)$`)
)

// A part is a decimal number of units; "" is none.
type part struct {
	number string
	unit   time.Duration
}

// sum adds up parts, exactly.
func sum(s, sign string, parts []part) (time.Duration, error) {
	total := new(big.Rat)
	for _, p := range parts {
		if p.number == "" {
			continue
		}
		n, ok := new(big.Rat).SetString(strings.TrimSuffix(p.number, "."))
		if !ok {
			return 0, noDuration(s)
		}
		total.Add(total, n.Mul(n, new(big.Rat).SetInt64(int64(p.unit))))
	}
	if sign == "-" {
		total.Neg(total)
	}
	if !total.IsInt() || !total.Num().IsInt64() {
		return 0, fmt.Errorf("%q is longer than 292 years", s)
	}
	return time.Duration(total.Num().Int64()), nil
}

func noDuration(s string) error {
	if _, err := strconv.ParseFloat(s, 64); err == nil {
		return fmt.Errorf("%q has no unit: %[1]ss, %[1]sms, …", s)
	}
	return fmt.Errorf("%q is not a duration kf understands: want one like 500ms, 1h30m, 7d or PT1H30M", s)
}
