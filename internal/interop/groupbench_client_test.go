//go:build interop && linux

package interop

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// A groupConn is a connection with one request under way, as a consumer has it to
// its coordinator.
type groupConn struct {
	conn   net.Conn
	r      *bufio.Reader
	out    []byte
	answer []byte
}

// dialGroup connects to the server. What the connection waits for ends with ctx.
func dialGroup(ctx context.Context, s *server) (*groupConn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", s.address)
	if err != nil {
		return nil, err
	}
	if end, ok := ctx.Deadline(); ok {
		if err := conn.SetDeadline(end); err != nil {
			return nil, err
		}
	}
	return &groupConn{conn: conn, r: bufio.NewReader(conn)}, nil
}

func (c *groupConn) close() { c.conn.Close() }

// formatter makes the frames of requests.
var formatter = kmsg.NewRequestFormatter(kmsg.FormatterClientID("kf-bench"))

// send sends a frame and returns the answer behind its size, which is valid until
// the next call.
func (c *groupConn) send(frame []byte) ([]byte, error) {
	if _, err := c.conn.Write(frame); err != nil {
		return nil, err
	}
	size, err := c.r.Peek(4)
	if err != nil {
		return nil, err
	}
	n := int(binary.BigEndian.Uint32(size))
	if n > 100<<20 {
		return nil, fmt.Errorf("an answer of %d bytes", n)
	}
	if _, err := c.r.Discard(4); err != nil {
		return nil, err
	}
	c.answer = slices.Grow(c.answer[:0], n)[:n]
	_, err = io.ReadFull(c.r, c.answer)
	return c.answer, err
}

// askGroup sends a request and decodes its answer.
func askGroup[R kmsg.Response](c *groupConn, q kmsg.Request) (R, error) {
	r := q.ResponseKind().(R)
	c.out = formatter.AppendRequest(c.out[:0], q, 1)
	p, err := c.send(c.out)
	if err != nil {
		return r, fmt.Errorf("%s: %w", kmsg.NameForKey(q.Key()), err)
	}
	header := 4
	if r.IsFlexible() {
		header++ // no tags
	}
	if len(p) < header {
		return r, fmt.Errorf("%s: an answer of %d bytes", kmsg.NameForKey(q.Key()), len(p))
	}
	return r, r.ReadFrom(p[header:])
}

// coordinatorComes reports whether an answer means that the coordinator will be
// there in a moment.
func coordinatorComes(code int16) bool {
	switch code {
	case kerr.CoordinatorNotAvailable.Code, kerr.CoordinatorLoadInProgress.Code, kerr.NotCoordinator.Code:
		return true
	}
	return false
}

// untilThere repeats a request until the coordinator is there to answer it.
func untilThere(ask func() (code int16, err error)) (int16, error) {
	for {
		code, err := ask()
		if err != nil || !coordinatorComes(code) {
			return code, err
		}
		time.Sleep(time.Millisecond)
	}
}

// findCoordinator asks for the coordinator of a group, which lets the broker make
// __consumer_offsets.
func (c *groupConn) findCoordinator(group string) error {
	q := kmsg.NewPtrFindCoordinatorRequest()
	q.Version, q.CoordinatorKeys = 4, []string{group}
	code, err := untilThere(func() (int16, error) {
		r, err := askGroup[*kmsg.FindCoordinatorResponse](c, q)
		if err != nil || len(r.Coordinators) != 1 {
			return -1, err
		}
		return r.Coordinators[0].ErrorCode, nil
	})
	if err == nil {
		err = kerr.ErrorForCode(code)
	}
	return err
}

// each does something for all members at once. It fails the benchmark with the
// first error.
func each[M interface{ close() }](b *testing.B, s *server, members []M, do func(M) error) {
	b.Helper()
	var wg sync.WaitGroup
	var once sync.Once
	var failed error
	for _, m := range members {
		wg.Go(func() {
			if err := do(m); err != nil {
				once.Do(func() { // the others wait for nothing any more
					failed = err
					for _, other := range members {
						other.close()
					}
				})
			}
		})
	}
	wg.Wait()
	if failed != nil {
		b.Fatalf("%s: %v\n%s", s.name, failed, &s.output)
	}
}

// clientCPU returns the processor time that this process has used.
func clientCPU() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // it cannot fail
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// A committer is a group of one member that commits the same offsets again and
// again. Its frame is made once, and an answer compared with the first one, so
// that it costs little.
type committer struct {
	*classicMember
	frame []byte
	first []byte // what the first commit was answered
	took  []time.Duration
}

// start makes the group, and commits for the first time.
func (c *committer) start() error {
	if err := c.settle(1); err != nil {
		return err
	}
	q := kmsg.NewPtrOffsetCommitRequest()
	q.Version, q.Group, q.MemberID, q.Generation = 9, c.group, c.id, c.generation
	t := kmsg.NewOffsetCommitRequestTopic()
	t.Topic = "orders"
	for i := range int32(partitionsEach) {
		p := kmsg.NewOffsetCommitRequestTopicPartition()
		p.Partition, p.Offset, p.LeaderEpoch = i, 1000*int64(i), 0
		t.Partitions = append(t.Partitions, p)
	}
	q.Topics = append(q.Topics, t)
	r, err := askGroup[*kmsg.OffsetCommitResponse](c.groupConn, q)
	if err != nil {
		return err
	}
	if len(r.Topics) != 1 || len(r.Topics[0].Partitions) != partitionsEach {
		return fmt.Errorf("OffsetCommit: %+v", r)
	}
	for _, p := range r.Topics[0].Partitions {
		if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
			return fmt.Errorf("OffsetCommit: %w", err)
		}
	}
	c.frame, c.first = bytes.Clone(c.out), bytes.Clone(c.answer)
	return nil
}

// commit commits and notes how long it took.
func (c *committer) commit() error {
	start := time.Now()
	p, err := c.send(c.frame)
	if err != nil {
		return fmt.Errorf("OffsetCommit: %w", err)
	}
	if !bytes.Equal(p, c.first) {
		return fmt.Errorf("OffsetCommit: answered %x, and %x at first", p, c.first)
	}
	c.took = append(c.took, time.Since(start))
	return nil
}

// A commitLoad is what many commits cost.
type commitLoad struct {
	took           []time.Duration // of each, in ascending order
	time           time.Duration   // of all
	broker, client time.Duration   // processor time
}

// commitAll lets all groups commit as do says, which is told when they began.
func commitAll(b *testing.B, s *server, groups []*committer, do func(c *committer, start time.Time) error) commitLoad {
	b.Helper()
	for _, c := range groups {
		c.took = c.took[:0]
	}
	processor, client, start := s.cpuSeconds(b), clientCPU(), time.Now()
	each(b, s, groups, func(c *committer) error { return do(c, start) })
	l := commitLoad{time: time.Since(start), client: clientCPU() - client}
	l.broker = time.Duration((s.cpuSeconds(b) - processor) * float64(time.Second))
	for _, c := range groups {
		l.took = append(l.took, c.took...)
	}
	slices.Sort(l.took)
	return l
}
