package groups

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"kf/internal/cli"
	"kf/internal/client"
	"kf/internal/condition"
	"kf/internal/online"
	"kf/internal/render"
)

// LagOptions are the inputs of "kf groups lag".
type LagOptions struct {
	Groups    Selection
	Topics    []string      // only these
	Committed bool          // the end of a partition is its last stable offset
	Against   string        // what BEHIND counts from: againstNow or againstNewest
	NoTimes   bool          // read no records: their timestamps are not known
	By        string        // down to which level to print: one of levels
	Top       int           // how many topics and partitions of a group to print, the worst; 0 for all
	Sample    time.Duration // how long after the first sample the second is taken, which rates need; 0 for none
	Watch     time.Duration // take a sample that often, until interrupted; 0 for one answer
	Count     int           // end a watch after so many samples; 0 for never
	FailIf    string        // a condition; "" for none
	Output    render.Format

	failIf *condition.Condition
}

// What --against takes.
const (
	againstNow    = "now"
	againstNewest = "newest"
)

// The levels of --by, from the top.
var levels = []string{"group", "topic", "partition"}

// defaultSample is long enough for consumers that commit every five seconds, which is
// the default of Java's, to have committed once.
const defaultSample = 6 * time.Second

func newLagCommand(env *cli.Env, conn *online.Connection) *cobra.Command {
	opts := LagOptions{Sample: defaultSample}
	cmd := &cobra.Command{
		Use:   "lag [<group>...]",
		Short: "Show how far groups are behind, in records and in time",
		Long: `Show how far groups are behind, the worst first: in total, by topic and by partition.

LAG counts records. BEHIND is how long ago the first record that was not read was
written. IN-RATE and OUT-RATE are records per second written and committed between
two samples, CATCH-UP is how long it takes at these rates to read all: "never" while
more comes than is read. EXPIRES is the earliest that age may delete unread records,
"due" if it may already; LOST is how many were deleted unread. "-" is what is not
known: where nothing was committed there is no lag, and no total counts it.

--watch prints one line a sample instead. --fail-if prints only what meets a
condition, with exit code 3: 0 if nothing does, 1 if that cannot be told, 4 after a
timeout. "kf help lag" tells what conditions can be, and what each column means.`,
		Example: `  kf groups lag checkout
  kf groups lag checkout --fail-if 'behind > 10m or lag > 1e6' -o json
  kf groups lag --all-groups --by group --sample 0
  kf groups lag backfill --watch 5s`,
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.Groups.IDs = args
			if err := opts.Validate(); err != nil {
				return err
			}
			if opts.failIf != nil && !cmd.Flags().Changed("sample") && !opts.failIf.Uses("in", "out", "catch_up") {
				opts.Sample = 0
			}
			return conn.Watch(cmd, func(ctx context.Context, cl *client.Client) error {
				if opts.Watch > 0 {
					return Watch(ctx, env, cl, opts)
				}
				return Lag(ctx, env, cl, opts)
			})
		},
	}
	opts.Groups.flags(cmd, conn)
	flags := cmd.Flags()
	flags.StringSliceVar(&opts.Topics, "topic", nil, "only partitions of these `topics`")
	flags.BoolVar(&opts.Committed, "committed", false, "count up to the last stable offset, as consumers with read_committed see it")
	flags.StringVar(&opts.Against, "against", againstNow, "`what` BEHIND counts up to: now, or newest, the newest record")
	flags.BoolVar(&opts.NoTimes, "no-times", false, "read no records, so that BEHIND, EXPIRES and LOST are not known")
	flags.StringVar(&opts.By, "by", "partition", "print rows down to this `level`: group, topic or partition")
	flags.IntVar(&opts.Top, "top", 0, "print the worst `n` topics and partitions of each group only")
	flags.Var((*cli.Duration)(&opts.Sample), "sample", "take a second sample after this `time`, for the rates; 0 for none, as with a condition that needs no rates")
	flags.Var((*cli.Duration)(&opts.Watch), "watch", "print a line each `interval` until interrupted")
	flags.IntVar(&opts.Count, "count", 0, "end --watch after `n` samples")
	flags.StringVar(&opts.FailIf, "fail-if", "", "exit with 3 if this `condition` is met")
	for _, other := range []string{"sample", "by", "top"} {
		cmd.MarkFlagsMutuallyExclusive("watch", other)
	}
	// These fail only for a flag that is not there.
	_ = cmd.RegisterFlagCompletionFunc("topic", conn.Complete(-1, online.Topics))
	_ = cmd.RegisterFlagCompletionFunc("against", cli.Complete(againstNow, againstNewest))
	_ = cmd.RegisterFlagCompletionFunc("by", cli.Complete(levels...))
	cli.NoFiles(cmd, "sample", "watch", "count", "top", "fail-if")
	render.Flag(cmd, &opts.Output)
	return cmd
}

