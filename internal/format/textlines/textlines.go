// Package textlines splits text into lines as Java's BufferedReader does: a line
// ends with LF, CR LF or CR, and the last one need not end.
package textlines

import (
	"bytes"
	"iter"
)

// Split is a bufio.SplitFunc. Tokens are lines without their ends.
func Split(data []byte, atEOF bool) (advance int, token []byte, err error) {
	i := bytes.IndexAny(data, "\r\n")
	switch {
	case i < 0 && atEOF && len(data) > 0:
		return len(data), data, nil
	case i < 0:
		return 0, nil, nil
	case data[i] == '\n':
		return i + 1, data[:i], nil
	case i+1 == len(data) && !atEOF:
		return 0, nil, nil // an LF may follow
	case i+1 < len(data) && data[i+1] == '\n':
		return i + 2, data[:i], nil
	}
	return i + 1, data[:i], nil
}

// Lines yields the lines of p without their ends. They stay part of p.
func Lines(p []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for len(p) > 0 {
			n, line, _ := Split(p, true)
			if !yield(line) {
				return
			}
			p = p[n:]
		}
	}
}
