//go:build interop

package interop

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"kf/internal/format/batch"
	"kf/internal/format/codec"
	"kf/internal/format/control"
	"kf/internal/format/offsetindex"
	"kf/internal/format/prodsnapshot"
	"kf/internal/format/timeindex"
	"kf/internal/format/txnindex"
)

// A written is a segment in the making, with its indexes.
type written struct {
	r                       *rand.Rand
	base                    int64
	log, index, times, txns []byte
	next                    int64 // offset
	newest                  int64 // timestamp in an entry of the time index
	epoch                   int32 // of the leader
	records                 int
}

const writtenAt = 1_700_000_000_000 // ms

// text returns bytes for a key or a value: null, empty, random, or words.
func (w *written) text(size int) []byte {
	switch w.r.IntN(5) {
	case 0:
		return nil
	case 1:
		return []byte{}
	case 2:
		p := make([]byte, w.r.IntN(size))
		for i := range p {
			p[i] = byte(w.r.Uint32())
		}
		return p
	default:
		return []byte(strings.Repeat("words, é, 😀 ", 1+w.r.IntN(1+size/16)))
	}
}

// some returns records with the offsets from w.next on.
func (w *written) some(n, size int) []batch.Record {
	records := make([]batch.Record, n)
	for i := range records {
		key, value := w.text(20), w.text(size)
		records[i] = batch.Record{Offset: w.next + int64(i), Timestamp: writtenAt + w.next + int64(w.r.IntN(50)), TimestampDelta: int64(w.r.IntN(50)), Key: key, Value: value}
		var headers []batch.RecordHeader
		for range w.r.IntN(4) {
			headers = append(headers, batch.RecordHeader{Key: append([]byte{}, w.text(10)...), Value: w.text(30)})
		}
		records[i].SetHeaders(headers)
	}
	return records
}

