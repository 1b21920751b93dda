package storage

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"kf/internal/format/cleanshutdown"
	"kf/internal/format/partmeta"
	"kf/internal/logdir"
	"kf/internal/storage/disk"
	"kf/internal/storage/disktest"
	"kf/internal/wire"
)

// A storeSetup is how a test opens a store.
type storeSetup struct {
	t testing.TB
	o StoreOptions

	mu      sync.Mutex
	notices []string
	failed  []int
}

func newStoreSetup(t testing.TB, dirs int) *storeSetup {
	s := &storeSetup{t: t}
	config := testConfig()
	config.FileDeleteDelayMs, config.SegmentIndexBytes = 1000, 1<<20
	s.o = StoreOptions{
		FS: disk.NoSync(disk.OS), RecoveryThreads: 2,
		FlushCheckpointMs: 60000, LogStartCheckpointMs: 60000, HighWatermarkCheckpointMs: 5000, RetentionCheckMs: 300000,
		LogConfig: func(string) Config { return config },
		Notice: func(n Notice) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.notices = append(s.notices, fmt.Sprintf("%d %s: %s", n.Level, filepath.Base(n.Path), n.Message))
		},
		Failed: func(dir int, _ error) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.failed = append(s.failed, dir)
		},
	}
	for range dirs {
		s.o.Dirs = append(s.o.Dirs, t.TempDir())
	}
	return s
}

// open opens the store without starting it.
func (s *storeSetup) open() *Store {
	s.t.Helper()
	s.notices = nil
	store, err := OpenStore(s.t.Context(), s.o)
	if err != nil {
		s.t.Fatal(err)
	}
	return store
}

func (s *storeSetup) start() *Store {
	s.t.Helper()
	store := s.open()
	store.Start()
	return store
}

func (s *storeSetup) close(store *Store, epoch int64) {
	s.t.Helper()
	if err := store.Close(epoch); err != nil {
		s.t.Fatal(err)
	}
}

// noticed fails unless some notice has all words in it.
func (s *storeSetup) noticed(words ...string) {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.ContainsFunc(s.notices, func(n string) bool {
		return !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(n, w) })
	}) {
		s.t.Errorf("no notice says %q: %q", words, s.notices)
	}
}

func (s *storeSetup) path(dir int, names ...string) string {
	return filepath.Join(append([]string{s.o.Dirs[dir]}, names...)...)
}

// text returns a file, "" if there is none.
func (s *storeSetup) text(dir int, names ...string) string {
	s.t.Helper()
	p, err := os.ReadFile(s.path(dir, names...))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.t.Fatal(err)
	}
	return string(p)
}

func (s *storeSetup) write(text string, dir int, names ...string) {
	s.t.Helper()
	if err := os.WriteFile(s.path(dir, names...), []byte(text), 0o644); err != nil {
		s.t.Fatal(err)
	}
}

// list returns the names in a log directory that match a pattern.
func (s *storeSetup) list(dir int, pattern string) []string {
	s.t.Helper()
	paths, err := filepath.Glob(s.path(dir, pattern))
	if err != nil {
		s.t.Fatal(err)
	}
	for i, p := range paths {
		paths[i] = filepath.Base(p)
	}
	return paths
}

// killed gives the setup copies of its directories as a kill leaves them now.
func (s *storeSetup) killed() {
	s.t.Helper()
	for i, dir := range s.o.Dirs {
		to := s.t.TempDir()
		if err := os.CopyFS(to, os.DirFS(dir)); err != nil {
			s.t.Fatal(err)
		}
		s.o.Dirs[i] = to
	}
}

var (
	topicA = wire.UUID{1}
	topicB = wire.UUID{2}
)

func (s *storeSetup) create(store *Store, topic string, partition int32, id wire.UUID, dir int) *Log {
	s.t.Helper()
	l, err := store.Create(s.t.Context(), TopicPartition{topic, partition}, id, dir)
	if err != nil {
		s.t.Fatal(err)
	}
	return l
}

// append appends one record and commits it.
func (s *storeSetup) append(l *Log, v string) {
	s.t.Helper()
	if _, err := l.Append(value("%s", v).bytes(s.t), AppendOptions{}); err != nil {
		s.t.Fatal(err)
	}
	l.SetHighWatermark(l.LogEndOffset())
}

