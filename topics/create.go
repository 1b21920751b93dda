package topics

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kerr"

	"kf/internal/cli"
	"kf/internal/client"
	"kf/internal/online"
	"kf/internal/render"
	"kf/internal/wire"
)

// CreateOptions are the inputs of "kf topics create".
type CreateOptions struct {
	Topics      []string
	Partitions  int32 // -1: as the brokers' default
	Replication int16 // -1: as the brokers' default
	Assignment  string
	Configs     []string // key=value
	IfNotExists bool
	DryRun      bool
	NoWait      bool
	Output      render.Format
}

func newCreateCommand(env *cli.Env, conn *online.Connection) *cobra.Command {
	var (
		opts  CreateOptions
		named []string
	)
	cmd := &cobra.Command{
		Use:   "create <topic>[:<partitions>]...",
		Short: "Create topics",
		Long: `Creates topics, all alike, and returns when every broker knows them and each
partition has a leader. One topic that cannot be created does not keep the others from
it; the exit code is 1 then.

The number of partitions may stand behind a name. Without it, --partitions and
--replication-factor the brokers' defaults hold. RESULT is created,
exists (with --if-not-exists) or valid (with --dry-run).`,
		Example: `  kf topics create orders --partitions 6 --replication-factor 3
  kf topics create orders:6 audit:1
  kf topics create orders audit --config cleanup.policy=compact,delete --config retention.ms=86400000
  kf topics create placed --replica-assignment 1:2,2:3,3:1
  kf topics create orders --if-not-exists --dry-run`,
		Args:              cli.Args(cobra.ArbitraryArgs),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			if opts.Topics = append(named, args...); len(opts.Topics) == 0 {
				return cli.Usagef("which topics? (see --help)")
			}
			if _, err := opts.topics(); err != nil {
				return err
			}
			return conn.Run(cmd, func(ctx context.Context, cl *client.Client) error {
				if !opts.DryRun {
					if err := conn.Allow(cl, online.Change{What: "create " + count(len(opts.Topics), "topic", opts.Topics)}); err != nil {
						return err
					}
				}
				return Create(ctx, env, cl, opts)
			})
		},
	}
	flags := cmd.Flags()
	flags.Int32Var(&opts.Partitions, "partitions", -1, "make this `number` of partitions")
	flags.Int16Var(&opts.Replication, "replication-factor", -1, "make this `number` of replicas of each")
	flags.StringVar(&opts.Assignment, "replica-assignment", "", "place the replicas: `brokers` of each partition joined by colons, partitions by commas; the first broker is the preferred leader")
	flags.StringArrayVar(&opts.Configs, "config", nil, "set a `key=value` of the topic; may be given again")
	flags.BoolVar(&opts.IfNotExists, "if-not-exists", false, "a topic that there is already is no failure")
	flags.BoolVar(&opts.DryRun, "dry-run", false, "only ask the cluster whether it would")
	flags.BoolVar(&opts.NoWait, "no-wait", false, "do not wait until the topics can be used")
	for _, name := range []string{"partitions", "replication-factor"} {
		flags.Lookup(name).DefValue = "the brokers'" // in the help
	}
	flags.StringArrayVar(&named, "topic", nil, "one more topic") // as Kafka's script has it
	_ = flags.MarkHidden("topic")                                // fails only for a flag that is not there
	conn.YesFlag(cmd)
	cmd.MarkFlagsMutuallyExclusive("replica-assignment", "partitions")
	cmd.MarkFlagsMutuallyExclusive("replica-assignment", "replication-factor")
	cli.NoFiles(cmd, "partitions", "replication-factor", "replica-assignment", "config")
	render.Flag(cmd, &opts.Output)
	return cmd
}

// topics checks the options, an error is one of usage, and returns what to ask for.
func (o *CreateOptions) topics() (_ []client.NewTopic, err error) {
	defer func() { err = cli.Usage(err) }()
	var assignment [][]int32
	configs := make(map[string]string)
	switch {
	case o.Partitions < 1 && o.Partitions != -1:
		return nil, fmt.Errorf("--partitions %d: want at least 1", o.Partitions)
	case o.Replication < 1 && o.Replication != -1:
		return nil, fmt.Errorf("--replication-factor %d: want at least 1", o.Replication)
	case o.Assignment != "":
		if assignment, err = parseAssignment(o.Assignment); err != nil {
			return nil, err
		}
	}
	for _, c := range o.Configs {
		key, value, ok := strings.Cut(c, "=")
		if key = strings.TrimSpace(key); !ok || key == "" {
			return nil, fmt.Errorf("--config %s: want key=value", c)
		}
		if _, twice := configs[key]; twice {
			return nil, fmt.Errorf("--config %s: the key is given twice", key)
		}
		configs[key] = value
	}
	var all []client.NewTopic
	seen := make(map[string]bool)
	for _, word := range o.Topics {
		name, count, counted := strings.Cut(word, ":")
		partitions := o.Partitions
		if counted {
			n, err := strconv.ParseInt(count, 10, 32)
			switch {
			case err != nil || n < 1:
				return nil, fmt.Errorf("topic %s: %q is no number of partitions", word, count)
			case assignment != nil:
				return nil, fmt.Errorf("topic %s: --replica-assignment says how many partitions", word)
			}
			partitions = int32(n)
		}
		if seen[name] {
			return nil, fmt.Errorf("topic %s is named twice", name)
		}
		seen[name] = true
		all = append(all, client.NewTopic{
			Name: name, Partitions: partitions, Replication: o.Replication, Assignment: assignment, Configs: configs,
		})
	}
	return all, nil
}

