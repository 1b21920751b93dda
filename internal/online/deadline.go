package online

import (
	"context"
	"sync"
	"time"
)

// A deadline is a context that ends after some time, of which the time that a person
// takes to answer does not count. One made by package context could not be put off.
type deadline struct {
	context.Context // what it also ends with
	done            chan struct{}

	mu    sync.Mutex
	err   error
	timer *time.Timer
	left  time.Duration // when the timer was started
	since time.Time     // when that was
}

// newDeadline returns a context that ends after so much time, and a function that ends
// it at once.
func newDeadline(parent context.Context, left time.Duration) (*deadline, context.CancelFunc) {
	d := &deadline{Context: parent, done: make(chan struct{}), left: left, since: time.Now()}
	d.timer = time.AfterFunc(left, func() { d.end(context.DeadlineExceeded) })
	stop := context.AfterFunc(parent, func() { d.end(parent.Err()) })
	return d, func() {
		stop()
		d.end(context.Canceled)
	}
}

func (d *deadline) end(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.err == nil {
		d.err = err
		d.timer.Stop()
		close(d.done)
	}
}

// pause stops the clock until the function is called that it returns.
func (d *deadline) pause() (resume func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.err != nil || !d.timer.Stop() {
		return func() {} // it is over
	}
	d.left -= time.Since(d.since)
	return func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.since = time.Now()
		if d.err == nil {
			d.timer.Reset(d.left)
		}
	}
}

// Deadline implements context.Context. It may be put off later.
func (d *deadline) Deadline() (time.Time, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.since.Add(d.left), true
}

func (d *deadline) Done() <-chan struct{} { return d.done }

func (d *deadline) Err() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.err
}
