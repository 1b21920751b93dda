package online

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"kf/internal/cli"
	"kf/internal/client"
	"kf/internal/config"
	"kf/internal/contexts"
)

// A Value is a property of a connection and where it was found.
type Value struct {
	Name   string
	Value  string        // unless Ref is set
	Ref    *contexts.Ref // where a secret is found
	Origin string        // "-X", "KF_SASL_MECHANISM", "client.properties: line 3", "context prod"

	dir       string // that a relative path in it starts from, "" for the working directory
	elsewhere bool   // a file that is not there may be in the working directory
}

// A Used value is in force.
type Used struct {
	Value
	Over []Value // of the same name, which count for nothing; those that would win first
}

// hidden stands for a secret.
const hidden = "********"

// Shown returns the value as it may be printed: where a secret is found, or stars.
func (v *Value) Shown() string {
	switch {
	case v.Ref != nil:
		return v.Ref.String()
	case v.Value != "" && contexts.IsSecret(v.Name):
		return hidden
	}
	return v.Value
}

// Property returns the value as a context keeps it: a relative path would mean another
// file there.
func (v *Value) Property(env *cli.Env) contexts.Property {
	p := contexts.Property{Name: v.Name, Value: v.Value, Ref: v.Ref}
	if slices.Contains(paths, v.Name) && v.Value != "" {
		p.Value = Absolute(env, v.path(env, v.Value))
	}
	return p
}

// Absolute returns what a path means to the user here, from the root on if the working
// directory is known.
func Absolute(env *cli.Env, path string) string {
	path = (&Value{}).path(env, path)
	if full, err := filepath.Abs(path); err == nil {
		return full
	}
	return path
}

// Settings are how a cluster is reached.
type Settings struct {
	Values        []Used // bootstrap.servers or bootstrap.controllers, then the others by name
	Context       string // "" for no context
	ContextOrigin string // what named it
	Protected     bool   // each change is asked for
	Warnings      []string
}

// defaultServers are those of a cluster that nobody named.
const defaultServers = "localhost:9092"

// resolve puts the settings together. Values come, the first that has one wins, from
//
//	the flags
//	the context that -C names
//	the environment
//	the context that KF_CONTEXT names, unless the flags or the environment have servers
//
// and, if none of them says which cluster, from
//
//	the file of the project: a context, or servers
//	the current context
//	KAFKA_BOOTSTRAP_SERVERS
//	localhost:9092
//
// A context is left out that was not named along with the servers: its password is not
// for them.
func resolve(s sources) (*Settings, error) {
	flags, err := s.flags.values()
	if err != nil {
		return nil, err
	}
	env, warnings, err := s.environment()
	if err != nil {
		return nil, err
	}
	set := &Settings{Warnings: warnings}
	var cluster []Value
	switch {
	case s.flags.Context != "":
		if cluster, err = s.context(set, s.flags.Context, "--context"); err != nil {
			return nil, err
		}
		if !has(cluster, securityProtocol) { // what it does not say is no matter of the environment
			cluster = append(cluster, Value{Name: securityProtocol, Value: "PLAINTEXT", Origin: "context " + s.flags.Context + ", which sets none"})
		}
		set.put(flags, cluster, env)
		return set, nil
	case named(flags), named(env):
	case s.env.Getenv(envContext) != "":
		cluster, err = s.context(set, s.env.Getenv(envContext), envContext)
	default:
		cluster, err = s.unnamed(set, append(slices.Clone(flags), env...))
	}
	if err != nil {
		return nil, err
	}
	set.put(flags, env, cluster)
	return set, nil
}

const securityProtocol = "security.protocol"

func has(values []Value, name string) bool {
	return slices.ContainsFunc(values, func(v Value) bool { return v.Name == name })
}

// named reports whether values say which cluster.
func named(values []Value) bool {
	return has(values, client.BootstrapServers) || has(values, client.BootstrapControllers)
}

