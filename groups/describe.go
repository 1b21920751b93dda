package groups

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"kf/internal/cli"
	"kf/internal/client"
	"kf/internal/online"
	"kf/internal/render"
)

// DescribeOptions are the inputs of "kf groups describe".
type DescribeOptions struct {
	Groups  Selection
	Topics  []string // only these
	Members bool     // print members, …
	State   bool     // … or the state of the groups, not partitions
	Verbose bool
	Output  render.Format
}

func newDescribeCommand(env *cli.Env, conn *online.Connection) *cobra.Command {
	var opts DescribeOptions
	cmd := &cobra.Command{
		Use:   "describe [<group>...]",
		Short: "Show how far groups are, their members, or their state",
		Long: `Show how far groups are: a row for each partition that a group has committed, owns or
subscribes to by name.

LAG is LOG-END-OFFSET less CURRENT-OFFSET; "-" stands for what is not known, such as
the CURRENT-OFFSET where nothing was committed. Of a share group CURRENT-OFFSET is
the first record that may still be delivered, and LAG what its coordinator says.

--members shows who is in the group and what each member reads, --state the
coordinator and the state of the group. --verbose shows all columns that -o json has.`,
		Example: `  kf groups describe order-fulfillment
  kf groups describe --all-groups -o csv
  kf groups describe order-fulfillment --members --verbose
  kf groups describe --regex 'billing-.*' --topic invoices`,
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.Groups.IDs = args
			if err := opts.Validate(); err != nil {
				return err
			}
			return conn.Run(cmd, func(ctx context.Context, cl *client.Client) error {
				return Describe(ctx, env, cl, opts)
			})
		},
	}
	opts.Groups.flags(cmd, conn)
	flags := cmd.Flags()
	flags.StringSliceVar(&opts.Topics, "topic", nil, "only partitions of these `topics`")
	flags.BoolVar(&opts.Members, "members", false, "show the members, not the partitions")
	flags.BoolVar(&opts.State, "state", false, "show the state of the groups, not the partitions")
	flags.BoolVar(&opts.Verbose, "verbose", false, "show more columns")
	cmd.MarkFlagsMutuallyExclusive("members", "state")
	cmd.MarkFlagsMutuallyExclusive("topic", "members")
	cmd.MarkFlagsMutuallyExclusive("topic", "state")
	// This fails only for a flag that is not there.
	_ = cmd.RegisterFlagCompletionFunc("topic", conn.Complete(-1, online.Topics))
	render.Flag(cmd, &opts.Output)
	return cmd
}

// Validate returns an error of wrong usage.
func (o *DescribeOptions) Validate() error {
	if slices.Contains(o.Topics, "") {
		return cli.Usagef("--topic: the name is empty")
	}
	return o.Groups.Validate()
}

// A describer is what Describe asks of the cluster.
type describer interface {
	lister
	asker
}

// batch is how many groups are asked for at a time: their partitions are in memory.
const batch = 1000

// Describe prints a row for each partition, member or group, by group. What could not
// be told comes as an error after the rows.
func Describe(ctx context.Context, env *cli.Env, cl describer, opts DescribeOptions) error {
	ids, err := opts.Groups.resolve(ctx, cl)
	if err != nil && len(ids) == 0 {
		return err
	}
	errs := []error{err}
	view := newView(env, opts)
	notes := &notes{env: env, many: len(ids) > manyGroups}
	told := false
	for some := range slices.Chunk(ids, batch) {
		groups := cl.DescribeGroupsByID(ctx, some)
		for i := range groups {
			notes.add(&groups[i])
		}
		standings := make([]standing, 0, len(groups))
		if view.offsets {
			standings = measure(ctx, cl, groups, opts.Topics, false)
		} else {
			for i := range groups {
				standings = append(standings, standing{Group: &groups[i], err: groups[i].Err})
			}
		}
		for _, s := range standings {
			if s.err != nil {
				errs = append(errs, groupError(s.ID, s.err))
				continue
			}
			told = true
			if err := view.write(s); err != nil {
				return err
			}
			errs = append(errs, doubts(env, s)...)
		}
	}
	notes.close()
	if !told && opts.Output == render.Table {
		return errors.Join(errs...) // no headings over nothing
	}
	return errors.Join(append(errs, view.close())...)
}

