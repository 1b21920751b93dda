//go:build interop

package interop

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

// A kafka is Apache Kafka with our Java programs.
type kafka struct {
	libs     string // folder of its jars
	classes  string // folder of our classes
	testdata string
}

// newKafka fetches Kafka, unless the cache of the user has it, and compiles our
// programs.
func newKafka(t testing.TB) *kafka {
	t.Helper()
	for _, program := range []string{"java", "javac", "mvn"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Fatalf("%s is not installed: these tests need a JDK and Maven: %v", program, err)
		}
	}
	testdata, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	k := &kafka{testdata: testdata, classes: t.TempDir()}
	k.libs = k.fetch(t)
	sources, err := filepath.Glob(filepath.Join(testdata, "java", "*.java"))
	if err != nil || len(sources) == 0 {
		t.Fatalf("no Java sources in %s: %v", testdata, err)
	}
	run(t, exec.Command("javac", append([]string{"-nowarn", "-d", k.classes, "-cp", filepath.Join(k.libs, "*")}, sources...)...))
	return k
}

// fetch returns the folder with the jars of testdata/pom.xml.
func (k *kafka) fetch(t testing.TB) string {
	t.Helper()
	pom := filepath.Join(k.testdata, "pom.xml")
	text, err := os.ReadFile(pom)
	if err != nil {
		t.Fatal(err)
	}
	version := regexp.MustCompile(`<kafka.version>(.*)</kafka.version>`).FindSubmatch(text)
	if version == nil {
		t.Fatalf("%s names no version of Kafka", pom)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	// Another pom has another folder, so that checkouts at work at the same time do
	// not take each other's jars away.
	sum := sha256.Sum256(text)
	libs := filepath.Join(cache, fmt.Sprintf("kf-interop-%s-%x", version[1], sum[:4]))
	if _, err := os.Stat(libs); err == nil {
		return libs
	}
	t.Logf("fetching Kafka %s into %s", version[1], libs)
	if err := os.MkdirAll(cache, 0o755); err != nil {
		t.Fatal(err)
	}
	fetched, err := os.MkdirTemp(cache, "kf-interop-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(fetched)
	run(t, exec.Command("mvn", "-q", "-B", "-f", pom, "dependency:copy-dependencies", "-DoutputDirectory="+fetched))
	if err := os.Rename(fetched, libs); err != nil {
		if _, there := os.Stat(libs); there != nil { // or somebody else was faster
			t.Fatal(err)
		}
	}
	return libs
}

// run runs a command to its end and fails the test if it fails.
func run(t testing.TB, c *exec.Cmd) {
	t.Helper()
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(c.Args, " "), err, out)
	}
}

// java returns a command that runs main of class, with its logs in the file log.
// It ends with its standard input, so that none outlives the test.
func (k *kafka) java(log, class string, args ...string) *exec.Cmd {
	flags := []string{
		"-Xmx700m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Dfile.encoding=UTF-8",
		"-cp", k.classes + string(os.PathListSeparator) + filepath.Join(k.libs, "*"),
		"-Dlog4j2.configurationFile=" + filepath.Join(k.testdata, "log4j2.xml"), "-Dkf.log=" + log,
	}
	return exec.Command("java", append(append(flags, class), args...)...)
}

// A process is a running Java program.
type process struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
	name  string
	ended chan struct{} // closed when it has ended

	mu     sync.Mutex
	output bytes.Buffer
	lines  chan string
}

// start starts class under Node; t ends it.
func (k *kafka) start(t testing.TB, log, class string, args ...string) *process {
	t.Helper()
	p := &process{cmd: k.java(log, "Node", append([]string{class}, args...)...), name: class, ended: make(chan struct{}), lines: make(chan string, 1000)}
	out, in := io.Pipe()
	p.cmd.Stdout, p.cmd.Stderr = in, in
	var err error
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.lines)
		r := bufio.NewReader(out)
		for {
			line, err := r.ReadString('\n')
			if line != "" {
				p.mu.Lock()
				p.output.WriteString(line)
				p.mu.Unlock()
				select {
				case p.lines <- strings.TrimSuffix(line, "\n"):
				default: // nobody waits any more
				}
			}
			if err != nil {
				return
			}
		}
	}()
	go func() {
		_ = p.cmd.Wait()
		in.Close()
		close(p.ended)
	}()
	t.Cleanup(p.kill)
	return p
}

// kill ends the process without giving it time, and waits for its end.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.ended
}

// stop lets the process end as SIGTERM does.
func (p *process) stop(t *testing.T) {
	t.Helper()
	if _, err := io.WriteString(p.stdin, "stop\n"); err != nil {
		t.Fatalf("stopping %s: %v", p.name, err)
	}
	select {
	case <-p.ended:
	case <-time.After(60 * time.Second):
		t.Fatalf("%s does not stop", p.name)
	}
}

