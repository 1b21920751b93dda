package acls

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"kf/internal/cli"
	"kf/internal/client"
	"kf/internal/online"
	"kf/internal/render"
)

// DeleteOptions are the inputs of "kf acls delete".
type DeleteOptions struct {
	Filter
	All    bool // without a filter
	DryRun bool
	Output render.Format
}

func newDeleteCommand(env *cli.Env, conn *online.Connection) *cobra.Command {
	var opts DeleteOptions
	cmd := &cobra.Command{
		Use:   "delete",
		Short: "Delete ACLs",
		Long: `Deletes the ACLs that fit in every flag, after it has shown them: what is deleted is what
was shown, and nothing that came after. A name is that of literal ACLs unless --pattern
says otherwise. --pattern match takes ACLs of prefixes and of '*' too, on which other
resources depend.`,
		Example: `  kf acls delete --principal User:alice --dry-run
  kf acls delete --topic orders --operation Write --principal User:alice --yes
  kf acls delete --topic team-a. --pattern prefixed --yes`,
		Args:              cli.Args(cobra.NoArgs),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			if _, err := opts.checked(); err != nil {
				return cli.Usage(err)
			}
			return conn.Run(cmd, func(ctx context.Context, cl *client.Client) error {
				return Delete(ctx, env, cl, opts, func(what string) error {
					return conn.Allow(cl, online.Change{What: what, Destroy: true})
				})
			})
		},
	}
	opts.flags(cmd, conn, "literal")
	cmd.Flags().BoolVar(&opts.All, "all", false, "delete every ACL if there is no other flag")
	cmd.Flags().BoolVar(&opts.DryRun, "dry-run", false, "only show what would be deleted")
	conn.ControllerFlag(cmd)
	conn.YesFlag(cmd)
	render.Flag(cmd, &opts.Output)
	return cmd
}

// checked reads the filter, which must not be empty by accident.
func (o *DeleteOptions) checked() (*question, error) {
	q, err := o.question(client.LiteralPattern)
	switch {
	case err != nil:
		return nil, err
	case !q.restricted && !o.All:
		return nil, errors.New("say which ACLs: --principal, --topic, …; --all for every one of the cluster")
	case q.restricted && o.All:
		return nil, errors.New("--all is for every ACL, and the other flags are for some: give one or the other")
	}
	return q, nil
}

// A deleter is what Delete asks of the cluster.
type deleter interface {
	finder
	RemoveACLs(context.Context, []client.ACL) ([]error, error)
}

// shown is how many ACLs are listed before the question.
const shown = 20

// Delete deletes ACLs and prints a row for each. Before, it shows them and asks allow.
// If one fails the error is [cli.Silent].
func Delete(ctx context.Context, env *cli.Env, cl deleter, opts DeleteOptions, allow func(what string) error) error {
	q, err := opts.checked()
	if err != nil {
		return cli.Usage(err)
	}
	all, err := q.find(ctx, cl)
	if err != nil {
		return err
	}
	if len(all) == 0 {
		env.Notef("no ACL matches")
	}
	result, errs := "would_delete", make([]error, len(all))
	if !opts.DryRun && len(all) > 0 {
		for i, a := range all {
			if i == shown {
				env.Notef("and %s more: --dry-run shows all", count(len(all)-shown))
				break
			}
			env.Notef("%s", describe(a))
		}
		if err := allow("delete " + count(len(all))); err != nil {
			return err
		}
		if errs, err = cl.RemoveACLs(ctx, all); err != nil {
			return err
		}
		result = "deleted"
	}
	return report(env, opts.Output, "acls delete", all, errs, func(client.ACL) string { return result })
}

// report prints a row for each ACL with what became of it, and ends with [cli.Silent]
// if one failed.
func report(env *cli.Env, output render.Format, command string, all []client.ACL, errs []error, result func(client.ACL) string) error {
	var failed error
	rows := render.New[changeRow](env.Stdout, output, render.Options{Command: command, Color: env.ColorStdout()})
	for i, a := range all {
		row := changeRow{rowOf(a), result(a), errs[i]}
		if row.Error != nil {
			env.Errorf("%s: %v", describe(a), row.Error)
			row.Result, failed = "failed", cli.Silent
		}
		if err := rows.Write(row); err != nil {
			return err
		}
	}
	if err := rows.Close(); err != nil {
		return err
	}
	return failed
}
