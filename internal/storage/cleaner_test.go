package storage

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"kf/internal/format/batch"
	"kf/internal/format/codec"
	"kf/internal/format/control"
	"kf/internal/storage/disktest"
)

// A keyed is a batch to be made, of records written as key=value, key= for an
// empty value, and key alone for a tombstone. A key of - is null.
type keyed struct {
	records  string
	producer int64 // from 1 on; 0 for none
	sequence int32
	txn      bool
	end      string // abort or commit: a marker
	time     int64
	codec    codec.ID
}

func (k keyed) bytes(t testing.TB) []byte {
	t.Helper()
	if k.end != "" {
		kind := control.Commit
		if k.end == "abort" {
			kind = control.Abort
		}
		return spec{end: true, marker: kind, producer: k.producer, time: k.time}.bytes(t)
	}
	h := batch.Header{Magic: 2, Attributes: int16(k.codec), BaseTimestamp: k.time, MaxTimestamp: k.time, ProducerID: -1, ProducerEpoch: -1, BaseSequence: -1}
	if k.producer > 0 {
		h.ProducerID, h.ProducerEpoch, h.BaseSequence = k.producer, 0, k.sequence
	}
	if k.txn {
		h.Attributes |= batch.TransactionalBit
	}
	records := k.list()
	h.LastOffsetDelta = int32(len(records)) - 1
	p, err := batch.Append(nil, h, func(yield func(*batch.Record) bool) {
		for i := range records {
			if !yield(&records[i]) {
				return
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func (k keyed) list() []batch.Record {
	var all []batch.Record
	for i, text := range strings.Fields(k.records) {
		key, value, ok := strings.Cut(text, "=")
		r := batch.Record{Offset: int64(i), Timestamp: k.time, Key: []byte(key)}
		if key == "-" {
			r.Key = nil
		}
		if ok {
			r.Value = []byte(value)
		}
		all = append(all, r)
	}
	return all
}

func cleanSetup(t testing.TB) *setup {
	s := newSetup(t)
	s.o.Config.Compact, s.o.Config.Delete = true, false
	s.o.Config.MaxCompactionLagMs, s.o.Config.DeleteRetentionMs = math.MaxInt64, 1000
	s.o.Config.IndexIntervalBytes, s.o.Config.SegmentIndexBytes = 0, 16<<10
	s.o.FS = disktest.New(nil) // syncs take long, and nothing here depends on them
	return s
}

// write appends batches, a segment each, which are committed.
func writeSegments(t testing.TB, l *Log, batches ...keyed) {
	t.Helper()
	for _, k := range batches {
		o := AppendOptions{}
		if k.end != "" {
			o.Origin = FromCoordinator
		}
		a, err := l.Append(k.bytes(t), o)
		if err != nil {
			t.Fatal(err)
		}
		l.SetHighWatermark(a.LastOffset + 1)
		rollNow(t, l)
	}
}

func rollNow(t testing.TB, l *Log) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, err := l.roll(l.LogEndOffset()); err != nil {
		t.Fatal(err)
	}
}

func cleanOptions(firstDirty, now int64) CleanOptions {
	return CleanOptions{FirstDirty: firstDirty, Now: now, MapBytes: 1 << 20, MapLoad: 0.9, BufferBytes: 100}
}

func cleanNow(t testing.TB, l *Log, firstDirty, now int64) CleanResult {
	t.Helper()
	r, err := l.Clean(context.Background(), cleanOptions(firstDirty, now))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// content writes the batches of a log: base offset, last offset, the records, and
// in front of them T, C, H for what the header says.
func content(t testing.TB, l *Log) string {
	t.Helper()
	var b strings.Builder
	d := batch.Decoder{MaxInflated: 1 << 20}
	for _, s := range l.segments() {
		p := make([]byte, s.size.Load())
		if len(p) == 0 {
			continue
		}
		if err := readFull(s.log, p, 0); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "[%d]", s.base)
		if _, err := headers(p, func(h *batch.Header, entry []byte) error {
			if err := h.Check(entry); err != nil {
				return err
			}
			fmt.Fprintf(&b, " %d-%d", h.BaseOffset, h.LastOffset())
			for _, f := range []struct {
				on   bool
				name string
			}{{h.Transactional(), "T"}, {h.Control(), "C"}, {h.Magic >= 2 && h.Attributes&batch.DeleteHorizonBit != 0, "H"}} {
				if f.on {
					b.WriteString(f.name)
				}
			}
			b.WriteString("(")
			rs, err := d.Open(*h, entry)
			if err != nil {
				return err
			}
			first := true
			for r, err := range rs.All() {
				if err != nil {
					return err
				}
				if !first {
					b.WriteString(" ")
				}
				first = false
				switch {
				case h.Control():
					b.WriteString("marker")
				case r.Value == nil:
					fmt.Fprintf(&b, "%d:%s", r.Offset, r.Key)
				default:
					fmt.Fprintf(&b, "%d:%s=%s", r.Offset, r.Key, r.Value)
				}
			}
			b.WriteString(")")
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	return b.String()
}

func wantContent(t testing.TB, l *Log, want string) {
	t.Helper()
	if got := content(t, l); got != want {
		t.Errorf("log holds\n%s\nwant\n%s", got, want)
	}
}

func wantNoLeftovers(t testing.TB, s *setup) {
	t.Helper()
	for _, name := range s.names() {
		if strings.HasSuffix(name, cleanedSuffix) || strings.HasSuffix(name, swapSuffix) {
			t.Errorf("left over: %s", name)
		}
	}
}

func TestCleanKeepsNewest(t *testing.T) {
	for _, id := range []codec.ID{codec.None, codec.Gzip, codec.Snappy, codec.LZ4, codec.Zstd} {
		s := cleanSetup(t)
		s.o.Config.Compact = false // a topic that has records without keys from before
		l := s.open()
		writeSegments(t, l, keyed{records: "a=1 b=1 c=1", codec: id}, keyed{records: "a=2 -=x", codec: id}, keyed{records: "b=3 d=3", codec: id}, keyed{records: "b=4", codec: id})
		if _, err := l.Append(keyed{records: "c=5"}.bytes(t), AppendOptions{}); err != nil {
			t.Fatal(err)
		}
		l.SetHighWatermark(math.MaxInt64)
		r := cleanNow(t, l, 0, 0)
		wantContent(t, l, "[0] 0-2(2:c=1) 3-4(3:a=2) 5-6(6:d=3) 7-7(7:b=4)[8] 8-8(8:c=5)")
		if r.FirstDirty != 8 || r.Segments != 4 || r.NewSegments != 1 || r.Records != 8 || r.RecordsKept != 4 || r.Keys != 4 {
			t.Errorf("%+v", r)
		}
		wantNoLeftovers(t, s)
		// Nothing is dirty now.
		if r := cleanNow(t, l, 8, 0); r.FirstDirty != 8 || r.Segments != 0 {
			t.Errorf("%+v", r)
		}
		wantAll(t, l, ToHighWatermark, "2=1", "3=2", "6=3", "7=4", "8=5")
		closeLog(t, l)
		wantAll(t, s.open(), ToLogEnd, "2=1", "3=2", "6=3", "7=4", "8=5")
	}
}

// A tombstone stays for delete.retention.ms from the round on that meets it.
func TestCleanTombstones(t *testing.T) {
	s := cleanSetup(t)
	l := s.open()
	writeSegments(t, l, keyed{records: "a=1 b=1 c=1"}, keyed{records: "a b=2"}, keyed{records: "z=1"})
	r := cleanNow(t, l, 0, 5000)
	wantContent(t, l, "[0] 0-2(2:c=1) 3-4H(3:a 4:b=2) 5-5(5:z=1)")
	writeSegments(t, l, keyed{records: "b=3"}, keyed{records: "z=2"})
	r = cleanNow(t, l, r.FirstDirty, 5999)
	wantContent(t, l, "[0] 0-2(2:c=1) 3-4H(3:a) 6-6(6:b=3) 7-7(7:z=2)")
	writeSegments(t, l, keyed{records: "z=3"})
	cleanNow(t, l, r.FirstDirty, 6000)
	wantContent(t, l, "[0] 0-2(2:c=1) 6-6(6:b=3) 8-8(8:z=3)")
}

// Records of aborted transactions go at once, a marker when nothing of its
// transaction was left for delete.retention.ms; the .txnindex follows.
func TestCleanTransactions(t *testing.T) {
	s := cleanSetup(t)
	l := s.open()
	now := time.Now().UnixMilli()
	writeSegments(t, l,
		keyed{records: "a=1", producer: 1, txn: true, time: now}, keyed{end: "abort", producer: 1, time: now},
		keyed{records: "b=1", producer: 2, txn: true, time: now}, keyed{end: "commit", producer: 2, time: now},
		keyed{records: "x=1", producer: 1, sequence: 1, txn: true, time: now}, keyed{end: "commit", producer: 1, time: now},
		keyed{records: "b=2", producer: 2, sequence: 1, txn: true, time: now}, keyed{end: "commit", producer: 2, time: now},
		keyed{records: "z=1"})
	r := cleanNow(t, l, 0, now)
	// The old data of the first transactions is gone; this round has met it.
	wantContent(t, l, "[0] 1-1TC(marker) 3-3TC(marker) 4-4T(4:x=1) 5-5TC(marker) 6-6T(6:b=2) 7-7TC(marker) 8-8(8:z=1)")
	if n := l.segments()[0].aborts.Load(); n != 1 {
		t.Errorf("%d aborted transactions listed, the marker of 1 met data", n)
	}
	writeSegments(t, l, keyed{records: "z=2"})
	r = cleanNow(t, l, r.FirstDirty, now+500)
	wantContent(t, l, "[0] 1-1TCH(marker) 3-3TCH(marker) 4-4T(4:x=1) 5-5TC(marker) 6-6T(6:b=2) 7-7TC(marker) 9-9(9:z=2)")
	if n := l.segments()[0].aborts.Load(); n != 0 {
		t.Errorf("%d aborted transactions listed", n)
	}
	writeSegments(t, l, keyed{records: "z=3"})
	r = cleanNow(t, l, r.FirstDirty, now+1499)
	wantContent(t, l, "[0] 1-1TCH(marker) 3-3TCH(marker) 4-4T(4:x=1) 5-5TC(marker) 6-6T(6:b=2) 7-7TC(marker) 10-10(10:z=3)")
	writeSegments(t, l, keyed{records: "z=4"})
	cleanNow(t, l, r.FirstDirty, now+1500)
	wantContent(t, l, "[0] 4-4T(4:x=1) 5-5TC(marker) 6-6T(6:b=2) 7-7TC(marker) 11-11(11:z=4)")
}

// What a producer needs to go on stays, without its records: the batch with its
// last sequence, while the producer is active. So does the end of the log.
func TestCleanKeepsEmptyBatches(t *testing.T) {
	s := cleanSetup(t)
	s.o.Config.Compact = false
	l := s.open()
	now := time.Now().UnixMilli()
	writeSegments(t, l, keyed{records: "a=1 b=1", producer: 1, time: now}, keyed{records: "a=2 b=2", producer: 2, time: now - 2*86400_000}, keyed{records: "a=3 b=3"}, keyed{records: "-=x"})
	cleanNow(t, l, 0, 0)
	wantContent(t, l, "[0] 0-1() 2-3() 4-5(4:a=3 5:b=3) 6-6()")
	closeLog(t, l)
	l = s.open() // forgets producer 2
	l.SetHighWatermark(math.MaxInt64)
	writeSegments(t, l, keyed{records: "c=1"})
	cleanNow(t, l, 0, 0)
	wantContent(t, l, "[0] 0-1() 4-5(4:a=3 5:b=3) 7-7(7:c=1)")
	if a := append1(t, l, spec{values: []string{"next"}, producer: 1, sent: true, sequence: 2}); a.Duplicate {
		t.Error("duplicate")
	}
	if a := append1(t, l, spec{values: []string{"a", "b"}, producer: 1, sent: true, sequence: 0}); !a.Duplicate {
		t.Error("no duplicate")
	}
}

// Segments are put together as long as they fit into one; the new one has the
// age of the last.
func TestCleanGroups(t *testing.T) {
	s := cleanSetup(t)
	l := s.open()
	var batches []keyed
	for i := range 10 {
		batches = append(batches, keyed{records: fmt.Sprintf("key%d=%s", i, big(100))})
	}
	writeSegments(t, l, batches...)
	c := s.o.Config
	c.SegmentBytes = 3 * int32(l.segments()[0].size.Load())
	l.SetConfig(c)
	modified := time.UnixMilli(1_600_000_000_000)
	if err := os.Chtimes(l.segments()[2].log.name(), modified, modified); err != nil {
		t.Fatal(err)
	}
	before := content(t, l)
	r := cleanNow(t, l, 0, 0)
	if r.NewSegments != 4 || r.RecordsKept != 10 {
		t.Errorf("%+v", r)
	}
	var bases []int64
	for _, seg := range l.segments() {
		bases = append(bases, seg.base)
	}
	if want := []int64{0, 3, 6, 9, 10}; !slices.Equal(bases, want) {
		t.Errorf("segments %v, want %v", bases, want)
	}
	info, err := os.Stat(l.segments()[0].log.name())
	if err != nil {
		t.Fatal(err)
	}
	if !info.ModTime().Equal(modified) {
		t.Errorf("modified %v, want %v", info.ModTime(), modified)
	}
	strip := func(s string) string {
		for _, b := range bases {
			s = strings.ReplaceAll(s, fmt.Sprintf("[%d]", b), "")
		}
		return s
	}
	for i := range 10 {
		before = strings.ReplaceAll(before, fmt.Sprintf("[%d]", i), "")
	}
	if got := strip(content(t, l)); got != before {
		t.Errorf("log holds\n%s\nwant\n%s", got, before)
	}
	// The offset index leads to every batch.
	for offset := range int64(10) {
		rd, err := l.Read(offset, 1000, ToLogEnd, true)
		if err != nil {
			t.Fatal(err)
		}
		p := make([]byte, 8)
		if _, err := rd.Data.ReadAt(p, 0); err != nil || p[7] != byte(offset) {
			t.Errorf("read from %d: batch at %x, %v", offset, p, err)
		}
		rd.Data.Release()
	}
}

// Rounds that are bounded by the memory for keys reach the end all the same.
func TestCleanSmallMap(t *testing.T) {
	s := cleanSetup(t)
	l := s.open()
	for round := range 3 {
		var all []string
		for i := range 30 {
			all = append(all, fmt.Sprintf("key%d=%d", i, round))
		}
		writeSegments(t, l, keyed{records: strings.Join(all[:17], " ")}, keyed{records: strings.Join(all[17:], " ")})
	}
	o := cleanOptions(0, 0)
	o.MapBytes = keySlotBytes * 10
	rounds := 0
	for o.FirstDirty < 90 {
		r, err := l.Clean(context.Background(), o)
		if err != nil {
			t.Fatal(err)
		}
		if r.FirstDirty <= o.FirstDirty || r.Keys > 9 {
			t.Fatalf("%+v after %d", r, o.FirstDirty)
		}
		o.FirstDirty = r.FirstDirty
		rounds++
	}
	if want := 10; rounds != want {
		t.Errorf("%d rounds, want %d", rounds, want)
	}
	newest := newestValues(t, l, ToHighWatermark)
	for i := range 30 {
		if key := fmt.Sprintf("key%d", i); newest[key] != "2" {
			t.Errorf("%s=%s", key, newest[key])
		}
	}
}

// newestValues returns what a consumer makes of the log: the last value of each
// key, without those that were deleted.
func newestValues(t testing.TB, l *Log, bound Bound) map[string]string {
	t.Helper()
	newest := map[string]string{}
	open := map[int64]bool{}
	d := batch.Decoder{MaxInflated: 1 << 20}
	for offset := l.LogStartOffset(); ; {
		r, err := l.Read(offset, 1<<20, bound, true)
		if err != nil {
			t.Fatal(err)
		}
		if r.Data.Len() == 0 {
			r.Data.Release()
			return newest
		}
		p := make([]byte, r.Data.Len())
		if _, err := r.Data.ReadAt(p, 0); err != nil {
			t.Fatal(err)
		}
		r.Data.Release()
		if _, err := headers(p, func(h *batch.Header, entry []byte) error {
			offset = h.LastOffset() + 1
			for len(r.Aborted) > 0 && r.Aborted[0].FirstOffset <= h.LastOffset() {
				open[r.Aborted[0].ProducerID] = true
				r.Aborted = r.Aborted[1:]
			}
			if h.Control() {
				delete(open, h.ProducerID)
				return nil
			}
			if h.Transactional() && open[h.ProducerID] {
				return nil
			}
			rs, err := d.Open(*h, entry)
			if err != nil {
				return err
			}
			for rec, err := range rs.All() {
				if err != nil {
					return err
				}
				if rec.Value == nil {
					delete(newest, string(rec.Key))
				} else if rec.Key != nil {
					newest[string(rec.Key)] = string(rec.Value)
				}
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		// What is left out of the list for a later read counts anew there.
		clear(open)
	}
}

// randomSegments appends committed batches of all kinds.
func randomSegments(t testing.TB, l *Log, r *rand.Rand, sequences map[int64]int32, open map[int64]bool, n int) {
	t.Helper()
	now := time.Now().UnixMilli()
	for range n {
		k := keyed{time: now, codec: codec.ID(r.IntN(5))}
		if r.IntN(2) == 0 {
			k.producer = 1 + r.Int64N(3)
			if open[k.producer] && r.IntN(2) == 0 {
				k.end = []string{"abort", "commit"}[r.IntN(2)]
				delete(open, k.producer)
			} else {
				k.txn, open[k.producer] = true, true
			}
		}
		if k.end == "" {
			var records []string
			for range 1 + r.IntN(4) {
				text := fmt.Sprintf("key%d", r.IntN(12))
				if r.IntN(4) > 0 {
					text += fmt.Sprintf("=%d", r.Uint32())
				}
				records = append(records, text)
			}
			k.records, k.sequence = strings.Join(records, " "), sequences[k.producer]
			sequences[k.producer] += int32(len(records))
		}
		o := AppendOptions{}
		if k.end != "" {
			o.Origin = FromCoordinator
		}
		a, err := l.Append(k.bytes(t), o)
		if err != nil {
			t.Fatal(err)
		}
		l.SetHighWatermark(a.LastOffset + 1)
		if r.IntN(3) == 0 {
			rollNow(t, l)
		}
	}
}

// Whatever is in a log, a consumer of committed records ends with the same state
// before and after a round, however small the map and the buffers are.
func TestCleanKeepsState(t *testing.T) {
	for seed := range uint64(25) {
		r := rand.New(rand.NewPCG(seed, 1))
		s := cleanSetup(t)
		l := s.open()
		sequences, open := map[int64]int32{}, map[int64]bool{}
		dirty, now := int64(0), time.Now().UnixMilli()
		for round := range int64(5) {
			randomSegments(t, l, r, sequences, open, 30)
			want := newestValues(t, l, ToLastStableOffset)
			o := cleanOptions(dirty, now+400*round)
			o.BufferBytes = 1 + r.IntN(2000)
			if r.IntN(2) == 0 {
				o.MapBytes = keySlotBytes * (2 + r.Int64N(30))
			}
			res, err := l.Clean(context.Background(), o)
			if err != nil {
				t.Fatal(err)
			}
			dirty = res.FirstDirty
			if got := newestValues(t, l, ToLastStableOffset); !maps.Equal(got, want) {
				t.Fatalf("seed %d, round %d: state\n%v\nwant\n%v\nlog %s", seed, round, got, want, content(t, l))
			}
			if r.IntN(2) == 0 {
				closeLog(t, l)
				l = s.open()
				l.SetHighWatermark(math.MaxInt64)
				if got := newestValues(t, l, ToLastStableOffset); !maps.Equal(got, want) {
					t.Fatalf("seed %d, round %d: state after a restart\n%v\nwant\n%v", seed, round, got, want)
				}
			}
		}
		wantNoLeftovers(t, s)
		closeLog(t, l)
	}
}

// killedClean makes a log on s and runs a round with the file system of s.
func killedClean(t testing.TB, s *setup) (want map[string]string, err error) {
	t.Helper()
	fsys := s.o.FS
	s.o.FS = disktest.New(nil)
	l := s.open()
	c := s.o.Config
	c.FileDeleteDelayMs = 3600_000
	l.SetConfig(c)
	now := time.Now().UnixMilli()
	writeSegments(t, l,
		keyed{records: "a=1 b=1", time: now}, keyed{records: "c=1", producer: 1, txn: true, time: now}, keyed{end: "abort", producer: 1, time: now},
		keyed{records: "a=2 d", time: now}, keyed{records: "b=3", time: now}, keyed{records: "e=1 f=1", time: now}, keyed{records: "f", time: now})
	want = newestValues(t, l, ToLastStableOffset)
	closeLog(t, l)
	s.o.FS = fsys
	l, err = OpenLog(context.Background(), s.o)
	if err != nil {
		return want, err
	}
	c.SegmentBytes = 250 // several groups
	l.SetConfig(c)
	l.SetHighWatermark(math.MaxInt64)
	_, err = l.Clean(context.Background(), cleanOptions(0, now))
	return want, err
}

// A kill between any two operations of a round, or in the middle of any write,
// leaves a log that opens and holds the same state; the next round ends as one
// that was not interrupted.
func TestCleanKillAnywhere(t *testing.T) {
	var ops []disktest.Op
	s := cleanSetup(t)
	s.o.FS = disktest.New(func(op disktest.Op) disktest.Fault {
		if op.Kind != disktest.Read {
			ops = append(ops, op)
		}
		return disktest.Fault{}
	})
	if _, err := killedClean(t, s); err != nil {
		t.Fatal(err)
	}
	s.o.FS = disktest.New(nil)
	whole := s.open()
	done := content(t, whole)
	closeLog(t, whole)
	if len(ops) < 60 || strings.Count(done, "[") < 2 {
		t.Fatalf("%d operations, log %s", len(ops), done)
	}
	for n, op := range ops {
		for _, percent := range []int{0, 50} {
			if percent > 0 && op.Kind != disktest.Write {
				continue
			}
			for _, clean := range []bool{false, true} { // Kafka trusts a log after a clean stop of the others
				s := cleanSetup(t)
				s.o.FS = disktest.New(disktest.StopAt(n, percent))
				want, err := killedClean(t, s)
				if !errors.Is(err, disktest.ErrStopped) {
					t.Fatalf("stopped at %v: %v", op, err)
				}
				s.o.FS, s.o.Clean = disktest.New(nil), clean
				l := s.open()
				label := fmt.Sprintf("stopped at %v, %d%%, clean %v", op, percent, clean)
				l.SetHighWatermark(math.MaxInt64)
				if got := newestValues(t, l, ToLastStableOffset); !maps.Equal(got, want) {
					t.Fatalf("%s: state %v, want %v\nlog %s", label, got, want, content(t, l))
				}
				wantNoLeftovers(t, s)
				cleanNow(t, l, 0, time.Now().UnixMilli())
				if got := newestValues(t, l, ToLastStableOffset); !maps.Equal(got, want) {
					t.Fatalf("%s: state after another round %v, want %v", label, got, want)
				}
				wantNoLeftovers(t, s)
				closeLog(t, l)
			}
		}
	}
}

// A disk that fails at any operation takes the log offline, and what is left
// opens with the same state.
func TestCleanDiskFails(t *testing.T) {
	for n := 0; ; n++ {
		s := cleanSetup(t)
		hit := false
		s.o.FS = disktest.New(func(op disktest.Op) disktest.Fault {
			if op.Kind == disktest.Read || op.N != n {
				return disktest.Fault{}
			}
			hit = true
			return disktest.Fault{Err: disktest.ErrNoSpace, Part: op.Size / 2}
		})
		want, err := killedClean(t, s)
		if !hit {
			break
		}
		if !errors.Is(err, ErrOffline) {
			t.Fatalf("operation %d fails: %v", n, err)
		}
		s.o.FS, s.o.Clean = disktest.New(nil), false
		l := s.open()
		l.SetHighWatermark(math.MaxInt64)
		if got := newestValues(t, l, ToLastStableOffset); !maps.Equal(got, want) {
			t.Fatalf("operation %d fails: state %v, want %v", n, got, want)
		}
		closeLog(t, l)
	}
}

// Appends and reads go on while a log is cleaned.
func TestCleanMeanwhile(t *testing.T) {
	s := cleanSetup(t)
	l := s.open()
	writeSegments(t, l, keyed{records: "a=1 b=1"}, keyed{records: "a=2"}, keyed{records: "z=1"})
	o := cleanOptions(0, 0)
	n := 0
	o.Throttle = func(context.Context, int) error {
		n++
		append1(t, l, spec{values: []string{fmt.Sprint(n)}})
		if got := newestValues(t, l, ToLogEnd); got["a"] != "2" || got["b"] != "1" || got["k"] != fmt.Sprint(n) {
			t.Errorf("while it is cleaned: %v", got)
		}
		return nil
	}
	if _, err := l.Clean(context.Background(), o); err != nil {
		t.Fatal(err)
	}
	if n == 0 {
		t.Error("never waited")
	}
	if got := content(t, l); !strings.HasPrefix(got, "[0] 0-1(1:b=1) 2-2(2:a=2) 3-3(3:z=1)[4] 4-4(4:k=1)") {
		t.Error(got)
	}
}

func TestCleanCancel(t *testing.T) {
	s := cleanSetup(t)
	l := s.open()
	writeSegments(t, l, keyed{records: "a=1"}, keyed{records: "a=2"})
	before := content(t, l)
	for n := 1; ; n++ {
		ctx, cancel := context.WithCancel(context.Background())
		o := cleanOptions(0, 0)
		calls := 0
		o.Throttle = func(ctx context.Context, _ int) error {
			if calls++; calls == n {
				cancel()
			}
			return nil
		}
		_, err := l.Clean(ctx, o)
		cancel()
		if err == nil {
			break
		}
		if !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		wantContent(t, l, before)
		wantNoLeftovers(t, s)
	}
	wantContent(t, l, "[0] 1-1(1:a=2)")
}

// Close waits for a round, which ends.
func TestCleanClose(t *testing.T) {
	s := cleanSetup(t)
	l := s.open()
	writeSegments(t, l, keyed{records: "a=1"}, keyed{records: "a=2"})
	closed := make(chan error, 1)
	o := cleanOptions(0, 0)
	o.Throttle = func(context.Context, int) error {
		if l.usable() == nil {
			go func() { closed <- l.Close() }()
			for l.usable() == nil {
				runtime.Gosched()
			}
		}
		return nil
	}
	if _, err := l.Clean(context.Background(), o); !errors.Is(err, ErrClosed) {
		t.Errorf("%v", err)
	}
	if err := <-closed; err != nil {
		t.Error(err)
	}
	wantContent(t, s.open(), "[0] 0-0(0:a=1)[1] 1-1(1:a=2)")
}

// Segments that go while they are cleaned end the round; nothing comes back.
func TestCleanChanged(t *testing.T) {
	for name, change := range map[string]func(l *Log) error{
		"deleted": func(l *Log) error {
			if _, err := l.RaiseLogStart(1); err != nil {
				return err
			}
			_, err := l.Retain()
			return err
		},
		"truncated":     func(l *Log) error { return l.TruncateTo(1) },
		"truncated all": func(l *Log) error { return l.TruncateAll(50) },
	} {
		t.Run(name, func(t *testing.T) {
			s := cleanSetup(t)
			l := s.open()
			writeSegments(t, l, keyed{records: "a=1"}, keyed{records: "a=2"}, keyed{records: "b=1"})
			o := cleanOptions(0, 0)
			var want string
			o.Throttle = func(context.Context, int) error {
				if want != "" {
					return nil
				}
				if err := change(l); err != nil {
					return err
				}
				want = content(t, l) + " "
				return nil
			}
			r, err := l.Clean(context.Background(), o)
			if !errors.Is(err, ErrChanged) || r.FirstDirty != 0 {
				t.Errorf("%+v, %v", r, err)
			}
			wantContent(t, l, strings.TrimSuffix(want, " "))
			wantNoLeftovers(t, s)
			append1(t, l, value("still in use"))
		})
	}
}

// An entry that cannot be copied ends the round, and nothing has changed.
func TestCleanDamage(t *testing.T) {
	for _, tt := range []struct {
		name   string
		damage func(p []byte) []byte
		err    error
	}{
		{"checksum", func(p []byte) []byte { p[len(p)-1]++; return p }, ErrCorrupt},
		{"length", func(p []byte) []byte { p[11]++; return p }, ErrCorrupt},
		{"negative length", func(p []byte) []byte { p[8] = 0x80; return p }, ErrCorrupt},
		{"magic", func(p []byte) []byte { p[16] = 3; return p }, ErrCorrupt},
		{"loose bytes", func(p []byte) []byte { return append(p, 1, 2, 3) }, ErrCorrupt},
		{"records", func(p []byte) []byte {
			p[60]++ // one more of them
			sum := batch.Checksum(p)
			copy(p[17:], []byte{byte(sum >> 24), byte(sum >> 16), byte(sum >> 8), byte(sum)})
			return p
		}, ErrUnreadable},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := cleanSetup(t)
			l := s.open()
			writeSegments(t, l, keyed{records: "a=1"}, keyed{records: "a=2"}, keyed{records: "a=3"})
			closeLog(t, l)
			name := "00000000000000000001.log"
			s.write(name, tt.damage(s.read(name)))
			l = s.open()
			l.SetHighWatermark(math.MaxInt64)
			r, err := l.Clean(context.Background(), cleanOptions(0, 0))
			if !errors.Is(err, tt.err) || r.FirstDirty != 0 || !strings.Contains(fmt.Sprint(err), name+": byte 0") && tt.name != "loose bytes" {
				t.Errorf("%+v, %v", r, err)
			}
			if l.usable() != nil {
				t.Error("the log is out of service")
			}
			wantNoLeftovers(t, s)
			if len(l.segments()) != 4 {
				t.Errorf("%d segments", len(l.segments()))
			}
		})
	}
}

// Messages of magic 1 become batches. Their tombstones go when the segment is as
// old as delete.retention.ms wants, by its modification time; as part of a batch
// they have a horizon.
func TestCleanMessages(t *testing.T) {
	s := cleanSetup(t)
	l := s.open()
	offset := int64(0)
	follow := func(id codec.ID, text string, modified int64) {
		t.Helper()
		records := keyed{records: text, time: 5}.list()
		for i := range records {
			records[i].Offset = offset + int64(i)
		}
		offset += int64(len(records))
		p, err := batch.AppendMessages(nil, 1, id, batch.CreateTime, records)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := l.AppendAsFollower(p); err != nil {
			t.Fatal(err)
		}
		l.SetHighWatermark(math.MaxInt64)
		name := l.active().log.name()
		rollNow(t, l)
		if err := os.Chtimes(name, time.UnixMilli(modified), time.UnixMilli(modified)); err != nil {
			t.Fatal(err)
		}
	}
	follow(codec.None, "a=1 b=1", 0)
	follow(codec.Gzip, "a=2 c=1 d=1", 1000)
	follow(codec.None, "c", 2000)
	follow(codec.Snappy, "d=2 e=1", 3000)
	r := cleanNow(t, l, 0, 5000)
	wantContent(t, l, "[0] 1-1(1:b=1) 2-2(2:a=2) 5-5H(5:c) 6-7(6:d=2 7:e=1)")
	for _, seg := range l.segments()[:1] {
		p := make([]byte, seg.size.Load())
		if err := readFull(seg.log, p, 0); err != nil {
			t.Fatal(err)
		}
		if p[16] != 2 {
			t.Errorf("magic %d", p[16])
		}
	}
	follow(codec.None, "e", 3999) // younger than the clean part by less than delete.retention.ms
	follow(codec.None, "b", 1999)
	r = cleanNow(t, l, r.FirstDirty, 5999)
	wantContent(t, l, "[0] 2-2(2:a=2) 5-5H(5:c) 6-7(6:d=2) 8-8H(8:e)")
	if r.RecordsKept != 4 {
		t.Errorf("%+v", r)
	}
}

func TestDirtiness(t *testing.T) {
	const now = 1_700_000_000_000
	s := cleanSetup(t)
	l := s.open()
	for i := range int64(4) {
		writeSegments(t, l, keyed{records: "a=1", time: now - 1000*(4-i)})
	}
	size := l.segments()[0].size.Load()
	for _, tt := range []struct {
		name       string
		checkpoint int64
		change     func(c *Config)
		highWater  int64
		want       Dirtiness
		due        bool
	}{
		{"all", 0, nil, 4, Dirtiness{FirstUncleanable: 4, CleanableBytes: 4 * size}, true},
		{"no entry", -1, nil, 4, Dirtiness{FirstUncleanable: 4, CleanableBytes: 4 * size}, true},
		{"half", 2, nil, 4, Dirtiness{FirstDirty: 2, FirstUncleanable: 4, CleanBytes: 2 * size, CleanableBytes: 2 * size}, false},
		{"most", 1, nil, 4, Dirtiness{FirstDirty: 1, FirstUncleanable: 4, CleanBytes: size, CleanableBytes: 3 * size}, true},
		{"none", 4, nil, 4, Dirtiness{FirstDirty: 4, FirstUncleanable: 4, CleanBytes: 4 * size}, false},
		{"checkpoint behind the end", 9, nil, 4, Dirtiness{Reset: true, FirstUncleanable: 4, CleanableBytes: 4 * size}, true},
		{"not committed", 0, nil, 2, Dirtiness{FirstUncleanable: 2, CleanableBytes: 2 * size}, true},
		{"min.compaction.lag.ms", 0, func(c *Config) { c.MinCompactionLagMs = 2500 }, 4, Dirtiness{FirstUncleanable: 2, CleanableBytes: 2 * size}, true},
		{"max.compaction.lag.ms", 3, func(c *Config) { c.MaxCompactionLagMs = 700 }, 4, Dirtiness{FirstDirty: 3, FirstUncleanable: 4, CleanBytes: 3 * size, CleanableBytes: size, Overdue: 300}, true},
	} {
		c := s.o.Config
		c.MinCleanableRatio = 0.5
		if tt.change != nil {
			tt.change(&c)
		}
		l.SetConfig(c)
		l.highWater.Store(tt.highWater)
		l.stable.Store(tt.highWater)
		got, err := l.Dirtiness(tt.checkpoint, now)
		if err != nil || got != tt.want || got.Due(&c) != tt.due {
			t.Errorf("%s: %+v, due %v, %v; want %+v, due %v", tt.name, got, got.Due(&c), err, tt.want, tt.due)
		}
	}
	l.SetHighWatermark(4)
	if _, err := l.RaiseLogStart(2); err != nil {
		t.Fatal(err)
	}
	if got, err := l.Dirtiness(1, now); err != nil || !got.Reset || got.FirstDirty != 2 {
		t.Errorf("checkpoint in front of the log start: %+v, %v", got, err)
	}
}

func TestKeys(t *testing.T) {
	var k keys
	k.init(keySlotBytes*5000, 0.9)
	if len(k.slots) > firstSlots {
		t.Errorf("%d slots before there is a key", len(k.slots))
	}
	n := int64(0)
	for ; k.put(fmt.Append(nil, n), n); n++ {
	}
	if n != 4500 || k.n != 4500 || len(k.slots) != 5000 || k.latest != 4499 {
		t.Errorf("%d keys, %d counted, %d slots, latest %d", n, k.n, len(k.slots), k.latest)
	}
	for i := range n {
		if got := k.last(fmt.Append(nil, i)); got != i {
			t.Fatalf("key %d: %d", i, got)
		}
	}
	if got := k.last([]byte("other")); got != -1 {
		t.Errorf("unknown key: %d", got)
	}
	k.init(0, 0.9)
	if !k.put([]byte("a"), 0) || k.put([]byte("b"), 1) {
		t.Error("a table without memory has room for one key")
	}
	k.init(1<<20, 0.9)
	k.put([]byte("a"), 3)
	k.put([]byte("a"), 7)
	if k.n != 1 || k.last([]byte("a")) != 7 {
		t.Errorf("%d keys, last %d", k.n, k.last([]byte("a")))
	}
}

func TestThrottle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := NewThrottle(1000)
		start := time.Now()
		for range 5 {
			if err := th.Wait(context.Background(), 500); err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(start); took != 2*time.Second {
			t.Errorf("2500 bytes took %v, the last 500 may be under way", took)
		}
		ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
		defer cancel()
		if err := th.Wait(ctx, 1); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
		time.Sleep(time.Hour) // nothing is saved up
		start = time.Now()
		for range 3 {
			if err := th.Wait(context.Background(), 500); err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(start); took != time.Second {
			t.Errorf("after a pause 1500 bytes took %v", took)
		}
	})
}

// Whatever lies in a sealed segment, a round ends with an error and changes
// nothing, or leaves a log whose entries are sound.
func FuzzClean(f *testing.F) {
	f.Add(keyed{records: "a=1 b"}.bytes(f))
	f.Add(slices.Concat(keyed{records: "a=1", producer: 1, txn: true, codec: codec.LZ4}.bytes(f), keyed{end: "abort", producer: 1}.bytes(f)))
	f.Add(keyed{records: "a=1", codec: codec.Zstd}.bytes(f))
	old, err := batch.AppendMessages(nil, 1, codec.Gzip, batch.CreateTime, keyed{records: "a=1 a=2"}.list())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(old)
	f.Fuzz(func(t *testing.T, p []byte) {
		for at := 0; len(p)-at >= batch.HeaderSize; {
			size := batch.DecodePrefix(p[at:]).Size()
			if size < batch.HeaderSize || size > int64(len(p)-at) {
				break
			}
			if entry := p[at : at+int(size)]; entry[16] == 2 {
				sum := batch.Checksum(entry)
				copy(entry[17:], []byte{byte(sum >> 24), byte(sum >> 16), byte(sum >> 8), byte(sum)})
			}
			at += int(size)
		}
		s := cleanSetup(t)
		l := s.open()
		writeSegments(t, l, keyed{records: "a=0"}, keyed{records: "a=3"})
		closeLog(t, l)
		name := "00000000000000000000.log"
		s.write(name, p)
		l, err := OpenLog(context.Background(), s.o)
		if err != nil {
			return
		}
		l.SetHighWatermark(math.MaxInt64)
		if _, err := l.Clean(context.Background(), cleanOptions(0, 0)); err != nil {
			if got := s.read(name); !bytes.Equal(got, p) {
				t.Errorf("%v, and the segment has changed", err)
			}
		} else {
			content(t, l)
		}
		wantNoLeftovers(t, s)
	})
}

// BenchmarkClean compacts a log half of whose records are old.
func BenchmarkClean(b *testing.B) {
	for _, id := range []codec.ID{codec.None, codec.LZ4} {
		b.Run(id.String(), func(b *testing.B) {
			s := cleanSetup(b)
			s.o.Config.SegmentBytes, s.o.Config.IndexIntervalBytes = 8<<20, 4096
			l := s.open()
			value := bytes.Repeat([]byte("0123456789abcdef"), 64)
			for i := range 400 {
				var rs []string
				for j := range 64 {
					rs = append(rs, fmt.Sprintf("key%d=%s", (i*64+j)*7%12800, value))
				}
				if _, err := l.Append(keyed{records: strings.Join(rs, " "), codec: id}.bytes(b), AppendOptions{}); err != nil {
					b.Fatal(err)
				}
			}
			l.SetHighWatermark(math.MaxInt64)
			rollNow(b, l)
			size := l.Size()
			closeLog(b, l)
			o := cleanOptions(0, 0)
			o.MapBytes, o.BufferBytes = 128<<20, 256<<10
			b.SetBytes(size)
			for b.Loop() {
				b.StopTimer()
				copied := *s
				copied.o.Dir = filepath.Join(b.TempDir(), "log")
				if err := os.CopyFS(copied.o.Dir, os.DirFS(s.o.Dir)); err != nil {
					b.Fatal(err)
				}
				l := copied.open()
				l.SetHighWatermark(math.MaxInt64)
				b.StartTimer()
				r, err := l.Clean(context.Background(), o)
				if err != nil || r.RecordsKept != 12800 {
					b.Fatalf("%+v, %v", r, err)
				}
				b.StopTimer()
				closeLog(b, l)
				b.StartTimer()
			}
		})
	}
}
