// Package dump is the offline commands: "kf dump", which prints any file of a
// data directory for a reader, and "kf dump-log", which prints what
// kafka-dump-log.sh does.
package dump

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"kf/internal/cli"
	"kf/internal/dumptext"
	"kf/internal/format/batch"
	"kf/internal/logdir"
	"kf/internal/render"
	"kf/internal/segment"
	"kf/internal/timearg"
)

// Options are the inputs of "kf dump".
type Options struct {
	Paths      []string    // files; "-" is standard input
	Kind       logdir.Kind // of all files; "" finds out
	BaseOffset int64       // of a file whose name does not give it, -1 if not known
	Topic      string      // whose records a segment holds; "" goes by the directory
	Key, Value render.ByteFormat

	FromOffset, ToOffset int64     // of the records: from, and below; MinInt64 and MaxInt64 for all
	From, To             time.Time // of the records: from, and before; zero for all
	Last                 int       // only so many records of each partition, its last; 0 for all
	NoRecords            bool      // batches instead of records

	Output  render.Format
	Command string // in the JSON document
	Limits
}

// Validate checks what no single flag can.
func (o *Options) Validate() error {
	switch {
	case o.Last < 0:
		return cli.Usagef("--last: %d is below 0", o.Last)
	case o.Last > 0 && o.NoRecords:
		return cli.Usagef("--last counts records, --no-records leaves them out")
	case o.FromOffset > o.ToOffset:
		return cli.Usagef("--offset: %d is above %d", o.FromOffset, o.ToOffset)
	case !o.From.IsZero() && !o.To.IsZero() && o.From.After(o.To):
		return cli.Usagef("--from is after --to")
	case o.MaxBatch <= 0 || o.MaxInflated <= 0:
		return cli.Usagef("--max-batch and --max-inflated are above 0")
	}
	if o.Topic != "" {
		if _, err := o.topic(o.Topic); err != nil {
			return cli.Usagef("--topic: %w", err)
		}
	}
	return nil
}

// selects reports whether only some of the records are asked for.
func (o *Options) selects() bool {
	return o.FromOffset != math.MinInt64 || o.ToOffset != math.MaxInt64 || !o.From.IsZero() || !o.To.IsZero()
}

// noTopic as the topic shows records as bytes whatever the directory says.
const noTopic = "none"

func (o *Options) topic(name string) (dumptext.Topic, error) {
	topic, ok := dumptext.TopicOf(name)
	if !ok && name != noTopic {
		return 0, fmt.Errorf("%q is none of Kafka's internal topics", name)
	}
	return topic, nil
}

