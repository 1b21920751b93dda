package storage

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"kf/internal/format/batch"
	"kf/internal/format/control"
	"kf/internal/format/offsetindex"
	"kf/internal/format/txnindex"
	"kf/internal/logdir"
)

const (
	log0   = "00000000000000000000.log"
	index0 = "00000000000000000000.index"
	time0  = "00000000000000000000.timeindex"
)

// segmented makes a log of n batches of one record, per of them in a segment, and
// closes it. It returns the records as all does.
func segmented(t testing.TB, s *setup, n, per int) []string {
	t.Helper()
	one := len(value("v%03d", 0).bytes(t))
	s.o.Config.SegmentBytes, s.o.Config.IndexIntervalBytes = int32(per*one), int32(one)
	l := s.open()
	var want []string
	for i := range n {
		v := value("v%03d", i)
		v.time = int64(1000 + i)
		append1(t, l, v)
		want = append(want, fmt.Sprintf("%d=v%03d", i, i))
	}
	closeLog(t, l)
	s.o.RecoveryPoint, s.o.HighWatermark = int64(n), int64(n)
	return want
}

// starts opens the log, wants those records in it, appends one more behind next,
// and sees that another start finds everything without a word.
func starts(t *testing.T, s *setup, next int64, want ...string) {
	t.Helper()
	l := s.open()
	notices := s.notices
	wantAll(t, l, ToLogEnd, want...)
	a := append1(t, l, value("new"))
	if a.FirstOffset != next {
		t.Errorf("the next record gets offset %d, want %d", a.FirstOffset, next)
	}
	closeLog(t, l)
	again := *s
	again.o.Clean, again.o.RecoveryPoint, again.notices = true, next+1, nil
	l = again.open()
	wantAll(t, l, ToLogEnd, append(slices.Clone(want), fmt.Sprintf("%d=new", next))...)
	closeLog(t, l)
	if len(again.notices) > 0 {
		t.Errorf("the next start says %q", again.notices)
	}
	s.notices = notices
}

// kept returns the one file of bytes that were set aside.
func (s *setup) kept() (name string, p []byte) {
	s.t.Helper()
	for _, n := range s.names() {
		if strings.HasSuffix(n, logdir.KeptSuffix) {
			if name != "" {
				s.t.Fatalf("more than one kept file: %q", s.names())
			}
			name = n
		}
	}
	if name == "" {
		s.t.Fatalf("nothing was kept: %q", s.names())
	}
	if f := logdir.ParseFileName(name); f.Kind != "" || f.HasBase {
		s.t.Errorf("the name %s means something: %+v", name, f)
	}
	return name, s.read(name)
}

// After a clean stop Kafka takes what the last entry of the active index points
// at for the end of the log: with a wrong one all records of the segment vanish,
// and their offsets are given out again.
func TestWrongLastIndexEntry(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(p []byte, size int) []byte
	}{
		{"position inside a batch", func(p []byte, _ int) []byte { p[len(p)-1] += 7; return p }},
		{"position of a later batch", func(p []byte, _ int) []byte {
			copy(p[len(p)-8:], p[len(p)-16:len(p)-12])
			return p
		}},
		{"position beyond the file", func(p []byte, size int) []byte {
			binary.BigEndian.PutUint32(p[len(p)-4:], uint32(size+100))
			return p
		}},
		{"negative position", func(p []byte, _ int) []byte { p[len(p)-4] = 0xff; return p }},
		{"offset of no batch", func(p []byte, _ int) []byte {
			binary.BigEndian.PutUint32(p[len(p)-8:], 1000)
			return p
		}},
		{"zeros behind the entries", func(p []byte, _ int) []byte { return append(p, make([]byte, 800)...) }},
		{"only zeros", func(p []byte, _ int) []byte { return make([]byte, len(p)) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newSetup(t)
			want := segmented(t, s, 20, 100)
			sound := s.read(index0)
			s.write(index0, tt.change(slices.Clone(sound), len(s.read(log0))))
			starts(t, s, 20, want...)
			s.noticed("rebuilt", index0)
			if got := s.read(index0); !bytes.HasPrefix(got, sound) {
				t.Errorf("the index is not what it was")
			}
		})
	}
}

