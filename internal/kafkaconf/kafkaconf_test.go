package kafkaconf_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"kf/internal/kafkaconf"
)

// fact is a line of testdata/kafka.jsonl: what Kafka 4.4.0 says at run time. The
// interop tests keep it up to date.
type fact struct {
	Of       string // topic, group or broker; settings for some that are checked together
	Name     string
	Internal bool
	Type     string
	Default  *string
	Valid    *string
	Mode     string
	Synonyms []struct{ Name, One string }
	Cases    []struct {
		Value string
		Is    *string
		Error string
	}

	Group, Broker map[string]string
	Error         string
}

func facts(t *testing.T, of string) []fact {
	t.Helper()
	file, err := os.Open("testdata/kafka.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var all []fact
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		var f fact
		if err := json.Unmarshal(lines.Bytes(), &f); err != nil {
			t.Fatal(err)
		}
		if f.Of == of {
			all = append(all, f)
		}
	}
	if len(all) == 0 {
		t.Fatal("no facts")
	}
	return all
}

// compare compares what topic and broker keys have in common.
func compare(t *testing.T, k kafkaconf.Key, f fact) {
	t.Helper()
	if k.Type.String() != f.Type {
		t.Errorf("%s: type %v, Kafka says %s", f.Name, k.Type, f.Type)
	}
	if k.Internal != f.Internal {
		t.Errorf("%s: internal: %v, Kafka says %v", f.Name, k.Internal, f.Internal)
	}
	switch {
	case k.HasDefault != (f.Default != nil):
		t.Errorf("%s: default %v, Kafka says %v", f.Name, k.HasDefault, f.Default != nil)
	case k.HasDefault && k.Default != *f.Default:
		t.Errorf("%s: default %q, Kafka says %q", f.Name, k.Default, *f.Default)
	}
	if k.HasDefault {
		if shown, err := k.Parse(k.Default); err != nil || shown != k.Default {
			t.Errorf("%s: default %q is parsed as %q: %v", f.Name, k.Default, shown, err)
		}
	}
	var valid string
	if f.Valid != nil {
		valid = *f.Valid
	}
	valid = strings.TrimPrefix(valid, "(case insensitive) ")
	special := strings.HasPrefix(valid, "[partitionId]") || strings.HasSuffix(valid, " or -1") || strings.Contains(valid, "by_duration")
	if got := allowed(k); got != valid && !special {
		t.Errorf("%s: allowed %q, Kafka says %q", f.Name, got, valid)
	}
	if !strings.HasSuffix(k.Doc, ".") {
		t.Errorf("%s: documentation %q", f.Name, k.Doc)
	}
}

// allowed writes the bounds of a key as Kafka does.
func allowed(k kafkaconf.Key) string {
	switch {
	case k.Allowed != nil:
		return "[" + strings.Join(k.Allowed, ", ") + "]"
	case k.Min != nil && k.Max != nil:
		return fmt.Sprintf("[%d,...,%d]", *k.Min, *k.Max)
	case k.Min != nil:
		return fmt.Sprintf("[%d,...]", *k.Min)
	case k.Max != nil:
		return fmt.Sprintf("[...,%d]", *k.Max)
	}
	return ""
}

func TestTopicKeys(t *testing.T) { compareKeys(t, kafkaconf.TopicKeys(), facts(t, "topic")) }
func TestGroupKeys(t *testing.T) { compareKeys(t, kafkaconf.GroupKeys(), facts(t, "group")) }

