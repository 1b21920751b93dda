//go:build interop

package interop

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"kf/internal/format/batch"
	"kf/internal/format/codec"
	"kf/internal/storage/validate"
)

// An appendCase is a batch, the settings of the topic that it is sent to, and
// the version of the request.
type appendCase struct {
	options validate.Options
	version int
	p       []byte
}

// line is the case as Validate.java reads it.
func (c *appendCase) line() string {
	o := &c.options
	policy, timestamps, compression := "delete", "CreateTime", "producer"
	if o.Compacted {
		policy = "compact"
	}
	if o.AppendTime {
		timestamps = "LogAppendTime"
	}
	if o.Codec != nil {
		compression = o.Codec.String()
		if *o.Codec == codec.None {
			compression = "uncompressed"
		}
	}
	return fmt.Sprintf("%d %d cleanup.policy=%s;message.timestamp.type=%s;compression.type=%s;max.message.bytes=%d;internal.segment.bytes=%d;max.decompressed.message.bytes=%d;message.timestamp.before.max.ms=%d;message.timestamp.after.max.ms=%d;compression.gzip.level=%d;compression.lz4.level=%d;compression.zstd.level=%d %x",
		o.Now, c.version, policy, timestamps, compression, o.MaxMessageBytes, o.SegmentBytes, o.MaxDecompressed, o.BeforeMaxMs, o.AfterMaxMs, o.GzipLevel, o.LZ4Level, o.ZstdLevel, c.p)
}

const appendNow = 1_700_000_000_000

// randomAppend makes a batch that is sound or not, for a topic of some kind.
func randomAppend(r *rand.Rand) appendCase {
	c := appendCase{version: 9, options: validate.Options{
		FromClient: true, MaxMessageBytes: 2000, SegmentBytes: 3000, MaxDecompressed: math.MaxInt32 - 8, Now: appendNow,
		BeforeMaxMs: math.MaxInt64, AfterMaxMs: 3600_000, GzipLevel: codec.Gzip.DefaultLevel(), LZ4Level: codec.LZ4.DefaultLevel(), ZstdLevel: codec.Zstd.DefaultLevel(),
	}}
	o := &c.options
	rarely := func() bool { return r.IntN(8) == 0 }
	o.Compacted, o.AppendTime = rarely(), rarely()
	if r.IntN(3) == 0 {
		o.Codec = new(codec.ID(r.IntN(5)))
		o.GzipLevel, o.LZ4Level, o.ZstdLevel = 1+r.IntN(9), 1+r.IntN(17), r.IntN(23)-5
	}
	if rarely() {
		o.BeforeMaxMs = 10_000
	}
	if rarely() {
		o.SegmentBytes = 500
	}
	if rarely() {
		o.MaxDecompressed = 200
	}
	if rarely() {
		c.version, o.NoZstd = 6, true
	}
	id := codec.None
	if r.IntN(2) == 0 {
		id = codec.ID(r.IntN(5))
	}
	h := batch.Header{
		PartitionLeaderEpoch: -1, Magic: 2, Attributes: int16(id), BaseTimestamp: appendNow - int64(r.IntN(1000)),
		ProducerID: -1, ProducerEpoch: -1, BaseSequence: -1,
	}
	if r.IntN(3) == 0 {
		h.ProducerID, h.ProducerEpoch, h.BaseSequence = 5, 0, int32(r.IntN(3))
		if r.IntN(2) == 0 {
			h.Attributes |= batch.TransactionalBit
		}
	}
	count := 1 + r.IntN(5)
	if rarely() {
		count = 0
	}
	h.LastOffsetDelta = int32(count) - 1
	h.MaxTimestamp = -1
	records := make([]batch.Record, count)
	for i := range records {
		rec := batch.Record{Offset: int64(i), Timestamp: h.BaseTimestamp + int64(i), Key: []byte("k"), Value: bytes.Repeat([]byte{'v'}, r.IntN(100))}
		switch r.IntN(20) {
		case 0:
			rec.Key = nil
		case 1:
			rec.Timestamp = appendNow + 7200_000
		case 2:
			rec.Timestamp = appendNow - 20_000
		case 3:
			rec.Timestamp = -1
		case 4:
			rec.Timestamp = -5
		case 5:
			rec.Value = nil
		case 6:
			rec.SetHeaders([]batch.RecordHeader{{Key: []byte("h"), Value: []byte("x")}, {}})
		case 7:
			rec.Value = bytes.Repeat([]byte("large "), 400)
		}
		h.MaxTimestamp = max(h.MaxTimestamp, rec.Timestamp)
		records[i] = rec
	}
	switch r.IntN(10) {
	case 0:
		h.MaxTimestamp = 0
	case 1:
		h.Attributes |= batch.LogAppendTimeBit
	case 2:
		h.Attributes |= batch.DeleteHorizonBit
	}
	p, err := batch.Append(nil, h, slices.Values(pointers(records)))
	if err != nil {
		panic(err)
	}
	c.p = damaged(r, p)
	return c
}

