package cmd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"kf/internal/broker"
	"kf/internal/cli"
	"kf/internal/format/metaprops"
	"kf/internal/image"
	"kf/internal/kafkaconf"
	"kf/internal/logdir"
	"kf/internal/render"
	"kf/internal/storage/disk"
)

// stopTime is how long a stop waits for clients before it cuts them off.
const stopTime = 10 * time.Second

// serveOptions are the inputs of "kf serve".
type serveOptions struct {
	DataDir    string   // "" for a temporary one
	Listen     string   // HOST:PORT; "" for what the settings or the default say
	Advertise  string   // HOST:PORT that clients are told
	Topics     []string // name[:partitions]
	Settings   []string // key=value, Kafka's broker keys
	Properties string   // path of a server.properties
	ReadyFile  string   // gets the bootstrap address
	Release    string   // of Kafka, for a new directory
	Insecure   bool     // listen on other addresses than loopback
	Sync       bool
	LogLevel   logLevel
	Output     render.Format
	Command    []string // CMD…
}

// defaultListen is the address without --listen.
const defaultListen = "127.0.0.1:9092"

func newServeCommand(env *cli.Env) *cobra.Command {
	opts := serveOptions{LogLevel: logLevel{slog.LevelInfo}}
	cmd := &cobra.Command{
		Use:   "serve [flags] [-- CMD...]",
		Short: "Run a Kafka broker that keeps its data in Kafka's own files",
		Long: `Run a Kafka broker. Any Kafka client can use it. What it writes is a data
directory that Apache Kafka starts on, and it starts on one that Apache Kafka
wrote: stop one, start the other.

Without --data-dir the data are temporary: they are gone when it stops. One line on
standard output says when it is ready and where; with -o json it has the fields
bootstrap, cluster_id, node_id, data_dir (with commas between several) and pid. The
log goes to standard error. SIGINT (Ctrl-C), SIGTERM and SIGHUP stop it cleanly. After
a kill the next start recovers what was not yet on the disk.

With -- CMD it runs a command against a fresh broker on a free port and ends with
its exit status. The command finds the address in KAFKA_BOOTSTRAP_SERVERS and
KF_BOOTSTRAP_SERVERS. The exit code is 125 if the broker could not start, 126 or 127
if the command could not, and 128+N if signal N ended it.

It listens on the loopback interface only. Another address needs --insecure-listen:
everyone who reaches it may read, write and delete everything.

-c and --properties take Kafka's names for broker settings. One that kf does not
support is named in a warning. "kf help deviations" lists what differs from Kafka.`,
		Example: `  # a broker on 127.0.0.1:9092 with a topic of 6 partitions; Ctrl-C stops it
  kf serve --data-dir data --topic orders:6
  # run tests against a broker of their own
  kf serve --topic orders:6 -- go test ./...
  # a free port, for scripts: wait for the file, which goes when the broker stops
  kf serve --listen 127.0.0.1:0 --ready-file addr & broker=$!
  until [ -s addr ]; do kill -0 $broker || exit; sleep 0.1; done
  run-tests "$(cat addr)"; kill $broker; wait $broker
  # take over the directories of a Kafka broker that was stopped, with its settings
  kf serve --properties /etc/kafka/server.properties
  # in a container, for clients outside of it
  kf serve --listen 0.0.0.0:9092 --insecure-listen --advertise localhost:9092`,
		Args: cli.Args(func(cmd *cobra.Command, args []string) error {
			if dash := cmd.ArgsLenAtDash(); dash > 0 || dash < 0 && len(args) > 0 {
				return fmt.Errorf("unexpected argument %q: a command to run comes after --", args[0])
			}
			if cmd.ArgsLenAtDash() == 0 && len(args) == 0 {
				return errors.New("no command after --")
			}
			return nil
		}),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.Command = args
			// An empty value is most often a variable of a script that is not set.
			for _, name := range []string{"data-dir", "listen", "advertise", "properties", "ready-file", "kafka-version"} {
				if f := cmd.Flags().Lookup(name); f.Changed && f.Value.String() == "" {
					return cli.Usagef("--%s: the value is empty", name)
				}
			}
			if (len(args) > 0 || env.Quiet) && !cmd.Flags().Changed("log-level") {
				opts.LogLevel = logLevel{slog.LevelWarn}
			}
			return serve(cmd.Context(), env, opts)
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&opts.DataDir, "data-dir", "d", "", "keep the data in `folder`, which is made if need be (default: a temporary one)")
	flags.StringVarP(&opts.Listen, "listen", "l", "", "listen on `host:port`; port 0 takes a free one (default "+defaultListen+"; with CMD 127.0.0.1:0)")
	flags.StringVar(&opts.Advertise, "advertise", "", "tell clients to connect to `host:port` instead of the address listened on; port 0 is the one listened on")
	flags.BoolVar(&opts.Insecure, "insecure-listen", false, "allow --listen on an address that other machines reach, without authentication")
	flags.StringArrayVarP(&opts.Topics, "topic", "t", nil, "create the topic `name[:partitions]` unless it is there (may be repeated)")
	flags.StringArrayVarP(&opts.Settings, "config-entry", "c", nil, "set a broker setting, as `key=value` with Kafka's names (may be repeated)")
	flags.StringVar(&opts.Properties, "properties", "", "read broker settings from `file`, a server.properties of Kafka; -c and flags win")
	flags.StringVar(&opts.ReadyFile, "ready-file", "", "write the bootstrap address to `file` when ready")
	flags.StringVar(&opts.Release, "kafka-version", "", "give a new data directory the features of this Kafka `release`: "+strings.Join(image.Releases(), ", "))
	flags.BoolVar(&opts.Sync, "sync", false, "acknowledge records only once they are on the disk (default: once the operating system has them, as Kafka)")
	flags.Var(&opts.LogLevel, "log-level", "log from this `level` on: debug, info, warn or error (with CMD or --quiet: warn)")
	render.Flag(cmd, &opts.Output)
	// These fail only for a flag that is not there.
	_ = cmd.MarkFlagDirname("data-dir")
	_ = cmd.MarkFlagFilename("properties", "properties")
	_ = cmd.RegisterFlagCompletionFunc("kafka-version", cli.Complete(image.Releases()...))
	_ = cmd.RegisterFlagCompletionFunc("log-level", cli.Complete(logLevels...))
	_ = cmd.RegisterFlagCompletionFunc("config-entry", completeBrokerKeys)
	for _, name := range []string{"listen", "advertise", "topic"} {
		_ = cmd.RegisterFlagCompletionFunc(name, cobra.NoFileCompletions)
	}
	return cmd
}

