package offsetindex_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"kf/internal/format/offsetindex"
	"kf/internal/kftest"
)

func TestDecodeEntry(t *testing.T) {
	for _, tt := range []struct {
		name, hex  string
		base       int64
		want       offsetindex.Entry
		err, check error
	}{
		{"entry", "00000005 0000005a", 100, offsetindex.Entry{Offset: 105, Position: 90}, nil, nil},
		{"at the base offset", "00000000 00000000", 2076, offsetindex.Entry{Offset: 2076}, nil, nil},
		{"largest", "7fffffff 7fffffff", 1, offsetindex.Entry{Offset: math.MaxInt32 + 1, Position: math.MaxInt32}, nil, nil},
		{"negative offset", "fffffffd 000000ba", 0, offsetindex.Entry{Offset: -3, Position: 186}, nil, offsetindex.ErrOffset},
		{"negative position", "00000005 ffffffff", 0, offsetindex.Entry{Offset: 5, Position: -1}, nil, offsetindex.ErrPosition},
		{"beyond 32 bits", "00000007 00000001", 9223372036854775000, offsetindex.Entry{Offset: 9223372036854775007, Position: 1}, nil, nil},
		{"beyond 64 bits", "00000001 00000001", math.MaxInt64, offsetindex.Entry{Offset: math.MinInt64, Position: 1}, nil, nil},
		{"one byte short", "00000005 000000", 100, offsetindex.Entry{}, offsetindex.ErrTruncated, nil},
		{"nothing", "", 100, offsetindex.Entry{}, offsetindex.ErrTruncated, offsetindex.ErrOffset},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := kftest.Hex(t, tt.hex)
			got, err := offsetindex.DecodeEntry(p, tt.base)
			if got != tt.want || !errors.Is(err, tt.err) {
				t.Errorf("got %+v, %v; want %+v, %v", got, err, tt.want, tt.err)
			}
			if err != nil {
				return
			}
			if err := got.Check(tt.base); !errors.Is(err, tt.check) {
				t.Errorf("check: got %v, want %v", err, tt.check)
			}
			again, err := offsetindex.AppendEntry(nil, got, tt.base)
			if !errors.Is(err, tt.check) || tt.check == nil && !bytes.Equal(again, p) || tt.check != nil && again != nil {
				t.Errorf("encode: got %x, %v; want %x, %v", again, err, p, tt.check)
			}
		})
	}
}

func TestAppendEntryOutOfRange(t *testing.T) {
	for _, offset := range []int64{99, 100 + math.MaxInt32 + 1, math.MinInt64, math.MaxInt64} {
		if got, err := offsetindex.AppendEntry(nil, offsetindex.Entry{Offset: offset}, 100); got != nil || !errors.Is(err, offsetindex.ErrOffset) {
			t.Errorf("offset %d: got %x, %v; want ErrOffset", offset, got, err)
		}
	}
}

func TestVectors(t *testing.T) {
	for _, v := range kftest.Vectors(t, "offset-index") {
		t.Run(v.Name, func(t *testing.T) {
			var want [][2]int64
			if err := json.Unmarshal(v.Decoded, &want); err != nil {
				t.Fatal(err)
			}
			var got [][2]int64
			var again []byte
			for e, err := range offsetindex.Scan(bytes.NewReader(v.Bytes), v.Base) {
				if err != nil {
					t.Fatal(err)
				}
				if e.At != int64(len(again)) {
					t.Errorf("entry %d: at byte %d, want %d", len(got), e.At, len(again))
				}
				got = append(got, [2]int64{e.Offset, int64(e.Position)})
				if again, err = offsetindex.AppendEntry(again, e, v.Base); err != nil {
					t.Error(err)
				}
			}
			if !slices.Equal(got, want) || !bytes.Equal(again, v.Bytes) {
				t.Errorf("got %v, encoded %x; want %v, %x", got, again, want, v.Bytes)
			}
		})
	}
}

// describe tells what the two readers make of a file.
func describe(p []byte, base int64) string {
	var b strings.Builder
	b.WriteString("dump:")
	for e, err := range offsetindex.Entries(bytes.NewReader(p), base) {
		if err != nil || e.EndsDump(base) {
			break
		}
		fmt.Fprintf(&b, " %d@%d", e.Offset, e.Position)
	}
	b.WriteString("\nscan:")
	for e, err := range offsetindex.Scan(bytes.NewReader(p), base) {
		if err == nil {
			fmt.Fprintf(&b, " %d@%d", e.Offset, e.Position)
			continue
		}
		fmt.Fprintf(&b, "\n  %v", err)
	}
	return b.String() + "\n"
}

