package configs

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"kf/internal/cli"
	"kf/internal/client"
	"kf/internal/render"
)

// What is described, with the columns entity, key, value and source of the CSV, and
// what the cluster was asked for that.
func TestDescribe(t *testing.T) {
	for _, tt := range []struct {
		words  string
		all    bool
		want   string // lines, entity|key|value|source
		stderr string
		asked  string
		code   int
	}{
		{"topic orders", false, "topic:orders|cleanup.policy|compact|DYNAMIC_TOPIC_CONFIG topic:orders|segment.bytes|100|DYNAMIC_TOPIC_CONFIG", "", "describe 1", 0},
		{"topic payments", true, "topic:payments|cleanup.policy|delete|DEFAULT_CONFIG topic:payments|retention.ms|5|DYNAMIC_TOPIC_CONFIG topic:payments|segment.bytes|1073741824|DEFAULT_CONFIG", "", "describe 1", 0},
		{"topic:payments topic:nope", false, "topic:payments|retention.ms|5|DYNAMIC_TOPIC_CONFIG", "topic:nope: there is no such topic", "describe 2", 1},
		{"topic --regex pay.*", false, "topic:payments|retention.ms|5|DYNAMIC_TOPIC_CONFIG", "", "topics;describe 1", 0},
		{"topic --regex pay", false, "", "", "topics", 1},
		{"broker 1", false, "broker:1|log.cleaner.threads|2|DYNAMIC_BROKER_CONFIG broker:1|node.id|1|STATIC_BROKER_CONFIG broker:1|ssl.key.password||STATIC_BROKER_CONFIG", "", "nodes;describe 1", 0},
		{"broker 01 7", false, "broker:1|log.cleaner.threads|2|DYNAMIC_BROKER_CONFIG broker:1|node.id|1|STATIC_BROKER_CONFIG broker:1|ssl.key.password||STATIC_BROKER_CONFIG",
			"broker:7: no node has this id: there are 1, 2", "nodes;describe 1", 1},
		{"broker-defaults", false, "broker-defaults|log.cleaner.threads|3|DYNAMIC_DEFAULT_BROKER_CONFIG", "", "describe 1", 0},
		{"group", false, "group:billing|consumer.session.timeout.ms|50000|DYNAMIC_GROUP_CONFIG", "", "resources 32;describe 1", 0},
		{"group", true, "group:billing|consumer.session.timeout.ms|50000|DYNAMIC_GROUP_CONFIG group:idle|consumer.session.timeout.ms|45000|DEFAULT_CONFIG", "", "resources 32;groups;describe 2;", 0},
		{"group idle", false, "", "group:idle: nothing is set", "describe 1;groups", 0},
		{"group nope", false, "", "group:nope: there is no such group", "describe 1;groups", 1},
		{"client-metrics nope", false, "", "client-metrics:nope: there is no such subscription", "describe 1", 1},
		{"user", false, "user:alice|consumer_byte_rate|1024|user:alice user:alice|producer_byte_rate|1000000000|user:alice " +
			"user:bob|SCRAM-SHA-256|iterations=8192|user:bob user:bob|SCRAM-SHA-512|iterations=4096|user:bob " +
			"user-defaults|producer_byte_rate|7|user-defaults user-defaults|request_percentage|50.5|user-defaults", "", "quotas true 1;credentials ;", 0},
		{"user bob", false, "user:bob|SCRAM-SHA-256|iterations=8192|user:bob user:bob|SCRAM-SHA-512|iterations=4096|user:bob", "", "quotas true 1;credentials bob", 0},
		{"user nobody", false, "", "user:nobody: nothing is set", "quotas true 1;credentials nobody", 0},
		{"user-defaults", false, "user-defaults|producer_byte_rate|7|user-defaults user-defaults|request_percentage|50.5|user-defaults", "", "quotas true 1", 0},
		{"user,client", false, "user:alice,client-defaults|consumer_byte_rate|3|user:alice,client-defaults user-defaults,client:app|controller_mutation_rate|2|user-defaults,client:app", "", "quotas true 2", 0},
		{"user:alice,client", false, "user:alice,client-defaults|consumer_byte_rate|3|user:alice,client-defaults", "", "quotas true 2", 0},
		// What holds for the connections of a user as a client is decided by up to eight.
		{"user:alice,client:app", true, "user:alice,client:app|consumer_byte_rate|3|user:alice,client-defaults user:alice,client:app|controller_mutation_rate|2|user-defaults,client:app " +
			"user:alice,client:app|producer_byte_rate|1000000000|user:alice user:alice,client:app|request_percentage|50.5|user-defaults", "", "quotas false 0", 0},
		{"ip", true, "ip:::1|connection_creation_rate|100|ip:::1", "", "quotas false 0", 0},
		{"ip 10.0.0.1", true, "ip:10.0.0.1|connection_creation_rate||DEFAULT_CONFIG", "", "quotas false 0", 0},
	} {
		t.Run(tt.words, func(t *testing.T) {
			f := newFake()
			env, stdout, stderr := testEnv()
			err := Describe(t.Context(), env, f, DescribeOptions{All: tt.all, Output: render.CSV, selectors: mustSelect(t, strings.Fields(tt.words)...)})
			var got []string
			for _, line := range strings.Split(strings.TrimSpace(stdout.String()), "\n")[1:] {
				got = append(got, strings.Join(columns(line, 0, 4, 5, 6), "|"))
			}
			if text := strings.Join(got, " "); text != tt.want {
				t.Errorf("got  %s\nwant %s", text, tt.want)
			}
			if !strings.Contains(stderr.String(), tt.stderr) || tt.stderr == "" && stderr.Len() > 0 {
				t.Errorf("stderr: %q, want %q in it", stderr, tt.stderr)
			}
			if asked := strings.Join(f.asked, ";"); asked != strings.TrimSuffix(tt.asked, ";") && asked != tt.asked {
				t.Errorf("asked %q, want %q", asked, tt.asked)
			}
			if code := cli.ExitCode(err); code != tt.code {
				t.Errorf("exit code %d, want %d: %v", code, tt.code, err)
			}
		})
	}
}

