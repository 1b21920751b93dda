package broker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"kf/internal/storage"
)

func client(t testing.TB, b *Broker, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	c, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(b.Addr())}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func testContext(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // a broker that says nothing fails the test
	t.Cleanup(cancel)
	return ctx
}

// produceAll produces values and fails the test unless all are acknowledged.
func produceAll(t testing.TB, c *kgo.Client, topic string, values []string) {
	t.Helper()
	var records []*kgo.Record
	for _, v := range values {
		records = append(records, &kgo.Record{Topic: topic, Key: []byte("k" + v), Value: []byte(v), Headers: []kgo.RecordHeader{{Key: "h", Value: []byte(v)}}})
	}
	if err := c.ProduceSync(testContext(t), records...).FirstErr(); err != nil {
		t.Fatal(err)
	}
}

// consume reads n records of a topic from the start.
func consume(t testing.TB, b *Broker, topic string, n int, opts ...kgo.Opt) []*kgo.Record {
	t.Helper()
	c := client(t, b, append([]kgo.Opt{kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart())}, opts...)...)
	ctx := testContext(t)
	var all []*kgo.Record
	for len(all) < n {
		fetches := c.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			t.Fatalf("after %d of %d records: %v", len(all), n, err)
		}
		all = append(all, fetches.Records()...)
	}
	return all
}

func values(n int) []string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf("value-%05d", i))
	}
	return all
}

func TestClientRoundTrip(t *testing.T) {
	b := startBroker(t, Options{Topics: []NewTopic{{Name: "made-at-start", Partitions: 3}}})
	codecs := map[string]kgo.CompressionCodec{
		"none": kgo.NoCompression(), "gzip": kgo.GzipCompression(), "snappy": kgo.SnappyCompression(), "lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression(),
	}
	acks := map[string][]kgo.Opt{
		"0": {kgo.RequiredAcks(kgo.NoAck()), kgo.DisableIdempotentWrite()}, "1": {kgo.RequiredAcks(kgo.LeaderAck()), kgo.DisableIdempotentWrite()},
		"all": {kgo.RequiredAcks(kgo.AllISRAcks()), kgo.DisableIdempotentWrite()}, "idempotent": nil,
	}
	for codec := range codecs {
		for ack := range acks {
			t.Run(codec+" "+ack, func(t *testing.T) {
				t.Parallel()
				topic := codec + "-" + ack
				opts := append([]kgo.Opt{kgo.ProducerBatchCompression(codecs[codec]), kgo.AllowAutoTopicCreation(), kgo.MetadataMinAge(10 * time.Millisecond)}, acks[ack]...)
				want := values(1000)
				produceAll(t, client(t, b, opts...), topic, want)
				got := consume(t, b, topic, len(want))
				for i, r := range got {
					if string(r.Value) != want[i] || string(r.Key) != "k"+want[i] || r.Offset != int64(i) || len(r.Headers) != 1 || string(r.Headers[0].Value) != want[i] {
						t.Fatalf("record %d: %+v", i, r)
					}
				}
			})
		}
	}
}

func TestClientAdmin(t *testing.T) {
	b := startBroker(t, Options{Properties: map[string]string{"log.retention.hours": "5"}})
	c := client(t, b)
	admin, ctx := kadm.NewClient(c), testContext(t)
	if _, err := admin.CreateTopic(ctx, 3, 1, map[string]*string{"cleanup.policy": value("compact")}, "t"); err != nil {
		t.Fatal(err)
	}
	if _, err := admin.CreateTopic(ctx, 3, 1, nil, "t"); !errors.Is(err, kerr.TopicAlreadyExists) {
		t.Errorf("create again: %v", err)
	}
	produceAll(t, c, "t", values(30))

	topics, err := admin.ListTopics(ctx)
	if err != nil || len(topics) != 1 || len(topics["t"].Partitions) != 3 || topics["t"].Partitions[2].Leader != 1 {
		t.Errorf("topics %+v, %v", topics, err)
	}
	ends, err := admin.ListEndOffsets(ctx, "t")
	if err != nil {
		t.Fatal(err)
	}
	total := int64(0)
	ends.Each(func(o kadm.ListedOffset) { total += o.Offset })
	if total != 30 {
		t.Errorf("%d records by the end offsets, want 30", total)
	}
	brokers, err := admin.ListBrokers(ctx)
	if err != nil || len(brokers) != 1 || brokers[0].NodeID != 1 {
		t.Errorf("brokers %+v, %v", brokers, err)
	}

	entry := func(name string) kadm.Config {
		t.Helper()
		all, err := admin.DescribeTopicConfigs(ctx, "t")
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(all[0].Configs, func(c kadm.Config) bool { return c.Key == name })
		if i < 0 {
			t.Fatalf("no entry %s", name)
		}
		return all[0].Configs[i]
	}
	if c := entry("cleanup.policy"); c.MaybeValue() != "compact" || c.Source.String() != "DYNAMIC_TOPIC_CONFIG" {
		t.Errorf("%+v", c)
	}
	if c := entry("retention.ms"); c.MaybeValue() != "18000000" {
		t.Errorf("retention of a broker that says log.retention.hours=5: %+v", c)
	}
	log := func() storage.Config {
		im := b.image.Load()
		return newTopicConfig(b.settings.Load(), topicSettings(im, "t"), false).log
	}
	if _, err := admin.AlterTopicConfigs(ctx, []kadm.AlterConfig{
		{Op: kadm.SetConfig, Name: "retention.ms", Value: value("1000")},
		{Op: kadm.AppendConfig, Name: "cleanup.policy", Value: value("delete")},
	}, "t"); err != nil {
		t.Fatal(err)
	}
	if got := log(); got.RetentionMs != 1000 || !got.Compact || !got.Delete {
		t.Errorf("settings of the log after they were altered: %+v", got)
	}
	if _, err := admin.AlterBrokerConfigs(ctx, []kadm.AlterConfig{{Op: kadm.SetConfig, Name: "message.max.bytes", Value: value("5000")}}, 1); err != nil {
		t.Fatal(err)
	}
	if got := log(); got.MaxMessageBytes != 5000 {
		t.Errorf("largest batch after message.max.bytes was set: %d", got.MaxMessageBytes)
	}
	plain := client(t, b, kgo.ProducerBatchCompression(kgo.NoCompression()))
	err = plain.ProduceSync(ctx, &kgo.Record{Topic: "t", Key: []byte("k"), Value: payload(6000)}).FirstErr()
	if !errors.Is(err, kerr.MessageTooLarge) {
		t.Errorf("a record of 6000 bytes: %v, want MESSAGE_TOO_LARGE", err)
	}

	if _, err := admin.DeleteTopics(ctx, "t"); err != nil {
		t.Fatal(err)
	}
	topics, err = kadm.NewClient(client(t, b)).ListTopics(ctx) // the other client has it cached
	if err != nil || len(topics) != 0 {
		t.Errorf("topics after the last was deleted: %+v, %v", topics, err)
	}
	if _, err := admin.CreateTopic(ctx, 1, 1, nil, "t"); err != nil {
		t.Errorf("create anew: %v", err)
	}
	produceAll(t, client(t, b), "t", values(1))
	if got := consume(t, b, "t", 1); got[0].Offset != 0 {
		t.Errorf("the first record of the new topic has offset %d", got[0].Offset)
	}
}

