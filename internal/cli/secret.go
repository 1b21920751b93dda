package cli

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/term"
)

// Secret asks on the terminal for what must not be seen there, twice, so that a typing
// error is found. Without a terminal it asks nothing and fails with [ErrNoTerminal],
// wrong usage.
func (env *Env) Secret(question string) (string, error) {
	in, ok := env.Stdin.(*os.File)
	if !ok || !env.StdinTTY || !env.StderrTTY {
		return "", Usage(ErrNoTerminal)
	}
	var answers [2]string
	for i, ask := range []string{question, question + ", again"} {
		env.screen.mu.Lock()
		env.screen.clear(env.Stderr)
		fmt.Fprintf(env.Stderr, "%s: ", Printable(ask))
		env.screen.mu.Unlock()
		p, err := term.ReadPassword(int(in.Fd()))
		fmt.Fprintln(env.Stderr)
		if err != nil {
			return "", fmt.Errorf("standard input: %w", err)
		}
		answers[i] = strings.TrimRight(string(p), "\r\n")
	}
	switch {
	case answers[0] != answers[1]:
		return "", errors.New("the two answers differ")
	case answers[0] == "":
		return "", errors.New("the answer is empty")
	}
	return answers[0], nil
}
