package configs

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"kf/internal/cli"
	"kf/internal/client"
)

// A fake is a cluster that notes what it is asked and told.
type fake struct {
	configs  map[client.ConfigResource][]client.Config
	errs     map[client.ConfigResource]error // of descriptions and changes
	known    map[client.ConfigType][]string
	topics   []string
	brokers  []int32
	groups   []string
	quotas   map[Entity]map[string]float64
	scram    map[string][]kadm.CredInfo
	quotaErr error
	scramErr error

	asked []string
}

func (f *fake) note(format string, a ...any) { f.asked = append(f.asked, fmt.Sprintf(format, a...)) }

func (f *fake) DescribeConfigs(_ context.Context, docs bool, of ...client.ConfigResource) ([]client.DescribedConfigs, error) {
	if len(of) == 0 {
		return nil, nil
	}
	f.note("describe %d", len(of))
	var all []client.DescribedConfigs
	for _, r := range of {
		d := client.DescribedConfigs{Resource: r, Configs: f.configs[r], Err: f.errs[r]}
		if r.Type == client.ConfigTypeTopic && d.Err == nil && !slices.Contains(f.topics, r.Name) {
			d.Err = kerr.UnknownTopicOrPartition
		}
		all = append(all, d)
	}
	return all, nil
}

func (f *fake) IncrementalAlterConfigs(_ context.Context, validateOnly bool, all ...client.ConfigChanges) []error {
	errs := make([]error, len(all))
	for i, r := range all {
		words := []string{fmt.Sprintf("%d:%s", r.Resource.Type, r.Resource.Name)}
		for _, c := range r.Changes {
			words = append(words, fmt.Sprintf("%s %s=%s", opNames[c.Op], c.Key, c.Value))
		}
		f.note("%s %s", map[bool]string{true: "validate", false: "alter"}[validateOnly], strings.Join(words, ", "))
		errs[i] = f.errs[r.Resource]
	}
	return errs
}

func (f *fake) ConfigResources(_ context.Context, t client.ConfigType) ([]string, error) {
	f.note("resources %d", t)
	if f.known == nil {
		return nil, kerr.UnsupportedVersion
	}
	return f.known[t], nil
}

func (f *fake) ListTopicsWithInternal(context.Context, ...string) (kadm.TopicDetails, error) {
	f.note("topics")
	all := make(kadm.TopicDetails)
	for _, name := range f.topics {
		all[name] = kadm.TopicDetail{Topic: name}
	}
	return all, nil
}

func (f *fake) Nodes(context.Context, bool) (*client.Nodes, error) {
	f.note("nodes")
	all := new(client.Nodes)
	for _, id := range f.brokers {
		all.Nodes = append(all.Nodes, client.Node{ID: id})
	}
	return all, nil
}

func (f *fake) ListGroups(context.Context, ...string) (kadm.ListedGroups, error) {
	f.note("groups")
	all := make(kadm.ListedGroups)
	for _, name := range f.groups {
		all[name] = kadm.ListedGroup{Group: name}
	}
	return all, nil
}

func (f *fake) DescribeClientQuotas(_ context.Context, strict bool, of []kadm.DescribeClientQuotaComponent) (kadm.DescribedClientQuotas, error) {
	f.note("quotas %v %d", strict, len(of))
	if f.quotaErr != nil {
		return nil, f.quotaErr
	}
	var all kadm.DescribedClientQuotas
	for e, values := range f.quotas {
		entity := e.quotaEntity()
		fits := !strict || len(entity) == len(of)
		for i, c := range of {
			fits = fits && i < len(entity) && entity[i].Type == c.Type && (c.MatchType == matchAny ||
				c.MatchType == matchDefault && entity[i].Name == nil || c.MatchType == matchExact && entity[i].Name != nil && *entity[i].Name == *c.MatchName)
		}
		if !fits {
			continue
		}
		q := kadm.DescribedClientQuota{Entity: entity}
		for _, key := range slices.Sorted(maps.Keys(values)) {
			q.Values = append(q.Values, kadm.ClientQuotaValue{Key: key, Value: values[key]})
		}
		all = append(all, q)
	}
	return all, nil
}