// holds fails unless a partition has these records.
func (s *storeSetup) holds(store *Store, topic string, partition int32, id wire.UUID, want ...string) *Log {
	s.t.Helper()
	l, err := store.Open(s.t.Context(), TopicPartition{topic, partition}, id)
	if err != nil {
		s.t.Fatal(err)
	}
	if got := all(s.t, l, ToLogEnd); !slices.Equal(got, want) {
		s.t.Errorf("%s-%d has %q, want %q", topic, partition, got, want)
	}
	return l
}

// TestStoreStops is the life of a store that is stopped cleanly: what the files
// say, and that the next start opens nothing before it is asked for.
func TestStoreStops(t *testing.T) {
	s := newStoreSetup(t, 2)
	store := s.start()
	a := s.create(store, "a", 0, topicA, -1)
	s.create(store, "a", 1, topicA, -1) // goes where fewer are
	b := s.create(store, "b", 0, topicB, 0)
	for i := range 3 {
		s.append(a, fmt.Sprint("a", i))
	}
	s.append(b, "b0")
	if _, err := a.RaiseLogStart(1); err != nil {
		t.Fatal(err)
	}
	if got := s.list(1, "*-*"); !slices.Contains(got, "a-1") {
		t.Errorf("the second directory has %q", got)
	}
	if got, want := s.text(0, "a-0", logdir.NamePartitionMetadata), string(partmeta.Append(nil, partmeta.Metadata{TopicID: topicA})); got != want {
		t.Errorf("partition.metadata is %q, want %q", got, want)
	}
	for kind := range checkpointKinds {
		if got := s.text(0, kind.fileName()); got != "" {
			t.Errorf("%s is %q before it was written", kind.fileName(), got)
		}
	}
	s.close(store, 17)
	for name, want := range map[string]string{
		logdir.NameRecoveryPoint: "0\n2\na 0 3\nb 0 1\n",
		logdir.NameReplication:   "0\n2\na 0 3\nb 0 1\n",
		logdir.NameLogStart:      "0\n1\na 0 1\n",
		logdir.NameCleaner:       "",
		logdir.NameCleanShutdown: `{"version":0,"brokerEpoch":17}`,
		logdir.NameLock:          "",
	} {
		if got := s.text(0, name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if _, err := os.Stat(s.path(0, logdir.NameLock)); err == nil {
		t.Error("the lock file is still there")
	}

	// Nothing below a partition directory may be touched before it is asked for.
	watch := disktest.New(nil)
	touched := make(chan string, 100)
	s.o.FS = watched{watch, func(name string) {
		if strings.Contains(name, string(filepath.Separator)+"a-") || strings.Contains(name, string(filepath.Separator)+"b-") {
			touched <- name
		}
	}}
	store = s.open()
	if got := store.CleanEpoch(); got != 17 {
		t.Errorf("broker epoch %d, want 17", got)
	}
	if got := len(store.Replicas()); got != 3 {
		t.Errorf("%d replicas, want 3", got)
	}
	store.Start()
	if _, err := os.Stat(s.path(0, logdir.NameCleanShutdown)); err == nil {
		t.Error("the marker is still there after the start")
	}
	select {
	case name := <-touched:
		t.Errorf("%s was touched by the start", name)
	default:
	}
	for partition, want := range map[int32]bool{0: false, 1: true, 2: false} {
		if end, empty := store.Empty(TopicPartition{"a", partition}); end != 0 || empty != want {
			t.Errorf("a-%d is empty: %v, up to %d; want %v", partition, empty, end, want)
		}
	}
	for len(touched) > 0 {
		<-touched
	}
	l := s.holds(store, "a", 0, topicA, "1=a1", "2=a2")
	if _, empty := store.Empty(TopicPartition{"a", 0}); empty {
		t.Error("an open partition with records is empty")
	}
	if l.HighWatermark() != 3 || l.LogStartOffset() != 1 {
		t.Errorf("high watermark %d, log start offset %d; want 3, 1", l.HighWatermark(), l.LogStartOffset())
	}
	for len(touched) > 0 {
		if name := <-touched; !strings.Contains(name, "a-0") {
			t.Errorf("%s was touched when a-0 was opened", name)
		}
	}
	// The checkpoints keep what they say of partitions that were never opened.
	s.close(store, 18)
	if got, want := s.text(0, logdir.NameRecoveryPoint), "0\n2\na 0 3\nb 0 1\n"; got != want {
		t.Errorf("recovery points %q, want %q", got, want)
	}
	if len(s.notices) > 0 {
		t.Errorf("notices: %q", s.notices)
	}
}

// watched tells of every name that is opened, listed or looked at.
type watched struct {
	disk.FS
	touch func(name string)
}

func (w watched) OpenFile(name string, flag int, perm fs.FileMode) (disk.File, error) {
	w.touch(name)
	return w.FS.OpenFile(name, flag, perm)
}
func (w watched) Stat(name string) (fs.FileInfo, error) {
	w.touch(name)
	return w.FS.Stat(name)
}
func (w watched) ReadDir(name string) ([]fs.DirEntry, error) {
	w.touch(name)
	return w.FS.ReadDir(name)
}

// TestStoreKilled recovers what a kill left: in the background, and at once what
// is asked for. A stop before all is recovered is not a clean one.
func TestStoreKilled(t *testing.T) {
	s := newStoreSetup(t, 1)
	store := s.start()
	for p := range int32(20) {
		l := s.create(store, "a", p, topicA, 0)
		s.append(l, fmt.Sprint("v", p))
	}
	s.create(store, "a", 20, topicA, 0)
	s.killed()
	s.close(store, 1)
	again := s.open()
	if _, empty := again.Empty(TopicPartition{"a", 20}); empty {
		t.Error("a partition that was not stopped cleanly is known to be empty")
	}
	if got := again.CleanEpoch(); got != -1 {
		t.Errorf("broker epoch %d of a directory without marker", got)
	}
	recovered := make(chan struct{})
	notice := again.o.Notice
	again.o.Notice = func(n Notice) {
		notice(n)
		if strings.HasPrefix(n.Message, "recovery is done after ") {
			close(recovered)
		}
	}
	again.Start()
	s.holds(again, "a", 19, topicA, "0=v19")
	<-recovered
	s.noticed("0 ", "was not stopped cleanly: partitions are recovered: 21")
	for p := range int32(20) {
		s.holds(again, "a", p, topicA, fmt.Sprint("0=v", p))
	}
	s.close(again, 2)
	if got := s.text(0, logdir.NameCleanShutdown); got == "" {
		t.Error("no marker although all was recovered")
	}
}

func TestStoreStopsBeforeRecovered(t *testing.T) {
	s := newStoreSetup(t, 1)
	store := s.start()
	s.append(s.create(store, "a", 0, topicA, 0), "v")
	s.killed()
	s.close(store, 1)
	// A partition that cannot be recovered: its metadata is fine, its log is a directory.
	if err := os.Mkdir(s.path(0, "a-1"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(s.path(0, "a-1", "00000000000000000000.log"), 0o755); err != nil {
		t.Fatal(err)
	}
	again := s.start()
	if _, err := again.Open(t.Context(), TopicPartition{"a", 1}, topicA); err == nil {
		t.Fatal("a directory was opened as a log")
	}
	_ = again.Close(2) // the directory may be offline by now
	if got := s.text(0, logdir.NameCleanShutdown); got != "" {
		t.Errorf("marker %q although a partition was not recovered", got)
	}
}

func TestStoreLocked(t *testing.T) {
	s := newStoreSetup(t, 1)
	store := s.start()
	defer s.close(store, 1)
	before := s.list(0, "*")
	if _, err := OpenStore(t.Context(), s.o); !errors.Is(err, disk.ErrLocked) {
		t.Errorf("a second store got %v, want %v", err, disk.ErrLocked)
	}
	if got := s.list(0, "*"); !slices.Equal(got, before) {
		t.Errorf("the second one changed %q to %q", before, got)
	}
}

func TestStoreDeletes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStoreSetup(t, 1)
		store := s.start()
		tp := TopicPartition{"a", 0}
		l := s.create(store, "a", 0, topicA, 0)
		s.append(l, "old")
		s.append(l, "old")
		if _, err := l.RaiseLogStart(1); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute) // the checkpoints are written
		synctest.Wait()
		if got := s.text(0, logdir.NameLogStart); got != "0\n1\na 0 1\n" {
			t.Errorf("log start offsets %q", got)
		}
		if err := store.Delete(tp); err != nil {
			t.Fatal(err)
		}
		if _, err := store.Open(t.Context(), tp, topicA); !errors.Is(err, ErrNoReplica) {
			t.Errorf("open after the deletion: %v", err)
		}
		if _, err := l.Append(value("x").bytes(t), AppendOptions{}); !errors.Is(err, ErrClosed) {
			t.Errorf("append after the deletion: %v", err)
		}
		if err := store.Delete(tp); !errors.Is(err, ErrNoReplica) {
			t.Errorf("second deletion: %v", err)
		}
		if got := s.list(0, "a-0*"); len(got) != 1 || !strings.HasSuffix(got[0], "-delete") {
			t.Errorf("after the deletion there are %q", got)
		}
		// A new partition of the name starts afresh, after a kill as well.
		fresh := s.create(store, "a", 0, topicB, 0)
		s.append(fresh, "new")
		s.killed()
		again := s.start()
		s.holds(again, "a", 0, topicB, "0=new")
		// What a kill left of the deletion is removed after the delay.
		time.Sleep(1001 * time.Millisecond)
		synctest.Wait()
		if got := s.list(0, "a-0*"); !slices.Equal(got, []string{"a-0"}) {
			t.Errorf("after the delay there are %q", got)
		}
		s.close(again, 1)
		s.close(store, 1)
	})
}

