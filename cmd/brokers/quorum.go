package brokers

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"kf/internal/cli"
	"kf/internal/client"
	"kf/internal/online"
	"kf/internal/render"
	"kf/internal/wire"
)

// QuorumOptions are the inputs of "kf brokers quorum".
type QuorumOptions struct {
	Output render.Format
}

func newQuorumCommand(env *cli.Env, conn *online.Connection) *cobra.Command {
	var opts QuorumOptions
	cmd := &cobra.Command{
		Use:   "quorum",
		Short: "Show the metadata quorum: its leader, voters, observers and their lag",
		Long: `Shows the metadata quorum (KRaft) as its leader sees it: the leader, the other voters
and the observers, which are the brokers that are no voters. The lag is the records
between the end of a node's log and that of the leader's; a node of which the leader has
not heard has none, and "-" for its ages. An age says how long before the leader's last
word the node fetched, and was last at the end of the log.

The voters have directory ids where the quorum is dynamic (kraft.version 1).`,
		Example: `  kf brokers quorum
  kf brokers quorum --bootstrap-controller controller1:9093
  kf brokers quorum -o json | jq '.rows[] | select(.role != "observer" and (.lag == null or .lag > 100))'`,
		Args:              cli.Args(cobra.NoArgs),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			return conn.Run(cmd, func(ctx context.Context, cl *client.Client) error {
				return Quorum(ctx, env, cl, opts)
			})
		},
	}
	conn.ControllerFlag(cmd)
	render.Flag(cmd, &opts.Output)
	return cmd
}

type quorumRow struct {
	Node          int32      `col:"node"`
	Role          string     `col:"role"` // leader, follower, observer
	Epoch         int32      `col:"leader_epoch"`
	HighWatermark *int64     `col:"high_watermark"` // of the quorum; nil: not known yet
	LogEndOffset  *int64     `col:"log_end_offset"` // nil: the leader has not heard of it
	Lag           *int64     `col:"lag"`            // records
	FetchAge      *int64     `col:"fetch_age_ms"`
	CaughtUpAge   *int64     `col:"caught_up_age_ms"`
	LastFetch     *time.Time `col:"last_fetch,data"`
	LastCaughtUp  *time.Time `col:"last_caught_up,data"`
	Directory     *wire.UUID `col:"directory_id"`
	Endpoints     words      `col:"endpoints"`
}

// words prints texts as "a,b", in JSON as an array. A nil list is null.
type words []string

// AppendJSON implements render.Value.
func (w *words) AppendJSON(dst []byte) []byte {
	if *w == nil {
		return append(dst, "null"...)
	}
	sep := byte('[')
	for _, s := range *w {
		dst = render.AppendJSON(append(dst, sep), s)
		sep = ','
	}
	return append(dst, ']')
}

// AppendText implements render.Value.
func (w *words) AppendText(dst []byte) ([]byte, bool) {
	return append(dst, strings.Join(*w, ",")...), *w != nil
}

// A quorumAsker asks for the metadata quorum.
type quorumAsker interface {
	Quorum(context.Context) (*client.Quorum, error)
}

// Quorum prints a row for each node of the metadata quorum, the leader first.
func Quorum(ctx context.Context, env *cli.Env, cl quorumAsker, opts QuorumOptions) error {
	quorum, err := cl.Quorum(ctx)
	if err != nil {
		return err
	}
	rows := render.New[quorumRow](env.Stdout, opts.Output, render.Options{Command: "brokers quorum", Color: env.ColorStdout()})
	leader := client.QuorumReplica{LogEndOffset: -1}
	if len(quorum.Replicas) > 0 && quorum.Replicas[0].Role == client.QuorumLeader {
		leader = quorum.Replicas[0]
	}
	for _, r := range quorum.Replicas {
		if err := rows.Write(quorumRowOf(quorum, leader, r)); err != nil {
			return err
		}
	}
	return rows.Close()
}

func quorumRowOf(quorum *client.Quorum, leader, r client.QuorumReplica) quorumRow {
	row := quorumRow{Node: r.Node, Role: string(r.Role), Epoch: quorum.Epoch, Endpoints: r.Endpoints}
	if quorum.HighWatermark >= 0 {
		row.HighWatermark = &quorum.HighWatermark
	}
	if r.LogEndOffset >= 0 {
		row.LogEndOffset = &r.LogEndOffset
		if leader.LogEndOffset >= 0 {
			row.Lag = new(max(0, leader.LogEndOffset-r.LogEndOffset))
		}
	}
	span := func(at time.Time) (*int64, *time.Time) {
		if at.IsZero() || leader.LastFetch.IsZero() {
			return nil, nil
		}
		return new(max(0, leader.LastFetch.Sub(at).Milliseconds())), &at
	}
	row.FetchAge, row.LastFetch = span(r.LastFetch)
	row.CaughtUpAge, row.LastCaughtUp = span(r.LastCaughtUp)
	if id := wire.UUID(r.Directory); id != (wire.UUID{}) {
		row.Directory = &id
	}
	return row
}
