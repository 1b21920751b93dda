// Package topics holds the commands "kf topics …".
package topics

import (
	"github.com/spf13/cobra"

	"kf/internal/cli"
	"kf/internal/online"
)

// NewCommand returns "kf topics".
func NewCommand(env *cli.Env) *cobra.Command {
	parent := &cobra.Command{
		Use:     "topics",
		Short:   "List, describe, create, change and delete topics",
		Example: "  kf topics list -b broker1:9092\n  kf topics list -o jsonl | jq -r .topic",
	}
	conn := online.Connect(env, parent)
	return cli.Group(parent,
		newListCommand(env, conn),
	)
}