// TestStoreForgetsCheckpoints: a log start offset of a deleted partition must
// not meet the new one of its name.
func TestStoreForgetsCheckpoints(t *testing.T) {
	s := newStoreSetup(t, 1)
	store := s.start()
	l := s.create(store, "a", 0, topicA, 0)
	for range 5 {
		s.append(l, "old")
	}
	if _, err := l.RaiseLogStart(4); err != nil {
		t.Fatal(err)
	}
	s.close(store, 1)
	store = s.start()
	if err := store.Delete(TopicPartition{"a", 0}); err != nil {
		t.Fatal(err)
	}
	s.append(s.create(store, "a", 0, topicB, 0), "new")
	s.killed()
	s.close(store, 1)
	again := s.start()
	s.holds(again, "a", 0, topicB, "0=new")
	s.close(again, 1)
}

func TestStoreStrays(t *testing.T) {
	s := newStoreSetup(t, 1)
	store := s.start()
	s.append(s.create(store, "a", 0, topicA, 0), "v")
	if _, err := store.Open(t.Context(), TopicPartition{"a", 0}, topicB); !errors.Is(err, ErrTopicID) {
		t.Errorf("open for another topic: %v", err)
	}
	if err := store.Stray(TopicPartition{"a", 0}); err != nil {
		t.Fatal(err)
	}
	s.close(store, 1)
	store = s.start()
	s.close(store, 2)
	if got := s.list(0, "a-0*"); len(got) != 1 || !strings.HasSuffix(got[0], "-stray") {
		t.Errorf("there are %q", got)
	}
}

