package groups

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"

	"github.com/spf13/cobra"

	"kf/internal/cli"
	"kf/internal/client"
	"kf/internal/online"
)

// A Selection says which groups a command is about: one way of the three.
type Selection struct {
	IDs   []string
	All   bool
	Regex string // of the whole id

	regex *regexp.Regexp
}

// groupFlag adds --group to cmd, as Kafka's script has it: each is one more argument.
func groupFlag(cmd *cobra.Command) {
	var named []string
	cmd.Flags().StringArrayVar(&named, "group", nil, "one more argument")
	_ = cmd.Flags().MarkHidden("group") // fails only for a flag that is not there
	args, run := cmd.Args, cmd.RunE
	all := func(args []string) []string { return slices.Concat(args, named) }
	if args != nil {
		cmd.Args = func(cmd *cobra.Command, given []string) error { return args(cmd, all(given)) }
	}
	cmd.RunE = func(cmd *cobra.Command, given []string) error { return run(cmd, all(given)) }
}

// flags adds the flags that select groups by other means than their ids.
func (s *Selection) flags(cmd *cobra.Command, conn *online.Connection) {
	cmd.Flags().BoolVar(&s.All, "all-groups", false, "all groups of the cluster")
	cmd.Flags().StringVar(&s.Regex, "regex", "", "the groups whose whole id matches this regular `expression`")
	cli.NoFiles(cmd, "regex")
	cmd.ValidArgsFunction = conn.Complete(-1, online.Groups)
}

// Validate returns an error of wrong usage unless the groups are named in one way.
func (s *Selection) Validate() error {
	ways := 0
	for _, given := range []bool{len(s.IDs) > 0, s.All, s.Regex != ""} {
		if given {
			ways++
		}
	}
	switch {
	case ways == 0:
		return cli.Usagef("which groups? Name them, or give --regex or --all-groups")
	case ways > 1:
		return cli.Usagef("groups by name, --regex and --all-groups exclude each other")
	case slices.Contains(s.IDs, ""):
		return cli.Usagef("the id of a group is empty")
	}
	var err error
	s.regex, err = wholeRegexp(s.Regex)
	return err
}

// wholeRegexp compiles an expression that has to match all of a name.
func wholeRegexp(expr string) (*regexp.Regexp, error) {
	if expr == "" {
		return nil, nil
	}
	if _, err := regexp.Compile(expr); err != nil { // its error names what was typed
		return nil, cli.Usagef("--regex: %w", err)
	}
	return regexp.Compile("^(?:" + expr + ")$")
}

// A lister lists the groups of a cluster.
type lister interface {
	Groups(context.Context, client.GroupFilter) ([]client.ListedGroup, error)
}

// resolve returns the ids of the groups, sorted. The error is that of brokers which
// did not list theirs: then those of the others are returned too.
func (s *Selection) resolve(ctx context.Context, cl lister) ([]string, error) {
	if len(s.IDs) > 0 {
		ids := slices.Sorted(slices.Values(s.IDs))
		return slices.Compact(ids), nil
	}
	listed, err := cl.Groups(ctx, client.GroupFilter{})
	if err != nil {
		err = fmt.Errorf("not all groups are known: %w", err)
	}
	var ids []string
	for _, g := range listed {
		if s.regex == nil || s.regex.MatchString(g.ID) {
			ids = append(ids, g.ID)
		}
	}
	if len(ids) == 0 && err == nil && s.regex != nil {
		err = fmt.Errorf("no group's id matches %q", s.Regex)
	}
	return ids, err
}

// groupError says what of a group could not be told or done.
func groupError(id string, err error) error {
	if errors.Is(err, client.ErrNoGroup) {
		return fmt.Errorf("group %s does not exist (see 'kf groups list')", id)
	}
	return fmt.Errorf("group %s: %w", id, err)
}
