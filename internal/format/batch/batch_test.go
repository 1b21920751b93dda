package batch_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"runtime"
	"slices"
	"sync"
	"testing"

	"kf/internal/format/batch"
	"kf/internal/format/codec"
	"kf/internal/kftest"
)

// shown is the form in which the vectors say what Kafka's classes read.
type shown struct {
	BaseOffset           *int64  `json:"baseOffset"`
	LastOffset           int64   `json:"lastOffset"`
	Magic                int8    `json:"magic"`
	PartitionLeaderEpoch *int32  `json:"partitionLeaderEpoch"`
	CRC                  *uint32 `json:"crc"`
	Codec                string  `json:"codec"`
	TimestampType        string  `json:"timestampType"`
	Transactional        bool    `json:"transactional"`
	Control              bool    `json:"control"`
	DeleteHorizonMs      *int64  `json:"deleteHorizonMs"`
	MaxTimestamp         *int64  `json:"maxTimestamp"`
	ProducerID           *int64  `json:"producerId"`
	ProducerEpoch        *int16  `json:"producerEpoch"`
	BaseSequence         *int32  `json:"baseSequence"`
	RecordsCount         *int32  `json:"recordsCount"`
	Records              []struct {
		Offset    int64
		Timestamp int64
		Key       []byte
		Value     []byte
		Headers   [][2]*string
	}
}

func open(t testing.TB, p []byte) (batch.Header, batch.Records) {
	t.Helper()
	h, err := batch.DecodeHeader(p)
	if err != nil {
		t.Fatal(err)
	}
	d := batch.Decoder{MaxInflated: 1 << 20}
	rs, err := d.Open(h, p)
	if err != nil {
		t.Fatal(err)
	}
	return h, rs
}

// all returns copies of the records.
func all(t testing.TB, rs batch.Records) []batch.Record {
	t.Helper()
	var out []batch.Record
	for r, err := range rs.All() {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, *r)
	}
	return out
}

func TestVectors(t *testing.T) {
	for _, v := range slices.Concat(kftest.Vectors(t, "record-batch"), kftest.Vectors(t, "legacy-message")) {
		t.Run(v.Name, func(t *testing.T) {
			var want shown
			if err := json.Unmarshal(v.Decoded, &want); err != nil {
				t.Fatal(err)
			}
			p := v.Bytes
			if want.Magic < 2 && want.Codec == "none" { // one message a vector line or several
				p = p[:batch.DecodePrefix(p).Size()]
			}
			h, rs := open(t, p)
			if err := h.Check(p); err != nil {
				t.Error(err)
			}
			equal(t, "last offset", h.LastOffset(), want.LastOffset)
			equal(t, "magic", h.Magic, want.Magic)
			equal(t, "codec", h.Codec().String(), want.Codec)
			if want.Magic == 2 {
				equal(t, "base offset", h.BaseOffset, *want.BaseOffset)
				equal(t, "leader epoch", h.PartitionLeaderEpoch, *want.PartitionLeaderEpoch)
				equal(t, "crc", h.CRC, *want.CRC)
				equal(t, "timestamp type", h.TimestampType().String(), want.TimestampType)
				equal(t, "transactional", h.Transactional(), want.Transactional)
				equal(t, "control", h.Control(), want.Control)
				horizon, ok := h.DeleteHorizon()
				equal(t, "horizon", ok, want.DeleteHorizonMs != nil)
				if ok && want.DeleteHorizonMs != nil {
					equal(t, "horizon", horizon, *want.DeleteHorizonMs)
				}
				equal(t, "max timestamp", h.MaxTimestamp, *want.MaxTimestamp)
				equal(t, "producer ID", h.ProducerID, *want.ProducerID)
				equal(t, "producer epoch", h.ProducerEpoch, *want.ProducerEpoch)
				equal(t, "base sequence", h.BaseSequence, *want.BaseSequence)
				equal(t, "count", h.Count, *want.RecordsCount)
			}
			got := all(t, rs)
			equal(t, "records", len(got), len(want.Records))
			for i, r := range got {
				w := want.Records[i]
				equal(t, "offset", r.Offset, w.Offset)
				equal(t, "timestamp", r.Timestamp, w.Timestamp)
				equal(t, "key", r.Key == nil, w.Key == nil)
				equal(t, "value", r.Value == nil, w.Value == nil)
				if !bytes.Equal(r.Key, w.Key) || !bytes.Equal(r.Value, w.Value) {
					t.Errorf("record %d: got %q %q, want %q %q", i, r.Key, r.Value, w.Key, w.Value)
				}
				j := 0
				for hd := range r.Headers() {
					equal(t, "header key", string(hd.Key), *w.Headers[j][0])
					equal(t, "null header", hd.Value == nil, w.Headers[j][1] == nil)
					j++
				}
				equal(t, "headers", j, len(w.Headers))
			}
			checkEncode(t, h, p, got)
		})
	}
}

