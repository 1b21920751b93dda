package dump

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"kf/internal/cli"
	"kf/internal/dumptext"
	"kf/internal/format/batch"
	"kf/internal/logdir"
	"kf/internal/render"
	"kf/internal/segment"
)

const (
	logName      = "dump-log"
	kafkaVersion = "4.4.0" // whose kafka-dump-log.sh this command prints like

	defaultMaxBytes       = math.MaxInt32
	defaultMaxMessageSize = 5 << 20
	defaultMaxInflated    = 128 << 20
)

// LogOptions are the inputs of "kf dump-log". The names are those of Kafka's
// options.
type LogOptions struct {
	Files         []string
	PrintData     bool
	DeepIteration bool
	SkipMetadata  bool
	SanityOnly    bool // indexes: only the check of a starting broker
	VerifyOnly    bool // indexes: compare with the log, print no entries

	// Kafka looks at these only where it needs them.
	maxBytes, maxMessageSize, keyDecoder, valueDecoder single
	topics                                             [5]bool // by dumptext.Topic

	Output render.Format
	Limits
}

// Limits bound what the contents of a file can make kf do.
type Limits struct {
	MaxBatch    int64 // refuse larger batches, in bytes
	MaxInflated int   // refuse batches that inflate to more bytes
	Resync      bool  // behind damage, search for the next sound batch
}

func (l *Limits) addFlags(cmd *cobra.Command) {
	cmd.Flags().Int64Var(&l.MaxBatch, "max-batch", segment.DefaultMaxBatch, "do not read the records of batches larger than this many `bytes`")
	cmd.Flags().IntVar(&l.MaxInflated, "max-inflated", defaultMaxInflated, "do not read batches whose records inflate to more than this many `bytes`")
	cmd.Flags().BoolVar(&l.Resync, "resync", false, "behind damage, search for the next sound batch and go on")
	cli.NoFiles(cmd, "max-batch", "max-inflated")
}

// NewLogCommand returns "kf dump-log".
func NewLogCommand(env *cli.Env) *cobra.Command {
	opts := LogOptions{
		maxBytes:       single{name: "max-bytes", def: fmt.Sprint(defaultMaxBytes)},
		maxMessageSize: single{name: "max-message-size", def: fmt.Sprint(defaultMaxMessageSize)},
		keyDecoder:     single{name: "key-decoder-class", def: stringDecoder},
		valueDecoder:   single{name: "value-decoder-class", def: stringDecoder},
	}
	files := single{name: "files"}
	var version bool
	cmd := &cobra.Command{
		Use:   logName + " [flags] [--files file,...] [file...]",
		Short: "Print a segment, index or snapshot as kafka-dump-log.sh does",
		Long: `Print segments, metadata snapshots, indexes, transaction indexes and producer
snapshots with the options and in the text of kafka-dump-log.sh of Kafka ` + kafkaVersion + `.

Standard output is the same to the byte. What Kafka answers with a stack trace is
one line on standard error. Damage makes the exit code 3, also where Kafka's tool
returns 0; reports that it makes on sound files do not: gaps of compaction, a first
offset above 0, preallocated zeros.

The text is the default whatever the setting "output" says; -o on the command line
prints the rows of "kf dump" instead, as a table with "-o table".

Text goes out as UTF-8 in every locale. The decoder classes are those that come
with Kafka: StringDecoder, IntegerDecoder, LongDecoder, DefaultDecoder.`,
		Example: `  kf dump-log --files 00000000000000000000.log
  kf dump-log --print-data-log 00000000000000000000.log | less
  kf dump-log --offsets-decoder --files __consumer_offsets-12/00000000000000000000.log
  kf dump-log --index-sanity-check --files 00000000000000000000.index,00000000000000000000.timeindex
  kf dump-log --deep-iteration -o jsonl 00000000000000000000.log | jq .offset`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if version {
				_, err := fmt.Fprintln(env.Stdout, kafkaVersion)
				return err
			}
			if files.given() {
				v, err := files.value()
				if err != nil {
					return err
				}
				opts.Files = splitFiles(v)
			} else if len(args) == 0 {
				return cli.Usagef("%s: which files? give --files or their names", cmd.CommandPath())
			}
			opts.Files = append(opts.Files, args...)
			if cmd.Flags().Changed("output") { // not by a setting: scripts expect Kafka's text
				return DumpLogRows(cmd.Context(), env, opts)
			}
			return DumpLog(cmd.Context(), env, opts)
		},
	}
	f := cmd.Flags()
	f.Var(&files, "files", "dump these `files`, separated by commas")
	f.BoolVar(&opts.PrintData, "print-data-log", false, "print keys and values of the records; any decoder does so too")
	f.BoolVar(&opts.DeepIteration, "deep-iteration", false, "print a line for each record; --print-data-log does so too")
	f.BoolVar(&opts.SkipMetadata, "skip-record-metadata", false, "print only keys and values of the records, and no control records")
	f.Var(&opts.maxBytes, "max-bytes", "look only at the first `bytes` of each segment or metadata snapshot (default all)")
	f.Var(&opts.maxMessageSize, "max-message-size", fmt.Sprintf("index: refuse batches larger than this many `bytes` (default %d)", defaultMaxMessageSize))
	f.BoolVar(&opts.SanityOnly, "index-sanity-check", false, "indexes: only the check of a starting broker")
	f.BoolVar(&opts.VerifyOnly, "verify-index-only", false, "indexes: compare with the log, print no entries")
	f.Var(&opts.keyDecoder, "key-decoder-class", "decode keys with this `class` of Kafka's (default StringDecoder)")
	f.Var(&opts.valueDecoder, "value-decoder-class", "decode values with this `class` of Kafka's (default StringDecoder)")
	f.Lookup("key-decoder-class").NoOptDefVal = bareValue
	f.Lookup("value-decoder-class").NoOptDefVal = bareValue
	for topic := range opts.topics {
		name := decoderFlags[topic]
		f.BoolVar(&opts.topics[topic], name, false, "decode the records of "+dumptext.Topic(topic).String())
	}
	f.BoolVar(&version, "version", false, "print the version of the kafka-dump-log.sh that this is like")
	opts.addFlags(cmd)
	render.Flag(cmd, &opts.Output)
	cmd.ValidArgsFunction = completeLogFiles
	_ = cmd.RegisterFlagCompletionFunc("files", completeLogFileList)
	cli.NoFiles(cmd, "max-bytes", "max-message-size")
	decoders := cli.Complete(stringDecoder, toolsAPI+"IntegerDecoder", toolsAPI+"LongDecoder", toolsAPI+"DefaultDecoder")
	_ = cmd.RegisterFlagCompletionFunc("key-decoder-class", decoders)
	_ = cmd.RegisterFlagCompletionFunc("value-decoder-class", decoders)
	return cmd
}

