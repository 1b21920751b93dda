package context

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"kf/internal/cli"
	"kf/internal/client"
	"kf/internal/contexts"
	"kf/internal/online"
)

// addOptions are the inputs of "kf context add".
type addOptions struct {
	Name        string
	Flags       online.Flags
	Secrets     []string // "key=env:NAME", "key=file:PATH", "key=command:…"
	Description string
	Protected   bool
	Replace     bool
	Use         bool
}

func newAddCommand(env *cli.Env) *cobra.Command {
	var opts addOptions
	cmd := &cobra.Command{
		Use:   "add NAME",
		Short: "Keep a cluster under a name",
		Long: `Keep a cluster under a name: its addresses, and the properties of Java clients that
reach it, from -X and --command-config. A secret can stay where it is: --secret says
where kf finds it each time. Nothing is sent to the cluster.`,
		Example: `  kf context add dev -b localhost:9092 --use
  kf context add prod -b broker1:9092,broker2:9092 --command-config client.properties --protected
  kf context add test -b broker:9093 -X security.protocol=SASL_SSL -X sasl.mechanism=SCRAM-SHA-512 \
      -X sasl.username=alice --secret sasl.password=env:TEST_PASSWORD
  kf context add ops -b broker:9093 --secret 'sasl.jaas.config=command:pass show kafka/ops'`,
		Args:              cli.Args(cobra.ExactArgs(1)),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.Name = args[0]
			values, err := opts.Flags.Given(cmd.Flags())
			if err != nil {
				return cli.Usage(err)
			}
			c, err := opts.context(env, values)
			if err != nil {
				return cli.Usage(err)
			}
			use := ""
			if opts.Use {
				use = c.Name
			}
			return Add(env, []contexts.Context{c}, opts.Replace, use)
		},
	}
	flags := cmd.Flags()
	opts.Flags.Add(env, cmd, flags)
	flags.Lookup("bootstrap-server").Usage = "the `addresses` of the cluster, host[:port],…"
	flags.StringArrayVar(&opts.Secrets, "secret", nil, "find a property each time: `key=where`, env:NAME, file:PATH or command:PROGRAM ARGUMENT…; repeatable")
	flags.StringVar(&opts.Description, "description", "", "`text` for 'kf context list'")
	flags.BoolVar(&opts.Protected, "protected", false, "ask before each change of this cluster")
	flags.BoolVar(&opts.Replace, "replace", false, "replace the context of this name")
	flags.BoolVar(&opts.Use, "use", false, "make it the current one")
	cli.NoFiles(cmd, "description", "secret")
	return cmd
}

// context returns the context that the options describe; values are those of the flags.
func (opts *addOptions) context(env *cli.Env, values []online.Value) (contexts.Context, error) {
	c := contexts.Context{Name: opts.Name, Description: opts.Description, Protected: opts.Protected}
	if err := contexts.CheckName(c.Name); err != nil {
		return c, err
	}
	var unknown []string
	for _, v := range slices.Backward(values) { // the first wins
		switch {
		case v.Name == client.BootstrapServers:
			c.Bootstrap = v.Value
		case online.Known(v.Name):
			c.Set(v.Property(env))
		case !slices.Contains(unknown, v.Name):
			unknown = append(unknown, v.Name)
		}
	}
	if len(unknown) > 0 {
		slices.Sort(unknown)
		env.Warnf("left out, as Kafka's clients have no such properties: %s", strings.Join(unknown, ", "))
	}
	if c.Bootstrap == "" {
		return c, errors.New("kf context add: which cluster? -b names its servers")
	}
	if err := checkServers(c.Bootstrap); err != nil {
		return c, err
	}
	for _, text := range opts.Secrets {
		name, where, ok := strings.Cut(text, "=")
		switch {
		case !ok:
			return c, errors.New("--secret: want key=where, such as sasl.password=env:PASSWORD")
		case !online.Known(name):
			return c, fmt.Errorf("--secret: %w", online.Unknown(name))
		}
		ref, err := contexts.ParseRef(where)
		if err != nil {
			return c, fmt.Errorf("--secret %s: %w", name, err)
		}
		if ref.File != "" {
			ref.File = online.Absolute(env, ref.File)
		}
		c.Set(contexts.Property{Name: name, Ref: ref})
	}
	slices.SortFunc(c.Properties, func(a, b contexts.Property) int { return strings.Compare(a.Name, b.Name) })
	return c, nil
}

// checkServers fails for what is no list of addresses.
func checkServers(servers string) error {
	cl, err := client.New(client.Options{
		Properties: client.Properties{client.BootstrapServers: {Value: servers, Origin: "bootstrap servers"}},
	})
	if err == nil {
		cl.Close()
	}
	return err
}

// Add adds contexts to those of the user: all, or none if one is there already and
// replace is not set. The one named use, if any, becomes the current one.
func Add(env *cli.Env, all []contexts.Context, replace bool, use string) error {
	current := ""
	err := update(env, func(f *contexts.File) error {
		for _, c := range all {
			if _, there := f.Find(c.Name); there && !replace {
				return fmt.Errorf("there is a context %s: --replace puts this one in its place", c.Name)
			}
			f.Put(c)
		}
		if use != "" {
			f.Use(use)
		}
		current = f.Current
		return nil
	})
	if err != nil {
		return err
	}
	for _, c := range all {
		env.Notef("context %s (%s) is kept", c.Name, c.Bootstrap)
	}
	switch {
	case use != "":
		env.Notef("context %s is the current one", use)
	case current == "":
		env.Notef("'kf context use %s' makes it the current one, which is used if nothing names another cluster", all[0].Name)
	}
	return nil
}
