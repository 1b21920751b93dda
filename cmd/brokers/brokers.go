// Package brokers holds the commands "kf brokers …": the nodes of a cluster, their
// disks, the metadata quorum and the features.
package brokers

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"kf/internal/cli"
	"kf/internal/client"
	"kf/internal/online"
)

// NewCommand returns "kf brokers".
func NewCommand(env *cli.Env) *cobra.Command {
	parent := &cobra.Command{
		Use:   "brokers",
		Short: "Show brokers, their disks, the metadata quorum and features",
		Example: `  kf brokers list -b broker1:9092
  kf brokers describe 1 --api-versions
  kf brokers logdirs --topic orders --partitions
  kf brokers quorum
  kf brokers features upgrade --release-version 4.4 --dry-run`,
	}
	conn := online.Connect(env, parent)
	return cli.Group(parent,
		newListCommand(env, conn),
		newDescribeCommand(env, conn),
		newLogDirsCommand(env, conn),
		newQuorumCommand(env, conn),
		newFeaturesCommand(env, conn),
	)
}

// A nodeLister lists the nodes of a cluster.
type nodeLister interface {
	Nodes(ctx context.Context, fenced bool) (*client.Nodes, error)
}

// listIDs lists the ids of brokers, for completion.
func listIDs(ctx context.Context, cl *client.Client) ([]string, error) {
	nodes, err := cl.Nodes(ctx, false)
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, n := range nodes.Nodes {
		ids = append(ids, strconv.Itoa(int(n.ID)))
	}
	return ids, nil
}

// parseIDs reads node ids, each word one or several with commas between.
func parseIDs(words []string) ([]int32, error) {
	var ids []int32
	for _, word := range words {
		for s := range strings.SplitSeq(word, ",") {
			id, err := strconv.ParseInt(strings.TrimSpace(s), 10, 32)
			if err != nil || id < 0 {
				return nil, fmt.Errorf("%q is no broker id", s)
			}
			if !slices.Contains(ids, int32(id)) {
				ids = append(ids, int32(id))
			}
		}
	}
	return ids, nil
}

// choose returns the nodes with these ids, all if there are none. Those that the
// cluster does not have are told, and missing is set.
func choose(env *cli.Env, all []client.Node, ids []int32) (chosen []client.Node, missing bool) {
	if len(ids) == 0 {
		return all, false
	}
	var known []string
	for _, n := range all {
		known = append(known, strconv.Itoa(int(n.ID)))
	}
	for _, id := range ids {
		i := slices.IndexFunc(all, func(n client.Node) bool { return n.ID == id })
		if i < 0 {
			env.Errorf("there is no broker %d; there are %s", id, strings.Join(known, ", "))
			missing = true
			continue
		}
		chosen = append(chosen, all[i])
	}
	return chosen, missing
}

// state says in a word whether a node is in use.
func state(n client.Node) string {
	if n.Fenced {
		return "fenced"
	}
	return "up"
}
