package metalog_test

import (
	"fmt"
	"testing"

	"kf/internal/format/kraftrec"
	"kf/internal/image"
	"kf/internal/wire"
)

// A start that reads 100,000 batches of one record each, as an idle Kafka writes
// in 14 hours, and one that reads a snapshot of as many partitions.
func BenchmarkOpen(b *testing.B) {
	const n = 100_000
	b.Run("log", func(b *testing.B) {
		c := newCluster(b, b.TempDir())
		c.mustOpen()
		for range n {
			if err := c.append(image.Record{Message: &kraftrec.NoOpRecord{}}); err != nil {
				b.Fatal(err)
			}
		}
		c.close()
		benchmarkOpen(b, c)
	})
	b.Run("snapshot", func(b *testing.B) {
		c := newCluster(b, b.TempDir())
		c.mustOpen()
		for t := range n / 1000 {
			id := wire.UUID{0: byte(t), 15: 1}
			records := []image.Record{{Message: &kraftrec.TopicRecord{Name: fmt.Sprintf("topic-%d", t), TopicID: id}}}
			for p := range int32(1000) {
				records = append(records, image.Record{Version: 2, Message: &kraftrec.PartitionRecord{TopicID: id, PartitionID: p, Replicas: []int32{1}, ISR: []int32{1}, Leader: 1}})
			}
			if err := c.append(records...); err != nil {
				b.Fatal(err)
			}
		}
		im, _ := c.b.Publish()
		if err := c.log.Snapshot(im); err != nil {
			b.Fatal(err)
		}
		c.close()
		benchmarkOpen(b, c)
	})
}

func benchmarkOpen(b *testing.B, c *cluster) {
	b.ReportAllocs()
	for b.Loop() {
		c.mustOpen()
		c.close()
	}
}
