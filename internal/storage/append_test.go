package storage

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"kf/internal/format/batch"
	"kf/internal/format/control"
	"kf/internal/storage/disktest"
)

func produced(producer int64, epoch int16, sequence int32, n int) spec {
	s := spec{time: time.Now().UnixMilli(), sent: true, producer: producer, epoch: epoch, sequence: sequence}
	for i := range n {
		s.values = append(s.values, fmt.Sprintf("p%d.%d", producer, int(sequence)+i))
	}
	return s
}

func TestIdempotence(t *testing.T) {
	s := newSetup(t)
	l := s.open()
	defer l.Abandon(ErrClosed)
	for i, tt := range []struct {
		batch     spec
		duplicate int64 // first offset of the earlier one, -1 if it is appended
		err       error
	}{
		{produced(1, 0, 5, 1), -1, nil}, // an unknown producer starts anywhere
		{produced(1, 0, 7, 1), -1, ErrSequence},
		{produced(1, 0, 6, 4), -1, nil},
		{produced(1, 0, 5, 1), 0, nil},
		{produced(1, 0, 6, 4), 1, nil},
		{produced(1, 0, 6, 3), -1, ErrSequence}, // starts like one, and is another
		{produced(1, 0, 10, 1), -1, nil},
		{produced(1, 0, 11, 1), -1, nil},
		{produced(1, 0, 12, 1), -1, nil},
		{produced(1, 0, 5, 1), 0, nil}, // the fifth last
		{produced(1, 0, 13, 1), -1, nil},
		{produced(1, 0, 5, 1), -1, ErrSequence}, // the sixth last
		{produced(1, 1, 14, 1), -1, ErrSequence},
		{produced(1, 1, 0, 1), -1, nil},
		{produced(1, 0, 14, 1), -1, ErrProducerEpoch},
		{produced(1, 1, 1, 1), -1, nil},
		{produced(2, 0, math.MaxInt32-1, 4), -1, nil}, // to sequence 1, over the end
		{produced(2, 0, 2, 1), -1, nil},
		{produced(2, 0, math.MaxInt32-1, 4), 11, nil},
		{produced(3, 0, math.MaxInt32, 1), -1, nil},
		{produced(3, 0, 0, 1), -1, nil},
	} {
		end := l.LogEndOffset()
		a, err := l.Append(tt.batch.bytes(t), AppendOptions{})
		switch {
		case !errors.Is(err, tt.err):
			t.Errorf("append %d: %v, want %v", i, err, tt.err)
		case err != nil || tt.duplicate >= 0:
			if l.LogEndOffset() != end {
				t.Errorf("append %d: something was written", i)
			}
			if err == nil && (!a.Duplicate || a.FirstOffset != tt.duplicate || a.LastOffset != tt.duplicate+int64(len(tt.batch.values))-1 || a.LogAppendTime <= 0) {
				t.Errorf("append %d: %+v, want a duplicate of offset %d", i, a, tt.duplicate)
			}
		case a.Duplicate || a.FirstOffset != end || a.LastOffset != end+int64(len(tt.batch.values))-1:
			t.Errorf("append %d: %+v at %d", i, a, end)
		}
	}
}

