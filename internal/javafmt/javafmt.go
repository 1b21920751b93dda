// Package javafmt renders values the way Java prints them, so that what kf
// prints can be compared with what Kafka's tools print.
//
// Text: Java's UTF-8 decoder replaces each ill-formed part by one U+FFFD. A part
// is the longest prefix of a well-formed sequence, else one byte; only a complete
// surrogate, ED A0..BF 80..BF, is one part of three bytes. Source: Kafka 4.4.0 on
// Java 17, StringDecoder, over all sequences of 1 to 3 bytes.
//
// JSON strings are Jackson's: the two characters and the controls that JSON
// demands are escaped, with upper-case hex digits; nothing else is.
//
// Doubles are Double.toString of Java 19 and later: the shortest decimal that
// reads back as the same value. Java 17 prints some with digits too many.
package javafmt

import (
	"bytes"
	"encoding/base64"
	"math"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// AppendText appends the text that Java decodes p to, as UTF-8.
func AppendText(dst, p []byte) []byte {
	if utf8.Valid(p) {
		return append(dst, p...)
	}
	return appendRepaired(dst, p)
}

// Text returns s as Java decodes it: s itself if it is well-formed.
func Text(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return string(appendRepaired(nil, s))
}

func appendRepaired[T []byte | string](dst []byte, p T) []byte {
	for start := 0; start < len(p); {
		n, ok := part(p[start:])
		if ok {
			dst = append(dst, p[start:start+n]...)
		} else {
			dst = utf8.AppendRune(dst, utf8.RuneError)
		}
		start += n
	}
	return dst
}

// part returns how many bytes at the start of p are one well-formed sequence,
// or one ill-formed part. p is not empty.
func part[T []byte | string](p T) (n int, ok bool) {
	continues := func(i int, low, high byte) bool { return i < len(p) && p[i] >= low && p[i] <= high }
	low, high, size := byte(0x80), byte(0xbf), 0 // of the second byte; of the sequence
	switch b := p[0]; {
	case b < 0x80:
		return 1, true
	case b >= 0xc2 && b <= 0xdf:
		size = 2
	case b >= 0xe0 && b <= 0xef:
		size = 3
		switch b {
		case 0xe0:
			low = 0xa0
		case 0xed:
			if continues(1, 0xa0, 0xbf) && continues(2, 0x80, 0xbf) {
				return 3, false
			}
			high = 0x9f
		}
	case b >= 0xf0 && b <= 0xf4:
		size = 4
		switch b {
		case 0xf0:
			low = 0x90
		case 0xf4:
			high = 0x8f
		}
	default:
		return 1, false
	}
	if !continues(1, low, high) {
		return 1, false
	}
	for n = 2; n < size; n++ {
		if !continues(n, 0x80, 0xbf) {
			return n, false
		}
	}
	return size, true
}

// AppendQuoted appends s, decoded as Java does, as a JSON string.
func AppendQuoted(dst []byte, s string) []byte {
	dst = append(dst, '"')
	if !utf8.ValidString(s) {
		s = string(appendRepaired(nil, s))
	}
	const hex = "0123456789ABCDEF"
	start := 0
	for i := range len(s) {
		b := s[i]
		if b >= 0x20 && b != '"' && b != '\\' {
			continue
		}
		dst = append(append(dst, s[start:i]...), '\\')
		start = i + 1
		switch b {
		case '"', '\\':
			dst = append(dst, b)
		case '\b':
			dst = append(dst, 'b')
		case '\t':
			dst = append(dst, 't')
		case '\n':
			dst = append(dst, 'n')
		case '\f':
			dst = append(dst, 'f')
		case '\r':
			dst = append(dst, 'r')
		default:
			dst = append(dst, 'u', '0', '0', hex[b>>4], hex[b&15])
		}
	}
	return append(append(dst, s[start:]...), '"')
}

// AppendBase64 appends p as a JSON string of standard base64 with padding.
func AppendBase64(dst, p []byte) []byte {
	return append(base64.StdEncoding.AppendEncode(append(dst, '"'), p), '"')
}

// AppendDouble appends v as Double.toString does: plain from 1e-3 up to 1e7,
// else with an exponent; NaN, Infinity and -Infinity as these words.
func AppendDouble(dst []byte, v float64) []byte {
	switch {
	case math.IsNaN(v):
		return append(dst, "NaN"...)
	case math.IsInf(v, 0):
		if v < 0 {
			dst = append(dst, '-')
		}
		return append(dst, "Infinity"...)
	case v == 0:
		if math.Signbit(v) {
			dst = append(dst, '-')
		}
		return append(dst, "0.0"...)
	}
	if abs := math.Abs(v); abs >= 1e-3 && abs < 1e7 {
		start := len(dst)
		dst = strconv.AppendFloat(dst, v, 'f', -1, 64)
		if bytes.IndexByte(dst[start:], '.') < 0 {
			dst = append(dst, ".0"...)
		}
		return dst
	}
	var room [32]byte
	text := strconv.AppendFloat(room[:0], v, 'e', -1, 64)
	if bytes.IndexByte(text, '.') < 0 {
		// One digit is enough, and Java takes the nearest decimal of two.
		var more [32]byte
		two := strconv.AppendFloat(more[:0], v, 'e', 1, 64)
		if back, err := strconv.ParseFloat(string(two), 64); err == nil && back == v {
			text = two
		}
	}
	mantissa, power, _ := bytes.Cut(text, []byte{'e'})
	dst = append(dst, mantissa...)
	if bytes.IndexByte(mantissa, '.') < 0 {
		dst = append(dst, ".0"...)
	}
	exponent, _ := strconv.Atoi(string(power)) // never fails: strconv wrote it
	return strconv.AppendInt(append(dst, 'E'), int64(exponent), 10)
}

// HashString is String.hashCode, over the UTF-16 units of s.
func HashString(s string) int32 {
	var h int32
	for _, r := range Text(s) {
		if r < 0x10000 {
			h = 31*h + r
			continue
		}
		high, low := utf16.EncodeRune(r)
		h = 31*(31*h+high) + low
	}
	return h
}

// MapOrder returns the order in which a HashMap iterates over keys that were
// put into it in the order given; a key that comes again keeps its place. A
// bucket that has become a tree, more than 8 of 64 or more buckets, is taken for
// a list.
func MapOrder(keys []string) []string {
	const maxBucket = 8 // a longer list grows a table of fewer than 64 buckets
	var hashes []uint32
	var distinct []string
	size, count := 16, map[uint32]int{}
	seen := map[string]bool{}
	grow := func() {
		size *= 2
		clear(count)
		for _, h := range hashes {
			count[h&uint32(size-1)]++
		}
	}
	for _, key := range keys {
		if seen[key] {
			continue
		}
		seen[key] = true
		h := uint32(HashString(key))
		h ^= h >> 16
		distinct, hashes = append(distinct, key), append(hashes, h)
		bucket := h & uint32(size-1)
		count[bucket]++
		if count[bucket] > maxBucket && size < 64 {
			grow()
		}
		if len(distinct) > size*3/4 {
			grow()
		}
	}
	buckets := make([][]string, size)
	for i, key := range distinct {
		bucket := hashes[i] & uint32(size-1)
		buckets[bucket] = append(buckets[bucket], key)
	}
	ordered := make([]string, 0, len(distinct))
	for _, bucket := range buckets {
		ordered = append(ordered, bucket...)
	}
	return ordered
}
