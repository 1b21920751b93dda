package resetplan_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"kf/internal/resetplan"
)

func samplePlan() *resetplan.Plan {
	return &resetplan.Plan{
		ClusterID: "c1", Created: time.Date(2026, 8, 7, 9, 30, 0, 0, time.UTC), Scenario: "to the log start",
		Groups: []resetplan.Group{{Group: "billing <1>", Type: "classic", Partitions: []resetplan.Saved{
			{Topic: "invoices", TopicID: "AAAA", Partition: 0, Old: resetplan.CommitOrNo{Commit: at(7)}, New: resetplan.CommitOrNo{Commit: &resetplan.Commit{LeaderEpoch: -1}}},
			{Topic: "invoices", TopicID: "AAAA", Partition: 1, New: resetplan.CommitOrNo{Commit: &resetplan.Commit{Offset: 3, LeaderEpoch: -1}}},
			{Topic: "invoices", Partition: 2, Old: resetplan.CommitOrNo{Commit: at(7)}},
		}}},
	}
}

func encode(t *testing.T, pl *resetplan.Plan) string {
	t.Helper()
	p, err := pl.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return string(p)
}

func TestPlanFile(t *testing.T) {
	text := encode(t, samplePlan())
	if !resetplan.IsPlan([]byte(" \n"+text)) || resetplan.IsPlan([]byte("orders,0,1")) || resetplan.IsPlan(nil) {
		t.Error("plans are not told from CSV")
	}
	pl, err := resetplan.Decode([]byte("\xef\xbb\xbf" + text))
	if err != nil {
		t.Fatal(err)
	}
	g := pl.Groups[0]
	if g.Group != "billing <1>" || *g.Partitions[0].Old.Commit != *at(7) || g.Partitions[1].Old.Commit != nil || g.Partitions[2].New.Commit != nil {
		t.Errorf("got %+v", pl)
	}
	if again := encode(t, pl); again != text {
		t.Errorf("read and written again it is %s, not %s", again, text)
	}
	bad := samplePlan()
	bad.Groups[0].Partitions[0].Old.Metadata = "\xff"
	if _, err := bad.Encode(); err == nil {
		t.Error("metadata that JSON cannot hold are written")
	}
}

func TestBrokenPlan(t *testing.T) {
	text := encode(t, samplePlan())
	change := func(old, new string) string {
		if !strings.Contains(text, old) {
			t.Fatalf("no %q in %s", old, text)
		}
		return strings.Replace(text, old, new, 1)
	}
	for _, tt := range []struct{ name, text, err string }{
		{"empty", "", "unexpected end of JSON input"},
		{"cut", text[:len(text)/2], "unexpected end of JSON input"},
		{"comma", change(`"version": 1,`, `"version": 1,,`), "line 3, column 16: invalid character"},
		{"list", "[]", "cannot unmarshal array"},
		{"other", "{}", "its format is \"\""},
		{"newer", change(`"version": 1`, `"version": 2`), "a plan of version 2, and this kf knows version 1"},
		{"type", change(`"partition": 0`, `"partition": "0"`), "line 15, column 26: json: cannot unmarshal string"},
		{"field", change(`"partition": 0`, `"partitoin": 0`), `unknown field "partitoin"`},
		{"field of a commit", change(`"leader_epoch"`, `"epoch"`), `unknown field "epoch"`},
		{"no offset", change(`"offset": 7,`, ``), "an offset that is 0 or more is missing"},
		{"negative offset", change(`"offset": 7,`, `"offset": -7,`), "an offset that is 0 or more is missing"},
		{"epoch", change(`"leader_epoch": 4`, `"leader_epoch": -4`), "-4 is no leader epoch"},
		{"twice", change(`"partition": 1`, `"partition": 0`), `group "billing <1>": invoices-0 comes twice`},
		{"negative partition", change(`"partition": 1`, `"partition": -1`), "invoices--1 is no partition"},
		{"no group", change(`"group": "billing <1>"`, `"group": ""`), "no name"},
		{"no cluster", change(`"cluster_id": "c1"`, `"cluster_id": ""`), "names no cluster_id"},
		{"no old", change(`"old": null,`, ``), `invoices-1: "old" or "new" is missing`},
		{"more", text + "{}", "line 52, column 1: invalid character '{' after top-level value"},
	} {
		pl, err := resetplan.Decode([]byte(tt.text))
		if err == nil || !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%s: got %+v, %v; want %q", tt.name, pl, err, tt.err)
		}
	}
}

func FuzzDecode(f *testing.F) {
	p, err := samplePlan().Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(p)
	f.Add(bytes.ReplaceAll(p, []byte("7"), []byte("null")))
	f.Add([]byte(`{"format":"kf groups reset plan","version":1}`))
	f.Fuzz(func(t *testing.T, p []byte) {
		pl, err := resetplan.Decode(p)
		if err != nil {
			return
		}
		text, err := pl.Encode()
		if err != nil {
			t.Fatal(err)
		}
		again, err := resetplan.Decode(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if second, err := again.Encode(); err != nil || !bytes.Equal(text, second) {
			t.Errorf("%s is read as %s, %v", text, second, err)
		}
	})
}
