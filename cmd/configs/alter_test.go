package configs

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"kf/internal/cli"
	"kf/internal/client"
	"kf/internal/render"
)

// An alter is one run of Alter.
type alter struct {
	f      *fake
	opts   AlterOptions
	asked  string // what Allow was asked
	stdout string // lines of the CSV: entity|key|before|after|source|result
	stderr string
	sent   string // what the cluster was told
	err    error
}

func (a *alter) run(t *testing.T) {
	t.Helper()
	if err := a.opts.Validate(); err != nil {
		t.Fatal(err)
	}
	env, stdout, stderr := testEnv()
	a.opts.Output = render.CSV
	a.err = Alter(t.Context(), env, a.f, func(what string, destroy bool) error {
		a.asked = what
		if destroy {
			a.asked = "destroy: " + what
		}
		return nil
	}, a.opts)
	var lines []string
	for _, line := range strings.Split(strings.TrimSpace(stdout.String()), "\n")[1:] {
		lines = append(lines, strings.Join(columns(line, 0, 4, 6, 8, 9, 10), "|"))
	}
	a.stdout, a.stderr = strings.Join(lines, "\n"), stderr.String()
	var sent []string
	for _, text := range a.f.asked {
		for _, verb := range []string{"alter ", "validate ", "credential ", "delete credential "} {
			if strings.HasPrefix(text, verb) {
				sent = append(sent, text)
			}
		}
	}
	a.sent = strings.Join(sent, "; ")
}

func del(key string) change { return change{op: client.DeleteConfig, key: key, from: "--delete"} }
func put(key, value string) change {
	return change{key: key, value: value, from: "--set"}
}

