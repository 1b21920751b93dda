package topics

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"kf/internal/cli"
	"kf/internal/client"
	"kf/internal/online"
	"kf/internal/render"
)

// AlterOptions are the inputs of "kf topics alter".
type AlterOptions struct {
	Selection
	Partitions int32 // 0: as many as Assignment has
	Assignment string
	IfExists   bool
	DryRun     bool
	NoWait     bool
	Output     render.Format
}

func newAlterCommand(env *cli.Env, conn *online.Connection) *cobra.Command {
	var (
		opts       AlterOptions
		set, unset []string
	)
	cmd := &cobra.Command{
		Use:   "alter <topic>...",
		Short: "Add partitions to topics",
		Long: `Raises the number of partitions of topics, which can never be lowered again, and
returns when every broker knows them and each has a leader. The cluster places the new
partitions, or --replica-assignment does: it has the replicas of the new partitions
only, or, as Kafka's scripts want it, of all, of which those of the old ones are left
alone.

Records stay where they are: from then on a key may go to another partition than
before. Settings of topics are changed by "kf configs alter".`,
		Example: `  kf topics alter orders --partitions 12
  kf topics alter orders --partitions 12 --dry-run
  kf topics alter --regex 'team-a\..*' --partitions 6
  kf topics alter orders --partitions 4 --replica-assignment 3:1`,
		Args:              cli.Args(cobra.ArbitraryArgs),
		ValidArgsFunction: conn.Complete(-1, online.Topics),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := opts.take(args, true); err != nil {
				return err
			}
			if len(set) > 0 || len(unset) > 0 {
				return configsInstead(opts.Words, set, unset)
			}
			if _, err := opts.assignment(); err != nil {
				return cli.Usage(err)
			}
			return conn.Run(cmd, func(ctx context.Context, cl *client.Client) error {
				return Alter(ctx, env, cl, opts, func(what string) error {
					return conn.Allow(cl, online.Change{What: what})
				})
			})
		},
	}
	flags := cmd.Flags()
	flags.Int32Var(&opts.Partitions, "partitions", 0, "raise the partitions to this `number`")
	flags.StringVar(&opts.Assignment, "replica-assignment", "", "place the replicas: `brokers` of each partition joined by colons, partitions by commas")
	flags.BoolVar(&opts.IfExists, "if-exists", false, "a topic that there is not is no failure")
	flags.BoolVar(&opts.DryRun, "dry-run", false, "only ask the cluster whether it would")
	flags.BoolVar(&opts.NoWait, "no-wait", false, "do not wait until the partitions can be used")
	opts.flags(cmd)
	conn.YesFlag(cmd)
	// People try these, which kafka-topics.sh once had.
	flags.StringArrayVar(&set, "config", nil, "kf configs alter --set does it")
	flags.StringArrayVar(&unset, "delete-config", nil, "kf configs alter --delete does it")
	for _, name := range []string{"config", "delete-config"} {
		_ = flags.MarkHidden(name) // fails only for a flag that is not there
	}
	cli.NoFiles(cmd, "partitions", "replica-assignment")
	render.Flag(cmd, &opts.Output)
	return cmd
}

// configsInstead says which command does what alter does not.
func configsInstead(topics, set, unset []string) error {
	words := append([]string{"kf configs alter topic"}, topics...)
	for _, s := range set {
		words = append(words, "--set", s)
	}
	for _, s := range unset {
		words = append(words, "--delete", s)
	}
	return cli.Usagef("settings are changed by another command: %s", strings.Join(words, " "))
}

// assignment checks the options.
func (o *AlterOptions) assignment() ([][]int32, error) {
	switch {
	case o.Partitions < 0:
		return nil, fmt.Errorf("--partitions %d: want at least 1", o.Partitions)
	case o.Assignment != "":
		return parseAssignment(o.Assignment)
	case o.Partitions == 0:
		return nil, errors.New("give --partitions")
	}
	return nil, nil
}

