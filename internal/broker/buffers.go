package broker

import (
	"math/bits"
	"sync"
)

// Buffers of requests and answers are reused. There is a pool for each power of
// two from 4 KiB to 16 MiB; larger ones are left to the garbage collector.
const (
	minBufferBits = 12
	maxBufferBits = 24
)

var bufferPools [maxBufferBits - minBufferBits + 1]sync.Pool

// A buffer is bytes from a pool. Whoever holds it gives it back with free, once.
type buffer struct{ b []byte }

// newBuffer returns an empty buffer with room for n bytes.
func newBuffer(n int) *buffer {
	class := max(bits.Len(uint(max(n, 1)-1)), minBufferBits)
	if class > maxBufferBits {
		return &buffer{make([]byte, 0, n)}
	}
	if b, ok := bufferPools[class-minBufferBits].Get().(*buffer); ok {
		b.b = b.b[:0]
		return b
	}
	return &buffer{make([]byte, 0, 1<<class)}
}

// free ends the use of the buffer and of everything that is part of it.
func (b *buffer) free() {
	class := bits.Len(uint(cap(b.b))) - 1 // its room is at least this power of two
	if class < minBufferBits || class > maxBufferBits {
		return
	}
	bufferPools[class-minBufferBits].Put(b)
}
