package timearg_test

import (
	"testing"
	"time"

	"kf/internal/timearg"
)

func TestParse(t *testing.T) {
	zone := time.FixedZone("UTC+2", 2*3600)
	now := time.Date(2026, 8, 7, 9, 30, 0, 0, zone)
	for in, want := range map[string]string{
		"1786053600000":                  "2026-08-06T22:00:00Z",
		"@1786053600":                    "2026-08-06T22:00:00Z",
		"-1":                             "", // no unit
		"2026-08-06T22:00:00.5Z":         "2026-08-06T22:00:00.5Z",
		"2026-08-06T22:00Z":              "2026-08-06T22:00:00Z",
		"2026-08-06T22:00+02:00":         "2026-08-06T20:00:00Z",
		"2026-08-06 22:00":               "2026-08-06T20:00:00Z",
		"2026-08-06 22:00:01":            "2026-08-06T20:00:01Z",
		"2026-08-06 22:00 Europe/Berlin": "2026-08-06T20:00:00Z",
		"2026-08-06 22:00 UTC":           "2026-08-06T22:00:00Z",
		"2026-01-06 14:00 Europe/Berlin": "2026-01-06T13:00:00Z",
		"2026-08-06":                     "2026-08-05T22:00:00Z",
		"2026-08-06 UTC":                 "2026-08-06T00:00:00Z",
		"22:00":                          "2026-08-07T20:00:00Z",
		"09:00:30":                       "2026-08-07T07:00:30Z",
		"now":                            "2026-08-07T07:30:00Z",
		"now-2h":                         "2026-08-07T05:30:00Z",
		"-90m":                           "2026-08-07T06:00:00Z",
		"+1d":                            "2026-08-08T07:30:00Z",
		"-1w":                            "2026-07-31T07:30:00Z",
		"":                               "",
		"yesterday":                      "",
		"2026-08-06 22:00 Mars/Base":     "",
		"25:00":                          "",
		"2026-13-01":                     "",
	} {
		got, err := timearg.Parse(in, now)
		switch {
		case want == "":
			if err == nil {
				t.Errorf("%q: got %v, want an error", in, got)
			}
		case err != nil || got.UTC().Format(time.RFC3339Nano) != want:
			t.Errorf("%q: got %v, %v; want %s", in, got.UTC(), err, want)
		}
	}
}
