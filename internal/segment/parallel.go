package segment

import (
	"context"
	"errors"
	"io"
	"math"
	"runtime"
	"sync"
)

// maxWorkers bounds the memory of Process on machines with many processors.
const maxWorkers = 8

// flushAt is how much output a chunk may hold back while it waits for its turn.
const flushAt = 1 << 20

// An Output collects what the work on one chunk prints. The outputs of all
// chunks are written in file order.
type Output struct {
	B    []byte // append here
	turn *turns
	mine int
}

// Full writes B out once it is large; call it between records. It waits until
// all earlier chunks are done.
func (o *Output) Full() error {
	if len(o.B) < flushAt {
		return nil
	}
	return o.Turn()
}

// Turn waits until all earlier chunks are done and writes B out. From then on no
// other chunk has its turn until the work on this one returns.
func (o *Output) Turn() error {
	if !o.turn.wait(o.mine) {
		return errStopped
	}
	err := o.turn.write(o.B)
	o.B = o.B[:0]
	return err
}

var errStopped = errors.New("stopped")

// turns hands the right to write from one chunk to the next.
type turns struct {
	w       io.Writer
	mu      sync.Mutex
	changed *sync.Cond
	now     int
	stopped bool
}

// wait returns when it is the turn of chunk n; false if work was stopped.
func (t *turns) wait(n int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for t.now != n && !t.stopped {
		t.changed.Wait()
	}
	return !t.stopped
}

func (t *turns) write(p []byte) error {
	if len(p) == 0 {
		return nil
	}
	_, err := t.w.Write(p)
	return err
}

func (t *turns) pass(stop bool) {
	t.mu.Lock()
	t.now++
	t.stopped = t.stopped || stop
	t.mu.Unlock()
	t.changed.Broadcast()
}

// A Work does one chunk: it appends what to print to out and returns what must
// happen in file order once that is written, or nil. An error, of the work or of
// what it returned, ends everything after its own chunk's output.
type Work func(c *Chunk, out *Output) (inOrder func() error, err error)

// Process runs the chunks of s through several workers and writes their output
// to w in file order. newWorker is called once for each worker, so that it can
// have buffers of its own. Process returns the first error in file order.
func Process(ctx context.Context, s *Scanner, w io.Writer, newWorker func() Work) error {
	t := &turns{w: w}
	t.changed = sync.NewCond(&t.mu)
	var (
		wg    sync.WaitGroup
		mu    sync.Mutex
		first error
		at    = -1
	)
	failed := func(index int, err error) {
		mu.Lock()
		defer mu.Unlock()
		if at < 0 || index < at {
			first, at = err, index
		}
	}
	for range min(runtime.GOMAXPROCS(0), maxWorkers) {
		wg.Go(func() {
			work := newWorker()
			var c Chunk
			defer func() { c.Release() }()
			out := Output{turn: t}
			for {
				if err := s.Next(ctx, &c); err != nil {
					if err != io.EOF {
						failed(math.MaxInt, err) // behind all chunks
					}
					return
				}
				out.B, out.mine = out.B[:0], c.Index
				inOrder, err := work(&c, &out)
				if !t.wait(c.Index) {
					return
				}
				if werr := t.write(out.B); werr != nil {
					err = werr
				} else if inOrder != nil {
					if oerr := inOrder(); err == nil {
						err = oerr
					}
				}
				if err != nil {
					failed(c.Index, err)
				}
				t.pass(err != nil)
				if cap(out.B) > 4*flushAt {
					out.B = nil
				}
				if err != nil {
					return
				}
			}
		})
	}
	wg.Wait()
	return first
}