func TestWrongTimeIndex(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(p []byte) []byte
	}{
		{"timestamp too high", func(p []byte) []byte { p[len(p)-12] = 1; return p }},
		{"offset beyond the log", func(p []byte) []byte { p[len(p)-2] = 1; return p }},
		{"last entry missing", func(p []byte) []byte { return p[:0] }},
		{"zeros behind the entries", func(p []byte) []byte { return append(p, make([]byte, 120)...) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newSetup(t)
			want := segmented(t, s, 20, 100)
			s.write(time0, tt.change(s.read(time0)))
			l := s.open()
			s.noticed("rebuilt", time0)
			if f, err := l.MaxTime(); f != (Found{1019, 19, 0}) || err != nil {
				t.Errorf("largest timestamp: %+v, %v", f, err)
			}
			closeLog(t, l)
			starts(t, s, 20, want...)
		})
	}
}

func TestMissingIndexes(t *testing.T) {
	for _, clean := range []bool{true, false} {
		for _, ext := range []string{"index", "timeindex"} {
			for _, base := range []int64{0, 10, 20} { // the last one is active
				t.Run(fmt.Sprint(clean, ext, base), func(t *testing.T) {
					s := newSetup(t)
					want := segmented(t, s, 25, 10)
					name := fmt.Sprintf("%020d.%s", base, ext)
					sound := s.read(name)
					if err := os.Remove(s.path(name)); err != nil {
						t.Fatal(err)
					}
					s.o.Clean = clean
					l := s.open()
					if clean || base < 20 {
						s.noticed("rebuilt")
					}
					for i := range 25 {
						if f, err := l.FindTime(int64(1000+i), ToLogEnd); f.Offset != int64(i) || err != nil {
							t.Errorf("time %d: %+v, %v", 1000+i, f, err)
						}
					}
					closeLog(t, l)
					if !bytes.Equal(s.read(name), sound) {
						t.Errorf("the index is not what it was")
					}
					starts(t, s, 25, want...)
				})
			}
		}
	}
}

// Kafka reads a wrong index of a sealed segment as it is.
func TestWrongSealedIndex(t *testing.T) {
	s := newSetup(t)
	want := segmented(t, s, 25, 10)
	p := s.read(index0)
	for i := 0; i < len(p); i += offsetindex.EntrySize {
		binary.BigEndian.PutUint32(p[i+4:], binary.BigEndian.Uint32(p[i+4:])+5)
	}
	s.write(index0, p)
	l := s.open()
	for range 3 {
		wantAll(t, l, ToLogEnd, want...)
	}
	s.noticed("1 ", index0)
	closeLog(t, l)
}

// Kafka leaves bytes behind the last batch after a clean stop: what is appended
// behind them is acknowledged and can never be read; or it does not start.
func TestLooseTail(t *testing.T) {
	whole := value("lost").bytes(t)
	for _, clean := range []bool{true, false} {
		for _, tt := range []struct {
			name  string
			tail  []byte
			keeps bool
		}{
			{"part of a batch", whole[:len(whole)-1], true},
			{"a header that runs past the end", whole[:batch.HeaderSize], true},
			{"loose bytes", []byte("0123456789"), true},
			{"zeros", make([]byte, 5000), false},
			{"few zeros", make([]byte, 5), false},
			{"garbage with a small length", bytes.Repeat([]byte{0, 1}, 50), true},
		} {
			t.Run(fmt.Sprint(tt.name, clean), func(t *testing.T) {
				s := newSetup(t)
				want := segmented(t, s, 5, 100)
				sound := s.read(log0)
				s.write(log0, append(slices.Clone(sound), tt.tail...))
				s.o.Clean = clean
				starts(t, s, 5, want...)
				if !tt.keeps {
					s.noticed("0 ", "zeros")
					return
				}
				name, p := s.kept()
				if !bytes.Equal(p, tt.tail) {
					t.Errorf("kept %q, want %q", p, tt.tail)
				}
				s.noticed("1 ", name, fmt.Sprint("byte ", len(sound)))
			})
		}
	}
}

