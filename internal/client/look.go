package client

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// facts are what was found out about an address by asking it: without names, passwords
// or certificates of ours.
type facts struct {
	kafka      bool // somebody speaks Kafka's protocol there
	tls        bool // behind TLS
	controller bool // a KRaft controller, not a broker
	sasl       bool
	mechanisms []string // of SASL
}

// lookTime is what finding out may take.
const lookTime = 1500 * time.Millisecond

// look finds out what is at an address. It asks with and without TLS at once.
func look(ctx context.Context, address string) *facts {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookTime)
	defer cancel()
	results := make(chan *facts, 2)
	for _, secured := range []bool{false, true} {
		go func() {
			f, err := ask(ctx, address, secured)
			if err != nil && !f.tls {
				f = nil
			}
			results <- f
		}()
	}
	var best *facts
	for range 2 {
		if f := <-results; f != nil && (best == nil || f.kafka) {
			best = f
		}
	}
	return best
}

// ask asks an address what it is. The facts are what was found up to the error.
func ask(ctx context.Context, address string, secured bool) (*facts, error) {
	f := &facts{}
	c, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return f, err
	}
	defer c.Close()
	if deadline, ok := ctx.Deadline(); ok {
		_ = c.SetDeadline(deadline)
	}
	if secured {
		host, _, _ := net.SplitHostPort(address)
		// Nothing is sent that anybody may not know, so anybody may be there.
		t := tls.Client(c, &tls.Config{ServerName: host, InsecureSkipVerify: true})
		if err := t.HandshakeContext(ctx); err != nil {
			return f, err
		}
		c, f.tls = t, true
	}
	versions := kmsg.NewPtrApiVersionsRequest()
	answer, err := exchange(c, versions)
	if err != nil {
		return f, err
	}
	apis := answer.(*kmsg.ApiVersionsResponse)
	has := func(key kmsg.Key) bool {
		return slices.ContainsFunc(apis.ApiKeys, func(k kmsg.ApiVersionsResponseApiKey) bool { return k.ApiKey == key.Int16() })
	}
	f.kafka = len(apis.ApiKeys) > 0
	f.controller = f.kafka && !has(kmsg.Metadata) && has(kmsg.Vote)
	if !has(kmsg.SASLHandshake) {
		return f, nil
	}
	handshake := kmsg.NewPtrSASLHandshakeRequest()
	handshake.Version, handshake.Mechanism = 1, "?"
	answer, err = exchange(c, handshake)
	if err != nil {
		return f, err
	}
	shake := answer.(*kmsg.SASLHandshakeResponse)
	f.sasl = errors.Is(kerr.ErrorForCode(shake.ErrorCode), kerr.UnsupportedSaslMechanism)
	f.mechanisms = shake.SupportedMechanisms
	return f, nil
}

// exchange sends a request, whose version has no tags in the header of its answer, and
// reads the answer.
func exchange(c net.Conn, q kmsg.Request) (kmsg.Response, error) {
	const id = 1
	if _, err := c.Write(kmsg.NewRequestFormatter(kmsg.FormatterClientID("kf")).AppendRequest(nil, q, id)); err != nil {
		return nil, err
	}
	var head [8]byte
	if _, err := io.ReadFull(c, head[:]); err != nil {
		return nil, err
	}
	size := binary.BigEndian.Uint32(head[:])
	if what := foreign(head[:]); what != "" || size < 4 || size > maxProvided || binary.BigEndian.Uint32(head[4:]) != id {
		return nil, errors.New("no answer of Kafka's")
	}
	body := make([]byte, size-4)
	if _, err := io.ReadFull(c, body); err != nil {
		return nil, err
	}
	answer := q.ResponseKind()
	return answer, answer.ReadFrom(body)
}

// problem says how what was found differs from what the properties say; "" if it does
// not.
func (f *facts) problem(e *ConnectError) (what, hint string) {
	want := protocolOf(f.sasl, f.tls)
	switch mine := e.reach.protocol; {
	case !f.kafka && !f.tls:
		return "", ""
	case f.tls != withTLS(mine) && f.kafka, f.sasl != withSASL(mine) && f.kafka:
		what = "it is a listener with security.protocol " + want
		if f.sasl {
			what += " and sasl.mechanism " + strings.Join(f.mechanisms, ", ")
		}
		return what, fmt.Sprintf("here security.protocol is %s%s", mine, e.reach.from("security.protocol"))
	case f.tls && !withTLS(mine):
		return "it speaks TLS", "set security.protocol to SSL, or SASL_SSL"
	case f.controller && !e.reach.controllers:
		return "it is a controller of KRaft", "give the address of a broker"
	}
	return "", ""
}

// from says in brackets where a property was found, or that it was not.
func (r *reach) from(name string) string {
	if p, ok := r.props[name]; ok {
		return " (from " + p.Origin + ")"
	}
	return ", as by default"
}
