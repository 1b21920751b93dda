// Package config reads the settings of kf: flags win over KF_* variables of the
// environment, those over the file, that over the defaults. Only settings are
// kept here; viper lower-cases keys, so what holds names of its own (contexts,
// Kafka properties) has its own reader.
package config

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/go-viper/mapstructure/v2"
	"github.com/spf13/pflag"
	"github.com/spf13/viper"
	"go.yaml.in/yaml/v3"

	"kf/internal/cli"
	"kf/internal/render"
)

// Config holds the value of each setting. The key in the file is the tag; the
// variable is KF_ and the key in capitals; the flag has hyphens for underscores.
type Config struct {
	Output      render.Format     `mapstructure:"output"`
	Color       cli.ColorMode     `mapstructure:"color"`
	Quiet       bool              `mapstructure:"quiet"`
	KeyFormat   render.ByteFormat `mapstructure:"key_format"`
	ValueFormat render.ByteFormat `mapstructure:"value_format"`
	Timeout     cli.Timeout       `mapstructure:"timeout"`

	// origin says where a setting was found that is not at its default:
	// "KF_OUTPUT", or "<file>: line 3: output".
	origin map[string]string
}

// Inputs are what Load reads from.
type Inputs struct {
	Path   string              // --config; "" looks at KF_CONFIG, then at the user's own file
	Getenv func(string) string // an empty value is an unset one
}

// Keys returns the settings as the file spells them.
func Keys() []string {
	var all []string
	for f := range reflect.TypeFor[Config]().Fields() {
		if key := f.Tag.Get("mapstructure"); key != "" {
			all = append(all, key)
		}
	}
	return all
}

// EnvName returns the variable of a setting: KF_OUTPUT for output.
func EnvName(key string) string { return "KF_" + strings.ToUpper(key) }

func flagName(key string) string { return strings.ReplaceAll(key, "_", "-") }

// DefaultPath returns the file that is read if none is named, "" if the user
// has no folder for it.
func DefaultPath(getenv func(string) string) string {
	dir := getenv("XDG_CONFIG_HOME")
	if dir == "" {
		var err error
		if dir, err = os.UserConfigDir(); err != nil {
			return ""
		}
	}
	return filepath.Join(dir, "kf", "config.yaml")
}

// Load reads the settings. It fails if a file that was asked for is not there
// (the user's own need not be), and for a key that there is not or a value that
// its setting does not take, in the file or the environment.
func Load(in Inputs) (*Config, error) {
	c := &Config{Timeout: cli.DefaultTimeout, origin: make(map[string]string)}
	v := viper.NewWithOptions(viper.KeyDelimiter("::")) // a dot is part of a name
	v.SetConfigType("yaml")
	text, path, err := read(in)
	if err != nil {
		return nil, err
	}
	if err := c.checkFile(path, text); err != nil {
		return nil, err
	}
	if err := v.ReadConfig(bytes.NewReader(text)); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	for _, key := range Keys() {
		// Not BindEnv: that reads the variables of the process, this the ones given.
		if value := in.Getenv(EnvName(key)); value != "" {
			if err := check(key, value); err != nil {
				return nil, fmt.Errorf("%s: %w", EnvName(key), err)
			}
			v.Set(key, value)
			c.origin[key] = EnvName(key)
		}
	}
	if err := v.UnmarshalExact(c, viper.DecodeHook(decodeHook)); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return c, nil
}

// read returns the text of the file and where it was found, nothing if there
// is none.
func read(in Inputs) (text []byte, path string, err error) {
	path, named := in.Path, "--config"
	if path == "" {
		path, named = in.Getenv("KF_CONFIG"), "KF_CONFIG"
	}
	if path == "" {
		path, named = DefaultPath(in.Getenv), ""
	}
	if path == "" {
		return nil, "", nil
	}
	text, err = os.ReadFile(path)
	switch {
	case named == "" && (errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.ENOTDIR)):
		return nil, path, nil // nobody asked for it; of another user after su, or below a file, nobody could
	case err != nil && named != "":
		return nil, path, fmt.Errorf("%s: %w", named, err)
	case err != nil:
		return nil, path, fmt.Errorf("settings: %w", err)
	}
	return bytes.TrimPrefix(text, []byte("\ufeff")), path, nil // some editors write a byte order mark
}

