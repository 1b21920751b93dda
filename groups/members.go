package groups

import (
	"context"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"

	"kf/internal/cli"
	"kf/internal/client"
	"kf/internal/online"
	"kf/internal/render"
)

func newMembersCommand(env *cli.Env, conn *online.Connection) *cobra.Command {
	opts := DescribeOptions{Members: true, Verbose: true}
	cmd := &cobra.Command{
		Use:   "members [<group>...]",
		Short: "Show the members of groups and what they read",
		Long: `Show the members of groups: who they are, what they subscribe to, what they read now
and what they are to read. It is "kf groups describe --members --verbose".

Epochs are those of the newer protocols; a member whose CURRENT-EPOCH is below its
TARGET-EPOCH is still moving to its TARGET-ASSIGNMENT. Of a streams group TASKS are
subtopology:partitions.`,
		Example: `  kf groups members order-fulfillment
  kf groups members --all-groups -o jsonl | jq -r 'select(.partitions == 0) | .consumer_id'`,
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
	render.Flag(cmd, &opts.Output)
	return cmd
}

// A memberRow has the columns that people know.
type memberRow struct {
	Group      string  `col:"group"`
	ConsumerID string  `col:"consumer_id"`
	InstanceID *string `col:"group_instance_id"`
	Host       string  `col:"host"`
	ClientID   string  `col:"client_id"`
	Partitions int     `col:"partitions"`
}

// A fullMemberRow has all columns.
type fullMemberRow struct {
	Group         string     `col:"group"`
	ConsumerID    string     `col:"consumer_id"`
	InstanceID    *string    `col:"group_instance_id"`
	Host          string     `col:"host"`
	ClientID      string     `col:"client_id"`
	Partitions    int        `col:"partitions"`
	CurrentEpoch  *int32     `col:"current_epoch"`
	Current       assignment `col:"current_assignment"`
	TargetEpoch   *int32     `col:"target_epoch"`
	Target        assignment `col:"target_assignment"`
	Topics        words      `col:"subscribed_topics"`
	TopicRegex    *string    `col:"subscribed_regex"`
	Protocol      *string    `col:"protocol"`
	Tasks         taskList   `col:"tasks"`
	TargetTasks   taskList   `col:"target_tasks,data"`
	ProcessID     *string    `col:"process_id,data"`
	TopologyEpoch *int32     `col:"topology_epoch,data"`
	Rack          *string    `col:"rack,data"`
	Error         error      `col:"error,data"`
}

func memberView(env *cli.Env, f render.Format, opts render.Options, full bool) view {
	rows := func(s standing) []fullMemberRow {
		rows := make([]fullMemberRow, 0, len(s.Members))
		for i := range s.Members {
			rows = append(rows, newMemberRow(s.Group, &s.Members[i]))
		}
		return rows
	}
	if full {
		return rowView(env, f, opts, false, rows, func(r fullMemberRow) fullMemberRow { return r })
	}
	return rowView(env, f, opts, false, rows, func(r fullMemberRow) memberRow {
		return memberRow{r.Group, r.ConsumerID, r.InstanceID, r.Host, r.ClientID, r.Partitions}
	})
}

func newMemberRow(g *client.Group, m *client.GroupMember) fullMemberRow {
	row := fullMemberRow{
		Group: g.ID, ConsumerID: m.ID, InstanceID: m.InstanceID, Host: m.Host, ClientID: m.ClientID,
		CurrentEpoch: number(m.Epoch), Current: assignment{&m.Assignment}, Target: assignment{m.Target},
		Topics: m.Topics, TopicRegex: m.TopicRegex, Protocol: text(m.Protocol), Rack: m.Rack, Error: m.Unreadable,
	}
	row.Partitions = count(m.Assignment)
	if m.Target != nil {
		row.TargetEpoch = number(g.TargetEpoch)
	}
	if m.TopicRegex != nil && *m.TopicRegex == "" {
		row.TopicRegex = nil
	}
	if s := m.Streams; s != nil {
		row.Tasks = taskList{[]taskKind{{"active", s.Active}, {"standby", s.Standby}, {"warmup", s.Warmup}}}
		row.TargetTasks = taskList{[]taskKind{{"active", s.TargetActive}, {"standby", s.TargetStandby}, {"warmup", s.TargetWarmup}}}
		row.ProcessID, row.TopologyEpoch = &s.ProcessID, &s.TopologyEpoch
	}
	return row
}

func count(list kadm.TopicsList) int {
	n := 0
	for _, t := range list {
		n += len(t.Partitions)
	}
	return n
}
