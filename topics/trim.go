package topics

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"kf/internal/cli"
	"kf/internal/client"
	"kf/internal/online"
	"kf/internal/render"
	"kf/internal/timearg"
)

// TrimOptions are the inputs of "kf topics trim". One of ToOffset, ToTime, ToEnd and
// File says up to where.
type TrimOptions struct {
	Selection
	Partitions []int32
	ToOffset   *int64
	ToTime     string
	ToEnd      bool
	File       string // "-": standard input
	DryRun     bool
	Output     render.Format
}

func newTrimCommand(env *cli.Env, conn *online.Connection) *cobra.Command {
	var (
		opts     TrimOptions
		toOffset int64
	)
	cmd := &cobra.Command{
		Use:   "trim [topic[:partitions]]...",
		Short: "Delete the oldest records of partitions",
		Long: `Deletes the records of partitions before an offset, which nothing brings back. It asks
first, or wants --yes; --dry-run prints what would go, and nothing changes. What is
done is what was planned: records that come meanwhile stay.

Up to where: --to-offset; --to-time, before the first record at or after a time (see kf
help times); --to-end, all records there are now; or --from-file, as kafka-delete-records
takes it, with an offset for each partition, -1 for its end:

  {"partitions": [{"topic": "orders", "partition": 0, "offset": 1000}], "version": 1}

` + partitionsHelp + `
A pattern needs --regex.

START-OFFSET is where the log starts before, LOW-WATERMARK where it does afterwards.
RECORDS counts offsets: compacted topics have fewer records. RESULT is trimmed,
unchanged if nothing is to be removed, or would_trim (with --dry-run).`,
		Example: `  kf topics trim orders --to-time -7d --dry-run
  kf topics trim orders:0-3 --to-offset 1000000 --yes
  kf topics trim scratch --to-end --yes
  kf topics trim --from-file offsets.json --dry-run`,
		Args:              cli.Args(cobra.ArbitraryArgs),
		ValidArgsFunction: completePartitions(conn),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := opts.take(args, opts.File == ""); err != nil {
				return err
			}
			if cmd.Flags().Changed("to-offset") {
				opts.ToOffset = &toOffset
			}
			if err := opts.validate(); err != nil {
				return err
			}
			return conn.Run(cmd, func(ctx context.Context, cl *client.Client) error {
				return Trim(ctx, env, cl, opts, func(what string) error {
					return conn.Allow(cl, online.Change{What: what, Destroy: true})
				})
			})
		},
	}
	flags := cmd.Flags()
	flags.Int64Var(&toOffset, "to-offset", 0, "delete the records before this `offset`")
	flags.StringVar(&opts.ToTime, "to-time", "", "delete the records before the first one at or after this `time`")
	flags.BoolVar(&opts.ToEnd, "to-end", false, "delete all records that there are")
	flags.StringVar(&opts.File, "from-file", "", "delete the records before the offsets in this JSON `file`, - for standard input")
	flags.Int32SliceVar(&opts.Partitions, "partitions", nil, "only these `numbers` of partitions, joined by commas")
	flags.BoolVar(&opts.DryRun, "dry-run", false, "only print what would be deleted")
	opts.flags(cmd)
	conn.YesFlag(cmd)
	cmd.MarkFlagsMutuallyExclusive("to-offset", "to-time", "to-end", "from-file")
	cmd.MarkFlagsOneRequired("to-offset", "to-time", "to-end", "from-file")
	cmd.MarkFlagsMutuallyExclusive("from-file", "partitions")
	cli.NoFiles(cmd, "to-offset", "to-time", "partitions")
	_ = cmd.MarkFlagFilename("from-file", "json") // fails only for a flag that is not there
	render.Flag(cmd, &opts.Output)
	return cmd
}

func (o *TrimOptions) validate() error {
	switch {
	case o.File != "" && len(o.Words) > 0:
		return cli.Usagef("--from-file names the topics: no others go with it")
	case o.File == "" && len(o.Words) == 0:
		return cli.Usagef("which topics? (see --help)")
	case o.ToOffset != nil && *o.ToOffset < 0:
		return cli.Usagef("--to-offset %d: want 0 or more; --to-end is for all records", *o.ToOffset)
	}
	return nil
}

type trimRow struct {
	Topic     string `col:"topic"`
	Partition int32  `col:"partition"`
	Start     int64  `col:"start_offset"`
	To        int64  `col:"to_offset"`
	End       int64  `col:"end_offset"`
	Records   int64  `col:"records"` // offsets that go
	Low       *int64 `col:"low_watermark"`
	Result    string `col:"result"` // trimmed, unchanged, would_trim
}

// A trimmer is what Trim asks of the cluster.
type trimmer interface {
	offsetSource
	DeleteRecords(ctx context.Context, before kadm.Offsets) (kadm.DeleteRecordsResponses, error)
}

