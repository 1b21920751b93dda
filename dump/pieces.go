package dump

import (
	"encoding/base64"
	"encoding/hex"
	"iter"
	"unicode/utf8"

	"kf/internal/render"
)

const (
	largeValue = 1 << 20  // bytes; larger keys, values and headers are printed in pieces
	pieceSize  = 48 << 10 // a multiple of 3, which base64 needs
)

// A pieceWriter collects what is printed and hands it on in pieces.
type pieceWriter struct {
	buf   []byte
	yield func([]byte) bool
	ended bool // nobody wants more
}

func (w *pieceWriter) full(least int) bool {
	if len(w.buf) >= least && len(w.buf) > 0 && !w.ended {
		w.ended = !w.yield(w.buf)
		w.buf = w.buf[:0]
	}
	return w.ended
}

// pieces is the sequence of what write prints.
func pieces(write func(w *pieceWriter)) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		w := &pieceWriter{yield: yield}
		write(w)
		w.full(0)
	}
}

// each calls add with the parts of p, which break at the start of a character if
// p is text.
func (w *pieceWriter) each(p []byte, text bool, add func(part []byte)) {
	for len(p) > 0 && !w.full(pieceSize) {
		n := min(len(p), pieceSize)
		if text {
			n = textBreak(p, n)
		}
		add(p[:n])
		p = p[n:]
	}
}

// textBreak returns the highest place up to n at which p can be cut without a
// change to how it is decoded, also if it is not UTF-8.
func textBreak(p []byte, n int) int {
	if n == len(p) {
		return n
	}
	for back := range min(n, utf8.UTFMax) {
		if utf8.RuneStart(p[n-back]) {
			return n - back
		}
	}
	return n // no character has so many bytes behind its first
}

// cell prints what AppendJSON or AppendText does.
func (w *pieceWriter) cell(c render.Cell, isJSON bool) {
	binary := c.Format == render.BytesAuto && !utf8.Valid(c.Bytes)
	quoted := false
	switch {
	case len(c.Bytes) <= largeValue:
	case c.Format == render.BytesAuto, c.Format == render.BytesString, c.Format == render.BytesHex, c.Format == render.BytesBase64:
		quoted = isJSON
	}
	before, behind := "", ""
	var add func(part []byte)
	text := false
	switch {
	case len(c.Bytes) <= largeValue:
	case binary && isJSON:
		before, behind = `{"base64":"`, `"}`
		add = func(part []byte) { w.buf = base64.StdEncoding.AppendEncode(w.buf, part) }
	case binary:
		before = "0x"
		add = func(part []byte) { w.buf = hex.AppendEncode(w.buf, part) }
	case c.Format == render.BytesAuto, c.Format == render.BytesString:
		text = true
		add = func(part []byte) {
			if !isJSON {
				w.buf = append(w.buf, part...)
				return
			}
			start := len(w.buf)
			w.buf = render.AppendJSON(w.buf, part)
			copy(w.buf[start:], w.buf[start+1:len(w.buf)-1]) // without its quotes
			w.buf = w.buf[:len(w.buf)-2]
		}
	case c.Format == render.BytesHex:
		add = func(part []byte) { w.buf = hex.AppendEncode(w.buf, part) }
	case c.Format == render.BytesBase64:
		add = func(part []byte) { w.buf = base64.StdEncoding.AppendEncode(w.buf, part) }
	}
	switch {
	case add == nil && isJSON:
		w.buf = c.AppendJSON(w.buf)
	case add == nil:
		w.buf, _ = c.AppendText(w.buf)
	default:
		if quoted && before == "" {
			before, behind = `"`, `"`
		}
		w.buf = append(w.buf, before...)
		w.each(c.Bytes, text, add)
		w.buf = append(w.buf, behind...)
	}
}

// Pieces implements render.Large.
func (c *content) Pieces(isJSON bool) (iter.Seq[[]byte], bool) {
	if max(len(c.Bytes), len(c.json)) <= largeValue {
		return nil, false
	}
	return pieces(func(w *pieceWriter) {
		if c.json == nil {
			w.cell(c.Cell, isJSON)
			return
		}
		w.each(c.json, true, func(part []byte) { w.buf = append(w.buf, part...) })
	}), true
}

// Pieces implements render.Large.
func (c *headersCell) Pieces(isJSON bool) (iter.Seq[[]byte], bool) {
	if c.r == nil || c.r.HeadersSize() <= largeValue {
		return nil, false
	}
	return pieces(func(w *pieceWriter) { c.write(w, isJSON) }), true
}

func (c *headersCell) write(w *pieceWriter, isJSON bool) {
	open, key, value, behind, end := "", "", "=", "", ""
	if isJSON {
		open, key, value, behind, end = "[", `{"key":`, `,"value":`, "}", "]"
	}
	w.buf = append(w.buf, open...)
	first := true
	for k, v := range c.pairs {
		if w.full(pieceSize) {
			return
		}
		if !first {
			w.buf = append(w.buf, ',')
		}
		first = false
		w.buf = append(w.buf, key...)
		w.cell(render.Cell{Bytes: k}, isJSON)
		w.buf = append(w.buf, value...)
		if v == nil && !isJSON {
			w.buf = append(w.buf, "null"...)
		} else {
			w.cell(render.Cell{Bytes: v}, isJSON)
		}
		w.buf = append(w.buf, behind...)
	}
	w.buf = append(w.buf, end...)
}
