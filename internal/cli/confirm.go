package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
)

// ErrNoTerminal says that a question was not asked for want of somebody to answer.
var ErrNoTerminal = errors.New("nobody to ask, as standard input is no terminal: give --yes to do it")

// Confirm asks a yes-or-no question on the terminal; anything but "y" or "yes" is no.
// Without a terminal it asks nothing and fails with [ErrNoTerminal], wrong usage.
func (env *Env) Confirm(question string) (bool, error) {
	if !env.StdinTTY || !env.StderrTTY {
		return false, Usage(ErrNoTerminal)
	}
	env.screen.mu.Lock()
	env.screen.clear(env.Stderr)
	fmt.Fprintf(env.Stderr, "%s [y/N] ", Printable(question))
	env.screen.mu.Unlock()
	line, err := bufio.NewReader(io.LimitReader(env.Stdin, 1<<10)).ReadString('\n')
	if err != nil && err != io.EOF {
		return false, fmt.Errorf("standard input: %w", err)
	}
	switch strings.ToLower(strings.TrimSpace(line)) {
	case "y", "yes":
		return true, nil
	}
	return false, nil
}
