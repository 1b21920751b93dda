package checkpoint_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"kf/internal/format/checkpoint"
	"kf/internal/kftest"
)

// offsets reads what a vector says: [topic, partition, offset], sorted.
func offsets(t *testing.T, p []byte) (entries []checkpoint.Offset) {
	var raw [][3]json.RawMessage
	err := json.Unmarshal(p, &raw)
	for _, r := range raw {
		var e checkpoint.Offset
		err = errors.Join(err, json.Unmarshal(r[0], &e.Topic), json.Unmarshal(r[1], &e.Partition), json.Unmarshal(r[2], &e.Offset))
		entries = append(entries, e)
	}
	if err != nil {
		t.Fatal(err)
	}
	return entries
}

func epochs(t *testing.T, p []byte) (entries []checkpoint.Epoch) {
	var raw [][2]int64
	if err := json.Unmarshal(p, &raw); err != nil {
		t.Fatal(err)
	}
	for _, r := range raw {
		entries = append(entries, checkpoint.Epoch{Epoch: int32(r[0]), StartOffset: r[1]})
	}
	return entries
}

func TestVectors(t *testing.T) {
	for _, v := range kftest.Vectors(t, "offset-checkpoint") {
		t.Run(v.Name, func(t *testing.T) {
			want := offsets(t, v.Decoded)
			got, err := checkpoint.DecodeOffsets(v.Bytes)
			sorted := slices.SortedFunc(slices.Values(got), func(a, b checkpoint.Offset) int { return strings.Compare(a.Topic, b.Topic) })
			if err != nil || !slices.Equal(sorted, want) {
				t.Errorf("got %v, %v; want %v", got, err, want)
			}
			// A fresh file has 0 bytes and is never written like that again.
			if again := checkpoint.AppendOffsets(nil, got); len(v.Bytes) > 0 && !bytes.Equal(again, v.Bytes) {
				t.Errorf("encoded %q, want %q", again, v.Bytes)
			}
		})
	}
	for _, v := range kftest.Vectors(t, "leader-epoch-checkpoint") {
		t.Run(v.Name, func(t *testing.T) {
			want := epochs(t, v.Decoded)
			got, err := checkpoint.DecodeEpochs(v.Bytes)
			if err != nil || !slices.Equal(got, want) {
				t.Errorf("got %v, %v; want %v", got, err, want)
			}
			if again := checkpoint.AppendEpochs(nil, got); !bytes.Equal(again, v.Bytes) {
				t.Errorf("encoded %q, want %q", again, v.Bytes)
			}
		})
	}
}