// TestStoreLinkedPartition: a partition directory may be a symbolic link to one
// elsewhere, as for Kafka.
func TestStoreLinkedPartition(t *testing.T) {
	s := newStoreSetup(t, 1)
	id := wire.UUID{1}
	store := s.start()
	s.append(s.create(store, "a", 0, id, 0), "v1")
	s.close(store, 1)
	elsewhere := filepath.Join(t.TempDir(), "a-0")
	if err := os.Rename(s.path(0, "a-0"), elsewhere); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(elsewhere, s.path(0, "a-0")); err != nil {
		t.Fatal(err)
	}
	store = s.start()
	s.append(s.holds(store, "a", 0, id, "0=v1"), "v2")
	if err := store.Delete(TopicPartition{"a", 0}); err != nil {
		t.Fatal(err)
	}
	s.close(store, 2)
	if left := s.list(0, "a*"); len(left) != 1 || !strings.HasSuffix(left[0], "-delete") {
		t.Errorf("after a deletion there is %q", left)
	}
}

// TestStoreIdentifies: without a readable partition.metadata Kafka serves an
// empty partition in the place of the data; kf serves the data.
func TestStoreIdentifies(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		remove     bool
		notice     string
	}{
		{"missing", "", true, "is missing: written anew"},
		{"empty", "", false, "set aside and written anew"},
		{"malformed", "version: 0\ntopic_id: !\n", false, "set aside and written anew"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newStoreSetup(t, 1)
			store := s.start()
			s.append(s.create(store, "a", 0, topicA, 0), "v")
			s.close(store, 1)
			name := s.path(0, "a-0", logdir.NamePartitionMetadata)
			if tt.remove {
				if err := os.Remove(name); err != nil {
					t.Fatal(err)
				}
			} else {
				s.write(tt.text, 0, "a-0", logdir.NamePartitionMetadata)
			}
			store = s.start()
			s.holds(store, "a", 0, topicA, "0=v")
			s.close(store, 1)
			s.noticed("1 partition.metadata", tt.notice, topicA.String())
			if !tt.remove {
				if got := s.text(0, "a-0", logdir.NamePartitionMetadata+logdir.KeptSuffix); got != tt.text {
					t.Errorf("kept %q, want %q", got, tt.text)
				}
			}
			store = s.start()
			if _, err := store.Open(t.Context(), TopicPartition{"a", 0}, topicB); !errors.Is(err, ErrTopicID) {
				t.Errorf("open for another topic: %v", err)
			}
			s.close(store, 1)
		})
	}
}