// A consumer that waits gets records when they come, from a topic that is
// deleted meanwhile it gets an error, and it goes on with the topic that is made
// in its place.
func TestClientWaits(t *testing.T) {
	b := startBroker(t, Options{Topics: []NewTopic{{Name: "t", Partitions: 1}}})
	c := client(t, b, kgo.ConsumeTopics("t"), kgo.FetchMaxWait(30*time.Second), kgo.MetadataMinAge(10*time.Millisecond))
	p := client(t, b)
	for i, v := range values(20) {
		produceAll(t, p, "t", []string{v})
		fetches := c.PollFetches(testContext(t))
		if err := fetches.Err(); err != nil || fetches.NumRecords() != 1 || fetches.Records()[0].Offset != int64(i) {
			t.Fatalf("record %d: %v, %v", i, fetches.Records(), err)
		}
	}
}

// A stop and a start keep topics, ids, configurations and records, and no log is
// opened before somebody asks for it.
func TestRestart(t *testing.T) {
	dirs := []string{t.TempDir(), t.TempDir()}
	o := Options{Dirs: dirs, NodeID: 1, Listeners: []Listener{{Addr: "127.0.0.1:0"}}, Topics: []NewTopic{{Name: "t", Partitions: 8}}}
	want := values(500)
	b, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	produceAll(t, client(t, b), "t", want)
	id := b.image.Load().Topic("t").ID
	killed := copyDirs(t, dirs)
	if err := b.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, dir := range dirs {
		if found, err := filepath.Glob(filepath.Join(dir, "t-*", "*.log")); err != nil || len(found) == 0 {
			t.Errorf("%s has no partition: %v", dir, err)
		}
	}
	for name, dirs := range map[string][]string{"clean": dirs, "killed": killed} {
		t.Run(name, func(t *testing.T) {
			o := o
			o.Dirs = dirs
			b := startBroker(t, o)
			if name == "clean" {
				for p := range int32(8) {
					if b.store.Get(storage.TopicPartition{Topic: "t", Partition: p}) != nil {
						t.Errorf("partition %d is open though nobody asked for it", p)
					}
				}
			}
			if got := b.image.Load().Topic("t").ID; got != id {
				t.Errorf("topic id %v, was %v", got, id)
			}
			var got []string
			for _, r := range consume(t, b, "t", len(want)) {
				got = append(got, string(r.Value))
			}
			if slices.Sort(got); !slices.Equal(got, want) {
				t.Errorf("%d records, want %d, or they differ", len(got), len(want))
			}
			produceAll(t, client(t, b), "t", values(10))
		})
	}
}

// copyDirs copies directories as they are, like a kill leaves them.
func copyDirs(t *testing.T, dirs []string) []string {
	t.Helper()
	var all []string
	for _, dir := range dirs {
		to := t.TempDir()
		if err := os.CopyFS(to, os.DirFS(dir)); err != nil {
			t.Fatal(err)
		}
		all = append(all, to)
	}
	return all
}

// A second broker on the same directory is refused, and does it no harm.
func TestLocked(t *testing.T) {
	b := startBroker(t, Options{Topics: []NewTopic{{Name: "t", Partitions: 1}}})
	second, err := New(Options{NodeID: 1, Dirs: b.o.Dirs, Listeners: []Listener{{Addr: "127.0.0.1:0"}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := second.Start(t.Context()); err == nil {
		t.Error("two brokers share a directory")
	}
	produceAll(t, client(t, b), "t", values(10))
	consume(t, b, "t", 10)
}
