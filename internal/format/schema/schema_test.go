package schema_test

import (
	"bytes"
	"errors"
	"math"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"kf/internal/format/schema"
	"kf/internal/kftest"
	"kf/internal/wire"
)

type part struct {
	A       int8 `kf:"a,default=5"`
	Unknown schema.Tags
}

type message struct {
	_       struct{}    `kf:"v0-3,flex=2"`
	Num     int32       `kf:"num,default=-1"`
	Old     int64       `kf:"old,v1,default=-1,ignorable"`
	New     string      `kf:"new,v1+"`
	Maybe   *string     `kf:"maybe,nullable,default=null"`
	Bytes   []byte      `kf:"bytes"`
	MaybeB  []byte      `kf:"maybeB,nullable"`
	Names   []string    `kf:"names"`
	Parts   []part      `kf:"parts,nullable"`
	Part    *part       `kf:"part,v3+,nullable,default=null"`
	Ports   uint16      `kf:"port"`
	Big     uint32      `kf:"big"`
	Ratio   float64     `kf:"ratio,v3+"`
	Tagged  []int32     `kf:"tagged,v2+,tag=3,nullable"`
	Tagged2 *part       `kf:"tagged2,v3+,tag=1,nullable"`
	Longs   []int64     `kf:"longs,v3+,tag=5"`
	Shorts  []int16     `kf:"shorts,v3+,tag=6"`
	IDs     []wire.UUID `kf:"ids,v3+,tag=7"`
	Unknown schema.Tags
}

func sample() *message {
	return &message{
		Num: 7, Old: -1, New: "n", Maybe: new("m"), Bytes: []byte{1}, MaybeB: []byte{}, Names: []string{"x", ""},
		Parts: []part{{A: 1}, {A: 2}}, Ports: 65535, Big: math.MaxUint32, Tagged: []int32{}, Tagged2: schema.New[part](),
	}
}

func TestBytes(t *testing.T) {
	v3 := func(change func(*message)) *message {
		m := sample()
		change(m)
		return m
	}
	for _, tt := range []struct {
		name    string
		version int16
		m       *message
		hex     string
	}{
		{"not flexible", 1, sample(), `00000007 ffffffffffffffff 00016e 00016d 00000001 01 00000000
			00000002 0001 78 0000 00000002 01 02 ffff ffffffff`},
		{"nulls", 1, v3(func(m *message) { m.Maybe, m.MaybeB, m.Parts = nil, nil, nil }), `00000007 ffffffffffffffff 00016e ffff 00000001 01 ffffffff
			00000002 0001 78 0000 ffffffff ffff ffffffff`},
		{"flexible", 2, sample(), `00000007 026e 026d 02 01 01
			03 0278 01 03 0100 0200 ffff ffffffff 00`},
		{"flexible nulls", 2, v3(func(m *message) { m.Maybe, m.MaybeB, m.Parts = nil, nil, nil }), `00000007 026e 00 02 01 00
			03 0278 01 00 ffff ffffffff 00`},
		{"struct that is null", 3, sample(), `00000007 026e 026d 02 01 01
			03 0278 01 03 0100 0200 ff ffff ffffffff 0000000000000000 00`},
		{"struct and tags", 3, v3(func(m *message) {
			m.Part, m.Ratio = &part{A: 3}, 1
			m.Tagged, m.Tagged2 = nil, nil // null is not the default of both
			m.Unknown = schema.Tags{{Number: 0, Data: []byte{9}}, {Number: 2}, {Number: 300, Data: []byte{8, 8}}}
		}), `00000007 026e 026d 02 01 01
			03 0278 01 03 0100 0200 01 03 00 ffff ffffffff 3ff0000000000000
			05 00 01 09  01 01 00  02 00  03 01 00  ac02 02 0808`},
		{"default but for an unknown tag", 3, v3(func(m *message) { m.Tagged2.Unknown = schema.Tags{{Number: 1, Data: []byte{7}}} }), `00000007 026e 026d 02 01 01
			03 0278 01 03 0100 0200 ff ffff ffffffff 0000000000000000
			01 01 06 01 05 01 01 01 07`},
		{"tagged values", 3, v3(func(m *message) {
			m.Tagged, m.Tagged2 = []int32{1}, &part{A: 4, Unknown: schema.Tags{{Number: 1, Data: []byte{7}}}}
			m.Longs, m.Shorts, m.IDs = []int64{-1}, []int16{2}, []wire.UUID{{15: 3}}
		}), `00000007 026e 026d 02 01 01
			03 0278 01 03 0100 0200 ff ffff ffffffff 0000000000000000
			05 01 06 01 04 01 01 01 07  03 05 02 00000001  05 09 02 ffffffffffffffff  06 03 02 0002
			07 11 02 00000000000000000000000000000003`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			want := kftest.Hex(t, tt.hex)
			got, err := schema.Append([]byte{0xee}, tt.m, tt.version)
			if err != nil || !bytes.Equal(got[1:], want) || got[0] != 0xee {
				t.Errorf("encoded as %x, %v; want ee and %x", got, err, want)
			}
			c := wire.Cursor{B: append(bytes.Clone(want), 0xaa)}
			m := &message{Names: []string{"left over"}, Unknown: schema.Tags{{}}}
			if err := schema.Decode(&c, m, tt.version); err != nil || c.Len() != 1 {
				t.Fatalf("%v, %d bytes left, want 1", err, c.Len())
			}
			if !reflect.DeepEqual(m, tt.m) {
				t.Errorf("decoded as %+v, want %+v", m, tt.m)
			}
			for n := range want {
				c := wire.Cursor{B: want[:n:n]}
				if err := schema.Decode(&c, new(message), tt.version); err == nil {
					t.Errorf("cut to %d of %d bytes: no error", n, len(want))
				}
			}
		})
	}
}

