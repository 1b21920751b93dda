package metaprops

import (
	"fmt"
	"strconv"
	"unicode/utf16"
)

// A Property is a pair of a properties text.
type Property struct {
	Key, Value string
	Line       int // line of the text on which the pair starts, from 1 on
}

// Parse reads a Java properties text, pairs in the order of the text:
//   - the bytes are ISO-8859-1;
//   - lines end with LF, CR LF or CR; empty ones, and those whose first
//     non-blank is # or !, count for nothing; blanks (space, tab, FF) at the
//     start of a line do not count;
//   - an odd number of backslashes at the end of a line joins the next one to
//     it, but never to a comment;
//   - the key ends at the first = or : or blank that has no backslash before it;
//     blanks around that separator do not count, blanks at the end of the value
//     do; without a separator the value is empty;
//   - \t \n \r \f and \uxxxx, in UTF-16, are what they are in Java; before any
//     other character a backslash is dropped. Fewer than four hexadecimal digits
//     give ErrEscape.
func Parse(p []byte) ([]Property, error) {
	var props []Property
	lines := lineReader{p: p, line: 1}
	for {
		text, line, ok := lines.next()
		if !ok {
			return props, nil
		}
		keyEnd, value := cut(text)
		k, err := unescape(text[:keyEnd])
		if err != nil {
			return props, fmt.Errorf("line %d: key: %w", line, err)
		}
		v, err := unescape(text[value:])
		if err != nil {
			return props, fmt.Errorf("line %d: value: %w", line, err)
		}
		props = append(props, Property{k, v, line})
	}
}

func blank(c byte) bool { return c == ' ' || c == '\t' || c == '\f' }
func end(c byte) bool   { return c == '\n' || c == '\r' }

// A lineReader joins continued lines and leaves out comments and empty lines.
type lineReader struct {
	p    []byte
	line int // of the next byte
}

// next returns a logical line and the number of its first line.
func (r *lineReader) next() (text []byte, line int, ok bool) {
	for len(r.p) > 0 {
		part, continued := r.part(len(text) == 0)
		if len(text) == 0 {
			line = r.line
		}
		text = append(text, part...)
		r.endLine()
		if len(text) > 0 && !continued {
			return text, line, true
		}
	}
	return text, line, len(text) > 0
}

// part reads up to the end of a line and returns what counts of it. A comment is
// one only where no text was read before.
func (r *lineReader) part(comments bool) (part []byte, continued bool) {
	for len(r.p) > 0 && blank(r.p[0]) {
		r.p = r.p[1:]
	}
	n, backslash := 0, false
	for n < len(r.p) && !end(r.p[n]) {
		backslash = r.p[n] == '\\' && !backslash
		n++
	}
	part, r.p = r.p[:n], r.p[n:]
	switch {
	case comments && n > 0 && (part[0] == '#' || part[0] == '!'):
		return nil, false
	case backslash:
		return part[:n-1], true
	}
	return part, false
}

func (r *lineReader) endLine() {
	r.line++
	switch {
	case len(r.p) >= 2 && r.p[0] == '\r' && r.p[1] == '\n':
		r.p = r.p[2:]
	case len(r.p) > 0:
		r.p = r.p[1:]
	}
}

// cut returns where the key ends and where the value starts.
func cut(text []byte) (keyEnd, value int) {
	backslash := false
	for keyEnd < len(text) {
		c := text[keyEnd]
		if !backslash && (c == '=' || c == ':' || blank(c)) {
			break
		}
		backslash = c == '\\' && !backslash
		keyEnd++
	}
	value = keyEnd
	for value < len(text) && blank(text[value]) {
		value++
	}
	if value < len(text) && (text[value] == '=' || text[value] == ':') {
		value++
	}
	for value < len(text) && blank(text[value]) {
		value++
	}
	return keyEnd, value
}

// unescape makes text of ISO-8859-1 bytes with escapes.
func unescape(p []byte) (string, error) {
	units := make([]uint16, 0, len(p))
	for i := 0; i < len(p); i++ {
		c := p[i]
		if c != '\\' || i+1 == len(p) {
			units = append(units, uint16(c))
			continue
		}
		i++
		switch c = p[i]; c {
		case 'u':
			// ParseUint takes no sign; a short rest cannot have four digits.
			n, err := strconv.ParseUint(string(p[i+1:min(i+5, len(p))]), 16, 16)
			if err != nil || i+5 > len(p) {
				return "", ErrEscape
			}
			units = append(units, uint16(n))
			i += 4
			continue
		case 't':
			c = '\t'
		case 'n':
			c = '\n'
		case 'r':
			c = '\r'
		case 'f':
			c = '\f'
		}
		units = append(units, uint16(c))
	}
	return string(utf16.Decode(units)), nil
}

// appendProperty appends a line as java.util.Properties.store(Writer) does.
func appendProperty(dst []byte, key, value string) []byte {
	dst = appendEscaped(dst, key, true)
	dst = append(dst, '=')
	dst = appendEscaped(dst, value, false)
	return append(dst, '\n')
}

// appendEscaped escapes every space of a key, and one at the start of a value.
func appendEscaped(dst []byte, s string, key bool) []byte {
	for i := range len(s) {
		switch c := s[i]; c {
		case ' ':
			if key || i == 0 {
				dst = append(dst, '\\')
			}
			dst = append(dst, ' ')
		case '\t':
			dst = append(dst, `\t`...)
		case '\n':
			dst = append(dst, `\n`...)
		case '\r':
			dst = append(dst, `\r`...)
		case '\f':
			dst = append(dst, `\f`...)
		case '\\', '=', ':', '#', '!':
			dst = append(dst, '\\', c)
		default:
			dst = append(dst, c)
		}
	}
	return dst
}
