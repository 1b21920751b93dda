package configs

import (
	"context"

	"github.com/spf13/cobra"

	"kf/internal/cli"
	"kf/internal/client"
	"kf/internal/online"
	"kf/internal/render"
)

// DescribeOptions are the inputs of "kf configs describe".
type DescribeOptions struct {
	All     bool   // what is inherited too
	Docs    bool   // what the keys mean
	Verbose bool   // more columns in a table
	Diff    string // an entity, or "defaults": only what differs
	Output  render.Format

	selectors []selector // what to describe
}

func newDescribeCommand(env *cli.Env, conn *online.Connection) *cobra.Command {
	var opts DescribeOptions
	var selected selection
	cmd := &cobra.Command{
		Use:   "describe <type> [name...] | <type:name>...",
		Short: "Show what is set, where, and what is inherited",
		Long: `kf configs describe prints a row for each key that is set for a topic, a broker or
another entity; a type alone stands for all of it. Of a broker that is all that differs
from Kafka's defaults, the column SOURCE tells from where; of others it is what is set
for themselves. --all adds what they inherit; of users, clients and addresses the quotas
that hold for them. The SOURCE of a quota is the entity that has it, or DEFAULT_CONFIG
for one without limit.

With --diff only keys are printed whose values differ from those of another entity, or
from the defaults, and the exit code is 3 if there are any.

The values of secrets are not shown by brokers; of SCRAM credentials the mechanism and
the iterations are.`,
		Example: `  kf configs describe topic orders
  kf configs describe topic --regex 'orders-.*' -o csv
  kf configs describe broker 1 --all --verbose
  kf configs describe broker --diff defaults
  kf configs describe topic orders --diff topic:payments
  kf configs describe user alice
  kf configs describe user:alice,client:app --all
  kf configs describe broker-logger 3000 --bootstrap-controller controller1:9093
  kf configs describe --entity-type topics --entity-name orders`,
		RunE: func(cmd *cobra.Command, args []string) error {
			var err error
			if opts.selectors, err = selected.selectors(args); err != nil {
				return cli.Usagef("%s: %w", cmd.CommandPath(), err)
			}
			if err := opts.Validate(); err != nil {
				return cli.Usagef("%s: %w", cmd.CommandPath(), err)
			}
			return conn.Run(cmd, func(ctx context.Context, cl *client.Client) error {
				return Describe(ctx, env, cl, opts)
			})
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&opts.All, "all", false, "show what is inherited too: defaults, server.properties, …")
	flags.BoolVar(&opts.Docs, "docs", false, "show what the keys mean")
	flags.BoolVar(&opts.Verbose, "verbose", false, "show type, synonyms, and what is read-only or a secret in tables too")
	flags.StringVar(&opts.Diff, "diff", "", "show what differs from another `entity`, such as topic:payments, or from the word defaults")
	_ = cmd.RegisterFlagCompletionFunc("diff", completeDiff(conn, &selected)) // fails only for a flag that is not there
	conn.ControllerFlag(cmd)
	selected.flags(cmd, conn)
	render.Flag(cmd, &opts.Output)
	return cmd
}

// Validate returns what is wrong with the options.
func (o *DescribeOptions) Validate() error {
	if len(o.selectors) == 0 {
		return errNothingNamed
	}
	if o.Diff == "" || o.Diff == diffDefaults {
		return nil
	}
	_, err := parseEntity(o.Diff)
	return err
}

// A row is an entry of an entity.
type row struct {
	Entity     string   `col:"entity"`
	EntityType string   `col:"entity_type,data"`
	EntityName *string  `col:"entity_name,data"` // null: the defaults
	Client     *string  `col:"client,data"`      // of the type user,client
	Key        string   `col:"key"`
	Value      *string  `col:"value"`
	Source     string   `col:"source"`
	Type       string   `col:"type,data"`
	ReadOnly   bool     `col:"read_only,data"`
	Sensitive  bool     `col:"sensitive,data"`
	Synonyms   synonyms `col:"synonyms,data"`
	Doc        *string  `col:"documentation,data"`
}

func newRow(e Entity, x *entry) row {
	return row{
		Entity: e.String(), EntityType: e.typeName(), EntityName: unlessEmpty(e.name), Client: unlessEmpty(e.client),
		Key: x.key, Value: x.value, Source: x.source, Type: x.typ, ReadOnly: x.readOnly, Sensitive: x.sensitive,
		Synonyms: x.synonyms, Doc: x.doc,
	}
}

func unlessEmpty(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// Describe prints a row for each entry of the entities, or for each that differs.
func Describe(ctx context.Context, env *cli.Env, cl describer, opts DescribeOptions) error {
	r := &reader{cl: cl, docs: opts.Docs, all: opts.All, warn: env.Warnf}
	if opts.Diff != "" {
		return diff(ctx, env, r, opts)
	}
	entities, err := r.resolve(ctx, opts.selectors)
	if err != nil {
		return err
	}
	var show []string
	if opts.Verbose {
		show = append(show, "type", "read_only", "sensitive", "synonyms")
	}
	if opts.Docs {
		show = append(show, "documentation")
	}
	rows := render.New[row](env.Stdout, opts.Output, render.Options{Command: "configs describe", Color: env.ColorStdout(), Show: show})
	few := len(entities) <= 10 // of many it is no news that some have nothing set
	failed := false
	err = r.read(ctx, entities, func(d described) error {
		if d.err == nil {
			d.err = r.exists(ctx, d)
		}
		if d.err != nil {
			failed = true
			env.Errorf("%s: %v", d.entity, d.err)
			return nil
		}
		shown := false
		for i := range d.entries {
			if !opts.All && !d.entries[i].set {
				continue
			}
			shown = true
			if err := rows.Write(newRow(d.entity, &d.entries[i])); err != nil {
				return err
			}
		}
		if few && !shown {
			env.Notef("%s: nothing is set (--all shows what holds)", d.entity)
		}
		return nil
	})
	return finish(rows.Close, err, failed)
}

// finish ends the output and returns the error of a command some of whose targets may
// have failed, which was said already.
func finish(closeRows func() error, err error, failed bool) error {
	if closing := closeRows(); err == nil {
		err = closing
	}
	if err == nil && failed {
		err = cli.Silent
	}
	return err
}