func TestAlter(t *testing.T) {
	add := func(key, value string) change { return change{op: client.AppendConfig, key: key, value: value} }
	sub := func(key, value string) change { return change{op: client.SubtractConfig, key: key, value: value} }
	for _, tt := range []struct {
		name    string
		words   string
		changes []change
		opts    AlterOptions
		asked   string
		want    string
		sent    string
		stderr  string
		code    int
	}{
		{"set", "topic orders payments", []change{put("retention.ms", "5"), del("segment.bytes")}, AlterOptions{IfSet: true},
			"set retention.ms, delete segment.bytes of topic:orders, topic:payments",
			"topic:orders|retention.ms|604800000|5|DYNAMIC_TOPIC_CONFIG|changed\n" +
				"topic:orders|segment.bytes|100|1073741824|DEFAULT_CONFIG|changed\n" +
				"topic:payments|retention.ms|5|5|DYNAMIC_TOPIC_CONFIG|unchanged",
			"alter 2:orders, set retention.ms=5, delete segment.bytes=; alter 2:payments, set retention.ms=5", "retention.ms goes down from 604800000 to 5: brokers soon delete", 0},
		{"delete what is not set", "topic orders payments", []change{del("segment.bytes"), put("retention.ms", "1")}, AlterOptions{},
			"delete segment.bytes, set retention.ms of topic:orders",
			"topic:orders|segment.bytes|100|1073741824|DEFAULT_CONFIG|changed\ntopic:orders|retention.ms|604800000|1|DYNAMIC_TOPIC_CONFIG|changed\n" +
				"topic:payments|segment.bytes|1073741824|1073741824||failed\ntopic:payments|retention.ms|5|5||failed",
			"alter 2:orders, delete segment.bytes=, set retention.ms=1",
			"topic:payments: segment.bytes is not set, so it cannot be deleted", 1},
		{"delete a misspelt key", "topic orders", []change{del("segment.byte")}, AlterOptions{}, "",
			"topic:orders|segment.byte||||failed", "", "did you mean segment.bytes?", 1},
		{"lists", "topic orders payments", []change{add("cleanup.policy", "delete,compact")}, AlterOptions{},
			"append cleanup.policy of topic:orders, topic:payments",
			"topic:orders|cleanup.policy|compact|compact,delete|DYNAMIC_TOPIC_CONFIG|changed\ntopic:payments|cleanup.policy|delete|delete,compact|DYNAMIC_TOPIC_CONFIG|changed",
			"alter 2:orders, append cleanup.policy=delete,compact; alter 2:payments, append cleanup.policy=delete,compact", "topic:payments: cleanup.policy has compact now", 0},
		{"subtract", "topic orders", []change{sub("cleanup.policy", "compact,x")}, AlterOptions{}, "subtract cleanup.policy of topic:orders",
			"topic:orders|cleanup.policy|compact||DYNAMIC_TOPIC_CONFIG|changed", "alter 2:orders, subtract cleanup.policy=compact,x", "", 0},
		{"a list that is not set", "broker-defaults", []change{add("log.cleanup.policy", "compact"), add("sasl.enabled.mechanisms", "PLAIN")}, AlterOptions{},
			"append log.cleanup.policy, append sasl.enabled.mechanisms of broker-defaults",
			"broker-defaults|log.cleanup.policy||delete,compact|DYNAMIC_DEFAULT_BROKER_CONFIG|changed\n" +
				"broker-defaults|sasl.enabled.mechanisms|||DYNAMIC_DEFAULT_BROKER_CONFIG|changed", // kf does not know its default
			"alter 4:, append log.cleanup.policy=compact, append sasl.enabled.mechanisms=PLAIN", "log.cleanup.policy has compact now", 0},
		{"dry run", "topic --regex o.*", []change{put("a", "b")}, AlterOptions{DryRun: true}, "",
			"topic:orders|a||b|DYNAMIC_TOPIC_CONFIG|valid", "validate 2:orders, set a=b", "dry run: nothing is changed", 0},
		{"no such topic", "topic nope payments", []change{put("a", "b")}, AlterOptions{}, "set a of topic:payments",
			"topic:nope|a||||failed\ntopic:payments|a||b|DYNAMIC_TOPIC_CONFIG|changed", "alter 2:payments, set a=b", "topic:nope: there is no such topic", 1},
		{"delete all", "topic orders", []change{put("segment.bytes", "7")}, AlterOptions{DeleteAll: true}, "set segment.bytes, delete cleanup.policy of topic:orders",
			"topic:orders|segment.bytes|100|7|DYNAMIC_TOPIC_CONFIG|changed\ntopic:orders|cleanup.policy|compact|delete|DEFAULT_CONFIG|changed",
			"alter 2:orders, set segment.bytes=7, delete cleanup.policy=", "", 0},
		{"nothing to delete", "group idle", nil, AlterOptions{DeleteAll: true}, "", "", "", "group:idle: nothing to change", 0},
		{"broker", "broker 1 9", []change{del("log.cleaner.threads")}, AlterOptions{}, "delete log.cleaner.threads of broker:1",
			"broker:1|log.cleaner.threads|2|3|DYNAMIC_DEFAULT_BROKER_CONFIG|changed\nbroker:9|log.cleaner.threads||||failed",
			"alter 4:1, delete log.cleaner.threads=", "broker:9: no node has this id: there are 1, 2", 1},
		{"broker, by default only", "broker 2", []change{del("log.cleaner.threads")}, AlterOptions{}, "",
			"broker:2|log.cleaner.threads|3|3||failed", "", "log.cleaner.threads is not set", 1},
		{"broker, misspelt", "broker-defaults", []change{put("log.cleaner.thread", "2")}, AlterOptions{}, "set log.cleaner.thread of broker-defaults",
			"broker-defaults|log.cleaner.thread||2|DYNAMIC_DEFAULT_BROKER_CONFIG|changed", "alter 4:, set log.cleaner.thread=2",
			"none of Kafka is called log.cleaner.thread: did you mean log.cleaner.threads?", 0},
		{"broker, secret", "broker 1", []change{put("ssl.key.password", "hush"), put("listener.name.x.ssl.truststore.password", "hush")}, AlterOptions{},
			"set ssl.key.password, set listener.name.x.ssl.truststore.password of broker:1",
			"broker:1|ssl.key.password|||DYNAMIC_BROKER_CONFIG|changed\nbroker:1|listener.name.x.ssl.truststore.password|||DYNAMIC_BROKER_CONFIG|changed",
			"alter 4:1, set ssl.key.password=hush, set listener.name.x.ssl.truststore.password=hush", "", 0},
		{"logger", "broker-logger 1", []change{put("kafka.Nope", "INFO")}, AlterOptions{}, "", "broker-logger:1|kafka.Nope||||failed", "", "there is no logger kafka.Nope", 1},
		{"quotas", "user alice carol", []change{put("producer_byte_rate", "1e6")}, AlterOptions{}, "set producer_byte_rate of user:alice, user:carol",
			"user:alice|producer_byte_rate|1000000000|1000000|user:alice|changed\nuser:carol|producer_byte_rate||1000000|user:carol|changed",
			"alter quotas {user=alice}, producer_byte_rate=1e+06 false; alter quotas {user=carol}, producer_byte_rate=1e+06 false", "", 0},
		{"quotas, validated", "user:alice,client-defaults", []change{del("consumer_byte_rate")}, AlterOptions{DryRun: true}, "",
			"user:alice,client-defaults|consumer_byte_rate|3|||valid", "validate quotas {user=alice, client-id=<default>}, consumer_byte_rate=0 true", "dry run", 0},
		{"quota not set", "client app", []change{del("consumer_byte_rate")}, AlterOptions{}, "", "client:app|consumer_byte_rate||||failed", "", "consumer_byte_rate is not set", 1},
		{"credentials", "user bob", []change{put("SCRAM-SHA-512", "iterations=4096,password=hush"), del("SCRAM-SHA-256")}, AlterOptions{},
			"destroy: set SCRAM-SHA-512, delete SCRAM-SHA-256 of user:bob",
			"user:bob|SCRAM-SHA-512|iterations=4096|iterations=4096|user:bob|changed\nuser:bob|SCRAM-SHA-256|iterations=8192|||changed",
			"credential bob SCRAM-SHA-512 4096 hush; delete credential bob SCRAM-SHA-256", "", 0},
		{"credentials, validated", "user bob", []change{put("SCRAM-SHA-512", "password=hush")}, AlterOptions{DryRun: true}, "",
			"user:bob|SCRAM-SHA-512|iterations=4096|iterations=4096|user:bob|unchecked", "", "Kafka cannot say beforehand", 0},
		{"credential not there", "user alice", []change{del("SCRAM-SHA-256"), put("request_percentage", "3")}, AlterOptions{IfSet: true},
			"set request_percentage of user:alice", "user:alice|request_percentage||3|user:alice|changed", "alter quotas {user=alice}, request_percentage=3 false", "", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := &alter{f: newFake(), opts: tt.opts}
			a.opts.selectors, a.opts.changes = mustSelect(t, strings.Fields(tt.words)...), slices.Clone(tt.changes)
			a.run(t)
			if a.asked != tt.asked {
				t.Errorf("asked %q, want %q", a.asked, tt.asked)
			}
			if a.stdout != tt.want {
				t.Errorf("got\n%s\nwant\n%s", a.stdout, tt.want)
			}
			if !strings.Contains(a.stderr, tt.stderr) || tt.stderr == "" && a.stderr != "" {
				t.Errorf("stderr %q, want %q", a.stderr, tt.stderr)
			}
			if a.sent != tt.sent {
				t.Errorf("sent %q, want %q", a.sent, tt.sent)
			}
			if code := cli.ExitCode(a.err); code != tt.code {
				t.Errorf("exit code %d, want %d: %v", code, tt.code, a.err)
			}
			if strings.Contains(a.stdout+a.stderr, "hush") {
				t.Errorf("a password is shown:\n%s\n%s", a.stdout, a.stderr)
			}
		})
	}
}

