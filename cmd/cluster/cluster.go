// Package cluster holds the commands "kf cluster …", about a cluster as a whole.
package cluster

import (
	"context"

	"github.com/spf13/cobra"

	"kf/internal/cli"
	"kf/internal/client"
	"kf/internal/online"
)

// NewCommand returns "kf cluster".
func NewCommand(env *cli.Env) *cobra.Command {
	parent := &cobra.Command{
		Use:   "cluster",
		Short: "Show a cluster at a glance, its id and endpoints, and unregister brokers",
		Example: `  kf cluster describe -b broker1:9092
  kf cluster id
  kf cluster endpoints --include-fenced
  kf cluster unregister 3`,
	}
	conn := online.Connect(env, parent)
	return cli.Group(parent,
		newDescribeCommand(env, conn),
		newIDCommand(env, conn),
		newEndpointsCommand(env, conn),
		newUnregisterCommand(env, conn),
	)
}

// A nodeLister lists the nodes of a cluster.
type nodeLister interface {
	Nodes(ctx context.Context, fenced bool) (*client.Nodes, error)
}
