//go:build interop && fixtures

package interop

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"kf/internal/kftest"
)

// A fixture is a directory of a single node that was broker and controller.
type fixture struct {
	path string
	dirs []string // log.dirs, relative to path
}

// fixtures lists those in KF_FIXTURES, packed (NAME.tar.gz) or not.
func fixtures(t *testing.T) []fixture {
	t.Helper()
	dir := os.Getenv("KF_FIXTURES")
	archives, err := filepath.Glob(filepath.Join(dir, "*.tar.gz"))
	if err != nil {
		t.Fatal(err)
	}
	if len(archives) > 0 {
		unpacked := t.TempDir()
		for _, archive := range archives {
			kftest.Unpack(t, archive, unpacked)
		}
		dir = unpacked
	}
	lists, err := filepath.Glob(filepath.Join(dir, "*", "server.properties"))
	if err != nil {
		t.Fatal(err)
	}
	var all []fixture
	for _, list := range lists {
		p, err := os.ReadFile(list)
		if err != nil {
			t.Fatal(err)
		}
		f := fixture{path: filepath.Dir(list)}
		combined := false
		for line := range strings.Lines(string(p)) {
			key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
			switch key {
			case "process.roles":
				combined = value == "broker,controller"
			case "log.dirs":
				f.dirs = strings.Split(value, ",")
			}
		}
		if combined && len(f.dirs) > 0 {
			all = append(all, f)
		}
	}
	if len(all) == 0 {
		t.Fatalf("no single node in KF_FIXTURES=%q", os.Getenv("KF_FIXTURES"))
	}
	return all
}

// copy copies the log directories of the fixture into dir.
func (f fixture) copy(t *testing.T, dir string) (dirs []string) {
	t.Helper()
	for _, d := range f.dirs {
		to := filepath.Join(dir, d)
		copyTree(t, filepath.Join(f.path, d), to)
		dirs = append(dirs, to)
	}
	return dirs
}

// TestDirectories lets kf serve directories that Kafka left: it serves all that
// Kafka's clients saw of the broker that wrote them, and Kafka starts on them
// again after kf.
func TestDirectories(t *testing.T) {
	s := newStage(t)
	for _, f := range fixtures(t) {
		t.Run(filepath.Base(f.path), func(t *testing.T) { s.directory(t, f) })
	}
}

func (s *stage) directory(t *testing.T, f fixture) {
	truth, err := os.ReadFile(filepath.Join(f.path, "truth.json"))
	if errors.Is(err, os.ErrNotExist) {
		truth = nil
	} else if err != nil {
		t.Fatal(err)
	}
	want := told(t, truth)
	known := want != nil
	if !known {
		b := s.kafka.begin(t, f.copy(t, s.dir(t)+"-kafka"), calm)
		want = facts(t, s.see(t, b))
		b.kill()
	}
	compare := func(what string, b *serving) {
		t.Helper()
		got, want := facts(t, s.see(t, b)), want
		if b.name == "Kafka" || !known {
			got, want = ofClients(got), ofClients(want)
		}
		same(t, what, lines(got), lines(want))
		if t.Failed() {
			t.Fatalf("%s: its log:\n%s", what, b.log())
		}
	}

	dir := s.dir(t)
	dirs := f.copy(t, dir)
	b := s.kf.begin(t, dirs, calm)
	compare("kf serves other than Kafka did", b)
	b.stop(t)
	s.compareFiles(t, dir)
	b = s.kf.begin(t, dirs, calm)
	compare("kf serves other than before its clean stop", b)
	b.stop(t)
	b = s.kafka.begin(t, dirs, calm)
	compare("Kafka serves other than kf after a clean stop", b)
	b.kill()

	dir += "-killed"
	dirs = f.copy(t, dir)
	b = s.kf.begin(t, dirs, calm)
	compare("kf serves other than the first time", b)
	b.kill()
	s.compareFiles(t, dir)
	b = s.kf.begin(t, dirs, calm)
	compare("kf serves other than before it was killed", b)
	b.kill()
	b = s.kafka.begin(t, dirs, calm)
	compare("Kafka serves other than kf, which was killed", b)
	b.kill()
}

// ofClients leaves out the internal topics, to which Kafka's coordinators write as
// soon as they start.
func ofClients(facts []string) []string {
	return slices.DeleteFunc(slices.Clone(facts), func(fact string) bool {
		return strings.Contains(fact, `"partition":"__`) || strings.Contains(fact, `"topic":"__`)
	})
}

func lines(all []string) string { return strings.Join(all, "\n") + "\n" }