// compareKeys compares keys that have the names of broker keys for synonyms.
func compareKeys(t *testing.T, keys []kafkaconf.Key, all []fact) {
	if len(keys) != len(all) {
		t.Fatalf("%d keys, Kafka has %d", len(keys), len(all))
	}
	for i, f := range all {
		k := keys[i]
		if k.Name != f.Name {
			t.Fatalf("key %s, Kafka has %s", k.Name, f.Name)
		}
		compare(t, k, f)
		if len(k.Synonyms) != len(f.Synonyms) {
			t.Errorf("%s: synonyms %v, Kafka says %v", f.Name, k.Synonyms, f.Synonyms)
			continue
		}
		for j, s := range f.Synonyms {
			if got := k.Synonyms[j]; got.Name != s.Name || strconv.FormatInt(got.Factor, 10) != s.One {
				t.Errorf("%s: synonym %v, Kafka says %v", f.Name, got, s)
			}
			if _, ok := kafkaconf.BrokerKey(s.Name); !ok {
				t.Errorf("%s: synonym %s is no broker key", f.Name, s.Name)
			}
		}
		for _, c := range f.Cases {
			got, err := k.Parse(c.Value)
			switch {
			case c.Is != nil && (err != nil || got != *c.Is):
				t.Errorf("%s=%q: %q, %v; Kafka says %q", f.Name, c.Value, got, err, *c.Is)
			case c.Is == nil && (err == nil || err.Error() != c.Error):
				t.Errorf("%s=%q: %v; Kafka says %q", f.Name, c.Value, err, c.Error)
			}
		}
	}
}

func TestBrokerKeys(t *testing.T) {
	heeded := 0
	for _, f := range facts(t, "broker") {
		k, ok := kafkaconf.BrokerKey(f.Name)
		if ok == kafkaconf.UnsupportedBrokerKey(f.Name) {
			t.Errorf("%s is heeded: %v, unsupported: %v", f.Name, ok, ok)
		}
		if !ok {
			continue
		}
		heeded++
		compare(t, k, f)
		mode := map[kafkaconf.Mode]string{kafkaconf.ReadOnly: "read-only", kafkaconf.PerBroker: "per-broker", kafkaconf.ClusterWide: "cluster-wide"}[k.Mode]
		if mode != f.Mode {
			t.Errorf("%s: %s, Kafka says %s", f.Name, mode, f.Mode)
		}
	}
	keys := kafkaconf.BrokerKeys()
	if heeded != len(keys) {
		t.Errorf("Kafka has %d of the %d keys", heeded, len(keys))
	}
	if !slices.IsSortedFunc(keys, func(a, b kafkaconf.Key) int { return strings.Compare(a.Name, b.Name) }) {
		t.Error("not sorted")
	}
	if kafkaconf.UnsupportedBrokerKey("log.retention.hour") {
		t.Error("a misspelt key passes for one of Kafka's")
	}
}

func key(t *testing.T, name string) kafkaconf.Key {
	t.Helper()
	k, ok := kafkaconf.TopicKey(name)
	if !ok {
		t.Fatalf("no topic key %s", name)
	}
	return k
}

// show writes a value as kafka-configs --describe --all does.
func show(v kafkaconf.Value) string {
	sources := map[kafkaconf.Source]string{
		kafkaconf.FromTopic: "DYNAMIC_TOPIC_CONFIG", kafkaconf.FromDynamic: "DYNAMIC_BROKER_CONFIG", kafkaconf.FromDynamicDefault: "DYNAMIC_DEFAULT_BROKER_CONFIG",
		kafkaconf.FromFile: "STATIC_BROKER_CONFIG", kafkaconf.FromDefault: "DEFAULT_CONFIG", kafkaconf.FromGroup: "GROUP_CONFIG",
	}
	synonyms := make([]string, len(v.Synonyms))
	for i, s := range v.Synonyms {
		synonyms[i] = fmt.Sprintf("%s:%s=%s", sources[s.Source], s.Name, s.Text)
	}
	return fmt.Sprintf("%s %d {%s}", v.Text, v.Source, strings.Join(synonyms, ", "))
}

