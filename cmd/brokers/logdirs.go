package brokers

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"kf/internal/cli"
	"kf/internal/client"
	"kf/internal/online"
	"kf/internal/render"
)

// LogDirsOptions are the inputs of "kf brokers logdirs".
type LogDirsOptions struct {
	Brokers    []int32  // none: all
	Topics     []string // none: all
	Partitions bool     // a row for each replica instead of each directory
	Output     render.Format
}

func newLogDirsCommand(env *cli.Env, conn *online.Connection) *cobra.Command {
	var (
		opts LogDirsOptions
		ids  []string
	)
	cmd := &cobra.Command{
		Use:   "logdirs",
		Short: "Show log directories, their volumes and the replicas in them",
		Long: `Asks brokers for their log directories. Each is a row with the bytes of its replicas,
and the size and the free bytes of the volume that it is on, "-" from brokers before 3.3.
The state is "online", "cordoned" if it gets no new replicas, or "offline".

With --partitions each replica is a row, the largest of a directory first. The offset lag
is how far a replica is behind the high watermark; a future replica is one that is being
moved into the directory, and its lag is what is left to copy, in records.

--topic counts and shows the replicas of some topics only. A directory that is offline,
a broker that is fenced or does not answer, and a topic that there is not make the exit
code 1; the rest is shown.`,
		Example: `  kf brokers logdirs
  kf brokers logdirs --topic orders --broker 1,3 --partitions
  kf brokers logdirs --partitions -o jsonl | jq -s 'group_by(.topic)[] | {topic: .[0].topic, size: map(.size) | add}'`,
		Args:              cli.Args(cobra.NoArgs),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			var err error
			if opts.Brokers, err = parseIDs(ids); err != nil {
				return cli.Usagef("--broker: %w", err)
			}
			return conn.Run(cmd, func(ctx context.Context, cl *client.Client) error {
				return LogDirs(ctx, env, cl, opts)
			})
		},
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&ids, "broker", nil, "ask these brokers only: `ids` with commas between, repeatable")
	flags.StringSliceVar(&opts.Topics, "topic", nil, "show these topics only: `names` with commas between, repeatable")
	flags.BoolVar(&opts.Partitions, "partitions", false, "show each replica")
	// These fail only for a flag that is not there.
	_ = cmd.RegisterFlagCompletionFunc("broker", conn.Complete(-1, listIDs))
	_ = cmd.RegisterFlagCompletionFunc("topic", conn.Complete(-1, online.Topics))
	render.Flag(cmd, &opts.Output)
	return cmd
}

type dirRow struct {
	Broker   int32  `col:"broker"`
	Dir      string `col:"dir"`
	State    string `col:"state"` // online, cordoned, offline
	Replicas int    `col:"replicas"`
	Future   int    `col:"future"` // of the replicas
	Size     int64  `col:"size"`   // bytes of the replicas
	Total    *int64 `col:"total"`  // bytes of the volume
	Free     *int64 `col:"free"`
	Used     *int64 `col:"used_percent"` // of the volume, by anything
	Error    error  `col:"error,data"`
}

type replicaRow struct {
	Broker    int32  `col:"broker"`
	Dir       string `col:"dir"`
	Topic     string `col:"topic"`
	Partition int32  `col:"partition"`
	Size      int64  `col:"size"`
	OffsetLag int64  `col:"offset_lag"`
	Future    bool   `col:"future"`
}

// A dirLister is what LogDirs asks of the cluster.
type dirLister interface {
	nodeLister
	Topics(ctx context.Context, names []string) (*client.Cluster, error)
	LogDirs(ctx context.Context, brokers kadm.BrokerDetails, of kadm.TopicsSet) ([]client.LogDir, error)
}

