package topics

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"

	"kf/internal/cli"
	"kf/internal/client"
	"kf/internal/online"
	"kf/internal/render"
	"kf/internal/timearg"
)

// OffsetsOptions are the inputs of "kf topics offsets".
type OffsetsOptions struct {
	Selection
	Partitions []int32  // empty: all
	Times      []string // none: where the log starts and ends
	Committed  bool     // the end is the last stable offset
	Output     render.Format
}

func newOffsetsCommand(env *cli.Env, conn *online.Connection) *cobra.Command {
	var opts OffsetsOptions
	cmd := &cobra.Command{
		Use:   "offsets [topic[:partitions]|pattern[:partitions]]...",
		Short: "Print the offsets of partitions, at their ends or at a time",
		Long: `Prints where the log of each partition starts and ends, and how many offsets lie between,
which is the number of records unless the topic is compacted or has transactions. With
--time it prints the offset there instead, a row for each time that is given:

  latest, -1         the high watermark, or with --committed the last stable offset
  earliest, -2       the first record
  max-timestamp, -3  the record with the largest timestamp
  earliest-local, -4, latest-tiered, -5, earliest-pending-upload, -6
                     where what is on the disks of the leader starts, where what is in
                     remote storage ends, where what is still to go there starts
  a time             the first record at or after it: epoch milliseconds, -1h, 22:00, …
                     (see kf help times)

"-" is no such record: the time is after the last one, or the partition is empty.

` + partitionsHelp + `
Without words it prints all topics, except, unless --internal is given, those that
Kafka keeps for itself.`,
		Example: `  kf topics offsets orders
  kf topics offsets orders:0-3 'audit.*:0' --time -1h
  kf topics offsets --time earliest --time max-timestamp -o csv
  kf topics offsets orders --time '2026-08-06 14:00 Europe/Berlin'`,
		Args:              cli.Args(cobra.ArbitraryArgs),
		ValidArgsFunction: completePartitions(conn),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := opts.take(args, false); err != nil {
				return err
			}
			return conn.Run(cmd, func(ctx context.Context, cl *client.Client) error {
				return Offsets(ctx, env, cl, opts)
			})
		},
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&opts.Times, "time", nil, "the offset at this `time`: latest, earliest, …, or a time; may be given again")
	flags.Int32SliceVar(&opts.Partitions, "partitions", nil, "only these `numbers` of partitions, joined by commas")
	flags.BoolVar(&opts.Committed, "committed", false, "end at the last stable offset, before open transactions")
	opts.flags(cmd)
	cli.NoFiles(cmd, "partitions")
	_ = cmd.RegisterFlagCompletionFunc("time", cli.Complete(slices.Sorted(maps.Keys(specialTimes))...)) // fails only for a flag that is not there
	render.Flag(cmd, &opts.Output)
	return cmd
}

// completePartitions offers topics, and behind a colon the partitions of one.
func completePartitions(conn *online.Connection) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		list := online.Topics
		if topic, _, colon := strings.Cut(typed, ":"); colon {
			list = func(ctx context.Context, cl *client.Client) ([]string, error) {
				cluster, err := cl.Topics(ctx, []string{topic})
				if err != nil {
					return nil, err
				}
				var all []string
				for _, t := range cluster.Topics {
					for _, p := range t.Partitions {
						all = append(all, fmt.Sprintf("%s:%d", topic, p.ID))
					}
				}
				return all, nil
			}
		}
		return conn.Complete(-1, list)(cmd, args, typed)
	}
}

// specialTimes are the points that have a name, which Kafka's scripts know too.
var specialTimes = map[string]int64{
	"latest": client.Latest, "earliest": client.Earliest, "max-timestamp": client.MaxTimestamp,
	"earliest-local": client.EarliestLocal, "latest-tiered": client.LatestTiered,
	"earliest-pending-upload": client.EarliestPendingUpload,
}

// parsePoint reads a --time: what ListOffsets takes.
func parsePoint(s string, now time.Time) (int64, error) {
	if at, ok := specialTimes[s]; ok {
		return at, nil
	}
	if at, err := strconv.ParseInt(s, 10, 64); err == nil && at >= client.EarliestPendingUpload {
		return at, nil
	}
	t, err := timearg.Parse(s, now)
	if err != nil {
		return 0, fmt.Errorf("--time %w, or one of latest, earliest, max-timestamp, earliest-local, latest-tiered, earliest-pending-upload", err)
	}
	if t.UnixMilli() < 0 {
		return 0, fmt.Errorf("--time %s: there are no times before 1970", s)
	}
	return t.UnixMilli(), nil
}

type rangeRow struct {
	Topic     string `col:"topic"`
	Partition int32  `col:"partition"`
	Start     *int64 `col:"start_offset"`
	End       *int64 `col:"end_offset"`
	Records   *int64 `col:"records"` // offsets from Start to End
	Err       error  `col:"error,data"`
}

type pointRow struct {
	Topic       string    `col:"topic"`
	Partition   int32     `col:"partition"`
	Time        string    `col:"time"` // as it was typed
	Offset      *int64    `col:"offset"`
	Timestamp   time.Time `col:"timestamp"` // of the record there
	LeaderEpoch *int32    `col:"leader_epoch,data"`
	Err         error     `col:"error,data"`
}

