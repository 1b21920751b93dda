// Package online is what the commands share that talk to a cluster: the flags that
// say which one, the deadline, the question before a change, and the completion of
// names that only the cluster knows.
package online

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"kf/internal/cli"
	"kf/internal/client"
)

// A Connection is how the commands of one parent reach their cluster.
type Connection struct {
	env       *cli.Env
	bootstrap string
	timeout   time.Duration
	yes       bool
}

// Connect gives the flags of a connection to parent and all its commands.
func Connect(env *cli.Env, parent *cobra.Command) *Connection {
	c := &Connection{env: env}
	flags := parent.PersistentFlags()
	flags.StringVarP(&c.bootstrap, "bootstrap-server", "b", "", "ask the cluster at these `addresses`, host[:port],…")
	flags.DurationVar(&c.timeout, "timeout", 30*time.Second, "give up after this `time`")
	return c
}

// Run calls do with a client of the cluster. Its context ends with the deadline of
// --timeout; an error of it says why the cluster was not reached, if that was it.
func (c *Connection) Run(cmd *cobra.Command, do func(context.Context, *client.Client) error) error {
	return c.Watch(cmd, func(ctx context.Context, cl *client.Client) error {
		ctx, cancel := cl.Deadline(ctx)
		defer cancel()
		return do(ctx, cl)
	})
}

// Watch is Run for a command that goes on until it is interrupted: each of its
// questions to the cluster has the deadline, see [client.Client.Deadline].
func (c *Connection) Watch(cmd *cobra.Command, do func(context.Context, *client.Client) error) error {
	cl, err := client.New(client.Options{
		Properties: c.properties(),
		Version:    c.env.Build.Version,
		Timeout:    c.timeout,
	})
	if err != nil {
		return cli.Usage(err)
	}
	defer cl.Close()
	return do(cmd.Context(), cl)
}

func (c *Connection) properties() client.Properties {
	p := client.Property{Value: "localhost:9092", Origin: "default"}
	for _, name := range []string{"KAFKA_BOOTSTRAP_SERVERS", "KF_BOOTSTRAP_SERVERS"} {
		if v := c.env.Getenv(name); v != "" {
			p = client.Property{Value: v, Origin: name}
		}
	}
	if c.bootstrap != "" {
		p = client.Property{Value: c.bootstrap, Origin: "--bootstrap-server"}
	}
	return client.Properties{client.BootstrapServers: p}
}

// YesFlag gives cmd the flag --yes, which answers the question of [Connection.Allow].
func (c *Connection) YesFlag(cmd *cobra.Command) {
	cmd.Flags().BoolVarP(&c.yes, "yes", "y", false, "do it without asking")
}

// A Change is what a command is about to do to a cluster.
type Change struct {
	What    string // "delete 3 topics"
	Destroy bool   // what it takes away does not come back: it is asked for in any cluster
}

// Allow says on stderr which cluster a command is about to change, and returns nil if
// it may: a change that destroys something, and any in a protected context, needs
// --yes or the word of a person at a terminal. Without a terminal nobody is asked, and
// the error says that --yes is missing.
func (c *Connection) Allow(cl *client.Client, change Change) error {
	c.env.Notef("%s: %s", cl.Seeds(), change.What)
	if !change.Destroy || c.yes {
		return nil
	}
	ok, err := c.env.Confirm(change.What + "?")
	switch {
	case err != nil:
		return err
	case !ok:
		return cli.Silent
	}
	return nil
}

// completionTime is how long pressing Tab may take.
const completionTime = 2 * time.Second

// Complete returns a completion that offers what list returns of the cluster, and
// nothing, in silence, if it does not answer soon. only says for which argument it
// is, -1 for any.
func (c *Connection) Complete(only int, list func(context.Context, *client.Client) ([]string, error)) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if only >= 0 && len(args) != only {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		c.timeout = completionTime
		var fit []string
		_ = c.Run(cmd, func(ctx context.Context, cl *client.Client) error {
			all, err := list(ctx, cl)
			for _, name := range all {
				if strings.HasPrefix(name, typed) {
					fit = append(fit, name)
				}
			}
			return err
		})
		return fit, cobra.ShellCompDirectiveNoFileComp
	}
}

// Topics lists the names of all topics, sorted; for [Connection.Complete].
func Topics(ctx context.Context, cl *client.Client) ([]string, error) {
	topics, err := cl.ListTopicsWithInternal(ctx)
	return topics.Names(), err
}

// Groups lists the ids of all groups, sorted; for [Connection.Complete].
func Groups(ctx context.Context, cl *client.Client) ([]string, error) {
	groups, err := cl.ListGroups(ctx)
	return groups.Groups(), err
}
