package broker

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// pipes is a listener whose connections are in memory, for tests with a clock
// of their own.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newPipes() *pipes { return &pipes{conns: make(chan net.Conn), closed: make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}
func (p *pipes) Close() error   { p.once.Do(func() { close(p.closed) }); return nil }
func (p *pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 9092} }

func (p *pipes) dial() net.Conn {
	client, server := net.Pipe()
	p.conns <- server
	return client
}

var testLimits = limits{
	requestBytes: 1 << 20, memoryBytes: 16 << 20, slots: 8, unsentBytes: 64 << 10,
	connections: 100, connectionsPerIP: 100, idle: 10 * time.Minute, stall: 30 * time.Second,
}

// A harness is a server with APIs of the test.
type harness struct {
	*server
	pipes *pipes
	logs  *lockedBuffer
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}
func (l *lockedBuffer) String() string { l.mu.Lock(); defer l.mu.Unlock(); return l.b.String() }

func serveTest(t *testing.T, l limits, apis ...*api) *harness {
	p := newPipes()
	logs := &lockedBuffer{}
	s := newServer(newAPITable(apis...), l, slog.New(slog.NewTextHandler(logs, nil)), []*listener{{p, "PLAINTEXT"}})
	s.start()
	t.Cleanup(func() { s.stop(cancelled(), func() {}) })
	return &harness{s, p, logs}
}

// frame returns a request as a client sends it.
func frame(correlation int32, r kmsg.Request) []byte {
	f := kmsg.NewRequestFormatter(kmsg.FormatterClientID("test"))
	return f.AppendRequest(nil, r, correlation)
}

// answerTo reads an answer and returns its correlation id and body, after the
// response header of a version without tags.
func answerTo(t *testing.T, c net.Conn) (correlation int32, body []byte) {
	t.Helper()
	p, err := readFrame(c)
	if err != nil {
		t.Fatal(err)
	}
	return int32(binary.BigEndian.Uint32(p)), p[4:]
}

func readFrame(c io.Reader) ([]byte, error) {
	var size [4]byte
	if _, err := io.ReadFull(c, size[:]); err != nil {
		return nil, err
	}
	p := make([]byte, binary.BigEndian.Uint32(size[:]))
	_, err := io.ReadFull(c, p)
	return p, err
}

// send writes on a goroutine of its own, as net.Pipe has no buffer.
func send(c net.Conn, frames ...[]byte) { go c.Write(bytes.Join(frames, nil)) }

// wantClosed waits until the server closes the connection.
func wantClosed(t *testing.T, c net.Conn) {
	t.Helper()
	if p, err := io.ReadAll(c); len(p) > 0 || err != nil && !errors.Is(err, io.ErrClosedPipe) {
		t.Fatalf("got % x, %v; want a closed connection", p, err)
	}
}

func clusterRequest() kmsg.Request {
	r := kmsg.NewPtrListGroupsRequest()
	r.SetVersion(0)
	return r
}

func metadataRequest() kmsg.Request {
	r := kmsg.NewPtrMetadataRequest()
	r.SetVersion(1)
	return r
}

// metadataAPI answers with n bytes.
func metadataAPI(n int) *api {
	return answers(0, 1, func(c *call, q *kmsg.MetadataRequest) kmsg.Response {
		r := q.ResponseKind().(*kmsg.MetadataResponse)
		r.Brokers = []kmsg.MetadataResponseBroker{{Host: strings.Repeat("x", n)}}
		return r
	})
}

// parkedAPI parks its requests on l.
func parkedAPI(l *watchList, started *atomic.Int64) *api {
	return replies(0, 0, func(c *call, q *kmsg.ListGroupsRequest) {
		started.Add(1)
		c.park(&parkedOp{c, q}, []*watchList{l}, time.Hour)
	})
}

type parkedOp struct {
	c *call
	q *kmsg.ListGroupsRequest
}

func (o *parkedOp) try() bool { return false }
func (o *parkedOp) complete() { o.c.reply(o.q.ResponseKind()) }

// Answers come in the order of the requests, also when a later one is ready
// first; and a later one is started while an earlier one waits.
func TestOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l watchList
		var started, quick atomic.Int64
		fast := answers(0, 1, func(c *call, q *kmsg.MetadataRequest) kmsg.Response { quick.Add(1); return q.ResponseKind() })
		h := serveTest(t, testLimits, parkedAPI(&l, &started), fast)
		c := h.pipes.dial()
		send(c, frame(1, clusterRequest()), frame(2, metadataRequest()), frame(3, clusterRequest()), frame(4, metadataRequest()))
		synctest.Wait()
		if started.Load() != 2 || quick.Load() != 2 {
			t.Errorf("%d waiting and %d quick requests were started, want 2 and 2", started.Load(), quick.Load())
		}
		l.expire()
		for want := int32(1); want <= 4; want++ {
			if got, _ := answerTo(t, c); got != want {
				t.Errorf("answer to request %d came in the place of %d", got, want)
			}
		}
	})
}

