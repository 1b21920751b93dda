package groups_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"kf/groups"
	"kf/internal/cli"
	"kf/internal/client"
	"kf/internal/online"
	"kf/internal/render"
	"kf/internal/resetplan"
)

// A fake is a cluster with topic "t" of three partitions, each with the offsets 10 to
// 100, which does what is asked of it and what a test adds to that.
type fake struct {
	groups  map[string]client.Group
	commits map[string]map[int32]client.Commit // of t, of groups of all types

	asked   int             // how often for commits
	onAsk   func(nth int)   // before an answer about commits
	fails   map[int32]error // what setting a partition fails with
	loses   bool            // what is set is not kept
	offline map[int32]bool  // partitions whose leader does not answer
	calls   []string        // what was changed
}

func newFake() *fake {
	return &fake{groups: make(map[string]client.Group), commits: make(map[string]map[int32]client.Commit)}
}

// add makes a group that has no members, with commits in partitions 0, 1, ….
func (f *fake) add(id string, typ client.GroupType, commits ...int64) {
	f.groups[id] = client.Group{ListedGroup: client.ListedGroup{ID: id, Type: typ, Protocol: "consumer", State: "Empty"}}
	f.commits[id] = make(map[int32]client.Commit)
	for p, o := range commits {
		f.commits[id][int32(p)] = client.Commit{Offset: o, LeaderEpoch: 3, Metadata: "m"}
	}
}

// committed returns what a group has committed.
func (f *fake) committed(id string) string {
	of := make(map[int32]int64)
	for p, c := range f.commits[id] {
		of[p] = c.Offset
	}
	return strings.TrimPrefix(fmt.Sprint(of), "map")
}

func (f *fake) Deadline(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, time.Minute)
}

func (f *fake) Groups(context.Context, client.GroupFilter) ([]client.ListedGroup, error) {
	var all []client.ListedGroup
	for _, g := range f.groups {
		all = append(all, g.ListedGroup)
	}
	return all, nil
}

func (f *fake) DescribeGroupsByID(_ context.Context, ids []string) []client.Group {
	var all []client.Group
	for _, id := range ids {
		g, ok := f.groups[id]
		if !ok {
			g = client.Group{ListedGroup: client.ListedGroup{ID: id}, Err: client.ErrNoGroup}
		}
		all = append(all, g)
	}
	return all
}

func (f *fake) Commits(_ context.Context, ids []string) map[string]client.GroupCommits {
	if f.asked++; f.onAsk != nil {
		f.onAsk(f.asked)
	}
	all := make(map[string]client.GroupCommits)
	for _, id := range ids {
		all[id] = client.GroupCommits{Of: map[string]map[int32]client.Commit{"t": maps.Clone(f.commits[id])}}
	}
	return all
}

func (f *fake) ShareOffsets(_ context.Context, ids []string) map[string]client.ShareOffsets {
	all := make(map[string]client.ShareOffsets)
	for _, id := range ids {
		of := map[int32]client.ShareOffset{2: {Start: -1}}
		for p, c := range f.commits[id] {
			of[p] = client.ShareOffset{Start: c.Offset}
		}
		all[id] = client.ShareOffsets{Of: map[string]map[int32]client.ShareOffset{"t": of}}
	}
	return all
}

func (f *fake) Topics(_ context.Context, names []string) (*client.Cluster, error) {
	c := &client.Cluster{ID: "c1"}
	for _, name := range names {
		t := client.Topic{Name: name, ID: [16]byte{1}}
		if name != "t" {
			t.Err = kerr.UnknownTopicOrPartition
		}
		for p := range int32(3) {
			t.Partitions = append(t.Partitions, client.Partition{ID: p, Leader: 1})
		}
		c.Topics = append(c.Topics, t)
	}
	return c, nil
}

func (f *fake) ListOffsets(_ context.Context, at int64, _ bool, of kadm.TopicsSet) (kadm.ListedOffsets, error) {
	listed := make(kadm.ListedOffsets)
	for topic, partitions := range of {
		listed[topic] = make(map[int32]kadm.ListedOffset)
		for p := range partitions {
			o := kadm.ListedOffset{Topic: topic, Partition: p, Offset: map[int64]int64{client.Earliest: 10, client.Latest: 100}[at]}
			if f.offline[p] {
				o = kadm.ListedOffset{Offset: -1, Err: kerr.NotLeaderForPartition}
			}
			listed[topic][p] = o
		}
	}
	return listed, nil
}

