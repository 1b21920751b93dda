package cli

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"kf/internal/nearest"
)

// Args makes what check refuses wrong usage: exit code 2. It names the command
// in the message.
func Args(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return Usagef("%s: %w (see '%s --help')", cmd.CommandPath(), err, cmd.CommandPath())
		}
		return nil
	}
}

// Group makes parent one that only holds subcommands: alone it prints its
// help, and a subcommand that it does not have is wrong usage with a
// suggestion. A bare cobra parent would answer both with help and exit code 0.
func Group(parent *cobra.Command, children ...*cobra.Command) *cobra.Command {
	if !strings.Contains(parent.Use, " ") {
		parent.Use += " <command>"
	}
	parent.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		return Usagef("%s", unknown(cmd, args[0]))
	}
	parent.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	parent.ValidArgsFunction = cobra.NoFileCompletions
	parent.SuggestionsMinimumDistance = 2
	parent.AddCommand(children...)
	return parent
}

// unknown is the message for a subcommand that parent does not have.
func unknown(parent *cobra.Command, name string) string {
	text := fmt.Sprintf("unknown command %q for %q", name, parent.CommandPath())
	if near := parent.SuggestionsFor(name); len(near) > 0 {
		return text + ": did you mean " + strings.Join(near, " or ") + "?"
	}
	return text + fmt.Sprintf(" (see '%s --help')", parent.CommandPath())
}

// FlagError makes what pflag refuses wrong usage, with the nearest flag that
// there is. It is for cobra's SetFlagErrorFunc.
func FlagError(cmd *cobra.Command, err error) error {
	if missing, ok := errors.AsType[*pflag.NotExistError](err); ok {
		var names []string
		add := func(f *pflag.Flag) {
			if !f.Hidden {
				names = append(names, f.Name)
			}
		}
		cmd.Flags().VisitAll(add)
		cmd.InheritedFlags().VisitAll(add)
		if near := Nearest(missing.GetSpecifiedName(), names); near != "" {
			return Usagef("%s: %w: did you mean --%s?", cmd.CommandPath(), err, near)
		}
	}
	if number, ok := errors.AsType[*strconv.NumError](err); ok {
		// What strconv says names functions of Go.
		err = errors.New(strings.Replace(err.Error(), number.Error(), numberError(number), 1))
	}
	return Usagef("%s: %w (see '%s --help')", cmd.CommandPath(), err, cmd.CommandPath())
}

// numberError says in words of users why a number is refused.
func numberError(err *strconv.NumError) string {
	switch {
	case errors.Is(err, strconv.ErrRange):
		return fmt.Sprintf("%q is out of range", err.Num)
	case err.Func == "ParseBool":
		return fmt.Sprintf("%q is neither true nor false", err.Num)
	case err.Func == "ParseFloat":
		return fmt.Sprintf("%q is no number", err.Num)
	}
	return fmt.Sprintf("%q is no whole number", err.Num)
}

// Complete returns a completion function for a flag or argument that takes one
// of values: those that start with what was typed, and no file names.
func Complete(values ...string) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		var fit []string
		for _, v := range values {
			if strings.HasPrefix(v, typed) {
				fit = append(fit, v)
			}
		}
		return fit, cobra.ShellCompDirectiveNoFileComp
	}
}

// NoFiles makes completion offer no file names for these flags of cmd, whose
// values are numbers and the like.
func NoFiles(cmd *cobra.Command, flags ...string) {
	for _, name := range flags {
		_ = cmd.RegisterFlagCompletionFunc(name, cobra.NoFileCompletions) // fails only for a flag that is not there
	}
}

// Nearest returns the candidate that word is probably a misspelling of, "" if
// there is none: at most 2 letters differ, fewer in short words.
func Nearest(word string, candidates []string) string { return nearest.Name(word, candidates, 2) }
