//go:build interop

package interop

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// A counter counts the requests that pass it on their way to brokers.
type counter struct {
	mu       sync.Mutex
	requests map[int16]int // by API key
	bytes    int64         // of answers
}

// proxy returns an address behind which the broker is, with the counter between;
// t ends it.
func (c *counter) proxy(t testing.TB, broker string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go c.pass(conn, broker)
		}
	}()
	return l.Addr().String()
}

func (c *counter) pass(client net.Conn, address string) {
	defer client.Close()
	broker, err := net.Dial("tcp", address)
	if err != nil {
		return
	}
	defer broker.Close()
	go func() {
		defer client.Close()
		_, _ = io.Copy(countingWriter{c, client}, broker)
	}()
	r := bufio.NewReader(client)
	for {
		head, err := r.Peek(6) // size, API key
		if err != nil {
			return
		}
		size := int64(binary.BigEndian.Uint32(head))
		c.mu.Lock()
		c.requests[int16(binary.BigEndian.Uint16(head[4:]))]++
		c.mu.Unlock()
		if _, err := io.CopyN(broker, r, 4+size); err != nil {
			return
		}
	}
}

type countingWriter struct {
	c *counter
	w io.Writer
}

func (w countingWriter) Write(p []byte) (int, error) {
	w.c.mu.Lock()
	w.c.bytes += int64(len(p))
	w.c.mu.Unlock()
	return w.w.Write(p)
}

// take returns how many requests there were since the last call, and which.
func (c *counter) take() (total int, which string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var parts []string
	for _, key := range slices.Sorted(maps.Keys(c.requests)) {
		total += c.requests[key]
		parts = append(parts, fmt.Sprintf("%d %s", c.requests[key], kmsg.NameForKey(key)))
	}
	parts = append(parts, fmt.Sprintf("%d bytes of answers", c.bytes))
	c.requests, c.bytes = make(map[int16]int), 0
	return total, strings.Join(parts, ", ")
}
