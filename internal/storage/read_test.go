package storage

import (
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"kf/internal/format/batch"
	"kf/internal/format/codec"
	"kf/internal/storage/disk"
	"kf/internal/storage/disktest"
)

// Where a read begins and how much it gives.
func TestReadLimits(t *testing.T) {
	l := newSetup(t).open()
	defer l.Abandon(ErrClosed)
	for range 5 {
		append1(t, l, spec{values: []string{"a", "b", "c"}})
	}
	one := int(l.Size()) / 5
	l.SetHighWatermark(9)
	for _, tt := range []struct {
		offset   int64
		max      int
		bound    Bound
		whole    bool
		pos, len int // of the region
	}{
		{0, 1, ToLogEnd, true, 0, one},
		{0, 0, ToLogEnd, true, 0, one},
		{0, 1, ToLogEnd, false, 0, 0},  // the first batch does not fit
		{1, 1, ToLogEnd, true, 0, one}, // inside of a batch
		{2, 2 * one, ToLogEnd, true, 0, 2 * one},
		{3, 2*one + 5, ToLogEnd, false, one, 2*one + 5}, // cut
		{3, 1 << 20, ToLogEnd, true, one, 4 * one},
		{3, 1 << 20, ToHighWatermark, true, one, 2 * one},
		{8, 1 << 20, ToHighWatermark, true, 2 * one, one},
		{9, 1 << 20, ToHighWatermark, true, 0, 0},
		{12, 1 << 20, ToHighWatermark, true, 0, 0}, // behind the bound
		{12, 1 << 20, ToLastStableOffset, true, 0, 0},
		{15, 1 << 20, ToLogEnd, true, 0, 0},
		{15, 1 << 20, ToHighWatermark, true, 0, 0},
	} {
		r, err := l.Read(tt.offset, tt.max, tt.bound, tt.whole)
		if err != nil || r.Data.Len() != tt.len || tt.len > 0 && int(r.Data.Pos()) != tt.pos {
			t.Errorf("%+v: %d bytes at %d, %v", tt, r.Data.Len(), r.Data.Pos(), err)
		}
		if (tt.bound == ToLastStableOffset) != (r.Aborted != nil) {
			t.Errorf("%+v: aborted %v", tt, r.Aborted)
		}
		r.Data.Release()
	}
	for _, offset := range []int64{-1, 16} {
		if _, err := l.Read(offset, 1, ToHighWatermark, true); !errors.Is(err, ErrOffsetOutOfRange) {
			t.Errorf("offset %d: %v", offset, err)
		}
	}
	if start, err := l.RaiseLogStart(10); !errors.Is(err, ErrOffsetOutOfRange) || start != 0 {
		t.Errorf("log start above the high watermark: %d, %v", start, err)
	}
	for _, offset := range []int64{4, 2} {
		if start, err := l.RaiseLogStart(offset); err != nil || start != 4 {
			t.Errorf("log start to %d: %d, %v", offset, start, err)
		}
	}
	if _, err := l.Read(3, 1, ToLogEnd, true); !errors.Is(err, ErrOffsetOutOfRange) {
		t.Errorf("below the log start: %v", err)
	}
}

func TestRegion(t *testing.T) {
	s := newSetup(t)
	s.o.Config.FileDeleteDelayMs = 0
	l := s.open()
	append1(t, l, value("abc"))
	r, err := l.Read(0, 1000, ToLogEnd, true)
	if err != nil {
		t.Fatal(err)
	}
	want := s.read(log0)
	if f := r.Data.OS(); f == nil || f.Name() != s.path(log0) {
		t.Errorf("the file for sendfile: %v", f)
	}
	if err := l.TruncateAll(5); err != nil { // its file goes at once
		t.Fatal(err)
	}
	for slices.Contains(s.names(), log0+".deleted") {
		time.Sleep(time.Millisecond)
	}
	p := make([]byte, len(want))
	if n, err := r.Data.ReadAt(p, 0); n != len(p) || err != nil || string(p) != string(want) {
		t.Errorf("read of a deleted segment: %d, %v", n, err)
	}
	r.Data.Truncate(10)
	if n, err := r.Data.ReadAt(p[:8], 5); n != 5 || err == nil || r.Data.Len() != 10 {
		t.Errorf("read over the end: %d, %v", n, err)
	}
	if n, err := r.Data.ReadAt(p, 10); n != 0 || err == nil {
		t.Errorf("read at the end: %d, %v", n, err)
	}
	r.Data.Release()
	r.Data.Release()
	if r.Data.OS() != nil || r.Data.Len() != 0 {
		t.Error("a released region has a file")
	}
	closeLog(t, l)
}

