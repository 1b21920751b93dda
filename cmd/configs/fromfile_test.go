package configs

import (
	"fmt"
	"strings"
	"testing"

	"kf/internal/render"
)

func TestReadChanges(t *testing.T) {
	for _, tt := range []struct{ text, want, skipped, err string }{
		{"# comment\nretention.ms=5\ncleanup.policy = compact,delete\na=b=c\n", "retention.ms=<5> cleanup.policy=<compact,delete> a=<b=c>", "", ""},
		{"\xef\xbb\xbfa=1\r\n", "a=<1>", "", ""},
		{"a=\\u00", "", "", "in.properties: line 1: value"},
		{"", "", "", ""},
		{`{"entity":"topic:t","key":"a","value":"1","source":"DYNAMIC_TOPIC_CONFIG"}
{"entity":"topic:t","key":"b","value":"2","source":"DEFAULT_CONFIG"}
{"entity":"broker:1","key":"c","value":"3","source":"DYNAMIC_BROKER_CONFIG"}
{"entity":"broker:1","key":"d","value":"4","source":"STATIC_BROKER_CONFIG"}`, "topic:t a=<1> broker:1 c=<3>", "", ""},
		{`{"command":"configs describe","schema_version":1,"rows":[]}`, "", "", ""},
		{`{"command":"configs describe","rows":[{"entity":"user:a","key":"SCRAM-SHA-256","value":"iterations=4096","source":"user:a","sensitive":true},` +
			`{"entity":"user:a","key":"producer_byte_rate","value":"5","source":"user:a"},{"entity":"user:a","key":"request_percentage","value":"5","source":"user-defaults"}]}`,
			"user:a producer_byte_rate=<5>", "row 1: user:a: left out: SCRAM-SHA-256 is a secret", ""},
		{`{"entity":"broker:1","key":"a","value":"1","source":"DYNAMIC_BROKER_CONFIG","read_only":true}`, "", "a cannot be changed", ""},
		{`{"entity":"topic:t","key":"a","value":null,"source":"DYNAMIC_TOPIC_CONFIG"}`, "", "a has no value", ""},
		{`{"entity":"topic:t","value":"1","source":"DYNAMIC_TOPIC_CONFIG"}`, "", "", "row 1: it has no key"},
		{`{"entity":"orders","key":"a"}`, "", "", `row 1: "orders" is no type of entity`},
		{`{"key":"a"}`, "", "", "row 1: "},
		{`{"rows":[{"entity":5}]}`, "", "", "in.properties: byte "},
		{`{"entity":"topic:t",`, "", "", "in.properties: byte "},
		{`{} garbage`, "", "", "row 1: "},
	} {
		var skipped []string
		all, err := readChanges("in.properties", strings.NewReader(tt.text), func(format string, a ...any) {
			skipped = append(skipped, fmt.Sprintf(format, a...))
		})
		var words []string
		for _, c := range all {
			words = append(words, strings.TrimSpace(fmt.Sprintf("%s %s=<%s>", c.entity, c.change.key, c.change.value)))
		}
		if got := strings.Join(words, " "); got != tt.want || (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%q: %s, %v; want %s, %s", tt.text, got, err, tt.want, tt.err)
		}
		if text := strings.Join(skipped, "; "); !strings.Contains(text, tt.skipped) || tt.skipped == "" && text != "" {
			t.Errorf("%q: skipped %q, want %q", tt.text, text, tt.skipped)
		}
	}
	if _, err := readChanges("big", strings.NewReader(strings.Repeat("#", maxFile+1)), nil); err == nil || !strings.Contains(err.Error(), "larger than") {
		t.Errorf("a file that is too large: %v", err)
	}
}

// What describe writes sets again what was set for the entities themselves.
func TestDescribeIsReadBack(t *testing.T) {
	for _, format := range []render.Format{render.JSON, render.JSONLines} {
		env, stdout, _ := testEnv()
		selected := mustSelect(t, "topic:orders", "broker:1", "broker-defaults", "group:billing", "user:alice", "user:alice,client-defaults", "user-defaults")
		if err := Describe(t.Context(), env, newFake(), DescribeOptions{All: true, Output: format, selectors: selected}); err != nil {
			t.Fatal(err)
		}
		all, err := readChanges("-", stdout, t.Logf)
		var words []string
		for _, c := range all {
			words = append(words, c.entity+" "+c.change.key+"="+c.change.value)
		}
		want := "topic:orders cleanup.policy=compact; topic:orders segment.bytes=100; broker:1 log.cleaner.threads=2; broker-defaults log.cleaner.threads=3; " +
			"group:billing consumer.session.timeout.ms=50000; user:alice consumer_byte_rate=1024; user:alice producer_byte_rate=1000000000; " +
			"user:alice,client-defaults consumer_byte_rate=3; user-defaults producer_byte_rate=7; user-defaults request_percentage=50.5"
		if got := strings.Join(words, "; "); got != want || err != nil {
			t.Errorf("%v:\ngot  %s, %v\nwant %s", format, got, err, want)
		}
	}
}

func FuzzReadChanges(f *testing.F) {
	for _, text := range []string{"a=1", `{"entity":"topic:t","key":"a","value":"1","source":"DYNAMIC_TOPIC_CONFIG"}`, `{"rows":[{}]}`, "{", "a\\"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		all, err := readChanges("x", strings.NewReader(text), func(string, ...any) {})
		if err != nil && len(all) > 0 {
			t.Errorf("changes with the error %v", err)
		}
		for _, c := range all {
			if c.entity != "" {
				if _, err := parseEntity(c.entity); err != nil {
					t.Errorf("%q: %v", c.entity, err)
				}
			}
		}
	})
}