// NewCommand returns "kf dump".
func NewCommand(env *cli.Env) *cobra.Command {
	opts := Options{Command: "dump"}
	var kind, offsets, from, to string
	cmd := &cobra.Command{
		Use:   "dump [flags] file...",
		Short: "Print any file of a data directory",
		Long: `Print the files of a broker's data directory for a reader: segments with their
records, indexes, producer snapshots, checkpoints, metadata snapshots and the small
text files. The kind of a file is recognised by its name, or else by its content; "-"
is standard input.

Records of Kafka's internal topics are decoded to fields, by the name of their
directory. A table or CSV has a row for each record; JSON and JSON lines also have
one for each batch, in front of its records (look at "kind"). --no-records leaves the
batches.

Nothing is written to the files or their directories. Damage is reported on standard
error with file, byte and offset, reading goes on behind it where that makes sense,
and the exit code is 3.`,
		Example: `  kf dump orders-0/00000000000000000000.log
  kf dump --no-records orders-0/*.log
  kf dump -o jsonl --offset 100:200 orders-0/*.log | jq -r 'select(.kind == "record").value'
  kf dump --from '2026-08-06 22:00' --to '2026-08-06 23:00' orders-0/*.log
  kf dump --last 10 __consumer_offsets-12/*.log
  kf dump __cluster_metadata-0/*.checkpoint meta.properties replication-offset-checkpoint
  kf dump --base-offset 0 - < saved-bytes`,
		Args: cli.Args(func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("which files?")
			}
			return nil
		}),
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.Paths = args
			var err error
			if kind != "" {
				if opts.Kind, err = logdir.ParseKind(kind); err != nil {
					return cli.Usagef("--kind: %w", err)
				}
			}
			if opts.FromOffset, opts.ToOffset, err = parseOffsets(offsets); err != nil {
				return cli.Usagef("--offset: %w", err)
			}
			if opts.From, err = parseTime(from, env.Now()); err != nil {
				return cli.Usagef("--from: %w", err)
			}
			if opts.To, err = parseTime(to, env.Now()); err != nil {
				return cli.Usagef("--to: %w", err)
			}
			return Dump(cmd.Context(), env, opts)
		},
	}
	f := cmd.Flags()
	f.StringVar(&kind, "kind", "", "take the files for this `kind`, whatever their names and contents say")
	f.Int64Var(&opts.BaseOffset, "base-offset", -1, "base `offset` of files whose names do not give it")
	f.StringVar(&opts.Topic, "topic", "", "decode the records as those of this internal `topic`; none: do not decode them")
	f.Var(&opts.Key, "key-format", "show keys as `format`: "+strings.Join(render.ByteFormats, ", "))
	f.Var(&opts.Value, "value-format", "show values as `format`")
	f.StringVar(&offsets, "offset", "", "only records of `A:B`: offset A up to B-1; A:, :B and a single offset work too")
	f.StringVar(&from, "from", "", "only records from this `time` on: see 'kf help times'")
	f.StringVar(&to, "to", "", "only records before this `time`")
	f.IntVar(&opts.Last, "last", 0, "only the last `n` records of each partition")
	f.BoolVar(&opts.NoRecords, "no-records", false, "print batches, and do not look into them")
	opts.addFlags(cmd)
	render.Flag(cmd, &opts.Output)
	var kinds []string
	for _, k := range logdir.Kinds() {
		kinds = append(kinds, string(k))
	}
	topics := []string{noTopic}
	for topic := range dumptext.ShareGroupState + 1 {
		topics = append(topics, topic.String())
	}
	cli.NoFiles(cmd, "base-offset", "offset", "from", "to", "last")
	_ = cmd.RegisterFlagCompletionFunc("kind", cli.Complete(kinds...))
	_ = cmd.RegisterFlagCompletionFunc("topic", cli.Complete(topics...))
	_ = cmd.RegisterFlagCompletionFunc("key-format", cli.Complete(render.ByteFormats...))
	_ = cmd.RegisterFlagCompletionFunc("value-format", cli.Complete(render.ByteFormats...))
	return cmd
}

// parseOffsets reads "A:B", "A:", ":B" or "A", half-open.
func parseOffsets(s string) (from, to int64, err error) {
	from, to = math.MinInt64, math.MaxInt64
	if s == "" {
		return from, to, nil
	}
	a, b, isRange := strings.Cut(s, ":")
	if a == "" && b == "" {
		return 0, 0, fmt.Errorf("%q has neither end", s)
	}
	if a != "" {
		if from, err = strconv.ParseInt(a, 10, 64); err != nil {
			return 0, 0, fmt.Errorf("%q is not an offset", a)
		}
	}
	switch {
	case !isRange && from < math.MaxInt64:
		to = from + 1
	case b != "":
		if to, err = strconv.ParseInt(b, 10, 64); err != nil {
			return 0, 0, fmt.Errorf("%q is not an offset", b)
		}
	}
	return from, to, nil
}

func parseTime(s string, now time.Time) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	return timearg.Parse(s, now)
}