// With room for few open files a log of many segments is read all the same.
func TestOpenFiles(t *testing.T) {
	s := newSetup(t)
	want := segmented(t, s, 100, 2)
	open, most := 0, 0
	var mu sync.Mutex
	s.o.FS = countingFS{disk.OS, func(d int) {
		mu.Lock()
		defer mu.Unlock()
		open += d
		most = max(most, open)
	}}
	s.o.Files = NewFiles(5)
	l := s.open()
	if open > 3 {
		t.Errorf("%d files are open after a clean start", open)
	}
	var held []Read
	for range 3 {
		wantAll(t, l, ToLogEnd, want...)
		r, err := l.Read(0, 10, ToLogEnd, true) // in use: cannot be closed
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, r)
	}
	if most > 9 { // five, those in use, and the one being opened
		t.Errorf("%d files were open at once", most)
	}
	for _, r := range held {
		r.Data.Release()
	}
	closeLog(t, l)
	if open != 0 {
		t.Errorf("%d files are left open", open)
	}
}

// Without descriptors left idle files are closed, and a read that gets none fails
// without harm to the log.
func TestOutOfDescriptors(t *testing.T) {
	s := newSetup(t)
	want := segmented(t, s, 60, 2)
	few := &fewFS{FS: disk.OS, left: 8}
	s.o.FS = few
	l := s.open()
	wantAll(t, l, ToLogEnd, want...)
	append1(t, l, value("new"))
	l.background.Wait() // a flush has files open
	var held []Read
	for offset := int64(0); ; offset += 2 {
		r, err := l.Read(offset, 10, ToLogEnd, true)
		if disk.OutOfDescriptors(err) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, r)
	}
	if len(held) < 4 {
		t.Errorf("only %d files were in use at once", len(held))
	}
	for _, r := range held {
		r.Data.Release()
	}
	wantAll(t, l, ToLogEnd, append(want, "60=new")...)
	closeLog(t, l)
}

// A fewFS has a limited number of descriptors.
type fewFS struct {
	disk.FS
	mu   sync.Mutex
	left int
}

func (f *fewFS) OpenFile(name string, flag int, perm os.FileMode) (disk.File, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.left == 0 {
		return nil, &os.PathError{Op: "open", Path: name, Err: syscall.EMFILE}
	}
	file, err := f.FS.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err
	}
	f.left--
	return countedFile{file, f.opened}, nil
}

func (f *fewFS) opened(d int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.left -= d
}

type countingFS struct {
	disk.FS
	opened func(d int)
}

func (c countingFS) OpenFile(name string, flag int, perm os.FileMode) (disk.File, error) {
	f, err := c.FS.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err
	}
	c.opened(1)
	return countedFile{f, c.opened}, nil
}

type countedFile struct {
	disk.File
	opened func(d int)
}

func (f countedFile) Close() error {
	f.opened(-1)
	return f.File.Close()
}

// A clean start of a large log reads its tail only, and a stop without an append
// writes nothing.
func TestCleanStartIsCheap(t *testing.T) {
	s := newSetup(t)
	s.o.Config.SegmentBytes = 1 << 20
	l := s.open()
	for range 3000 {
		append1(t, l, value("%s", big(1024)))
	}
	closeLog(t, l)
	s.o.RecoveryPoint = 3000
	var read atomic.Int64
	fs := disktest.New(nil)
	fs.Before = func(op disktest.Op) {
		if op.Kind == disktest.Read {
			read.Add(int64(op.Size))
		}
	}
	s.o.FS = fs
	l = s.open()
	if n := read.Load(); n > 64<<10 {
		t.Errorf("%d bytes read to open %d", n, l.Size())
	}
	closeLog(t, l)
	if n := fs.Ops(); n != 0 {
		t.Errorf("%d operations changed something", n)
	}
}

