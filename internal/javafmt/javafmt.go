// Package javafmt renders values the way Java prints them, so that what kf
// prints can be compared with what Kafka's tools print.
//
// Text: Java's UTF-8 decoder replaces each ill-formed part by one U+FFFD. A part
// is the longest prefix of a well-formed sequence, else one byte; but surrogates,
// ED A0..BF 80..BF, and their first two bytes are one part each. Compared with
// Java 17.0.15 over 6 million sequences of up to 12 bytes.
//
// JSON strings are Jackson's: the two characters and the controls that JSON
// demands are escaped, with upper-case hex digits; nothing else is.
//
// Doubles are Double.toString of Java 17, on which Kafka 4.4 runs. Its digits are
// not always the fewest that read back as the same value, which is what Java
// prints from 19 on. They go on until what is left, or what is missing to the next
// digit, is less than half the distance to the next double, but:
//
//   - Exactly half is not less, although the decimal reads back: 1e23 prints
//     9.999999999999999E22.
//   - For a power of two that is the distance to the double below, half of the one
//     above: 2^62 prints 4.6116860184273879E18.
//   - The half may overflow in 64-bit arithmetic, and then one digit more or a
//     worse last digit comes.
//   - A whole number below 2^63 prints exactly, without the digits that are surely
//     insignificant: 264594855660877728 prints 2.64594855660877728E17.
//   - With an exponent there are two digits even where one would do: 4.9E-324.
//
// Compared with Java 17.0.15 over 11 million doubles: random bits, random decimals,
// whole numbers, powers of two and ten and their neighbours, denormals.
package javafmt

import (
	"cmp"
	"encoding/base64"
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
			if continues(1, 0xa0, 0xbf) {
				if continues(2, 0x80, 0xbf) {
					return 3, false
				}
				return 2, false
			}
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

// Compare is String.compareTo, which compares UTF-16 units: a character beyond
// U+FFFF, two surrogates there, comes before those from U+E000 to U+FFFF. Both
// strings are well-formed, as those of [Text] are.
func Compare(a, b string) int {
	n := min(len(a), len(b))
	for i := range n {
		x, y := a[i], b[i]
		if x == y {
			continue
		}
		// In UTF-8 the former start with F0 to F4, the latter with EE and EF.
		if x >= 0xEE && y >= 0xEE && (x >= 0xF0) != (y >= 0xF0) {
			x, y = y, x
		}
		return cmp.Compare(x, y)
	}
	return cmp.Compare(len(a), len(b))
}

// MapOrder returns the order in which a HashMap iterates over its keys after
// computeIfAbsent was called with each of keys. A new key is the first of its
// bucket. The table grows when a call finds it too full, so a key that comes again
// counts. A bucket that has become a tree, 8 or more keys in a table of 64 or more
// buckets, is taken for a list.
func MapOrder(keys []string) []string {
	const (
		maxBucket = 7  // one more key in a bucket grows the table as well,
		maxTable  = 64 // up to here
	)
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
		if len(distinct) > size*3/4 {
			grow()
		}
		if seen[key] {
			continue
		}
		seen[key] = true
		h := uint32(HashString(key))
		h ^= h >> 16
		distinct, hashes = append(distinct, key), append(hashes, h)
		bucket := h & uint32(size-1)
		count[bucket]++
		if count[bucket] > maxBucket && size < maxTable {
			grow()
		}
	}
	buckets := make([][]string, size)
	for i := len(distinct) - 1; i >= 0; i-- {
		bucket := hashes[i] & uint32(size-1)
		buckets[bucket] = append(buckets[bucket], distinct[i])
	}
	ordered := make([]string, 0, len(distinct))
	for _, bucket := range buckets {
		ordered = append(ordered, bucket...)
	}
	return ordered
}
