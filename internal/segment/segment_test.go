package segment_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"kf/internal/format/batch"
	"kf/internal/segment"
)

// mkBatch returns a batch of two records at the given offset whose values have
// size bytes.
func mkBatch(t testing.TB, offset int64, size int) []byte {
	t.Helper()
	h := batch.Header{BaseOffset: offset, Magic: 2, LastOffsetDelta: 1, ProducerID: -1, ProducerEpoch: -1, BaseSequence: -1}
	p, err := batch.Append(nil, h, func(yield func(*batch.Record) bool) {
		for i := range int64(2) {
			yield(&batch.Record{Offset: offset + i, Value: bytes.Repeat([]byte{'v'}, size)})
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// mkSegment returns n batches and the byte at which each ends, 0 first.
func mkSegment(t testing.TB, n, size int) (seg []byte, bounds []int) {
	bounds = []int{0}
	for i := range n {
		seg = append(seg, mkBatch(t, int64(2*i), size)...)
		bounds = append(bounds, len(seg))
	}
	return seg, bounds
}

func write(t testing.TB, p []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "00000000000000000000.log")
	if err := os.WriteFile(path, p, 0o400); err != nil {
		t.Fatal(err)
	}
	return path
}

// scan returns "pos@offset" for each entry, "!" in front if its check fails, and
// the damage, each with its size.
func scan(t testing.TB, s *segment.Scanner) (entries []string, damage []error, sizes []int64) {
	t.Helper()
	var c segment.Chunk
	next := int64(0)
	for {
		err := s.Next(context.Background(), &c)
		if err == io.EOF {
			return entries, damage, sizes
		}
		if err != nil {
			t.Fatal(err)
		}
		if c.Pos != next {
			t.Errorf("chunk %d starts at %d, want %d", c.Index, c.Pos, next)
		}
		next = c.Pos + c.Size
		if c.Damage != nil {
			damage, sizes = append(damage, c.Damage), append(sizes, c.Size)
			continue
		}
		for e, err := range c.Entries("seg.log") {
			mark := ""
			if err != nil || e.Check() != nil {
				mark = "!"
			}
			entries = append(entries, fmt.Sprintf("%s%d@%d", mark, e.Pos, e.Header.BaseOffset))
		}
	}
}

func scanFile(t testing.TB, p []byte, change func(*segment.Scanner)) ([]string, []error, []int64) {
	t.Helper()
	f, err := segment.Open(write(t, p))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s := segment.NewScanner(f, 0)
	if change != nil {
		change(s)
	}
	return scan(t, s)
}

func TestCutAtEveryByte(t *testing.T) {
	seg, bounds := mkSegment(t, 3, 5)
	for n := range len(seg) + 1 {
		whole := 0
		for whole+1 < len(bounds) && bounds[whole+1] <= n {
			whole++
		}
		entries, damage, sizes := scanFile(t, seg[:n], nil)
		if len(entries) != whole {
			t.Errorf("cut at %d: %v, want %d entries", n, entries, whole)
		}
		if n == bounds[whole] {
			if damage != nil {
				t.Errorf("cut at %d: %v", n, damage)
			}
		} else if len(damage) != 1 || !errors.Is(damage[0], segment.ErrTail) || sizes[0] != int64(n-bounds[whole]) {
			t.Errorf("cut at %d: %v %v, want a tail of %d bytes", n, damage, sizes, n-bounds[whole])
		}
	}
}

func TestDamage(t *testing.T) {
	seg, b := mkSegment(t, 4, 5)
	at := func(i int) string { return fmt.Sprintf("%d@%d", b[i], 2*i) }
	patch := func(pos int, v ...byte) []byte {
		p := bytes.Clone(seg)
		copy(p[pos:], v)
		return p
	}
	garbage := append(append(bytes.Clone(seg[:b[2]]), bytes.Repeat([]byte("garbage "), 100)...), seg[b[2]:]...)
	for _, tt := range []struct {
		name   string
		p      []byte
		resync bool
		want   []string
		damage error
		pos    int
	}{
		{"flip", patch(b[1]+70, 0), false, []string{at(0), "!" + at(1), at(2), at(3)}, nil, 0},
		{"length 0", patch(b[1]+8, 0, 0, 0, 0), false, []string{at(0)}, batch.ErrLength, b[1]},
		{"length -1", patch(b[1]+8, 255, 255, 255, 255), false, []string{at(0)}, batch.ErrLength, b[1]},
		{"length 2^31-1", patch(b[1]+8, 127, 255, 255, 255), false, []string{at(0)}, segment.ErrTail, b[1]},
		{"length 2^31-1, resync", patch(b[1]+8, 127, 255, 255, 255), true, []string{at(0), at(2), at(3)}, segment.ErrGarbage, b[1]},
		{"garbage", garbage, false, []string{at(0), at(1)}, segment.ErrTail, b[2]},
		{"garbage, resync", garbage, true, []string{at(0), at(1), fmt.Sprintf("%d@4", b[2]+800), fmt.Sprintf("%d@6", b[3]+800)}, segment.ErrGarbage, b[2]},
		{"garbage in front, resync", append([]byte("xyz"), seg...), true, []string{"3@0", fmt.Sprintf("%d@2", b[1]+3), fmt.Sprintf("%d@4", b[2]+3), fmt.Sprintf("%d@6", b[3]+3)}, batch.ErrLength, 0},
		{"zeros", append(bytes.Clone(seg), make([]byte, 1<<20)...), false, []string{at(0), at(1), at(2), at(3)}, segment.ErrZeros, b[4]},
		{"zeros in the middle, resync", append(append(bytes.Clone(seg[:b[2]]), make([]byte, 700_000)...), seg[b[2]:]...), true,
			[]string{at(0), at(1), fmt.Sprintf("%d@4", b[2]+700_000), fmt.Sprintf("%d@6", b[3]+700_000)}, segment.ErrGarbage, b[2]},
		{"only zeros, resync", make([]byte, 600_000), true, nil, segment.ErrZeros, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, damage, _ := scanFile(t, tt.p, func(s *segment.Scanner) { s.Resync = tt.resync })
			if strings.Join(got, " ") != strings.Join(tt.want, " ") {
				t.Errorf("got %v, want %v", got, tt.want)
			}
			if tt.damage == nil {
				if damage != nil {
					t.Errorf("damage: %v", damage)
				}
				return
			}
			var e *segment.Error
			if len(damage) != 1 || !errors.Is(damage[0], tt.damage) || !errors.As(damage[0], &e) || e.Pos != int64(tt.pos) {
				t.Errorf("damage: got %v; want %v at %d", damage, tt.damage, tt.pos)
			}
		})
	}
}

func TestLimit(t *testing.T) {
	seg, b := mkSegment(t, 3, 5)
	for n := range len(seg) {
		whole := 0
		for whole+1 < len(b) && b[whole+1] <= n {
			whole++
		}
		got, _, _ := scanFile(t, seg, func(s *segment.Scanner) { s.Limit = int64(n) })
		if len(got) != whole {
			t.Errorf("limit %d: %v, want %d entries", n, got, whole)
		}
	}
}

func TestLargeBatch(t *testing.T) {
	seg := append(append(mkBatch(t, 0, 5), mkBatch(t, 2, 3<<20)...), mkBatch(t, 4, 5)...)
	for _, max := range []int64{1 << 20, 64 << 20} {
		entries, damage, _ := scanFile(t, seg, func(s *segment.Scanner) { s.MaxBatch = max })
		if len(entries) != 3 || strings.Contains(strings.Join(entries, ""), "!") || damage != nil {
			t.Errorf("max %d: %v, %v", max, entries, damage)
		}
	}
	seg[len(seg)/2] ^= 1
	entries, _, _ := scanFile(t, seg, func(s *segment.Scanner) { s.MaxBatch = 1 << 20 })
	if len(entries) != 3 || entries[1][0] != '!' {
		t.Errorf("flipped bit in a batch above the limit: %v", entries)
	}
}

// Batches above a low limit are whole in the buffer, and so is what follows.
func TestLowLimit(t *testing.T) {
	seg, _ := mkSegment(t, 20, 50)
	for _, max := range []int64{1, 60, 100, 10_000} {
		low := func(s *segment.Scanner) { s.MaxBatch = max }
		entries, damage, _ := scanFile(t, seg, low)
		if len(entries) != 20 || strings.Contains(strings.Join(entries, ""), "!") || damage != nil {
			t.Errorf("file, max %d: %v, %v", max, entries, damage)
		}
		s := segment.NewScanner(segment.FromReader("pipe", bytes.NewReader(seg)), 0)
		low(s)
		if piped, damage, _ := scan(t, s); !slices.Equal(piped, entries) || damage != nil {
			t.Errorf("pipe, max %d: %v, %v", max, piped, damage)
		}
	}
}

func TestPipe(t *testing.T) {
	seg, b := mkSegment(t, 3, 300_000)
	for _, n := range []int{len(seg), len(seg) - 1, b[1], b[1] + 5, 0} {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			w.Write(seg[:n])
			w.Close()
		}()
		f, err := segment.Open(fmt.Sprintf("/dev/fd/%d", r.Fd()))
		if err != nil {
			t.Fatal(err)
		}
		fromPipe, damage, sizes := scan(t, segment.NewScanner(f, 0))
		fromFile, damage2, sizes2 := scanFile(t, seg[:n], nil)
		if fmt.Sprint(fromPipe, sizes) != fmt.Sprint(fromFile, sizes2) || len(damage) != len(damage2) {
			t.Errorf("%d bytes: pipe %v %v, file %v %v", n, fromPipe, damage, fromFile, damage2)
		}
		f.Close()
		r.Close()
	}
}

func TestOpenDirectory(t *testing.T) {
	if _, err := segment.Open(t.TempDir()); err == nil || !strings.Contains(err.Error(), "is a directory") {
		t.Errorf("got %v", err)
	}
}

// Output comes in file order, and an error ends it behind its own chunk.
func TestProcess(t *testing.T) {
	seg, _ := mkSegment(t, 500, 5000)
	f, err := segment.Open(write(t, seg))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	stop := errors.New("stop")
	for _, stopAt := range []int64{-1, 0, 300, 998} {
		var got bytes.Buffer
		last := int64(-2)
		err = segment.Process(context.Background(), segment.NewScanner(f, 0), &got, func() segment.Work {
			return func(c *segment.Chunk, out *segment.Output) (func() error, error) {
				first := int64(-1)
				for e := range c.Entries(f.Path) {
					if first < 0 {
						first = e.Header.BaseOffset
					}
					out.B = fmt.Appendln(out.B, e.Header.BaseOffset)
					if e.Header.BaseOffset == stopAt {
						return nil, stop
					}
					if err := out.Full(); err != nil {
						return nil, err
					}
				}
				return func() error {
					if first <= last {
						t.Errorf("chunk at offset %d after %d", first, last)
					}
					last = first
					return nil
				}, nil
			}
		})
		var want bytes.Buffer
		for i := int64(0); i < 1000; i += 2 {
			fmt.Fprintln(&want, i)
			if i == stopAt {
				break
			}
		}
		if got.String() != want.String() {
			t.Errorf("stop at %d: %d bytes of output, want %d", stopAt, got.Len(), want.Len())
		}
		if (stopAt < 0) != (err == nil) || stopAt >= 0 && !errors.Is(err, stop) {
			t.Errorf("stop at %d: %v", stopAt, err)
		}
	}
}

func TestCancel(t *testing.T) {
	seg, _ := mkSegment(t, 100, 5000)
	f, err := segment.Open(write(t, seg))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	err = segment.Process(ctx, segment.NewScanner(f, 0), io.Discard, func() segment.Work {
		return func(*segment.Chunk, *segment.Output) (func() error, error) { return nil, nil }
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func FuzzScan(f *testing.F) {
	seg, _ := mkSegment(f, 3, 5)
	f.Add(seg, true)
	f.Add(append(seg, make([]byte, 100)...), false)
	binary.BigEndian.PutUint32(seg[8:], 0x7fffffff)
	f.Add(seg, true)
	f.Fuzz(func(t *testing.T, p []byte, resync bool) {
		path := filepath.Join(t.TempDir(), "0.log")
		if err := os.WriteFile(path, p, 0o600); err != nil {
			t.Fatal(err)
		}
		file, err := segment.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		s := segment.NewScanner(file, 0)
		s.Resync = resync
		scan(t, s)
	})
}

func BenchmarkScan(b *testing.B) {
	seg, _ := mkSegment(b, 4000, 8<<10)
	f, err := segment.Open(write(b, seg))
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	b.SetBytes(int64(len(seg)))
	b.ReportAllocs()
	for b.Loop() {
		err := segment.Process(context.Background(), segment.NewScanner(f, 0), io.Discard, func() segment.Work {
			return func(c *segment.Chunk, _ *segment.Output) (func() error, error) {
				for e := range c.Entries(f.Path) {
					if err := e.Check(); err != nil {
						return nil, err
					}
				}
				return nil, nil
			}
		})
		if err != nil {
			b.Fatal(err)
		}
	}
}

// Passing damage must not take the square of what is damaged: at every byte may
// stand what looks like the start of a long entry. (If it does, this test does not
// end in the time that tests have.)
func TestResyncCost(t *testing.T) {
	sound, _ := mkSegment(t, 1, 5)
	// Magic 1, length 262144: as an entry it ends in the file, but its checksum is wrong.
	entry := append(make([]byte, 8), 0, 4, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0)
	log := append([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, bytes.Repeat(entry, 1<<17)...)
	log = append(log, sound...)
	entries, damage, _ := scanFile(t, log, func(s *segment.Scanner) { s.Resync = true })
	if want := fmt.Sprintf("%d@0", len(log)-len(sound)); len(entries) != 1 || entries[0] != want || len(damage) != 1 {
		t.Errorf("got %v, %v; want %s", entries, damage, want)
	}
}

// A file may become shorter while it is read.
func TestTruncatedWhileOpen(t *testing.T) {
	small, _ := mkSegment(t, 3000, 50)
	seg := append(append(bytes.Clone(small), mkBatch(t, 6000, 3<<20)...), small...)
	for _, at := range []int{0, 1, 17, 18, 61, 300, 256<<10 - 1, 256<<10 + 1, 300_000, len(small), len(small) + 100, len(small) + 2<<20, len(small) + 7<<20, len(seg) - 1} {
		for _, resync := range []bool{false, true} {
			path := filepath.Join(t.TempDir(), "0.log")
			if err := os.WriteFile(path, seg, 0o600); err != nil {
				t.Fatal(err)
			}
			f, err := segment.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			s := segment.NewScanner(f, 0)
			s.Resync = resync
			var first segment.Chunk
			if at > 256<<10 { // some of it was read before
				if err := s.Next(context.Background(), &first); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.Truncate(path, int64(at)); err != nil {
				t.Fatal(err)
			}
			end := first.Pos + first.Size
			var c segment.Chunk
			for err == nil {
				if err = s.Next(context.Background(), &c); err != nil {
					break
				}
				if c.Pos != end {
					t.Errorf("cut at %d: chunk at %d, want %d", at, c.Pos, end)
				}
				end = c.Pos + c.Size
				for e, err := range c.Entries(path) {
					if err != nil || e.Check() != nil {
						t.Errorf("cut at %d: entry at %d: %v, %v", at, e.Pos, err, e.Check())
					}
				}
			}
			c.Release()
			first.Release()
			f.Close()
			if err != io.EOF {
				t.Errorf("cut at %d: %v", at, err)
			}
		}
	}
}
