package cmd

import (
	"runtime"

	"github.com/spf13/cobra"

	"kf/internal/cli"
	"kf/internal/render"
)

type versionRow struct {
	Version  string  `col:"version"`
	Commit   *string `col:"commit"`
	Modified *bool   `col:"modified"` // the source had changes that the commit has not
	Go       string  `col:"go"`
	Platform string  `col:"platform"`
}

func newVersionCommand(env *cli.Env) *cobra.Command {
	var format render.Format
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version of kf",
		Example: `  kf version
  kf version -o json`,
		Args:              cli.Args(cobra.NoArgs),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(*cobra.Command, []string) error {
			row := versionRow{
				Version:  env.Build.Version,
				Go:       env.Build.Go,
				Platform: runtime.GOOS + "/" + runtime.GOARCH,
			}
			if env.Build.Commit != "" {
				row.Commit, row.Modified = &env.Build.Commit, &env.Build.Dirty
			}
			w := render.New[versionRow](env.Stdout, format, render.Options{Command: "version", Color: env.ColorStdout()})
			if err := w.Write(row); err != nil {
				return err
			}
			return w.Close()
		},
	}
	render.Flag(cmd, &format)
	return cmd
}
