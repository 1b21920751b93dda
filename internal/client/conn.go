package client

import (
	"bytes"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"syscall"
	"time"
)

// A conn is a connection that notices if there is no Kafka broker at its other end, or
// one that expects something else. What that is shows in how it treats the first two
// requests, ApiVersions and the first one after it.
type conn struct {
	net.Conn
	address string
	reach   *reach

	mu     sync.Mutex
	node   int32 // -1 while it is unknown
	writes int
	read   int // bytes
	mark   int // bytes that were read before the last of the first requests was written
}

// early is how many requests tell what is at the other end: ApiVersions and the first
// one after it, or with SASL those up to the end of it.
func (c *conn) early() int {
	switch cred := c.reach.credential; {
	case cred == nil:
		return 2
	case strings.HasPrefix(cred.Name(), "SCRAM"):
		return 4
	}
	return 3
}

// SetReadDeadline leaves less time to the first answer: whoever is there for the first
// time and says nothing is no broker.
func (c *conn) SetReadDeadline(t time.Time) error {
	c.mu.Lock()
	first := c.read == 0
	c.mu.Unlock()
	if limit := time.Now().Add(c.reach.setup); first && (t.IsZero() || t.After(limit)) {
		t = limit
	}
	return c.Conn.SetReadDeadline(t)
}

func (c *conn) Write(p []byte) (int, error) {
	c.mu.Lock()
	if c.writes++; c.writes <= c.early() {
		c.mark = c.read
	}
	first := c.read == 0
	c.mu.Unlock()
	n, err := c.Conn.Write(p)
	if err != nil && first {
		return n, c.fail(answering, err)
	}
	return n, err
}

func (c *conn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.mu.Lock()
	first, early := c.read == 0, c.read == c.mark && (c.writes <= c.early() || c.reach.credential == nil)
	step := c.writes
	c.read += n
	c.mu.Unlock()
	switch {
	case n > 0 && first:
		if what := foreign(p[:n]); what != "" {
			return 0, c.fail(answering, foreignError(what))
		}
	case n > 0 || err == nil:
	case first:
		return n, c.fail(answering, err)
	case early && hungUp(err) && step >= 3 && c.reach.credential != nil:
		return n, c.fail(authenticating, err)
	case early && hungUp(err):
		return n, c.fail(asking, err)
	}
	return n, err
}

// fail returns the error of a connection that was of no use. A reset is told to
// franz-go the first two times: then it asks in an older way, as Azure needs.
func (c *conn) fail(s stage, err error) error {
	c.mu.Lock()
	failed := &ConnectError{Address: c.address, Node: c.node, advertised: c.node >= 0, stage: s, Err: err, reach: c.reach}
	c.mu.Unlock()
	c.reach.mu.Lock()
	defer c.reach.mu.Unlock()
	c.reach.last = failed
	if s == answering && errors.Is(err, syscall.ECONNRESET) {
		if c.reach.resets == nil {
			c.reach.resets = make(map[string]int)
		}
		if c.reach.resets[c.address]++; c.reach.resets[c.address] < 3 {
			return err
		}
		delete(c.reach.resets, c.address)
	}
	return &final{failed}
}

func hungUp(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// A foreignError says what was answered instead of Kafka's protocol.
type foreignError string

func (e foreignError) Error() string { return "it answers with " + string(e) }

const isTLS = "TLS"

// foreign says what the first bytes of an answer are, "" if they may be Kafka's, which
// are the size of the answer.
func foreign(p []byte) string {
	switch {
	case bytes.HasPrefix(p, []byte("HTTP")):
		return "HTTP"
	case bytes.HasPrefix(p, []byte("SSH-")):
		return "SSH"
	case len(p) >= 3 && (p[0] == 0x15 || p[0] == 0x16) && p[1] == 3 && p[2] <= 4:
		return isTLS
	case len(p) >= 4 && binary.BigEndian.Uint32(p) > 100<<20:
		return "bytes that are not Kafka's protocol"
	}
	return ""
}

// alertText returns the text of a TLS alert that the other side sent, "" if err is
// none.
func alertText(err error) string {
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "remote error" {
		return op.Err.Error()
	}
	return ""
}

// plainAnswer returns what came instead of a TLS handshake.
func plainAnswer(err error) (what string, ok bool) {
	header, ok := errors.AsType[tls.RecordHeaderError](err)
	if !ok {
		return "", false
	}
	return foreign(header.RecordHeader[:]), true
}
