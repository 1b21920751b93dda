// Package cli is what all commands share and what is not about Kafka: the
// streams, messages, exit codes, progress, and the parents of subcommands.
package cli

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/term"
)

// An Env is the process as commands see it. Nothing else reads os.Stdout, the
// environment or the clock. The zero Env discards what is written; tests set
// the fields that they need.
type Env struct {
	Stdin  io.Reader
	Stdout io.Writer // the rows asked for, nothing else
	Stderr io.Writer // messages and progress; write through Warnf, Notef and Progress

	StdinTTY, StdoutTTY, StderrTTY bool

	// Width returns the columns of the terminal behind Stderr, 0 if unknown.
	Width   func() int
	Environ []string // "NAME=value"; the last one of a name counts
	Now     func() time.Time
	Build   BuildInfo

	Color ColorMode // --color
	Quiet bool      // --quiet: no progress and no notes; warnings and errors stay

	screen screen
}

// New returns the Env of a process with these streams. Writes to a Stdout
// whose reader has gone fail with [ErrPipe].
func New(stdin, stdout, stderr *os.File, environ []string, build BuildInfo) *Env {
	env := &Env{
		Stdin:     stdin,
		Stderr:    stderr,
		StdinTTY:  term.IsTerminal(int(stdin.Fd())),
		StdoutTTY: term.IsTerminal(int(stdout.Fd())),
		StderrTTY: term.IsTerminal(int(stderr.Fd())),
		Width: func() int {
			w, _, err := term.GetSize(int(stderr.Fd()))
			if err != nil {
				return 0
			}
			return w
		},
		Environ: environ,
		Now:     time.Now,
		Build:   build,
	}
	env.Stdout = &output{env: env, w: stdout}
	return env
}

// Getenv returns the value of an environment variable, "" if it is not set.
func (env *Env) Getenv(name string) string {
	for i := len(env.Environ) - 1; i >= 0; i-- {
		if v, ok := strings.CutPrefix(env.Environ[i], name+"="); ok {
			return v
		}
	}
	return ""
}

// ChildStdout returns the standard output for a program that a command starts:
// the file itself where there is one, so that the program sees a terminal.
func (env *Env) ChildStdout() io.Writer {
	if out, ok := env.Stdout.(*output); ok {
		return out.w
	}
	return env.Stdout
}

// ColorStdout reports whether what is written to Stdout may be coloured.
func (env *Env) ColorStdout() bool { return env.color(env.StdoutTTY) }

// ColorStderr reports whether messages may be coloured.
func (env *Env) ColorStderr() bool { return env.color(env.StderrTTY) }

func (env *Env) color(tty bool) bool {
	switch env.Color {
	case ColorAlways:
		return true
	case ColorNever:
		return false
	}
	return tty && env.Getenv("NO_COLOR") == "" && env.Getenv("TERM") != "dumb"
}

// Warnf prints "kf: warning: …" on Stderr.
func (env *Env) Warnf(format string, a ...any) {
	env.message("warning: ", "\x1b[33m", fmt.Sprintf(format, a...))
}

// Notef prints "kf: …" on Stderr, for what a person wants to know and a script
// does not. With --quiet it prints nothing.
func (env *Env) Notef(format string, a ...any) {
	if !env.Quiet {
		env.message("", "", fmt.Sprintf(format, a...))
	}
}

// message prints text behind "kf: " and label, on one line; color is the escape
// sequence that the label gets if colours are allowed.
func (env *Env) message(label, color, text string) {
	if env.Stderr == nil {
		return
	}
	if color != "" && env.ColorStderr() {
		label = color + label + "\x1b[0m"
	}
	// One message is one line: a line feed in the name of a file is escaped, or the
	// name could say things in kf's voice.
	line := "kf: " + label + Printable(strings.TrimRight(text, "\n")) + "\n"
	env.screen.mu.Lock()
	defer env.screen.mu.Unlock()
	env.screen.clear(env.Stderr)
	io.WriteString(env.Stderr, line)
}

// Printable returns s with control characters and broken UTF-8 written as
// \xNN and \uNNNN, so that a hostile file name cannot drive the terminal.
func Printable(s string) string {
	sound := true
	for _, r := range s {
		sound = sound && r != utf8.RuneError && (unicode.IsPrint(r) || r == '\t')
	}
	if sound {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1, r < utf8.RuneSelf && !unicode.IsPrint(r) && r != '\t':
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case !unicode.IsPrint(r) && r != '\t':
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
		i += n
	}
	return b.String()
}

// screen is the line that progress has drawn on the terminal; whoever writes
// to the terminal clears it first.
type screen struct {
	mu    sync.Mutex
	drawn bool
}

// clear needs mu.
func (s *screen) clear(stderr io.Writer) {
	if s.drawn {
		io.WriteString(stderr, "\r\x1b[K")
		s.drawn = false
	}
}

// output is Stdout: it knows a closed pipe and shares the terminal with the
// progress line.
type output struct {
	env *Env
	w   io.Writer
	err error // the first: help texts are printed by cobra, which drops it
}

func (o *output) Write(p []byte) (int, error) {
	if o.env.StdoutTTY {
		o.env.screen.mu.Lock()
		defer o.env.screen.mu.Unlock()
		o.env.screen.clear(o.env.Stderr)
	}
	n, err := o.w.Write(p)
	switch {
	case err == nil:
		return n, nil
	case isClosedPipe(err):
		err = ErrPipe
	default:
		err = fmt.Errorf("standard output: %w", err)
	}
	if o.err == nil {
		o.err = err
	}
	return n, err
}

// A ColorMode is the value of --color.
type ColorMode int

// Auto colours if the stream is a terminal, NO_COLOR is not set and TERM is
// not "dumb".
const (
	ColorAuto ColorMode = iota
	ColorAlways
	ColorNever
)

// ColorModes are the values that --color takes.
var ColorModes = []string{"auto", "always", "never"}

func (m ColorMode) String() string { return ColorModes[m] }

// Type is the word that help shows for the value.
func (m ColorMode) Type() string { return "when" }

// Set implements pflag.Value.
func (m *ColorMode) Set(s string) error {
	for i, name := range ColorModes {
		if s == name {
			*m = ColorMode(i)
			return nil
		}
	}
	return fmt.Errorf("must be one of %s", strings.Join(ColorModes, ", "))
}
