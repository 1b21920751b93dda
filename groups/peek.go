package groups

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"

	"kf/internal/cli"
	"kf/internal/client"
	"kf/internal/online"
	"kf/internal/render"
	"kf/internal/resetplan"
)

// PeekOptions are the inputs of "kf groups peek".
type PeekOptions struct {
	Group         string
	Topics        []string // "topic", or "topic:0,1" for some of its partitions; none: all with a commit
	Before, After int      // how many records
	Committed     bool     // leave out what transactions have not committed
	Key, Value    render.ByteFormat
	Output        render.Format
}

// maxPeek bounds the records that are kept in memory of a partition.
const maxPeek = 1000

func newPeekCommand(env *cli.Env, conn *online.Connection) *cobra.Command {
	opts := PeekOptions{Before: 2, After: 3}
	cmd := &cobra.Command{
		Use:   "peek <group>",
		Short: "Show the records around the committed offsets of a group",
		Long: `Show the records around the committed offsets of a group, without joining it: nothing
is committed, and its members do not notice.

STATE says what the group makes of a record: read, next for the one that it gets
first, or unread. Of a share group "read" are those that it does not get any more.`,
		Example: `  kf groups peek billing --topic invoices
  kf groups peek billing --topic invoices:3 --before 10 --after 0 -o jsonl
  kf groups peek billing --topic invoices --value-format json -o jsonl | jq .value`,
		Args: cli.Args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.Group = args[0]
			if err := opts.Validate(); err != nil {
				return err
			}
			return conn.Run(cmd, func(ctx context.Context, cl *client.Client) error {
				return Peek(ctx, env, cl, opts)
			})
		},
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&opts.Topics, "topic", nil, "only partitions of this `topic`, or topic:0,1; may be repeated")
	flags.IntVar(&opts.Before, "before", opts.Before, "show this many `records` before the committed offset")
	flags.IntVar(&opts.After, "after", opts.After, "show this many `records` from the committed offset on")
	flags.BoolVar(&opts.Committed, "read-committed", false, "leave out records of transactions that are aborted or open, as a consumer with isolation.level=read_committed")
	flags.Var(&opts.Key, "key-format", "show keys as `format`: "+formats)
	flags.Var(&opts.Value, "value-format", "show values as `format`: "+formats)
	render.Flag(cmd, &opts.Output)
	cmd.ValidArgsFunction = conn.Complete(0, online.Groups)
	cli.NoFiles(cmd, "before", "after")
	// These fail only for a flag that is not there.
	_ = cmd.RegisterFlagCompletionFunc("topic", conn.Complete(-1, online.Topics))
	_ = cmd.RegisterFlagCompletionFunc("key-format", cli.Complete(render.ByteFormats...))
	_ = cmd.RegisterFlagCompletionFunc("value-format", cli.Complete(render.ByteFormats...))
	return cmd
}

const formats = "auto, string, hex, base64, json, int32, int64 or uuid"

// Validate returns an error of wrong usage.
func (o *PeekOptions) Validate() error {
	if o.Group == "" {
		return cli.Usagef("the id of the group is empty")
	}
	for name, n := range map[string]int{"before": o.Before, "after": o.After} {
		if n < 0 || n > maxPeek {
			return cli.Usagef("--%s %d: want 0 to %d", name, n, maxPeek)
		}
	}
	_, err := parseScope(o.Topics)
	return err
}

type peekRow struct {
	Topic     string      `col:"topic"`
	Partition int32       `col:"partition"`
	Offset    int64       `col:"offset"`
	State     string      `col:"state"` // "read", "next", "unread"
	Timestamp time.Time   `col:"timestamp"`
	Key       render.Cell `col:"key"`
	Value     render.Cell `col:"value"`
	Headers   headers     `col:"headers,data"`
	Current   int64       `col:"current_offset,data"`
}

// headers prints those of a record, in their order.
type headers []client.RecordHeader