// columns returns some fields of a line of CSV, without quotes.
func columns(line string, which ...int) []string {
	var fields []string
	for inside, start, i := false, 0, 0; i <= len(line); i++ {
		switch {
		case i < len(line) && line[i] == '"':
			inside = !inside
		case i == len(line) || line[i] == ',' && !inside:
			fields = append(fields, strings.Trim(line[start:i], `"`))
			start = i + 1
		}
	}
	var some []string
	for _, n := range which {
		some = append(some, fields[n])
	}
	return some
}

func TestDiff(t *testing.T) {
	for _, tt := range []struct {
		words, against string
		want           string // entity|key|value|other value
		stderr         string
		code           int
	}{
		{"topic orders", "topic:payments", "topic:orders|cleanup.policy|compact|delete topic:orders|retention.ms|604800000|5 topic:orders|segment.bytes|100|1073741824", "", cli.ExitFound},
		{"topic orders", "topic:orders", "", "", 0},
		{"topic orders", "topic:nope", "", "", 1},
		{"topic orders", "defaults", "topic:orders|cleanup.policy|compact|delete topic:orders|segment.bytes|100|1073741824", "", cli.ExitFound},
		{"broker", "broker:2", "broker:1|log.cleaner.threads|2|3 broker:1|node.id|1|2 broker-defaults|node.id||2 broker-defaults|ssl.key.password||", "broker:1: secrets cannot be compared: ssl.key.password", cli.ExitFound},
		{"broker 1", "defaults", "broker:1|log.cleaner.threads|2|1 broker:1|node.id|1| broker:1|ssl.key.password||", "", cli.ExitFound},
		{"group billing nope", "group:idle", "group:billing|consumer.session.timeout.ms|50000|45000", "group:nope: there is no such group", 1},
		{"user alice", "user-defaults", "user:alice|consumer_byte_rate|1024| user:alice|producer_byte_rate|1000000000|7 user:alice|request_percentage||50.5", "", cli.ExitFound},
	} {
		t.Run(tt.words+" "+tt.against, func(t *testing.T) {
			env, stdout, stderr := testEnv()
			err := Describe(t.Context(), env, newFake(), DescribeOptions{Diff: tt.against, Output: render.CSV, selectors: mustSelect(t, strings.Fields(tt.words)...)})
			var got []string
			for _, line := range strings.Split(strings.TrimSpace(stdout.String()), "\n")[1:] {
				got = append(got, strings.Join(columns(line, 0, 4, 5, 8), "|"))
			}
			if text := strings.Join(got, " "); text != tt.want {
				t.Errorf("got  %s\nwant %s", text, tt.want)
			}
			if !strings.Contains(stderr.String(), tt.stderr) || tt.stderr == "" && stderr.Len() > 0 {
				t.Errorf("stderr: %q, want %q in it", stderr, tt.stderr)
			}
			if code := cli.ExitCode(err); code != tt.code {
				t.Errorf("exit code %d, want %d: %v", code, tt.code, err)
			}
		})
	}
}

