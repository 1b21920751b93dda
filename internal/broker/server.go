package broker

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"sync"
	"time"
)

// limits are what clients may take.
type limits struct {
	requestBytes     int32         // of one request: socket.request.max.bytes
	memoryBytes      int64         // of the requests of all connections that are being read or handled, small ones aside
	slots            int           // requests of a connection that are started and not yet answered
	unsentBytes      int64         // of a connection's answers in memory, above which no request is read
	connections      int           // max.connections: more wait to be accepted
	connectionsPerIP int           // max.connections.per.ip: more are closed
	idle             time.Duration // connections.max.idle.ms
	stall            time.Duration // how long an incomplete request may stand still
}

// A server accepts connections and runs the requests that come.
type server struct {
	apis      *apiTable
	limits    limits
	log       *slog.Logger
	memory    *budget // of the bytes of requests
	decoding  *budget // of what requests become that are being decoded and handled
	listeners []*listener

	room    chan struct{} // a token for each connection
	done    chan struct{} // closed when the server stops
	accepts sync.WaitGroup
	serving sync.WaitGroup

	mu       sync.Mutex
	stopping bool
	conns    map[*conn]struct{}
	perIP    map[string]int
}

// A listener is one of the server's addresses.
type listener struct {
	net.Listener
	name string // of the listener, such as PLAINTEXT
}

func newServer(apis *apiTable, l limits, log *slog.Logger, listeners []*listener) *server {
	return &server{
		apis:      apis,
		limits:    l,
		log:       log,
		memory:    newBudget(max(l.memoryBytes, int64(l.requestBytes))),
		decoding:  newBudget(max(l.memoryBytes, growthOfPlain*int64(min(l.requestBytes, plainBytes)))),
		listeners: listeners,
		room:      make(chan struct{}, min(l.connections, maxConnections)),
		done:      make(chan struct{}),
		conns:     make(map[*conn]struct{}),
		perIP:     make(map[string]int),
	}
}

// maxConnections bounds max.connections, whose default is 2^31-1: a process has
// no more descriptors than this.
const maxConnections = 1 << 20

// start accepts connections from now on.
func (s *server) start() {
	for _, l := range s.listeners {
		s.accepts.Go(func() { s.accept(l) })
	}
	s.accepts.Go(s.sweep)
}

func (s *server) accept(l *listener) {
	const minPause, maxPause = 5 * time.Millisecond, time.Second
	const warnEvery = time.Minute
	pause := minPause
	var warned time.Time
	for {
		if len(s.room) == cap(s.room) && time.Since(warned) > warnEvery {
			warned = time.Now()
			s.log.Warn("all connections that are allowed are there: more wait until one is closed", "listener", l.name, "limit", cap(s.room))
		}
		select {
		case s.room <- struct{}{}:
		case <-s.done:
			return
		}
		nc, err := l.Accept()
		if err != nil {
			<-s.room
			if errors.Is(err, net.ErrClosed) {
				return
			}
			// Out of descriptors, or a client that is gone already: go on.
			s.log.Warn("a connection was not accepted", "listener", l.name, "error", err)
			select {
			case <-time.After(pause):
			case <-s.done:
				return
			}
			pause = min(2*pause, maxPause)
			continue
		}
		pause = minPause
		if !s.add(l, nc) {
			nc.Close()
			<-s.room
		}
	}
}

// add starts to serve a connection, if it may be.
func (s *server) add(l *listener, nc net.Conn) bool {
	c := &conn{
		server: s, nc: nc, listener: l,
		queue: make(chan *call, s.limits.slots),
		wrote: make(chan struct{}, 1),
		gone:  make(chan struct{}),
	}
	c.progress()
	ip := remoteIP(nc)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.stopping:
		return false
	case s.perIP[ip] >= s.limits.connectionsPerIP:
		s.log.Warn("too many connections from one address", "address", ip, "limit", s.limits.connectionsPerIP)
		return false
	}
	s.conns[c] = struct{}{}
	s.perIP[ip]++
	s.serving.Go(func() {
		c.serve()
		s.mu.Lock()
		delete(s.conns, c)
		if s.perIP[ip]--; s.perIP[ip] == 0 {
			delete(s.perIP, ip)
		}
		s.mu.Unlock()
		<-s.room
	})
	return true
}

func remoteIP(nc net.Conn) string {
	host, _, err := net.SplitHostPort(nc.RemoteAddr().String())
	if err != nil {
		return nc.RemoteAddr().String()
	}
	return host
}

// sweep closes connections on which nothing happens: idle ones, those whose
// client does not read, those that started a request and do not go on, and those
// that are slow to send one while others wait for the memory that it holds.
func (s *server) sweep() {
	every := max(min(s.limits.idle, s.limits.stall)/8, time.Millisecond)
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-s.done:
			return
		}
		now := time.Now().UnixNano()
		short := s.memory.waiting()
		s.mu.Lock()
		for c := range s.conns {
			limit := s.limits.idle
			if c.body.Load() {
				limit = min(limit, s.limits.stall)
			}
			due := c.due.Load()
			if now-c.active.Load() > int64(limit) || short && due != 0 && now > due {
				c.close()
			}
		}
		s.mu.Unlock()
	}
}

// stop ends the server. No connection and no request is begun any more; those
// that are running are answered until ctx ends, then they are cut off. finish
// is called in between to complete what is parked.
func (s *server) stop(ctx context.Context, finish func()) error {
	s.mu.Lock()
	if s.stopping {
		s.mu.Unlock()
		return nil
	}
	s.stopping = true
	close(s.done)
	for c := range s.conns {
		c.drain()
	}
	s.mu.Unlock()
	for _, l := range s.listeners {
		l.Close()
	}
	s.accepts.Wait()

	idle := make(chan struct{})
	go func() {
		s.serving.Wait()
		close(idle)
	}()
	// A request that was being started when the readers were told to stop may
	// still be parked, so finish is called until all is done.
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for {
		finish()
		select {
		case <-idle:
			return nil
		case <-ticker.C:
		case <-ctx.Done():
			s.mu.Lock()
			for c := range s.conns {
				c.close()
			}
			s.mu.Unlock()
			<-idle
			return ctx.Err()
		}
	}
}
