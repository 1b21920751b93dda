package shard

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"kf/internal/format/batch"
	"kf/internal/format/codec"
	"kf/internal/format/control"
	"kf/internal/format/grouprec"
)

// A memory is a log in memory, whose high watermark can be held back.
type memory struct {
	mu      sync.Mutex
	batches [][]byte
	next    int64
	held    bool   // the high watermark stands still
	mark    int64  // while it is held
	failure error  // of appends
	reads   func() // called by Read
}

func (l *memory) Append(p []byte) (int64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failure != nil {
		return 0, l.failure
	}
	h, err := batch.DecodeHeader(p)
	if err != nil {
		return 0, err
	}
	if err := h.Check(p); err != nil {
		return 0, err
	}
	h.BaseOffset, h.PartitionLeaderEpoch = l.next, 3
	stored := slices.Clone(p)
	h.Put(stored)
	l.batches = append(l.batches, stored)
	l.next = h.LastOffset() + 1
	return l.next, nil
}

func (l *memory) Read(offset int64, max int) ([]byte, error) {
	if l.reads != nil {
		l.reads()
	}
	var p []byte
	for _, b := range l.batches {
		h, err := batch.DecodeHeader(b)
		if err == nil && h.LastOffset() < offset {
			continue
		}
		if len(p) > 0 && len(p)+len(b) > max {
			break
		}
		p = append(p, b...)
	}
	return p, nil
}

// fail makes appends fail, or nil not.
func (l *memory) fail(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failure = err
}

func (l *memory) LogStartOffset() int64 { return 0 }

func (l *memory) HighWatermark() int64 {
	if l.held {
		return l.mark
	}
	return l.next
}

// A book is a machine that notes what happens to it.
type book struct {
	state map[string]int64 // committed offsets by group

	mu    sync.Mutex
	notes []string
}

func (b *book) note(format string, args ...any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.notes = append(b.notes, fmt.Sprintf(format, args...))
}

func (b *book) Replay(r Record, producer int64) {
	key, ok := r.Key.(*grouprec.OffsetCommitKey)
	switch value, set := r.Value.(*grouprec.OffsetCommitValue); {
	case !ok:
		b.note("replay %T", r.Key)
	case set:
		b.note("replay %s=%d by %d", key.Group, value.Offset, producer)
		b.state[key.Group] = value.Offset
	default:
		b.note("delete %s", key.Group)
		delete(b.state, key.Group)
	}
}

func (b *book) ReplayEnd(producer int64, committed bool) { b.note("end %d %v", producer, committed) }
func (b *book) Loaded()                                  { b.note("loaded") }
func (b *book) Unloaded(err error)                       { b.note("unloaded: %v", err) }

// said returns what was noted since it was asked last.
func (b *book) said() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := strings.Join(b.notes, "; ")
	b.notes = nil
	return s
}

func set(group string, offset int64) Record {
	return Record{Key: &grouprec.OffsetCommitKey{Group: group, Topic: "t"}, Value: &grouprec.OffsetCommitValue{Offset: offset, ExpireTimestamp: -1}, Version: 4}
}

var groupFormat = Format{Decode: grouprec.Decode, AppendKey: grouprec.AppendKey, AppendValue: grouprec.AppendValue}

// newShard returns a shard of a log with its machine, which is not loaded.
func newShard(l Log) (*Shard, *book) {
	b := &book{state: make(map[string]int64)}
	return New(Options{
		Format: groupFormat, Log: l, Compression: func() int16 { return 0 }, BatchBytes: func() int { return 1000 },
		CommitTimeout: func() time.Duration { return 5 * time.Second },
		Notice:        func(message string, err error) { b.note("%s", message) },
	}, b), b
}

func loaded(t *testing.T, l Log) (*Shard, *book) {
	t.Helper()
	s, b := newShard(l)
	if err := s.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.said()
	return s, b
}

// do runs an operation whose end is noted, and refuses loudly.
func do(t *testing.T, s *Shard, b *book, name string, r Result) {
	t.Helper()
	r.Then = func(err error) { b.note("%s: %v", name, err) }
	s.Do(func() Result { return r }, func(err error) { t.Errorf("%s was refused: %v", name, err) })
}

func expect(t *testing.T, b *book, want string) {
	t.Helper()
	if got := b.said(); got != want {
		t.Errorf("happened: %s\nwant:     %s", got, want)
	}
}

