package topics

import (
	"context"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"kf/internal/cli"
	"kf/internal/client"
	"kf/internal/online"
	"kf/internal/render"
	"kf/internal/wire"
)

// DescribeOptions are the inputs of "kf topics describe".
type DescribeOptions struct {
	Selection
	IDs []string // of topics

	// Filters of partitions; those that one of them takes are printed.
	UnderReplicated, UnderMinISR, AtMinISR, Unavailable bool

	WithOverrides bool // only topics for which something is set
	Summary       bool // no partitions
	MetadataOnly  bool // no sizes, no offsets
	IfExists      bool
	Fail          bool // it is a finding if a filter takes a partition
	Output        render.Format
}

// filters reports whether only some partitions are asked for.
func (o *DescribeOptions) filters() bool {
	return o.UnderReplicated || o.UnderMinISR || o.AtMinISR || o.Unavailable
}

// topicsOnly reports whether no partition is printed.
func (o *DescribeOptions) topicsOnly() bool { return o.Summary || o.WithOverrides }

// kafkaNames are names of flags that Kafka's script has for those of kf.
var kafkaNames = map[string]string{
	"under-replicated-partitions": "under-replicated",
	"under-min-isr-partitions":    "under-min-isr",
	"at-min-isr-partitions":       "at-min-isr",
	"unavailable-partitions":      "unavailable",
	"topics-with-overrides":       "with-overrides",
}

func newDescribeCommand(env *cli.Env, conn *online.Connection) *cobra.Command {
	var opts DescribeOptions
	cmd := &cobra.Command{
		Use:   "describe [topic|pattern]...",
		Short: "Describe topics and their partitions, or find those that are not well",
		Long: `Describes topics, then their partitions: all topics, or those that are named.
` + wordsHelp + `

CONFIGS are those that differ from Kafka's defaults, set for the topic or its brokers.
SIZE is one copy, the largest replica, in bytes. A partition has its leader and the
leader epoch, replicas with the preferred leader first, those in sync (ISR), the
eligible leader replicas (ELR), and where its log starts and ends. STATUS says what is
not well; the names are those of the filters:

  under-replicated  a replica is not in sync, apart from those that are being added
  under-min-isr     fewer are in sync than min.insync.replicas: acks=all is refused
  at-min-isr        just as many: one less, and acks=all is refused
  unavailable       it has no leader
  reassigning       replicas are being added or removed

Filters may be combined: a partition is printed if one of them takes it. With --fail
the exit code is 3 if there is any. "-" is what the brokers do not tell, or what there
is not; -o json also has replicas that are offline, total sizes, and the replicas that
come and go. With -o csv there are partitions only, or topics only with --summary.`,
		Example: `  kf topics describe orders
  kf topics describe 'orders.*' --summary
  kf topics describe --under-replicated --unavailable --fail
  kf topics describe --topic-id gBL_ti_VSqKtxHaDK2Ss5g -o json
  kf topics describe -o jsonl | jq 'select(.kind == "partition" and .leader != .replicas[0])'`,
		Args:              cli.Args(cobra.ArbitraryArgs),
		ValidArgsFunction: conn.Complete(-1, online.Topics),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := opts.take(args, false); err != nil {
				return err
			}
			if err := opts.validate(); err != nil {
				return err
			}
			return conn.Run(cmd, func(ctx context.Context, cl *client.Client) error {
				return Describe(ctx, env, cl, opts)
			})
		},
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&opts.IDs, "topic-id", nil, "describe the topic with this `id`; may be given again")
	flags.BoolVar(&opts.UnderReplicated, "under-replicated", false, "only partitions with replicas that are not in sync")
	flags.BoolVar(&opts.UnderMinISR, "under-min-isr", false, "only partitions with too few replicas in sync")
	flags.BoolVar(&opts.AtMinISR, "at-min-isr", false, "only partitions with just enough replicas in sync")
	flags.BoolVar(&opts.Unavailable, "unavailable", false, "only partitions without a leader")
	flags.BoolVar(&opts.WithOverrides, "with-overrides", false, "only topics for which something is set; no partitions")
	flags.BoolVar(&opts.Summary, "summary", false, "no partitions")
	flags.BoolVar(&opts.MetadataOnly, "metadata-only", false, "ask for no sizes and offsets, which every broker is asked for")
	flags.BoolVar(&opts.IfExists, "if-exists", false, "a topic that there is not is no failure")
	flags.BoolVar(&opts.Fail, "fail", false, "end with exit code 3 if a filter takes a partition")
	flags.SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		if ours, ok := kafkaNames[name]; ok {
			name = ours
		}
		return pflag.NormalizedName(name)
	})
	opts.flags(cmd)
	cli.NoFiles(cmd, "topic-id")
	render.Flag(cmd, &opts.Output)
	return cmd
}