func TestTransactions(t *testing.T) {
	s := newSetup(t)
	s.o.Config.SegmentBytes, s.o.Config.SegmentMs = 600, math.MaxInt64
	l := s.open()
	data := func(producer int64, sequence int32) spec {
		d := produced(producer, 0, sequence, 1)
		d.txn = true
		return d
	}
	end := func(producer int64, m control.Type) spec {
		return spec{end: true, marker: m, producer: producer, time: time.Now().UnixMilli()}
	}
	stable := func(want int64) {
		t.Helper()
		l.SetHighWatermark(math.MaxInt64)
		if got := l.LastStableOffset(); got != want {
			t.Errorf("last stable offset %d at log end %d, want %d", got, l.LogEndOffset(), want)
		}
	}
	append1(t, l, value("plain"))
	stable(1)
	append1(t, l, data(1, 0))
	stable(1)
	append1(t, l, data(2, 0))
	append1(t, l, value("more"))
	wantAll(t, l, ToLastStableOffset, "0=plain")
	if _, err := l.Append(produced(1, 0, 1, 1).bytes(t), AppendOptions{}); !errors.Is(err, ErrTxnState) {
		t.Errorf("data outside of the open transaction: %v", err)
	}
	append1(t, l, data(1, 1))
	append1(t, l, end(1, control.Abort))
	stable(2)
	append1(t, l, end(2, control.Commit))
	stable(7)
	for i := range 6 { // rolls
		append1(t, l, value("%d", i))
	}
	append1(t, l, data(1, 2))
	append1(t, l, end(1, control.Abort))
	append1(t, l, data(3, 0))
	want := []string{"0=plain", "2=p2.0", "3=more", "7=0", "8=1", "9=2", "10=3", "11=4", "12=5"}
	stable(15)
	wantAll(t, l, ToLastStableOffset, want...)
	closeLog(t, l)
	for _, clean := range []bool{true, false} {
		s.o.Clean, s.o.HighWatermark = clean, math.MaxInt64
		index := s.read("00000000000000000000.txnindex")
		l = s.open()
		stable(15)
		wantAll(t, l, ToLastStableOffset, want...)
		r, err := l.Read(0, 1<<20, ToLastStableOffset, true)
		if err != nil || !slices.Equal(r.Aborted, []AbortedTxn{{1, 1}}) {
			t.Errorf("aborted in the first segment: %v, %v", r.Aborted, err)
		}
		r.Data.Release()
		if r, err = l.Read(13, 1<<20, ToLastStableOffset, true); err != nil || !slices.Equal(r.Aborted, []AbortedTxn{{1, 13}}) {
			t.Errorf("aborted in the last one: %v, %v", r.Aborted, err)
		}
		r.Data.Release()
		closeLog(t, l)
		if got := s.read("00000000000000000000.txnindex"); !slices.Equal(got, index) {
			t.Errorf("clean %v: the transaction index changed", clean)
		}
	}
}

// A marker counts only when it is committed.
func TestUnreplicatedMarker(t *testing.T) {
	l := newSetup(t).open()
	defer l.Abandon(ErrClosed)
	d := produced(1, 0, 0, 1)
	d.txn = true
	append1(t, l, d)
	append1(t, l, spec{end: true, marker: control.Commit, producer: 1})
	append1(t, l, value("v"))
	for high, want := range []int64{0, 0, 2, 3} {
		l.SetHighWatermark(int64(high))
		if got := l.LastStableOffset(); got != want {
			t.Errorf("high watermark %d: last stable offset %d, want %d", high, got, want)
		}
	}
}

func TestMarkerFencing(t *testing.T) {
	l := newSetup(t).open()
	defer l.Abandon(ErrClosed)
	d := produced(1, 3, 0, 1)
	d.txn = true
	append1(t, l, d)
	old := spec{end: true, marker: control.Abort, producer: 1, epoch: 2}
	if _, err := l.Append(old.bytes(t), AppendOptions{Origin: FromCoordinator}); !errors.Is(err, ErrProducerEpoch) {
		t.Errorf("marker of an old epoch: %v", err)
	}
	newer := spec{end: true, marker: control.Abort, producer: 1, epoch: 4}
	append1(t, l, newer)
	if _, err := l.Append(produced(1, 3, 1, 1).bytes(t), AppendOptions{}); !errors.Is(err, ErrProducerEpoch) {
		t.Errorf("data after the epoch was raised: %v", err)
	}
	if _, err := l.Append(newer.bytes(t), AppendOptions{}); !errors.Is(err, ErrInvalidRecord) {
		t.Errorf("marker from a client: %v", err)
	}
	l.producers.byID[1].coordinator = 5
	if _, err := l.Append(newer.bytes(t), AppendOptions{Origin: FromCoordinator}); !errors.Is(err, ErrCoordinatorFenced) {
		t.Errorf("marker of an old coordinator: %v", err)
	}
}

