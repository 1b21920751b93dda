package storage

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"kf/internal/logdir"
	"kf/internal/storage/disktest"
)

// moveSetup returns a store with a partition of several segments in the first
// of two log directories, and its records.
func moveSetup(t testing.TB, records int) (s *storeSetup, store *Store, want []string) {
	s = newStoreSetup(t, 2)
	config := testConfig()
	config.SegmentBytes, config.IndexIntervalBytes, config.SegmentIndexBytes = 500, 100, 4000
	s.o.LogConfig = func(string) Config { return config }
	store = s.start()
	l := s.create(store, "a", 0, topicA, 0)
	for i := range records {
		p := produced(7, 0, int32(i), 1)
		p.values = []string{fmt.Sprintf("v%d", i)}
		if _, err := l.Append(p.bytes(t), AppendOptions{}); err != nil {
			t.Fatal(err)
		}
		l.SetHighWatermark(l.LogEndOffset())
		want = append(want, fmt.Sprintf("%d=v%d", i, i))
	}
	if len(l.segments()) < 2 {
		t.Fatalf("only %d segments", len(l.segments()))
	}
	if _, err := l.RaiseLogStart(2); err != nil {
		t.Fatal(err)
	}
	return s, store, want[2:]
}

func TestStoreMove(t *testing.T) {
	s, store, want := moveSetup(t, 20)
	var moved []TopicPartition
	store.o.Moved = func(tp TopicPartition) { moved = append(moved, tp) }
	tp := TopicPartition{"a", 0}
	old := store.Get(tp)
	if err := store.Move(t.Context(), tp, 0); err != nil || store.Get(tp) != old {
		t.Fatalf("move to where it is: %v", err)
	}
	if err := store.Move(t.Context(), tp, 1); err != nil {
		t.Fatal(err)
	}
	if _, err := old.Append(value("x").bytes(t), AppendOptions{}); !errors.Is(err, ErrClosed) {
		t.Errorf("append to the old log: %v", err)
	}
	l := s.holds(store, "a", 0, topicA, want...)
	if l.LogStartOffset() != 2 || l.HighWatermark() != 20 {
		t.Errorf("log start offset %d, high watermark %d; want 2, 20", l.LogStartOffset(), l.HighWatermark())
	}
	if !slices.Equal(moved, []TopicPartition{tp}) {
		t.Errorf("told of %v", moved)
	}
	// The producer goes on where it was.
	next := produced(7, 0, 20, 1)
	next.values = []string{"v20"}
	if a, err := l.Append(next.bytes(t), AppendOptions{}); err != nil || a.FirstOffset != 20 {
		t.Errorf("next batch of the producer: %+v, %v", a, err)
	}
	if a, err := l.Append(next.bytes(t), AppendOptions{}); err != nil || !a.Duplicate {
		t.Errorf("the batch again: %+v, %v", a, err)
	}
	gone := s.list(0, "a-0*")
	if len(gone) != 1 || !strings.HasSuffix(gone[0], "-delete") {
		t.Fatalf("the first directory has %q", gone)
	}
	if got := s.list(1, "a-0*"); !slices.Equal(got, []string{"a-0"}) {
		t.Errorf("the second directory has %q", got)
	}
	// Sealed segments are the same byte for byte, indexes included.
	sealed, err := filepath.Glob(s.path(0, gone[0], "*index"))
	if err != nil || len(sealed) < 4 {
		t.Fatalf("indexes %q, %v", sealed, err)
	}
	for _, name := range sealed {
		if logdir.ParseFileName(filepath.Base(name)).BaseOffset == l.active().base {
			continue // is written to
		}
		a, _ := os.ReadFile(name)
		b, err := os.ReadFile(s.path(1, "a-0", filepath.Base(name)))
		if err != nil || !bytes.Equal(a, b) {
			t.Errorf("%s differs: %v", filepath.Base(name), err)
		}
	}
	if got := s.text(0, logdir.NameRecoveryPoint); got != "0\n0\n" {
		t.Errorf("recovery points of the first directory %q", got)
	}
	s.close(store, 1)
	store = s.start()
	s.holds(store, "a", 0, topicA, append(want, "20=v20")...)
	s.close(store, 2)
}

// TestStoreMoveUnderLoad moves a partition to and fro while it is written and
// read: a writer that goes on with the next log loses nothing.
func TestStoreMoveUnderLoad(t *testing.T) {
	s, store, want := moveSetup(t, 20)
	config := s.o.LogConfig("a")
	config.SegmentBytes = 50000
	tp := TopicPartition{"a", 0}
	store.Get(tp).SetConfig(config)
	store.o.LogConfig = func(string) Config { return config }
	var wg sync.WaitGroup
	done := make(chan struct{})
	wg.Go(func() {
		for i := 20; ; i++ {
			select {
			case <-done:
				return
			default:
			}
			v := fmt.Sprintf("v%d", i)
			for {
				l, err := store.Open(t.Context(), tp, topicA)
				if err != nil {
					t.Errorf("open: %v", err)
					return
				}
				_, err = l.Append(value("%s", v).bytes(t), AppendOptions{})
				if errors.Is(err, ErrClosed) {
					continue
				}
				if err != nil {
					t.Errorf("append: %v", err)
					return
				}
				break
			}
			want = append(want, fmt.Sprintf("%d=%s", i, v))
		}
	})
	for i := range 4 {
		if err := store.Move(t.Context(), tp, (i+1)%2); err != nil {
			t.Errorf("move %d: %v", i, err)
		}
	}
	close(done)
	wg.Wait()
	s.holds(store, "a", 0, topicA, want...)
	s.close(store, 1)
}