// decoderFlags names the flag of each topic.
var decoderFlags = [...]string{
	dumptext.ConsumerOffsets:   "offsets-decoder",
	dumptext.TransactionState:  "transaction-log-decoder",
	dumptext.ClusterMetadata:   "cluster-metadata-decoder",
	dumptext.RemoteLogMetadata: "remote-log-metadata-decoder",
	dumptext.ShareGroupState:   "share-group-state-decoder",
}

// Kafka asks for the topics in this order; the first one given decodes.
var decoderOrder = [...]dumptext.Topic{
	dumptext.ConsumerOffsets, dumptext.TransactionState, dumptext.ClusterMetadata,
	dumptext.RemoteLogMetadata, dumptext.ShareGroupState,
}

// printData reports whether keys and values are printed.
func (o *LogOptions) printData() bool {
	return o.PrintData || o.keyDecoder.given() || o.valueDecoder.given() || o.topics != [5]bool{}
}

func (o *LogOptions) deep() bool { return o.DeepIteration || o.printData() }

func (o *LogOptions) decoder() (dumptext.Decoder, error) {
	for _, topic := range decoderOrder {
		if o.topics[topic] {
			return topic, nil
		}
	}
	value, err := o.valueDecoder.value()
	if err != nil {
		return nil, err
	}
	key, err := o.keyDecoder.value()
	if err != nil {
		return nil, err
	}
	d := classDecoder{text: isText(key) && isText(value)}
	if d.value, err = classByName(value); err != nil {
		return nil, err
	}
	d.key, err = classByName(key)
	return d, err
}

// A logDump is one run of "kf dump-log".
type logDump struct {
	env     *cli.Env
	opts    LogOptions
	out     io.Writer
	damaged bool // something was found that makes the exit code 3
	reports logReports
	buf     []byte
}

// damage makes err one that ends the run as an exception ends Kafka's: files
// that come later are not looked at, and nothing is reported on those before.
func damage(err error) error { return cli.Found(err) }

