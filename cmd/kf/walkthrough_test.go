package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// TestWalkthrough does with one broker what a tour of Kafka's files does with
// three: after each step the directory holds what Kafka's would.
func TestWalkthrough(t *testing.T) {
	const topic = "products.prices.changelog.file-structure"
	dir := filepath.Join(t.TempDir(), "data")
	in := func(names ...string) string { return filepath.Join(append([]string{dir}, names...)...) }
	b := serve(t, dir, freePort(t), "-c", "replica.high.watermark.checkpoint.interval.ms=100", "-c", "log.retention.check.interval.ms=100", "-c", "log.cleaner.backoff.ms=100")
	client := newClient(t, b.addr, kgo.RecordPartitioner(kgo.ManualPartitioner()))
	admin := kadm.NewClient(client)

	// A new directory.
	for _, name := range []string{
		"meta.properties", ".lock", "__cluster_metadata-0/00000000000000000000.log", "__cluster_metadata-0/quorum-state",
		"__cluster_metadata-0/00000000000000000000-0000000000.checkpoint",
		"recovery-point-offset-checkpoint", "log-start-offset-checkpoint", "cleaner-offset-checkpoint",
	} {
		if _, err := os.Stat(in(name)); err != nil {
			t.Error(err)
		}
	}
	if got := text(t, in("cleaner-offset-checkpoint")); got != "" {
		t.Errorf("cleaner-offset-checkpoint is %q before its first write", got)
	}
	until(t, "the first write of the high watermarks", func() bool { return text(t, in("replication-offset-checkpoint")) == "0\n0\n" })

	// A topic.
	setting := func(s string) *string { return &s }
	if r, err := admin.CreateTopic(t.Context(), 3, 1, map[string]*string{"file.delete.delay.ms": setting("300")}, topic); err != nil || r.Err != nil {
		t.Fatal(err, r.Err)
	}
	for p := range 3 {
		entries, err := os.ReadDir(in(fmt.Sprintf("%s-%d", topic, p)))
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, e := range entries {
			names = append(names, e.Name())
		}
		want := []string{"00000000000000000000.index", "00000000000000000000.log", "00000000000000000000.timeindex", "leader-epoch-checkpoint", "partition.metadata"}
		if !slices.Equal(names, want) {
			t.Errorf("partition %d has %q, want %q", p, names, want)
		}
		if got := text(t, in(fmt.Sprintf("%s-%d", topic, p), "leader-epoch-checkpoint")); got != "0\n1\n0 0\n" {
			t.Errorf("leader epochs of partition %d: %q", p, got)
		}
	}
	lines := func(p0 int) string { return fmt.Sprintf("0\n3\n%[1]s 0 %[2]d\n%[1]s 1 0\n%[1]s 2 0\n", topic, p0) }
	until(t, "three high watermarks of 0", func() bool { return text(t, in("replication-offset-checkpoint")) == lines(0) })

	// Records.
	produce(t, client, topic, "a", "1", "b", "2")
	until(t, "the high watermark 2", func() bool { return text(t, in("replication-offset-checkpoint")) == lines(2) })
	out, err := exec.Command("kf", "dump-log", "--print-data-log", "--files", in(topic+"-0", "00000000000000000000.log")).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "baseOffset: 0 lastOffset: 1 count: 2") || !strings.Contains(string(out), "isvalid: true") || !strings.Contains(string(out), "key: b payload: 2") {
		t.Errorf("kf dump-log: %v\n%s", err, out)
	}

	// A second segment, by time, with a producer snapshot at its base.
	alter(t, admin, topic, "segment.ms", "50")
	time.Sleep(60 * time.Millisecond)
	produce(t, client, topic, "c", "3")
	until(t, "a second segment", func() bool {
		_, err := os.Stat(in(topic+"-0", "00000000000000000002.log"))
		return err == nil
	})
	if _, err := os.Stat(in(topic+"-0", "00000000000000000002.snapshot")); err != nil {
		t.Error(err)
	}
	if info, err := os.Stat(in(topic+"-0", "00000000000000000000.index")); err != nil || info.Size() != 0 {
		t.Errorf("the index of the sealed segment was not trimmed: %v", err)
	}

	// Compaction keeps the newest value of each key and what is not sealed.
	alter(t, admin, topic, "cleanup.policy", "compact", "min.cleanable.dirty.ratio", "0.01")
	produce(t, client, topic, "a", "4")
	time.Sleep(60 * time.Millisecond)
	produce(t, client, topic, "b", "5")
	until(t, "compaction", func() bool {
		return slices.Equal(readAll(t, b.addr, topic, 3, len("2345"))[0], []string{"2", "3", "4", "5"})
	})
	// Retention deletes whole segments.
	alter(t, admin, topic, "cleanup.policy", "delete", "retention.ms", "1")
	until(t, "retention", func() bool {
		starts, err := admin.ListStartOffsets(t.Context(), topic)
		if err != nil {
			t.Fatal(err)
		}
		o, _ := starts.Lookup(topic, 0)
		return o.Offset == 5
	})

	// The topic goes: at once by name, after the delay from the disk.
	if r, err := admin.DeleteTopic(t.Context(), topic); err != nil || r.Err != nil {
		t.Fatal(err, r.Err)
	}
	gone := func() []string {
		paths, err := filepath.Glob(in(topic + "-*"))
		if err != nil {
			t.Fatal(err)
		}
		return paths
	}
	if left := gone(); len(left) != 3 || slices.ContainsFunc(left, func(p string) bool { return !strings.HasSuffix(p, "-delete") }) {
		t.Errorf("after the deletion there are %q", left)
	}
	until(t, "the removal of the files", func() bool { return len(gone()) == 0 })
	b.stop(t)
	if got := text(t, in("replication-offset-checkpoint")); got != "0\n0\n" {
		t.Errorf("high watermarks after the stop: %q", got)
	}
	if !strings.HasPrefix(text(t, in(".kafka_cleanshutdown")), `{"version":0,"brokerEpoch":`) {
		t.Errorf(".kafka_cleanshutdown: %q", text(t, in(".kafka_cleanshutdown")))
	}
	if _, err := os.Stat(in(".lock")); err == nil {
		t.Error(".lock is still there")
	}
}

func text(t *testing.T, path string) string {
	t.Helper()
	p, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return string(p)
}

// until waits for what happens in the background.
func until(t *testing.T, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !done(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("no sign of %s", what)
		}
	}
}

// produce writes keys and values in turn to partition 0, in one batch.
func produce(t *testing.T, client *kgo.Client, topic string, keysAndValues ...string) {
	t.Helper()
	var records []*kgo.Record
	for i := 0; i < len(keysAndValues); i += 2 {
		records = append(records, &kgo.Record{Topic: topic, Key: []byte(keysAndValues[i]), Value: []byte(keysAndValues[i+1])})
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := client.ProduceSync(ctx, records...).FirstErr(); err != nil {
		t.Fatal(err)
	}
}

// alter sets settings of a topic, names and values in turn.
func alter(t *testing.T, admin *kadm.Client, topic string, settings ...string) {
	t.Helper()
	var configs []kadm.AlterConfig
	for i := 0; i < len(settings); i += 2 {
		configs = append(configs, kadm.AlterConfig{Op: kadm.SetConfig, Name: settings[i], Value: &settings[i+1]})
	}
	r, err := admin.AlterTopicConfigs(t.Context(), configs, topic)
	if err != nil || r[0].Err != nil {
		t.Fatal(err, r)
	}
}
