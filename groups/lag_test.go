package groups

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"kf/internal/cli"
	"kf/internal/client"
	"kf/internal/render"
)

var noon = time.Date(2026, 8, 6, 12, 0, 0, 0, time.UTC)

func at(t time.Time) func() time.Time { return func() time.Time { return t } }

// lines are the cells of the table that lag prints, one blank between them.
func lines(table string) []string {
	var all []string
	for line := range strings.Lines(table) {
		all = append(all, strings.Join(strings.Fields(line), " "))
	}
	return all
}

func TestLag(t *testing.T) {
	for _, tt := range []struct {
		name    string
		cluster *fakeCluster
		opts    LagOptions
		want    []string // without the headings
		stderr  []string // parts of what is said
		code    int
	}{{
		name: "the worst first, which is the oldest",
		cluster: &fakeCluster{
			groups:    []client.Group{group("g", client.ClassicGroup, partitions("old", 0, 1), partitions("new", 0))},
			commits:   map[string]map[string][]int64{"g": {"old": {5, 10}, "new": {0}}},
			ends:      map[string][]int64{"old": {10, 10}, "new": {1000}},
			times:     map[string]time.Time{"old": noon.Add(-3 * time.Hour), "new": noon.Add(-time.Minute)},
			retention: map[string]time.Duration{"old": 4 * time.Hour},
		},
		want: []string{
			"g - - - - 1005 3h - - - 1h 0 -",
			"g old - - - 5 3h - - - 1h 0 -",
			"g new - - - 1000 1m - - - never 0 -",
			"g old 0 5 10 5 3h - - - 1h 0 m0",
			"g new 0 0 1000 1000 1m - - - never 0 m1",
			"g old 1 10 10 0 0s - - 0s - 0 m0",
		},
	}, {
		name: "a commit behind the end does not lower the total",
		cluster: &fakeCluster{
			groups:  []client.Group{group("g", client.ClassicGroup)},
			commits: map[string]map[string][]int64{"g": {"t": {100, 3}}},
			ends:    map[string][]int64{"t": {40, 5}},
			times:   map[string]time.Time{"t": noon},
		},
		opts:   LagOptions{By: "group"},
		want:   []string{"g - - - - 2 0s - - - never 0 -"},
		stderr: []string{"g has no active members", "t-0: the committed offset 100 is 60 ahead of the log end offset"},
	}, {
		name: "what was never committed is not a lag",
		cluster: &fakeCluster{
			groups:  []client.Group{group("g", client.ConsumerGroup, partitions("t", 0))},
			commits: map[string]map[string][]int64{"g": {"t": {-1, 2, -1}}},
			ends:    map[string][]int64{"t": {7, 2, 0}},
		},
		want: []string{
			"g - - - - 0 0s - - 0s - 0 -",
			"g t - - - 0 0s - - 0s - 0 -",
			"g t 0 - 7 - - - - - - - m0",
			"g t 1 2 2 0 0s - - 0s - 0 -",
			"g t 2 - 0 - - - - - - - -",
		},
		stderr: []string{"nothing was committed for 2 of 3 partitions", "no member reads 2 of 3 partitions"},
	}, {
		name: "records were deleted unread, and more may be any time",
		cluster: &fakeCluster{
			groups:    []client.Group{group("g", client.ClassicGroup)},
			commits:   map[string]map[string][]int64{"g": {"t": {5}}},
			starts:    map[string][]int64{"t": {8}},
			ends:      map[string][]int64{"t": {10}},
			times:     map[string]time.Time{"t": noon.Add(-25 * time.Hour)},
			retention: map[string]time.Duration{"t": 24 * time.Hour},
		},
		opts: LagOptions{Topics: []string{"t"}, By: "group"},
		want: []string{"g - - - - 5 1d1h - - - due 3 -"},
	}, {
		name: "against the newest record, and without a timestamp",
		cluster: &fakeCluster{
			groups:  []client.Group{group("g", client.ClassicGroup)},
			commits: map[string]map[string][]int64{"g": {"t": {5}, "untimed": {1}}},
			ends:    map[string][]int64{"t": {10}, "untimed": {2}},
			times:   map[string]time.Time{"t": noon.Add(-time.Hour)},
		},
		opts: LagOptions{Against: againstNewest, By: "topic"},
		want: []string{"g - - - - 6 - - - - - 0 -", "g t - - - 5 5m - - - never 0 -", "g untimed - - - 1 - - - - - 0 -"},
	}, {
		name: "a topic that is gone, and a group that cannot be asked",
		cluster: &fakeCluster{
			groups:  []client.Group{group("g", client.ClassicGroup), group("h", client.ClassicGroup)},
			commits: map[string]map[string][]int64{"g": {"t": {5}, "gone": {1, 2}}},
			ends:    map[string][]int64{"t": {10}},
			failing: map[string]error{"h": kerr.CoordinatorNotAvailable},
			times:   map[string]time.Time{"t": noon},
		},
		opts:   LagOptions{By: "group"},
		want:   []string{"g - - - - 5 0s - - - never 0 -"},
		stderr: []string{"kf: error: group g: gone-0 and 1 more: UNKNOWN_TOPIC_OR_PARTITION", "kf: error: group h: COORDINATOR_NOT_AVAILABLE"},
		code:   cli.ExitFailed,
	}, {
		name: "a member in the midst of a rebalance",
		cluster: &fakeCluster{
			groups: []client.Group{{
				ListedGroup: client.ListedGroup{ID: "g", Type: client.ClassicGroup, State: "PreparingRebalance"},
				Members:     []client.GroupMember{{ID: "m", Topics: []string{"t"}}},
			}},
			ends: map[string][]int64{"t": {0}},
		},
		want:   []string{"g - - - - - - - - - - - -", "g t - - - - - - - - - - -", "g t 0 - 0 - - - - - - - -"},
		stderr: []string{"group g is rebalancing (PreparingRebalance)"},
	}, {
		name: "two groups on one topic keep their numbers",
		cluster: &fakeCluster{
			groups:  []client.Group{group("a", client.ClassicGroup), group("b", client.ClassicGroup)},
			commits: map[string]map[string][]int64{"a": {"t": {3}}, "b": {"t": {7}}},
			ends:    map[string][]int64{"t": {10}},
		},
		opts: LagOptions{NoTimes: true, By: "group"},
		want: []string{"a - - - - 7 - - - - - - -", "b - - - - 3 - - - - - - -"},
	}, {
		name: "the worst two",
		cluster: &fakeCluster{
			groups:  []client.Group{group("g", client.ClassicGroup)},
			commits: map[string]map[string][]int64{"g": {"t": {3, 1, 2}}},
			ends:    map[string][]int64{"t": {4, 4, 4}},
		},
		opts: LagOptions{NoTimes: true, Top: 2},
		want: []string{"g - - - - 6 - - - - - - -", "g t - - - 6 - - - - - - -", "g t 1 1 4 3 - - - - - - -", "g t 2 2 4 2 - - - - - - -"},
	}} {
		t.Run(tt.name, func(t *testing.T) {
			env, stdout, stderr := testEnv(t, at(noon))
			opts := tt.opts
			opts.Groups.All = true
			if opts.By == "" {
				opts.By = "partition"
			}
			if opts.Against == "" {
				opts.Against = againstNow
			}
			if err := opts.Validate(); err != nil {
				t.Fatal(err)
			}
			if code := env.Exit(Lag(t.Context(), env, tt.cluster, opts)); code != tt.code {
				t.Errorf("exit code %d, want %d", code, tt.code)
			}
			if got := lines(stdout.String())[1:]; !slices.Equal(got, tt.want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(tt.want, "\n"))
			}
			for _, part := range tt.stderr {
				if !strings.Contains(stderr.String(), part) {
					t.Errorf("%q is not said:\n%s", part, stderr)
				}
			}
			if len(tt.stderr) == 0 && strings.Contains(stderr.String(), "error") {
				t.Errorf("said:\n%s", stderr)
			}
			// What is committed must be known before what is written, or a lag could be below 0.
			commits, ends := slices.Index(tt.cluster.asked, "commits"), slices.Index(tt.cluster.asked, "ends")
			if commits < 0 || ends < commits {
				t.Errorf("asked in the order %q", tt.cluster.asked)
			}
		})
	}
}