func (f *fake) set(group string, p int32, to *client.Commit) error {
	if err := f.fails[p]; err != nil || f.loses {
		return err
	}
	if f.commits[group] == nil {
		f.commits[group] = make(map[int32]client.Commit)
	}
	if to == nil {
		delete(f.commits[group], p)
	} else {
		f.commits[group][p] = *to
	}
	return nil
}

func (f *fake) SetCommits(_ context.Context, of map[string]kadm.Offsets) map[string]map[string]map[int32]error {
	answer := make(map[string]map[string]map[int32]error)
	for group, offsets := range of {
		f.calls = append(f.calls, "commit "+group)
		answer[group] = map[string]map[int32]error{"t": make(map[int32]error)}
		offsets.Each(func(o kadm.Offset) {
			answer[group]["t"][o.Partition] = f.set(group, o.Partition, &client.Commit{Offset: o.At, LeaderEpoch: o.LeaderEpoch, Metadata: o.Metadata})
		})
	}
	return answer
}

func (f *fake) DeleteOffsets(_ context.Context, group string, of kadm.TopicsSet) (kadm.DeleteOffsetsResponses, error) {
	f.calls = append(f.calls, "delete "+group)
	answer := kadm.DeleteOffsetsResponses{"t": make(map[int32]error)}
	of.Each(func(_ string, p int32) { answer["t"][p] = f.set(group, p, nil) })
	return answer, nil
}

func (f *fake) AlterShareGroupOffsets(_ context.Context, group string, offsets kadm.Offsets) (kadm.AlterShareGroupOffsetsResponses, error) {
	f.calls = append(f.calls, "alter share "+group)
	answer := kadm.AlterShareGroupOffsetsResponses{"t": make(map[int32]error)}
	offsets.Each(func(o kadm.Offset) {
		answer["t"][o.Partition] = f.set(group, o.Partition, &client.Commit{Offset: o.At})
	})
	return answer, nil
}

func (f *fake) DeleteShareGroupOffsets(_ context.Context, group string, topics ...string) (kadm.DeleteShareGroupOffsetsResponses, error) {
	f.calls = append(f.calls, "delete share "+group)
	clear(f.commits[group])
	return kadm.DeleteShareGroupOffsetsResponses{"t": nil}, nil
}

// ran is what a reset left behind.
type ran struct {
	stdout, stderr string
	err            error
}

func (r ran) errs() string {
	if r.err == nil {
		return ""
	}
	return r.err.Error()
}

func (f *fake) reset(t *testing.T, opts groups.ResetOptions) ran {
	t.Helper()
	return f.resetIf(t, opts, nil)
}

// resetIf is reset with what Allow answers.
func (f *fake) resetIf(t *testing.T, opts groups.ResetOptions, allowed error) ran {
	t.Helper()
	if err := opts.Validate(); err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	env := &cli.Env{Stdout: &stdout, Stderr: &stderr, Now: func() time.Time { return time.Unix(1786053600, 0) }}
	opts.Output = render.CSV
	err := groups.Reset(t.Context(), env, f, func(online.Change) error { return allowed }, opts)
	return ran{stdout.String(), stderr.String(), err}
}

func to(kind resetplan.Kind) *resetplan.Target { return &resetplan.Target{Kind: kind} }

func of(ids ...string) groups.Selection { return groups.Selection{IDs: ids} }

// expect compares a text with a pattern.
func expect(t *testing.T, what, got, pattern string) {
	t.Helper()
	if !regexp.MustCompile(pattern).MatchString(got) {
		t.Errorf("%s: got %q, want %q", what, got, pattern)
	}
}