type alterRow struct {
	Topic  string `col:"topic"`
	Before int    `col:"before"`     // partitions
	After  int32  `col:"partitions"` // partitions
	Result string `col:"result"`     // altered, valid
}

// An alterer is what Alter asks of the cluster.
type alterer interface {
	topicSource
	AddPartitions(ctx context.Context, validate bool, topics []client.NewPartitions) (map[string]error, error)
	AwaitTopics(ctx context.Context, names []string, ready func([]client.Topic) bool) error
}

// Alter adds partitions to topics and prints a row for each that got some. Before, it
// asks allow.
func Alter(ctx context.Context, env *cli.Env, cl alterer, opts AlterOptions, allow func(what string) error) error {
	assignment, err := opts.assignment()
	if err != nil {
		return cli.Usage(err)
	}
	m, err := opts.matcher()
	if err != nil {
		return err
	}
	if err := opts.strict(m); err != nil {
		return err
	}
	cluster, failed, err := m.choose(ctx, cl)
	if err != nil {
		return err
	}
	report := failures{env: env}
	report.topics(failed, opts.IfExists)
	if len(cluster.Topics) == 0 {
		m.none(&report, opts.IfExists)
		return report.end()
	}
	var changes []client.NewPartitions
	var names []string
	before := make(map[string]int)
	for _, t := range cluster.Topics {
		change, err := opts.change(&t, assignment)
		if err != nil {
			report.topic(t.Name, err)
			continue
		}
		changes, names = append(changes, change), append(names, t.Name)
		before[t.Name] = len(t.Partitions)
	}
	if len(changes) == 0 {
		return report.end()
	}
	if !opts.DryRun {
		if err := allow("add partitions to " + count(len(names), "topic", names)); err != nil {
			return err
		}
	}
	answer, err := cl.AddPartitions(ctx, opts.DryRun, changes)
	if err != nil {
		return err
	}
	rows := render.New[alterRow](env.Stdout, opts.Output, render.Options{Command: "topics alter", Color: env.ColorStdout()})
	counts := make(map[string]int32)
	for _, c := range changes {
		if err := answer[c.Topic]; err != nil {
			report.topic(c.Topic, err)
			continue
		}
		row := alterRow{c.Topic, before[c.Topic], c.Count, "altered"}
		if opts.DryRun {
			row.Result = "valid"
		} else {
			counts[c.Topic] = c.Count
		}
		if err := rows.Write(row); err != nil {
			return err
		}
	}
	err = rows.Close()
	if !opts.NoWait {
		names = nil
		for name := range counts {
			names = append(names, name)
		}
		late := cl.AwaitTopics(ctx, names, func(ts []client.Topic) bool {
			for _, t := range ts {
				if len(t.Partitions) < int(counts[t.Name]) {
					return false
				}
			}
			return led(ts, len(names))
		})
		if late != nil {
			err = errors.Join(err, fmt.Errorf("added, but not every broker knows a leader of each partition: %w", late))
		}
	}
	return errors.Join(err, report.end())
}

// change returns what to ask for a topic. An assignment for as many partitions as
// there will be names the old ones too.
func (o *AlterOptions) change(t *client.Topic, assignment [][]int32) (client.NewPartitions, error) {
	old, want := len(t.Partitions), int(o.Partitions)
	if want == 0 {
		want = len(assignment)
	}
	switch {
	case want < old:
		return client.NewPartitions{}, fmt.Errorf("it has %d partitions, and their number cannot go down to %d: create another topic and copy the records", old, want)
	case want == old:
		return client.NewPartitions{}, fmt.Errorf("it has %d partitions already", old)
	case len(assignment) == want:
		assignment = assignment[old:]
	case assignment != nil && len(assignment) != want-old:
		return client.NewPartitions{}, fmt.Errorf("--replica-assignment has %d partitions: want the %d new ones, or all %d", len(assignment), want-old, want)
	}
	return client.NewPartitions{Topic: t.Name, Count: int32(want), Assignment: assignment}, nil
}
