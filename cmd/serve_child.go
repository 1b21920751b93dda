package cmd

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"kf/internal/cli"
)

// The exit codes of "kf serve -- CMD" that are not CMD's, as env(1) and
// timeout(1) have them.
const (
	exitNoBroker   = 125 // the broker could not start
	exitCannotRun  = 126 // CMD was found and could not be run
	exitNotFound   = 127
	exitSignalBase = 128 // and the number of the signal that ended CMD
)

// runChild runs a program with bootstrap in its environment, passes signals on
// to it, and returns its exit status as an error, nil for 0.
func runChild(env *cli.Env, bootstrap string, args []string) error {
	path, err := exec.LookPath(args[0])
	if err != nil {
		return cli.WithStatus(lookupStatus(err), fmt.Errorf("cannot run %s: %w", args[0], err))
	}
	// Before the program starts: a signal in between would end kf alone.
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, passed...)
	defer signal.Stop(signals)

	c := exec.Command(path, args[1:]...)
	c.Args[0] = args[0]
	c.Stdin, c.Stdout, c.Stderr = env.Stdin, env.ChildStdout(), env.Stderr
	c.Env = append(env.Environ[:len(env.Environ):len(env.Environ)],
		"KAFKA_BOOTSTRAP_SERVERS="+bootstrap, "KF_BOOTSTRAP_SERVERS="+bootstrap)
	if err := c.Start(); err != nil {
		return cli.WithStatus(lookupStatus(err), fmt.Errorf("cannot run %s: %w", args[0], err))
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	for {
		select {
		case s := <-signals:
			// Ctrl-C on a terminal goes to both: a second one would often make
			// the program stop at once, without cleaning up.
			if s == os.Interrupt && env.StdinTTY {
				continue
			}
			// It fails if the program has just ended.
			_ = c.Process.Signal(s)
		case err := <-ended:
			return childStatus(args[0], err)
		}
	}
}

func lookupStatus(err error) int {
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
		return exitNotFound
	}
	return exitCannotRun
}

func childStatus(name string, err error) error {
	exit, ok := errors.AsType[*exec.ExitError](err)
	switch {
	case err == nil:
		return nil
	case !ok:
		return fmt.Errorf("%s: %w", name, err)
	}
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return cli.Status(exitSignalBase + int(status.Signal()))
	}
	return cli.Status(exit.ExitCode())
}