// Trim deletes the oldest records of partitions and prints a row for each. Before, it
// asks allow.
func Trim(ctx context.Context, env *cli.Env, cl trimmer, opts TrimOptions, allow func(what string) error) error {
	if err := opts.validate(); err != nil {
		return err
	}
	report := failures{env: env}
	plan, err := opts.plan(ctx, env, cl, &report)
	if err != nil {
		return err
	}
	records, before := int64(0), make(kadm.Offsets)
	var some []string
	for _, p := range plan {
		if p.Records > 0 {
			if before[p.Topic] == nil {
				some = append(some, p.Topic)
			}
			before.AddOffset(p.Topic, p.Partition, p.To, -1)
			records += p.Records
		}
	}
	var done kadm.DeleteRecordsResponses
	var failed error
	if !opts.DryRun && len(before) > 0 {
		if err := allow(fmt.Sprintf("delete %s of %s", count(int(records), "record", nil), count(len(some), "topic", some))); err != nil {
			return err
		}
		done, failed = cl.DeleteRecords(ctx, before)
	}
	rows := render.New[trimRow](env.Stdout, opts.Output, render.Options{Command: "topics trim", Color: env.ColorStdout()})
	for _, p := range plan {
		switch r, answered := done.Lookup(p.Topic, p.Partition); {
		case p.Records == 0:
			p.Result = "unchanged"
		case opts.DryRun:
			p.Result = "would_trim"
		case !answered:
			report.add("%s-%d: %s", p.Topic, p.Partition, reason(noAnswer(failed)))
			continue
		case errors.Is(r.Err, kerr.PolicyViolation):
			report.add("%s-%d: %s: a topic whose cleanup.policy has no delete keeps its records", p.Topic, p.Partition, reason(r.Err))
			continue
		case r.Err != nil:
			report.add("%s-%d: %s", p.Topic, p.Partition, reason(r.Err))
			continue
		default:
			p.Low, p.Result = &r.LowWatermark, "trimmed"
		}
		if err := rows.Write(p); err != nil {
			return err
		}
	}
	return errors.Join(rows.Close(), report.end())
}

// noAnswer returns why a partition has none.
func noAnswer(failed error) error {
	if shards, ok := errors.AsType[*kadm.ShardErrors](failed); ok && len(shards.Errs) > 0 {
		return shards.Errs[0].Err
	}
	if failed != nil {
		return failed
	}
	return errNoAnswer
}

// plan returns what is to be done to each partition, by topic and partition. What
// cannot be done it tells of, and leaves out.
func (o *TrimOptions) plan(ctx context.Context, env *cli.Env, cl trimmer, report *failures) ([]trimRow, error) {
	points := []int64{client.Earliest, client.Latest}
	if o.ToTime != "" {
		t, err := timearg.Parse(o.ToTime, env.Now())
		if err != nil {
			return nil, cli.Usagef("--to-time: %w", err)
		}
		points = append(points, max(0, t.UnixMilli()))
	}
	topics, file, err := o.targets(ctx, env, cl, report)
	if err != nil {
		return nil, err
	}
	listed := listAll(ctx, cl, points, false, ledPartitions(topics))
	report.partitions(topics, listed)
	var plan []trimRow
	for _, t := range topics {
		for _, p := range t.Partitions {
			start, end := listed[0].at(t.Name, p.ID), listed[1].at(t.Name, p.ID)
			if start.Err != nil || end.Err != nil {
				continue // it has been told of
			}
			row := trimRow{Topic: t.Name, Partition: p.ID, Start: start.Offset, End: end.Offset, To: end.Offset}
			switch {
			case o.ToOffset != nil:
				row.To = *o.ToOffset
			case o.ToTime != "":
				at := listed[2].at(t.Name, p.ID)
				if at.Err != nil {
					continue
				}
				if at.Offset >= 0 { // else no record is that new
					row.To = at.Offset
				}
			case file != nil:
				if to := file[t.Name][p.ID]; to >= 0 {
					row.To = to
				}
			}
			if row.To > row.End {
				report.add("%s-%d: offset %d is past the end of the partition, which is %d", t.Name, p.ID, row.To, row.End)
				continue
			}
			row.Records = max(0, row.To-row.Start)
			plan = append(plan, row)
		}
	}
	return plan, nil
}

// targets returns the topics with the partitions that are meant, and the offsets of
// the file if there is one.
func (o *TrimOptions) targets(ctx context.Context, env *cli.Env, cl topicSource, report *failures) ([]client.Topic, trimFile, error) {
	if o.File != "" {
		file, err := readTrimFile(ctx, env, o.File)
		if err != nil {
			return nil, nil, err
		}
		topics, err := file.topics(ctx, cl, report)
		return topics, file, err
	}
	m, err := o.partitioned(o.Partitions)
	if err != nil {
		return nil, nil, err
	}
	if err := o.strict(m); err != nil {
		return nil, nil, err
	}
	cluster, failed, err := m.choose(ctx, cl)
	if err != nil {
		return nil, nil, err
	}
	report.topics(failed, false)
	return m.narrow(cluster.Topics, report), nil, nil
}