// A commit that comes between the plan and its execution is found before anything is
// changed, and one that comes at the same moment afterwards: no broker does that.
func TestResetRace(t *testing.T) {
	f := newFake()
	f.add("g", client.ClassicGroup, 50, 60)
	f.add("h", client.ClassicGroup, 50)
	f.onAsk = func(nth int) {
		if nth == 2 {
			f.commits["g"][1] = client.Commit{Offset: 61}
		}
	}
	r := f.reset(t, groups.ResetOptions{Groups: of("g", "h"), AllTopics: true, Target: to(resetplan.Latest), Execute: true})
	expect(t, "error", r.errs(), `^group g: t-1 was committed at this moment, from 60 to 61: a consumer is at work that is not in the group$`)
	if got := f.committed("g") + f.committed("h") + fmt.Sprint(f.calls); got != "[0:50 1:61][0:100][commit h]" {
		t.Error(got)
	}
	expect(t, "rows", r.stdout, `(?m)^g,t,0,50,100,.*,false,$(.|\n)*^h,t,0,50,100,50,0,50,.*,true,$`)

	f = newFake()
	f.add("g", client.ClassicGroup, 50)
	f.onAsk = func(nth int) {
		if nth == 3 {
			f.commits["g"][0] = client.Commit{Offset: 51}
		}
	}
	r = f.reset(t, groups.ResetOptions{Groups: of("g"), AllTopics: true, Target: to(resetplan.Latest), Execute: true})
	expect(t, "error", r.errs(), `^group g: t-0: set to 100, but 51 was read back: the group is in use again$`)
	expect(t, "note", r.stderr, `nothing was changed`)

	// A member that joins meanwhile.
	f = newFake()
	f.add("g", client.ConsumerGroup, 50)
	f.onAsk = func(int) {
		g := f.groups["g"]
		g.State, g.Members = "Stable", []client.GroupMember{{ClientID: "app", Host: "/10.0.0.1", InstanceID: new("i-1")}}
		f.groups["g"] = g
	}
	r = f.reset(t, groups.ResetOptions{Groups: of("g"), AllTopics: true, Target: to(resetplan.Latest), Execute: true})
	expect(t, "error", r.errs(), `^group g: it is in state Stable with 1 member \(static member i-1, app at 10.0.0.1\): stop them first; a member leaves when it is closed, a static one only when its session times out$`)
	if len(f.calls) > 0 {
		t.Error(f.calls)
	}
}

// What fails for some is done for the others; what was not allowed is not done.
func TestResetFailures(t *testing.T) {
	f := newFake()
	f.add("g", client.ClassicGroup, 50, 60, 70)
	f.fails = map[int32]error{1: kerr.UnknownTopicOrPartition}
	f.offline = map[int32]bool{2: true}
	r := f.reset(t, groups.ResetOptions{Groups: of("g"), AllTopics: true, Target: to(resetplan.Earliest), Execute: true})
	expect(t, "error", r.errs(), `^group g: t-1: UNKNOWN_TOPIC_OR_PARTITION.*\ngroup g: t-2: NOT_LEADER_FOR_PARTITION.*$`)
	expect(t, "rows", r.stdout, `(?m)^g,t,0,50,10,.*,true,$(.|\n)*^g,t,1,60,,,,,UNKNOWN.*,false,UNKNOWN.*$`)
	if got := f.committed("g"); got != "[0:10 1:60 2:70]" {
		t.Error(got)
	}
	if code := cli.ExitCode(r.err); code != cli.ExitFailed {
		t.Errorf("exit code %d", code)
	}

	no := errors.New("no")
	f.calls = nil
	if r := f.resetIf(t, groups.ResetOptions{Groups: of("g"), AllTopics: true, Target: to(resetplan.Latest), Execute: true}, no); r.err != no || len(f.calls) > 0 {
		t.Errorf("not allowed: %v, %v", r.err, f.calls)
	}

	f.loses, f.fails, f.offline = true, nil, nil
	r = f.reset(t, groups.ResetOptions{Groups: of("g"), AllTopics: true, Target: to(resetplan.Latest), Execute: true})
	expect(t, "error", r.errs(), `t-0: set to 100, but 10 was read back`)

	timeout := fmt.Errorf("broker 1: %w", context.DeadlineExceeded)
	f.groups["late"] = client.Group{ListedGroup: client.ListedGroup{ID: "late"}, Err: timeout}
	r = f.reset(t, groups.ResetOptions{Groups: of("g", "late"), AllTopics: true, Target: to(resetplan.Latest)})
	expect(t, "error", r.errs(), `^group late: broker 1: context deadline exceeded$`)
	if code := cli.ExitCode(r.err); code != cli.ExitTimeout {
		t.Errorf("exit code %d", code)
	}
}

