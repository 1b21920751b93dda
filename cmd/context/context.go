// Package context holds the commands "kf context …", which keep the clusters that a
// user works with, and "kf config …", which says which settings are in force.
package context

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"kf/internal/cli"
	"kf/internal/contexts"
	"kf/internal/online"
	"kf/internal/render"
)

// NewCommand returns "kf context".
func NewCommand(env *cli.Env) *cobra.Command {
	return cli.Group(&cobra.Command{
		Use:   "context",
		Short: "Keep clusters under names, and choose the current one",
		Example: `  kf context add prod -b broker1:9092 --command-config client.properties --protected
  kf context use prod
  kf -C dev topics list`,
	},
		newUseCommand(env),
		newListCommand(env),
		newAddCommand(env),
		newShowCommand(env),
		newRemoveCommand(env),
		newImportCommand(env),
	)
}

// update changes the contexts of the user.
func update(env *cli.Env, change func(*contexts.File) error) error {
	path, err := online.ContextsPath(env)
	if err != nil {
		return err
	}
	return contexts.Update(path, change)
}

func newUseCommand(env *cli.Env) *cobra.Command {
	return &cobra.Command{
		Use:   "use NAME",
		Short: "Make a context the current one",
		Long: `Make a context the current one, which is used if nothing names another cluster.
"-" is the one that was current before.`,
		Example: `  kf context use prod
  kf context use -`,
		Args:              cli.Args(cobra.ExactArgs(1)),
		ValidArgsFunction: online.CompleteContexts(env, 0),
		RunE:              func(_ *cobra.Command, args []string) error { return Use(env, args[0]) },
	}
}

// Use makes a context the current one.
func Use(env *cli.Env, name string) error {
	var now contexts.Context
	err := update(env, func(f *contexts.File) (err error) {
		if name == "-" {
			if name = f.Previous; name == "" {
				return errors.New("no context was current before this one")
			}
		}
		if now, err = online.Lookup(f, name, "kf context use"); err == nil {
			f.Use(name)
		}
		return err
	})
	if err != nil {
		return err
	}
	env.Notef("context %s (%s) is the current one", now.Name, now.Bootstrap)
	for _, name := range []string{"KF_CONTEXT", "KF_BOOTSTRAP_SERVERS"} {
		if value := env.Getenv(name); value != "" && value != now.Name {
			env.Warnf("%s is set to %s, which wins over the current context", name, value)
		}
	}
	return nil
}

func newRemoveCommand(env *cli.Env) *cobra.Command {
	return &cobra.Command{
		Use:               "remove NAME...",
		Short:             "Remove contexts",
		Example:           "  kf context remove old",
		Args:              cli.Args(cobra.MinimumNArgs(1)),
		ValidArgsFunction: online.CompleteContexts(env, -1),
		RunE:              func(_ *cobra.Command, args []string) error { return Remove(env, args) },
	}
}

// Remove removes contexts. Those that there are go, also if another is not there.
func Remove(env *cli.Env, names []string) error {
	var failed []error
	err := update(env, func(f *contexts.File) error {
		current := f.Current
		for _, name := range names {
			if _, err := online.Lookup(f, name, "kf context remove"); err != nil {
				failed = append(failed, err)
				continue
			}
			f.Remove(name)
			env.Notef("context %s is removed", name)
		}
		if current != "" && f.Current == "" {
			env.Notef("no context is the current one now")
		}
		return nil
	})
	return errors.Join(append(failed, err)...)
}

// listOptions are the inputs of "kf context list".
type listOptions struct {
	Output render.Format
}

type contextRow struct {
	Context     string  `col:"context"`
	Current     bool    `col:"current"`
	Servers     string  `col:"bootstrap_servers"`
	Protocol    string  `col:"security_protocol"`
	Protected   bool    `col:"protected"`
	Description *string `col:"description"`
}

