package broker

import (
	"fmt"
	"io"
	"net"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kf/internal/storage"
)

// benchStage returns a broker with the topic "t" and a connection to it.
func benchStage(b *testing.B) (*Broker, net.Conn) {
	br := startBroker(b, Options{Topics: []NewTopic{{Name: "t", Partitions: 1}}})
	c, err := net.Dial("tcp", br.Addr())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { c.Close() })
	return br, c
}

// BenchmarkProduce sends batches of records of 1 KiB through a socket and waits
// for each answer.
func BenchmarkProduce(b *testing.B) {
	for _, records := range []int{1, 64, 512} {
		b.Run(fmt.Sprintf("records=%d", records), func(b *testing.B) {
			br, c := benchStage(b)
			q := kmsg.NewPtrProduceRequest()
			q.SetVersion(13)
			q.Acks, q.TimeoutMillis = -1, 10000
			t := kmsg.NewProduceRequestTopic()
			t.TopicID = br.image.Load().Topic("t").ID
			p := kmsg.NewProduceRequestTopicPartition()
			p.Records = oneBatch(records, payload(1024))
			t.Partitions = append(t.Partitions, p)
			q.Topics = append(q.Topics, t)
			request := frame(1, q)
			answer := make([]byte, 64<<10)
			b.SetBytes(int64(len(p.Records)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := c.Write(request); err != nil {
					b.Fatal(err)
				}
				if _, err := io.ReadAtLeast(c, answer, 40); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkFetch fetches the same records over and over.
func BenchmarkFetch(b *testing.B) {
	for _, size := range []int{1 << 10, 64 << 10, 1 << 20} {
		b.Run(fmt.Sprintf("bytes=%d", size), func(b *testing.B) {
			br, c := benchStage(b)
			id := br.image.Load().Topic("t").ID
			l, err := br.replicas.open(br.replicas.get(id, 0))
			if err != nil {
				b.Fatal(err)
			}
			for l.Size() < 2<<20 {
				if _, err := l.Append(oneBatch(1, payload(900)), storage.AppendOptions{}); err != nil {
					b.Fatal(err)
				}
			}
			l.SetHighWatermark(l.LogEndOffset())
			q := kmsg.NewPtrFetchRequest()
			q.SetVersion(18)
			q.MaxWaitMillis, q.MinBytes, q.MaxBytes, q.SessionEpoch = 100, 1, 1<<30, -1
			t := kmsg.NewFetchRequestTopic()
			t.TopicID = id
			p := kmsg.NewFetchRequestTopicPartition()
			p.PartitionMaxBytes, p.CurrentLeaderEpoch = int32(size), -1
			t.Partitions = append(t.Partitions, p)
			q.Topics = append(q.Topics, t)
			request := frame(1, q)
			b.SetBytes(int64(size))
			b.ReportAllocs()
			buf := make([]byte, size+4096)
			for b.Loop() {
				if _, err := c.Write(request); err != nil {
					b.Fatal(err)
				}
				if _, err := io.ReadFull(c, buf[:4]); err != nil {
					b.Fatal(err)
				}
				n := int(buf[0])<<24 | int(buf[1])<<16 | int(buf[2])<<8 | int(buf[3])
				if _, err := io.ReadFull(c, buf[:n]); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
