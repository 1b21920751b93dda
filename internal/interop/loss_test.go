//go:build interop

package interop

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"kf/internal/format/batch"
	"kf/internal/format/checkpoint"
	"kf/internal/format/offsetindex"
	"kf/internal/storage/disk"
)

// A loss is a damage with which Kafka 4.4 starts and loses or hides records, or
// writes to a directory that another process uses.
type loss struct {
	name    string
	killed  bool // no marker of a clean stop
	damage  func(t *testing.T, dir string)
	refused string // what kf says if it does not start; else it serves every record
	notice  string // what the log of kf says if it starts
	anew    int    // offset at which the log begins again, all records kept aside
}

// lossRecords is how many records of "kept" there are; its segments hold 20.
const lossRecords = 75

func segmentOf(dir string, base int64, ext string) string {
	return filepath.Join(dir, "kept-0", fmt.Sprintf("%020d%s", base, ext))
}

// rewrite changes the bytes of a file.
func rewrite(t *testing.T, path string, change func(p []byte) []byte) {
	t.Helper()
	p, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, change(p), 0o644); err != nil {
		t.Fatal(err)
	}
}

func appended(more []byte) func([]byte) []byte {
	return func(p []byte) []byte { return append(p, more...) }
}

// halfBatch is the first half of a batch that never was.
func halfBatch(t *testing.T) []byte {
	t.Helper()
	h := batch.Header{BaseOffset: lossRecords, Magic: 2, LastOffsetDelta: 0, ProducerID: -1, ProducerEpoch: -1, BaseSequence: -1}
	p, err := batch.Append(nil, h, func(yield func(*batch.Record) bool) {
		yield(&batch.Record{Offset: lossRecords, Value: bytes.Repeat([]byte("torn"), 100)})
	})
	if err != nil {
		t.Fatal(err)
	}
	return p[:len(p)/2]
}

func losses() []loss {
	metadataLog := func(dir string) string {
		return filepath.Join(dir, "__cluster_metadata-0", "00000000000000000000.log")
	}
	lastEntry := func(position int32) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) {
			rewrite(t, segmentOf(dir, lastBase(t, dir), ".index"), func(p []byte) []byte {
				if len(p) < offsetindex.EntrySize {
					t.Fatal("the active index has no entry")
				}
				binary.BigEndian.PutUint32(p[len(p)-4:], uint32(position))
				return p
			})
		}
	}
	return []loss{
		{name: "last index entry inside a batch", notice: "indexes of the segment are rebuilt", damage: lastEntry(33)},
		{name: "last index entry beyond the file", notice: "indexes of the segment are rebuilt", damage: lastEntry(1 << 30)},
		{name: "torn batch behind a clean stop", notice: ".kept", damage: func(t *testing.T, dir string) {
			rewrite(t, segmentOf(dir, lastBase(t, dir), ".log"), appended(halfBatch(t)))
		}},
		{name: "loose bytes behind a clean stop", notice: ".kept", damage: func(t *testing.T, dir string) {
			rewrite(t, segmentOf(dir, lastBase(t, dir), ".log"), appended([]byte("loose")))
		}},
		{name: "zeros behind a clean stop", notice: "100 zeros", damage: func(t *testing.T, dir string) {
			rewrite(t, segmentOf(dir, lastBase(t, dir), ".log"), appended(make([]byte, 100)))
		}},
		{name: "damaged metadata log", refused: "restore the file from a copy", damage: func(t *testing.T, dir string) {
			rewrite(t, metadataLog(dir), func(p []byte) []byte { p[len(p)/2] ^= 1; return p })
		}},
		{name: "damaged start of the metadata log", refused: "restore the file from a copy", damage: func(t *testing.T, dir string) {
			rewrite(t, metadataLog(dir), func(p []byte) []byte { p[70] ^= 1; return p })
		}},
		{name: "empty metadata log", refused: "restore the log from a copy", damage: func(t *testing.T, dir string) {
			rewrite(t, metadataLog(dir), func([]byte) []byte { return nil })
		}},
		{name: "no partition.metadata", notice: "partition.metadata", damage: func(t *testing.T, dir string) {
			if err := os.Remove(filepath.Join(dir, "kept-0", "partition.metadata")); err != nil {
				t.Fatal(err)
			}
		}},
		{name: "log start offset behind the log end", anew: 1000, notice: ".kept", damage: func(t *testing.T, dir string) {
			p := checkpoint.AppendOffsets(nil, []checkpoint.Offset{{Topic: "kept", Partition: 0, Offset: 1000}})
			rewrite(t, filepath.Join(dir, "log-start-offset-checkpoint"), func([]byte) []byte { return p })
		}},
		{name: "loose bytes in a sealed segment", killed: true, notice: ".kept", damage: func(t *testing.T, dir string) {
			rewrite(t, segmentOf(dir, 0, ".log"), appended([]byte("loose")))
		}},
	}
}

// lastBase returns the base offset of the active segment.
func lastBase(t *testing.T, dir string) (base int64) {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(dir, "kept-0", "*.log"))
	if err != nil || len(all) < 3 {
		t.Fatalf("%d segments: %v", len(all), err)
	}
	slices.Sort(all)
	if _, err := fmt.Sscanf(filepath.Base(all[len(all)-1]), "%d.log", &base); err != nil {
		t.Fatal(err)
	}
	return base
}

