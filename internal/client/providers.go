package client

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"kf/internal/format/metaprops"
)

// reference is what Java's config providers replace: ${provider:path:key} or
// ${provider:key}. Source: Kafka 4.4.0, ConfigTransformer.java.
var reference = regexp.MustCompile(`\$\{([^}]*?):(?:([^}]*?):)?([^}]*?)\}`)

// maxProvided bounds what is read from a file of a provider.
const maxProvided = 1 << 20

// provided returns the properties with the references of config.providers replaced:
// by those of files, directories and the environment, which are Kafka's own three. As
// in Java, what names no provider or no key of it stays as it is.
func (p Properties) provided(getenv func(string) string) (Properties, error) {
	names := (&settings{props: p}).list("config.providers")
	if len(names) == 0 {
		return p, nil
	}
	kinds := make(map[string]string)
	for _, name := range names {
		property := "config.providers." + name + ".class"
		class := p.Get(property)
		switch kind := class[strings.LastIndexByte(class, '.')+1:]; kind {
		case "FileConfigProvider", "DirectoryConfigProvider", "EnvVarConfigProvider":
			kinds[name] = kind
		case "":
			return nil, &PropertyError{"config.providers", p["config.providers"].Origin, fmt.Errorf("%s is not set", property)}
		default:
			return nil, &PropertyError{property, p[property].Origin,
				fmt.Errorf("kf has no provider %s, only FileConfigProvider, DirectoryConfigProvider and EnvVarConfigProvider", kind)}
		}
	}
	resolved := maps.Clone(p)
	for _, name := range slices.Sorted(maps.Keys(p)) {
		at := p[name]
		var failed error
		value := reference.ReplaceAllStringFunc(at.Value, func(text string) string {
			m := reference.FindStringSubmatch(text)
			v, ok, err := provide(kinds[m[1]], m[2], m[3], getenv)
			if err != nil && failed == nil {
				failed = err
			}
			if !ok {
				return text
			}
			return v
		})
		if failed != nil {
			return nil, &PropertyError{name, at.Origin, failed}
		}
		resolved[name] = Property{value, at.Origin}
	}
	return resolved, nil
}

func provide(kind, path, key string, getenv func(string) string) (value string, ok bool, err error) {
	switch kind {
	case "EnvVarConfigProvider":
		if getenv == nil {
			return "", false, nil
		}
		value = getenv(key)
		return value, value != "", nil
	case "FileConfigProvider":
		text, err := readSmall(path)
		if err != nil {
			return "", false, err
		}
		pairs, err := metaprops.Parse(text)
		for _, pair := range pairs {
			if pair.Key == key {
				value, ok = pair.Value, true
			}
		}
		return value, ok, err
	case "DirectoryConfigProvider":
		if key != filepath.Base(key) {
			return "", false, fmt.Errorf("%q is no name of a file", key)
		}
		text, err := readSmall(filepath.Join(path, key))
		return string(text), err == nil, err
	}
	return "", false, nil
}

// readSmall reads a file that holds settings or keys.
func readSmall(path string) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular() && info.Mode()&os.ModeNamedPipe == 0:
		return nil, fmt.Errorf("%s is no file", path)
	case info.Size() > maxProvided:
		return nil, fmt.Errorf("%s has %d bytes, more than such files have", path, info.Size())
	}
	return os.ReadFile(path)
}
