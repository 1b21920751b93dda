package client

import (
	"errors"
	"fmt"
	"strings"
)

// A login is the login module of sasl.jaas.config.
type login struct {
	module  string // name of the class
	options map[string]string
}

// class returns the name of the module without its package.
func (l login) class() string { return l.module[strings.LastIndexByte(l.module, '.')+1:] }

// parseJAAS reads the value of sasl.jaas.config: the class of one login module, a
// flag, options, a semicolon. The words are those of Java's StreamTokenizer:
//
//	word     letters, digits, any of . - _ $ and all beyond U+00A0, not starting with
//	         a digit, . or -
//	"…" '…'  anything up to the quote or the end of the line, with the escapes of C
//	comment  // and a single / up to the end of the line, /* … */
//
// An error names options, but no value: that may be a password.
//
// Source: Kafka 4.4.0, JaasConfig.java and JaasContext.java; java.io.StreamTokenizer
// of Java 17. Each rule was seen by running them.
func parseJAAS(text string) (login, error) {
	t := jaasTokens{text: []rune(text)}
	var all []login
	for t.next() != jaasEnd {
		l, err := t.login()
		if err != nil {
			return login{}, err
		}
		all = append(all, l)
	}
	switch len(all) {
	case 0:
		return login{}, errors.New("it names no login module")
	case 1:
		return all[0], nil
	}
	return login{}, fmt.Errorf("it has %d login modules where one is expected", len(all))
}

// login reads an entry whose first token is the current one.
func (t *jaasTokens) login() (login, error) {
	l := login{module: t.word, options: make(map[string]string)}
	if t.kind != jaasWord {
		return l, errors.New("it does not start with the class of a login module")
	}
	switch t.next(); {
	case t.kind != jaasWord:
		return l, fmt.Errorf("after %s a flag is missing, such as required", l.class())
	case !strings.EqualFold(t.word, "required") && !strings.EqualFold(t.word, "requisite") &&
		!strings.EqualFold(t.word, "sufficient") && !strings.EqualFold(t.word, "optional"):
		return l, fmt.Errorf("after %s is no flag such as required", l.class())
	}
	for t.next() != ';' {
		if t.kind == jaasEnd {
			return l, errors.New("the semicolon at the end is missing")
		}
		if t.kind != jaasWord {
			return l, fmt.Errorf("name of an option expected %s: a value with other than letters and digits needs quotes, \"…\"", l.after())
		}
		option := t.word
		if t.next() != '=' {
			return l, fmt.Errorf("option %s has no value: = is missing", option)
		}
		if t.next() != jaasWord {
			return l, fmt.Errorf("the value of option %s needs quotes: %s=\"…\"", option, option)
		}
		l.options[option] = t.word
	}
	return l, nil
}

func (l login) after() string {
	if len(l.options) == 0 {
		return "after the flag"
	}
	return fmt.Sprintf("after %d options", len(l.options))
}

// The kinds of tokens that are no single character.
const (
	jaasEnd    rune = -1
	jaasWord   rune = -2 // or something in quotes
	jaasNumber rune = -3
)

type jaasTokens struct {
	text []rune
	kind rune   // of the current token
	word string // of a jaasWord
}

// next goes to the next token and returns its kind.
func (t *jaasTokens) next() rune {
	t.word = ""
	t.kind = t.token()
	return t.kind
}

func (t *jaasTokens) token() rune {
	for len(t.text) > 0 {
		switch c := t.text[0]; {
		case c <= ' ':
			t.text = t.text[1:]
		case c == '/':
			t.comment()
		case c == '"' || c == '\'':
			t.quoted(c)
			return jaasWord
		case jaasDigit(c):
			for len(t.text) > 0 && jaasDigit(t.text[0]) {
				t.text = t.text[1:]
			}
			return jaasNumber
		case jaasLetter(c):
			n := 0
			for n < len(t.text) && (jaasLetter(t.text[n]) || jaasDigit(t.text[n])) {
				n++
			}
			t.word, t.text = string(t.text[:n]), t.text[n:]
			return jaasWord
		default:
			t.text = t.text[1:]
			return c
		}
	}
	return jaasEnd
}

func jaasDigit(c rune) bool { return c >= '0' && c <= '9' || c == '.' || c == '-' }

func jaasLetter(c rune) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c == '$' || c >= 0xa0
}

func (t *jaasTokens) comment() {
	if len(t.text) > 1 && t.text[1] == '*' {
		for t.text = t.text[2:]; len(t.text) > 0; t.text = t.text[1:] {
			if len(t.text) > 1 && t.text[0] == '*' && t.text[1] == '/' {
				t.text = t.text[2:]
				return
			}
		}
		return
	}
	for len(t.text) > 0 && t.text[0] != '\n' && t.text[0] != '\r' {
		t.text = t.text[1:]
	}
}

// quoted reads a word in quotes; a line end closes them too.
func (t *jaasTokens) quoted(quote rune) {
	var b strings.Builder
	for t.text = t.text[1:]; len(t.text) > 0; {
		c := t.text[0]
		if c == '\n' || c == '\r' {
			break
		}
		t.text = t.text[1:]
		if c == quote {
			break
		}
		if c == '\\' && len(t.text) > 0 {
			c = t.escape()
		}
		b.WriteRune(c)
	}
	t.word = b.String()
}

// escape reads what follows a backslash.
func (t *jaasTokens) escape() rune {
	c := t.text[0]
	t.text = t.text[1:]
	if c >= '0' && c <= '7' {
		most := 2 // three digits up to \377
		if c <= '3' {
			most = 3
		}
		n := c - '0'
		for i := 1; i < most && len(t.text) > 0 && t.text[0] >= '0' && t.text[0] <= '7'; i++ {
			n, t.text = n*8+t.text[0]-'0', t.text[1:]
		}
		return n
	}
	if i := strings.IndexRune("abfnrtv", c); i >= 0 {
		return rune("\a\b\f\n\r\t\v"[i])
	}
	return c
}
