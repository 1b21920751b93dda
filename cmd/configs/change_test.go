package configs

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"kf/internal/client"
)

// show writes changes one behind the other.
func show(all []change) string {
	var words []string
	for _, c := range all {
		words = append(words, fmt.Sprintf("%s %s=<%s>", opNames[c.op], c.key, c.value))
	}
	return strings.Join(words, " ")
}

func TestParseChanges(t *testing.T) {
	set := func(text string) ([]change, error) { return parsePairs(client.SetConfig, []string{text}) }
	drop := func(text string) ([]change, error) { return parseDeletions("--delete", []string{text}) }
	for _, tt := range []struct {
		parse           func(string) ([]change, error)
		text, want, err string
	}{
		{set, "a=b", "set a=<b>", ""},
		{set, "a=b=c,d=[e,f]", "set a=<b=c,d=[e,f]>", ""},
		{set, "a= b ", "set a=< b >", ""},
		{set, "a=", "set a=<>", ""},
		{set, "a", "", "--set a: want key=value"},
		{set, "=b", "", "--set =b: want key=value"},
		{set, "SCRAM-SHA-256[password=x]", "set SCRAM-SHA-256[password=<x]>", ""},
		{set, "=[password=secret]", "", "--set =: want key=value"},
		{parseAddConfig, "a=b", "set a=<b>", ""},
		{parseAddConfig, "a=1,b=[x,y,z],c=", "set a=<1> set b=<x,y,z> set c=<>", ""},
		{parseAddConfig, "a=[x=y], b=2", "set a=<x=y> set b=<2>", ""},
		{parseAddConfig, "SCRAM-SHA-256=[iterations=8192,password=p=q]", "set SCRAM-SHA-256=<iterations=8192,password=p=q>", ""},
		{parseAddConfig, "a=[[x]]", "set a=<[x]>", ""},
		{parseAddConfig, "a=b=c", "set a=<b=c>", ""}, // kafka-configs refuses it
		{parseAddConfig, "retention.ms", "", "want key=value, or key=[value,value]"},
		{parseAddConfig, "a=b,", "", "want key=value"},
		{parseAddConfig, "", "", "want key=value"},
		{drop, "a,b", "delete a=<> delete b=<>", ""},
		{drop, " a ", "delete a=<>", ""},
		{drop, "a,,b", "", "a key is empty"},
		{drop, "", "", "a key is empty"},
	} {
		got, err := tt.parse(tt.text)
		if show(got) != tt.want || (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%q: %s, %v; want %s, %s", tt.text, show(got), err, tt.want, tt.err)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: the message %q shows a password", tt.text, err)
		}
	}
}

func TestCheckChanges(t *testing.T) {
	alice, topic := Entity{kind: userKind, name: "alice"}, Entity{kind: topicKind, name: "t"}
	set := func(key, value string) change { return change{key: key, value: value, from: "--set"} }
	for _, tt := range []struct {
		entity  Entity
		changes []change
		want    string // of an error
	}{
		{topic, []change{set("a", "1"), set("b", "2")}, ""},
		{topic, []change{set("a", "1"), {op: client.DeleteConfig, key: "a"}}, "a is changed twice"},
		{Entity{kind: brokerLoggerKind, name: "1"}, []change{{op: client.AppendConfig, key: "x", from: "--append"}}, "the level of a logger is no list"},
		{alice, []change{set("producer_byte_rate", "1e3")}, ""},
		{alice, []change{set("producer_byte_rate", "many")}, `"many" is no number`},
		{alice, []change{set("producer_byte_rate", "NaN")}, `"NaN" is no number`},
		{alice, []change{set("retention.ms", "1")}, "user:alice has no retention.ms: it can have SCRAM-SHA-256, SCRAM-SHA-512, consumer_byte_rate, controller_mutation_rate, producer_byte_rate, request_percentage"},
		{Entity{kind: ipKind, name: "::1"}, []change{set("producer_byte_rate", "1")}, "it can have connection_creation_rate"},
		{alice, []change{{op: client.AppendConfig, key: "producer_byte_rate", from: "--append"}}, "is no list"},
		{alice, []change{{op: client.DeleteConfig, key: "anything"}}, ""}, // the cluster says that it is not set
		{alice, []change{set("SCRAM-SHA-256", "[iterations=8192,password=x]")}, ""},
		{alice, []change{set("SCRAM-SHA-256", "password=x")}, ""},
		{alice, []change{set("SCRAM-SHA-256", "[iterations=-1,password=x]")}, ""},
		{alice, []change{set("SCRAM-SHA-256", "[iterations=1,password=x]")}, "1 iterations: Kafka takes 4096 to 16384"},
		{alice, []change{set("SCRAM-SHA-256", "[iterations=99999,password=x]")}, "Kafka takes 4096 to 16384"},
		{alice, []change{set("SCRAM-SHA-256", "[iterations=x,password=x]")}, "the iterations are no number"},
		{alice, []change{set("SCRAM-SHA-256", "[password=]")}, "want SCRAM-SHA-256=[iterations=8192,password=…]"},
		{alice, []change{set("SCRAM-SHA-256", "secret")}, "want SCRAM-SHA-256=[iterations=8192,password=…]"},
		{Entity{kind: userKind}, []change{set("SCRAM-SHA-256", "password=x")}, "only users have credentials"},
		{Entity{userKind, "alice", true, "app"}, []change{set("SCRAM-SHA-256", "password=x")}, "only users have credentials"},
	} {
		err := checkChanges(tt.entity, slices.Clone(tt.changes))
		if (err == nil) != (tt.want == "") || err != nil && (!strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "secret")) {
			t.Errorf("%s: %s: %v, want %q", tt.entity, show(tt.changes), err, tt.want)
		}
	}
	credential := []change{set("SCRAM-SHA-512", "iterations=8192,password=a,b=[c]")}
	for range 2 { // the second time there is nothing to read any more
		if err := checkChanges(alice, credential); err != nil || credential[0].value != "a,b=[c]" || credential[0].iterations != 8192 {
			t.Errorf("%+v, %v", credential, err)
		}
	}
}
