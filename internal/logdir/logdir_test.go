package logdir_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"kf/internal/format/checkpoint"
	"kf/internal/format/metaprops"
	"kf/internal/format/prodsnapshot"
	"kf/internal/kftest"
	"kf/internal/logdir"
)

func TestParseFileName(t *testing.T) {
	const segment = "27c6803dc7cb42dd9baacd494ffacc81" // J8aAPcfLQt2bqs1JT_rMgQ
	for _, tt := range []struct {
		name, kind, state, number string // number: base offset, "/" epoch, "_" segment id
	}{
		{"00000000000000000100.log", "log", "live", "100"},
		{"00000000000000000100.index", "index", "live", "100"},
		{"00000000000000000100.timeindex", "timeindex", "live", "100"},
		{"00000000000000000100.txnindex", "txnindex", "live", "100"},
		{"00000000000000000100.snapshot", "producer-snapshot", "live", "100"},
		{"09223372036854775807.log", "log", "live", "9223372036854775807"},
		{"00000000000000000100.log.deleted", "log", "deleted", "100"},
		{"00000000000000000100.index.cleaned", "index", "cleaned", "100"},
		{"00000000000000000100.timeindex.swap", "timeindex", "swap", "100"},
		{"00000000000000000100.txnindex.deleted", "txnindex", "deleted", "100"},
		{"00000000000000000100.snapshot.deleted", "producer-snapshot", "deleted", "100"},
		{"00000000000000000100.log.swap.deleted", "log", "deleted", "100"},
		{"leader-epoch-checkpoint.kept", "leader-epoch-checkpoint", "kept", ""},
		{logdir.KeptName(100, 4711), "", "kept", ""},
		{"5.log", "log", "live", "5"},
		{"+3.log", "log", "live", "3"},
		{"-5.log", "log", "live", "-5"},
		{"7.8.log", "log", "live", "7"},
		{"99999999999999999999.log", "log", "live", ""},
		{"foo.log", "log", "live", ""},
		{".log", "log", "live", ""},
		{"foo.snapshot", "producer-snapshot", "live", ""},
		{"00000000000000000005-0000000004.checkpoint", "metadata-snapshot", "live", "5/4"},
		{"00000000000000000005-0000000004.checkpoint.deleted", "metadata-snapshot", "deleted", "5/4"},
		{"00000000000000000005-0000000004-8312786138492.checkpoint.part", "metadata-snapshot", "part", "5/4"},
		{"00000000000000000005-0000000004-x.checkpoint", "metadata-snapshot", "live", "5/4"},
		{"00000000000000000005x0000000004.checkpoint", "metadata-snapshot", "live", "5/4"},
		{"00000000000000000005-9999999999.checkpoint", "metadata-snapshot", "live", ""},
		{"0000000000000000000x-0000000004.checkpoint", "metadata-snapshot", "live", ""},
		{"5-4.checkpoint", "metadata-snapshot", "live", ""},
		{"foo.checkpoint", "metadata-snapshot", "live", ""},
		{"bootstrap.checkpoint", "metadata-snapshot", "live", ""},
		{"bootstrap.checkpoint.tmp", "metadata-snapshot", "tmp", ""},
		{"recovery-point-offset-checkpoint", "offset-checkpoint", "live", ""},
		{"log-start-offset-checkpoint", "offset-checkpoint", "live", ""},
		{"replication-offset-checkpoint", "offset-checkpoint", "live", ""},
		{"cleaner-offset-checkpoint.tmp", "offset-checkpoint", "tmp", ""},
		{"leader-epoch-checkpoint", "leader-epoch-checkpoint", "live", ""},
		{"leader-epoch-checkpoint.tmp", "leader-epoch-checkpoint", "tmp", ""},
		{"partition.metadata", "partition-metadata", "live", ""},
		{"partition.metadata.tmp", "partition-metadata", "tmp", ""},
		{"meta.properties", "meta-properties", "live", ""},
		{"meta.properties.tmp", "meta-properties", "tmp", ""},
		{"quorum-state", "quorum-state", "live", ""},
		{"quorum-state.tmp", "quorum-state", "tmp", ""},
		{".kafka_cleanshutdown", "clean-shutdown", "live", ""},
		{".lock", "lock", "live", ""},
		{"42_J8aAPcfLQt2bqs1JT_rMgQ.index", "index", "live", "42_" + segment},
		{"42_J8aAPcfLQt2bqs1JT_rMgQ.timeindex.tmp", "timeindex", "tmp", "42_" + segment},
		{"42_J8aAPcfLQt2bqs1JT_rMgQ.txnindex.deleted", "txnindex", "deleted", "42_" + segment},
		{"42_x.index", "index", "live", ""},
		{"server.log", "log", "live", ""},
		{"noext", "", "live", ""},
		{"", "", "live", ""},
		{".", "", "live", ""},
		{"00000000000000000100", "", "live", ""},
		{"00000000000000000100.Log", "", "live", ""},
		{"x.deleted", "", "deleted", ""},
		{"server.properties", "", "live", ""},
	} {
		f := logdir.ParseFileName(tt.name)
		number := ""
		if f.HasBase {
			number = fmt.Sprint(f.BaseOffset)
		}
		if f.HasBase && f.Kind == logdir.KindMetadataSnapshot {
			number += fmt.Sprintf("/%d", f.Epoch)
		}
		if !f.SegmentID.IsZero() {
			number += fmt.Sprintf("_%x", f.SegmentID[:])
		}
		if f.Name != tt.name || string(f.Kind) != tt.kind || string(f.State) != tt.state || number != tt.number {
			t.Errorf("%s: got %+v; want %s, %s, %q", tt.name, f, tt.kind, tt.state, tt.number)
		}
	}
}

