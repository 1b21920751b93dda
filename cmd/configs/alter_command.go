package configs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"kf/internal/cli"
	"kf/internal/client"
	"kf/internal/kafkaconf"
	"kf/internal/online"
	"kf/internal/render"
)

// alterFlags are the flags that say what is changed.
type alterFlags struct {
	set, deletions, appended, subtracted []string
	fromFile                             string

	// As kafka-configs has them.
	addConfig, deleteConfig []string
	addConfigFile           string

	scram        string
	iterations   int64
	passwordFile string
	passwordEnv  string
}

func newAlterCommand(env *cli.Env, conn *online.Connection) *cobra.Command {
	var opts AlterOptions
	var flags alterFlags
	var selected selection
	cmd := &cobra.Command{
		Use:   "alter <type> <name>... | <type:name>...",
		Short: "Set and delete configurations, quotas and credentials",
		Long: `kf configs alter changes what is set for topics, brokers and other entities and prints
each key with its value before and after. Only the keys that are named are changed, by
the incremental API: nothing is read and written back. An entity is changed as a whole
or not at all; if one of several fails the others are still changed, and the exit code
is 1.

The value of --set, --append and --subtract is all that stands behind the first equals
sign. --append and --subtract add elements to a list and take them away. To delete what
is not set is an error, unless --if-set is given.

--from-file reads Java properties, or what "kf configs describe" wrote with -o json or
jsonl: without entities on the command line those of the file get their values back, and
with --delete-all nothing but these.

A dry run asks the cluster whether it would do it. Credentials are the exception: Kafka
cannot say. --scram asks for the password on the terminal, or reads a file or a variable;
a password in --set can be seen by all users of the machine.

The flags of kafka-configs are known too: --add-config, --add-config-file and
--delete-config, and those that name entities.`,
		Example: `  kf configs alter topic orders --set retention.ms=86400000 --set cleanup.policy=compact,delete
  kf configs alter topic --regex 'tmp-.*' --set retention.ms=3600000 --dry-run
  kf configs alter topic orders --append cleanup.policy=compact
  kf configs alter broker-defaults --delete log.cleaner.threads
  kf configs alter broker-logger 1 --set kafka.server.KafkaApis=DEBUG
  kf configs alter user alice --set producer_byte_rate=1048576
  kf configs alter user:alice,client:app --set request_percentage=50
  kf configs alter user alice --scram SCRAM-SHA-512 --password-file alice.secret
  kf configs describe topic -o json > topics.json; kf configs alter --from-file topics.json
  kf configs alter --entity-type topics --entity-name orders --add-config retention.ms=1000`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := flags.read(cmd, env, &opts, &selected, args); err != nil {
				return err
			}
			return conn.Run(cmd, func(ctx context.Context, cl *client.Client) error {
				allow := func(what string, destroy bool) error {
					return conn.Allow(cl, online.Change{What: what, Destroy: destroy})
				}
				return Alter(ctx, env, cl, allow, opts)
			})
		},
	}
	f := cmd.Flags()
	f.StringArrayVar(&flags.set, "set", nil, "set a key: `key=value`; this flag, and those for other changes, may be given more than once")
	f.StringArrayVar(&flags.deletions, "delete", nil, "delete `keys`, so that what is inherited holds")
	f.StringArrayVar(&flags.appended, "append", nil, "add elements to a list: `key=value`,…")
	f.StringArrayVar(&flags.subtracted, "subtract", nil, "take elements away from a list: `key=value`,…")
	f.StringVar(&flags.fromFile, "from-file", "", "set what this `file` says, - for standard input")
	f.BoolVar(&opts.DeleteAll, "delete-all", false, "delete all that is set and not changed by another flag")
	f.BoolVar(&opts.IfSet, "if-set", false, "pass over deletions of what is not set")
	f.BoolVar(&opts.DryRun, "dry-run", false, "change nothing, let the cluster say whether it would")
	f.StringVar(&flags.scram, "scram", "", "set a credential of this `mechanism`: SCRAM-SHA-256 or SCRAM-SHA-512")
	f.Int64Var(&flags.iterations, "iterations", defaultIterations, "the `number` of iterations of the credential")
	f.StringVar(&flags.passwordFile, "password-file", "", "read the password from this `file`, - for standard input; a line feed at its end does not count")
	f.StringVar(&flags.passwordEnv, "password-env", "", "take the password from this `variable` of the environment")
	f.StringArrayVar(&flags.addConfig, "add-config", nil, "set keys, as kafka-configs does: `pairs`")
	f.StringVar(&flags.addConfigFile, "add-config-file", "", "the same as --from-file `file`")
	f.StringArrayVar(&flags.deleteConfig, "delete-config", nil, "the same as --delete `keys`")
	for _, name := range []string{"add-config", "add-config-file", "delete-config"} {
		_ = f.MarkHidden(name) // fails only for a flag that is not there
	}
	cmd.MarkFlagsMutuallyExclusive("password-file", "password-env")
	cmd.MarkFlagsMutuallyExclusive("from-file", "add-config-file")
	conn.ControllerFlag(cmd)
	selected.flags(cmd, conn)
	flags.complete(cmd, conn, &selected)
	conn.YesFlag(cmd)
	render.Flag(cmd, &opts.Output)
	return cmd
}

