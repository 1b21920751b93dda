package groups

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"

	"kf/internal/cli"
	"kf/internal/client"
	"kf/internal/online"
	"kf/internal/render"
)

// DeleteOptions are the inputs of "kf groups delete".
type DeleteOptions struct {
	Groups   Selection
	IfExists bool
	DryRun   bool
	Output   render.Format
}

func newDeleteCommand(env *cli.Env, conn *online.Connection) *cobra.Command {
	var opts DeleteOptions
	cmd := &cobra.Command{
		Use:   "delete [<group>...]",
		Short: "Delete groups without members, and all that they have committed",
		Long: `Delete groups, and with them all that they have committed: consumers that come back
start where their auto.offset.reset says. Groups with members are refused: stop the
members first. It asks before it deletes, or needs --yes.`,
		Example: `  kf groups delete billing-test --yes
  kf groups delete --regex 'console-consumer-[0-9]+' --dry-run`,
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.Groups.IDs = args
			if err := opts.Groups.Validate(); err != nil {
				return err
			}
			return conn.Watch(cmd, func(ctx context.Context, cl *client.Client) error {
				return Delete(ctx, env, cl, func(c online.Change) error { return conn.Allow(cl, c) }, opts)
			})
		},
	}
	opts.Groups.flags(cmd, conn)
	flags := cmd.Flags()
	flags.BoolVar(&opts.IfExists, "if-exists", false, "a group that does not exist is no error")
	flags.BoolVar(&opts.DryRun, "dry-run", false, "show what would be deleted, and change nothing")
	conn.YesFlag(cmd)
	render.Flag(cmd, &opts.Output)
	return cmd
}

// A deleter is what Delete asks of the cluster, and does to it. Each question is
// under Deadline, for the person who is asked meanwhile has no deadline.
type deleter interface {
	lister
	Deadline(context.Context) (context.Context, context.CancelFunc)
	DescribeGroupsByID(ctx context.Context, ids []string) []client.Group
	DeleteGroups(ctx context.Context, ids ...string) (kadm.DeleteGroupResponses, error)
}

type deletedRow struct {
	Group  string `col:"group"`
	Type   string `col:"type"`
	Result string `col:"result"` // "deleted", or "would_delete" in a dry run
}

// Delete deletes groups and prints a row for each that it deleted, or would. Allow
// says whether it may.
func Delete(ctx context.Context, env *cli.Env, cl deleter, allow func(online.Change) error, opts DeleteOptions) error {
	doomed, errs := toDelete(ctx, cl, opts)
	if len(doomed) == 0 {
		if len(errs) == 0 {
			env.Notef("nothing to delete")
		}
		return errors.Join(errs...)
	}
	rows := render.New[deletedRow](env.Stdout, opts.Output, render.Options{Command: "groups delete", Color: env.ColorStdout()})
	if opts.DryRun {
		for _, g := range doomed {
			if err := rows.Write(deletedRow{g.ID, string(g.Type), "would_delete"}); err != nil {
				return err
			}
		}
		return errors.Join(append(errs, rows.Close())...)
	}
	var ids []string
	for _, g := range doomed {
		ids = append(ids, g.ID)
	}
	if err := allow(online.Change{What: "delete " + few("group", ids), Destroy: true}); err != nil {
		return errors.Join(append(errs, err)...)
	}
	ctx, cancel := cl.Deadline(ctx)
	defer cancel()
	deleted, err := cl.DeleteGroups(ctx, ids...)
	for _, g := range doomed {
		answer, ok := deleted[g.ID]
		switch {
		case !ok && err != nil:
			errs = append(errs, groupError(g.ID, err))
		case !ok:
			errs = append(errs, groupError(g.ID, errNoAnswer))
		case answer.Err != nil:
			errs = append(errs, groupError(g.ID, answer.Err))
		default:
			if err := rows.Write(deletedRow{g.ID, string(g.Type), "deleted"}); err != nil {
				return err
			}
		}
	}
	return errors.Join(append(errs, rows.Close())...)
}

var errNoAnswer = errors.New("no broker says whether it was deleted")

// toDelete returns the groups that can be deleted, and why others cannot.
func toDelete(ctx context.Context, cl deleter, opts DeleteOptions) (doomed []client.Group, errs []error) {
	ctx, cancel := cl.Deadline(ctx)
	defer cancel()
	ids, err := opts.Groups.resolve(ctx, cl)
	if err != nil {
		errs = append(errs, err)
	}
	if len(ids) == 0 {
		return nil, errs
	}
	for _, g := range cl.DescribeGroupsByID(ctx, ids) {
		switch {
		case errors.Is(g.Err, client.ErrNoGroup) && opts.IfExists:
		case g.Err != nil:
			errs = append(errs, groupError(g.ID, g.Err))
		case g.Active():
			errs = append(errs, fmt.Errorf("group %s is not deleted, as it has %s: stop them first", g.ID, few("member", memberNames(&g))))
		default:
			doomed = append(doomed, g)
		}
	}
	return doomed, errs
}

func memberNames(g *client.Group) []string {
	var names []string
	for _, m := range g.Members {
		names = append(names, fmt.Sprintf("%s (%s, at %s)", m.ClientID, m.ID, strings.TrimPrefix(m.Host, "/")))
	}
	return names
}

// few names up to three things: "2 groups: a, b".
func few(what string, names []string) string {
	const most = 3
	n := len(names)
	if n != 1 {
		what += "s"
	}
	text := fmt.Sprintf("%d %s: %s", n, what, strings.Join(names[:min(n, most)], ", "))
	if n > most {
		text += ", …"
	}
	return text
}
