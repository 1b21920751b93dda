package keystore_test

import (
	"bytes"
	"crypto"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kf/internal/format/keystore"
)

// The stores of testdata were made with keytool of Java 17 and openssl 3; their
// password is changeit, that of keys of their own secret.

func read(t testing.TB, name string) []byte {
	t.Helper()
	p, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestTrusted(t *testing.T) {
	for _, tt := range []struct {
		name, password string
		kind           keystore.Kind
		want           string // common names
		err            error
	}{
		{"ca.pem", "", keystore.PEM, "Test CA", nil},
		{"trust.jks", "changeit", keystore.JKS, "Test CA", nil},
		{"trust.jks", "", keystore.JKS, "Test CA", nil}, // Java checks nothing then either
		{"trust.jks", "wrong", keystore.JKS, "", keystore.ErrPassword},
		{"trust.pkcs12", "changeit", keystore.PKCS12, "Test CA", nil},
		{"trust.pkcs12", "wrong", keystore.PKCS12, "", keystore.ErrPassword},
		{"trust.pkcs12", "", keystore.PKCS12, "", keystore.ErrNoPassword},
		{"legacy.pkcs12", "changeit", keystore.PKCS12, "Test CA", nil}, // RC2, SHA-1
		{"key.jks", "changeit", keystore.JKS, "client Test CA", nil},   // of a key the first of its chain
		{"key.pkcs12", "changeit", keystore.PKCS12, "client Test CA", nil},
		{"openssl.p12", "changeit", keystore.PKCS12, "pem", nil},
	} {
		p := read(t, tt.name)
		if kind := keystore.Detect(p); kind != tt.kind {
			t.Errorf("%s is %q, want %q", tt.name, kind, tt.kind)
		}
		certs, err := keystore.Trusted(p, tt.password)
		var names []string
		for _, c := range certs {
			names = append(names, c.Subject.CommonName)
		}
		if got := strings.Join(names, " "); !errors.Is(err, tt.err) || err == nil && got != tt.want {
			t.Errorf("%s with %q: %q, %v; want %q, %v", tt.name, tt.password, got, err, tt.want, tt.err)
		}
	}
}

func TestKeys(t *testing.T) {
	for _, tt := range []struct {
		name, password, keyPassword string
		chain                       string
		err                         error
	}{
		{"key.jks", "changeit", "secret", "client Test CA", nil},
		{"key.jks", "changeit", "", "", keystore.ErrPassword},
		{"key.jks", "wrong", "secret", "", keystore.ErrPassword},
		{"key.pkcs12", "changeit", "", "client Test CA", nil},
		{"key.pkcs12", "wrong", "", "", keystore.ErrPassword},
		{"openssl.p12", "changeit", "", "pem", nil},
		{"trust.jks", "changeit", "", "", keystore.ErrDamaged},
		{"trust.pkcs12", "changeit", "", "", keystore.ErrDamaged},
		{"ca.pem", "", "", "", keystore.ErrDamaged},
		{"key.pem", "", "", "pem", nil},
		{"encrypted_aes256.pem", "", "secret", "pem", nil},
		{"encrypted_aes128.pem", "", "secret", "pem", nil}, // HMAC-SHA-512
		{"encrypted_des3.pem", "", "secret", "pem", nil},   // HMAC-SHA-1, the default that is left out
		{"encrypted_aes256.pem", "", "wrong", "", keystore.ErrPassword},
		{"encrypted_aes256.pem", "", "", "", keystore.ErrNoPassword},
		{"encrypted_pbes1.pem", "", "secret", "pem", nil}, // what Kafka can read with any Java
		{"encrypted_pbes1.pem", "", "wrong", "", keystore.ErrPassword},
	} {
		keys, err := keystore.Keys(read(t, tt.name), tt.password, tt.keyPassword)
		if !errors.Is(err, tt.err) || (err == nil) != (tt.err == nil) {
			t.Errorf("%s with %q and %q: %v, want %v", tt.name, tt.password, tt.keyPassword, err, tt.err)
			continue
		}
		if err != nil {
			continue
		}
		var names []string
		for _, c := range keys[0].Chain {
			names = append(names, c.Subject.CommonName)
		}
		public := keys[0].Chain[0].PublicKey.(interface{ Equal(crypto.PublicKey) bool })
		if got := strings.Join(names, " "); len(keys) != 1 || got != tt.chain || !public.Equal(keys[0].Private.(crypto.Signer).Public()) {
			t.Errorf("%s: %d keys, chain %q, want %q, and the key of its first", tt.name, len(keys), got, tt.chain)
		}
	}
}

// A PEM text in a value of a properties file often has blanks for line feeds, or a
// key in front of its certificate.
func TestPEMOnOneLine(t *testing.T) {
	p := bytes.ReplaceAll(read(t, "key.pem"), []byte("\n"), []byte(" "))
	if keys, err := keystore.Keys(p, "", ""); err != nil || len(keys) != 1 {
		t.Errorf("%d keys, %v", len(keys), err)
	}
	both := string(read(t, "key.pem"))
	key := both[strings.Index(both, "-----BEGIN PRIVATE"):]
	chain := strings.TrimSuffix(both, key)
	if keys, err := keystore.Keys(keystore.Join(key, chain), "", ""); err != nil || len(keys) != 1 {
		t.Errorf("key first: %d keys, %v", len(keys), err)
	}
}

func TestNoStore(t *testing.T) {
	for _, p := range []string{"", "hello", "\xce\xce\xce\xce\x00\x00\x00\x02", "-----BEGIN CERTIFICATE-----\nAAAA\n"} {
		if certs, err := keystore.Trusted([]byte(p), "changeit"); err == nil {
			t.Errorf("%q: %d certificates", p, len(certs))
		}
		if keys, err := keystore.Keys([]byte(p), "changeit", ""); err == nil {
			t.Errorf("%q: %d keys", p, len(keys))
		}
	}
}

func TestJKSCutAndChanged(t *testing.T) {
	sound := read(t, "key.jks")
	for n := range len(sound) {
		if _, err := keystore.Keys(sound[:n], "changeit", "secret"); err == nil {
			t.Errorf("cut at byte %d: no error", n)
		}
		changed := bytes.Clone(sound)
		changed[n] ^= 0x40
		if _, err := keystore.Keys(changed, "changeit", "secret"); err == nil {
			t.Errorf("byte %d changed: no error", n)
		}
	}
}

func FuzzStores(f *testing.F) {
	files, err := filepath.Glob("testdata/*.*")
	if err != nil || len(files) == 0 {
		f.Fatalf("no stores: %v", err)
	}
	for _, name := range files {
		f.Add(read(f, filepath.Base(name)))
	}
	f.Fuzz(func(t *testing.T, p []byte) {
		if keystore.Detect(p) == keystore.PKCS12 {
			return // read by a library, which derives keys for as long as a file says
		}
		if certs, err := keystore.Trusted(p, ""); err == nil && len(certs) == 0 {
			t.Error("no certificate and no error")
		}
		if keys, err := keystore.Keys(p, "changeit", "secret"); err == nil && len(keys) == 0 {
			t.Error("no key and no error")
		}
	})
}
