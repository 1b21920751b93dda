package wire

import (
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
