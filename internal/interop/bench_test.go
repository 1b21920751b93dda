//go:build interop

package interop

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"kf/internal/format/batch"
)

// compareSize is the size of the segment that both programs dump, in bytes.
const compareSize = 1 << 30

// BenchmarkDumpLog times kf dump-log beside kafka-dump-log.sh, as its script starts
// it, on the same segment of 1 GiB, in turns. It reports medians in seconds and how
// many times faster kf is; it asserts nothing, because machines are noisy.
func BenchmarkDumpLog(b *testing.B) {
	k := newKafka(b)
	dir := b.TempDir()
	kf := buildKF(b, dir)
	log := writeSegment(b, dir, compareSize)
	for _, what := range []struct {
		name string
		args []string
	}{
		{"batches", []string{"--files", log}},
		{"records", []string{"--print-data-log", "--files", log}},
	} {
		b.Run(what.name, func(b *testing.B) {
			const rounds = 5
			var ours, theirs []time.Duration
			for range rounds {
				ours = append(ours, timed(b, exec.Command(kf, append([]string{"dump-log"}, what.args...)...)))
				java := []string{
					"-Xmx256M", "-cp", filepath.Join(k.libs, "*"), "-Dlog4j2.configurationFile=" + filepath.Join(k.testdata, "log4j2.xml"),
					"-Dkf.log=" + filepath.Join(dir, "log"), "org.apache.kafka.tools.DumpLogSegments",
				}
				theirs = append(theirs, timed(b, exec.Command("java", append(java, what.args...)...)))
			}
			b.ReportMetric(median(ours).Seconds(), "kf-s")
			b.ReportMetric(median(theirs).Seconds(), "kafka-s")
			b.ReportMetric(float64(median(theirs))/float64(median(ours)), "times-faster")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// buildKF builds kf in dir, as "make build" does.
func buildKF(t testing.TB, dir string) string {
	t.Helper()
	kf := filepath.Join(dir, "kf")
	build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", kf, "kf/cmd/kf")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	run(t, build)
	return kf
}

func timed(t testing.TB, c *exec.Cmd) time.Duration {
	t.Helper()
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0) // io.Discard would be a pipe
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	c.Stdout = null
	start := time.Now()
	if err := c.Run(); err != nil {
		t.Fatal(err)
	}
	return time.Since(start)
}

// median returns the middle value, or the mean of the two in the middle.
func median[T ~int64 | ~float64](values []T) T {
	values = slices.Sorted(slices.Values(values))
	n := len(values)
	return (values[(n-1)/2] + values[n/2]) / 2
}

// writeSegment writes a segment of batches of 16 records with a key of 10 bytes
// and a text value of 1 KiB. Offset and leader epoch lie outside the checksum, so
// a few batches are repeated with rising offsets.
func writeSegment(t testing.TB, dir string, size int) string {
	t.Helper()
	rnd := rand.New(rand.NewPCG(1, 2))
	words := strings.Fields("order created price changed customer shipment paid cancelled north south item quantity total")
	var templates [][]byte
	for range 64 {
		h := batch.Header{
			Magic: 2, LastOffsetDelta: 15, BaseTimestamp: 1760000000000, MaxTimestamp: 1760000000015,
			ProducerID: -1, ProducerEpoch: -1, BaseSequence: -1,
		}
		p, err := batch.Append(nil, h, func(yield func(*batch.Record) bool) {
			for i := range int64(16) {
				var value []byte
				for len(value) < 1<<10 {
					value = fmt.Appendf(value, "%s%d ", words[rnd.IntN(len(words))], rnd.IntN(100000))
				}
				yield(&batch.Record{Offset: i, Timestamp: h.BaseTimestamp + i, Key: fmt.Appendf(nil, "key-%06d", rnd.IntN(1e6)), Value: value[:1<<10]})
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		templates = append(templates, p)
	}
	path := filepath.Join(dir, "00000000000000000000.log")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for offset, written := int64(0), 0; written < size; offset += 16 {
		p := templates[offset/16%64]
		for i := range 8 {
			p[i] = byte(offset >> (8 * (7 - i)))
		}
		n, err := f.Write(p)
		if err != nil {
			t.Fatal(err)
		}
		written += n
	}
	return path
}
