package client

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"slices"
	"strings"

	"kf/internal/format/keystore"
)

// A secure is what the ssl.* properties say.
type secure struct {
	config    *tls.Config
	roots     *x509.CertPool // nil: those of the system
	checkName bool           // ssl.endpoint.identification.algorithm
	truststore,
	keystore Property // where they were found, "" as value if they were not
}

// tls reads the ssl.* properties.
func (s *settings) tls() *secure {
	t := &secure{config: &tls.Config{MinVersion: tls.VersionTLS12}, checkName: true}
	if s.set("ssl.engine.factory.class") {
		s.refuse("ssl.engine.factory.class", "kf cannot run Java code: give the keys and certificates with ssl.keystore.* and ssl.truststore.*")
	}
	s.trust(t)
	s.keys(t)
	s.versions(t)
	s.suites(t)
	if p, ok := s.props["ssl.endpoint.identification.algorithm"]; ok {
		switch v := strings.TrimSpace(p.Value); {
		case v == "":
			t.checkName = false
			s.warn("ssl.endpoint.identification.algorithm", "the host names in the brokers' certificates are not checked")
		case !strings.EqualFold(v, "https"):
			s.refuse("ssl.endpoint.identification.algorithm", "it is %q, but must be https or empty", v)
		}
	}
	return t
}

// store reads the file or the inline text of a store. what is "truststore" or
// "keystore". Java's rules of which properties go with which are kept where they
// guard from mistakes.
func (s *settings) store(what, inline string) (text []byte, at string) {
	location := "ssl." + what + ".location"
	switch {
	case s.set(inline) && s.set(location):
		s.refuse(inline, "%s is set too: one of them is meant", location)
		return nil, ""
	case s.set(inline):
		return []byte(s.get(inline)), inline
	case s.set(location):
		text, err := readSmall(s.get(location))
		if err != nil {
			s.refuse(location, "%w", err)
			return nil, ""
		}
		return text, location
	case s.set("ssl." + what + ".password"):
		s.note("ssl."+what+".password", "there is no %s", location)
	}
	return nil, ""
}

// storeKind says if a store is not what its type says. Java fails then; that users
// forget ssl.truststore.type=PEM is the most frequent of all mistakes with TLS.
func (s *settings) storeKind(what, at string, text []byte) {
	name := "ssl." + what + ".type"
	kind := keystore.Detect(text)
	if said := strings.ToUpper(s.get(name)); kind != "" && (said != "" && said != string(kind) || said == "" && kind == keystore.PEM) {
		r := Remark{name, s.props[name].Origin, fmt.Sprintf("%s is %s, and is read as such, but Java needs %s=%s", s.name(at), kind, name, kind), false}
		if said == "" {
			r.Origin = s.props[at].Origin
		}
		// Java 9 and later read PKCS12 where JKS is said, and the reverse.
		if kind == keystore.PEM || said == string(keystore.PEM) {
			s.remarks = append(s.remarks, r)
		}
	}
}

// name returns how messages call a store.
func (s *settings) name(at string) string {
	if strings.HasSuffix(at, ".location") {
		return s.get(at)
	}
	return "it"
}

func (s *settings) trust(t *secure) {
	text, at := s.store("truststore", "ssl.truststore.certificates")
	if text == nil {
		return
	}
	s.storeKind("truststore", at, text)
	certs, err := keystore.Trusted(text, s.get("ssl.truststore.password"))
	if err != nil {
		s.refuse(at, "%s: %w%s", s.name(at), err, passwordHint(err, "ssl.truststore.password"))
		return
	}
	t.truststore = Property{at, s.props[at].Origin}
	t.roots = x509.NewCertPool()
	for _, c := range certs {
		t.roots.AddCert(c)
	}
}

func (s *settings) keys(t *secure) {
	const inlineKey, inlineChain = "ssl.keystore.key", "ssl.keystore.certificate.chain"
	switch {
	case s.set(inlineKey) && !s.set(inlineChain):
		s.refuse(inlineKey, "%s is missing", inlineChain)
		return
	case s.set(inlineChain) && !s.set(inlineKey):
		s.refuse(inlineChain, "%s is missing", inlineKey)
		return
	}
	text, at := s.store("keystore", inlineKey)
	if text == nil {
		return
	}
	if at == inlineKey {
		text = keystore.Join(s.get(inlineChain), string(text))
	}
	s.storeKind("keystore", at, text)
	keys, err := keystore.Keys(text, s.get("ssl.keystore.password"), s.get("ssl.key.password"))
	if err != nil {
		s.refuse(at, "%s: %w%s", s.name(at), err, passwordHint(err, "ssl.keystore.password or ssl.key.password"))
		return
	}
	t.keystore = Property{at, s.props[at].Origin}
	for _, k := range keys {
		cert := tls.Certificate{PrivateKey: k.Private, Leaf: k.Chain[0]}
		for _, c := range k.Chain {
			cert.Certificate = append(cert.Certificate, c.Raw)
		}
		t.config.Certificates = append(t.config.Certificates, cert)
	}
}

