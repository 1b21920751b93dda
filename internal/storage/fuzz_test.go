package storage

import (
	"context"
	"errors"
	"os"
	"slices"
	"testing"

	"kf/internal/storage/disktest"
)

// Whatever the files of a partition hold, a start does not panic; what it serves
// then it serves after the next start too, and an append is found again.
func FuzzOpenLog(f *testing.F) {
	s := newSetup(f)
	segmented(f, s, 12, 100)
	log, index, times := s.read(log0), s.read(index0), s.read(time0)
	snapshot := s.read("00000000000000000012.snapshot")
	f.Add(log, index, times, []byte("0\n1\n0 0\n"), snapshot, true)
	f.Add(log, index, times, []byte{}, snapshot, false)
	f.Add(log[:200], index, times[:5], []byte("x"), []byte{}, true)
	f.Add(append(slices.Clone(log), make([]byte, 100)...), make([]byte, 800), []byte{}, []byte{}, snapshot[:3], true)
	f.Add(slices.Concat(log[73:], log), index[:3], times, []byte("0\n0\n"), snapshot, false)
	f.Add([]byte{}, index, times, []byte{}, snapshot, false)
	f.Fuzz(func(t *testing.T, log, index, times, epochs, snapshot []byte, clean bool) {
		s := newSetup(t)
		s.o.FS = disktest.New(nil)
		s.o.Clean = clean
		for name, p := range map[string][]byte{
			log0: log, index0: index, time0: times, "leader-epoch-checkpoint": epochs, "00000000000000000012.snapshot": snapshot,
		} {
			if err := os.WriteFile(s.path(name), p, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		l, err := OpenLog(context.Background(), s.o)
		if err != nil {
			t.Fatalf("start: %v", err)
		}
		end := l.LogEndOffset()
		for offset := l.LogStartOffset(); offset < end; offset = max(offset+1, end-3) {
			r, err := l.Read(offset, 1000, ToLogEnd, true)
			if err != nil && !errors.Is(err, ErrCorrupt) {
				t.Errorf("read at %d: %v", offset, err)
			}
			r.Data.Release()
		}
		if _, err := l.FindTime(1003, ToLogEnd); err != nil && !errors.Is(err, ErrUnreadable) && !errors.Is(err, ErrCorrupt) {
			t.Errorf("find: %v", err)
		}
		if end > 1<<62 {
			l.Abandon(ErrClosed)
			return // no room for another record
		}
		a, err := l.Append(value("fuzz").bytes(t), AppendOptions{})
		if err != nil {
			t.Fatalf("append: %v", err)
		}
		if err := l.Close(); err != nil {
			t.Fatalf("close: %v", err)
		}
		s.o.Clean = true
		if l, err = OpenLog(context.Background(), s.o); err != nil {
			t.Fatalf("next start: %v", err)
		}
		if l.LogEndOffset() != a.LastOffset+1 {
			t.Errorf("log end %d after the next start, want %d", l.LogEndOffset(), a.LastOffset+1)
		}
		r, err := l.Read(a.FirstOffset, 1000, ToLogEnd, true)
		if err != nil || r.Data.Len() == 0 {
			t.Errorf("the appended record: %d bytes, %v", r.Data.Len(), err)
		}
		r.Data.Release()
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

// Whatever a leader sends, a follower does not panic, and takes all of it or
// nothing.
func FuzzAppendAsFollower(f *testing.F) {
	one := value("v").bytes(f)
	f.Add(one)
	f.Add(slices.Concat(one, spec{values: []string{"a", "b"}, at: 1, sent: true, producer: 3, txn: true}.bytes(f), spec{end: true, producer: 3, at: 3}.bytes(f)))
	f.Add(one[:30])
	f.Add(spec{values: []string{"old"}, magic: 1}.bytes(f))
	f.Fuzz(func(t *testing.T, p []byte) {
		s := newSetup(t)
		s.o.FS = disktest.New(nil)
		l := s.open()
		a, err := l.AppendAsFollower(slices.Clone(p))
		if err != nil && (l.LogEndOffset() != 0 || l.Size() != 0) {
			t.Errorf("%v, and the log ends at %d", err, l.LogEndOffset())
		}
		if err == nil && a.LastOffset+1 != l.LogEndOffset() {
			t.Errorf("%+v, log end %d", a, l.LogEndOffset())
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
}