// parseAssignment reads "0:1,1:2": for each partition its replicas.
func parseAssignment(s string) ([][]int32, error) {
	var all [][]int32
	for i, group := range strings.Split(s, ",") {
		var replicas []int32
		for word := range strings.SplitSeq(group, ":") {
			id, err := strconv.ParseInt(strings.TrimSpace(word), 10, 32)
			if err != nil || id < 0 {
				return nil, fmt.Errorf("--replica-assignment: %q, of partition %d in the list, is no id of a broker: want one like 1:2,2:3", word, i)
			}
			replicas = append(replicas, int32(id))
		}
		all = append(all, replicas)
	}
	return all, nil
}

type createRow struct {
	Topic       string     `col:"topic"`
	ID          *wire.UUID `col:"topic_id"`
	Partitions  *int32     `col:"partitions"`
	Replication *int16     `col:"replication_factor"`
	Result      string     `col:"result"` // created, exists, valid
}

// A creator is what Create asks of the cluster.
type creator interface {
	topicSource
	CreateTopics(ctx context.Context, validate bool, topics []client.NewTopic) ([]client.CreatedTopic, error)
	AwaitTopics(ctx context.Context, names []string, ready func([]client.Topic) bool) error
}

// Create creates topics and prints a row for each that is there in the end.
func Create(ctx context.Context, env *cli.Env, cl creator, opts CreateOptions) error {
	topics, err := opts.topics()
	if err != nil {
		return err
	}
	for _, t := range topics {
		if strings.Contains(t.Name, ".") && strings.Contains(t.Name, "_") {
			env.Warnf("topic %s: names of metrics do not tell '.' from '_', so a name with both can collide with another one: use only one of them", t.Name)
		}
	}
	answer, err := cl.CreateTopics(ctx, opts.DryRun, topics)
	if err != nil {
		return err
	}
	report := failures{env: env}
	var made, there []string
	rows := render.New[createRow](env.Stdout, opts.Output, render.Options{Command: "topics create", Color: env.ColorStdout()})
	for _, t := range answer {
		row := createRow{Topic: t.Name, ID: topicID(t.ID), Result: "created"}
		if t.Partitions > 0 {
			row.Partitions = &t.Partitions
		}
		if t.Replication > 0 {
			row.Replication = &t.Replication
		}
		switch {
		case opts.IfNotExists && errors.Is(t.Err, kerr.TopicAlreadyExists):
			row = createRow{Topic: t.Name, Result: "exists"}
			there = append(there, t.Name)
		case t.Err != nil:
			report.topic(t.Name, t.Err)
			continue
		case opts.DryRun:
			row.Result, row.ID = "valid", nil
		default:
			made = append(made, t.Name)
		}
		if err := rows.Write(row); err != nil {
			return err
		}
	}
	if len(there) > 0 {
		if err := compare(ctx, env, cl, there, topics); err != nil {
			report.add("%v", err)
		}
	}
	err = rows.Close()
	if !opts.NoWait {
		if late := cl.AwaitTopics(ctx, made, func(ts []client.Topic) bool { return led(ts, len(made)) }); late != nil {
			err = errors.Join(err, fmt.Errorf("created, but not every broker knows a leader of each partition: %w", late))
		}
	}
	return errors.Join(err, report.end())
}

// led reports whether there are n topics, and a leader of each of their partitions.
func led(topics []client.Topic, n int) bool {
	for _, t := range topics {
		if t.Err != nil || len(t.Partitions) == 0 {
			return false
		}
		for _, p := range t.Partitions {
			if p.Leader < 0 {
				return false
			}
		}
	}
	return len(topics) == n
}

// compare warns of topics that are there already and are not as they were to be made.
func compare(ctx context.Context, env *cli.Env, cl topicSource, names []string, wanted []client.NewTopic) error {
	cluster, err := cl.Topics(ctx, names)
	if err != nil {
		return err
	}
	for _, t := range cluster.Topics {
		for _, w := range wanted {
			if w.Name != t.Name || t.Err != nil {
				continue
			}
			partitions, replicas := int(w.Partitions), int(w.Replication)
			if w.Assignment != nil {
				partitions, replicas = len(w.Assignment), len(w.Assignment[0])
			}
			if partitions > 0 && partitions != len(t.Partitions) {
				env.Warnf("topic %s exists with %d partitions, not %d", t.Name, len(t.Partitions), partitions)
			}
			if replicas > 0 && replicas != t.Replicas() {
				env.Warnf("topic %s exists with replication factor %d, not %d", t.Name, t.Replicas(), replicas)
			}
		}
	}
	return nil
}

// count returns "topic orders", or "3 topics" with their names if they are few.
func count(n int, what string, names []string) string {
	switch {
	case n == 1 && len(names) == 1:
		return what + " " + names[0]
	case n == 1:
		return "1 " + what
	case len(names) == 0 || len(names) > 5:
		return fmt.Sprintf("%d %ss", n, what)
	}
	return fmt.Sprintf("%d %ss (%s)", n, what, strings.Join(names, ", "))
}
