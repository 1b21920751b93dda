package groups

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"

	"kf/internal/cli"
	"kf/internal/client"
	"kf/internal/online"
	"kf/internal/render"
)

// DeleteOffsetsOptions are the inputs of "kf groups delete-offsets".
type DeleteOffsetsOptions struct {
	Group    string
	Topics   []string // "topic", or "topic:0,1" for some of its partitions
	IfExists bool
	DryRun   bool
	Output   render.Format
}

func newDeleteOffsetsCommand(env *cli.Env, conn *online.Connection) *cobra.Command {
	var opts DeleteOffsetsOptions
	cmd := &cobra.Command{
		Use:   "delete-offsets <group> --topic <topic>[:<partition>,...]",
		Short: "Delete what a group has committed for topics or partitions",
		Long: `Delete what a group has committed for topics, or for some partitions of them: its
consumers start there again where their auto.offset.reset says. It is refused while
members subscribe to the topic. It asks before it deletes, or needs --yes.

Of a share group a topic is deleted as a whole.`,
		Example: `  kf groups delete-offsets billing --topic invoices --dry-run
  kf groups delete-offsets billing --topic invoices:0,3 --topic refunds --yes`,
		Args: cli.Args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.Group = args[0]
			if _, err := opts.Validate(); err != nil {
				return err
			}
			return conn.Watch(cmd, func(ctx context.Context, cl *client.Client) error {
				return DeleteOffsets(ctx, env, cl, func(c online.Change) error { return conn.Allow(cl, c) }, opts)
			})
		},
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&opts.Topics, "topic", nil, "delete what was committed for this `topic`, or topic:0,1 for these partitions; may be repeated")
	flags.BoolVar(&opts.IfExists, "if-exists", false, "it is no error if nothing was committed")
	flags.BoolVar(&opts.DryRun, "dry-run", false, "show what would be deleted, and change nothing")
	conn.YesFlag(cmd)
	render.Flag(cmd, &opts.Output)
	cmd.ValidArgsFunction = conn.Complete(0, online.Groups)
	// This fails only for a flag that is not there.
	_ = cmd.RegisterFlagCompletionFunc("topic", conn.Complete(-1, online.Topics))
	return cmd
}

// Validate returns the partitions of each topic, nil for all, or an error of wrong
// usage.
func (o *DeleteOffsetsOptions) Validate() (map[string][]int32, error) {
	if o.Group == "" {
		return nil, cli.Usagef("the id of the group is empty")
	}
	if len(o.Topics) == 0 {
		return nil, cli.Usagef("of which topics? Give --topic, once for each; 'kf groups delete' deletes all")
	}
	return parseScope(o.Topics)
}

// An offsetDeleter is what DeleteOffsets asks of the cluster, and does to it.
type offsetDeleter interface {
	Deadline(context.Context) (context.Context, context.CancelFunc)
	DescribeGroupsByID(ctx context.Context, ids []string) []client.Group
	Commits(ctx context.Context, ids []string) map[string]client.GroupCommits
	ShareOffsets(ctx context.Context, ids []string) map[string]client.ShareOffsets
	DeleteOffsets(ctx context.Context, group string, of kadm.TopicsSet) (kadm.DeleteOffsetsResponses, error)
	DeleteShareGroupOffsets(ctx context.Context, group string, topics ...string) (kadm.DeleteShareGroupOffsetsResponses, error)
}

type deletedOffsetRow struct {
	Group         string `col:"group"`
	Topic         string `col:"topic"`
	Partition     int32  `col:"partition"`
	CurrentOffset *int64 `col:"current_offset"`
	Result        string `col:"result"` // "deleted", or "would_delete" in a dry run
}

// DeleteOffsets deletes commits of a group and prints a row for each that it deleted,
// or would. Allow says whether it may.
func DeleteOffsets(ctx context.Context, env *cli.Env, cl offsetDeleter, allow func(online.Change) error, opts DeleteOffsetsOptions) error {
	topics, err := opts.Validate()
	if err != nil {
		return err
	}
	group, doomed, errs := commitsToDelete(ctx, cl, opts, topics)
	if len(doomed) == 0 {
		if len(errs) == 0 {
			env.Notef("nothing to delete")
		}
		return errors.Join(errs...)
	}
	rows := render.New[deletedOffsetRow](env.Stdout, opts.Output, render.Options{Command: "groups delete-offsets", Color: env.ColorStdout()})
	failed := make(map[string]map[int32]error)
	result := "would_delete"
	if !opts.DryRun {
		result = "deleted"
		var names []string
		for _, p := range doomed {
			names = append(names, fmt.Sprintf("%s-%d", p.Topic, p.Partition))
		}
		if err := allow(online.Change{What: fmt.Sprintf("delete the committed offsets of group %s for %s", opts.Group, few("partition", names)), Destroy: true}); err != nil {
			return errors.Join(append(errs, err)...)
		}
		if failed, err = deleteCommits(ctx, cl, group, doomed); err != nil {
			return errors.Join(append(errs, groupError(group.ID, err))...)
		}
	}
	for _, row := range doomed {
		if err := failed[row.Topic][row.Partition]; err != nil {
			errs = append(errs, groupError(group.ID, fmt.Errorf("%s-%d: %w", row.Topic, row.Partition, err)))
			continue
		}
		row.Result = result
		if err := rows.Write(row); err != nil {
			return err
		}
	}
	return errors.Join(append(errs, rows.Close())...)
}