// A batch at the tail whose checksum is wrong: recovery cuts it and keeps it, and
// after a clean stop it is served as it is, as in Kafka.
func TestWrongChecksumAtTail(t *testing.T) {
	for _, clean := range []bool{true, false} {
		s := newSetup(t)
		want := segmented(t, s, 6, 100) // the last one has no index entry
		p := s.read(log0)
		p[len(p)-1] ^= 1
		s.write(log0, p)
		s.o.Clean = clean
		if !clean {
			starts(t, s, 5, want[:5]...)
			name, kept := s.kept()
			s.noticed("1 ", name, "checksum")
			if one := len(p) / 6; !bytes.Equal(kept, p[5*one:]) {
				t.Error("the batch was not kept")
			}
			continue
		}
		l := s.open()
		if l.LogEndOffset() != 6 || len(s.notices) > 0 {
			t.Errorf("log end %d, notices %q", l.LogEndOffset(), s.notices)
		}
		closeLog(t, l)
		if !bytes.Equal(s.read(log0), p) {
			t.Error("the file was changed")
		}
	}
}

// Kafka deletes all later segments when a few bytes follow the last batch of a
// sealed one.
func TestLooseBytesInSealedSegment(t *testing.T) {
	s := newSetup(t)
	want := segmented(t, s, 25, 10)
	s.write(log0, append(s.read(log0), "loose"...))
	s.o.Clean, s.o.RecoveryPoint = false, 0
	starts(t, s, 25, want...)
	name, p := s.kept()
	if string(p) != "loose" {
		t.Errorf("kept %q", p)
	}
	s.noticed("1 ", name)
}

// Damage in the middle: Kafka deletes what follows within a minute.
func TestDamageInTheMiddle(t *testing.T) {
	s := newSetup(t)
	want := segmented(t, s, 35, 10)
	log1, log2, log3 := "00000000000000000010.log", "00000000000000000020.log", "00000000000000000030.log"
	p, second, third := s.read(log1), s.read(log2), s.read(log3)
	one := len(p) / 10
	p[3*one+batch.HeaderSize] ^= 1
	s.write(log1, p)
	s.o.Clean, s.o.RecoveryPoint = false, 10
	starts(t, s, 13, want[:13]...)
	if len(s.notices) != 3 || !strings.Contains(s.notices[0], "checksum") {
		t.Errorf("notices %q", s.notices)
	}
	for name, want := range map[string][]byte{
		fmt.Sprintf("%020d-%d.kept", 10, 3*one): p[3*one:],
		fmt.Sprintf("%020d-0.kept", 20):         second,
		fmt.Sprintf("%020d-0.kept", 30):         third,
	} {
		if !bytes.Equal(s.read(name), want) {
			t.Errorf("%s is not what was cut", name)
		}
	}
	// The same again does not touch what was kept.
	p = s.read(log1)
	p[1*one+batch.HeaderSize] ^= 1
	s.write(log1, p)
	starts(t, s, 11, want[:11]...)
	if n := len(slices.DeleteFunc(s.names(), func(n string) bool { return !strings.HasSuffix(n, logdir.KeptSuffix) })); n != 4 {
		t.Errorf("kept files: %q", s.names())
	}
}

