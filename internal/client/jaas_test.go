package client

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// What is read, and what is refused, is what JaasConfig of Kafka 4.4.0 does with it.
func TestParseJAAS(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{`a.B required;`, `a.B`},
		{`a.B required x=y;`, `a.B x=y`},
		{`a.B required x='y z' w="1";`, `a.B w=1 x=y z`},
		{`a.B REQUIRED x="a\"b\\c";`, `a.B x=a"b\c`},
		{`a.B required x="a\nb\101\1234\t";`, "a.B x=a\nbAS4\t"},
		{`a.B required x="\400\77\u0041";`, `a.B x= 0?u0041`},
		{`a.B required x=abc1.2-3_$;`, `a.B x=abc1.2-3_$`},
		{"a.B required x=\"open\n;", `a.B x=open`},
		{"a.B required // c\n x=\"y\";", `a.B x=y`},
		{`a.B required /* c */ x="y"; / end`, `a.B x=y`},
		{`a.B required x="http://h/p";`, `a.B x=http://h/p`},
		{`a.B required x="y" x="z";`, `a.B x=z`},
		{`"a.B" optional "k" = "" ;`, `a.B k=`},
		{`a.B required x="é" é=ü;`, `a.B x=é é=ü`},
		{`a.B required x=1;`, `! the value of option x needs quotes`},
		{`a.B required x=-a;`, `! the value of option x needs quotes`},
		{`a.B required x=.a;`, `! the value of option x needs quotes`},
		{`a.B required x=;`, `! the value of option x needs quotes`},
		{`a.B required x=p@ss;`, `! name of an option expected after 1 options: a value with other than letters and digits needs quotes`},
		{`a.B required x=http://h/p;`, `! name of an option expected after 1 options`},
		{`a.B required =x;`, `! name of an option expected after the flag`},
		{`a.B required x=y/z;`, `! the semicolon at the end is missing`},
		{`a.B required x="y"`, `! the semicolon at the end is missing`},
		{`a.B required x;`, `! option x has no value`},
		{`a.B x="y";`, `! after B is no flag such as required`},
		{`a.B wrong;`, `! after B is no flag such as required`},
		{`a.B`, `! after B a flag is missing`},
		{``, `! it names no login module`},
		{`1a required;`, `! it does not start with the class of a login module`},
		{`; a.B required;`, `! it does not start with the class of a login module`},
		{`a.B required x="y";;`, `! it does not start with the class of a login module`},
		{`a.B required; c.D required;`, `! it has 2 login modules`},
	} {
		l, err := parseJAAS(tt.text)
		got := l.module
		for _, option := range slices.Sorted(maps.Keys(l.options)) {
			got += fmt.Sprintf(" %s=%s", option, l.options[option])
		}
		if err != nil {
			got = "! " + err.Error()
		}
		if got != tt.want && (err == nil || !strings.HasPrefix(got, tt.want)) {
			t.Errorf("%s: %q, want %q", tt.text, got, tt.want)
		}
	}
}

func FuzzParseJAAS(f *testing.F) {
	f.Add(`a.B required x="y\101" /* c */ z='1'; // end`)
	f.Add(`a.B required password=hunter2@x;`)
	f.Fuzz(func(t *testing.T, text string) {
		l, err := parseJAAS(text)
		if err == nil && l.module == "" && !strings.ContainsAny(text, `"'`) {
			t.Errorf("%q has no module", text)
		}
		// What was read can be written with all in quotes, and means the same.
		if err != nil || strings.ContainsRune(text, '\uFFFD') {
			return
		}
		quote := func(s string) string {
			return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\r", `\r`).Replace(s) + `"`
		}
		again := quote(l.module) + " required"
		for option, value := range l.options {
			again += " " + quote(option) + "=" + quote(value)
		}
		second, err := parseJAAS(again + ";")
		if err != nil || second.module != l.module || !maps.Equal(second.options, l.options) {
			t.Errorf("%q: %+v, then %+v, %v", text, l, second, err)
		}
	})
}
