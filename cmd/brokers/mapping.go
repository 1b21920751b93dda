package brokers

import (
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"kf/internal/cli"
	"kf/internal/image"
	"kf/internal/render"
)

// MappingOptions are the inputs of "kf brokers features mapping".
type MappingOptions struct {
	Releases []string // "4.4", "4.0-IV3" or a number; none: the newest
	Output   render.Format
}

func newMappingCommand(env *cli.Env) *cobra.Command {
	var opts MappingOptions
	cmd := &cobra.Command{
		Use:   "mapping [release]...",
		Short: "Show the levels of features that go with a release",
		Long: `Shows the levels that an upgrade of features to a release of Kafka sets, and the
metadata.version that a level cannot do without. It asks no cluster.`,
		Example: `  kf brokers features mapping 4.0
  kf brokers features mapping 4.3 4.4 -o csv`,
		Args:              cli.Args(cobra.ArbitraryArgs),
		ValidArgsFunction: cli.Complete(image.ReleaseNames()...),
		RunE: func(_ *cobra.Command, args []string) error {
			opts.Releases = args
			return Mapping(env, opts)
		},
	}
	render.Flag(cmd, &opts.Output)
	return cmd
}

type mappingRow struct {
	Release  string  `col:"release"`
	Feature  string  `col:"feature"`
	Level    int16   `col:"level"`
	Name     *string `col:"name"`     // of a metadata.version
	Requires *string `col:"requires"` // the name of a metadata.version
}

// Mapping prints a row for each feature of each release.
func Mapping(env *cli.Env, opts MappingOptions) error {
	releases := opts.Releases
	if len(releases) == 0 {
		releases = []string{image.LatestMetadataVersion().Release()}
	}
	versions := make([]image.MetadataVersion, len(releases))
	for i, release := range releases {
		v, err := image.ParseMetadataVersion(release)
		if err != nil {
			return cli.Usage(err)
		}
		versions[i] = v
	}
	rows := render.New[mappingRow](env.Stdout, opts.Output, render.Options{Command: "brokers features mapping", Color: env.ColorStdout()})
	for i, v := range versions {
		defaults := image.DefaultLevels(v)
		for _, feature := range slices.Sorted(maps.Keys(defaults)) {
			row := mappingRow{Release: releases[i], Feature: feature, Level: defaults[feature], Name: levelName(feature, defaults[feature])}
			if required := image.RequiredMetadataVersion(feature, defaults[feature]); required > 0 {
				row.Requires = new(required.String())
			}
			if err := rows.Write(row); err != nil {
				return err
			}
		}
	}
	return rows.Close()
}