func TestDefaults(t *testing.T) {
	got := schema.New[message]()
	want := &message{Num: -1, Old: -1, MaybeB: []byte{}, Parts: []part{}, Tagged: []int32{}, Tagged2: &part{A: 5}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if lowest, highest := schema.Versions(got); lowest != 0 || highest != 3 {
		t.Errorf("versions are %d to %d, want 0 to 3", lowest, highest)
	}
}

func TestAppendErrors(t *testing.T) {
	for _, tt := range []struct {
		name    string
		version int16
		change  func(*message)
		err     error
	}{
		{"default of a later version", 0, func(m *message) { m.New = "" }, nil},
		{"field of a later version", 0, func(*message) {}, schema.ErrUnsupported},
		{"tagged field of a later version", 2, func(m *message) { m.Longs = []int64{1} }, schema.ErrUnsupported},
		{"null of a later version", 2, func(m *message) { m.Tagged2 = nil }, schema.ErrUnsupported},
		{"ignorable field", 2, func(m *message) { m.Old = 5 }, nil},
		{"unknown tags without a place", 1, func(m *message) { m.Unknown = schema.Tags{{}} }, schema.ErrUnsupported},
		{"longest string", 2, func(m *message) { m.New = strings.Repeat("x", 0x7fff) }, nil},
		{"longer string", 2, func(m *message) { m.New = strings.Repeat("x", 0x8000) }, schema.ErrLength},
		{"longer string in a list", 1, func(m *message) { m.Names[1] = strings.Repeat("x", 0x8000) }, schema.ErrLength},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := sample()
			tt.change(m)
			got, err := schema.Append([]byte{1}, m, tt.version)
			if !errors.Is(err, tt.err) || err != nil && !bytes.Equal(got, []byte{1}) {
				t.Errorf("got %x, %v; want %v", got, err, tt.err)
			}
		})
	}
}

