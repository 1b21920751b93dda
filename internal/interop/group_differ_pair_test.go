//go:build interop

package interop

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// A duo sends the same requests to two brokers and compares their answers.
type duo struct {
	differText
	brokers twin[*serving]
	idle    twin[[]net.Conn]
	arrived chan arrival
	waiting []*asked // not answered by both
}

// An asked is a request to both, with their answers.
type asked struct {
	request twin[kmsg.Request]
	answer  twin[kmsg.Response] // nil until it is there
	conn    twin[net.Conn]
	sent    time.Time
	done    bool  // both have answered
	differs error // how the answers of one that has no then differ
	then    func(answers twin[kmsg.Response])
}

type arrival struct {
	q      *asked
	side   int
	answer kmsg.Response
	err    error
}

const (
	// differPatience is how long the slower one may take.
	differPatience = 30 * time.Second
	// settleAfter is how long an answer may take before it is taken for one that
	// waits for others. If it comes nevertheless it counts all the same.
	settleAfter = 80 * time.Millisecond
)

// errAbandoned ends a scenario in which both went different ways, as they may.
var errAbandoned = errors.New("both chose another leader, which is the first of a hash table in Kafka")

func newDuo(p *brokerPair, group string) *duo {
	return &duo{brokers: p.brokers, arrived: make(chan arrival, 1000), differText: newDifferText(p.topics, group)}
}

// disconnect ends what waits.
func (d *duo) disconnect() {
	for side := range d.idle {
		for _, c := range d.idle[side] {
			c.Close()
		}
		for _, q := range d.waiting {
			q.conn[side].Close()
		}
	}
}

// ask sends a request to both and waits for their answers; only those to requests that
// may wait may be missing on both sides. It fails if any differ that came, but for those
// without a then, who look at them themselves.
func (d *duo) ask(client string, q twin[kmsg.Request], then func(twin[kmsg.Response])) (*asked, error) {
	a := &asked{request: q, then: then, sent: time.Now()}
	for side := range q {
		if err := d.send(side, client, a); err != nil {
			return a, err
		}
	}
	d.waiting = append(d.waiting, a)
	return a, d.settle(a)
}

func (d *duo) send(side int, client string, q *asked) error {
	var c net.Conn
	if n := len(d.idle[side]); n > 0 {
		c, d.idle[side] = d.idle[side][n-1], d.idle[side][:n-1]
	} else {
		var err error
		if c, err = net.Dial("tcp", d.brokers[side].bootstrap); err != nil {
			return err
		}
	}
	q.conn[side] = c
	r := q.request[side]
	if _, err := c.Write(kmsg.NewRequestFormatter(kmsg.FormatterClientID(client)).AppendRequest(nil, r, 1)); err != nil {
		return err
	}
	go func() {
		a, err := readAnswer(c, r)
		d.arrived <- arrival{q, side, a, err}
	}()
	return nil
}

func readAnswer(c net.Conn, r kmsg.Request) (kmsg.Response, error) {
	var size [4]byte
	if _, err := io.ReadFull(c, size[:]); err != nil {
		return nil, err
	}
	p := make([]byte, binary.BigEndian.Uint32(size[:]))
	if _, err := io.ReadFull(c, p); err != nil {
		return nil, err
	}
	a := r.ResponseKind()
	header := 4
	if r.IsFlexible() {
		header++
	}
	return a, a.ReadFrom(p[header:])
}

// settle waits until both have answered the same requests, then compares the answers.
func (d *duo) settle(newest *asked) error {
	for {
		late, limit := newest, differPatience
		if i := slices.IndexFunc(d.waiting, func(q *asked) bool { return q.answered(ofKF) != q.answered(ofKafka) }); i >= 0 {
			late = d.waiting[i]
		} else if newest.answered(ofKF) {
			break
		} else if newest.mayWait() {
			limit = time.Until(newest.sent.Add(settleAfter))
		}
		select {
		case a := <-d.arrived:
			if a.err != nil {
				return fmt.Errorf("%s: %s answers nothing: %w", d.of(a.q.request[a.side]), d.brokers[a.side].name, a.err)
			}
			a.q.answer[a.side] = a.answer
			continue
		case <-time.After(limit):
		}
		if late == newest && newest.mayWait() && !newest.answered(ofKF) && !newest.answered(ofKafka) {
			break
		}
		return fmt.Errorf("%s: after %v kf has answered: %v, Kafka: %v", d.of(late.request[ofKF]), limit, late.answered(ofKF), late.answered(ofKafka))
	}
	var done []*asked
	d.waiting = slices.DeleteFunc(d.waiting, func(q *asked) bool {
		if q.done = q.answered(ofKF); q.done {
			done = append(done, q)
		}
		return q.done
	})
	for _, q := range done {
		for side, c := range q.conn {
			d.idle[side] = append(d.idle[side], c)
		}
		err := d.compare(q)
		switch {
		case q.then == nil:
			q.differs = err
		case err != nil:
			return err
		default:
			q.then(q.answer)
		}
	}
	return nil
}

func (q *asked) answered(side int) bool { return q.answer[side] != nil }

// mayWait reports whether a request may wait for those of others.
func (q *asked) mayWait() bool { return q.member() != nil }

// member is the member id in a request that may wait.
func (q *asked) member() *string {
	switch r := q.request[ofKF].(type) {
	case *kmsg.JoinGroupRequest:
		return &r.MemberID
	case *kmsg.SyncGroupRequest:
		return &r.MemberID
	}
	return nil
}

// waits reports whether a request of a member waits.
func (d *duo) waits(member string) bool {
	return member != "" && slices.ContainsFunc(d.waiting, func(q *asked) bool { return q.mayWait() && *q.member() == member })
}

func (d *duo) compare(q *asked) error {
	kf, kafka := d.of(q.answer[ofKF]), d.of(q.answer[ofKafka])
	if kf == kafka {
		return nil
	}
	if a, ok := q.answer[ofKF].(*kmsg.JoinGroupResponse); ok && a.LeaderID != "" {
		if id := q.answer[ofKafka].(*kmsg.JoinGroupResponse).LeaderID; id != "" && d.rename(id) != d.rename(a.LeaderID) {
			return errAbandoned
		}
	}
	return fmt.Errorf("%s\nrequest: %s\nkf:      %s\nKafka:   %s", kmsg.NameForKey(q.request[ofKF].Key()), d.of(q.request[ofKF]), kf, kafka)
}
