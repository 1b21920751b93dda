package resetplan_test

import (
	"reflect"
	"strings"
	"testing"

	"kf/internal/resetplan"
)

func entry(group, topic string, partition int32, offset int64, line int) resetplan.Entry {
	return resetplan.Entry{Group: group, TopicPartition: resetplan.TopicPartition{Topic: topic, Partition: partition}, Offset: offset, Line: line}
}

// What Kafka's tool writes; the interop tests compare with the tool itself.
func TestAppendCSV(t *testing.T) {
	for _, tt := range []struct {
		group, topic string
		withGroup    bool
		want         string
	}{
		{"g", "orders", false, "orders,0,7\n"},
		{"g", "orders", true, "g,orders,0,7\n"},
		{"a,b", "orders", true, "\"a,b\",orders,0,7\n"},
		{"a b", "orders", true, "\"a b\",orders,0,7\n"},
		{"a-b", "a.b_c", true, "a-b,a.b_c,0,7\n"},
		{`say "hi"`, "orders", true, `"say ""hi""",orders,0,7` + "\n"},
		{`a\b`, "orders", true, `"a\b",orders,0,7` + "\n"},
		{"größe", "orders", true, "größe,orders,0,7\n"},
		{"", "123456789012345678901234", true, ",123456789012345678901234,0,7\n"},
		{"g", "1234567890123456789012345", false, "\"1234567890123456789012345\",0,7\n"},
		{"😀😀😀😀😀😀😀😀😀😀😀😀", "t", true, "😀😀😀😀😀😀😀😀😀😀😀😀,t,0,7\n"},
		{"😀😀😀😀😀😀😀😀😀😀😀😀😀", "t", true, "\"😀😀😀😀😀😀😀😀😀😀😀😀😀\",t,0,7\n"},
	} {
		if got := string(resetplan.AppendCSV(nil, entry(tt.group, tt.topic, 0, 7, 0), tt.withGroup)); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}

func TestReadCSV(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       []resetplan.Entry
		groups     bool
		err        string
	}{
		{"nothing", "", nil, false, ""},
		{"Kafka, one group", "orders,2,18\norders,0,0\n\n", []resetplan.Entry{entry("", "orders", 2, 18, 1), entry("", "orders", 0, 0, 2)}, false, ""},
		{"Kafka, groups", "a,orders,0,1\nb,orders,0,2\n", []resetplan.Entry{entry("a", "orders", 0, 1, 1), entry("b", "orders", 0, 2, 2)}, true, ""},
		{"quoted", "\"a,b\",\"orders\",0,1\r\n", []resetplan.Entry{entry("a,b", "orders", 0, 1, 1)}, true, ""},
		{"a byte order mark", "\xef\xbb\xbforders,0,1", []resetplan.Entry{entry("", "orders", 0, 1, 1)}, false, ""},
		{"negative", "orders,0,-5", []resetplan.Entry{entry("", "orders", 0, -5, 1)}, false, ""},
		{"heading", "group,topic,partition,offset\na,orders,0,1\n", []resetplan.Entry{entry("a", "orders", 0, 1, 2)}, true, ""},
		{"heading of describe", "GROUP,topic,partition,current_offset,log_end_offset\na,orders,0,1,9\na,orders,1,,9\n", []resetplan.Entry{entry("a", "orders", 0, 1, 2)}, true, ""},
		{"heading of reset", "group,topic,partition,now,new,change\na,orders,0,1,9,8\n", []resetplan.Entry{entry("a", "orders", 0, 9, 2)}, true, ""},
		{"heading without group", "offset,partition,topic\n1,0,orders\n", []resetplan.Entry{entry("", "orders", 0, 1, 2)}, false, ""},
		{"a topic called partition", "topic,partition,0,1\n", []resetplan.Entry{entry("topic", "partition", 0, 1, 1)}, true, ""},
		{"too few columns", "a,orders,0,1\na,orders\n", nil, false, "line 2: 2 columns: want group,topic,partition,offset"},
		{"a group too many", "orders,0,1\na,orders,1,1\n", nil, false, "line 2: 4 columns: want topic,partition,offset as in the first line"},
		{"garbage", "garbage\n", nil, false, "line 1: 1 columns: want group,topic"},
		{"semicolons", "orders;0;1\n", nil, false, "line 1: 1 columns"},
		{"no partition", "orders,x,1\norders,-1,1\norders,2147483648,1\n", nil, false, "line 1: \"x\" is no partition\nline 2: \"-1\" is no partition\nline 3: "},
		{"no offset", "orders,0,\n", nil, false, `line 1: "" is no offset`},
		{"no topic", ",0,1\n", nil, false, "line 1: the topic is empty"},
		{"no group", "a,orders,0,1\n,orders,0,1\n", nil, false, "line 2: the group is empty"},
		{"twice", "a,t,0,1\nb,t,0,1\n\na,t,0,2\n", nil, false, "line 4: t-0 is in line 1 already"},
		{"quotes", "a,\"t,0,1\n", nil, false, "line 1: column "},
		{"heading longer than lines", "group,topic,partition,offset\na,t,0\n", nil, false, "line 2: 3 columns, fewer than the heading has"},
		{"much wrong", strings.Repeat("x\n", 50), nil, false, "line 10: "},
	} {
		got, groups, err := resetplan.ReadCSV([]byte(tt.text))
		switch {
		case tt.err != "":
			if err == nil || !strings.Contains(err.Error(), tt.err) || strings.Contains(err.Error(), "line 11:") || got != nil {
				t.Errorf("%s: got %v, %v; want %q", tt.name, got, err, tt.err)
			}
		case err != nil || groups != tt.groups || !reflect.DeepEqual(got, tt.want):
			t.Errorf("%s: got %v, %v, %v; want %v", tt.name, got, groups, err, tt.want)
		}
	}
}

// What is read can be written and is read again as itself.
func FuzzReadCSV(f *testing.F) {
	f.Add([]byte("g,orders,0,7\n\"a,b\",\"x\"\"y\",1,-3\n"))
	f.Add([]byte("orders,0,7\n\norders,1,8\r\n"))
	f.Add([]byte("group,topic,partition,current_offset\ng,t,0,\n"))
	f.Add([]byte("\xef\xbb\xbftopic;0;1"))
	f.Fuzz(func(t *testing.T, p []byte) {
		entries, withGroup, err := resetplan.ReadCSV(p)
		if err != nil {
			if entries != nil {
				t.Fatalf("entries with an error: %v", err)
			}
			return
		}
		var again []byte
		for i := range entries {
			e := &entries[i]
			e.Line = 0
			again = resetplan.AppendCSV(again, *e, withGroup)
		}
		if len(entries) == 0 {
			return
		}
		got, groups, err := resetplan.ReadCSV(again)
		for i := range got {
			got[i].Line = 0
		}
		if err != nil || groups != withGroup || !reflect.DeepEqual(got, entries) {
			t.Errorf("%q was read as %v, written as %q and read as %v, %v", p, entries, again, got, err)
		}
	})
}