func (h *headers) pairs(yield func(key, value []byte) bool) {
	for _, one := range *h {
		if !yield(one.Key, one.Value) {
			return
		}
	}
}

// AppendJSON implements render.Value.
func (h *headers) AppendJSON(dst []byte) []byte { return render.AppendPairsJSON(dst, h.pairs) }

// AppendText implements render.Value.
func (h *headers) AppendText(dst []byte) ([]byte, bool) { return render.AppendPairsText(dst, h.pairs) }

// A peeker is what Peek asks of the cluster.
type peeker interface {
	DescribeGroupsByID(ctx context.Context, ids []string) []client.Group
	commitAsker
	Topics(ctx context.Context, names []string) (*client.Cluster, error)
	ListOffsets(ctx context.Context, at int64, committed bool, of kadm.TopicsSet) (kadm.ListedOffsets, error)
	Around(ctx context.Context, of []client.Around, committed bool) []client.Surrounding
}

// Peek prints the records around the commits of a group. A partition of which nothing
// can be said is an error, and the others are shown.
func Peek(ctx context.Context, env *cli.Env, cl peeker, opts PeekOptions) error {
	wanted, err := parseScope(opts.Topics)
	if err != nil {
		return err
	}
	group := cl.DescribeGroupsByID(ctx, []string{opts.Group})[0]
	if group.Err != nil {
		return groupError(opts.Group, group.Err)
	}
	commits := askCommits(ctx, cl, []client.Group{group})[opts.Group]
	if commits.err != nil {
		return groupError(opts.Group, commits.err)
	}
	places, errs := peekPlaces(commits, wanted)
	if len(places) == 0 && len(errs) == 0 {
		return groupError(opts.Group, errors.New("it has committed nothing"))
	}
	around, err := locatePeeks(ctx, cl, commits, places, opts)
	if err != nil {
		return err
	}
	rows := render.New[peekRow](env.Stdout, opts.Output, render.Options{Command: "groups peek", Color: env.ColorStdout()})
	misfits := [2]int{}
	for _, p := range around {
		errs = append(errs, p.say(env)...)
		for i, r := range p.Records {
			row := peekRow{Topic: p.Topic, Partition: p.Partition, Offset: r.Offset, State: p.state(i), Headers: r.Headers, Current: p.commit}
			if r.Timestamp >= 0 {
				row.Timestamp = time.UnixMilli(r.Timestamp)
			}
			var fits bool
			if row.Key, fits = render.NewCell(r.Key, opts.Key); !fits {
				misfits[0]++
			}
			if row.Value, fits = render.NewCell(r.Value, opts.Value); !fits {
				misfits[1]++
			}
			if err := rows.Write(row); err != nil {
				return err
			}
		}
	}
	if err := rows.Close(); err != nil {
		return err
	}
	for i, what := range []string{"keys", "values"} {
		if format := []render.ByteFormat{opts.Key, opts.Value}[i]; misfits[i] > 0 {
			env.Warnf("%d of the %s are not %s and shown as with \"auto\"", misfits[i], what, format)
		}
	}
	return errors.Join(errs...)
}

// peekPlaces returns the partitions to look at, sorted, and what is wrong with those
// that were named.
func peekPlaces(commits groupCommits, wanted map[string][]int32) (places []resetplan.TopicPartition, errs []error) {
	seen := make(map[string]bool)
	for p, c := range commits.of {
		list, named := wanted[p.Topic]
		seen[p.Topic] = true
		switch {
		case len(wanted) > 0 && !named, list != nil && !slices.Contains(list, p.Partition):
		case c.Err != nil:
			errs = append(errs, fmt.Errorf("%s: %w", p, c.Err))
		default:
			places = append(places, p)
		}
	}
	for _, topic := range slices.Sorted(maps.Keys(wanted)) {
		if !seen[topic] {
			errs = append(errs, fmt.Errorf("topic %s: the group has committed nothing there", topic))
			continue
		}
		for _, partition := range wanted[topic] {
			p := resetplan.TopicPartition{Topic: topic, Partition: partition}
			if _, ok := commits.of[p]; !ok {
				errs = append(errs, fmt.Errorf("%s: the group has committed nothing there", p))
			}
		}
	}
	slices.SortFunc(places, resetplan.TopicPartition.Compare)
	return places, errs
}

