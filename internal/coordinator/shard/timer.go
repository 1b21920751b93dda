package shard

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"
)

// A timer runs an operation later.
type timer struct {
	clock *time.Timer
	rings time.Time // when the clock does
	due   time.Time // when op runs, not before rings
	op    func() Result
}

// retryAfter is when an operation of a timer is tried again whose records could
// not be written.
//
// Source: Kafka 4.4.0, CoordinatorTimerImpl.java.
const retryAfter = 500 * time.Millisecond

// Schedule runs op after d, with the lock held. An operation that was scheduled
// under the same key is forgotten. If the records of op cannot be written it is
// tried again, unless it changed the machine itself.
//
// Schedule, Postpone, Cancel, Scheduled and Go are for the machine: they are called with
// the shard's lock held.
func (s *Shard) Schedule(key string, d time.Duration, op func() Result) {
	if t := s.timers[key]; t != nil {
		t.clock.Stop()
	}
	if s.state == resigned {
		return
	}
	due := time.Now().Add(d)
	t := &timer{rings: due, due: due, op: op}
	s.timers[key] = t
	t.clock = time.AfterFunc(d, func() { s.fire(key, t) })
}

// Postpone lets the operation of a key run after d instead of when it would have,
// and reports whether there is one. Most of the time that is to note when: a
// session that heartbeats keep alive costs a clock each time it could have ended,
// not each time that it did not.
func (s *Shard) Postpone(key string, d time.Duration) bool {
	t := s.timers[key]
	if t == nil {
		return false
	}
	t.due = time.Now().Add(d)
	if t.due.Before(t.rings) {
		t.rings = t.due
		t.clock.Reset(d)
	}
	return true
}

// Cancel forgets the operation of a key.
func (s *Shard) Cancel(key string) {
	if t := s.timers[key]; t != nil {
		t.clock.Stop()
		delete(s.timers, key)
	}
}

// Scheduled reports whether there is an operation under a key.
func (s *Shard) Scheduled(key string) bool { return s.timers[key] != nil }

func (s *Shard) fire(key string, t *timer) {
	defer s.guard(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.timers[key] != t { // cancelled or replaced while it waited for the lock
		return
	}
	if left := time.Until(t.due); left > 0 {
		t.rings = t.due
		t.clock.Reset(left)
		return
	}
	delete(s.timers, key)
	changed := false
	err := s.run(func() Result {
		r := t.op()
		changed = r.Replayed
		return r
	})
	if err != nil && !changed && s.timers[key] == nil {
		s.Schedule(key, retryAfter, t.op)
	}
}

// A task is work in the background.
type task struct{ cancel context.CancelFunc }

// Go does work without the lock, then runs the operation that work returned with
// it. Work that was begun under the same key is cancelled, and what comes of it is
// forgotten.
func (s *Shard) Go(key string, work func(ctx context.Context) func() Result) {
	s.Stop(key)
	if s.state == resigned {
		return
	}
	ctx, cancel := context.WithCancel(s.ctx)
	t := &task{cancel}
	s.tasks[key] = t
	go func() {
		defer s.guard(key)
		defer cancel()
		op := work(ctx)
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.tasks[key] != t {
			return
		}
		delete(s.tasks, key)
		_ = s.run(op) // its Then is told
	}()
}

// guard keeps a panic of a timer or of background work to itself: it has no
// request whose connection could end, and the groups of others go on.
func (s *Shard) guard(key string) {
	if p := recover(); p != nil {
		s.o.Notice("panic in "+key, fmt.Errorf("%v\n%s", p, debug.Stack()))
	}
}

// Stop forgets the work of a key.
func (s *Shard) Stop(key string) {
	if t := s.tasks[key]; t != nil {
		t.cancel()
		delete(s.tasks, key)
	}
}

// Working reports whether work is under way under a key.
func (s *Shard) Working(key string) bool { return s.tasks[key] != nil }
