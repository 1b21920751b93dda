package cmd

import (
	_ "embed"
	"io"

	"github.com/spf13/cobra"

	"kf/internal/cli"
)

//go:embed bash-fallback.txt
var bashFallback string

func newCompletionCommand(env *cli.Env) *cobra.Command {
	shell := func(name, install string, generate func(root *cobra.Command) error) *cobra.Command {
		return &cobra.Command{
			Use:               name,
			Short:             "Print the completion script for " + name,
			Long:              "Print the script that completes the commands, flags and arguments of kf in " + name + ".\n\n" + install,
			Example:           "  kf completion " + name,
			Args:              cli.Args(cobra.NoArgs),
			ValidArgsFunction: cobra.NoFileCompletions,
			RunE:              func(cmd *cobra.Command, _ []string) error { return generate(cmd.Root()) },
		}
	}
	parent := cli.Group(&cobra.Command{
		Use:     "completion",
		Short:   "Print a completion script for your shell",
		Example: "  kf completion bash > ~/.local/share/bash-completion/completions/kf",
		// Scripts are made where no settings are, or broken ones.
		PersistentPreRunE: func(*cobra.Command, []string) error { return nil },
	},
		shell("bash", `For every new shell; it works best with the package bash-completion:

    kf completion bash > ~/.local/share/bash-completion/completions/kf

For this shell only:

    source <(kf completion bash)`,
			func(root *cobra.Command) error {
				if err := root.GenBashCompletionV2(env.Stdout, true); err != nil {
					return err
				}
				_, err := io.WriteString(env.Stdout, bashFallback)
				return err
			}),
		shell("zsh", `For every new shell, in a folder that fpath names:

    kf completion zsh > "${fpath[1]}/_kf"

compinit must run in ~/.zshrc:

    autoload -U compinit; compinit

For this shell only:

    source <(kf completion zsh)`,
			func(root *cobra.Command) error { return root.GenZshCompletion(env.Stdout) }),
		shell("fish", `For every new shell:

    kf completion fish > ~/.config/fish/completions/kf.fish

For this shell only:

    kf completion fish | source`,
			func(root *cobra.Command) error { return root.GenFishCompletion(env.Stdout, true) }),
		shell("powershell", `For every new shell, write the script to a file and load that in $PROFILE:

    kf completion powershell > kf.ps1

For this shell only:

    kf completion powershell | Out-String | Invoke-Expression`,
			func(root *cobra.Command) error { return root.GenPowerShellCompletionWithDesc(env.Stdout) }),
	)
	return parent
}
