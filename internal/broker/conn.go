package broker

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kf/internal/wire"
)

// Why a connection ends; the client is told by nothing else, as in Kafka.
var (
	errFrame       = errors.New("frame length out of range")
	errHeader      = errors.New("request header cannot be read")
	errUnsupported = errors.New("request of an API or version that is not served")
	errBody        = errors.New("request body cannot be read")
	errFailed      = errors.New("request failed that has no answer")
	errDraining    = errors.New("server is stopping")
)

// A conn is a connection of a client. Its reader goroutine reads a request and
// starts it, and its writer goroutine writes the answers in the order of the
// requests. The next request is started when the handler of the last one
// returned: its records are appended or it is parked, and its answer may still
// be open.
type conn struct {
	server   *server
	nc       net.Conn
	listener *listener
	queue    chan *call // started, not yet answered; its capacity limits them
	// unsent counts the bytes of answers in memory and of requests that wait, wrote
	// is told when it falls.
	unsent atomic.Int64
	wrote  chan struct{}
	// active is when bytes last came or went, in ns since the Unix epoch; body
	// is set while the rest of a request is waited for. due is when a request
	// that holds memory meanwhile may be cut off for others, 0 for none.
	active atomic.Int64
	body   atomic.Bool
	due    atomic.Int64

	gone     chan struct{} // closed when the connection ends
	goneOnce sync.Once
	draining atomic.Bool
}

func (c *conn) progress() { c.active.Store(time.Now().UnixNano()) }

// serve runs the connection until it ends.
func (c *conn) serve() {
	var writer sync.WaitGroup
	writer.Go(c.write)
	err := c.read()
	close(c.queue)
	if ended(err) {
		writer.Wait()
	}
	c.close()
	writer.Wait()
	c.server.log.Debug("connection closed", "client", c.nc.RemoteAddr(), "reason", err)
}

// close ends the connection at once. It may be called from anywhere, and more
// than once.
func (c *conn) close() {
	c.goneOnce.Do(func() {
		close(c.gone)
		c.nc.Close()
	})
}

