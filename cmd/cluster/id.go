package cluster

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"kf/internal/cli"
	"kf/internal/client"
	"kf/internal/online"
	"kf/internal/render"
)

// IDOptions are the inputs of "kf cluster id".
type IDOptions struct {
	Output render.Format
}

func newIDCommand(env *cli.Env, conn *online.Connection) *cobra.Command {
	var opts IDOptions
	cmd := &cobra.Command{
		Use:   "id",
		Short: "Print the id of the cluster",
		Long:  "Prints the id of the cluster and nothing else, for scripts; with -o json, jsonl or csv as a row.",
		Example: `  kf cluster id
  test "$(kf cluster id -C prod)" = N0rIc4QTScif3fLM2_2yGQ`,
		Args:              cli.Args(cobra.NoArgs),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			return conn.Run(cmd, func(ctx context.Context, cl *client.Client) error {
				return ID(ctx, env, cl, opts)
			})
		},
	}
	conn.ControllerFlag(cmd)
	render.Flag(cmd, &opts.Output)
	return cmd
}

type idRow struct {
	ClusterID string `col:"cluster_id"`
}

// ID prints the id of the cluster.
func ID(ctx context.Context, env *cli.Env, cl nodeLister, opts IDOptions) error {
	nodes, err := cl.Nodes(ctx, false)
	if err != nil {
		return err
	}
	if opts.Output == render.Table {
		_, err := fmt.Fprintln(env.Stdout, cli.Printable(nodes.ClusterID))
		return err
	}
	rows := render.New[idRow](env.Stdout, opts.Output, render.Options{Command: "cluster id"})
	if err := rows.Write(idRow{nodes.ClusterID}); err != nil {
		return err
	}
	return rows.Close()
}
