package dumptext_test

import (
	"testing"

	"kf/internal/dumptext"
)

func BenchmarkText(b *testing.B) {
	for topic := range dumptext.ShareGroupState + 1 {
		var records []dumptext.Record
		for _, d := range dumpedRecords(b) {
			if key, value := d.bytes(b); d.Topic == topic.String() && d.Fatal == "" {
				records = append(records, dumptext.Record{Offset: d.Offset, Key: key, Value: value})
			}
		}
		b.Run(topic.String(), func(b *testing.B) {
			b.ReportAllocs()
			var buf []byte
			for i := 0; b.Loop(); i++ {
				var err error
				if buf, err = topic.Append(buf[:0], " ", records[i%len(records)]); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