// A cluster that lacks some of what is asked, or refuses it.
func TestDescribeWithout(t *testing.T) {
	describe := func(f *fake, words ...string) (stdout, stderr string, err error) {
		env, out, errs := testEnv()
		err = Describe(t.Context(), env, f, DescribeOptions{Output: render.Table, selectors: mustSelect(t, words...)})
		return out.String(), errs.String(), err
	}
	f := newFake()
	f.known = nil // before Kafka 4.1
	if out, _, err := describe(f, "group"); err != nil || !strings.Contains(out, "group:billing") {
		t.Errorf("groups without ListConfigResources: %v\n%s", err, out)
	}
	if _, _, err := describe(f, "client-metrics"); err == nil || !strings.Contains(err.Error(), "do not support client metrics") {
		t.Errorf("client metrics without ListConfigResources: %v", err)
	}
	f.scramErr = &kadm.AuthError{Err: kerr.ClusterAuthorizationFailed}
	if out, errs, err := describe(f, "user"); err != nil || !strings.Contains(out, "user:alice") || !strings.Contains(errs, "SCRAM credentials are not shown: ") {
		t.Errorf("users whose credentials are denied: %v\n%s%s", err, out, errs)
	}
	f.scramErr = errors.New("broken")
	if _, _, err := describe(f, "user"); !errors.Is(err, f.scramErr) {
		t.Errorf("users whose credentials fail: %v", err)
	}
	f.quotaErr = kerr.UnsupportedVersion
	if _, _, err := describe(f, "client", "app"); !errors.Is(err, errNoQuotas) {
		t.Errorf("a cluster without quotas: %v", err)
	}
	f = newFake()
	f.errs = map[client.ConfigResource]error{{Type: client.ConfigTypeTopic, Name: "orders"}: kerr.TopicAuthorizationFailed}
	if _, errs, err := describe(f, "topic", "orders", "payments"); !errors.Is(err, cli.Silent) || !strings.Contains(errs, "topic:orders: TOPIC_AUTHORIZATION_FAILED") {
		t.Errorf("a topic that is denied: %v\n%s", err, errs)
	}
}

// Tables show more columns if asked; JSON always has all.
func TestDescribeColumns(t *testing.T) {
	for _, tt := range []struct {
		opts DescribeOptions
		want string
	}{
		{DescribeOptions{}, "ENTITY KEY VALUE SOURCE"},
		{DescribeOptions{Verbose: true}, "ENTITY KEY VALUE SOURCE TYPE READ-ONLY SENSITIVE SYNONYMS"},
		{DescribeOptions{Docs: true}, "ENTITY KEY VALUE SOURCE DOCUMENTATION"},
		{DescribeOptions{Output: render.JSONLines}, `{"entity":"broker:1","entity_type":"broker","entity_name":"1","client":null,"key":"log.cleaner.threads","value":"2",` +
			`"source":"DYNAMIC_BROKER_CONFIG","type":"INT","read_only":false,"sensitive":false,"synonyms":[{"source":"DYNAMIC_BROKER_CONFIG","key":"log.cleaner.threads","value":"2"},` +
			`{"source":"DYNAMIC_DEFAULT_BROKER_CONFIG","key":"log.cleaner.threads","value":"3"},{"source":"DEFAULT_CONFIG","key":"log.cleaner.threads","value":"1"}],"documentation":null}`},
	} {
		env, stdout, _ := testEnv()
		tt.opts.selectors = mustSelect(t, "broker", "1")
		if err := Describe(t.Context(), env, newFake(), tt.opts); err != nil {
			t.Fatal(err)
		}
		first, _, _ := strings.Cut(stdout.String(), "\n")
		if got := strings.Join(strings.Fields(first), " "); got != tt.want {
			t.Errorf("%+v:\ngot  %s\nwant %s", tt.opts, got, tt.want)
		}
	}
}

// Many topics are asked for in parts, so that no answer takes all memory.
func TestDescribeMany(t *testing.T) {
	f := newFake()
	f.topics = nil
	for i := range 2*chunk + 1 {
		f.topics = append(f.topics, fmt.Sprintf("t%05d", i))
	}
	env, _, stderr := testEnv()
	if err := Describe(t.Context(), env, f, DescribeOptions{selectors: mustSelect(t, "topic")}); err != nil || stderr.Len() > 0 {
		t.Errorf("%v, %s", err, stderr)
	}
	if got, want := strings.Join(f.asked, ";"), "topics;describe 1000;describe 1000;describe 1"; got != want {
		t.Errorf("asked %q, want %q", got, want)
	}
}
