package groups

import (
	"cmp"
	"context"
	"time"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"

	"kf/internal/cli"
	"kf/internal/client"
	"kf/internal/online"
	"kf/internal/render"
	"kf/internal/resetplan"
	"kf/internal/timearg"
)

// ResetOptions are the inputs of "kf groups reset".
type ResetOptions struct {
	Groups Selection // none: those of the file

	// Which partitions: one of these, or those of a file.
	Topics    []string // "orders", "orders:0,2"
	AllTopics bool     // those that have a commit

	// Where to: Target, or one of these.
	Target   *resetplan.Target
	Time     time.Time // for a target of kind Time
	ToGroup  string    // where that group is
	FromFile string    // CSV or a plan
	Undo     string    // back to what this plan found

	Execute bool
	PlanTo  string // write a plan to this file
	Export  bool   // print Kafka's CSV instead of rows
	Output  render.Format
}

// resetFlags are the flags of a reset, before they are looked at together.
type resetFlags struct {
	earliest, latest, current bool
	offset, shift             int64
	time, datetime, duration  string
	dryRun                    bool
	scenarios                 []string // those that were given
	opts                      ResetOptions
}

// scenarioFlags are those of which one is given.
var scenarioFlags = []string{
	"to-earliest", "to-latest", "to-offset", "shift-by", "to-current", "to-time", "to-datetime", "by-duration", "to-group", "from-file", "undo",
}

func newResetCommand(env *cli.Env, conn *online.Connection) *cobra.Command {
	var f resetFlags
	cmd := &cobra.Command{
		Use:   "reset <group>...",
		Short: "Move the committed offsets of groups",
		Long: `kf groups reset shows where the committed offsets of groups would go, and moves
them with --execute. Groups must have no members: a running consumer would write
over what is set.

NOW is what is committed, NEW what will be; REPLAYED and SKIPPED count offsets, of
which compacted and transactional topics have more than records. An offset outside of
the log is moved to the nearest in it, which NOTE says. A group that does not exist is
created, if topics are named. The state and internal topics of a Kafka Streams
application are not touched.

--from-file takes the CSV of kafka-consumer-groups (topic,partition,offset, or
group,topic,partition,offset), CSV with a heading that has columns of these names, or
a plan written by --plan. In a heading "new" and "current_offset" stand for "offset"
too, so that "kf groups describe -o csv" makes a backup of what is committed.

A plan holds what was committed before. It is refused on another cluster, and for
groups that have committed since; --undo puts back what it found, also that nothing
was committed.

Times of --to-time (see kf help times) are local unless they name a zone; those of
--to-datetime, as with Kafka's flag, are in UTC unless they do. Where no record is that
new the end is taken, with a warning.`,
		Example: `  kf groups reset billing --topic invoices --to-time '2026-08-06 14:00 Europe/Berlin'
  kf groups reset billing --topic invoices --to-time -2h --plan undo.json --execute
  kf groups reset billing --undo undo.json --execute
  kf groups reset billing audit --all-topics --to-current --export > offsets.csv
  kf groups reset --from-file offsets.csv --execute`,
		Args: cli.Args(cobra.ArbitraryArgs),
		RunE: func(cmd *cobra.Command, args []string) error {
			f.opts.Groups.IDs = args
			opts, err := f.options(cmd, env.Now())
			if err != nil {
				return err
			}
			// Not conn.Run: a person who is asked may take longer than a cluster.
			return conn.Watch(cmd, func(ctx context.Context, cl *client.Client) error {
				return Reset(ctx, env, cl, func(c online.Change) error { return conn.Allow(cl, c) }, opts)
			})
		},
	}
	f.opts.Groups.flags(cmd, conn)
	flags := cmd.Flags()
	flags.StringArrayVar(&f.opts.Topics, "topic", nil, "all partitions of `topic`, or some: orders:0,2 (may be repeated)")
	flags.BoolVar(&f.opts.AllTopics, "all-topics", false, "all partitions that have a committed offset")
	flags.BoolVar(&f.earliest, "to-earliest", false, "to the log start")
	flags.BoolVar(&f.latest, "to-latest", false, "to the end of the log")
	flags.Int64Var(&f.offset, "to-offset", 0, "to this `offset`")
	flags.Int64Var(&f.shift, "shift-by", 0, "by this many `offsets`: -5 replays five, 5 skips five")
	flags.BoolVar(&f.current, "to-current", false, "to where they are, or to the end where nothing is committed")
	flags.StringVar(&f.time, "to-time", "", "to the first record that is not older than this `time`: 22:00, -2h, '2026-08-06 14:00 Europe/Berlin', @1786053600")
	flags.StringVar(&f.datetime, "to-datetime", "", "as --to-time, a `time` as Kafka's flag takes it, in UTC: 2026-08-06T14:00:00.000")
	flags.StringVar(&f.duration, "by-duration", "", "to the first record that is not older than this `duration`: 1h30m, 7d or PT1H30M")
	flags.StringVar(&f.opts.ToGroup, "to-group", "", "to where another `group` is; --all-topics are then those of that group")
	flags.StringVar(&f.opts.FromFile, "from-file", "", "to the offsets in `file`: CSV, or a plan")
	flags.StringVar(&f.opts.Undo, "undo", "", "back to what the plan `file` found")
	flags.BoolVar(&f.opts.Execute, "execute", false, "do it")
	flags.BoolVar(&f.dryRun, "dry-run", false, "only show what would be done, which is the default")
	flags.StringVar(&f.opts.PlanTo, "plan", "", "write a plan to a new `file`, for --from-file and --undo")
	flags.BoolVar(&f.opts.Export, "export", false, "print the new offsets as kafka-consumer-groups --export does, whatever --output says")
	conn.YesFlag(cmd)
	render.Flag(cmd, &f.opts.Output)
	cli.NoFiles(cmd, "to-offset", "shift-by", "to-time", "to-datetime", "by-duration")
	// These fail only for a flag that is not there.
	_ = cmd.RegisterFlagCompletionFunc("topic", conn.Complete(-1, online.Topics))
	_ = cmd.RegisterFlagCompletionFunc("to-group", conn.Complete(-1, online.Groups))
	return cmd
}

