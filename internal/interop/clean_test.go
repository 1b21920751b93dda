//go:build interop

package interop

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"kf/internal/format/batch"
	"kf/internal/format/codec"
	"kf/internal/format/control"
	"kf/internal/format/txnindex"
	"kf/internal/storage"
	"kf/internal/storage/disk"
)

// A writer appends random batches to a compacted log: keys that come again and
// again, tombstones, transactions that end in either way, all codecs.
type writer struct {
	r         *rand.Rand
	id        codec.ID // of all batches, or any
	any       bool
	plain     bool // no transactions
	now       int64
	producers map[int64]*sending
}

type sending struct {
	sequence int32
	epoch    int16
	open     bool // a transaction
	txn      bool
}

func (w *writer) batch() (p []byte, origin storage.Origin) {
	id := w.id
	if w.any {
		id = codec.ID(w.r.IntN(5))
	}
	h := batch.Header{
		PartitionLeaderEpoch: -1, Magic: 2, Attributes: int16(id), BaseTimestamp: w.now, MaxTimestamp: w.now,
		ProducerID: -1, ProducerEpoch: -1, BaseSequence: -1,
	}
	if w.r.IntN(2) == 0 {
		producer := int64(w.r.IntN(6))
		s := w.producers[producer]
		if s == nil {
			s = &sending{txn: producer < 4 && !w.plain}
			w.producers[producer] = s
		}
		h.ProducerID, h.ProducerEpoch = producer, s.epoch
		if s.open && w.r.IntN(3) == 0 {
			s.open = false
			return w.marker(h), storage.FromCoordinator
		}
		if s.txn {
			s.open = true
			h.Attributes |= batch.TransactionalBit
		}
		h.BaseSequence = s.sequence
	}
	n := 1 + w.r.IntN(8)
	records := make([]batch.Record, n)
	for i := range records {
		rec := batch.Record{Offset: int64(i), Timestamp: w.now + int64(w.r.IntN(50)), Key: fmt.Appendf(nil, "key %d", w.r.IntN(30+w.r.IntN(400)))}
		if w.r.IntN(6) > 0 {
			rec.Value = fmt.Appendf(nil, "%d %s", w.r.Uint32(), strings.Repeat("value ", w.r.IntN(30)))
		}
		if w.r.IntN(10) == 0 {
			rec.SetHeaders([]batch.RecordHeader{{Key: []byte("h"), Value: []byte("x")}, {Key: []byte("null")}})
		}
		h.MaxTimestamp = max(h.MaxTimestamp, rec.Timestamp)
		records[i] = rec
	}
	h.BaseTimestamp = records[0].Timestamp
	h.LastOffsetDelta = int32(n) - 1
	if s := w.producers[h.ProducerID]; s != nil {
		s.sequence += int32(n)
	}
	p, err := batch.Append(nil, h, slices.Values(pointers(records)))
	if err != nil {
		panic(err)
	}
	return p, storage.FromClient
}

func (w *writer) marker(h batch.Header) []byte {
	h.Attributes = batch.TransactionalBit | batch.ControlBit
	kind := control.Commit
	if w.r.IntN(2) == 0 {
		kind = control.Abort
	}
	value, err := control.AppendValue(nil, &control.EndTxnMarker{})
	if err != nil {
		panic(err)
	}
	p, err := batch.Append(nil, h, slices.Values([]*batch.Record{{Timestamp: w.now, Key: control.AppendKey(nil, kind), Value: value}}))
	if err != nil {
		panic(err)
	}
	return p
}

func cleanConfig() storage.Config {
	return storage.Config{
		SegmentBytes: 6000, SegmentMs: math.MaxInt64, SegmentIndexBytes: 10 << 20, IndexIntervalBytes: 500, FlushMessages: math.MaxInt64, FlushMs: math.MaxInt64,
		RetentionBytes: -1, RetentionMs: -1, FileDeleteDelayMs: 60_000, Compact: true, MaxCompactionLagMs: math.MaxInt64, DeleteRetentionMs: 1000,
		MaxMessageBytes: 5000, BeforeMaxMs: math.MaxInt64, AfterMaxMs: math.MaxInt64, ProducerExpirationMs: 86400_000,
	}
}