// Every case was put before Kafka's reader, which took the log directory offline
// for those with offline set.
func TestDecodeOffsets(t *testing.T) {
	a5 := []checkpoint.Offset{{"a", 0, 5}}
	for _, tt := range []struct {
		text    string
		want    []checkpoint.Offset
		err     error
		line    int
		offline bool
	}{
		{"", nil, nil, 0, false},
		{"0", nil, nil, 0, false},
		{"0\n", nil, nil, 0, false},
		{"0\n0\n", nil, nil, 0, false},
		{"0\r\n1\r\na 0 5\r\n", a5, nil, 0, false},
		{"0\r1\ra 0 5", a5, nil, 0, false},
		{"+0\n+1\na +0 +5\n", a5, nil, 0, false},
		{"0\n1\na 0 5 \n", a5, nil, 0, false},
		{"0\n1\na\t0 \v5\n", a5, nil, 0, false},
		{"0\n1\na -1 -5\n", []checkpoint.Offset{{"a", -1, -5}}, nil, 0, false},
		{"0\n2\na 0 5\na 0 6\n", []checkpoint.Offset{{"a", 0, 5}, {"a", 0, 6}}, nil, 0, false},
		{"0\n1\n 0 5\n", []checkpoint.Offset{{"", 0, 5}}, nil, 0, false},
		{"\n", nil, checkpoint.ErrHeader, 1, true},
		{"0 \n0\n", nil, checkpoint.ErrHeader, 1, true},
		{"x\n0\n", nil, checkpoint.ErrHeader, 1, true},
		{"\x00\x00\x00\x00", nil, checkpoint.ErrHeader, 1, true},
		{"\xef\xbb\xbf0\n0\n", nil, checkpoint.ErrHeader, 1, true},
		{"1\n0\n", nil, checkpoint.ErrVersion, 1, true},
		{"0\nx\n", nil, checkpoint.ErrHeader, 2, true},
		{"0\n3000000000\n", nil, checkpoint.ErrHeader, 2, true},
		{"0\n-1\n", nil, checkpoint.ErrNegativeCount, 2, false},
		{"0\n2\n\n", nil, checkpoint.ErrFields, 3, true},
		{"0\n1\n   \n", nil, checkpoint.ErrFields, 3, true},
		{"0\n1\n a 0 5\n", nil, checkpoint.ErrFields, 3, true},
		{"0\n1\na 0\n", nil, checkpoint.ErrFields, 3, true},
		{"0\n1\na 0 5 6\n", nil, checkpoint.ErrFields, 3, true},
		{"0\n1\na 0 5\n\n", nil, checkpoint.ErrFields, 4, true},
		{"0\n1\na\x1c0 5\n", nil, checkpoint.ErrFields, 3, true},
		{"0\n1\na\u00a00 5\n", nil, checkpoint.ErrFields, 3, true},
		{"0\n2\na 0 5\n", nil, checkpoint.ErrCount, 2, true},
		{"0\n0\na 0 5\n", nil, checkpoint.ErrCount, 2, true},
		{"0\n1\na x 5\n", nil, checkpoint.ErrNumber, 3, false},
		{"0\n1\na 0 x\n", nil, checkpoint.ErrNumber, 3, false},
		{"0\n1\na 0 99999999999999999999\n", nil, checkpoint.ErrNumber, 3, false},
		{"0\n1\na 2147483648 1\n", nil, checkpoint.ErrNumber, 3, false},
		{"0\n1\n\xe9 0 5\n", nil, checkpoint.ErrEncoding, 3, true},
		{"0\n2\na 0 x\n\xe9 0 5\n", nil, checkpoint.ErrEncoding, 4, true},
		{"0\n1\n" + strings.Repeat("a", checkpoint.MaxLine) + " 0 5\n", nil, checkpoint.ErrLine, 3, true},
	} {
		got, err := checkpoint.DecodeOffsets([]byte(tt.text))
		if !slices.Equal(got, tt.want) || !errors.Is(err, tt.err) || checkpoint.FailsDir(err) != tt.offline {
			t.Errorf("%.40q: got %v, %v (offline %v); want %v, %v (%v)", tt.text, got, err, checkpoint.FailsDir(err), tt.want, tt.err, tt.offline)
		}
		if at, ok := errors.AsType[*checkpoint.Error](err); ok != (tt.err != nil) || ok && at.Line != tt.line {
			t.Errorf("%.40q: got %v; want line %d", tt.text, err, tt.line)
		}
	}
}

func TestDecodeEpochs(t *testing.T) {
	for _, tt := range []struct {
		text    string
		want    []checkpoint.Epoch
		err     error
		offline bool
	}{
		{"0\n2\n0 0\n5 100\n", []checkpoint.Epoch{{0, 0}, {5, 100}}, nil, false},
		{"0\n2\n5 100\n0 0\n", []checkpoint.Epoch{{5, 100}, {0, 0}}, nil, false},
		{"0\n2\n0 0\n", nil, checkpoint.ErrCount, true},
		{"0\n1\n0 0\n1 5\n", nil, checkpoint.ErrCount, true},
		{"0\n1\na 0 5\n", nil, checkpoint.ErrFields, true},
		{"0\n1\n 5\n", nil, checkpoint.ErrNumber, false},
		{"0\n1\nfoo bar\n", nil, checkpoint.ErrNumber, false},
		{"0\n1\n2147483648 0\n", nil, checkpoint.ErrNumber, false},
		{"0\n1\n-1 0\n", nil, checkpoint.ErrNegative, false},
		{"0\n1\n1 -1\n", nil, checkpoint.ErrNegative, false},
	} {
		got, err := checkpoint.DecodeEpochs([]byte(tt.text))
		if !slices.Equal(got, tt.want) || !errors.Is(err, tt.err) || checkpoint.FailsDir(err) != tt.offline {
			t.Errorf("%q: got %v, %v; want %v, %v", tt.text, got, err, tt.want, tt.err)
		}
	}
}

func describe[E any](seq iter.Seq2[E, error]) string {
	var b strings.Builder
	for e, err := range seq {
		fmt.Fprintf(&b, "  %v %v\n", e, err)
	}
	return b.String()
}

