//go:build interop && linux

package interop

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// recordSize is the size of a record's value in bytes.
const recordSize = 1 << 10

// values are what records hold in turn: text that compresses like the lines of
// an application.
var values = sync.OnceValue(func() [][]byte {
	rnd := rand.New(rand.NewPCG(3, 4))
	words := strings.Fields("order created price changed customer shipment paid cancelled north south item quantity total")
	list := make([][]byte, 1024)
	for i := range list {
		var value []byte
		for len(value) < recordSize {
			value = fmt.Appendf(value, "%s%d ", words[rnd.IntN(len(words))], rnd.IntN(100000))
		}
		list[i] = value[:recordSize:recordSize]
	}
	return list
})

// client returns a client of the server, with the defaults of franz-go apart
// from opts.
func (s *server) client(b *testing.B, opts ...kgo.Opt) *kgo.Client {
	b.Helper()
	c, err := kgo.NewClient(append([]kgo.Opt{
		kgo.SeedBrokers(s.address),
		// A client that waits between its tries would measure its own pauses.
		kgo.RetryBackoffFn(func(int) time.Duration { return 2 * time.Millisecond }),
		kgo.MetadataMinAge(10 * time.Millisecond),
	}, opts...)...)
	if err != nil {
		b.Fatal(err)
	}
	return c
}

// firstAck returns the time from the exec of the server to the first record that
// it acknowledged. The topic is created first if partitions is above 0.
func (s *server) firstAck(ctx context.Context, b *testing.B, topic string, partitions int32) time.Duration {
	b.Helper()
	for {
		c, err := net.Dial("tcp", s.address)
		if err == nil {
			c.Close()
			break
		}
		s.alive(b)
		s.pause(ctx, b, err)
	}
	if partitions > 0 {
		s.createTopics(ctx, b, partitions, topic)
	}
	c := s.client(b, kgo.ProducerLinger(0))
	defer c.Close()
	if err := c.ProduceSync(ctx, &kgo.Record{Topic: topic, Value: values()[0]}).FirstErr(); err != nil {
		b.Fatalf("%s: produce: %v\n%s", s.name, err, &s.output)
	}
	return time.Since(s.started)
}

// pause waits a moment before another try after err.
func (s *server) pause(ctx context.Context, b *testing.B, err error) {
	b.Helper()
	select {
	case <-time.After(time.Millisecond):
	case <-ctx.Done():
		b.Fatalf("%s: %v\n%s", s.name, err, &s.output)
	}
}

// createTopics creates topics in one request. It tries again while the broker
// is starting.
func (s *server) createTopics(ctx context.Context, b *testing.B, partitions int32, topics ...string) {
	b.Helper()
	c := s.client(b)
	defer c.Close()
	for {
		created, err := kadm.NewClient(c).CreateTopics(ctx, partitions, 1, nil, topics...)
		if err == nil {
			err = created.Error()
		}
		switch err {
		case nil, kerr.TopicAlreadyExists: // a try that failed may have created it
			return
		}
		s.alive(b)
		s.pause(ctx, b, err)
	}
}

// endOffsets returns the sum of the log end offsets of a topic.
func (s *server) endOffsets(ctx context.Context, b *testing.B, topic string) (sum int64) {
	b.Helper()
	c := s.client(b)
	defer c.Close()
	offsets, err := kadm.NewClient(c).ListEndOffsets(ctx, topic)
	if err == nil {
		err = offsets.Error()
	}
	if err != nil {
		b.Fatalf("%s: end offsets of %s: %v", s.name, topic, err)
	}
	offsets.Each(func(o kadm.ListedOffset) { sum += o.Offset })
	return sum
}

// A rate is what a broker did with much data.
type rate struct {
	mibPerSecond float64
	cpuPerGB     float64 // seconds of processor time of the broker per 10^9 bytes of values
}

// rated times work on n records.
func (s *server) rated(b *testing.B, n int, work func()) rate {
	b.Helper()
	processor, start := s.cpuSeconds(b), time.Now()
	work()
	took, size := time.Since(start), float64(n)*recordSize
	return rate{size / (1 << 20) / took.Seconds(), (s.cpuSeconds(b) - processor) / (size / 1e9)}
}

// produce produces n records with acks=all.
func (s *server) produce(ctx context.Context, b *testing.B, topic string, n int, codec kgo.CompressionCodec) rate {
	b.Helper()
	c := s.client(b, kgo.ProducerBatchCompression(codec), kgo.MaxBufferedRecords(1<<16), kgo.DefaultProduceTopic(topic))
	defer c.Close()
	pool := values()
	var failed kgo.FirstErrPromise
	rate := s.rated(b, n, func() {
		for i := range n {
			c.Produce(ctx, &kgo.Record{Value: pool[i%len(pool)]}, failed.Promise())
		}
		if err := c.Flush(ctx); err != nil {
			b.Fatalf("%s: produce: %v\n%s", s.name, err, &s.output)
		}
	})
	if err := failed.Err(); err != nil {
		b.Fatalf("%s: produce: %v\n%s", s.name, err, &s.output)
	}
	return rate
}

// produceToEach produces one record to each partition of the topics.
func (s *server) produceToEach(ctx context.Context, b *testing.B, partitions int32, topics ...string) {
	b.Helper()
	c := s.client(b, kgo.ProducerLinger(0), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	defer c.Close()
	var records []*kgo.Record
	for _, topic := range topics {
		for partition := range partitions {
			records = append(records, &kgo.Record{Topic: topic, Partition: partition, Value: values()[0]})
		}
	}
	if err := c.ProduceSync(ctx, records...).FirstErr(); err != nil {
		b.Fatalf("%s: produce: %v\n%s", s.name, err, &s.output)
	}
}

// fetch fetches n records from the start of the topic.
func (s *server) fetch(ctx context.Context, b *testing.B, topic string, n int) rate {
	b.Helper()
	c := s.client(b, kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	defer c.Close()
	return s.rated(b, n, func() {
		for got := 0; got < n; {
			fetches := c.PollFetches(ctx)
			if err := fetches.Err(); err != nil {
				b.Fatalf("%s: fetch: %v\n%s", s.name, err, &s.output)
			}
			fetches.EachRecord(func(r *kgo.Record) {
				if len(r.Value) != recordSize {
					b.Fatalf("%s: a record of %d bytes at %s-%d offset %d", s.name, len(r.Value), r.Topic, r.Partition, r.Offset)
				}
				got++
			})
		}
	})
}

// latencies produces n records, one after the other is acknowledged, and returns
// what each took in ascending order.
func (s *server) latencies(ctx context.Context, b *testing.B, topic string, n int) []time.Duration {
	b.Helper()
	c := s.client(b, kgo.ProducerLinger(0), kgo.DefaultProduceTopic(topic))
	defer c.Close()
	pool, took := values(), make([]time.Duration, 0, n)
	for i := range n + n/10 {
		start := time.Now()
		if err := c.ProduceSync(ctx, &kgo.Record{Value: pool[i%len(pool)]}).FirstErr(); err != nil {
			b.Fatalf("%s: produce: %v\n%s", s.name, err, &s.output)
		}
		if i >= n/10 { // the first tenth warms up
			took = append(took, time.Since(start))
		}
	}
	slices.Sort(took)
	return took
}
