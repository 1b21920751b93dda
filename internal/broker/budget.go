package broker

import "sync"

// A budget is memory that requests of all connections share. What does not fit
// waits, first come first served, so that a large request is not starved by
// small ones.
type budget struct {
	size int64

	mu    sync.Mutex
	free  int64
	queue []*claim
}

type claim struct {
	n     int64
	ready chan struct{} // closed when the bytes are granted
}

func newBudget(size int64) *budget { return &budget{size: size, free: size} }

// take takes n bytes, and waits for them if need be until gone is closed. It
// reports whether it got them; n is at most the size of the budget.
func (b *budget) take(n int64, gone <-chan struct{}) bool {
	b.mu.Lock()
	if len(b.queue) == 0 && n <= b.free {
		b.free -= n
		b.mu.Unlock()
		return true
	}
	c := &claim{n, make(chan struct{})}
	b.queue = append(b.queue, c)
	b.mu.Unlock()
	select {
	case <-c.ready:
		return true
	case <-gone:
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for i, other := range b.queue {
		if other == c {
			b.queue = append(b.queue[:i], b.queue[i+1:]...)
			b.grant() // those behind may fit now
			return false
		}
	}
	b.free += n // granted in the same moment
	b.grant()
	return false
}

// give returns n bytes.
func (b *budget) give(n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.free += n
	b.grant()
}

// waiting reports whether somebody waits for memory.
func (b *budget) waiting() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.queue) > 0
}

func (b *budget) grant() {
	for len(b.queue) > 0 && b.queue[0].n <= b.free {
		b.free -= b.queue[0].n
		close(b.queue[0].ready)
		b.queue = b.queue[1:]
	}
}
