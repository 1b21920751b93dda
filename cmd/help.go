package cmd

import (
	_ "embed"
	"strings"

	"github.com/spf13/cobra"

	"kf/internal/cli"
)

// usageTemplate differs from cobra's in this: the usage is the one line that
// the command gives, and topics are listed by the command that shows them.
const usageTemplate = `Usage:
  {{.UseLine}}{{if .HasExample}}

Examples:
{{.Example}}{{end}}{{if .HasAvailableSubCommands}}{{$cmds := .Commands}}{{if eq (len .Groups) 0}}

Commands:{{range $cmds}}{{if .IsAvailableCommand}}
  {{rpad .Name .NamePadding }} {{.Short}}{{end}}{{end}}{{else}}{{range $group := .Groups}}

{{.Title}}{{range $cmds}}{{if (and (eq .GroupID $group.ID) (or .IsAvailableCommand (eq .Name "help")))}}
  {{rpad .Name .NamePadding }} {{.Short}}{{end}}{{end}}{{end}}{{end}}{{end}}{{if .HasAvailableLocalFlags}}

Flags:
{{.LocalFlags.FlagUsages | trimTrailingWhitespaces}}{{end}}{{if .HasAvailableInheritedFlags}}

Flags of all commands:
{{.InheritedFlags.FlagUsages | trimTrailingWhitespaces}}{{end}}{{if .HasHelpSubCommands}}

Topics of "kf help":{{range .Commands}}{{if .IsAdditionalHelpTopicCommand}}
  {{rpad .Name 12}} {{.Short}}{{end}}{{end}}{{end}}{{if .HasAvailableSubCommands}}

"{{.CommandPath}} <command> --help" tells more about a command.{{end}}
`

//go:embed help/exit-codes.txt
var exitCodes string

//go:embed help/formats.txt
var formats string

//go:embed help/columns.txt
var columns string

//go:embed help/environment.txt
var environment string

//go:embed help/connecting.txt
var connecting string

//go:embed help/deviations.txt
var deviations string

//go:embed help/times.txt
var times string

//go:embed help/lag.txt
var lag string

//go:embed help/migrate.txt
var migrate string

// helpTopics are commands that do nothing: their help is a text of its own.
func helpTopics() []*cobra.Command {
	topic := func(name, short, text string) *cobra.Command {
		return &cobra.Command{Use: name, Short: short, Long: strings.TrimSpace(text)}
	}
	return []*cobra.Command{
		topic("exit-codes", "What the exit codes mean", exitCodes),
		topic("formats", "Which files kf knows, and how it prints rows", formats),
		topic("columns", "What the columns of the online commands hold", columns),
		topic("times", "How to say a point in time", times),
		topic("deviations", "Where kf serve differs from Apache Kafka 4.4", deviations),
		topic("migrate", "What to type instead of Kafka's scripts", migrate),
		topic("lag", "How kf groups measures, and the condition of --fail-if", lag),
		topic("connecting", "Reach a cluster: flags, contexts, projects, secrets", connecting),
		topic("environment", "Settings: variables, file, flags", environment),
	}
}

// newHelpCommand returns "kf help". cobra's own answers a mistyped name with
// exit code 0.
func newHelpCommand(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:   "help [command | topic]",
		Short: "Explain a command or a topic",
		Example: `  kf help exit-codes
  kf help completion bash`,
		// Help must not depend on sound settings.
		PersistentPreRunE: func(*cobra.Command, []string) error { return nil },
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			parent := find(root, args)
			if parent == nil {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			var all []string
			for _, c := range explained(parent) {
				all = append(all, cobra.CompletionWithDesc(c.Name(), c.Short))
			}
			return all, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			for i := range args {
				if find(root, args[:i+1]) != nil {
					continue
				}
				var known []string
				for _, c := range explained(find(root, args[:i])) {
					known = append(known, c.Name())
				}
				if near := cli.Nearest(args[i], known); near != "" {
					return cli.Usagef("no help for %q: did you mean %s?", strings.Join(args, " "), near)
				}
				return cli.Usagef("no help for %q (see 'kf help')", strings.Join(args, " "))
			}
			target := find(root, args)
			target.InitDefaultHelpFlag() // or --help would be missing from the flags
			target.InitDefaultVersionFlag()
			return target.Help()
		},
	}
}

// find returns the command or topic that the words name, nil if there is none.
func find(root *cobra.Command, words []string) *cobra.Command {
	at := root
	for _, word := range words {
		var next *cobra.Command
		for _, c := range at.Commands() {
			if c.Name() == word || c.HasAlias(word) {
				next = c
			}
		}
		if next == nil {
			return nil
		}
		at = next
	}
	return at
}

// explained returns the commands and topics below parent that there is help for.
func explained(parent *cobra.Command) []*cobra.Command {
	var all []*cobra.Command
	for _, c := range parent.Commands() {
		if c.IsAvailableCommand() || c.IsAdditionalHelpTopicCommand() {
			all = append(all, c)
		}
	}
	return all
}
