package keystore

import (
	"crypto"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"

	"software.sslmate.com/src/go-pkcs12"
)

// pkcs12Trusted reads a store of certificates, or one with a key. The library does
// not tell entries from the certificates of a chain; here those are the first of the
// key, and what is not in its chain.
func pkcs12Trusted(p []byte, password string) ([]*x509.Certificate, error) {
	certs, err := pkcs12.DecodeTrustStore(p, password)
	if err == nil {
		return certs, nil
	}
	if key, others, keyErr := pkcs12Key(p, password); keyErr == nil {
		return append(key.Chain[:1:1], others...), nil
	}
	return nil, pkcs12Error(err, password)
}

func pkcs12Keys(p []byte, password string) ([]Key, error) {
	key, _, err := pkcs12Key(p, password)
	if err != nil {
		return nil, pkcs12Error(err, password)
	}
	return []Key{key}, nil
}

// pkcs12Key returns the key of a store, which may have one only, and the
// certificates that do not belong to it.
func pkcs12Key(p []byte, password string) (Key, []*x509.Certificate, error) {
	private, first, others, err := pkcs12.DecodeChain(p, password)
	if err != nil {
		return Key{}, nil, err
	}
	signer, ok := private.(crypto.Signer)
	if !ok {
		return Key{}, nil, fmt.Errorf("%w: a key of type %T", ErrUnsupported, private)
	}
	others = append([]*x509.Certificate{first}, others...)
	own := slices.IndexFunc(others, func(c *x509.Certificate) bool {
		public, ok := c.PublicKey.(interface{ Equal(crypto.PublicKey) bool })
		return ok && public.Equal(signer.Public())
	})
	if own < 0 {
		return Key{}, nil, fmt.Errorf("%w: no certificate of the private key", ErrDamaged)
	}
	key := Key{Private: private}
	for own >= 0 {
		last := others[own]
		key.Chain, others = append(key.Chain, last), slices.Delete(others, own, own+1)
		own = slices.IndexFunc(others, func(c *x509.Certificate) bool { return !c.Equal(last) && last.CheckSignatureFrom(c) == nil })
	}
	return key, others, nil
}

func pkcs12Error(err error, password string) error {
	_, unsupported := errors.AsType[pkcs12.NotImplementedError](err)
	switch {
	case errors.Is(err, pkcs12.ErrIncorrectPassword) && password == "":
		return ErrNoPassword
	case errors.Is(err, pkcs12.ErrIncorrectPassword):
		return ErrPassword
	case errors.Is(err, ErrUnsupported), errors.Is(err, ErrDamaged):
		return err
	case unsupported:
		return fmt.Errorf("%w: %w", ErrUnsupported, err)
	}
	return fmt.Errorf("%w: %w", ErrDamaged, err)
}
