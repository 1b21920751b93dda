package codec_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"kf/internal/format/codec"
	"kf/internal/kftest"
)

var all = []codec.ID{codec.None, codec.Gzip, codec.Snappy, codec.LZ4, codec.Zstd}

const limit = 1 << 20

// samples are data of every shape: empty, tiny, text, incompressible, longer
// than a block of any codec.
func samples() map[string][]byte {
	noise := make([]byte, 150_000)
	r := rand.NewChaCha8([32]byte{1})
	r.Read(noise)
	return map[string][]byte{
		"empty": {}, "byte": {7}, "text": []byte(strings.Repeat("the quick brown fox ", 20)),
		"noise": noise, "zeros": make([]byte, 200_000),
	}
}

func TestRoundTrip(t *testing.T) {
	for name, data := range samples() {
		for _, id := range all {
			for magic := range int8(3) {
				p, err := codec.Deflate([]byte("kept"), data, id, magic)
				if err != nil || !bytes.HasPrefix(p, []byte("kept")) {
					t.Fatalf("%s, %s: %q…, %v", name, id, p[:4], err)
				}
				got, err := codec.Inflate([]byte("kept"), p[4:], id, magic, limit)
				if err != nil || !bytes.Equal(got, append([]byte("kept"), data...)) {
					t.Errorf("%s, %s, magic %d: %d bytes, %v; want %d", name, id, magic, len(got), err, len(data)+4)
				}
			}
		}
	}
}

