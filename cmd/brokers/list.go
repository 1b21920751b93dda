package brokers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"kf/internal/cli"
	"kf/internal/client"
	"kf/internal/online"
	"kf/internal/render"
)

// ListOptions are the inputs of "kf brokers list".
type ListOptions struct {
	Output render.Format
}

func newListCommand(env *cli.Env, conn *online.Connection) *cobra.Command {
	var opts ListOptions
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the brokers of a cluster and what each holds",
		Long: `Lists brokers with the address that they give to clients of this listener. The state
is "up", "fenced" for one that is registered but down or not ready (brokers from 4.0 on
tell), and "down" for one that is known only because partitions have replicas on it.

"leaders" counts the partitions that a broker leads, "preferred" those that it would
lead if every first replica did, "replicas" those that it has, and "out-of-sync" those
of them that are not in the ISR. The controller is the leader of the metadata quorum;
without the right to describe the cluster it is not known, and the exit code is 1, or 4
if time ran out.`,
		Example: `  kf brokers list -b broker1:9092
  kf brokers list -o jsonl | jq -r 'select(.state != "up") | .broker'`,
		Args:              cli.Args(cobra.NoArgs),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			return conn.Run(cmd, func(ctx context.Context, cl *client.Client) error {
				return List(ctx, env, cl, opts)
			})
		},
	}
	render.Flag(cmd, &opts.Output)
	return cmd
}

type brokerRow struct {
	Broker     int32   `col:"broker"`
	Host       *string `col:"host"` // nil: the broker is down
	Port       *int32  `col:"port"`
	Rack       *string `col:"rack"`
	State      string  `col:"state"`      // up, fenced, down
	Controller *bool   `col:"controller"` // nil: not known
	Leaders    int     `col:"leaders"`
	Preferred  int     `col:"preferred"`
	Replicas   int     `col:"replicas"`
	OutOfSync  int     `col:"out_of_sync"`
}

// A lister is what List asks of the cluster.
type lister interface {
	nodeLister
	ControllerOf(context.Context, *client.Nodes) (int32, *client.Quorum, error)
	Topics(ctx context.Context, names []string) (*client.Cluster, error)
}

// List prints a row for each broker, by id.
func List(ctx context.Context, env *cli.Env, cl lister, opts ListOptions) error {
	nodes, err := cl.Nodes(ctx, true)
	if err != nil {
		return err
	}
	cluster, err := cl.Topics(ctx, nil)
	if err != nil {
		return err
	}
	controller, _, err := cl.ControllerOf(ctx, nodes)
	if ctx.Err() != nil {
		return err
	}
	known := err == nil
	var unknown error // what could not be found out does not keep the rest from being shown
	if !known {
		unknown = fmt.Errorf("the controller is not known: %w", err)
	}
	all := count(nodes.Nodes, cluster.Topics)
	rows := render.New[brokerRow](env.Stdout, opts.Output, render.Options{Command: "brokers list", Color: env.ColorStdout()})
	for _, row := range all {
		if known {
			row.Controller = new(controller == row.Broker)
		}
		if err := rows.Write(row); err != nil {
			return err
		}
	}
	return errors.Join(rows.Close(), unknown)
}

// count returns the rows of nodes with what topics say about them, and of brokers that
// only topics know of.
func count(nodes []client.Node, topics []client.Topic) []brokerRow {
	byID := make(map[int32]*brokerRow)
	for _, n := range nodes {
		byID[n.ID] = &brokerRow{Broker: n.ID, Host: &n.Host, Port: &n.Port, Rack: n.Rack, State: state(n)}
	}
	row := func(id int32) *brokerRow {
		if byID[id] == nil {
			byID[id] = &brokerRow{Broker: id, State: "down"}
		}
		return byID[id]
	}
	for _, t := range topics {
		for _, p := range t.Partitions {
			if p.Leader >= 0 {
				row(p.Leader).Leaders++
			}
			for i, id := range p.Replicas {
				to := row(id)
				if i == 0 {
					to.Preferred++
				}
				to.Replicas++
				if !slices.Contains(p.ISR, id) {
					to.OutOfSync++
				}
			}
		}
	}
	var all []brokerRow
	for _, r := range byID {
		all = append(all, *r)
	}
	slices.SortFunc(all, func(a, b brokerRow) int { return cmp.Compare(a.Broker, b.Broker) })
	return all
}