func TestDo(t *testing.T) {
	l := &memory{}
	s, b := loaded(t, l)
	do(t, s, b, "write", Result{Records: []Record{set("a", 1), set("b", 2)}})
	expect(t, b, "replay a=1 by -1; replay b=2 by -1; write: <nil>")
	do(t, s, b, "read", Result{})
	expect(t, b, "read: <nil>")
	do(t, s, b, "own", Result{Records: []Record{set("c", 3)}, Replayed: true})
	expect(t, b, "own: <nil>")
	do(t, s, b, "delete", Result{Records: []Record{{Key: &grouprec.OffsetCommitKey{Group: "a", Topic: "t"}}}})
	expect(t, b, "delete a; delete: <nil>")
	l.fail(errors.New("disk full"))
	do(t, s, b, "fails", Result{Records: []Record{set("d", 4)}})
	expect(t, b, "fails: disk full")
	if b.state["d"] != 0 {
		t.Error("a record that was not written changed the state")
	}

	h, err := batch.DecodeHeader(l.batches[0])
	if err != nil || h.Count != 2 || h.ProducerID != -1 || h.ProducerEpoch != -1 || h.BaseSequence != 0 || h.Attributes != 0 || h.BaseTimestamp != h.MaxTimestamp {
		t.Errorf("the batch of two records is %+v, %v", h, err)
	}

	_, again := loaded(t, l)
	if want := map[string]int64{"b": 2, "c": 3}; fmt.Sprint(again.state) != fmt.Sprint(want) {
		t.Errorf("loaded again: %v, want %v", again.state, want)
	}
}

// Answers wait for the high watermark, in order, those that read what is not
// committed too.
func TestCommitted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &memory{held: true}
		s, b := loaded(t, l)
		do(t, s, b, "first", Result{Records: []Record{set("a", 1)}})
		time.Sleep(time.Second)
		do(t, s, b, "second", Result{Records: []Record{set("a", 2)}})
		do(t, s, b, "read", Result{})
		expect(t, b, "replay a=1 by -1; replay a=2 by -1")
		l.mark = 1
		s.Committed()
		expect(t, b, "first: <nil>")
		l.mark = 2
		s.Committed()
		expect(t, b, "second: <nil>; read: <nil>")

		do(t, s, b, "late", Result{Records: []Record{set("a", 3)}})
		time.Sleep(3 * time.Second)
		do(t, s, b, "later", Result{Records: []Record{set("a", 4)}})
		time.Sleep(2 * time.Second)
		synctest.Wait()
		expect(t, b, "replay a=3 by -1; replay a=4 by -1; late: "+ErrTimeout.Error())
		s.Close()
		expect(t, b, "later: "+ErrResigned.Error()+"; unloaded: "+ErrResigned.Error())
		time.Sleep(time.Minute)
		expect(t, b, "")
	})
}

func TestTimers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &memory{}
		s, b := loaded(t, l)
		write := func(group string, offset int64) func() Result {
			return func() Result { return Result{Records: []Record{set(group, offset)}} }
		}
		in := func(f func()) { s.Do(func() Result { f(); return Result{} }, func(err error) { t.Error(err) }) }
		wait := func(d time.Duration) {
			time.Sleep(d)
			synctest.Wait()
		}
		in(func() {
			s.Schedule("replaced", time.Second, write("replaced", 1))
			s.Schedule("replaced", 2*time.Second, write("replaced", 2))
			s.Schedule("cancelled", time.Second, write("cancelled", 1))
			s.Cancel("cancelled")
			if !s.Scheduled("replaced") || s.Scheduled("cancelled") {
				t.Error("scheduled are not the ones that should be")
			}
		})
		wait(1500 * time.Millisecond)
		expect(t, b, "")
		wait(time.Second)
		expect(t, b, "replay replaced=2 by -1")

		// What cannot be written is tried again, unless the machine changed.
		l.fail(errors.New("disk full"))
		in(func() {
			s.Schedule("again", time.Second, write("again", 1))
			s.Schedule("once", time.Second, func() Result {
				return Result{Records: []Record{set("once", 1)}, Replayed: true, Then: func(err error) { b.note("once: %v", err) }}
			})
		})
		wait(1200 * time.Millisecond)
		l.fail(nil)
		wait(time.Second)
		expect(t, b, "once: disk full; replay again=1 by -1")

		// An operation may schedule itself.
		n := 0
		var tick func() Result
		tick = func() Result {
			if n++; n < 3 {
				s.Schedule("tick", time.Second, tick)
			}
			return Result{}
		}
		in(func() { s.Schedule("tick", time.Second, tick) })
		wait(10 * time.Second)
		if n != 3 {
			t.Errorf("the timer ran %d times, want 3", n)
		}

		in(func() { s.Schedule("panic", time.Second, func() Result { panic("broken") }) })
		wait(2 * time.Second)
		expect(t, b, "panic in panic")
		do(t, s, b, "alive", Result{})
		expect(t, b, "alive: <nil>")

		in(func() { s.Schedule("closed", time.Second, write("closed", 1)) })
		s.Close()
		b.said()
		s.Schedule("after", time.Second, write("after", 1))
		wait(10 * time.Second)
		expect(t, b, "")
	})
}