// Readers, appends, rolls, truncations and retention at the same time.
func TestConcurrent(t *testing.T) {
	s := newSetup(t)
	s.o.FS = disktest.New(nil)
	s.o.Config.SegmentBytes, s.o.Config.IndexIntervalBytes, s.o.Config.RetentionBytes, s.o.Config.FileDeleteDelayMs = 2000, 200, 6000, 0
	s.o.Files = NewFiles(4)
	l := s.open()
	var stop atomic.Bool
	var readers sync.WaitGroup
	var total atomic.Int64
	for range 4 {
		readers.Go(func() {
			for offset := int64(0); !stop.Load(); {
				r, err := l.Read(offset, 500, ToHighWatermark, true)
				if errors.Is(err, ErrOffsetOutOfRange) {
					offset = l.LogStartOffset()
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				if r.Data.Len() == 0 {
					offset = l.LogStartOffset()
					continue
				}
				p := make([]byte, r.Data.Len())
				n, _ := r.Data.ReadAt(p, 0) // short where a truncation cut
				r.Data.Release()
				first := true
				headers(p[:n], func(h *batch.Header, entry []byte) error {
					if err := h.Check(entry); err != nil && h.Length != 0 {
						return nil // overwritten behind a truncation
					}
					if first && h.LastOffset() < offset {
						t.Errorf("batch %d to %d at offset %d", h.BaseOffset, h.LastOffset(), offset)
					}
					first = false
					offset = h.LastOffset() + 1
					total.Add(1)
					return nil
				})
				if first {
					offset = l.LogStartOffset()
				}
				if _, err := l.FindTime(offset, ToLogEnd); err != nil && !errors.Is(err, ErrUnreadable) {
					t.Error(err)
				}
			}
		})
	}
	for i := range 600 {
		v := spec{values: []string{fmt.Sprint(i), "x"}, time: int64(i)}
		append1(t, l, v)
		l.SetHighWatermark(math.MaxInt64)
		switch {
		case i%100 == 50:
			if err := l.TruncateTo(l.LogEndOffset() - 9); err != nil {
				t.Fatal(err)
			}
		case i%40 == 0:
			if _, err := l.Retain(); err != nil {
				t.Fatal(err)
			}
		}
	}
	stop.Store(true)
	readers.Wait()
	if total.Load() == 0 {
		t.Error("nothing was read")
	}
	closeLog(t, l)
}

func TestFindTime(t *testing.T) {
	// Kafka's rules: the first record in the first segment that has one.
	l := newSetup(t).open()
	defer l.Abandon(ErrClosed)
	if f, err := l.FindTime(0, ToLogEnd); f != nothingFound || err != nil {
		t.Errorf("empty log: %+v, %v", f, err)
	}
	if f, err := l.MaxTime(); f != nothingFound || err != nil {
		t.Errorf("largest timestamp of an empty log: %+v, %v", f, err)
	}
	for i, ms := range []int64{2, 4, 6, 8} {
		if _, err := l.Append(spec{values: []string{"v"}, time: ms}.bytes(t), AppendOptions{LeaderEpoch: int32(i)}); err != nil {
			t.Fatal(err)
		}
	}
	l.SetHighWatermark(3)
	for _, tt := range []struct {
		time  int64
		bound Bound
		want  Found
	}{
		{2, ToLogEnd, Found{2, 0, 0}}, {3, ToLogEnd, Found{4, 1, 1}}, {4, ToLogEnd, Found{4, 1, 1}}, {5, ToLogEnd, Found{6, 2, 2}},
		{8, ToLogEnd, Found{8, 3, 3}}, {9, ToLogEnd, nothingFound}, {-5, ToLogEnd, Found{2, 0, 0}},
		{8, ToHighWatermark, nothingFound}, {6, ToHighWatermark, Found{6, 2, 2}}, {7, ToLastStableOffset, nothingFound},
	} {
		if f, err := l.FindTime(tt.time, tt.bound); f != tt.want || err != nil {
			t.Errorf("time %d: %+v, %v, want %+v", tt.time, f, err, tt.want)
		}
	}
	if _, err := l.RaiseLogStart(2); err != nil {
		t.Fatal(err)
	}
	if f, err := l.FindTime(3, ToLogEnd); f != (Found{6, 2, 2}) || err != nil {
		t.Errorf("below the log start: %+v, %v", f, err)
	}
}

// The record, not the end of its batch; the first of several; in every codec.
func TestMaxTime(t *testing.T) {
	for _, id := range []codec.ID{codec.None, codec.Gzip, codec.Snappy, codec.LZ4, codec.Zstd} {
		l := newSetup(t).open()
		h := batch.Header{Magic: 2, Attributes: int16(id), LastOffsetDelta: 2, BaseTimestamp: 1000, MaxTimestamp: 1010, ProducerID: -1, ProducerEpoch: -1, BaseSequence: -1}
		p, err := batch.Append(nil, h, func(yield func(*batch.Record) bool) {
			for i, ms := range []int64{1000, 1010, 1005} {
				yield(&batch.Record{Offset: int64(i), Timestamp: ms})
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := l.Append(slices.Clone(p), AppendOptions{}); err != nil {
			t.Fatal(err)
		}
		if _, err := l.Append(p, AppendOptions{}); err != nil {
			t.Fatal(err)
		}
		if f, err := l.MaxTime(); f != (Found{1010, 1, 0}) || err != nil {
			t.Errorf("%v: %+v, %v", id, f, err)
		}
		l.SetHighWatermark(math.MaxInt64)
		if _, err := l.RaiseLogStart(3); err != nil { // the record is gone
			t.Fatal(err)
		}
		if f, err := l.MaxTime(); f != (Found{1010, 4, 0}) || err != nil {
			t.Errorf("%v, behind the log start: %+v, %v", id, f, err)
		}
		l.Abandon(ErrClosed)
	}
}

func TestRetain(t *testing.T) {
	now := time.Now().UnixMilli()
	const hour = 3600_000
	for _, tt := range []struct {
		name   string
		change func(c *Config, l *Log)
		want   []int64 // base offsets left
	}{
		{"nothing", func(*Config, *Log) {}, []int64{0, 2, 4, 6}},
		{"by time", func(c *Config, _ *Log) { c.RetentionMs = 3*hour + hour/2 }, []int64{4, 6}},
		{"by time, all", func(c *Config, _ *Log) { c.RetentionMs = 1000 }, []int64{8}},
		{"by size", func(c *Config, _ *Log) { c.RetentionBytes = 2 * int64(c.SegmentBytes) }, []int64{4, 6}},
		{"by size, not quite", func(c *Config, _ *Log) { c.RetentionBytes = 2*int64(c.SegmentBytes) + 1 }, []int64{2, 4, 6}},
		{"by size, all", func(c *Config, _ *Log) { c.RetentionBytes = 0 }, []int64{8}},
		{"log start offset", func(_ *Config, l *Log) { l.RaiseLogStart(5) }, []int64{4, 6}},
		{"above the high watermark", func(c *Config, l *Log) { c.RetentionBytes = 0; l.SetHighWatermark(5) }, []int64{4, 6}},
		{"compacted", func(c *Config, l *Log) {
			c.RetentionBytes, c.RetentionMs, c.Compact, c.Delete = 0, 0, true, false
			l.RaiseLogStart(2)
		}, []int64{2, 4, 6}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				time.Sleep(time.Until(time.UnixMilli(now)))
				s := newSetup(t)
				one := len(value("v").bytes(t))
				s.o.Config.SegmentBytes = int32(2 * one)
				l := s.open()
				for i := range 8 { // segments end 7, 5, 3 hours ago, and one
					v := value("v")
					v.time = now - int64(8-i)*hour
					append1(t, l, v)
				}
				l.SetHighWatermark(math.MaxInt64)
				c := s.o.Config
				tt.change(&c, l)
				l.SetConfig(c)
				n, err := l.Retain()
				if err != nil || n != 4-len(slices.DeleteFunc(slices.Clone(tt.want), func(b int64) bool { return b == 8 })) {
					t.Errorf("%d deleted, %v", n, err)
				}
				if got := bases(l); !slices.Equal(got, tt.want) || l.LogStartOffset() < tt.want[0] {
					t.Errorf("segments %v from %d on, want %v", got, l.LogStartOffset(), tt.want)
				}
				deleted := func() (n int) {
					for _, name := range s.names() {
						if strings.HasSuffix(name, ".deleted") {
							n++
						}
					}
					return n
				}
				if n > 0 && deleted() < 3*n {
					t.Errorf("files %q", s.names())
				}
				time.Sleep(61 * time.Second)
				synctest.Wait()
				if n := deleted(); n > 0 {
					t.Errorf("%d files are left after the delay", n)
				}
				closeLog(t, l)
			})
		})
	}
}

// Producers that wrote nothing for long are forgotten, unless a transaction of
// theirs is open.
func TestProducerExpiry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newSetup(t).open()
		open := produced(2, 0, 0, 1)
		open.txn = true
		append1(t, l, produced(1, 0, 0, 1))
		append1(t, l, open)
		for _, want := range []int{2, 1} {
			time.Sleep(12 * time.Hour)
			if _, err := l.Retain(); err != nil {
				t.Fatal(err)
			}
			if n := len(l.producers.byID); n != want {
				t.Errorf("%d producers, want %d", n, want)
			}
		}
		append1(t, l, produced(1, 0, 7, 1)) // starts anew
		closeLog(t, l)
	})
}