// compareFiles lets both dump-log programs read the segments of a directory:
// they find the same, and no batch that is damaged.
func (s *stage) compareFiles(t *testing.T, dir string) {
	t.Helper()
	relative, err := filepath.Rel(s.root, dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files(t, relative) {
		switch filepath.Ext(f.path) {
		case ".log", ".snapshot", ".txnindex", ".index", ".timeindex":
			v := s.judge.compare(t, "--deep-iteration", "--files", f.path)
			if v.differ != "" || strings.Contains(v.kafka.stdout, "isvalid: false") {
				s.judge.fail(t, v, "damage, or a difference: "+v.differ)
			}
		}
	}
}

// facts returns the lines of what clients saw that a truth.json has too, in the
// order of their text.
func facts(t *testing.T, seen string) []string {
	t.Helper()
	var all []string
	for line := range strings.Lines(seen) {
		var fields map[string]any
		d := json.NewDecoder(strings.NewReader(line))
		d.UseNumber()
		if err := d.Decode(&fields); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if _, lookUp := fields["from"]; lookUp || fields["max_timestamp"] != nil {
			continue
		}
		all = append(all, canonical(t, fields))
	}
	slices.Sort(all)
	return all
}

// canonical returns fields as JSON in the order of their names.
func canonical(t *testing.T, fields map[string]any) string {
	t.Helper()
	p, err := json.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	return string(p)
}

// told returns the same lines from the text of a truth.json, which says what
// Kafka's clients saw; nil if it says nothing of topics.
func told(t *testing.T, truth []byte) []string {
	t.Helper()
	if truth == nil {
		return nil
	}
	var all struct {
		ClusterID string `json:"clusterId"`
		Topics    map[string]struct {
			Configs    map[string]string
			Internal   bool
			TopicID    string
			Partitions []struct {
				Partition        int
				Leader           *int
				LogStartOffset   int64
				LogEndOffset     int64
				LastStableOffset int64
				ReadCommitted    [][2]int64 `json:"readCommittedOffsets"`
				Records          []struct {
					Offset      int64
					Timestamp   int64
					Type        string
					LeaderEpoch *int32
					Key, Value  json.RawMessage
					Headers     [][2]json.RawMessage
				}
			}
		}
	}
	if err := json.Unmarshal(truth, &all); err != nil {
		t.Fatalf("truth.json: %v", err)
	}
	if len(all.Topics) == 0 {
		return nil
	}
	var out []string
	add := func(fields map[string]any) { out = append(out, canonical(t, fields)) }
	add(map[string]any{"cluster": all.ClusterID})
	for name, topic := range all.Topics {
		add(map[string]any{"topic": name, "id": topic.TopicID, "internal": topic.Internal, "partitions": len(topic.Partitions)})
		for key, value := range topic.Configs {
			add(map[string]any{"topic": name, "config": key, "value": value})
		}
		for _, p := range topic.Partitions {
			partition := fmt.Sprintf("%s-%d", name, p.Partition)
			if p.Leader == nil {
				add(map[string]any{"partition": partition, "leader": "none"})
				continue
			}
			add(map[string]any{"partition": partition, "start": p.LogStartOffset, "end": p.LogEndOffset, "stable": p.LastStableOffset})
			for _, r := range p.Records {
				epoch := int32(-1)
				if r.LeaderEpoch != nil {
					epoch = *r.LeaderEpoch
				}
				headers := []any{}
				for _, h := range r.Headers {
					headers = append(headers, []any{h[0], blob(t, h[1])})
				}
				add(map[string]any{"partition": partition, "offset": r.Offset, "timestamp": r.Timestamp, "type": r.Type, "epoch": epoch,
					"key": blob(t, r.Key), "value": blob(t, r.Value), "headers": headers})
			}
			for _, span := range p.ReadCommitted {
				for offset := span[0]; offset <= span[1]; offset++ {
					add(map[string]any{"partition": partition, "committed": offset})
				}
			}
		}
	}
	slices.Sort(out)
	return out
}

// blob returns the bytes of a key or a value as See prints them. They are null,
// base64, or a size and a hash.
func blob(t *testing.T, raw json.RawMessage) any {
	t.Helper()
	const large = 200
	if len(raw) == 0 || bytes.Equal(raw, []byte("null")) {
		return nil
	}
	if raw[0] == '{' {
		var hash struct {
			Size   int
			SHA256 string
		}
		if err := json.Unmarshal(raw, &hash); err != nil {
			t.Fatalf("truth.json: %v", err)
		}
		return fmt.Sprintf("%d bytes, sha256 %s", hash.Size, hash.SHA256)
	}
	var text string
	if err := json.Unmarshal(raw, &text); err != nil {
		t.Fatalf("truth.json: %v", err)
	}
	p, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		t.Fatalf("truth.json: %v", err)
	}
	if len(p) > large {
		return fmt.Sprintf("%d bytes, sha256 %x", len(p), sha256.Sum256(p))
	}
	return text
}