func TestInflate(t *testing.T) {
	text := strings.Repeat("0123456789", 10)
	deflate := func(s string, id codec.ID, magic int8) string {
		p, err := codec.Deflate(nil, []byte(s), id, magic)
		if err != nil {
			t.Fatal(err)
		}
		return string(p)
	}
	gz, lz := deflate(text, codec.Gzip, 2), deflate(text, codec.LZ4, 2)
	sn, zs := deflate(text, codec.Snappy, 2), deflate(text, codec.Zstd, 2)
	for _, tt := range []struct {
		name  string
		id    codec.ID
		magic int8
		in    string
		want  string
		err   error
	}{
		{"gzip, two members", codec.Gzip, 2, gz + gz, text + text, nil},
		{"gzip, a few bytes behind", codec.Gzip, 2, gz + "abc", text, nil},
		{"gzip, garbage behind", codec.Gzip, 2, gz + strings.Repeat("g", 100), text, nil},
		{"gzip, wrong checksum", codec.Gzip, 2, gz[:len(gz)-8] + "abcd" + gz[len(gz)-4:], "", codec.ErrCorrupt},
		{"gzip, wrong size", codec.Gzip, 2, gz[:len(gz)-4] + "abcd", "", codec.ErrCorrupt},
		{"not gzip", codec.Gzip, 2, "no gzip at all", "", codec.ErrCorrupt},
		{"snappy, two streams", codec.Snappy, 2, string(kftest.Hex(t, `82534e41505059000000000100000001000000070510706172743082534e415050590000000001000000010000000705107061727431`)), "part0part1", nil},
		{"snappy, one raw block", codec.Snappy, 2, string(kftest.Hex(t, "0510706172743 0")), "part0", nil},
		{"snappy, three bytes behind", codec.Snappy, 2, sn + "abc", text, nil},
		{"snappy, four bytes behind", codec.Snappy, 2, sn + "abcd", "", codec.ErrCorrupt},
		{"snappy, empty", codec.Snappy, 2, "", "", codec.ErrCorrupt},
		{"snappy, claims 2 GiB", codec.Snappy, 2, "\xff\xff\xff\xff\x07abc", "", codec.ErrCorrupt},
		{"snappy, versions of the first header do not count", codec.Snappy, 2, "\x82SNAPPY\x00\x00\x00\x00\x00\xff\xff\xff\xff" + sn[16:], text, nil},
		{"snappy, lowest compatible version does not count", codec.Snappy, 2, sn + "\x82SNAPPY\x00\x00\x00\x00\x01\x00\x00\x00\x00" + sn[16:], text + text, nil},
		{"snappy, version of a later header", codec.Snappy, 2, sn + "\x82SNAPPY\x00\x00\x00\x00\x00\x00\x00\x00\x01", "", codec.ErrCorrupt},
		{"snappy, a later header is none", codec.Snappy, 2, sn + "\x82SNAPxxxxxxxxxxx" + sn[16:], text + text, nil},
		{"snappy, a later header is none, then garbage", codec.Snappy, 2, sn + "\x82SNAPxxxxxxxxxxxzzzz", "", codec.ErrCorrupt},
		{"lz4, second frame is ignored", codec.LZ4, 2, lz + lz, text, nil},
		{"lz4, garbage behind is ignored", codec.LZ4, 2, lz + "garbage", text, nil},
		{"lz4, magic 0 checksum in magic 0", codec.LZ4, 0, deflate(text, codec.LZ4, 0), text, nil},
		{"lz4, magic 0 checksum in magic 1", codec.LZ4, 1, deflate(text, codec.LZ4, 0), "", codec.ErrCorrupt},
		{"lz4, right checksum in magic 0", codec.LZ4, 0, lz, text, nil},
		{"lz4, dependent blocks", codec.LZ4, 0, lz[:4] + "\x40" + lz[5:], "", codec.ErrCorrupt},
		{"zstd, two frames", codec.Zstd, 2, zs + zs, text + text, nil},
		{"zstd, garbage behind", codec.Zstd, 2, zs + "garbage", "", codec.ErrCorrupt},
		{"zstd, part of a magic behind", codec.Zstd, 2, zs + zs[:3], text, nil},
		{"zstd, part of no magic behind", codec.Zstd, 2, zs + "zs", "", codec.ErrCorrupt},
		{"zstd, part of a header behind", codec.Zstd, 2, zs + "\x28\xb5\x2f\xfd\xe0\x01\x02", text, nil},
		{"zstd, header with a large window behind", codec.Zstd, 2, zs + "\x28\xb5\x2f\xfd\x00\xff", "", codec.ErrCorrupt},
		{"zstd, part of a frame to skip behind", codec.Zstd, 2, zs + "\x50\x2a\x4d\x18\x05\x00\x00\x00abcd", text, nil},
		{"zstd, part of a compressed block behind", codec.Zstd, 2, zs + "\x28\xb5\x2f\xfd\x00\x58\x95\x00\x00abc", text, nil},
		{"zstd, part of a raw block behind", codec.Zstd, 2, zs + "\x28\xb5\x2f\xfd\x00\x58\x91\x00\x00abc", "", codec.ErrCorrupt},
		{"zstd, part of a header alone", codec.Zstd, 2, "\x28\xb5\x2f\xfd\x00", "", codec.ErrCorrupt},
		{"codec 5", 5, 2, "", "", codec.ErrUnknown},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := codec.Inflate(nil, []byte(tt.in), tt.id, tt.magic, limit)
			if !errors.Is(err, tt.err) || err == nil && string(got) != tt.want {
				t.Errorf("got %q, %v; want %q, %v", got, err, tt.want, tt.err)
			}
		})
	}
}

// Java sees only so much of a stream at a time, and what it does behind a member
// depends on where the buffer ends.
func TestGzipMemberAtEndOfBuffer(t *testing.T) {
	noise := samples()["noise"]
	for n := 8100; n < 8210; n++ {
		var p []byte
		for _, member := range [][]byte{noise[:n], noise[n : n+100]} {
			var err error
			if p, err = codec.Deflate(p, member, codec.Gzip, 2); err != nil {
				t.Fatal(err)
			}
		}
		got, err := codec.Inflate(nil, p, codec.Gzip, 2, limit)
		if err != nil || !bytes.Equal(got, noise[:n+100]) {
			t.Errorf("first member of %d bytes: got %d, %v; want %d", n, len(got), err, n+100)
		}
	}
}

// Kafka's zstd takes the start of a frame for the end of the stream only if the
// end of the frame in front is in the same buffer.
func TestZstdCutBehindBuffer(t *testing.T) {
	const buffer = 128<<10 + 3
	for _, size := range []int{buffer - 100, buffer - 1, buffer, buffer + 1} {
		// one raw block that is not the last, one that is
		first, second := 100_000, size-9-3-100_000
		header := func(n int, last uint32) string {
			word := uint32(n)<<3 | last
			return string([]byte{byte(word), byte(word >> 8), byte(word >> 16)})
		}
		p := "\x28\xb5\x2f\xfd\x00\x58" + header(first, 0) + strings.Repeat("a", first) + header(second, 1) + strings.Repeat("b", second)
		got, err := codec.Inflate(nil, []byte(p+"\x28\xb5"), codec.Zstd, 2, limit)
		if ok := size <= buffer-2 || size == buffer+1; ok != (err == nil) || ok && len(got) != first+second {
			t.Errorf("frame of %d bytes: got %d bytes, %v", len(p), len(got), err)
		}
	}
}