func TestFailIf(t *testing.T) {
	cluster := func() *fakeCluster {
		return &fakeCluster{
			groups:    []client.Group{group("fine", client.ClassicGroup, partitions("t", 0)), group("late", client.ClassicGroup, partitions("t", 0))},
			commits:   map[string]map[string][]int64{"fine": {"t": {10, 20}}, "late": {"t": {4, -1}}},
			ends:      map[string][]int64{"t": {10, 20}},
			times:     map[string]time.Time{"t": noon.Add(-time.Hour)},
			retention: map[string]time.Duration{"t": 24 * time.Hour},
		}
	}
	for _, tt := range []struct {
		groups, cond string
		code         int
		rows         string // group partition …
		stderr       string
	}{
		{"fine", "lag > 0 or behind > 0s or lost > 0 or expires < 1w", 0, "", ""},
		{"late", "lag > 5 and committed", 3, "late 0", "lag > 5 and committed in 1 of 2 partitions: t-0"},
		{"late", "behind >= 1h", 3, "late 0", "cannot tell whether behind >= 1h for t-1: behind not known where nothing was committed"},
		{"late", "behind > 1h", 1, "", "cannot tell whether behind > 1h for t-1"},
		{"late", "committed and behind > 1h", 0, "", ""},
		{"late", "expires <= 23h", 3, "late 0", ""},
		{"late", "not committed", 3, "late 1", ""},
		{"fine", "not owned", 3, "fine 1", ""},
		{"fine late", "total_lag > 5", 3, "late -", "group late: total_lag > 5"},
		{"fine late", "members > 1 or uncommitted > 1", 0, "", ""},
		{"late nope", "committed and lag > 5", 3, "late 0", "group nope does not exist"},
		{"fine nope", "committed and lag > 5", 1, "", "group nope does not exist"},
		{"empty", "lag > 5", 1, "", "it has committed nothing, and its members read nothing"},
		{"empty", "total_lag > 5", 1, "", "nothing is known of its partitions"},
	} {
		t.Run(tt.groups+": "+tt.cond, func(t *testing.T) {
			env, stdout, stderr := testEnv(t, at(noon))
			f := cluster()
			f.groups = append(f.groups, group("empty", client.ClassicGroup))
			opts := LagOptions{Groups: Selection{IDs: strings.Fields(tt.groups)}, By: "partition", Against: againstNow, FailIf: tt.cond, Output: render.CSV}
			if err := opts.Validate(); err != nil {
				t.Fatal(err)
			}
			if code := env.Exit(Lag(t.Context(), env, f, opts)); code != tt.code {
				t.Errorf("exit code %d, want %d", code, tt.code)
			}
			var rows []string
			for line := range strings.Lines(stdout.String()) {
				if cells := strings.Split(line, ","); cells[0] != "scope" {
					if cells[3] == "" {
						cells[3] = "-"
					}
					rows = append(rows, cells[1]+" "+cells[3])
				}
			}
			if got := strings.Join(rows, " "); got != tt.rows {
				t.Errorf("rows %q, want %q", got, tt.rows)
			}
			if !strings.Contains(stderr.String(), tt.stderr) {
				t.Errorf("%q is not said:\n%s", tt.stderr, stderr)
			}
		})
	}
}

