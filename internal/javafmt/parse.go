package javafmt

import (
	"strconv"
	"unicode"
)

// ParseInt reads a decimal number as Integer.parseInt and Long.parseLong do: a
// sign, then digits of any script. Mixing them is fine with Java.
func ParseInt(s string, bits int) (int64, error) {
	ascii := make([]byte, 0, len(s))
	for _, r := range s {
		ascii = append(ascii, digit(r))
	}
	n, err := strconv.ParseInt(string(ascii), 10, bits)
	if e, ok := err.(*strconv.NumError); ok {
		e.Num = s
	}
	return n, err
}

// digit returns the ASCII form of a sign or digit, '?' for what is neither. Java
// looks at UTF-16 units, so it knows no digits beyond those of one unit.
func digit(r rune) byte {
	switch {
	case r < 0x80:
		if r == '_' {
			return '?'
		}
		return byte(r)
	case r <= 0xffff:
		for _, digits := range unicode.Nd.R16 { // runs of ten, each from 0 to 9
			if rune(digits.Lo) <= r && r <= rune(digits.Hi) {
				return '0' + byte((r-rune(digits.Lo))%10)
			}
		}
	}
	return '?'
}
