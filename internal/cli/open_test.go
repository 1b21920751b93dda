package cli

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestOpen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	env := &Env{Stdin: strings.NewReader("typed")}
	for name, want := range map[string]string{path: "text " + path, "-": "typed standard input"} {
		f, called, err := env.Open(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		p, err := io.ReadAll(f)
		if got := string(p) + " " + called; err != nil || got != want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, _, err := env.Open(t.Context(), path+"x"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
}

// Who waits for a file in vain can be interrupted.
func TestOpenInterrupted(t *testing.T) {
	in, writer := io.Pipe()
	defer writer.Close()
	ctx, cancel := context.WithCancel(t.Context())
	f, _, err := (&Env{Stdin: in}).Open(ctx, "-")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	go cancel()
	if _, err := io.ReadAll(f); !errors.Is(err, context.Canceled) || ExitCode(err) != ExitInterrupted {
		t.Errorf("%v, exit code %d", err, ExitCode(err))
	}
	if _, _, err := (&Env{Stdin: in}).Open(ctx, "-"); err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