func TestFileNamesRoundTrip(t *testing.T) {
	for _, kind := range []logdir.Kind{logdir.KindLog, logdir.KindIndex, logdir.KindTimeIndex, logdir.KindTxnIndex, logdir.KindProducerSnapshot} {
		for _, base := range []int64{0, 100, 1<<63 - 1} {
			name := logdir.FileName(kind, base)
			if f := logdir.ParseFileName(name); f.Kind != kind || f.BaseOffset != base || len(strings.Split(name, ".")[0]) != 20 {
				t.Errorf("%s: got %+v", name, f)
			}
		}
	}
	name := logdir.MetadataSnapshotName(1234, 7)
	if f := logdir.ParseFileName(name); name != "00000000000000001234-0000000007.checkpoint" || f.BaseOffset != 1234 || f.Epoch != 7 {
		t.Errorf("%s: got %+v", name, f)
	}
}

func TestKinds(t *testing.T) {
	for _, kind := range logdir.Kinds() {
		if got, err := logdir.ParseKind(string(kind)); got != kind || err != nil {
			t.Errorf("%s: got %s, %v", kind, got, err)
		}
	}
	for _, s := range []string{"", "Log", "lock", "logs"} {
		if got, err := logdir.ParseKind(s); err == nil {
			t.Errorf("%q: got %s", s, got)
		}
	}
	if n := len(logdir.Kinds()); n != 12 {
		t.Errorf("%d kinds, want 12", n)
	}
}

const id = "4caebecf85af414bab5168a671174fe2"

