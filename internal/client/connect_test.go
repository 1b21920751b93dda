package client_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/binary"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"kf/internal/client"
)

// props are properties as from a file.
func props(pairs ...string) client.Properties {
	p := make(client.Properties)
	for i := 0; i < len(pairs); i += 2 {
		p[pairs[i]] = client.Property{Value: pairs[i+1], Origin: "client.properties: line 3"}
	}
	return p
}

// try asks the cluster of the properties for its topics, and explains what fails.
func try(t *testing.T, p client.Properties, timeout time.Duration) error {
	t.Helper()
	cl, err := client.New(client.Options{Properties: p, Version: "test", Timeout: timeout})
	if err != nil {
		t.Fatalf("%v: %v", p, err)
	}
	defer cl.Close()
	ctx, cancel := cl.Deadline(t.Context())
	defer cancel()
	_, err = cl.ListTopics(ctx)
	return cl.Explain(ctx, err)
}

func fakeBroker(t *testing.T, opts ...kfake.Opt) string {
	t.Helper()
	c, err := kfake.NewCluster(append([]kfake.Opt{kfake.NumBrokers(1)}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c.ListenAddrs()[0]
}

// serve answers each connection with do until the test ends, and returns the address.
func serve(t *testing.T, do func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				do(c)
			}()
		}
	}()
	return l.Addr().String()
}

// closedPort returns an address that refuses connections.
func closedPort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// broker answers requests of versions that its answers say; nil ends the connection.
func broker(answer func(key int16) kmsg.Response) func(net.Conn) {
	return func(c net.Conn) {
		for {
			var head [12]byte // size, key, version, correlation id
			if _, err := io.ReadFull(c, head[:]); err != nil {
				return
			}
			size := binary.BigEndian.Uint32(head[:])
			if size > 1<<20 { // a TLS handshake, for one
				return
			}
			if _, err := io.CopyN(io.Discard, c, int64(size)-8); err != nil {
				return
			}
			key := int16(binary.BigEndian.Uint16(head[4:]))
			resp := answer(key)
			if resp == nil {
				return
			}
			body := resp.AppendTo(nil)
			out := binary.BigEndian.AppendUint32(nil, uint32(4+len(body)))
			out = append(out, head[8:12]...)
			if _, err := c.Write(append(out, body...)); err != nil {
				return
			}
		}
	}
}

// versions is an ApiVersions answer that has these keys at version max.
func versions(max map[int16]int16) *kmsg.ApiVersionsResponse {
	r := kmsg.NewPtrApiVersionsResponse()
	r.Version, r.ErrorCode = 0, kerr.UnsupportedVersion.Code // as brokers that do not know the version
	for key, v := range max {
		k := kmsg.NewApiVersionsResponseApiKey()
		k.ApiKey, k.MaxVersion = key, v
		r.ApiKeys = append(r.ApiKeys, k)
	}
	return r
}

// listener answers ApiVersions and the start of SASL, with the error that Kafka has for
// it, and ends the connection at any other request.
func listener(t *testing.T, config *tls.Config, sasl *kerr.Error, mechanisms ...string) string {
	t.Helper()
	do := broker(func(key int16) kmsg.Response {
		switch key {
		case 18:
			return versions(map[int16]int16{3: 1, 17: 1, 18: 0, 36: 1})
		case 17:
			r := kmsg.NewPtrSASLHandshakeResponse()
			r.Version, r.ErrorCode, r.SupportedMechanisms = 1, sasl.Code, mechanisms
			return r
		}
		return nil
	})
	return serve(t, func(c net.Conn) {
		if config != nil {
			c = tls.Server(c, config)
		}
		do(c)
	})
}

