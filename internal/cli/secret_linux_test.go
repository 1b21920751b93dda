package cli_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"kf/internal/cli"
)

// terminal returns both ends of a terminal, that of the person first.
func terminal(t *testing.T) (person, program *os.File) {
	t.Helper()
	person, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { person.Close() })
	if err := unix.IoctlSetPointerInt(int(person.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(person.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	program, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { program.Close() })
	return person, program
}

func TestSecret(t *testing.T) {
	for _, tt := range []struct{ typed, want, err string }{
		{"hush\nhush\n", "hush", ""},
		{"hush\nhash\n", "", "the two answers differ"},
		{"\n\n", "", "the answer is empty"},
	} {
		person, program := terminal(t)
		if _, err := person.WriteString(tt.typed); err != nil {
			t.Fatal(err)
		}
		var stderr bytes.Buffer
		env := &cli.Env{Stdin: program, Stderr: &stderr, StdinTTY: true, StderrTTY: true}
		got, err := env.Secret("Password")
		if got != tt.want || (err == nil) != (tt.err == "") || err != nil && err.Error() != tt.err {
			t.Errorf("%q: %q, %v; want %q, %s", tt.typed, got, err, tt.want, tt.err)
		}
		if stderr.String() != "Password: \nPassword, again: \n" {
			t.Errorf("%q: asked %q", tt.typed, &stderr)
		}
	}
	env := &cli.Env{Stderr: new(bytes.Buffer), StderrTTY: true}
	if _, err := env.Secret("Password"); !errors.Is(err, cli.ErrNoTerminal) || cli.ExitCode(err) != cli.ExitUsage {
		t.Errorf("without a terminal: %v", err)
	}
}
