package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"kf/internal/cli"
	"kf/internal/config"
	"kf/internal/render"
)

// load reads text from the user's own file, with these variables set.
func load(t *testing.T, text string, vars ...string) (*config.Config, string, error) {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "kf", "config.yaml")
	if text != "" {
		if err := os.Mkdir(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	env := &cli.Env{Environ: append(vars, "XDG_CONFIG_HOME="+dir)}
	c, err := config.Load(config.Inputs{Getenv: env.Getenv})
	return c, path, err
}

// A flag beats the environment, that the file, that the default; each level
// set or not.
func TestPrecedence(t *testing.T) {
	for n := range 8 {
		text, vars, args := "quiet: false\n", []string(nil), []string(nil)
		want := render.Table
		if n&1 != 0 {
			text, want = "output: csv\nquiet: true\n", render.CSV
		}
		if n&2 != 0 {
			vars, want = []string{"KF_OUTPUT=json", "KF_COLOR="}, render.JSON
		}
		if n&4 != 0 {
			args, want = []string{"-o", "jsonl"}, render.JSONLines
		}
		c, _, err := load(t, text, vars...)
		if err != nil {
			t.Fatal(err)
		}
		var f render.Format
		fs := pflag.NewFlagSet("", pflag.ContinueOnError)
		fs.VarP(&f, "output", "o", "")
		quiet := fs.Bool("quiet", false, "")
		fs.String("color", "own", "") // of another type: not ours
		if err := fs.Parse(args); err != nil {
			t.Fatal(err)
		}
		if err := c.Apply(fs); err != nil {
			t.Fatal(err)
		}
		if f != want || *quiet != (n&1 != 0) || fs.Lookup("color").Value.String() != "own" {
			t.Errorf("%03b: got %v, quiet %v; want %v", n, f, *quiet, want)
		}
	}
}

func TestDefaultOfFlagStays(t *testing.T) {
	c, _, err := load(t, "color: never\n")
	if err != nil {
		t.Fatal(err)
	}
	fs := pflag.NewFlagSet("", pflag.ContinueOnError)
	f := render.JSONLines // a command whose own default is not table
	fs.VarP(&f, "output", "o", "")
	if err := c.Apply(fs); err != nil || f != render.JSONLines {
		t.Errorf("got %v, %v", f, err)
	}
}

func TestFiles(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		err        string // "" if it is sound; FILE is the path
	}{
		{"none", "", ""},
		{"empty", "\n", ""},
		{"comment", "# nothing\n", ""},
		{"byte order mark", "\ufeffoutput: json\n", ""},
		{"CRLF", "output: json\r\nquiet: true\r\n", ""},
		{"unset", "output:\n", ""},
		{"misspelt", "quiet: true\notput: json\n", `FILE: line 2: unknown setting "otput": did you mean output?`},
		{"unknown", "bootstrap: x\n", `FILE: line 1: "bootstrap" is no setting of this file: the cluster to use is that of a context (kf context add, kf context use)`},
		{"capitals", "Output: json\n", `FILE: line 1: unknown setting "Output": did you mean output?`},
		{"dotted", "a.b: x\n", `FILE: line 1: unknown setting "a.b" (there are output, color, quiet, key_format, value_format, timeout)`},
		{"twice", "output: json\noutput: csv\n", `FILE: line 2: output: given twice`},
		{"value", "output: yaml\n", `FILE: line 1: output: "yaml" must be one of table, json, jsonl, csv`},
		{"type", "quiet: 12\n", `FILE: line 1: quiet: "12" must be true or false`},
		{"list", "output: [json]\n", `FILE: line 1: output: expected a single value`},
		{"no settings", "- a\n", `FILE: line 1: expected settings as 'key: value'`},
		{"tab", "quiet: true\n\toutput: json\n", `FILE: yaml: line 2: found a tab character that violates indentation`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, path, err := load(t, tt.text)
			got := ""
			if err != nil {
				got = strings.ReplaceAll(err.Error(), path, "FILE")
			}
			if got != tt.err {
				t.Errorf("got  %s\nwant %s", got, tt.err)
			}
		})
	}
}

func TestBadVariable(t *testing.T) {
	_, _, err := load(t, "", "KF_OUTPUT=yaml")
	if err == nil || err.Error() != `KF_OUTPUT: "yaml" must be one of table, json, jsonl, csv` {
		t.Errorf("got %v", err)
	}
}

func TestNamedFile(t *testing.T) {
	dir := t.TempDir()
	named := filepath.Join(dir, "named.yaml")
	if err := os.WriteFile(named, []byte("output: csv\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		path string // --config
		vars []string
		want string
	}{
		{named, []string{"KF_CONFIG=" + dir + "/missing"}, ""},
		{"", []string{"KF_CONFIG=" + named}, ""},
		{"", []string{"KF_CONFIG="}, ""},
		{dir + "/missing", nil, "--config: open"},
		{"", []string{"KF_CONFIG=" + dir + "/missing"}, "KF_CONFIG: open"},
		{dir, nil, "--config: read"},
	} {
		env := &cli.Env{Environ: append(tt.vars, "XDG_CONFIG_HOME="+dir)}
		_, err := config.Load(config.Inputs{Path: tt.path, Getenv: env.Getenv})
		if (err == nil) != (tt.want == "") || err != nil && !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("%+v: got %v", tt, err)
		}
	}
}
