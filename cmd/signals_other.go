//go:build !unix

package cmd

import "os"

// passed are the signals that "kf serve -- CMD" passes on to CMD.
var passed = []os.Signal{os.Interrupt}
