package client

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"
	"time"
)

// A stage is how far a connection came.
type stage int

const (
	dialing        stage = iota
	handshaking          // TLS
	answering            // the first answer
	asking               // the first request after ApiVersions
	authenticating       // SASL
)

// A ConnectError says why a broker cannot be talked to, and what mends it. A connection
// that ran out of time is context.DeadlineExceeded for errors.Is.
type ConnectError struct {
	Address string // host:port
	Node    int32  // of the broker, -1 for a bootstrap server
	Err     error

	advertised bool // a broker gave the address
	stage      stage
	others     []*ConnectError // of other bootstrap servers; then Address is ""
	found      *facts          // what was found at the address, nil if nobody looked
	reach      *reach
}

// together is the error of all bootstrap servers.
func together(all []*ConnectError) *ConnectError {
	if len(all) == 1 {
		return all[0]
	}
	var errs []error
	for _, e := range all {
		errs = append(errs, e.Err)
	}
	return &ConnectError{Node: -1, Err: errors.Join(errs...), others: all, reach: all[0].reach}
}

func (e *ConnectError) Unwrap() []error {
	if e.timedOut() {
		return []error{e.Err, context.DeadlineExceeded}
	}
	return []error{e.Err}
}

func (e *ConnectError) timedOut() bool {
	if len(e.others) > 0 {
		for _, o := range e.others {
			if !o.timedOut() {
				return false
			}
		}
		return true
	}
	return errors.Is(e.Err, os.ErrDeadlineExceeded) || errors.Is(e.Err, context.DeadlineExceeded)
}

// passing reports whether another attempt may help.
func (e *ConnectError) passing() bool {
	for _, o := range e.others {
		if o.passing() {
			return true
		}
	}
	if e.stage != dialing || len(e.others) > 0 || e.timedOut() || errors.Is(e.Err, context.Canceled) {
		return false
	}
	if dns, ok := errors.AsType[*net.DNSError](e.Err); ok {
		return dns.IsTemporary
	}
	return !errors.Is(e.Err, syscall.EACCES) && !errors.Is(e.Err, syscall.EPERM)
}

func (e *ConnectError) Error() string {
	if len(e.others) > 0 {
		var parts []string
		for _, o := range e.others {
			what, hint := o.problem()
			if o.stage == dialing {
				hint = ""
			}
			parts = append(parts, o.Address+": "+what+hinted(hint))
		}
		return fmt.Sprintf("cannot connect to any of the %d bootstrap servers (from %s): %s", len(parts), e.reach.origin, strings.Join(parts, "; "))
	}
	what, hint := e.problem()
	switch {
	case e.Node >= 0 && e.stage == dialing:
		return fmt.Sprintf("cannot connect to broker %d at %s, the address in its advertised.listeners: %s%s", e.Node, e.Address, what, hinted(hint))
	case e.advertised && e.Node >= 0:
		return fmt.Sprintf("cannot talk to broker %d at %s, the address in its advertised.listeners: %s%s", e.Node, e.Address, what, hinted(hint))
	case e.stage == dialing:
		return fmt.Sprintf("cannot connect to %s (from %s): %s%s", e.Address, e.reach.origin, what, hinted(hint))
	}
	return fmt.Sprintf("cannot talk to %s (from %s): %s%s", e.Address, e.reach.origin, what, hinted(hint))
}

func hinted(hint string) string {
	if hint == "" {
		return ""
	}
	return ": " + hint
}

// problem returns what is wrong, and what to do.
func (e *ConnectError) problem() (what, hint string) {
	if e.found != nil {
		if what, hint := e.found.problem(e); what != "" {
			return what, hint
		}
	}
	switch e.stage {
	case dialing:
		return e.dialProblem()
	case handshaking:
		return e.tlsProblem()
	case authenticating:
		return fmt.Sprintf("it ends the connection when %s logs in with %s", e.reach.who(), e.reach.credential.Name()),
			fmt.Sprintf("are name and password right? See sasl.jaas.config (from %s)", e.reach.props["sasl.jaas.config"].Origin)
	case asking:
		if e.reach.credential != nil {
			return "it ends the connection when SASL starts", "is it a listener with SASL? security.protocol is " + e.reach.protocol
		}
		return "it ends the connection at the first request", "a listener that wants SASL does so: set security.protocol to SASL_SSL or SASL_PLAINTEXT, sasl.mechanism and sasl.jaas.config"
	}
	if what, ok := errors.AsType[foreignError](e.Err); ok {
		if what == isTLS {
			return "it speaks TLS", "set security.protocol to SSL, or SASL_SSL"
		}
		return what.Error(), "it is not the port of a Kafka broker"
	}
	switch {
	case alertText(e.Err) != "":
		return e.tlsProblem()
	case e.timedOut():
		return fmt.Sprintf("it takes the connection, but does not answer within %v", e.reach.setup), "is it the port of a Kafka broker?"
	case hungUp(e.Err) && e.reach.secure == nil:
		return "it ends the connection without an answer", "a port with TLS does so: is security.protocol=" + e.reach.protocol + " right?"
	case hungUp(e.Err):
		return "it ends the connection after the TLS handshake", e.clientCertificate()
	}
	return e.Err.Error(), ""
}

