package broker

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"kf/internal/controller"
	"kf/internal/format/kraftrec"
	"kf/internal/image"
	"kf/internal/logdir"
	"kf/internal/metalog"
)

// TestNewDirectoryID serves the partitions of a directory that got a new
// directory id, as one has that lost its own: the metadata are told where they
// are before anybody is elected.
func TestNewDirectoryID(t *testing.T) {
	dir := t.TempDir()
	o := Options{Dirs: []string{dir}, Topics: []NewTopic{{Name: "t", Partitions: 2}}}
	b := startBroker(t, o)
	produceAll(t, client(t, b), "t", values(3))
	if err := b.Shutdown(testContext(t)); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, logdir.NameMetaProperties)
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	without := regexp.MustCompile(`(?m)^directory\.id=.*\n`).ReplaceAll(text, nil)
	if len(without) == len(text) {
		t.Fatalf("no directory.id in %q", text)
	}
	if err := os.WriteFile(name, without, 0o644); err != nil {
		t.Fatal(err)
	}
	b = startBroker(t, o)
	if got := len(consume(t, b, "t", 3)); got != 3 {
		t.Errorf("%d records, want 3", got)
	}
	topic := b.image.Load().Topic("t")
	for p := range topic.Partitions() {
		if id, _ := p.Directory(1); id != b.replicas.dirs[0] || p.Leader != 1 {
			t.Errorf("partition %d is in directory %v with leader %d; want %v, 1", p.ID, id, p.Leader, b.replicas.dirs[0])
		}
	}
}

// TestMissingDirectory starts with an empty log directory in the place of one with
// partitions, as when a disk is not mounted: nothing is made in their place, and
// they are served when it is back.
func TestMissingDirectory(t *testing.T) {
	dirs := []string{t.TempDir(), t.TempDir()}
	o := Options{Dirs: dirs, Topics: []NewTopic{{Name: "t", Partitions: 4}}}
	b := startBroker(t, o)
	produceAll(t, client(t, b), "t", values(50))
	var away []int32
	for _, have := range b.store.Replicas() {
		if have.Dir == 1 {
			away = append(away, have.TP.Partition)
		}
	}
	if len(away) == 0 {
		t.Fatal("no partition is in the second directory")
	}
	stop := func() {
		t.Helper()
		if err := b.Shutdown(testContext(t)); err != nil {
			t.Fatal(err)
		}
	}
	stop()
	o.Dirs = []string{dirs[0], t.TempDir()}
	b = startBroker(t, o)
	for _, have := range b.store.Replicas() {
		if slices.Contains(away, have.TP.Partition) {
			t.Errorf("%v was made anew", have.TP)
		}
	}
	for _, p := range away {
		if leader := b.image.Load().Topic("t").Partition(p).Leader; leader != image.NoLeader {
			t.Errorf("partition %d has leader %d", p, leader)
		}
	}
	stop()
	o.Dirs = dirs
	b = startBroker(t, o)
	if got := len(consume(t, b, "t", 50)); got != 50 {
		t.Errorf("%d records, want 50", got)
	}
}

// TestUnusableMetadataDirectory starts where the broker must not use the directory
// of the metadata log: it says so and writes nothing there.
func TestUnusableMetadataDirectory(t *testing.T) {
	for _, tt := range []struct {
		name, says string
		node       int32
		change     func(dir string) error
	}{
		{"no lock", logdir.NameLock, 1, func(dir string) error { return os.Mkdir(filepath.Join(dir, logdir.NameLock), 0o755) }},
		{"other node", "directory of node 1", 7, func(dir string) error {
			name := filepath.Join(dir, logdir.NameMetaProperties)
			text, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			return os.WriteFile(name, bytes.ReplaceAll(text, []byte("node.id=1"), []byte("node.id=7")), 0o644)
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := Options{Dirs: []string{t.TempDir()}, Topics: []NewTopic{{Name: "t", Partitions: 1}}}
			b := startBroker(t, o)
			if err := b.Shutdown(testContext(t)); err != nil {
				t.Fatal(err)
			}
			if err := tt.change(o.Dirs[0]); err != nil {
				t.Fatal(err)
			}
			meta := metalog.Dir(o.Dirs[0])
			before := filesOf(t, meta)
			o.Listeners, o.NodeID = []Listener{{Addr: "127.0.0.1:0"}}, tt.node
			b, err := New(o)
			if err != nil {
				t.Fatal(err)
			}
			if err := b.Start(t.Context()); err == nil || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("start: %v", err)
			}
			if after := filesOf(t, meta); !maps.Equal(before, after) {
				t.Errorf("files of the metadata log before: %q, after: %q", slices.Sorted(maps.Keys(before)), slices.Sorted(maps.Keys(after)))
			}
		})
	}
}

// filesOf reads the files of a directory, without zeros at their ends.
func filesOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, e := range entries {
		p, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		all[e.Name()] = string(bytes.TrimRight(p, "\x00"))
	}
	return all
}

// TestLeaderRecovers: after an unclean stop the leaders are elected uncleanly,
// and say that they have recovered.
func TestLeaderRecovers(t *testing.T) {
	dir := t.TempDir()
	b := startBroker(t, Options{Dirs: []string{dir}, Topics: []NewTopic{{Name: "t", Partitions: 2}}})
	produceAll(t, client(t, b), "t", values(3))
	killed := t.TempDir()
	if err := os.CopyFS(killed, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(killed, logdir.NameLock)); err != nil {
		t.Fatal(err)
	}
	again := startBroker(t, Options{Dirs: []string{killed}})
	recovered := func() bool {
		for p := range again.image.Load().Topic("t").Partitions() {
			if p.Recovering || p.Leader != 1 {
				return false
			}
		}
		return true
	}
	for end := time.Now().Add(time.Minute); !recovered(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the partitions are recovering still")
		}
	}
	if got := len(consume(t, again, "t", 3)); got != 3 {
		t.Errorf("%d records, want 3", got)
	}
}

// TestOldMetadata: the metadata of a cluster of Kafka 3.3 do not say in which log
// directories partitions are, so that there is nothing to tell.
func TestOldMetadata(t *testing.T) {
	b := startBroker(t, Options{Topics: []NewTopic{{Name: "t", Partitions: 1}}})
	old := image.NewBuilder(b.image.Load())
	if err := old.Replay(&kraftrec.FeatureLevelRecord{Name: image.FeatureMetadataVersion, FeatureLevel: 7}); err != nil {
		t.Fatal(err)
	}
	now := b.image.Load()
	defer b.image.Store(now)
	im, _ := old.Publish()
	b.image.Store(im)
	// The broker's epoch is wrong, so that the controller refuses what it is told.
	defer func(epoch int64) { b.epoch = epoch }(b.epoch)
	b.epoch++
	for _, tt := range []struct {
		image *image.Image
		fails bool
	}{{im, false}, {now, true}} {
		b.image.Store(tt.image)
		b.replicas.reports.dirs = []controller.DirectoryAssignment{{TopicID: now.Topic("t").ID, Directory: b.replicas.dirs[0]}}
		if err := b.reportDirs(testContext(t)); (err != nil) != tt.fails {
			t.Errorf("metadata.version %v: %v", tt.image.MetadataVersion(), err)
		}
	}
}