// noLosses starts kf on directories with which Kafka would lose records, and Kafka
// on the last one, in which kf has kept bytes aside.
func (s *stage) noLosses(t *testing.T) {
	base := s.dir(t) + "-base"
	b := s.kf.start(t, []string{base}, "log.index.interval.bytes=0", "log.index.size.max.bytes=240")
	write(t, b, 0, lossRecords)
	b.stop(t)
	repaired := ""
	for _, l := range losses() {
		t.Run(l.name, func(t *testing.T) {
			dir := s.dir(t)
			copyTree(t, base, dir)
			if l.killed {
				for _, name := range []string{".kafka_cleanshutdown", "recovery-point-offset-checkpoint"} {
					if err := os.Remove(filepath.Join(dir, name)); err != nil {
						t.Fatal(err)
					}
				}
			}
			l.damage(t, dir)
			before := contents(t, dir)
			b, err := s.kf.try(t, anyPort, []string{dir}, calm)
			if err != nil {
				if l.refused == "" || !strings.Contains(err.Error(), l.refused) {
					t.Errorf("kf does not start: %v", err)
				}
				for path, p := range contents(t, dir) {
					if before[path] != p && filepath.Base(path) != ".lock" {
						t.Errorf("kf refuses the directory and changes %s", path)
					}
				}
				return
			}
			if l.anew > 0 {
				write(t, b, l.anew, 3)
			} else {
				write(t, b, lossRecords, 3)
				read(t, b, lossRecords+3)
			}
			b.stop(t)
			if !strings.Contains(b.log(), l.notice) {
				t.Errorf("kf says nothing of %s:\n%s", l.notice, b.log())
			}
			for path, p := range before {
				if filepath.Ext(path) == ".log" && strings.Contains(path, "kept-0") && !holds(t, dir, p) {
					t.Errorf("bytes of %s are gone", path)
				}
			}
			s.checkFiles(t, "kf", dir, false)
			repaired = dir
		})
	}
	b = s.kafka.start(t, []string{repaired}, calm...)
	read(t, b, lossRecords+3)
	b.kill()
}

// write appends the records with the numbers from first on to "kept", each in a
// batch of its own.
func write(t *testing.T, b *serving, first, n int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cl := newClient(t, kgo.SeedBrokers(b.bootstrap), kgo.DefaultProduceTopic("kept"))
	defer cl.Close()
	for i := range n {
		r, err := cl.ProduceSync(ctx, &kgo.Record{Value: fmt.Append(nil, "record ", first+i)}).First()
		if err != nil {
			t.Fatalf("record %d: %v\n%s", first+i, err, b.log())
		}
		if r.Offset != int64(first+i) {
			t.Fatalf("record %d gets the offset %d\n%s", first+i, r.Offset, b.log())
		}
	}
}

// read reads the first n records of "kept".
func read(t *testing.T, b *serving, n int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cl := newClient(t, kgo.SeedBrokers(b.bootstrap), kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{"kept": {0: kgo.NewOffset().AtStart()}}))
	defer cl.Close()
	for next := 0; next < n; {
		fetches := cl.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			t.Fatalf("after %d of %d records: %v\n%s", next, n, err, b.log())
		}
		for _, r := range fetches.Records() {
			if r.Offset != int64(next) || string(r.Value) != fmt.Sprint("record ", next) {
				t.Fatalf("record %d is %q at offset %d\n%s", next, r.Value, r.Offset, b.log())
			}
			next++
		}
	}
}

// contents reads all files below dir.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		p, err := os.ReadFile(path)
		relative, _ := filepath.Rel(dir, path)
		all[relative] = string(p)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// holds reports whether the files of "kept" have all bytes of p, the ones of a
// segment: at its start, or what is not there in a file that was set aside.
func holds(t *testing.T, dir, p string) bool {
	t.Helper()
	p = strings.TrimRight(p, "\x00") // zeros say nothing
	for _, have := range contents(t, filepath.Join(dir, "kept-0")) {
		n := 0
		for n < len(p) && n < len(have) && p[n] == have[n] {
			n++
		}
		if n == len(p) {
			return true
		}
		for _, aside := range contents(t, filepath.Join(dir, "kept-0")) {
			if n > 0 && strings.Contains(aside, p[n:]) {
				return true
			}
		}
	}
	return false
}

// locked starts kf on a directory that another process uses: it writes nothing.
func (s *stage) locked(t *testing.T) {
	dir := s.dir(t)
	b := s.kf.start(t, []string{dir}, calm...)
	write(t, b, 0, 5)
	b.stop(t)
	lock, err := disk.LockDir(disk.OS, dir)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Drop()
	before := contents(t, dir)
	s.inUse(t, dir)
	after := contents(t, dir)
	for path := range after {
		if after[path] != before[path] {
			t.Errorf("kf wrote %s", path)
		}
	}
	if len(after) != len(before) {
		t.Errorf("%d files, %d before", len(after), len(before))
	}
}

// inUse starts kf on a directory that another process uses, in vain.
func (s *stage) inUse(t *testing.T, dir string) {
	t.Helper()
	b, err := s.kf.try(t, anyPort, []string{dir}, calm)
	if err == nil {
		b.kill()
		t.Fatal("kf starts on a directory that is in use")
	}
	if !strings.Contains(err.Error(), "lock") {
		t.Errorf("kf does not start: %v", err)
	}
}