// notes say on stderr what the states of groups mean for their rows. Of many groups
// those without members are counted, not named.
type notes struct {
	env   *cli.Env
	many  bool
	empty int
}

// manyGroups is how many groups are named one by one.
const manyGroups = 10

func (n *notes) add(g *client.Group) {
	switch {
	case g.Err != nil:
	case g.State == "Empty" && n.many:
		n.empty++
	case g.State == "Empty":
		n.env.Notef("group %s has no active members", g.ID)
	case g.State == "NotReady":
		n.env.Notef("group %s is not ready: topics that it reads or writes are missing", g.ID)
	case slices.Contains([]string{"PreparingRebalance", "CompletingRebalance", "Assigning", "Reconciling"}, g.State):
		n.env.Notef("group %s is rebalancing (%s): who reads what will change", g.ID, g.State)
	}
}

// close says what was counted.
func (n *notes) close() {
	if n.empty > 0 {
		n.env.Notef("%d groups have no active members", n.empty)
	}
}

// doubts returns the reasons for what is not known of partitions, each once with the
// partitions that it is about, and warns of commits behind the end of the log.
func doubts(env *cli.Env, s standing) []error {
	about := make(map[string][]*position)
	var ahead []*position
	for i := range s.positions {
		p := &s.positions[i]
		switch {
		case p.err != nil:
			about[p.err.Error()] = append(about[p.err.Error()], p)
		case p.lagKnown && p.lag < 0:
			ahead = append(ahead, p)
		}
	}
	if len(ahead) > 0 {
		p := ahead[0]
		env.Warnf("group %s: %s: the committed offset %d is %d ahead of the log end offset: was the topic made anew, or mirrored?", s.ID, and(ahead), p.commit, -p.lag)
	}
	var errs []error
	for _, reason := range slices.SortedFunc(maps.Keys(about), func(a, b string) int {
		return cmp.Or(cmp.Compare(about[a][0].name(), about[b][0].name()), cmp.Compare(a, b))
	}) {
		errs = append(errs, fmt.Errorf("group %s: %s: %w", s.ID, and(about[reason]), about[reason][0].err))
	}
	return errs
}

// and names the first partition, and how many more there are.
func and(positions []*position) string {
	if n := len(positions); n > 1 {
		return fmt.Sprintf("%s and %d more", positions[0].name(), n-1)
	}
	return positions[0].name()
}

// A view prints groups in one of the ways of "kf groups describe".
type view struct {
	offsets bool // the positions of groups are needed
	write   func(standing) error
	close   func() error
}

func newView(env *cli.Env, opts DescribeOptions) view {
	ropts := render.Options{Command: "groups describe", Color: env.ColorStdout()}
	full := opts.Verbose || opts.Output != render.Table
	switch {
	case opts.State:
		return stateView(env, opts.Output, ropts, full)
	case opts.Members:
		return memberView(env, opts.Output, ropts, full)
	case full:
		return offsetView(env, opts.Output, ropts, func(r fullOffsetRow) fullOffsetRow { return r })
	}
	return offsetView(env, opts.Output, ropts, func(r fullOffsetRow) offsetRow {
		return offsetRow{r.Group, r.Topic, r.Partition, r.CurrentOffset, r.LogEndOffset, r.Lag, r.ConsumerID, r.Host, r.ClientID}
	})
}

// rowView prints the rows that rows makes of a group, as T.
func rowView[F, T any](env *cli.Env, f render.Format, opts render.Options, offsets bool, rows func(standing) []F, as func(F) T) view {
	out := render.New[T](env.Stdout, f, opts)
	return view{
		offsets: offsets,
		write: func(s standing) error {
			for _, row := range rows(s) {
				if err := out.Write(as(row)); err != nil {
					return err
				}
			}
			return nil
		},
		close: out.Close,
	}
}

