package resetplan_test

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"kf/internal/resetplan"
)

func at(o int64) *resetplan.Commit {
	return &resetplan.Commit{Offset: o, LeaderEpoch: 4, Metadata: "m"}
}

func TestTarget(t *testing.T) {
	log := resetplan.Log{Start: 10, End: 100}
	kind := func(k resetplan.Kind) resetplan.Target { return resetplan.Target{Kind: k} }
	offset := func(o int64) resetplan.Target { return resetplan.Target{Kind: resetplan.Offset, Offset: o} }
	shift := func(o int64) resetplan.Target { return resetplan.Target{Kind: resetplan.Shift, Offset: o} }
	for _, tt := range []struct {
		name   string
		target resetplan.Target
		now    *resetplan.Commit
		log    resetplan.Log
		at     int64
		want   int64
		moved  string // change, replayed, skipped
		note   string
	}{
		{"earliest", kind(resetplan.Earliest), at(50), log, -1, 10, "-40 40 0 true", ""},
		{"latest", kind(resetplan.Latest), at(50), log, -1, 100, "50 0 50 true", ""},
		{"offset", offset(20), at(50), log, -1, 20, "-30 30 0 true", ""},
		{"offset of the start", offset(10), at(50), log, -1, 10, "-40 40 0 true", ""},
		{"offset of the end", offset(100), at(50), log, -1, 100, "50 0 50 true", ""},
		{"offset before the start", offset(5), at(50), log, -1, 10, "-40 40 0 true", "clamped: 5 is before the log start"},
		{"offset past the end", offset(500), at(50), log, -1, 100, "50 0 50 true", "clamped: 500 is past the end"},
		{"shift", shift(-7), at(50), log, -1, 43, "-7 7 0 true", ""},
		{"shift before the start", shift(-1000), at(50), log, -1, 10, "-40 40 0 true", "clamped: -950 is before the log start"},
		{"shift past the end", shift(1000), at(50), log, -1, 100, "50 0 50 true", "clamped: 1050 is past the end"},
		{"shift beyond numbers", shift(math.MaxInt64), at(50), log, -1, 100, "50 0 50 true", "clamped: 9223372036854775807 is past the end"},
		{"shift below numbers", shift(math.MinInt64), at(50), log, -1, 10, "-40 40 0 true", "clamped: -9223372036854775758 is before the log start"},
		{"current", kind(resetplan.Current), at(50), log, -1, 50, "0 0 0 true", ""},
		{"current, expired", kind(resetplan.Current), at(3), log, -1, 3, "0 0 0 true", "before the log start 10"},
		{"current, ahead", kind(resetplan.Current), at(300), log, -1, 300, "0 0 0 true", "past the end 100"},
		{"current, none", kind(resetplan.Current), nil, log, -1, 100, "0 0 0 false", "nothing committed: the end"},
		{"time", kind(resetplan.Time), at(50), log, 70, 70, "20 0 20 true", ""},
		{"time after the last", kind(resetplan.Time), at(50), log, -1, 100, "50 0 50 true", "no record since noon: the end"},
		{"time, empty", kind(resetplan.Time), at(10), resetplan.Log{Start: 10, End: 10}, -1, 10, "0 0 0 true", "no records: the end"},
		{"expired commit", kind(resetplan.Earliest), at(3), log, -1, 10, "7 0 0 true", ""},
		{"expired commit to the end", kind(resetplan.Latest), at(3), log, -1, 100, "97 0 90 true", ""},
		{"commit ahead", kind(resetplan.Earliest), at(300), log, -1, 10, "-290 90 0 true", ""},
		{"no commit", kind(resetplan.Earliest), nil, log, -1, 10, "0 0 0 false", ""},
	} {
		m := resetplan.Move{Now: tt.now, Log: tt.log}
		tt.target.Apply(&m, tt.at, "noon")
		change, changes := m.Change()
		replayed, skipped, ok := m.Records()
		moved := fmt.Sprint(change, replayed, skipped, ok)
		if m.Err != nil || m.New == nil || m.New.Offset != tt.want || moved != tt.moved || changes != ok || m.Note != tt.note {
			t.Errorf("%s: got %+v (%v), %q, %q, %v; want %d, %q, %q", tt.name, m.New, m.Err, moved, m.Note, m.Clamped(), tt.want, tt.moved, tt.note)
			continue
		}
		if clamped := len(tt.note) > 8 && tt.note[:8] == "clamped:"; m.Clamped() != clamped {
			t.Errorf("%s: clamped is %v", tt.name, m.Clamped())
		}
		if stays := tt.now != nil && tt.now.Offset == tt.want; stays != (m.New.Metadata == "m") || stays != (m.New.LeaderEpoch == 4) {
			t.Errorf("%s: got %+v", tt.name, m.New)
		}
	}
}

func TestShiftNothing(t *testing.T) {
	m := resetplan.Move{Log: resetplan.Log{End: 10}}
	resetplan.Target{Kind: resetplan.Shift, Offset: 1}.Apply(&m, -1, "")
	if !errors.Is(m.Err, resetplan.ErrNoCommit) || m.New != nil || m.Clamped() {
		t.Errorf("got %+v", m)
	}
	if _, ok := m.Change(); ok {
		t.Error("a move that fails changes something")
	}
}

func TestRestore(t *testing.T) {
	log := resetplan.Log{Start: 10, End: 100}
	for _, tt := range []struct {
		now, to *resetplan.Commit
		note    string
	}{
		{at(50), at(20), ""},
		{at(50), at(5), "before the log start 10"},
		{at(50), at(500), "past the end 100"},
		{at(50), nil, "nothing was committed: taken away"},
		{nil, nil, "nothing is committed"},
	} {
		m := resetplan.Move{Now: tt.now, Log: log}
		m.Restore(tt.to)
		if (m.New == nil) != (tt.to == nil) || m.New != nil && *m.New != *tt.to || m.Note != tt.note || m.Clamped() {
			t.Errorf("%+v: got %+v, %q; want %q", tt.to, m.New, m.Note, tt.note)
		}
	}
}
