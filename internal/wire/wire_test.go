package wire_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"testing"

	"kf/internal/kftest"
	"kf/internal/wire"
)

func TestVectors(t *testing.T) {
	for _, v := range kftest.Vectors(t, "varint") {
		var want int32
		if err := json.Unmarshal(v.Decoded, &want); err != nil {
			t.Fatal(err)
		}
		if got, n := wire.Varint(v.Bytes); got != want || n != len(v.Bytes) {
			t.Errorf("%x: got %d in %d bytes, want %d", v.Bytes, got, n, want)
		}
		if p := wire.AppendVarint(nil, want); !bytes.Equal(p, v.Bytes) {
			t.Errorf("%d: got %x, want %x", want, p, v.Bytes)
		}
	}
	for _, v := range kftest.Vectors(t, "varlong") {
		var want int64
		if err := json.Unmarshal(v.Decoded, &want); err != nil {
			t.Fatal(err)
		}
		if got, n := wire.Varlong(v.Bytes); got != want || n != len(v.Bytes) {
			t.Errorf("%x: got %d in %d bytes, want %d", v.Bytes, got, n, want)
		}
		if p := wire.AppendVarlong(nil, want); !bytes.Equal(p, v.Bytes) {
			t.Errorf("%d: got %x, want %x", want, p, v.Bytes)
		}
	}
}

func TestUvarint(t *testing.T) {
	for _, tt := range []struct {
		hex  string
		want uint32
		n    int
	}{
		{"", 0, 0},
		{"80", 0, 0},
		{"7f", 127, 1},
		{"8000", 0, 2}, // overlong
		{"8080808000", 0, 5},
		{"ffffffff0f", math.MaxUint32, 5},
		{"ffffffff7f", math.MaxUint32, 5}, // excess bits are dropped
		{"8080808080", 0, -1},
		{"ffffffffff01", 0, -1},
	} {
		if got, n := wire.Uvarint(kftest.Hex(t, tt.hex)); got != tt.want || n != tt.n {
			t.Errorf("%s: got %d, %d; want %d, %d", tt.hex, got, n, tt.want, tt.n)
		}
	}
	if _, n := wire.Varlong(kftest.Hex(t, "ffffffffffffffffffff01")); n != -1 {
		t.Errorf("varlong of 11 bytes: %d", n)
	}
}

func TestCursor(t *testing.T) {
	p := kftest.Hex(t, "ff 01 8000 ffff 80000000 fffffffe 8000000000000000 3ff8000000000000"+
		"27c6803dc7cb42dd9baacd494ffacc81 ac02 03 ffffffffffffffffff01 616263")
	c := wire.Cursor{B: p}
	id := wire.UUID{}
	for _, tt := range []struct {
		what      string
		got, want any
	}{
		{"int8", c.Int8(), int8(-1)},
		{"bool", c.Bool(), true},
		{"int16", c.Int16(), int16(math.MinInt16)},
		{"uint16", c.Uint16(), uint16(math.MaxUint16)},
		{"int32", c.Int32(), int32(math.MinInt32)},
		{"uint32", c.Uint32(), uint32(math.MaxUint32 - 1)},
		{"int64", c.Int64(), int64(math.MinInt64)},
		{"float64", c.Float64(), 1.5},
		{"uuid", c.UUID().String(), "J8aAPcfLQt2bqs1JT_rMgQ"},
		{"uvarint", c.Uvarint(), uint32(300)},
		{"varint", c.Varint(), int32(-2)},
		{"varlong", c.Varlong(), int64(math.MinInt64)},
		{"bytes", string(c.Bytes(3)), "abc"},
		{"left", c.Len(), 0},
		{"position", c.Pos(), len(p)},
		{"error", c.Err(), nil},
		{"beyond the end", c.Int32(), int32(0)},
		{"after a failure", c.UUID(), id},
	} {
		if tt.got != tt.want {
			t.Errorf("%s: got %v, want %v", tt.what, tt.got, tt.want)
		}
	}
	var short *wire.ShortError
	if !errors.As(c.Err(), &short) || !errors.Is(c.Err(), wire.ErrShort) || *short != (wire.ShortError{Pos: len(p), Need: 4, Have: 0}) {
		t.Errorf("got %v", c.Err())
	}
}

func TestCursorFailures(t *testing.T) {
	for _, tt := range []struct {
		name string
		read func(c *wire.Cursor)
		err  error
	}{
		{"negative length", func(c *wire.Cursor) { c.Bytes(-1) }, wire.ErrLength},
		{"length beyond the end", func(c *wire.Cursor) { c.Bytes(math.MaxInt32) }, wire.ErrShort},
		{"varint too long", func(c *wire.Cursor) { c.Varint() }, wire.ErrVarint},
		{"varlong cut off", func(c *wire.Cursor) { c.Varlong() }, wire.ErrShort},
	} {
		c := wire.Cursor{B: bytes.Repeat([]byte{0xff}, 7)}
		tt.read(&c)
		if !errors.Is(c.Err(), tt.err) || c.Pos() != 0 || c.Len() != 0 {
			t.Errorf("%s: got %v at %d, want %v", tt.name, c.Err(), c.Pos(), tt.err)
		}
	}
}

func TestUUID(t *testing.T) {
	for _, s := range []string{"J8aAPcfLQt2bqs1JT_rMgQ", "AAAAAAAAAAAAAAAAAAAAAQ", "J8aAPcfLQt2bqs1JT_rMgQ=="} {
		u, err := wire.ParseUUID(s)
		if err != nil || u.String() != s[:22] || u.IsZero() {
			t.Errorf("%s: got %v, %v", s, u, err)
		}
	}
	for _, s := range []string{"", "J8aAPcfLQt2bqs1JT_rMg", "J8aAPcfLQt2bqs1JT_rMgQQ", "J8aAPcfLQt2bqs1JT/rMgQ", "J8aAPcfLQt2bqs1J\nT_rMgQ"} {
		if u, err := wire.ParseUUID(s); err == nil {
			t.Errorf("%q: got %v, want an error", s, u)
		}
	}
}

func FuzzVarlong(f *testing.F) {
	f.Add([]byte{0x80, 1}, int64(-5))
	f.Fuzz(func(t *testing.T, p []byte, v int64) {
		q := wire.AppendVarlong(nil, v)
		if got, n := wire.Varlong(append(q, p...)); got != v || n != len(q) {
			t.Fatalf("%d: got %d in %d bytes", v, got, n)
		}
		q = wire.AppendVarint(nil, int32(v))
		if got, n := wire.Varint(append(q, p...)); got != int32(v) || n != len(q) {
			t.Fatalf("%d: got %d in %d bytes", int32(v), got, n)
		}
		if _, n := wire.Varlong(p); n > min(len(p), 10) {
			t.Fatalf("%x: %d bytes", p, n)
		}
		if _, n := wire.Varint(p); n > min(len(p), 5) {
			t.Fatalf("%x: %d bytes", p, n)
		}
	})
}
