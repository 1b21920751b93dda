package online

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"kf/internal/cli"
	"kf/internal/config"
	"kf/internal/contexts"
	"kf/internal/format/metaprops"
)

// sources are what settings are put together from.
type sources struct {
	env   *cli.Env
	flags Flags
}

// propertiesLimit is more than any client.properties has.
const propertiesLimit = 4 << 20

// readProperties reads a file of Java properties, the pairs that win first: the last of
// a name counts. One that holds secrets must not be for everybody. named says what names
// the file.
func readProperties(path, named string) ([]Value, error) {
	text, info, err := contexts.ReadFile(path, propertiesLimit)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", named, err)
	}
	pairs, err := metaprops.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %s: %w", named, path, err)
	}
	var all []Value
	for _, p := range slices.Backward(pairs) {
		if contexts.IsSecret(p.Key) && p.Value != "" {
			if err := contexts.CheckMode(path, info, 0o007); err != nil {
				return nil, fmt.Errorf("%s: %w", named, err)
			}
		}
		all = append(all, Value{
			Name: p.Key, Value: p.Value, Origin: fmt.Sprintf("%s: line %d", path, p.Line),
			dir: filepath.Dir(path), elsewhere: true,
		})
	}
	return all, nil
}

// Variables that are no properties, besides those of settings.
const (
	envContext       = "KF_CONTEXT"
	envCommandConfig = "KF_COMMAND_CONFIG"
	envKafkaServers  = "KAFKA_BOOTSTRAP_SERVERS"
)

// environment returns the properties that variables set, and warnings about those that
// look like one: KF_SASL_MECHANISM is sasl.mechanism.
func (s *sources) environment() (all []Value, warnings []string, err error) {
	settings := []string{envContext, envCommandConfig, "KF_CONFIG"}
	for _, key := range config.Keys() {
		settings = append(settings, config.EnvName(key))
	}
	seen := make(map[string]bool)
	for _, entry := range s.env.Environ {
		name, _, _ := strings.Cut(entry, "=")
		rest, ok := strings.CutPrefix(name, "KF_")
		if !ok || rest == "" || seen[name] || slices.Contains(settings, name) || s.env.Getenv(name) == "" {
			continue
		}
		seen[name] = true
		property := strings.ToLower(strings.ReplaceAll(rest, "_", "."))
		if Known(property) {
			all = append(all, Value{Name: property, Value: s.env.Getenv(name), Origin: name})
		} else if near := cli.Nearest(property, known()); near != "" {
			warnings = append(warnings, fmt.Sprintf("%s: %s is no property of Kafka's clients: did you mean %s?", name, property, EnvName(near)))
		}
	}
	slices.Sort(warnings)
	slices.SortFunc(all, func(a, b Value) int { return strings.Compare(a.Name, b.Name) })
	if path := s.env.Getenv(envCommandConfig); path != "" {
		more, err := readProperties(path, envCommandConfig)
		if err != nil {
			return nil, nil, err
		}
		all = append(all, more...)
	}
	return all, warnings, nil
}

// EnvName returns the variable of a property: KF_SASL_MECHANISM for sasl.mechanism.
func EnvName(property string) string {
	return "KF_" + strings.ToUpper(strings.ReplaceAll(property, ".", "_"))
}

// ContextsPath returns where the contexts of the user are.
func ContextsPath(env *cli.Env) (string, error) {
	path := config.DefaultPath(env.Getenv)
	if path == "" {
		return "", fmt.Errorf("contexts: you have no folder for settings: set XDG_CONFIG_HOME")
	}
	return filepath.Join(filepath.Dir(path), contexts.FileName), nil
}

// LoadContexts returns the contexts of the user.
func LoadContexts(env *cli.Env) (*contexts.File, error) {
	path, err := ContextsPath(env)
	if err != nil {
		return nil, err
	}
	return contexts.Load(path)
}

// Lookup returns the context of a name, which origin gave.
func Lookup(f *contexts.File, name, origin string) (contexts.Context, error) {
	c, ok := f.Find(name)
	if ok {
		return c, nil
	}
	names := f.Names()
	switch near := cli.Nearest(name, names); {
	case near != "":
		return c, fmt.Errorf("%s: no context %q: did you mean %s?", origin, name, near)
	case len(names) == 0:
		return c, fmt.Errorf("%s: no context %q: you have none yet: kf context add %s -b HOST:PORT", origin, name, name)
	}
	return c, fmt.Errorf("%s: no context %q (there are %s)", origin, name, strings.Join(names, ", "))
}

// project returns what the file of the project says that kf is run in, nil if there is
// none.
func (s *sources) project() (*contexts.Project, error) {
	dir, err := os.Getwd()
	if err != nil {
		return nil, nil // the directory is gone: it is in no project
	}
	path, err := contexts.FindProject(dir)
	if path == "" || err != nil {
		return nil, err
	}
	p, err := contexts.ReadProject(path)
	if err != nil {
		return nil, fmt.Errorf("%w (-b or -C names a cluster without this file)", err)
	}
	return p, nil
}
