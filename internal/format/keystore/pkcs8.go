package keystore

import (
	"bytes"
	"crypto"
	"crypto/aes"
	"crypto/cipher"
	"crypto/des"
	"crypto/pbkdf2"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"fmt"
	"hash"
)

// PBES2 of RFC 8018 is how openssl encrypts PKCS#8 keys. Kafka can read that only with
// Java 19 and later; the other one here, of PKCS#12, it can read with all.
var (
	oidPBES1  = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 12, 1, 3} // SHA-1, Triple DES
	oidPBES2  = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 5, 13}
	oidPBKDF2 = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 5, 12}

	hmacs = map[string]func() hash.Hash{
		"1.2.840.113549.2.7":  sha1.New,
		"1.2.840.113549.2.9":  sha256.New,
		"1.2.840.113549.2.10": sha512.New384,
		"1.2.840.113549.2.11": sha512.New,
	}
	ciphers = map[string]struct {
		key int // bytes
		new func([]byte) (cipher.Block, error)
	}{
		"1.2.840.113549.3.7":      {24, des.NewTripleDESCipher},
		"2.16.840.1.101.3.4.1.2":  {16, aes.NewCipher},
		"2.16.840.1.101.3.4.1.22": {24, aes.NewCipher},
		"2.16.840.1.101.3.4.1.42": {32, aes.NewCipher},
	}
)

// maxIterations bounds the time that a hostile file can cost; OWASP asks for 600,000.
const maxIterations = 2_000_000

type pbes2 struct {
	Derivation pkix.AlgorithmIdentifier
	Encryption pkix.AlgorithmIdentifier
}

type pbkdf2Params struct {
	Salt       []byte
	Iterations int
	KeyLength  int                      `asn1:"optional"`
	PRF        pkix.AlgorithmIdentifier `asn1:"optional"`
}

func decryptPKCS8(der []byte, password string) (crypto.PrivateKey, error) {
	var info encryptedKeyInfo
	if _, err := asn1.Unmarshal(der, &info); err != nil {
		return nil, fmt.Errorf("%w: no encrypted private key: %w", ErrDamaged, err)
	}
	var b cipher.Block
	var iv []byte
	var err error
	switch encryption := info.Algorithm; {
	case encryption.Algorithm.Equal(oidPBES1):
		b, iv, err = pbes1Cipher(encryption.Parameters.FullBytes, password)
	case encryption.Algorithm.Equal(oidPBES2):
		b, iv, err = pbes2Cipher(encryption.Parameters.FullBytes, password)
	default:
		err = fmt.Errorf("%w: the private key is encrypted with %v: convert it with openssl pkcs8 -topk8 -v2 aes-256-cbc", ErrUnsupported, encryption.Algorithm)
	}
	if err != nil {
		return nil, err
	}
	if len(info.Data) == 0 || len(info.Data)%b.BlockSize() != 0 {
		return nil, fmt.Errorf("%w: %d bytes of encrypted private key", ErrDamaged, len(info.Data))
	}
	plain := make([]byte, len(info.Data))
	cipher.NewCBCDecrypter(b, iv).CryptBlocks(plain, info.Data)
	// A wrong password shows in the padding, or in what is no key.
	pad := int(plain[len(plain)-1])
	if pad == 0 || pad > b.BlockSize() {
		return nil, fmt.Errorf("%w of the private key", ErrPassword)
	}
	private, err := x509.ParsePKCS8PrivateKey(plain[:len(plain)-pad])
	if err != nil {
		return nil, fmt.Errorf("%w of the private key", ErrPassword)
	}
	return private, nil
}

func pbes2Cipher(der []byte, password string) (cipher.Block, []byte, error) {
	var params pbes2
	if _, err := asn1.Unmarshal(der, &params); err != nil {
		return nil, nil, fmt.Errorf("%w: encryption of the private key: %w", ErrDamaged, err)
	}
	encryption, ok := ciphers[params.Encryption.Algorithm.String()]
	if !ok {
		return nil, nil, fmt.Errorf("%w: the private key is encrypted with %v", ErrUnsupported, params.Encryption.Algorithm)
	}
	key, err := params.deriveKey(password, encryption.key)
	if err != nil {
		return nil, nil, err
	}
	b, err := encryption.new(key)
	if err != nil {
		return nil, nil, err
	}
	var iv []byte
	if _, err := asn1.Unmarshal(params.Encryption.Parameters.FullBytes, &iv); err != nil || len(iv) != b.BlockSize() {
		return nil, nil, fmt.Errorf("%w: initialization vector of the private key", ErrDamaged)
	}
	return b, iv, nil
}

func (e pbes2) deriveKey(password string, size int) ([]byte, error) {
	if !e.Derivation.Algorithm.Equal(oidPBKDF2) {
		return nil, fmt.Errorf("%w: key derivation %v", ErrUnsupported, e.Derivation.Algorithm)
	}
	var params pbkdf2Params
	if _, err := asn1.Unmarshal(e.Derivation.Parameters.FullBytes, &params); err != nil {
		return nil, fmt.Errorf("%w: key derivation: %w", ErrDamaged, err)
	}
	prf := sha1.New // the default of RFC 8018
	if len(params.PRF.Algorithm) > 0 {
		var ok bool
		if prf, ok = hmacs[params.PRF.Algorithm.String()]; !ok {
			return nil, fmt.Errorf("%w: key derivation with %v", ErrUnsupported, params.PRF.Algorithm)
		}
	}
	if params.Iterations < 1 || params.Iterations > maxIterations {
		return nil, fmt.Errorf("%w: %d iterations", ErrUnsupported, params.Iterations)
	}
	return pbkdf2.Key(prf, password, params.Salt, params.Iterations, size)
}

func pbes1Cipher(der []byte, password string) (cipher.Block, []byte, error) {
	var params struct {
		Salt       []byte
		Iterations int
	}
	if _, err := asn1.Unmarshal(der, &params); err != nil || len(params.Salt) == 0 {
		return nil, nil, fmt.Errorf("%w: encryption of the private key", ErrDamaged)
	}
	if params.Iterations < 1 || params.Iterations > maxIterations {
		return nil, nil, fmt.Errorf("%w: %d iterations", ErrUnsupported, params.Iterations)
	}
	const forKey, forIV = 1, 2
	b, err := des.NewTripleDESCipher(pkcs12Derive(forKey, password, params.Salt, params.Iterations, 24))
	return b, pkcs12Derive(forIV, password, params.Salt, params.Iterations, des.BlockSize), err
}

// pkcs12Derive derives size bytes with SHA-1 as appendix B of RFC 7292 says.
func pkcs12Derive(purpose byte, password string, salt []byte, iterations, size int) []byte {
	const block = 64 // bytes that SHA-1 takes at once
	fill := func(p []byte) []byte {
		n := (len(p) + block - 1) / block * block
		return bytes.Repeat(p, n/max(1, len(p))+1)[:n]
	}
	d := bytes.Repeat([]byte{purpose}, block)
	i := append(fill(salt), fill(append(utf16BE(password), 0, 0))...)
	var out []byte
	for len(out) < size {
		sum := sha1.Sum(append(bytes.Clone(d), i...))
		for range iterations - 1 {
			sum = sha1.Sum(sum[:])
		}
		out = append(out, sum[:]...)
		add := fill(sum[:]) // is added to each block of i, with 1
		for at := 0; at < len(i); at += block {
			carry := 1
			for j := block - 1; j >= 0; j-- {
				carry += int(i[at+j]) + int(add[j])
				i[at+j], carry = byte(carry), carry>>8
			}
		}
	}
	return out[:size]
}
