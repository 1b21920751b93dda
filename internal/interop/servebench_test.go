//go:build interop && linux

package interop

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// BenchmarkServe compares kf serve with Apache Kafka and with kfake, which does
// the same work for the same client: a fresh directory per round, a process of
// its own per broker, and the brokers take turns, so that a noisy machine hits
// all of them alike. It prints a table of medians and asserts nothing about them.
//
// KF_BENCH_MIB (512) is the data of one produce measurement in MiB,
// KF_BENCH_ROUNDS (3) the number of rounds. KF_BENCH_ONLY chooses among the brokers
// and the measurements: restart, the names of the codecs, latency, partitions.
func BenchmarkServe(b *testing.B) {
	only := newSelection(b)
	if !only.wants(serveMeasurements...) {
		return
	}
	plan := newServePlan(b, only)
	compare(b, plan.brokers, plan.rounds, plan.measure,
		fmt.Sprintf("kf serve beside others: medians of %d rounds, %d MiB per measurement in records of 1 KiB, 6 partitions, acks=all", plan.rounds, plan.mib))
}

// compare lets the brokers take turns at what measure does, and prints the medians.
func compare(b *testing.B, brokers []rival, rounds int, measure func(*testing.B, rival, reporter), caption string) {
	results := &results{brokers: brokerNames(brokers)}
	for round := range rounds {
		for _, r := range brokers {
			fmt.Printf("round %d of %d: %s\n", round+1, rounds, r.name)
			measure(b, r, func(m metric, value float64) {
				results.add(m, r.name, value)
				fmt.Printf("  %*s %s\n", -nameWidth, m.name, m.text(value))
			})
		}
	}
	fmt.Printf("\n%s\n", caption)
	results.print(os.Stdout)
	b.ReportMetric(0, "ns/op")
}

// A reporter takes what was measured.
type reporter func(metric, float64)

// A servePlan says what is measured on whom.
type servePlan struct {
	brokers    []rival
	rounds     int
	mib        int
	codecs     []codecName
	restart    bool
	latency    bool
	partitions bool
}

type codecName struct {
	name  string
	codec kgo.CompressionCodec
}

func newServePlan(b *testing.B, only selection) *servePlan {
	codecs := []codecName{
		{"none", kgo.NoCompression()}, {"gzip", kgo.GzipCompression()}, {"snappy", kgo.SnappyCompression()},
		{"lz4", kgo.Lz4Compression()}, {"zstd", kgo.ZstdCompression()},
	}
	p := &servePlan{
		brokers:    only.rivals(b),
		rounds:     intFromEnv(b, "KF_BENCH_ROUNDS", 3),
		mib:        intFromEnv(b, "KF_BENCH_MIB", 512),
		restart:    only.wants("restart"),
		latency:    only.wants("latency"),
		partitions: only.wants("partitions"),
	}
	for _, c := range codecs {
		if only.wants(c.name) {
			p.codecs = append(p.codecs, c)
		}
	}
	return p
}

// measure does one round on one broker and tells report what it finds.
func (p *servePlan) measure(b *testing.B, r rival, report reporter) {
	ctx, cancel := context.WithTimeout(b.Context(), 15*time.Minute)
	defer cancel()
	dir, err := os.MkdirTemp("", "kf-bench-")
	if err != nil {
		b.Fatal(err)
	}
	defer os.RemoveAll(dir)

	const topic = "first"
	s := startServer(b, r, filepath.Join(dir, "load"))
	report(milliseconds("start, empty directory"), ms(s.firstAck(ctx, b, topic, 6)))
	time.Sleep(time.Second) // what it does after its start is over
	report(mebibytes("memory, idle"), s.memory(b, "VmRSS"))

	fill := p.mib
	if p.restart {
		fill = 2 * p.mib
	}
	sent := fill << 20 / recordSize
	produced := s.produce(ctx, b, topic, sent, kgo.NoCompression())
	report(throughput("produce, none, just started"), produced.mibPerSecond)
	if p.restart && r.persistent {
		s.kill()
		s = startServer(b, r, filepath.Join(dir, "load"))
		report(milliseconds(fmt.Sprintf("restart with %d MiB after kill -9", fill)), ms(s.firstAck(ctx, b, topic, 0)))
		// Each firstAck adds a record.
		report(metric{name: "records lost by kill -9"}, float64(max(0, int64(sent+2)-s.endOffsets(ctx, b, topic))))
		s.stop(b)
		s = startServer(b, r, filepath.Join(dir, "load"))
		report(milliseconds(fmt.Sprintf("restart with %d MiB after a clean stop", fill)), ms(s.firstAck(ctx, b, topic, 0)))
		report(mebibytes(fmt.Sprintf("memory, restarted with %d MiB", fill)), s.memory(b, "VmRSS"))
	}
	// Kafka is slow until its code is compiled: what follows finds it warm.
	if len(p.codecs) > 0 {
		s.fetch(ctx, b, topic, int(s.endOffsets(ctx, b, topic)))
		s.produce(ctx, b, topic, p.mib<<20/recordSize, kgo.NoCompression())
	}
	for _, c := range p.codecs {
		topic, n := "codec-"+c.name, p.mib<<20/recordSize
		s.createTopics(ctx, b, 6, topic)
		produced := s.produce(ctx, b, topic, n, c.codec)
		report(throughput("produce, "+c.name), produced.mibPerSecond)
		report(cpu("produce, "+c.name), produced.cpuPerGB)
		fetched := s.fetch(ctx, b, topic, n)
		report(throughput("fetch, "+c.name), fetched.mibPerSecond)
		report(cpu("fetch, "+c.name), fetched.cpuPerGB)
	}
	report(mebibytes("memory, peak under load"), s.memory(b, "VmHWM"))
	if p.latency {
		s.createTopics(ctx, b, 1, "latency")
		d := s.latencies(ctx, b, "latency", 3000)
		report(milliseconds("sync produce, p50"), ms(d[len(d)/2]))
		report(milliseconds("sync produce, p99"), ms(d[len(d)*99/100]))
	}
	s.stop(b)
	if p.partitions {
		p.manyPartitions(ctx, b, r, report)
	}
}