// A closed connection takes its waiters along, and its answers.
func TestClosedWhileParked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l watchList
		var started atomic.Int64
		h := serveTest(t, testLimits, parkedAPI(&l, &started))
		c := h.pipes.dial()
		send(c, frame(1, clusterRequest()), frame(2, clusterRequest()))
		synctest.Wait()
		if l.len() != 2 {
			t.Fatalf("%d requests wait, want 2", l.len())
		}
		c.Close()
		synctest.Wait()
		if l.len() != 0 {
			t.Errorf("%d requests of a closed connection still wait", l.len())
		}
	})
}

// A client that sends and does not read is not served beyond its limits, and
// gets everything once it reads.
func TestSlowReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const requests, size = 100, 30 << 10
		l := testLimits
		h := serveTest(t, l, metadataAPI(size))
		c := h.pipes.dial()
		var frames [][]byte
		for i := range requests {
			frames = append(frames, frame(int32(i), metadataRequest()))
		}
		send(c, frames...)
		synctest.Wait()
		var unsent int64
		h.mu.Lock()
		for c := range h.conns {
			unsent = c.unsent.Load()
		}
		h.mu.Unlock()
		// The last answer may begin below the limit and end above it; buffers
		// are powers of two.
		if limit := l.unsentBytes + 64<<10; unsent == 0 || unsent > limit {
			t.Errorf("%d bytes of answers are in memory, want at most %d", unsent, limit)
		}
		for i := range requests {
			if got, _ := answerTo(t, c); got != int32(i) {
				t.Fatalf("answer to request %d came in the place of %d", got, i)
			}
		}
	})
}

// No more than the slots of a connection are started while its first request
// waits.
func TestSlots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l watchList
		var started atomic.Int64
		h := serveTest(t, testLimits, parkedAPI(&l, &started))
		c := h.pipes.dial()
		var frames [][]byte
		for i := range 10 * testLimits.slots {
			frames = append(frames, frame(int32(i), clusterRequest()))
		}
		send(c, frames...)
		synctest.Wait()
		// One more is with the writer, and one with the reader.
		if got, limit := started.Load(), int64(testLimits.slots+2); got != limit {
			t.Errorf("%d requests were started, want %d", got, limit)
		}
		for i := range 10 * testLimits.slots {
			synctest.Wait() // all that can be parked is
			l.expire()
			if got, _ := answerTo(t, c); got != int32(i) {
				t.Fatalf("answer to request %d came in the place of %d", got, i)
			}
		}
	})
}

// A client is read no further while requests of its wait for many partitions.
func TestParkedBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := make([]watchList, testLimits.unsentBytes/watchBytes)
		lists := make([]*watchList, len(l))
		for i := range l {
			lists[i] = &l[i]
		}
		var started atomic.Int64
		h := serveTest(t, testLimits, replies(0, 0, func(c *call, q *kmsg.ListGroupsRequest) {
			started.Add(1)
			c.park(&parkedOp{c, q}, lists, time.Hour)
		}))
		c := h.pipes.dial()
		send(c, frame(1, clusterRequest()), frame(2, clusterRequest()), frame(3, clusterRequest()), frame(4, clusterRequest()))
		for want := int32(1); want <= 4; want++ {
			synctest.Wait()
			// The one at the limit, and the next.
			if n := l[0].len(); n > 2 {
				t.Errorf("%d requests wait", n)
			}
			l[0].expire()
			if got, _ := answerTo(t, c); got != want {
				t.Errorf("answer to request %d came in the place of %d", got, want)
			}
		}
		if started.Load() != 4 {
			t.Errorf("%d requests were started", started.Load())
		}
	})
}

func TestIdleAndStalled(t *testing.T) {
	whole := frame(1, metadataRequest())
	for _, tt := range []struct {
		name string
		send []byte
		want time.Duration // until the connection is closed
	}{
		{"nothing sent", nil, testLimits.idle},
		{"in the length", whole[:3], testLimits.idle},
		{"in the body", whole[:len(whole)-1], testLimits.stall},
		{"in a large body", large(testLimits)[:smallBytes+10], testLimits.stall},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := serveTest(t, testLimits, metadataAPI(1))
				c := h.pipes.dial()
				begin := time.Now()
				send(c, tt.send)
				wantClosed(t, c)
				// The sweep comes round every eighth of the shorter limit.
				if took := time.Since(begin); took < tt.want || took > tt.want+testLimits.stall/4 {
					t.Errorf("closed after %v, want %v", took, tt.want)
				}
				synctest.Wait()
				h.wantAllGiven(t)
			})
		})
	}
}