func TestBackground(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, b := loaded(t, &memory{})
		in := func(f func()) { s.Do(func() Result { f(); return Result{} }, func(err error) { t.Error(err) }) }
		work := func(name string, d time.Duration) func(context.Context) func() Result {
			return func(ctx context.Context) func() Result {
				select {
				case <-time.After(d):
				case <-ctx.Done():
					return func() Result { b.note("%s is cancelled, and not heard", name); return Result{} }
				}
				return func() Result { return Result{Records: []Record{set(name, 1)}} }
			}
		}
		in(func() {
			s.Go("done", work("done", time.Second))
			s.Go("replaced", work("old", time.Second))
			s.Go("replaced", work("new", time.Second))
			s.Go("stopped", work("stopped", time.Second))
			s.Stop("stopped")
			if !s.Working("done") || s.Working("stopped") {
				t.Error("under way is not what should be")
			}
		})
		do(t, s, b, "meanwhile", Result{})
		expect(t, b, "meanwhile: <nil>")
		time.Sleep(2 * time.Second)
		synctest.Wait()
		notes := strings.Split(b.said(), "; ")
		slices.Sort(notes)
		if want := []string{"replay done=1 by -1", "replay new=1 by -1"}; !slices.Equal(notes, want) {
			t.Errorf("happened: %q, want %q", notes, want)
		}
		in(func() { s.Go("closed", work("closed", time.Second)) })
		s.Close()
		expect(t, b, "unloaded: "+ErrResigned.Error())
		time.Sleep(10 * time.Second)
		synctest.Wait()
		expect(t, b, "")
	})
}

// Records that are too many for a batch go in several where that is allowed.
func TestSplit(t *testing.T) {
	l := &memory{}
	s, b := loaded(t, l)
	var records []Record
	for i := range int64(100) {
		records = append(records, set(fmt.Sprintf("group-%02d", i), i))
	}
	do(t, s, b, "split", Result{Records: records, Split: true})
	if len(b.state) != 100 {
		t.Errorf("%d of 100 records were replayed", len(b.state))
	}
	if len(l.batches) < 2 {
		t.Errorf("%d batches", len(l.batches))
	}
	for _, p := range l.batches {
		if len(p) > 1000 {
			t.Errorf("a batch has %d bytes, the limit is 1000", len(p))
		}
	}
	_, again := loaded(t, l)
	if fmt.Sprint(again.state) != fmt.Sprint(b.state) {
		t.Errorf("loaded again: %v, want %v", again.state, b.state)
	}
}