func TestStoreMoveEnds(t *testing.T) {
	s, store, want := moveSetup(t, 20)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := store.Move(ctx, TopicPartition{"a", 0}, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("move with a context that has ended: %v", err)
	}
	if got := s.list(1, "a-0*"); len(got) != 0 {
		t.Errorf("the second directory has %q", got)
	}
	if err := store.Move(t.Context(), TopicPartition{"b", 0}, 1); !errors.Is(err, ErrNoReplica) {
		t.Errorf("move of what is not there: %v", err)
	}
	s.append(s.holds(store, "a", 0, topicA, want...), "v20")
	s.close(store, 1)
}

// TestStoreFutures: a start settles the "-future" directories that a stop left.
func TestStoreFutures(t *testing.T) {
	const future = "a-0.0123456789abcdef0123456789abcdef-future"
	t.Run("unfinished", func(t *testing.T) {
		s, store, want := moveSetup(t, 20)
		s.close(store, 1)
		if err := os.CopyFS(s.path(1, future), os.DirFS(s.path(0, "a-0"))); err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(s.path(1, future, "00000000000000000000.log")); err != nil {
			t.Fatal(err)
		}
		moved := make(chan TopicPartition, 1)
		s.o.Moved = func(tp TopicPartition) { moved <- tp }
		store = s.start()
		<-moved // the move began anew, and ended
		s.holds(store, "a", 0, topicA, want...)
		s.close(store, 2)
		if got := s.list(1, "a-0"); len(got) != 1 {
			t.Errorf("the second directory has %q", s.list(1, "*"))
		}
		s.noticed("0 "+future, "the move begins anew")
	})
	t.Run("alone", func(t *testing.T) {
		s, store, want := moveSetup(t, 20)
		s.close(store, 1)
		if err := os.Rename(s.path(0, "a-0"), s.path(1, future)); err != nil {
			t.Fatal(err)
		}
		store = s.start()
		if got := s.list(1, "a-0*"); !slices.Equal(got, []string{"a-0"}) {
			t.Errorf("the second directory has %q", got)
		}
		l, err := store.Open(t.Context(), TopicPartition{"a", 0}, topicA)
		if err != nil {
			t.Fatal(err)
		}
		if got := all(t, l, ToLogEnd); !slices.Equal(got[len(got)-len(want):], want) {
			t.Errorf("has %q, want %q", got, want)
		}
		s.close(store, 2)
		s.noticed("1 "+future, "the copy takes its place")
	})
}

// TestStoreMoveKilled stops the world at every operation of a move: the next
// start has all records.
func TestStoreMoveKilled(t *testing.T) {
	for n := 0; ; n++ {
		s, store, want := moveSetup(t, 9)
		s.close(store, 1)
		count, reached := 0, false
		begun := false
		s.o.FS = disktest.New(func(op disktest.Op) disktest.Fault {
			if !begun || op.Kind == disktest.Read {
				return disktest.Fault{}
			}
			if count++; count <= n {
				return disktest.Fault{}
			}
			reached = true
			return disktest.Fault{Stop: true}
		})
		store = s.start()
		s.holds(store, "a", 0, topicA, want...)
		begun = true
		err := store.Move(t.Context(), TopicPartition{"a", 0}, 1)
		if (err != nil) != reached && !reached {
			t.Fatalf("operation %d: %v", n, err)
		}
		_ = store.Close(1) // nothing can be written any more
		if !reached {
			if n < 20 {
				t.Fatalf("a move has only %d operations", n)
			}
			return
		}
		s.killed()
		again := newStoreSetup(t, 0)
		again.o.Dirs, again.o.LogConfig = s.o.Dirs, s.o.LogConfig
		var moving sync.WaitGroup
		if entries := again.list(1, "a-0*-future"); len(entries) > 0 && len(again.list(0, "a-0")) > 0 {
			moving.Add(1) // the start begins the move anew
			again.o.Moved = func(TopicPartition) { moving.Done() }
		}
		next := again.start()
		moving.Wait()
		l, err := next.Open(t.Context(), TopicPartition{"a", 0}, topicA)
		if err != nil {
			t.Fatalf("after a stop at operation %d: %v", n, err)
		}
		got := all(t, l, ToLogEnd)
		if len(got) < len(want) || !slices.Equal(got[len(got)-len(want):], want) {
			t.Fatalf("after a stop at operation %d: %q, want %q", n, got, want)
		}
		again.close(next, 2)
	}
}
