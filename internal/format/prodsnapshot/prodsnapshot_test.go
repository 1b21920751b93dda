package prodsnapshot_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"reflect"
	"slices"
	"strings"
	"testing"

	"kf/internal/format/prodsnapshot"
	"kf/internal/kftest"
)

func TestVectors(t *testing.T) {
	for _, v := range kftest.Vectors(t, "producer-snapshot") {
		t.Run(v.Name, func(t *testing.T) {
			var want []prodsnapshot.Entry
			if err := json.Unmarshal(v.Decoded, &want); err != nil { // names differ in case only
				t.Fatal(err)
			}
			got, err := prodsnapshot.Decode(v.Bytes)
			if err != nil || got.Trailing != 0 || !slices.Equal(got.Entries, want) {
				t.Errorf("got %+v, %v; want %+v", got, err, want)
			}
			if again := prodsnapshot.Append([]byte("xy"), want); !bytes.Equal(again[2:], v.Bytes) {
				t.Errorf("encoded %x, want %x", again[2:], v.Bytes)
			}
		})
	}
}

func three() []prodsnapshot.Entry {
	return []prodsnapshot.Entry{
		{1000, 2, 9, 50, 4, 1700000000000, -1, -1},
		{1001, 0, -1, -1, 0, 1700000000001, 3, -1},
		{1002, 5, 1, 60, 3, 1700000000002, 7, 58},
	}
}

// forge makes a file with any version and count, and a right checksum.
func forge(version int16, count int32, entries, trailing int) []byte {
	p := binary.BigEndian.AppendUint16(nil, uint16(version))
	p = binary.BigEndian.AppendUint32(p, 0)
	p = binary.BigEndian.AppendUint32(p, uint32(count))
	p = append(p, make([]byte, entries*prodsnapshot.EntrySize+trailing)...)
	binary.BigEndian.PutUint32(p[2:], crc32.Checksum(p[6:], crc32.MakeTable(crc32.Castagnoli)))
	return p
}

func flip(p []byte, i int) []byte {
	p = bytes.Clone(p)
	p[i] ^= 1
	return p
}

// Each case is one that Kafka 4.4 was asked about; see the messages in the
// comments of the error types.
func TestDamaged(t *testing.T) {
	// Four producers and three bytes too many; Kafka named the checksums.
	long := kftest.Hex(t, `
		0001d5f3cfcc0000000400000000000003e80002000000090000000000000032000000040000018bcfe56800ffff
		ffffffffffffffffffff00000000000003e90000ffffffffffffffffffffffff000000000000018bcfe568010000
		0003ffffffffffffffff00000000000003ea000500000001000000000000003c000000030000018bcfe568020000
		0007000000000000003a00000000000003eb000000000000000000000000000000000000ffffffffffffffffffff
		ffff0000000000000000616263`)
	for _, tt := range []struct {
		name    string
		p       []byte
		entries int
		want    error // compared with reflect.DeepEqual
	}{
		{"nothing", nil, 0, &prodsnapshot.TruncatedError{Size: 0, Need: 10}},
		{"1 byte", []byte{0}, 0, &prodsnapshot.TruncatedError{Size: 1, Need: 10}},
		{"5 bytes", forge(1, 0, 0, 0)[:5], 0, &prodsnapshot.TruncatedError{Size: 5, Need: 10}},
		{"version only", []byte{0, 2}, 0, &prodsnapshot.VersionError{Version: 2}},
		{"version before checksum", flip(forge(2, 1, 1, 0), 3), 0, &prodsnapshot.VersionError{Version: 2}},
		{"version 0", forge(0, 1, 1, 0), 0, &prodsnapshot.VersionError{Version: 0}},
		{"version -1", forge(-1, 1, 1, 0), 0, &prodsnapshot.VersionError{Version: -1}},
		{"count negative", forge(1, -1, 1, 0), 1, &prodsnapshot.CountError{Count: -1, Left: 46}},
		{"count smallest", forge(1, -1<<31, 1, 0), 1, &prodsnapshot.CountError{Count: -1 << 31, Left: 46}},
		{"count above the bytes left", forge(1, 47, 1, 0), 1, &prodsnapshot.CountError{Count: 47, Left: 46}},
		{"count largest", forge(1, 1<<31-1, 1, 0), 1, &prodsnapshot.CountError{Count: 1<<31 - 1, Left: 46}},
		{"count above the entries", forge(1, 46, 1, 0), 1, &prodsnapshot.TruncatedError{Size: 56, Need: 10 + 46*46}},
		{"count before checksum", flip(forge(1, 2, 1, 0), 3), 1, &prodsnapshot.TruncatedError{Size: 56, Need: 102}},
		{"checksum", kftest.Hex(t, "0001a1285b3e00000001000000000000138800010000006300000000000004b0000000090000018bcfe5680000000000ffffffffffffffff"),
			1, &prodsnapshot.ChecksumError{Stored: 0xa1285b3e, Computed: 0xa1285b3f}},
		{"trailing bytes", long, 4, &prodsnapshot.ChecksumError{Stored: 3589525452, Computed: 3742759078, Trailing: 3}},
		{"checksum and nothing else", flip(long[:len(long)-3], 5), 4, &prodsnapshot.ChecksumError{Stored: 3589525453, Computed: 3589525452}},
		{"sound", long[:len(long)-3], 4, nil},
		{"trailing bytes under the checksum", forge(1, 1, 1, 5), 1, nil},
		{"count below the entries", forge(1, 0, 1, 0), 0, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := prodsnapshot.Decode(tt.p)
			if !reflect.DeepEqual(err, tt.want) || len(got.Entries) != tt.entries {
				t.Errorf("got %d entries, %#v; want %d, %#v", len(got.Entries), err, tt.entries, tt.want)
			}
		})
	}
}

