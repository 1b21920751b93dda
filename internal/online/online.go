// Package online is what the commands share that talk to a cluster: the flags that
// say which one, all that these are put together from (the environment, contexts, the
// file of a project), the deadline, the question before a change, and the completion of
// names that only the cluster knows.
package online

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"kf/internal/cli"
	"kf/internal/client"
	"kf/internal/config"
)

// A Connection is how the commands of one parent reach their cluster.
type Connection struct {
	env     *cli.Env
	flags   Flags
	timeout cli.Timeout
	yes     bool

	// Of the run, once they are known.
	settings    *Settings
	interrupted <-chan struct{}
	running     *deadline // nil if it has none
}

// Connect gives the flags of a connection to parent and all its commands.
func Connect(env *cli.Env, parent *cobra.Command) *Connection {
	c := &Connection{env: env, timeout: cli.DefaultTimeout}
	flags := parent.PersistentFlags()
	c.flags.Add(env, parent, flags)
	flags.StringVarP(&c.flags.Context, "context", "C", "", "ask the cluster of this `context`, see 'kf context'")
	flags.Var(&c.timeout, "timeout", "give up after this `time`")
	_ = parent.RegisterFlagCompletionFunc("context", CompleteContexts(env, -1)) // fails only for a flag that is not there
	cli.NoFiles(parent, "timeout")
	return c
}

// Run calls do with a client of the cluster. Its context ends with the deadline of
// --timeout, to which the time does not count that a person takes to answer
// [Connection.Allow]; an error of it says why the cluster was not reached, if that was it.
func (c *Connection) Run(cmd *cobra.Command, do func(context.Context, *client.Client) error) error {
	return c.Watch(cmd, func(ctx context.Context, cl *client.Client) error {
		d, cancel := newDeadline(ctx, cl.Timeout())
		defer cancel()
		c.running = d
		return do(d, cl)
	})
}

// Watch is Run for a command that goes on until it is interrupted: each of its
// questions to the cluster has the deadline, see [client.Client.Deadline].
func (c *Connection) Watch(cmd *cobra.Command, do func(context.Context, *client.Client) error) error {
	settings, err := c.Settings(cmd)
	if err != nil {
		return cli.Usage(err)
	}
	for _, text := range settings.Warnings {
		c.env.Warnf("%s", text)
	}
	c.settings = settings
	opt := client.Options{Timeout: time.Duration(c.timeout), Controllers: asksControllers(cmd)}
	if config.Origin(cmd.Flag("timeout")) == config.Default {
		opt.Timeout = 0 // default.api.timeout.ms may say it
	}
	ctx := cmd.Context()
	c.interrupted = ctx.Done()
	cl, err := settings.client(ctx, c.env, opt)
	if err != nil {
		return err
	}
	defer cl.Close()
	for _, r := range cl.Remarks() {
		if r.Warning {
			c.env.Warnf("%v", r)
		}
	}
	return cl.Explain(ctx, do(ctx, cl))
}

// Settings returns how the cluster would be reached, and looks for no secret that is
// elsewhere.
func (c *Connection) Settings(cmd *cobra.Command) (*Settings, error) {
	return resolve(sources{env: c.env, flags: c.flags.in(cmd.Flags())})
}
