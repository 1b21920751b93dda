//go:build interop

package interop

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"kf/internal/format/metaprops"
)

// A stage is what the tests of "kf serve" share: both programs, and a process
// that runs Kafka's clients and tools.
type stage struct {
	kf, kafka party
	judge     *judge
	root      string // working directory of the test and of the tools
}

func newStage(t *testing.T) *stage {
	t.Helper()
	k := newKafka(t)
	program := buildKF(t, t.TempDir())
	root := filepath.Join(t.TempDir(), "root")
	if err := os.Mkdir(root, 0o755); err != nil {
		t.Fatal(err)
	}
	j := newJudge(t, k, root)
	return &stage{
		kf:    kfParty(program),
		kafka: kafkaParty(k),
		judge: j,
		root:  j.dir,
	}
}

// dir returns the name of a directory for the test, which is not there yet.
func (s *stage) dir(t *testing.T) string {
	t.Helper()
	return filepath.Join(s.root, strings.ReplaceAll(t.Name(), "/", "-"))
}

// java runs the main method of a class.
func (s *stage) java(t *testing.T, class, stdin string, args ...string) string {
	t.Helper()
	r, err := s.judge.tools.run(class, stdin, args...)
	if err != nil {
		t.Fatalf("%s %q: %v", class, args, err)
	}
	if r.exit != 0 {
		t.Fatalf("%s %q: exit %d\n%s%s", class, args, r.exit, r.stdout, r.stderr)
	}
	return r.stdout
}

// A party is a program that serves data directories, kf or Apache Kafka.
type party struct {
	name string
	// try starts it on an address and waits until it is ready; t ends it. It fails
	// if the program ends.
	try func(t *testing.T, address string, dirs, configs []string) (*serving, error)
}

// kfParty returns the program of buildKF.
func kfParty(program string) party {
	return party{"kf", func(t *testing.T, address string, dirs, configs []string) (*serving, error) {
		return startKF(t, program, address, dirs, configs)
	}}
}

func kafkaParty(k *kafka) party {
	return party{"Kafka", func(t *testing.T, address string, dirs, configs []string) (*serving, error) {
		return startKafka(t, k, address, dirs, configs)
	}}
}

// calm are broker configs with which nothing old is deleted, compacted, expired
// or aborted, so that a broker serves what it was given.
var calm = []string{
	"log.retention.check.interval.ms=86400000",
	"log.cleaner.enable=false",
	"offsets.retention.check.interval.ms=86400000",
	"transaction.abort.timed.out.transaction.cleanup.interval.ms=86400000",
	"transaction.remove.expired.transaction.cleanup.interval.ms=86400000",
	"log.initial.task.delay.ms=86400000",
}

// anyPort lets a party choose its port.
const anyPort = "127.0.0.1:0"

// start starts the program on data directories and waits until it is ready; t ends
// it.
func (p party) start(t *testing.T, dirs []string, configs ...string) *serving {
	t.Helper()
	return p.startAt(t, anyPort, dirs, configs...)
}

// startAt is start on an address, so that clients find the program where another
// one was.
func (p party) startAt(t *testing.T, address string, dirs []string, configs ...string) *serving {
	t.Helper()
	b, err := p.try(t, address, dirs, configs)
	if err != nil {
		t.Fatalf("starting %s: %v", p.name, err)
	}
	return b
}

// A serving is a program that serves a directory.
type serving struct {
	name      string
	bootstrap string
	log       func() string
	stop      func(t *testing.T) // as SIGTERM does
	kill      func()             // as kill -9 does
}

// readyAddress finds the address in the ready line of kf serve.
var readyAddress = regexp.MustCompile(`127\.0\.0\.1:\d+`)

// startLimit is how long a start may take; it is far more than one needs.
const startLimit = 60 * time.Second

// logText is a buffer that several goroutines use.
type logText struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logText) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *logText) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// kfCommand returns "kf serve" on data directories.
func kfCommand(program, address string, dirs, configs []string) *exec.Cmd {
	args := []string{"serve", "--listen", address}
	if len(dirs) == 1 {
		args = append(args, "--data-dir", dirs[0])
	} else {
		args = append(args, "-c", "log.dirs="+strings.Join(dirs, ","))
	}
	for _, c := range configs {
		args = append(args, "-c", c)
	}
	return exec.Command(program, args...)
}