// checkEncode encodes the records again: to the same bytes, or with a codec,
// whose compressor is not Kafka's, to bytes that decode to the same records.
func checkEncode(t *testing.T, h batch.Header, p []byte, records []batch.Record) {
	t.Helper()
	var again []byte
	var err error
	if h.Magic < 2 {
		again, err = batch.AppendMessages(nil, h.Magic, h.Codec(), h.TimestampType(), records)
	} else {
		again, err = batch.Append(nil, h, func(yield func(*batch.Record) bool) {
			for i := range records {
				if !yield(&records[i]) {
					return
				}
			}
		})
	}
	if err != nil {
		t.Fatal(err)
	}
	if h.Codec() == codec.None {
		if !bytes.Equal(again, p) {
			t.Errorf("encoded again:\ngot  %x\nwant %x", again, p)
		}
		return
	}
	h2, rs := open(t, again)
	if err := h2.Check(again); err != nil {
		t.Error(err)
	}
	h2.Length, h2.CRC = h.Length, h.CRC
	equal(t, "header after encoding", h2, h)
	if got := all(t, rs); !slices.EqualFunc(got, records, sameRecord) {
		t.Errorf("records after encoding: got %+v, want %+v", got, records)
	}
}

func sameRecord(a, b batch.Record) bool {
	sameHeader := func(a, b batch.RecordHeader) bool {
		return bytes.Equal(a.Key, b.Key) && bytes.Equal(a.Value, b.Value) && (a.Value == nil) == (b.Value == nil)
	}
	return a.Offset == b.Offset && a.Timestamp == b.Timestamp && a.Sequence == b.Sequence &&
		a.KeySize == b.KeySize && a.ValueSize == b.ValueSize && bytes.Equal(a.Key, b.Key) && bytes.Equal(a.Value, b.Value) &&
		slices.EqualFunc(slices.Collect(a.Headers()), slices.Collect(b.Headers()), sameHeader)
}

func equal[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

func TestDamage(t *testing.T) {
	sound := kftest.Hex(t, `0000000000000064 0000004a 00000005 02 cf0c6f4a 0010 00000001 0000018bcfe56800 0000018bcfe56805
		0000000000000fa0 0003 00000007 00000002 14000000046b31047631 00 1a000a0201010402680278026e01`)
	for _, tt := range []struct {
		name    string
		change  func(p []byte) []byte
		header  error
		check   error
		records error
		yielded int
	}{
		{"sound", func(p []byte) []byte { return p }, nil, nil, nil, 2},
		{"60 bytes", func(p []byte) []byte { return p[:60] }, batch.ErrTruncated, nil, nil, 0},
		{"16 bytes", func(p []byte) []byte { return p[:16] }, batch.ErrTruncated, nil, nil, 0},
		{"negative magic", func(p []byte) []byte { p[16] = 0xff; return p }, batch.ErrMagic, nil, nil, 0},
		{"magic 3 is read as 2", func(p []byte) []byte { p[16] = 3; return p }, nil, nil, nil, 2},
		{"flipped value", func(p []byte) []byte { p[70] ^= 1; return p }, nil, batch.ErrChecksum, nil, 2},
		{"length 48", func(p []byte) []byte { p[11] = 48; return p }, nil, batch.ErrLength, nil, 2},
		{"count -1", func(p []byte) []byte { p[57] = 0xff; return p }, nil, batch.ErrChecksum, batch.ErrRecords, 0},
		{"one record too many declared", func(p []byte) []byte { p[60] = 3; return p }, nil, batch.ErrChecksum, batch.ErrRecords, 2},
		{"one record too few declared", func(p []byte) []byte { p[60] = 1; return p }, nil, batch.ErrChecksum, batch.ErrRecords, 0},
		{"record longer than the batch", func(p []byte) []byte { p[61] = 0x7e; return p }, nil, batch.ErrChecksum, batch.ErrRecords, 0},
		{"negative record length", func(p []byte) []byte { p[61] = 0x13; return p }, nil, batch.ErrChecksum, batch.ErrRecords, 0},
		{"negative header count", func(p []byte) []byte { p[71] = 0x01; return p }, nil, batch.ErrChecksum, batch.ErrRecords, 0},
		{"codec 5", func(p []byte) []byte { p[22] |= 5; return p }, nil, batch.ErrChecksum, codec.ErrUnknown, 0},
		{"not gzip", func(p []byte) []byte { p[22] |= 1; return p }, nil, batch.ErrChecksum, codec.ErrCorrupt, 0},
		{"empty batch holds anything", func(p []byte) []byte { p[60] = 0; p[22] |= 1; return p }, nil, batch.ErrChecksum, nil, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := tt.change(bytes.Clone(sound))
			h, err := batch.DecodeHeader(p)
			if !errors.Is(err, tt.header) {
				t.Fatalf("header: got %v, want %v", err, tt.header)
			}
			if tt.header != nil {
				return
			}
			if err := h.Check(p); tt.name != "magic 3 is read as 2" && !errors.Is(err, tt.check) {
				t.Errorf("check: got %v, want %v", err, tt.check)
			}
			n, err := walk(h, p)
			if !errors.Is(err, tt.records) || n != tt.yielded {
				t.Errorf("records: got %d, %v; want %d, %v", n, err, tt.yielded, tt.records)
			}
		})
	}
}

