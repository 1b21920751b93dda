package topics

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"kf/internal/cli"
	"kf/internal/client"
	"kf/internal/online"
	"kf/internal/render"
	"kf/internal/wire"
)

// DeleteOptions are the inputs of "kf topics delete".
type DeleteOptions struct {
	Selection
	IfExists bool
	DryRun   bool
	NoWait   bool
	Output   render.Format
}

func newDeleteCommand(env *cli.Env, conn *online.Connection) *cobra.Command {
	var opts DeleteOptions
	cmd := &cobra.Command{
		Use:   "delete <topic>...",
		Short: "Delete topics with their records",
		Long: `Deletes topics with all their records, which nothing brings back, and returns when no
broker lists them any more. It asks first, or wants --yes; --dry-run prints what would
go. One topic that cannot be deleted does not keep the others from it; the exit code is
1 then.

A word is the name of a topic: patterns need --regex, and must match the whole name.
Topics that Kafka keeps for itself are deleted with --internal only.

TOTAL-SIZE is in bytes, of all replicas, "-" if a broker that has one did not answer.`,
		Example: `  kf topics delete orders --dry-run
  kf topics delete orders audit --yes
  kf topics delete --regex 'test-.*' --if-exists --yes`,
		Args:              cli.Args(cobra.ArbitraryArgs),
		ValidArgsFunction: conn.Complete(-1, online.Topics),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := opts.take(args, true); err != nil {
				return err
			}
			return conn.Run(cmd, func(ctx context.Context, cl *client.Client) error {
				return Delete(ctx, env, cl, opts, func(what string) error {
					return conn.Allow(cl, online.Change{What: what, Destroy: true})
				})
			})
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&opts.IfExists, "if-exists", false, "a topic that there is not is no failure")
	flags.BoolVar(&opts.DryRun, "dry-run", false, "only print what would be deleted")
	flags.BoolVar(&opts.NoWait, "no-wait", false, "do not wait until no broker lists the topics")
	opts.flags(cmd)
	conn.YesFlag(cmd)
	render.Flag(cmd, &opts.Output)
	return cmd
}

type deleteRow struct {
	Topic       string     `col:"topic"`
	ID          *wire.UUID `col:"topic_id,data"`
	Partitions  int        `col:"partitions"`
	Replication int        `col:"replication_factor"`
	Total       *int64     `col:"total_size"` // bytes of all replicas
	Result      string     `col:"result"`     // deleted, would_delete
}

// A deleter is what Delete asks of the cluster.
type deleter interface {
	topicSource
	dirSource
	RemoveTopics(ctx context.Context, names []string) (map[string]error, error)
	AwaitTopics(ctx context.Context, names []string, ready func([]client.Topic) bool) error
}

// Delete deletes topics and prints a row for each that is gone, or would be. Before,
// it asks allow.
func Delete(ctx context.Context, env *cli.Env, cl deleter, opts DeleteOptions, allow func(what string) error) error {
	m, err := opts.matcher()
	if err != nil {
		return err
	}
	if err := opts.strict(m); err != nil {
		return err
	}
	cluster, failed, err := m.choose(ctx, cl)
	if err != nil {
		return err
	}
	report := failures{env: env}
	report.topics(failed, opts.IfExists)
	if !opts.Internal {
		var mine []client.Topic
		for _, t := range cluster.Topics {
			if t.Internal {
				report.add("topic %s: Kafka keeps this topic for itself, and loses what it knows of groups or transactions without it: to delete it nevertheless, give --internal", t.Name)
			} else {
				mine = append(mine, t)
			}
		}
		cluster.Topics = mine
	}
	if len(cluster.Topics) == 0 {
		m.none(&report, opts.IfExists)
		return report.end()
	}
	found, err := askSizes(ctx, cl, cluster, false)
	if err != nil {
		for _, err := range each(err) {
			env.Warnf("bytes are not known of all topics: %v", err)
		}
	}
	if !opts.DryRun {
		if err := allow("delete " + weigh(cluster.Topics, found)); err != nil {
			return err
		}
	}
	var answer map[string]error
	var gone []string
	if !opts.DryRun {
		if answer, err = cl.RemoveTopics(ctx, names(cluster.Topics)); err != nil {
			return err
		}
	}
	rows := render.New[deleteRow](env.Stdout, opts.Output, render.Options{Command: "topics delete", Color: env.ColorStdout()})
	for _, t := range cluster.Topics {
		if err := answer[t.Name]; err != nil {
			report.topic(t.Name, err)
			continue
		}
		_, bytes := found.of(t.Name, t.Partitions...)
		row := deleteRow{t.Name, topicID(t.ID), len(t.Partitions), t.Replicas(), bytes, "would_delete"}
		if !opts.DryRun {
			row.Result = "deleted"
			gone = append(gone, t.Name)
		}
		if err := rows.Write(row); err != nil {
			return err
		}
	}
	err = rows.Close()
	if !opts.NoWait {
		late := cl.AwaitTopics(ctx, gone, func(ts []client.Topic) bool {
			for _, t := range ts {
				if t.Err == nil && same(cluster.Topics, t) {
					return false
				}
			}
			return true
		})
		if late != nil {
			err = errors.Join(err, fmt.Errorf("deleted, but some broker still lists it: %w", late))
		}
	}
	return errors.Join(err, report.end())
}

// same reports whether t is one of the topics, and not one that somebody made under
// its name meanwhile.
func same(topics []client.Topic, t client.Topic) bool {
	for _, old := range topics {
		if old.Name == t.Name {
			return old.ID == t.ID
		}
	}
	return false
}

// none tells that a selection found nothing, where that is a failure.
func (m *matcher) none(report *failures, ifExists bool) {
	if m.patterns() && !ifExists {
		report.add("no topic matches: 'kf topics list' shows all")
	}
}

func names(topics []client.Topic) []string {
	var all []string
	for _, t := range topics {
		all = append(all, t.Name)
	}
	return all
}

// weigh says how much topics are.
func weigh(topics []client.Topic, found sizes) string {
	partitions, bytes, known := 0, int64(0), true
	for _, t := range topics {
		partitions += len(t.Partitions)
		if _, all := found.of(t.Name, t.Partitions...); all != nil {
			bytes += *all
		} else {
			known = false
		}
	}
	text := count(len(topics), "topic", names(topics)) + ": " + count(partitions, "partition", nil)
	if known {
		text += ", " + cli.Bytes(bytes) + " in all replicas"
	}
	return text
}
