package render

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A ByteFormat is how keys and values are shown, which are bytes, and the value
// of --key-format and --value-format.
type ByteFormat int

const (
	BytesAuto   ByteFormat = iota // text if the bytes are that, else base64 (JSON) or 0x… (table, CSV)
	BytesString                   // text; bytes that are not UTF-8 become U+FFFD
	BytesHex
	BytesBase64
	BytesJSON // the bytes are JSON and go into the output as that
	BytesInt32
	BytesInt64
	BytesUUID // 16 bytes, in the form with dashes
)

// ByteFormats are the values that flags take.
var ByteFormats = []string{"auto", "string", "hex", "base64", "json", "int32", "int64", "uuid"}

func (f ByteFormat) String() string { return ByteFormats[f] }

// Type is what pflag calls the type of the value.
func (f ByteFormat) Type() string { return "format" }

// Set implements pflag.Value.
func (f *ByteFormat) Set(s string) error {
	i := slices.Index(ByteFormats, s)
	if i < 0 {
		return fmt.Errorf("must be one of %s", strings.Join(ByteFormats, ", "))
	}
	*f = ByteFormat(i)
	return nil
}

// A Cell is a key or a value, which are bytes, as a [Value]. It refers to the bytes, it
// has no copy of them.
type Cell struct {
	Bytes  []byte // nil is null
	Format ByteFormat
}

// NewCell shows p in a format. If p is not of that format it is shown as by BytesAuto,
// and fits is false.
func NewCell(p []byte, format ByteFormat) (c Cell, fits bool) {
	fits = true
	switch format {
	case BytesJSON:
		fits = json.Valid(p) && utf8.Valid(p) // json lets broken strings pass
	case BytesInt32:
		fits = len(p) == 4
	case BytesInt64:
		fits = len(p) == 8
	case BytesUUID:
		fits = len(p) == 16
	}
	if p == nil || !fits {
		format = BytesAuto
	}
	return Cell{p, format}, fits || p == nil
}

// AppendJSON implements [Value].
func (c *Cell) AppendJSON(dst []byte) []byte {
	switch {
	case c.Bytes == nil:
		return append(dst, "null"...)
	case c.Format == BytesAuto && !utf8.Valid(c.Bytes):
		dst = append(dst, `{"base64":"`...)
		return append(base64.StdEncoding.AppendEncode(dst, c.Bytes), `"}`...)
	case c.Format == BytesAuto, c.Format == BytesString:
		return AppendJSON(dst, c.Bytes)
	case c.Format == BytesJSON:
		return appendCompact(dst, c.Bytes)
	case c.Format == BytesInt32, c.Format == BytesInt64:
		dst, _ = c.AppendText(dst)
		return dst
	}
	dst, _ = c.AppendText(append(dst, '"'))
	return append(dst, '"')
}

// appendCompact appends valid JSON on one line.
func appendCompact(dst, p []byte) []byte {
	if bytes.IndexByte(p, '\n') < 0 && bytes.IndexByte(p, '\r') < 0 {
		return append(dst, bytes.TrimSpace(p)...)
	}
	var b bytes.Buffer
	_ = json.Compact(&b, p) // fails only for invalid JSON
	return append(dst, b.Bytes()...)
}

// AppendText implements [Value].
func (c *Cell) AppendText(dst []byte) ([]byte, bool) {
	switch {
	case c.Bytes == nil:
		return dst, false
	case c.Format == BytesAuto && !utf8.Valid(c.Bytes):
		return hex.AppendEncode(append(dst, "0x"...), c.Bytes), true
	case c.Format == BytesAuto, c.Format == BytesString:
		return append(dst, c.Bytes...), true
	case c.Format == BytesHex:
		return hex.AppendEncode(dst, c.Bytes), true
	case c.Format == BytesBase64:
		return base64.StdEncoding.AppendEncode(dst, c.Bytes), true
	case c.Format == BytesInt32:
		return strconv.AppendInt(dst, int64(int32(binary.BigEndian.Uint32(c.Bytes))), 10), true
	case c.Format == BytesInt64:
		return strconv.AppendInt(dst, int64(binary.BigEndian.Uint64(c.Bytes)), 10), true
	case c.Format == BytesUUID:
		for i, n := range []int{4, 2, 2, 2, 6} {
			if i > 0 {
				dst = append(dst, '-')
			}
			at := []int{0, 4, 6, 8, 10}[i]
			dst = hex.AppendEncode(dst, c.Bytes[at:at+n])
		}
		return dst, true
	}
	return appendCompact(dst, c.Bytes), true
}

// AppendPairsJSON appends pairs of a key and a value, nil for null, in their order:
// [{"key":…,"value":…},…], both as by BytesAuto.
func AppendPairsJSON(dst []byte, pairs iter.Seq2[[]byte, []byte]) []byte {
	dst = append(dst, '[')
	first := true
	for k, v := range pairs {
		if !first {
			dst = append(dst, ',')
		}
		first = false
		key, value := Cell{Bytes: k}, Cell{Bytes: v}
		dst = key.AppendJSON(append(dst, `{"key":`...))
		dst = append(value.AppendJSON(append(dst, `,"value":`...)), '}')
	}
	return append(dst, ']')
}

// AppendPairsText appends pairs as key=value,…; false if there are none.
func AppendPairsText(dst []byte, pairs iter.Seq2[[]byte, []byte]) ([]byte, bool) {
	first := true
	for k, v := range pairs {
		if !first {
			dst = append(dst, ',')
		}
		first = false
		key, value := Cell{Bytes: k}, Cell{Bytes: v}
		dst, _ = key.AppendText(dst)
		dst = append(dst, '=')
		if v == nil {
			dst = append(dst, "null"...)
			continue
		}
		dst, _ = value.AppendText(dst)
	}
	return dst, !first
}
