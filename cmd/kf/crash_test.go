package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"kf/internal/kftest"
)

// A broker is a running "kf serve".
type broker struct {
	cmd  *exec.Cmd
	addr string
	log  *os.File
}

// freePort returns a port that was free a moment ago: a broker that is killed
// and started again must keep its address.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// serve starts "kf serve" on a data directory and returns once it says that it
// is ready. Its log is appended to a file beside the directory.
func serve(t *testing.T, dir, addr string, args ...string) *broker {
	t.Helper()
	log, err := os.OpenFile(dir+".log", os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	b := &broker{addr: addr, log: log}
	b.cmd = exec.Command("kf", append([]string{"serve", "--data-dir", dir, "--listen", addr}, args...)...)
	b.cmd.Stderr = log
	stdout, err := b.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := b.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.kill)
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		b.kill()
		text, _ := os.ReadFile(dir + ".log")
		t.Fatalf("kf serve did not become ready: %v\n%s", err, tail(text))
	}
	if !strings.Contains(line, addr) {
		t.Fatalf("ready line %q does not name %s", line, addr)
	}
	go io.Copy(io.Discard, stdout)
	return b
}

func tail(text []byte) []byte { return text[max(0, len(text)-4000):] }

// kill ends the broker as kill -9 does.
func (b *broker) kill() {
	if b.cmd.ProcessState == nil {
		b.cmd.Process.Kill()
		b.cmd.Wait()
		b.log.Close()
	}
}

// stop ends the broker as SIGTERM does, which must succeed.
func (b *broker) stop(t *testing.T) {
	t.Helper()
	if err := b.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := b.cmd.Wait(); err != nil {
		text, _ := os.ReadFile(b.log.Name())
		t.Fatalf("kf serve did not stop cleanly: %v\n%s", err, tail(text))
	}
	b.log.Close()
}

// crashRounds is how often TestCrash kills the broker: KF_CRASH_ROUNDS, which
// "make soak" sets.
func crashRounds(t *testing.T) int {
	text := os.Getenv("KF_CRASH_ROUNDS")
	if text == "" {
		return 4
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("KF_CRASH_ROUNDS=%q is no number of rounds", text)
	}
	return n
}

