package storage

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"kf/internal/format/batch"
	"kf/internal/format/control"
	"kf/internal/storage/disk"
)

// testConfig is Kafka's default, without limits of time.
func testConfig() Config {
	return Config{
		SegmentBytes: 1 << 30, SegmentMs: 7 * 24 * 3600 * 1000, SegmentIndexBytes: 10 << 20, IndexIntervalBytes: 4096,
		FlushMessages: math.MaxInt64, FlushMs: math.MaxInt64, RetentionBytes: -1, RetentionMs: -1, FileDeleteDelayMs: 60000,
		Delete: true, MaxMessageBytes: 1048588, BeforeMaxMs: math.MaxInt64, AfterMaxMs: math.MaxInt64, ProducerExpirationMs: 86400000,
	}
}

// A spec is a batch to be made.
type spec struct {
	values   []string
	time     int64 // of all records
	producer int64 // with no epoch and sequence unless sent is set
	epoch    int16
	sequence int32
	sent     bool // by a producer with an ID
	txn      bool
	marker   control.Type // with end: a marker of that type
	end      bool
	at       int64 // base offset and leader epoch, for followers
	leader   int32
	magic    int8 // 0 stands for 2
}

// value returns a batch spec of one record.
func value(format string, args ...any) spec {
	return spec{values: []string{fmt.Sprintf(format, args...)}}
}

func (s spec) bytes(t testing.TB) []byte {
	t.Helper()
	h := batch.Header{BaseOffset: s.at, Magic: 2, PartitionLeaderEpoch: s.leader, BaseTimestamp: s.time, MaxTimestamp: s.time, ProducerID: -1, ProducerEpoch: -1, BaseSequence: -1}
	if s.sent || s.end {
		h.ProducerID, h.ProducerEpoch, h.BaseSequence = s.producer, s.epoch, s.sequence
	}
	if s.txn || s.end {
		h.Attributes |= batch.TransactionalBit
	}
	var records []batch.Record
	for i, v := range s.values {
		records = append(records, batch.Record{Offset: s.at + int64(i), Timestamp: s.time, Key: []byte("k"), Value: []byte(v)})
	}
	if s.end {
		h.Attributes |= batch.ControlBit
		h.BaseSequence = -1
		v, err := control.AppendValue(nil, &control.EndTxnMarker{})
		if err != nil {
			t.Fatal(err)
		}
		records = []batch.Record{{Offset: s.at, Timestamp: s.time, Key: control.AppendKey(nil, s.marker), Value: v}}
	}
	if s.magic == 1 {
		p, err := batch.AppendMessages(nil, 1, 0, batch.CreateTime, records)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	h.LastOffsetDelta = int32(len(records) - 1)
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

// A setup is how a test opens a log.
type setup struct {
	t       testing.TB
	o       LogOptions
	notices []string
}

func newSetup(t testing.TB) *setup {
	s := &setup{t: t}
	s.o = LogOptions{FS: disk.OS, Dir: t.TempDir(), Config: testConfig(), Clean: true, Files: NewFiles(100),
		Notice: func(n Notice) {
			s.notices = append(s.notices, fmt.Sprintf("%d %s: %s", n.Level, filepath.Base(n.Path), n.Message))
		}}
	return s
}

func (s *setup) open() *Log {
	s.t.Helper()
	s.notices = nil
	l, err := OpenLog(context.Background(), s.o)
	if err != nil {
		s.t.Fatal(err)
	}
	return l
}

// noticed fails unless there is exactly one notice, which has the words in it.
func (s *setup) noticed(words ...string) {
	s.t.Helper()
	if len(s.notices) != 1 {
		s.t.Errorf("%d notices: %q", len(s.notices), s.notices)
		return
	}
	for _, w := range words {
		if !strings.Contains(s.notices[0], w) {
			s.t.Errorf("notice %q does not say %q", s.notices[0], w)
		}
	}
}

func (s *setup) path(name string) string { return filepath.Join(s.o.Dir, name) }

// names returns the files of the directory.
func (s *setup) names() []string {
	entries, err := os.ReadDir(s.o.Dir)
	if err != nil {
		s.t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func (s *setup) read(name string) []byte {
	s.t.Helper()
	p, err := os.ReadFile(s.path(name))
	if err != nil {
		s.t.Fatal(err)
	}
	return p
}

func (s *setup) write(name string, p []byte) {
	s.t.Helper()
	if err := os.WriteFile(s.path(name), p, 0o644); err != nil {
		s.t.Fatal(err)
	}
}

// all returns the data records that a reader gets from the log start on, as
// "offset=value"; batches whose offsets overlap or fall fail the test.
func all(t testing.TB, l *Log, bound Bound) []string {
	t.Helper()
	var got []string
	d := batch.Decoder{MaxInflated: 1 << 20}
	for offset := l.LogStartOffset(); ; {
		r, err := l.Read(offset, 100, bound, true)
		if err != nil {
			t.Fatalf("read from %d: %v", offset, err)
		}
		p := make([]byte, r.Data.Len())
		if n, err := r.Data.ReadAt(p, 0); n != len(p) {
			t.Fatalf("region at %d: %v", offset, err)
		}
		r.Data.Release()
		aborted := map[int64]bool{}
		for _, a := range r.Aborted {
			aborted[a.ProducerID] = true
		}
		before := offset
		if _, err := headers(p, func(h *batch.Header, entry []byte) error {
			if h.LastOffset() < offset {
				t.Fatalf("batch %d-%d comes at offset %d", h.BaseOffset, h.LastOffset(), offset)
			}
			if err := h.Check(entry); err != nil {
				t.Fatal(err)
			}
			offset = h.LastOffset() + 1
			if h.Control() || h.Transactional() && aborted[h.ProducerID] {
				return nil
			}
			rs, err := d.Open(*h, entry)
			if err != nil {
				return err
			}
			for r, err := range rs.All() {
				if err != nil {
					return err
				}
				if r.Offset >= l.LogStartOffset() {
					got = append(got, fmt.Sprintf("%d=%s", r.Offset, r.Value))
				}
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if offset == before {
			return got
		}
	}
}

// append1 appends a batch, which must succeed.
func append1(t testing.TB, l *Log, s spec) Appended {
	t.Helper()
	o := AppendOptions{}
	if s.end {
		o.Origin = FromCoordinator
	}
	a, err := l.Append(s.bytes(t), o)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func wantAll(t testing.TB, l *Log, bound Bound, want ...string) {
	t.Helper()
	if got := all(t, l, bound); !slices.Equal(got, want) {
		t.Errorf("records %q, want %q", got, want)
	}
}

func closeLog(t testing.TB, l *Log) {
	t.Helper()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

func big(n int) string { return string(bytes.Repeat([]byte{'v'}, n)) }