// What the cluster refuses is a failure of that entity alone.
func TestAlterRefused(t *testing.T) {
	a := &alter{f: newFake(), opts: AlterOptions{selectors: mustSelect(t, "group", "billing", "idle"), changes: []change{put("consumer.session.timeout", "1")}}}
	refusal := &client.AnswerError{Err: kerr.InvalidConfig, Message: "Unknown group config name: consumer.session.timeout"}
	r := client.ConfigResource{Type: client.ConfigTypeGroup, Name: "idle"}
	a.f.errs = map[client.ConfigResource]error{r: refusal}
	a.f.configs[r] = nil
	a.run(t)
	// The description fails by the same error, and nothing is sent for it.
	if !errors.Is(a.err, cli.Silent) || !strings.Contains(a.stderr, "group:idle: INVALID_CONFIG: Unknown group config name") || !strings.HasSuffix(a.stdout, "|failed") {
		t.Errorf("%v\n%s\n%s", a.err, a.stdout, a.stderr)
	}

	// Who may not read may be allowed to write.
	a.f = newFake()
	a.f.errs = map[client.ConfigResource]error{r: kerr.GroupAuthorizationFailed}
	a.run(t)
	if !strings.Contains(a.stderr, "what was set before is not known") || strings.Count(a.sent, "alter 32:") != 2 || !errors.Is(a.err, cli.Silent) {
		t.Errorf("%v\n%s\nsent %s", a.err, a.stderr, a.sent)
	}

	// Quotas and credentials of a user are two requests: one may be refused.
	a = &alter{f: newFake(), opts: AlterOptions{selectors: mustSelect(t, "user", "alice"), changes: []change{put("request_percentage", "1"), put("SCRAM-SHA-256", "password=x")}}}
	a.f.scram["alice"], a.f.scramErr = nil, nil
	a.run(t)
	if a.err != nil || strings.Count(a.stdout, "|changed") != 2 {
		t.Errorf("%v\n%s\n%s", a.err, a.stdout, a.stderr)
	}
	policy := &refusing{newFake()}
	env, stdout, stderr := testEnv()
	err := Alter(t.Context(), env, policy, func(string, bool) error { return nil }, a.opts)
	if !errors.Is(err, cli.Silent) || !strings.Contains(stderr.String(), "user:alice: POLICY_VIOLATION: refused") || strings.Count(stdout.String(), "changed") != 1 {
		t.Errorf("%v\n%s\n%s", err, stdout, stderr)
	}

	// What is not allowed is not done.
	no := errors.New("no")
	f := newFake()
	env, _, _ = testEnv()
	if err := Alter(t.Context(), env, f, func(string, bool) error { return no }, a.opts); !errors.Is(err, no) || strings.Contains(strings.Join(f.asked, " "), "alter") {
		t.Errorf("%v, asked %q", err, f.asked)
	}
}