func TestStoreDamagedCheckpoints(t *testing.T) {
	s := newStoreSetup(t, 1)
	store := s.start()
	l := s.create(store, "a", 0, topicA, 0)
	s.append(l, "v0")
	s.append(l, "v1")
	s.close(store, 1)
	for kind := range checkpointKinds {
		s.write("0\n1\na 0 x\n", 0, kind.fileName())
	}
	if err := os.Remove(s.path(0, logdir.NameCleanShutdown)); err != nil {
		t.Fatal(err)
	}
	s.write("not JSON", 0, logdir.NameCleanShutdown)
	store = s.start()
	if got := store.CleanEpoch(); got != -1 {
		t.Errorf("broker epoch %d", got)
	}
	s.holds(store, "a", 0, topicA, "0=v0", "1=v1")
	s.close(store, 2)
	for kind := range checkpointKinds {
		s.noticed("1 "+kind.fileName(), "line 3", kind.lost())
		if got := s.text(0, kind.fileName()+logdir.KeptSuffix); got != "0\n1\na 0 x\n" {
			t.Errorf("%s: kept %q", kind.fileName(), got)
		}
	}
	if got := s.text(0, logdir.NameRecoveryPoint); got != "0\n1\na 0 2\n" {
		t.Errorf("recovery points %q", got)
	}
}