func TestParsePartitionDir(t *testing.T) {
	for name, want := range map[string]logdir.PartitionDir{
		"orders-0":                     {"orders", 0, logdir.RoleCurrent, ""},
		"my.topic-with.dots-12":        {"my.topic-with.dots", 12, logdir.RoleCurrent, ""},
		"a-b-c-2147483647":             {"a-b-c", 2147483647, logdir.RoleCurrent, ""},
		"__cluster_metadata-0":         {"__cluster_metadata", 0, logdir.RoleCurrent, ""},
		"t-+3":                         {"t", 3, logdir.RoleCurrent, ""},
		"t--1":                         {"t-", 1, logdir.RoleCurrent, ""},
		"t-007":                        {"t", 7, logdir.RoleCurrent, ""},
		"x-delete-0":                   {"x-delete", 0, logdir.RoleCurrent, ""},
		"x-stray-5":                    {"x-stray", 5, logdir.RoleCurrent, ""},
		"t-0." + id + "-future":        {"t", 0, logdir.RoleFuture, id},
		"t-0." + id + "-delete":        {"t", 0, logdir.RoleDelete, id},
		"t-0." + id + "-stray":         {"t", 0, logdir.RoleStray, id},
		"a.b-c.d-7." + id + "-delete":  {"a.b-c.d", 7, logdir.RoleDelete, id},
		"x-delete-0." + id + "-delete": {"x-delete", 0, logdir.RoleDelete, id},
		"t-0.anything-delete":          {"t", 0, logdir.RoleDelete, "anything"},
		"t-0.a-stray-delete":           {"t", 0, logdir.RoleDelete, "a-stray"},
	} {
		got, err := logdir.ParsePartitionDir(name)
		if err != nil || got != want {
			t.Errorf("%s: got %+v, %v; want %+v", name, got, err, want)
		}
		if strings.ContainsAny(name, "+") || strings.Contains(name, "007") {
			continue // not as Kafka writes it
		}
		if got.Name() != name {
			t.Errorf("%s: written as %s", name, got.Name())
		}
	}
	for _, name := range []string{"", "orders", "-0", "orders-", "x-y", "lost+found", ".hidden", "backup", "t-2147483648", "t-0x1", "t- 1",
		"x-delete", "t-0-delete", "t-0.-delete", "t0." + id + "-delete", "t-0 ." + id + "-delete", "-0." + id + "-stray", "t-x." + id + "-future",
		"remote-log-index-cache"} {
		if got, err := logdir.ParsePartitionDir(name); !errors.Is(err, logdir.ErrPartitionDir) {
			t.Errorf("%q: got %+v, %v; want ErrPartitionDir", name, got, err)
		}
	}
}

func TestLongTopicsAreCut(t *testing.T) {
	topic := strings.Repeat("t", 249)
	for _, role := range []logdir.Role{logdir.RoleDelete, logdir.RoleStray} {
		p := logdir.PartitionDir{topic, 12, role, id}
		name := p.Name()
		back, err := logdir.ParsePartitionDir(name)
		if len(name) != 255 || err != nil || !back.Cut() || !strings.HasPrefix(topic, back.Topic) || len(back.Topic) >= len(topic) {
			t.Errorf("%s: %d bytes, read as %+v, %v", name, len(name), back, err)
		}
		short := logdir.PartitionDir{"t", 12, role, id}
		if short.Cut() {
			t.Errorf("%s counts as cut", short.Name())
		}
	}
	if p := (logdir.PartitionDir{topic, 12, logdir.RoleFuture, id}); p.Cut() || len(p.Name()) <= 255 {
		t.Errorf("a future directory is cut: %s", p.Name())
	}
}

