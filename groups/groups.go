// Package groups holds the commands "kf groups …".
package groups

import (
	"github.com/spf13/cobra"

	"kf/internal/cli"
	"kf/internal/online"
)

// NewCommand returns "kf groups".
func NewCommand(env *cli.Env) *cobra.Command {
	parent := &cobra.Command{
		Use:   "groups",
		Short: "List and describe groups, show their lag, reset their offsets, delete them",
		Example: `  kf groups list -b broker1:9092
  kf groups describe order-fulfillment
  kf groups lag order-fulfillment
  kf groups members order-fulfillment
  kf groups reset billing --topic invoices --to-time -2h`,
	}
	conn := online.Connect(env, parent)
	children := []*cobra.Command{
		newDescribeCommand(env, conn),
		newMembersCommand(env, conn),
		newLagCommand(env, conn),
		newDeleteCommand(env, conn),
		newDeleteOffsetsCommand(env, conn),
		newPeekCommand(env, conn),
		newResetCommand(env, conn),
	}
	for _, child := range children {
		groupFlag(child)
	}
	return cli.Group(parent, append(children, newListCommand(env, conn))...)
}
