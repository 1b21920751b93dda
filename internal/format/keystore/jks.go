package keystore

import (
	"bytes"
	"crypto/sha1"
	"crypto/subtle"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"fmt"
	"unicode/utf16"

	"kf/internal/wire"
)

// A JKS file, big-endian:
//
//	uint32  0xfeedfeed
//	uint32  version, 1 or 2
//	uint32  number of entries
//	then for each entry
//	  uint32  tag: 1 a private key, 2 a trusted certificate
//	  string  alias: uint16 length, bytes
//	  int64   creation, ms since the epoch
//	  of a key          uint32 length, encrypted key; uint32 number, certificates
//	  of a certificate  the certificate: string type (version 2 only), uint32 length, DER
//	then the SHA-1 of the password in UTF-16, "Mighty Aphrodite" and all the above
const (
	jksMagic   = 0xfeedfeed
	jceksMagic = 0xcececece

	jksKey     = 1
	jksTrust   = 2
	jksWhitens = "Mighty Aphrodite"
)

type jksEntry struct {
	alias     string
	encrypted []byte // of a key, else nil
	certs     []*x509.Certificate
}

// readJKS checks the password if there is one.
func readJKS(p []byte, password string) ([]jksEntry, error) {
	if len(p) < sha1.Size {
		return nil, fmt.Errorf("%w: %d bytes", ErrDamaged, len(p))
	}
	body, digest := p[:len(p)-sha1.Size], p[len(p)-sha1.Size:]
	c := wire.Cursor{B: body}
	c.Uint32() // magic
	version, count := c.Uint32(), c.Uint32()
	if version != 1 && version != 2 {
		return nil, fmt.Errorf("%w: JKS version %d", ErrUnsupported, version)
	}
	var all []jksEntry
	for range count {
		e, err := readJKSEntry(&c, version)
		if err != nil {
			return nil, fmt.Errorf("entry %d: %w", len(all)+1, err)
		}
		all = append(all, e)
	}
	if c.Len() != 0 {
		return nil, fmt.Errorf("%w: %d bytes are left after the last entry", ErrDamaged, c.Len())
	}
	if password != "" {
		h := sha1.New()
		h.Write(utf16BE(password))
		h.Write([]byte(jksWhitens))
		h.Write(body)
		if subtle.ConstantTimeCompare(h.Sum(nil), digest) == 0 {
			return nil, fmt.Errorf("%w, or somebody changed the file", ErrPassword)
		}
	}
	return all, nil
}

func readJKSEntry(c *wire.Cursor, version uint32) (jksEntry, error) {
	var e jksEntry
	tag := c.Uint32()
	e.alias = string(c.Bytes(int(c.Uint16())))
	c.Int64() // creation
	certs := uint32(1)
	switch {
	case c.Err() != nil:
	case tag == jksKey:
		e.encrypted = c.Bytes(int(c.Uint32()))
		certs = c.Uint32()
	case tag != jksTrust:
		return e, fmt.Errorf("%w: entries of tag %d", ErrUnsupported, tag)
	}
	for range certs {
		if version == 2 {
			c.Bytes(int(c.Uint16())) // "X.509"
		}
		der := c.Bytes(int(c.Uint32()))
		if c.Err() != nil {
			break
		}
		cert, err := parseCertificate(der)
		if err != nil {
			return e, err
		}
		e.certs = append(e.certs, cert)
	}
	if err := c.Err(); err != nil {
		return e, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return e, nil
}

func jksTrusted(p []byte, password string) ([]*x509.Certificate, error) {
	entries, err := readJKS(p, password)
	var certs []*x509.Certificate
	for _, e := range entries {
		certs = append(certs, e.certs[:min(1, len(e.certs))]...)
	}
	return certs, err
}

func jksKeys(p []byte, password, keyPassword string) ([]Key, error) {
	entries, err := readJKS(p, password)
	var keys []Key
	for _, e := range entries {
		if e.encrypted == nil {
			continue
		}
		der, err := decryptJKS(e.encrypted, keyPassword)
		if err != nil {
			return nil, fmt.Errorf("key %q: %w", e.alias, err)
		}
		private, err := x509.ParsePKCS8PrivateKey(der)
		if err != nil {
			return nil, fmt.Errorf("key %q: %w: %w", e.alias, ErrDamaged, err)
		}
		keys = append(keys, Key{e.alias, e.certs, private})
	}
	return keys, err
}

type encryptedKeyInfo struct {
	Algorithm pkix.AlgorithmIdentifier
	Data      []byte
}

// decryptJKS undoes Sun's key protector: the key is XORed with a chain of SHA-1 of
// the password and the last link, the first being the 20 bytes in front of it; behind
// it is the SHA-1 of password and key.
func decryptJKS(p []byte, password string) ([]byte, error) {
	var info encryptedKeyInfo
	if rest, err := asn1.Unmarshal(p, &info); err != nil || len(rest) != 0 {
		return nil, fmt.Errorf("%w: no encrypted key", ErrDamaged)
	}
	if !info.Algorithm.Algorithm.Equal(asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 42, 2, 17, 1, 1}) {
		return nil, fmt.Errorf("%w: encryption %v", ErrUnsupported, info.Algorithm.Algorithm)
	}
	if len(info.Data) < 2*sha1.Size {
		return nil, fmt.Errorf("%w: %d bytes of key", ErrDamaged, len(info.Data))
	}
	secret := utf16BE(password)
	link, rest := info.Data[:sha1.Size], info.Data[sha1.Size:]
	check := rest[len(rest)-sha1.Size:]
	key := bytes.Clone(rest[:len(rest)-sha1.Size])
	for i := 0; i < len(key); i += sha1.Size {
		sum := sha1.Sum(append(bytes.Clone(secret), link...))
		link = sum[:]
		part := key[i:min(i+sha1.Size, len(key))]
		subtle.XORBytes(part, part, link)
	}
	sum := sha1.Sum(append(secret, key...))
	if subtle.ConstantTimeCompare(sum[:], check) == 0 {
		return nil, fmt.Errorf("%w of the key", ErrPassword)
	}
	return key, nil
}

func utf16BE(s string) []byte {
	var p []byte
	for _, u := range utf16.Encode([]rune(s)) {
		p = append(p, byte(u>>8), byte(u))
	}
	return p
}