func TestFollower(t *testing.T) {
	s := newSetup(t)
	l := s.open()
	at := func(offset int64, leader int32, values ...string) []byte {
		return spec{values: values, at: offset, leader: leader, time: offset}.bytes(t)
	}
	several := slices.Concat(at(0, 1, "a", "b"), at(2, 1, "c"), at(7, 3, "d")) // a gap
	a, err := l.AppendAsFollower(append(several, several[:30]...))             // part of another one
	if err != nil || a.FirstOffset != 0 || a.LastOffset != 7 {
		t.Errorf("several batches: %+v, %v", a, err)
	}
	wantAll(t, l, ToLogEnd, "0=a", "1=b", "2=c", "7=d")
	for name, p := range map[string][]byte{
		"below the log end": at(7, 3, "x"),
		"falling":           slices.Concat(at(20, 3, "x"), at(19, 3, "y")),
		"overlapping":       slices.Concat(at(20, 3, "x", "y"), at(21, 3, "z")),
	} {
		if _, err := l.AppendAsFollower(p); err == nil || l.LogEndOffset() != 8 {
			t.Errorf("%s: %v, log end %d", name, err, l.LogEndOffset())
		}
	}
	torn := at(8, 3, "x")
	torn[len(torn)-1] ^= 1
	if _, err := l.AppendAsFollower(torn); !errors.Is(err, ErrCorrupt) {
		t.Errorf("wrong checksum: %v", err)
	}
	if a, err := l.AppendAsFollower(at(8, 3, "x")[:20]); err != nil || a.FirstOffset != 8 || a.LastOffset != 7 {
		t.Errorf("no whole batch: %+v, %v", a, err)
	}
	for _, tt := range []struct {
		epoch, found int32
		end          int64
	}{{0, 0, 0}, {1, 1, 7}, {2, 1, 7}, {3, 3, 8}, {4, -1, -1}, {-1, -1, -1}} {
		if found, end := l.EpochEnd(tt.epoch); found != tt.found || end != tt.end {
			t.Errorf("epoch %d: %d ends at %d, want %d at %d", tt.epoch, found, end, tt.found, tt.end)
		}
	}
	if e := []int32{l.EpochAt(0), l.EpochAt(6), l.EpochAt(7)}; !slices.Equal(e, []int32{1, 1, 3}) {
		t.Errorf("epochs of offsets 0, 6, 7: %v", e)
	}
	// Messages of magic 1 have no leader epoch: what is known of them is void.
	if _, err := l.AppendAsFollower(spec{values: []string{"old"}, at: 8, magic: 1, time: 8}.bytes(t)); err != nil {
		t.Fatal(err)
	}
	if _, ok := l.LatestEpoch(); ok {
		t.Error("leader epochs after a message of magic 1")
	}
	if err := l.BecomeLeader(9); err != nil {
		t.Fatal(err)
	}
	if found, end := l.EpochEnd(9); found != 9 || end != 9 {
		t.Errorf("as a new leader: %d ends at %d", found, end)
	}
	closeLog(t, l)
	s.o.Clean = false
	l = s.open()
	wantAll(t, l, ToLogEnd, "0=a", "1=b", "2=c", "7=d", "8=old")
	closeLog(t, l)
}

func bases(l *Log) []int64 {
	var all []int64
	for _, s := range l.segments() {
		all = append(all, s.base)
	}
	return all
}

func TestRoll(t *testing.T) {
	one := len(value("v").bytes(t))
	timed := func(ms int64) spec { v := value("v"); v.time = ms; return v }
	for _, tt := range []struct {
		name   string
		change func(c *Config)
		times  []int64
		want   []int64
	}{
		{"size", func(c *Config) { c.SegmentBytes = int32(2 * one) }, []int64{1, 1, 1, 1, 1}, []int64{0, 2, 4}},
		{"time", func(c *Config) { c.SegmentMs = 10 }, []int64{100, 110, 111, 111, 122}, []int64{0, 2, 4}},
		{"time that goes back", func(c *Config) { c.SegmentMs = 10 }, []int64{100, 50, 110, 50, 111}, []int64{0, 4}},
		{"compaction lag", func(c *Config) { c.MaxCompactionLagMs, c.Compact = 10, true }, []int64{100, 111}, []int64{0, 1}},
		{"full offset index", func(c *Config) { c.SegmentIndexBytes, c.IndexIntervalBytes = 48, 1 }, []int64{1, 1, 1, 1, 1, 1, 1, 1}, []int64{0, 7}},
		{"full time index", func(c *Config) { c.SegmentIndexBytes, c.IndexIntervalBytes = 36, 1 }, []int64{1, 2, 3, 4, 5, 6, 7}, []int64{0, 3, 6}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newSetup(t)
			tt.change(&s.o.Config)
			l := s.open()
			var want []string
			for i, ms := range tt.times {
				append1(t, l, timed(ms))
				want = append(want, fmt.Sprintf("%d=v", i))
			}
			if got := bases(l); !slices.Equal(got, tt.want) {
				t.Errorf("segments %v, want %v", got, tt.want)
			}
			wantAll(t, l, ToLogEnd, want...)
			closeLog(t, l)
			for _, base := range tt.want[1:] {
				s.read(fmt.Sprintf("%020d.snapshot", base))
			}
			l = s.open()
			wantAll(t, l, ToLogEnd, want...)
			closeLog(t, l)
		})
	}
}

