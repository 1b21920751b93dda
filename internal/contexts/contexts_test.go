package contexts_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"

	"kf/internal/contexts"
)

const sample = `# my clusters
current: prod # the shop
contexts:
  # changes are asked for
  prod:
    description: the shop
    bootstrap_servers: ["broker1:9093", "broker2:9093"]
    properties:
      security.protocol: SASL_SSL
      retries: 3 # a number is a text too
      ssl.endpoint.identification.algorithm: ""
      sasl.username:
    secrets:
      sasl.password: env:PROD_PASSWORD
      ssl.keystore.key: file:~/key.pem
      ssl.key.password: [pass, show, "a b"]
    protected: true
  dev:
    bootstrap_servers: localhost
`

func TestParse(t *testing.T) {
	f, err := contexts.Parse("FILE", []byte(sample))
	if err != nil {
		t.Fatal(err)
	}
	want := []contexts.Context{{
		Name: "prod", Description: "the shop", Bootstrap: "broker1:9093,broker2:9093", Protected: true, Line: 5,
		Properties: []contexts.Property{
			{Name: "security.protocol", Value: "SASL_SSL", Line: 9},
			{Name: "retries", Value: "3", Line: 10},
			{Name: "ssl.endpoint.identification.algorithm", Line: 11},
			{Name: "sasl.password", Ref: &contexts.Ref{Env: "PROD_PASSWORD"}, Line: 14},
			{Name: "ssl.keystore.key", Ref: &contexts.Ref{File: "~/key.pem"}, Line: 15},
			{Name: "ssl.key.password", Ref: &contexts.Ref{Command: []string{"pass", "show", "a b"}}, Line: 16},
		},
	}, {Name: "dev", Bootstrap: "localhost", Line: 18}}
	if f.Current != "prod" || !reflect.DeepEqual(f.All(), want) {
		t.Errorf("got current %q, %+v", f.Current, f.All())
	}
}

func TestParseErrors(t *testing.T) {
	for _, tt := range []struct{ name, text, err string }{
		{"misspelt", "curent: a\n", `FILE: line 1: unknown key "curent": did you mean current?`},
		{"unknown", "contexts:\n  a:\n    bootstrap_servers: x\n    zookeeper: y\n", `FILE: line 4: unknown key "zookeeper" (there are description, bootstrap_servers, properties, secrets, protected)`},
		{"twice", "contexts:\n  a: {bootstrap_servers: x}\n  a: {bootstrap_servers: y}\n", "FILE: line 3: a: given twice"},
		{"property twice", "contexts:\n  a:\n    bootstrap_servers: x\n    properties:\n      client.id: 1\n      client.id: 2\n", "FILE: line 6: client.id: given twice"},
		{"secret and value", "contexts:\n  a:\n    bootstrap_servers: x\n    properties: {sasl.password: 1}\n    secrets: {sasl.password: 'env:A'}\n", "FILE: line 5: sasl.password: given in line 4 too"},
		{"no servers", "contexts:\n  a:\n    protected: true\n", "FILE: line 2: context a: no bootstrap_servers"},
		{"null", "contexts:\n  a:\n", "FILE: line 2: context a: no bootstrap_servers"},
		{"wrong place", "contexts:\n  a:\n    properties:\n      bootstrap.servers: x\n", "FILE: line 4: bootstrap.servers: belongs in bootstrap_servers"},
		{"boolean", "contexts:\n  a:\n    protected: maybe\n", "FILE: line 3: protected: must be true or false"},
		{"value for secret", "contexts:\n  a:\n    bootstrap_servers: x\n    secrets:\n      sasl.password: hunter2\n", "FILE: line 5: sasl.password: want env:NAME, file:PATH or command:PROGRAM ARGUMENT…, which say where the secret is found; a secret itself goes under properties"},
		{"no program", "contexts:\n  a:\n    bootstrap_servers: x\n    secrets:\n      sasl.password: []\n", "FILE: line 5: sasl.password: names no program"},
		{"nested", "contexts:\n  a:\n    bootstrap_servers: {x: y}\n", "FILE: line 3: bootstrap_servers: expected a single value"},
		{"list", "- a\n", "FILE: line 1: expected 'key: value'"},
		{"name", "contexts:\n  a b: {bootstrap_servers: x}\n", `FILE: line 2: "a b" is no name of a context: it holds ' '`},
		{"alias", "contexts:\n  a: &x {bootstrap_servers: x}\n  b: *x\n", "FILE: line 3: expected 'key: value'"},
		{"merge", "contexts:\n  a: &x {bootstrap_servers: x}\n  b:\n    <<: *x\n", "FILE: line 4: expected a key: anchors, aliases and merges are not read"},
		{"tab", "contexts:\n\ta: x\n", "FILE: yaml: line 2: found character that cannot start any token"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := contexts.Parse("FILE", []byte(tt.text)); err == nil || err.Error() != tt.err {
				t.Errorf("got  %v\nwant %s", err, tt.err)
			}
		})
	}
	for _, sound := range []string{"", "\n", "# none\n", "\ufeffcontexts:\n", "contexts: {}\r\n", "---\n", "null\n"} {
		if f, err := contexts.Parse("FILE", []byte(sound)); err != nil || len(f.All()) != 0 {
			t.Errorf("%q: %v", sound, err)
		}
	}
}

