package storage

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	"kf/internal/format/control"
	"kf/internal/storage/disktest"
)

// A witness knows what a log has acknowledged.
type witness struct {
	records  map[int64]string
	first    map[int64]int64 // offset of a record: the first offset of its batch
	end      int64
	start    int64 // log start offset that was acknowledged
	recovery int64 // recovery point that a checkpoint may hold

	// What an operation that is under way may have done already.
	doing      map[int64]string // appended
	raising    int64            // log start offset
	truncating int64            // records from here on may be gone; -1 if not
}

func newWitness() *witness {
	return &witness{records: map[int64]string{}, first: map[int64]int64{}, truncating: -1}
}

func (w *witness) append(t testing.TB, l *Log, s spec) error {
	w.doing = map[int64]string{}
	for i, v := range s.values {
		w.doing[w.end+int64(i)] = v
	}
	o := AppendOptions{}
	if s.end {
		o.Origin = FromCoordinator
	}
	a, err := l.Append(s.bytes(t), o)
	if err != nil {
		return err
	}
	if a.FirstOffset != w.end {
		t.Errorf("appended at %d, want %d", a.FirstOffset, w.end)
	}
	maps.Copy(w.records, w.doing)
	for o := range w.doing {
		w.first[o] = w.end
	}
	w.end, w.doing = a.LastOffset+1, nil
	l.background.Wait()
	l.SetHighWatermark(w.end)
	w.recovery = l.RecoveryPoint()
	return nil
}

func (w *witness) raise(l *Log, offset int64) error {
	w.raising = offset
	start, err := l.RaiseLogStart(offset)
	w.start = start
	return err
}

func (w *witness) retain(l *Log) error {
	w.raising = w.end // as much as all may go
	_, err := l.Retain()
	if err == nil {
		w.start, w.raising = l.LogStartOffset(), 0
	}
	return err
}

func (w *witness) truncate(l *Log, offset int64) error {
	from := offset
	if first, ok := w.first[offset]; ok {
		from = first // a batch goes as a whole
	}
	w.truncating = from
	if err := l.TruncateTo(offset); err != nil {
		return err
	}
	maps.DeleteFunc(w.records, func(o int64, _ string) bool { return o >= from })
	w.end, w.truncating, w.recovery = offset, -1, l.RecoveryPoint()
	return nil
}

// check compares what a log that was opened again has.
func (w *witness) check(l *Log) error {
	var got []string
	t := &recorder{}
	got = all(t, l, ToLogEnd)
	if t.err != nil {
		return t.err
	}
	have := map[int64]string{}
	last := int64(-1)
	for _, g := range got {
		var offset int64
		var v string
		fmt.Sscanf(g, "%d=%s", &offset, &v)
		if offset <= last {
			return fmt.Errorf("offset %d after %d", offset, last)
		}
		last, have[offset] = offset, v
	}
	lost := func(o int64) bool { return o < max(w.start, w.raising) || w.truncating >= 0 && o >= w.truncating }
	gone := int64(-1) // first record that a truncation took
	for _, o := range slices.Sorted(maps.Keys(w.records)) {
		v, ok := have[o]
		switch {
		case ok && v != w.records[o]:
			return fmt.Errorf("offset %d is %q, want %q", o, v, w.records[o])
		case ok && gone >= 0:
			return fmt.Errorf("offset %d is there, and %d is not", o, gone)
		case !ok && !lost(o):
			return fmt.Errorf("offset %d is lost; log is %d to %d", o, l.LogStartOffset(), l.LogEndOffset())
		case !ok && o >= max(w.start, w.raising):
			gone = o
		}
		delete(have, o)
	}
	for o, v := range have {
		if w.doing[o] != v {
			return fmt.Errorf("offset %d=%q was never acknowledged, nor under way", o, v)
		}
	}
	return nil
}

// A recorder keeps the first failure of a helper.
type recorder struct {
	testing.TB
	err error
}

func (r *recorder) Helper() {}
func (r *recorder) Fatalf(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf(format, args...)
	}
	panic(r)
}
func (r *recorder) Fatal(args ...any) { r.Fatalf("%v", args) }

// life is what happens to the log until an operation fails.
func life(t testing.TB, s *setup, w *witness) error {
	s.o.Config.SegmentBytes, s.o.Config.IndexIntervalBytes, s.o.Config.SegmentIndexBytes = 600, 100, 400
	s.o.Config.RetentionBytes, s.o.Config.FileDeleteDelayMs = 1000, 3600_000
	sequence := int32(0)
	data := func(n int, txn bool) spec {
		values := make([]string, n)
		for i := range values {
			values[i] = fmt.Sprintf("r%d.%d", sequence, i)
		}
		sp := spec{values: values, time: 1000 + int64(sequence), sent: true, producer: 7, sequence: sequence, txn: txn}
		sequence += int32(n)
		return sp
	}
	for run := range 2 {
		l, err := OpenLog(context.Background(), s.o)
		if err != nil {
			return err
		}
		defer l.Abandon(ErrClosed)
		l.SetHighWatermark(w.end)
		if err := l.BecomeLeader(int32(run)); err != nil {
			return err
		}
		for i := range 6 - 5*run { // the second run is short
			if err := w.append(t, l, data(1+i%3, false)); err != nil {
				return err
			}
		}
		if run > 0 {
			return l.Close()
		}
		for _, m := range []control.Type{control.Abort, control.Commit} {
			if err := w.append(t, l, data(2, true)); err != nil {
				return err
			}
			if err := w.append(t, l, spec{end: true, marker: m, producer: 7, time: 5000}); err != nil {
				return err
			}
		}
		if err := w.truncate(l, w.end-8); err != nil {
			return err
		}
		sequence = 0
		l.mu.Lock()
		if p := l.producers.byID[7]; p != nil && p.n > 0 {
			sequence = p.batches[p.n-1].lastSequence + 1
		}
		l.mu.Unlock()
		for i := range 4 {
			if err := w.append(t, l, data(1+i%2, false)); err != nil {
				return err
			}
		}
		if err := w.raise(l, w.end-10); err != nil {
			return err
		}
		if err := w.retain(l); err != nil {
			return err
		}
		if err := l.Flush(); err != nil {
			return err
		}
		w.recovery = l.RecoveryPoint()
		if err := w.append(t, l, data(1, false)); err != nil {
			return err
		}
		if err := l.Close(); err != nil {
			return err
		}
		s.o.LogStartOffset, s.o.HighWatermark, s.o.RecoveryPoint = w.start, w.end, w.end
	}
	return nil
}