func TestSnapshots(t *testing.T) {
	now := time.Now().UnixMilli() // or the producer has expired
	sent := func(sequence int) spec {
		return spec{values: []string{fmt.Sprint("s", sequence)}, time: now, sent: true, producer: 7, sequence: int32(sequence)}
	}
	last := "00000000000000000006.snapshot"
	for _, clean := range []bool{true, false} {
		for _, tt := range []struct {
			name   string
			change func(s *setup)
			says   bool
		}{
			{"as it was", func(*setup) {}, false},
			{"last one missing", func(s *setup) { os.Remove(s.path(last)) }, false},
			{"all missing", func(s *setup) {
				for _, n := range s.names() {
					if strings.HasSuffix(n, ".snapshot") {
						os.Remove(s.path(n))
					}
				}
			}, false},
			{"empty", func(s *setup) { s.write(last, nil) }, true},
			{"one byte", func(s *setup) { s.write(last, []byte{0}) }, true},
			{"five bytes", func(s *setup) { s.write(last, make([]byte, 5)) }, true},
			{"wrong checksum", func(s *setup) { p := s.read(last); p[20] ^= 1; s.write(last, p) }, true},
			{"other version", func(s *setup) { p := s.read(last); p[1] = 2; s.write(last, p) }, true},
			{"trailing bytes", func(s *setup) { s.write(last, append(s.read(last), 0)) }, true},
		} {
			t.Run(fmt.Sprint(tt.name, clean), func(t *testing.T) {
				s := newSetup(t)
				s.o.Config.SegmentBytes = int32(2 * len(sent(0).bytes(t)))
				l := s.open()
				for i := range 6 {
					append1(t, l, sent(i))
				}
				closeLog(t, l)
				sound := s.read(last)
				tt.change(s)
				s.o.Clean, s.o.RecoveryPoint = clean, 6
				l = s.open()
				if tt.says && clean {
					s.noticed("1 ", last)
				}
				if !bytes.Equal(s.read(last), sound) {
					t.Error("the snapshot is not what it was")
				}
				if a := append1(t, l, sent(5)); !a.Duplicate || a.FirstOffset != 5 {
					t.Errorf("a repeated batch: %+v", a)
				}
				if _, err := l.Append(sent(9).bytes(t), AppendOptions{}); !errors.Is(err, ErrSequence) {
					t.Errorf("a gap: %v", err)
				}
				append1(t, l, sent(6))
				closeLog(t, l)
			})
		}
	}
}

// The name of a segment may say less than its first offset: old followers made
// such ones.
func TestSegmentNamedLower(t *testing.T) {
	s := newSetup(t)
	two := spec{values: []string{"a", "b"}}
	s.o.Config.SegmentBytes = int32(5 * len(two.bytes(t)))
	l := s.open()
	var want []string
	for i := range 8 {
		append1(t, l, two)
		want = append(want, fmt.Sprintf("%d=a", 2*i), fmt.Sprintf("%d=b", 2*i+1))
	}
	closeLog(t, l)
	if err := os.Rename(s.path("00000000000000000010.log"), s.path("00000000000000000009.log")); err != nil {
		t.Fatal(err)
	}
	s.o.Clean, s.o.RecoveryPoint, s.o.HighWatermark = false, 0, 16
	starts(t, s, 16, want...)
}

// With a damaged .txnindex readers of committed records would get aborted ones.
func TestDamagedAborts(t *testing.T) {
	now := time.Now().UnixMilli() // or the producers have expired
	txn0 := "00000000000000000000.txnindex"
	for _, tt := range []struct {
		name   string
		change func(p []byte) []byte
	}{
		{"cut inside an entry", func(p []byte) []byte { return p[:len(p)-10] }},
		{"loose bytes", func(p []byte) []byte { return append(p, 1, 2, 3) }},
		{"other version", func(p []byte) []byte { p[1] = 9; return p }},
		{"last offset below the base offset", func(p []byte) []byte { p[18] = 0xff; return p }},
		{"entries exchanged", func(p []byte) []byte { return append(slices.Clone(p[34:]), p[:34]...) }},
	} {
		for _, clean := range []bool{true, false} {
			t.Run(fmt.Sprint(tt.name, clean), func(t *testing.T) {
				s := newSetup(t)
				l := s.open()
				for i := range 4 {
					append1(t, l, spec{values: []string{"data"}, time: now, sent: true, txn: true, producer: int64(i), sequence: 0})
				}
				for i := range 4 {
					marker := control.Abort
					if i == 1 {
						marker = control.Commit
					}
					append1(t, l, spec{end: true, time: now, marker: marker, producer: int64(i)})
				}
				l.mu.Lock()
				_, err := l.roll(l.LogEndOffset())
				l.mu.Unlock()
				if err != nil {
					t.Fatal(err)
				}
				append1(t, l, value("behind"))
				closeLog(t, l)
				sound := s.read(txn0)
				if len(sound) != 3*txnindex.EntrySize {
					t.Fatalf("the index has %d bytes", len(sound))
				}
				s.write(txn0, tt.change(slices.Clone(sound)))
				s.o.Clean, s.o.RecoveryPoint = clean, 8
				l = s.open()
				s.noticed("1 ", txn0, "rebuilt")
				if !bytes.Equal(s.read(txn0), sound) {
					t.Error("the index is not what it was")
				}
				closeLog(t, l)
			})
		}
	}
}

