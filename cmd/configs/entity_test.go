package configs

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"kf/internal/cli"
	"kf/internal/online"
)

// Entities are read as they are written.
func TestEntity(t *testing.T) {
	for _, tt := range []struct {
		text string
		want Entity
		err  string
	}{
		{"topic:orders", Entity{kind: topicKind, name: "orders"}, ""},
		{"topics:orders", Entity{kind: topicKind, name: "orders"}, ""},
		{"group:a:b,c", Entity{kind: groupKind, name: "a:b,c"}, ""},
		{"broker:007", Entity{kind: brokerKind, name: "7"}, ""},
		{"broker-defaults", Entity{kind: brokerKind}, ""},
		{"client-metrics:x", Entity{kind: clientMetricsKind, name: "x"}, ""},
		{"user:CN=a,O=b", Entity{kind: userKind, name: "CN=a,O=b"}, ""},
		{"user:CN=a,O=b,client:app", Entity{userKind, "CN=a,O=b", true, "app"}, ""},
		{"user:a,client-defaults", Entity{userKind, "a", true, ""}, ""},
		{"user-defaults,client:app", Entity{userKind, "", true, "app"}, ""},
		{"user-defaults,client-defaults", Entity{userKind, "", true, ""}, ""},
		{"ip:::1", Entity{kind: ipKind, name: "::1"}, ""},
		{"topic", Entity{}, "want one entity"},
		{"user,client", Entity{}, "want one entity"},
		{"topic:", Entity{}, "the name of a topic is empty"},
		{"topic-defaults", Entity{}, `"topic-defaults" is no type of entity`},
		{"broker:x", Entity{}, "broker:x: the id of a broker is a number"},
		{"broker:-1", Entity{}, "the id of a broker is a number"},
		{"tpoic:orders", Entity{}, "did you mean topic?"},
		{"orders", Entity{}, "name the type first, as in 'topic orders'"},
		{"", Entity{}, "no type of entity"},
		{"group:a,client:b", Entity{kind: groupKind, name: "a,client:b"}, ""},
	} {
		got, err := parseEntity(tt.text)
		if got != tt.want || (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%q: %+v, %v; want %+v, %s", tt.text, got, err, tt.want, tt.err)
		}
		if err == nil {
			if again, err := parseEntity(got.String()); again != got || err != nil {
				t.Errorf("%q is written %q, which is read as %+v, %v", tt.text, got, again, err)
			}
		}
	}
}

// What is selected by arguments, and by the flags of kafka-configs.
func TestSelection(t *testing.T) {
	// text writes a selector: names that are looked for as *, expressions between slashes.
	text := func(m match, k *kind) string {
		switch {
		case m.any:
			return k.name + ":*"
		case m.re != nil:
			return k.name + ":/" + m.re.String() + "/"
		}
		return word(k, m.name)
	}
	for _, tt := range []struct{ line, want, err string }{
		{"topic", "topic:*", ""},
		{"topic a b", "topic:a topic:b", ""},
		{"topic:a broker:1 broker-defaults", "topic:a broker:1 broker-defaults", ""},
		{"user,client", "user:*,client:*", ""},
		{"user-defaults,client", "user-defaults,client:*", ""},
		{"topic --regex a.*", "topic:/^(?:a.*)$/", ""},
		{"--entity-type topics --regex a|b", "topic:/^(?:a|b)$/", ""},
		{"--topic a --topic b", "topic:a topic:b", ""},
		{"--broker 1", "broker:1", ""},
		{"--broker-defaults", "broker-defaults", ""},
		{"--user a --client b", "user:a,client:b", ""},
		{"--client b --user-defaults", "user-defaults,client:b", ""},
		{"--user a --user b --client-defaults", "user:a,client-defaults user:b,client-defaults", ""},
		{"--client-metrics m", "client-metrics:m", ""},
		{"--entity-type brokers", "broker:*", ""},
		{"--entity-type brokers --entity-default", "broker-defaults", ""},
		{"--entity-type topics --entity-name a --entity-name b", "topic:a topic:b", ""},
		{"--entity-type users --entity-name a --entity-type clients --entity-name b", "user:a,client:b", ""},
		{"--entity-type clients --entity-default --entity-type users --entity-name a", "user:a,client-defaults", ""},
		{"--entity-type users --entity-name a --entity-type clients", "user:a,client:*", ""},
		{"--entity-type users --entity-type clients", "user:*,client:*", ""},
		{"", "", ""},

		{"broker-defaults 1", "", `unexpected argument "1"`},
		{"orders", "", "no type of entity"},
		{"broker x", "", "the id of a broker is a number"},
		{"topic a --topic b", "", "by arguments or by flags"},
		{"--topic a --entity-type topics", "", "do not go with flags such as --topic"},
		{"--topic a --broker 1", "", "only --user and --client go together"},
		{"--user a --client b --ip 1", "", "only --user and --client go together"},
		{"--entity-name a", "", "need --entity-type"},
		{"--entity-type topics --entity-default", "", "topics have no defaults: --entity-default is for brokers, users, clients, ips"},
		{"--entity-type topics --entity-type brokers", "", "only the entity types users and clients go together"},
		{"--entity-type users --entity-type users", "", "only the entity types users and clients go together"},
		{"--entity-type users --entity-type clients --entity-name a --entity-name b --entity-name c", "", "have one --entity-name each"},
		{"--entity-type planets", "", "must be one of topics, brokers"},
		{"--topic=", "", "the name is empty"},
		{"--entity-type topics --entity-name=", "", "the name is empty"},
		{"topic a --regex b", "", "--regex goes with one type and no name"},
		{"user,client --regex b", "", "--regex goes with one type and no name"},
		{"topic --regex (", "", "missing closing )"},
		{"topic --regex )|(", "", "unexpected )"},
	} {
		var s selection
		var got []string
		cmd := &cobra.Command{Use: "x", SilenceErrors: true, SilenceUsage: true, RunE: func(_ *cobra.Command, args []string) error {
			all, err := s.selectors(args)
			for _, one := range all {
				if word := text(one.names, one.kind); one.pair {
					got = append(got, word+","+text(one.client, clientKind))
				} else {
					got = append(got, word)
				}
			}
			return err
		}}
		env := &cli.Env{}
		s.flags(cmd, online.Connect(env, cmd))
		cmd.SetArgs(strings.Fields(tt.line))
		err := cmd.Execute()
		if text := strings.Join(got, " "); text != tt.want || (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%q: %s, %v; want %s, %s", tt.line, text, err, tt.want, tt.err)
		}
	}
}