func pointers(records []batch.Record) []*batch.Record {
	out := make([]*batch.Record, len(records))
	for i := range records {
		out[i] = &records[i]
	}
	return out
}

// damaged returns the batch as it is, or with something wrong.
func damaged(r *rand.Rand, p []byte) []byte {
	be := binary.BigEndian
	seal := func() {
		if len(p) > 21 {
			be.PutUint32(p[17:], batch.Checksum(p))
		}
	}
	add := func(at int, n uint32) { be.PutUint32(p[at:], be.Uint32(p[at:])+n) }
	switch r.IntN(30) {
	case 0:
		p[r.IntN(len(p))] ^= 1 << r.IntN(8)
	case 1:
		p[r.IntN(len(p))] ^= 1 << r.IntN(8)
		seal()
	case 2, 3:
		if len(p) > batch.HeaderSize {
			p[batch.HeaderSize+r.IntN(len(p)-batch.HeaderSize)] = byte(r.Uint32())
		}
		seal()
	case 4:
		p = p[:r.IntN(len(p))]
	case 5:
		p = append(p, p...)
	case 6:
		p = append(p, p[:r.IntN(len(p))]...)
	case 7:
		p[16] = byte(r.IntN(6) - 1)
	case 8:
		add(8, uint32(r.IntN(5)-2))
	case 9:
		add(57, uint32(r.IntN(5)-2))
		seal()
	case 10:
		n := uint32(r.IntN(5) - 2)
		add(57, n)
		add(23, n)
		seal()
	case 11:
		be.PutUint64(p, uint64(r.IntN(3)))
	case 12:
		p[22] = p[22]&^7 | byte(r.IntN(8))
		seal()
	case 13:
		p[22] ^= batch.ControlBit
		seal()
	case 14:
		be.PutUint32(p[53:], 1<<32-1)
		seal()
	case 15:
		be.PutUint64(p[43:], -uint64(1+r.IntN(3)))
		seal()
	case 16:
		p = append(p, byte(r.Uint32()), 1, 2)
		add(8, 3)
		seal()
	case 17:
		p[21] = byte(r.Uint32())
		p[22] |= 0x80
		seal()
	case 18:
		clear(p[batch.HeaderSize:])
		seal()
	}
	return p
}

// code is Kafka's number of an error.
func code(err error) string {
	for _, e := range []struct {
		err  error
		code int
	}{
		{validate.ErrCorrupt, 2}, {validate.ErrTooLarge, 10}, {validate.ErrBatchTooLarge, 18}, {validate.ErrTimestamp, 32},
		{validate.ErrCompressionType, 76}, {validate.ErrInvalidRecord, 87}, {validate.ErrUnreadable, -1},
	} {
		if errors.Is(err, e.err) {
			return strconv.Itoa(e.code)
		}
	}
	return err.Error()
}

// A leader takes, changes and refuses the batches that Kafka's takes, changes
// and refuses.
func TestValidate(t *testing.T) {
	k := newKafka(t)
	seed := seed(t)
	r := rand.New(rand.NewPCG(uint64(seed), 0))
	cases := make([]appendCase, 10_000)
	var in bytes.Buffer
	for i := range cases {
		cases[i] = randomAppend(r)
		fmt.Fprintln(&in, cases[i].line())
	}
	java := k.java(filepath.Join(t.TempDir(), "kafka.log"), "Validate")
	java.Stdin, java.Stderr = &in, os.Stderr
	out, err := java.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := java.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	taken := 0
	for i := range cases {
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatalf("case %d: %v", i, err)
		}
		if strings.HasPrefix(line, "ok") {
			taken++
		}
		if difference := compareAppend(&cases[i], strings.TrimSpace(line)); difference != "" {
			t.Errorf("case %d: %s\n%s", i, difference, cases[i].line())
		}
	}
	if _, err := io.Copy(io.Discard, lines); err != nil {
		t.Fatal(err)
	}
	if err := java.Wait(); err != nil {
		t.Fatal(err)
	}
	t.Logf("seed %d: Kafka took %d of %d batches", seed, taken, len(cases))
	if taken < len(cases)/4 || taken > len(cases)*3/4 {
		t.Errorf("Kafka took %d of %d batches: the cases say too little", taken, len(cases))
	}
}

