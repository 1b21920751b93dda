package acls

import (
	"context"

	"github.com/spf13/cobra"

	"kf/internal/cli"
	"kf/internal/client"
	"kf/internal/online"
	"kf/internal/render"
)

// ListOptions are the inputs of "kf acls list".
type ListOptions struct {
	Filter
	Output render.Format
}

func newListCommand(env *cli.Env, conn *online.Connection) *cobra.Command {
	var opts ListOptions
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List ACLs",
		Long: `Lists ACLs, all or those that fit in every flag. A name is that of ACLs with exactly it,
whether they are literal or prefixed; --pattern match finds all that apply to a resource
of the name: its own, those of a prefix of it, and those of '*'.`,
		Example: `  kf acls list
  kf acls list --topic orders --pattern match
  kf acls list --principal User:alice -o csv
  kf acls list --resource-type group --operation Read --permission deny`,
		Args:              cli.Args(cobra.NoArgs),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			if _, err := opts.question(client.AnyPattern); err != nil {
				return cli.Usage(err)
			}
			return conn.Run(cmd, func(ctx context.Context, cl *client.Client) error {
				return List(ctx, env, cl, opts)
			})
		},
	}
	opts.flags(cmd, conn, "any")
	conn.ControllerFlag(cmd)
	render.Flag(cmd, &opts.Output)
	return cmd
}

// List prints a row for each ACL, by resource.
func List(ctx context.Context, env *cli.Env, cl finder, opts ListOptions) error {
	q, err := opts.question(client.AnyPattern)
	if err != nil {
		return cli.Usage(err)
	}
	all, err := q.find(ctx, cl)
	if err != nil {
		return err
	}
	rows := render.New[aclRow](env.Stdout, opts.Output, render.Options{Command: "acls list", Color: env.ColorStdout()})
	for _, a := range all {
		if err := rows.Write(rowOf(a)); err != nil {
			return err
		}
	}
	return rows.Close()
}
