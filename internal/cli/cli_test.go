package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spf13/cobra"
)

func TestExitCode(t *testing.T) {
	plain := errors.New("no such file")
	for _, tt := range []struct {
		name string
		err  error
		code int
		said string
	}{
		{"nothing", nil, 0, ""},
		{"plain", plain, 1, "kf: error: no such file\n"},
		{"usage", Usagef("no %s", "file"), 2, "kf: error: no file\n"},
		{"nil usage", Usage(nil), 0, ""},
		{"wrapped usage", fmt.Errorf("dump: %w", Usagef("no file")), 2, "kf: error: dump: no file\n"},
		{"findings", ErrFindings, 3, ""},
		{"found", Found(plain), 3, "kf: error: no such file\n"},
		{"nil found", Found(nil), 0, ""},
		{"silent", Silent, 1, ""},
		{"deadline", fmt.Errorf("fetch: %w", context.DeadlineExceeded), 4, "kf: error: fetch: context deadline exceeded\n"},
		{"read deadline", &os.PathError{Op: "read", Path: "f", Err: os.ErrDeadlineExceeded}, 4, "kf: error: read f: i/o timeout\n"},
		{"interrupted", fmt.Errorf("fetch: %w", context.Canceled), 130, "kf: interrupted\n"},
		{"pipe", fmt.Errorf("row: %w", ErrPipe), 141, ""},
		{"failure beats finding", errors.Join(ErrFindings, plain), 1, "kf: error: no such file\n"},
		{"two", errors.Join(plain, Found(errors.New("lag"))), 1, "kf: error: no such file\nkf: error: lag\n"},
		{"findings twice", errors.Join(ErrFindings, ErrFindings), 3, ""},
		{"two wrapped in one", fmt.Errorf("%w: %w", plain, io.EOF), 1, "kf: error: no such file: EOF\n"},
		{"pipe twice", errors.Join(ErrPipe, ErrPipe), 141, ""},
		{"hostile name", errors.New("a\x1b[31mb\xff"), 1, "kf: error: a\\x1b[31mb\\xff\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var said bytes.Buffer
			env := &Env{Stderr: &said}
			if code := env.Exit(tt.err); code != tt.code || said.String() != tt.said {
				t.Errorf("got %d, %q; want %d, %q", code, said.String(), tt.code, tt.said)
			}
		})
	}
}

func TestColor(t *testing.T) {
	for _, tt := range []struct {
		mode ColorMode
		tty  bool
		env  []string
		want bool
	}{
		{ColorAuto, true, nil, true},
		{ColorAuto, false, nil, false},
		{ColorAuto, true, []string{"NO_COLOR=1"}, false},
		{ColorAuto, true, []string{"NO_COLOR="}, true},
		{ColorAuto, true, []string{"TERM=dumb"}, false},
		{ColorAlways, false, []string{"NO_COLOR=1", "TERM=dumb"}, true},
		{ColorNever, true, nil, false},
	} {
		env := &Env{Color: tt.mode, StdoutTTY: tt.tty, Environ: tt.env}
		if got := env.ColorStdout(); got != tt.want {
			t.Errorf("%+v: got %v", tt, got)
		}
	}
	var m ColorMode
	if err := m.Set("sometimes"); err == nil {
		t.Error("--color sometimes is accepted")
	}
}

func TestMessages(t *testing.T) {
	var said bytes.Buffer
	env := &Env{Stderr: &said, Color: ColorAlways}
	env.Warnf("a\nkf: b") // a line feed in a name must not make a message of its own
	env.Notef("note")
	env.Quiet = true
	env.Notef("unheard")
	want := "kf: \x1b[33mwarning: \x1b[0ma\\x0akf: b\nkf: note\n"
	if said.String() != want {
		t.Errorf("got %q, want %q", said.String(), want)
	}
}