// Rates are those between two samples, and say when a lag is gone.
func TestRates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeCluster{
			groups:  []client.Group{group("g", client.ClassicGroup)},
			commits: map[string]map[string][]int64{"g": {"drains": {0}, "grows": {0}, "stands": {5}, "reset": {9}, "done": {0}}},
			ends:    map[string][]int64{"drains": {1000}, "grows": {10}, "stands": {6}, "reset": {10}, "done": {0}},
		}
		f.step = func(n int) {
			if n == 1 {
				f.commits["g"] = map[string][]int64{"drains": {100}, "grows": {10}, "stands": {5}, "reset": {2}, "done": {10}}
				f.ends = map[string][]int64{"drains": {1050}, "grows": {40}, "stands": {6}, "reset": {10}, "done": {10}}
			}
		}
		env, stdout, _ := testEnv(t, time.Now)
		opts := LagOptions{Groups: Selection{IDs: []string{"g"}}, By: "partition", Against: againstNow, NoTimes: true, Sample: 10 * time.Second}
		if err := opts.Validate(); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		if err := Lag(t.Context(), env, f, opts); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(start); took != opts.Sample {
			t.Errorf("the second sample came after %v", took)
		}
		got := make(map[string]string)
		for _, line := range lines(stdout.String()) {
			if cells := strings.Fields(line); cells[2] == "0" || cells[1] == "-" {
				got[cells[1]] = strings.Join(cells[7:10], " ")
			}
		}
		for topic, want := range map[string]string{
			"drains": "5 10 3m10s", "grows": "3 1 never", "stands": "0 0 never", "reset": "0 - -", "done": "1 1 0s", "-": "9 12 5m30s",
		} {
			if got[topic] != want {
				t.Errorf("%s: %q, want %q", topic, got[topic], want)
			}
		}
	})
}

