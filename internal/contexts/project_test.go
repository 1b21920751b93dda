package contexts_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kf/internal/contexts"
)

func TestParseProject(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		use        string
		servers    string
		err        string
	}{
		{name: "none", text: "# nothing\n"},
		{name: "context", text: "context: dev\n", use: "dev"},
		{name: "servers", text: "bootstrap_servers: [a, b]\nproperties: {security.protocol: SSL, ssl.truststore.location: ca.pem}\nprotected: true\n", servers: "a,b"},
		{name: "both", text: "context: prod\nproperties: {security.protocol: PLAINTEXT}\n", err: "FILE: names a context and sets properties: one of the two, or a project could change what your context says"},
		{name: "servers of context", text: "context: prod\nbootstrap_servers: evil:9092\n", err: "FILE: names a context and sets bootstrap_servers: one of the two, or a project could change what your context says"},
		{name: "unprotected", text: "context: prod\nprotected: false\n", err: "FILE: names a context and sets protected: one of the two, or a project could change what your context says"},
		{name: "no servers", text: "properties: {client.id: x}\n", err: "FILE: sets properties for no bootstrap_servers"},
		{name: "secret", text: "bootstrap_servers: a\nproperties:\n  sasl.password: x\n", err: "FILE: line 3: sasl.password is a secret, which a project file never holds: put it into a context (kf context add) and name that here"},
		{name: "jaas", text: "bootstrap_servers: a\nproperties: {sasl.jaas.config: x}\n", err: "FILE: line 2: sasl.jaas.config is a secret, which a project file never holds: put it into a context (kf context add) and name that here"},
		{name: "file as token", text: "bootstrap_servers: a\nproperties: {sasl.oauthbearer.token.endpoint.url: 'file:///home/u/.ssh/id_rsa'}\n", err: "FILE: line 2: sasl.oauthbearer.token.endpoint.url cannot be set by a project file: put it into a context (kf context add) and name that here"},
		{name: "keystore", text: "bootstrap_servers: a\nproperties: {ssl.keystore.location: k}\n", err: "FILE: line 2: ssl.keystore.location cannot be set by a project file: put it into a context (kf context add) and name that here"},
		{name: "provider", text: "bootstrap_servers: a\nproperties: {client.id: '${env:AWS_SECRET_ACCESS_KEY}'}\n", err: "FILE: line 2: client.id holds ${, with which config.providers could send what is elsewhere"},
		{name: "command", text: "bootstrap_servers: a\nsecrets: {sasl.password: [rm, -rf, /]}\n", err: `FILE: line 2: unknown key "secrets" (there are context, bootstrap_servers, properties, protected)`},
		{name: "contexts", text: "contexts: {a: {bootstrap_servers: x}}\n", err: `FILE: line 1: unknown key "contexts": did you mean context?`},
		{name: "output", text: "output: json\n", err: `FILE: line 1: unknown key "output" (there are context, bootstrap_servers, properties, protected)`},
		{name: "name", text: "context: -x\n", err: `FILE: line 1: "-x" is no name of a context: it starts with a hyphen`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, err := contexts.ParseProject("FILE", []byte(tt.text))
			if tt.err != "" {
				if err == nil || err.Error() != tt.err {
					t.Errorf("got  %v\nwant %s", err, tt.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			servers := ""
			if p.Cluster != nil {
				servers = p.Cluster.Bootstrap
			}
			if p.Use != tt.use || servers != tt.servers {
				t.Errorf("got %+v, %q", p, servers)
			}
		})
	}
}

func TestFindProject(t *testing.T) {
	top := t.TempDir()
	deep := filepath.Join(top, "a", "b")
	if err := os.MkdirAll(deep, 0o755); err != nil {
		t.Fatal(err)
	}
	want := filepath.Join(top, ".kf.yaml")
	if err := os.WriteFile(want, []byte("context: x\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{top, deep} {
		if got, err := contexts.FindProject(dir); got != want || err != nil {
			t.Errorf("%s: got %q, %v", dir, got, err)
		}
	}
	if p, err := contexts.ReadProject(want); err != nil || p.Use != "x" {
		t.Errorf("got %+v, %v", p, err)
	}
	nearer := filepath.Join(deep, ".kf.yaml")
	if err := os.Mkdir(nearer, 0o755); err != nil {
		t.Fatal(err)
	}
	if got, err := contexts.FindProject(deep); got != nearer || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	if _, err := contexts.ReadProject(nearer); err == nil || err.Error() != nearer+" is no regular file" {
		t.Errorf("got %v", err)
	}
}

func FuzzParseProject(f *testing.F) {
	f.Add([]byte("context: dev\n"))
	f.Add([]byte("bootstrap_servers: a\nproperties: {client.id: x}\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := contexts.ParseProject("FILE", text)
		if err != nil || p.Cluster == nil {
			return
		}
		if p.Use != "" || p.Cluster.HoldsSecrets() {
			t.Fatalf("%q: %+v", text, p)
		}
		for _, property := range p.Cluster.Properties {
			if property.Ref != nil || strings.HasPrefix(property.Name, "sasl.") && property.Name != "sasl.mechanism" {
				t.Fatalf("%q: %+v", text, property)
			}
		}
	})
}