// walk returns how many records come out of an entry, and the damage.
func walk(h batch.Header, p []byte) (int, error) {
	d := batch.Decoder{MaxInflated: 1 << 20}
	rs, err := d.Open(h, p)
	if err != nil {
		return 0, err
	}
	n := 0
	for r, err := range rs.All() {
		if err != nil {
			return n, err
		}
		for range r.Headers() {
		}
		n++
	}
	return n, nil
}

func TestEveryFlipIsFound(t *testing.T) {
	for _, v := range kftest.Vectors(t, "record-batch") {
		for bit := 17 * 8; bit < len(v.Bytes)*8; bit++ {
			p := bytes.Clone(v.Bytes)
			p[bit/8] ^= 1 << (bit % 8)
			h, err := batch.DecodeHeader(p)
			if err != nil {
				t.Fatal(err)
			}
			if err := h.Check(p); !errors.Is(err, batch.ErrChecksum) {
				t.Errorf("%s: bit %d: %v", v.Name, bit, err)
			}
			walk(h, p) // must not panic
		}
	}
}

func TestCutAtEveryByte(t *testing.T) {
	for _, v := range slices.Concat(kftest.Vectors(t, "record-batch"), kftest.Vectors(t, "legacy-message")) {
		for n := range v.Bytes {
			if h, err := batch.DecodeHeader(v.Bytes[:n]); err == nil {
				walk(h, v.Bytes[:n]) // must not panic
				if h.Magic >= 2 && h.Check(v.Bytes[:n]) == nil {
					t.Errorf("%s: cut at %d passes", v.Name, n)
				}
			}
		}
	}
}

func TestSequenceWraps(t *testing.T) {
	h := batch.Header{BaseSequence: math.MaxInt32 - 1, LastOffsetDelta: 3}
	equal(t, "last sequence", h.LastSequence(), 1)
	h = batch.Header{BaseSequence: -1, LastOffsetDelta: 3}
	equal(t, "no sequence", h.LastSequence(), -1)
}

func TestInnerOffsets(t *testing.T) {
	records := []batch.Record{{Offset: 10, Value: []byte("a")}, {Offset: 11, Value: []byte("b")}, {Offset: 12, Value: []byte("c")}}
	for magic := range int8(2) {
		p, err := batch.AppendMessages(nil, magic, codec.Gzip, batch.CreateTime, records)
		if err != nil {
			t.Fatal(err)
		}
		h, rs := open(t, p)
		equal(t, "wrapper offset", h.LastOffset(), 12)
		for i, r := range all(t, rs) {
			equal(t, "inner offset", r.Offset, records[i].Offset)
		}
		if magic == 1 { // old librdkafka left the wrapper's offset at 0
			copy(p, make([]byte, 8))
			_, rs = open(t, p)
			for i, r := range all(t, rs) {
				equal(t, "inner offset under a wrapper at 0", r.Offset, int64(i))
			}
		}
	}
}

