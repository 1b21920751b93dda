package online

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"kf/internal/cli"
	"kf/internal/client"
	"kf/internal/contexts"
)

// paths are the properties that name files.
var paths = []string{
	"sasl.oauthbearer.assertion.file", "sasl.oauthbearer.assertion.private.key.file", "sasl.oauthbearer.assertion.template.file",
	"ssl.keystore.location", "ssl.truststore.location",
}

// client returns a client of the cluster, with opt for what is no property.
func (set *Settings) client(ctx context.Context, env *cli.Env, opt client.Options) (*client.Client, error) {
	var err error
	if opt.Properties, err = set.properties(ctx, env, cmp.Or(opt.Timeout, client.DefaultTimeout)); err != nil {
		return nil, err
	}
	opt.Version, opt.Getenv = env.Build.Version, env.Getenv
	cl, err := client.New(opt)
	return cl, cli.Usage(err)
}

// properties returns the values in force as the client takes them: with the secrets
// found, for which there is so much time, and paths that mean the same everywhere.
func (set *Settings) properties(ctx context.Context, env *cli.Env, timeout time.Duration) (client.Properties, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("--timeout is %v: %w", timeout, context.DeadlineExceeded))
	defer cancel()
	finder := contexts.Finder{Getenv: env.Getenv, Environ: env.Environ, Stderr: env.Stderr}
	if env.StdinTTY { // else it may be what the command is to read
		finder.Stdin = env.Stdin
	}
	all := make(client.Properties)
	for _, u := range set.Values {
		p := client.Property{Value: u.Value.Value, Origin: u.Origin}
		if u.Ref != nil {
			finder.Path = func(path string) string { return u.path(env, path) }
			secret, err := finder.Find(ctx, u.Name, u.Ref)
			if err != nil {
				return nil, fmt.Errorf("%s: %s: %w", u.Origin, u.Name, err)
			}
			p.Value = secret
		} else if slices.Contains(paths, u.Name) && p.Value != "" {
			p.Value = u.path(env, p.Value)
		}
		all[u.Name] = p
	}
	return all, logIn(all)
}

// logIn replaces user and password by the line of JAAS that Java clients take, and adds
// that of OAUTHBEARER with a token endpoint, which could be no other.
func logIn(all client.Properties) error {
	user, password := all[saslUsername], all[saslPassword]
	origin := user.Origin
	if origin == "" {
		origin = password.Origin
	}
	delete(all, saslUsername)
	delete(all, saslPassword)
	if endpoint := all["sasl.oauthbearer.token.endpoint.url"]; endpoint.Value != "" && all.Get(saslJAAS) == "" && strings.TrimSpace(all.Get("sasl.mechanism")) == "OAUTHBEARER" {
		all[saslJAAS] = client.Property{Value: bearerModule + " required;", Origin: endpoint.Origin}
	}
	if origin == "" || !strings.HasPrefix(strings.ToUpper(strings.TrimSpace(all.Get(securityProtocol))), "SASL_") {
		return nil // as a line of JAAS would be, without effect
	}
	line, err := jaas(strings.TrimSpace(all.Get("sasl.mechanism")), user.Value, password.Value)
	if err != nil {
		return cli.Usagef("%s: %w", origin, err)
	}
	all[saslJAAS] = client.Property{Value: line, Origin: origin}
	return nil
}

// path returns what a path in the value means: ~ is the user's home, and a relative one
// starts from the folder of the file that the value is in.
func (v *Value) path(env *cli.Env, path string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		if home := cmp.Or(env.Getenv("HOME"), env.Getenv("USERPROFILE")); home != "" {
			return filepath.Join(home, rest)
		}
	}
	if v.dir == "" || filepath.IsAbs(path) {
		return path
	}
	full := filepath.Join(v.dir, path)
	if _, err := os.Stat(full); v.elsewhere && errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Stat(path); err == nil {
			return path // as Java has it
		}
	}
	return full
}
