package topics

import (
	"context"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"

	"kf/internal/cli"
	"kf/internal/client"
	"kf/internal/online"
	"kf/internal/render"
)

// ListOptions are the inputs of "kf topics list".
type ListOptions struct {
	Internal bool // also __consumer_offsets and the like
	Output   render.Format
}

func newListCommand(env *cli.Env, conn *online.Connection) *cobra.Command {
	var opts ListOptions
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the topics of a cluster",
		Example: "  kf topics list -b broker1:9092 -o jsonl | jq -r .topic",
		Args:    cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, args []string) error {
			return conn.Run(cmd, func(ctx context.Context, cl *client.Client) error {
				return List(ctx, env, cl, opts)
			})
		},
	}
	cmd.Flags().BoolVar(&opts.Internal, "internal", false, "list the topics that Kafka keeps for itself too")
	render.Flag(cmd, &opts.Output)
	return cmd
}

type topicRow struct {
	Topic       string `col:"topic"`
	Partitions  int    `col:"partitions"`
	Replication int    `col:"replication_factor"`
	Internal    bool   `col:"internal,data"`
}

// A lister is what List asks of the cluster.
type lister interface {
	ListTopicsWithInternal(context.Context, ...string) (kadm.TopicDetails, error)
}

// List prints a row for each topic, by name.
func List(ctx context.Context, env *cli.Env, cl lister, opts ListOptions) error {
	topics, err := cl.ListTopicsWithInternal(ctx)
	if err != nil {
		return err
	}
	rows := render.New[topicRow](env.Stdout, opts.Output, render.Options{Command: "topics list", Color: env.ColorStdout()})
	for _, t := range topics.Sorted() {
		if t.IsInternal && !opts.Internal {
			continue
		}
		if err := rows.Write(topicRow{t.Topic, len(t.Partitions), t.Partitions.NumReplicas(), t.IsInternal}); err != nil {
			return err
		}
	}
	return rows.Close()
}