// What stays keeps its leader epoch and metadata; a group of Connect has no offsets
// there, and of all groups those are meant that have.
func TestResetGroups(t *testing.T) {
	f := newFake()
	f.add("g", client.ClassicGroup, 50)
	f.add("none", client.ClassicGroup)
	f.add("connect", client.ClassicGroup)
	connect := f.groups["connect"]
	connect.Protocol = "connect"
	f.groups["connect"] = connect
	r := f.reset(t, groups.ResetOptions{Groups: groups.Selection{All: true}, AllTopics: true, Target: to(resetplan.Current), Execute: true})
	if c := f.commits["g"][0]; r.err != nil || c != (client.Commit{Offset: 50, LeaderEpoch: 3, Metadata: "m"}) || strings.Count(r.stdout, "\n") != 2 {
		t.Errorf("%+v, %v, %s", c, r.err, r.stdout)
	}
	r = f.reset(t, groups.ResetOptions{Groups: of("connect", "none"), AllTopics: true, Target: to(resetplan.Current)})
	expect(t, "error", r.errs(), `^group connect: it is a group of connect: how far it is is not in committed offsets\ngroup none: it has committed nothing: name topics with --topic$`)
	r = f.reset(t, groups.ResetOptions{Groups: of("g"), Topics: []string{"t"}, ToGroup: "other", Execute: true})
	expect(t, "error", r.errs(), `^group g: group other, given as --to-group, has committed nothing$`)
	f.add("other", client.ClassicGroup, 20, 500)
	r = f.reset(t, groups.ResetOptions{Groups: of("g"), Topics: []string{"t"}, ToGroup: "other", Execute: true})
	expect(t, "error", r.errs(), `^group g: t-2: group other has committed nothing there$`)
	if got := f.committed("g"); got != "[0:20 1:100]" {
		t.Error(got)
	}
}

// Start offsets of share groups are altered, and forgotten only for whole topics.
func TestResetShare(t *testing.T) {
	undo := filepath.Join(t.TempDir(), "undo.json")
	f := newFake()
	f.add("s", client.ShareGroup, 50)
	r := f.reset(t, groups.ResetOptions{Groups: of("s"), Topics: []string{"t:0,1"}, Target: to(resetplan.Latest), PlanTo: undo, Execute: true})
	if got := f.committed("s"); r.err != nil || got != "[0:100 1:100]" {
		t.Error(r.err, got)
	}
	r = f.reset(t, groups.ResetOptions{Undo: undo, Execute: true})
	expect(t, "error", r.errs(), `^group s: t-1: a share group can only forget all partitions of a topic, and some are to stay$`)
	if got := f.committed("s") + fmt.Sprint(f.calls); got != "[0:50 1:100][alter share s alter share s]" {
		t.Error(got)
	}

	f.commits["s"] = make(map[int32]client.Commit)
	os.Remove(undo)
	f.reset(t, groups.ResetOptions{Groups: of("s"), Topics: []string{"t"}, Target: to(resetplan.Latest), PlanTo: undo, Execute: true})
	r = f.reset(t, groups.ResetOptions{Undo: undo, Execute: true})
	if got := f.committed("s"); r.err != nil || got != "[]" {
		t.Error(r.err, got)
	}
}