func completeBrokerKeys(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	var all []string
	for _, k := range kafkaconf.BrokerKeys() {
		if k.Internal {
			continue
		}
		all = append(all, cobra.CompletionWithDesc(k.Name+"=", k.Doc))
	}
	return all, cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
}

// A logLevel is the value of --log-level.
type logLevel struct{ slog.Level }

var logLevels = []string{"debug", "info", "warn", "error"}

func (l *logLevel) String() string { return strings.ToLower(l.Level.String()) }
func (l *logLevel) Type() string   { return "level" }
func (l *logLevel) Set(s string) error {
	if !slices.Contains(logLevels, s) {
		return fmt.Errorf("must be one of %s", strings.Join(logLevels, ", "))
	}
	return l.UnmarshalText([]byte(s))
}

// readyRow is what -o json and the like print when the broker is ready.
type readyRow struct {
	Bootstrap string `col:"bootstrap"`
	ClusterID string `col:"cluster_id"`
	NodeID    int32  `col:"node_id"`
	DataDir   string `col:"data_dir"` // with commas between several, as in log.dirs
	PID       int    `col:"pid"`
}

// serve runs the broker until ctx ends, or CMD does.
func serve(ctx context.Context, env *cli.Env, opts serveOptions) (err error) {
	o, err := opts.broker(env)
	if err != nil {
		return cli.Usage(err)
	}
	started := false
	if len(opts.Command) == 0 {
		// The terminal is gone: stop as Kafka does, unless started by nohup.
		if !signal.Ignored(syscall.SIGHUP) {
			var stop context.CancelFunc
			ctx, stop = signal.NotifyContext(ctx, syscall.SIGHUP)
			defer stop()
			context.AfterFunc(ctx, stop)
		}
	} else {
		// Signals are for CMD then: the broker stops after it.
		ctx = context.WithoutCancel(ctx)
		defer func() {
			if !started && err != nil {
				err = cli.WithStatus(exitNoBroker, err)
			}
		}()
	}
	o.Log = slog.New(slog.NewTextHandler(env.Stderr, &slog.HandlerOptions{Level: opts.LogLevel.Level}))
	if opts.ReadyFile != "" {
		// One that a kill left would tell of a broker that is gone.
		if err := removeFile(opts.ReadyFile); err != nil {
			return fmt.Errorf("--ready-file: %w", err)
		}
	}
	if len(o.Dirs) == 0 {
		dir, err := os.MkdirTemp("", "kf-serve-")
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
		o.Dirs, o.FS = []string{dir}, disk.NoSync(disk.OS)
	}
	if err := makeDirs(o.Dirs); err != nil {
		return err
	}
	if o.NodeID < 0 {
		if o.NodeID, err = nodeIDOf(o.Dirs[0]); err != nil {
			return err
		}
	}
	dirs := slices.Clone(o.Dirs)
	for i, dir := range dirs {
		if dirs[i], err = filepath.Abs(dir); err != nil {
			return err
		}
	}
	row := readyRow{NodeID: o.NodeID, DataDir: strings.Join(dirs, ","), PID: os.Getpid()}
	o.Log.Info("starting", "version", env.Build.Version, "pid", row.PID, "node", row.NodeID, "dirs", row.DataDir)
	b, err := broker.New(o)
	if err != nil {
		return err
	}
	if err := b.Start(ctx); err != nil {
		if ctx.Err() != nil {
			return nil // stopped before it was ready, which is what was asked for
		}
		return startError(err)
	}
	started = true
	defer func() {
		deadline, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTime)
		defer cancel()
		if stop := b.Shutdown(deadline); stop != nil {
			err = errors.Join(err, fmt.Errorf("the stop was not clean: %w", stop))
		}
	}()
	if opts.ReadyFile != "" {
		if err := disk.Replace(disk.OS, opts.ReadyFile, []byte(b.Addr()+"\n")); err != nil {
			return fmt.Errorf("--ready-file: %w", err)
		}
		defer func() { err = errors.Join(err, removeFile(opts.ReadyFile)) }()
	}
	if len(opts.Command) > 0 {
		return runChild(env, b.Addr(), opts.Command)
	}
	row.Bootstrap, row.ClusterID = b.Addr(), b.ClusterID()
	if err := ready(env, opts.Output, row); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return nil
	case err := <-b.Failed():
		return err
	}
}