// operations returns the kinds of the operations of a life without a fault.
func operations(t *testing.T) []disktest.Kind {
	var kinds []disktest.Kind
	s := newSetup(t)
	s.o.FS = disktest.New(func(op disktest.Op) disktest.Fault {
		if op.Kind != disktest.Read {
			kinds = append(kinds, op.Kind)
		}
		return disktest.Fault{}
	})
	if err := life(t, s, newWitness()); err != nil {
		t.Fatal(err)
	}
	if len(kinds) < 90 {
		t.Fatalf("only %d operations", len(kinds))
	}
	return kinds
}

// A kill between any two operations, or in the middle of any write, loses nothing
// that was acknowledged, and the next start succeeds.
func TestKillAnywhere(t *testing.T) {
	for n, kind := range operations(t) {
		for _, percent := range []int{0, 50} {
			if percent > 0 && kind != disktest.Write {
				continue
			}
			s := newSetup(t)
			s.o.FS = disktest.New(disktest.StopAt(n, percent))
			w := newWitness()
			if err := life(t, s, w); !errors.Is(err, disktest.ErrStopped) {
				t.Fatalf("stopped at %d: %v", n, err)
			}
			after(t, s, w, fmt.Sprintf("stopped at %d, %s, %d%% of it done", n, kind, percent))
		}
	}
}

// after starts again, twice, on what a failure left.
func after(t *testing.T, s *setup, w *witness, label string) {
	t.Helper()
	real := *s
	real.o.FS = disktest.New(nil)
	real.o.Clean = false
	real.o.RecoveryPoint, real.o.LogStartOffset = w.recovery, w.start
	for i := range 2 {
		l, err := OpenLog(context.Background(), real.o)
		if err != nil {
			t.Fatalf("%s: start %d: %v", label, i, err)
		}
		if err := guarded(func() error { return w.check(l) }); err != nil {
			t.Fatalf("%s: start %d: %v", label, i, err)
		}
		v := fmt.Sprintf("after%d", i)
		a, err := l.Append(value("%s", v).bytes(t), AppendOptions{})
		if err != nil {
			t.Fatalf("%s: append: %v", label, err)
		}
		w.settle(l, a, v)
		if err := l.Close(); err != nil {
			t.Fatalf("%s: close: %v", label, err)
		}
		real.o.Clean, real.o.RecoveryPoint, real.o.HighWatermark = true, a.LastOffset+1, a.LastOffset+1
	}
}

// settle takes what the log has for what it must have from now on.
func (w *witness) settle(l *Log, a Appended, v string) {
	if w.truncating >= 0 {
		maps.DeleteFunc(w.records, func(o int64, _ string) bool { return o >= a.FirstOffset })
	}
	for o, v := range w.doing {
		if o < a.FirstOffset {
			w.records[o] = v
		}
	}
	w.doing, w.truncating, w.end = nil, -1, a.LastOffset+1
	w.records[a.FirstOffset] = v
	w.start, w.raising = max(w.start, l.LogStartOffset()), 0
}

// guarded turns a failure of a helper into an error.
func guarded(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			r, ok := p.(*recorder)
			if !ok {
				panic(p)
			}
			err = r.err
		}
	}()
	return f()
}

// A disk that fails once gives an error and takes the log out of service, once;
// nothing of the failed append is left.
func TestDiskFails(t *testing.T) {
	for n, kind := range operations(t) {
		fault := disktest.ErrIO
		if kind == disktest.Write || kind == disktest.Create {
			fault = disktest.ErrNoSpace
		}
		s := newSetup(t)
		var told []error
		s.o.Failed = func(err error) { told = append(told, err) }
		s.o.FS = disktest.New(func(op disktest.Op) disktest.Fault {
			if op.Kind == disktest.Read || op.N != n {
				return disktest.Fault{}
			}
			return disktest.Fault{Err: fault, Part: op.Size / 2}
		})
		w := newWitness()
		got := life(t, s, w)
		if !errors.Is(got, ErrOffline) || !errors.Is(got, fault) || len(told) > 1 {
			t.Fatalf("%v at %d, %s: %v, told %v", fault, n, kind, got, told)
		}
		after(t, s, w, fmt.Sprintf("%v at %d, %s", fault, n, kind))
	}
}
