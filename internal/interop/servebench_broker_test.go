//go:build interop && linux

package interop

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
)

// A rival is a broker program that can be started on a directory.
type rival struct {
	name       string
	persistent bool // it keeps its data when it ends
	files      bool // it keeps it in Kafka's files
	// prepare makes an empty directory ready, if it needs that.
	prepare func(b *testing.B, dir, address string)
	command func(dir, address string) *exec.Cmd
}

func brokerNames(brokers []rival) (names []string) {
	for _, r := range brokers {
		names = append(names, r.name)
	}
	return names
}

// newRival returns a broker with Kafka's settings, such as log.segment.bytes=1024,
// which kfake does not know.
func newRival(b *testing.B, name string, settings []string) rival {
	switch name {
	case "kf":
		kf := buildKF(b, b.TempDir())
		return rival{name: name, persistent: true, files: true, command: func(dir, address string) *exec.Cmd {
			c := exec.Command(kf, "serve", "--data-dir", filepath.Join(dir, "data"), "--listen", address)
			for _, setting := range settings {
				c.Args = append(c.Args, "-c", setting)
			}
			return c
		}}
	case "kafka":
		k := newKafka(b)
		return rival{name: name, persistent: true, files: true,
			prepare: func(b *testing.B, dir, address string) { formatKafka(b, k, dir, address, settings) },
			command: func(dir, address string) *exec.Cmd { return kafkaServer(k, dir) },
		}
	default:
		return rival{name: name, persistent: name == "kfake", command: func(dir, address string) *exec.Cmd {
			c := exec.Command(os.Args[0])
			c.Env = append(os.Environ(), kfakeAddress+"="+address)
			if name == "kfake" {
				c.Env = append(c.Env, kfakeDir+"="+filepath.Join(dir, "data"))
			}
			return c
		}}
	}
}

// formatKafka writes the properties of a node with Kafka's defaults, apart from
// settings, and formats its directory.
func formatKafka(b *testing.B, k *kafka, dir, address string, settings []string) {
	controller := freePort(b)
	properties := fmt.Sprintf(`process.roles=broker,controller
node.id=1
controller.quorum.voters=1@%[2]s
listeners=PLAINTEXT://%[1]s,CONTROLLER://%[2]s
advertised.listeners=PLAINTEXT://%[1]s
controller.listener.names=CONTROLLER
inter.broker.listener.name=PLAINTEXT
log.dirs=%[3]s
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
%[4]s
`, address, controller, filepath.Join(dir, "data"), strings.Join(settings, "\n"))
	if err := os.WriteFile(filepath.Join(dir, "server.properties"), []byte(properties), 0o644); err != nil {
		b.Fatal(err)
	}
	run(b, k.java(filepath.Join(dir, "format.log"), "kafka.tools.StorageTool", "format", "--cluster-id", "kfBenchCluster00000000", "--config", filepath.Join(dir, "server.properties")))
}

// kafkaServer returns Kafka with the heap and the flags that kafka-server-start.sh
// gives it.
func kafkaServer(k *kafka, dir string) *exec.Cmd {
	return exec.Command("java",
		"-Xmx1G", "-Xms1G", "-server", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20", "-XX:InitiatingHeapOccupancyPercent=35",
		"-XX:+ExplicitGCInvokesConcurrent", "-XX:MaxInlineLevel=15", "-Djava.awt.headless=true",
		"-Dlog4j2.configurationFile="+filepath.Join(k.testdata, "log4j2.xml"), "-Dkf.log="+filepath.Join(dir, "server.log"),
		"-cp", filepath.Join(k.libs, "*"), "kafka.Kafka", filepath.Join(dir, "server.properties"))
}

// The environment of a test binary that is kfake and runs no test.
const (
	kfakeAddress = "KF_INTEROP_KFAKE_ADDRESS"
	kfakeDir     = "KF_INTEROP_KFAKE_DIR" // empty: it keeps its data in memory
)

// TestMain makes the test binary kfake, a process like the other brokers, if the
// environment says so.
func TestMain(m *testing.M) {
	address := os.Getenv(kfakeAddress)
	if address == "" {
		os.Exit(m.Run())
	}
	if err := runKfake(address, os.Getenv(kfakeDir)); err != nil {
		fmt.Fprintln(os.Stderr, "kfake:", err)
		os.Exit(1)
	}
}