// A dumper is one run of "kf dump".
type dumper struct {
	env    *cli.Env
	opts   Options
	out    *render.Output
	rows   rowWriters
	failed bool            // a file could not be read, or is not what its name says
	found  bool            // damage
	big    batch.BigBuffer // of all segments, one after the other
}

// Dump prints opts.Paths.
func Dump(ctx context.Context, env *cli.Env, opts Options) (err error) {
	if err := opts.Validate(); err != nil {
		return err
	}
	for _, path := range opts.Paths {
		if info, err := os.Stat(path); path != "-" && err == nil && info.IsDir() {
			return cli.Usagef("%s is a directory: name files, as in %s", path, filepath.Join(path, "*.log"))
		}
	}
	d := &dumper{env: env, opts: opts}
	d.out = render.Open(env.Stdout, opts.Output, render.Options{
		Command: opts.Command, Multi: len(opts.Paths) > 1, Color: env.ColorStdout(),
	})
	defer func() {
		if !d.rows.expected && !opts.Output.ForPrograms() {
			return // no headings of rows that nobody asked for
		}
		if cerr := d.out.Close(); err == nil || errors.Is(err, cli.Silent) || errors.Is(err, cli.ErrFindings) {
			if cerr != nil {
				err = cerr
			}
		}
	}()
	d.rows.open(d.out)
	inputs := make([]*input, 0, len(opts.Paths))
	for _, path := range opts.Paths {
		if in, err := d.input(path); err != nil {
			d.fail(err)
		} else {
			inputs = append(inputs, in)
		}
	}
	if opts.Output == render.CSV && !sameRows(inputs) {
		return cli.Usage(render.ErrMixed)
	}
	if opts.Last > 0 {
		for _, in := range inputs {
			if in.size < 0 {
				return cli.Usagef("--last has to read twice, and %s can be read only once: save it to a file", in.path)
			}
		}
		inputs = d.groupPartitions(inputs)
	}
	for _, in := range inputs {
		if err := d.file(ctx, in); err != nil {
			return err
		}
	}
	if opts.selects() && d.out.Count() == 0 && !d.failed {
		env.Notef("nothing is in the range that was asked for")
	}
	switch {
	case d.failed:
		return cli.Silent
	case d.found:
		return cli.ErrFindings
	}
	return nil
}

// fail reports a file that could not be read or is something else.
func (d *dumper) fail(err error) {
	d.failed = true
	d.env.Errorf("%v", err)
}

// damage reports damage.
func (d *dumper) damage(err error) {
	d.found = true
	d.env.Errorf("%v", err)
}

// An input is a file that is to be printed, not open yet.
type input struct {
	path  string
	kind  logdir.Kind
	file  logdir.File // what the name says
	size  int64       // -1 if not known
	stdin io.Reader
	next  []*input // of the same partition, with --last
}