// await waits until the process prints the line.
func (p *process) await(t *testing.T, line string, limit time.Duration) {
	t.Helper()
	end := time.After(limit)
	for {
		select {
		case got, ok := <-p.lines:
			if !ok {
				t.Fatalf("%s has ended:\n%s", p.name, p.said())
			}
			if got == line {
				return
			}
		case <-end:
			t.Fatalf("%s does not say %q within %v:\n%s", p.name, line, limit, p.said())
		}
	}
}

func (p *process) said() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.output.String()
}

// A node is a broker and controller with a folder of its own.
type node struct {
	k         *kafka
	dir       string // has server.properties, data and the logs
	bootstrap string
}

// newNode formats a node.
func (k *kafka) newNode(t *testing.T) *node {
	t.Helper()
	n := &node{k: k, dir: t.TempDir()}
	n.bootstrap = freePort(t)
	controller := freePort(t)
	properties, err := os.ReadFile(filepath.Join(k.testdata, "server.properties"))
	if err != nil {
		t.Fatal(err)
	}
	properties = fmt.Appendf(properties, `
controller.quorum.bootstrap.servers=%[2]s
listeners=PLAINTEXT://%[1]s,CONTROLLER://%[2]s
advertised.listeners=PLAINTEXT://%[1]s,CONTROLLER://%[2]s
rlmm.config.remote.log.metadata.common.client.bootstrap.servers=%[1]s
log.dirs=%[3]s
`, n.bootstrap, controller, filepath.ToSlash(n.data()))
	if err := os.WriteFile(n.path("server.properties"), properties, 0o644); err != nil {
		t.Fatal(err)
	}
	// A dynamic quorum, and features to raise later.
	run(t, k.java(n.path("format.log"), "kafka.tools.StorageTool", "format", "--cluster-id", "kfInteropCluster000000", "--standalone",
		"--feature", "transaction.version=1", "--feature", "eligible.leader.replicas.version=0", "--config", n.path("server.properties")))
	return n
}

func (n *node) path(name string) string { return filepath.Join(n.dir, name) }
func (n *node) data() string            { return n.path("data") }

// start starts the node and waits until it answers.
func (n *node) start(t *testing.T) *process {
	t.Helper()
	p, err := n.tryStart(t)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// tryStart starts the node and waits until it answers; it fails if the node ends.
func (n *node) tryStart(t *testing.T) (*process, error) {
	t.Helper()
	p := n.k.start(t, n.path("server.log"), "kafka.Kafka", n.path("server.properties"))
	for end := time.Now().Add(60 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		c, err := net.DialTimeout("tcp", n.bootstrap, time.Second)
		if err == nil {
			c.Close()
			return p, nil
		}
		select {
		case <-p.ended:
			return nil, fmt.Errorf("the node has ended:\n%s\n%s", p.said(), n.log())
		default:
		}
		if time.Now().After(end) {
			return nil, fmt.Errorf("the node does not start:\n%s\n%s", p.said(), n.log())
		}
	}
}

// fill runs Fill on the node and returns it while it still holds transactions
// open and group members alive.
func (n *node) fill(t *testing.T, seed int64) *process {
	t.Helper()
	p := n.k.start(t, n.path("fill.log"), "Fill", n.bootstrap, fmt.Sprint(seed), n.data())
	defer func() {
		if t.Failed() {
			t.Logf("the end of the node's log:\n%s", n.log())
		}
	}()
	p.await(t, "filled", 3*time.Minute)
	return p
}

func (n *node) log() string {
	p, _ := os.ReadFile(n.path("server.log"))
	return string(p[max(0, len(p)-5000):])
}

// freePort returns an address of this host on which nobody listens.
func freePort(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// copyTree copies a folder that may be changing. Zeros become holes: the indexes
// of the metadata log have 10 MiB of them.
func copyTree(t *testing.T, from, to string) {
	t.Helper()
	err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, relative)
		if d.IsDir() {
			return os.MkdirAll(target, 0o755)
		}
		if err := copyFile(path, target); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func copyFile(from, to string) error {
	p, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return writeSparse(to, p)
}

func writeSparse(path string, p []byte) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := f.Truncate(int64(len(p))); err != nil {
		return err
	}
	const block = 64 << 10
	zeros := make([]byte, block)
	for pos := 0; pos < len(p); pos += block {
		part := p[pos:min(pos+block, len(p))]
		if bytes.Equal(part, zeros[:len(part)]) {
			continue
		}
		if _, err := f.WriteAt(part, int64(pos)); err != nil {
			return err
		}
	}
	return f.Close()
}
