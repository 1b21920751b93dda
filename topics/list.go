package topics

import (
	"bufio"
	"context"
	"errors"

	"github.com/spf13/cobra"

	"kf/internal/cli"
	"kf/internal/client"
	"kf/internal/online"
	"kf/internal/render"
	"kf/internal/wire"
)

// ListOptions are the inputs of "kf topics list".
type ListOptions struct {
	Selection
	Sizes  bool // ask the brokers how much the topics take
	Names  bool // print nothing but names
	Output render.Format
}

func newListCommand(env *cli.Env, conn *online.Connection) *cobra.Command {
	var opts ListOptions
	cmd := &cobra.Command{
		Use:   "list [topic|pattern]...",
		Short: "List the topics of a cluster",
		Long: `Lists topics by name: all, or those that are named.
` + wordsHelp + `

Topics that Kafka keeps for itself, such as __consumer_offsets, are listed if they are
named, or with --internal. --sizes also asks the brokers for their log directories:
SIZE is one copy of the topic, the largest replica of each partition, TOTAL-SIZE all
copies, in bytes; "-" where a broker with a replica did not answer.`,
		Example: `  kf topics list -b broker1:9092
  kf topics list 'orders.*' --sizes
  kf topics list --names | xargs -n 1 kf topics describe
  kf topics list -o jsonl | jq -r 'select(.partitions > 100).topic'`,
		Args:              cli.Args(cobra.ArbitraryArgs),
		ValidArgsFunction: conn.Complete(-1, online.Topics),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := opts.take(args, false); err != nil {
				return err
			}
			if opts.Names && cmd.Flags().Changed("output") {
				return cli.Usagef("--names prints names only: it goes without --output")
			}
			if opts.Names && opts.Sizes {
				return cli.Usagef("--names prints names only: it goes without --sizes")
			}
			return conn.Run(cmd, func(ctx context.Context, cl *client.Client) error {
				return List(ctx, env, cl, opts)
			})
		},
	}
	opts.flags(cmd)
	cmd.Flags().BoolVar(&opts.Sizes, "sizes", false, "ask the brokers how many bytes the topics take")
	cmd.Flags().BoolVar(&opts.Names, "names", false, "print nothing but names, one a line")
	render.Flag(cmd, &opts.Output)
	return cmd
}

// wordsHelp says how arguments name topics.
const wordsHelp = `A word that can be the name of a topic is that name; any other one, or each with
--regex, is a regular expression as Kafka's scripts have them: it must match the whole
name, and a comma means "or".`

// flags adds the flags of a selection to cmd. --topic is what people type who come
// from Kafka's scripts; it is one more word.
func (s *Selection) flags(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&s.named, "topic", nil, "one more word")
	_ = cmd.Flags().MarkHidden("topic") // fails only for a flag that is not there
	cmd.Flags().BoolVar(&s.Regex, "regex", false, "the words are patterns, also those that could be names")
	cmd.Flags().BoolVar(&s.Internal, "internal", false, "also those topics that Kafka keeps for itself")
}

type listRow struct {
	Topic       string     `col:"topic"`
	Partitions  int        `col:"partitions"`
	Replication int        `col:"replication_factor"`
	Internal    bool       `col:"internal,data"`
	ID          *wire.UUID `col:"topic_id,data"`
}

// sizedRow is a listRow with what --sizes asks for, in bytes.
type sizedRow struct {
	listRow
	Size  *int64 `col:"size"`
	Total *int64 `col:"total_size"`
}

// A lister is what List asks of the cluster.
type lister interface {
	topicSource
	dirSource
}

// List prints a row for each topic, by name. It takes one request, and with sizes one
// more to each broker.
func List(ctx context.Context, env *cli.Env, cl lister, opts ListOptions) error {
	m, err := opts.matcher()
	if err != nil {
		return err
	}
	cluster, failed, err := m.choose(ctx, cl)
	if err != nil {
		return err
	}
	report := failures{env: env}
	report.topics(failed, false)
	if opts.Names {
		w := bufio.NewWriter(env.Stdout)
		for _, t := range cluster.Topics {
			_, _ = w.WriteString(t.Name + "\n") // Flush has the error
		}
		return errors.Join(w.Flush(), report.end())
	}
	var found sizes
	if opts.Sizes {
		if found, err = askSizes(ctx, cl, cluster, m.all()); err != nil {
			for _, err := range each(err) {
				report.add("sizes are not complete: %v", err)
			}
		}
	}
	out := render.Open(env.Stdout, opts.Output, render.Options{Command: "topics list", Color: env.ColorStdout()})
	plain, sized := render.Rows[listRow](out), render.Rows[sizedRow](out)
	if opts.Sizes {
		sized.Expect()
	}
	for _, t := range cluster.Topics {
		row := listRow{t.Name, len(t.Partitions), t.Replicas(), t.Internal, topicID(t.ID)}
		if opts.Sizes {
			one, all := found.of(t.Name, t.Partitions...)
			err = sized.Write(sizedRow{row, one, all})
		} else {
			err = plain.Write(row)
		}
		if err != nil {
			return err
		}
	}
	return errors.Join(out.Close(), report.end())
}

// topicID returns the id of a topic for a row, nil for none.
func topicID(id wire.UUID) *wire.UUID {
	if id.IsZero() {
		return nil
	}
	return &id
}
