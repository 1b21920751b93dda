//go:build interop

package interop

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// BenchmarkOnline times commands of kf beside Kafka's scripts, as those start their
// tools, on three nodes of Kafka with 5,000 topics and 1,000 groups that have
// committed the offsets of 100 partitions each, in turns. It reports medians in
// seconds, how many times faster kf is, and how many requests either program sends.
//
// KF_BENCH_TOPICS (5000), KF_BENCH_GROUPS (1000) and KF_BENCH_ROUNDS (3) change that.
func BenchmarkOnline(b *testing.B) {
	topics, groups := intFromEnv(b, "KF_BENCH_TOPICS", 5000), intFromEnv(b, "KF_BENCH_GROUPS", 1000)
	rounds := intFromEnv(b, "KF_BENCH_ROUNDS", 3)
	requests := &counter{requests: make(map[int16]int)}
	c := threeNodesBehind(b, func(broker string) string { return requests.proxy(b, broker) })
	kf := buildKF(b, b.TempDir())
	crowd(b, c.bootstrap, topics, groups)
	for _, what := range []struct {
		name  string
		kf    []string
		class string
		kafka []string
	}{
		{"topics list", []string{"topics", "list"}, "TopicCommand", []string{"--list"}},
		{"topics describe", []string{"topics", "describe"}, "TopicCommand", []string{"--describe"}},
		{"topics offsets", []string{"topics", "offsets"}, "GetOffsetShell", nil},
		{"groups list", []string{"groups", "list"}, "consumer.group.ConsumerGroupCommand", []string{"--list"}},
		{"groups describe", []string{"groups", "describe", "--all-groups"}, "consumer.group.ConsumerGroupCommand", []string{"--describe", "--all-groups"}},
	} {
		b.Run(what.name, func(b *testing.B) {
			var ours, theirs []time.Duration
			var our, their int
			for range rounds {
				requests.take()
				ours = append(ours, timed(b, exec.Command(kf, append(what.kf, "-b", c.bootstrap)...)))
				var which string
				our, which = requests.take()
				b.Logf("kf: %s", which)
				theirs = append(theirs, timed(b, c.script(b, what.class, what.kafka...)))
				their, which = requests.take()
				b.Logf("Kafka's tool: %s", which)
			}
			b.ReportMetric(median(ours).Seconds(), "kf-s")
			b.ReportMetric(median(theirs).Seconds(), "kafka-s")
			b.ReportMetric(float64(median(theirs))/float64(median(ours)), "times-faster")
			b.ReportMetric(float64(our), "kf-requests")
			b.ReportMetric(float64(their), "kafka-requests")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// script returns a command that runs one of Kafka's tools as its script does.
func (c *cluster) script(t testing.TB, class string, args ...string) *exec.Cmd {
	k := c.nodes[0].k
	java := []string{
		"-Xmx256M", "-cp", filepath.Join(k.libs, "*"), "-Dlog4j2.configurationFile=" + filepath.Join(k.testdata, "log4j2.xml"),
		"-Dkf.log=" + filepath.Join(t.TempDir(), "log"), "org.apache.kafka.tools." + class, "--bootstrap-server", c.bootstrap,
	}
	return exec.Command("java", append(java, args...)...)
}

// crowd makes topics of one partition, one of a hundred, and groups that have
// committed offsets of all of that one's partitions.
func crowd(b *testing.B, bootstrap string, topics, groups int) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), 10*time.Minute)
	defer cancel()
	client, err := kgo.NewClient(kgo.SeedBrokers(strings.Split(bootstrap, ",")...))
	if err != nil {
		b.Fatal(err)
	}
	defer client.Close()
	adm := kadm.NewClient(client)
	const partitions, batch = 100, 500
	create := func(partitions int32, names ...string) {
		created, err := adm.CreateTopics(ctx, partitions, 1, nil, names...)
		if err == nil {
			err = created.Error()
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	create(partitions, "orders")
	for i := 1; i < topics; {
		var names []string
		for ; i < topics && len(names) < batch; i++ {
			names = append(names, fmt.Sprintf("topic-%05d", i))
		}
		create(1, names...)
	}
	var offsets kadm.Offsets
	for p := range int32(partitions) {
		offsets.AddOffset("orders", p, 0, -1)
	}
	var wait sync.WaitGroup
	next := newNumbers(groups)
	for range 8 {
		wait.Go(func() {
			for i := range next {
				if err := adm.CommitAllOffsets(ctx, fmt.Sprintf("group-%05d", i), offsets); err != nil {
					b.Errorf("committing: %v", err)
					return
				}
			}
		})
	}
	wait.Wait()
	if b.Failed() {
		b.FailNow()
	}
}

// newNumbers returns the numbers below n, for several to share.
func newNumbers(n int) <-chan int {
	c := make(chan int, n)
	for i := range n {
		c <- i
	}
	close(c)
	return c
}
