package online

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"kf/internal/cli"
	"kf/internal/client"
)

// world is where settings are resolved: the contexts of the user, the file of the
// project that is the working directory, and variables.
type world struct {
	contexts, project string
	vars              []string
	flags             Flags
	files             map[string]string // in the working directory, mode 0600
}

const twoContexts = `
contexts:
  prod:
    bootstrap_servers: prod:9093
    properties: {security.protocol: SASL_SSL, sasl.mechanism: PLAIN, sasl.username: u, ssl.truststore.location: ca.pem}
    secrets: {sasl.password: env:PW}
    protected: true
  dev:
    bootstrap_servers: dev:9092
`

// resolve returns the settings and the working directory.
func (w world) resolve(t *testing.T) (*Settings, *cli.Env, error) {
	t.Helper()
	dir := t.TempDir()
	t.Chdir(dir)
	write := func(path, text string) {
		t.Helper()
		if text == "" {
			return
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("xdg/kf/contexts.yaml", w.contexts)
	write(".kf.yaml", w.project)
	for name, text := range w.files {
		write(name, text)
	}
	env := &cli.Env{Environ: append([]string{"XDG_CONFIG_HOME=" + filepath.Join(dir, "xdg"), "HOME=/home/u"}, w.vars...)}
	w.flags.given = map[string]bool{"context": w.flags.Context != "", "bootstrap-server": w.flags.Bootstrap != ""}
	set, err := resolve(sources{env: env, flags: w.flags})
	return set, env, err
}

// shown returns the values in force, "name=value (origin; over)".
func shown(set *Settings) string {
	var all []string
	for _, u := range set.Values {
		text := u.Name + "=" + u.Shown() + " (" + filepath.Base(u.Origin)
		for _, over := range u.Over {
			text += "; " + over.Name + " of " + filepath.Base(over.Origin)
		}
		all = append(all, text+")")
	}
	return strings.Join(all, "\n")
}

func TestResolve(t *testing.T) {
	prod := "bootstrap.servers=prod:9093 (context prod)\nsasl.mechanism=PLAIN (context prod)\nsasl.password=env:PW (context prod)\nsasl.username=u (context prod)\n" +
		"security.protocol=SASL_SSL (context prod)\nssl.truststore.location=ca.pem (context prod)"
	current := "current: prod" + twoContexts
	for _, tt := range []struct {
		name string
		world
		want      string
		context   string
		protected bool
	}{
		{"nothing", world{}, "bootstrap.servers=localhost:9092 (default)", "", false},
		{"variable of all tools", world{vars: []string{"KAFKA_BOOTSTRAP_SERVERS=k:1"}}, "bootstrap.servers=k:1 (KAFKA_BOOTSTRAP_SERVERS)", "", false},
		{"current context", world{contexts: current, vars: []string{"KAFKA_BOOTSTRAP_SERVERS=k:1"}}, prod, "prod", true},
		{"project's context", world{contexts: current, project: "context: dev\n"}, "bootstrap.servers=dev:9092 (context dev)", "dev", false},
		{"project's servers", world{contexts: current, project: "bootstrap_servers: p:1\nprotected: true\n", vars: []string{"KF_CLIENT_ID=me"}},
			"bootstrap.servers=p:1 (.kf.yaml)\nclient.id=me (KF_CLIENT_ID)", "", true},
		{"empty project", world{contexts: current, project: "# none\n"}, prod, "prod", true},
		{"named by variable", world{contexts: "current: dev" + twoContexts, project: "context: dev\n", vars: []string{"KF_CONTEXT=prod", "KF_SASL_MECHANISM=SCRAM-SHA-512"}},
			strings.Replace(prod, "sasl.mechanism=PLAIN (context prod)", "sasl.mechanism=SCRAM-SHA-512 (KF_SASL_MECHANISM; sasl.mechanism of context prod)", 1), "prod", true},
		{"servers by variable", world{contexts: current, project: "context: dev\n", vars: []string{"KF_BOOTSTRAP_SERVERS=e:1", "KF_CONTEXT=prod"}},
			"bootstrap.servers=e:1 (KF_BOOTSTRAP_SERVERS)", "", false},
		{"servers by flag", world{contexts: current, vars: []string{"KF_CONTEXT=prod", "KF_SECURITY_PROTOCOL=SSL"}, flags: Flags{Bootstrap: "f:1"}},
			"bootstrap.servers=f:1 (--bootstrap-server)\nsecurity.protocol=SSL (KF_SECURITY_PROTOCOL)", "", false},
		{"context by flag", world{contexts: "current: dev" + twoContexts, vars: []string{"KF_BOOTSTRAP_SERVERS=e:1", "KF_CLIENT_ID=me"}, flags: Flags{Context: "prod"}},
			strings.Replace(prod, "(context prod)\nsasl.m", "(context prod; bootstrap.servers of KF_BOOTSTRAP_SERVERS)\nclient.id=me (KF_CLIENT_ID)\nsasl.m", 1), "prod", true},
		{"context and servers by flags", world{contexts: twoContexts, flags: Flags{Context: "dev", Bootstrap: "f:1"}},
			"bootstrap.servers=f:1 (--bootstrap-server; bootstrap.servers of context dev)\nsecurity.protocol=PLAINTEXT (context dev, which sets none)", "dev", false},
		{"the protocol of a context is its own", world{contexts: twoContexts, vars: []string{"KF_SECURITY_PROTOCOL=SSL"}, flags: Flags{Context: "dev"}},
			"bootstrap.servers=dev:9092 (context dev)\nsecurity.protocol=PLAINTEXT (context dev, which sets none; security.protocol of KF_SECURITY_PROTOCOL)", "dev", false},
		{"files", world{
			flags: Flags{CommandConfig: "a.properties", Properties: []string{"client.id=x", "client.id=x2"}},
			vars:  []string{"KF_COMMAND_CONFIG=b.properties", "KF_SASL_MECHANISM=PLAIN"},
			files: map[string]string{"a.properties": "client.id=a\nretries=1\nretries=2\nmy.own=7\n", "b.properties": "retries=3\nsasl.mechanism=X\nbootstrap.servers=b:1\n"},
		}, "bootstrap.servers=b:1 (b.properties: line 3)\nclient.id=x2 (-X; client.id of -X; client.id of a.properties: line 1)\nmy.own=7 (a.properties: line 4)\n" +
			"retries=2 (a.properties: line 3; retries of a.properties: line 2; retries of b.properties: line 1)\nsasl.mechanism=PLAIN (KF_SASL_MECHANISM; sasl.mechanism of b.properties: line 2)", "", false},
		{"user over JAAS", world{vars: []string{"KF_SASL_JAAS_CONFIG=x"}, flags: Flags{Properties: []string{"sasl.username=u"}}},
			"bootstrap.servers=localhost:9092 (default)\nsasl.username=u (-X; sasl.jaas.config of KF_SASL_JAAS_CONFIG)", "", false},
		{"JAAS over user", world{vars: []string{"KF_SASL_JAAS_CONFIG=x"}, contexts: current},
			"bootstrap.servers=prod:9093 (context prod)\nsasl.jaas.config=******** (KF_SASL_JAAS_CONFIG; sasl.username of context prod; sasl.password of context prod)\n" +
				"sasl.mechanism=PLAIN (context prod)\nsecurity.protocol=SASL_SSL (context prod)\nssl.truststore.location=ca.pem (context prod)", "prod", true},
		{"controllers", world{contexts: current, flags: Flags{Properties: []string{"bootstrap.controllers=c:1"}}, vars: []string{"KF_BOOTSTRAP_SERVERS=e:1"}},
			"bootstrap.controllers=c:1 (-X; bootstrap.servers of KF_BOOTSTRAP_SERVERS)", "", false},
		{"other variables", world{vars: []string{"KF_=x", "KF_SEED=7", "KF_OUTPUT=json", "KF_CONFIG=c", "KF_TIMEOUT=1s", "KF_CLIENT_ID="}},
			"bootstrap.servers=localhost:9092 (default)", "", false},
		{"broken contexts that are not used", world{contexts: "contexts: [", flags: Flags{Bootstrap: "f:1"}}, "bootstrap.servers=f:1 (--bootstrap-server)", "", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			set, _, err := tt.resolve(t)
			if err != nil {
				t.Fatal(err)
			}
			if got := shown(set); got != tt.want || set.Context != tt.context || set.Protected != tt.protected {
				t.Errorf("context %q, protected %v, got\n%s\nwant\n%s", set.Context, set.Protected, got, tt.want)
			}
		})
	}
}

func TestResolveErrors(t *testing.T) {
	for _, tt := range []struct {
		name string
		world
		err string // DIR is the working directory
	}{
		{"no contexts", world{flags: Flags{Context: "prod"}}, `--context: no context "prod": you have none yet: kf context add prod -b HOST:PORT`},
		{"misspelt", world{contexts: twoContexts, vars: []string{"KF_CONTEXT=prdo"}}, `KF_CONTEXT: no context "prdo": did you mean prod?`},
		{"unknown", world{contexts: twoContexts, project: "context: other\n"}, `DIR/.kf.yaml: line 1: no context "other" (there are dev, prod)`},
		{"current", world{contexts: "current: gone" + twoContexts}, `DIR/xdg/kf/contexts.yaml: current: no context "gone" (there are dev, prod)`},
		{"property", world{flags: Flags{Properties: []string{"sasl.mechansim=PLAIN"}}}, `-X: sasl.mechansim is no property of Kafka's clients: did you mean sasl.mechanism?`},
		{"no value", world{flags: Flags{Properties: []string{"hunter2"}}}, `-X: want key=value, such as -X security.protocol=SSL`},
		{"no file", world{flags: Flags{CommandConfig: "missing"}}, `--command-config: open missing: no such file or directory`},
		{"no file of a variable", world{vars: []string{"KF_COMMAND_CONFIG=missing"}}, `KF_COMMAND_CONFIG: open missing: no such file or directory`},
		{"file", world{flags: Flags{CommandConfig: "f"}, files: map[string]string{"f": `a=\u0`}}, `--command-config: f: line 1: value: malformed \uxxxx escape`},
		{"project", world{project: "secrets: x\n"}, `DIR/.kf.yaml: line 1: unknown key "secrets" (there are context, bootstrap_servers, properties, protected) (-b or -C names a cluster without this file)`},
		{"secret of a variable for a project's servers", world{project: "bootstrap_servers: evil:9092\n", vars: []string{"KF_SASL_JAAS_CONFIG=x"}},
			`DIR/.kf.yaml names the servers, to whom sasl.jaas.config of KF_SASL_JAAS_CONFIG would go: name the servers yourself (-b evil:9092), or a context (-C)`},
		{"token of a file for a project's servers", world{project: "bootstrap_servers: evil:9092\n", flags: Flags{CommandConfig: "f"}, files: map[string]string{"f": "sasl.oauthbearer.token.endpoint.url=file:/token\n"}},
			`DIR/.kf.yaml names the servers, to whom sasl.oauthbearer.token.endpoint.url of f: line 1 would go: name the servers yourself (-b evil:9092), or a context (-C)`},
		{"broken contexts", world{contexts: "contexts: [\n"}, `DIR/xdg/kf/contexts.yaml: yaml: line 1: did not find expected node content`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			set, env, err := tt.resolve(t)
			if err == nil {
				t.Fatalf("got %+v", set)
			}
			dir := filepath.Dir(env.Getenv("XDG_CONFIG_HOME"))
			if got := strings.ReplaceAll(err.Error(), dir, "DIR"); got != tt.err {
				t.Errorf("got  %s\nwant %s", got, tt.err)
			}
		})
	}
}