func TestDecodeErrors(t *testing.T) {
	longString := "81 80 02" + strings.Repeat(" 61", 0x8000)
	manyTags := "914e" + strings.Repeat(" 00", 10001*2) // 10001 of tag 0, empty
	for _, tt := range []struct {
		name    string
		version int16
		hex     string
		err     error
		field   string
		java    string
	}{
		{"number", 0, "000000", schema.ErrShort, "num", "null"},
		{"length", 1, "00000007 ffffffffffffffff 00", schema.ErrShort, "new", "null"},
		{"string", 1, "00000007 ffffffffffffffff 0003 6161", schema.ErrShort, "new", "Error reading byte array of 3 byte(s): only 2 byte(s) available"},
		{"null string", 1, "00000007 ffffffffffffffff ffff", schema.ErrNull, "new", "non-nullable field new was serialized as null"},
		{"null bytes", 0, "00000007 ffff ffffffff", schema.ErrNull, "bytes", "non-nullable field bytes was serialized as null"},
		{"null list", 0, "00000007 ffff 00000000 ffffffff ffffffff", schema.ErrNull, "names", "non-nullable field names was serialized as null"},
		{"null in a list", 0, "00000007 ffff 00000000 ffffffff 00000001 ffff", schema.ErrNull, "names element", "non-nullable field names element was serialized as null"},
		{"varint", 2, "00000007 ffffffffff", schema.ErrVarint, "new", "Varint is too long, the most significant bit in the 5th byte is set, converted value: ffffffff"},
		{"cut varint", 2, "00000007 ff", schema.ErrShort, "new", "null"},
		{"long string", 2, "00000007" + longString, schema.ErrLength, "new", "string field new had invalid length 32768"},
		{"count above the bytes left", 0, "00000007 ffff 00000000 ffffffff 00000005 0000", schema.ErrLength, "names", "Tried to allocate a collection of size 5, but there are only 2 bytes remaining."},
		{"element", 2, "00000007 01 00 01 00 01 02 01", schema.ErrShort, "parts", "null"},
		{"field of an element", 2, "00000007 01 00 01 00 01 03 0500", schema.ErrShort, "parts.a", "null"},
		{"tag count", 2, "00000007 01 00 01 00 01 00 0001 00000002 05", schema.ErrLength, "", "Tried to read 5 tagged fields, but there are only 0 bytes remaining."},
		{"negative tag count", 2, "00000007 01 00 01 00 01 00 0001 00000002 ffffffff0f", schema.ErrLength, "", "Invalid negative number of tagged fields -1"},
		{"too many tags", 2, "00000007 01 00 01 00 01 00 0001 00000002" + manyTags, schema.ErrLength, "", "Tried to read 10001 tagged fields, which exceeds the maximum allowed count of 10000."},
		{"tag of a later version", 2, "00000007 01 00 01 00 01 00 0001 00000002 01 01 01 00", schema.ErrTag, "tagged2", "Tag 1 is not valid for version 2"},
		{"unknown tag", 2, "00000007 01 00 01 00 01 00 0001 00000002 01 08 03 0000", schema.ErrShort, "", "Error reading byte array of 3 byte(s): only 2 byte(s) available"},
		{"size of a tag", 2, "00000007 01 00 01 00 01 00 0001 00000002 01 08 ffffffff0f", schema.ErrLength, "", "-1"},
		{"element of a tag", 2, "00000007 01 00 01 00 01 00 0001 00000002 01 03 06 04 00000001 0000", schema.ErrShort, "tagged", "null"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := wire.Cursor{B: kftest.Hex(t, tt.hex)}
			err := schema.Decode(&c, new(message), tt.version)
			e, ok := errors.AsType[*schema.DecodeError](err)
			if !ok || !errors.Is(err, tt.err) || e.Field != tt.field || e.Java != tt.java {
				t.Errorf("got %+v, %v; want %v in %q, %q", e, err, tt.err, tt.field, tt.java)
			}
		})
	}
}

// TestOtherVersions: like Kafka's reader, any version goes.
func TestOtherVersions(t *testing.T) {
	p := kftest.Hex(t, "00000007 026e 00 01 00 01 00 ff 0001 00000002 0000000000000000 00")
	c := wire.Cursor{B: p}
	m := new(message)
	if err := schema.Decode(&c, m, 99); err != nil || c.Len() != 0 || m.New != "n" || m.Old != -1 {
		t.Errorf("version 99: %v, %d bytes left, %+v", err, c.Len(), m)
	}
	c = wire.Cursor{B: kftest.Hex(t, "00000007 ffff 00000000 ffffffff 00000000 ffffffff 0001 00000002")}
	if err := schema.Decode(&c, m, -1); err != nil || c.Len() != 0 || m.New != "" || m.Ports != 1 {
		t.Errorf("version -1: %v, %d bytes left, %+v", err, c.Len(), m)
	}
}

