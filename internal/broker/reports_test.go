package broker

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"kf/internal/controller"
	"kf/internal/format/kraftrec"
	"kf/internal/image"
	"kf/internal/logdir"
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