// complete gives the flags their completions.
func (f *alterFlags) complete(cmd *cobra.Command, conn *online.Connection, selected *selection) {
	changeable := func(_ Entity, x *entry) bool { return !x.readOnly && !x.sensitive }
	list := func(_ Entity, x *entry) bool { return !x.readOnly && x.typ == "LIST" }
	set := func(e Entity, x *entry) bool { return x.setHere(e) }
	none := func(*kind) []string { return nil }
	lists := func(k *kind) []string {
		return slices.DeleteFunc(keyNames(k), func(name string) bool {
			key, ok := tableKey(Entity{kind: k}, name)
			return !ok || key.Type != kafkaconf.List
		})
	}
	for name, complete := range map[string]cobra.CompletionFunc{
		"set":      completeKeys(conn, selected, "=", changeable, keyNames),
		"append":   completeKeys(conn, selected, "=", list, lists),
		"subtract": completeKeys(conn, selected, "=", list, lists),
		"delete":   completeKeys(conn, selected, "", set, none),
		"scram":    cli.Complete(slices.Sorted(maps.Keys(mechanisms))...),
	} {
		_ = cmd.RegisterFlagCompletionFunc(name, complete) // fails only for a flag that is not there
	}
	cli.NoFiles(cmd, "iterations", "password-env")
}

// read reads the flags into opts.
func (f *alterFlags) read(cmd *cobra.Command, env *cli.Env, opts *AlterOptions, selected *selection, args []string) error {
	usage := func(err error) error { return cli.Usagef("%s: %w", cmd.CommandPath(), err) }
	var err error
	if opts.selectors, err = selected.selectors(args); err != nil {
		return usage(err)
	}
	var all []change
	for _, parse := range []func() ([]change, error){
		func() ([]change, error) { return parsePairs(client.SetConfig, f.set) },
		f.parseAdded,
		func() ([]change, error) { return parsePairs(client.AppendConfig, f.appended) },
		func() ([]change, error) { return parsePairs(client.SubtractConfig, f.subtracted) },
		func() ([]change, error) { return parseDeletions("--delete", f.deletions) },
		func() ([]change, error) { return parseDeletions("--delete-config", f.deleteConfig) },
	} {
		changes, err := parse()
		if err != nil {
			return usage(err)
		}
		all = append(all, changes...)
	}
	if slices.ContainsFunc(all, func(c change) bool { return isCredential(&c) && password(c.value) }) {
		env.Warnf("a password on the command line can be seen by all users of this machine: --scram keeps it off")
	}
	opts.changes = all
	if err := f.readFile(cmd.Context(), env, opts); err != nil {
		return err
	}
	if err := f.readCredential(cmd, env, opts); err != nil {
		return err
	}
	if err := opts.Validate(); err != nil {
		return usage(err)
	}
	return nil
}

