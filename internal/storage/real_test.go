package storage

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"kf/internal/logdir"
)

// copied makes a copy of a partition directory the one that s opens.
func (s *setup) copied(from string) {
	s.t.Helper()
	if err := os.CopyFS(filepath.Join(s.o.Dir, "p"), os.DirFS(from)); err != nil {
		s.t.Fatal(err)
	}
	s.o.Dir = filepath.Join(s.o.Dir, "p")
	s.o.Config.ProducerExpirationMs = math.MaxInt64
	s.o.Config.SegmentIndexBytes = 16384 // as the broker that wrote it
	s.o.HighWatermark = math.MaxInt64
}

// Recovery makes the bytes that Kafka's recovery makes.
func TestRecoverAsKafka(t *testing.T) {
	for _, tt := range []struct {
		partition     string
		recoveryPoint int64 // as the checkpoint file has it
		end, stable   int64 // as clients saw them
	}{
		{"payments-0", 108, 131, 124},
		{"ledger-0", 67, 72, 68},
	} {
		t.Run(tt.partition, func(t *testing.T) {
			s := newSetup(t)
			s.copied(filepath.Join("testdata/kafka-4.4/killed", tt.partition))
			s.o.Clean, s.o.RecoveryPoint = false, tt.recoveryPoint
			l := s.open()
			if l.LogEndOffset() != tt.end || l.LastStableOffset() != tt.stable {
				t.Errorf("log end %d, last stable offset %d, want %d and %d", l.LogEndOffset(), l.LastStableOffset(), tt.end, tt.stable)
			}
			records := all(t, l, ToLogEnd)
			closeLog(t, l)
			if len(s.notices) > 0 {
				t.Errorf("notices %q", s.notices)
			}
			want := newSetup(t)
			want.copied(filepath.Join("testdata/kafka-4.4/recovered", tt.partition))
			if got := s.names(); !slices.Equal(got, want.names()) {
				t.Errorf("files %q, want %q", got, want.names())
			}
			for _, name := range want.names() {
				if name == logdir.NameLeaderEpochCheckpoint {
					continue // the start made a new leader epoch
				}
				if !bytes.Equal(s.read(name), want.read(name)) {
					t.Errorf("%s is not Kafka's", name)
				}
			}
			l = want.open()
			if got := all(t, l, ToLogEnd); !slices.Equal(got, records) {
				t.Errorf("records of what Kafka recovered: %d, of what kf recovered: %d", len(got), len(records))
			}
			closeLog(t, l)
		})
	}
}

// What a clean stop of Kafka left opens without a word, and without a change.
func TestOpenKafkas(t *testing.T) {
	dirs, err := filepath.Glob("../../cmd/kf/testdata/kafka-4.4/*/*-[0-9]")
	if err != nil || len(dirs) < 10 {
		t.Fatalf("%d partitions, %v", len(dirs), err)
	}
	for _, dir := range dirs {
		group, name := filepath.Base(filepath.Dir(dir)), filepath.Base(dir)
		if group == "damaged" || name == "__cluster_metadata-0" { // which has no indexes there
			continue
		}
		if logs, err := filepath.Glob(filepath.Join(dir, "*.log")); err != nil || len(logs) == 0 {
			t.Fatalf("%s: no log, %v", dir, err)
		}
		t.Run(group+" "+name, func(t *testing.T) {
			s := newSetup(t)
			s.copied(dir)
			files := map[string][]byte{}
			for _, name := range s.names() {
				files[name] = s.read(name)
			}
			l := s.open()
			records := all(t, l, ToLogEnd)
			closeLog(t, l)
			if len(s.notices) > 0 {
				t.Errorf("notices %q", s.notices)
			}
			for name, p := range files {
				got, err := os.ReadFile(s.path(name))
				switch {
				case err != nil && strings.HasSuffix(name, ".snapshot"): // an older one, which Kafka removes too
				case len(records) == 0 && name == logdir.NameLeaderEpochCheckpoint: // an epoch without data goes at a start
				case err != nil || !bytes.Equal(got, p):
					t.Errorf("%s changed: %v", name, err)
				}
			}
			s.o.Clean = false
			l = s.open()
			if got := all(t, l, ToLogEnd); !slices.Equal(got, records) {
				t.Errorf("recovery changed the records: %d, were %d", len(got), len(records))
			}
			closeLog(t, l)
			for name, p := range files {
				if strings.HasSuffix(name, ".log") && !bytes.Equal(s.read(name), p) {
					t.Errorf("recovery changed %s", name)
				}
			}
		})
	}
}