// A start changes nothing in when the next batch gets an index entry, so that no
// segment has more batches than Kafka can index when it recovers it.
func TestRollAcrossStarts(t *testing.T) {
	for _, clean := range []bool{true, false} {
		s := newSetup(t)
		s.o.Config.SegmentIndexBytes, s.o.Config.IndexIntervalBytes = 48, 1
		for range 8 {
			s.o.Clean = clean
			l := s.open()
			append1(t, l, value("v"))
			closeLog(t, l)
		}
		l := s.open()
		if got, want := bases(l), []int64{0, 7}; !slices.Equal(got, want) {
			t.Errorf("clean stops %t: segments %v, want %v", clean, got, want)
		}
		closeLog(t, l)
	}
}

// The first append of a segment counts also after a start, and without timestamps
// its age.
func TestRollByAge(t *testing.T) {
	s := newSetup(t)
	s.o.Config.SegmentMs = 1000
	timed := func(ms int64) spec { v := value("v"); v.time = ms; return v }
	l := s.open()
	append1(t, l, timed(5000))
	closeLog(t, l)
	l = s.open()
	append1(t, l, timed(6000))
	append1(t, l, timed(6001))
	if got := bases(l); !slices.Equal(got, []int64{0, 2}) {
		t.Errorf("segments %v", got)
	}
	closeLog(t, l)
	synctest.Test(t, func(t *testing.T) {
		l := s.open()
		none := timed(-1)
		append1(t, l, none)
		if got := len(bases(l)); got != 2 {
			t.Errorf("%d segments", got)
		}
		if err := l.TruncateAll(10); err != nil {
			t.Fatal(err)
		}
		append1(t, l, none)
		time.Sleep(1001 * time.Millisecond)
		append1(t, l, none)
		if got := bases(l); !slices.Equal(got, []int64{10, 11}) {
			t.Errorf("segments %v", got)
		}
		closeLog(t, l)
	})
}

// An offset that the indexes of the segment cannot name makes a new one.
func TestRollByOffset(t *testing.T) {
	l := newSetup(t).open()
	defer l.Abandon(ErrClosed)
	for _, offset := range []int64{0, math.MaxInt32, math.MaxInt32 + 1, 1 << 40} {
		if _, err := l.AppendAsFollower(spec{values: []string{"v"}, at: offset}.bytes(t)); err != nil {
			t.Fatal(err)
		}
	}
	if got := bases(l); !slices.Equal(got, []int64{0, math.MaxInt32 + 1, 1 << 40}) {
		t.Errorf("segments %v", got)
	}
}

func TestPreallocate(t *testing.T) {
	s := newSetup(t)
	s.o.Config.Preallocate, s.o.Config.SegmentBytes = true, 5000
	l := s.open()
	append1(t, l, value("a"))
	if n := len(s.read(log0)); n != 5000 {
		t.Errorf("the file has %d bytes while it is written", n)
	}
	wantAll(t, l, ToLogEnd, "0=a")
	l.Abandon(ErrClosed) // a kill
	s.o.Clean = false
	l = s.open()
	s.noticed("0 ", "zeros")
	append1(t, l, value("b"))
	closeLog(t, l)
	wantAll(t, s.open(), ToLogEnd, "0=a", "1=b")
	if n := len(s.read(log0)); n >= 5000 {
		t.Errorf("the file has %d bytes after a clean stop", n)
	}
}

// While a log is in use its indexes have their full size, after a clean stop none.
func TestIndexSizes(t *testing.T) {
	s := newSetup(t)
	sizes := func(index, times int) {
		t.Helper()
		if a, b := len(s.read(index0)), len(s.read(time0)); a != index || b != times {
			t.Errorf("indexes of %d and %d bytes, want %d and %d", a, b, index, times)
		}
	}
	l := s.open()
	sizes(10485760, 10485756)
	v := value("v")
	v.time = 5
	append1(t, l, v)
	closeLog(t, l)
	sizes(0, 12)
}

