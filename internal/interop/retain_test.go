//go:build interop

package interop

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"kf/internal/format/checkpoint"
	"kf/internal/logdir"
)

// busy are broker configs with which the cleaner and retention take away at once
// what they may.
var busy = []string{
	"log.cleaner.backoff.ms=100",
	"log.retention.check.interval.ms=200",
	"log.initial.task.delay.ms=100",
	"offsets.retention.check.interval.ms=86400000",
	"transaction.abort.timed.out.transaction.cleanup.interval.ms=86400000",
}

// cleaned lets Kafka and kf compact and delete the same records: the same are left.
func (s *stage) cleaned(t *testing.T) {
	now := time.Now().UnixMilli()
	dir := s.dir(t)
	b := s.kafka.start(t, []string{dir}, calm...)
	s.java(t, "Dirt", "", b.bootstrap, "0", fmt.Sprint(now))
	b.stop(t)
	var seen [2][]string
	for i, p := range []party{s.kafka, s.kf} {
		mine := dir + "-" + p.name
		copyTree(t, dir, mine)
		b := p.start(t, []string{mine}, busy...)
		// kf opens no partition for the sake of old timestamps, before a client wants it.
		s.java(t, "org.apache.kafka.tools.GetOffsetShell", "", "--bootstrap-server", b.bootstrap)
		for round := range 3 {
			if round > 0 {
				s.java(t, "Dirt", "", b.bootstrap, fmt.Sprint(round), fmt.Sprint(now+int64(round)*1000))
			}
			settle(t, b, mine, now)
			seen[i] = append(seen[i], left(s.see(t, b)))
		}
		// By now the tombstones of round 0 are gone.
		for line := range strings.Lines(seen[i][2]) {
			var offset int64
			if _, err := fmt.Sscanf(line, `{"partition":"forget-0","offset":%d,`, &offset); err == nil && offset < 60 && strings.Contains(line, `"value":null`) {
				t.Errorf("%s keeps a tombstone: %s", p.name, line)
			}
		}
		b.stop(t)
	}
	for round, want := range seen[0] {
		same(t, fmt.Sprintf("round %d: kf leaves other records than Kafka", round), withoutTombstones(seen[1][round]), withoutTombstones(want))
	}
	if t.Failed() {
		t.Logf("files: %s and %s", keep(t, dir+"-Kafka"), keep(t, dir+"-kf"))
	}
}

// left returns what clients see of the topics of users, without look-ups by time:
// Kafka looks into one segment, even if the cleaner has taken away what was there.
func left(seen string) string {
	return without(seen, func(line string) bool {
		return strings.Contains(line, `"partition":"__`) || strings.Contains(line, `"topic":"__`) || strings.Contains(line, `"from":`)
	})
}

// withoutTombstones leaves out those of "forget": when they go depends on how often
// the cleaner came by.
func withoutTombstones(seen string) string {
	return without(seen, func(line string) bool {
		return strings.HasPrefix(line, `{"partition":"forget-0",`) && (strings.Contains(line, `"value":null`) || strings.Contains(line, `"committed":`))
	})
}

func without(seen string, out func(line string) bool) string {
	var rest strings.Builder
	for line := range strings.Lines(seen) {
		if !out(line) {
			rest.WriteString(line)
		}
	}
	return rest.String()
}

// A segmentFile is a .log file.
type segmentFile struct{ base, size int64 }

// segments lists the segments of partition 0 of a topic.
func segments(dir, topic string) (all []segmentFile) {
	entries, err := os.ReadDir(filepath.Join(dir, topic+"-0"))
	if err != nil {
		return nil
	}
	for _, e := range entries {
		f := logdir.ParseFileName(e.Name())
		info, err := e.Info()
		if f.Kind == logdir.KindLog && f.State == logdir.StateLive && err == nil {
			all = append(all, segmentFile{f.BaseOffset, info.Size()})
		}
	}
	return all
}

// settle waits until there is nothing more to take away.
func settle(t *testing.T, b *serving, dir string, now int64) {
	t.Helper()
	done := map[string]func() bool{
		"old":   func() bool { all := segments(dir, "old"); return len(all) == 1 && all[0].size == 0 },
		"mixed": func() bool { all := segments(dir, "mixed"); return len(all) > 0 && all[0].base > 20 },
		"both":  func() bool { all := segments(dir, "both"); return len(all) > 0 && all[0].base > 20 },
		"cut":   func() bool { all := segments(dir, "cut"); return len(all) > 1 && all[1].base > 50 },
		"by-size": func() bool {
			total := int64(0)
			all := segments(dir, "by-size")
			for _, s := range all {
				total += s.size
			}
			return len(all) > 0 && total-all[0].size < 3000
		},
	}
	for _, topic := range []string{"latest", "forget", "latest-zipped", "latest-txn", "both"} {
		retained := done[topic]
		done[topic] = func() bool {
			all := segments(dir, topic)
			p, err := os.ReadFile(filepath.Join(dir, "cleaner-offset-checkpoint"))
			if err != nil || len(all) == 0 {
				return false
			}
			offsets, err := checkpoint.DecodeOffsets(p)
			return err == nil && (retained == nil || retained()) && slices.Contains(offsets, checkpoint.Offset{Topic: topic, Partition: 0, Offset: all[len(all)-1].base})
		}
	}
	for topic, holds := range done {
		func() {
			defer func() {
				if t.Failed() {
					t.Logf("%s: %v\n%s\nfiles: %s", topic, segments(dir, topic), b.log(), keep(t, dir))
				}
			}()
			await(t, fmt.Sprintf("%s has cleaned %s", b.name, topic), holds)
		}()
	}
}