func TestClosedPipe(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	defer w.Close()
	env := New(os.Stdin, w, os.Stderr, nil, BuildInfo{})
	if _, err := io.WriteString(env.Stdout, "x"); err != ErrPipe {
		t.Errorf("got %v", err)
	}
	full := &output{env: env, w: failing{syscall.ENOSPC}}
	if _, err := full.Write(nil); !errors.Is(err, syscall.ENOSPC) || ExitCode(err) != 1 {
		t.Errorf("a full disk is %v", err)
	}
	if code := env.Exit(nil); code != ExitPipe {
		t.Errorf("exit code %d if nobody looked at the error", code)
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

func group(args ...string) error {
	leaf := &cobra.Command{Use: "delete", RunE: func(*cobra.Command, []string) error { return nil }, Args: Args(cobra.NoArgs)}
	leaf.Flags().Int("partitions", 0, "")
	leaf.Flags().Float64("share", 0, "")
	leaf.Flags().Bool("force", false, "")
	root := Group(&cobra.Command{Use: "kf", SilenceErrors: true, SilenceUsage: true},
		Group(&cobra.Command{Use: "topics"}, leaf))
	root.SetFlagErrorFunc(FlagError)
	root.SetArgs(args)
	root.SetOut(io.Discard)
	return root.Execute()
}

func TestGroup(t *testing.T) {
	for _, tt := range []struct {
		args string
		want string // "" is success
	}{
		{"", ""},
		{"topics", ""},
		{"topics delete", ""},
		{"topcis", `unknown command "topcis" for "kf": did you mean topics?`},
		{"topics delet", `unknown command "delet" for "kf topics": did you mean delete?`},
		{"topics frob", `unknown command "frob" for "kf topics" (see 'kf topics --help')`},
		{"topics delete x", `kf topics delete: unknown command "x" for "kf topics delete" (see 'kf topics delete --help')`},
		{"topics delete --partition 1", `kf topics delete: unknown flag: --partition: did you mean --partitions?`},
		{"topics delete --partitions x", `kf topics delete: invalid argument "x" for "--partitions" flag: "x" is no whole number (see 'kf topics delete --help')`},
		{"topics delete --partitions 99999999999999999999", `kf topics delete: invalid argument "99999999999999999999" for "--partitions" flag: "99999999999999999999" is out of range (see 'kf topics delete --help')`},
		{"topics delete --share x", `kf topics delete: invalid argument "x" for "--share" flag: "x" is no number (see 'kf topics delete --help')`},
		{"topics delete --force=x", `kf topics delete: invalid argument "x" for "--force" flag: "x" is neither true nor false (see 'kf topics delete --help')`},
	} {
		err := group(strings.Fields(tt.args)...)
		got, code := "", 0
		if err != nil {
			got, code = err.Error(), 2
		}
		if got != tt.want || ExitCode(err) != code {
			t.Errorf("%q: got %q, code %d; want %q", tt.args, got, ExitCode(err), tt.want)
		}
	}
}

func TestNearest(t *testing.T) {
	known := []string{"output", "color", "quiet"}
	for word, want := range map[string]string{
		"outptu": "output", "colour": "color", "otput": "output", "quite": "quiet", "bootstrap": "", "": "", "c": "", "o": "",
	} {
		if got := Nearest(word, known); got != want {
			t.Errorf("%q: got %q, want %q", word, got, want)
		}
	}
}

func TestProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var said bytes.Buffer
		env := &Env{Stderr: &said, StderrTTY: true, Width: func() int { return 60 }}
		take := func() string {
			synctest.Wait()
			env.screen.mu.Lock()
			defer env.screen.mu.Unlock()
			defer said.Reset()
			return said.String()
		}
		p := env.Progress(100<<20, "reading")
		p.Add(10 << 20)
		time.Sleep(progressDelay - 1)
		if got := take(); got != "" {
			t.Errorf("drawn too early: %q", got)
		}
		time.Sleep(time.Nanosecond)
		want := "\rreading: 10.0 MiB of 100.0 MiB (10%), 20.0 MiB/s, 5s left\x1b[K"
		if got := take(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		env.Warnf("x") // takes the line away first
		p.Done()
		p.Done()
		want = "\r\x1b[Kkf: \x1b[33mwarning: \x1b[0mx\n"
		if got := take(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		p = env.Progress(0, "reading")
		time.Sleep(time.Second)
		p.Done()
		if got := take(); !strings.HasSuffix(got, "\r\x1b[K") {
			t.Errorf("the line stays: %q", got)
		}
	})
}

func TestNoProgress(t *testing.T) {
	for _, env := range []*Env{{Stderr: io.Discard}, {Stderr: io.Discard, StderrTTY: true, Quiet: true}, {}} {
		p := env.Progress(1, "reading")
		if p != nil {
			t.Errorf("%+v: progress is drawn", env)
		}
		p.Add(1)
		p.Grow(1)
		p.Done()
	}
}

func TestBytes(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0 B", 1023: "1023 B", 1024: "1.0 KiB", 1<<20 - 1: "1.0 MiB", 1 << 30: "1.0 GiB", 1<<63 - 1: "8.0 EiB", -2048: "-2.0 KiB",
	} {
		if got := Bytes(n); got != want {
			t.Errorf("%d: got %s, want %s", n, got, want)
		}
	}
}

// Flags that take a duration take the same, and say the same of what they do not.
func TestDuration(t *testing.T) {
	for text, want := range map[string]string{
		"5s": "", "1d": "", "PT1M": "", "0": "must be more than 0", "-5s": "must be more than 0",
		"5": "has no unit: 5s, 5ms, …", "1.5": "has no unit: 1.5s, 1.5ms, …",
		"soon": "is not a duration kf understands: want one like 500ms, 1h30m, 7d or PT1H30M",
	} {
		timeout, d := DefaultTimeout, Duration(1)
		errTimeout, err := timeout.Set(text), d.Set(text)
		if got := fmt.Sprint(errTimeout); got != want && (want != "" || errTimeout != nil) {
			t.Errorf("timeout %q: %v, want %s", text, errTimeout, want)
		}
		if strings.HasPrefix(want, "must be") {
			want = "" // of a timeout only
		}
		if got := fmt.Sprint(err); got != want && (want != "" || err != nil) {
			t.Errorf("duration %q: %v, want %s", text, err, want)
		}
		if want == "" && errTimeout == nil && time.Duration(timeout) != time.Duration(d) {
			t.Errorf("%q is %v and %v", text, timeout, d)
		}
	}
}
