package condition_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"kf/internal/condition"
)

var measures = condition.Measures{"lag": condition.Number, "lost": condition.Number, "behind": condition.Duration, "expires": condition.Duration, "owned": condition.YesNo}

func TestEval(t *testing.T) {
	inf := math.Inf(1)
	type vars = map[string]float64
	for _, tt := range []struct {
		text string
		vars vars
		want condition.Truth
	}{
		{"behind > 10m or lag > 1e6", vars{"behind": 601, "lag": 0}, condition.True},
		{"behind > 10m or lag > 1e6", vars{"behind": 600, "lag": 1e6}, condition.False},
		{"behind > 10m or lag > 1e6", vars{"lag": 1e6 + 1}, condition.True},
		{"behind > 10m or lag > 1e6", vars{"lag": 5}, condition.Unknown},
		{"BEHIND>10m OR LAG>1e6", vars{"behind": 601, "lag": 0}, condition.True},
		{"10m < behind", vars{"behind": 601}, condition.True},
		{"lag >= 10k && lag <= 10K", vars{"lag": 10000}, condition.True},
		{"lag == 2M || lag = 3G", vars{"lag": 3e9}, condition.True},
		{"lag != 1.5", vars{"lag": 1}, condition.True},
		{"lag > -5", vars{"lag": -4}, condition.True},
		{"lag > 1E-3", vars{"lag": 0}, condition.False},
		{"behind > 1d12h", vars{"behind": 36 * 3600}, condition.False},
		{"behind >= 1w", vars{"behind": inf}, condition.True},
		{"expires < 500ms", vars{"expires": 0.4}, condition.True},
		{"behind > expires", vars{"behind": 2, "expires": 1}, condition.True},
		{"owned", vars{"owned": 1}, condition.True},
		{"not owned", vars{"owned": 1}, condition.False},
		{"!owned", vars{}, condition.Unknown},
		{"owned and lag > 0", vars{"owned": 0}, condition.False},
		{"lag > 0 and owned", vars{"owned": 0}, condition.False},
		{"not owned or lag > 0 and lost > 0", vars{"owned": 0, "lag": 0, "lost": 0}, condition.True},
		{"(not owned or lag > 0) and lost > 0", vars{"owned": 0, "lag": 0, "lost": 0}, condition.False},
		{"not (not (owned))", vars{"owned": 1}, condition.True},
		{"not owned and lag > 0", vars{"owned": 1, "lag": 0}, condition.False},
	} {
		c, err := condition.Parse(tt.text, measures)
		if err != nil {
			t.Errorf("%s: %v", tt.text, err)
			continue
		}
		got := c.Eval(func(name string) (float64, bool) {
			v, ok := tt.vars[name]
			return v, ok
		})
		if got != tt.want {
			t.Errorf("%s with %v: %v, want %v", tt.text, tt.vars, got, tt.want)
		}
	}
}

func TestSyntax(t *testing.T) {
	for text, want := range map[string]string{
		"":                         `"": character 1: a measure or a value is missing`,
		"lag":                      `"lag": character 4: want a comparison after lag, such as lag > …`,
		"lag >":                    `"lag >": character 6: a measure or a value is missing`,
		"lag > 5 lost > 5":         `"lag > 5 lost > 5": character 9: unexpected "lost": want and, or, or the end`,
		"lag > 5 and":              `character 12: a measure or a value is missing`,
		"and lag > 5":              `character 1: unexpected "and": want a measure or a value`,
		"lags > 5":                 `character 1: "lags" is not measured: there are behind, expires, lag, lost, owned`,
		"lag > 10m":                `character 7: lag is a number and cannot be compared with a duration`,
		"behind > 600":             `character 10: behind is a duration: give a unit, such as 600s`,
		"600 < behind":             `character 1: behind is a duration: give a unit, such as 600s`,
		"behind > lag":             `character 10: behind is a duration and cannot be compared with a number`,
		"owned > 0":                `character 1: owned is a yes or no, which is not compared: write owned or not owned`,
		"5 > 3":                    `character 1: the comparison names no measure: there are `,
		"lag > 5x":                 `character 7: "5x" is neither a number, such as 1e6 or 10k, nor a duration`,
		"lag > 0x10":               `character 7: "0x10" is neither`,
		"lag > 1e999":              `character 7: "1e999" is neither`,
		"lag > 1_000":              `character 7: "1_000" is neither`,
		"lag > 5k5":                `character 7: "5k5" is neither`,
		"(lag > 5":                 `character 1: this parenthesis is not closed`,
		"lag > 5)":                 `character 8: unexpected ")"`,
		"1 < lag < 5":              `character 9: comparisons cannot be chained: join two with and`,
		"lag > § 5":                `character 7: unexpected "§"`,
		"é > 5":                    `character 1: unexpected "é"`,
		"lag > > 5":                `character 7: unexpected ">": want a measure or a value`,
		strings.Repeat("!", 1000):  `more than 100 parentheses and nots in each other`,
		strings.Repeat("(", 10000): `more than 100 parentheses and nots in each other`,
	} {
		_, err := condition.Parse(text, measures)
		var syntax *condition.SyntaxError
		if !errors.As(err, &syntax) || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v, want %s", text, err, want)
		}
	}
}

