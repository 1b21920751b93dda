package wire

import (
	"crypto/rand"
	"encoding/base64"
	"fmt"
)

// A UUID is 16 bytes, most significant first. Kafka writes it as 22 characters
// of base64url without padding.
type UUID [16]byte

// String returns the 22 characters.
func (u UUID) String() string { return base64.RawURLEncoding.EncodeToString(u[:]) }

// AppendTo appends the 22 characters to dst.
func (u UUID) AppendTo(dst []byte) []byte { return base64.RawURLEncoding.AppendEncode(dst, u[:]) }

// IsZero reports whether all bytes are 0, which stands for "none".
func (u UUID) IsZero() bool { return u == UUID{} }

// ParseUUID reads the text form, with or without padding.
func ParseUUID(s string) (UUID, error) {
	var u UUID
	raw := s
	if len(raw) == 24 && raw[22:] == "==" {
		raw = raw[:22]
	}
	p, err := base64.RawURLEncoding.DecodeString(raw)
	if err != nil || len(raw) != 22 || len(p) != len(u) { // base64 skips line feeds, Java does not
		return u, fmt.Errorf("%q is not a uuid of 22 base64url characters", s)
	}
	copy(u[:], p)
	return u, nil
}

// RandomUUID returns a random id as Kafka makes it: a UUID of version 4 whose text
// does not begin with a dash, which programs take for an option.
func RandomUUID() UUID {
	for {
		var id UUID
		rand.Read(id[:])
		id[6] = id[6]&0x0f | 0x40
		id[8] = id[8]&0x3f | 0x80
		if id.String()[0] != '-' {
			return id
		}
	}
}
