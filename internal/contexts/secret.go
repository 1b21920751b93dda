package contexts

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// A Ref says where a secret is found. One of its fields is set.
type Ref struct {
	Env     string   // name of a variable
	File    string   // path of a file that holds nothing else
	Command []string // program and arguments; no shell reads them
}

// secrets are the properties whose values Kafka hides, and those of kf's own.
//
// Source: Kafka 4.4.0, AdminClientConfig.java, those of type PASSWORD; of these the
// certificates are no secrets.
var secrets = []string{
	"sasl.jaas.config", "sasl.password",
	"sasl.oauthbearer.assertion.private.key.passphrase", "sasl.oauthbearer.client.credentials.client.secret",
	"ssl.key.password", "ssl.keystore.key", "ssl.keystore.password", "ssl.truststore.password",
}

// IsSecret reports whether the value of a property is hidden. A property that nobody
// knows is one if its name says so.
func IsSecret(name string) bool {
	if slices.Contains(secrets, name) {
		return true
	}
	name = strings.ToLower(name)
	for _, word := range []string{"password", "passphrase", "passwd", "secret", "credential", "apikey", "api.key", "basic.auth.user.info", "oauthbearer.token"} {
		if strings.Contains(name, word) {
			return !strings.HasSuffix(name, "client.credentials.client.id") && !strings.HasSuffix(name, ".url")
		}
	}
	return false
}

// ParseRef reads "env:NAME", "file:PATH" or "command:PROGRAM ARGUMENT…". Words of a
// command are parted by blanks; ' and " hold together what is between them.
func ParseRef(text string) (*Ref, error) {
	kind, rest, _ := strings.Cut(text, ":")
	if rest == "" {
		kind = ""
	}
	switch kind {
	case "env":
		if strings.ContainsAny(rest, "= \t\x00") {
			return nil, fmt.Errorf("%q is no name of a variable", rest)
		}
		return &Ref{Env: rest}, nil
	case "file":
		return &Ref{File: rest}, nil
	case "command":
		argv, err := words(rest)
		if err != nil {
			return nil, err
		}
		return &Ref{Command: argv}, nil
	}
	// Not the text itself: it may be the secret.
	return nil, errors.New("want env:NAME, file:PATH or command:PROGRAM ARGUMENT…, which say where the secret is found")
}

// words splits a command.
func words(text string) ([]string, error) {
	var all []string
	var word strings.Builder
	var quote rune
	inside := false
	for _, r := range text {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '\'' || r == '"':
			quote, inside = r, true
		case r == ' ' || r == '\t' || r == '\n':
			if inside {
				all = append(all, word.String())
			}
			word.Reset()
			inside = false
		default:
			word.WriteRune(r)
			inside = true
		}
	}
	if quote != 0 {
		return nil, fmt.Errorf("command: a %c is not closed", quote)
	}
	if inside {
		all = append(all, word.String())
	}
	if len(all) == 0 || all[0] == "" {
		return nil, errors.New("command: no program")
	}
	return all, nil
}

// String returns the place as ParseRef takes it, but for the quotes of a command.
func (r *Ref) String() string {
	switch {
	case r.Env != "":
		return "env:" + r.Env
	case r.File != "":
		return "file:" + r.File
	}
	return "command:" + strings.Join(r.Command, " ")
}

func (r *Ref) encode() *yaml.Node {
	if r.Command == nil {
		return scalar(r.String())
	}
	list := &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle}
	for _, word := range r.Command {
		list.Content = append(list.Content, scalar(word))
	}
	return list
}

// secretLimit is more than any secret has, a chain of certificates included.
const secretLimit = 1 << 20

// A Finder finds secrets.
type Finder struct {
	Getenv  func(string) string
	Environ []string            // of a command
	Stdin   io.Reader           // of a command, that may ask a person
	Stderr  io.Writer           // of a command
	Path    func(string) string // what a path in a reference means; nil for as it is
}

// Find returns the value of a property, without the line feed at its end. A command is
// killed when ctx ends. A file that everybody can read is refused, unless what it holds
// is no secret, as a certificate. No error holds the value.
func (f *Finder) Find(ctx context.Context, property string, r *Ref) (string, error) {
	switch {
	case r.Env != "":
		value := f.Getenv(r.Env)
		if value == "" {
			return "", fmt.Errorf("env:%s: the variable is not set", r.Env)
		}
		return value, nil
	case r.File != "":
		path := r.File
		if f.Path != nil {
			path = f.Path(path)
		}
		text, info, err := ReadFile(path, secretLimit)
		if err == nil && IsSecret(property) {
			err = CheckMode(path, info, 0o007)
		}
		if err != nil {
			return "", err
		}
		return trim(path, text)
	}
	cmd := exec.CommandContext(ctx, r.Command[0], r.Command[1:]...)
	out := limited{left: secretLimit}
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = f.Environ, f.Stdin, &out, f.Stderr
	cmd.WaitDelay = time.Second // for a child of it that keeps the pipe open
	err := cmd.Run()
	switch {
	case out.over:
		return "", fmt.Errorf("command %s: the secret has more than %d bytes", r.Command[0], secretLimit)
	case ctx.Err() != nil:
		return "", fmt.Errorf("command %s: did not end in time: %w", r.Command[0], context.Cause(ctx))
	case err != nil:
		return "", fmt.Errorf("command %s: %w", r.Command[0], err)
	}
	return trim("command "+r.Command[0], out.buf.Bytes())
}

// trim returns the secret that a file or command gave.
func trim(from string, text []byte) (string, error) {
	text = bytes.TrimSuffix(bytes.TrimSuffix(text, []byte("\n")), []byte("\r"))
	if len(text) == 0 {
		return "", fmt.Errorf("%s: the secret is empty", from)
	}
	return string(text), nil
}

// limited is a buffer that takes so much.
type limited struct {
	buf  bytes.Buffer
	left int
	over bool // more was written
}

func (l *limited) Write(p []byte) (int, error) {
	if len(p) > l.left {
		l.over = true
		return 0, io.ErrShortWrite
	}
	l.left -= len(p)
	return l.buf.Write(p)
}

// ReadFile reads a file of limit bytes at most, and says what it is.
func ReadFile(path string, limit int64) ([]byte, os.FileInfo, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, nil, err
	}
	if info.IsDir() {
		return nil, nil, fmt.Errorf("%s is a directory", path)
	}
	text, err := io.ReadAll(io.LimitReader(f, limit+1))
	switch {
	case err != nil:
		return nil, nil, err
	case int64(len(text)) > limit:
		return nil, nil, fmt.Errorf("%s: more than %d bytes", path, limit)
	}
	return text, info, nil
}
