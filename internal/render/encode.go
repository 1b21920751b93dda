package render

import (
	"strconv"
	"unicode/utf8"
)

const hexDigits = "0123456789abcdef"

// AppendJSON appends s as a JSON string, for implementations of Value. Besides what JSON demands it escapes
// DEL and the C1 controls, which drive terminals too.
func AppendJSON[T ~string | ~[]byte](dst []byte, s T) []byte {
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= 0x20 && c < 0x7f && c != '"' && c != '\\' {
			i++
			continue
		}
		r, n := rune(c), 1
		if c >= utf8.RuneSelf {
			r, n = decodeRune(s[i:])
			if r > 0x9f && (r != utf8.RuneError || n > 1) && r != '\u2028' && r != '\u2029' {
				i += n
				continue
			}
		}
		dst = append(dst, s[start:i]...)
		switch {
		case r == utf8.RuneError:
			dst = append(dst, "\uFFFD"...)
		case r == '"', r == '\\':
			dst = append(dst, '\\', c)
		case r == '\n':
			dst = append(dst, '\\', 'n')
		case r == '\r':
			dst = append(dst, '\\', 'r')
		case r == '\t':
			dst = append(dst, '\\', 't')
		default:
			dst = append(dst, '\\', 'u', hexDigits[r>>12&15], hexDigits[r>>8&15], hexDigits[r>>4&15], hexDigits[r&15])
		}
		i += n
		start = i
	}
	dst = append(dst, s[start:]...)
	return append(dst, '"')
}

func decodeRune[T ~string | ~[]byte](s T) (rune, int) {
	return utf8.DecodeRuneInString(string(s[:min(len(s), utf8.UTFMax)]))
}

// appendCSV appends s as a CSV field that is not null.
func appendCSV[T ~string | ~[]byte](dst []byte, s T) []byte {
	quote := len(s) == 0 || s[0] == ' ' || s[0] == '\t' || s[len(s)-1] == ' ' || s[len(s)-1] == '\t'
	ascii := true
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"', c == ',', c == '\n', c == '\r':
			quote = true
		case c >= utf8.RuneSelf:
			ascii = false
		}
	}
	if !ascii && !validUTF8(s) {
		return appendCSV(dst, string([]rune(string(s)))) // U+FFFD for each byte that is not, as in JSON
	}
	if !quote {
		return append(dst, s...)
	}
	return append(appendQuotes(append(dst, '"'), s), '"')
}

// appendQuotes appends s with each quote doubled.
func appendQuotes[T ~string | ~[]byte](dst []byte, s T) []byte {
	start := 0
	for i := range len(s) {
		if s[i] == '"' {
			dst = append(append(dst, s[start:i]...), '"')
			start = i
		}
	}
	return append(dst, s[start:]...)
}

// appendCell appends s as the text of a table cell, which is one line without
// blanks at its ends. A backslash stays single if s is JSON, which has none
// that could be mistaken for ours.
func appendCell[T ~string | ~[]byte](dst []byte, s T, isJSON bool) []byte {
	quote := !isJSON && (len(s) == 0 || len(s) == 1 && s[0] == '-' || s[0] == ' ' || s[0] == '"' || s[len(s)-1] == ' ')
	if quote {
		dst = append(dst, '"')
	}
	for i := 0; i < len(s); {
		c := s[i]
		if c >= 0x20 && c < 0x7f {
			if c == '\\' && !isJSON || c == '"' && quote {
				dst = append(dst, '\\')
			}
			dst = append(dst, c)
			i++
			continue
		}
		r, n := decodeRune(s[i:])
		switch {
		case n == 1: // a control character, or a byte that is not UTF-8
			dst = append(dst, '\\', 'x', hexDigits[c>>4], hexDigits[c&15])
		case strconv.IsPrint(r):
			dst = append(dst, s[i:i+n]...)
		case r > 0xffff:
			dst = append(dst, '\\', 'U')
			for shift := 28; shift >= 0; shift -= 4 {
				dst = append(dst, hexDigits[r>>shift&15])
			}
		default:
			dst = append(dst, '\\', 'u', hexDigits[r>>12&15], hexDigits[r>>8&15], hexDigits[r>>4&15], hexDigits[r&15])
		}
		i += n
	}
	if quote {
		dst = append(dst, '"')
	}
	return dst
}

func validUTF8[T ~string | ~[]byte](s T) bool {
	for i := 0; i < len(s); {
		if s[i] < utf8.RuneSelf {
			i++
			continue
		}
		r, n := decodeRune(s[i:])
		if r == utf8.RuneError && n == 1 {
			return false
		}
		i += n
	}
	return true
}