func passwordHint(err error, name string) string {
	if text := err.Error(); strings.Contains(text, "password") {
		return ": see " + name
	}
	return ""
}

var tlsVersions = map[string]uint16{"TLSV1.3": tls.VersionTLS13, "TLSV1.2": tls.VersionTLS12, "TLSV1.1": tls.VersionTLS11, "TLSV1": tls.VersionTLS10}

// versions: ssl.protocol is the newest, ssl.enabled.protocols are those allowed.
func (s *settings) versions(t *secure) {
	allowed := []uint16{tls.VersionTLS12, tls.VersionTLS13}
	if names := s.list("ssl.enabled.protocols"); len(names) > 0 {
		allowed = nil
		for _, name := range names {
			v, ok := tlsVersions[strings.ToUpper(name)]
			if !ok {
				s.refuse("ssl.enabled.protocols", "it has %q, but kf speaks TLSv1.3 and TLSv1.2", name)
				return
			}
			allowed = append(allowed, v)
		}
	}
	most := slices.Max(allowed)
	if name := s.get("ssl.protocol"); name != "" && !strings.EqualFold(name, "TLS") {
		v, ok := tlsVersions[strings.ToUpper(name)]
		if !ok {
			s.refuse("ssl.protocol", "it is %q, but kf speaks TLSv1.3 and TLSv1.2", name)
			return
		}
		most = min(most, v)
	}
	t.config.MinVersion, t.config.MaxVersion = min(slices.Min(allowed), most), most
	if t.config.MinVersion < tls.VersionTLS12 {
		s.warn("ssl.enabled.protocols", "versions before TLSv1.2 can be broken")
	}
}

// suites names those of TLS 1.2 that may be used: Go lets nobody choose those of 1.3.
func (s *settings) suites(t *secure) {
	for _, name := range s.list("ssl.cipher.suites") {
		all := append(tls.CipherSuites(), tls.InsecureCipherSuites()...)
		i := slices.IndexFunc(all, func(c *tls.CipherSuite) bool { return c.Name == name })
		switch {
		case i < 0:
			s.note("ssl.cipher.suites", "kf has no %s", name)
		case slices.Contains(all[i].SupportedVersions, tls.VersionTLS12):
			t.config.CipherSuites = append(t.config.CipherSuites, all[i].ID)
		}
	}
}

// to returns the configuration of a connection to a host.
func (t *secure) to(host string) *tls.Config {
	config := t.config.Clone()
	config.ServerName = host
	// The check is not Go's, but Java's: that of the name can be switched off, and it
	// takes a common name where a certificate has no other.
	config.InsecureSkipVerify = true
	config.VerifyConnection = func(state tls.ConnectionState) error { return t.verify(state.PeerCertificates, host) }
	return config
}

func (t *secure) verify(chain []*x509.Certificate, host string) error {
	opts := x509.VerifyOptions{Roots: t.roots, Intermediates: x509.NewCertPool()}
	for _, c := range chain[1:] {
		opts.Intermediates.AddCert(c)
	}
	_, err := chain[0].Verify(opts)
	if err == nil && t.checkName {
		err = verifyHost(chain[0], host)
	}
	if err != nil {
		return &tls.CertificateVerificationError{UnverifiedCertificates: chain, Err: err}
	}
	return nil
}

// verifyHost checks the name as Java does: a certificate without DNS names is taken
// by its common name. Source: Java 17, HostnameChecker.java.
func verifyHost(c *x509.Certificate, host string) error {
	err := c.VerifyHostname(host)
	if err == nil || len(c.DNSNames) > 0 || net.ParseIP(host) != nil || c.Subject.CommonName == "" {
		return err
	}
	if named := (&x509.Certificate{DNSNames: []string{c.Subject.CommonName}}); named.VerifyHostname(host) == nil {
		return nil
	}
	return err
}