// TestCrash kills a broker at random moments while an idempotent producer
// writes with acks=all, topics come and go, configurations change, and groups
// commit offsets. In the end every acknowledged record is there once and in order,
// every topic whose creation was acknowledged, and every commit.
func TestCrash(t *testing.T) {
	const (
		topic      = "kill"
		partitions = 6
		producers  = 3
	)
	random := kftest.Random(t)
	rounds := crashRounds(t)
	dir, addr := filepath.Join(t.TempDir(), "data"), freePort(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()

	start := func() *broker {
		return serve(t, dir, addr, "--topic", fmt.Sprintf("%s:%d", topic, partitions), "-c", "offsets.topic.num.partitions=5", "-c", "group.initial.rebalance.delay.ms=0")
	}
	b := start()
	client := newClient(t, addr)
	admin := kadm.NewClient(client)
	// Small segments and short delays: rolls, index trims, deletions all the time.
	value := func(s string) *string { return &s }
	if _, err := admin.AlterTopicConfigs(ctx, []kadm.AlterConfig{
		{Op: kadm.SetConfig, Name: "segment.bytes", Value: value("1048576")},
		{Op: kadm.SetConfig, Name: "file.delete.delay.ms", Value: value("100")},
	}, topic); err != nil {
		t.Fatal(err)
	}

	var (
		mu    sync.Mutex
		acked [producers][]bool   // by the number of the record
		live  = map[string]bool{} // topics whose creation was acknowledged and whose deletion was not begun
		wg    sync.WaitGroup
	)
	for p := range producers {
		producer := newClient(t, addr, kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.MaxBufferedRecords(500))
		wg.Go(func() {
			padding := strings.Repeat("x", 700)
			for n := 0; ctx.Err() == nil; n++ {
				v := fmt.Appendf(nil, "%d/%d/%s", p, n, padding[:n%700])
				producer.Produce(ctx, &kgo.Record{Topic: topic, Partition: int32(n % partitions), Value: v}, func(_ *kgo.Record, err error) {
					if err != nil {
						return
					}
					mu.Lock()
					defer mu.Unlock()
					acked[p] = append(acked[p], make([]bool, max(0, n+1-len(acked[p])))...)
					acked[p][n] = true
				})
			}
			producer.Flush(context.WithoutCancel(ctx))
		})
	}
	wg.Go(func() { // topics come and go
		for n := 0; ctx.Err() == nil; n++ {
			name := fmt.Sprintf("short-lived-%d", n)
			if r, err := admin.CreateTopic(ctx, 2, 1, nil, name); err == nil && r.Err == nil {
				mu.Lock()
				live[name] = true
				mu.Unlock()
			}
			if n%3 == 2 {
				mu.Lock()
				old := fmt.Sprintf("short-lived-%d", n-2)
				delete(live, old)
				mu.Unlock()
				admin.DeleteTopic(ctx, old)
			}
			select {
			case <-ctx.Done():
			case <-time.After(20 * time.Millisecond):
			}
		}
	})
	commits := commitAll(ctx, t, &wg, addr, topic, partitions)
	until(t, "a commit of each group", commits.begun)
	for round := range rounds {
		time.Sleep(time.Duration(50+random.IntN(700)) * time.Millisecond)
		b.kill()
		if round%10 == 9 { // twice in a row, the second time while it recovers
			b = start()
			b.kill()
		}
		b = start()
	}
	cancel()
	wg.Wait()
	b.stop(t)
	b = start()

	// Numbers rise in a partition: so each is there once at most.
	var last [partitions][producers]int
	read := 0
	readEach(t, addr, topic, partitions, records(t, addr, topic), func(r *kgo.Record) {
		var p, n int
		if _, err := fmt.Sscanf(string(r.Value[:min(40, len(r.Value))]), "%d/%d/", &p, &n); err != nil || p >= producers {
			t.Fatalf("%s-%d: offset %d has %.20q: %v", topic, r.Partition, r.Offset, r.Value, err)
		}
		if before := last[r.Partition][p]; n < before {
			t.Fatalf("%s-%d: record %d of producer %d comes after record %d", topic, r.Partition, n, p, before-1)
		}
		last[r.Partition][p] = n + 1
		read++
		if n < len(acked[p]) {
			acked[p][n] = false // found
		}
	})
	sent, lost := 0, 0
	for p := range acked {
		sent += len(acked[p])
		for n, missing := range acked[p] {
			if !missing {
				continue
			}
			if lost++; lost <= 5 {
				t.Errorf("record %d of producer %d was acknowledged and is lost", n, p)
			}
		}
	}
	if lost > 0 || sent == 0 {
		t.Errorf("%d acknowledged records are lost, %d were sent", lost, sent)
	}
	topics, err := kadm.NewClient(newClient(t, addr)).ListTopics(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for name := range live {
		if !topics.Has(name) {
			t.Errorf("topic %s was created and is lost", name)
		}
	}
	kept := commits.check(t, kadm.NewClient(newClient(t, addr)))
	t.Logf("%d kills, %d records sent, %d read, %d topics live, %d commits", rounds, sent, read, len(live), kept)
	b.stop(t)
	checkSegments(t, dir)
}

func newClient(t *testing.T, addr string, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	c, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(addr), kgo.RetryBackoffFn(func(int) time.Duration { return 20 * time.Millisecond }),
		kgo.MetadataMinAge(20 * time.Millisecond), kgo.UnknownTopicRetries(-1)}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// readAll returns the values of want records of a topic by partition, in order.
func readAll(t *testing.T, addr, topic string, partitions, want int) map[int32][]string {
	t.Helper()
	got := map[int32][]string{}
	readEach(t, addr, topic, partitions, want, func(r *kgo.Record) {
		got[r.Partition] = append(got[r.Partition], string(r.Value))
	})
	return got
}

// readEach calls each with want records of a topic, in order within a partition.
// It fails if the topic has another number of partitions or fewer records.
func readEach(t *testing.T, addr, topic string, partitions, want int, each func(*kgo.Record)) {
	t.Helper()
	c := newClient(t, addr, kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	defer c.Close()
	ends, err := kadm.NewClient(c).ListEndOffsets(t.Context(), topic)
	if err != nil || ends.Error() != nil {
		t.Fatal(err, ends.Error())
	}
	if len(ends[topic]) != partitions {
		t.Fatalf("%s has %d partitions, want %d", topic, len(ends[topic]), partitions)
	}
	for n := 0; n < want; {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		fetches := c.PollFetches(ctx)
		cancel()
		if err := fetches.Err(); err != nil {
			t.Fatalf("after %d of %d records: %v", n, want, err)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			each(r)
			n++
		})
	}
}

// records returns how many offsets the partitions of a topic have.
func records(t *testing.T, addr, topic string) int {
	t.Helper()
	ends, err := kadm.NewClient(newClient(t, addr)).ListEndOffsets(t.Context(), topic)
	if err != nil || ends.Error() != nil {
		t.Fatal(err, ends.Error())
	}
	n := 0
	ends.Each(func(o kadm.ListedOffset) { n += int(o.Offset) })
	return n
}

// checkSegments lets kf dump-log look at every segment with its indexes.
func checkSegments(t *testing.T, dir string) {
	t.Helper()
	logs, err := filepath.Glob(filepath.Join(dir, "*-*", "*.log"))
	if err != nil || len(logs) == 0 {
		t.Fatalf("no segments in %s: %v", dir, err)
	}
	args := []string{"dump-log", "--deep-iteration"}
	for _, log := range logs {
		// A deletion leaves active indexes as they were; one that a kill
		// interrupted before the rename makes a stray.
		if dir := filepath.Dir(log); strings.HasSuffix(dir, "-delete") || strings.HasSuffix(dir, "-stray") {
			continue
		}
		for _, file := range []string{log, strings.TrimSuffix(log, ".log") + ".index", strings.TrimSuffix(log, ".log") + ".timeindex"} {
			if _, err := os.Stat(file); errors.Is(err, os.ErrNotExist) {
				continue
			}
			args = append(args, file)
		}
	}
	c := exec.Command("kf", args...)
	var errs bytes.Buffer
	c.Stderr = &errs
	if err := c.Run(); err != nil {
		t.Errorf("kf dump-log: %v\n%s", err, tail(errs.Bytes()))
	}
}