func (f *fake) alterQuotas(verb string, entries []kadm.AlterClientQuotaEntry) (kadm.AlteredClientQuotas, error) {
	var all kadm.AlteredClientQuotas
	for _, e := range entries {
		words := []string{e.Entity.String()}
		for _, op := range e.Ops {
			words = append(words, fmt.Sprintf("%s=%v %v", op.Key, op.Value, op.Remove))
		}
		f.note("%s %s", verb, strings.Join(words, ", "))
		all = append(all, kadm.AlteredClientQuota{Entity: e.Entity, Err: f.quotaErr, ErrMessage: "refused"})
	}
	return all, nil
}

func (f *fake) AlterClientQuotas(_ context.Context, entries []kadm.AlterClientQuotaEntry) (kadm.AlteredClientQuotas, error) {
	return f.alterQuotas("alter quotas", entries)
}

func (f *fake) ValidateAlterClientQuotas(_ context.Context, entries []kadm.AlterClientQuotaEntry) (kadm.AlteredClientQuotas, error) {
	return f.alterQuotas("validate quotas", entries)
}

func (f *fake) DescribeUserSCRAMs(_ context.Context, users ...string) (kadm.DescribedUserSCRAMs, error) {
	f.note("credentials %s", strings.Join(users, ","))
	if f.scramErr != nil {
		return nil, f.scramErr
	}
	all := make(kadm.DescribedUserSCRAMs)
	for user, infos := range f.scram {
		if len(users) == 0 || slices.Contains(users, user) {
			all[user] = kadm.DescribedUserSCRAM{User: user, CredInfos: infos}
		}
	}
	for _, user := range users {
		if f.scram[user] == nil {
			all[user] = kadm.DescribedUserSCRAM{User: user, Err: kerr.ResourceNotFound}
		}
	}
	return all, nil
}

func (f *fake) AlterUserSCRAMs(_ context.Context, deletions []kadm.DeleteSCRAM, upserts []kadm.UpsertSCRAM) (kadm.AlteredUserSCRAMs, error) {
	all := make(kadm.AlteredUserSCRAMs)
	for _, d := range deletions {
		f.note("delete credential %s %s", d.User, d.Mechanism)
		all[d.User] = kadm.AlteredUserSCRAM{User: d.User, Err: f.scramErr}
	}
	for _, u := range upserts {
		f.note("credential %s %s %d %s", u.User, u.Mechanism, u.Iterations, u.Password)
		all[u.User] = kadm.AlteredUserSCRAM{User: u.User, Err: f.scramErr}
	}
	return all, nil
}

// config returns a key that is set as sources say, "source:key=value", the first of
// which holds.
func config(key, typ string, sources ...string) client.Config {
	c := client.Config{Key: key, Type: typ}
	for _, text := range sources {
		source, pair, _ := strings.Cut(text, ":")
		name, value, _ := strings.Cut(pair, "=")
		s := client.ConfigSynonym{Key: cmp.Or(name, key), Value: &value}
		for n := client.FromTopic; n <= client.FromGroup; n++ {
			if n.String() == source {
				s.Source = n
			}
		}
		c.Synonyms = append(c.Synonyms, s)
	}
	c.Value, c.Source = c.Synonyms[0].Value, c.Synonyms[0].Source
	return c
}

