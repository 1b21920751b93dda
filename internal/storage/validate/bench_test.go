package validate_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"kf/internal/format/batch"
	"kf/internal/format/codec"
	"kf/internal/storage/validate"
)

// BenchmarkBatch checks batches of text as a producer sends them, for each codec
// and two sizes of records. The rate counts the bytes of the values, so that the
// codecs can be compared.
func BenchmarkBatch(b *testing.B) {
	const batchBytes = 256 << 10
	for _, size := range []int{100, 1 << 10} {
		for _, id := range []codec.ID{codec.None, codec.Gzip, codec.Snappy, codec.LZ4, codec.Zstd} {
			b.Run(fmt.Sprintf("record=%d/%s", size, id), func(b *testing.B) {
				p := textBatch(b, id, batchBytes/size, size)
				o := &validate.Options{
					FromClient: true, MaxMessageBytes: math.MaxInt32, SegmentBytes: math.MaxInt32, MaxDecompressed: math.MaxInt32,
					Now: 1760000000000, BeforeMaxMs: math.MaxInt64, AfterMaxMs: 3_600_000,
				}
				b.SetBytes(batchBytes)
				b.ReportAllocs()
				for b.Loop() {
					r, err := validate.Batch(p, o)
					if err != nil || r.Recompressed {
						b.Fatalf("encoded anew: %v, %v", r.Recompressed, err)
					}
				}
			})
		}
	}
}

// textBatch returns a batch of n records with values of size bytes.
func textBatch(t testing.TB, id codec.ID, n, size int) []byte {
	t.Helper()
	rnd := rand.New(rand.NewPCG(1, 2))
	words := strings.Fields("order created price changed customer shipment paid cancelled north south item quantity total")
	h := batch.Header{
		Magic: 2, Attributes: int16(id), LastOffsetDelta: int32(n - 1), BaseTimestamp: 1760000000000, MaxTimestamp: 1760000000000,
		ProducerID: 1, PartitionLeaderEpoch: -1,
	}
	p, err := batch.Append(nil, h, func(yield func(*batch.Record) bool) {
		for i := range int64(n) {
			var value []byte
			for len(value) < size {
				value = fmt.Appendf(value, "%s%d ", words[rnd.IntN(len(words))], rnd.IntN(100000))
			}
			if !yield(&batch.Record{Offset: i, Timestamp: h.BaseTimestamp, KeySize: -1, Value: slices.Clip(value[:size])}) {
				return
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}
