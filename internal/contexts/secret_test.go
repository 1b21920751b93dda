package contexts_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"kf/internal/contexts"
)

func TestParseRef(t *testing.T) {
	for _, tt := range []struct {
		text string
		want *contexts.Ref // nil for an error
	}{
		{"env:A", &contexts.Ref{Env: "A"}},
		{"file:/a b:c", &contexts.Ref{File: "/a b:c"}},
		{"command:pass show kafka", &contexts.Ref{Command: []string{"pass", "show", "kafka"}}},
		{`command: sh  -c 'echo "x y"' "" a'b c'd`, &contexts.Ref{Command: []string{"sh", "-c", `echo "x y"`, "", "ab cd"}}},
		{"command:sh 'x", nil},
		{"command: ", nil},
		{"command:''", nil},
		{"env:", nil},
		{"env:A=B", nil},
		{"file:", nil},
		{"hunter2", nil},
		{"", nil},
	} {
		got, err := contexts.ParseRef(tt.text)
		if (err == nil) != (tt.want != nil) || err == nil && !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%q: got %+v, %v", tt.text, got, err)
		}
		if err != nil && strings.Contains(err.Error(), "hunter2") {
			t.Errorf("the error tells the secret: %v", err)
		}
	}
}

func TestIsSecret(t *testing.T) {
	for name, want := range map[string]bool{
		"sasl.jaas.config": true, "sasl.password": true, "ssl.keystore.key": true, "ssl.truststore.password": true,
		"sasl.oauthbearer.client.credentials.client.secret": true, "schema.registry.basic.auth.user.info": true, "my.PASSWORD": true,
		"sasl.oauthbearer.client.credentials.client.id": false, "sasl.oauthbearer.token.endpoint.url": false,
		"sasl.username": false, "bootstrap.servers": false, "ssl.keystore.location": false, "ssl.keystore.certificate.chain": false,
	} {
		if got := contexts.IsSecret(name); got != want {
			t.Errorf("%s: got %v", name, got)
		}
	}
}

func TestFind(t *testing.T) {
	if runtime.GOOS == "windows" {
		return // needs sh
	}
	dir := t.TempDir()
	for name, text := range map[string]string{"lf": "a b\n", "crlf": "ab\r\n", "two": "x\n\n", "none": "ab", "empty": "\n", "open": "ab"} {
		mode := os.FileMode(0o600)
		if name == "open" {
			mode = 0o644
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	finder := contexts.Finder{
		Getenv:  func(name string) string { return map[string]string{"SET": "value"}[name] },
		Environ: []string{"PATH=" + os.Getenv("PATH"), "X=from the environment"},
		Path:    func(path string) string { return filepath.Join(dir, path) },
	}
	for _, tt := range []struct {
		ref       contexts.Ref
		want, err string // what the error holds
	}{
		{contexts.Ref{Env: "SET"}, "value", ""},
		{contexts.Ref{Env: "UNSET"}, "", "env:UNSET: the variable is not set"},
		{contexts.Ref{File: "lf"}, "a b", ""},
		{contexts.Ref{File: "crlf"}, "ab", ""},
		{contexts.Ref{File: "two"}, "x\n", ""},
		{contexts.Ref{File: "none"}, "ab", ""},
		{contexts.Ref{File: "empty"}, "", "empty: the secret is empty"},
		{contexts.Ref{File: "missing"}, "", "no such file"},
		{contexts.Ref{File: "open"}, "", "chmod 600 " + filepath.Join(dir, "open")},
		{contexts.Ref{File: "."}, "", "is a directory"},
		{contexts.Ref{Command: []string{"sh", "-c", `printf '%s\n' "$X"`}}, "from the environment", ""},
		{contexts.Ref{Command: []string{"sh", "-c", "echo hunter2; exit 3"}}, "", "command sh: exit status 3"},
		{contexts.Ref{Command: []string{"sh", "-c", "true"}}, "", "command sh: the secret is empty"},
		{contexts.Ref{Command: []string{"no-such-program"}}, "", "executable file not found"},
		{contexts.Ref{Command: []string{"sh", "-c", "yes"}}, "", "more than 1048576 bytes"},
	} {
		got, err := finder.Find(t.Context(), "sasl.password", &tt.ref)
		if got != tt.want || (err == nil) != (tt.err == "") || err != nil && (!strings.Contains(err.Error(), tt.err) || strings.Contains(err.Error(), "hunter2")) {
			t.Errorf("%v: got %q, %v", tt.ref.String(), got, err)
		}
	}
}

func TestFindCertificate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cert.pem")
	if err := os.WriteFile(path, []byte("PEM\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	var finder contexts.Finder
	if got, err := finder.Find(t.Context(), "ssl.keystore.certificate.chain", &contexts.Ref{File: path}); got != "PEM" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
}

// A command that does not end is killed with what it started.
func TestFindDeadline(t *testing.T) {
	if runtime.GOOS == "windows" {
		return // needs sh
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	finder := contexts.Finder{Environ: []string{"PATH=" + os.Getenv("PATH")}}
	_, err := finder.Find(ctx, "sasl.password", &contexts.Ref{Command: []string{"sleep", "1000"}})
	if !errors.Is(err, context.DeadlineExceeded) || !strings.HasPrefix(err.Error(), "command sleep: did not end in time: ") {
		t.Errorf("got %v", err)
	}
}