func TestNames(t *testing.T) {
	c, err := condition.Parse("lag > 5 or behind > 1m and LAG < 3", measures)
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(c.Names()); got != "[lag behind]" || !c.Uses("lost", "behind") || c.Uses("lost") {
		t.Errorf("%s uses %s", c, got)
	}
}

// A model builds conditions with their meaning, and their text with blanks and
// parentheses where nothing needs them.
type model struct {
	rng  *rand.Rand
	vars map[string]float64
}

func (m *model) pick(of ...string) string { return of[m.rng.IntN(len(of))] }

// condition returns the text of a condition and its outcome. Level 0 may be an or, 1
// an and, 2 a not.
func (m *model) condition(depth, level int) (string, condition.Truth) {
	kind := m.rng.IntN(5)
	if depth == 0 {
		kind = 4
	}
	switch kind {
	case 0, 1:
		if kind < level { // it binds too little to stand here
			text, truth := m.condition(depth-1, 0)
			return "(" + text + m.pick("", " ") + ")", truth
		}
		a, ta := m.condition(depth-1, kind)
		b, tb := m.condition(depth-1, kind+1)
		if kind == 0 {
			return a + m.pick(" or ", " || ", "\tOR ") + b, max3(ta, tb)
		}
		return a + m.pick(" and ", " && ", " And\n") + b, invert(max3(invert(ta), invert(tb)))
	case 2:
		text, truth := m.condition(depth-1, 2)
		return m.pick("not ", "!", "! ") + text, invert(truth)
	case 3:
		text, truth := m.condition(depth-1, 0)
		return "(" + text + ")", truth
	}
	if m.rng.IntN(4) == 0 {
		v, ok := m.vars["owned"]
		return "owned", truth3(ok, v != 0)
	}
	name := m.pick("lag", "behind")
	v, ok := m.vars[name]
	value, text := float64(m.rng.IntN(4)), ""
	if name == "lag" {
		text = fmt.Sprint(value)
	} else {
		text = fmt.Sprintf("%gm", value)
		value *= 60
	}
	switch m.rng.IntN(3) {
	case 0:
		return name + m.pick(" > ", ">") + text, truth3(ok, v > value)
	case 1:
		return text + m.pick(" >= ", ">=") + name, truth3(ok, value >= v)
	}
	return name + m.pick(" == ", "=") + text, truth3(ok, v == value)
}

func truth3(known, b bool) condition.Truth {
	switch {
	case !known:
		return condition.Unknown
	case b:
		return condition.True
	}
	return condition.False
}

func invert(t condition.Truth) condition.Truth {
	return map[condition.Truth]condition.Truth{condition.True: condition.False, condition.False: condition.True, condition.Unknown: condition.Unknown}[t]
}

// max3 is "or", as the order false, unknown, true has it.
func max3(a, b condition.Truth) condition.Truth {
	order := []condition.Truth{condition.False, condition.Unknown, condition.True}
	best := 0
	for i, t := range order {
		if t == a || t == b {
			best = i
		}
	}
	return order[best]
}

// Conditions mean what their grammar says, whatever is known.
func TestModel(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 5000 {
		m := &model{rng: rng, vars: make(map[string]float64)}
		for name, scale := range map[string]float64{"lag": 1, "behind": 60, "owned": 1} {
			if rng.IntN(4) > 0 {
				m.vars[name] = float64(rng.IntN(3)) * scale
			}
		}
		text, want := m.condition(4, 0)
		c, err := condition.Parse(text, measures)
		if err != nil {
			t.Fatal(err)
		}
		got := c.Eval(func(name string) (float64, bool) {
			v, ok := m.vars[name]
			return v, ok
		})
		if got != want {
			t.Fatalf("%q with %v: %v, want %v", text, m.vars, got, want)
		}
	}
}

// Whatever was typed parses or fails at a place in it, and asks only for measures
// that it names.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"behind > 10m or lag > 1e6", "not (owned and lag>=-1.5k)", "1h30m<behind", "lag > 5 && !owned||lost==3G", "(((", "é", "lag > 1e"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, err := condition.Parse(text, measures)
		if err != nil {
			var syntax *condition.SyntaxError
			if !errors.As(err, &syntax) || syntax.Pos < 0 || syntax.Pos > len(text) || syntax.Error() == "" {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		c.Eval(func(name string) (float64, bool) {
			if !c.Uses(name) {
				t.Errorf("%q asks for %q, which it does not name", text, name)
			}
			return 1, true
		})
		again, err := condition.Parse("not ("+c.String()+")", measures)
		if err != nil {
			if strings.Contains(err.Error(), "in each other") { // one deeper than may be
				return
			}
			t.Fatalf("%q parses, but not in parentheses: %v", text, err)
		}
		one := func(string) (float64, bool) { return 1, true }
		if c.Eval(one) == again.Eval(one) {
			t.Errorf("not does not change %q", text)
		}
	})
}
