package arch_test

import (
	"os"
	"os/exec"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const module = "kf"

// layers lists the packages of the module from the top down. A package may
// import those of lower layers, and those of its own layer where that says so.
// A pattern is a path below the module's as path.Match reads it.
var layers = []struct {
	name     string
	packages []string
	inner    bool // its packages may import each other
}{
	{"programs", []string{"cmd/kf", "cmd/man", "internal/demo"}, false},
	{"command tree", []string{"cmd"}, false},
	{"command packages", []string{"dump", "topics", "groups", "reassign", "leader", "produce", "consume", "cmd/configs", "cmd/context", "cmd/brokers", "cmd/cluster", "cmd/acls"}, false},
	{"what online commands share", []string{"internal/online"}, false},
	{"what commands share", []string{"internal/config", "internal/contexts", "internal/contexts/*", "internal/render", "internal/cli"}, true},
	{"meaning", []string{"internal/verify", "internal/client", "internal/broker", "internal/dumptext", "internal/resetplan"}, true},
	{"replay", []string{"internal/image", "internal/metalog", "internal/controller", "internal/coordinator/*"}, true},
	{"files", []string{"internal/segment", "internal/logdir", "internal/storage", "internal/storage/*"}, true},
	{"formats", []string{"internal/format/*"}, true},
	{"fields", []string{"internal/wire"}, false},
	{"leaves", []string{"internal/javafmt", "internal/timearg", "internal/kafkaconf", "internal/nearest", "internal/condition"}, true},
	{"tests", []string{"internal/kftest", "internal/arch", "internal/interop"}, false},
}

// owners are the only packages that may import these.
var owners = map[string][]string{
	"github.com/olekukonko/tablewriter": {"internal/render"},
	"github.com/spf13/viper":            {"internal/config"},
	"github.com/spf13/cobra/doc":        {"cmd/man"},
	"github.com/rogpeppe/go-internal":   {}, // for tests only

	// The broker speaks the protocol itself; clients are made in one place.
	"github.com/twmb/franz-go/pkg/kmsg": {"internal/client", "internal/broker", "internal/controller", "internal/coordinator/group", "internal/coordinator/groupscript"},
	"github.com/twmb/franz-go/pkg/kgo":  {"internal/client", "internal/demo"},
}

// mute are packages that return values: they do not print, log, exit or read
// flags, so they import none of banned.
var (
	mute   = []string{"internal/wire", "internal/format/*", "internal/segment", "internal/logdir", "internal/verify", "internal/storage", "internal/javafmt", "internal/timearg", "internal/resetplan"}
	banned = []string{"github.com/spf13/", "flag", "log", "log/slog", module + "/internal/cli", module + "/internal/render", module + "/internal/config"}
)

// pkg is a package of the module; the paths of the module's own packages are
// those below it, "." for the module's folder.
type pkg struct {
	path    string
	imports []string
}

func load(t *testing.T) []pkg {
	t.Helper()
	out, err := exec.Command("go", "list", "-f", `{{.ImportPath}} {{join .Imports " "}}`, module+"/...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var all []pkg
	for line := range strings.Lines(string(out)) {
		words := strings.Fields(line)
		all = append(all, pkg{strings.TrimPrefix(words[0], module+"/"), words[1:]})
	}
	if len(all) < 5 {
		t.Fatalf("go list found only %d packages", len(all))
	}
	return all
}

// layer returns the index of the layer of a package, -1 if it is in none.
func layer(p string) int {
	for i, l := range layers {
		if matches(p, l.packages) {
			return i
		}
	}
	return -1
}

func matches(p string, patterns []string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		ok, err := path.Match(pattern, p)
		return ok && err == nil
	})
}

// offences returns what is wrong with the imports of p.
func offences(p pkg) []string {
	var all []string
	from := layer(p.path)
	if from < 0 {
		return []string{p.path + " is in no layer: add it to the list in this test"}
	}
	if slices.Contains([]string{"util", "utils", "common", "helper", "helpers", "misc"}, path.Base(p.path)) {
		all = append(all, p.path+": the name says nothing")
	}
	for _, imported := range p.imports {
		if own, ok := strings.CutPrefix(imported, module+"/"); ok {
			switch to := layer(own); {
			case layers[from].name == "tests": // may use all that it tests
			case to < from:
				all = append(all, p.path+" imports "+own+", which is above it")
			case to == from && !layers[from].inner:
				all = append(all, p.path+" imports "+own+", which is beside it")
			case matches(own, []string{"internal/kftest"}):
				all = append(all, p.path+" imports "+own+", which is for tests")
			}
		}
		for prefix, owner := range owners {
			if (imported == prefix || strings.HasPrefix(imported, prefix+"/")) && !slices.Contains(owner, p.path) {
				all = append(all, p.path+" imports "+imported+", which belongs to "+strings.Join(append(owner, "tests"), ", "))
			}
		}
		if matches(p.path, mute) {
			for _, b := range banned {
				if imported == b || strings.HasSuffix(b, "/") && strings.HasPrefix(imported, b) {
					all = append(all, p.path+" imports "+imported+", though it only returns values")
				}
			}
		}
	}
	return all
}

func TestImports(t *testing.T) {
	for _, p := range load(t) {
		for _, text := range offences(p) {
			t.Error(text)
		}
	}
}

// Only the programs know the process: everything else is given an Env, and ends
// by returning an error.
func TestProcess(t *testing.T) {
	out, err := exec.Command("go", "list", "-f", `{{$p := .}}{{range .GoFiles}}{{$p.ImportPath}} {{$p.Dir}}/{{.}}{{"\n"}}{{end}}`, module+"/...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	process := regexp.MustCompile(`\b(os\.(Exit|Stdin|Stdout|Stderr|Args|Getenv|LookupEnv|Environ)\b|fmt\.Print|log\.Fatal)`)
	for line := range strings.Lines(string(out)) {
		importPath, file, _ := strings.Cut(strings.TrimSpace(line), " ")
		p := strings.TrimPrefix(importPath, module+"/")
		if file == "" || matches(p, append([]string{"internal/kftest"}, layers[0].packages...)) {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for n, line := range strings.Split(string(text), "\n") {
			code, _, _ := strings.Cut(line, "//")
			if found := process.FindString(code); found != "" {
				t.Errorf("%s/%s:%d uses %s", p, path.Base(file), n+1, found)
			}
		}
	}
}

// The tests above find what they are for.
func TestOffences(t *testing.T) {
	for _, tt := range []struct {
		path, imports string
		wrong         int
	}{
		{"internal/wire", "fmt", 0},
		{"internal/wire", "kf/internal/segment", 1},
		{"internal/wire", "kf/internal/javafmt", 0},
		{"internal/format/batch", "kf/internal/wire kf/internal/format/control", 0},
		{"internal/format/batch", "kf/internal/logdir", 1},
		{"internal/segment", "kf/internal/format/batch log github.com/spf13/pflag", 2},
		{"internal/verify", "kf/internal/cli", 2},
		{"dump", "kf/internal/cli kf/internal/render kf/internal/logdir", 0},
		{"dump", "kf/topics", 1},
		{"dump", "github.com/olekukonko/tablewriter/tw github.com/spf13/viper", 2},
		{"dump", "kf/internal/kftest", 1},
		{"internal/cli", "kf/cmd", 1},
		{"internal/util", "", 1},
		{"internal/new/helpers", "", 1},
	} {
		if got := offences(pkg{tt.path, strings.Fields(tt.imports)}); len(got) != tt.wrong {
			t.Errorf("%s importing %q: %q", tt.path, tt.imports, got)
		}
	}
}