func TestHeaderChecksums(t *testing.T) { // the bytes that Kafka's writer makes
	for magic, want := range map[int8]byte{0: 0x1a, 1: 0x82, 2: 0x82} {
		p, err := codec.Deflate(nil, []byte("x"), codec.LZ4, magic)
		if err != nil || p[6] != want {
			t.Errorf("magic %d: header checksum %#x, %v; want %#x", magic, p[6], err, want)
		}
	}
}

func TestCutAtEveryByte(t *testing.T) {
	data := bytes.Repeat([]byte("kf "), 2000)
	for _, id := range all[1:] {
		p, err := codec.Deflate(nil, data, id, 2)
		if err != nil {
			t.Fatal(err)
		}
		for n := range len(p) {
			got, err := codec.Inflate(nil, p[:n], id, 2, limit)
			// A cut between two blocks of a snappy stream is a shorter stream.
			if err == nil && bytes.Equal(got, data) {
				t.Errorf("%s cut at %d of %d: all data, no error", id, n, len(p))
			}
		}
	}
}

func TestLimit(t *testing.T) {
	data := make([]byte, 1<<20)
	for _, id := range all {
		p, err := codec.Deflate(nil, data, id, 2)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := codec.Inflate(nil, p, id, 2, len(data)); err != nil {
			t.Errorf("%s at the limit: %v", id, err)
		}
		if _, err := codec.Inflate(nil, p, id, 2, len(data)-1); !errors.Is(err, codec.ErrLimit) {
			t.Errorf("%s one byte beyond the limit: %v", id, err)
		}
	}
}

// A frame that claims a large content size must not make us allocate it.
func TestClaimedSize(t *testing.T) {
	frame := kftest.Hex(t, "28b52ffd a0 00000040 190000 616263") // 1 GiB claimed, one raw block of 3 bytes
	allocs := testing.Benchmark(func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := codec.Inflate(nil, frame, codec.Zstd, 2, 1<<30); err == nil {
				b.Fatal("no error")
			}
		}
	})
	if n := allocs.AllocedBytesPerOp(); n > 1<<20 {
		t.Errorf("%d bytes allocated for a frame of %d", n, len(frame))
	}
}

func FuzzInflate(f *testing.F) {
	for _, data := range samples() {
		for _, id := range all {
			p, err := codec.Deflate(nil, data[:min(len(data), 500)], id, 2)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(p, uint8(id), int8(2))
		}
	}
	f.Fuzz(func(t *testing.T, p []byte, id uint8, magic int8) {
		got, err := codec.Inflate(nil, p, codec.ID(id), magic, limit)
		if len(got) > limit && err == nil {
			t.Fatalf("%d bytes", len(got))
		}
	})
}

func FuzzRoundTrip(f *testing.F) {
	f.Add([]byte("some data"), uint8(1))
	f.Fuzz(func(t *testing.T, data []byte, n uint8) {
		id := all[int(n)%len(all)]
		p, err := codec.Deflate(nil, data, id, 2)
		if err != nil {
			t.Fatal(err)
		}
		got, err := codec.Inflate(nil, p, id, 2, len(data)+1)
		if err != nil || !bytes.Equal(got, data) {
			t.Fatalf("%s: %v", id, err)
		}
	})
}

func BenchmarkInflate(b *testing.B) {
	var data []byte
	for i := range 2000 {
		data = fmt.Appendf(data, `{"order":%d,"customer":%d,"state":"paid"}`, i, i*7919%1000)
	}
	for _, id := range all[1:] {
		p, err := codec.Deflate(nil, data, id, 2)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(id.String(), func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			var dst []byte
			for b.Loop() {
				if dst, err = codec.Inflate(dst[:0], p, id, 2, 1<<30); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