func (o *DescribeOptions) validate() error {
	switch {
	case o.filters() && o.topicsOnly():
		return cli.Usagef("filters of partitions go without --with-overrides and --summary, which print no partitions")
	case o.Fail && !o.filters():
		return cli.Usagef("--fail needs a filter, such as --under-replicated")
	}
	for _, id := range o.IDs {
		if u, err := wire.ParseUUID(id); err != nil || u.IsZero() {
			return cli.Usagef("--topic-id: %q is no id of a topic: want 22 characters such as gBL_ti_VSqKtxHaDK2Ss5g", id)
		}
	}
	return nil
}

type topicRow struct {
	Kind        string     `col:"kind,data"` // topic
	Topic       string     `col:"topic"`
	ID          *wire.UUID `col:"topic_id"`
	Partitions  int        `col:"partitions"`
	Replication int        `col:"replication_factor"`
	Internal    bool       `col:"internal,data"`
	Size        *int64     `col:"size"`            // bytes of one copy
	Total       *int64     `col:"total_size,data"` // bytes of all replicas
	Configs     settings   `col:"configs"`
}

type partitionRow struct {
	Kind         string  `col:"kind,data"` // partition
	Topic        string  `col:"topic"`
	Partition    int32   `col:"partition"`
	Leader       *int32  `col:"leader"`
	LeaderEpoch  *int32  `col:"leader_epoch"`
	Replicas     brokers `col:"replicas"`
	ISR          brokers `col:"isr"`
	Offline      brokers `col:"offline,data"`
	ELR          brokers `col:"elr"`
	LastKnownELR brokers `col:"last_known_elr,data"`
	Adding       brokers `col:"adding,data"`
	Removing     brokers `col:"removing,data"`
	Start        *int64  `col:"start_offset"`
	End          *int64  `col:"end_offset"`
	Size         *int64  `col:"size"`            // bytes of one copy
	Total        *int64  `col:"total_size,data"` // bytes of all replicas
	Status       status  `col:"status"`
}

// brokers are ids of brokers; nil is unknown, and prints as none does in tables.
type brokers []int32

func (b *brokers) AppendJSON(dst []byte) []byte {
	if *b == nil {
		return append(dst, "null"...)
	}
	return append(append(append(dst, '['), joined(*b)...), ']')
}

func (b *brokers) AppendText(dst []byte) ([]byte, bool) {
	return append(dst, joined(*b)...), len(*b) > 0
}

// settings are configurations, by key.
type settings []setting

type setting struct {
	key   string
	value *string // nil: a secret
}

func (s *settings) AppendJSON(dst []byte) []byte {
	if *s == nil {
		return append(dst, "null"...)
	}
	dst = append(dst, '{')
	for i, e := range *s {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(render.AppendJSON(dst, e.key), ':')
		if e.value == nil {
			dst = append(dst, "null"...)
		} else {
			dst = render.AppendJSON(dst, *e.value)
		}
	}
	return append(dst, '}')
}

func (s *settings) AppendText(dst []byte) ([]byte, bool) {
	for i, e := range *s {
		if i > 0 {
			dst = append(dst, ' ')
		}
		dst = append(append(dst, e.key...), '=')
		if e.value != nil {
			dst = append(dst, *e.value...)
		}
	}
	return dst, len(*s) > 0
}

// A status has names of what is not well with a partition.
type status []string

func (s *status) AppendJSON(dst []byte) []byte {
	dst = append(dst, '[')
	for i, name := range *s {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = render.AppendJSON(dst, name)
	}
	return append(dst, ']')
}

func (s *status) AppendText(dst []byte) ([]byte, bool) {
	if len(*s) == 0 {
		return append(dst, "ok"...), true
	}
	return append(dst, strings.Join(*s, ",")...), true
}
