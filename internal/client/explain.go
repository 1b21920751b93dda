package client

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// An Explained error says in words for users what Err is.
type Explained struct {
	Text string
	Err  error
}

func (e *Explained) Error() string { return e.Text }
func (e *Explained) Unwrap() error { return e.Err }

// Explain returns an error of a client so that its text says what is wrong with the
// connection and what mends it. To be sure of that it may ask the address what it is,
// which takes up to 1.5 s; no secret is sent for it. Errors that have nothing to do
// with connections come back as they are. What they wrap stays there for errors.Is.
func (c *Client) Explain(ctx context.Context, err error) error {
	if err == nil || ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return err
	}
	if parts, ok := joined(err); ok {
		var explained []error
		for _, part := range parts {
			part = c.Explain(ctx, part)
			if !slices.ContainsFunc(explained, func(e error) bool { return e.Error() == part.Error() }) {
				explained = append(explained, part)
			}
		}
		return errors.Join(explained...)
	}
	if _, done := errors.AsType[*Explained](err); done {
		return err
	}
	if failed, ok := errors.AsType[*ConnectError](err); ok {
		return failed.examined(ctx)
	}
	if token, ok := errors.AsType[*TokenError](err); ok {
		return token
	}
	at := c.reach.lastAddress()
	switch {
	case errors.Is(err, kerr.SaslAuthenticationFailed):
		return &Explained{fmt.Sprintf("%s does not let %s in with %s: %s: see sasl.jaas.config (from %s)",
			at, c.reach.who(), c.reach.credential.Name(), detail(err), c.reach.props["sasl.jaas.config"].Origin), err}
	case errors.Is(err, kerr.UnsupportedSaslMechanism):
		offered := ""
		if f := look(ctx, at); f != nil && len(f.mechanisms) > 0 {
			offered = ": set sasl.mechanism to one of " + strings.Join(f.mechanisms, ", ") + ", and sasl.jaas.config to go with it"
		}
		return &Explained{fmt.Sprintf("%s does not offer sasl.mechanism=%s (from %s)%s", at, c.reach.credential.Name(), c.reach.props["sasl.mechanism"].Origin, offered), err}
	case errors.Is(err, kerr.IllegalSaslState):
		return &Explained{fmt.Sprintf("%s is a listener without SASL: set security.protocol to %s", at, protocolOf(false, withTLS(c.reach.protocol))), err}
	case unauthorized(err):
		return &Explained{fmt.Sprintf("%v: %s needs an ACL for it", err, c.reach.who()), err}
	case errors.Is(err, context.DeadlineExceeded):
		return c.timedOut(ctx, err)
	case errors.Is(err, os.ErrDeadlineExceeded): // of the connection, which may come just before that of the whole
		return c.timedOut(ctx, fmt.Errorf("%w: %w", err, context.DeadlineExceeded))
	}
	return err
}

// joined returns what errors.Join made one.
func joined(err error) ([]error, bool) {
	j, ok := err.(interface{ Unwrap() []error })
	if _, own := err.(*ConnectError); !ok || own {
		return nil, false
	}
	var texts []string
	for _, part := range j.Unwrap() {
		texts = append(texts, part.Error())
	}
	return j.Unwrap(), err.Error() == strings.Join(texts, "\n")
}

// examined looks at the address, if what it is can be the reason.
func (e *ConnectError) examined(ctx context.Context) *ConnectError {
	_, badCertificate := errors.AsType[*tls.CertificateVerificationError](e.Err)
	if len(e.others) > 0 || e.stage == dialing || e.stage == authenticating || badCertificate || alertText(e.Err) != "" {
		return e
	}
	copied := *e
	copied.found = look(ctx, e.Address)
	return &copied
}

// detail returns the text that a broker sent with an error.
func detail(err error) string {
	_, text, ok := strings.Cut(err.Error(), kerr.SaslAuthenticationFailed.Error()+": ")
	if !ok {
		return "authentication failed"
	}
	return text
}

// who returns as whom the client is known to brokers.
func (r *reach) who() string {
	switch cred := r.credential; {
	case cred != nil && cred.user != "":
		return "user " + cred.user
	case cred != nil:
		return "whom the token is for"
	case r.secure != nil && len(r.secure.config.Certificates) > 0:
		return "the subject of the client certificate (" + r.secure.config.Certificates[0].Leaf.Subject.String() + ")"
	}
	return "User:ANONYMOUS"
}

func unauthorized(err error) bool {
	return slices.ContainsFunc([]error{
		kerr.ClusterAuthorizationFailed, kerr.TopicAuthorizationFailed, kerr.GroupAuthorizationFailed,
		kerr.TransactionalIDAuthorizationFailed, kerr.DelegationTokenAuthorizationFailed,
	}, func(k error) bool { return errors.Is(err, k) })
}

// timedOut says what was waited for. Who takes a connection and never answers on it is
// the same mistake whatever was asked, and whoever lost patience first.
func (c *Client) timedOut(ctx context.Context, err error) error {
	q, waits := c.reach.waiting()
	if waits && q.key == int16(kmsg.ApiVersions) {
		failed := &ConnectError{Address: c.reach.lastAddress(), Node: -1, stage: answering, Err: context.DeadlineExceeded, reach: c.reach}
		if q.broker.NodeID >= 0 {
			failed.Address, failed.Node, failed.advertised = net.JoinHostPort(q.broker.Host, strconv.Itoa(int(q.broker.Port))), q.broker.NodeID, true
		}
		return failed.examined(ctx)
	}
	text := strings.TrimSuffix(err.Error(), ": "+context.DeadlineExceeded.Error())
	text = strings.ReplaceAll(text, lateError{}.Error(), fmt.Sprintf("no answer within %v", c.timeout))
	if !strings.Contains(text, "no answer within") {
		text = fmt.Sprintf("no answer within %v", c.timeout)
	}
	if waits {
		text += fmt.Sprintf(": %s has not answered %s", c.name(q.broker), kmsg.NameForKey(q.key))
	}
	c.reach.mu.Lock() // under which the error gets the id of the broker
	if last := c.reach.last; last != nil {
		text += "; the last failure was: " + last.Error()
	}
	c.reach.mu.Unlock()
	return &Explained{text, err}
}

// name returns how messages call a broker.
func (c *Client) name(b kgo.BrokerMetadata) string {
	if b.NodeID < 0 {
		return c.reach.lastAddress()
	}
	return fmt.Sprintf("broker %d (%s)", b.NodeID, net.JoinHostPort(b.Host, strconv.Itoa(int(b.Port))))
}

// lastAddress returns the address that was connected to last.
func (r *reach) lastAddress() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.at == "" {
		return strings.Join(r.seeds, ",")
	}
	return r.at
}