// LogDirs prints a row for each log directory, or for each replica. It fails with
// [cli.Silent] if something was missing.
func LogDirs(ctx context.Context, env *cli.Env, cl dirLister, opts LogDirsOptions) error {
	nodes, err := cl.Nodes(ctx, true)
	if err != nil {
		return err
	}
	brokers, failed := chooseUp(env, nodes.Nodes, opts.Brokers)
	var set kadm.TopicsSet
	if len(opts.Topics) > 0 {
		cluster, err := cl.Topics(ctx, opts.Topics)
		if err != nil {
			return err
		}
		known, missing := topicSet(env, cluster.Topics)
		set, failed = known, failed || missing
	}
	dirs, err := cl.LogDirs(ctx, brokers, set)
	if err != nil && len(dirs) == 0 {
		return err
	}
	if err != nil {
		for text := range strings.Lines(err.Error()) {
			env.Errorf("%s", text)
		}
		failed = true
	}
	slices.SortFunc(dirs, func(a, b client.LogDir) int {
		return cmp.Or(cmp.Compare(a.Broker, b.Broker), cmp.Compare(a.Path, b.Path))
	})
	out := render.Open(env.Stdout, opts.Output, render.Options{Command: "brokers logdirs", Color: env.ColorStdout()})
	print := dirPrinter(out, opts.Partitions)
	for _, d := range dirs {
		if d.Err != nil {
			env.Errorf("broker %d: %s: %v", d.Broker, d.Path, d.Err)
			failed = true
		}
		if err := print(d); err != nil {
			return err
		}
	}
	if err := out.Close(); err != nil || !failed {
		return err
	}
	return cli.Silent
}

// chooseUp is choose for brokers that can be asked; those that cannot are told too.
func chooseUp(env *cli.Env, all []client.Node, ids []int32) (up kadm.BrokerDetails, missing bool) {
	chosen, missing := choose(env, all, ids)
	for _, n := range chosen {
		if n.Fenced {
			env.Errorf("broker %d is fenced: it is down, or not ready", n.ID)
			missing = true
			continue
		}
		up = append(up, kadm.BrokerDetail{NodeID: n.ID, Host: n.Host, Port: n.Port, Rack: n.Rack})
	}
	return up, missing
}

// topicSet returns the partitions of topics; those that there are not are told.
func topicSet(env *cli.Env, topics []client.Topic) (set kadm.TopicsSet, missing bool) {
	set = make(kadm.TopicsSet)
	for _, t := range topics {
		switch known, ok := t.Err.(*kerr.Error); {
		case t.Err == nil:
			for _, p := range t.Partitions {
				set.Add(t.Name, p.ID)
			}
			continue
		case ok && known == kerr.UnknownTopicOrPartition:
			env.Errorf("there is no topic %q", t.Name)
		default:
			env.Errorf("topic %q: %v", t.Name, t.Err)
		}
		missing = true
	}
	return set, missing
}

// dirPrinter returns what prints the rows of a directory.
func dirPrinter(out *render.Output, replicas bool) func(client.LogDir) error {
	if !replicas {
		rows := render.Rows[dirRow](out)
		return func(d client.LogDir) error { return rows.Write(dirRowOf(d)) }
	}
	rows := render.Rows[replicaRow](out)
	return func(d client.LogDir) error {
		slices.SortFunc(d.Replicas, func(a, b client.LogDirReplica) int {
			return cmp.Or(cmp.Compare(b.Size, a.Size), cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition))
		})
		for _, r := range d.Replicas {
			if err := rows.Write(replicaRow{d.Broker, d.Path, r.Topic, r.Partition, r.Size, r.OffsetLag, r.Future}); err != nil {
				return err
			}
		}
		return nil
	}
}

func dirRowOf(d client.LogDir) dirRow {
	row := dirRow{Broker: d.Broker, Dir: d.Path, State: "online", Replicas: len(d.Replicas), Error: d.Err}
	switch {
	case d.Err != nil:
		row.State = "offline"
	case d.Cordoned:
		row.State = "cordoned"
	}
	for _, r := range d.Replicas {
		row.Size += r.Size
		if r.Future {
			row.Future++
		}
	}
	if d.Total > 0 && d.Usable >= 0 {
		row.Total, row.Free = &d.Total, &d.Usable
		row.Used = new(int64(100 * float64(d.Total-d.Usable) / float64(d.Total)))
	}
	return row
}