func (e *ConnectError) dialProblem() (what, hint string) {
	dns, isDNS := errors.AsType[*net.DNSError](e.Err)
	switch {
	case isDNS && dns.IsNotFound:
		what = "no such host"
	case isDNS:
		what = "the name server does not answer"
	case e.timedOut():
		what = fmt.Sprintf("no answer within %v", e.reach.setup)
	case errors.Is(e.Err, syscall.ECONNREFUSED):
		what = "connection refused"
	case errors.Is(e.Err, context.Canceled):
		what = "cancelled"
	default:
		if errno, ok := errors.AsType[syscall.Errno](e.Err); ok {
			what = errno.Error()
		} else {
			what = e.Err.Error()
		}
	}
	switch {
	case e.Node >= 0 && errors.Is(e.Err, syscall.ECONNREFUSED):
		hint = "is the broker down, or does it advertise an address that is not for here?"
	case e.Node >= 0:
		hint = "the broker must advertise an address that can be reached from here"
	case e.reach.origin == OriginDefault:
		hint = "say with -b where the cluster is"
	case errors.Is(e.Err, syscall.ECONNREFUSED):
		hint = "is a broker listening there?"
	}
	return what, hint
}

// OriginDefault is the origin of an address that nobody gave.
const OriginDefault = "default"

func (e *ConnectError) clientCertificate() string {
	if at := e.reach.secure.keystore; at.Value != "" {
		return fmt.Sprintf("it may not take the client certificate of %s (from %s)", at.Value, at.Origin)
	}
	return "it may want a client certificate: set ssl.keystore.location, or ssl.keystore.certificate.chain and ssl.keystore.key"
}

func (e *ConnectError) tlsProblem() (what, hint string) {
	if what, ok := plainAnswer(e.Err); ok {
		if what != "" {
			return "it does not speak TLS, but answers with " + what, "it is not the port of a Kafka broker"
		}
		return "it does not speak TLS", "set security.protocol to PLAINTEXT, or SASL_PLAINTEXT"
	}
	if bad, ok := errors.AsType[*tls.CertificateVerificationError](e.Err); ok {
		return e.certificateProblem(bad)
	}
	if alert := alertText(e.Err); alert != "" {
		what = "it ends the TLS handshake: " + alert
		switch {
		case strings.Contains(alert, "certificate") || strings.Contains(alert, "handshake failure") || strings.Contains(alert, "unknown"):
			hint = e.clientCertificate()
		case strings.Contains(alert, "protocol version"):
			hint = "see ssl.enabled.protocols and ssl.protocol"
		}
		return what, hint
	}
	switch {
	case e.timedOut():
		return fmt.Sprintf("it takes the connection, but ends no TLS handshake within %v", e.reach.setup), "is it a port with TLS?"
	case hungUp(e.Err):
		return "it ends the connection during the TLS handshake", "a port without TLS does so: is security.protocol=" + e.reach.protocol + " right?"
	}
	return e.Err.Error(), ""
}

func (e *ConnectError) certificateProblem(bad *tls.CertificateVerificationError) (what, hint string) {
	leaf := bad.UnverifiedCertificates[0]
	host, _, _ := net.SplitHostPort(e.Address)
	const day = "2006-01-02 15:04 MST"
	if _, ok := errors.AsType[x509.HostnameError](bad.Err); ok {
		return fmt.Sprintf("its certificate is for %s, not for %s", strings.Join(namesOf(leaf), ", "), host),
			"use a name of those; ssl.endpoint.identification.algorithm= (empty) would switch the check of names off"
	}
	if invalid, ok := errors.AsType[x509.CertificateInvalidError](bad.Err); ok && invalid.Reason == x509.Expired {
		whose := "its certificate"
		if invalid.Cert != nil && !invalid.Cert.Equal(leaf) {
			leaf, whose = invalid.Cert, fmt.Sprintf("the certificate of its authority %s", invalid.Cert.Subject)
		}
		if now := time.Now(); now.Before(leaf.NotBefore) {
			return fmt.Sprintf("%s is not valid before %s", whose, leaf.NotBefore.UTC().Format(day)), "is the clock here right? It is " + now.UTC().Format(day)
		}
		return fmt.Sprintf("%s expired on %s", whose, leaf.NotAfter.UTC().Format(day)), "the broker needs a new one"
	}
	if _, ok := errors.AsType[x509.UnknownAuthorityError](bad.Err); ok {
		last := bad.UnverifiedCertificates[len(bad.UnverifiedCertificates)-1]
		what = fmt.Sprintf("its certificate (%s) is signed by %s, which is not trusted", leaf.Subject, last.Issuer)
		if at := e.reach.secure.truststore; at.Value != "" {
			return what, fmt.Sprintf("put the certificate of that authority into %s (from %s)", at.Value, at.Origin)
		}
		return what, "put the certificate of that authority into a file, and name it in ssl.truststore.location with ssl.truststore.type=PEM"
	}
	return "its certificate is not valid: " + bad.Err.Error(), ""
}

// namesOf returns the hosts that a certificate is for.
func namesOf(c *x509.Certificate) []string {
	names := append([]string{}, c.DNSNames...)
	for _, ip := range c.IPAddresses {
		names = append(names, ip.String())
	}
	if len(names) == 0 {
		names = append(names, c.Subject.CommonName)
	}
	return names
}

// final keeps franz-go from trying again: it judges errors by what they wrap, which
// this one hides. [Client.Explain] gives it back.
type final struct{ failed *ConnectError }

func (e *final) Error() string { return e.failed.Error() }

// Timeout makes the exit code right where the error is not explained.
func (e *final) Timeout() bool { return e.failed.timedOut() }

// Is knows of what is wrapped only whether time ran out.
func (e *final) Is(target error) bool {
	return target == context.DeadlineExceeded && e.failed.timedOut()
}

// As finds the error itself, and nothing in it.
func (e *final) As(target any) bool {
	if t, ok := target.(**ConnectError); ok {
		*t = e.failed
		return true
	}
	return false
}
