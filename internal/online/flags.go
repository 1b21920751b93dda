package online

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"kf/internal/cli"
	"kf/internal/client"
)

// Flags are the flags that say how to reach a cluster.
type Flags struct {
	Bootstrap     string
	Controllers   string   // see [Connection.ControllerFlag]
	Properties    []string // "key=value"
	CommandConfig string   // path of a properties file
	Context       string

	given map[string]bool // by name: the empty value is one
}

// Add adds the flags to fs, that of cmd, but for that of a context.
func (f *Flags) Add(env *cli.Env, cmd *cobra.Command, fs *pflag.FlagSet) {
	fs.StringVarP(&f.Bootstrap, "bootstrap-server", "b", "", "ask the cluster at these `addresses`, host[:port],…")
	fs.StringArrayVarP(&f.Properties, "property", "X", nil, "set a property of Java clients: `key=value`, repeatable")
	fs.StringVar(&f.CommandConfig, "command-config", "", "read properties of Java clients from this `file`")
	// These fail only for a flag that is not there.
	_ = cmd.RegisterFlagCompletionFunc("bootstrap-server", completeServers(env))
	_ = cmd.RegisterFlagCompletionFunc("property", completeProperties)
}

const controllerFlag = "bootstrap-controller"

// asksControllers reports whether cmd has the flag of [Connection.ControllerFlag].
func asksControllers(cmd *cobra.Command) bool { return cmd.Flags().Lookup(controllerFlag) != nil }

// ControllerFlag gives cmd the flag --bootstrap-controller: it can ask the controllers
// of a cluster as well as its brokers.
func (c *Connection) ControllerFlag(cmd *cobra.Command) {
	cmd.Flags().StringVar(&c.flags.Controllers, controllerFlag, "", "ask the controllers at these `addresses`, host:port,…, instead of the brokers")
	cli.NoFiles(cmd, controllerFlag)
}

// in returns the flags with the knowledge of which were given in fs.
func (f Flags) in(fs *pflag.FlagSet) Flags {
	f.given = make(map[string]bool)
	for _, name := range []string{"bootstrap-server", controllerFlag, "command-config", "context"} {
		flag := fs.Lookup(name)
		f.given[name] = flag != nil && flag.Changed
	}
	return f
}

// Given returns the properties that the flags set, those that win first. Bootstrap
// servers are among them.
func (f Flags) Given(fs *pflag.FlagSet) ([]Value, error) { return f.in(fs).values() }

func (f Flags) values() ([]Value, error) {
	var all []Value
	for name, value := range map[string]string{
		"bootstrap-server": f.Bootstrap, controllerFlag: f.Controllers, "command-config": f.CommandConfig, "context": f.Context,
	} {
		if f.given[name] && value == "" {
			return nil, fmt.Errorf("--%s: the value is empty", name)
		}
	}
	if f.Bootstrap != "" && f.Controllers != "" {
		return nil, errors.New("give --bootstrap-server or --bootstrap-controller, not both")
	}
	if f.Controllers != "" {
		all = append(all, Value{Name: client.BootstrapControllers, Value: f.Controllers, Origin: "--bootstrap-controller"})
	}
	if f.Bootstrap != "" {
		all = append(all, Value{Name: client.BootstrapServers, Value: f.Bootstrap, Origin: "--bootstrap-server"})
	}
	for i := len(f.Properties) - 1; i >= 0; i-- { // the last of a name counts
		name, value, ok := strings.Cut(f.Properties[i], "=")
		name = strings.TrimSpace(name)
		switch {
		case !ok || name == "":
			// Not the text itself: it may be a secret.
			return nil, fmt.Errorf("-X: want key=value, such as -X security.protocol=SSL")
		case !Known(name):
			return nil, fmt.Errorf("-X: %w", Unknown(name))
		}
		all = append(all, Value{Name: name, Value: value, Origin: "-X"})
	}
	if f.CommandConfig != "" {
		more, err := readProperties(f.CommandConfig, "--command-config")
		if err != nil {
			return nil, err
		}
		all = append(all, more...)
	}
	return all, nil
}
