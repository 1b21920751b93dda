//go:build unix

package cmd

import (
	"os"
	"syscall"
)

// passed are the signals that "kf serve -- CMD" passes on to CMD.
var passed = []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2}
