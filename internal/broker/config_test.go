package broker

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"kf/internal/kafkaconf"
)

// TestSegmentBytes tests that Kafka's key for its own tests wins where a topic has
// it, as topics of an existing directory may.
func TestSegmentBytes(t *testing.T) {
	for _, tt := range []struct {
		topic map[string]string
		want  int32
	}{
		{nil, 1 << 30},
		{map[string]string{"segment.bytes": "2000000"}, 2_000_000},
		{map[string]string{"segment.bytes": "2000000", "internal.segment.bytes": "4096"}, 4096},
	} {
		if got := newTopicConfig(&kafkaconf.Settings{}, tt.topic, false).log.SegmentBytes; got != tt.want {
			t.Errorf("%v: a segment of %d bytes, want %d", tt.topic, got, tt.want)
		}
	}
}

// TestTopicEntries tests which keys a topic shows: those that every topic has, and
// what else is set for it, hidden if nobody knows whether it is a secret.
func TestTopicEntries(t *testing.T) {
	listed := len(kafkaconf.TopicKeys()) - 1
	if got := topicEntries(&kafkaconf.Settings{}, map[string]string{"retention.ms": "5"}); len(got) != listed {
		t.Errorf("%d keys, want %d", len(got), listed)
	}
	all := topicEntries(&kafkaconf.Settings{}, map[string]string{"internal.segment.bytes": "4096", "message.format.version": "3.0"})
	if len(all) != listed+2 {
		t.Fatalf("%d keys, want %d", len(all), listed+2)
	}
	for _, want := range []struct {
		name, value string
		hidden      bool
	}{{"internal.segment.bytes", "4096", false}, {"message.format.version", "3.0", true}} {
		i := slices.IndexFunc(all, func(e configEntry) bool { return e.key.Name == want.name })
		if i < 0 {
			t.Fatalf("%s is not shown", want.name)
		}
		to := all[i].describe(false, false)
		if to.IsSensitive != want.hidden || (to.Value == nil) != want.hidden || all[i].value.Text != want.value {
			t.Errorf("%+v, want %+v", to, want)
		}
	}
}

// TestShownProperties tests that a broker shows what its options say as settings, and
// where it really listens.
func TestShownProperties(t *testing.T) {
	dirs := []string{t.TempDir(), t.TempDir()}
	b := startBroker(t, Options{NodeID: 7, Dirs: dirs, Properties: map[string]string{"listeners": "PLAINTEXT://:9092", "num.partitions": "3"}})
	want := map[string]string{
		"node.id": "7", "broker.id": "7", "process.roles": "broker,controller", "log.dirs": dirs[0] + "," + dirs[1],
		"listeners": "PLAINTEXT://" + b.Addr(), "num.partitions": "3",
	}
	for _, e := range brokerEntries(b.settings.Load()) {
		text, ok := want[e.key.Name]
		delete(want, e.key.Name)
		if static := e.value.Source == kafkaconf.FromFile; static != ok || ok && e.value.Text != text {
			t.Errorf("%s is %q of source %d, want %q", e.key.Name, e.value.Text, e.value.Source, text)
		}
	}
	if len(want) > 0 {
		t.Errorf("not shown: %v", want)
	}
}

// TestKeysAreHeeded: a broker key that kafkaconf lists as heeded is read
// somewhere, or is the default of a topic key, or default or bound of a group key.
func TestKeysAreHeeded(t *testing.T) {
	var source strings.Builder
	for _, pattern := range []string{"*.go", "../controller/*.go", "../../cmd/*.go", "../kafkaconf/groupkeys.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v", pattern, err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			source.Write(text)
		}
	}
	defaults := map[string]bool{}
	for _, k := range kafkaconf.TopicKeys() {
		for _, s := range k.Synonyms {
			defaults[s.Name] = true
		}
	}
	for _, k := range kafkaconf.BrokerKeys() {
		if !defaults[k.Name] && !strings.Contains(source.String(), strconv.Quote(k.Name)) {
			t.Errorf("nothing reads %s", k.Name)
		}
	}
}
