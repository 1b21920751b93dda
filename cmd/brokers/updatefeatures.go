package brokers

import (
	"cmp"
	"context"
	"fmt"
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

// UpdateOptions are the inputs of "kf brokers features upgrade", "downgrade" and
// "disable".
type UpdateOptions struct {
	Verb     string   // upgrade, downgrade, disable
	Features []string // "name=level"; of disable, names
	Release  string   // "" or one whose levels are set
	Unsafe   bool     // a downgrade may lose metadata
	DryRun   bool
	Output   render.Format
}

func newUpgradeCommand(env *cli.Env, conn *online.Connection) *cobra.Command {
	opts := &UpdateOptions{Verb: "upgrade"}
	cmd := newUpdateCommand(env, conn, opts)
	cmd.Short = "Raise the levels of features"
	cmd.Long = `Raises features to levels, or to those of a release ('kf brokers features mapping'), all
or none. Do it when every broker and controller runs the new release: after that the old
one no longer starts on the data, and the way back is a downgrade, if there is one.

A release from 3.9 on includes kraft.version 1, as it does for Kafka's tool: a quorum of
static voters becomes a dynamic one. Name features instead to leave that alone.`
	cmd.Example = `  kf brokers features upgrade --release-version 4.4 --dry-run
  kf brokers features upgrade --feature metadata.version=4.4 --feature share.version=2`
	releaseFlag(cmd, opts)
	return cmd
}

func newDowngradeCommand(env *cli.Env, conn *online.Connection) *cobra.Command {
	opts := &UpdateOptions{Verb: "downgrade"}
	cmd := newUpdateCommand(env, conn, opts)
	cmd.Short = "Lower the levels of features"
	cmd.Long = `Lowers features to levels, or to those of a release, all or none. A downgrade that would
lose metadata is refused unless --unsafe allows it.`
	cmd.Example = `  kf brokers features downgrade --feature share.version=0 --dry-run
  kf brokers features downgrade --release-version 4.3`
	releaseFlag(cmd, opts)
	unsafeFlag(cmd, opts)
	return cmd
}

func newDisableCommand(env *cli.Env, conn *online.Connection) *cobra.Command {
	opts := &UpdateOptions{Verb: "disable"}
	cmd := newUpdateCommand(env, conn, opts)
	cmd.Short = "Switch features off"
	cmd.Long = "Lowers features to level 0, all or none."
	cmd.Example = "  kf brokers features disable --feature share.version --dry-run"
	unsafeFlag(cmd, opts)
	return cmd
}

func newUpdateCommand(env *cli.Env, conn *online.Connection, opts *UpdateOptions) *cobra.Command {
	cmd := &cobra.Command{
		Use:               opts.Verb,
		Args:              cli.Args(cobra.NoArgs),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			updates, err := opts.updates()
			if err != nil {
				return cli.Usage(err)
			}
			return conn.Run(cmd, func(ctx context.Context, cl *client.Client) error {
				return Update(ctx, env, cl, updates, *opts, func(what string) error {
					return conn.Allow(cl, online.Change{What: what, Destroy: opts.Unsafe})
				})
			})
		},
	}
	usage := "set a feature to a level: `name=level`, repeatable; a level of metadata.version may be a name or a release"
	if opts.Verb == "disable" {
		usage = "switch off this feature: `name`, repeatable"
	}
	cmd.Flags().StringArrayVar(&opts.Features, "feature", nil, usage)
	cmd.Flags().BoolVar(&opts.DryRun, "dry-run", false, "only ask the cluster whether it would")
	_ = cmd.RegisterFlagCompletionFunc("feature", completeFeature(opts.Verb != "disable")) // fails only for a flag that is not there
	conn.ControllerFlag(cmd)
	conn.YesFlag(cmd)
	render.Flag(cmd, &opts.Output)
	return cmd
}

func releaseFlag(cmd *cobra.Command, opts *UpdateOptions) {
	cmd.Flags().StringVar(&opts.Release, "release-version", "", "set all features to the levels of this `release`, such as 4.4")
	_ = cmd.RegisterFlagCompletionFunc("release-version", cli.Complete(image.ReleaseNames()...)) // as above
	cmd.MarkFlagsMutuallyExclusive("release-version", "feature")
}

func unsafeFlag(cmd *cobra.Command, opts *UpdateOptions) {
	cmd.Flags().BoolVar(&opts.Unsafe, "unsafe", false, "do it even if metadata are lost; needs --yes")
}

// completeFeature offers the names of features, with levels the ones of each.
func completeFeature(levels bool) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		var fit []string
		all := append(image.SupportedNames(), image.FeatureKRaftVersion)
		for _, name := range all {
			if levels {
				name += "="
			}
			if strings.HasPrefix(name, typed) {
				fit = append(fit, name)
			}
		}
		return fit, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}
}

