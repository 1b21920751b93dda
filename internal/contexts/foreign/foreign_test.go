package foreign_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kf/internal/contexts/foreign"
	"kf/internal/kftest"
)

// describe says what was read, with the folder of the file as DIR.
func describe(r foreign.Result, dir string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, current %q\n", r.Kind, r.Current)
	for _, c := range r.Contexts {
		fmt.Fprintf(&b, "context %q: %s\n", c.Name, c.Bootstrap)
		if c.Description != "" {
			fmt.Fprintf(&b, "\tdescription %s\n", c.Description)
		}
		for _, p := range c.Properties {
			if p.Ref != nil {
				fmt.Fprintf(&b, "\t%s from %s\n", p.Name, p.Ref)
			} else {
				fmt.Fprintf(&b, "\t%s=%s\n", p.Name, p.Value)
			}
		}
		for _, note := range c.Notes {
			fmt.Fprintf(&b, "\tnot: %s\n", note)
		}
	}
	return strings.ReplaceAll(b.String(), dir, "DIR")
}

// The kind of each sample is found out; go test -update rewrites what becomes of them.
func TestSamples(t *testing.T) {
	dir, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]string{
		"client.properties": "properties", "kcat.conf": "kcat", "librdkafka-oidc.conf": "kcat", "rpk.yaml": "rpk", "redpanda.yaml": "rpk",
		"kaf-config": "kaf", "kafkactl.yml": "kafkactl", "kcl.toml": "kcl", "kcl-old.toml": "kcl",
	}
	for name, kind := range kinds {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(dir, name)
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			r, err := foreign.Read(path, text, "")
			if err != nil {
				t.Fatal(err)
			}
			if r.Kind != kind {
				t.Errorf("taken for %s", r.Kind)
			}
			kftest.Golden(t, filepath.Join("testdata", name+".golden"), describe(r, dir))
		})
	}
}

func TestReadErrors(t *testing.T) {
	for _, tt := range []struct{ text, kind, err string }{
		{"", "", "FILE: not recognised: --from says which tool wrote it: properties, kcat, rpk, kaf, kafkactl, kcl"},
		{"hello\n", "", "FILE: not recognised: --from says which tool wrote it: properties, kcat, rpk, kaf, kafkactl, kcl"},
		{"a: [", "kaf", "FILE: yaml: line 1: did not find expected node content"},
		{"a: &x b\nc: *x\n", "kaf", "FILE: line 2: aliases are not read"},
		{"- a\n", "rpk", "FILE: holds no keys with values"},
		{"a = \n", "kcl", "FILE: line 1: toml: incomplete number"},
		{"broker\n", "kcat", "FILE: line 1: expected property=value"},
		{`a=\u00`, "properties", `FILE: line 1: value: malformed \uxxxx escape`},
		{"", "zk", "--from: must be one of properties, kcat, rpk, kaf, kafkactl, kcl"},
	} {
		if _, err := foreign.Read("FILE", []byte(tt.text), tt.kind); err == nil || err.Error() != tt.err {
			t.Errorf("%q as %q: got  %v\nwant %s", tt.text, tt.kind, err, tt.err)
		}
	}
}

func FuzzRead(f *testing.F) {
	samples, err := filepath.Glob("testdata/*")
	if err != nil || len(samples) == 0 {
		f.Fatal("no samples")
	}
	for _, path := range samples {
		text, err := os.ReadFile(path)
		if err != nil || strings.HasSuffix(path, ".golden") {
			continue
		}
		f.Add(text, "")
	}
	f.Add([]byte("profiles: {a: [], b: {kafka_api: {tls: 1, brokers: {}}}}"), "kcl")
	f.Fuzz(func(t *testing.T, text []byte, kind string) {
		r, err := foreign.Read("/dir/FILE", text, kind)
		if err != nil {
			return
		}
		for _, c := range r.Contexts {
			for i, p := range c.Properties {
				if p.Name == "bootstrap.servers" || i > 0 && c.Properties[i-1].Name >= p.Name {
					t.Fatalf("%q: %+v", text, c)
				}
			}
		}
	})
}
