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
		Use:   "topics",
		Short: "List, describe, create, change, trim and delete topics",
		Example: `  kf topics list -b broker1:9092
  kf topics describe orders
  kf topics create orders --partitions 6 --replication-factor 3
  kf topics offsets orders --time -1h`,
	}
	conn := online.Connect(env, parent)
	return cli.Group(parent,
		newListCommand(env, conn),
		newDescribeCommand(env, conn),
		newCreateCommand(env, conn),
		newAlterCommand(env, conn),
		newDeleteCommand(env, conn),
		newOffsetsCommand(env, conn),
		newTrimCommand(env, conn),
	)
}