// newFake returns a cluster with the topics orders and payments and the brokers 1, 2.
func newFake() *fake {
	topic := func(name string) client.ConfigResource {
		return client.ConfigResource{Type: client.ConfigTypeTopic, Name: name}
	}
	broker := func(name string) client.ConfigResource {
		return client.ConfigResource{Type: client.ConfigTypeBroker, Name: name}
	}
	const policy, segment = "DEFAULT_CONFIG:log.cleanup.policy=delete", "DEFAULT_CONFIG:log.segment.bytes=1073741824"
	password := config("ssl.key.password", "PASSWORD", "STATIC_BROKER_CONFIG:=x")
	password.Value, password.Synonyms[0].Value, password.Sensitive = nil, nil, true
	return &fake{
		topics: []string{"orders", "payments"}, brokers: []int32{1, 2}, groups: []string{"billing", "idle"},
		known: map[client.ConfigType][]string{client.ConfigTypeGroup: {"billing"}},
		configs: map[client.ConfigResource][]client.Config{
			topic("orders"): {
				config("cleanup.policy", "LIST", "DYNAMIC_TOPIC_CONFIG:=compact", policy), config("retention.ms", "LONG", "DEFAULT_CONFIG:=604800000"),
				config("segment.bytes", "INT", "DYNAMIC_TOPIC_CONFIG:=100", segment),
			},
			topic("payments"): {
				config("cleanup.policy", "LIST", policy), config("retention.ms", "LONG", "DYNAMIC_TOPIC_CONFIG:=5"), config("segment.bytes", "INT", segment),
			},
			broker("1"): {
				config("log.cleaner.threads", "INT", "DYNAMIC_BROKER_CONFIG:=2", "DYNAMIC_DEFAULT_BROKER_CONFIG:=3", "DEFAULT_CONFIG:=1"),
				config("node.id", "INT", "STATIC_BROKER_CONFIG:=1"), password,
			},
			broker("2"): {
				config("log.cleaner.threads", "INT", "DYNAMIC_DEFAULT_BROKER_CONFIG:=3", "DEFAULT_CONFIG:=1"),
				config("node.id", "INT", "STATIC_BROKER_CONFIG:=2"), password,
			},
			broker(""): {config("log.cleaner.threads", "INT", "DYNAMIC_DEFAULT_BROKER_CONFIG:=3")},
			{Type: client.ConfigTypeGroup, Name: "billing"}: {config("consumer.session.timeout.ms", "INT",
				"DYNAMIC_GROUP_CONFIG:=50000", "DEFAULT_CONFIG:group.consumer.session.timeout.ms=45000")},
			{Type: client.ConfigTypeGroup, Name: "idle"}: {config("consumer.session.timeout.ms", "INT", "DEFAULT_CONFIG:group.consumer.session.timeout.ms=45000")},
		},
		quotas: map[Entity]map[string]float64{
			{kind: userKind, name: "alice"}: {"producer_byte_rate": 1e9, "consumer_byte_rate": 1024},
			{kind: userKind}:                {"request_percentage": 50.5, "producer_byte_rate": 7},
			{userKind, "alice", true, ""}:   {"consumer_byte_rate": 3},
			{userKind, "", true, "app"}:     {"controller_mutation_rate": 2},
			{kind: clientKind, name: "app"}: {"request_percentage": 1},
			{kind: ipKind, name: "::1"}:     {"connection_creation_rate": 100},
		},
		scram: map[string][]kadm.CredInfo{"bob": {{Mechanism: kadm.ScramSha256, Iterations: 8192}, {Mechanism: kadm.ScramSha512, Iterations: 4096}}},
	}
}

// testEnv returns an environment and what is written to it.
func testEnv() (env *cli.Env, stdout, stderr *bytes.Buffer) {
	stdout, stderr = new(bytes.Buffer), new(bytes.Buffer)
	return &cli.Env{Stdout: stdout, Stderr: stderr}, stdout, stderr
}

func mustSelect(t *testing.T, words ...string) []selector {
	t.Helper()
	var s selection
	if len(words) > 1 && words[len(words)-2] == "--regex" {
		words, s.regex = words[:len(words)-2], words[len(words)-1]
	}
	all, err := s.selectors(words)
	if err != nil {
		t.Fatal(err)
	}
	return all
}
