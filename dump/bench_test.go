package dump

import (
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"kf/internal/cli"
	"kf/internal/format/batch"
	"kf/internal/format/codec"
	"kf/internal/render"
	"kf/internal/segment"
)

// benchSegment writes a segment of about size bytes: batches of 16 records with
// a key of 10 bytes and a text value of 1 KiB.
func benchSegment(b *testing.B, size int, id codec.ID) string {
	b.Helper()
	rnd := rand.New(rand.NewPCG(1, 2))
	words := strings.Fields("order created price changed customer shipment paid cancelled north south item quantity total")
	path := filepath.Join(b.TempDir(), "00000000000000000000.log")
	f, err := os.Create(path)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	var p []byte
	for offset, written := int64(0), 0; written < size; offset += 16 {
		h := batch.Header{
			BaseOffset: offset, Magic: 2, Attributes: int16(id), LastOffsetDelta: 15, BaseTimestamp: 1760000000000,
			MaxTimestamp: 1760000000015, ProducerID: -1, ProducerEpoch: -1, BaseSequence: -1,
		}
		p, err = batch.Append(p[:0], h, func(yield func(*batch.Record) bool) {
			for i := range int64(16) {
				var value []byte
				for len(value) < 1<<10 {
					value = fmt.Appendf(value, "%s%d ", words[rnd.IntN(len(words))], rnd.IntN(100000))
				}
				yield(&batch.Record{Offset: offset + i, Timestamp: h.BaseTimestamp + i, Key: fmt.Appendf(nil, "key-%06d", rnd.IntN(1e6)), Value: value[:1<<10]})
			}
		})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := f.Write(p); err != nil {
			b.Fatal(err)
		}
		written += len(p)
	}
	return path
}

var benchLimits = Limits{MaxBatch: segment.DefaultMaxBatch, MaxInflated: defaultMaxInflated}

func BenchmarkDumpLog(b *testing.B) {
	for _, id := range []codec.ID{codec.None, codec.Gzip, codec.LZ4, codec.Zstd} {
		for _, what := range []string{"batches", "records"} {
			b.Run(id.String()+"/"+what, func(b *testing.B) {
				path := benchSegment(b, 64<<20, id)
				opts := LogOptions{
					Files: []string{path}, PrintData: what == "records", Limits: benchLimits,
					maxBytes: single{def: fmt.Sprint(math.MaxInt32)}, keyDecoder: single{def: stringDecoder}, valueDecoder: single{def: stringDecoder},
				}
				benchRun(b, path, func(env *cli.Env) error { return DumpLog(context.Background(), env, opts) })
			})
		}
	}
}

func BenchmarkDump(b *testing.B) {
	for _, f := range []render.Format{render.Table, render.JSONLines, render.CSV} {
		b.Run(f.String(), func(b *testing.B) {
			path := benchSegment(b, 64<<20, codec.None)
			opts := Options{Paths: []string{path}, BaseOffset: -1, FromOffset: math.MinInt64, ToOffset: math.MaxInt64, Output: f, Limits: benchLimits}
			benchRun(b, path, func(env *cli.Env) error { return Dump(context.Background(), env, opts) })
		})
	}
}

func benchRun(b *testing.B, path string, run func(*cli.Env) error) {
	info, err := os.Stat(path)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(info.Size())
	b.ReportAllocs()
	env := &cli.Env{Stdout: io.Discard, Stderr: io.Discard, Now: time.Now}
	for b.Loop() {
		if err := run(env); err != nil {
			b.Fatal(err)
		}
	}
}
