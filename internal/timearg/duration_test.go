package timearg_test

import (
	"testing"
	"time"

	"kf/internal/timearg"
)

func TestParseDuration(t *testing.T) {
	const day = 24 * time.Hour
	for _, tt := range []struct {
		s    string
		want time.Duration
		ok   bool
	}{
		{"PT1H", time.Hour, true},
		{"pt1h30m", 90 * time.Minute, true},
		{"P2D", 2 * day, true},
		{"P1DT2H3M4.5S", day + 2*time.Hour + 3*time.Minute + 4500*time.Millisecond, true},
		{"-PT1H", -time.Hour, true},
		{"PT-1H30M", -30 * time.Minute, true},
		{"PT0S", 0, true},
		{"PT1,25S", 1250 * time.Millisecond, true},
		{"PT1.S", time.Second, true},
		{"PT-0.000000001S", -1, true},
		{"1h", time.Hour, true},
		{"1h30m", 90 * time.Minute, true},
		{"7d", 7 * day, true},
		{"1w2d", 9 * day, true},
		{"-1d12h", -36 * time.Hour, true},
		{"0.5h", 30 * time.Minute, true},
		{"250ms", 250 * time.Millisecond, true},
		{"P106751D", 106751 * day, true},
		{"P106752D", 0, false},
		{"99999999999999999999d", 0, false},
		{"P", 0, false},
		{"PT", 0, false},
		{"P1DT", 0, false},
		{"P1Y", 0, false},
		{"P1M", 0, false},
		{"P1W", 0, false},
		{"1h-30m", 0, false},
		{"1", 0, false},
		{"", 0, false},
		{"-", 0, false},
		{"d", 0, false},
		{"an hour", 0, false},
	} {
		got, err := timearg.ParseDuration(tt.s)
		if got != tt.want || (err == nil) != tt.ok {
			t.Errorf("%q: got %v, %v; want %v", tt.s, got, err, tt.want)
		}
	}
}

func TestParseKafka(t *testing.T) {
	for _, tt := range []struct {
		s    string
		want string // "": refused
	}{
		{"2026-08-06T22:00:00.000", "2026-08-06T22:00:00Z"},
		{"2026-08-06T22:00:00.250Z", "2026-08-06T22:00:00.25Z"},
		{"2026-08-06T22:00:00.250+02:00", "2026-08-06T20:00:00.25Z"},
		{"2026-08-06T22:00:00.000+0530", "2026-08-06T16:30:00Z"},
		{"2026-08-06T22:00:00.000-08", "2026-08-07T06:00:00Z"},
		{"2026-08-06T22:00:00", "2026-08-06T22:00:00Z"},
		{"2026-08-06T22:00+02:00", "2026-08-06T20:00:00Z"},
		{"2026-08-06T22:00:00.6", ""},
		{"2026-08-06T22:00:00.600000", ""},
		{"2026-08-06T22:00:00,60", ""},
		{"2026-08-06T22:00:00.678901", ""},
		{"2026-08-06 22:00:00.000", ""},
		{"2026-8-6T22:00:00.000", ""},
		{"2026-08-06", ""},
		{"2026-02-30T22:00:00.000", ""},
		{"yesterday", ""},
		{"", ""},
	} {
		got, err := timearg.ParseKafka(tt.s)
		if tt.want == "" {
			if err == nil {
				t.Errorf("%q is taken as %v", tt.s, got)
			}
			continue
		}
		if err != nil || got.UTC().Format(time.RFC3339Nano) != tt.want {
			t.Errorf("%q: got %v, %v; want %s", tt.s, got.UTC(), err, tt.want)
		}
	}
}

// Whatever is typed is taken or refused, and a duration as Go prints it is taken as
// itself.
func FuzzParseDuration(f *testing.F) {
	for _, s := range []string{"PT1H", "1w2d3h", "-P1DT0.5S", "P", "1h", "-9223372036854775808ns"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		d, err := timearg.ParseDuration(s)
		if err != nil {
			return
		}
		if again, err := timearg.ParseDuration(d.String()); err != nil || again != d {
			t.Errorf("%q is %v, which is %v, %v", s, d, again, err)
		}
	})
}