// What Kafka 4.4.0 answered about a topic.
func TestTopic(t *testing.T) {
	s := kafkaconf.Settings{
		Dynamic:        map[string]string{"log.retention.bytes": "77"},
		DynamicDefault: map[string]string{"min.insync.replicas": "1", "log.retention.bytes": "88"},
		File:           map[string]string{"log.retention.hours": "24", "log.roll.ms": "5000", "log.roll.hours": "2", "log.cleanup.policy": " compact , delete"},
	}
	topic := map[string]string{"max.message.bytes": " 1000", "flush.ms": "x"}
	for name, want := range map[string]string{
		"cleanup.policy":                      "compact,delete 4 {STATIC_BROKER_CONFIG:log.cleanup.policy= compact , delete, DEFAULT_CONFIG:log.cleanup.policy=delete}",
		"compression.type":                    "producer 5 {DEFAULT_CONFIG:compression.type=producer}",
		"errors.deadletterqueue.group.enable": "false 5 {}",
		"flush.ms":                            "9223372036854775807 5 {}",
		"max.message.bytes":                   "1000 1 {DYNAMIC_TOPIC_CONFIG:max.message.bytes=1000, DEFAULT_CONFIG:message.max.bytes=1048588}",
		"min.insync.replicas":                 "1 3 {DYNAMIC_DEFAULT_BROKER_CONFIG:min.insync.replicas=1, DEFAULT_CONFIG:min.insync.replicas=1}",
		"retention.bytes":                     "77 2 {DYNAMIC_BROKER_CONFIG:log.retention.bytes=77, DYNAMIC_DEFAULT_BROKER_CONFIG:log.retention.bytes=88, DEFAULT_CONFIG:log.retention.bytes=-1}",
		"retention.ms":                        "86400000 5 {}",
		"segment.jitter.ms":                   "0 5 {}",
		"segment.ms":                          "5000 4 {STATIC_BROKER_CONFIG:log.roll.ms=5000, STATIC_BROKER_CONFIG:log.roll.hours=2, DEFAULT_CONFIG:log.roll.hours=168}",
	} {
		if got := show(s.Topic(key(t, name), topic)); got != want {
			t.Errorf("%s:\ngot  %s\nwant %s", name, got, want)
		}
	}
}

// TestTopicOfEarlierRelease tests that a size of segments holds that Kafka took
// before 4.1, although Kafka 4.4 would not start with it; it cannot be set anew.
func TestTopicOfEarlierRelease(t *testing.T) {
	s := kafkaconf.Settings{}
	for value, want := range map[string]string{
		"9000": "9000 1 {DYNAMIC_TOPIC_CONFIG:segment.bytes=9000, DEFAULT_CONFIG:log.segment.bytes=1073741824}",
		"14":   "14 1 {DYNAMIC_TOPIC_CONFIG:segment.bytes=14, DEFAULT_CONFIG:log.segment.bytes=1073741824}",
		"13":   "1073741824 5 {DEFAULT_CONFIG:log.segment.bytes=1073741824}",
	} {
		topic := map[string]string{"segment.bytes": value}
		if got := show(s.Topic(key(t, "segment.bytes"), topic)); got != want {
			t.Errorf("segment.bytes=%s:\ngot  %s\nwant %s", value, got, want)
		}
		if err := s.CheckTopic(topic); err == nil {
			t.Errorf("segment.bytes=%s can be set", value)
		}
	}
}

func TestTopicWithoutSettings(t *testing.T) {
	for _, k := range kafkaconf.TopicKeys() {
		v := new(kafkaconf.Settings).Topic(k, nil)
		if v.Text != k.Default || v.Null == k.HasDefault || v.Source != kafkaconf.FromDefault {
			t.Errorf("%s: %+v", k.Name, v)
		}
	}
}