// An epoch file that cannot be read takes a directory of Kafka offline.
func TestDamagedEpochs(t *testing.T) {
	for _, text := range []string{"x", "0\n2\n0 0\n", "0\n1\n0 zero\n", "1\n0\n", "\x00\x00"} {
		s := newSetup(t)
		l := s.open()
		for i, epoch := range []int32{3, 3, 5, 8} {
			if _, err := l.Append(value("v%d", i).bytes(t), AppendOptions{LeaderEpoch: epoch}); err != nil {
				t.Fatal(err)
			}
		}
		closeLog(t, l)
		sound := s.read(logdir.NameLeaderEpochCheckpoint)
		s.write(logdir.NameLeaderEpochCheckpoint, []byte(text))
		closeLog(t, s.open())
		s.noticed("1 ", logdir.NameLeaderEpochCheckpoint, logdir.KeptSuffix)
		if got := s.read(logdir.NameLeaderEpochCheckpoint); !bytes.Equal(got, sound) {
			t.Errorf("%q became %q, want %q", text, got, sound)
		}
		if got := s.read(logdir.NameLeaderEpochCheckpoint + logdir.KeptSuffix); string(got) != text {
			t.Errorf("kept %q, want %q", got, text)
		}
	}
}

// What compaction and deletion leave when they are interrupted.
func TestLeftovers(t *testing.T) {
	s := newSetup(t)
	want := segmented(t, s, 25, 10)
	copyOf := func(from, to string) { s.write(to, s.read(from)) }
	t.Run("deleted and cleaned", func(t *testing.T) {
		copyOf(log0, log0+".cleaned")
		copyOf(log0, "00000000000000000010.log.swap") // belongs to it
		copyOf(log0, log0+".deleted")
		copyOf(index0, "00000000000000000099.index") // of no segment
		starts(t, s, 25, want...)
		for _, n := range s.names() {
			f := logdir.ParseFileName(n)
			if f.State != logdir.StateLive || f.BaseOffset == 99 {
				t.Errorf("%s is still there", n)
			}
		}
	})
	t.Run("swap", func(t *testing.T) {
		// Segments 0 and 10 were merged, with one record left of each.
		one := len(value("v%03d", 0).bytes(t))
		merged := append(slices.Clone(s.read(log0)[3*one:4*one]), s.read("00000000000000000010.log")[9*one:]...)
		s.write(log0+".swap", merged)
		s.write(index0+".swap", nil)
		s.write(time0+".swap", nil)
		l := s.open()
		wantAll(t, l, ToLogEnd, slices.Concat([]string{want[3], want[19]}, want[20:], []string{"25=new"})...)
		closeLog(t, l)
		if slices.Contains(s.names(), "00000000000000000010.log") {
			t.Errorf("the replaced segment is there: %q", s.names())
		}
	})
}

// A wrong base offset in a compacted segment must not cost the active one.
func TestSwapWithWrongOffset(t *testing.T) {
	s := newSetup(t)
	segmented(t, s, 25, 10)
	log2 := "00000000000000000020.log"
	active := s.read(log2)
	s.write(log0+".swap", spec{values: []string{"far"}, at: 1000}.bytes(t))
	l := s.open()
	if l.LogEndOffset() != 25 {
		t.Errorf("the log ends at offset %d, want 25", l.LogEndOffset())
	}
	closeLog(t, l)
	if !bytes.Equal(s.read(log2), active) {
		t.Error("the active segment is not what it was")
	}
}

