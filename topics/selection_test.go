package topics

import (
	"context"
	"errors"
	"strings"
	"testing"

	"kf/internal/cli"
	"kf/internal/client"
)

func TestSelection(t *testing.T) {
	f := &fake{topics: []client.Topic{
		topic("__consumer_offsets", "1/1"), topic("a-b", "1/1"), topic("a.b", "1/1", "1/1"), topic("a.bc", "1/1"), topic("a_b", "1/1"), topic("orders", "1/1"),
	}}
	for _, tt := range []struct {
		words    string
		regex    bool
		internal bool
		want     string // topics, then "!" and those that failed
		asked    string
	}{
		{"", false, false, "a-b a.b a.bc a_b orders", "topics "},
		{"", false, true, "__consumer_offsets a-b a.b a.bc a_b orders", "topics "},
		{"a.b", false, false, "a.b", "topics a.b"}, // the dot is a dot
		{"a.b", true, false, "a-b a.b a_b", "topics "},
		{"orders a.b orders", false, false, "a.b orders", "topics orders a.b"},
		{"a.*", false, false, "a-b a.b a.bc a_b", "topics "},
		{"a.b,orders", false, false, "a-b a.b a_b orders", "topics "},
		{"'a|orders'", false, false, "orders", "topics "}, // the whole name
		{"__.*", false, false, "", "topics "},
		{"__.*", false, true, "__consumer_offsets", "topics "},
		{"__consumer_offsets", false, false, "__consumer_offsets", "topics __consumer_offsets"},
		{"nosuch", false, false, "!nosuch", "topics nosuch"},
		{"nosuch a_.*", false, false, "a_b !nosuch", "topics "},
		{"nosuch.*", false, false, "", "topics "},
	} {
		f.asked = nil
		m, err := Selection{Words: strings.Fields(tt.words), Regex: tt.regex, Internal: tt.internal}.matcher()
		if err != nil {
			t.Errorf("%q: %v", tt.words, err)
			continue
		}
		cluster, failed, err := m.choose(context.Background(), f)
		if err != nil {
			t.Fatal(err)
		}
		got := names(cluster.Topics)
		for _, topic := range failed {
			got = append(got, "!"+topic.Name)
		}
		if strings.Join(got, " ") != tt.want || strings.Join(f.asked, ";") != tt.asked {
			t.Errorf("%q: got %q, want %q; asked for %q, want %q", tt.words, got, tt.want, f.asked, tt.asked)
		}
	}
	for word, want := range map[string]string{
		"a[":                     "\"a[\" is no name of a topic, and no pattern: error parsing regexp: missing closing ]: `[`",
		"":                       `"" is no name of a topic, and no pattern`,
		" ":                      `" " is no name of a topic, and no pattern`,
		strings.Repeat("x", 250): "",
	} {
		_, err := Selection{Words: []string{word}}.matcher()
		if want == "" && err != nil || want != "" && (err == nil || err.Error() != want || cli.ExitCode(err) != cli.ExitUsage) {
			t.Errorf("%q: got %v, want %s", word, err, want)
		}
	}
	failing := &fake{errs: map[string]error{"topics": errors.New("unreachable")}}
	m, _ := Selection{}.matcher()
	if _, _, err := m.choose(context.Background(), failing); err == nil || err.Error() != "unreachable" {
		t.Errorf("got %v", err)
	}
}

func TestPartitionWords(t *testing.T) {
	topics := []client.Topic{topic("a", "1/1", "1/1", "1/1", "1/1"), topic("b", "1/1", "1/1"), topic("c.d", "1/1")}
	for _, tt := range []struct {
		words, want, said string
		only              []int32
	}{
		{"", "a:0,1,2,3 b:0,1 c.d:0", "", nil},
		{"", "a:1 b:1", "", []int32{1}},
		{"", "", "no topic has partition 9", []int32{9}},
		{"a", "a:0,1,2,3", "", nil},
		{"a:", "a:0,1,2,3", "", nil},
		{"a:3", "a:3", "", nil},
		{"a:1-3", "a:1,2", "", nil}, // without the last, as Kafka counts
		{"a:2-", "a:2,3", "", nil},
		{"a:-2", "a:0,1", "", nil},
		{"a:-", "a:0,1,2,3", "", nil},
		{":0", "a:0 b:0 c.d:0", "", nil},
		{"a:0,b:1", "a:0 b:1", "", nil},
		{"a:0 a:3 [ab]:1", "a:0,1,3 b:1", "", nil},
		{"a:2-9", "a:2,3", "", nil},
		{"a:7 b", "b:0,1", "a:7: no partition matches", nil},
		{"x.*:0", "", "x.*:0: no partition matches", nil},
		{"b", "", "b: no partition matches", []int32{3}},
		{"cxd:0", "", "", nil}, // choose tells that there is no such topic
	} {
		m, err := Selection{Words: strings.Fields(tt.words)}.partitioned(tt.only)
		if err != nil {
			t.Errorf("%q: %v", tt.words, err)
			continue
		}
		var got []string
		p := do(func(env *cli.Env) error {
			report := failures{env: env}
			for _, topic := range m.narrow(topics, &report) {
				var ids []int32
				for _, p := range topic.Partitions {
					ids = append(ids, p.ID)
				}
				got = append(got, topic.Name+":"+joined(ids))
			}
			return report.end()
		})
		said := strings.TrimSuffix(strings.TrimPrefix(p.stderr, "kf: error: "), "\n")
		if strings.Join(got, " ") != tt.want || said != tt.said || (p.code == 0) != (said == "") {
			t.Errorf("%q %v: got %q, %q, code %d; want %q, %q", tt.words, tt.only, got, said, p.code, tt.want, tt.said)
		}
	}
	for _, word := range []string{"a:x", "a:1-2-3", "a:-1-2", "a:3-3", "a:3-1", "a:2147483647", "a:99999999999", "[:1", "a:+1"} {
		if _, err := (Selection{Words: []string{word}}).partitioned(nil); cli.ExitCode(err) != cli.ExitUsage {
			t.Errorf("%q: got %v", word, err)
		}
	}
	if _, err := (Selection{}).partitioned([]int32{-1}); cli.ExitCode(err) != cli.ExitUsage {
		t.Errorf("--partitions -1: got %v", err)
	}
}

func FuzzPartitionWords(f *testing.F) {
	for _, word := range []string{"a:0-3", "a:5-", ":1", "a.*:-2,b", "a[:1"} {
		f.Add(word)
	}
	f.Fuzz(func(t *testing.T, word string) {
		m, err := Selection{Words: []string{word}}.partitioned(nil)
		if err != nil {
			if cli.ExitCode(err) != cli.ExitUsage {
				t.Errorf("%q: %v is no usage error", word, err)
			}
			return
		}
		for _, r := range m.rules {
			if r.from < 0 || r.to <= r.from {
				t.Errorf("%q takes partitions %d to %d", word, r.from, r.to)
			}
		}
	})
}