// batch appends a batch with the attributes and fields of h.
func (w *written) batch(t *testing.T, h batch.Header, records []batch.Record) {
	t.Helper()
	h.BaseOffset, h.Magic, h.LastOffsetDelta = w.next, 2, int32(len(records)-1)
	if h.BaseTimestamp == 0 {
		h.BaseTimestamp = records[0].Timestamp
	}
	for _, r := range records {
		h.MaxTimestamp = max(h.MaxTimestamp, r.Timestamp)
	}
	pos := len(w.log)
	var err error
	w.log, err = batch.Append(w.log, h, func(yield func(*batch.Record) bool) {
		for i := range records {
			if !yield(&records[i]) {
				return
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	w.entries(t, pos, len(records), h.MaxTimestamp)
}

// messages appends messages of magic 0 or 1.
func (w *written) messages(t *testing.T, magic int8, id codec.ID, tt batch.TimestampType, records []batch.Record) {
	t.Helper()
	pos := len(w.log)
	newest := int64(-1)
	for i := range records {
		switch {
		case magic == 0:
			records[i].Timestamp = -1
		case tt == batch.LogAppendTime:
			records[i].Timestamp = writtenAt + w.next
		}
		newest = max(newest, records[i].Timestamp)
	}
	var err error
	if w.log, err = batch.AppendMessages(w.log, magic, id, tt, records); err != nil {
		t.Fatal(err)
	}
	if id == codec.None { // each is a batch of its own
		w.next += int64(len(records))
		w.records += len(records)
		return
	}
	w.entries(t, pos, len(records), newest)
}

// entries adds what a broker that indexes every batch adds for one at pos.
func (w *written) entries(t *testing.T, pos, records int, newest int64) {
	t.Helper()
	w.next += int64(records)
	w.records += records
	last := w.next - 1
	var err error
	if pos > 0 {
		if w.index, err = offsetindex.AppendEntry(w.index, offsetindex.Entry{Offset: last, Position: int32(pos)}, w.base); err != nil {
			t.Fatal(err)
		}
	}
	if newest > w.newest {
		w.newest = newest
		if w.times, err = timeindex.AppendEntry(w.times, timeindex.Entry{Timestamp: newest, Offset: last}, w.base); err != nil {
			t.Fatal(err)
		}
	}
}

// TestWritten lets Kafka's tool read what kf's encoders write: it finds nothing
// wrong, and reads the same as kf.
func TestWritten(t *testing.T) {
	seed := seed(t)
	k := newKafka(t)
	root := t.TempDir()
	if err := os.Mkdir(filepath.Join(root, "written"), 0o755); err != nil {
		t.Fatal(err)
	}
	j := newJudge(t, k, filepath.Join(root, "written"))
	files, records := 0, 0
	for n, base := range []int64{0, 0, 0, 0, 0, 0, 7, 1 << 40, math.MaxInt64 - 1<<31} {
		w := &written{r: random(seed, uint64(10+n)), base: base, next: base}
		w.fill(t)
		dir := fmt.Sprintf("t-%d", n)
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		name := func(offset int64, ext string) string { return filepath.Join(dir, fmt.Sprintf("%020d%s", offset, ext)) }
		all := map[string][]byte{
			name(base, ".log"): w.log, name(base, ".index"): w.index, name(base, ".timeindex"): w.times, name(base, ".txnindex"): w.txns,
			name(w.next, ".snapshot"): w.snapshot(),
		}
		for path, p := range all {
			if err := os.WriteFile(path, p, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		for path, p := range all {
			for _, option := range options(file{path, len(p)}, w.r) {
				if slices.ContainsFunc(option, func(s string) bool { return strings.Contains(s, "max-") || strings.Contains(s, "decoder") }) {
					continue
				}
				v := j.compare(t, append(slices.Clone(option), "--files", path)...)
				gaps := fmt.Sprintf("Non-consecutive offsets in %s\n  -1 is followed by %d\n", filepath.Join(j.dir, path), base)
				complaint := v.kafka.stderr
				if base > 0 {
					complaint = strings.TrimPrefix(complaint, gaps)
				}
				lines := strings.Count(v.kafka.stdout, "\n| offset: ")
				deep := strings.HasSuffix(path, ".log") && len(option) == 1 && strings.HasSuffix(option[0], "-iteration")
				switch {
				case v.differ != "":
					j.fail(t, v, v.differ)
				case v.kafka.exit != 0 || complaint != "" || v.kf.exit != 0:
					j.fail(t, v, "it is not found sound")
				case strings.Contains(v.kafka.stdout, "isvalid: false") || strings.Contains(v.kafka.stdout, "isValid: false") || strings.Contains(v.kafka.stdout, "invalid bytes"):
					j.fail(t, v, "Kafka finds something invalid")
				case deep && !bytes.Contains(w.log, []byte("\n| offset: ")) && lines != w.records:
					j.fail(t, v, fmt.Sprintf("Kafka reads %d records of %d", lines, w.records))
				}
			}
			files++
		}
		records += w.records
	}
	t.Logf("%d files with %d records that kf wrote, in %d runs", files, records, j.runs)
}

var codecs = []codec.ID{codec.None, codec.Gzip, codec.Snappy, codec.LZ4, codec.Zstd}

// fill writes every kind of batch.
func (w *written) fill(t *testing.T) {
	t.Helper()
	if w.base == 0 { // older than any batch
		for _, id := range codecs[:4] {
			w.messages(t, 0, id, batch.NoTimestamp, w.some(1+w.r.IntN(8), 300))
			w.messages(t, 1, id, batch.CreateTime, w.some(1+w.r.IntN(8), 300))
			w.messages(t, 1, id, batch.LogAppendTime, w.some(1+w.r.IntN(8), 300))
		}
	}
	for _, id := range codecs {
		plain := batch.Header{PartitionLeaderEpoch: w.epoch, ProducerID: -1, ProducerEpoch: -1, BaseSequence: -1}
		h := plain
		h.Attributes = int16(id)
		w.batch(t, h, w.some(1, 10))
		w.batch(t, h, w.some(1+w.r.IntN(100), 100))
		w.batch(t, h, w.some(3, 200_000)) // several blocks
		w.epoch += w.r.Int32N(1 << 20)
		h.PartitionLeaderEpoch = w.epoch
		h.Attributes |= batch.LogAppendTimeBit
		records := w.some(1+w.r.IntN(10), 100)
		for i := range records {
			records[i].Timestamp = writtenAt + w.next
		}
		h.BaseTimestamp = writtenAt - 5
		w.batch(t, h, records)

		// Deltas below 0 behind a horizon.
		plain.PartitionLeaderEpoch = w.epoch
		h = plain
		h.Attributes = int16(id) | batch.DeleteHorizonBit
		h.BaseTimestamp = writtenAt + 100_000
		w.batch(t, h, w.some(1+w.r.IntN(10), 100))

		// A transaction of two batches, the second with sequences that wrap, and its end.
		h = plain
		h.Attributes = int16(id) | batch.TransactionalBit
		h.ProducerID, h.ProducerEpoch = 1000+int64(id), int16(w.r.IntN(100))
		first := w.next
		h.BaseSequence = w.r.Int32N(1000)
		w.batch(t, h, w.some(2, 100))
		h.BaseSequence = math.MaxInt32 - 2
		w.batch(t, h, w.some(6, 100))
		w.marker(t, h, first, id%2 == 0)
	}
}

// marker ends a transaction.
func (w *written) marker(t *testing.T, h batch.Header, first int64, commit bool) {
	t.Helper()
	kind, epoch := control.Abort, w.r.Int32N(100)
	if commit {
		kind = control.Commit
	}
	value := []byte{0, 0, 0, 0, 0, byte(epoch)}
	h.Attributes, h.BaseSequence = batch.TransactionalBit|batch.ControlBit, -1
	last := w.next
	w.batch(t, h, []batch.Record{{Offset: last, Timestamp: writtenAt + last, Key: control.AppendKey(nil, kind), Value: value}})
	if !commit {
		w.txns = txnindex.AppendEntry(w.txns, txnindex.Entry{ProducerID: h.ProducerID, FirstOffset: first, LastOffset: last, LastStableOffset: w.next})
	}
}

func (w *written) snapshot() []byte {
	var entries []prodsnapshot.Entry
	for i := range w.r.Int64N(20) {
		e := prodsnapshot.Entry{
			ProducerID: i, ProducerEpoch: int16(w.r.IntN(100)), LastSequence: w.r.Int32(), LastOffset: w.base + w.r.Int64N(1000), OffsetDelta: w.r.Int32N(10),
			Timestamp: writtenAt + i, CoordinatorEpoch: w.r.Int32N(5) - 1, CurrentTxnFirstOffset: w.base + w.r.Int64N(1000),
		}
		if w.r.IntN(3) == 0 {
			e.CurrentTxnFirstOffset = -1
		}
		if w.r.IntN(3) == 0 {
			e.LastSequence, e.LastOffset, e.OffsetDelta = -1, -1, 0
		}
		entries = append(entries, e)
	}
	return prodsnapshot.Append(nil, entries)
}
