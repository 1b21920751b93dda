package brokers

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"kf/internal/cli"
	"kf/internal/client"
	"kf/internal/image"
	"kf/internal/online"
	"kf/internal/render"
)

// DescribeOptions are the inputs of "kf brokers describe".
type DescribeOptions struct {
	IDs         []int32 // none: all
	APIVersions bool    // a row for each API
	Features    bool    // a row for each feature
	Output      render.Format
}

func newDescribeCommand(env *cli.Env, conn *online.Connection) *cobra.Command {
	var opts DescribeOptions
	cmd := &cobra.Command{
		Use:   "describe [id]...",
		Short: "Describe brokers: listeners, release, API versions, features",
		Long: `Asks brokers, all if none is named, for their roles, for all listeners that they
advertise (to users who may describe configurations) and for what they support. The
release is that of the highest metadata.version, or a guess by the versions of the APIs
where there is none.

With --api-versions there is a row for each API: its versions, and the one that kf uses
with this broker, "-" if it has none in common or does not know the API.
With --features there is a row for each feature: the levels that the broker supports and
the level that the cluster works with.

One broker that does not answer makes the exit code 1; the others are described.`,
		Example: `  kf brokers describe
  kf brokers describe 1 --api-versions
  kf brokers describe --api-versions --bootstrap-controller controller1:9093
  kf brokers describe -o jsonl | jq -r .release | sort | uniq -c`,
		Args:              cli.Args(cobra.ArbitraryArgs),
		ValidArgsFunction: conn.Complete(-1, listIDs),
		RunE: func(cmd *cobra.Command, args []string) error {
			var err error
			if opts.IDs, err = parseIDs(args); err != nil {
				return cli.Usage(err)
			}
			return conn.Run(cmd, func(ctx context.Context, cl *client.Client) error {
				return Describe(ctx, env, cl, opts)
			})
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&opts.APIVersions, "api-versions", false, "show the versions of each API")
	flags.BoolVar(&opts.Features, "features", false, "show the levels of each feature")
	cmd.MarkFlagsMutuallyExclusive("api-versions", "features")
	conn.ControllerFlag(cmd)
	render.Flag(cmd, &opts.Output)
	return cmd
}

type describedRow struct {
	Broker          int32   `col:"broker"`
	Host            string  `col:"host"`
	Port            int32   `col:"port"`
	Rack            *string `col:"rack"`
	State           string  `col:"state"`
	Roles           words   `col:"roles"`            // broker, controller; nil: it does not say, or may not
	Listeners       words   `col:"listeners"`        // as it advertises them: "SSL://host:port"
	Release         *string `col:"release"`          // "4.4"; "v2.8" or "at least v3.0" are guesses
	MetadataVersion *string `col:"metadata_version"` // the highest that it supports
	APIs            *int    `col:"apis"`
	Epoch           *int64  `col:"features_epoch"` // offset of the metadata log up to which it knows the features
	Error           error   `col:"error,data"`
}

type apiRow struct {
	Broker int32   `col:"broker"`
	Key    int16   `col:"key"`
	API    *string `col:"api"` // nil: kf does not know it
	Min    int16   `col:"min"`
	Max    int16   `col:"max"`
	Use    *int16  `col:"use"` // nil: kf cannot use it
}

type nodeFeatureRow struct {
	Broker  int32  `col:"broker"`
	Feature string `col:"feature"`
	levels
}

// A versioner knows what the nodes of a cluster support.
type versioner interface {
	nodeLister
	NodeVersions(ctx context.Context, nodes []client.Node) []client.NodeVersions
}

// A describer is what Describe asks of the cluster.
type describer interface {
	versioner
	TalksToControllers() bool
	DescribeConfigs(ctx context.Context, docs bool, of ...client.ConfigResource) ([]client.DescribedConfigs, error)
}

// Describe prints what brokers support. It fails with [cli.Silent] if one is not
// there or did not answer.
func Describe(ctx context.Context, env *cli.Env, cl describer, opts DescribeOptions) error {
	nodes, err := cl.Nodes(ctx, true)
	if err != nil {
		return err
	}
	chosen, failed := choose(env, nodes.Nodes, opts.IDs)
	out := render.Open(env.Stdout, opts.Output, render.Options{Command: "brokers describe", Color: env.ColorStdout()})
	var configs map[int32]nodeConfigs
	if !opts.APIVersions && !opts.Features && !cl.TalksToControllers() {
		configs = configsOf(ctx, cl, chosen)
	}
	print := describePrinter(out, opts, configs)
	for _, v := range askUp(ctx, cl, chosen) {
		if v.Err != nil && !v.Node.Fenced {
			env.Errorf("%v", v.Err)
			failed = true
		}
		if err := print(v); err != nil {
			return err
		}
	}
	if err := out.Close(); err != nil || !failed {
		return err
	}
	return cli.Silent
}

// askUp asks the nodes that are up for their versions; the others have none.
func askUp(ctx context.Context, cl versioner, nodes []client.Node) []client.NodeVersions {
	var up []client.Node
	for _, n := range nodes {
		if !n.Fenced {
			up = append(up, n)
		}
	}
	answers := cl.NodeVersions(ctx, up)
	all := make([]client.NodeVersions, 0, len(nodes))
	for _, n := range nodes {
		if i := slices.IndexFunc(answers, func(v client.NodeVersions) bool { return v.Node.ID == n.ID }); i >= 0 {
			all = append(all, answers[i])
		} else {
			all = append(all, client.NodeVersions{Node: n, Err: errFenced})
		}
	}
	return all
}

// describePrinter returns what prints the rows of a node.
func describePrinter(out *render.Output, opts DescribeOptions, configs map[int32]nodeConfigs) func(client.NodeVersions) error {
	switch {
	case opts.APIVersions:
		rows := render.Rows[apiRow](out)
		return func(v client.NodeVersions) error {
			for _, a := range v.APIs {
				row := apiRow{Broker: v.Node.ID, Key: a.Key, Min: a.Min, Max: a.Max}
				if a.Name != "" {
					row.API = &a.Name
				}
				if a.Use >= 0 {
					row.Use = &a.Use
				}
				if err := rows.Write(row); err != nil {
					return err
				}
			}
			return nil
		}
	case opts.Features:
		rows := render.Rows[nodeFeatureRow](out)
		return func(v client.NodeVersions) error {
			for _, name := range slices.Sorted(maps.Keys(v.Supported)) {
				row := nodeFeatureRow{v.Node.ID, name, levelsOf(name, v.Supported[name], v.Finalized)}
				if err := rows.Write(row); err != nil {
					return err
				}
			}
			return nil
		}
	}
	rows := render.Rows[describedRow](out)
	return func(v client.NodeVersions) error { return rows.Write(describedRowOf(v, configs[v.Node.ID])) }
}

func describedRowOf(v client.NodeVersions, configs nodeConfigs) describedRow {
	n := v.Node
	row := describedRow{
		Broker: n.ID, Host: n.Host, Port: n.Port, Rack: n.Rack, State: state(n),
		Roles: configs["process.roles"], Listeners: configs["advertised.listeners"], Error: v.Err,
	}
	if row.Listeners == nil {
		row.Listeners = configs["listeners"]
	}
	if v.Err != nil {
		return row
	}
	row.APIs = new(len(v.APIs))
	if v.Epoch >= 0 {
		row.Epoch = &v.Epoch
	}
	row.Release = &v.Guess
	if supported, ok := v.Supported[image.FeatureMetadataVersion]; ok {
		highest := image.MetadataVersion(supported.Max)
		row.MetadataVersion = new(highest.String())
		if release := highest.Release(); release != "" {
			row.Release = &release
		} else {
			row.Release = new("after " + image.LatestMetadataVersion().Release())
		}
	}
	return row
}

// nodeConfigs are configurations of a broker that are lists, by key.
type nodeConfigs map[string]words

// configsOf asks brokers that are up for their configurations. One that does not answer,
// or not to this user, has none.
func configsOf(ctx context.Context, cl describer, nodes []client.Node) map[int32]nodeConfigs {
	var of []client.ConfigResource
	var ids []int32
	for _, n := range nodes {
		if !n.Fenced {
			of, ids = append(of, client.ConfigResource{Type: client.ConfigTypeBroker, Name: strconv.Itoa(int(n.ID))}), append(ids, n.ID)
		}
	}
	answers, _ := cl.DescribeConfigs(ctx, false, of...) // without an answer nothing is known
	all := make(map[int32]nodeConfigs)
	for i, answer := range answers {
		configs := make(nodeConfigs)
		for _, c := range answer.Configs {
			if c.Value != nil && *c.Value != "" {
				configs[c.Key] = strings.Split(*c.Value, ",")
			}
		}
		all[ids[i]] = configs
	}
	return all
}