// commitsToDelete returns the commits that can be deleted, by topic and partition,
// and why others cannot.
func commitsToDelete(ctx context.Context, cl offsetDeleter, opts DeleteOffsetsOptions, topics map[string][]int32) (group client.Group, doomed []deletedOffsetRow, errs []error) {
	ctx, cancel := cl.Deadline(ctx)
	defer cancel()
	ids := []string{opts.Group}
	group = cl.DescribeGroupsByID(ctx, ids)[0]
	committed := make(map[string]map[int32]int64)
	err := group.Err
	if err == nil && group.Type == client.ShareGroup {
		share := cl.ShareOffsets(ctx, ids)[opts.Group]
		err = share.Err
		for topic, of := range share.Of {
			committed[topic] = make(map[int32]int64)
			for partition, s := range of {
				committed[topic][partition] = s.Start
			}
		}
	} else if err == nil {
		commits := cl.Commits(ctx, ids)[opts.Group]
		err = commits.Err
		for topic, of := range commits.Of {
			committed[topic] = make(map[int32]int64)
			for partition, c := range of {
				committed[topic][partition] = c.Offset
			}
		}
	}
	switch {
	case errors.Is(err, client.ErrNoGroup) && opts.IfExists:
		return group, nil, nil
	case err != nil:
		return group, nil, []error{groupError(opts.Group, err)}
	}
	subscribed := group.Subscribed()
	for _, topic := range slices.Sorted(maps.Keys(topics)) {
		partitions := topics[topic]
		switch {
		case group.Active() && (group.Type == client.ShareGroup || slices.Contains(subscribed, topic)):
			errs = append(errs, groupError(group.ID, fmt.Errorf("the committed offsets for %s stay, as it has %s: stop them first", topic, few("member", memberNames(&group)))))
			continue
		case group.Type == client.ShareGroup && len(partitions) > 0:
			errs = append(errs, cli.Usagef("group %s is a share group: a topic is deleted as a whole, so give --topic %s", group.ID, topic))
			continue
		case len(partitions) == 0:
			partitions = slices.Collect(maps.Keys(committed[topic]))
		}
		if len(partitions) == 0 && !opts.IfExists {
			errs = append(errs, groupError(group.ID, fmt.Errorf("nothing is committed for %s", topic)))
		}
		slices.Sort(partitions)
		for _, partition := range slices.Compact(partitions) {
			offset, ok := committed[topic][partition]
			switch {
			case ok:
				doomed = append(doomed, deletedOffsetRow{Group: group.ID, Topic: topic, Partition: partition, CurrentOffset: number(offset)})
			case !opts.IfExists:
				errs = append(errs, groupError(group.ID, fmt.Errorf("nothing is committed for %s-%d", topic, partition)))
			}
		}
	}
	return group, doomed, errs
}

// deleteCommits deletes commits and returns those that were not, with the reason.
func deleteCommits(ctx context.Context, cl offsetDeleter, group client.Group, doomed []deletedOffsetRow) (failed map[string]map[int32]error, err error) {
	ctx, cancel := cl.Deadline(ctx)
	defer cancel()
	set := make(kadm.TopicsSet)
	for _, p := range doomed {
		set.Add(p.Topic, p.Partition)
	}
	if group.Type != client.ShareGroup {
		deleted, err := cl.DeleteOffsets(ctx, group.ID, set)
		return deleted, err
	}
	deleted, err := cl.DeleteShareGroupOffsets(ctx, group.ID, slices.Collect(maps.Keys(set))...)
	failed = make(map[string]map[int32]error)
	for topic, err := range deleted {
		failed[topic] = make(map[int32]error)
		for partition := range set[topic] {
			failed[topic][partition] = err
		}
	}
	return failed, err
}
