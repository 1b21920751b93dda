package cluster

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"kf/internal/cli"
	"kf/internal/client"
	"kf/internal/online"
	"kf/internal/render"
)

// UnregisterOptions are the inputs of "kf cluster unregister".
type UnregisterOptions struct {
	ID         int32
	Controller bool // the node is a controller, not a broker
	DryRun     bool
	Output     render.Format
}

func newUnregisterCommand(env *cli.Env, conn *online.Connection) *cobra.Command {
	var opts UnregisterOptions
	cmd := &cobra.Command{
		Use:   "unregister <id>",
		Short: "Make the cluster forget a broker that is gone for good",
		Long: `Takes a broker off the metadata, after its replicas were moved away and it was stopped:
a broker that runs registers again, and its id in the replicas of partitions stays.
With --controller it is a controller that was removed from the quorum.`,
		Example: `  kf cluster unregister 3 --dry-run
  kf cluster unregister 3 --yes
  kf cluster unregister 3004 --controller --yes`,
		Args:              cli.Args(cobra.ExactArgs(1)),
		ValidArgsFunction: conn.Complete(0, fencedIDs),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := strconv.ParseInt(args[0], 10, 32)
			if err != nil || id < 0 {
				return cli.Usagef("%q is no id of a node", args[0])
			}
			opts.ID = int32(id)
			if opts.Controller && opts.DryRun {
				return cli.Usagef("--dry-run: whether a controller is registered is not known beforehand")
			}
			return conn.Run(cmd, func(ctx context.Context, cl *client.Client) error {
				return Unregister(ctx, env, cl, opts, func(what string) error {
					return conn.Allow(cl, online.Change{What: what, Destroy: true})
				})
			})
		},
	}
	cmd.Flags().BoolVar(&opts.Controller, "controller", false, "the id is that of a controller")
	cmd.Flags().BoolVar(&opts.DryRun, "dry-run", false, "only look whether there is such a broker")
	conn.ControllerFlag(cmd)
	conn.YesFlag(cmd)
	render.Flag(cmd, &opts.Output)
	return cmd
}

// fencedIDs lists the ids of brokers that are down, for completion.
func fencedIDs(ctx context.Context, cl *client.Client) ([]string, error) {
	nodes, err := cl.Nodes(ctx, true)
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, n := range nodes.Nodes {
		if n.Fenced {
			ids = append(ids, strconv.Itoa(int(n.ID)))
		}
	}
	return ids, nil
}

type unregisterRow struct {
	Node   int32  `col:"node"`
	Type   string `col:"type"`   // broker, controller
	Result string `col:"result"` // unregistered; valid in a dry run
}

// An unregisterer is what Unregister asks of the cluster.
type unregisterer interface {
	endpointLister
	UnregisterBroker(ctx context.Context, id int32) error
	UnregisterController(ctx context.Context, id int32) error
}

// Unregister takes a node off the metadata. Before, it asks allow.
func Unregister(ctx context.Context, env *cli.Env, cl unregisterer, opts UnregisterOptions, allow func(what string) error) error {
	row := unregisterRow{opts.ID, "broker", "valid"}
	if opts.Controller {
		row.Type = "controller"
	}
	what := fmt.Sprintf("unregister %s %d", row.Type, opts.ID)
	// Controllers do not say which brokers there are.
	if !opts.Controller && !cl.TalksToControllers() {
		nodes, err := cl.Nodes(ctx, true)
		if err != nil {
			return err
		}
		switch i := slices.IndexFunc(nodes.Nodes, func(n client.Node) bool { return n.ID == opts.ID }); {
		case i < 0 && nodes.Fenced:
			return fmt.Errorf("broker %d is not registered", opts.ID)
		case i >= 0 && !nodes.Nodes[i].Fenced:
			what += ", which is up"
		}
	}
	if !opts.DryRun {
		if err := allow(what); err != nil {
			return err
		}
		unregister := cl.UnregisterBroker
		if opts.Controller {
			unregister = cl.UnregisterController
		}
		if err := unregister(ctx, opts.ID); err != nil {
			return fmt.Errorf("%s %d: %w", row.Type, opts.ID, err)
		}
		row.Result = "unregistered"
	}
	rows := render.New[unregisterRow](env.Stdout, opts.Output, render.Options{Command: "cluster unregister", Color: env.ColorStdout()})
	if err := rows.Write(row); err != nil {
		return err
	}
	return rows.Close()
}