// large returns a Metadata request as large as a request may be; bytes after the
// body do no harm.
func large(l limits) []byte {
	p := frame(1, metadataRequest())
	p = append(p, make([]byte, int(l.requestBytes)+4-len(p))...)
	binary.BigEndian.PutUint32(p, uint32(l.requestBytes))
	return p
}

// A large request that does not fit into the memory of all waits for others to
// end; a small one goes on whatever they do.
func TestBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := testLimits
		l.memoryBytes = int64(l.requestBytes)
		h := serveTest(t, l, metadataAPI(1))
		request := large(l)
		first, second, third := h.pipes.dial(), h.pipes.dial(), h.pipes.dial()
		send(first, request[:len(request)-1])
		synctest.Wait()
		send(second, request)
		answered := make(chan struct{})
		go func() { readFrame(second); close(answered) }()
		send(third, frame(2, metadataRequest()))
		answerTo(t, third)
		synctest.Wait()
		select {
		case <-answered:
			t.Fatal("a request was read although the budget was used up")
		default:
		}
		send(first, request[len(request)-1:])
		answerTo(t, first)
		<-answered
		synctest.Wait()
		h.wantAllGiven(t)
	})
}

// wantAllGiven checks that no request holds memory.
func (h *harness) wantAllGiven(t *testing.T) {
	t.Helper()
	for name, b := range map[string]*budget{"memory": h.memory, "decoding": h.decoding} {
		if left := b.left(); left != b.size {
			t.Errorf("%s: %d bytes of the budget are left, want %d", name, left, b.size)
		}
	}
}

// A client that sends a large request byte by byte may take its time, but not if
// others wait for the memory.
func TestSlowSender(t *testing.T) {
	for _, wanted := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			l := testLimits
			l.memoryBytes = int64(l.requestBytes)
			h := serveTest(t, l, metadataAPI(1))
			request := large(l)
			slow := h.pipes.dial()
			send(slow, request[:smallBytes+4])
			synctest.Wait()
			begin := time.Now()
			if wanted {
				other := h.pipes.dial()
				send(other, request)
				go readFrame(other)
			}
			const steps = 20
			step := l.stall - time.Second
			var took time.Duration
			for i := range steps {
				time.Sleep(step)
				if _, err := slow.Write(request[smallBytes+4+i:][:1]); err != nil {
					took = time.Since(begin)
					break
				}
			}
			if !wanted && took != 0 {
				t.Errorf("cut off after %v although nobody waits", took)
			}
			if wanted && (took == 0 || took > 3*step) {
				t.Errorf("cut off after %v", took)
			}
			slow.Close()
			synctest.Wait()
			h.wantAllGiven(t)
		})
	}
}

func (b *budget) left() int64 { b.mu.Lock(); defer b.mu.Unlock(); return b.free }

func TestBudgetGivesUp(t *testing.T) {
	b := newBudget(10)
	gone := make(chan struct{})
	b.take(8, gone)
	result := make(chan bool)
	go func() { result <- b.take(5, gone) }()
	close(gone)
	if <-result {
		t.Error("a claim was granted beyond the budget")
	}
	b.give(8)
	if b.free != 10 || len(b.queue) != 0 {
		t.Errorf("%d bytes left, %d claims wait", b.free, len(b.queue))
	}
}

// A panic ends the connection that it came from, in a handler, in what a parked
// request does on another's goroutine, and in what the writer calls.
func TestPanic(t *testing.T) {
	var l watchList
	for _, tt := range []struct {
		name    string
		handler func(c *call, q *kmsg.ListGroupsRequest)
	}{
		{"handler", func(c *call, q *kmsg.ListGroupsRequest) { panic("boom") }},
		{"try", func(c *call, q *kmsg.ListGroupsRequest) { c.park(&panicOp{inTry: 3}, []*watchList{&l}, time.Hour) }},
		{"complete", func(c *call, q *kmsg.ListGroupsRequest) { c.park(&panicOp{}, []*watchList{&l}, time.Hour) }},
		{"writer", func(c *call, q *kmsg.ListGroupsRequest) { c.replyLater(func() (*answer, error) { panic("boom") }) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l = watchList{}
				h := serveTest(t, testLimits, replies(0, 0, tt.handler), metadataAPI(1))
				bad, good := h.pipes.dial(), h.pipes.dial()
				send(bad, frame(1, clusterRequest()))
				synctest.Wait()
				l.wake()
				l.expire()
				wantClosed(t, bad)
				send(good, frame(2, metadataRequest()))
				answerTo(t, good)
				if !strings.Contains(h.logs.String(), "boom") {
					t.Errorf("the log says nothing of the panic: %s", h.logs)
				}
				synctest.Wait()
				if l.len() != 0 {
					t.Errorf("%d waiters are left", l.len())
				}
			})
		})
	}
}

