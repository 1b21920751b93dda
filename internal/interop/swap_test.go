//go:build interop

package interop

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"kf/internal/format/checkpoint"
)

// TestServe compares "kf serve" with Kafka, and lets each go on with what the
// other has written.
func TestServe(t *testing.T) {
	seed := seed(t)
	s := newStage(t)
	t.Run("clients", s.clients)
	t.Run("no losses", s.noLosses)
	t.Run("locked", s.locked)
	t.Run("cleaned", s.cleaned)
	t.Run("log dirs", s.logDirs)
	t.Run("swap", func(t *testing.T) { s.swap(t, seed, 1, false) })
	t.Run("swap after kill", func(t *testing.T) { s.swap(t, seed, 2, true) })
}

// swap lets kf and Kafka serve log directories in turns, from fresh ones of kf. Each
// has to serve all that the other left, and adds to it.
func (s *stage) swap(t *testing.T, seed int64, count int, kill bool) {
	dir := s.dir(t)
	var dirs []string
	for i := range count {
		dirs = append(dirs, filepath.Join(dir, fmt.Sprint("disk", i)))
	}
	configs := append(slices.Clone(calm), "log.retention.ms=-1", "log.initial.task.delay.ms=100", "log.flush.start.offset.checkpoint.interval.ms=300")
	want := ""
	producer := &sequence{}
	for round, p := range []party{s.kf, s.kafka, s.kf, s.kafka, s.kf} {
		b := p.start(t, dirs, configs...)
		turn := fmt.Sprintf("turn %d, %s", round, p.name)
		if round > 0 {
			same(t, turn+" does not serve what it found", s.see(t, b), want)
		}
		s.java(t, "Play", "", b.bootstrap, fmt.Sprint(seed), fmt.Sprint(round))
		producer.turn(t, b)
		want = s.see(t, b)
		deleted := deletedRecords.FindAllStringSubmatch(want, -1)
		if kill && len(deleted) > 0 {
			for _, d := range deleted { // nobody promises that DeleteRecords outlives a kill before this
				awaitLogStart(t, dirs, d[1], d[2])
			}
			b.kill()
		} else {
			b.stop(t)
		}
		s.checkFiles(t, turn, dir, kill)
		if t.Failed() {
			t.Fatalf("%s: its log:\n%s\nfiles: %s", turn, b.log(), keep(t, dir))
		}
	}
	t.Logf("%d lines after %d turns", strings.Count(want, "\n"), 5)
}

// deletedRecords finds the topics of which DeleteRecords deleted some, and their log
// start offsets. They are in several log directories, whose checkpoints are written
// one after the other.
var deletedRecords = regexp.MustCompile(`"partition":"(cut|emptied)-0","start":([1-9][0-9]*)`)

// awaitLogStart waits until a checkpoint has the log start offset of a topic's
// partition 0.
func awaitLogStart(t *testing.T, dirs []string, topic, offset string) {
	t.Helper()
	want, err := strconv.ParseInt(offset, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	await(t, fmt.Sprintf("a checkpoint has %s-0 at %d", topic, want), func() bool {
		return slices.ContainsFunc(dirs, func(dir string) bool {
			p, err := os.ReadFile(filepath.Join(dir, "log-start-offset-checkpoint"))
			if err != nil {
				return false
			}
			all, err := checkpoint.DecodeOffsets(p)
			return err == nil && slices.Contains(all, checkpoint.Offset{Topic: topic, Partition: 0, Offset: want})
		})
	})
}

// await waits until the condition holds.
func await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(startLimit); !holds(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited in vain for this: %s", what)
		}
	}
}

// headOffset is what Kafka's tool says of every segment but the first.
var headOffset = regexp.MustCompile(`(?m)^Non-consecutive offsets in .*\n  -1 is followed by \d+\n`)

// checkFiles lets both dump-log programs read every file of a data directory:
// they find the same, and no damage. Where files may end in zeros Kafka's tool
// reports those: preallocated ones of a killed broker, the active indexes of a
// deleted partition and of the metadata log, which Kafka does not trim.
func (s *stage) checkFiles(t *testing.T, what, dir string, killed bool) {
	t.Helper()
	relative, err := filepath.Rel(s.root, dir)
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	for _, f := range files(t, relative) {
		var options [][]string
		sound := true
		switch filepath.Ext(f.path) {
		case ".log":
			options = [][]string{{"--deep-iteration"}}
			sound = !killed || !strings.Contains(f.path, "preallocated")
			if strings.Contains(f.path, "__cluster_metadata-0") {
				options = append(options, []string{"--cluster-metadata-decoder"})
			}
		case ".checkpoint":
			options = [][]string{{"--cluster-metadata-decoder"}}
		case ".index", ".timeindex":
			options = [][]string{{}, {"--index-sanity-check"}}
			folder := filepath.Base(filepath.Dir(f.path))
			sound = !killed && !strings.HasSuffix(folder, "-delete") && folder != "__cluster_metadata-0"
		case ".snapshot", ".txnindex":
			options = [][]string{{}}
		}
		for _, o := range options {
			count++
			v := s.judge.compare(t, append(slices.Clone(o), "--files", f.path)...)
			complaint := headOffset.ReplaceAllString(v.kafka.stderr, "")
			switch {
			case v.differ != "":
				s.judge.fail(t, v, what+": "+v.differ)
			case v.gaveUp:
				t.Errorf("%s: Kafka's tool comes to no end: %q", what, v.args)
			case sound && (v.kf.exit != 0 || v.kafka.exit != 0 || complaint != ""):
				s.judge.fail(t, v, what+": a program finds damage")
			case strings.Contains(v.kafka.stdout, "isvalid: false") || strings.Contains(v.kafka.stdout, "isValid: false"):
				s.judge.fail(t, v, what+": Kafka finds an invalid batch")
			case sound && strings.Contains(v.kafka.stdout, "invalid bytes"):
				s.judge.fail(t, v, what+": Kafka finds invalid bytes")
			}
		}
	}
	if count == 0 {
		t.Errorf("%s: no files in %s", what, dir)
	}
}