func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeCluster{
			groups:  []client.Group{group("g", client.ClassicGroup, partitions("t", 0, 1))},
			commits: map[string]map[string][]int64{"g": {"t": {0, 50}}},
			ends:    map[string][]int64{"t": {100, 50}},
			failing: make(map[string]error),
		}
		f.step = func(n int) {
			f.commits["g"]["t"][0] = int64(20 * n)
			time.Sleep(time.Second) // a question takes time, and does not delay the samples that follow
			delete(f.failing, "g")
			if n == 2 {
				f.failing["g"] = kerr.NotCoordinator
			}
		}
		env, stdout, stderr := testEnv(t, time.Now)
		opts := LagOptions{Groups: Selection{IDs: []string{"g"}}, By: "partition", Against: againstNow, Watch: 5 * time.Second, FailIf: "total_lag <= 20"}
		if err := opts.Validate(); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		err := Watch(t.Context(), env, f, opts)
		if cli.ExitCode(err) != cli.ExitFound || err.Error() != "group g: total_lag <= 20" {
			t.Errorf("ends with %v", err)
		}
		if took := time.Since(start); took != 21*time.Second {
			t.Errorf("five samples took %v", took)
		}
		want := []string{
			"TIME GROUP LAG BEHIND IN-RATE OUT-RATE CATCH-UP END SLOWEST UNCOMMITTED PLOT",
			"00:00:01 g 100 - - - - - t-0 0 █",
			"00:00:06 g 80 - 0 4 20s 00:00:26 t-0 0 █▇",
			"00:00:16 g 40 - 0 4 10s 00:00:26 t-0 0 █▇▄",
			"00:00:21 g 20 - 0 4 5s 00:00:26 t-0 0 █▇▄▂",
		}
		if got := lines(stdout.String()); !slices.Equal(got, want) {
			t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		if !strings.Contains(stderr.String(), "kf: warning: group g: NOT_COORDINATOR") {
			t.Errorf("said: %s", stderr)
		}
	})
}

// A group that comes to one partition after the other has a rate in each, as soon as
// two samples tell it, and so does one that was reset.
func TestWatchLateCommits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeCluster{
			groups:  []client.Group{group("g", client.ClassicGroup, partitions("t", 0, 1))},
			commits: map[string]map[string][]int64{"g": {"t": {0, -1}}},
			ends:    map[string][]int64{"t": {100, 100}},
		}
		steps := [][]int64{{0, -1}, {50, -1}, {50, 10}, {50, 60}, {20, 85}}
		f.step = func(n int) { f.commits["g"]["t"] = steps[n] }
		env, stdout, _ := testEnv(t, time.Now)
		opts := LagOptions{Groups: Selection{IDs: []string{"g"}}, By: "partition", Against: againstNow, Watch: 5 * time.Second, Count: len(steps)}
		if err := opts.Validate(); err != nil {
			t.Fatal(err)
		}
		if err := Watch(t.Context(), env, f, opts); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, line := range lines(stdout.String()) {
			got = append(got, strings.Join(strings.Fields(line)[2:6], " "))
		}
		want := []string{
			"LAG BEHIND IN-RATE OUT-RATE",
			"100 - - -",
			"50 - 0 10",
			"140 - 0 5",
			"90 - 0 13.3", // 50 in 15 s, 50 in 5 s
			"95 - 0 8.5",  // 20 in 20 s since the first sample, 75 in 10 s
		}
		if !slices.Equal(got, want) {
			t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	})
}