// unnamed returns the cluster that is used if neither flags nor environment name one;
// above are their values.
func (s *sources) unnamed(set *Settings, above []Value) ([]Value, error) {
	p, err := s.project()
	switch {
	case err != nil:
		return nil, err
	case p != nil && p.Use != "":
		return s.context(set, p.Use, fmt.Sprintf("%s: line %d", p.Path, p.Line))
	case p != nil && p.Cluster != nil:
		for _, v := range above {
			if strings.HasPrefix(v.Name, "sasl.") && v.Name != "sasl.mechanism" {
				return nil, fmt.Errorf("%s names the servers, to whom %s of %s would go: name the servers yourself (-b %s), or a context (-C)",
					p.Path, v.Name, v.Origin, p.Cluster.Bootstrap)
			}
		}
		set.Protected = p.Cluster.Protected
		return values(*p.Cluster, p.Path, filepath.Dir(p.Path)), nil
	}
	path, err := ContextsPath(s.env)
	if err != nil { // without a folder there is no current context
		return s.fallback(), nil
	}
	f, err := contexts.Load(path)
	switch {
	case err != nil:
		return nil, err
	case f.Current != "":
		return s.context(set, f.Current, path+": current")
	}
	return s.fallback(), nil
}

// fallback is the cluster that nobody chose for kf.
func (s *sources) fallback() []Value {
	if v := s.env.Getenv(envKafkaServers); v != "" {
		return []Value{{Name: client.BootstrapServers, Value: v, Origin: envKafkaServers}}
	}
	return []Value{{Name: client.BootstrapServers, Value: defaultServers, Origin: config.Default}}
}

// context returns the values of a context, which becomes that of set.
func (s *sources) context(set *Settings, name, origin string) ([]Value, error) {
	f, err := LoadContexts(s.env)
	if err != nil {
		return nil, err
	}
	c, err := Lookup(f, name, origin)
	if err != nil {
		return nil, err
	}
	set.Context, set.ContextOrigin, set.Protected = name, origin, c.Protected
	return values(c, "context "+name, filepath.Dir(f.Path)), nil
}

// values returns what a context sets.
func values(c contexts.Context, origin, dir string) []Value {
	all := []Value{{Name: client.BootstrapServers, Value: c.Bootstrap, Origin: origin}}
	for _, p := range c.Properties {
		all = append(all, Value{Name: p.Name, Value: p.Value, Ref: p.Ref, Origin: origin, dir: dir})
	}
	return all
}

// put fills the values of set from levels, of which the first wins.
func (set *Settings) put(levels ...[]Value) {
	for _, v := range slices.Concat(levels...) {
		i := slices.IndexFunc(set.Values, func(u Used) bool { return u.Name == v.Name })
		if i < 0 {
			set.Values = append(set.Values, Used{Value: v})
		} else {
			set.Values[i].Over = append(set.Values[i].Over, v)
		}
	}
	set.either(levels, []string{client.BootstrapServers}, []string{client.BootstrapControllers})
	set.either(levels, []string{saslUsername, saslPassword}, []string{saslJAAS})
	slices.SortFunc(set.Values, func(a, b Used) int {
		return cmp.Or(cmp.Compare(rank(a.Name), rank(b.Name)), strings.Compare(a.Name, b.Name))
	})
}

// rank puts what says which cluster before the rest.
func rank(name string) int {
	if name == client.BootstrapServers || name == client.BootstrapControllers {
		return 0
	}
	return 1
}

// Get returns the value of a property in force.
func (set *Settings) Get(name string) (Used, bool) {
	for _, u := range set.Values {
		if u.Name == name {
			return u, true
		}
	}
	return Used{}, false
}

// Cluster says which cluster it is, in a message.
func (set *Settings) Cluster() string {
	servers := set.Values[0]
	if set.Context != "" {
		return fmt.Sprintf("context %s (%s)", set.Context, servers.Value.Value)
	}
	return servers.Value.Value
}