func (f *alterFlags) parseAdded() ([]change, error) {
	var all []change
	for _, text := range f.addConfig {
		changes, err := parseAddConfig(text)
		if err != nil {
			return nil, err
		}
		all = append(all, changes...)
	}
	return all, nil
}

// readFile reads the file of --from-file. Without entities on the command line it says
// for which its values are.
func (f *alterFlags) readFile(ctx context.Context, env *cli.Env, opts *AlterOptions) error {
	path := f.fromFile + f.addConfigFile
	if path == "" {
		return nil
	}
	in, name, err := env.Open(ctx, path)
	if err != nil {
		return err
	}
	defer in.Close()
	changes, err := readChanges(name, in, env.Warnf)
	if err != nil {
		return err
	}
	if len(changes) == 0 {
		return fmt.Errorf("%s: there is nothing in it to set", name)
	}
	if len(opts.selectors) > 0 {
		of := make(map[string]bool)
		for _, c := range changes {
			of[c.entity] = true
			opts.changes = append(opts.changes, c.change)
		}
		if len(of) > 1 {
			names := slices.Sorted(maps.Keys(of))
			return fmt.Errorf("%s has values for %s, …: name no entity, and each gets its own, or give a file about one", name, strings.Join(names[:2], ", "))
		}
		return nil
	}
	opts.own = make(map[Entity][]change)
	for _, c := range changes {
		if c.entity == "" {
			return cli.Usagef("%s: %w", name, errNothingNamed)
		}
		e, err := parseEntity(c.entity)
		if err != nil {
			return err
		}
		if opts.own[e] == nil {
			opts.entities = append(opts.entities, e)
		}
		opts.own[e] = append(opts.own[e], c.change)
	}
	return nil
}

// readCredential adds the credential of --scram.
func (f *alterFlags) readCredential(cmd *cobra.Command, env *cli.Env, opts *AlterOptions) error {
	usage := func(err error) error { return cli.Usagef("%s: %w", cmd.CommandPath(), err) }
	if f.scram == "" {
		for _, name := range []string{"iterations", "password-file", "password-env"} {
			if cmd.Flags().Changed(name) {
				return usage(fmt.Errorf("--%s goes with --scram", name))
			}
		}
		return nil
	}
	mechanism := strings.ToUpper(f.scram)
	if _, ok := mechanisms[mechanism]; !ok {
		return usage(fmt.Errorf("--scram %s: want %s", f.scram, strings.Join(slices.Sorted(maps.Keys(mechanisms)), " or ")))
	}
	if err := checkIterations(f.iterations); err != nil {
		return usage(fmt.Errorf("--iterations: %w", err))
	}
	c := change{op: client.SetConfig, key: mechanism, from: "--scram", iterations: int32(f.iterations)}
	// Who asks for what cannot be is told so before anybody types a password.
	opts.changes = append(opts.changes, c)
	if err := opts.Validate(); err != nil {
		return usage(err)
	}
	secret, err := f.password(cmd.Context(), env)
	opts.changes[len(opts.changes)-1].value = secret
	return err
}

// password returns the password of the credential.
func (f *alterFlags) password(ctx context.Context, env *cli.Env) (string, error) {
	switch {
	case f.passwordEnv != "":
		secret := env.Getenv(f.passwordEnv)
		if secret == "" {
			return "", fmt.Errorf("--password-env: %s is not set", f.passwordEnv)
		}
		return secret, nil
	case f.passwordFile != "":
		in, name, err := env.Open(ctx, f.passwordFile)
		if err != nil {
			return "", err
		}
		defer in.Close()
		const most = 64 << 10
		text, err := io.ReadAll(io.LimitReader(in, most+1))
		secret := strings.TrimRight(string(text), "\r\n")
		switch {
		case err != nil:
			return "", fmt.Errorf("%s: %w", name, err)
		case secret == "", len(text) > most:
			return "", fmt.Errorf("%s: want a password", name)
		}
		return secret, nil
	}
	secret, err := env.Secret("Password")
	if errors.Is(err, cli.ErrNoTerminal) {
		return "", cli.Usagef("--scram: nobody to ask for the password, as standard input is no terminal: give --password-file or --password-env")
	}
	return secret, err
}
