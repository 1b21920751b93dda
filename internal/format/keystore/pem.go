package keystore

import (
	"bytes"
	"crypto"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// pemBlock finds blocks as Kafka does, which is more tolerant than RFC 7468: a value
// in a properties file may have blanks where lines ended.
var pemBlock = regexp.MustCompile(`-+BEGIN\s+([A-Z0-9 ]*?)\s*-+\s+((?:[^\r\n:-]+:[^\r\n]*[\r\n]+)*)([a-zA-Z0-9/+=\s]*)-+END`)

var notBase64 = regexp.MustCompile(`\s+`)

type block struct {
	label   string
	headers string
	der     []byte
}

func pemBlocks(p []byte) ([]block, error) {
	var all []block
	for _, m := range pemBlock.FindAllSubmatch(p, -1) {
		der, err := base64.StdEncoding.DecodeString(string(notBase64.ReplaceAll(m[3], nil)))
		if err != nil {
			return nil, fmt.Errorf("%w: PEM block %d: %w", ErrDamaged, len(all)+1, err)
		}
		all = append(all, block{string(m[1]), string(m[2]), der})
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%w: no complete PEM block", ErrDamaged)
	}
	return all, nil
}

func pemCertificates(p []byte) ([]*x509.Certificate, error) {
	blocks, err := pemBlocks(p)
	if err != nil {
		return nil, err
	}
	var certs []*x509.Certificate
	for _, b := range blocks {
		if !strings.HasSuffix(b.label, "CERTIFICATE") {
			continue
		}
		cert, err := parseCertificate(b.der)
		if err != nil {
			return nil, err
		}
		certs = append(certs, cert)
	}
	return certs, nil
}

// pemKeys expects one key, with its chain in the order of the text.
func pemKeys(p []byte, password string) ([]Key, error) {
	blocks, err := pemBlocks(p)
	if err != nil {
		return nil, err
	}
	blocks = slices.DeleteFunc(blocks, func(b block) bool { return !strings.HasSuffix(b.label, "PRIVATE KEY") })
	if len(blocks) == 0 {
		return nil, nil
	}
	if len(blocks) > 1 {
		return nil, fmt.Errorf("%w: %d private keys where one is expected", ErrUnsupported, len(blocks))
	}
	chain, err := pemCertificates(p)
	if err != nil {
		return nil, err
	}
	if len(chain) == 0 {
		return nil, fmt.Errorf("%w: a private key without certificates", ErrDamaged)
	}
	private, err := blocks[0].key(password)
	if err != nil {
		return nil, err
	}
	return []Key{{Chain: chain, Private: private}}, nil
}

func (b block) key(password string) (crypto.PrivateKey, error) {
	if strings.Contains(b.headers, "ENCRYPTED") {
		return nil, fmt.Errorf("%w: a key encrypted in the way before PKCS#8: convert it with openssl pkcs8 -topk8 -v2 aes-256-cbc", ErrUnsupported)
	}
	var key crypto.PrivateKey
	var err error
	switch b.label {
	case "ENCRYPTED PRIVATE KEY":
		if password == "" {
			return nil, fmt.Errorf("%w: the private key is encrypted", ErrNoPassword)
		}
		return decryptPKCS8(b.der, password)
	case "RSA PRIVATE KEY":
		key, err = x509.ParsePKCS1PrivateKey(b.der)
	case "EC PRIVATE KEY":
		key, err = x509.ParseECPrivateKey(b.der)
	default:
		key, err = x509.ParsePKCS8PrivateKey(b.der)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: private key: %w", ErrDamaged, err)
	}
	return key, nil
}

// Join puts a chain and a key that came apart into one PEM text.
func Join(chain, key string) []byte {
	return bytes.Join([][]byte{[]byte(chain), []byte(key), nil}, []byte("\n"))
}
