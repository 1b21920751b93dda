package groups

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"kf/internal/cli"
	"kf/internal/client"
	"kf/internal/online"
	"kf/internal/render"
)

// ListOptions are the inputs of "kf groups list". An empty filter lets all through.
type ListOptions struct {
	States    []string
	Types     []string
	Protocols []string
	Regex     string // of the whole id
	Output    render.Format
}

// The values that brokers know. Source: Kafka 4.4.0, GroupState.java and GroupType.java.
var (
	groupStates = []string{"Assigning", "CompletingRebalance", "Dead", "Empty", "NotReady", "PreparingRebalance", "Reconciling", "Stable"}
	groupTypes  = []string{"Classic", "Consumer", "Share", "Streams"}
)

func newListCommand(env *cli.Env, conn *online.Connection) *cobra.Command {
	var opts ListOptions
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the groups of a cluster",
		Long: `List the groups of a cluster: of every type, one row a group, by id.

The protocol is what the members do together, such as consumer or connect; a group
that only has committed offsets has none.`,
		Example: `  kf groups list
  kf groups list --state empty --type classic
  kf groups list --regex 'billing-.*' -o jsonl | jq -r .group`,
		Args: cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := opts.Validate(); err != nil {
				return err
			}
			return conn.Run(cmd, func(ctx context.Context, cl *client.Client) error {
				return List(ctx, env, cl, opts)
			})
		},
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&opts.States, "state", nil, "only groups in one of these `states`: "+strings.Join(groupStates, ", "))
	flags.StringSliceVar(&opts.Types, "type", nil, "only groups of one of these `types`: "+strings.Join(groupTypes, ", "))
	flags.StringSliceVar(&opts.Protocols, "protocol", nil, "only groups of one of these `protocols`, such as consumer or connect")
	flags.StringVar(&opts.Regex, "regex", "", "only groups whose whole id matches this regular `expression`")
	// These fail only for a flag that is not there.
	_ = cmd.RegisterFlagCompletionFunc("state", cli.Complete(groupStates...))
	_ = cmd.RegisterFlagCompletionFunc("type", cli.Complete(groupTypes...))
	_ = cmd.RegisterFlagCompletionFunc("protocol", cli.Complete("consumer", "connect", "share", "streams"))
	cli.NoFiles(cmd, "regex")
	render.Flag(cmd, &opts.Output)
	return cmd
}

// Validate returns an error of wrong usage for a state or type that no group has.
func (o *ListOptions) Validate() error {
	if _, err := wholeRegexp(o.Regex); err != nil {
		return err
	}
	if err := known("--state", o.States, groupStates); err != nil {
		return err
	}
	return known("--type", o.Types, groupTypes)
}

func known(flag string, values, all []string) error {
	for _, v := range values {
		if slices.ContainsFunc(all, func(s string) bool { return strings.EqualFold(s, v) }) {
			continue
		}
		var lower []string
		for _, s := range all {
			lower = append(lower, strings.ToLower(s))
		}
		if near := cli.Nearest(strings.ToLower(v), lower); near != "" {
			return cli.Usagef("%s: no group is %q: did you mean %s?", flag, v, near)
		}
		return cli.Usagef("%s: no group is %q: want some of %s", flag, v, strings.Join(all, ", "))
	}
	return nil
}

type groupRow struct {
	Group         string  `col:"group"`
	Type          string  `col:"type"`
	Protocol      *string `col:"protocol"`
	State         *string `col:"state"`
	Coordinator   string  `col:"coordinator,data"`
	CoordinatorID int32   `col:"coordinator_id,data"`
}

// List prints a row for each group, by id.
func List(ctx context.Context, env *cli.Env, cl lister, opts ListOptions) error {
	regex, err := wholeRegexp(opts.Regex)
	if err != nil {
		return err
	}
	groups, err := cl.Groups(ctx, client.GroupFilter{States: opts.States, Types: opts.Types})
	if err != nil && len(groups) == 0 {
		return err
	}
	rows := render.New[groupRow](env.Stdout, opts.Output, render.Options{Command: "groups list", Color: env.ColorStdout()})
	for _, g := range groups {
		if regex != nil && !regex.MatchString(g.ID) || len(opts.Protocols) > 0 && !slices.Contains(opts.Protocols, g.Protocol) {
			continue
		}
		row := groupRow{g.ID, string(g.Type), text(g.Protocol), text(g.State), address(g.Coordinator), g.Coordinator.NodeID}
		if err := rows.Write(row); err != nil {
			return err
		}
	}
	if closed := rows.Close(); closed != nil {
		return closed
	}
	return err
}