// input finds out what the file at path is.
func (d *dumper) input(path string) (*input, error) {
	in := &input{path: path, kind: d.opts.Kind, size: -1}
	if path == "-" {
		in.path, in.stdin = "standard input", d.env.Stdin
		if in.kind == "" {
			return in, in.peek()
		}
		return in, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	in.file = logdir.ParseFileName(filepath.Base(path))
	if info.Mode()&os.ModeDevice != 0 {
		return nil, fmt.Errorf("%s is a device", path)
	}
	if !info.Mode().IsRegular() {
		if in.kind == "" {
			return nil, fmt.Errorf("%s is not a regular file: say what comes out of it with --kind", path)
		}
		return in, nil
	}
	in.size = info.Size()
	if in.kind != "" {
		return in, nil
	}
	head := make([]byte, min(in.size, logdir.HeadSize))
	if n, err := io.ReadFull(f, head); err != nil {
		return nil, fmt.Errorf("%s: byte %d: %w", path, n, err)
	}
	r := logdir.Recognize(path, head, in.size)
	in.kind = r.Kind()
	switch {
	case in.kind == "":
		return nil, fmt.Errorf("%s is no file of Kafka's that kf knows: if it is, say which with --kind", path)
	case r.Disagrees():
		in.kind = r.Content[0]
		d.fail(fmt.Errorf("%s is named like a file of kind %s, but its content is that of %s: shown as that", path, r.File.Kind, in.kind))
	case !r.ByName() && r.Basis == logdir.BasisGuess:
		d.env.Warnf("%s: taken for a file of kind %s, which is a guess", path, in.kind)
	}
	return in, nil
}

// sameRows reports whether the files have the same columns.
func sameRows(inputs []*input) bool {
	var first logdir.Kind
	for _, in := range inputs {
		kind := in.kind
		switch kind {
		case logdir.KindLock:
			continue
		case logdir.KindMetadataSnapshot:
			kind = logdir.KindLog
		}
		if first != "" && kind != first {
			return false
		}
		first = kind
	}
	return true
}

// peek finds out by its content what standard input is.
func (in *input) peek() error {
	buffered := bufio.NewReaderSize(in.stdin, logdir.HeadSize)
	head, err := buffered.Peek(logdir.HeadSize)
	size := int64(math.MaxInt64) // more than was looked at
	switch {
	case err == io.EOF:
		size = int64(len(head))
	case err != nil:
		return fmt.Errorf("%s: %w", in.path, err)
	}
	in.stdin = buffered
	if in.kind = logdir.Recognize("-", head, size).Kind(); in.kind == "" {
		return fmt.Errorf("%s is like no file of Kafka's that kf knows: if it is one, say which with --kind", in.path)
	}
	return nil
}

// base returns the base offset of a file that needs one.
func (d *dumper) base(in *input) (int64, error) {
	switch {
	case in.file.HasBase:
		return in.file.BaseOffset, nil
	case d.opts.BaseOffset >= 0:
		return d.opts.BaseOffset, nil
	}
	return 0, fmt.Errorf("%s: the name does not give the base offset: say it with --base-offset", in.path)
}

// open opens the file for reading from its start.
func (in *input) open() (io.ReadCloser, error) {
	if in.stdin != nil {
		return io.NopCloser(in.stdin), nil
	}
	return os.Open(in.path)
}

// file prints one file. It returns only what ends the run.
func (d *dumper) file(ctx context.Context, in *input) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	err := d.print(ctx, in)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded), errors.Is(err, cli.ErrPipe), errors.Is(err, render.ErrMixed):
		return err
	case d.rows.failed(err):
		return err
	}
	d.fail(err)
	return nil
}

func (d *dumper) print(ctx context.Context, in *input) error {
	if in.kind == logdir.KindLock {
		d.env.Notef("%s is the lock of a log directory, which holds nothing", in.path)
		return nil
	}
	d.rows.expect(in.kind, d.opts.NoRecords)
	if in.size == 0 {
		d.env.Notef("%s is empty", in.path)
	}
	if in.kind == logdir.KindLog || in.kind == logdir.KindMetadataSnapshot {
		return d.segments(ctx, in)
	}
	r, err := in.open()
	if err != nil {
		return err
	}
	defer r.Close()
	switch in.kind {
	case logdir.KindIndex:
		return d.offsetIndex(ctx, in, r)
	case logdir.KindTimeIndex:
		return d.timeIndex(ctx, in, r)
	case logdir.KindTxnIndex:
		return d.txnIndex(ctx, in, r)
	case logdir.KindOffsetCheckpoint:
		return d.offsetCheckpoint(ctx, in, r)
	case logdir.KindLeaderEpochCheckpoint:
		return d.epochCheckpoint(ctx, in, r)
	}
	return d.small(in, r)
}

// openSegment opens a .log or .checkpoint file, or standard input.
func (in *input) openSegment() (*segment.File, error) {
	if in.stdin != nil {
		return segment.FromReader(in.path, in.stdin), nil
	}
	return segment.Open(in.path)
}
