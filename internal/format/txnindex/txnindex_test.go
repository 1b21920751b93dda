package txnindex_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"kf/internal/format/txnindex"
	"kf/internal/kftest"
)

const entry = "0000 00000000000003e8 0000000000000005 0000000000000009 000000000000000a"

func TestDecodeEntry(t *testing.T) {
	sound := txnindex.Entry{ProducerID: 1000, FirstOffset: 5, LastOffset: 9, LastStableOffset: 10}
	for _, tt := range []struct {
		name, hex string
		want      txnindex.Entry
		err       error
		version   int16
	}{
		{"entry", entry, sound, nil, 0},
		{"version 1", "0001" + entry[4:], sound, txnindex.ErrVersion, 1},
		{"version 256", "0100" + entry[4:], sound, txnindex.ErrVersion, 256},
		{"version -1", "ffff" + entry[4:], sound, txnindex.ErrVersion, -1},
		{"one byte short", entry[:len(entry)-2], txnindex.Entry{}, txnindex.ErrTruncated, 0},
		{"nothing", "", txnindex.Entry{}, txnindex.ErrTruncated, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := txnindex.DecodeEntry(kftest.Hex(t, tt.hex))
			if got != tt.want || !errors.Is(err, tt.err) {
				t.Errorf("got %+v, %v; want %+v, %v", got, err, tt.want, tt.err)
			}
			var version *txnindex.VersionError
			if errors.As(err, &version) != (tt.version != 0) || version != nil && version.Version != tt.version {
				t.Errorf("got %v, want version %d", err, tt.version)
			}
		})
	}
}

func TestVectors(t *testing.T) {
	for _, v := range kftest.Vectors(t, "txn-index") {
		t.Run(v.Name, func(t *testing.T) {
			var want, got []txnindex.Entry
			if err := json.Unmarshal(v.Decoded, &want); err != nil { // names differ in case only
				t.Fatal(err)
			}
			var again []byte
			for e, err := range txnindex.Scan(bytes.NewReader(v.Bytes), v.Base) {
				if err != nil {
					t.Fatal(err)
				}
				if e.At != int64(len(again)) {
					t.Errorf("entry %d: at byte %d, want %d", len(got), e.At, len(again))
				}
				again = txnindex.AppendEntry(again, e)
				e.At = 0
				got = append(got, e)
			}
			if !slices.Equal(got, want) || !bytes.Equal(again, v.Bytes) {
				t.Errorf("got %+v, encoded %x; want %+v, %x", got, again, want, v.Bytes)
			}
		})
	}
}

func TestFiles(t *testing.T) {
	const next = "0000 00000000000003e9 000000000000000c 0000000000000014 0000000000000015"
	var b strings.Builder
	for _, tt := range []struct {
		name, hex string
		base      int64
	}{
		{"empty", "", 0},
		{"healthy", entry + next, 0},
		{"first offset in an earlier segment", entry + next, 8},
		{"below the base offset", entry + next, 10},
		{"version 1 in front", "0001" + entry[4:] + next, 0},
		{"swapped", next + entry, 0},
		{"twice", entry + entry, 0},
		{"last offset below the first", "0000 00000000000003e9 000000000000000c 000000000000000b 000000000000000f", 0},
		{"cut", entry + next[:39], 0},
	} {
		fmt.Fprintf(&b, "== %s\n", tt.name)
		for e, err := range txnindex.Scan(bytes.NewReader(kftest.Hex(t, tt.hex)), tt.base) {
			fmt.Fprintf(&b, "%+v %v\n", e, err)
		}
	}
	kftest.Golden(t, "testdata/files.golden", b.String())
}

func TestCutAtEveryByte(t *testing.T) {
	p := kftest.Hex(t, entry+"0000 00000000000003e9 000000000000000c 0000000000000014 0000000000000015")
	for n := range len(p) + 1 {
		sound, damaged := 0, error(nil)
		for _, err := range txnindex.Scan(bytes.NewReader(p[:n]), 0) {
			if damaged = err; err == nil {
				sound++
			}
		}
		if sound != n/34 || (n%34 > 0) != errors.Is(damaged, txnindex.ErrRemainder) {
			t.Errorf("cut at %d: %d entries, then %v", n, sound, damaged)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, v := range kftest.Vectors(f, "txn-index") {
		f.Add(v.Bytes)
	}
	f.Fuzz(func(t *testing.T, p []byte) {
		n := 0
		for e, err := range txnindex.Entries(bytes.NewReader(p)) {
			if errors.Is(err, txnindex.ErrRemainder) {
				break
			}
			raw := p[n*34 : n*34+34]
			sound := raw[0] == 0 && raw[1] == 0
			if sound != (err == nil) || !sound && !errors.Is(err, txnindex.ErrVersion) {
				t.Fatalf("entry %d: %x gives %v", n, raw, err)
			}
			if again := txnindex.AppendEntry(nil, e); !bytes.Equal(again[2:], raw[2:]) {
				t.Fatalf("entry %d: %+v encodes to %x; was %x", n, e, again, raw)
			}
			n++
		}
		if n != len(p)/34 {
			t.Fatalf("%d entries in %d bytes", n, len(p))
		}
		for range txnindex.Scan(bytes.NewReader(p), 100) {
			n--
		}
		if n < -1 {
			t.Fatalf("Scan has %d values more than there are entries", -n)
		}
	})
}