func newListCommand(env *cli.Env) *cobra.Command {
	var opts listOptions
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List your contexts",
		Long: `List your contexts by name: CURRENT is true for the one that is used if nothing names
another cluster, PROTECTED for those whose changes are asked for.`,
		Example:           "  kf context list -o jsonl | jq -r .context",
		Args:              cli.Args(cobra.NoArgs),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(*cobra.Command, []string) error { return list(env, opts) },
	}
	render.Flag(cmd, &opts.Output)
	return cmd
}

func list(env *cli.Env, opts listOptions) error {
	f, err := online.LoadContexts(env)
	if err != nil {
		return err
	}
	rows := render.New[contextRow](env.Stdout, opts.Output, render.Options{Command: "context list", Color: env.ColorStdout()})
	for _, name := range f.Names() {
		c, _ := f.Find(name)
		row := contextRow{Context: name, Current: name == f.Current, Servers: c.Bootstrap, Protocol: "PLAINTEXT", Protected: c.Protected}
		if p, ok := c.Get("security.protocol"); ok {
			row.Protocol = p.Value
		}
		if c.Description != "" {
			row.Description = &c.Description
		}
		if err := rows.Write(row); err != nil {
			return err
		}
	}
	if f.Current != "" {
		if _, err := online.Lookup(f, f.Current, f.Path+": current"); err != nil {
			env.Warnf("%v", err)
		}
	}
	return rows.Close()
}

// showOptions are the inputs of "kf context show".
type showOptions struct {
	Name   string // "" for the current one
	Output render.Format
}

type propertyRow struct {
	Context  string `col:"context,data"`
	Property string `col:"property"`
	Value    string `col:"value"`
	Secret   bool   `col:"secret"` // the value is stars, or says where the secret is found
}

func newShowCommand(env *cli.Env) *cobra.Command {
	var opts showOptions
	cmd := &cobra.Command{
		Use:   "show [NAME]",
		Short: "Show what a context holds, without its secrets",
		Long: `Show what a context holds, the current one if none is named. A row is a property of
Java clients, or description or protected. SECRET is true where VALUE is hidden, as stars,
or says where the secret is found.`,
		Example: `  kf context show prod
  kf context show -o jsonl`,
		Args:              cli.Args(cobra.MaximumNArgs(1)),
		ValidArgsFunction: online.CompleteContexts(env, 0),
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				opts.Name = args[0]
			}
			return show(env, opts)
		},
	}
	render.Flag(cmd, &opts.Output)
	return cmd
}

func show(env *cli.Env, opts showOptions) error {
	f, err := online.LoadContexts(env)
	if err != nil {
		return err
	}
	origin := "kf context show"
	if opts.Name == "" {
		if opts.Name, origin = f.Current, f.Path+": current"; opts.Name == "" {
			return errors.New("no context is the current one: name one, or choose one with 'kf context use'")
		}
	}
	c, err := online.Lookup(f, opts.Name, origin)
	if err != nil {
		return err
	}
	rows := render.New[propertyRow](env.Stdout, opts.Output, render.Options{Command: "context show", Color: env.ColorStdout()})
	for _, row := range propertyRows(c) {
		if err := rows.Write(row); err != nil {
			return err
		}
	}
	return rows.Close()
}

// propertyRows returns what a context holds. What is no property of Java clients has
// the name of its key in the file.
func propertyRows(c contexts.Context) []propertyRow {
	row := func(name, value string) propertyRow {
		return propertyRow{Context: c.Name, Property: name, Value: value}
	}
	var all []propertyRow
	if c.Description != "" {
		all = append(all, row("description", c.Description))
	}
	all = append(all, row("protected", fmt.Sprint(c.Protected)), row("bootstrap.servers", c.Bootstrap))
	for _, p := range c.Properties {
		v := online.Value{Name: p.Name, Value: p.Value, Ref: p.Ref}
		r := row(p.Name, v.Shown())
		r.Secret = p.Ref != nil || contexts.IsSecret(p.Name)
		all = append(all, r)
	}
	return all
}
