package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
)

// The exit codes; "kf help exit-codes" explains them to users.
const (
	ExitOK          = 0
	ExitFailed      = 1   // could not be done, also for one target of many
	ExitUsage       = 2   // wrong arguments or settings; nothing was read
	ExitFound       = 3   // the check ran and found something
	ExitTimeout     = 4   // a deadline passed
	ExitInterrupted = 130 // SIGINT or SIGTERM
	ExitPipe        = 141 // the reader of standard output went away
)

var (
	// ErrFindings ends a command whose findings are on Stdout already: exit
	// code 3, no message. Use [Found] for one with a message.
	ErrFindings error = &exitError{code: ExitFound}

	// ErrPipe is what writes to Stdout fail with once its reader has gone, as
	// in "kf … | head". The command stops; nobody is told.
	ErrPipe error = &exitError{code: ExitPipe, text: "standard output: closed by its reader"}
)

// Silent ends a command with exit code 1 and no message, because every
// failure has been reported with Errorf already.
var Silent error = &exitError{code: ExitFailed}

// An exitError fixes the exit code of what it wraps.
type exitError struct {
	code int
	text string // "": nothing to say, unless err says it
	err  error
}

func (e *exitError) Error() string {
	switch {
	case e.err != nil:
		return e.err.Error()
	case e.text != "":
		return e.text
	}
	return fmt.Sprintf("exit code %d", e.code)
}

func (e *exitError) Unwrap() error { return e.err }

func (e *exitError) silent() bool {
	return e.err == nil && (e.text == "" || e.code == ExitPipe)
}

// Usage makes err one of wrong usage: exit code 2, and a hint at --help.
// A nil err stays nil.
func Usage(err error) error {
	if err == nil {
		return nil
	}
	return &exitError{code: ExitUsage, err: err}
}

// Usagef is [Usage] of a formatted error.
func Usagef(format string, a ...any) error { return Usage(fmt.Errorf(format, a...)) }

// Found makes err a finding rather than a failure: it is printed like any
// error, and the exit code is 3. A nil err stays nil.
func Found(err error) error {
	if err == nil {
		return nil
	}
	return &exitError{code: ExitFound, err: err}
}

// Status ends a command with the exit code of a program that it ran, and no
// message.
func Status(code int) error { return &exitError{code: code} }

// WithStatus gives err an exit code of the program that a command was to run:
// 125 to 127, as env(1) and timeout(1) have them. A nil err stays nil.
func WithStatus(code int, err error) error {
	if err == nil {
		return nil
	}
	return &exitError{code: code, err: err}
}

// severity orders exit codes: of several errors joined into one, the code that
// comes first here wins. A failure beats a finding, for what failed may hide more.
var severity = []int{ExitPipe, ExitInterrupted, ExitUsage, ExitTimeout, ExitFailed, ExitFound, ExitOK}

// ExitCode maps the error that a command returned to the exit code of the
// process; no error is 0.
func ExitCode(err error) int {
	switch e := err.(type) {
	case nil:
		return ExitOK
	case *exitError:
		return e.code
	case interface{ Unwrap() []error }:
		codes := make(map[int]bool)
		for _, inner := range e.Unwrap() {
			codes[ExitCode(inner)] = true
		}
		for _, code := range severity {
			if codes[code] && code != ExitOK {
				return code
			}
		}
		return ExitFailed
	}
	switch {
	case err == context.Canceled:
		return ExitInterrupted
	case err == context.DeadlineExceeded, err == os.ErrDeadlineExceeded:
		return ExitTimeout
	}
	// The cause of a context that a signal ended is an error of its own (package signal).
	if e, ok := err.(interface{ Is(error) bool }); ok && e.Is(context.Canceled) {
		return ExitInterrupted
	}
	if late, ok := err.(interface{ Timeout() bool }); ok && late.Timeout() {
		return ExitTimeout
	}
	if inner := errors.Unwrap(err); inner != nil {
		return ExitCode(inner)
	}
	return ExitFailed
}

// Errorf prints "kf: error: …" on Stderr, for a target of many that failed
// while the others go on; the command returns [Silent] at the end.
func (env *Env) Errorf(format string, a ...any) {
	env.message("error: ", "\x1b[31m", fmt.Sprintf(format, a...))
}

// Exit prints what is to be said about the error that a command returned, and
// returns the exit code. A command that did not notice that its output was not
// written has failed too.
func (env *Env) Exit(err error) int {
	if out, ok := env.Stdout.(*output); ok && err == nil {
		err = out.err
	}
	code := ExitCode(err)
	switch code {
	case ExitOK, ExitPipe:
		return code
	case ExitInterrupted:
		env.message("", "", "interrupted")
		return code
	}
	for _, text := range texts(err) {
		env.message("error: ", "\x1b[31m", text)
	}
	return code
}

// texts returns the messages of err, one for each error that was joined.
func texts(err error) []string {
	if e, ok := err.(*exitError); ok {
		switch {
		case e.silent():
			return nil
		case e.err != nil:
			return texts(e.err)
		}
	}
	// Only errors.Join separates its texts by line feeds; an error that wraps
	// several with %w has one text of its own.
	if e, ok := err.(interface{ Unwrap() []error }); ok {
		var parts, all []string
		for _, inner := range e.Unwrap() {
			parts = append(parts, inner.Error())
			all = append(all, texts(inner)...)
		}
		if err.Error() == strings.Join(parts, "\n") {
			return all
		}
	}
	return []string{err.Error()}
}