// Appends that wait for the disk share its syncs, and return after one.
func TestGroupCommit(t *testing.T) {
	s := newSetup(t)
	var mu sync.Mutex
	syncs, done := 0, make(chan struct{})
	entered := make(chan struct{}, 100)
	fs := disktest.New(nil)
	fs.Before = func(op disktest.Op) {
		if op.Kind == disktest.Sync && strings.HasSuffix(op.Path, ".log") {
			entered <- struct{}{}
			<-done
			mu.Lock()
			syncs++
			mu.Unlock()
		}
	}
	s.o.FS = fs
	s.o.Config.Sync = true
	l := s.open()
	var wg sync.WaitGroup
	returned := make(chan int64, 20)
	appendOne := func() {
		wg.Go(func() {
			a, err := l.Append(value("v").bytes(t), AppendOptions{})
			if err != nil {
				t.Error(err)
			}
			if l.RecoveryPoint() <= a.LastOffset {
				t.Errorf("offset %d returned, recovery point is %d", a.LastOffset, l.RecoveryPoint())
			}
			returned <- a.LastOffset
		})
	}
	appendOne()
	<-entered // the first one waits for the disk
	for range 19 {
		appendOne()
	}
	for l.LogEndOffset() < 20 { // the others are written, and wait
		time.Sleep(time.Millisecond)
	}
	if len(returned) > 0 {
		t.Error("an append returned before its bytes were on the disk")
	}
	close(done)
	wg.Wait()
	if syncs != 2 {
		t.Errorf("%d syncs for 20 appends, want 2", syncs)
	}
	l.Abandon(ErrClosed)
}

func TestFlushSettings(t *testing.T) {
	s := newSetup(t)
	s.o.FS = disktest.New(nil)
	s.o.Config.FlushMessages = 3
	l := s.open()
	for i, want := range []int64{0, 0, 3, 3, 3, 6} {
		append1(t, l, value("v"))
		if got := l.RecoveryPoint(); got != want {
			t.Errorf("recovery point %d after %d messages, want %d", got, i+1, want)
		}
	}
	closeLog(t, l)
	synctest.Test(t, func(t *testing.T) {
		s.o.Config.FlushMessages, s.o.Config.FlushMs = math.MaxInt64, 500
		l := s.open()
		append1(t, l, value("v"))
		time.Sleep(499 * time.Millisecond)
		synctest.Wait()
		if got := l.RecoveryPoint(); got != 6 {
			t.Errorf("recovery point %d too early", got)
		}
		append1(t, l, value("v"))
		time.Sleep(2 * time.Millisecond)
		synctest.Wait()
		if got := l.RecoveryPoint(); got != 8 {
			t.Errorf("recovery point %d after flush.ms, want 8", got)
		}
		closeLog(t, l)
	})
}

func TestRefused(t *testing.T) {
	s := newSetup(t)
	s.o.Config.MaxMessageBytes, s.o.Config.SegmentBytes = 500, 400
	l := s.open()
	flip := value("v").bytes(t)
	flip[len(flip)-1] ^= 1
	for _, tt := range []struct {
		p   []byte
		err error
	}{
		{flip, ErrCorrupt},
		{value("%s", big(600)).bytes(t), ErrTooLarge},
		{value("%s", big(400)).bytes(t), ErrBatchTooLarge},
		{spec{values: []string{"v"}, at: 3}.bytes(t), ErrInvalidRecord},
		{nil, ErrInvalidRecord},
	} {
		if _, err := l.Append(tt.p, AppendOptions{}); !errors.Is(err, tt.err) || l.LogEndOffset() != 0 || l.Size() != 0 {
			t.Errorf("%v, want %v; log end %d", err, tt.err, l.LogEndOffset())
		}
	}
	closeLog(t, l)
	if _, err := l.Append(value("v").bytes(t), AppendOptions{}); !errors.Is(err, ErrClosed) {
		t.Errorf("append to a closed log: %v", err)
	}
	if _, err := l.Read(0, 1, ToLogEnd, true); !errors.Is(err, ErrClosed) {
		t.Errorf("read of a closed log: %v", err)
	}
	if err := l.Close(); !errors.Is(err, ErrClosed) {
		t.Errorf("second close: %v", err)
	}
}

// LogAppendTime gives later batches later times.
func TestAppendTime(t *testing.T) {
	s := newSetup(t)
	s.o.Config.AppendTime = true
	l := s.open()
	defer l.Abandon(ErrClosed)
	a := append1(t, l, value("v"))
	r, err := l.Read(0, 1000, ToLogEnd, true)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Data.Release()
	p := make([]byte, r.Data.Len())
	r.Data.ReadAt(p, 0)
	h, err := batch.DecodeHeader(p)
	if err != nil || h.Check(p) != nil || h.TimestampType() != batch.LogAppendTime || h.MaxTimestamp != a.LogAppendTime || a.LogAppendTime <= 0 {
		t.Errorf("%+v, %v, %+v", h, err, a)
	}
}
