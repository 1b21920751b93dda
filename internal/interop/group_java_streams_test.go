//go:build interop

package interop

import (
	"context"
	"encoding/binary"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// A wordCount is a Kafka Streams application that counts words.
type wordCount struct {
	s      *stage
	b      *serving
	client *kgo.Client
	lines  int            // written
	want   map[string]int // the counts of what was written
	got    map[string]int // the newest counts
}

// streams lets instances of a Kafka Streams application count words while they
// come, go and die. No word is counted too few times; while none dies, each is
// counted once.
func (s *stage) streams(t *testing.T, server party) {
	b := server.start(t, []string{s.dir(t)}, append([]string{"num.partitions=4"}, brisk...)...)
	w := &wordCount{s: s, b: b, want: map[string]int{}, got: map[string]int{}}
	w.client = newClient(t, kgo.SeedBrokers(b.bootstrap), kgo.DefaultProduceTopic("lines"), kgo.ConsumeTopics("words"))
	w.write(t)
	first := w.start(t, "first")
	w.await(t, true)
	second := w.start(t, "second")
	w.awaitMembers(t, "first", "second")
	w.write(t)
	w.await(t, true)
	first.stop(t)
	w.awaitMembers(t, "second")
	w.write(t)
	w.await(t, true)
	third := w.start(t, "third")
	w.awaitMembers(t, "second", "third")
	w.write(t)
	second.kill()
	w.write(t)
	w.await(t, false)
	fourth := w.start(t, "fourth")
	w.awaitMembers(t, "fourth", "third")
	w.write(t)
	w.await(t, false)
	third.stop(t)
	fourth.stop(t)
	b.stop(t)
	more := 0
	for word, n := range w.want {
		more += w.got[word] - n
	}
	t.Logf("%d lines, %d words, %d counts too many after a kill", w.lines, len(w.want), more)
}

// start starts an instance.
func (w *wordCount) start(t *testing.T, name string) *process {
	t.Helper()
	dir := filepath.Join(t.TempDir(), name)
	p := w.s.judge.tools.k.start(t, dir+".log", "Streams", w.b.bootstrap, name, dir)
	p.await(t, "RUNNING", startLimit)
	return p
}

// write writes lines of two words.
func (w *wordCount) write(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for range 200 {
		one, two := fmt.Sprint("one", w.lines%7), fmt.Sprint("two", w.lines%11)
		w.want[one]++
		w.want[two]++
		w.lines++
		w.client.Produce(ctx, kgo.StringRecord(one+" "+two), func(_ *kgo.Record, err error) {
			if err != nil {
				t.Errorf("producing a line: %v", err)
			}
		})
	}
	if err := w.client.Flush(ctx); err != nil {
		t.Fatal(err)
	}
}

// await waits until all that was written is counted, exactly or at least once.
func (w *wordCount) await(t *testing.T, exactly bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), startLimit)
	defer cancel()
	for !w.counted() {
		fetches := w.client.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			t.Fatalf("%v\ncounted: %v\nof: %v\n%s", err, w.got, w.want, w.b.log())
		}
		for _, r := range fetches.Records() {
			w.got[string(r.Key)] = int(binary.BigEndian.Uint64(r.Value))
		}
	}
	for word, n := range w.want {
		if exactly && w.got[word] != n {
			t.Errorf("%s is counted %d times, and was written %d times", word, w.got[word], n)
		}
	}
}

func (w *wordCount) counted() bool {
	for word, n := range w.want {
		if w.got[word] < n {
			return false
		}
	}
	return true
}

// streamsMember finds the instances in the clients of their group.
var streamsMember = regexp.MustCompile(`'(\w+)-StreamThread-1-consumer'`)

// awaitMembers waits until the application's group has these members and is stable.
func (w *wordCount) awaitMembers(t *testing.T, names ...string) {
	t.Helper()
	await(t, fmt.Sprint(names, " count words"), func() bool {
		view := w.s.java(t, "GroupView", "", w.b.bootstrap)
		var have []string
		for _, m := range streamsMember.FindAllStringSubmatch(view, -1) {
			have = append(have, m[1])
		}
		slices.Sort(have)
		return slices.Equal(slices.Compact(have), names) && strings.Contains(view, "words: Classic, protocol 'consumer', Stable\n")
	})
}
