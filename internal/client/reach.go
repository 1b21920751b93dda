package client

import (
	"context"
	"crypto/tls"
	"errors"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// bootstrapAddress stands for all bootstrap servers. franz-go asks one after the other
// and gives up on some failures of one; as one address they are tried here, together.
// No host has a name in .invalid (RFC 6761).
const bootstrapAddress = "bootstrap.invalid:9092"

// refusedFor is how long a broker that refuses connections is tried again: it may
// just be starting. What a second does not mend is told to the user.
const refusedFor = time.Second

// stagger is after what time without an answer of a bootstrap server the next one is
// tried beside it.
const stagger = 300 * time.Millisecond

// A reach makes the connections of a client, and remembers what went wrong with them.
// It is a kgo hook.
type reach struct {
	seeds       []string
	origin      string // of bootstrap.servers
	controllers bool   // they are controllers
	canonical   bool   // ask for the names of the seeds first
	protocol    string // security.protocol
	secure      *secure
	credential  *credential
	setup       time.Duration           // for a connection with its TLS handshake, and for its first answer
	patient     time.Duration           // see refusedFor
	backoff     func(int) time.Duration // between attempts
	receive     int                     // buffer sizes, -1: as the system has them
	send        int
	props       Properties

	mu         sync.Mutex
	failing    map[string]time.Time // addresses that refuse, since when
	resets     map[string]int       // how often an address reset connections before its first answer
	asked      []question           // that are not answered yet
	unanswered question             // the last that ended without an answer
	last       *ConnectError        // the last one
	at         string               // the last address connected to
}

// dial connects to a broker, or to a bootstrap server. An error is final, for
// franz-go, unless it may pass and there was not much time yet.
func (r *reach) dial(ctx context.Context, _, address string) (net.Conn, error) {
	if address == bootstrapAddress {
		return r.bootstrap(ctx)
	}
	c, failed := r.connect(ctx, address)
	r.mu.Lock()
	defer r.mu.Unlock()
	if failed == nil {
		delete(r.failing, address)
		return c, nil
	}
	failed.advertised = true
	r.last = failed
	if r.failing == nil {
		r.failing = make(map[string]time.Time)
	}
	since, ok := r.failing[address]
	if !ok {
		since = time.Now()
		r.failing[address] = since
	}
	if failed.passing() && time.Since(since) < r.patient {
		return nil, failed
	}
	delete(r.failing, address) // who asks again later is given time again
	return nil, &final{failed}
}

// bootstrap connects to the bootstrap server that answers first.
func (r *reach) bootstrap(ctx context.Context) (net.Conn, error) {
	seeds := r.seeds
	if r.canonical {
		seeds = canonicalNames(seeds)
	}
	for start, tries := time.Now(), 1; ; tries++ {
		c, failures := r.race(ctx, seeds)
		if c != nil {
			return c, nil
		}
		failed := together(failures)
		r.mu.Lock()
		r.last = failed
		r.mu.Unlock()
		wait := r.backoff(tries)
		if !failed.passing() || time.Since(start)+wait > r.patient {
			return nil, &final{failed}
		}
		select {
		case <-ctx.Done():
			return nil, &final{failed}
		case <-time.After(wait):
		}
	}
}

// race tries seeds in random order, the next one as soon as one has failed or does not
// answer soon, and returns the first connection.
func (r *reach) race(ctx context.Context, seeds []string) (*conn, []*ConnectError) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type outcome struct {
		index  int
		conn   *conn
		failed *ConnectError
	}
	outcomes, won := make(chan outcome), make(chan struct{})
	defer close(won)
	order := rand.Perm(len(seeds))
	failures := make([]*ConnectError, len(seeds))
	running, started := 0, 0
	next := func() {
		if started == len(order) {
			return
		}
		i := order[started]
		started++
		running++
		go func() {
			c, failed := r.connect(ctx, seeds[i])
			select {
			case outcomes <- outcome{i, c, failed}:
			case <-won:
				if c != nil { // somebody was faster
					c.Close()
				}
			}
		}()
	}
	next()
	impatient := time.NewTicker(stagger)
	defer impatient.Stop()
	for running > 0 {
		select {
		case o := <-outcomes:
			running--
			if o.conn != nil {
				return o.conn, nil
			}
			failures[o.index] = o.failed
			next()
		case <-impatient.C:
			next()
		}
	}
	return nil, failures
}

// connect connects to an address, with TLS if that is asked for.
func (r *reach) connect(ctx context.Context, address string) (*conn, *ConnectError) {
	ctx, cancel := context.WithTimeoutCause(ctx, r.setup, context.DeadlineExceeded)
	defer cancel()
	fail := func(stage stage, err error) *ConnectError {
		return &ConnectError{Address: address, Node: -1, stage: stage, Err: err, reach: r}
	}
	raw, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, fail(dialing, err)
	}
	if t, ok := raw.(*net.TCPConn); ok {
		if r.receive > 0 {
			_ = t.SetReadBuffer(r.receive) // a wish
		}
		if r.send > 0 {
			_ = t.SetWriteBuffer(r.send)
		}
	}
	c := &conn{Conn: raw, address: address, reach: r, node: -1}
	if r.secure != nil {
		host, _, _ := net.SplitHostPort(address)
		secured := tls.Client(raw, r.secure.to(host))
		if err := secured.HandshakeContext(ctx); err != nil {
			raw.Close()
			return nil, fail(handshaking, err)
		}
		c.Conn = secured
	}
	r.mu.Lock()
	r.at = address
	r.mu.Unlock()
	return c, nil
}

// A question is a request that is not answered yet.
type question struct {
	broker kgo.BrokerMetadata
	key    int16
	since  time.Time
}

// OnBrokerConnect gives a failure the id of the broker: the address does not say it.
func (r *reach) OnBrokerConnect(broker kgo.BrokerMetadata, _ time.Duration, c net.Conn, err error) {
	if failed, ok := errors.AsType[*ConnectError](err); ok {
		r.mu.Lock()
		if broker.NodeID >= 0 {
			failed.Node = broker.NodeID
		}
		r.last = failed
		r.mu.Unlock()
	}
	if c, ok := c.(*conn); ok && broker.NodeID >= 0 {
		c.mu.Lock()
		c.node = broker.NodeID
		c.mu.Unlock()
	}
}

// OnBrokerWrite remembers a request.
func (r *reach) OnBrokerWrite(broker kgo.BrokerMetadata, key int16, _ int, _, _ time.Duration, err error) {
	if err != nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked = append(r.asked, question{broker, key, time.Now()})
}

// OnBrokerRead forgets a request that was answered, or whose connection ended.
func (r *reach) OnBrokerRead(broker kgo.BrokerMetadata, key int16, _ int, _, _ time.Duration, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, q := range r.asked {
		if q.broker.NodeID == broker.NodeID && q.key == key {
			if err != nil {
				r.unanswered = q
			}
			r.asked = slices.Delete(r.asked, i, i+1)
			return
		}
	}
}

// OnBrokerDisconnect forgets what nobody will answer any more.
func (r *reach) OnBrokerDisconnect(broker kgo.BrokerMetadata, _ net.Conn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked = slices.DeleteFunc(r.asked, func(q question) bool {
		gone := q.broker.NodeID == broker.NodeID
		if gone {
			r.unanswered = q
		}
		return gone
	})
}

// waiting returns the request that has waited longest, or else the last that found no
// answer: at a deadline franz-go may have closed the connection already.
func (r *reach) waiting() (question, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.asked) == 0 {
		return r.unanswered, !r.unanswered.since.IsZero()
	}
	return r.asked[0], true
}
