package textlines_test

import (
	"bufio"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"kf/internal/format/textlines"
)

func TestLines(t *testing.T) {
	for text, want := range map[string][]string{
		"":                 nil,
		"a":                {"a"},
		"a\n":              {"a"},
		"\n":               {""},
		"a\nb":             {"a", "b"},
		"a\r\nb\r\n":       {"a", "b"},
		"a\rb\r":           {"a", "b"},
		"a\n\rb":           {"a", "", "b"},
		"\r\r\n\n":         {"", "", ""},
		"0\r\n1\r\na 0 5":  {"0", "1", "a 0 5"},
		"ends with CR LF ": {"ends with CR LF "},
	} {
		var got []string
		for line := range textlines.Lines([]byte(text)) {
			got = append(got, string(line))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
		for range textlines.Lines([]byte(text)) {
			break
		}
		// A scanner sees the text in pieces.
		scanner := bufio.NewScanner(iotest.OneByteReader(strings.NewReader(text)))
		scanner.Split(textlines.Split)
		got = nil
		for scanner.Scan() {
			got = append(got, scanner.Text())
		}
		if !slices.Equal(got, want) || scanner.Err() != nil {
			t.Errorf("%q byte by byte: got %q, %v; want %q", text, got, scanner.Err(), want)
		}
	}
}