// What is not changed stays as it was typed, comments too.
func TestEdit(t *testing.T) {
	f, err := contexts.Parse("FILE", []byte(sample))
	if err != nil {
		t.Fatal(err)
	}
	f.Use("dev")
	f.Put(contexts.Context{Name: "true", Bootstrap: "x:1", Properties: []contexts.Property{
		{Name: "client.id", Value: "012"}, {Name: "sasl.password", Ref: &contexts.Ref{Command: []string{"echo", "true"}}},
	}})
	f.Put(contexts.Context{Name: "dev", Bootstrap: "localhost:9092", Protected: true})
	text, err := f.Text()
	if err != nil {
		t.Fatal(err)
	}
	want := strings.NewReplacer(
		"current: prod # the shop\n", "current: dev # the shop\nprevious: prod\n",
		"    bootstrap_servers: localhost\n", `    bootstrap_servers: localhost:9092
    protected: true
  "true":
    bootstrap_servers: x:1
    properties:
      client.id: "012"
    secrets:
      sasl.password: [echo, "true"]
`).Replace(sample)
	if string(text) != want {
		t.Errorf("got\n%s\nwant\n%s", text, want)
	}
	f.Remove("prod")
	f.Remove("dev")
	f.Remove("nothing")
	if text, err = f.Text(); err != nil || f.Current != "" || f.Previous != "" || len(f.All()) != 1 {
		t.Errorf("%v: current %q, previous %q, %d contexts", err, f.Current, f.Previous, len(f.All()))
	}
	if strings.Contains(string(text), "current") || strings.Contains(string(text), "prod:") {
		t.Errorf("got\n%s", text)
	}
}

func TestUpdate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "contexts.yaml")
	var writers sync.WaitGroup
	const n = 8
	for i := range n { // none loses what another has written
		writers.Go(func() {
			err := contexts.Update(path, func(f *contexts.File) error {
				f.Put(contexts.Context{Name: fmt.Sprint("c", i), Bootstrap: "x:1", Properties: []contexts.Property{{Name: "sasl.password", Value: "p"}}})
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	writers.Wait()
	f, err := contexts.Load(path)
	if err != nil || len(f.All()) != n {
		t.Fatalf("%v, %d contexts", err, len(f.All()))
	}
	before, _ := os.ReadFile(path)
	wrong := errors.New("wrong")
	if err := contexts.Update(path, func(f *contexts.File) error { f.Remove("c1"); return wrong }); !errors.Is(err, wrong) {
		t.Errorf("got %v", err)
	}
	after, _ := os.ReadFile(path)
	if string(before) != string(after) {
		t.Error("written all the same")
	}
	entries, _ := os.ReadDir(filepath.Dir(path))
	if len(entries) != 1 {
		t.Errorf("left behind: %v", entries)
	}
}

func TestModes(t *testing.T) {
	if runtime.GOOS == "windows" {
		return // the bits say nothing there
	}
	dir := t.TempDir()
	target := filepath.Join(dir, "target.yaml")
	link := filepath.Join(dir, "contexts.yaml")
	if err := os.Symlink(target, link); err != nil {
		t.Fatal(err)
	}
	write := func(text string, mode os.FileMode) {
		t.Helper()
		if err := errors.Join(os.WriteFile(target, []byte(text), mode), os.Chmod(target, mode)); err != nil {
			t.Fatal(err)
		}
	}
	secret := "contexts: {a: {bootstrap_servers: x, properties: {sasl.jaas.config: y}}}\n"
	write(secret, 0o640)
	if _, err := contexts.Load(link); err == nil || !strings.HasSuffix(err.Error(), "others can read the secrets in it (its mode is 0640): chmod 600 "+link) {
		t.Errorf("got %v", err)
	}
	if err := contexts.Update(link, func(*contexts.File) error { return nil }); err == nil {
		t.Error("written though others can read it")
	}
	write("contexts: {a: {bootstrap_servers: x, secrets: {sasl.jaas.config: 'env:Y'}}}\n", 0o644)
	if _, err := contexts.Load(link); err != nil {
		t.Error(err)
	}
	if err := contexts.Update(link, func(f *contexts.File) error { f.Use("a"); return nil }); err != nil {
		t.Error(err)
	}
	info, err := os.Stat(target)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, mode %v", err, info.Mode())
	}
	if info, err := os.Lstat(link); err != nil || info.Mode().Type() != os.ModeSymlink {
		t.Errorf("the link became a file: %v", err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(sample))
	f.Add([]byte("contexts: {a: &x {bootstrap_servers: *x}}"))
	f.Add([]byte("contexts: !!map {? [a] : b}"))
	f.Fuzz(func(t *testing.T, text []byte) {
		file, err := contexts.Parse("FILE", text)
		if err != nil {
			return
		}
		file.Put(contexts.Context{Name: "added", Bootstrap: "x"})
		file.Use("added")
		again, err := file.Text()
		if err != nil {
			t.Fatalf("%v", err)
		}
		reread, err := contexts.Parse("FILE", again)
		if err != nil || reread.Current != "added" || len(reread.All()) != len(file.All()) {
			t.Fatalf("%v: %q became %q", err, text, again)
		}
		for i, c := range reread.All() {
			if want := file.All()[i]; c.Name != want.Name || c.Bootstrap != want.Bootstrap || len(c.Properties) != len(want.Properties) {
				t.Fatalf("%q became %q: %+v", text, again, c)
			}
		}
	})
}
