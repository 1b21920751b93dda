package broker

import (
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// A requestHeader is what every request starts with.
type requestHeader struct {
	key         int16
	version     int16
	correlation int32
	clientID    string // "" if it is null
}

// A call is one request of a connection until its answer is written. Its handler
// calls exactly one of reply, replyLater, replyNothing, fail and park, or
// returns the response for the first to be called, or calls later and sees to it
// that reply is called.
type call struct {
	requestHeader
	conn *conn
	api  *api
	// ready takes the one reply.
	ready  chan reply
	parked *waiter
	open   bool  // it is answered by somebody who does not know of the connection
	held   int64 // bytes that it takes while it waits, part of conn.unsent
	failed error // see fail
}

// A reply is what became of a call; at most one field is set, and if none is,
// the client gets no answer.
type reply struct {
	answer *answer
	build  func() (*answer, error) // makes the answer when it is its turn to be written
}

func newCall(c *conn, h requestHeader, a *api) *call {
	return &call{requestHeader: h, conn: c, api: a, ready: make(chan reply, 1)}
}

// reply answers with a response.
func (c *call) reply(r kmsg.Response) {
	r.SetVersion(c.version)
	a := &answer{buf: c.startAnswer(r.IsFlexible())}
	a.buf.b = r.AppendTo(a.buf.b)
	a.finish()
	c.send(a)
}

// send answers with what is encoded already.
func (c *call) send(a *answer) {
	c.conn.unsent.Add(int64(cap(a.buf.b)))
	c.ready <- reply{answer: a}
}

// replyLater answers with what build returns. It is called by the connection's
// writer when the answers before this one are written, or never if the
// connection ends: work for a slow client is not done on the goroutine of
// another one, and files are not held while an answer waits for its turn.
func (c *call) replyLater(build func() (*answer, error)) { c.ready <- reply{build: build} }

// replyNothing ends the call without an answer, as acks=0 wants it.
func (c *call) replyNothing() { c.ready <- reply{} }

// fail ends the connection once the answers before this one are written. Only
// the handler itself may call it, not a parked operation.
func (c *call) fail(err error) {
	c.failed = fmt.Errorf("%w: %w", errFailed, err)
	c.replyNothing()
}

// watchBytes is about what a partition takes for which a call waits: what is asked
// of it, where it is, and its place in a list.
const watchBytes = 256

// park lets the call wait. op answers it in complete. What it takes meanwhile
// counts as an answer that is not sent: a client that asks for many partitions at
// once is read no further, as with Kafka, which takes one request at a time.
func (c *call) park(op operation, lists []*watchList, wait time.Duration) {
	c.held = watchBytes * int64(len(lists))
	c.conn.unsent.Add(c.held)
	c.parked = park(guarded{op, c}, lists, wait)
}

// later says that the call is answered some time after its handler returned, with
// reply: by a coordinator, which does not learn that the connection is gone.
func (c *call) later() { c.open = true }

// startAnswer returns a buffer that holds the room for the frame's length and
// the response header.
func (c *call) startAnswer(flexible bool) *buffer {
	b := newBuffer(512)
	b.b = append(b.b, 0, 0, 0, 0)
	b.b = append(b.b, byte(c.correlation>>24), byte(c.correlation>>16), byte(c.correlation>>8), byte(c.correlation))
	if flexible && c.key != apiVersionsKey { // its answers never have tags in the header
		b.b = append(b.b, 0)
	}
	return b
}

// drop ends a call whose connection is gone.
func (c *call) drop() {
	if c.parked != nil && c.parked.cancel() {
		return
	}
	if c.open { // what it is answered yet is left to the garbage collector
		return
	}
	if r := <-c.ready; r.answer != nil {
		r.answer.release()
	}
}

func (c *call) String() string {
	return fmt.Sprintf("%s v%d", kmsg.NameForKey(c.key), c.version)
}

// guarded keeps a panic of an operation to the connection of its call: it may
// run on the goroutine of another one, or of a timer.
type guarded struct {
	operation
	call *call
}

func (g guarded) complete() {
	defer func() {
		if p := recover(); p != nil {
			g.call.conn.panicked(g.call, p)
			g.call.replyNothing() // for the writer, which drops what is left
		}
	}()
	g.operation.complete()
}

func (g guarded) try() (done bool) {
	defer func() {
		if p := recover(); p != nil {
			g.call.conn.panicked(g.call, p)
			done = false // the connection ends, and drops the waiter
		}
	}()
	return g.operation.try()
}
