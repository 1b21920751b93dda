package metalog_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"kf/internal/format/batch"
	"kf/internal/format/kraftrec"
	"kf/internal/format/quorumstate"
	"kf/internal/image"
	"kf/internal/logdir"
	"kf/internal/metalog"
	"kf/internal/storage"
	"kf/internal/storage/disk"
	"kf/internal/wire"
)

var levels = []image.Record{
	{Message: &kraftrec.FeatureLevelRecord{Name: image.FeatureMetadataVersion, FeatureLevel: 33}},
	{Message: &kraftrec.FeatureLevelRecord{Name: image.FeatureELR, FeatureLevel: 1}},
}

// A cluster is a metadata log that tests append to.
type cluster struct {
	t       testing.TB
	o       metalog.Options
	notices []string
	log     *metalog.Log
	b       *image.Builder
}

func newCluster(t testing.TB, dir string) *cluster {
	c := &cluster{t: t}
	c.o = metalog.Options{FS: disk.NoSync(disk.OS), Dir: dir, NodeID: 1, Bootstrap: func() []image.Record { return levels }, Notice: func(n storage.Notice) {
		c.notices = append(c.notices, n.Path+": "+n.Message)
	}}
	return c
}

// open opens the log, and copies the bootstrap records if it is new.
func (c *cluster) open() error {
	var err error
	if c.log, c.b, err = metalog.Open(context.Background(), c.o); err != nil {
		return err
	}
	if records := c.log.Bootstrap(); records != nil {
		return c.append(records...)
	}
	return nil
}

func (c *cluster) mustOpen() {
	c.t.Helper()
	if err := c.open(); err != nil {
		c.t.Fatal(err)
	}
}

func (c *cluster) append(records ...image.Record) error {
	at, err := c.log.Append(records)
	if err != nil {
		return err
	}
	c.b.SetPosition(at)
	for _, r := range records {
		if err := c.b.Replay(r.Message); err != nil {
			c.t.Fatal(err)
		}
	}
	return nil
}

// config appends a record that sets a configuration of the brokers to its name.
func (c *cluster) config(name string) error {
	return c.append(image.Record{Message: &kraftrec.ConfigRecord{ResourceType: 4, Name: name, Value: &name}})
}

func (c *cluster) mustConfig(names ...string) {
	c.t.Helper()
	for _, name := range names {
		if err := c.config(name); err != nil {
			c.t.Fatal(err)
		}
	}
}

func (c *cluster) close() {
	c.t.Helper()
	if err := c.log.Close(); err != nil {
		c.t.Fatal(err)
	}
}

// configs returns the names that were set.
func (c *cluster) configs() []string {
	im, _ := c.b.Publish()
	var names []string
	for name := range im.Configs(image.Resource{Type: image.BrokerResource}) {
		names = append(names, name)
	}
	return names
}

func (c *cluster) path(name string) string { return filepath.Join(metalog.Dir(c.o.Dir), name) }

func (c *cluster) read(name string) []byte {
	c.t.Helper()
	p, err := os.ReadFile(c.path(name))
	if err != nil {
		c.t.Fatal(err)
	}
	return p
}

func (c *cluster) write(name string, p []byte) {
	c.t.Helper()
	if err := os.WriteFile(c.path(name), p, 0o644); err != nil {
		c.t.Fatal(err)
	}
}

const firstLog = "00000000000000000000.log"

