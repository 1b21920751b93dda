package brokers

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"kf/internal/cli"
	"kf/internal/client"
	"kf/internal/image"
	"kf/internal/online"
	"kf/internal/render"
)

var errFenced = errors.New("it is fenced and was not asked")

// FeaturesOptions are the inputs of "kf brokers features".
type FeaturesOptions struct {
	Broker *int32 // nil: what all brokers support
	Output render.Format
}

func newFeaturesCommand(env *cli.Env, conn *online.Connection) *cobra.Command {
	var (
		opts   FeaturesOptions
		broker int32
	)
	parent := &cobra.Command{
		Use:   "features [command]",
		Short: "Show the features of the cluster, and upgrade or downgrade them",
		Long: `Shows features with the levels that every broker supports, and the level that the
cluster works with ("finalized"; 0 is off). Where brokers differ, as in the middle of an upgrade of
their software, a warning says which. The levels of metadata.version have names.

The epoch is the offset of the metadata log up to which the broker that answered knows
the features: it grows all the time.`,
		Example: `  kf brokers features
  kf brokers features --bootstrap-controller controller1:9093
  kf brokers features upgrade --release-version 4.4 --dry-run
  kf brokers features -o json | jq '.rows[] | select(.finalized < .max)'`,
	}
	cli.Group(parent,
		newUpgradeCommand(env, conn),
		newDowngradeCommand(env, conn),
		newDisableCommand(env, conn),
		newMappingCommand(env),
	)
	parent.RunE = func(cmd *cobra.Command, _ []string) error {
		if cmd.Flags().Changed("broker") {
			opts.Broker = &broker
		}
		return conn.Run(cmd, func(ctx context.Context, cl *client.Client) error {
			return Features(ctx, env, cl, opts)
		})
	}
	parent.Flags().Int32Var(&broker, "broker", 0, "show what this broker supports (`id`)")
	_ = parent.RegisterFlagCompletionFunc("broker", conn.Complete(-1, listIDs)) // fails only for a flag that is not there
	conn.ControllerFlag(parent)
	render.Flag(parent, &opts.Output)
	return parent
}

// levels are those of a feature. The names are those of metadata.version, nil for
// others.
type levels struct {
	Min           int16   `col:"min"` // supported
	MinName       *string `col:"min_name,data"`
	Max           int16   `col:"max"`
	MaxName       *string `col:"max_name"`
	Finalized     int16   `col:"finalized"`
	FinalizedName *string `col:"finalized_name"`
}

func levelsOf(feature string, supported client.FeatureRange, finalized map[string]int16) levels {
	return levels{
		Min: supported.Min, MinName: levelName(feature, supported.Min),
		Max: supported.Max, MaxName: levelName(feature, supported.Max),
		Finalized: finalized[feature], FinalizedName: levelName(feature, finalized[feature]),
	}
}

// levelName returns the name of a level, such as "4.4-IV2", nil if it has none.
func levelName(feature string, level int16) *string {
	if feature != image.FeatureMetadataVersion || level <= 0 {
		return nil
	}
	return new(image.MetadataVersion(level).String())
}

// levelText is a level in a message: "33 (4.4-IV2)".
func levelText(feature string, level int16) string {
	text := strconv.Itoa(int(level))
	if name := levelName(feature, level); name != nil {
		text += " (" + *name + ")"
	}
	return text
}

type featureRow struct {
	Feature string `col:"feature"`
	levels
	Epoch *int64 `col:"features_epoch"`
}

// Features prints a row for each feature, by name.
func Features(ctx context.Context, env *cli.Env, cl versioner, opts FeaturesOptions) error {
	nodes, err := cl.Nodes(ctx, false)
	if err != nil {
		return err
	}
	var ids []int32
	if opts.Broker != nil {
		ids = []int32{*opts.Broker}
	}
	chosen, missing := choose(env, nodes.Nodes, ids)
	if missing {
		return cli.Silent
	}
	all, err := answered(cl.NodeVersions(ctx, chosen))
	if err != nil {
		return err
	}
	common := commonFeatures(env, all)
	newest := slices.MaxFunc(all, func(a, b client.NodeVersions) int { return cmp.Compare(a.Epoch, b.Epoch) })
	rows := render.New[featureRow](env.Stdout, opts.Output, render.Options{Command: "brokers features", Color: env.ColorStdout()})
	for _, name := range slices.Sorted(maps.Keys(common)) {
		row := featureRow{Feature: name, levels: levelsOf(name, common[name], newest.Finalized)}
		if newest.Epoch >= 0 {
			row.Epoch = &newest.Epoch
		}
		if err := rows.Write(row); err != nil {
			return err
		}
	}
	return rows.Close()
}

// answered returns the answers of the nodes that gave one. What the others failed with
// is the error: what all support cannot be told then.
func answered(all []client.NodeVersions) ([]client.NodeVersions, error) {
	var errs []error
	for _, v := range all {
		if v.Err != nil {
			errs = append(errs, v.Err)
		}
	}
	if len(all) == 0 {
		return nil, errors.New("the cluster has no nodes that are up")
	}
	return all, errors.Join(errs...)
}

// commonFeatures returns the levels that all nodes support. Nodes that support less
// than another one are warned of.
func commonFeatures(env *cli.Env, all []client.NodeVersions) map[string]client.FeatureRange {
	common, widest := make(map[string]client.FeatureRange), make(map[string]client.FeatureRange)
	for i, v := range all {
		for name, r := range v.Supported {
			w, known := widest[name]
			if !known {
				w = r
			}
			widest[name] = client.FeatureRange{Min: min(w.Min, r.Min), Max: max(w.Max, r.Max)}
			if i == 0 {
				common[name] = r
			}
		}
		for name, c := range common {
			r := v.Supported[name] // what a node does not know is off there
			common[name] = client.FeatureRange{Min: max(c.Min, r.Min), Max: min(c.Max, r.Max)}
		}
	}
	for _, v := range all {
		for _, name := range slices.Sorted(maps.Keys(widest)) {
			if r := v.Supported[name]; r.Max < widest[name].Max {
				env.Warnf("broker %d supports %s up to %s, another one up to %s", v.Node.ID, name, levelText(name, r.Max), levelText(name, widest[name].Max))
			}
		}
	}
	for name := range widest {
		if _, ok := common[name]; !ok { // the first node does not know it
			common[name] = client.FeatureRange{}
		}
	}
	return common
}