// startError adds what to do to errors of a start that have a way out.
func startError(err error) error {
	switch {
	case errors.Is(err, disk.ErrLocked):
		return fmt.Errorf("%w: stop the broker that runs on it, or name another --data-dir", err)
	case errors.Is(err, syscall.EADDRINUSE):
		return fmt.Errorf("%w: stop the program that listens there, or name another port (0 takes a free one)", err)
	}
	return err
}

// removeFile removes a file that may not be there. It removes no directory.
func removeFile(name string) error {
	info, err := os.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.IsDir():
		return fmt.Errorf("%s is a directory", name)
	}
	if err := os.Remove(name); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// ready prints the one line that says that clients can connect.
func ready(env *cli.Env, format render.Format, row readyRow) error {
	if format == render.Table {
		_, err := fmt.Fprintf(env.Stdout, "kf serve is ready: %s\n", row.Bootstrap)
		return err
	}
	// A program waits for this line: it must not wait for the end of a document.
	if format == render.JSON {
		format = render.JSONLines
	}
	w := render.New[readyRow](env.Stdout, format, render.Options{Command: "serve"})
	if err := w.Write(row); err != nil {
		return err
	}
	return w.Close()
}

// makeDirs makes the log directories that are not there.
func makeDirs(dirs []string) error {
	for _, dir := range dirs {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	return nil
}

// nodeIDOf returns the node id of a data directory, 1 for a new one.
func nodeIDOf(dir string) (int32, error) {
	name := filepath.Join(dir, logdir.NameMetaProperties)
	text, err := disk.ReadFile(disk.OS, name, 1<<20)
	if errors.Is(err, fs.ErrNotExist) {
		return 1, nil
	}
	if err != nil {
		return 0, err
	}
	m, err := metaprops.Decode(text)
	switch {
	case err != nil:
		return 0, fmt.Errorf("%s: %w", name, err)
	case m.NodeID == nil:
		return 0, fmt.Errorf("%s: no node.id: name it with -c node.id=N", name)
	}
	return *m.NodeID, nil
}