// An offsetRow has the columns that people know.
type offsetRow struct {
	Group         string  `col:"group"`
	Topic         string  `col:"topic"`
	Partition     int32   `col:"partition"`
	CurrentOffset *int64  `col:"current_offset"`
	LogEndOffset  *int64  `col:"log_end_offset"`
	Lag           *int64  `col:"lag"`
	ConsumerID    *string `col:"consumer_id"`
	Host          *string `col:"host"`
	ClientID      *string `col:"client_id"`
}

// A fullOffsetRow has all columns.
type fullOffsetRow struct {
	Group         string  `col:"group"`
	Topic         string  `col:"topic"`
	Partition     int32   `col:"partition"`
	LeaderEpoch   *int32  `col:"leader_epoch"` // of the commit
	CurrentOffset *int64  `col:"current_offset"`
	LogEndOffset  *int64  `col:"log_end_offset"`
	Lag           *int64  `col:"lag"`
	ConsumerID    *string `col:"consumer_id"` // null also if several members read the partition
	InstanceID    *string `col:"group_instance_id"`
	Host          *string `col:"host"`
	ClientID      *string `col:"client_id"`
	Owners        int     `col:"owners"` // members that read the partition
	Type          string  `col:"type"`
	Metadata      *string `col:"metadata"` // of the commit
	Error         error   `col:"error"`
}

func offsetView[T any](env *cli.Env, f render.Format, opts render.Options, as func(fullOffsetRow) T) view {
	return rowView(env, f, opts, true, func(s standing) []fullOffsetRow {
		rows := make([]fullOffsetRow, 0, len(s.positions))
		for i := range s.positions {
			p := &s.positions[i]
			row := fullOffsetRow{
				Group: s.ID, Topic: p.topic, Partition: p.partition, LeaderEpoch: number(p.epoch), CurrentOffset: number(p.commit), LogEndOffset: number(p.end),
				Owners: p.owners, Type: string(s.Type), Metadata: text(p.metadata), Error: p.err,
			}
			if p.lagKnown {
				row.Lag = &p.lag
			}
			if m := p.owner; m != nil {
				row.ConsumerID, row.InstanceID, row.Host, row.ClientID = &m.ID, m.InstanceID, &m.Host, &m.ClientID
			}
			rows = append(rows, row)
		}
		return rows
	}, as)
}

// A stateRow has the columns that people know.
type stateRow struct {
	Group       string  `col:"group"`
	Coordinator string  `col:"coordinator"`
	NodeID      int32   `col:"coordinator_id"`
	Strategy    *string `col:"assignment_strategy"`
	State       string  `col:"state"`
	Members     int     `col:"members"`
}

// A fullStateRow has all columns.
type fullStateRow struct {
	Group       string  `col:"group"`
	Type        string  `col:"type"`
	Protocol    *string `col:"protocol"`
	Coordinator string  `col:"coordinator"`
	NodeID      int32   `col:"coordinator_id"`
	Strategy    *string `col:"assignment_strategy"`
	State       string  `col:"state"`
	Epoch       *int32  `col:"group_epoch"`
	TargetEpoch *int32  `col:"target_assignment_epoch"`
	Topology    *int32  `col:"topology_epoch"`
	Members     int     `col:"members"`
}

func stateView(env *cli.Env, f render.Format, opts render.Options, full bool) view {
	rows := func(s standing) []fullStateRow {
		row := fullStateRow{
			Group: s.ID, Type: string(s.Type), Protocol: text(s.Protocol), Coordinator: address(s.Coordinator), NodeID: s.Coordinator.NodeID,
			Strategy: text(s.Assignor), State: s.State, Epoch: number(s.Epoch), TargetEpoch: number(s.TargetEpoch), Members: len(s.Members),
		}
		if s.Topology != nil {
			row.Topology = &s.Topology.Epoch
		}
		return []fullStateRow{row}
	}
	if full {
		return rowView(env, f, opts, false, rows, func(r fullStateRow) fullStateRow { return r })
	}
	return rowView(env, f, opts, false, rows, func(r fullStateRow) stateRow {
		return stateRow{r.Group, r.Coordinator, r.NodeID, r.Strategy, r.State, r.Members}
	})
}