// DumpLog prints opts.Files as kafka-dump-log.sh does.
func DumpLog(ctx context.Context, env *cli.Env, opts LogOptions) error {
	d := &logDump{env: env, opts: opts, out: env.Stdout}
	for _, path := range opts.Files {
		if err := d.file(ctx, javaPath(path)); err != nil {
			if d.damaged && cli.ExitCode(err) == cli.ExitFailed {
				err = cli.Found(err)
			}
			return err
		}
	}
	d.reports.print(env.Stderr)
	if d.damaged {
		return cli.ErrFindings
	}
	return nil
}

func (d *logDump) printf(format string, a ...any) error {
	d.buf = fmt.Appendf(d.buf[:0], format, a...)
	_, err := d.out.Write(d.buf)
	return err
}

// found reports damage that does not end the run.
func (d *logDump) found(err error) {
	d.damaged = true
	d.env.Errorf("%v", err)
}

func (d *logDump) file(ctx context.Context, path string) error {
	if err := d.printf("Dumping %s\n", path); err != nil {
		return err
	}
	name := path[strings.LastIndexByte(path, '/')+1:]
	switch name[max(strings.LastIndexByte(name, '.'), 0):] {
	case ".log", ".checkpoint":
		return d.segment(ctx, path, name)
	case ".index":
		return d.offsetIndex(ctx, path, name)
	case ".timeindex":
		return d.timeIndex(ctx, path, name)
	case ".snapshot":
		return d.producerSnapshot(path)
	case ".txnindex":
		return d.txnIndex(path, name)
	}
	_, err := fmt.Fprintf(d.env.Stderr, "Ignoring unknown file %s\n", path)
	return err
}

// segment prints a .log or .checkpoint file.
func (d *logDump) segment(ctx context.Context, path, name string) error {
	decoder, err := d.opts.decoder()
	if err != nil {
		return err
	}
	maxBytes, err := d.opts.maxBytes.int()
	if err != nil {
		return err
	}
	base := int64(unknownBase)
	switch {
	case strings.HasSuffix(name, ".log"):
		if base, err = baseOffset(name); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		err = d.printf("Log starting offset: %d\n", base)
	case name == logdir.NameBootstrap:
		err = d.printf("KRaft bootstrap snapshot\n")
	default:
		var offset int64
		var epoch int32
		if offset, epoch, err = snapshotID(name); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		err = d.printf("Snapshot end offset: %d, epoch: %d\n", offset, epoch)
	}
	if err != nil {
		return err
	}
	f, err := segment.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if maxBytes < 0 {
		return cli.Usagef("--max-bytes: %d is below 0", maxBytes)
	}
	s := segment.NewScanner(f, 0)
	s.MaxBatch, s.Resync = d.opts.MaxBatch, d.opts.Resync
	if maxBytes != defaultMaxBytes {
		s.Limit = int64(maxBytes)
	}
	progress := d.env.Progress(max(f.Size, 0), path)
	defer progress.Done()
	p := &segmentPrinter{
		dump: d, path: path, name: name, decoder: decoder,
		print: d.opts.printData(), deep: d.opts.deep(), skip: d.opts.SkipMetadata,
		whole: maxBytes == defaultMaxBytes, lastOffset: -1, sequence: newSequence(base),
	}
	big := new(batch.BigBuffer)
	return segment.Process(ctx, s, d.out, func() segment.Work {
		work := p.newWork(&batch.Decoder{MaxInflated: d.opts.MaxInflated, Big: big})
		return func(c *segment.Chunk, out *segment.Output) (func() error, error) {
			inOrder, err := work(c, out)
			progress.Add(c.Size)
			return inOrder, err
		}
	})
}

// snapshotID takes offset and epoch from where they stand in the name of a
// metadata snapshot; what follows does not matter.
func snapshotID(name string) (int64, int32, error) {
	const offsetEnd, epochStart, epochEnd = 20, 21, 31
	if len(name) >= epochEnd {
		offset, err1 := baseOffset(name[:offsetEnd])
		epoch, err2 := baseOffset(name[epochStart:epochEnd])
		if err1 == nil && err2 == nil && epoch == int64(int32(epoch)) {
			return offset, int32(epoch), nil
		}
	}
	return 0, 0, errors.New("the name of a metadata snapshot is <20 digits>-<10 digits>.checkpoint")
}

// absolute is the path that Kafka's reports name: the working directory in
// front, nothing cleaned.
func absolute(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	wd, err := filepath.Abs(".")
	if err != nil {
		return path
	}
	return wd + "/" + path
}