func TestWarnings(t *testing.T) {
	set, _, err := world{vars: []string{"KF_SASL_MECHANSIM=PLAIN", "KF_FIXTURES=x", "KF_SSL_TRUSTORE_LOCATION=y"}}.resolve(t)
	want := []string{
		"KF_SASL_MECHANSIM: sasl.mechansim is no property of Kafka's clients: did you mean KF_SASL_MECHANISM?",
		"KF_SSL_TRUSTORE_LOCATION: ssl.trustore.location is no property of Kafka's clients: did you mean KF_SSL_TRUSTSTORE_LOCATION?",
	}
	if err != nil || !reflect.DeepEqual(set.Warnings, want) {
		t.Errorf("got %q, %v", set.Warnings, err)
	}
}

// What the client is given: secrets are found, paths mean the same everywhere, and a
// user and password are the line that Java clients take.
func TestProperties(t *testing.T) {
	w := world{
		contexts: "current: prod" + twoContexts, vars: []string{`PW=a"b\c`},
		files: map[string]string{"etc/client.properties": "ssl.keystore.location=here.jks\nssl.truststore.location=there.jks\nssl.key.password=~/no path\n", "etc/here.jks": "x", "there.jks": "x"},
		flags: Flags{CommandConfig: "etc/client.properties", Properties: []string{"sasl.oauthbearer.assertion.file=~/a"}},
	}
	set, env, err := w.resolve(t)
	if err != nil {
		t.Fatal(err)
	}
	got, err := set.properties(t.Context(), env, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		client.BootstrapServers:           "prod:9093",
		"security.protocol":               "SASL_SSL",
		"sasl.mechanism":                  "PLAIN",
		"sasl.jaas.config":                `org.apache.kafka.common.security.plain.PlainLoginModule required username="u" password="a\"b\\c";`,
		"ssl.keystore.location":           "etc/here.jks",
		"ssl.truststore.location":         "there.jks", // is not in etc
		"ssl.key.password":                "~/no path",
		"sasl.oauthbearer.assertion.file": "/home/u/a",
	}
	for name, value := range want {
		if got.Get(name) != value {
			t.Errorf("%s: got %q, want %q", name, got.Get(name), value)
		}
	}
	if len(got) != len(want) {
		t.Errorf("got %+v", got)
	}

	w.flags, w.vars = Flags{}, nil
	set, env, err = w.resolve(t)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := set.properties(t.Context(), env, time.Minute); err == nil || err.Error() != "context prod: sasl.password: env:PW: the variable is not set" {
		t.Errorf("got %v", err)
	}
	w.vars = []string{"PW=x"}
	if set, env, err = w.resolve(t); err != nil {
		t.Fatal(err)
	}
	if got, err = set.properties(t.Context(), env, time.Minute); err != nil || got.Get("ssl.truststore.location") != filepath.Join(env.Getenv("XDG_CONFIG_HOME"), "kf", "ca.pem") {
		t.Errorf("a path of a context is %q, %v", got.Get("ssl.truststore.location"), err)
	}
}

