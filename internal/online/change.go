package online

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"kf/internal/cli"
	"kf/internal/client"
)

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
//
// A dry run changes nothing and does not ask.
func (c *Connection) Allow(cl *client.Client, change Change) error {
	cluster, protected := cl.Seeds(), false
	if c.settings != nil {
		cluster, protected = c.settings.Cluster(), c.settings.Protected
	}
	c.env.Notef("%s: %s", cluster, change.What)
	if c.yes || !change.Destroy && !protected {
		return nil
	}
	question := "do it?" // the line above says what
	if protected {
		question = cluster + " is protected: do it?"
		if c.settings.Context != "" {
			question = "context " + c.settings.Context + " is protected: do it?"
		}
	}
	if c.env.Quiet { // there is no line above
		question = cluster + ": " + change.What + ": " + question
	}
	ok, err := c.ask(question)
	switch {
	case err != nil && protected:
		return fmt.Errorf("%s is protected: %w", cluster, err)
	case err != nil:
		return err
	case !ok:
		c.env.Notef("not done")
		return cli.Silent
	}
	return nil
}

// ask asks a person, and waits for the answer or the interrupt. The deadline waits too.
func (c *Connection) ask(question string) (bool, error) {
	if c.running != nil {
		defer c.running.pause()()
	}
	type answer struct {
		ok  bool
		err error
	}
	answers := make(chan answer, 1)
	go func() { // which waits for a line, whatever happens
		ok, err := c.env.Confirm(question)
		answers <- answer{ok, err}
	}()
	select {
	case a := <-answers:
		return a.ok, a.err
	case <-c.interrupted:
		fmt.Fprintln(c.env.Stderr) // behind the question
		return false, context.Canceled
	}
}