// Validate returns an error of wrong usage.
func (o *LagOptions) Validate() error {
	switch {
	case slices.Contains(o.Topics, ""):
		return cli.Usagef("--topic: the name is empty")
	case o.Against != againstNow && o.Against != againstNewest:
		return cli.Usagef("--against: %q is neither now nor newest", o.Against)
	case !slices.Contains(levels, o.By):
		return cli.Usagef("--by: %q is none of %s", o.By, strings.Join(levels, ", "))
	case o.Top < 0 || o.Sample < 0 || o.Watch < 0 || o.Count < 0:
		return cli.Usagef("--top, --sample, --watch and --count cannot be below 0")
	case o.Count > 0 && o.Watch == 0:
		return cli.Usagef("--count is for --watch")
	case o.Watch > 0 && o.Output == render.JSON:
		return cli.Usagef("--watch has no end, which a JSON document needs: use -o jsonl")
	}
	if o.FailIf != "" {
		var err error
		if o.failIf, err = condition.Parse(o.FailIf, lagMeasures); err != nil {
			return cli.Usagef("--fail-if: %w", err)
		}
		if times := []string{"behind", "lost", "expires"}; o.NoTimes && o.failIf.Uses(times...) {
			return cli.Usagef("--fail-if needs to know %s, which --no-times leaves out", strings.Join(times, ", "))
		}
	}
	return o.Groups.Validate()
}

// A lagger is what Lag and Watch ask of the cluster, each question under Deadline.
type lagger interface {
	lister
	sampler
	Deadline(context.Context) (context.Context, context.CancelFunc)
}

// Lag prints how far groups are behind. What could not be told comes as an error after
// the rows, and so does what met the condition: that is certain, whatever else is not,
// so it decides the exit code.
func Lag(ctx context.Context, env *cli.Env, cl lagger, opts LagOptions) error {
	ids, err := resolveNow(ctx, cl, opts)
	if err != nil && len(ids) == 0 {
		return err
	}
	errs := []error{err}
	s, err := twoSamples(ctx, env, cl, ids, opts)
	if err != nil {
		return errors.Join(append(errs, err)...)
	}
	var met []error
	notes, told := &notes{env: env, many: len(ids) > manyGroups}, false
	rows := render.New[lagRow](env.Stdout, opts.Output, render.Options{Command: "groups lag", Color: env.ColorStdout()})
	for i := range s.groups {
		g := &s.groups[i]
		if g.err != nil {
			errs = append(errs, groupError(g.ID, g.err))
			continue
		}
		told = true
		notes.add(g.Group)
		errs = append(errs, doubts(env, g.standing)...)
		if !notes.many {
			g.explain(env)
		}
		var print []lagRow
		if opts.failIf == nil {
			print = g.rows(&opts)
		} else {
			var found, untold error
			print, found, untold = g.check(&opts)
			errs = append(errs, untold)
			if found != nil {
				met = append(met, found)
			}
		}
		for _, row := range print {
			if err := rows.Write(row); err != nil {
				return err
			}
		}
	}
	notes.close()
	if told || opts.Output != render.Table { // no headings over nothing
		if err := rows.Close(); err != nil {
			return err
		}
	}
	if len(met) == 0 {
		return errors.Join(errs...)
	}
	for _, err := range errs {
		if err != nil {
			env.Errorf("%v", err)
		}
	}
	return errors.Join(met...)
}

func resolveNow(ctx context.Context, cl lagger, opts LagOptions) ([]string, error) {
	ctx, cancel := cl.Deadline(ctx)
	defer cancel()
	return opts.Groups.resolve(ctx, cl)
}

// takeNow takes a sample under the deadline.
func takeNow(ctx context.Context, env *cli.Env, cl lagger, ids []string, opts LagOptions) sample {
	ctx, cancel := cl.Deadline(ctx)
	defer cancel()
	return take(ctx, cl, ids, &opts, env.Now)
}

