//go:build interop

package interop

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A connectWorker is a distributed worker of Kafka Connect with a source that reads
// the lines of a file into a topic, and a sink that writes them to another file.
type connectWorker struct {
	s        *stage
	dir      string
	rest     string // address of its REST interface
	in, out  string // files
	process  *process
	expected strings.Builder // lines that the source has to send
}

// connect lets a worker of Kafka Connect run a source and a sink, and starts it and
// the broker again. The group of the worker, its offsets, configs and status are
// kept: a clean stop repeats no line and a kill loses none.
func (s *stage) connect(t *testing.T, server party) {
	dir, address := s.dir(t), freePort(t)
	b := server.startAt(t, address, []string{dir}, brisk...)
	w := &connectWorker{s: s, dir: t.TempDir(), rest: freePort(t)}
	w.in, w.out = filepath.Join(w.dir, "in"), filepath.Join(w.dir, "out")
	w.write(t, 100)
	w.start(t, b)
	w.put(t, "source", map[string]string{"connector.class": "ConnectLines$Source", "file": w.in, "topic": "connect-lines"})
	w.put(t, "sink", map[string]string{"connector.class": "ConnectLines$Sink", "file": w.out, "topics": "connect-lines"})
	w.awaitOffsets(t, 100)
	w.process.stop(t)

	w.write(t, 50)
	w.start(t, b)
	w.awaitOffsets(t, 150)
	w.process.stop(t)
	if got, err := os.ReadFile(w.out); err != nil || string(got) != w.expected.String() {
		t.Errorf("the sink has written something else %s (%v)", difference(string(got), w.expected.String()), err)
	}

	w.start(t, b)
	b.kill()
	w.write(t, 25)
	b = server.startAt(t, address, []string{dir}, brisk...)
	w.awaitOffsets(t, 175)
	w.process.kill()
	w.write(t, 25)
	w.start(t, b)
	w.awaitOffsets(t, 200)
	w.process.stop(t)
	got, err := os.ReadFile(w.out)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(w.expected.String()) {
		if !strings.Contains(string(got), line) {
			t.Errorf("the sink lacks the line %q", line)
		}
	}
	t.Logf("%d lines written to the sink for %d of the source", bytes.Count(got, []byte("\n")), strings.Count(w.expected.String(), "\n"))
	b.stop(t)
}

// write appends n lines to the file that the source reads.
func (w *connectWorker) write(t *testing.T, n int) {
	t.Helper()
	for range n {
		fmt.Fprintf(&w.expected, "line %d of the source\n", strings.Count(w.expected.String(), "\n"))
	}
	// One write appends all lines, so that the source sees whole ones.
	f, err := os.OpenFile(w.in, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	have, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(f, w.expected.String()[len(have):]); err != nil {
		t.Fatal(err)
	}
}

// start starts the worker and waits until it has joined its group.
func (w *connectWorker) start(t *testing.T, b *serving) {
	t.Helper()
	properties := filepath.Join(w.dir, "worker.properties")
	text := fmt.Sprintf(`bootstrap.servers=%s
listeners=http://%s
group.id=connect
key.converter=org.apache.kafka.connect.storage.StringConverter
value.converter=org.apache.kafka.connect.storage.StringConverter
config.storage.topic=connect-configs
config.storage.replication.factor=1
offset.storage.topic=connect-offsets
offset.storage.replication.factor=1
offset.storage.partitions=5
status.storage.topic=connect-status
status.storage.replication.factor=1
offset.flush.interval.ms=300
heartbeat.interval.ms=300
session.timeout.ms=6000
plugin.discovery=service_load
consumer.heartbeat.interval.ms=300
consumer.session.timeout.ms=6000
`, b.bootstrap, w.rest)
	if err := os.WriteFile(properties, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	w.process = w.s.judge.tools.k.start(t, filepath.Join(w.dir, "worker.log"), "org.apache.kafka.connect.cli.ConnectDistributed", properties)
	await(t, "the worker answers", func() bool {
		code, _ := w.call(t, http.MethodGet, "/connectors", nil)
		return code == http.StatusOK
	})
}

// call calls the REST interface; the code is 0 if nobody listens.
func (w *connectWorker) call(t *testing.T, method, path string, body any) (code int, answer string) {
	t.Helper()
	p, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(t.Context(), method, "http://"+w.rest+path, bytes.NewReader(p))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err.Error()
	}
	defer response.Body.Close()
	p, _ = io.ReadAll(response.Body)
	return response.StatusCode, string(p)
}

// put makes a connector.
func (w *connectWorker) put(t *testing.T, name string, config map[string]string) {
	t.Helper()
	last := ""
	await(t, "the worker takes the connector "+name, func() bool {
		code, answer := w.call(t, http.MethodPut, "/connectors/"+name+"/config", config)
		if last = answer; code >= 400 && code != http.StatusConflict { // it is in a rebalance
			t.Fatalf("making %s: %d %s\n%s", name, code, last, w.process.said())
		}
		return code == http.StatusOK || code == http.StatusCreated
	})
}

// awaitOffsets waits until source and sink have committed n lines.
func (w *connectWorker) awaitOffsets(t *testing.T, n int) {
	t.Helper()
	source, sink := "", ""
	defer func() {
		if t.Failed() {
			log, _ := os.ReadFile(filepath.Join(w.dir, "worker.log"))
			t.Logf("offsets: %s and %s\n%s", source, sink, log[max(0, len(log)-5000):])
		}
	}()
	await(t, fmt.Sprint("the connectors commit ", n, " lines"), func() bool {
		_, source = w.call(t, http.MethodGet, "/connectors/source/offsets", nil)
		_, sink = w.call(t, http.MethodGet, "/connectors/sink/offsets", nil)
		return strings.Contains(source, fmt.Sprintf(`"offset":{"lines":%d}`, n)) && strings.Contains(sink, fmt.Sprintf(`"offset":{"kafka_offset":%d}`, n))
	})
}