// panicOp panics in the n-th try, or in complete.
type panicOp struct{ inTry int }

func (o *panicOp) try() bool {
	if o.inTry--; o.inTry == 0 {
		panic("boom")
	}
	return false
}
func (o *panicOp) complete() { panic("boom") }

func TestConnectionLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := testLimits
		l.connectionsPerIP = 2
		h := serveTest(t, l, metadataAPI(1))
		first, _ := h.pipes.dial(), h.pipes.dial()
		wantClosed(t, h.pipes.dial()) // the third of one address
		first.Close()
		synctest.Wait()
		again := h.pipes.dial()
		send(again, frame(1, metadataRequest()))
		answerTo(t, again)
	})
	synctest.Test(t, func(t *testing.T) {
		l := testLimits
		l.connections = 1
		h := serveTest(t, l, metadataAPI(1))
		first := h.pipes.dial()
		second := make(chan net.Conn)
		go func() { second <- h.pipes.dial() }()
		synctest.Wait()
		select {
		case <-second:
			t.Fatal("a connection was accepted beyond max.connections")
		default:
		}
		if !strings.Contains(h.logs.String(), "more wait") {
			t.Errorf("the log does not say why: %s", h.logs)
		}
		first.Close()
		c := <-second
		send(c, frame(1, metadataRequest()))
		answerTo(t, c)
	})
}

// A stop answers what is under way and nothing that comes later.
func TestStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l watchList
		var started atomic.Int64
		h := serveTest(t, testLimits, parkedAPI(&l, &started), metadataAPI(1))
		busy, idle := h.pipes.dial(), h.pipes.dial()
		send(busy, frame(1, clusterRequest()), frame(2, metadataRequest()))
		synctest.Wait()
		stopped := make(chan error)
		go func() { stopped <- h.stop(t.Context(), l.expire) }()
		wantClosed(t, idle)
		for want := int32(1); want <= 2; want++ {
			if got, _ := answerTo(t, busy); got != want {
				t.Errorf("answer to %d, want %d", got, want)
			}
		}
		wantClosed(t, busy)
		if err := <-stopped; err != nil {
			t.Error(err)
		}
	})
}

// What was sent before a frame that cannot be read is answered first.
func TestAnsweredBeforeClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := serveTest(t, testLimits, metadataAPI(1))
		c := h.pipes.dial()
		send(c, frame(1, metadataRequest()), []byte{0, 0, 0, 0})
		if got, _ := answerTo(t, c); got != 1 {
			t.Errorf("answer to %d", got)
		}
		wantClosed(t, c)
	})
}

// The decoder of frames and requests takes any bytes.
func FuzzRequest(f *testing.F) {
	b, err := New(Options{Dirs: []string{"unused"}, Listeners: []Listener{{}}})
	if err != nil {
		f.Fatal(err)
	}
	for a := range b.apis.all {
		for version := a.from; version <= a.max; version++ {
			r := a.request()
			r.SetVersion(version)
			f.Add(frame(1, r)[4:])
		}
	}
	f.Fuzz(func(t *testing.T, p []byte) {
		h, a, body, err := parseHeader(p, b.apis)
		if err != nil || body == nil {
			return
		}
		r := a.request()
		r.SetVersion(h.version)
		if r.ReadFrom(body) != nil {
			return
		}
		// What was understood means the same after a round trip.
		again := a.request()
		again.SetVersion(h.version)
		if err := again.ReadFrom(r.AppendTo(nil)); err != nil {
			t.Fatalf("%s v%d: %v", a.name, h.version, err)
		}
		if !bytes.Equal(r.AppendTo(nil), again.AppendTo(nil)) {
			t.Fatalf("%s v%d: differs after a round trip", a.name, h.version)
		}
	})
}

// A long list of names is refused before anything of it is read, records are
// not.
func TestPlainBytes(t *testing.T) {
	for key, closed := range map[int16]bool{int16(kmsg.Metadata): true, int16(kmsg.Produce): false} {
		synctest.Test(t, func(t *testing.T) {
			l := testLimits
			l.requestBytes = 2 * plainBytes
			h := serveTest(t, l, metadataAPI(1))
			c := h.pipes.dial()
			p := binary.BigEndian.AppendUint32(nil, plainBytes+1)
			p = binary.BigEndian.AppendUint16(p, uint16(key))
			send(c, append(p, make([]byte, 100)...))
			synctest.Wait()
			h.mu.Lock()
			open := len(h.conns)
			h.mu.Unlock()
			if (open == 0) != closed {
				t.Errorf("key %d: %d connections are open", key, open)
			}
		})
	}
}