// A refusing cluster changes no quotas.
type refusing struct{ *fake }

func (f *refusing) AlterClientQuotas(_ context.Context, entries []kadm.AlterClientQuotaEntry) (kadm.AlteredClientQuotas, error) {
	var all kadm.AlteredClientQuotas
	for _, e := range entries {
		all = append(all, kadm.AlteredClientQuota{Entity: e.Entity, Err: kerr.PolicyViolation, ErrMessage: "refused"})
	}
	return all, nil
}

func TestAlterOptions(t *testing.T) {
	for _, tt := range []struct {
		opts AlterOptions
		want string
	}{
		{AlterOptions{}, "name what it is about"},
		{AlterOptions{selectors: mustSelect(t, "topic", "a")}, "nothing to change"},
		{AlterOptions{selectors: mustSelect(t, "topic"), DeleteAll: true}, "name each topic to change, or give --regex"},
		{AlterOptions{selectors: mustSelect(t, "user:a,client"), DeleteAll: true}, "name each user to change"},
		{AlterOptions{selectors: mustSelect(t, "topic:a", "broker:1"), DeleteAll: true}, "only entities of one type"},
		{AlterOptions{own: map[Entity][]change{}, changes: []change{put("a", "b")}}, "the file names the entities"},
		{AlterOptions{selectors: mustSelect(t, "user", "--regex", "a.*"), changes: []change{put("x", "1")}}, "user:any has no x"},
	} {
		if err := tt.opts.Validate(); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%+v: %v, want %q", tt.opts, err, tt.want)
		}
	}
}