// checkFile names the line of what viper would pass over: keys that there are
// not, keys given twice, values of another kind.
func (c *Config) checkFile(path string, text []byte) error {
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if len(doc.Content) == 0 || doc.Content[0].Tag == "!!null" {
		return nil
	}
	root := doc.Content[0]
	if root.Kind != yaml.MappingNode {
		return fmt.Errorf("%s: line %d: expected settings as 'key: value'", path, root.Line)
	}
	known := Keys()
	for i := 0; i+1 < len(root.Content); i += 2 {
		key, value := root.Content[i], root.Content[i+1]
		where := fmt.Sprintf("%s: line %d", path, key.Line)
		origin := where + ": " + key.Value
		switch {
		case slices.Contains(elsewhere, key.Value):
			return fmt.Errorf("%s: %q is no setting of this file: the cluster to use is that of a context (kf context add, kf context use)", where, key.Value)
		case !slices.Contains(known, key.Value):
			if near := cli.Nearest(key.Value, known); near != "" {
				return fmt.Errorf("%s: unknown setting %q: did you mean %s?", where, key.Value, near)
			}
			return fmt.Errorf("%s: unknown setting %q (there are %s)", where, key.Value, strings.Join(known, ", "))
		case c.origin[key.Value] != "":
			return fmt.Errorf("%s: given twice", origin)
		case value.Kind != yaml.ScalarNode:
			return fmt.Errorf("%s: expected a single value", origin)
		case value.Tag == "!!null":
			continue
		}
		if err := check(key.Value, value.Value); err != nil {
			return fmt.Errorf("%s: %w", origin, err)
		}
		c.origin[key.Value] = origin
	}
	return nil
}

// elsewhere are keys that somebody may look for here.
var elsewhere = []string{"bootstrap", "bootstrap_servers", "bootstrap.servers", "brokers", "context", "contexts", "current"}

// check reports whether the setting takes the value.
func check(key, value string) error {
	for f := range reflect.TypeFor[Config]().Fields() {
		if f.Tag.Get("mapstructure") == key {
			if _, err := decode(f.Type, value); err != nil {
				return fmt.Errorf("%q %w", value, err)
			}
		}
	}
	return nil
}

// decode returns text as a value of type t, that of a setting.
func decode(t reflect.Type, text string) (any, error) {
	p := reflect.New(t)
	if value, ok := p.Interface().(pflag.Value); ok {
		return value, value.Set(text)
	}
	if t.Kind() == reflect.Bool {
		b, err := strconv.ParseBool(text)
		if err != nil {
			return nil, errors.New("must be true or false")
		}
		return b, nil
	}
	panic(fmt.Sprintf("config: no setting can be of type %s", t))
}

// decodeHook teaches viper the types of [Config].
var decodeHook mapstructure.DecodeHookFuncType = func(from, to reflect.Type, data any) (any, error) {
	text, ok := data.(string)
	if !ok || to == reflect.TypeFor[Config]() || to.Kind() == reflect.String {
		return data, nil
	}
	value, err := decode(to, text)
	if p := reflect.ValueOf(value); err == nil && p.Kind() == reflect.Pointer {
		value = p.Elem().Interface()
	}
	return value, err
}

// Apply gives the settings to the flags of the same name and type in fs. A flag
// that was given on the command line stays, one whose setting is at its default too.
func (c *Config) Apply(fs *pflag.FlagSet) error {
	v := reflect.ValueOf(c).Elem()
	for f, value := range v.Fields() {
		key := f.Tag.Get("mapstructure")
		origin := c.origin[key]
		if origin == "" {
			continue
		}
		flag := fs.Lookup(flagName(key))
		if flag == nil || flag.Changed || !sameType(flag.Value, value) {
			continue
		}
		if err := flag.Value.Set(fmt.Sprint(value.Interface())); err != nil {
			return fmt.Errorf("%s: %w", origin, err)
		}
		if flag.Annotations == nil {
			flag.Annotations = make(map[string][]string)
		}
		flag.Annotations[originKey] = []string{origin}
	}
	return nil
}

const originKey = "kf_origin"

// Origin returns where the value of a flag is from: the command line, the place that
// Apply found it in, or "default".
func Origin(flag *pflag.Flag) string {
	switch {
	case flag.Changed:
		return "--" + flag.Name
	case len(flag.Annotations[originKey]) > 0:
		return flag.Annotations[originKey][0]
	}
	return Default
}

// Default is the origin of a value that nobody set.
const Default = "default"

// A Setting is a value and where it was found.
type Setting struct{ Key, Value, Origin string }

// Settings returns all settings; what the flags in fs say goes for those of their name
// and type.
func (c *Config) Settings(fs *pflag.FlagSet) []Setting {
	var all []Setting
	for f, value := range reflect.ValueOf(c).Elem().Fields() {
		key := f.Tag.Get("mapstructure")
		if key == "" {
			continue
		}
		s := Setting{key, fmt.Sprint(value.Interface()), cmp.Or(c.origin[key], Default)}
		if flag := fs.Lookup(flagName(key)); flag != nil && sameType(flag.Value, value) {
			s.Value, s.Origin = flag.Value.String(), Origin(flag)
		}
		all = append(all, s)
	}
	return all
}

// sameType reports whether a flag takes what the setting v holds. A command
// with a flag of the same name but other values, as Kafka's tools have them, is
// left alone.
func sameType(flag pflag.Value, v reflect.Value) bool {
	if setting, ok := v.Addr().Interface().(pflag.Value); ok {
		return setting.Type() == flag.Type()
	}
	return v.Kind().String() == flag.Type()
}