// compareAppend says how what kf does with a batch differs from what Kafka did.
func compareAppend(c *appendCase, kafka string) string {
	words := strings.SplitN(kafka, " ", 3)
	r, err := validate.Batch(slices.Clone(c.p), &c.options)
	if deliberate(c, err) {
		return ""
	}
	switch {
	case err != nil && words[0] == "ok":
		return fmt.Sprintf("kf refuses what Kafka takes: %v", err)
	case err == nil && words[0] == "error":
		return "kf takes what Kafka refuses: " + kafka
	case err != nil:
		if got := code(err); got != words[1] {
			return fmt.Sprintf("kf: %s %v; %s", got, err, kafka)
		}
		return ""
	}
	if got := strconv.FormatInt(r.AppendTime, 10); got != words[1] {
		return fmt.Sprintf("append time %s, Kafka's %s", got, words[1])
	}
	want, err := hex.DecodeString(words[2])
	if err != nil {
		return err.Error()
	}
	binary.BigEndian.PutUint64(r.Bytes, 0)
	binary.BigEndian.PutUint32(r.Bytes[12:], 0) // the leader epoch that Kafka gave
	if bytes.Equal(r.Bytes, want) {
		return ""
	}
	if !r.Recompressed {
		return fmt.Sprintf("kf stores %x, Kafka %x", r.Bytes, want)
	}
	got, err := describe(r.Bytes)
	if err != nil {
		return err.Error()
	}
	expected, err := describe(want)
	if err != nil {
		return err.Error()
	}
	if got != expected {
		return fmt.Sprintf("kf stores\n%s\nKafka\n%s", got, expected)
	}
	return ""
}

// deliberate reports whether kf does better than Kafka on purpose.
func deliberate(c *appendCase, err error) bool {
	h, headerErr := batch.DecodeHeader(c.p)
	if headerErr != nil || h.Magic != 2 || h.Size() < batch.HeaderSize || h.Size() > int64(len(c.p)) {
		return false
	}
	p := c.p[:h.Size()]
	d := batch.Decoder{MaxInflated: 1 << 20}
	rs, openErr := d.Open(h, p)
	if openErr == nil {
		openErr = rs.Check()
	}
	if h.Codec() != codec.None && openErr != nil {
		// Kafka takes records here whose length is not that of their content, which no
		// consumer can read; and which error it finds first depends on where it stops
		// to inflate.
		return errors.Is(err, validate.ErrInvalidRecord) || errors.Is(err, validate.ErrUnreadable)
	}
	if openErr != nil {
		return false
	}
	i := int64(0)
	for rec, err := range rs.All() {
		if err != nil || rec.Offset != h.BaseOffset+i {
			// Offsets other than 0, 1, 2, …: Kafka stores them as they are, which spoils the
			// log, or fails when it wants to number them anew.
			return true
		}
		i++
	}
	return false
}

// describe writes a batch without what depends on the compressor.
func describe(p []byte) (string, error) {
	h, err := batch.DecodeHeader(p)
	if err != nil {
		return "", err
	}
	if err := h.Check(p); err != nil {
		return "", err
	}
	d := batch.Decoder{MaxInflated: 1 << 20}
	rs, err := d.Open(h, p)
	if err != nil {
		return "", err
	}
	h.Length, h.CRC = 0, 0
	var b strings.Builder
	fmt.Fprintf(&b, "%+v", h)
	for rec, err := range rs.All() {
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "\n%d %d %d %q %q %d", rec.Offset, rec.Timestamp, rec.TimestampDelta, rec.Key, rec.Value, rec.HeaderCount)
		for hd := range rec.Headers() {
			fmt.Fprintf(&b, " %q=%q", hd.Key, hd.Value)
		}
	}
	return b.String(), nil
}