// A plan has what is done, not what is refused, and is bound to the topics that it saw.
func TestResetPlan(t *testing.T) {
	dir := t.TempDir()
	plan := filepath.Join(dir, "plan.json")
	f := newFake()
	f.add("busy", client.ClassicGroup, 50)
	busy := f.groups["busy"]
	busy.State, busy.Members = "Stable", make([]client.GroupMember, 12)
	f.groups["busy"] = busy
	f.add("g", client.ClassicGroup, 50)
	r := f.reset(t, groups.ResetOptions{Groups: of("busy", "g"), AllTopics: true, Target: to(resetplan.Earliest), PlanTo: plan, Execute: true})
	expect(t, "error", r.errs(), `^group busy: it is in state Stable with 12 members \(.*; 2 more\): stop them first`)
	text, err := os.ReadFile(plan)
	if err != nil {
		t.Fatal(err)
	}
	pl, err := resetplan.Decode(text)
	if err != nil || len(pl.Groups) != 1 || pl.Groups[0].Group != "g" || *pl.Groups[0].Partitions[0].Old.Commit != (resetplan.Commit{Offset: 50, LeaderEpoch: 3, Metadata: "m"}) {
		t.Fatalf("%+v, %v", pl, err)
	}
	f.reset(t, groups.ResetOptions{Undo: plan, Execute: true})
	if c := f.commits["g"][0]; c != (client.Commit{Offset: 50, LeaderEpoch: 3, Metadata: "m"}) {
		t.Errorf("undone: %+v", c)
	}

	pl.Groups[0].Partitions[0].TopicID = "AAAAAAAAAAAAAAAAAAAAAQ"
	if text, err = pl.Encode(); err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(dir, "other.json")
	if err := os.WriteFile(other, text, 0o600); err != nil {
		t.Fatal(err)
	}
	r = f.reset(t, groups.ResetOptions{FromFile: other, Execute: true})
	expect(t, "error", r.errs(), `^group g: t-0: the topic was deleted and created anew since the plan was made$`)

	// Nothing to do is no plan.
	r = f.reset(t, groups.ResetOptions{Groups: of("nobody"), AllTopics: true, Target: to(resetplan.Latest), PlanTo: filepath.Join(dir, "none.json")})
	expect(t, "warning", r.stderr, `none.json: not written, for there is nothing to do`)
	if _, err := os.Stat(filepath.Join(dir, "none.json")); err == nil {
		t.Error("an empty plan is written")
	}
}

// Where the log has lost what a plan wants, the nearest offset is taken; an undo puts
// back exactly what was there.
func TestResetPlanOutside(t *testing.T) {
	path := filepath.Join(t.TempDir(), "plan.json")
	pl := resetplan.Plan{ClusterID: "c1", Groups: []resetplan.Group{{Group: "g", Partitions: []resetplan.Saved{
		{Topic: "t", Old: resetplan.CommitOrNo{Commit: &resetplan.Commit{Offset: 5, LeaderEpoch: -1}}, New: resetplan.CommitOrNo{Commit: &resetplan.Commit{Offset: 7, LeaderEpoch: -1}}},
	}}}}
	text, err := pl.Encode()
	if err == nil {
		err = os.WriteFile(path, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	f := newFake()
	f.add("g", client.ClassicGroup, 5)
	r := f.reset(t, groups.ResetOptions{FromFile: path, Execute: true})
	expect(t, "rows", r.stdout, `(?m)^g,t,0,5,10,5,0,0,clamped: 7 is before the log start,7,10,100,true,$`)
	r = f.reset(t, groups.ResetOptions{Undo: path, Execute: true})
	expect(t, "rows", r.stdout, `(?m)^g,t,0,10,5,-5,0,0,before the log start 10,5,10,100,true,$`)
	if got := f.committed("g"); got != "[0:5]" {
		t.Error(got)
	}
}

// A warning is said once for all partitions that it is about, whatever their numbers;
// the rows say it for each.
func TestResetWarnsOnce(t *testing.T) {
	f := newFake()
	f.add("g", client.ClassicGroup, 50, 60, 70)
	f.add("h", client.ClassicGroup, 80)
	r := f.reset(t, groups.ResetOptions{Groups: of("g", "h"), AllTopics: true, Target: &resetplan.Target{Kind: resetplan.Shift, Offset: -65}})
	expect(t, "stderr", r.stderr, `^kf: warning: group g: t-0 and 2 more: clamped: before the log start\nkf: `)
	expect(t, "rows", r.stdout, `clamped: -15 is before the log start(.|\n)*clamped: -5 is before the log start`)

	r = f.reset(t, groups.ResetOptions{Groups: of("h"), AllTopics: true, Target: &resetplan.Target{Kind: resetplan.Shift, Offset: 65}})
	expect(t, "stderr", r.stderr, `^kf: warning: group h: t-0: clamped: 145 is past the end\nkf: `)

	r = f.reset(t, groups.ResetOptions{Groups: of("n1", "n2", "n3", "n4"), Topics: []string{"t"}, Target: to(resetplan.Current)})
	expect(t, "stderr", r.stderr, `^kf: warning: 4 groups: n1, n2, n3, …: they do not exist, and are created with these offsets\nkf: warning: group n1: t-0 and 11 more: nothing committed: the end\nkf: `)
}