func TestNewDirectory(t *testing.T) {
	c := newCluster(t, t.TempDir())
	c.mustOpen()
	c.mustConfig("a")
	for name, want := range map[string]string{
		"leader-epoch-checkpoint": "0\n1\n1 0\n",
		"partition.metadata":      "version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ",
		"quorum-state":            `{"clusterId":"","leaderId":1,"leaderEpoch":1,"votedId":-1,"appliedOffset":0,"currentVoters":[{"voterId":1}],"data_version":0}`,
	} {
		if got := string(c.read(name)); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	for name, size := range map[string]int64{"00000000000000000000.index": 10485760, "00000000000000000000.timeindex": 10485756} {
		info, err := os.Stat(c.path(name))
		if err != nil || info.Size() != size {
			t.Errorf("%s: %v, %v, want %d bytes", name, info, err, size)
		}
	}
	info, err := os.Stat(c.path("00000000000000000000-0000000000.checkpoint"))
	if err != nil || info.Mode().Perm()&0o222 != 0 {
		t.Errorf("the bootstrap snapshot is %v, %v", info, err)
	}
	if c.log.Epoch() != 1 || c.log.End() != 4 || len(c.notices) > 0 {
		t.Errorf("epoch %d, end %d, %q", c.log.Epoch(), c.log.End(), c.notices)
	}
	c.close()

	// Each start is an epoch and a batch more.
	c.mustOpen()
	if c.log.Epoch() != 2 || c.log.End() != 5 || c.log.Bootstrap() != nil || !slices.Equal(c.configs(), []string{"a"}) {
		t.Errorf("again: epoch %d, end %d, bootstrap %v, %q", c.log.Epoch(), c.log.End(), c.log.Bootstrap(), c.configs())
	}
	if got := string(c.read("leader-epoch-checkpoint")); got != "0\n2\n1 0\n2 4\n" {
		t.Errorf("epochs: %q", got)
	}
	c.close()
	if _, err := os.Stat(c.path("00000000000000000005.snapshot")); err != nil {
		t.Error(err)
	}
}

// The bytes of a batch are as Kafka's: its first one in a cluster of one voter,
// and a data batch.
func TestBatches(t *testing.T) {
	c := newCluster(t, t.TempDir())
	c.mustOpen()
	c.close()
	p := c.read(firstLog)
	kafka, err := os.ReadFile("testdata/kafka-4.4/" + firstLog)
	if err != nil {
		t.Fatal(err)
	}
	h, err := batch.DecodeHeader(p)
	if err != nil {
		t.Fatal(err)
	}
	same := func(p []byte) []byte { // without what depends on the time: CRC and timestamps
		p = bytes.Clone(p)
		clear(p[17:21])
		clear(p[27:43])
		return p
	}
	n := h.Size()
	if got, want := same(p[:n]), same(kafka[:n]); !bytes.Equal(got, want) {
		t.Errorf("leader change\n%x\nwant\n%x", got, want)
	}
	second, err := batch.DecodeHeader(p[n:])
	if err != nil {
		t.Fatal(err)
	}
	want := batch.Header{BaseOffset: 1, Length: second.Length, PartitionLeaderEpoch: 1, Magic: 2, CRC: second.CRC, LastOffsetDelta: 1,
		BaseTimestamp: second.BaseTimestamp, MaxTimestamp: second.BaseTimestamp, ProducerID: -1, ProducerEpoch: -1, BaseSequence: -1, Count: 2}
	if second != want {
		t.Errorf("data batch %+v, want %+v", second, want)
	}
}

// A log that ends inside its last batch loses that batch and keeps its bytes.
func TestTornTail(t *testing.T) {
	c := newCluster(t, t.TempDir())
	c.mustOpen()
	c.mustConfig("a", "b")
	size := len(c.read(firstLog))
	c.mustConfig("c")
	whole := c.read(firstLog)
	c.close()
	for n := size + 1; n < len(whole); n++ {
		c := newCluster(t, t.TempDir())
		if err := os.Mkdir(metalog.Dir(c.o.Dir), 0o755); err != nil {
			t.Fatal(err)
		}
		c.write(firstLog, whole[:n])
		c.mustOpen()
		if got := c.configs(); !slices.Equal(got, []string{"a", "b"}) || len(c.notices) != 1 {
			t.Errorf("cut at %d: %q, %q", n, got, c.notices)
		}
		if n >= size+8 { // the offset; zeros are not kept
			if got := c.read(logdir.KeptName(0, int64(size))); !bytes.Equal(got, whole[size:n]) {
				t.Errorf("cut at %d: %d bytes kept, want %d", n, len(got), n-size)
			}
		}
		c.mustConfig("d")
		c.close()
		c.notices = nil
		c.mustOpen()
		if got := c.configs(); !slices.Equal(got, []string{"a", "b", "d"}) || len(c.notices) > 0 {
			t.Errorf("cut at %d, appended: %q, %q", n, got, c.notices)
		}
		c.close()
	}
}

func TestDamage(t *testing.T) {
	c := newCluster(t, t.TempDir())
	c.mustOpen()
	c.mustConfig("a")
	second := len(c.read(firstLog))
	c.mustConfig("b")
	last := len(c.read(firstLog))
	c.mustConfig("c")
	whole := c.read(firstLog)
	c.close()
	flip := func(at int) []byte {
		p := bytes.Clone(whole)
		p[at] ^= 0x40
		return p
	}
	for _, tt := range []struct {
		name string
		log  []byte
		want []string // configurations, nil if the start is refused
		pos  int      // where the refusal points
		err  error
	}{
		{"bad checksum of the last batch", flip(last + 70), []string{"a", "b"}, 0, nil},
		{"bad length of the last batch", flip(last + 8), []string{"a", "b"}, 0, nil},
		{"zeros behind", append(bytes.Clone(whole), make([]byte, 100_000)...), []string{"a", "b", "c"}, 0, nil},
		{"garbage behind", append(bytes.Clone(whole), "some words of no meaning, longer than the header of a batch is, so that it is looked at"...), []string{"a", "b", "c"}, 0, nil},
		{"bad checksum in front of a sound batch", flip(second + 70), nil, second, batch.ErrChecksum},
		{"bad length in front of a sound batch", flip(second + 8), nil, second, batch.ErrLength},
		{"bad magic in front of a sound batch", flip(second + 16), nil, second, batch.ErrMagic},
		{"batch missing", slices.Delete(bytes.Clone(whole), second, last), nil, second, metalog.ErrGap},
		{"batch twice", append(bytes.Clone(whole), whole[last:]...), nil, len(whole), metalog.ErrGap},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := newCluster(t, t.TempDir())
			if err := os.Mkdir(metalog.Dir(c.o.Dir), 0o755); err != nil {
				t.Fatal(err)
			}
			c.write(firstLog, tt.log)
			err := c.open()
			if tt.want == nil {
				e, ok := errors.AsType[*metalog.Error](err)
				if !ok || e.Path != c.path(firstLog) || e.Pos != int64(tt.pos) || e.Offset < 0 || !errors.Is(err, tt.err) {
					t.Errorf("opened with %v, want %v at byte %d", err, tt.err, tt.pos)
				}
				if got := c.read(firstLog); !bytes.Equal(got, tt.log) {
					t.Error("the log was changed")
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := c.configs(); !slices.Equal(got, tt.want) || len(c.notices) != 1 {
				t.Errorf("got %q, want %q; %q", got, tt.want, c.notices)
			}
			c.close()
		})
	}
}

// Where there are partitions and no records of a cluster a new one would make
// strays of them.
func TestLost(t *testing.T) {
	c := newCluster(t, t.TempDir())
	c.mustOpen()
	c.close()
	for _, name := range []string{"orders-0.0123456789abcdef0123456789abcdef-stray", "orders-0"} {
		if err := os.Mkdir(filepath.Join(c.o.Dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.RemoveAll(metalog.Dir(c.o.Dir)); err != nil {
			t.Fatal(err)
		}
		err := c.open()
		if lost := name == "orders-0"; lost != errors.Is(err, metalog.ErrLost) || !lost && err != nil {
			t.Fatalf("with %s: %v", name, err)
		}
		if err == nil {
			c.close()
		}
	}
	if logs := c.glob("*.checkpoint"); len(logs) > 0 {
		t.Errorf("a cluster was made: %q", logs)
	}
	// They may be in another log directory.
	if err := os.Remove(filepath.Join(c.o.Dir, "orders-0")); err != nil {
		t.Fatal(err)
	}
	c.o.LogDirs = []string{t.TempDir(), filepath.Join(c.o.Dir, "gone")}
	if err := os.Mkdir(filepath.Join(c.o.LogDirs[0], "orders-0"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := c.open(); !errors.Is(err, metalog.ErrLost) {
		t.Errorf("with a partition in another log directory: %v", err)
	}
}

// grow opens a log with small segments and appends until some have rolled, with
// snapshots between.
func grow(t *testing.T, c *cluster) (names []string) {
	t.Helper()
	c.o.SegmentBytes = 10_000
	c.mustOpen()
	for i := range 600 {
		names = append(names, fmt.Sprintf("c%03d", i))
		c.mustConfig(names[i])
		if i%90 == 60 {
			im, _ := c.b.Publish()
			if err := c.log.Snapshot(im); err != nil {
				t.Fatal(err)
			}
		}
	}
	return names
}

func (c *cluster) glob(pattern string) []string {
	c.t.Helper()
	names, err := filepath.Glob(c.path(pattern))
	if err != nil {
		c.t.Fatal(err)
	}
	for i, name := range names {
		names[i] = filepath.Base(name)
	}
	return names
}

func TestRollAndSnapshots(t *testing.T) {
	c := newCluster(t, t.TempDir())
	names := grow(t, c)
	logs, snapshots := c.glob("*.log"), c.glob("*.checkpoint")
	if len(logs) < 4 || len(snapshots) != 6+1 {
		t.Fatalf("%q, %q", logs, snapshots)
	}
	for _, name := range logs[:len(logs)-1] {
		index, err := os.Stat(c.path(strings.TrimSuffix(name, ".log") + ".index"))
		if err != nil || index.Size() == 0 || index.Size() > 100 {
			t.Errorf("index of sealed %s: %v, %v", name, index, err)
		}
	}
	for _, name := range logs[1:] {
		if got := c.read(strings.TrimSuffix(name, ".log") + ".snapshot"); len(got) != 10 {
			t.Errorf("producer snapshot of %s has %d bytes", name, len(got))
		}
	}
	c.close()
	c.mustOpen()
	if got := c.configs(); !slices.Equal(got, names) || len(c.notices) > 0 {
		t.Errorf("%d of %d names, %q", len(got), len(names), c.notices)
	}
	c.close()

	// Without any snapshot the whole log says the same.
	for _, name := range snapshots {
		if err := os.Remove(c.path(name)); err != nil {
			t.Fatal(err)
		}
	}
	c.mustOpen()
	if got := c.configs(); !slices.Equal(got, names) || len(c.notices) > 0 {
		t.Errorf("from the log alone: %d of %d names, %q", len(got), len(names), c.notices)
	}
	c.close()
}

// Of a log that has a snapshot only what lies behind is read: damage in front is
// not noticed, also inside the segment, where the index leads to the place.
func TestStartsAtSnapshot(t *testing.T) {
	c := newCluster(t, t.TempDir())
	c.mustOpen()
	var names []string
	for i := range 200 {
		names = append(names, fmt.Sprintf("c%03d", i))
	}
	c.mustConfig(names...)
	im, _ := c.b.Publish()
	if err := c.log.Snapshot(im); err != nil {
		t.Fatal(err)
	}
	c.mustConfig("last")
	c.close()
	p := c.read(firstLog)
	clear(p[:len(p)-5000])
	c.write(firstLog, p)
	c.mustOpen()
	if got := c.configs(); !slices.Equal(got, append(names, "last")) || len(c.notices) > 0 {
		t.Errorf("%d names, %q", len(got), c.notices)
	}
	c.close()

	// An index that leads to nowhere counts for nothing.
	index := c.read("00000000000000000000.index")
	for i := range 4000 {
		index[i] ^= 3
	}
	c.write("00000000000000000000.index", index)
	if err := c.open(); !errors.Is(err, batch.ErrTruncated) && !errors.Is(err, batch.ErrMagic) {
		t.Errorf("with a wrong index, and damage in front: %v", err)
	}
}

func TestRetention(t *testing.T) {
	c := newCluster(t, t.TempDir())
	c.o.RetentionBytes = 60_000
	names := grow(t, c)
	logs, snapshots := c.glob("*.log"), c.glob("*.checkpoint")
	if logs[0] == firstLog || strings.HasPrefix(snapshots[0], "00000000000000000000-") {
		t.Fatalf("nothing was removed: %q, %q", logs, snapshots)
	}
	if snapshots[0][:20] < logs[0][:20] {
		t.Errorf("the log begins at %s, the oldest snapshot is %s", logs[0], snapshots[0])
	}
	c.close()
	c.mustOpen()
	if got := c.configs(); !slices.Equal(got, names) || len(c.notices) > 0 {
		t.Errorf("%d of %d names, %q", len(got), len(names), c.notices)
	}
	c.close()
	if got := string(c.read("leader-epoch-checkpoint")); !strings.HasPrefix(got, "0\n2\n1 "+strings.TrimLeft(logs[0][:20], "0")+"\n2 ") {
		t.Errorf("epochs: %q", got)
	}

	// A log that does not begin at 0 needs a snapshot.
	for _, name := range c.glob("*.checkpoint") {
		if err := os.Remove(c.path(name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.open(); !errors.Is(err, metalog.ErrSnapshot) {
		t.Errorf("without snapshots: %v", err)
	}
}

func TestDamagedSnapshot(t *testing.T) {
	for _, tt := range []struct {
		name   string
		damage func(p []byte) []byte
	}{
		{"bad checksum", func(p []byte) []byte { p[len(p)/2] ^= 1; return p }},
		{"no footer", func(p []byte) []byte { return p[:len(p)-76] }},
		{"empty", func([]byte) []byte { return nil }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := newCluster(t, t.TempDir())
			names := grow(t, c)
			c.close()
			snapshots := c.glob("*.checkpoint")
			newest := snapshots[len(snapshots)-1]
			p := tt.damage(c.read(newest))
			if err := os.Remove(c.path(newest)); err != nil {
				t.Fatal(err)
			}
			c.write(newest, p)

			// Its bytes are in the log too.
			c.mustOpen()
			if got := c.configs(); !slices.Equal(got, names) || len(c.notices) != 1 {
				t.Errorf("%d of %d names, %q", len(got), len(names), c.notices)
			}
			c.close()
			if err := os.Rename(c.path(newest+logdir.KeptSuffix), c.path(newest)); err != nil {
				t.Fatal(err)
			}

			// They are not any more.
			logs := c.glob("*.log")
			for _, name := range logs[len(logs)-2:] {
				if err := os.Remove(c.path(name)); err != nil {
					t.Fatal(err)
				}
			}
			if err := c.open(); err == nil || !strings.Contains(err.Error(), "nowhere else") {
				t.Errorf("with the end of the log missing: %v", err)
			}
		})
	}
}

// A snapshot beyond the log takes its place.
func TestSnapshotBeyondLog(t *testing.T) {
	c := newCluster(t, t.TempDir())
	names := grow(t, c)
	im, _ := c.b.Publish()
	if err := c.log.Snapshot(im); err != nil {
		t.Fatal(err)
	}
	end := c.log.End()
	c.close()
	for _, name := range c.glob("*.log")[2:] {
		if err := os.Remove(c.path(name)); err != nil {
			t.Fatal(err)
		}
	}
	c.mustOpen()
	if got := c.configs(); !slices.Equal(got, names) || len(c.notices) != 1 || c.log.End() != end+1 {
		t.Errorf("%d of %d names, %q, end %d, want %d", len(got), len(names), c.notices, c.log.End(), end+1)
	}
	if logs := c.glob("*.log"); len(logs) != 1 || logs[0] != fmt.Sprintf("%020d.log", end) {
		t.Errorf("segments %q", logs)
	}
	c.close()
}

func TestBootstrap(t *testing.T) {
	t.Run("of 4.0", func(t *testing.T) {
		c := newCluster(t, t.TempDir())
		p, err := os.ReadFile("testdata/bootstrap-4.0.checkpoint")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(c.o.Dir, "bootstrap.checkpoint"), p, 0o644); err != nil {
			t.Fatal(err)
		}
		c.mustOpen()
		defer c.close()
		if im, _ := c.b.Publish(); im.MetadataVersion() != 25 || im.Feature(image.FeatureTransactionVersion) != 2 {
			t.Errorf("metadata.version %v", im.MetadataVersion())
		}
	})
	t.Run("of kraft.version 1", func(t *testing.T) {
		c := newCluster(t, t.TempDir())
		const name = "00000000000000000000-0000000000.checkpoint"
		p, err := os.ReadFile("testdata/kraft-1/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Mkdir(metalog.Dir(c.o.Dir), 0o755); err != nil {
			t.Fatal(err)
		}
		c.write(name, p)
		if err := c.open(); !errors.Is(err, metalog.ErrVoters) {
			t.Errorf("with another directory id: %v", err)
		}
		c.o.NodeID = 2
		if err := c.open(); !errors.Is(err, metalog.ErrVoters) {
			t.Errorf("as another node: %v", err)
		}
		c.o.NodeID = 1
		if c.o.DirectoryID, err = wire.ParseUUID("Q6B5HQGvRGKkV1JtidQdeg"); err != nil {
			t.Fatal(err)
		}
		c.mustOpen()
		c.mustConfig("a")
		c.close()
		state, err := quorumstate.Decode(c.read("quorum-state"))
		if err != nil || state.Version != 1 || state.LeaderEpoch != 1 {
			t.Errorf("quorum-state %+v, %v", state, err)
		}
		// The voters are in the log now.
		if err := os.Remove(c.path(name)); err != nil {
			t.Fatal(err)
		}
		c.mustOpen()
		c.close()
		if state, err = quorumstate.Decode(c.read("quorum-state")); err != nil || state.Version != 1 {
			t.Errorf("quorum-state %+v, %v", state, err)
		}
	})
}

// Directories of Kafka open, and again from the snapshot that is then written.
func TestDirectoriesOfKafka(t *testing.T) {
	for name, want := range map[string]struct {
		topics int
		end    int64
	}{"kafka-4.4": {57, 716}, "kafka-3.3": {5, 57}, "kraft-1": {1, 31}} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, t.TempDir())
			if err := os.CopyFS(metalog.Dir(c.o.Dir), os.DirFS("testdata/"+name)); err != nil {
				t.Fatal(err)
			}
			var err error
			if c.o.DirectoryID, err = wire.ParseUUID("Q6B5HQGvRGKkV1JtidQdeg"); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				c.mustOpen()
				im, _ := c.b.Publish()
				if im.TopicCount() != want.topics || c.log.End() != want.end || len(c.notices) > 0 {
					t.Errorf("%d topics, end %d, %q", im.TopicCount(), c.log.End(), c.notices)
				}
				if err := c.log.Snapshot(im); err != nil {
					t.Fatal(err)
				}
				c.close()
				want.end++
			}
		})
	}
}

func TestSnapshotDue(t *testing.T) {
	c := newCluster(t, t.TempDir())
	c.o.SnapshotBytes = 1000
	c.mustOpen()
	for n := 0; !c.log.SnapshotDue(); n++ {
		if n > 20 {
			t.Fatal("no snapshot is due after 20 records")
		}
		c.mustConfig(fmt.Sprint(n))
	}
	c.log.SnapshotTaken()
	if c.log.SnapshotDue() {
		t.Error("a snapshot is due after one was taken")
	}
	c.close()
	c.o.SnapshotMs = -1 // always too long ago
	c.mustOpen()
	defer c.close()
	c.log.SnapshotTaken()
	if c.log.SnapshotDue() {
		t.Error("a snapshot is due without new records")
	}
	c.mustConfig("a")
	if !c.log.SnapshotDue() {
		t.Error("no snapshot is due with a new record")
	}
}

func TestPrepare(t *testing.T) {
	root := t.TempDir()
	var dirs []string
	for _, name := range []string{"a", "b"} {
		dirs = append(dirs, filepath.Join(root, name))
		if err := os.Mkdir(dirs[len(dirs)-1], 0o755); err != nil {
			t.Fatal(err)
		}
	}
	prepare := func(cluster string, node int32) (metalog.Identity, error) {
		return metalog.Prepare(disk.OS, dirs, cluster, node)
	}
	first, err := prepare("", 1)
	if err != nil || !first.New || len(first.ClusterID) != 22 || first.DirectoryIDs[0] == first.DirectoryIDs[1] || first.DirectoryIDs[0].IsZero() {
		t.Fatalf("%+v, %v", first, err)
	}
	first.New = false
	if again, err := prepare("", 1); err != nil || fmt.Sprint(again) != fmt.Sprint(first) {
		t.Errorf("again: %+v, %v, want %+v", again, err, first)
	}
	refused := func(what string, cluster string, node int32) {
		t.Helper()
		if _, err := prepare(cluster, node); !errors.Is(err, metalog.ErrIdentity) || !strings.Contains(err.Error(), root) {
			t.Errorf("%s: %v", what, err)
		}
	}
	refused("another cluster", "elsewhere", 1)
	refused("another node", "", 2)
	props := func(dir int, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dirs[dir], "meta.properties"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	mine := "version=1\nnode.id=1\ncluster.id=" + first.ClusterID + "\n"
	props(1, mine+"directory.id="+first.DirectoryIDs[0].String()+"\n")
	refused("a directory id twice", "", 1)
	props(1, mine+"directory.id=AAAAAAAAAAAAAAAAAAAAAQ\n")
	refused("a reserved directory id", "", 1)
	props(1, "version=1\nnode.id=1\ncluster.id=elsewhere\n")
	refused("directories of two clusters", "", 1)
	props(1, mine)
	second, err := prepare(first.ClusterID, 1)
	if err != nil || second.DirectoryIDs[1].IsZero() || second.DirectoryIDs[0] != first.DirectoryIDs[0] {
		t.Errorf("without directory.id: %+v, %v", second, err)
	}
	if err := os.Remove(filepath.Join(dirs[1], "meta.properties")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{".lock", "meta.properties.tmp", "recovery-point-offset-checkpoint"} {
		if err := os.WriteFile(filepath.Join(dirs[1], name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if third, err := prepare("", 1); err != nil || third.ClusterID != first.ClusterID {
		t.Errorf("with a new directory: %+v, %v", third, err)
	}
	if err := os.Remove(filepath.Join(dirs[1], "meta.properties")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dirs[1], "holiday.jpg"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	refused("files of somebody else", "", 1)
}

// An FS whose operations that change something fail from some point on, the one
// at that point after half of a write.
type crashFS struct {
	disk.FS
	left int
}

var errCrash = errors.New("crash")

func (f *crashFS) step() error {
	if f.left--; f.left < 0 {
		return errCrash
	}
	return nil
}

func (f *crashFS) OpenFile(name string, flag int, perm fs.FileMode) (disk.File, error) {
	if flag&os.O_CREATE != 0 {
		if err := f.step(); err != nil {
			return nil, err
		}
	}
	file, err := f.FS.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return crashFile{file, f}, nil
}

func (f *crashFS) Mkdir(name string, perm fs.FileMode) error {
	if err := f.step(); err != nil {
		return err
	}
	return f.FS.Mkdir(name, perm)
}

func (f *crashFS) Rename(a, b string) error {
	if err := f.step(); err != nil {
		return err
	}
	return f.FS.Rename(a, b)
}

func (f *crashFS) Remove(name string) error {
	if err := f.step(); err != nil {
		return err
	}
	return f.FS.Remove(name)
}

func (f *crashFS) SyncDir(name string) error {
	if err := f.step(); err != nil {
		return err
	}
	return f.FS.SyncDir(name)
}

type crashFile struct {
	disk.File
	fs *crashFS
}

func (f crashFile) WriteAt(p []byte, off int64) (int, error) {
	if err := f.fs.step(); err != nil {
		if f.fs.left == -1 {
			_, _ = f.File.WriteAt(p[:len(p)/2], off)
		}
		return 0, err
	}
	return f.File.WriteAt(p, off)
}

func (f crashFile) Truncate(size int64) error {
	if err := f.fs.step(); err != nil {
		return err
	}
	return f.File.Truncate(size)
}

func (f crashFile) Sync() error {
	if err := f.fs.step(); err != nil {
		return err
	}
	return f.File.Sync()
}

// Wherever the process is killed, and wherever the power is lost, the log opens
// again and has every record that was acknowledged, and no part of one that was
// not.
func TestKilledAnywhere(t *testing.T) {
	t.Run("killed", func(t *testing.T) {
		killAnywhere(t, func() (string, disk.FS, func()) { return t.TempDir(), disk.NoSync(disk.OS), func() {} })
	})
	t.Run("power lost", func(t *testing.T) {
		killAnywhere(t, func() (string, disk.FS, func()) {
			power := newPowerFS("/data")
			return "/data", power, power.cut
		})
	})
}

// killAnywhere ends the life of a log at each operation of the file system that
// place makes, with the directory that it names, and then calls end.
func killAnywhere(t *testing.T, place func() (dir string, fsys disk.FS, end func())) {
	t.Helper()
	for n := 0; ; n++ {
		dir, fsys, end := place()
		c := newCluster(t, dir)
		c.o.SegmentBytes, c.o.RetentionBytes = 700, 1500
		c.o.FS = &crashFS{fsys, n}
		acknowledged, err := c.live()
		if err == nil {
			if n < 100 {
				t.Fatalf("a life has only %d operations", n)
			}
			t.Logf("ended at each of %d operations", n)
			return
		}
		if !errors.Is(err, errCrash) {
			t.Fatalf("ended at operation %d: %v", n, err)
		}
		if c.log != nil {
			if err := c.log.Close(); err == nil {
				t.Fatalf("ended at operation %d: closed as if nothing had happened", n)
			}
		}
		end()
		c2 := newCluster(t, dir)
		c2.o = c.o
		c2.o.FS = fsys
		if err := c2.open(); err != nil {
			t.Fatalf("ended at operation %d: %v", n, err)
		}
		got := c2.configs()
		if len(got) == len(acknowledged)+1 { // written, but not acknowledged
			got = got[:len(acknowledged)]
		}
		if !slices.Equal(got, acknowledged) {
			t.Fatalf("ended at operation %d: %q, acknowledged were %q", n, got, acknowledged)
		}
		c2.mustConfig("z")
		c2.close()
		end()
		c2.mustOpen()
		if got := c2.configs(); got[len(got)-1] != "z" {
			t.Fatalf("ended at operation %d, opened, appended: %q", n, got)
		}
		c2.close()
	}
}

// live opens the log, appends, writes snapshots, and closes it.
func (c *cluster) live() (acknowledged []string, err error) {
	if err := c.open(); err != nil {
		return nil, err
	}
	for i := range 24 {
		name := fmt.Sprintf("c%03d", i)
		if err := c.config(name); err != nil {
			return acknowledged, err
		}
		acknowledged = append(acknowledged, name)
		if i%8 == 5 {
			im, _ := c.b.Publish()
			if err := c.log.Snapshot(im); err != nil {
				return acknowledged, err
			}
		}
	}
	return acknowledged, c.log.Close()
}

// A full disk refuses an append and loses nothing; when there is room again the
// next one works.
func TestFullDisk(t *testing.T) {
	c := newCluster(t, t.TempDir())
	full := &fullFS{FS: disk.OS}
	c.o.FS = full
	c.mustOpen()
	c.mustConfig("a")
	full.full = true
	if err := c.config("b"); !errors.Is(err, errFull) {
		t.Fatalf("append on a full disk: %v", err)
	}
	full.full = false
	c.mustConfig("c")
	c.close()
	c.mustOpen()
	defer c.close()
	if got := c.configs(); !slices.Equal(got, []string{"a", "c"}) || len(c.notices) > 0 {
		t.Errorf("%q, %q", got, c.notices)
	}
}

var errFull = errors.New("disk full")

type fullFS struct {
	disk.FS
	full bool
}

func (f *fullFS) OpenFile(name string, flag int, perm fs.FileMode) (disk.File, error) {
	file, err := f.FS.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return fullFile{file, f}, nil
}

type fullFile struct {
	disk.File
	fs *fullFS
}

func (f fullFile) WriteAt(p []byte, off int64) (int, error) {
	if f.fs.full {
		n, err := f.File.WriteAt(p[:10], off)
		return n, errors.Join(err, errFull)
	}
	return f.File.WriteAt(p, off)
}