func TestPartitionOf(t *testing.T) {
	for path, want := range map[string]string{
		"/tmp/a.b/my.topic-with.dots-12/00000000000000000100.log": "my.topic-with.dots 12 current",
		"/data/t-0." + id + "-delete/leader-epoch-checkpoint":     "t 0 delete",
		"t-3/renamed":                           "t 3 current",
		"./x/../t-3/./00000000000000000100.log": "t 3 current",
		"/kafka/__cluster_metadata-0/00000000000000000000-0000000000.checkpoint": "__cluster_metadata 0 current",
		"/kafka/data-0/meta.properties":                                          "",
		"/kafka/data-0/recovery-point-offset-checkpoint":                         "",
		"/kafka/data-0/.kafka_cleanshutdown":                                     "",
		"/kafka/data-0/bootstrap.checkpoint":                                     "",
		"/kafka/logs/00000000000000000100.log":                                   "",
		"/00000000000000000100.log":                                              "",
	} {
		got := ""
		if p, ok := logdir.PartitionOf(path); ok {
			got = fmt.Sprint(p.Topic, " ", p.Partition, " ", p.Role)
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", path, got, want)
		}
	}
	dir := filepath.Join(t.TempDir(), "orders-7")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	if p, ok := logdir.PartitionOf("00000000000000000000.log"); !ok || p.Topic != "orders" || p.Partition != 7 {
		t.Errorf("in the working directory: got %+v, %v", p, ok)
	}
}

func TestIsInternal(t *testing.T) {
	for topic, want := range map[string]bool{
		"__consumer_offsets": true, "__transaction_state": true, "__share_group_state": true,
		"__cluster_metadata": true, "__remote_log_metadata": true,
		"orders": false, "__mine": false, "": false,
	} {
		if got := logdir.IsInternal(topic); got != want {
			t.Errorf("%s: got %v", topic, got)
		}
	}
}

// vectorKinds are what the vectors of a format are to be recognised as when they
// have no name, "" for nothing.
var vectorKinds = map[string][]logdir.Kind{
	"record-batch":            {logdir.KindLog, logdir.KindMetadataSnapshot},
	"legacy-message":          {logdir.KindLog},
	"offset-index":            {logdir.KindIndex},
	"time-index":              {logdir.KindTimeIndex},
	"txn-index":               {logdir.KindTxnIndex},
	"producer-snapshot":       {logdir.KindProducerSnapshot},
	"offset-checkpoint":       {logdir.KindOffsetCheckpoint},
	"leader-epoch-checkpoint": {logdir.KindLeaderEpochCheckpoint},
	"partition-metadata":      {logdir.KindPartitionMetadata},
	"meta-properties":         {logdir.KindMetaProperties},
	"quorum-state":            {logdir.KindQuorumState},
	"clean-shutdown":          {logdir.KindCleanShutdown},
}

func TestRecognizeVectorsWithoutNames(t *testing.T) {
	for format, kinds := range vectorKinds {
		for _, v := range kftest.Vectors(t, format) {
			r := logdir.Recognize("renamed", v.Bytes, int64(len(v.Bytes)))
			guess := strings.HasSuffix(format, "-index")
			if len(v.Bytes) == 0 {
				if r.Kind() != "" || r.Basis != logdir.BasisNone {
					t.Errorf("%s, %s: 0 bytes recognised as %+v", format, v.Name, r)
				}
				continue
			}
			if !slices.Contains(kinds, r.Kind()) || r.ByName() || r.Disagrees() || guess != (r.Basis == logdir.BasisGuess) {
				t.Errorf("%s, %s: got %+v, want %v", format, v.Name, r, kinds)
			}
			// The right name changes nothing, a wrong one is noticed.
			for _, kind := range logdir.Kinds() {
				name := map[logdir.Kind]string{
					logdir.KindLog: "0.log", logdir.KindMetadataSnapshot: "x.checkpoint", logdir.KindIndex: "0.index",
					logdir.KindProducerSnapshot: "0.snapshot", logdir.KindOffsetCheckpoint: "a-offset-checkpoint",
					logdir.KindLeaderEpochCheckpoint: "leader-epoch-checkpoint", logdir.KindMetaProperties: "meta.properties",
					logdir.KindPartitionMetadata: "partition.metadata", logdir.KindQuorumState: "quorum-state",
					logdir.KindCleanShutdown: ".kafka_cleanshutdown", logdir.KindTimeIndex: "0.timeindex", logdir.KindTxnIndex: "0.txnindex",
				}[kind]
				r := logdir.Recognize("/x/"+name, v.Bytes, int64(len(v.Bytes)))
				fits := slices.Contains(r.Content, kind)
				if r.Kind() != kind || !r.ByName() || r.Disagrees() == (fits || guess) {
					t.Errorf("%s, %s as %s: got %+v, disagrees %v", format, v.Name, name, r, r.Disagrees())
				}
			}
		}
	}
}

