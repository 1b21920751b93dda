//go:build !windows

package cli

import (
	"errors"
	"syscall"
)

func isClosedPipe(err error) bool { return errors.Is(err, syscall.EPIPE) }