// runKfake runs kfake until SIGTERM.
func runKfake(address, dir string) error {
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return err
	}
	number, err := strconv.Atoi(port)
	if err != nil {
		return err
	}
	opts := []kfake.Opt{kfake.NumBrokers(1), kfake.Ports(number)}
	if dir != "" {
		opts = append(opts, kfake.DataDir(dir))
	}
	terminated := make(chan os.Signal, 1)
	signal.Notify(terminated, syscall.SIGTERM)
	c, err := kfake.NewCluster(opts...)
	if err != nil {
		return err
	}
	<-terminated
	c.Close()
	return nil
}

// A server is a running broker process.
type server struct {
	rival
	address string
	started time.Time // just before its exec
	pid     int
	cmd     *exec.Cmd
	output  bytes.Buffer
	ended   chan struct{} // closed when the process is gone
}

// startServer starts a broker on a directory, which is made ready if it is not
// there yet. b ends the process.
func startServer(b *testing.B, r rival, dir string) *server {
	b.Helper()
	s := &server{rival: r, address: freePort(b), ended: make(chan struct{})}
	if known, err := os.ReadFile(filepath.Join(dir, "address")); err == nil {
		s.address = string(known) // Kafka's properties have it
	} else {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "address"), []byte(s.address), 0o644); err != nil {
			b.Fatal(err)
		}
		if r.prepare != nil {
			r.prepare(b, dir, s.address)
		}
	}
	s.cmd = r.command(dir, s.address)
	s.cmd.Stdout, s.cmd.Stderr = io.Discard, &s.output
	// The kernel ends the process with the thread that started it, so that none
	// outlives this one however it ends.
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		s.started = time.Now()
		err := s.cmd.Start()
		started <- err
		if err == nil {
			_ = s.cmd.Wait()
			close(s.ended)
		}
	}()
	if err := <-started; err != nil {
		b.Fatal(err)
	}
	s.pid = s.cmd.Process.Pid
	b.Cleanup(s.kill)
	return s
}

// kill ends the process as kill -9 does.
func (s *server) kill() {
	_ = s.cmd.Process.Kill()
	<-s.ended
}

// stop ends the process cleanly.
func (s *server) stop(b *testing.B) {
	b.Helper()
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		b.Fatalf("stopping %s: %v", s.name, err)
	}
	select {
	case <-s.ended:
	case <-time.After(time.Minute):
		s.kill()
		b.Fatalf("%s does not stop:\n%s", s.name, &s.output)
	}
}

// alive fails the benchmark if the process has ended.
func (s *server) alive(b *testing.B) {
	b.Helper()
	select {
	case <-s.ended:
		b.Fatalf("%s has ended: %v\n%s", s.name, s.cmd.ProcessState, &s.output)
	default:
	}
}

// cpuSeconds returns the processor time that the process has used.
func (s *server) cpuSeconds(b *testing.B) float64 {
	b.Helper()
	const ticksPerSecond = 100 // USER_HZ, the same on every Linux
	p, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.pid))
	if err != nil {
		b.Fatal(err)
	}
	// The second field is the name of the program in parentheses, user and
	// system time are the 14th and 15th.
	fields := bytes.Fields(p[bytes.LastIndexByte(p, ')')+1:])
	var ticks float64
	for _, field := range fields[11:13] {
		n, err := strconv.ParseFloat(string(field), 64)
		if err != nil {
			b.Fatalf("/proc/%d/stat: %v", s.pid, err)
		}
		ticks += n
	}
	return ticks / ticksPerSecond
}

// memory returns a field of the process's status in MiB, such as VmRSS (resident
// now) and VmHWM (the most that was).
func (s *server) memory(b *testing.B, field string) float64 {
	b.Helper()
	p, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.pid))
	if err != nil {
		b.Fatal(err)
	}
	for line := range strings.Lines(string(p)) {
		var kib float64
		if value, ok := strings.CutPrefix(line, field+":"); ok {
			if _, err := fmt.Sscanf(value, "%f kB", &kib); err != nil {
				b.Fatalf("/proc/%d/status: %q: %v", s.pid, line, err)
			}
			return kib / 1024
		}
	}
	b.Fatalf("/proc/%d/status has no %s", s.pid, field)
	return 0
}
