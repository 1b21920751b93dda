package broker

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"kf/internal/kftest"
	"kf/internal/storage/disk"
	"kf/internal/storage/disktest"
)

// A witness knows what was acknowledged.
type witness struct {
	topics map[string]bool   // created, and no deletion begun
	values []string          // of topic "log", in order
	latest map[string]string // value of each key of topic "keys"
	offset int64             // that group "g" committed of topic "log"
}

// life is what clients do to a broker, until something fails: topics that roll,
// are compacted and go, a configuration, a snapshot of the metadata, commits.
func (w *witness) life(t *testing.T, b *Broker) error {
	c := client(t, b, kgo.RequestRetries(0), kgo.RecordRetries(0), kgo.DisableIdempotentWrite(), kgo.ProducerLinger(0),
		kgo.RetryTimeout(2*time.Second), kgo.RecordDeliveryTimeout(2*time.Second), kgo.UnknownTopicRetries(0), kgo.MetadataMinAge(10*time.Millisecond))
	defer c.Close()
	admin := kadm.NewClient(c)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()

	setting := func(s string) *string { return &s }
	create := func(topic string, configs map[string]*string) error {
		r, err := admin.CreateTopic(ctx, 1, 1, configs, topic)
		if err == nil {
			err = r.Err
		}
		if err == nil {
			w.topics[topic] = true
		}
		return err
	}
	produce := func(topic, key, value string) error {
		return c.ProduceSync(ctx, &kgo.Record{Topic: topic, Key: []byte(key), Value: []byte(value)}).FirstErr()
	}
	if err := create("log", map[string]*string{"internal.segment.bytes": setting("900"), "file.delete.delay.ms": setting("1")}); err != nil {
		return err
	}
	if err := create("keys", map[string]*string{
		"internal.segment.bytes": setting("900"), "cleanup.policy": setting("compact"), "min.cleanable.dirty.ratio": setting("0.01"), "file.delete.delay.ms": setting("1"),
	}); err != nil {
		return err
	}
	for i := range 24 {
		v := fmt.Sprintf("%03d %s", i, strings.Repeat("x", 100))
		if err := produce("log", "", v); err != nil {
			return err
		}
		w.values = append(w.values, v)
		key := strconv.Itoa(i % 3)
		if err := produce("keys", key, v); err != nil {
			return err
		}
		w.latest[key] = v
		var to kadm.Offsets
		to.AddOffset("log", 0, int64(i+1), -1)
		committed, err := admin.CommitOffsets(ctx, "g", to)
		if err == nil {
			err = committed.Error()
		}
		if err != nil {
			return err
		}
		w.offset = int64(i + 1)
		if i%8 != 0 {
			continue
		}
		gone := fmt.Sprintf("gone-%d", i)
		if err := create(gone, nil); err != nil {
			return err
		}
		r, err := admin.AlterTopicConfigs(ctx, []kadm.AlterConfig{{Op: kadm.SetConfig, Name: "retention.ms", Value: setting(strconv.Itoa(86400000 + i))}}, "log")
		if err == nil {
			err = r[0].Err
		}
		if err != nil {
			return err
		}
		delete(w.topics, gone)
		d, err := admin.DeleteTopic(ctx, gone)
		if err == nil {
			err = d.Err
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// check compares a broker with what was acknowledged.
func (w *witness) check(t *testing.T, b *Broker) error {
	c := client(t, b, kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.MetadataMinAge(10*time.Millisecond))
	defer c.Close()
	topics, err := kadm.NewClient(c).ListTopics(t.Context())
	if err != nil {
		return err
	}
	for topic := range w.topics {
		if !topics.Has(topic) {
			return fmt.Errorf("topic %s is lost", topic)
		}
	}
	if topics.Has("log") {
		// A value that was not acknowledged may be there, at the end.
		got := valuesOf(t, b, "log")
		if len(got) < len(w.values) || len(got) > len(w.values)+1 {
			return fmt.Errorf("log has %d records, %d were acknowledged", len(got), len(w.values))
		}
		for i, v := range w.values {
			if got[i].value != v {
				return fmt.Errorf("record %d of log is %.10q, want %.10q", i, got[i].value, v)
			}
		}
	}
	if topics.Has("log") { // its offsets go with it
		have, err := kadm.NewClient(c).FetchOffsets(t.Context(), "g")
		if err == nil {
			err = have.Error()
		}
		if err != nil {
			return fmt.Errorf("group g: %w", err)
		}
		// Here too, one more may be there than was acknowledged.
		if got, _ := have.Lookup("log", 0); got.At < w.offset || got.At > w.offset+1 {
			return fmt.Errorf("group g committed %d, %d was acknowledged", got.At, w.offset)
		}
	}
	if topics.Has("keys") {
		have := map[string]string{}
		for _, r := range valuesOf(t, b, "keys") {
			have[r.key] = r.value
		}
		for key, v := range w.latest {
			if have[key] < v {
				return fmt.Errorf("key %s has %.10q, %.10q was acknowledged", key, have[key], v)
			}
		}
	}
	return nil
}

type keyed struct{ key, value string }

// valuesOf reads a topic of one partition to its end.
func valuesOf(t *testing.T, b *Broker, topic string) []keyed {
	t.Helper()
	c := client(t, b, kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	defer c.Close()
	ctx := testContext(t)
	ends, err := kadm.NewClient(c).ListEndOffsets(ctx, topic)
	if err != nil || ends.Error() != nil {
		t.Fatal(err, ends.Error())
	}
	end, _ := ends.Lookup(topic, 0)
	var all []keyed
	for next := int64(0); next < end.Offset; {
		fetches := c.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			t.Fatalf("%s: %v", topic, err)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			all = append(all, keyed{string(r.Key), string(r.Value)})
			next = r.Offset + 1
		})
	}
	return all
}

// faultRuns is how many faults TestFaults tries: KF_FAULTS, which "make soak"
// sets; "all" for every operation.
func faultRuns(t *testing.T) int {
	switch text := os.Getenv("KF_FAULTS"); text {
	case "":
		return 12
	case "all":
		return 1 << 30
	default:
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatalf("KF_FAULTS=%q: %v", text, err)
		}
		return n
	}
}

// TestFaults lets a file operation of a broker under load fail, in all the ways
// that there are: the process is killed there, the disk is full, it cannot be
// written. Clients get an error and nothing that was acknowledged is lost; the
// next start, with a sound disk, succeeds.
func TestFaults(t *testing.T) {
	random := kftest.Random(t)

	options := func(dir string, fsys disk.FS) Options {
		return Options{NodeID: 1, Dirs: []string{dir}, FS: fsys, Listeners: []Listener{{Addr: "127.0.0.1:0"}}, Properties: map[string]string{
			"log.cleaner.backoff.ms": "1", "replica.high.watermark.checkpoint.interval.ms": "5", "log.flush.offset.checkpoint.interval.ms": "7",
			"metadata.log.max.record.bytes.between.snapshots": "1500", "offsets.topic.num.partitions": "1",
		}}
	}
	run := func(decide func(disktest.Op) disktest.Fault) (fsys *disktest.FS, what string, err error) {
		dir := t.TempDir()
		fsys = disktest.New(func(op disktest.Op) disktest.Fault {
			f := decide(op)
			if f.Err != nil || f.Stop {
				what = op.String()
			}
			return f
		})
		w := &witness{topics: map[string]bool{}, latest: map[string]string{}}
		b, err := New(options(dir, fsys))
		if err != nil {
			return fsys, what, err
		}
		if err := b.Start(t.Context()); err == nil {
			// An error here is what clients are told; the test is what comes after.
			_ = w.life(t, b)
			_ = b.Shutdown(cancelled())
		}
		b, err = New(options(dir, disk.NoSync(disk.OS)))
		if err != nil {
			return fsys, what, err
		}
		if err := b.Start(t.Context()); err != nil {
			return fsys, what, fmt.Errorf("the next start: %w", err)
		}
		defer b.Shutdown(cancelled())
		return fsys, what, w.check(t, b)
	}
	sound, _, err := run(func(disktest.Op) disktest.Fault { return disktest.Fault{} })
	if err != nil {
		t.Fatalf("without a fault: %v", err)
	}
	total := sound.Ops()
	if total < 200 {
		t.Fatalf("only %d operations", total)
	}
	runs := min(faultRuns(t), total)
	for i := range runs {
		n := i
		if runs < total {
			n = random.IntN(total)
		}
		percent := random.IntN(101)
		at := func(op disktest.Op) bool { return op.N == n && op.Kind != disktest.Read }
		for name, decide := range map[string]func(disktest.Op) disktest.Fault{
			"kill":      disktest.StopAt(n, percent),
			"disk full": disktest.FailOn(at, disktest.ErrNoSpace, percent),
			"I/O error": disktest.FailOn(at, disktest.ErrIO, percent),
		} {
			if _, what, err := run(decide); err != nil {
				t.Errorf("%s at operation %s, %d percent: %v", name, what, percent, err)
			}
		}
	}
	t.Logf("%d of %d operations failed in three ways", runs, total)
}