// An offsetSource answers for offsets.
type offsetSource interface {
	topicSource
	ListOffsets(ctx context.Context, at int64, committed bool, of kadm.TopicsSet) (kadm.ListedOffsets, error)
}

// Offsets prints offsets of partitions, by topic and partition. It takes a request for
// the topics, and one for each time to each leader.
func Offsets(ctx context.Context, env *cli.Env, cl offsetSource, opts OffsetsOptions) error {
	m, err := opts.partitioned(opts.Partitions)
	if err != nil {
		return err
	}
	points := []int64{client.Earliest, client.Latest}
	if len(opts.Times) > 0 {
		points = nil
	}
	for _, s := range opts.Times {
		at, err := parsePoint(s, env.Now())
		if err != nil {
			return cli.Usage(err)
		}
		points = append(points, at)
	}
	cluster, failed, err := m.choose(ctx, cl)
	if err != nil {
		return err
	}
	report := failures{env: env}
	report.topics(failed, false)
	topics := m.narrow(cluster.Topics, &report)
	listed := listAll(ctx, cl, points, opts.Committed, ledPartitions(topics))
	report.partitions(topics, listed)

	out := render.Open(env.Stdout, opts.Output, render.Options{Command: "topics offsets", Color: env.ColorStdout()})
	ranges, one := render.Rows[rangeRow](out), render.Rows[pointRow](out)
	if len(opts.Times) > 0 {
		one.Expect()
	}
	for _, t := range topics {
		for _, p := range t.Partitions {
			if len(opts.Times) == 0 {
				start, end := listed[0].at(t.Name, p.ID), listed[1].at(t.Name, p.ID)
				row := rangeRow{t.Name, p.ID, offset(start), offset(end), nil, end.Err}
				if row.Start != nil && row.End != nil {
					row.Records = new(max(0, *row.End-*row.Start))
				}
				if start.Err != nil {
					row.Err = start.Err
				}
				if err := ranges.Write(row); err != nil {
					return err
				}
			}
			for i, s := range opts.Times {
				o := listed[i].at(t.Name, p.ID)
				row := pointRow{Topic: t.Name, Partition: p.ID, Time: s, Offset: offset(o), Err: o.Err}
				if o.Timestamp >= 0 {
					row.Timestamp = time.UnixMilli(o.Timestamp)
				}
				if o.LeaderEpoch >= 0 {
					row.LeaderEpoch = &o.LeaderEpoch
				}
				if err := one.Write(row); err != nil {
					return err
				}
			}
		}
	}
	return errors.Join(out.Close(), report.end())
}

// answers are the offsets of partitions at one point.
type answers kadm.ListedOffsets

// errNoAnswer is the error of what a broker was asked about and did not mention.
var errNoAnswer = errors.New("the broker's answer does not mention it")

// errNoLeader is the error of a partition that nobody can be asked about.
var errNoLeader = errors.New("no leader: 'kf topics describe --unavailable' shows which replicas it waits for")

// at returns the answer for a partition; one without an answer has an error.
func (a answers) at(topic string, partition int32) kadm.ListedOffset {
	if o, ok := kadm.ListedOffsets(a).Lookup(topic, partition); ok {
		return o
	}
	return none(topic, partition, errNoLeader)
}

// none is the answer for a partition that has none.
func none(topic string, partition int32, err error) kadm.ListedOffset {
	return kadm.ListedOffset{Topic: topic, Partition: partition, Offset: -1, Timestamp: -1, LeaderEpoch: -1, Err: err}
}

// offset returns the offset of an answer, nil if it has none.
func offset(o kadm.ListedOffset) *int64 {
	if o.Err != nil || o.Offset < 0 {
		return nil
	}
	return &o.Offset
}

// listAll asks for the offsets at several points at the same time. What failed is in
// the answers, as the error of the partitions.
func listAll(ctx context.Context, cl offsetSource, points []int64, committed bool, of kadm.TopicsSet) []answers {
	listed := make([]answers, len(points))
	var wg sync.WaitGroup
	for i, at := range points {
		wg.Go(func() {
			found, err := cl.ListOffsets(ctx, at, committed, of) // the partitions that it is of have it too
			listed[i] = make(answers)
			for topic, partitions := range of {
				listed[i][topic] = make(map[int32]kadm.ListedOffset)
				for p := range partitions {
					o, ok := found.Lookup(topic, p)
					if !ok {
						o = none(topic, p, cmp.Or(err, errNoAnswer))
					}
					listed[i][topic][p] = o
				}
			}
		})
	}
	wg.Wait()
	return listed
}

// partitions tells of partitions without an offset, those of a topic with the same
// reason together.
func (f *failures) partitions(topics []client.Topic, listed []answers) {
	for _, t := range topics {
		var reasons []error
		ids := make(map[string][]int32)
		for _, p := range t.Partitions {
			for _, a := range listed {
				if err := a.at(t.Name, p.ID).Err; err != nil {
					why := reason(err)
					if ids[why.Error()] == nil {
						reasons = append(reasons, why)
					}
					ids[why.Error()] = append(ids[why.Error()], p.ID)
					break
				}
			}
		}
		for _, why := range reasons {
			f.add("topic %s: %s: %v", t.Name, count(len(ids[why.Error()]), "partition", []string{joined(ids[why.Error()])}), why)
		}
	}
}
