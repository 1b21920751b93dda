// Package keystore reads the files in which Java programs are given keys and
// certificates: PEM texts, PKCS#12 files and the JKS files of old. Which of them a
// file is shows in its first bytes; what it is said to be does not matter.
//
//	PEM     blocks "-----BEGIN CERTIFICATE-----" and "-----BEGIN PRIVATE KEY-----"
//	PKCS12  DER: a sequence, 0x30; RFC 7292
//	JKS     0xfeedfeed; see jks.go
//
// Java trusts the certificates that are entries of a store, and of each key the
// first one of its chain. A store may be read without its password if only
// certificates are wanted: nobody can say then whether somebody changed it.
//
// Source: Java 17, JavaKeyStore.java and TrustStoreUtil.java; Kafka 4.4.0,
// DefaultSslEngineFactory.java. Each rule was seen by running them.
package keystore

import (
	"bytes"
	"crypto"
	"crypto/x509"
	"encoding/binary"
	"errors"
	"fmt"
)

// The ways a store cannot be read; match with errors.Is.
var (
	ErrKind        = errors.New("neither PEM nor PKCS12 nor JKS")
	ErrPassword    = errors.New("wrong password")
	ErrNoPassword  = errors.New("a password is needed")
	ErrDamaged     = errors.New("damaged")
	ErrUnsupported = errors.New("not supported")
)

// A Kind is what a file is.
type Kind string

// The kinds, as Java names them.
const (
	PEM    Kind = "PEM"
	PKCS12 Kind = "PKCS12"
	JKS    Kind = "JKS"
	JCEKS  Kind = "JCEKS" // is recognised, but not read
)

// A Key is a private key with its certificates.
type Key struct {
	Alias   string // "" if the kind has none
	Chain   []*x509.Certificate
	Private crypto.PrivateKey
}

// Detect returns the kind of a file, "" if it is none.
func Detect(p []byte) Kind {
	switch {
	case len(p) >= 4 && binary.BigEndian.Uint32(p) == jksMagic:
		return JKS
	case len(p) >= 4 && binary.BigEndian.Uint32(p) == jceksMagic:
		return JCEKS
	case bytes.Contains(p, []byte("-BEGIN")):
		return PEM
	case len(p) >= 2 && p[0] == 0x30:
		return PKCS12
	}
	return ""
}

// Trusted returns the certificates that a store makes Java trust, at least one.
// password may be empty, except for PKCS12.
func Trusted(p []byte, password string) ([]*x509.Certificate, error) {
	var certs []*x509.Certificate
	var err error
	switch kind := Detect(p); kind {
	case PEM:
		certs, err = pemCertificates(p)
	case PKCS12:
		certs, err = pkcs12Trusted(p, password)
	case JKS:
		certs, err = jksTrusted(p, password)
	default:
		err = unknown(kind)
	}
	if err == nil && len(certs) == 0 {
		err = fmt.Errorf("%w: there is no certificate in it", ErrDamaged)
	}
	return certs, err
}

// Keys returns the keys of a store, at least one. keyPassword is that of the key,
// if it has one of its own, which is the only one that PEM knows.
func Keys(p []byte, password, keyPassword string) ([]Key, error) {
	if keyPassword == "" {
		keyPassword = password
	}
	var keys []Key
	var err error
	switch kind := Detect(p); kind {
	case PEM:
		keys, err = pemKeys(p, keyPassword)
	case PKCS12:
		keys, err = pkcs12Keys(p, password)
	case JKS:
		keys, err = jksKeys(p, password, keyPassword)
	default:
		err = unknown(kind)
	}
	if err == nil && len(keys) == 0 {
		err = fmt.Errorf("%w: there is no private key in it", ErrDamaged)
	}
	return keys, err
}

func unknown(kind Kind) error {
	if kind == JCEKS {
		return fmt.Errorf("%w: it is a JCEKS store: convert it with keytool -importkeystore -deststoretype pkcs12", ErrUnsupported)
	}
	return ErrKind
}

func parseCertificate(der []byte) (*x509.Certificate, error) {
	c, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("%w: certificate: %w", ErrDamaged, err)
	}
	return c, nil
}
