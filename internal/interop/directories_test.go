//go:build interop && fixtures

package interop

import (
	"bytes"
	"cmp"
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

	"kf/internal/format/checkpoint"
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
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	want, starts := told(t, truth)
	f.forget(t, starts)
	_, err = os.Stat(filepath.Join(f.path, f.dirs[0], ".kafka_cleanshutdown"))
	live := err != nil

	dir := s.dir(t)
	dirs := f.copy(t, dir)
	b := s.kf.start(t, dirs, calm...)
	got := facts(t, s.see(t, b), starts)
	switch {
	case slices.Equal(got, want):
	case live && slices.Equal(ofClients(got), ofClients(want)) && holdsRecords(got, want):
		// The coordinators went on writing between the look at the broker and the copy.
	case live || want == nil:
		// The copy is of another moment: Kafka says what there is to see in it.
		kafka := s.kafka.start(t, f.copy(t, dir+"-kafka"), calm...)
		theirs := facts(t, s.see(t, kafka), starts)
		kafka.kill()
		same(t, "kf does not serve what Kafka serves", lines(ofClients(got)), lines(ofClients(theirs)))
	default:
		same(t, "kf does not serve what Kafka served", lines(got), lines(want))
	}
	if t.Failed() {
		t.Fatalf("the log of kf:\n%s", b.log())
	}
	want = got
	b.stop(t)

	again := func(p party, what string) *serving {
		t.Helper()
		b := p.start(t, dirs, calm...)
		got, want := facts(t, s.see(t, b), starts), want
		if p.name == "Kafka" {
			got, want = ofClients(got), ofClients(want)
		}
		same(t, p.name+" "+what, lines(got), lines(want))
		if t.Failed() {
			t.Fatalf("the log of %s:\n%s", p.name, b.log())
		}
		return b
	}
	// Kafka 4.4 ends at once if a topic has segments as small as 4.0 let it have.
	refuses := slices.ContainsFunc(want, func(fact string) bool {
		var size int
		_, err := fmt.Sscanf(fact[max(0, strings.Index(fact, `"value":`)):], `"value":"%d"`, &size)
		return strings.Contains(fact, `"config":"segment.bytes"`) && err == nil && size < 1<<20
	})
	s.compareFiles(t, dir)
	again(s.kf, "serves other than before its clean stop").stop(t)
	if refuses {
		if b, err := s.kafka.try(t, anyPort, dirs, calm); err == nil {
			b.kill()
			t.Error("Kafka starts with segments that are too small")
		} else if !strings.Contains(err.Error(), "segment.bytes") {
			t.Errorf("Kafka does not start: %v", err)
		}
	} else {
		again(s.kafka, "serves other than kf did before a clean stop").kill()
	}

	dir += "-killed"
	dirs = f.copy(t, dir)
	again(s.kf, "serves other than the first time").kill()
	s.compareFiles(t, dir)
	again(s.kf, "serves other than before it was killed").kill()
	if !refuses {
		again(s.kafka, "serves other than kf did before it was killed").kill()
	}
}

// forget keeps those log start offsets of which the directory does not know, for
// the broker was killed or copied before it wrote them down: in the directory the
// records that were deleted are still there.
func (f fixture) forget(t *testing.T, starts map[string]int64) {
	t.Helper()
	for _, d := range f.dirs {
		p, err := os.ReadFile(filepath.Join(f.path, d, "log-start-offset-checkpoint"))
		if err != nil {
			t.Fatal(err)
		}
		known, err := checkpoint.DecodeOffsets(p)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range known {
			delete(starts, fmt.Sprintf("%s-%d", o.Topic, o.Partition))
		}
	}
}

// holdsRecords reports whether every record of want is in got.
func holdsRecords(got, want []string) bool {
	for _, fact := range want {
		if _, found := slices.BinarySearch(got, fact); !found && strings.Contains(fact, `"offset":`) {
			return false
		}
	}
	return true
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
// order of their text, without the records below starts.
func facts(t *testing.T, seen string, starts map[string]int64) []string {
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
		partition, _ := fields["partition"].(string)
		if start, deleted := starts[partition]; deleted {
			if fields["start"] != nil {
				fields["start"] = max(start, number(t, fields["start"]))
			}
			if o := cmp.Or(fields["offset"], fields["committed"]); o != nil && number(t, o) < start {
				continue
			}
		}
		all = append(all, canonical(t, fields))
	}
	slices.Sort(all)
	return all
}

func number(t *testing.T, value any) int64 {
	t.Helper()
	n, err := value.(json.Number).Int64()
	if err != nil {
		t.Fatal(err)
	}
	return n
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
// Kafka's clients saw, and the log start offsets; nil if it says nothing of topics.
func told(t *testing.T, truth []byte) (out []string, starts map[string]int64) {
	t.Helper()
	if truth == nil {
		return nil, nil
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
		return nil, nil
	}
	starts = map[string]int64{}
	add := func(fields map[string]any) { out = append(out, canonical(t, fields)) }
	add(map[string]any{"cluster": all.ClusterID})
	for name, topic := range all.Topics {
		add(map[string]any{"topic": name, "id": topic.TopicID, "internal": topic.Internal, "partitions": len(topic.Partitions)})
		for key, value := range topic.Configs {
			add(map[string]any{"topic": name, "config": key, "value": value})
		}
		for _, p := range topic.Partitions {
			partition := fmt.Sprintf("%s-%d", name, p.Partition)
			if p.LogStartOffset > 0 {
				starts[partition] = p.LogStartOffset
			}
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
	return out, starts
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