func startKF(t *testing.T, program, address string, dirs, configs []string) (*serving, error) {
	t.Helper()
	c := kfCommand(program, address, dirs, configs)
	log := &logText{}
	c.Stderr = log
	stdout, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	ready := make(chan string, 1)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		r := bufio.NewReader(stdout)
		line, err := r.ReadString('\n')
		if err == nil {
			ready <- line
		}
		_, _ = io.Copy(log, r)
		_ = c.Wait()
	}()
	s := &serving{name: "kf", log: log.String}
	s.kill = func() {
		_ = c.Process.Kill()
		<-ended
	}
	t.Cleanup(s.kill)
	s.stop = func(t *testing.T) {
		t.Helper()
		if err := c.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatalf("stopping kf serve: %v\n%s", err, log)
		}
		select {
		case <-ended:
		case <-time.After(startLimit):
			t.Fatalf("kf serve does not stop:\n%s", log)
		}
		if code := c.ProcessState.ExitCode(); code != 0 {
			t.Fatalf("kf serve ends with %d after SIGTERM:\n%s", code, log)
		}
	}
	select {
	case line := <-ready:
		if s.bootstrap = readyAddress.FindString(line); s.bootstrap == "" {
			t.Fatalf("the ready line of kf serve names no address: %q", line)
		}
		return s, nil
	case <-ended:
		return nil, fmt.Errorf("kf serve has ended: %v\n%s", c.ProcessState, log)
	case <-time.After(startLimit):
		return nil, fmt.Errorf("kf serve does not start:\n%s", log)
	}
}

// identity reads meta.properties of a log directory.
func identity(t *testing.T, dir string) metaprops.Meta {
	t.Helper()
	p, err := os.ReadFile(filepath.Join(dir, "meta.properties"))
	if err != nil {
		t.Fatal(err)
	}
	m, err := metaprops.Decode(p)
	if err != nil {
		t.Fatalf("%s: %v", dir, err)
	}
	return m
}

// kafkaProperties are those of a single node on data directories. The quorum is
// static, if the directory does not say that it is not. A broker that was killed
// may come back when its session is over.
func kafkaProperties(t *testing.T, id int32, bootstrap string, dirs, configs []string) string {
	t.Helper()
	controller := freePort(t)
	quorum := fmt.Sprintf("controller.quorum.voters=%d@%s", id, controller)
	if state, err := os.ReadFile(filepath.Join(dirs[0], "__cluster_metadata-0", "quorum-state")); err == nil && bytes.Contains(state, []byte(`"data_version":1`)) {
		quorum = "controller.quorum.bootstrap.servers=" + controller
	}
	return fmt.Sprintf(`process.roles=broker,controller
node.id=%[1]d
%[2]s
listeners=PLAINTEXT://%[3]s,CONTROLLER://%[4]s
advertised.listeners=PLAINTEXT://%[3]s
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
controller.listener.names=CONTROLLER
inter.broker.listener.name=PLAINTEXT
log.dirs=%[5]s
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
broker.session.timeout.ms=1000
broker.heartbeat.interval.ms=200
%[6]s
`, id, quorum, bootstrap, controller, filepath.ToSlash(strings.Join(dirs, ",")), strings.Join(configs, "\n"))
}

// startKafka starts Kafka on data directories; an empty one is formatted.
func startKafka(t *testing.T, k *kafka, bootstrap string, dirs, configs []string) (*serving, error) {
	t.Helper()
	properties := filepath.Join(t.TempDir(), "server.properties")
	id := int32(1)
	if bootstrap == anyPort {
		bootstrap = freePort(t)
	}
	_, err := os.Stat(filepath.Join(dirs[0], "meta.properties"))
	fresh := errors.Is(err, os.ErrNotExist)
	if !fresh {
		id = *identity(t, dirs[0]).NodeID
	}
	if err := os.WriteFile(properties, []byte(kafkaProperties(t, id, bootstrap, dirs, configs)), 0o644); err != nil {
		t.Fatal(err)
	}
	if fresh {
		run(t, k.java(properties+".format.log", "kafka.tools.StorageTool", "format", "--cluster-id", "kfInteropCluster000001", "--config", properties))
	}
	n := &node{k: k, dir: filepath.Dir(properties), bootstrap: bootstrap}
	p, err := n.tryStart(t)
	if err != nil {
		return nil, err
	}
	return &serving{
		name: "Kafka", bootstrap: bootstrap,
		log:  func() string { return p.said() + n.log() },
		stop: func(t *testing.T) { t.Helper(); p.stop(t) },
		kill: p.kill,
	}, nil
}

// see returns all that clients see of a cluster.
func (s *stage) see(t *testing.T, b *serving) string {
	t.Helper()
	r, err := s.judge.tools.run("See", "", b.bootstrap)
	if err != nil || r.exit != 0 {
		t.Fatalf("reading what %s serves: %v, exit %d\n%s\nits log:\n%s", b.name, err, r.exit, r.stderr, b.log())
	}
	return r.stdout
}

// same compares what clients see with what they have to see.
func same(t *testing.T, what, got, want string) {
	t.Helper()
	if got == want {
		return
	}
	missing := map[string]int{}
	for line := range strings.Lines(want) {
		missing[line]++
	}
	var text strings.Builder
	differences := 0
	report := func(mark, line string) {
		if differences++; differences <= 20 {
			fmt.Fprintf(&text, "%s %s", mark, line)
		}
	}
	for line := range strings.Lines(got) {
		if missing[line]--; missing[line] < 0 {
			report("unexpected", line)
		}
	}
	for line := range strings.Lines(want) {
		if missing[line] > 0 {
			missing[line]--
			report("missing", line)
		}
	}
	if differences == 0 {
		text.WriteString("the order of the lines")
	}
	t.Errorf("%s: %d lines differ\n%s", what, differences, &text)
}
