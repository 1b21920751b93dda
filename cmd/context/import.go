package context

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"kf/internal/cli"
	"kf/internal/contexts"
	"kf/internal/contexts/foreign"
	"kf/internal/online"
	"kf/internal/render"
)

// importOptions are the inputs of "kf context import".
type importOptions struct {
	Path      string
	Name      string // "" for all
	Kind      string // one of foreign.Kinds, "" to find out
	Protected bool
	Replace   bool
	Use       bool
	DryRun    bool
	Output    render.Format
}

func newImportCommand(env *cli.Env) *cobra.Command {
	var opts importOptions
	cmd := &cobra.Command{
		Use:   "import FILE [NAME]",
		Short: "Take over clusters from the file of another tool",
		Long: `Take over clusters from the file of another tool: client.properties of Kafka's scripts,
kcat.conf, rpk.yaml or redpanda.yaml, ~/.kaf/config, and the config files of kafkactl
and kcl. What becomes of it is shown as 'kf context show' does; what cannot be taken
over is told.

NAME is the context to make of a file that holds one cluster, by default named as the
file; of several clusters it is the one to take.`,
		Example: `  kf context import client.properties prod --protected
  kf context import ~/.config/rpk/rpk.yaml --dry-run
  kf context import --from kcat ~/.config/kcat.conf dev`,
		Args: cli.Args(cobra.RangeArgs(1, 2)),
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) == 0 {
				return nil, cobra.ShellCompDirectiveDefault
			}
			return nil, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			opts.Path = args[0]
			if len(args) > 1 {
				opts.Name = args[1]
			}
			return Import(env, opts)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&opts.Kind, "from", "", "`tool` that wrote the file: "+strings.Join(foreign.Kinds, ", "))
	flags.BoolVar(&opts.Protected, "protected", false, "ask before each change of these clusters")
	flags.BoolVar(&opts.Replace, "replace", false, "replace contexts of these names")
	flags.BoolVar(&opts.Use, "use", false, "make the one current that the tool uses, or the only one")
	flags.BoolVar(&opts.DryRun, "dry-run", false, "show what would be taken over, and keep nothing")
	_ = cmd.RegisterFlagCompletionFunc("from", cli.Complete(foreign.Kinds...)) // fails only for a flag that is not there
	render.Flag(cmd, &opts.Output)
	return cmd
}

// importLimit is more than any such file has.
const importLimit = 4 << 20

// Import takes over clusters from the file of another tool.
func Import(env *cli.Env, opts importOptions) error {
	if opts.Kind != "" && !slices.Contains(foreign.Kinds, opts.Kind) {
		return cli.Usagef("--from: must be one of %s", strings.Join(foreign.Kinds, ", "))
	}
	text, _, err := contexts.ReadFile(opts.Path, importLimit)
	if err != nil {
		return err
	}
	result, err := foreign.Read(opts.Path, text, opts.Kind)
	if err != nil {
		return err
	}
	all, err := opts.choose(env, result)
	if err != nil {
		return err
	}
	rows := render.New[propertyRow](env.Stdout, opts.Output, render.Options{Command: "context import", Color: env.ColorStdout()})
	for _, c := range all {
		for _, row := range propertyRows(c) {
			if err := rows.Write(row); err != nil {
				return err
			}
		}
	}
	if err := rows.Close(); err != nil {
		return err
	}
	if opts.DryRun {
		env.Notef("dry run: nothing was kept")
		return nil
	}
	use := ""
	if opts.Use {
		if use = result.Current; len(all) == 1 {
			use = all[0].Name
		}
		if !slices.ContainsFunc(all, func(c contexts.Context) bool { return c.Name == use }) {
			return errors.New("--use: the file does not say which of its clusters is the current one: leave it out, and choose one with 'kf context use'")
		}
	}
	return Add(env, all, opts.Replace, use)
}

// choose returns the contexts to keep, and tells what is left out of them.
func (opts *importOptions) choose(env *cli.Env, result foreign.Result) ([]contexts.Context, error) {
	env.Notef("%s: a file of %s", opts.Path, result.Kind)
	var all []contexts.Context
	var names []string
	for _, c := range result.Contexts {
		names = append(names, c.Name)
		switch {
		case len(result.Contexts) == 1 && opts.Name != "":
			c.Name = opts.Name
		case c.Name == "":
			c.Name = strings.TrimLeft(strings.TrimSuffix(filepath.Base(opts.Path), filepath.Ext(opts.Path)), ".")
		case opts.Name != "" && c.Name != opts.Name:
			continue
		}
		c.Protected = opts.Protected
		if err := contexts.CheckName(c.Name); err != nil {
			return nil, fmt.Errorf("%s: %w", opts.Path, err)
		}
		c.Properties = slices.DeleteFunc(c.Properties, func(p contexts.Property) bool {
			known := online.Known(p.Name)
			if !known {
				c.Notes = append(c.Notes, p.Name)
			}
			return !known
		})
		for _, note := range c.Notes {
			env.Warnf("context %s: not taken over: %s", c.Name, note)
		}
		if c.Bootstrap == "" {
			if len(result.Contexts) == 1 {
				return nil, fmt.Errorf("%s: names no servers: kf context add %s -b HOST:PORT --command-config %s", opts.Path, c.Name, opts.Path)
			}
			env.Warnf("context %s: left out: it names no servers", c.Name)
			continue
		}
		if err := checkServers(c.Bootstrap); err != nil {
			return nil, fmt.Errorf("%s: context %s: %w", opts.Path, c.Name, err)
		}
		all = append(all, c.Context)
	}
	if len(all) == 0 {
		if near := cli.Nearest(opts.Name, names); near != "" {
			return nil, fmt.Errorf("%s: no cluster %q: did you mean %s?", opts.Path, opts.Name, near)
		}
		if opts.Name != "" && len(names) > 0 {
			return nil, fmt.Errorf("%s: no cluster %q (there are %s)", opts.Path, opts.Name, strings.Join(names, ", "))
		}
		return nil, fmt.Errorf("%s: no cluster in it", opts.Path)
	}
	return all, nil
}
