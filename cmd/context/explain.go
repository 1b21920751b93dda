package context

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"kf/internal/cli"
	"kf/internal/config"
	"kf/internal/online"
	"kf/internal/render"
)

// NewConfigCommand returns "kf config".
func NewConfigCommand(env *cli.Env) *cobra.Command {
	return cli.Group(&cobra.Command{
		Use:     "config",
		Short:   "Explain which settings are in force",
		Example: "  kf config explain",
	}, newExplainCommand(env))
}

type explainRow struct {
	Setting string   `col:"setting"`
	Value   string   `col:"value"`
	Origin  string   `col:"origin"`
	Over    overList `col:"overrides"`
	Note    *string  `col:"note"`
}

// overList are the places whose values count for nothing.
type overList []string

// AppendJSON implements render.Value.
func (l *overList) AppendJSON(dst []byte) []byte {
	dst = append(dst, '[')
	for i, text := range *l {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = render.AppendJSON(dst, text)
	}
	return append(dst, ']')
}

// AppendText implements render.Value.
func (l *overList) AppendText(dst []byte) ([]byte, bool) {
	return append(dst, strings.Join(*l, "; ")...), len(*l) > 0
}

func newExplainCommand(env *cli.Env) *cobra.Command {
	var format render.Format
	cmd := &cobra.Command{
		Use:   "explain",
		Short: "Show each setting in force and where it comes from",
		Long: `Show each setting in force, and how the cluster would be reached: ORIGIN is where VALUE
was found, OVERRIDES what counts for nothing because of it, NOTE what a property does not
do here. Secrets are not shown, nor looked for, and nothing is sent to the cluster. See
'kf help connecting' for which value wins.`,
		Example: `  kf config explain
  kf config explain -C prod
  kf config explain -o jsonl | jq 'select(.setting == "bootstrap.servers")'`,
		Args:              cli.Args(cobra.NoArgs),
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	conn := online.Connect(env, cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return explain(env, cmd, conn, format) }
	render.Flag(cmd, &format)
	return cmd
}

func explain(env *cli.Env, cmd *cobra.Command, conn *online.Connection, format render.Format) error {
	kf, err := config.Load(config.Inputs{Path: cmd.Flag("config").Value.String(), Getenv: env.Getenv})
	if err != nil {
		return cli.Usage(err)
	}
	set, err := conn.Settings(cmd)
	if err != nil {
		return cli.Usage(err)
	}
	for _, text := range set.Warnings {
		env.Warnf("%s", text)
	}
	var all []explainRow
	for _, s := range kf.Settings(cmd.Flags()) {
		row := explainRow{Setting: s.Key, Value: s.Value, Origin: s.Origin}
		if _, ok := set.Get("default.api.timeout.ms"); ok && s.Key == "timeout" && s.Origin == config.Default {
			note := "default.api.timeout.ms is used instead"
			row.Note = &note
		}
		all = append(all, row)
	}
	if set.Context != "" {
		all = append(all, explainRow{Setting: "context", Value: set.Context, Origin: set.ContextOrigin})
	}
	if set.Protected {
		note := "each change needs --yes, or your word"
		all = append(all, explainRow{Setting: "protected", Value: "true", Origin: set.Values[0].Origin, Note: &note})
	}
	for _, u := range set.Values {
		row := explainRow{Setting: u.Name, Value: u.Shown(), Origin: u.Origin}
		for _, over := range u.Over {
			row.Over = append(row.Over, fmt.Sprintf("%s of %s", over.Name, over.Origin))
		}
		if note := set.Note(u.Name); note != "" {
			row.Note = &note
		}
		all = append(all, row)
	}
	rows := render.New[explainRow](env.Stdout, format, render.Options{Command: "config explain", Color: env.ColorStdout()})
	for _, row := range all {
		if err := rows.Write(row); err != nil {
			return err
		}
	}
	return rows.Close()
}