// ended reports whether the reader gave up although the client is there: the
// requests before that are answered, as if they had come one at a time.
func ended(err error) bool {
	for _, e := range []error{errFrame, errHeader, errUnsupported, errBody, errFailed, errDraining} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// drain makes the connection end when what it has started is answered.
func (c *conn) drain() {
	c.draining.Store(true)
	c.nc.SetReadDeadline(time.Unix(1, 0))
}

// read reads and starts requests until the connection ends, and says why.
func (c *conn) read() error {
	in := bufio.NewReaderSize(c.nc, smallBytes)
	for {
		request, err := c.frame(in)
		if err != nil {
			if c.draining.Load() {
				return errDraining
			}
			return err
		}
		started, err := c.start(request.b)
		request.free()
		if err != nil {
			return err
		}
		select {
		case c.queue <- started:
		case <-c.gone:
			started.drop()
			return net.ErrClosed
		}
		if started.failed != nil {
			return started.failed
		}
		for c.unsent.Load() > c.server.limits.unsentBytes {
			select {
			case <-c.wrote:
			case <-c.gone:
				return net.ErrClosed
			}
		}
	}
}

// smallBytes is the size of a connection's read buffer. A request that fits into
// it is handled there, and takes nothing of the memory of all: whatever other
// clients hold back, heartbeats and fetches go on.
const smallBytes = 8 << 10

// A received request is in the read buffer, or in one of its own.
type received struct {
	b   []byte
	in  *bufio.Reader
	buf *buffer // nil if b is in the read buffer
	c   *conn
}

// free ends the use of b.
func (r *received) free() {
	if r.buf == nil {
		_, _ = r.in.Discard(len(r.b)) // cannot fail: they were peeked
		return
	}
	r.c.server.memory.give(int64(len(r.b)))
	r.buf.free()
}

// frame reads the next request. For one that is not small it takes memory of the
// server's budget first.
func (c *conn) frame(in *bufio.Reader) (received, error) {
	var prefix [4]byte
	if _, err := io.ReadFull(in, prefix[:]); err != nil {
		return received{}, err
	}
	c.progress()
	n := int64(int32(binary.BigEndian.Uint32(prefix[:])))
	if n < minRequest || n > int64(c.server.limits.requestBytes) {
		return received{}, fmt.Errorf("%w: %d", errFrame, n)
	}
	c.body.Store(true)
	start, err := in.Peek(minRequest)
	if err == nil && n <= smallBytes {
		start, err = in.Peek(int(n))
	}
	c.body.Store(false)
	switch {
	case err != nil:
		return received{}, err
	case n <= smallBytes:
		return received{b: start, in: in, c: c}, nil
	case n > plainBytes && !mostlyRecords(start):
		return received{}, fmt.Errorf("%w: %d, at most %d for a request without records", errFrame, n, plainBytes)
	case !c.server.memory.take(n, c.gone): // the client does not stand still meanwhile
		return received{}, net.ErrClosed
	}
	c.progress()
	c.due.Store(time.Now().Add(c.server.limits.stall + time.Duration(n)*time.Second/minRate).UnixNano())
	c.body.Store(true)
	b, err := c.readBody(in, int(n))
	c.body.Store(false)
	c.due.Store(0)
	if err != nil {
		c.server.memory.give(n)
		return received{}, err
	}
	return received{b: b.b, in: in, buf: b, c: c}, nil
}

// minRate is how many bytes of a request have to arrive in a second if others
// wait for the memory that it holds.
const minRate = 1 << 20

// plainBytes is the limit of requests other than Produce: names of topics and
// partitions, no records. 100,000 partitions to fetch take 5 MB. Kafka has no such
// limit, and a list of 100 MiB would take gigabytes when it is decoded.
const plainBytes = 8 << 20

// mostlyRecords reports whether a request, of which p has the first bytes, is
// Produce, which is decoded in place.
func mostlyRecords(p []byte) bool {
	return int16(binary.BigEndian.Uint16(p)) == int16(kmsg.Produce)
}

// What decoding and answering a request may take of memory.
const (
	// growthOfPlain is how many bytes a byte of a request without records may
	// become: an empty name in a list takes 1 or 2 bytes on the wire, and some
	// 150 with its place in the answer.
	growthOfPlain = 64
	// partitionBytes is what a topic or a partition of Produce may become with
	// its place in the answer; on the wire it takes as little as 3 bytes.
	partitionBytes = 256
)

// decodedBytes returns how much memory a request may take beside its bytes.
func decodedBytes(h requestHeader, a *api, body []byte) int64 {
	if h.key != int16(kmsg.Produce) {
		return growthOfPlain * int64(len(body))
	}
	return partitionBytes * int64(producePartitions(body, h.version, a.flexible(h.version)))
}

// minRequest is the length of the shortest header: key, version, correlation id.
const minRequest = 8

// readBody reads n bytes. What it allocates grows with what has arrived, never
// with what was announced alone.
func (c *conn) readBody(in *bufio.Reader, n int) (*buffer, error) {
	b := newBuffer(min(n, 1<<20))
	for {
		from := len(b.b)
		b.b = b.b[:min(n, cap(b.b))]
		for from < len(b.b) {
			got, err := in.Read(b.b[from:min(len(b.b), from+maxChunk)])
			if err != nil {
				b.free()
				if err == io.EOF {
					err = io.ErrUnexpectedEOF
				}
				return nil, err
			}
			from += got
			c.progress()
		}
		if len(b.b) == n {
			return b, nil
		}
		larger := newBuffer(min(n, 16*len(b.b)))
		larger.b = append(larger.b, b.b...)
		b.free()
		b = larger
	}
}

// parseHeader reads the header of a request and returns it with what follows.
// For an ApiVersions version that is not served only the first three fields are
// read, as nobody knows what comes after them.
func parseHeader(p []byte, apis *apiTable) (requestHeader, *api, []byte, error) {
	in := wire.Cursor{B: p}
	h := requestHeader{key: in.Int16(), version: in.Int16(), correlation: in.Int32()}
	if in.Err() != nil {
		return h, nil, nil, errHeader
	}
	a := apis.find(h.key)
	switch {
	case a == nil:
		return h, nil, nil, fmt.Errorf("%w: key %d", errUnsupported, h.key)
	case h.key == apiVersionsKey && !a.serves(h.version):
		return h, a, nil, nil
	case !a.serves(h.version):
		return h, a, nil, fmt.Errorf("%w: %s v%d", errUnsupported, a.name, h.version)
	}
	if n := in.Int16(); n >= 0 {
		h.clientID = string(in.Bytes(int(n)))
	}
	if a.flexible(h.version) {
		for range in.Uvarint() {
			in.Uvarint()
			in.Bytes(int(in.Uvarint()))
			if in.Err() != nil {
				break
			}
		}
	}
	if in.Err() != nil {
		return h, a, nil, errHeader
	}
	return h, a, p[in.Pos():], nil
}

// start decodes a request and runs its handler. The bytes are the handler's
// until it returns.
func (c *conn) start(p []byte) (started *call, err error) {
	h, a, body, err := parseHeader(p, c.server.apis)
	if err != nil {
		return nil, err
	}
	started = newCall(c, h, a)
	defer func() {
		if p := recover(); p != nil {
			c.panicked(started, p)
			started, err = nil, fmt.Errorf("panic in %s v%d: %v", a.name, h.version, p)
		}
	}()
	if body == nil { // ApiVersions of an unknown version
		started.version = 0
		started.reply(unsupportedApiVersions(a))
		return started, nil
	}
	if len(p) > smallBytes {
		// Nobody waits for a client while holding this, so that it comes back.
		n := decodedBytes(h, a, body)
		switch {
		case n > c.server.decoding.size:
			return nil, fmt.Errorf("%w: %s v%d: too many partitions", errBody, a.name, h.version)
		case !c.server.decoding.take(n, c.gone):
			return nil, net.ErrClosed
		}
		defer c.server.decoding.give(n)
	}
	request := a.request()
	request.SetVersion(h.version)
	if err := request.ReadFrom(body); err != nil {
		return nil, fmt.Errorf("%w: %s v%d: %w", errBody, a.name, h.version, err)
	}
	a.handle(started, request)
	return started, nil
}

// panicked logs a panic and ends the connection that the request came from.
func (c *conn) panicked(of *call, p any) {
	c.server.log.Error("panic while a request was handled: the connection is closed",
		"client", c.nc.RemoteAddr(), "request", of.String(), "panic", p, "stack", string(debug.Stack()))
	c.close()
}

// write writes answers in the order of the requests.
func (c *conn) write() {
	out := newOutput(c.nc)
	for started := range c.queue {
		if err := c.writeOne(started, out); err != nil {
			if !errors.Is(err, net.ErrClosed) {
				c.server.log.Debug("connection ends", "client", c.nc.RemoteAddr(), "request", started.String(), "reason", err)
			}
			c.close()
			for started := range c.queue {
				started.drop()
			}
			return
		}
	}
}

// writeOne waits for the reply to a call and writes it.
func (c *conn) writeOne(started *call, out output) (err error) {
	var r reply
	select {
	case r = <-started.ready:
	case <-c.gone:
		started.drop()
		return net.ErrClosed
	}
	if started.held > 0 {
		defer c.sent(started.held)
	}
	a := r.answer
	switch {
	case r.build != nil:
		if a, err = c.build(started, r.build); err != nil {
			return err
		}
	case a == nil:
		return nil
	default:
		defer c.sent(int64(cap(a.buf.b)))
	}
	defer a.release()
	return a.send(out, c.progress)
}

func (c *conn) build(of *call, build func() (*answer, error)) (_ *answer, err error) {
	defer func() {
		if p := recover(); p != nil {
			c.panicked(of, p)
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return build()
}

// sent notes that n bytes of answers are no longer in memory.
func (c *conn) sent(n int64) {
	c.unsent.Add(-n)
	select {
	case c.wrote <- struct{}{}:
	default:
	}
}