// All that is wrong is told, not only the first thing.
func TestAllBadLines(t *testing.T) {
	var b strings.Builder
	for _, text := range []string{
		"7\nmany\na 0 5\n\n b 0 6\nc x 7\nd 0 y\n\xe9 0 8\ne 0 9\n",
		"0\n-3\na 0 5\n",
		"0\n5\na 0 5\nbad\n",
		"0\n1\n" + strings.Repeat("x", 2*checkpoint.MaxLine) + "\na 0 5\n",
	} {
		fmt.Fprintf(&b, "%.60q\n%s", text, describe(checkpoint.Offsets(strings.NewReader(text))))
	}
	for _, text := range []string{"0\n3\n0 0\n-1 5\nx 6\n", "\x00\x00\n"} {
		fmt.Fprintf(&b, "%q\n%s", text, describe(checkpoint.Epochs(strings.NewReader(text))))
	}
	kftest.Golden(t, "testdata/bad_lines.golden", b.String())
}

func TestReadFails(t *testing.T) {
	broken := errors.New("broken disk")
	var last error
	entries := 0
	for _, err := range checkpoint.Offsets(io.MultiReader(strings.NewReader("0\n2\na 0 5\n"), iotest.ErrReader(broken))) {
		if last = err; err == nil {
			entries++
		}
	}
	if entries != 1 || !errors.Is(last, broken) {
		t.Errorf("got %d entries, then %v; want 1, then %v", entries, last, broken)
	}
}

// A cut file is noticed, except where it is a file of its own.
func TestCutAtEveryByte(t *testing.T) {
	p := checkpoint.AppendOffsets(nil, []checkpoint.Offset{{"a", 0, 51}, {"b", 10, 600}})
	for n := range len(p) + 1 {
		_, err := checkpoint.DecodeOffsets(p[:n])
		last := n >= len(p)-len("00\n") // only digits of the last number are gone
		if sound := n <= len("0\n") || last; sound != (err == nil) {
			t.Errorf("cut at %d: %q: %v", n, p[:n], err)
		}
	}
}

func TestFlipEveryBit(t *testing.T) {
	p := checkpoint.AppendEpochs(nil, []checkpoint.Epoch{{0, 0}, {5, 100}})
	want := map[bool]int{}
	for bit := range len(p) * 8 {
		q := bytes.Clone(p)
		q[bit/8] ^= 1 << (bit % 8)
		entries, err := checkpoint.DecodeEpochs(q)
		want[err == nil]++
		if err == nil && len(entries) != 2 || err != nil && entries != nil {
			t.Errorf("bit %d: %q gives %v, %v", bit, q, entries, err)
		}
	}
	if want[true] == 0 || want[false] == 0 {
		t.Errorf("sound and damaged: %v, want some of both", want)
	}
}

func FuzzDecodeOffsets(f *testing.F) {
	for _, v := range kftest.Vectors(f, "offset-checkpoint") {
		f.Add(v.Bytes)
	}
	f.Add([]byte("0\r\n1\r\n 0 5"))
	f.Fuzz(func(t *testing.T, p []byte) {
		fuzz(t, p, checkpoint.DecodeOffsets, checkpoint.Offsets, checkpoint.AppendOffsets)
	})
}

func FuzzDecodeEpochs(f *testing.F) {
	for _, v := range kftest.Vectors(f, "leader-epoch-checkpoint") {
		f.Add(v.Bytes)
	}
	f.Fuzz(func(t *testing.T, p []byte) {
		fuzz(t, p, checkpoint.DecodeEpochs, checkpoint.Epochs, checkpoint.AppendEpochs)
	})
}

func fuzz[E comparable](t *testing.T, p []byte, decode func([]byte) ([]E, error),
	read func(io.Reader) iter.Seq2[E, error], encode func([]byte, []E) []byte) {
	var lenient []E
	sound := true
	for e, err := range read(bytes.NewReader(p)) {
		if sound = sound && err == nil; err == nil {
			lenient = append(lenient, e)
		}
	}
	strict, err := decode(p)
	if (err == nil) != sound || sound && !slices.Equal(strict, lenient) {
		t.Fatalf("strict %v, %v; lenient %v, sound %v", strict, err, lenient, sound)
	}
	again := encode(nil, lenient)
	back, err := decode(again)
	if err != nil || !slices.Equal(back, lenient) {
		t.Fatalf("%v encoded to %q, decoded to %v, %v", lenient, again, back, err)
	}
	if twice := encode(nil, back); !bytes.Equal(twice, again) {
		t.Fatalf("encoded to %q, then to %q", again, twice)
	}
}
