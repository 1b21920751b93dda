package online

import (
	"bytes"
	"context"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"kf/internal/cli"
	"kf/internal/client"
)

func TestKnown(t *testing.T) {
	for name, want := range map[string]string{
		"sasl.pasword":      ": did you mean sasl.password?",
		"ssl.trustore.type": ": did you mean ssl.truststore.type?",
		"ssl.ca.location":   ": did you mean ssl.truststore.location?", // its name in librdkafka
		"zookeeper.connect": "",
	} {
		if got := Unknown(name).Error(); got != name+" is no property of Kafka's clients"+want {
			t.Errorf("got %s", got)
		}
	}
	for _, name := range append(slices.Clone(paths), securityProtocol, saslUsername, saslPassword, saslJAAS) {
		if !Known(name) {
			t.Errorf("%s is unknown", name)
		}
	}
	for name := range choices {
		if !Known(name) {
			t.Errorf("%s is unknown", name)
		}
	}
}

func TestOffer(t *testing.T) {
	all := []string{"__consumer_offsets", "_schemas", "a-b", "a.b", "a_b", "\x1b[31m", "a\nb", "a\tb", "a\xff", "a\u202e"}
	for typed, want := range map[string]string{"": "_schemas a-b a.b a_b", "a": "a-b a.b a_b", "a.": "a.b", "__c": "__consumer_offsets", "_": "__consumer_offsets _schemas", "x": ""} {
		if got := strings.Join(offer(all, typed), " "); got != want {
			t.Errorf("%q: got %q, want %q", typed, got, want)
		}
	}
}

func TestCompleteProperties(t *testing.T) {
	for _, tt := range []struct {
		typed, want string
		directive   cobra.ShellCompDirective
	}{
		{"sasl.u", "sasl.username=", cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace},
		{"security.protocol=SASL", "security.protocol=SASL_PLAINTEXT security.protocol=SASL_SSL", cobra.ShellCompDirectiveNoFileComp},
		{"client.id=", "", cobra.ShellCompDirectiveNoFileComp},
		{"ssl.keystore.location=", "", cobra.ShellCompDirectiveDefault},
	} {
		got, directive := completeProperties(nil, nil, tt.typed)
		if strings.Join(got, " ") != tt.want || directive != tt.directive {
			t.Errorf("%q: got %q, %v", tt.typed, got, directive)
		}
	}
}

// Allow asks whom it must: a person at a terminal, who says what is to happen.
func TestAllow(t *testing.T) {
	cl, err := client.New(client.Options{Properties: client.Properties{client.BootstrapServers: {Value: "b:1"}}})
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	prod := &Settings{Context: "prod", Protected: true, Values: []Used{{Value: Value{Name: client.BootstrapServers, Value: "b:1"}}}}
	dev := &Settings{Values: prod.Values}
	for _, tt := range []struct {
		name     string
		settings *Settings
		destroy  bool
		yes, tty bool
		answer   string
		code     int
		said     string
	}{
		{"harmless", dev, false, false, false, "", 0, "kf: b:1: delete 3 topics\n"},
		{"destroys", dev, true, false, true, "y\n", 0, "kf: b:1: delete 3 topics\ndo it? [y/N] "},
		{"destroys, no", dev, true, false, true, "\n", 1, "kf: b:1: delete 3 topics\ndo it? [y/N] kf: not done\n"},
		{"destroys, nobody there", dev, true, false, false, "y\n", 2, "kf: b:1: delete 3 topics\n"},
		{"destroys, told so", dev, true, true, false, "", 0, "kf: b:1: delete 3 topics\n"},
		{"protected", prod, false, false, true, "yes\n", 0, "kf: context prod (b:1): delete 3 topics\ncontext prod is protected: do it? [y/N] "},
		{"protected, nobody there", prod, false, false, false, "", 2, "kf: context prod (b:1): delete 3 topics\n"},
		{"protected, told so", prod, true, true, false, "", 0, "kf: context prod (b:1): delete 3 topics\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var said bytes.Buffer
			env := &cli.Env{Stdin: strings.NewReader(tt.answer), Stderr: &said, StdinTTY: tt.tty, StderrTTY: tt.tty}
			c := &Connection{env: env, yes: tt.yes, settings: tt.settings}
			err := c.Allow(cl, Change{What: "delete 3 topics", Destroy: tt.destroy})
			if cli.ExitCode(err) != tt.code || said.String() != tt.said {
				t.Errorf("got %v, %q; want %q", err, said.String(), tt.said)
			}
		})
	}
}

// Ctrl-C ends the question, which nobody has answered.
func TestAllowInterrupted(t *testing.T) {
	cl, err := client.New(client.Options{Properties: client.Properties{client.BootstrapServers: {Value: "b:1"}}})
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	stdin, typed := io.Pipe()
	defer typed.Close()
	interrupted := make(chan struct{})
	close(interrupted)
	env := &cli.Env{Stdin: stdin, Stderr: io.Discard, StdinTTY: true, StderrTTY: true}
	c := &Connection{env: env, interrupted: interrupted}
	if err := c.Allow(cl, Change{What: "delete 3 topics", Destroy: true}); cli.ExitCode(err) != cli.ExitInterrupted {
		t.Errorf("got %v", err)
	}
}

// Tab never asks, complains or waits: here for a server that accepts and says nothing.
func TestCompleteSilently(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	var said bytes.Buffer
	env := &cli.Env{Stderr: &said, Stdout: &said, Environ: append(os.Environ(), "KF_SASL_MECHANSIM=x", "XDG_CONFIG_HOME="+t.TempDir())}
	for _, args := range [][]string{
		{"list", "-b", listener.Addr().String(), "--timeout", "100ms"},
		{"list", "-b", ":"},
		{"list", "-C", "none"},
		{"list", "-b", "127.0.0.1:1", "--timeout", "100ms"},
	} {
		var offered []string
		parent := &cobra.Command{Use: "topics"}
		conn := Connect(env, parent)
		child := &cobra.Command{Use: "list", RunE: func(cmd *cobra.Command, args []string) error {
			offered, _ = conn.Complete(0, Topics)(cmd, args, "")
			return nil
		}}
		parent.AddCommand(child)
		parent.SetArgs(args)
		if err := parent.ExecuteContext(context.Background()); err != nil || len(offered) > 0 || said.Len() > 0 {
			t.Errorf("%q: %v, offered %q, said %q", args, err, offered, said.String())
		}
	}
}