// options returns what the flags that were given to cmd mean.
func (f *resetFlags) options(cmd *cobra.Command, now time.Time) (ResetOptions, error) {
	opts := f.opts
	if f.dryRun && opts.Execute {
		return opts, cli.Usagef("--dry-run and --execute exclude each other")
	}
	for _, name := range scenarioFlags {
		if cmd.Flags().Changed(name) {
			f.scenarios = append(f.scenarios, name)
		}
	}
	switch len(f.scenarios) {
	case 0:
		return opts, cli.Usagef("where to? Give one of --to-earliest, --to-latest, --to-offset, --shift-by, --to-current, --to-time, --by-duration, --to-group, --from-file and --undo")
	case 1:
	default:
		return opts, cli.Usagef("--%s and --%s exclude each other", f.scenarios[0], f.scenarios[1])
	}
	if err := f.target(&opts, now); err != nil {
		return opts, cli.Usagef("--%s: %w", f.scenarios[0], err)
	}
	return opts, opts.Validate()
}

// target sets where to.
func (f *resetFlags) target(opts *ResetOptions, now time.Time) (err error) {
	var t resetplan.Target
	switch f.scenarios[0] {
	case "to-earliest":
		t.Kind = resetplan.Earliest
	case "to-latest":
		t.Kind = resetplan.Latest
	case "to-current":
		t.Kind = resetplan.Current
	case "to-offset":
		t = resetplan.Target{Kind: resetplan.Offset, Offset: f.offset}
	case "shift-by":
		t = resetplan.Target{Kind: resetplan.Shift, Offset: f.shift}
	case "to-time":
		t.Kind = resetplan.Time
		opts.Time, err = timearg.Parse(f.time, now)
	case "to-datetime":
		t.Kind = resetplan.Time
		opts.Time, err = timearg.ParseKafka(f.datetime)
	case "by-duration":
		t.Kind = resetplan.Time
		var d time.Duration
		d, err = timearg.ParseDuration(f.duration)
		opts.Time = now.Add(-d)
	default:
		return nil
	}
	if t.Kind == resetplan.Time && opts.Time.UnixMilli() < 0 {
		opts.Time = time.UnixMilli(0) // brokers take negative times for something else
	}
	opts.Target = &t
	return err
}

// Validate returns an error of wrong usage.
func (o *ResetOptions) Validate() error {
	file := cmp.Or(o.FromFile, o.Undo)
	named := len(o.Groups.IDs) > 0 || o.Groups.All || o.Groups.Regex != ""
	switch {
	case o.Target == nil && o.ToGroup == "" && file == "":
		return cli.Usagef("the name after --to-group, --from-file or --undo is empty")
	case file != "" && (len(o.Topics) > 0 || o.AllTopics):
		return cli.Usagef("which partitions is said by the file: leave out --topic and --all-topics")
	case file == "" && len(o.Topics) == 0 && !o.AllTopics:
		return cli.Usagef("which partitions? Give --topic or --all-topics")
	case len(o.Topics) > 0 && o.AllTopics:
		return cli.Usagef("--topic and --all-topics exclude each other")
	case file != "" && !named:
		return nil
	}
	if _, err := parseScope(o.Topics); err != nil {
		return err
	}
	return o.Groups.Validate()
}

// A resetter is what Reset asks of the cluster.
type resetter interface {
	lister
	DescribeGroupsByID(ctx context.Context, ids []string) []client.Group
	commitAsker
	Topics(ctx context.Context, names []string) (*client.Cluster, error)
	ListOffsets(ctx context.Context, at int64, committed bool, of kadm.TopicsSet) (kadm.ListedOffsets, error)
	SetCommits(ctx context.Context, of map[string]kadm.Offsets) map[string]map[string]map[int32]error
	DeleteOffsets(ctx context.Context, group string, of kadm.TopicsSet) (kadm.DeleteOffsetsResponses, error)
	AlterShareGroupOffsets(ctx context.Context, group string, offsets kadm.Offsets) (kadm.AlterShareGroupOffsetsResponses, error)
	DeleteShareGroupOffsets(ctx context.Context, group string, topics ...string) (kadm.DeleteShareGroupOffsetsResponses, error)
	Deadline(context.Context) (context.Context, context.CancelFunc)
}

// Reset shows where the commits of groups would go, or moves them. Allow is asked
// before anything is changed. What fails for one group or partition is done for the
// others, and is the error.
func Reset(ctx context.Context, env *cli.Env, cl resetter, allow func(online.Change) error, opts ResetOptions) error {
	r := &reset{env: env, cl: cl, opts: opts}
	if err := r.readFile(ctx); err != nil {
		return err
	}
	if err := r.prepare(ctx); err != nil {
		return err
	}
	r.warn()
	if err := r.writePlan(); err != nil {
		return err
	}
	if opts.Execute {
		if err := r.execute(ctx, allow); err != nil {
			return err
		}
	}
	if err := r.print(); err != nil {
		return err
	}
	r.tell()
	return r.failures()
}
