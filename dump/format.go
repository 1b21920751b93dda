package dump

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"strconv"
	"unicode/utf8"

	"kf/internal/format/batch"
	"kf/internal/render"
)

// A cell is a key or a value. It refers to the bytes, it has no copy of them.
type cell struct {
	p      []byte // nil is null
	format render.ByteFormat
}

// newCell shows p in a format. If p is not of that format it is shown as by
// Auto, and fits is false.
func newCell(p []byte, format render.ByteFormat) (c cell, fits bool) {
	fits = true
	switch format {
	case render.BytesJSON:
		fits = json.Valid(p) && utf8.Valid(p) // json lets broken strings pass
	case render.BytesInt32:
		fits = len(p) == 4
	case render.BytesInt64:
		fits = len(p) == 8
	case render.BytesUUID:
		fits = len(p) == 16
	}
	if p == nil || !fits {
		format = render.BytesAuto
	}
	return cell{p, format}, fits || p == nil
}

// AppendJSON implements render.Value.
func (c *cell) AppendJSON(dst []byte) []byte {
	switch {
	case c.p == nil:
		return append(dst, "null"...)
	case c.format == render.BytesAuto && !utf8.Valid(c.p):
		dst = append(dst, `{"base64":"`...)
		return append(base64.StdEncoding.AppendEncode(dst, c.p), `"}`...)
	case c.format == render.BytesAuto, c.format == render.BytesString:
		return render.AppendJSON(dst, c.p)
	case c.format == render.BytesJSON:
		return appendCompact(dst, c.p)
	case c.format == render.BytesInt32, c.format == render.BytesInt64:
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

// AppendText implements render.Value.
func (c *cell) AppendText(dst []byte) ([]byte, bool) {
	switch {
	case c.p == nil:
		return dst, false
	case c.format == render.BytesAuto && !utf8.Valid(c.p):
		return hex.AppendEncode(append(dst, "0x"...), c.p), true
	case c.format == render.BytesAuto, c.format == render.BytesString:
		return append(dst, c.p...), true
	case c.format == render.BytesHex:
		return hex.AppendEncode(dst, c.p), true
	case c.format == render.BytesBase64:
		return base64.StdEncoding.AppendEncode(dst, c.p), true
	case c.format == render.BytesInt32:
		return strconv.AppendInt(dst, int64(int32(binary.BigEndian.Uint32(c.p))), 10), true
	case c.format == render.BytesInt64:
		return strconv.AppendInt(dst, int64(binary.BigEndian.Uint64(c.p)), 10), true
	case c.format == render.BytesUUID:
		for i, n := range []int{4, 2, 2, 2, 6} {
			if i > 0 {
				dst = append(dst, '-')
			}
			at := []int{0, 4, 6, 8, 10}[i]
			dst = hex.AppendEncode(dst, c.p[at:at+n])
		}
		return dst, true
	}
	return appendCompact(dst, c.p), true
}

// A headersCell shows the headers of a record: [{"key":…,"value":…},…] in JSON,
// key=value elsewhere, in their order, values as by Auto.
type headersCell struct{ r *batch.Record }

// AppendJSON implements render.Value.
func (c *headersCell) AppendJSON(dst []byte) []byte {
	dst = append(dst, '[')
	first := true
	for h := range c.headers {
		if !first {
			dst = append(dst, ',')
		}
		first = false
		key, value := cell{h.Key, render.BytesAuto}, cell{h.Value, render.BytesAuto}
		dst = key.AppendJSON(append(dst, `{"key":`...))
		dst = append(value.AppendJSON(append(dst, `,"value":`...)), '}')
	}
	return append(dst, ']')
}

// AppendText implements render.Value.
func (c *headersCell) AppendText(dst []byte) ([]byte, bool) {
	first := true
	for h := range c.headers {
		if !first {
			dst = append(dst, ',')
		}
		first = false
		key, value := cell{h.Key, render.BytesAuto}, cell{h.Value, render.BytesAuto}
		dst, _ = key.AppendText(dst)
		dst = append(dst, '=')
		if h.Value == nil {
			dst = append(dst, "null"...)
			continue
		}
		dst, _ = value.AppendText(dst)
	}
	return dst, !first
}

func (c *headersCell) headers(yield func(batch.RecordHeader) bool) {
	if c.r != nil {
		c.r.Headers()(yield)
	}
}
