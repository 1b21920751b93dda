//go:build unix

package cli

import (
	"context"
	"fmt"
	"os/signal"
	"syscall"
	"testing"
)

// The cause of a context that a signal ended is an interruption, too.
func TestExitCodeOfSignal(t *testing.T) {
	ctx, stop := signal.NotifyContext(t.Context(), syscall.SIGUSR1)
	defer stop()
	if err := syscall.Kill(syscall.Getpid(), syscall.SIGUSR1); err != nil {
		t.Fatal(err)
	}
	<-ctx.Done()
	for _, err := range []error{context.Cause(ctx), fmt.Errorf("group g: %w", context.Cause(ctx))} {
		if code := ExitCode(err); code != ExitInterrupted {
			t.Errorf("%v (%T): exit code %d", err, err, code)
		}
	}
}
