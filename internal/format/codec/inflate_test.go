package codec

import (
	"bytes"
	"compress/flate"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"
)

// deflated returns streams with all kinds of blocks and codes, of what also is
// returned.
func deflated(t testing.TB) (streams, data [][]byte) {
	t.Helper()
	rnd := rand.New(rand.NewPCG(1, 2))
	noise, skewed, text := make([]byte, 100_000), make([]byte, 100_000), []byte(nil)
	for i := range noise {
		noise[i] = byte(rnd.Uint32())
		for skewed[i] = 0; rnd.IntN(2) == 0; { // long codes
			skewed[i]++
		}
	}
	for i := range 2000 {
		text = fmt.Appendf(text, "order %d of customer %d is paid; ", i, i*7919%1000)
	}
	far := append(bytes.Clone(noise[:32<<10]), noise[:300]...) // the longest distance
	for _, d := range [][]byte{nil, {7}, noise, skewed, text, far, make([]byte, 70_000), bytes.Repeat([]byte("ab"), 500), bytes.Repeat([]byte("1234567"), 500)} {
		for level := flate.HuffmanOnly; level <= flate.BestCompression; level++ {
			var out bytes.Buffer
			w, err := flate.NewWriter(&out, level)
			if err == nil {
				_, err = w.Write(d)
			}
			if err == nil {
				err = w.Close()
			}
			if err != nil {
				t.Fatal(err)
			}
			streams, data = append(streams, out.Bytes()), append(data, d)
		}
	}
	return streams, data
}

func TestInflateAgain(t *testing.T) {
	streams, data := deflated(t)
	var z inflater // what one stream leaves must not matter to the next
	for i, p := range streams {
		for _, room := range []int{0, 100, 1 << 20} {
			dst := append(make([]byte, 0, 4+room), "kept"...)
			got, n, err := z.inflate(dst, append(bytes.Clone(p), "behind"...), 4+len(data[i]))
			if err != nil || n != len(p) || string(got) != "kept"+string(data[i]) {
				t.Errorf("stream %d: %d bytes of %d, %v; read %d of %d", i, len(got)-4, len(data[i]), err, n, len(p))
			}
		}
		if len(data[i]) == 0 {
			continue
		}
		if _, _, err := z.inflate(nil, p, len(data[i])-1); !errors.Is(err, ErrLimit) {
			t.Errorf("stream %d, a byte beyond the limit: %v", i, err)
		}
		if _, _, err := z.inflate(nil, p[:len(p)-1], len(data[i])); !errors.Is(err, errCut) {
			t.Errorf("stream %d, a byte is missing: %v", i, err)
		}
	}
}

func TestInflateDamaged(t *testing.T) {
	var z inflater
	for _, tt := range []struct {
		name string
		bits string // in the order in which they are read
		err  error
	}{
		{"nothing", "", errCut},
		{"block type 3", "1 11", errBlock},
		{"stored, cut", "1 00 00000 10000000", errCut},
		{"stored, wrong complement", "1 00 00000 10000000 00000000 10000000 00000000", errStored},
		{"stored, data cut", "1 00 00000 10000000 00000000 01111111 11111111", errCut},
		{"287 lengths", "1 01 01111 00000 0000", errCodes},
		{"31 distances", "1 01 00000 01111 0000", errCodes},
		{"code lengths cut", "1 01 00000 00000 1111", errCut},
		{"no codes for code lengths", "1 01 00000 00000 0000 000 000 000 000 0000", errCode},
		{"one code for code lengths", "1 01 00000 00000 0000 000 000 000 100 0000", errAlone},
		{"three codes of one bit", "1 01 00000 00000 0000 100 100 100 000 0000", errLengths},
		{"code lengths that do not fill", "1 01 00000 00000 0000 010 010 010 000 0000", errLengths},
		{"repeat of nothing", "1 01 00000 00000 0000 100 100 000 000 00", errLengths},
		{"too many zeros", "1 01 00000 00000 0000 000 100 100 000 1 1111111 1 1111111 1 1111111", errLengths},
		{"no end", "1 01 00000 00000 0000 000 100 100 000 1 1111111 1 0101011 0 000", errLengths},
		{"fixed, length 286", "1 10 11000110", errCode},
		{"fixed, distance 30", "1 10 0000001 11110", errCode},
		{"fixed, distance beyond the start", "1 10 0000001 00000", errDistance},
		{"fixed, no end", "1 10 00110000", errCut},
	} {
		var p []byte
		n := 0
		for _, c := range tt.bits {
			if c == ' ' {
				continue
			}
			if n%8 == 0 {
				p = append(p, 0)
			}
			p[n/8] |= byte(c-'0') << (n % 8)
			n++
		}
		if _, _, err := z.inflate(nil, p, 1000); !errors.Is(err, tt.err) {
			t.Errorf("%s: got %v, want %v", tt.name, err, tt.err)
		}
	}
}

// FuzzInflateStream compares with the standard library: both take the same
// streams, but for those that only zlib refuses.
func FuzzInflateStream(f *testing.F) {
	streams, _ := deflated(f)
	for _, p := range streams {
		if len(p) < 5000 {
			f.Add(p)
		}
	}
	f.Add([]byte("\x01\x03\x00\xfc\xffabc"))
	f.Fuzz(func(t *testing.T, p []byte) {
		const limit = 1 << 20
		var z inflater
		got, n, err := z.inflate(nil, p, limit)
		if len(got) > limit+room || n > len(p) {
			t.Fatalf("%d bytes of %d", len(got), n)
		}
		if errors.Is(err, ErrLimit) || errors.Is(err, errAlone) {
			return
		}
		in := bytes.NewReader(p)
		want, wantErr := io.ReadAll(flate.NewReader(in))
		if (err == nil) != (wantErr == nil) {
			t.Fatalf("got %v, want %v", err, wantErr)
		}
		if err == nil && (!bytes.Equal(got, want) || n != len(p)-in.Len()) {
			t.Fatalf("got %d bytes of %d, want %d of %d", len(got), n, len(want), len(p)-in.Len())
		}
	})
}