func TestRecognize(t *testing.T) {
	hex := func(s string) []byte { return kftest.Hex(t, s) }
	batch := kftest.Vectors(t, "record-batch")[0].Bytes
	header := hex(`00000000000000000000004700000000
		028a617dcd002000000000000001a2274238e3000001a2274238e3ffffffffffffffffffffffffffff000000012a0000
		0008000000031600000000000000000000000000`)
	flipped := bytes.Clone(batch)
	flipped[len(flipped)-1] ^= 1
	snapshot := prodsnapshot.Append(nil, []prodsnapshot.Entry{{ProducerID: 1}, {ProducerID: 2}})
	badSnapshot := bytes.Clone(snapshot)
	badSnapshot[5] ^= 1
	many := make([]checkpoint.Offset, 10_000)
	for i := range many {
		many[i] = checkpoint.Offset{Topic: "t", Partition: int32(i), Offset: 7}
	}
	long := checkpoint.AppendOffsets(nil, many)
	preallocated := append(hex("0000000200000154 0000000400000334"), make([]byte, 4096)...)
	for _, tt := range []struct {
		name, path string
		head       []byte
		size       int64 // 0: that of head
		content    []logdir.Kind
		basis      logdir.Basis
		disagrees  bool
	}{
		{"batch", "noext", batch, 0, []logdir.Kind{logdir.KindLog, logdir.KindMetadataSnapshot}, logdir.BasisChecksum, false},
		{"batch under a wrong name", "00000000000000000000.index", batch, 0, []logdir.Kind{logdir.KindLog, logdir.KindMetadataSnapshot}, logdir.BasisChecksum, true},
		{"snapshot header", "noext", header, 0, []logdir.Kind{logdir.KindMetadataSnapshot, logdir.KindLog}, logdir.BasisChecksum, false},
		{"snapshot header in a log", "0.log", header, 0, []logdir.Kind{logdir.KindMetadataSnapshot, logdir.KindLog}, logdir.BasisChecksum, false},
		{"damaged batch", "noext", flipped, 0, []logdir.Kind{logdir.KindLog, logdir.KindMetadataSnapshot}, logdir.BasisForm, false},
		{"torn batch", "noext", batch[:70], 0, []logdir.Kind{logdir.KindLog, logdir.KindMetadataSnapshot}, logdir.BasisForm, false},
		{"torn in the header", "noext", batch[:40], 0, nil, logdir.BasisNone, false},
		{"producer snapshot", "noext", snapshot, 0, []logdir.Kind{logdir.KindProducerSnapshot}, logdir.BasisChecksum, false},
		{"producer snapshot, head only", "noext", snapshot[:20], int64(len(snapshot)), []logdir.Kind{logdir.KindProducerSnapshot}, logdir.BasisForm, false},
		{"producer snapshot, checksum", "noext", badSnapshot, 0, []logdir.Kind{logdir.KindProducerSnapshot}, logdir.BasisForm, false},
		{"no entries", "noext", []byte("0\n0\n"), 0, []logdir.Kind{logdir.KindOffsetCheckpoint, logdir.KindLeaderEpochCheckpoint}, logdir.BasisForm, false},
		{"no entries, as a log", "0.log", []byte("0\n0\n"), 0, []logdir.Kind{logdir.KindOffsetCheckpoint, logdir.KindLeaderEpochCheckpoint}, logdir.BasisForm, true},
		{"epochs with CR LF", "noext", []byte("0\r\n1\r\n5 100\r\n"), 0, []logdir.Kind{logdir.KindLeaderEpochCheckpoint}, logdir.BasisForm, false},
		{"offsets under the name of epochs", "leader-epoch-checkpoint", []byte("0\n1\na 0 5\n"), 0, []logdir.Kind{logdir.KindOffsetCheckpoint}, logdir.BasisForm, true},
		{"offsets, head only", "noext", long[:logdir.HeadSize], int64(len(long)), []logdir.Kind{logdir.KindOffsetCheckpoint}, logdir.BasisForm, false},
		{"offsets, count wrong", "noext", []byte("0\n5\na 0 5\n"), 0, nil, logdir.BasisNone, false},
		{"preallocated index", "noext", preallocated, 10_485_760, []logdir.Kind{logdir.KindIndex}, logdir.BasisGuess, false},
		{"index under another name", "0.log", preallocated, 10_485_760, []logdir.Kind{logdir.KindIndex}, logdir.BasisGuess, false},
		{"index of one entry", "noext", preallocated[:8], 0, nil, logdir.BasisNone, false},
		{"index that falls", "noext", hex("00000006000000ba 0000000500000066"), 0, nil, logdir.BasisNone, false},
		{"index of an odd size", "noext", preallocated[:17], 0, nil, logdir.BasisNone, false},
		{"zeros", "noext", make([]byte, 4096), 0, nil, logdir.BasisNone, false},
		{"nothing", "noext", nil, 0, nil, logdir.BasisNone, false},
		{"empty log", "0.log", nil, 0, nil, logdir.BasisNone, false},
		{"other properties", "server.properties", []byte("broker.id=1\nlog.dirs=/x\n"), 0, nil, logdir.BasisNone, false},
		{"application log", "server.log", []byte("[2026-01-01 00:00:00] INFO started\n"), 0, nil, logdir.BasisNone, false},
		{"prose", "README", []byte("0 is a number, and so on, for ever\n"), 0, nil, logdir.BasisNone, false},
		{"other JSON", "x.json", []byte(`{"a":1}`), 0, nil, logdir.BasisNone, false},
		{"broken JSON", "x.json", []byte(`{"data_version":1,`), 0, nil, logdir.BasisNone, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			size := tt.size
			if size == 0 {
				size = int64(len(tt.head))
			}
			r := logdir.Recognize(tt.path, tt.head, size)
			if !slices.Equal(r.Content, tt.content) || r.Basis != tt.basis || r.Disagrees() != tt.disagrees {
				t.Errorf("got %v, %q, disagrees %v; want %v, %q, %v", r.Content, r.Basis, r.Disagrees(), tt.content, tt.basis, tt.disagrees)
			}
		})
	}
}

