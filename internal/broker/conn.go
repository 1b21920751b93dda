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
	// unsent counts the bytes of answers in memory, wrote is told when it falls.
	unsent atomic.Int64
	wrote  chan struct{}
	// active is when bytes last came or went, in ns since the Unix epoch; body
	// is set while the rest of a request is waited for, which holds memory.
	active atomic.Int64
	body   atomic.Bool

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
	in := bufio.NewReaderSize(c.nc, 8<<10)
	for {
		body, err := c.frame(in)
		if err != nil {
			if c.draining.Load() {
				return errDraining
			}
			return err
		}
		started, err := c.start(body.b)
		c.server.memory.give(weight(body.b))
		body.free()
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

// frame reads the next request into a buffer, whose memory it takes from the
// server's budget first.
func (c *conn) frame(in *bufio.Reader) (*buffer, error) {
	var prefix [4]byte
	if _, err := io.ReadFull(in, prefix[:]); err != nil {
		return nil, err
	}
	c.progress()
	n := int64(int32(binary.BigEndian.Uint32(prefix[:])))
	if n < minRequest || n > int64(c.server.limits.requestBytes) {
		return nil, fmt.Errorf("%w: %d", errFrame, n)
	}
	c.body.Store(true)
	header, err := in.Peek(minRequest)
	c.body.Store(false)
	if err != nil {
		return nil, err
	}
	if n > plainBytes && !mostlyRecords(header) {
		return nil, fmt.Errorf("%w: %d, at most %d for a request without records", errFrame, n, plainBytes)
	}
	claim := n * growth(header)
	if !c.server.memory.take(claim, c.gone) { // the client does not stand still meanwhile
		return nil, net.ErrClosed
	}
	c.progress()
	c.body.Store(true)
	defer c.body.Store(false)
	b, err := c.readBody(in, int(n))
	if err != nil {
		c.server.memory.give(claim)
		return nil, err
	}
	return b, nil
}

// plainBytes is the limit of requests other than Produce: names of topics and
// partitions, no records. Kafka has none, and a list of 100 MiB would take
// gigabytes when it is decoded.
const plainBytes = 16 << 20

// mostlyRecords reports whether a request, of which p has the first bytes, is
// Produce, which is decoded in place.
func mostlyRecords(p []byte) bool {
	return int16(binary.BigEndian.Uint16(p)) == int16(kmsg.Produce)
}

// growth is how many bytes of memory a byte of a request may take when it is
// decoded: the elements of lists take 2 bytes or more on the wire.
func growth(p []byte) int64 {
	if mostlyRecords(p) {
		return 1
	}
	return growthOfPlain
}

const growthOfPlain = 16

// weight is what a request takes of the budget.
func weight(p []byte) int64 { return int64(len(p)) * growth(p) }

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