func TestFiles(t *testing.T) {
	var b strings.Builder
	for _, tt := range []struct {
		name, hex string
		base      int64
	}{
		{"empty", "", 0},
		{"healthy", "000000050000005a", 100},
		{"single entry at the base offset", "0000000000000000", 2076},
		{"first entry at the base offset", "00000000000000000000000300000000", 0},
		{"preallocated", "000000050000006600000006000000ba" + strings.Repeat("00", 64), 0},
		{"preallocated without entries", strings.Repeat("00", 64), 0},
		{"odd size", "000000050000006600", 0},
		{"shorter than an entry", "00000000000000", 0},
		{"not rising", "00000006000000ba0000000500000066", 0},
		{"position not rising", "00000005000000660000000600000066", 0},
		{"negative offset", "0000000500000066fffffffd000000ba", 0},
		{"negative position", "00000005ffffffff", 0},
		{"remains of a truncation", "00000013000004ab000000120000047b" + strings.Repeat("00", 16), 0},
		{"zeros between entries", "0000000500000066" + strings.Repeat("00", 16) + "00000006000000ba", 0},
		{"all bits set", strings.Repeat("ff", 16), 0},
	} {
		fmt.Fprintf(&b, "== %s\n%s", tt.name, describe(kftest.Hex(t, tt.hex), tt.base))
	}
	kftest.Golden(t, "testdata/files.golden", b.String())
}

func TestCutAtEveryByte(t *testing.T) {
	p := kftest.Hex(t, "000000020000009a 0000000400000134 0000000600000200")
	for n := range len(p) + 1 {
		sound, damaged := 0, error(nil)
		for _, err := range offsetindex.Scan(bytes.NewReader(p[:n]), 0) {
			if damaged = err; err == nil {
				sound++
			}
		}
		if sound != n/8 || (n%8 > 0) != errors.Is(damaged, offsetindex.ErrRemainder) {
			t.Errorf("cut at %d: %d entries, then %v", n, sound, damaged)
		}
	}
}

// A preallocated file has a constant cost in memory, and one note.
func TestPreallocated(t *testing.T) {
	entries, notes := 0, 0
	head := kftest.Hex(t, "000000050000005a")
	r := io.MultiReader(bytes.NewReader(head), io.LimitReader(zeros{}, 10_485_760-8))
	for _, err := range offsetindex.Scan(r, 100) {
		switch {
		case err == nil:
			entries++
		case errors.Is(err, offsetindex.ErrPreallocated) && strings.HasPrefix(err.Error(), "byte 8: preallocated: 10485752 bytes"):
			notes++
		default:
			t.Error(err)
		}
	}
	if entries != 1 || notes != 1 {
		t.Errorf("got %d entries and %d notes, want 1 and 1", entries, notes)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func FuzzDecode(f *testing.F) {
	for _, v := range kftest.Vectors(f, "offset-index") {
		f.Add(v.Bytes, v.Base)
	}
	f.Add(make([]byte, 24), int64(math.MaxInt64))
	f.Fuzz(func(t *testing.T, p []byte, base int64) {
		n := 0
		for e, err := range offsetindex.Entries(bytes.NewReader(p), base) {
			if err != nil {
				if !errors.Is(err, offsetindex.ErrRemainder) || len(p)%8 == 0 {
					t.Fatal(err)
				}
				continue
			}
			again, err := offsetindex.AppendEntry(nil, e, base)
			if (err == nil) != (e.Check(base) == nil) || err == nil && !bytes.Equal(again, p[n*8:n*8+8]) {
				t.Fatalf("entry %d: %+v encodes to %x, %v; was %x", n, e, again, err, p[n*8:n*8+8])
			}
			n++
		}
		if n != len(p)/8 {
			t.Fatalf("%d entries in %d bytes", n, len(p))
		}
		for range offsetindex.Scan(bytes.NewReader(p), base) {
			n-- // a value for each entry, or one for several, and up to two behind them
		}
		if n < -2 {
			t.Fatalf("Scan has %d values more than there are entries", -n)
		}
	})
}