func FuzzEntry(f *testing.F) {
	for _, v := range slices.Concat(kftest.Vectors(f, "record-batch"), kftest.Vectors(f, "legacy-message")) {
		f.Add(v.Bytes)
	}
	f.Fuzz(func(t *testing.T, p []byte) {
		h, err := batch.DecodeHeader(p)
		if err != nil {
			return
		}
		d := batch.Decoder{MaxInflated: 1 << 20}
		rs, err := d.Open(h, p)
		if err != nil || rs.Check() != nil || h.Magic < 2 {
			return
		}
		records := all(t, rs)
		again, err := batch.Append(nil, h, func(yield func(*batch.Record) bool) {
			for i := range records {
				if !yield(&records[i]) {
					return
				}
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		h2, err := batch.DecodeHeader(again)
		if err != nil {
			t.Fatal(err)
		}
		if err := h2.Check(again); err != nil {
			t.Fatal(err)
		}
		d2 := batch.Decoder{MaxInflated: 1 << 20}
		rs2, err := d2.Open(h2, again)
		if err != nil {
			t.Fatal(err)
		}
		if got := all(t, rs2); !slices.EqualFunc(got, records, sameRecord) {
			t.Fatalf("records changed:\n%+v\n%+v", records, got)
		}
	})
}

func BenchmarkRecords(b *testing.B) {
	value := bytes.Repeat([]byte("order paid "), 93)
	for _, id := range []codec.ID{codec.None, codec.Gzip, codec.Snappy, codec.LZ4, codec.Zstd} {
		h := batch.Header{Magic: 2, Attributes: int16(id), LastOffsetDelta: 15, ProducerID: -1, ProducerEpoch: -1, BaseSequence: -1}
		p, err := batch.Append(nil, h, func(yield func(*batch.Record) bool) {
			for i := range int64(16) {
				yield(&batch.Record{Offset: i, Timestamp: i, Key: []byte("key-000001"), Value: value})
			}
		})
		if err != nil {
			b.Fatal(err)
		}
		h, _ = batch.DecodeHeader(p)
		d := batch.Decoder{MaxInflated: 1 << 20}
		b.Run(id.String(), func(b *testing.B) {
			b.SetBytes(16 * int64(len(value)))
			b.ReportAllocs()
			for b.Loop() {
				rs, err := d.Open(h, p)
				if err != nil {
					b.Fatal(err)
				}
				if err := rs.Check(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("checksum", func(b *testing.B) {
		p := make([]byte, 16<<10)
		p[16] = 2
		b.SetBytes(int64(len(p)))
		for b.Loop() {
			batch.Checksum(p)
		}
	})
}

// Decoders that wait for the memory of large batches hold none of their own:
// thousands of hostile batches may wait.
func TestWaitingHoldsNothing(t *testing.T) {
	const waiting, size = 64, 8 << 20
	large := batch.Record{Value: make([]byte, size)}
	p, err := batch.Append(nil, batch.Header{Magic: 2, Attributes: int16(codec.Zstd)}, slices.Values([]*batch.Record{&large}))
	if err != nil {
		t.Fatal(err)
	}
	h, err := batch.DecodeHeader(p)
	if err != nil {
		t.Fatal(err)
	}
	arrived, turn := make(chan struct{}), make(chan struct{})
	var done sync.WaitGroup
	errs := make([]error, waiting)
	errNoTurn := errors.New("no turn")
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	for i := range waiting {
		done.Go(func() {
			d := batch.Decoder{MaxInflated: 2 * size, Exclusive: func() error {
				arrived <- struct{}{}
				<-turn
				return errNoTurn
			}}
			_, errs[i] = d.Open(h, p)
		})
	}
	for range waiting {
		<-arrived
	}
	if after := heap(); after > before+waiting*(1<<20) {
		t.Errorf("%d decoders that wait hold %d bytes", waiting, after-before)
	}
	close(turn)
	done.Wait()
	for _, err := range errs {
		if !errors.Is(err, errNoTurn) {
			t.Errorf("got %v", err)
		}
	}
}
