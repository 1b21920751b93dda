package broker

import (
	"sync"
	"time"
)

// The purgatory: requests that cannot be answered yet wait for an event or for
// their time to run out, whichever is first.
//
// What can happen to a partition (an append, a higher high watermark, another
// leader, its end) wakes the [watchList] of the partition. A waiter may be on
// the lists of many partitions; waking it asks its operation whether it can be
// completed now. There is no table of waiters beside the lists, and the clock is
// the runtime's timer heap, so that ten thousand waiters cost no thread, no
// polling and no scan.

// An operation is what waits.
type operation interface {
	// try reports whether the operation can be completed now. Calls do not
	// overlap. It runs on the goroutine that woke the waiter, so it does little
	// and must not park, wake or cancel.
	try() bool
	// complete answers the request, after try said true or the time ran out. It
	// is called at most once, and not at all after a cancel.
	complete()
}

// A watchList holds the waiters that an event may complete. The zero value is
// an empty list.
type watchList struct {
	mu   sync.Mutex
	head *watch // doubly linked, the newest first
}

// A watch is the place of a waiter in one list.
type watch struct {
	list       *watchList
	waiter     *waiter
	prev, next *watch
}

// A waiter is an operation that is parked.
type waiter struct {
	op      operation
	mu      sync.Mutex // held during try
	done    bool
	timer   *time.Timer
	watches []watch
}

// park completes op now if it can be, and otherwise when a list is woken and op
// can be completed, or after wait at the latest.
func park(op operation, lists []*watchList, wait time.Duration) *waiter {
	w := &waiter{op: op}
	if w.check() {
		return w
	}
	w.mu.Lock()
	w.timer = time.AfterFunc(wait, w.expire)
	w.watches = make([]watch, len(lists))
	for i, l := range lists {
		w.watches[i] = watch{list: l, waiter: w}
		l.add(&w.watches[i])
	}
	w.mu.Unlock()
	w.check() // an event may have come before the list was joined
	return w
}

// wake asks every waiter of the list whether it can be completed. The caller
// holds no lock that try needs.
func (l *watchList) wake() {
	var few [8]*waiter
	for _, w := range l.waiters(few[:0]) {
		w.check()
	}
}

// expire completes every waiter of the list, as if their time had run out.
func (l *watchList) expire() {
	var few [8]*waiter
	for _, w := range l.waiters(few[:0]) {
		w.expire()
	}
}

func (l *watchList) waiters(dst []*waiter) []*waiter {
	l.mu.Lock()
	defer l.mu.Unlock()
	for n := l.head; n != nil; n = n.next {
		dst = append(dst, n.waiter)
	}
	return dst
}

func (l *watchList) add(n *watch) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n.next = l.head
	if n.next != nil {
		n.next.prev = n
	}
	l.head = n
}

func (l *watchList) remove(n *watch) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n.prev != nil {
		n.prev.next = n.next
	} else {
		l.head = n.next
	}
	if n.next != nil {
		n.next.prev = n.prev
	}
	n.prev, n.next = nil, nil
}

// check completes the waiter if its operation can be, and reports whether it is
// done.
func (w *waiter) check() bool {
	w.mu.Lock()
	if w.done || !w.op.try() {
		defer w.mu.Unlock()
		return w.done
	}
	w.leave()
	w.mu.Unlock()
	w.op.complete()
	return true
}

// expire completes the waiter if it is not done.
func (w *waiter) expire() {
	if w.cancel() {
		w.op.complete()
	}
}

// cancel ends the waiting without an answer. It reports false if the operation
// is completed, or about to be.
func (w *waiter) cancel() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.done {
		return false
	}
	w.leave()
	return true
}

// leave marks the waiter as done and takes it off its lists. Its lock is held.
func (w *waiter) leave() {
	w.done = true
	if w.timer != nil {
		w.timer.Stop()
	}
	for i := range w.watches {
		w.watches[i].list.remove(&w.watches[i])
	}
	w.watches = nil
}
