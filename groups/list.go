package groups

import (
	"context"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"

	"kf/internal/cli"
	"kf/internal/client"
	"kf/internal/online"
	"kf/internal/render"
)

// ListOptions are the inputs of "kf groups list".
type ListOptions struct {
	Output render.Format
}

func newListCommand(env *cli.Env, conn *online.Connection) *cobra.Command {
	var opts ListOptions
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the groups of a cluster",
		Example: "  kf groups list -o jsonl | jq -r .group",
		Args:    cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, args []string) error {
			return conn.Run(cmd, func(ctx context.Context, cl *client.Client) error {
				return List(ctx, env, cl, opts)
			})
		},
	}
	render.Flag(cmd, &opts.Output)
	return cmd
}

type groupRow struct {
	Group    string `col:"group"`
	Type     string `col:"type"`
	Protocol string `col:"protocol"`
	State    string `col:"state"`
}

// A lister is what List asks of the cluster.
type lister interface {
	ListGroups(context.Context, ...string) (kadm.ListedGroups, error)
}

// List prints a row for each group, by id.
func List(ctx context.Context, env *cli.Env, cl lister, opts ListOptions) error {
	groups, err := cl.ListGroups(ctx)
	if err != nil {
		return err
	}
	rows := render.New[groupRow](env.Stdout, opts.Output, render.Options{Command: "groups list", Color: env.ColorStdout()})
	for _, g := range groups.Sorted() {
		if err := rows.Write(groupRow{g.Group, g.GroupType, g.ProtocolType, g.State}); err != nil {
			return err
		}
	}
	return rows.Close()
}
