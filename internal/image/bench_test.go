package image_test

import (
	"fmt"
	"testing"

	"kf/internal/format/kraftrec"
	"kf/internal/image"
)

// many returns the records of 100 topics with so many partitions in all.
func many(partitions int) []any {
	var records []any
	for t := range 100 {
		records = append(records, topic(fmt.Sprintf("topic-%02d", t), byte(t+1)))
		for p := range partitions / 100 {
			records = append(records, partition(byte(t+1), int32(p)))
		}
	}
	return records
}

// One change of a partition in a large cluster, and its image.
func BenchmarkChange(b *testing.B) {
	for _, n := range []int{1000, 10_000, 100_000} {
		b.Run(fmt.Sprintf("partitions=%d", n), func(b *testing.B) {
			builder := image.NewBuilder(image.Empty())
			replay(b, builder, many(n)...)
			change := change(50, int32(n/200), func(r *kraftrec.PartitionChangeRecord) { r.Leader = 2 })
			b.ReportAllocs()
			for b.Loop() {
				replay(b, builder, change)
			}
		})
	}
}

// The replay of a whole log.
func BenchmarkReplay(b *testing.B) {
	records := many(100_000)
	b.ReportAllocs()
	for b.Loop() {
		replay(b, image.NewBuilder(image.Empty()), records...)
	}
	b.ReportMetric(float64(b.N*len(records))/b.Elapsed().Seconds(), "records/s")
}