func TestBroker(t *testing.T) {
	s := kafkaconf.Settings{
		Dynamic: map[string]string{"log.retention.ms": "3"},
		File:    map[string]string{"log.retention.hours": "24", "node.id": "7"},
	}
	for name, want := range map[string]string{
		"node.id":                         "7 4 {STATIC_BROKER_CONFIG:node.id=7}",
		"num.partitions":                  "1 5 {DEFAULT_CONFIG:num.partitions=1}",
		"log.dirs":                        " 5 {}",
		"log.retention.ms":                "3 2 {DYNAMIC_BROKER_CONFIG:log.retention.ms=3, STATIC_BROKER_CONFIG:log.retention.hours=24, DEFAULT_CONFIG:log.retention.hours=168}",
		"log.retention.minutes":           " 5 {}",
		"log.retention.hours":             "24 4 {STATIC_BROKER_CONFIG:log.retention.hours=24, DEFAULT_CONFIG:log.retention.hours=168}",
		"log.flush.scheduler.interval.ms": "9223372036854775807 5 {DEFAULT_CONFIG:log.flush.scheduler.interval.ms=9223372036854775807}",
	} {
		k, ok := kafkaconf.BrokerKey(name)
		if !ok {
			t.Fatalf("no broker key %s", name)
		}
		if got := show(s.Broker(k)); got != want {
			t.Errorf("%s:\ngot  %s\nwant %s", name, got, want)
		}
	}
}

func TestCheckTopic(t *testing.T) {
	s := kafkaconf.Settings{File: map[string]string{"log.cleaner.min.compaction.lag.ms": "1000"}}
	for _, tt := range []struct {
		topic map[string]string
		want  string
	}{
		{nil, ""},
		{map[string]string{"retention.ms": "5", "cleanup.policy": ""}, ""},
		{map[string]string{"retention.ms": "abc"}, "Invalid value abc for configuration retention.ms: Not a number of type LONG"},
		{map[string]string{"no.such": "1", "retention.ms": "abc"}, "Unknown topic config name: no.such"},
		{map[string]string{"message.format.version": "3.0"}, "Unknown topic config name: message.format.version"},
		{map[string]string{"segment.bytes": "14"}, "Invalid value 14 for configuration segment.bytes: Value must be at least 1048576"},
		{map[string]string{"max.compaction.lag.ms": "999"}, "conflict topic config setting min.compaction.lag.ms (1000) > max.compaction.lag.ms (999)"},
		{map[string]string{"max.compaction.lag.ms": "999", "min.compaction.lag.ms": "0"}, ""},
		{map[string]string{"remote.storage.enable": "true"}, "Tiered Storage functionality is disabled in the broker. Topic cannot be configured with remote log storage."},
	} {
		err := s.CheckTopic(tt.topic)
		got := ""
		if err != nil {
			got = err.Error()
		}
		if got != tt.want {
			t.Errorf("%v: %q, want %q", tt.topic, got, tt.want)
		}
		if errors.Is(err, kafkaconf.ErrUnknownKey) != strings.HasPrefix(tt.want, "Unknown") {
			t.Errorf("%v: unknown key: %v", tt.topic, err)
		}
	}
}

// What Kafka 4.4.0 says about settings of groups and brokers that are there
// together.
func TestSettingsTogether(t *testing.T) {
	for _, f := range facts(t, "settings") {
		s := kafkaconf.Settings{File: f.Broker}
		err := s.CheckBroker()
		if err == nil {
			err = s.CheckGroup(f.Group)
		}
		got := ""
		if err != nil {
			got = err.Error()
		}
		if got != f.Error {
			t.Errorf("broker %v, group %v: %q, Kafka says %q", f.Broker, f.Group, got, f.Error)
		}
	}
}