// When all is read is not known while records are there that no commit counts; that the
// number of such partitions changes is said.
func TestWatchUncommitted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeCluster{
			groups: []client.Group{group("g", client.ClassicGroup, partitions("t", 0, 1))},
			ends:   map[string][]int64{"t": {100, 100}},
		}
		steps := [][]int64{{0, -1}, {50, -1}, {100, 0}, {100, 50}}
		f.step = func(n int) { f.commits = map[string]map[string][]int64{"g": {"t": steps[n]}} }
		env, stdout, stderr := testEnv(t, time.Now)
		opts := LagOptions{Groups: Selection{IDs: []string{"g"}}, By: "partition", Against: againstNow, Watch: 5 * time.Second, Count: len(steps)}
		if err := opts.Validate(); err != nil {
			t.Fatal(err)
		}
		if err := Watch(t.Context(), env, f, opts); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, line := range lines(stdout.String())[1:] {
			cells := strings.Fields(line)
			got = append(got, strings.Join([]string{cells[2], cells[6], cells[9]}, " "))
		}
		if want := []string{"100 - 1", "50 - 1", "100 10s 0", "50 3s 0"}; !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
		for _, n := range []string{"1", "0"} {
			if got := strings.Count(stderr.String(), "nothing was committed for "+n+" of 2 partitions"); got != 1 {
				t.Errorf("%s partitions are said %d times:\n%s", n, got, stderr)
			}
		}
	})
}

// A watch ends when it is interrupted, with whole output.
func TestWatchInterrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeCluster{groups: []client.Group{group("g", client.ClassicGroup)}, ends: map[string][]int64{}}
		env, stdout, _ := testEnv(t, time.Now)
		opts := LagOptions{Groups: Selection{IDs: []string{"g", "nope"}}, By: "partition", Against: againstNow, Watch: time.Minute, Output: render.JSONLines}
		if err := opts.Validate(); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := contextWithin(t, 150*time.Second)
		defer cancel()
		if err := Watch(ctx, env, f, opts); !errors.Is(err, ctx.Err()) {
			t.Errorf("ends with %v", err)
		}
		if got := strings.Count(stdout.String(), "\n"); got != 3 {
			t.Errorf("%d samples:\n%s", got, stdout)
		}
	})
}

// Samples are kept for a while only.
func TestRateWindow(t *testing.T) {
	before, now := sample{at: noon}, sample{at: noon}
	now.rate([]sample{before}) // no time has passed: nothing is known
	if n := catchUp(10, nan, 5); !math.IsNaN(n) {
		t.Errorf("an unknown rate gives %v", n)
	}
	if n := catchUp(10, 5, 5); !math.IsInf(n, 1) {
		t.Errorf("a lag that stands is gone in %v", n)
	}
}

func TestSpan(t *testing.T) {
	for n, want := range map[float64]string{
		0: "0s", 0.0001: "1ms", 0.35: "350ms", 1.25: "1.3s", 9.99: "10s", 59.6: "1m", 61: "1m1s", 3600: "1h", 3661: "1h1m", 86400: "1d", 90000: "1d1h",
		400 * 86400: "400d", math.Inf(1): "never", 1e12: "never",
	} {
		if got := span(n); got != want {
			t.Errorf("%v: %q, want %q", n, got, want)
		}
	}
}

func TestPlot(t *testing.T) {
	for _, tt := range []struct {
		numbers []float64
		want    string
	}{
		{nil, ""},
		{[]float64{0, 0}, "▁▁"},
		{[]float64{nan, 8, 4, 1, 0}, "·█▄▁▁"},
		{[]float64{1e18, 1}, "█▁"},
	} {
		if got := plot(tt.numbers); got != tt.want {
			t.Errorf("%v: %q, want %q", tt.numbers, got, tt.want)
		}
	}
}

// A task of Kafka Streams reads its partition of each topic that has it.
func TestStreamsPositions(t *testing.T) {
	g := group("g", client.StreamsGroup, kadm.TopicsList{{Topic: "big", Partitions: []int32{0, 1}}, {Topic: "small", Partitions: []int32{0, 1}}})
	g.Members[0].Streams = new(client.StreamsMember)
	f := &fakeCluster{ends: map[string][]int64{"big": {1, 1}, "small": {1}}}
	all := measure(t.Context(), f, []client.Group{g}, nil, false)
	var names []string
	for _, p := range all[0].positions {
		names = append(names, p.name())
	}
	if got := strings.Join(names, " "); got != "big-0 big-1 small-0" {
		t.Errorf("positions %s", got)
	}
}
