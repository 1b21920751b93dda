package storage

import (
	"context"
	"sync"
	"time"
)

// A Throttle limits the bytes that cleaners read and write in a second:
// log.cleaner.io.max.bytes.per.second. All cleaners of a broker share one.
type Throttle struct {
	mu    sync.Mutex
	rate  float64   // bytes per second
	ready time.Time // when the next bytes may come
}

// NewThrottle returns a limit of a number of bytes per second, above 0.
func NewThrottle(bytesPerSecond float64) *Throttle { return &Throttle{rate: bytesPerSecond} }

// Wait waits until n more bytes are within the limit, or ctx ends.
func (t *Throttle) Wait(ctx context.Context, n int) error {
	t.mu.Lock()
	now := time.Now()
	if t.ready.Before(now) {
		t.ready = now
	}
	wait := t.ready.Sub(now)
	t.ready = t.ready.Add(time.Duration(float64(n) / t.rate * float64(time.Second)))
	t.mu.Unlock()
	if wait == 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