// The log start offset of DeleteRecords survived, the end of the log did not; or the
// checkpoint is wrong, as any offset may stand there. Kafka deletes all segments.
func TestStartAboveEnd(t *testing.T) {
	s := newSetup(t)
	segmented(t, s, 25, 10)
	old := [][]byte{s.read(log0), s.read("00000000000000000010.log"), s.read("00000000000000000020.log")}
	s.o.LogStartOffset = 100
	l := s.open()
	if len(s.notices) != 4 || !strings.Contains(s.notices[0], "25 is below the log start offset 100") {
		t.Errorf("notices %q", s.notices)
	}
	if l.LogStartOffset() != 100 || l.LogEndOffset() != 100 {
		t.Errorf("log is %d to %d", l.LogStartOffset(), l.LogEndOffset())
	}
	closeLog(t, l)
	for i, want := range old {
		if name := fmt.Sprintf("%020d-0.kept", 10*i); !bytes.Equal(s.read(name), want) {
			t.Errorf("%s is not the segment", name)
		}
	}
	starts(t, s, 100)
}

// The last segment is gone, and with it records that were on the disk: Kafka says
// nothing.
func TestEndMissing(t *testing.T) {
	for _, clean := range []bool{true, false} {
		s := newSetup(t)
		want := segmented(t, s, 25, 10)
		if err := os.Remove(s.path("00000000000000000020.log")); err != nil {
			t.Fatal(err)
		}
		s.o.Clean = clean
		l := s.open()
		if !slices.ContainsFunc(s.notices, func(n string) bool { return strings.Contains(n, "recovery point is 25 and the log ends at offset 20") }) {
			t.Errorf("clean %v: notices %q", clean, s.notices)
		}
		wantAll(t, l, ToLogEnd, want[:20]...)
		closeLog(t, l)
	}
}

// The offsets of a batch are behind its checksum's back, and one bit of them
// moves the end of the log, for good if Kafka splits the segment there.
func TestOffsetsBeyondTheSegment(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(p []byte)
	}{
		{"base offset too far", func(p []byte) { p[0] ^= 1 }},
		{"last offset in the next segment", func(p []byte) {
			h, err := batch.DecodeHeader(p)
			if err != nil {
				t.Fatal(err)
			}
			binary.BigEndian.PutUint32(p[23:], 88)
			h.LastOffsetDelta = 88
			binary.BigEndian.PutUint32(p[17:], crc32.Checksum(p[21:h.Size()], crc32.MakeTable(crc32.Castagnoli)))
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newSetup(t)
			want := segmented(t, s, 25, 10)
			log1 := "00000000000000000010.log"
			p := s.read(log1)
			one := len(p) / 10
			tt.change(p[4*one:])
			s.write(log1, p)
			s.o.Clean, s.o.RecoveryPoint = false, 0
			starts(t, s, 14, want[:14]...)
			if got := s.read(fmt.Sprintf("%020d-%d.kept", 10, 4*one)); !bytes.Equal(got, p[4*one:]) {
				t.Error("what was cut was not kept")
			}
		})
	}
}

// A batch whose offset the indexes of its segment cannot name gets a segment of
// its own.
func TestSplit(t *testing.T) {
	s := newSetup(t)
	want := segmented(t, s, 3, 100)
	far := int64(5_000_000_000)
	s.write(log0, append(s.read(log0), spec{values: []string{"far"}, at: far}.bytes(t)...))
	s.o.Clean, s.o.RecoveryPoint = false, 0
	starts(t, s, far+1, append(want, fmt.Sprintf("%d=far", far))...)
	s.noticed("1 ", fmt.Sprintf("%020d.log", far))
}

func TestRecoveryStops(t *testing.T) {
	s := newSetup(t)
	segmented(t, s, 25, 10)
	s.o.Clean = false
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := OpenLog(ctx, s.o); !errors.Is(err, context.Canceled) {
		t.Errorf("recovery under an ended context: %v", err)
	}
}