func TestJSON(t *testing.T) {
	full := sample()
	full.Maybe, full.MaybeB, full.Part, full.Ratio = nil, nil, &part{A: 5}, math.Inf(-1)
	full.Bytes, full.New = []byte{0xff, 0xfe, 0xfd, 0xfc}, "/\"\x01\xff"
	full.Tagged, full.Tagged2 = nil, &part{A: 4}
	full.Longs, full.Shorts, full.IDs = []int64{1, -2}, []int16{3}, []wire.UUID{{}, {15: 1}}
	full.Unknown = schema.Tags{{Number: 9}}
	for _, tt := range []struct {
		version int16
		m       *message
		want    string
	}{
		{0, sample(), `{"num":7,"maybe":"m","bytes":"AQ==","maybeB":"","names":["x",""],"parts":[{"a":1},{"a":2}],"port":65535,"big":4294967295}`},
		{1, sample(), `{"num":7,"old":-1,"new":"n","maybe":"m","bytes":"AQ==","maybeB":"","names":["x",""],"parts":[{"a":1},{"a":2}],"port":65535,"big":4294967295}`},
		{3, full, `{"num":7,"new":"/\"\u0001` + "\ufffd" + `","maybe":null,"bytes":"//79/A==","maybeB":null,"names":["x",""],"parts":[{"a":1},{"a":2}],"part":{"a":5},` +
			`"port":65535,"big":4294967295,"ratio":"-Infinity","tagged":null,"tagged2":{"a":4},"longs":[1,-2],"shorts":[3],"ids":["AAAAAAAAAAAAAAAAAAAAAA","AAAAAAAAAAAAAAAAAAAAAQ"]}`},
		{3, &message{Tagged2: schema.New[part](), Tagged: []int32{}}, `{"num":0,"new":"","maybe":null,"bytes":"","maybeB":null,"names":[],"parts":null,"part":null,"port":0,"big":0,"ratio":0.0}`},
	} {
		if got := string(schema.AppendJSON(nil, tt.m, tt.version)); got != tt.want {
			t.Errorf("version %d\ngot  %s\nwant %s", tt.version, got, tt.want)
		}
	}
	w := schema.Writer{
		Bytes: func(dst []byte, field string, p []byte) ([]byte, bool) {
			return append(dst, `"in place of bytes"`...), field == "bytes"
		},
		Int8: func(dst []byte, _ string, n int8) ([]byte, bool) { return append(dst, `"one"`...), n == 1 },
	}
	want := `{"num":7,"maybe":"m","bytes":"in place of bytes","maybeB":"","names":["x",""],"parts":[{"a":"one"},{"a":2}],"port":65535,"big":4294967295}`
	if got := string(w.Append(nil, sample(), 0)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestClaims: memory follows the bytes that are there, not what they claim.
func TestClaims(t *testing.T) {
	head := kftest.Hex(t, "00000007 01 00 01 00")
	claim := wire.AppendUvarint(append(bytes.Clone(head), 1), 1<<20+1) // no names, parts
	claim = append(claim, make([]byte, 2*9)...)                        // nine sound ones
	claim = append(claim, bytes.Repeat([]byte{0xff}, 1<<20)...)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	c := wire.Cursor{B: claim}
	err := schema.Decode(&c, new(message), 2)
	runtime.ReadMemStats(&after)
	if !errors.Is(err, schema.ErrVarint) {
		t.Errorf("got %v, want ErrVarint", err)
	}
	if used := after.TotalAlloc - before.TotalAlloc; used > 64<<10 {
		t.Errorf("decoding a claim of 2^20 elements allocated %d bytes", used)
	}
}

func TestBadTags(t *testing.T) {
	for name, v := range map[string]any{
		"no message": &part{},
		"no place for tags": &struct {
			_ struct{} `kf:"v0,flex=0"`
		}{},
		"no name": &struct {
			_ struct{} `kf:"v0"`
			A int8
		}{},
		"unknown option": &struct {
			_ struct{} `kf:"v0"`
			A int8     `kf:"a,taged=1"`
		}{},
		"unknown type": &struct {
			_ struct{} `kf:"v0"`
			A uint64   `kf:"a"`
		}{},
		"null number": &struct {
			_ struct{} `kf:"v0"`
			A int8     `kf:"a,nullable"`
		}{},
		"default": &struct {
			_ struct{} `kf:"v0"`
			A string   `kf:"a,default=x"`
		}{},
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Errorf("%T was taken for a message", v)
				}
			}()
			schema.Versions(v)
		})
	}
}

func BenchmarkOffsetCommit(b *testing.B) {
	for _, v := range kftest.Vectors(b, "coordinator-record") {
		if v.Name != "__consumer_offsets OFFSET_COMMIT value v4" {
			continue
		}
		c := coordinators[v.Topic]
		b.Run("decode", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := c.decode(v.Key, v.Bytes); err != nil {
					b.Fatal(err)
				}
			}
		})
		rec, err := c.decode(v.Key, v.Bytes)
		if err != nil {
			b.Fatal(err)
		}
		var buf []byte
		b.Run("encode", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				buf, _ = c.appendKey(buf[:0], rec.Key)
				buf, _ = c.appendValue(buf, rec.Value, rec.Version)
			}
		})
		b.Run("json", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				buf = schema.AppendJSON(buf[:0], rec.Key, 0)
				buf = schema.AppendJSON(buf, rec.Value, rec.Version)
			}
		})
		return
	}
	b.Fatal("no vector to measure")
}