// TestGroup tests what is shown of the keys of a group.
func TestGroup(t *testing.T) {
	s := kafkaconf.Settings{
		Dynamic: map[string]string{"group.consumer.assignment.interval.ms": "9"},
		File:    map[string]string{"group.streams.assignors": "sticky , other", "group.consumer.session.timeout.ms": "50000", "group.share.assignor.offload.enable": "false"},
	}
	group := map[string]string{"consumer.session.timeout.ms": " 55000", "share.isolation.level": "read_committed", "share.delivery.count.limit": "x"}
	for name, want := range map[string]string{
		"consumer.assignment.interval.ms":    "9 2 {DYNAMIC_BROKER_CONFIG:group.consumer.assignment.interval.ms=9, DEFAULT_CONFIG:group.consumer.assignment.interval.ms=1000}",
		"consumer.session.timeout.ms":        "55000 8 {GROUP_CONFIG:consumer.session.timeout.ms=55000, STATIC_BROKER_CONFIG:group.consumer.session.timeout.ms=50000, DEFAULT_CONFIG:group.consumer.session.timeout.ms=45000}",
		"errors.deadletterqueue.topic.name":  " 5 {DEFAULT_CONFIG:errors.deadletterqueue.topic.name=}",
		"share.assignor.offload.enable":      "false 4 {STATIC_BROKER_CONFIG:group.share.assignor.offload.enable=false, DEFAULT_CONFIG:group.share.assignor.offload.enable=true}",
		"share.auto.offset.reset":            "latest 5 {DEFAULT_CONFIG:share.auto.offset.reset=latest}",
		"share.delivery.count.limit":         "5 5 {DEFAULT_CONFIG:group.share.delivery.count.limit=5}",
		"share.isolation.level":              "read_committed 8 {GROUP_CONFIG:share.isolation.level=read_committed, DEFAULT_CONFIG:share.isolation.level=read_uncommitted}",
		"streams.assignor.name":              "sticky 4 {STATIC_BROKER_CONFIG:group.streams.assignors=sticky , other, DEFAULT_CONFIG:group.streams.assignors=sticky}",
		"streams.rack.aware.assignment.tags": " 5 {DEFAULT_CONFIG:group.streams.rack.aware.assignment.tags=}",
	} {
		k, ok := kafkaconf.GroupKey(name)
		if !ok {
			t.Fatalf("no group key %s", name)
		}
		if got := show(s.Group(k, group)); got != want {
			t.Errorf("%s:\ngot  %s\nwant %s", name, got, want)
		}
	}
}

// TestGroupNumber tests that what a group has set counts within the bounds that
// the broker has now.
func TestGroupNumber(t *testing.T) {
	k, _ := kafkaconf.GroupKey("consumer.heartbeat.interval.ms")
	s := kafkaconf.Settings{File: map[string]string{"group.consumer.min.heartbeat.interval.ms": "3000", "group.consumer.max.heartbeat.interval.ms": "7000"}}
	for text, want := range map[string]int64{"2999": 3000, "3000": 3000, "6500": 6500, "8000": 7000, "x": 5000} {
		if got := s.GroupNumber(k, map[string]string{k.Name: text}); got != want {
			t.Errorf("%s=%s counts as %d, want %d", k.Name, text, got, want)
		}
	}
	if got := s.GroupNumber(k, nil); got != 5000 {
		t.Errorf("%d without a setting, want 5000", got)
	}
}

// What is parsed once is parsed to itself.
func FuzzParse(f *testing.F) {
	f.Add("cleanup.policy", " compact , delete ")
	f.Add("min.cleanable.dirty.ratio", "0x1p-2")
	f.Add("retention.ms", "+7")
	f.Add("leader.replication.throttled.replicas", "0:1,")
	f.Add("share.auto.offset.reset", "by_duration:-P1DT2H3M4.5S")
	f.Add("group.consumer.migration.policy", "Upgrade")
	f.Fuzz(func(t *testing.T, name, value string) {
		k, ok := kafkaconf.TopicKey(name)
		if !ok {
			k, ok = kafkaconf.GroupKey(name)
		}
		if !ok {
			k, ok = kafkaconf.BrokerKey(name)
		}
		if !ok {
			return
		}
		shown, err := k.Parse(value)
		if err != nil {
			return
		}
		if again, err := k.Parse(shown); err != nil || again != shown {
			t.Errorf("%s: %q is parsed as %q, which is parsed as %q: %v", name, value, shown, again, err)
		}
	})
}
