package broker

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// A countdown is done when its number is at or below 0.
type countdown struct {
	left      atomic.Int64
	tries     atomic.Int64
	completed atomic.Int64
}

func (c *countdown) try() bool { c.tries.Add(1); return c.left.Load() <= 0 }
func (c *countdown) complete() { c.completed.Add(1) }

func newCountdown(n int64) *countdown {
	c := &countdown{}
	c.left.Store(n)
	return c
}

func (l *watchList) len() int { return len(l.waiters(nil)) }

func TestPark(t *testing.T) {
	const wait = time.Second
	for _, tt := range []struct {
		name string
		left int64
		then func(op *countdown, w *waiter, a, b *watchList)
		want int64 // completions before the time is over
		late int64 // and afterwards
	}{
		{"done at once", 0, func(op *countdown, w *waiter, a, b *watchList) {}, 1, 1},
		{"nothing happens", 1, func(op *countdown, w *waiter, a, b *watchList) {}, 0, 1},
		{"woken too early", 2, func(op *countdown, w *waiter, a, b *watchList) { op.left.Add(-1); a.wake() }, 0, 1},
		{"woken by the first list", 1, func(op *countdown, w *waiter, a, b *watchList) { op.left.Add(-1); a.wake() }, 1, 1},
		{"woken by the second list", 1, func(op *countdown, w *waiter, a, b *watchList) { op.left.Add(-1); b.wake() }, 1, 1},
		{"woken twice", 1, func(op *countdown, w *waiter, a, b *watchList) { op.left.Add(-1); a.wake(); b.wake() }, 1, 1},
		{"cancelled", 1, func(op *countdown, w *waiter, a, b *watchList) { w.cancel(); op.left.Add(-1); a.wake() }, 0, 0},
		{"expired by hand", 1, func(op *countdown, w *waiter, a, b *watchList) { b.expire() }, 1, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var a, b watchList
				op := newCountdown(tt.left)
				w := park(op, []*watchList{&a, &b}, wait)
				tt.then(op, w, &a, &b)
				time.Sleep(wait - 1)
				if got := op.completed.Load(); got != tt.want {
					t.Errorf("completed %d times before the time was over, want %d", got, tt.want)
				}
				time.Sleep(time.Nanosecond)
				synctest.Wait()
				if got := op.completed.Load(); got != tt.late {
					t.Errorf("completed %d times in the end, want %d", got, tt.late)
				}
				if a.len() != 0 || b.len() != 0 {
					t.Errorf("%d and %d waiters are left in the lists", a.len(), b.len())
				}
				if w.cancel() {
					t.Error("a waiter that is done could be cancelled")
				}
			})
		})
	}
}

// Everything at once: each operation is completed or cancelled, once, and no
// list keeps it.
func TestParkRaces(t *testing.T) {
	const lists, waiters, rounds = 4, 64, 50
	var all [lists]watchList
	for range rounds {
		var wg sync.WaitGroup
		ops := make([]*countdown, waiters)
		cancelled := make([]bool, waiters)
		for i := range ops {
			ops[i] = newCountdown(1)
			mine := []*watchList{&all[i%lists], &all[(i+1)%lists]}
			wg.Go(func() {
				w := park(ops[i], mine, time.Duration(rand.IntN(200))*time.Microsecond)
				if i%3 == 0 {
					cancelled[i] = w.cancel()
				}
			})
			wg.Go(func() {
				ops[i].left.Add(-1)
				mine[0].wake()
			})
		}
		wg.Wait()
		for l := range all {
			all[l].wake() // all can be completed now
		}
		for i, op := range ops {
			want := int64(1)
			if cancelled[i] {
				want = 0
			}
			for op.completed.Load() < want { // a timer may be in the middle of it
				time.Sleep(time.Microsecond)
			}
			if got := op.completed.Load(); got != want {
				t.Fatalf("operation %d: completed %d times, cancelled %v", i, got, cancelled[i])
			}
		}
		for l := range all {
			if n := all[l].len(); n != 0 {
				t.Fatalf("list %d has %d waiters left", l, n)
			}
		}
	}
}

// The time of ten thousand waiters costs nothing until it is over, and each is
// woken at its own.
func TestParkMany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 10_000
		var l watchList
		var ops [n]*countdown
		for i := range ops {
			ops[i] = newCountdown(1)
			park(ops[i], []*watchList{&l}, time.Duration(i+1)*time.Millisecond)
		}
		time.Sleep(n / 2 * time.Millisecond)
		synctest.Wait()
		for i, op := range ops {
			want := int64(0)
			if i < n/2 {
				want = 1
			}
			if got := op.completed.Load(); got != want {
				t.Fatalf("operation %d: completed %d times after %d ms", i, got, n/2)
			}
			if got := op.tries.Load(); got != 2 {
				t.Fatalf("operation %d was tried %d times though nothing happened, want 2 (before and after it joined the list)", i, got)
			}
		}
		if l.len() != n/2 {
			t.Errorf("%d waiters left, want %d", l.len(), n/2)
		}
		l.expire()
		synctest.Wait()
		if l.len() != 0 {
			t.Errorf("%d waiters left after all were completed", l.len())
		}
	})
}

func BenchmarkPark(b *testing.B) {
	b.ReportAllocs()
	var l watchList
	lists := []*watchList{&l}
	for b.Loop() {
		op := newCountdown(1)
		park(op, lists, time.Minute)
		op.left.Store(0)
		l.wake()
	}
}
