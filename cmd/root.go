// Package cmd is the command tree of kf, its signals and its exit code.
package cmd

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"kf/cmd/acls"
	"kf/cmd/brokers"
	"kf/cmd/cluster"
	"kf/cmd/configs"
	contextcmd "kf/cmd/context"
	"kf/dump"
	"kf/groups"
	"kf/internal/cli"
	"kf/internal/config"
	"kf/topics"
)

// Main runs kf with these arguments, without the program's name, and returns
// the exit code of the process. SIGINT and SIGTERM end the context of the
// command; a second one ends the process at once.
func Main(env *cli.Env, args []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)

	// Without this a write to a closed pipe kills the process before it could
	// clean up; with it the write fails with cli.ErrPipe. Not signal.Ignore,
	// which the programs that kf starts would inherit.
	pipe := make(chan os.Signal, 1)
	signal.Notify(pipe, syscall.SIGPIPE)
	defer signal.Stop(pipe)

	root := NewRoot(env)
	root.SetArgs(dump.NormalizeArgs(root, args))
	return env.Exit(root.ExecuteContext(ctx))
}

// NewRoot returns "kf" with all its commands. Flags set the color and the
// quietness of env.
func NewRoot(env *cli.Env) *cobra.Command {
	var configPath string
	root := cli.Group(&cobra.Command{
		Use:   "kf",
		Short: "Read and serve Apache Kafka data directories, and administer clusters",
		Long: `kf decodes the files of Apache Kafka data directories, without a broker and
without a JVM, and never changes a byte of what it inspects. "kf serve" is a broker
that writes such directories itself. Other commands administer any Kafka cluster.

Rows go to standard output, everything else to standard error.`,
		Version:           env.Build.Version,
		SilenceErrors:     true, // env.Exit prints them
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true}, // ours is in completion.go
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			return prepare(cmd, env, configPath)
		},
	})
	root.SetIn(env.Stdin)
	root.SetOut(env.Stdout)
	root.SetErr(env.Stderr)
	root.SetFlagErrorFunc(cli.FlagError)
	root.SetUsageTemplate(usageTemplate)

	flags := root.PersistentFlags()
	flags.StringVar(&configPath, "config", "", "read settings from `file` (default: $KF_CONFIG, or kf/config.yaml in your configuration folder)")
	flags.Var(&env.Color, "color", "colour the output: auto, always or never")
	flags.BoolVarP(&env.Quiet, "quiet", "q", false, "show no progress and no notes; warnings and errors stay")
	// These fail only for a flag that is not there.
	_ = root.MarkPersistentFlagFilename("config", "yaml", "yml")
	_ = root.RegisterFlagCompletionFunc("color", cli.Complete(cli.ColorModes...))

	addGroup(root, "offline", "Offline, on the files of a data directory:", dump.NewCommand(env), dump.NewLogCommand(env))
	addGroup(root, "broker", "Broker:", newServeCommand(env))
	addGroup(root, "online", "Online, on any Kafka cluster:", topics.NewCommand(env), configs.NewCommand(env), groups.NewCommand(env),
		brokers.NewCommand(env), cluster.NewCommand(env), acls.NewCommand(env))
	help := newHelpCommand(root)
	addGroup(root, "around", "Around:", contextcmd.NewCommand(env), contextcmd.NewConfigCommand(env), newCompletionCommand(env), help, newVersionCommand(env))
	root.SetHelpCommand(help)
	root.AddCommand(helpTopics()...)
	return root
}

// addGroup adds commands under a heading of the help; a heading without
// commands is not shown.
func addGroup(root *cobra.Command, id, title string, commands ...*cobra.Command) {
	if len(commands) == 0 {
		return
	}
	root.AddGroup(&cobra.Group{ID: id, Title: title})
	for _, c := range commands {
		c.GroupID = id
	}
	root.AddCommand(commands...)
}

// prepare runs before every command: it reads the settings and gives them to
// the flags that were not given.
func prepare(cmd *cobra.Command, env *cli.Env, configPath string) error {
	switch {
	case cmd.Name() == cobra.ShellCompRequestCmd, cmd.Name() == cobra.ShellCompNoDescRequestCmd:
		return nil // pressing Tab must work with broken settings, and must not complain
	case !cmd.HasParent():
		return nil // it only prints help
	}
	// cobra checks these later too, but its errors would not be usage errors.
	if err := cmd.ValidateRequiredFlags(); err != nil {
		return cli.Usagef("%s: %w", cmd.CommandPath(), err)
	}
	if err := cmd.ValidateFlagGroups(); err != nil {
		return cli.Usagef("%s: %w", cmd.CommandPath(), err)
	}
	settings, err := config.Load(config.Inputs{Path: configPath, Getenv: env.Getenv})
	if err != nil {
		return cli.Usage(err)
	}
	return cli.Usage(settings.Apply(cmd.Flags()))
}
