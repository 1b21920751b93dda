// Package condition reads and evaluates conditions over named measures, such as
//
//	behind > 10m or lag > 1e6
//	committed and (lag >= 10k or not owned)
//
// The words or, and, not (also ||, &&, !) join comparisons with > >= < <= == !=
// between measures, numbers and durations; a measure that is a yes or no stands
// alone. "not" binds more than "and", and that more than "or". Numbers take an
// exponent or one of the suffixes k, M, G (thousands); durations are written 500ms,
// 1h30m, 7d, 2w. What is compared must be of one kind.
//
// A measure may not be known. A comparison with it is unknown, and so is a condition
// whose outcome depends on it: "lag > 5 or behind > 1m" is true if the lag is 6,
// whether or not it is known how far it is behind.
package condition

import (
	"fmt"
	"slices"
)

// A Kind is what the values of a measure are.
type Kind int

const (
	Number   Kind = iota // of records, members, …
	Duration             // seconds
	YesNo                // 0 or 1
)

func (k Kind) String() string { return [...]string{"number", "duration", "yes or no"}[k] }

// Measures are the names that a condition may use.
type Measures map[string]Kind

// A Truth is the outcome of a condition.
type Truth int

const (
	False Truth = iota
	True
	Unknown
)

func (t Truth) String() string { return [...]string{"false", "true", "unknown"}[t] }

// A Condition is one that was parsed. It is safe for concurrent use.
type Condition struct {
	text string
	root node
	uses []string
}

// String returns the condition as it was written.
func (c *Condition) String() string { return c.text }

// Uses reports whether the condition names one of the measures.
func (c *Condition) Uses(names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return slices.Contains(c.uses, name) })
}

// Names returns the measures that the condition names, each once, in the order in
// which they appear.
func (c *Condition) Names() []string { return slices.Clone(c.uses) }

// Eval evaluates the condition. Value returns the value of a measure, and whether it
// is known: durations in seconds, 0 or 1 for a yes or no. It may be +Inf.
func (c *Condition) Eval(value func(name string) (float64, bool)) Truth { return c.root.eval(value) }

// A SyntaxError says where a condition is wrong.
type SyntaxError struct {
	Text string
	Pos  int // byte of Text
	Msg  string
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("%q: character %d: %s", e.Text, len([]rune(e.Text[:e.Pos]))+1, e.Msg)
}

// A node is a condition or a part of one.
type node interface {
	eval(value func(string) (float64, bool)) Truth
}

type (
	or      struct{ a, b node }
	and     struct{ a, b node }
	not     struct{ a node }
	is      struct{ a operand } // a yes or no
	compare struct {
		op   string
		a, b operand
	}
)

// An operand is a measure, or a value if it has no name.
type operand struct {
	name  string
	value float64
	kind  Kind
	pos   int
}

func (o operand) get(value func(string) (float64, bool)) (float64, bool) {
	if o.name == "" {
		return o.value, true
	}
	return value(o.name)
}

func (n or) eval(value func(string) (float64, bool)) Truth {
	a, b := n.a.eval(value), n.b.eval(value)
	switch {
	case a == True || b == True:
		return True
	case a == Unknown || b == Unknown:
		return Unknown
	}
	return False
}

func (n and) eval(value func(string) (float64, bool)) Truth {
	a, b := n.a.eval(value), n.b.eval(value)
	switch {
	case a == False || b == False:
		return False
	case a == Unknown || b == Unknown:
		return Unknown
	}
	return True
}

func (n not) eval(value func(string) (float64, bool)) Truth {
	switch n.a.eval(value) {
	case True:
		return False
	case False:
		return True
	}
	return Unknown
}

func (n is) eval(value func(string) (float64, bool)) Truth {
	v, known := n.a.get(value)
	if !known {
		return Unknown
	}
	return truth(v != 0)
}

func (n compare) eval(value func(string) (float64, bool)) Truth {
	a, knownA := n.a.get(value)
	b, knownB := n.b.get(value)
	if !knownA || !knownB {
		return Unknown
	}
	switch n.op {
	case ">":
		return truth(a > b)
	case ">=":
		return truth(a >= b)
	case "<":
		return truth(a < b)
	case "<=":
		return truth(a <= b)
	case "==":
		return truth(a == b)
	}
	return truth(a != b)
}

func truth(b bool) Truth {
	if b {
		return True
	}
	return False
}