// add appends a batch with its own header to a log.
func add(t *testing.T, l *memory, h batch.Header, records ...batch.Record) {
	t.Helper()
	h.Magic, h.LastOffsetDelta = 2, int32(len(records)-1)
	p, err := batch.Append(nil, h, func(yield func(*batch.Record) bool) {
		for i := range records {
			records[i].Offset = int64(i)
			if !yield(&records[i]) {
				return
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Append(p); err != nil {
		t.Fatal(err)
	}
}

// encoded returns a record as it is in a batch.
func encoded(t *testing.T, r Record) batch.Record {
	t.Helper()
	key, err := grouprec.AppendKey(nil, r.Key)
	if err != nil {
		t.Fatal(err)
	}
	value, err := grouprec.AppendValue(nil, r.Value, r.Version)
	if err != nil {
		t.Fatal(err)
	}
	return batch.Record{Key: key, Value: value}
}

func TestLoad(t *testing.T) {
	l := &memory{}
	add(t, l, batch.Header{ProducerID: -1, Attributes: int16(codec.Zstd)}, encoded(t, set("a", 1)), encoded(t, set("b", 2)))
	add(t, l, batch.Header{ProducerID: -1}, batch.Record{Key: []byte{0x7f, 0, 1}, Value: []byte("of a later release")}, encoded(t, set("c", 3)))
	add(t, l, batch.Header{ProducerID: 7, Attributes: batch.TransactionalBit}, encoded(t, set("d", 4)))
	end, err := control.AppendValue(nil, &control.EndTxnMarker{})
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []control.Type{control.Commit, control.Abort} {
		add(t, l, batch.Header{ProducerID: 7, Attributes: batch.TransactionalBit | batch.ControlBit}, batch.Record{Key: control.AppendKey(nil, kind), Value: end})
	}
	s, b := newShard(l)
	refusals := 0
	l.reads = func() {
		s.Do(func() Result { t.Error("an operation ran before the load was over"); return Result{} }, func(err error) {
			if refusals++; !errors.Is(err, ErrLoading) {
				t.Errorf("refused with %v", err)
			}
		})
	}
	if err := s.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	<-s.Loaded()
	if refusals != 2 { // the second read finds the end
		t.Errorf("%d refusals", refusals)
	}
	expect(t, b, "replay a=1 by -1; replay b=2 by -1; a record of an unknown type at offset 2 is passed over; replay c=3 by -1; replay d=4 by 7; end 7 true; end 7 false; loaded")
}

// A record that cannot be read ends the load of its shard, which says where.
func TestLoadDamage(t *testing.T) {
	good := encoded(t, set("a", 1))
	cut := encoded(t, set("b", 2))
	cut.Value = cut.Value[:5]
	l := &memory{}
	add(t, l, batch.Header{ProducerID: -1}, good)
	add(t, l, batch.Header{ProducerID: -1}, good, cut)
	flipped := &memory{}
	add(t, flipped, batch.Header{ProducerID: -1}, good)
	flipped.batches[0][70] ^= 1
	short := &memory{}
	add(t, short, batch.Header{ProducerID: -1}, good)
	short.batches[0] = short.batches[0][:70]
	for want, l := range map[string]*memory{"offset 2": l, "checksum": flipped, "offset 0": short} {
		s, b := newShard(l)
		if err := s.Load(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("loaded with %v, want an error with %q", err, want)
		}
		<-s.Loaded()
		var refused error
		s.Do(func() Result { t.Error("an operation ran"); return Result{} }, func(err error) { refused = err })
		if refused == nil || refused != s.Err() {
			t.Errorf("refused with %v, the shard says %v", refused, s.Err())
		}
		b.said()
		s.Close()
		expect(t, b, "") // there was nothing to unload
	}
}

func TestCloseWhileLoading(t *testing.T) {
	l := &memory{}
	add(t, l, batch.Header{ProducerID: -1}, encoded(t, set("a", 1)))
	s, b := newShard(l)
	l.reads = s.Close
	if err := s.Load(t.Context()); !errors.Is(err, ErrResigned) {
		t.Errorf("loaded with %v", err)
	}
	<-s.Loaded()
	if strings.Contains(b.said(), "loaded") {
		t.Error("the machine was told that it is loaded")
	}
	s.Do(func() Result { t.Error("an operation ran"); return Result{} }, func(err error) {
		if !errors.Is(err, ErrResigned) {
			t.Errorf("refused with %v", err)
		}
	})
}

// Whatever the log holds, a load ends, with an error or without.
func FuzzLoad(f *testing.F) {
	l := &memory{}
	for _, r := range []Record{set("a", 1), set("b", 2)} {
		key, _ := grouprec.AppendKey(nil, r.Key)
		value, _ := grouprec.AppendValue(nil, r.Value, r.Version)
		p, err := batch.Append(nil, batch.Header{Magic: 2, ProducerID: -1}, slices.Values([]*batch.Record{{Key: key, Value: value}}))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(p)
		f.Add(append(slices.Clone(p), p...))
		l.batches = append(l.batches, p)
	}
	f.Fuzz(func(t *testing.T, p []byte) {
		once := &once{p: p}
		s, _ := newShard(once)
		err := s.Load(t.Context())
		if err == nil && s.Err() != nil {
			t.Errorf("loaded, but the shard says %v", s.Err())
		}
	})
}

// A once is a log that gives its bytes one time.
type once struct {
	memory
	p []byte
}

func (l *once) Read(int64, int) ([]byte, error) {
	p := l.p
	l.p = nil
	return p, nil
}