// twoSamples takes a sample, with rates if there is to be one before it.
func twoSamples(ctx context.Context, env *cli.Env, cl lagger, ids []string, opts LagOptions) (sample, error) {
	if opts.Sample == 0 {
		return takeNow(ctx, env, cl, ids, opts), nil
	}
	quick := opts
	quick.NoTimes = true
	before := takeNow(ctx, env, cl, ids, quick)
	if !slices.ContainsFunc(before.groups, func(g groupSample) bool { return g.err == nil }) {
		return before, nil
	}
	if env.StderrTTY {
		env.Notef("a second sample follows in %v (--sample 0 leaves it out)", opts.Sample)
	}
	if err := sleep(ctx, opts.Sample); err != nil {
		return before, err
	}
	s := takeNow(ctx, env, cl, ids, opts)
	s.rate([]sample{before})
	return s, nil
}

// sleep waits for d, or fails with the error of ctx once that ends.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}

// explain says on stderr what "-" stands for, and what is out of the ordinary.
func (g *groupSample) explain(env *cli.Env) {
	all := len(g.partitions)
	total := totals(g.all())
	if total.uncommitted > 0 {
		g.noteUncommitted(env)
	}
	if n := total.unowned; n > 0 && g.Active() {
		env.Notef("group %s: no member reads %d of %d partitions", g.ID, n, all)
	}
	if total.out == 0 && total.lag > 0 && g.Active() {
		env.Notef("group %s has committed nothing between the samples: a longer --sample tells more if its consumers commit rarely", g.ID)
	}
	if total.lost > 0 {
		env.Warnf("group %s: %d records were deleted before they were read", g.ID, int64(total.lost))
	}
	reasons := make(map[string][]*position)
	for i := range g.partitions {
		p := &g.partitions[i]
		if p.readErr != nil {
			text := "the first unread record is not known: " + p.readErr.Error()
			reasons[text] = append(reasons[text], p.position)
		}
		if p.retention.Err != nil {
			text := "the retention is not known: " + p.retention.Err.Error()
			reasons[text] = append(reasons[text], p.position)
		}
	}
	for _, text := range slices.Sorted(maps.Keys(reasons)) {
		env.Warnf("group %s: %s: %s", g.ID, and(reasons[text]), text)
	}
}

func (g *groupSample) noteUncommitted(env *cli.Env) {
	env.Notef("group %s: nothing was committed for %d of %d partitions, which no total counts", g.ID, totals(g.all()).uncommitted, len(g.partitions))
}

// all returns the partitions.
func (g *groupSample) all() []*partitionSample {
	all := make([]*partitionSample, 0, len(g.partitions))
	for i := range g.partitions {
		all = append(all, &g.partitions[i])
	}
	return all
}

// A summed is what partitions have in common. NaN is what is known of none; behind,
// expires and lost also are if they are not known of all that have something to read.
type summed struct {
	lag                  float64 // of those ahead of the log end 0
	behind               float64 // the largest
	in, out              float64 // of those for which both are known
	expires              float64 // the first
	lost                 float64
	uncommitted, unowned int
}

func totals(partitions []*partitionSample) summed {
	var lag, behind, in, out, expires, lost []float64
	var s summed
	for _, p := range partitions {
		if p.commit < 0 && p.err == nil {
			s.uncommitted++
		}
		if p.owners == 0 {
			s.unowned++
		}
		if !p.lagKnown {
			continue
		}
		lag = append(lag, max(0, float64(p.lag)))
		behind, lost = append(behind, p.behind), append(lost, p.lost)
		if p.lagging() {
			expires = append(expires, p.expires)
		}
		if !math.IsNaN(p.in) && !math.IsNaN(p.out) {
			in, out = append(in, p.in), append(out, p.out)
		}
	}
	add := func(a, b float64) float64 { return a + b }
	s.lag, s.in, s.out, s.lost = fold(lag, add), fold(in, add), fold(out, add), fold(lost, add)
	s.behind, s.expires = fold(behind, math.Max), fold(expires, math.Min)
	return s
}

// fold joins numbers; NaN, what is not known, stays that, and is what none are.
func fold(numbers []float64, join func(a, b float64) float64) float64 {
	if len(numbers) == 0 {
		return nan
	}
	all := numbers[0]
	for _, n := range numbers[1:] {
		all = join(all, n)
	}
	return all
}

// worst orders the worst first: by time, then records; what is not known comes before
// what is fine.
func worst(a, b *partitionSample) int {
	rank := func(p *partitionSample) (float64, float64) {
		lag, behind := p.records(), p.behind
		if math.IsNaN(behind) {
			behind = 0
		}
		if math.IsNaN(lag) {
			lag = 0.5
		}
		return behind, lag
	}
	behindA, lagA := rank(a)
	behindB, lagB := rank(b)
	return cmp.Or(cmp.Compare(behindB, behindA), cmp.Compare(lagB, lagA), cmp.Compare(a.topic, b.topic), cmp.Compare(a.partition, b.partition))
}