func TestStoreOtherDirectories(t *testing.T) {
	s := newStoreSetup(t, 1)
	for _, name := range []string{"lost+found", logdir.NameRemoteIndexCache, "__cluster_metadata-0"} {
		if err := os.Mkdir(s.path(0, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	store := s.start()
	if got := store.Replicas(); len(got) != 0 {
		t.Errorf("replicas %v", got)
	}
	s.close(store, 1)
	if len(s.notices) != 1 {
		t.Errorf("notices %q", s.notices)
	}
	s.noticed("1 lost+found", "no partition", "Apache Kafka does not start")
}

// TestStoreTwice: a kill between the two renames of a move leaves a partition in
// two directories. The one with more of it is served, the other is kept.
func TestStoreTwice(t *testing.T) {
	s := newStoreSetup(t, 2)
	store := s.start()
	l := s.create(store, "a", 0, topicA, 0)
	s.append(l, "v0")
	s.close(store, 1)
	if err := os.CopyFS(s.path(1, "a-0"), os.DirFS(s.path(0, "a-0"))); err != nil {
		t.Fatal(err)
	}
	store = s.start()
	if got := s.list(1, "a-0*-stray"); len(got) != 1 {
		t.Errorf("the second directory has %q", s.list(1, "*"))
	}
	s.append(s.holds(store, "a", 0, topicA, "0=v0"), "v1")
	s.close(store, 2)
	s.noticed("1 a-0", "another log directory has more of this partition")

	// Two topics of one name are not kf's to decide about.
	if err := os.CopyFS(s.path(1, "a-0"), os.DirFS(s.path(0, "a-0"))); err != nil {
		t.Fatal(err)
	}
	s.write(string(partmeta.Append(nil, partmeta.Metadata{TopicID: topicB})), 1, "a-0", logdir.NamePartitionMetadata)
	if _, err := OpenStore(t.Context(), s.o); err == nil || !strings.Contains(err.Error(), "hold the same partition of two topics") {
		t.Errorf("two topics in one partition: %v", err)
	}
}

// TestStoreDiskFails: the partitions of a directory whose disk fails are out of
// service, the others go on.
func TestStoreDiskFails(t *testing.T) {
	s := newStoreSetup(t, 2)
	broken := make(chan struct{})
	bad := s.o.Dirs[0]
	s.o.FS = disktest.New(func(op disktest.Op) disktest.Fault {
		select {
		case <-broken:
			if strings.HasPrefix(op.Path, bad) {
				return disktest.Fault{Err: disktest.ErrIO}
			}
		default:
		}
		return disktest.Fault{}
	})
	store := s.start()
	a, b := s.create(store, "a", 0, topicA, 0), s.create(store, "b", 0, topicB, 1)
	other := s.create(store, "c", 0, topicA, 0)
	s.append(a, "v0")
	close(broken)
	if _, err := a.Append(value("v1").bytes(t), AppendOptions{}); !errors.Is(err, ErrOffline) {
		t.Errorf("append to a failed disk: %v", err)
	}
	for { // the store is told in the background
		if len(store.Offline()) == 1 {
			break
		}
		time.Sleep(time.Millisecond)
	}
	if err := store.Offline()[0]; !errors.Is(err, disktest.ErrIO) {
		t.Errorf("offline because of %v", err)
	}
	s.append(b, "v0")
	if _, err := store.Create(t.Context(), TopicPartition{"d", 0}, topicA, 0); !errors.Is(err, ErrOffline) {
		t.Errorf("create in a directory that is offline: %v", err)
	}
	s.create(store, "d", 0, topicA, -1)
	if got := s.list(1, "d-0"); len(got) != 1 {
		t.Errorf("the directory that is left has %q", s.list(1, "*"))
	}
	if err := store.Close(3); err != nil {
		t.Errorf("close: %v", err)
	}
	if _, err := other.Append(value("x").bytes(t), AppendOptions{}); err == nil {
		t.Error("a partition of the failed disk took an append")
	}
	if s.text(0, logdir.NameCleanShutdown) != "" || s.text(1, logdir.NameCleanShutdown) == "" {
		t.Error("the marker of a clean stop belongs to the sound directory only")
	}
	s.noticed("2 ", "log directory is offline")
	if !slices.Equal(s.failed, []int{0}) {
		t.Errorf("told of %v", s.failed)
	}
	// A directory that cannot be read at all.
	s.o.FS = disk.OS
	if err := os.RemoveAll(s.path(0)); err != nil {
		t.Fatal(err)
	}
	store = s.start()
	if len(store.Offline()) != 1 {
		t.Errorf("offline: %v", store.Offline())
	}
	s.holds(store, "b", 0, topicB, "0=v0")
	s.close(store, 4)
}

func TestStoreMarkerEpochs(t *testing.T) {
	s := newStoreSetup(t, 2)
	for _, tt := range []struct{ a, b, want int64 }{{5, 5, 5}, {5, 6, -1}, {5, -1, -1}} {
		for i, epoch := range []int64{tt.a, tt.b} {
			s.write(string(cleanshutdown.Append(nil, cleanshutdown.Marker{BrokerEpoch: &epoch})), i, logdir.NameCleanShutdown)
		}
		store := s.open()
		if got := store.CleanEpoch(); got != tt.want {
			t.Errorf("markers %d and %d: %d, want %d", tt.a, tt.b, got, tt.want)
		}
		s.close(store, 0)
	}
}

// TestStoreRetainsUnopened: a partition that nobody asks for is opened when its
// files may be old enough, and no sooner.
func TestStoreRetainsUnopened(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStoreSetup(t, 1)
		store := s.start()
		old := value("old")
		old.time = time.Now().Add(-time.Hour).UnixMilli()
		for partition, sp := range []spec{old, value("new")} {
			if partition == 1 {
				sp.time = time.Now().UnixMilli()
			}
			l := s.create(store, "a", int32(partition), topicA, 0)
			if _, err := l.Append(sp.bytes(t), AppendOptions{}); err != nil {
				t.Fatal(err)
			}
			l.SetHighWatermark(1)
		}
		s.close(store, 1)
		config := s.o.LogConfig("a")
		config.RetentionMs = 30 * 60 * 1000
		s.o.LogConfig = func(string) Config { return config }
		// The clock of a synctest bubble is years behind that of the files.
		for partition := range 2 {
			name := s.path(0, fmt.Sprintf("a-%d", partition), "00000000000000000000.log")
			if err := os.Chtimes(name, time.Now(), time.Now()); err != nil {
				t.Fatal(err)
			}
		}
		store = s.start()
		time.Sleep(time.Duration(s.o.RetentionCheckMs+1) * time.Millisecond)
		synctest.Wait()
		if store.Get(TopicPartition{"a", 1}) != nil {
			t.Error("the partition with a new record was opened")
		}
		if l := store.Get(TopicPartition{"a", 0}); l == nil || l.LogStartOffset() != 1 {
			t.Errorf("the old record is still there: %v", l)
		}
		s.close(store, 2)
	})
}
