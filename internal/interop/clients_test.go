//go:build interop

package interop

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// The console clients, as their scripts start them.
const (
	consoleProducer = "org.apache.kafka.tools.ConsoleProducer"
	consoleConsumer = "org.apache.kafka.tools.consumer.ConsoleConsumer"
)

// console lets the console producer write with every codec and acknowledgement,
// and the console consumer read it all.
func (s *stage) console(t *testing.T, b *serving) {
	var want strings.Builder
	for _, codec := range []string{"none", "gzip", "snappy", "lz4", "zstd"} {
		for _, acks := range []string{"0", "1", "all"} {
			var lines strings.Builder
			for i := range 20 {
				fmt.Fprintf(&lines, "%s %s %d\tvalue é %s\n", codec, acks, i, strings.Repeat("x", i*20))
			}
			s.java(t, consoleProducer, lines.String(), "--bootstrap-server", b.bootstrap, "--topic", "console", "--compression-codec", codec,
				"--command-property", "acks="+acks, "--command-property", "enable.idempotence="+fmt.Sprint(acks == "all"), "--reader-property", "parse.key=true")
			want.WriteString(lines.String())
		}
	}
	got := s.java(t, consoleConsumer, "", "--bootstrap-server", b.bootstrap, "--topic", "console", "--partition", "0", "--offset", "earliest",
		"--formatter-property", "print.key=true", "--max-messages", fmt.Sprint(strings.Count(want.String(), "\n")), "--timeout-ms", "30000")
	if got, want := sortedLines(got), sortedLines(want.String()); got != want {
		t.Errorf("the console consumer reads something else %s", difference(got, want))
	}
}

// sortedLines sorts the lines of a text. A producer with acks 0 ends before its
// records are written, so that the next one may overtake it.
func sortedLines(text string) string {
	return strings.Join(slices.Sorted(strings.Lines(text)), "")
}

// franz lets franz-go write with every codec and acknowledgement, and read it all.
func (s *stage) franz(t *testing.T, b *serving) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	codecs := map[string]kgo.CompressionCodec{
		"none": kgo.NoCompression(), "gzip": kgo.GzipCompression(), "snappy": kgo.SnappyCompression(), "lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression(),
	}
	acknowledgements := map[string][]kgo.Opt{
		"0":   {kgo.RequiredAcks(kgo.NoAck()), kgo.DisableIdempotentWrite()},
		"1":   {kgo.RequiredAcks(kgo.LeaderAck()), kgo.DisableIdempotentWrite()},
		"all": {kgo.RequiredAcks(kgo.AllISRAcks())},
	}
	var want []*kgo.Record
	for name, codec := range codecs {
		for acks, opts := range acknowledgements {
			cl := newClient(t, append(opts, kgo.SeedBrokers(b.bootstrap), kgo.ProducerBatchCompression(codec), kgo.DefaultProduceTopic("franz"), kgo.RecordPartitioner(kgo.ManualPartitioner()))...)
			for i := range 30 {
				r := &kgo.Record{Key: fmt.Append(nil, name, acks, i), Value: bytes.Repeat([]byte{byte(i)}, i*50), Timestamp: time.UnixMilli(1_700_000_000_000 + int64(i))}
				switch i {
				case 1:
					r.Key, r.Value = nil, nil
				case 2:
					r.Key = []byte{}
				case 3:
					r.Headers = []kgo.RecordHeader{{Key: "h", Value: nil}, {Key: "h", Value: []byte{}}, {Key: "", Value: []byte("é")}}
				}
				want = append(want, r)
				if err := cl.ProduceSync(ctx, r).FirstErr(); err != nil {
					t.Fatalf("%s, acks %s: %v\n%s", name, acks, err, b.log())
				}
			}
			cl.Close()
		}
	}
	cl := newClient(t, kgo.SeedBrokers(b.bootstrap), kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{"franz": {0: kgo.NewOffset().AtStart()}}))
	defer cl.Close()
	var got []*kgo.Record
	for len(got) < len(want) {
		fetches := cl.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			t.Fatalf("after %d of %d records: %v\n%s", len(got), len(want), err, b.log())
		}
		got = append(got, fetches.Records()...)
	}
	for i, r := range got {
		if r.Offset != int64(i) {
			t.Fatalf("record %d has the offset %d", i, r.Offset)
		}
	}
	text := func(all []*kgo.Record) []string {
		var out []string
		for _, r := range all {
			out = append(out, fmt.Sprintf("%q %t %x %t %d %+v", r.Key, r.Key == nil, r.Value, r.Value == nil, r.Timestamp.UnixMilli(), r.Headers))
		}
		slices.Sort(out) // as sortedLines
		return out
	}
	if got, want := strings.Join(text(got), "\n"), strings.Join(text(want), "\n"); got != want {
		t.Errorf("franz-go reads something else %s", difference(got, want))
	}
}

func newClient(t *testing.T, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	cl, err := kgo.NewClient(append(opts, kgo.AllowAutoTopicCreation())...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.Close)
	return cl
}

// clients lets clients of several makers use kf; all of what they see of it is
// what they see of Kafka on the same directory.
func (s *stage) clients(t *testing.T) {
	dir := s.dir(t)
	b := s.kf.start(t, []string{dir}, calm...)
	t.Run("console", func(t *testing.T) { s.console(t, b) })
	t.Run("franz-go", func(t *testing.T) { s.franz(t, b) })
	want := s.see(t, b)
	b.stop(t)
	s.checkFiles(t, "kf", dir, false)
	b = s.kafka.start(t, []string{dir}, calm...)
	s.inUse(t, dir)
	same(t, "Kafka serves something else than kf", s.see(t, b), want)
	b.kill()
}
