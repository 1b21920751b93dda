package validate_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"kf/internal/format/batch"
	"kf/internal/format/codec"
	"kf/internal/storage/validate"
)

const now = 1_700_000_000_000

// defaults are the settings of a topic that nobody configured.
func defaults() validate.Options {
	return validate.Options{
		FromClient: true, MaxMessageBytes: 1048588, SegmentBytes: 1 << 30, MaxDecompressed: math.MaxInt32 - 8,
		GzipLevel: -1, LZ4Level: 9, ZstdLevel: 3, Now: now, BeforeMaxMs: math.MaxInt64, AfterMaxMs: 3600_000,
	}
}

// header is that of n records without a producer ID, all at the time now.
func header(n int) batch.Header {
	return batch.Header{
		PartitionLeaderEpoch: -1, Magic: 2, LastOffsetDelta: int32(n) - 1, BaseTimestamp: now, MaxTimestamp: now,
		ProducerID: -1, ProducerEpoch: -1, BaseSequence: -1,
	}
}

func records(n int) []batch.Record {
	rs := make([]batch.Record, n)
	for i := range rs {
		rs[i] = batch.Record{Offset: int64(i), Timestamp: now, Key: []byte{'k', byte('0' + i)}, Value: []byte("value")}
	}
	return rs
}