// A peek is a partition with the records around its commit.
type peek struct {
	client.Around
	client.Surrounding
	commit int64
}

// locatePeeks reads the records around the commits of partitions.
func locatePeeks(ctx context.Context, cl peeker, commits groupCommits, places []resetplan.TopicPartition, opts PeekOptions) ([]peek, error) {
	names := make(map[string]bool)
	for _, p := range places {
		names[p.Topic] = true
	}
	cluster, err := cl.Topics(ctx, slices.AppendSeq([]string{}, maps.Keys(names)))
	if err != nil {
		return nil, err
	}
	topics := make(map[string]*client.Topic)
	for i := range cluster.Topics {
		topics[cluster.Topics[i].Name] = &cluster.Topics[i]
	}
	all := make([]peek, len(places))
	set := make(kadm.TopicsSet)
	for i, p := range places {
		all[i] = peek{commit: commits.of[p].Offset, Around: client.Around{
			Topic: p.Topic, Partition: p.Partition, Offset: commits.of[p].Offset, Before: opts.Before, After: opts.After,
		}}
		at, err := findPartition(topics[p.Topic], p.Partition)
		if all[i].Err = err; err != nil {
			continue
		}
		all[i].TopicID, all[i].Leader = topics[p.Topic].ID, at.Leader
		set.Add(p.Topic, p.Partition)
	}
	var starts, ends kadm.ListedOffsets
	var both sync.WaitGroup
	// What some leaders did not answer is an error of their partitions.
	both.Go(func() { starts, _ = cl.ListOffsets(ctx, client.Earliest, false, set) })
	both.Go(func() { ends, _ = cl.ListOffsets(ctx, client.Latest, opts.Committed, set) })
	both.Wait()
	var ask []client.Around
	var of []int
	for i := range all {
		p := &all[i]
		if p.Err != nil {
			continue
		}
		start, known := starts.Lookup(p.Topic, p.Partition)
		end, both := ends.Lookup(p.Topic, p.Partition)
		if !known || !both {
			p.Err = errNoOffsets
		}
		if p.Err = cmp.Or(p.Err, start.Err, end.Err); p.Err != nil {
			continue
		}
		p.Start, p.End = start.Offset, end.Offset
		ask, of = append(ask, p.Around), append(of, i)
	}
	for i, s := range cl.Around(ctx, ask, opts.Committed) {
		all[of[i]].Surrounding = s
	}
	return all, nil
}

// state returns what the group makes of record i.
func (p *peek) state(i int) string {
	switch at := p.Records[i].Offset; {
	case at < p.commit:
		return "read"
	case p.commit >= p.Start && (i == 0 || p.Records[i-1].Offset < p.commit):
		return "next"
	}
	return "unread"
}

// say tells what the records alone do not, and returns errors.
func (p *peek) say(env *cli.Env) []error {
	name := resetplan.TopicPartition{Topic: p.Topic, Partition: p.Partition}
	if p.Err != nil {
		return []error{fmt.Errorf("%s: %w", name, p.Err)}
	}
	switch {
	case p.commit < p.Start:
		env.Warnf("%s: the committed offset %d is before the log start %d: what was there is deleted, and the consumer's auto.offset.reset decides where it goes on", name, p.commit, p.Start)
	case p.commit > p.End:
		env.Warnf("%s: the committed offset %d is past the end %d: was the topic made anew, or mirrored?", name, p.commit, p.End)
	case p.commit == p.End:
		env.Notef("%s: all is read, up to the end at %d", name, p.End)
	}
	if p.Cut {
		env.Warnf("%s: there may be more records within reach, which would take too long to find", name)
	}
	return nil
}