// manyPartitions measures what 1,000 partitions with little in them cost.
func (p *servePlan) manyPartitions(ctx context.Context, b *testing.B, r rival, report reporter) {
	// The directory stays until the end: ext4 makes files slowly after many were
	// deleted.
	dir := b.TempDir()
	s := startServer(b, r, dir)
	s.firstAck(ctx, b, "first", 1)
	const partitions = 10
	var topics []string
	for i := range 100 {
		topics = append(topics, fmt.Sprintf("many-%d", i))
	}
	start := time.Now()
	s.createTopics(ctx, b, partitions, topics...)
	report(milliseconds("create 1,000 partitions"), ms(time.Since(start)))
	// Not all brokers make them before they answer.
	s.produceToEach(ctx, b, partitions, topics...)
	report(milliseconds("create them and produce to each"), ms(time.Since(start)))
	time.Sleep(time.Second)
	report(mebibytes("memory, 1,000 partitions"), s.memory(b, "VmRSS"))
	if r.persistent {
		s.stop(b)
		s = startServer(b, r, dir)
		report(milliseconds("restart with 1,000 partitions"), ms(s.firstAck(ctx, b, "first", 0)))
		time.Sleep(time.Second)
		report(mebibytes("memory, restarted with 1,000 partitions"), s.memory(b, "VmRSS"))
	}
	s.stop(b)
}

// A metric is a row of the table.
type metric struct {
	name   string
	unit   string
	higher bool // higher values are better
}

func milliseconds(name string) metric { return metric{name: name, unit: "ms"} }
func mebibytes(name string) metric    { return metric{name: name, unit: "MiB"} }
func throughput(name string) metric   { return metric{name: name, unit: "MiB/s", higher: true} }
func cpu(name string) metric          { return metric{name: "broker CPU, " + name, unit: "s/GB"} }

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func (m metric) text(value float64) string {
	digits := 0
	if value != float64(int64(value)) {
		digits = max(0, 3-len(strconv.Itoa(int(value))))
	}
	return strings.TrimSpace(strconv.FormatFloat(value, 'f', digits, 64) + " " + m.unit)
}

// ratio returns how many times better ours is.
func (m metric) ratio(ours, other float64) string {
	if m.higher {
		ours, other = other, ours
	}
	if m.unit == "" || ours == 0 {
		return ""
	}
	return metric{unit: "×"}.text(other / ours)
}

// results holds the values of all rounds.
type results struct {
	brokers []string
	metrics []metric // in the order of their first value
	values  map[string]map[string][]float64
}

func (r *results) add(m metric, broker string, value float64) {
	if r.values == nil {
		r.values = make(map[string]map[string][]float64)
	}
	if r.values[m.name] == nil {
		r.values[m.name] = make(map[string][]float64)
		r.metrics = append(r.metrics, m)
	}
	r.values[m.name][broker] = append(r.values[m.name][broker], value)
}

// nameWidth is the width of the longest name of a metric.
const nameWidth = 40

// print prints the medians, and how many times better kf is than the others.
func (r *results) print(to io.Writer) {
	others := slices.DeleteFunc(slices.Clone(r.brokers), func(name string) bool { return name == "kf" })
	compared := len(others) < len(r.brokers)
	w := tabwriter.NewWriter(to, 0, 0, 3, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "%*s\t%s\t", -nameWidth, "", strings.Join(r.brokers, "\t"))
	for _, name := range others {
		if compared {
			fmt.Fprintf(w, "better than %s\t", name)
		}
	}
	fmt.Fprintln(w)
	for _, m := range r.metrics {
		fmt.Fprintf(w, "%*s\t", -nameWidth, m.name) // to the left, unlike the figures
		medians := make(map[string]float64)
		for _, name := range r.brokers {
			text := "-"
			if values := r.values[m.name][name]; len(values) > 0 {
				medians[name] = median(values)
				text = m.text(medians[name])
			}
			fmt.Fprint(w, text, "\t")
		}
		for _, name := range others {
			if !compared {
				break
			}
			text := ""
			if other, ok := medians[name]; ok {
				text = m.ratio(medians["kf"], other)
			}
			fmt.Fprint(w, text, "\t")
		}
		fmt.Fprintln(w)
	}
	w.Flush()
}