func encode(t testing.TB, h batch.Header, rs []batch.Record) []byte {
	t.Helper()
	p, err := batch.Append(nil, h, func(yield func(*batch.Record) bool) {
		for i := range rs {
			if !yield(&rs[i]) {
				return
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// seal writes the checksum of a changed batch.
func seal(p []byte) []byte {
	binary.BigEndian.PutUint32(p[17:], batch.Checksum(p))
	return p
}

func set32(p []byte, at int, v uint32) []byte {
	binary.BigEndian.PutUint32(p[at:], v)
	return p
}

// The answers of Kafka 4.4.0 to a client that sends these, and how it stores
// what it takes.
func TestBatch(t *testing.T) {
	three := func(change func(h *batch.Header, rs []batch.Record)) []byte {
		h, rs := header(3), records(3)
		if change != nil {
			change(&h, rs)
		}
		return encode(t, h, rs)
	}
	good := three(nil)
	compressed := func(id codec.ID) []byte {
		return three(func(h *batch.Header, rs []batch.Record) { h.Attributes = int16(id) })
	}
	for _, tt := range []struct {
		name    string
		p       []byte
		options func(o *validate.Options)
		err     error
	}{
		{"good", good, nil, nil},
		{"empty", nil, nil, validate.ErrInvalidRecord},
		{"magic 0 and 1", func() []byte { p := bytes.Clone(good); p[16] = 1; return p }(), nil, validate.ErrInvalidRecord},
		{"magic 3", func() []byte { p := bytes.Clone(good); p[16] = 3; return p }(), nil, validate.ErrCorrupt},
		{"magic -1", func() []byte { p := bytes.Clone(good); p[16] = 255; return p }(), nil, validate.ErrCorrupt},
		{"two batches", slices.Concat(good, good), nil, validate.ErrInvalidRecord},
		{"half a batch behind", slices.Concat(good, good[:40]), nil, nil},
		{"garbage behind", slices.Concat(good, make([]byte, 20)), nil, validate.ErrCorrupt},
		{"12 bytes of garbage", bytes.Repeat([]byte{0xab}, 12), nil, validate.ErrCorrupt},
		{"length 0", set32(bytes.Clone(good), 8, 0), nil, validate.ErrCorrupt},
		{"length of a message only", set32(bytes.Clone(good), 8, 20)[:32], nil, validate.ErrCorrupt},
		{"longer than the data", set32(bytes.Clone(good), 8, uint32(len(good))), nil, validate.ErrInvalidRecord},
		{"shorter than the data", set32(bytes.Clone(good), 8, uint32(len(good)-13)), nil, validate.ErrCorrupt},
		{"wrong checksum", set32(bytes.Clone(good), 17, 1), nil, validate.ErrCorrupt},
		{"base offset 5", func() []byte { p := bytes.Clone(good); p[7] = 5; return p }(), nil, validate.ErrInvalidRecord},
		{"count too high", seal(set32(bytes.Clone(good), 57, 4)), nil, validate.ErrInvalidRecord},
		{"count and delta too high", seal(set32(set32(bytes.Clone(good), 57, 4), 23, 3)), nil, validate.ErrInvalidRecord},
		{"count and delta too low", seal(set32(set32(bytes.Clone(good), 57, 2), 23, 1)), nil, validate.ErrInvalidRecord},
		{"last offset delta", seal(set32(bytes.Clone(good), 23, 3)), nil, validate.ErrInvalidRecord},
		{"no records", encode(t, header(0), nil), nil, validate.ErrInvalidRecord},
		{"negative count", seal(set32(set32(bytes.Clone(good), 57, 1<<32-1), 23, 1<<32-2)), nil, validate.ErrInvalidRecord},
		{"control", three(func(h *batch.Header, rs []batch.Record) { h.Attributes = batch.ControlBit }), nil, validate.ErrInvalidRecord},
		{"control of the broker", three(func(h *batch.Header, rs []batch.Record) { h.Attributes = batch.ControlBit }), func(o *validate.Options) { o.FromClient = false }, nil},
		{"no sequence", three(func(h *batch.Header, rs []batch.Record) { h.ProducerID, h.ProducerEpoch = 4, 0 }), nil, validate.ErrInvalidRecord},
		{"no sequence, of the broker", three(func(h *batch.Header, rs []batch.Record) { h.ProducerID, h.ProducerEpoch = 4, 0 }), func(o *validate.Options) { o.FromClient = false }, nil},
		{"varint too long", seal(append(bytes.Clone(good)[:61], bytes.Repeat([]byte{0xff}, len(good)-61)...)), nil, validate.ErrUnreadable},
		{"records of zeros", seal(append(bytes.Clone(good)[:61], make([]byte, len(good)-61)...)), nil, validate.ErrInvalidRecord},
		{"unknown codec", seal(func() []byte { p := bytes.Clone(good); p[22] = 6; return p }()), nil, validate.ErrUnreadable},
		{"codec without its data", seal(func() []byte { p := bytes.Clone(good); p[22] = byte(codec.Gzip); return p }()), nil, validate.ErrUnreadable},
		{"zstd", compressed(codec.Zstd), nil, nil},
		{"zstd in an old request", compressed(codec.Zstd), func(o *validate.Options) { o.NoZstd = true }, validate.ErrCompressionType},
		{"too large", good, func(o *validate.Options) { o.MaxMessageBytes = int32(len(good)) - 1 }, validate.ErrTooLarge},
		{"just not too large", good, func(o *validate.Options) { o.MaxMessageBytes = int32(len(good)) }, nil},
		{"too large when encoded anew", compressed(codec.Snappy), func(o *validate.Options) {
			o.Codec, o.MaxMessageBytes = new(codec.Gzip), int32(len(compressed(codec.Snappy)))
		}, validate.ErrTooLarge},
		{"larger than a segment", good, func(o *validate.Options) { o.SegmentBytes = int32(len(good)) - 1 }, validate.ErrBatchTooLarge},
		{"large record", compressed(codec.LZ4), func(o *validate.Options) { o.MaxDecompressed = 5 }, validate.ErrInvalidRecord},
		{"large record, not compressed", good, func(o *validate.Options) { o.MaxDecompressed = 5 }, nil},
		{"timestamp ahead", three(func(h *batch.Header, rs []batch.Record) { rs[1].Timestamp = now + 3600_001 }), nil, validate.ErrTimestamp},
		{"timestamp not ahead", three(func(h *batch.Header, rs []batch.Record) { rs[1].Timestamp = now + 3600_000 }), nil, nil},
		{"timestamp ahead, LogAppendTime", three(func(h *batch.Header, rs []batch.Record) { rs[1].Timestamp = now + 3600_001 }), func(o *validate.Options) { o.AppendTime = true }, nil},
		{"timestamp behind", three(func(h *batch.Header, rs []batch.Record) { rs[0].Timestamp = now - 1001 }), func(o *validate.Options) { o.BeforeMaxMs = 1000 }, validate.ErrTimestamp},
		{"timestamps 1970 and -5", three(func(h *batch.Header, rs []batch.Record) { rs[0].Timestamp, rs[1].Timestamp = 0, -5 }), nil, nil},
		{"timestamp -5 in a new encoding", three(func(h *batch.Header, rs []batch.Record) { rs[1].Timestamp = -5 }), func(o *validate.Options) { o.Codec = new(codec.Zstd) }, validate.ErrUnreadable},
		{"no timestamp", three(func(h *batch.Header, rs []batch.Record) { rs[0].Timestamp = -1 }), func(o *validate.Options) { o.BeforeMaxMs = 1000 }, nil},
		{"LogAppendTime of a client", three(func(h *batch.Header, rs []batch.Record) { h.Attributes = batch.LogAppendTimeBit }), nil, nil},
		{"LogAppendTime of a client, LogAppendTime", three(func(h *batch.Header, rs []batch.Record) { h.Attributes = batch.LogAppendTimeBit }), func(o *validate.Options) { o.AppendTime = true }, validate.ErrTimestamp},
		{"no key", three(func(h *batch.Header, rs []batch.Record) { rs[2].Key = nil }), nil, nil},
		{"no key, compacted", three(func(h *batch.Header, rs []batch.Record) { rs[2].Key = nil }), func(o *validate.Options) { o.Compacted = true }, validate.ErrInvalidRecord},
		{"empty key, compacted", three(func(h *batch.Header, rs []batch.Record) { rs[2].Key = []byte{} }), func(o *validate.Options) { o.Compacted = true }, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := defaults()
			if tt.options != nil {
				tt.options(&o)
			}
			r, err := validate.Batch(bytes.Clone(tt.p), &o)
			if !errors.Is(err, tt.err) {
				t.Fatalf("got %v, want %v", err, tt.err)
			}
			if err == nil {
				check(t, r)
			}
		})
	}
}

// check decodes the result as a reader of the log would.
func check(t *testing.T, r validate.Result) []batch.Record {
	t.Helper()
	h, err := batch.DecodeHeader(r.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	if h != r.Header || h.Size() != int64(len(r.Bytes)) {
		t.Errorf("header %+v, in the bytes %+v of %d", r.Header, h, len(r.Bytes))
	}
	if err := h.Check(r.Bytes); err != nil {
		t.Error(err)
	}
	d := batch.Decoder{MaxInflated: 1 << 20}
	rs, err := d.Open(h, r.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	var all []batch.Record
	for rec, err := range rs.All() {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, *rec)
	}
	return all
}

func TestInPlace(t *testing.T) {
	rs := records(3)
	rs[1].Timestamp = now + 7
	h := header(3)
	h.MaxTimestamp = 0 // a lie
	p := encode(t, h, rs)
	for _, tt := range []struct {
		name       string
		appendTime bool
		attributes int16
		max        int64
		time       int64
	}{
		{"max timestamp", false, 0, now + 7, -1},
		{"LogAppendTime", true, batch.LogAppendTimeBit, now, now},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := defaults()
			o.AppendTime = tt.appendTime
			sent := bytes.Clone(p)
			r, err := validate.Batch(sent, &o)
			if err != nil {
				t.Fatal(err)
			}
			if &r.Bytes[0] != &sent[0] || r.Recompressed {
				t.Error("not in place")
			}
			if r.Header.Attributes != tt.attributes || r.Header.MaxTimestamp != tt.max || r.AppendTime != tt.time || r.Header.BaseTimestamp != h.BaseTimestamp {
				t.Errorf("%+v, append time %d", r.Header, r.AppendTime)
			}
			check(t, r)
			if !bytes.Equal(r.Bytes[batch.HeaderSize:], p[batch.HeaderSize:]) {
				t.Error("the records have changed")
			}
		})
	}
}

func TestNewEncoding(t *testing.T) {
	rs := records(3)
	rs[0].Timestamp, rs[1].Timestamp = now-3, now+7
	rs[2].SetHeaders([]batch.RecordHeader{{Key: []byte("h"), Value: []byte("x")}, {Key: []byte("null")}})
	ids := []codec.ID{codec.None, codec.Gzip, codec.Snappy, codec.LZ4, codec.Zstd}
	for _, from := range ids {
		for _, to := range ids {
			for _, appendTime := range []bool{false, true} {
				t.Run(fmt.Sprintf("%v to %v, %v", from, to, appendTime), func(t *testing.T) {
					h := header(3)
					h.Attributes = int16(from) | batch.TransactionalBit
					h.ProducerID, h.ProducerEpoch, h.BaseSequence = 7, 1, 5
					h.BaseTimestamp = now - 100
					o := defaults()
					o.Codec, o.AppendTime = &to, appendTime
					r, err := validate.Batch(encode(t, h, rs), &o)
					if err != nil {
						t.Fatal(err)
					}
					got := r.Header
					if r.Recompressed != (from != to) || got.Codec() != to || !got.Transactional() || got.ProducerID != 7 || got.ProducerEpoch != 1 || got.BaseSequence != 5 || got.LastOffsetDelta != 2 || got.Count != 3 {
						t.Errorf("%v %+v", r.Recompressed, got)
					}
					if from != to && got.BaseTimestamp != now-3 {
						t.Errorf("base timestamp %d", got.BaseTimestamp)
					}
					for i, rec := range check(t, r) {
						want := rs[i].Timestamp
						if appendTime {
							want = now
						}
						if rec.Offset != int64(i) || rec.Timestamp != want || !bytes.Equal(rec.Key, rs[i].Key) || rec.HeaderCount != rs[i].HeaderCount {
							t.Errorf("record %d: %+v", i, rec)
						}
					}
				})
			}
		}
	}
}

// A control batch of the broker is not compressed.
func TestControlStaysUncompressed(t *testing.T) {
	h := header(1)
	h.Attributes = batch.ControlBit
	o := defaults()
	o.FromClient, o.Codec = false, new(codec.Zstd)
	r, err := validate.Batch(encode(t, h, records(1)), &o)
	if err != nil || r.Recompressed || !r.Header.Control() {
		t.Errorf("%+v, %v", r, err)
	}
}

// Offsets other than 0, 1, 2, … are put right, whatever the codec: stored as
// they are they would spoil the log.
func TestOddOffsets(t *testing.T) {
	for _, id := range []codec.ID{codec.None, codec.Snappy} {
		rs := records(3)
		rs[1].Offset = 53
		h := header(3)
		h.Attributes = int16(id)
		o := defaults()
		r, err := validate.Batch(encode(t, h, rs), &o)
		if err != nil {
			t.Fatal(err)
		}
		for i, rec := range check(t, r) {
			if rec.Offset != int64(i) {
				t.Errorf("%v: record %d has offset %d", id, i, rec.Offset)
			}
		}
	}
}

func TestRecordErrors(t *testing.T) {
	rs := records(4)
	rs[1].Key, rs[2].Timestamp, rs[3].Key = nil, now+7200_000, nil
	o := defaults()
	o.Compacted = true
	_, err := validate.Batch(encode(t, header(4), rs), &o)
	invalid, ok := errors.AsType[*validate.InvalidRecordsError](err)
	if !ok || len(invalid.Records) != 3 || invalid.Records[0].Index != 1 || invalid.Records[1].Index != 2 || invalid.Records[2].Index != 3 {
		t.Fatalf("%+v", err)
	}
	if !errors.Is(err, validate.ErrTimestamp) {
		t.Errorf("%v: a timestamp out of range counts most", err)
	}
}

func TestManyRecordErrors(t *testing.T) {
	const n = validate.MaxRecordErrors + 5
	rs := make([]batch.Record, n)
	for i := range rs {
		rs[i] = batch.Record{Offset: int64(i), Timestamp: now}
	}
	o := defaults()
	o.Compacted = true
	_, err := validate.Batch(encode(t, header(n), rs), &o)
	invalid, ok := errors.AsType[*validate.InvalidRecordsError](err)
	if !ok || len(invalid.Records) != validate.MaxRecordErrors {
		t.Errorf("%d records of %d", len(invalid.Records), n)
	}
}

// A few bytes that inflate to a lot take no memory but up to the limit.
func TestBomb(t *testing.T) {
	for _, id := range []codec.ID{codec.Gzip, codec.Snappy, codec.LZ4, codec.Zstd} {
		h := header(1)
		h.Attributes = int16(id)
		p := encode(t, h, []batch.Record{{Timestamp: now, Value: make([]byte, validate.MaxInflated)}})
		o := defaults()
		o.MaxMessageBytes = math.MaxInt32
		if _, err := validate.Batch(p, &o); !errors.Is(err, validate.ErrUnreadable) || !errors.Is(err, codec.ErrLimit) {
			t.Errorf("%v: %v", id, err)
		}
	}
}

func TestNoAllocation(t *testing.T) {
	p := encode(t, header(3), records(3))
	o := defaults()
	n := testing.AllocsPerRun(100, func() {
		if _, err := validate.Batch(p, &o); err != nil {
			t.Fatal(err)
		}
	})
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// What is taken can be read, and is taken again as it is.
func FuzzBatch(f *testing.F) {
	for _, id := range []codec.ID{codec.None, codec.Gzip, codec.Snappy, codec.LZ4, codec.Zstd} {
		h := header(2)
		h.Attributes = int16(id)
		f.Add(encode(f, h, records(2)), uint8(id), false)
		f.Add(encode(f, h, records(2)), uint8(codec.LZ4), true)
	}
	f.Fuzz(func(t *testing.T, p []byte, id uint8, compacted bool) {
		if len(p) >= batch.HeaderSize {
			seal(p)
		}
		o := defaults()
		o.Compacted = compacted
		if codec.ID(id).Known() {
			o.Codec = new(codec.ID(id))
		}
		r, err := validate.Batch(p, &o)
		if err != nil {
			return
		}
		all := check(t, r)
		if len(all) != int(r.Header.Count) {
			t.Errorf("%d records, the header says %d", len(all), r.Header.Count)
		}
		for i, rec := range all {
			if rec.Offset != int64(i) {
				t.Errorf("record %d has offset %d", i, rec.Offset)
			}
		}
		again, err := validate.Batch(bytes.Clone(r.Bytes), &o)
		if err != nil || !bytes.Equal(again.Bytes, r.Bytes) {
			t.Errorf("the result is not taken as it is: %v", err)
		}
	})
}

// Large batches that wait for their turn hold up no small ones.
func TestTurn(t *testing.T) {
	o := defaults()
	h := header(1)
	h.Attributes = int16(codec.Zstd)
	large := encode(t, h, []batch.Record{{Timestamp: now, Value: make([]byte, 5<<20)}})
	small := encode(t, h, []batch.Record{{Timestamp: now, Value: []byte("v")}})
	giveBack := validate.TakeTurn()
	var wg sync.WaitGroup
	for range 2 * validate.AtWork() {
		wg.Go(func() {
			if _, err := validate.Batch(bytes.Clone(large), &o); err != nil {
				t.Error(err)
			}
		})
		if _, err := validate.Batch(bytes.Clone(small), &o); err != nil {
			t.Error(err)
		}
	}
	giveBack()
	wg.Wait()
}

// A batch waits for its place before it takes memory to inflate.
func TestPlaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := defaults()
		h := header(1)
		h.Attributes = int16(codec.Zstd)
		p := encode(t, h, records(1))
		release, restore := validate.Occupy()
		defer restore()
		inflated := false
		go func() {
			if _, err := validate.Batch(p, &o); err != nil {
				t.Error(err)
			}
			inflated = true
		}()
		synctest.Wait()
		if inflated {
			t.Error("a batch was inflated while all places were taken")
		}
		release()
		synctest.Wait()
		if !inflated {
			t.Error("a batch was not inflated when a place was free")
		}
	})
}