// updates reads what is to be set, by name.
func (o *UpdateOptions) updates() ([]client.FeatureUpdate, error) {
	kind := client.FeatureSafeDowngrade
	switch {
	case o.Verb == "upgrade":
		kind = client.FeatureUpgrade
	case o.Unsafe:
		kind = client.FeatureUnsafeDowngrade
	}
	var all []client.FeatureUpdate
	if o.Release != "" {
		v, err := image.ParseMetadataVersion(o.Release)
		if err != nil {
			return nil, fmt.Errorf("--release-version: %w", err)
		}
		for feature, level := range image.DefaultLevels(v) {
			// As Kafka's tool does: an upgrade leaves alone what the release has off.
			if level > 0 || o.Verb == "downgrade" {
				all = append(all, client.FeatureUpdate{Feature: feature, Level: level, Kind: kind})
			}
		}
	}
	for _, word := range o.Features {
		feature, level, err := o.parse(word)
		if err != nil {
			return nil, fmt.Errorf("--feature %s: %w", word, err)
		}
		if slices.ContainsFunc(all, func(u client.FeatureUpdate) bool { return u.Feature == feature }) {
			return nil, fmt.Errorf("--feature %s: the feature is named twice", word)
		}
		all = append(all, client.FeatureUpdate{Feature: feature, Level: level, Kind: kind})
	}
	if len(all) == 0 {
		if o.Verb == "disable" {
			return nil, fmt.Errorf("say what to %s: --feature", o.Verb)
		}
		return nil, fmt.Errorf("say what to %s: --feature or --release-version", o.Verb)
	}
	slices.SortFunc(all, func(a, b client.FeatureUpdate) int { return cmp.Compare(a.Feature, b.Feature) })
	return all, nil
}

// parse reads the value of --feature.
func (o *UpdateOptions) parse(word string) (feature string, level int16, err error) {
	feature, text, ok := strings.Cut(word, "=")
	switch {
	case feature == "":
		return "", 0, fmt.Errorf("it names no feature")
	case o.Verb == "disable" && ok:
		return "", 0, fmt.Errorf("want the name only: the level is 0")
	case o.Verb == "disable":
		return feature, 0, nil
	case !ok:
		return "", 0, fmt.Errorf("want name=level")
	case feature == image.FeatureMetadataVersion:
		v, err := image.ParseMetadataVersion(text)
		return feature, int16(v), err
	}
	n, err := strconv.ParseInt(text, 10, 16)
	if err != nil || n < 0 {
		return "", 0, fmt.Errorf("%q is no level", text)
	}
	return feature, int16(n), nil
}

type updateRow struct {
	Feature  string  `col:"feature"`
	From     int16   `col:"from"`
	FromName *string `col:"from_name,data"`
	To       int16   `col:"to"`
	ToName   *string `col:"to_name,data"`
	Result   string  `col:"result"` // upgraded, downgraded, disabled; valid in a dry run; unchanged; failed
	Error    error   `col:"error,data"`
}

// An updater is what Update asks of the cluster.
type updater interface {
	versioner
	UpdateFeatures(ctx context.Context, validate bool, updates []client.FeatureUpdate) (map[string]error, error)
}

// Update sets levels of features and prints a row for each. Before, it asks allow. If
// one fails the error is [cli.Silent].
func Update(ctx context.Context, env *cli.Env, cl updater, updates []client.FeatureUpdate, opts UpdateOptions, allow func(what string) error) error {
	now, err := finalized(ctx, cl, opts.DryRun)
	if err != nil {
		return err
	}
	if !opts.DryRun {
		var changes []string
		for _, u := range updates {
			changes = append(changes, fmt.Sprintf("%s from %s to %s", u.Feature, levelText(u.Feature, now[u.Feature]), levelText(u.Feature, u.Level)))
		}
		if err := allow(opts.Verb + " " + strings.Join(changes, ", ")); err != nil {
			return err
		}
	}
	answer, err := cl.UpdateFeatures(ctx, opts.DryRun, updates)
	if err != nil {
		return err
	}
	said := make(map[string]bool) // the same error is that of every feature
	rows := render.New[updateRow](env.Stdout, opts.Output, render.Options{Command: "brokers features " + opts.Verb, Color: env.ColorStdout()})
	for _, u := range updates {
		row := updateRow{
			Feature: u.Feature, From: now[u.Feature], FromName: levelName(u.Feature, now[u.Feature]),
			To: u.Level, ToName: levelName(u.Feature, u.Level), Error: answer[u.Feature],
		}
		switch {
		case row.Error != nil:
			if text := row.Error.Error(); !said[text] {
				env.Errorf("%s: %s", u.Feature, text)
				said[text] = true
			}
			row.Result = "failed"
		case opts.DryRun:
			row.Result = "valid"
		case row.From == u.Level:
			row.Result = "unchanged"
		default:
			row.Result = map[string]string{"upgrade": "upgraded", "downgrade": "downgraded", "disable": "disabled"}[opts.Verb]
		}
		if err := rows.Write(row); err != nil {
			return err
		}
	}
	if err := rows.Close(); err != nil || len(said) == 0 {
		return err
	}
	return cli.Silent
}

// finalized returns the levels that the cluster works with, and fails if it cannot
// validate without doing it, and that is needed.
func finalized(ctx context.Context, cl updater, validate bool) (map[string]int16, error) {
	nodes, err := cl.Nodes(ctx, false)
	if err != nil {
		return nil, err
	}
	all := slices.DeleteFunc(cl.NodeVersions(ctx, nodes.Nodes), func(v client.NodeVersions) bool { return v.Err != nil })
	if len(all) == 0 {
		return nil, fmt.Errorf("no broker says which features the cluster has")
	}
	for _, v := range all {
		switch versions, ok := v.Serves(client.UpdateFeaturesKey); {
		case !ok:
			return nil, &client.UnsupportedError{API: "UpdateFeatures"}
		case validate && versions.Max < 1:
			return nil, fmt.Errorf("broker %d is older than 3.3 and knows no dry run of UpdateFeatures", v.Node.ID)
		}
	}
	newest := slices.MaxFunc(all, func(a, b client.NodeVersions) int { return cmp.Compare(a.Epoch, b.Epoch) })
	return maps.Clone(newest.Finalized), nil
}