func TestSentinels(t *testing.T) {
	for err, want := range map[error]error{
		&prodsnapshot.VersionError{}:   prodsnapshot.ErrVersion,
		&prodsnapshot.TruncatedError{}: prodsnapshot.ErrTruncated,
		&prodsnapshot.CountError{}:     prodsnapshot.ErrCount,
		&prodsnapshot.ChecksumError{}:  prodsnapshot.ErrChecksum,
	} {
		for _, sentinel := range []error{prodsnapshot.ErrVersion, prodsnapshot.ErrTruncated, prodsnapshot.ErrCount, prodsnapshot.ErrChecksum} {
			if errors.Is(err, sentinel) != (sentinel == want) {
				t.Errorf("errors.Is(%T, %v) = %v", err, sentinel, errors.Is(err, sentinel))
			}
		}
	}
}

func TestMessages(t *testing.T) {
	whole := prodsnapshot.Append(nil, three())
	var b strings.Builder
	for _, p := range [][]byte{nil, {0, 9}, forge(1, -1, 0, 0), whole[:60], flip(whole, 20), append(bytes.Clone(whole), 0)} {
		_, err := prodsnapshot.Decode(p)
		fmt.Fprintln(&b, err)
	}
	kftest.Golden(t, "testdata/messages.golden", b.String())
}

func TestCutAtEveryByte(t *testing.T) {
	p := prodsnapshot.Append(nil, three())
	for n := range len(p) {
		got, err := prodsnapshot.Decode(p[:n])
		entries := max(0, (n-prodsnapshot.HeaderSize)/prodsnapshot.EntrySize)
		if !errors.Is(err, prodsnapshot.ErrTruncated) && !errors.Is(err, prodsnapshot.ErrCount) || !slices.Equal(got.Entries, three()[:entries]) {
			t.Errorf("cut at %d: got %+v, %v; want %d entries", n, got, err, entries)
		}
	}
}

func TestFlipEveryBit(t *testing.T) {
	p := prodsnapshot.Append(nil, three())
	for bit := range len(p) * 8 {
		q := bytes.Clone(p)
		q[bit/8] ^= 1 << (bit % 8)
		if _, err := prodsnapshot.Decode(q); err == nil {
			t.Errorf("bit %d of byte %d: nothing found", bit%8, bit/8)
		}
	}
}

func TestFirstSequence(t *testing.T) {
	for _, tt := range []struct{ last, delta, want int32 }{
		{9, 4, 5},
		{4, 4, 0},
		{1, 3, 2147483646}, // as kafka-dump-log prints it
		{0, 1, 2147483647},
		{2147483647, 0, 2147483647},
		{2147483647, 2147483647, 0},
	} {
		if got := (prodsnapshot.Entry{LastSequence: tt.last, OffsetDelta: tt.delta}).FirstSequence(); got != tt.want {
			t.Errorf("last %d, delta %d: got %d, want %d", tt.last, tt.delta, got, tt.want)
		}
	}
	if got := (prodsnapshot.Entry{LastOffset: 50, OffsetDelta: 4}).FirstOffset(); got != 46 {
		t.Errorf("first offset %d, want 46", got)
	}
}

func FuzzDecode(f *testing.F) {
	for _, v := range kftest.Vectors(f, "producer-snapshot") {
		f.Add(v.Bytes)
	}
	f.Add(prodsnapshot.Append(nil, three()))
	f.Add(forge(1, -5, 2, 3))
	f.Fuzz(func(t *testing.T, p []byte) {
		s, err := prodsnapshot.Decode(p)
		if len(s.Entries)*prodsnapshot.EntrySize > len(p) {
			t.Fatalf("%d entries in %d bytes", len(s.Entries), len(p))
		}
		again := prodsnapshot.Append(nil, s.Entries)
		if err == nil && s.Trailing == 0 && !bytes.Equal(again, p) {
			t.Fatalf("encoded %x, was %x", again, p)
		}
		back, err := prodsnapshot.Decode(again)
		if err != nil || !slices.Equal(back.Entries, s.Entries) {
			t.Fatalf("encoded %x, decoded %+v, %v; want %+v", again, back, err, s.Entries)
		}
	})
}
