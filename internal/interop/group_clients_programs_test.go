//go:build interop && clients

package interop

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// clientPrograms are the group members of testdata/clients, ready to run.
type clientPrograms struct {
	sources string // testdata/clients
	bin     string // the built Go programs
	python  string // the interpreter
	modules string // folder of the Python libraries
	js      string // node_modules
}

// newClientPrograms fetches the libraries, unless the cache of the user has them,
// and builds what has to be built.
func newClientPrograms(t *testing.T) *clientPrograms {
	t.Helper()
	for _, program := range []string{"kcat", "python3", "node", "npm"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Fatalf("%s is not installed: these tests need kcat, Python with pip, and Node.js with npm: %v", program, err)
		}
	}
	sources, err := filepath.Abs(filepath.Join("testdata", "clients"))
	if err != nil {
		t.Fatal(err)
	}
	p := &clientPrograms{sources: sources, bin: t.TempDir()}
	build := exec.Command("go", "build", "-o", p.bin, "./...")
	build.Dir = filepath.Join(sources, "go")
	run(t, build)
	// A wrapper of the interpreter may take longer than Python itself.
	python, err := exec.Command("python3", "-c", "import sys; print(sys.executable)").Output()
	if err != nil {
		t.Fatalf("python3: %v", err)
	}
	p.python = strings.TrimSpace(string(python))
	requirements := filepath.Join(sources, "python", "requirements.txt")
	p.modules = libraries(t, "python", requirements, []string{p.python, "--version"}, func(dir string) *exec.Cmd {
		return exec.Command(p.python, "-m", "pip", "install", "--disable-pip-version-check", "--only-binary", ":all:", "--target", dir, "-r", requirements)
	})
	manifest := filepath.Join(sources, "js", "package.json")
	p.js = filepath.Join(libraries(t, "js", manifest, []string{"node", "--version"}, func(dir string) *exec.Cmd {
		if err := copyFile(manifest, filepath.Join(dir, "package.json")); err != nil {
			t.Fatal(err)
		}
		install := exec.Command("npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "--no-package-lock")
		install.Dir = dir
		return install
	}), "node_modules")
	return p
}

// libraries returns the folder in the user's cache with the libraries that a file
// lists, for the version of the language which a command prints.
func libraries(t *testing.T, name, list string, version []string, install func(dir string) *exec.Cmd) string {
	t.Helper()
	text, err := os.ReadFile(list)
	if err != nil {
		t.Fatal(err)
	}
	language, err := exec.Command(version[0], version[1:]...).Output()
	if err != nil {
		t.Fatalf("%s: %v", strings.Join(version, " "), err)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(cache, "kf-interop-clients", name)
	// The mark is written last: it says that the libraries are those of the list.
	mark, want := dir+".installed", append(language, text...)
	if have, err := os.ReadFile(mark); err == nil && bytes.Equal(have, want) {
		return dir
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Logf("installing the libraries of %s into %s", list, dir)
	run(t, install(dir))
	if err := os.WriteFile(mark, want, 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

// A client is one way of a library to be in a group.
type client struct {
	library  string
	protocol string // classic or consumer
	assignor string
	static   bool // the library has static members for it
}

func (c client) String() string { return c.library + " " + c.protocol + " " + c.assignor }

// incremental reports whether members keep what they keep in a rebalance.
func (c client) incremental() bool {
	return c.protocol == "consumer" || c.assignor == "cooperative-sticky"
}

// Timeouts and intervals in ms. Members that are killed have the shortest session
// that brokers allow without being asked to. A long one outlives what a test waits
// for: without a request to leave, nothing happens in time.
const (
	shortSessionMs    = 6000
	longSessionMs     = 2 * int(startLimit/time.Millisecond)
	clientHeartbeatMs = 500
)

// command returns the member that joins group, which reads the topic of the same
// name. id is its group instance id, if it is static.
func (p *clientPrograms) command(c client, bootstrap, group, id string, sessionMs int) *exec.Cmd {
	args := []string{
		bootstrap, group, group, "--protocol", c.protocol, "--assignor", c.assignor,
		"--session", fmt.Sprint(sessionMs), "--heartbeat", fmt.Sprint(clientHeartbeatMs),
	}
	if id != "" {
		args = append(args, "--static", id)
	}
	switch c.library {
	case "kcat":
		return kcatMember(c, bootstrap, group, id, sessionMs)
	case "franz-go":
		return exec.Command(filepath.Join(p.bin, "franz"), args...)
	case "kafka-go":
		return exec.Command(filepath.Join(p.bin, "kafkago"), args...)
	case "sarama":
		return exec.Command(filepath.Join(p.bin, "sarama"), args...)
	case "kafkajs":
		m := exec.Command("node", append([]string{filepath.Join(p.sources, "js", "kafkajs.js")}, args...)...)
		m.Env = append(os.Environ(), "NODE_PATH="+p.js)
		return m
	}
	script := map[string]string{"confluent-kafka": "confluent.py", "kafka-python": "kafkapython.py", "aiokafka": "aio.py"}[c.library]
	m := exec.Command(p.python, append([]string{filepath.Join(p.sources, "python", script)}, args...)...)
	m.Env = append(os.Environ(), "PYTHONPATH="+p.modules, "PYTHONDONTWRITEBYTECODE=1")
	return m
}

// kcatMember is kcat in the words of the other members' command line.
func kcatMember(c client, bootstrap, group, id string, sessionMs int) *exec.Cmd {
	args := []string{"-b", bootstrap, "-G", group, "-E", "-u", "-f", "record %p %o\n"}
	if id != "" {
		args = append(args, "-X", "group.instance.id="+id)
	}
	for _, setting := range []string{
		"partition.assignment.strategy=" + c.assignor, "auto.offset.reset=earliest", "auto.commit.interval.ms=100", "enable.partition.eof=false",
		fmt.Sprint("session.timeout.ms=", sessionMs), fmt.Sprint("heartbeat.interval.ms=", clientHeartbeatMs),
	} {
		args = append(args, "-X", setting)
	}
	return exec.Command("kcat", append(args, group)...)
}
