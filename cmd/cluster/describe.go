package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"kf/internal/cli"
	"kf/internal/client"
	"kf/internal/image"
	"kf/internal/online"
	"kf/internal/render"
)

// DescribeOptions are the inputs of "kf cluster describe".
type DescribeOptions struct {
	Output render.Format
}

func newDescribeCommand(env *cli.Env, conn *online.Connection) *cobra.Command {
	var opts DescribeOptions
	cmd := &cobra.Command{
		Use:   "describe",
		Short: "Show a cluster at a glance",
		Long: `Shows the id of a cluster, who leads it, how many brokers, topics and partitions it has,
and what is wrong with them: brokers that are fenced, partitions without a leader, those
with fewer replicas in sync than they have, and those that another broker leads than the
preferred one. It is one row, which a table shows upright.

What the brokers do not say, or may not say to you, is "-": the controller and the voters
(brokers before 3.3, or no right to describe the cluster), fenced brokers (before 4.0). Where
the controller could not be found out the exit code is 1, or 4 if time ran out.`,
		Example: `  kf cluster describe
  kf cluster describe -o json | jq -e '.rows[0] | .leaderless + .under_replicated == 0'`,
		Args:              cli.Args(cobra.NoArgs),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			return conn.Run(cmd, func(ctx context.Context, cl *client.Client) error {
				return Describe(ctx, env, cl, opts)
			})
		},
	}
	render.Flag(cmd, &opts.Output)
	return cmd
}

type clusterRow struct {
	ClusterID       string  `col:"cluster_id"`
	Controller      *int32  `col:"controller"`
	LeaderEpoch     *int32  `col:"leader_epoch"` // of the metadata quorum
	Voters          *int    `col:"voters"`
	Observers       *int    `col:"observers"`
	MetadataVersion *string `col:"metadata_version"` // "4.4-IV2"
	Brokers         int     `col:"brokers"`          // that are up
	Fenced          *int    `col:"fenced"`
	Racks           int     `col:"racks"`
	Topics          int     `col:"topics"`
	Internal        int     `col:"internal_topics"` // of the topics
	Partitions      int     `col:"partitions"`
	Replicas        int     `col:"replicas"`
	Leaderless      int     `col:"leaderless"`
	UnderReplicated int     `col:"under_replicated"`
	NotPreferred    int     `col:"not_preferred"`
}

// A describer is what Describe asks of the cluster.
type describer interface {
	nodeLister
	Topics(ctx context.Context, names []string) (*client.Cluster, error)
	ControllerOf(context.Context, *client.Nodes) (int32, *client.Quorum, error)
	NodeVersions(ctx context.Context, nodes []client.Node) []client.NodeVersions
}

// Describe prints one row.
func Describe(ctx context.Context, env *cli.Env, cl describer, opts DescribeOptions) error {
	nodes, err := cl.Nodes(ctx, true)
	if err != nil {
		return err
	}
	cluster, err := cl.Topics(ctx, nil)
	if err != nil {
		return err
	}
	row := clusterRow{ClusterID: nodes.ClusterID}
	row.nodes(nodes)
	row.topics(cluster.Topics)
	var unknown error // what could not be found out does not keep the rest from being shown
	switch controller, quorum, err := cl.ControllerOf(ctx, nodes); {
	case ctx.Err() != nil:
		return err
	case err != nil:
		unknown = fmt.Errorf("the controller is not known: %w", err)
	case quorum == nil:
		row.Controller = &controller
	default:
		row.quorum(quorum)
	}
	if i := slices.IndexFunc(nodes.Nodes, func(n client.Node) bool { return !n.Fenced }); i >= 0 {
		row.version(cl.NodeVersions(ctx, nodes.Nodes[i:i+1]))
	}
	rows := render.New[clusterRow](env.Stdout, opts.Output, render.Options{Command: "cluster describe", Color: env.ColorStdout(), Upright: true})
	if err := rows.Write(row); err != nil {
		return err
	}
	return errors.Join(rows.Close(), unknown)
}

func (r *clusterRow) nodes(nodes *client.Nodes) {
	racks := make(map[string]bool)
	fenced := 0
	for _, n := range nodes.Nodes {
		switch {
		case n.Fenced:
			fenced++
			continue
		case n.Rack != nil:
			racks[*n.Rack] = true
		}
		r.Brokers++
	}
	r.Racks = len(racks)
	if nodes.Fenced {
		r.Fenced = &fenced
	}
}

func (r *clusterRow) topics(topics []client.Topic) {
	r.Topics = len(topics)
	for _, t := range topics {
		if t.Internal {
			r.Internal++
		}
		r.Partitions += len(t.Partitions)
		for _, p := range t.Partitions {
			r.Replicas += len(p.Replicas)
			switch {
			case p.Leader < 0:
				r.Leaderless++
			case len(p.Replicas) > 0 && p.Leader != p.Replicas[0]:
				r.NotPreferred++
			}
			if len(p.ISR) < len(p.Replicas) {
				r.UnderReplicated++
			}
		}
	}
}

func (r *clusterRow) quorum(q *client.Quorum) {
	r.Controller, r.LeaderEpoch = &q.Leader, &q.Epoch
	voters := 0
	for _, n := range q.Replicas {
		if n.Voter() {
			voters++
		}
	}
	r.Voters, r.Observers = &voters, new(len(q.Replicas)-voters)
}

func (r *clusterRow) version(of []client.NodeVersions) {
	for _, v := range of {
		if level := v.Finalized[image.FeatureMetadataVersion]; level > 0 {
			r.MetadataVersion = new(image.MetadataVersion(level).String())
		}
	}
}