// An authority signs certificates for tests.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pem  string // a file with its certificate
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{}
	template := &x509.Certificate{Subject: pkix.Name{CommonName: "Test CA"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	c := a.sign(t, template)
	a.cert, a.key = c.Leaf, c.PrivateKey.(*ecdsa.PrivateKey)
	a.pem = filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(a.pem, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	return a
}

func (a *authority) sign(t *testing.T, template *x509.Certificate) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template.SerialNumber = big.NewInt(time.Now().UnixNano())
	if template.NotAfter.IsZero() {
		template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	}
	parent, signer := template, key
	if a.cert != nil {
		parent, signer = a.cert, a.key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}
}

// server returns the configuration of a server at 127.0.0.1.
func (a *authority) server(t *testing.T) *tls.Config {
	t.Helper()
	c := a.sign(t, &x509.Certificate{Subject: pkix.Name{CommonName: "broker"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, DNSNames: []string{"localhost"}})
	return &tls.Config{Certificates: []tls.Certificate{c}}
}

const (
	plainLogin = "org.apache.kafka.common.security.plain.PlainLoginModule required username=\"alice\" password=\"secret!\";"
	scramLogin = "org.apache.kafka.common.security.scram.ScramLoginModule required username=\"alice\" password=\"secret!\";"
)

func TestConnect(t *testing.T) {
	ca := newAuthority(t)
	plain := fakeBroker(t)
	secured := fakeBroker(t, kfake.TLS(ca.server(t)))
	withUsers := []kfake.Opt{kfake.EnableSASL(), kfake.Superuser("PLAIN", "alice", "secret!"), kfake.Superuser("SCRAM-SHA-256", "alice", "secret!"), kfake.Superuser("SCRAM-SHA-512", "alice", "secret!")}
	sasl := fakeBroker(t, withUsers...)
	both := fakeBroker(t, append(withUsers, kfake.TLS(ca.server(t)))...)
	mutual := ca.server(t)
	mutual.ClientAuth, mutual.ClientCAs = tls.RequireAndVerifyClientCert, x509.NewCertPool()
	mutual.ClientCAs.AddCert(ca.cert)
	mtls := fakeBroker(t, kfake.TLS(mutual))
	certificate := func(template *x509.Certificate) string {
		return fakeBroker(t, kfake.TLS(&tls.Config{Certificates: []tls.Certificate{ca.sign(t, template)}}))
	}
	old := certificate(&x509.Certificate{IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, NotBefore: time.Now().Add(-48 * time.Hour), NotAfter: time.Date(2024, 5, 6, 7, 8, 0, 0, time.UTC).Add(0)})
	elsewhere := certificate(&x509.Certificate{DNSNames: []string{"kafka.example", "b1.example"}})
	named := certificate(&x509.Certificate{Subject: pkix.Name{CommonName: "localhost"}})
	own := keyFile(t, ca.sign(t, &x509.Certificate{Subject: pkix.Name{CommonName: "me"}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}))
	http := serve(t, func(c net.Conn) {
		_, _ = c.Read(make([]byte, 100))
		_, _ = io.WriteString(c, "HTTP/1.1 400 Bad Request\r\n\r\n")
	})
	silent := serve(t, func(c net.Conn) { _, _ = io.Copy(io.Discard, c) })
	hangsUp := serve(t, func(c net.Conn) { _, _ = c.Read(make([]byte, 100)) })
	resets := serve(t, func(c net.Conn) { _ = c.(*net.TCPConn).SetLinger(0) })
	noSASL := listener(t, nil, kerr.IllegalSaslState)
	noSASLTLS := listener(t, ca.server(t), kerr.IllegalSaslState)
	scramOnly := listener(t, nil, kerr.UnsupportedSaslMechanism, "SCRAM-SHA-512")
	scramOnlyTLS := listener(t, ca.server(t), kerr.UnsupportedSaslMechanism, "SCRAM-SHA-512")
	controller := serve(t, broker(func(key int16) kmsg.Response {
		if key != 18 {
			return nil
		}
		return versions(map[int16]int16{1: 18, 18: 0, 52: 2, 60: 2})
	}))
	refused := closedPort(t)
	_, port, _ := net.SplitHostPort(refused)
	withTLS := []string{"security.protocol", "SSL", "ssl.truststore.location", ca.pem, "ssl.truststore.type", "PEM"}
	withSASL := func(mechanism, login string) []string {
		return []string{"security.protocol", "SASL_PLAINTEXT", "sasl.mechanism", mechanism, "sasl.jaas.config", login}
	}
	for _, tt := range []struct {
		name, address string
		props         []string
		want          []string // in the error; nil: none
		is            error
	}{
		{name: "plaintext", address: plain},
		{name: "tls", address: secured, props: withTLS},
		{name: "protocol in small letters", address: secured, props: append([]string{"security.protocol", " ssl "}, withTLS[2:]...)},
		{name: "plain", address: sasl, props: withSASL("PLAIN", plainLogin)},
		{name: "scram 256", address: sasl, props: withSASL("SCRAM-SHA-256", scramLogin)},
		{name: "scram 512", address: sasl, props: withSASL("SCRAM-SHA-512", scramLogin)},
		{name: "sasl and tls", address: both, props: append(append([]string{}, withTLS...), append(withSASL("PLAIN", plainLogin), "security.protocol", "SASL_SSL")...)},
		{name: "client certificate", address: mtls, props: append([]string{"ssl.keystore.location", own, "ssl.keystore.type", "PEM"}, withTLS...)},
		{name: "one of two seeds", address: refused + "," + plain},
		{name: "common name", address: strings.Replace(named, "127.0.0.1", "localhost", 1), props: withTLS},
		{name: "names not checked", address: elsewhere, props: append([]string{"ssl.endpoint.identification.algorithm", ""}, withTLS...)},

		{name: "refused", address: refused, want: []string{"cannot connect to " + refused + " (from client.properties: line 3): connection refused", "is a broker listening there?"}, is: syscall.ECONNREFUSED},
		{name: "all refused", address: refused + ",localhost:" + port, want: []string{"any of the 2 bootstrap servers", refused + ": connection refused; localhost:" + port + ": connection refused"}, is: syscall.ECONNREFUSED},
		{name: "no such host", address: "nosuch.invalid", want: []string{"cannot connect to nosuch.invalid:9092", "no such host"}},
		{name: "http", address: http, want: []string{"it answers with HTTP", "not the port of a Kafka broker"}},
		{name: "tls to http", address: http, props: withTLS, want: []string{"it does not speak TLS, but answers with HTTP"}},
		{name: "silent", address: silent, props: []string{"socket.connection.setup.timeout.ms", "300"}, want: []string{"does not answer within 300ms"}, is: context.DeadlineExceeded},
		{name: "silent tls", address: silent, props: append([]string{"socket.connection.setup.timeout.ms", "300"}, withTLS...), want: []string{"ends no TLS handshake within 300ms"}, is: context.DeadlineExceeded},
		{name: "hangs up", address: hangsUp, want: []string{"it ends the connection without an answer", "security.protocol=PLAINTEXT"}, is: io.EOF},
		{name: "resets", address: resets, want: []string{"cannot talk to " + resets, "it ends the connection without an answer"}},
		{name: "controller", address: controller, want: []string{controller + " (from client.properties: line 3): it is a controller of KRaft", "give the address of a broker"}},
		{name: "plaintext to tls", address: noSASLTLS, want: []string{"it is a listener with security.protocol SSL", "here security.protocol is PLAINTEXT, as by default"}},
		{name: "tls to plaintext", address: noSASL, props: withTLS, want: []string{"it is a listener with security.protocol PLAINTEXT", "here security.protocol is SSL (from client.properties: line 3)"}},
		{name: "sasl to plaintext", address: noSASL, props: withSASL("PLAIN", plainLogin), want: []string{noSASL + " is a listener without SASL", "set security.protocol to PLAINTEXT"}, is: kerr.IllegalSaslState},
		{name: "plaintext to sasl", address: scramOnly, want: []string{"it is a listener with security.protocol SASL_PLAINTEXT and sasl.mechanism SCRAM-SHA-512"}},
		{name: "plaintext to sasl and tls", address: scramOnlyTLS, want: []string{"it is a listener with security.protocol SASL_SSL and sasl.mechanism SCRAM-SHA-512"}},
		{name: "tls to sasl and tls", address: scramOnlyTLS, props: withTLS, want: []string{"it is a listener with security.protocol SASL_SSL and sasl.mechanism SCRAM-SHA-512", "here security.protocol is SSL (from client.properties: line 3)"}},
		{name: "wrong mechanism", address: scramOnly, props: withSASL("PLAIN", plainLogin), want: []string{scramOnly + " does not offer sasl.mechanism=PLAIN (from client.properties: line 3)", "set sasl.mechanism to one of SCRAM-SHA-512"}, is: kerr.UnsupportedSaslMechanism},
		{name: "wrong password", address: sasl, props: withSASL("PLAIN", strings.Replace(plainLogin, "secret!", "wrong!", 1)), want: []string{"cannot talk to " + sasl, "it ends the connection when user alice logs in with PLAIN", "sasl.jaas.config (from client.properties: line 3)"}},
		{name: "wrong scram password", address: sasl, props: withSASL("SCRAM-SHA-512", strings.Replace(scramLogin, "secret!", "wrong!", 1)), want: []string{"it ends the connection when user alice logs in with SCRAM-SHA-512"}},
		{name: "unknown authority", address: secured, props: []string{"security.protocol", "SSL"}, want: []string{"its certificate (CN=broker) is signed by CN=Test CA, which is not trusted", "ssl.truststore.location"}},
		{name: "other authority", address: secured, props: []string{"security.protocol", "SSL", "ssl.truststore.location", newAuthority(t).pem}, want: []string{"into ssl.truststore.location (from client.properties: line 3)"}},
		{name: "expired", address: old, props: withTLS, want: []string{"its certificate expired on 2024-05-06 07:08 UTC"}},
		{name: "wrong host", address: elsewhere, props: withTLS, want: []string{"its certificate is for kafka.example, b1.example, not for 127.0.0.1", "use a name of those"}},
		{name: "client certificate missing", address: mtls, props: withTLS, want: []string{"certificate", "set ssl.keystore.location"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := props(append([]string{"bootstrap.servers", tt.address}, tt.props...)...)
			start := time.Now()
			err := try(t, p, time.Minute)
			if tt.want == nil {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			if err == nil {
				t.Fatal("no error")
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q lacks %q", err, want)
				}
			}
			if tt.is != nil && !errors.Is(err, tt.is) {
				t.Errorf("%q is not %v", err, tt.is)
			}
			if strings.Contains(err.Error(), "secret!") || strings.Contains(err.Error(), "wrong!") {
				t.Errorf("%q shows a password", err)
			}
			// A minute was given: whoever takes half of it tries what cannot help.
			if took := time.Since(start); took > 30*time.Second {
				t.Errorf("it took %v", took)
			}
		})
	}
}

// keyFile writes a key with its certificate as PEM.
func keyFile(t *testing.T, c tls.Certificate) string {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(c.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	text := append(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Certificate[0]})...)
	name := filepath.Join(t.TempDir(), "key.pem")
	if err := os.WriteFile(name, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}
