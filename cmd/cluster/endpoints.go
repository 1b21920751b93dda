package cluster

import (
	"context"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"kf/internal/cli"
	"kf/internal/client"
	"kf/internal/online"
	"kf/internal/render"
)

// EndpointsOptions are the inputs of "kf cluster endpoints".
type EndpointsOptions struct {
	Fenced bool // also brokers that are fenced
	Output render.Format
}

func newEndpointsCommand(env *cli.Env, conn *online.Connection) *cobra.Command {
	var opts EndpointsOptions
	cmd := &cobra.Command{
		Use:   "endpoints",
		Short: "List where the nodes of the cluster are reached",
		Long: `Lists brokers with the address that they give to clients of this listener, or, with
--bootstrap-controller, controllers. Fenced brokers are registered, but down or not
ready; brokers from 4.0 on can list them.`,
		Example: `  kf cluster endpoints
  kf cluster endpoints --include-fenced
  kf cluster endpoints --bootstrap-controller controller1:9093`,
		Args:              cli.Args(cobra.NoArgs),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			return conn.Run(cmd, func(ctx context.Context, cl *client.Client) error {
				return Endpoints(ctx, env, cl, opts)
			})
		},
	}
	cmd.Flags().BoolVar(&opts.Fenced, "include-fenced", false, "list fenced brokers too")
	cmd.Flags().SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		if name == "include-fenced-brokers" { // as Kafka's tool has it
			name = "include-fenced"
		}
		return pflag.NormalizedName(name)
	})
	conn.ControllerFlag(cmd)
	render.Flag(cmd, &opts.Output)
	return cmd
}

type endpointRow struct {
	Node  int32   `col:"node"`
	Host  string  `col:"host"`
	Port  int32   `col:"port"`
	Rack  *string `col:"rack"`
	State *string `col:"state"` // unfenced, fenced; nil for controllers
	Type  string  `col:"endpoint_type"`
}

// An endpointLister is what Endpoints asks of the cluster.
type endpointLister interface {
	nodeLister
	TalksToControllers() bool
}

// Endpoints prints a row for each node, by id.
func Endpoints(ctx context.Context, env *cli.Env, cl endpointLister, opts EndpointsOptions) error {
	controllers := cl.TalksToControllers()
	if controllers && opts.Fenced {
		return cli.Usagef("--include-fenced: controllers are not fenced; it is for --bootstrap-server")
	}
	nodes, err := cl.Nodes(ctx, opts.Fenced)
	if err != nil {
		return err
	}
	if opts.Fenced && !nodes.Fenced {
		env.Warnf("the broker is older than 4.0 and does not say which brokers are fenced")
	}
	rows := render.New[endpointRow](env.Stdout, opts.Output, render.Options{Command: "cluster endpoints", Color: env.ColorStdout()})
	for _, n := range nodes.Nodes {
		row := endpointRow{Node: n.ID, Host: n.Host, Port: n.Port, Rack: n.Rack, Type: "controller"}
		if !controllers {
			row.Type, row.State = "broker", new("unfenced")
			if n.Fenced {
				row.State = new("fenced")
			}
		}
		if err := rows.Write(row); err != nil {
			return err
		}
	}
	return rows.Close()
}