func openLog(t *testing.T, dir string) *storage.Log {
	t.Helper()
	l, err := storage.OpenLog(context.Background(), storage.LogOptions{FS: disk.OS, Dir: dir, Config: cleanConfig(), Clean: true})
	if err != nil {
		t.Fatal(err)
	}
	l.SetHighWatermark(math.MaxInt64)
	return l
}

// Two directories with the same log, one cleaned by Kafka, one by kf, in turns,
// stay the same over several rounds: the same batches, header for header, the same
// aborted transactions, the same segments.
func TestClean(t *testing.T) {
	k := newKafka(t)
	java := k.java(filepath.Join(t.TempDir(), "kafka.log"), "Clean")
	java.Stderr = os.Stderr
	in, err := java.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := java.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := java.Start(); err != nil {
		t.Fatal(err)
	}
	answers := bufio.NewReader(out)
	kafka := func(dir string, firstDirty, now, mapBytes int64) int64 {
		t.Helper()
		fmt.Fprintf(in, "%s %d %d %d cleanup.policy=compact;internal.segment.bytes=6000;index.interval.bytes=500;delete.retention.ms=1000;max.message.bytes=5000\n", dir, firstDirty, now, mapBytes)
		line, err := answers.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		n, err := strconv.ParseInt(strings.TrimSpace(line), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	seed := seed(t)
	r := rand.New(rand.NewPCG(uint64(seed), 0))
	for i := range 12 {
		now := time.Now().UnixMilli()
		w := &writer{r: r, now: now, any: i%2 == 1, producers: map[int64]*sending{}}
		mapBytes := int64(1 << 20)
		if i%4 == 2 {
			// A round ends inside a segment. Kafka begins the next one behind the markers
			// in front, but takes up the aborted transactions that they end, and then
			// takes what these producers write next for aborted.
			mapBytes, w.plain = 24*100, true
		}
		dirs := []string{filepath.Join(t.TempDir(), "t-0"), filepath.Join(t.TempDir(), "t-0")}
		for _, dir := range dirs {
			if err := os.Mkdir(dir, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		dirty, saved := int64(0), int64(0)
		for round := range 6 {
			ours, theirs := dirs[round%2], dirs[1-round%2]
			a, b := openLog(t, ours), openLog(t, theirs)
			if round == 4 { // producers that are not active any more
				w.now -= 2 * 86400_000
			}
			for range 20 + r.IntN(100) {
				p, origin := w.batch()
				for _, l := range []*storage.Log{a, b} {
					got, err := l.Append(slices.Clone(p), storage.AppendOptions{Origin: origin})
					if err != nil {
						t.Fatal(err)
					}
					l.SetHighWatermark(got.LastOffset + 1)
				}
			}
			// Kafka loads the log, and forgets producers then; so kf does.
			for _, l := range []*storage.Log{a, b} {
				if err := l.Close(); err != nil {
					t.Fatal(err)
				}
			}
			a = openLog(t, ours)
			// Later rounds come after the delete horizon of the earlier ones.
			at := now + int64(round)*700
			theirDirty := kafka(theirs, dirty, at, mapBytes)
			result, err := a.Clean(context.Background(), storage.CleanOptions{FirstDirty: dirty, Now: at, MapBytes: mapBytes, MapLoad: 0.9, BufferBytes: 65536})
			if err != nil {
				t.Fatal(err)
			}
			if err := a.Close(); err != nil {
				t.Fatal(err)
			}
			if result.FirstDirty != theirDirty {
				t.Errorf("log %d, round %d: first dirty offset %d, Kafka's %d", i, round, result.FirstDirty, theirDirty)
			}
			if difference := compareLogs(t, ours, theirs, !w.any); difference != "" {
				t.Fatalf("log %d, round %d: %s", i, round, difference)
			}
			dirty = theirDirty
			saved += result.Records - result.RecordsKept
		}
		t.Logf("log %d: %d records went", i, saved)
		if saved == 0 {
			t.Errorf("log %d: nothing was cleaned", i)
		}
	}
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	if err := java.Wait(); err != nil {
		t.Fatal(err)
	}
}

// compareLogs says in what two partition directories differ. Which segments
// become one depends on their sizes, and these on the compressor, if there is
// one: exact is false then.
func compareLogs(t *testing.T, ours, theirs string, exact bool) string {
	t.Helper()
	names := func(dir, pattern string) []string {
		found, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for i, name := range found {
			found[i] = filepath.Base(name)
		}
		return found
	}
	if !exact {
		x, y := describeLog(t, ours, names(ours, "*.log")), describeLog(t, theirs, names(theirs, "*.log"))
		return compareBatches("log", x, y)
	}
	for _, pattern := range []string{"*.log", "*.txnindex"} {
		if a, b := names(ours, pattern), names(theirs, pattern); !slices.Equal(a, b) {
			return fmt.Sprintf("files %v, Kafka's %v", a, b)
		}
	}
	for _, name := range names(ours, "*.log") {
		// Those at other offsets are of earlier stops, and go when a log is loaded.
		snapshot := strings.TrimSuffix(name, ".log") + ".snapshot"
		if a, b := names(ours, snapshot), names(theirs, snapshot); !slices.Equal(a, b) {
			return fmt.Sprintf("files %v, Kafka's %v", a, b)
		}
		a, b := readFile(t, filepath.Join(ours, name)), readFile(t, filepath.Join(theirs, name))
		if bytes.Equal(a, b) {
			continue
		}
		if difference := compareBatches(name, describeAll(t, a), describeAll(t, b)); difference != "" {
			return difference
		}
	}
	for _, name := range names(ours, "*.txnindex") {
		a, b := aborted(t, filepath.Join(ours, name)), aborted(t, filepath.Join(theirs, name))
		if !slices.Equal(a, b) {
			return fmt.Sprintf("%s: %v, Kafka's %v", name, a, b)
		}
	}
	return ""
}

func compareBatches(where string, ours, theirs []string) string {
	for i := range max(len(ours), len(theirs)) {
		switch {
		case i >= len(ours):
			return fmt.Sprintf("%s: missing %s", where, theirs[i])
		case i >= len(theirs):
			return fmt.Sprintf("%s: too much %s", where, ours[i])
		case ours[i] != theirs[i]:
			return fmt.Sprintf("%s: batch %d is\n%s\nKafka's\n%s", where, i, ours[i], theirs[i])
		}
	}
	return ""
}

// describeLog describes the batches of all segments.
func describeLog(t *testing.T, dir string, names []string) []string {
	t.Helper()
	var all []string
	for _, name := range names {
		all = append(all, describeAll(t, readFile(t, filepath.Join(dir, name)))...)
	}
	return all
}

func readFile(t *testing.T, name string) []byte {
	t.Helper()
	p, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// describeAll describes the batches of a segment.
func describeAll(t *testing.T, p []byte) []string {
	t.Helper()
	var all []string
	for len(p) > 0 {
		size := batch.DecodePrefix(p).Size()
		text, err := describe(p[:size])
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, text)
		p = p[size:]
	}
	return all
}

func aborted(t *testing.T, name string) []txnindex.Entry {
	t.Helper()
	var all []txnindex.Entry
	for e, err := range txnindex.Entries(bytes.NewReader(readFile(t, name))) {
		if err != nil && !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
		all = append(all, e)
	}
	return all
}
