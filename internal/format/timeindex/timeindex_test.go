package timeindex_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"kf/internal/format/timeindex"
	"kf/internal/kftest"
)

func TestDecodeEntry(t *testing.T) {
	for _, tt := range []struct {
		name, hex  string
		base       int64
		want       timeindex.Entry
		err, check error
	}{
		{"entry", "0000018f00000000 00000007", 100, timeindex.Entry{Timestamp: 1713691951104, Offset: 107}, nil, nil},
		{"at the base offset", "0000018f00000000 00000000", 100, timeindex.Entry{Timestamp: 1713691951104, Offset: 100}, nil, nil},
		{"negative timestamp", "ffffffffffffffff 00000001", 0, timeindex.Entry{Timestamp: -1, Offset: 1}, nil, nil},
		{"negative offset", "0000018f00000000 80000000", 0, timeindex.Entry{Timestamp: 1713691951104, Offset: math.MinInt32}, nil, timeindex.ErrOffset},
		{"beyond 64 bits", "0000018f00000000 00000001", math.MaxInt64, timeindex.Entry{Timestamp: 1713691951104, Offset: math.MinInt64}, nil, nil},
		{"one byte short", "0000018f00000000 000000", 100, timeindex.Entry{}, timeindex.ErrTruncated, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := kftest.Hex(t, tt.hex)
			got, err := timeindex.DecodeEntry(p, tt.base)
			if got != tt.want || !errors.Is(err, tt.err) {
				t.Errorf("got %+v, %v; want %+v, %v", got, err, tt.want, tt.err)
			}
			if err != nil {
				return
			}
			if err := got.Check(tt.base); !errors.Is(err, tt.check) {
				t.Errorf("check: got %v, want %v", err, tt.check)
			}
			again, err := timeindex.AppendEntry(nil, got, tt.base)
			if !errors.Is(err, tt.check) || tt.check == nil && !bytes.Equal(again, p) || tt.check != nil && again != nil {
				t.Errorf("encode: got %x, %v; want %x, %v", again, err, p, tt.check)
			}
		})
	}
}

func TestVectors(t *testing.T) {
	for _, v := range kftest.Vectors(t, "time-index") {
		t.Run(v.Name, func(t *testing.T) {
			var want [][2]int64
			if err := json.Unmarshal(v.Decoded, &want); err != nil {
				t.Fatal(err)
			}
			var got [][2]int64
			var again []byte
			for e, err := range timeindex.Scan(bytes.NewReader(v.Bytes), v.Base) {
				if err != nil {
					t.Fatal(err)
				}
				if e.At != int64(len(again)) {
					t.Errorf("entry %d: at byte %d, want %d", len(got), e.At, len(again))
				}
				got = append(got, [2]int64{e.Timestamp, e.Offset})
				if again, err = timeindex.AppendEntry(again, e, v.Base); err != nil {
					t.Error(err)
				}
			}
			if !slices.Equal(got, want) || !bytes.Equal(again, v.Bytes) {
				t.Errorf("got %v, encoded %x; want %v, %x", got, again, want, v.Bytes)
			}
		})
	}
}

func describe(p []byte, base int64) string {
	var b strings.Builder
	b.WriteString("dump:")
	for e, err := range timeindex.Entries(bytes.NewReader(p), base) {
		if err != nil || e.EndsDump(base) {
			break
		}
		fmt.Fprintf(&b, " %d@%d", e.Timestamp, e.Offset)
	}
	b.WriteString("\nscan:")
	for e, err := range timeindex.Scan(bytes.NewReader(p), base) {
		if err == nil {
			fmt.Fprintf(&b, " %d@%d", e.Timestamp, e.Offset)
			continue
		}
		fmt.Fprintf(&b, "\n  %v", err)
	}
	return b.String() + "\n"
}

func TestFiles(t *testing.T) {
	const first, second = "0000018bcfe5680a00000002", "0000018bcfe5681600000005"
	var b strings.Builder
	for _, tt := range []struct {
		name, hex string
		base      int64
	}{
		{"empty", "", 0},
		{"healthy", first + second, 100},
		{"final entry with the same offset", first + "0000018bcfe5681600000002", 100},
		{"single zero entry", strings.Repeat("00", 12), 7},
		{"preallocated", first + second + strings.Repeat("00", 48), 100},
		{"preallocated without entries", strings.Repeat("00", 48), 0},
		{"second entry at the base offset", first + "0000018bcfe5681600000000", 0},
		{"odd size", first + "00", 0},
		{"shorter than an entry", strings.Repeat("00", 11), 0},
		{"swapped", second + first, 100},
		{"same timestamp", first + "0000018bcfe5680a00000005", 100},
		{"offset falls", first + "0000018bcfe5681600000001", 100},
		{"negative offset", "0000018bcfe5680afffffffe", 0},
		{"remains of a truncation", "000001a2278cdc1f0000001c000001a2278c950300000021" + strings.Repeat("00", 24), 0},
		{"zeros between entries", first + strings.Repeat("00", 12) + second, 0},
	} {
		fmt.Fprintf(&b, "== %s\n%s", tt.name, describe(kftest.Hex(t, tt.hex), tt.base))
	}
	kftest.Golden(t, "testdata/files.golden", b.String())
}

func TestCutAtEveryByte(t *testing.T) {
	p := kftest.Hex(t, "0000018bcfe5680a00000002 0000018bcfe5681600000005")
	for n := range len(p) + 1 {
		sound, damaged := 0, error(nil)
		for _, err := range timeindex.Scan(bytes.NewReader(p[:n]), 0) {
			if damaged = err; err == nil {
				sound++
			}
		}
		if sound != n/12 || (n%12 > 0) != errors.Is(damaged, timeindex.ErrRemainder) {
			t.Errorf("cut at %d: %d entries, then %v", n, sound, damaged)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, v := range kftest.Vectors(f, "time-index") {
		f.Add(v.Bytes, v.Base)
	}
	f.Fuzz(func(t *testing.T, p []byte, base int64) {
		n := 0
		for e, err := range timeindex.Entries(bytes.NewReader(p), base) {
			if err != nil {
				if !errors.Is(err, timeindex.ErrRemainder) || len(p)%12 == 0 {
					t.Fatal(err)
				}
				continue
			}
			again, err := timeindex.AppendEntry(nil, e, base)
			if (err == nil) != (e.Check(base) == nil) || err == nil && !bytes.Equal(again, p[n*12:n*12+12]) {
				t.Fatalf("entry %d: %+v encodes to %x, %v; was %x", n, e, again, err, p[n*12:n*12+12])
			}
			n++
		}
		if n != len(p)/12 {
			t.Fatalf("%d entries in %d bytes", n, len(p))
		}
		for range timeindex.Scan(bytes.NewReader(p), base) {
			n--
		}
		if n < -2 {
			t.Fatalf("Scan has %d values more than there are entries", -n)
		}
	})
}
