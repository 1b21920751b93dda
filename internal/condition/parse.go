package condition

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"kf/internal/timearg"
)

// maxDepth is how deep parentheses and nots may be nested.
const maxDepth = 100

// Parse reads a condition over measures. The error is a *SyntaxError.
func Parse(text string, measures Measures) (*Condition, error) {
	p := &parser{text: text, measures: measures, c: &Condition{text: text}}
	p.next()
	p.c.root = p.or()
	if p.err == nil && p.token != "" {
		p.fail(p.start, "unexpected %q: want and, or, or the end", p.token)
	}
	if p.err != nil {
		return nil, p.err
	}
	return p.c, nil
}

type parser struct {
	text     string
	measures Measures
	c        *Condition
	token    string // the next one; "" at the end
	start    int    // of token
	pos      int    // behind token
	depth    int
	err      *SyntaxError // the first
}

func (p *parser) fail(pos int, format string, a ...any) {
	if p.err == nil {
		p.err = &SyntaxError{Text: p.text, Pos: pos, Msg: fmt.Sprintf(format, a...)}
	}
	p.token = "" // nothing more to read
	p.pos = len(p.text)
}

// next reads a token: an operator, a parenthesis, or a word, which is all letters,
// digits, dots and underscores that follow each other, with the sign of an exponent.
func (p *parser) next() {
	for p.pos < len(p.text) && strings.IndexByte(" \t\r\n", p.text[p.pos]) >= 0 {
		p.pos++
	}
	p.start = p.pos
	rest := p.text[p.pos:]
	for _, op := range []string{">=", "<=", "==", "!=", "&&", "||", ">", "<", "=", "!", "(", ")"} {
		if strings.HasPrefix(rest, op) {
			p.pos += len(op)
			p.token = op
			return
		}
	}
	for p.pos < len(p.text) && isWord(p.text[p.start:], p.pos-p.start) {
		p.pos++
	}
	p.token = p.text[p.start:p.pos]
	if p.token == "" && p.pos < len(p.text) {
		_, n := utf8.DecodeRuneInString(p.text[p.pos:])
		p.fail(p.start, "unexpected %q", p.text[p.pos:p.pos+n])
	}
}

func isWord(s string, i int) bool {
	c := s[i]
	switch {
	case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '_', c == '.':
		return true
	case c == '-' || c == '+':
		// 1e-6, and -5 at the start of a word
		return i == 0 || (s[i-1] == 'e' || s[i-1] == 'E') && isDigit(s[0])
	}
	return false
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// take reads the next token if it is one of these words.
func (p *parser) take(words ...string) bool {
	if p.token == "" || !slices.Contains(words, strings.ToLower(p.token)) {
		return false
	}
	p.next()
	return true
}

func (p *parser) or() node {
	n := p.and()
	for p.take("or", "||") {
		n = or{n, p.and()}
	}
	return n
}

func (p *parser) and() node {
	n := p.not()
	for p.take("and", "&&") {
		n = and{n, p.not()}
	}
	return n
}

func (p *parser) not() node {
	if p.depth++; p.depth > maxDepth {
		p.fail(p.start, "more than %d parentheses and nots in each other", maxDepth)
	}
	defer func() { p.depth-- }()
	open := p.start
	switch {
	case p.take("not", "!"):
		return not{p.not()}
	case p.take("("):
		n := p.or()
		if p.err == nil && !p.take(")") {
			p.fail(open, "this parenthesis is not closed")
		}
		return n
	}
	return p.comparison()
}

var comparisons = []string{">", ">=", "<", "<=", "==", "!=", "="}

func (p *parser) comparison() node {
	a := p.operand()
	op, at := p.token, p.start
	if p.err != nil || !slices.Contains(comparisons, op) {
		if p.err == nil && (a.kind != YesNo || a.name == "") {
			p.fail(at, "want a comparison after %s, such as %s > …", p.text[a.pos:at], strings.TrimSpace(p.text[a.pos:at]))
		}
		return is{a}
	}
	p.next()
	b := p.operand()
	if op == "=" {
		op = "=="
	}
	if p.err == nil {
		p.check(a, b)
	}
	if p.err == nil && slices.Contains(comparisons, p.token) {
		p.fail(p.start, "comparisons cannot be chained: join two with and")
	}
	return compare{op, a, b}
}

// check fails unless a and b can be compared.
func (p *parser) check(a, b operand) {
	switch {
	case a.name == "" && b.name == "":
		p.fail(a.pos, "the comparison names no measure: %s", p.names())
	case a.kind == YesNo || b.kind == YesNo:
		which := a
		if a.kind != YesNo {
			which = b
		}
		p.fail(which.pos, "%s is a yes or no, which is not compared: write %s or not %s", which.name, which.name, which.name)
	case a.kind != b.kind:
		measure, value := a, b
		if a.name == "" {
			measure, value = b, a
		}
		if value.name == "" && measure.kind == Duration {
			p.fail(value.pos, "%s is a duration: give a unit, such as %ss", measure.name, strconv.FormatFloat(value.value, 'g', -1, 64))
			return
		}
		p.fail(value.pos, "%s is a %v and cannot be compared with a %v", measure.name, measure.kind, value.kind)
	}
}

func (p *parser) names() string {
	return "there are " + strings.Join(slices.Sorted(maps.Keys(p.measures)), ", ")
}

// operand reads a measure or a value.
func (p *parser) operand() operand {
	o := operand{pos: p.start}
	word := p.token
	switch {
	case p.err != nil:
		return o
	case word == "":
		p.fail(p.start, "a measure or a value is missing")
		return o
	case strings.ContainsAny(word[:1], "><=!&|()"):
		p.fail(p.start, "unexpected %q: want a measure or a value", word)
		return o
	case strings.IndexByte("0123456789.+-", word[0]) < 0:
		return p.measure(word)
	}
	value, kind, ok := parseValue(word)
	if !ok {
		p.fail(p.start, "%q is neither a number, such as 1e6 or 10k, nor a duration, such as 10m or 1h30m", word)
		return o
	}
	o.value, o.kind = value, kind
	p.next()
	return o
}

func (p *parser) measure(word string) operand {
	o := operand{name: strings.ToLower(word), pos: p.start}
	kind, ok := p.measures[o.name]
	switch {
	case !ok && slices.Contains([]string{"and", "or", "not"}, o.name):
		p.fail(p.start, "unexpected %q: want a measure or a value", word)
		return o
	case !ok:
		p.fail(p.start, "%q is not measured: %s", word, p.names())
		return o
	}
	o.kind = kind
	if !p.c.Uses(o.name) {
		p.c.uses = append(p.c.uses, o.name)
	}
	p.next()
	return o
}

// parseValue reads a number or a duration, which has a unit.
func parseValue(s string) (float64, Kind, bool) {
	if f, err := strconv.ParseFloat(s, 64); err == nil && !math.IsInf(f, 0) && isDecimal(s) {
		return f, Number, true
	}
	for suffix, scale := range map[string]float64{"k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9} {
		if digits, ok := strings.CutSuffix(s, suffix); ok {
			f, err := strconv.ParseFloat(digits, 64)
			return f * scale, Number, err == nil && isDecimal(digits) && !math.IsInf(f*scale, 0)
		}
	}
	d, err := timearg.ParseDuration(s)
	return d.Seconds(), Duration, err == nil
}

// isDecimal reports whether s is a number as people write it: what Go reads as one
// besides is hexadecimal, has underscores, or is "Inf".
func isDecimal(s string) bool {
	return s != "" && strings.Trim(s, "0123456789.+-eE") == ""
}