func FuzzRecognize(f *testing.F) {
	for format := range vectorKinds {
		for _, v := range kftest.Vectors(f, format) {
			f.Add("renamed", v.Bytes, int64(len(v.Bytes)))
		}
	}
	f.Add("00000000000000000005-0000000004.checkpoint.part", []byte{0, 1}, int64(1<<40))
	f.Fuzz(func(t *testing.T, path string, head []byte, size int64) {
		r := logdir.Recognize(path, head, size)
		if (len(r.Content) > 0) != (r.Basis != logdir.BasisNone) || r.Disagrees() && (!r.ByName() || r.Basis == logdir.BasisGuess) {
			t.Fatalf("%+v", r)
		}
		if kind := r.Kind(); kind != "" && kind != logdir.KindLock && !slices.Contains(logdir.Kinds(), kind) {
			t.Fatalf("unknown kind %q", kind)
		}
		if p, err := logdir.ParsePartitionDir(path); err == nil && !p.Cut() {
			if back, err := logdir.ParsePartitionDir(p.Name()); err != nil || back != p {
				t.Fatalf("%+v written as %q, read as %+v, %v", p, p.Name(), back, err)
			}
		}
	})
}

// tree makes files of the given sizes; names that end in / are directories.
func tree(t *testing.T, dir string, names map[string]int) {
	t.Helper()
	for name, size := range names {
		path := filepath.Join(dir, name)
		parent, isDir := filepath.Dir(path), strings.HasSuffix(name, "/")
		if isDir {
			parent = path
		}
		if err := os.MkdirAll(parent, 0o755); err != nil {
			t.Fatal(err)
		}
		if isDir {
			continue
		}
		if err := os.WriteFile(path, make([]byte, size), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestReadLogDir(t *testing.T) {
	dir := t.TempDir()
	tree(t, dir, map[string]int{
		"meta.properties": 5, ".lock": 0, "notes.txt": 1, "b-1/partition.metadata": 3, "a-0/": 0, "t-0." + id + "-delete/": 0,
		"lost+found/": 0, ".hidden/": 0, "remote-log-index-cache/": 0, "backup/00000000000000000000.log": 9,
	})
	for name, target := range map[string]string{"linked-5": "a-0", "gone": "nowhere"} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	got, err := logdir.ReadLogDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, f := range got.Files {
		size := fmt.Sprint(f.Size)
		if f.Name == "gone" {
			size = "link" // its size is the length of the target
		}
		fmt.Fprintf(&b, "file %s %q %s\n", f.Name, f.Kind, size)
	}
	for _, p := range got.Partitions {
		fmt.Fprintf(&b, "partition %s %d %s\n", p.Topic, p.Partition, p.Role)
		if filepath.Dir(p.Path) != dir {
			t.Errorf("path %s is not in %s", p.Path, dir)
		}
	}
	fmt.Fprintf(&b, "remote %s\n", filepath.Base(got.Remote))
	for _, path := range got.Others {
		fmt.Fprintf(&b, "other %s\n", filepath.Base(path))
	}
	kftest.Golden(t, "testdata/logdir.golden", b.String())

	if _, err := logdir.ReadLogDir(filepath.Join(dir, "nosuch")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v, want ErrNotExist", err)
	}
}

func TestReadPartition(t *testing.T) {
	dir := t.TempDir()
	tree(t, dir, map[string]int{
		"00000000000000000100.log": 175, "00000000000000000100.index": 8, "00000000000000000100.timeindex": 24,
		"00000000000000000106.log": 0, "00000000000000000106.snapshot": 10, "00000000000000000050.txnindex": 34,
		"00000000000000000000.log.deleted": 7, "00000000000000000000.index.deleted": 1, "foo.log": 3,
		"leader-epoch-checkpoint": 4, "sub/": 0,
	})
	files, err := logdir.ReadPartition(dir)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, f := range files {
		fmt.Fprintf(&b, "file %s %s %s %d\n", f.Name, f.Kind, f.State, f.Size)
	}
	size := func(e *logdir.Entry) string {
		if e == nil {
			return "-"
		}
		return fmt.Sprint(e.Size)
	}
	for _, s := range logdir.Segments(files) {
		fmt.Fprintf(&b, "segment %d log %s index %s timeindex %s txnindex %s\n", s.BaseOffset, size(s.Log), size(s.Index), size(s.TimeIndex), size(s.TxnIndex))
	}
	kftest.Golden(t, "testdata/partition.golden", b.String())

	empty, err := logdir.ReadPartition(filepath.Join(dir, "sub"))
	if len(empty) != 0 || err != nil || len(logdir.Segments(empty)) != 0 {
		t.Errorf("empty directory: got %v, %v", empty, err)
	}
}

// The files that name a key of meta.properties in a comment are not one.
func TestCommentsAreNoProperties(t *testing.T) {
	text := []byte("# " + metaprops.KeyNodeID + "=1\n# " + metaprops.KeyClusterID + "=x\n")
	if r := logdir.Recognize("x", text, int64(len(text))); r.Kind() != "" {
		t.Errorf("got %+v", r)
	}
}