// A client secret and a token endpoint are enough for OAUTHBEARER.
func TestLoginWithToken(t *testing.T) {
	for _, tt := range []struct{ endpoint, jaas, want string }{
		{"https://idp/token", "", "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required;"},
		{"https://idp/token", "own", "own"},
		{"", "", ""},
	} {
		all := client.Properties{
			"security.protocol": {Value: "SASL_SSL"}, "sasl.mechanism": {Value: "OAUTHBEARER"},
			"sasl.oauthbearer.token.endpoint.url": {Value: tt.endpoint}, "sasl.jaas.config": {Value: tt.jaas},
		}
		if err := logIn(all); err != nil || all.Get("sasl.jaas.config") != tt.want {
			t.Errorf("%+v: got %q, %v", tt, all.Get("sasl.jaas.config"), err)
		}
	}
}

func TestLogin(t *testing.T) {
	for _, tt := range []struct{ mechanism, user, password, want, err string }{
		{"SCRAM-SHA-256", "a", "b", `org.apache.kafka.common.security.scram.ScramLoginModule required username="a" password="b";`, ""},
		{"", "a", "b", "", "sasl.username needs sasl.mechanism: PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512"},
		{"OAUTHBEARER", "a", "b", "", "sasl.username is for the mechanisms PLAIN, SCRAM-SHA-256 and SCRAM-SHA-512, not for OAUTHBEARER"},
		{"PLAIN", "", "b", "", "sasl.username is missing beside sasl.password"},
		{"PLAIN", "a", "", "", "sasl.password is missing beside sasl.username"},
	} {
		all := client.Properties{"security.protocol": {Value: "SASL_SSL"}, "sasl.mechanism": {Value: tt.mechanism}}
		for name, value := range map[string]string{"sasl.username": tt.user, "sasl.password": tt.password} {
			if value != "" {
				all[name] = client.Property{Value: value, Origin: "-X"}
			}
		}
		err := logIn(all)
		if all.Get("sasl.jaas.config") != tt.want || (err == nil) != (tt.err == "") || err != nil && (err.Error() != "-X: "+tt.err || cli.ExitCode(err) != cli.ExitUsage) {
			t.Errorf("%+v: got %q, %v", tt, all.Get("sasl.jaas.config"), err)
		}
		if _, there := all["sasl.password"]; there {
			t.Error("the password stays a property")
		}
	}
}
