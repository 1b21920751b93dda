// Package validate checks a batch as the leader of a partition does before it
// appends it, and makes the changes that the settings of the topic ask for.
//
// The checks come in Kafka's order, because a client sees which one failed:
//
//	Framing  one whole entry, and only one; magic 2; a codec the request may use
//	Batch    framing again, base offset 0, size, checksum, codec; then counts,
//	         sequence and kind of the batch; then every record: its structure, its
//	         key on a compacted topic, its timestamp
//
// A batch is kept byte for byte where that is possible. Only a wrong maximum
// timestamp or a timestamp type other than the topic's is put right in place,
// with a new checksum. The batch is encoded anew if the topic has a codec of its
// own and the batch another, or if the offsets of its records are not 0, 1, 2, ….
//
// Source: Kafka 4.4.0, LogValidator, UnifiedLog.analyzeAndValidateRecords,
// ProduceRequest.validateRecords.
package validate

import (
	"errors"
	"fmt"
	"iter"
	"runtime"
	"sync"

	"kf/internal/format/batch"
	"kf/internal/format/codec"
	"kf/internal/wire"
)

// MaxInflated is how many bytes the records of a compressed batch may inflate
// to. Kafka has no such limit, it reads them as a stream; here they lie in memory
// while they are checked. A batch of the default 1 MiB gets here with a
// compression ratio of 128.
const MaxInflated = 128 << 20

const (
	noTimestamp     = -1
	noProducerID    = -1
	noProducerEpoch = -1
)

// Options are the settings of the topic and the circumstances of the append.
// Times are in milliseconds since the Unix epoch, durations in milliseconds.
type Options struct {
	// FromClient says that a produce request brought the batch. Else the broker
	// made it (a coordinator, the controller): its base offset may be any, control
	// batches are allowed, and counts and sequences are not looked at.
	FromClient bool
	// NoZstd says that the produce request is of a version below 7, which must
	// not carry zstd.
	NoZstd bool

	MaxMessageBytes int32 // of the whole batch; of the sent one and of a newly encoded one
	SegmentBytes    int32
	MaxDecompressed int32 // max.decompressed.message.bytes: of one record of a compressed batch; 0 for any
	Compacted       bool  // cleanup.policy has "compact": records need keys

	Codec     *codec.ID // compression.type; nil for "producer": keep the batch's
	GzipLevel int
	LZ4Level  int
	ZstdLevel int

	Now         int64
	AppendTime  bool  // message.timestamp.type is LogAppendTime: records get Now
	BeforeMaxMs int64 // message.timestamp.before.max.ms, CreateTime only
	AfterMaxMs  int64 // message.timestamp.after.max.ms, CreateTime only
}

// A Result is a batch fit to be appended but for its base offset and its leader
// epoch, which the log sets: the checksum does not cover them.
//
// The number of records is Header.Count, or Header.LastOffsetDelta+1 if the
// batch takes offsets that no record has. The time index gives
// Header.MaxTimestamp to the last offset of the batch, as Kafka does, whichever
// record has it.
type Result struct {
	// Bytes is the batch: the start of what was checked, or newly allocated.
	Bytes []byte
	// Header is decoded from Bytes.
	Header batch.Header
	// AppendTime is the time that all records have got, -1 if they kept their own.
	AppendTime int64
	// Recompressed says that Bytes were encoded anew.
	Recompressed bool
}

// Framing checks what can be told without a look at the topic: that p, the
// records field of a partition of a produce request, holds exactly one entry of
// magic 2. It fails with ErrInvalidRecord, ErrCorrupt or ErrCompressionType. An
// incomplete entry behind the first one is not counted, as in Kafka.
func Framing(p []byte, noZstd bool) error {
	size, err := next(p)
	switch {
	case err != nil:
		return err
	case size == 0:
		return fmt.Errorf("%w: no complete record batch in %d bytes", ErrInvalidRecord, len(p))
	case p[16] != 2:
		return fmt.Errorf("%w: magic %d, only 2 is allowed", ErrInvalidRecord, p[16])
	}
	if id := codec.ID(p[22] & batch.CodecMask); noZstd && id == codec.Zstd {
		return fmt.Errorf("%w: zstd", ErrCompressionType)
	} else if noZstd && !id.Known() {
		return unknownCodec(id)
	}
	another, err := next(p[size:])
	switch {
	case err != nil:
		return err
	case another > 0:
		return fmt.Errorf("%w: more than one record batch", ErrInvalidRecord)
	}
	return nil
}

// next returns the size of the entry at the start of p, 0 if it is not complete.
func next(p []byte) (int, error) {
	if len(p) < batch.LogSize {
		return 0, nil
	}
	length := int32(uint32(p[8])<<24 | uint32(p[9])<<16 | uint32(p[10])<<8 | uint32(p[11]))
	switch {
	case length < batch.MinLength:
		return 0, fmt.Errorf("%w: batch length %d, at least %d", ErrCorrupt, length, batch.MinLength)
	case len(p) < batch.PrefixSize:
		return 0, nil
	case p[16] > 2:
		return 0, fmt.Errorf("%w: magic %d", ErrCorrupt, int8(p[16]))
	case int64(length) > int64(len(p)-batch.LogSize):
		return 0, nil
	}
	return batch.LogSize + int(length), nil
}

// Batch checks the batch in p, the records field of a partition of a produce
// request, and changes it in place, also if it fails. Its errors match one of
// those of this package. It may be called from several goroutines.
func Batch(p []byte, o *Options) (Result, error) {
	if err := Framing(p, o.NoZstd); err != nil {
		return Result{}, err
	}
	p = p[:batch.DecodePrefix(p).Size()]
	h, err := batch.DecodeHeader(p)
	switch {
	case err != nil:
		return Result{}, fmt.Errorf("%w: %w", ErrCorrupt, err)
	case o.FromClient && h.BaseOffset != 0:
		return Result{}, fmt.Errorf("%w: base offset %d, must be 0", ErrInvalidRecord, h.BaseOffset)
	case int64(len(p)) > int64(o.MaxMessageBytes):
		return Result{}, tooLarge(len(p), o)
	}
	if err := h.Check(p); err != nil {
		return Result{}, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	if !h.Codec().Known() {
		return Result{}, unknownCodec(h.Codec())
	}
	if o.FromClient {
		if err := fromClient(&h); err != nil {
			return Result{}, err
		}
	}
	r, err := records(p, &h, o)
	switch {
	case err != nil:
		return Result{}, err
	case r.Recompressed && int64(len(r.Bytes)) > int64(o.MaxMessageBytes):
		return Result{}, tooLarge(len(r.Bytes), o)
	case int64(len(r.Bytes)) > int64(o.SegmentBytes):
		return Result{}, fmt.Errorf("%w: %d bytes, limit is %d", ErrBatchTooLarge, len(r.Bytes), o.SegmentBytes)
	}
	return r, nil
}

func unknownCodec(id codec.ID) error {
	return fmt.Errorf("%w: %w: id %d", ErrUnreadable, codec.ErrUnknown, uint8(id))
}

func tooLarge(size int, o *Options) error {
	return fmt.Errorf("%w: %d bytes, limit is %d", ErrTooLarge, size, o.MaxMessageBytes)
}

// fromClient checks the fields of a header that only a client gets wrong.
func fromClient(h *batch.Header) error {
	switch {
	case h.LastOffsetDelta < 0 || h.Count <= 0 || h.LastOffsetDelta != h.Count-1:
		return fmt.Errorf("%w: last offset delta %d of %d records", ErrInvalidRecord, h.LastOffsetDelta, h.Count)
	case h.Control():
		return fmt.Errorf("%w: control batch from a client", ErrInvalidRecord)
	case h.ProducerID > noProducerID && h.BaseSequence < 0:
		return fmt.Errorf("%w: base sequence %d of producer ID %d", ErrInvalidRecord, h.BaseSequence, h.ProducerID)
	}
	return nil
}

// records checks the records of the batch p, and puts its timestamps right or
// encodes it anew.
func records(p []byte, h *batch.Header, o *Options) (Result, error) {
	target := h.Codec()
	if o.Codec != nil && !(h.Control() && target == codec.None) {
		target = *o.Codec // but a control batch is not compressed
	}
	if h.Codec() == codec.None {
		// A decoder that does not inflate needs no buffer.
		var d batch.Decoder
		return open(&d, p, h, target, o)
	}
	working <- struct{}{}
	d := decoders.Get().(*decoder)
	defer d.done()
	return open(&d.Decoder, p, h, target, o)
}

// A decoder inflates batches. No more of them are at work than there are
// processors, and those whose batch inflates to more than a decoder keeps room for
// take turns, so that hostile batches do not add up, however many connections they
// come from; and the room for them goes when it was not needed for a while.
type decoder struct {
	batch.Decoder
	exclusive bool // it holds turn, else a place in working
}

var (
	decoders = sync.Pool{New: func() any {
		d := &decoder{Decoder: batch.Decoder{MaxInflated: MaxInflated}}
		d.Exclusive = d.takeTurn
		return d
	}}
	working = make(chan struct{}, runtime.GOMAXPROCS(0))
	turn    sync.Mutex
	bigs    = sync.Pool{New: func() any { return new(batch.BigBuffer) }}
)

func (d *decoder) takeTurn() error {
	<-working // for one that need not wait
	turn.Lock()
	d.exclusive, d.Big = true, bigs.Get().(*batch.BigBuffer)
	return nil
}

// done ends the use of the decoder and of what it has opened.
func (d *decoder) done() {
	if d.exclusive {
		bigs.Put(d.Big)
		d.exclusive, d.Big = false, nil
		decoders.Put(d)
		turn.Unlock()
		return
	}
	decoders.Put(d)
	<-working
}

func open(d *batch.Decoder, p []byte, h *batch.Header, target codec.ID, o *Options) (Result, error) {
	rs, err := d.Open(*h, p)
	if err != nil {
		return Result{}, unreadable(err)
	}
	w, err := walk(&rs, h, o)
	if err != nil {
		return Result{}, err
	}
	r := Result{Bytes: p, Header: *h, AppendTime: noTimestamp}
	timestampType := int16(0)
	maxTimestamp := w.maxTimestamp
	if o.AppendTime {
		r.AppendTime = o.Now
		timestampType, maxTimestamp = batch.LogAppendTimeBit, o.Now
	}
	if target == h.Codec() && w.consecutive {
		if h.Attributes&batch.LogAppendTimeBit != timestampType || h.MaxTimestamp != maxTimestamp {
			r.Header.Attributes = h.Attributes&keptBits | timestampType
			r.Header.MaxTimestamp = maxTimestamp
			r.Header.Put(p)
			r.Header.CRC = batch.Checksum(p)
			r.Header.Put(p)
		}
		return r, nil
	}
	if err := rebuildable(h, &w); err != nil {
		return Result{}, err
	}
	n := batch.Header{
		BaseOffset:           h.BaseOffset,
		PartitionLeaderEpoch: h.PartitionLeaderEpoch,
		Magic:                h.Magic,
		Attributes:           int16(target) | timestampType | h.Attributes&batch.TransactionalBit,
		LastOffsetDelta:      h.Count - 1,
		BaseTimestamp:        w.firstTimestamp,
		MaxTimestamp:         maxTimestamp,
		ProducerID:           h.ProducerID,
		ProducerEpoch:        h.ProducerEpoch,
		BaseSequence:         h.BaseSequence,
	}
	r.Recompressed = true
	if r.Bytes, err = batch.AppendLevel(nil, n, renumbered(rs, n), o.level(target)); err != nil {
		return Result{}, fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	r.Header, err = batch.DecodeHeader(r.Bytes)
	return r, err
}

// rebuildable says what Kafka cannot encode anew, though it takes it as it comes.
func rebuildable(h *batch.Header, w *walked) error {
	switch {
	case w.negative:
		return fmt.Errorf("%w: negative timestamp", ErrUnreadable)
	case h.ProducerID == noProducerID && h.Transactional():
		return fmt.Errorf("%w: transactional batch without a producer ID", ErrUnreadable)
	case h.ProducerID != noProducerID && h.ProducerEpoch == noProducerEpoch:
		return fmt.Errorf("%w: producer ID %d without an epoch", ErrUnreadable, h.ProducerID)
	case h.ProducerID != noProducerID && h.BaseSequence < 0 && !h.Control():
		return fmt.Errorf("%w: producer ID %d without a sequence", ErrUnreadable, h.ProducerID)
	}
	return nil
}

// keptBits are the attributes that survive a new timestamp type.
const keptBits = batch.CodecMask | batch.TransactionalBit | batch.ControlBit | batch.DeleteHorizonBit

// level returns the compression level of a codec.
func (o *Options) level(id codec.ID) int {
	switch id {
	case codec.Gzip:
		return o.GzipLevel
	case codec.LZ4:
		return o.LZ4Level
	case codec.Zstd:
		return o.ZstdLevel
	}
	return id.DefaultLevel()
}

// renumbered yields the records, which are known to be sound, with the offsets
// from the base offset of h on.
func renumbered(rs batch.Records, h batch.Header) iter.Seq[*batch.Record] {
	return func(yield func(*batch.Record) bool) {
		offset := h.BaseOffset
		for r := range rs.All() {
			r.Offset = offset
			r.TimestampDelta = r.Timestamp - h.BaseTimestamp
			if !yield(r) {
				return
			}
			offset++
		}
	}
}

// walked is what a walk over the records found.
type walked struct {
	firstTimestamp int64 // of the first record, -1 without one
	maxTimestamp   int64 // -1 if no record has one
	negative       bool  // a record has a timestamp below -1
	consecutive    bool  // the offset deltas are 0, 1, 2, …
}

// walk checks all records. Damage counts more than what is wrong with single
// records, as in Kafka.
func walk(rs *batch.Records, h *batch.Header, o *Options) (walked, error) {
	w := walked{firstTimestamp: noTimestamp, maxTimestamp: noTimestamp, consecutive: true}
	var invalid *InvalidRecordsError
	var r batch.Record
	for i, pos := 0, 0; i < int(h.Count); i++ {
		next, err := rs.Next(&r, i, pos)
		switch {
		case err != nil && errors.Is(err, wire.ErrVarint) && !rs.Compressed():
			return w, fmt.Errorf("%w: %w", ErrUnreadable, err)
		case err != nil:
			return w, fmt.Errorf("%w: %w", ErrInvalidRecord, err)
		}
		if rs.Compressed() && o.MaxDecompressed > 0 && r.Size > o.MaxDecompressed {
			return w, fmt.Errorf("%w: record %d of %d bytes, max.decompressed.message.bytes is %d", ErrInvalidRecord, i, r.Size, o.MaxDecompressed)
		}
		pos = next
		if i == 0 {
			w.firstTimestamp = r.Timestamp
		}
		w.maxTimestamp = max(w.maxTimestamp, r.Timestamp)
		w.negative = w.negative || r.Timestamp < noTimestamp
		if r.Offset != h.BaseOffset+int64(i) {
			w.consecutive = false
		}
		switch {
		case o.Compacted && r.KeySize < 0:
			invalid = invalid.add(ErrInvalidRecord, i, "a compacted topic needs a key")
		case !o.AppendTime && r.Timestamp != noTimestamp:
			if age := o.Now - r.Timestamp; age > o.BeforeMaxMs || -age > o.AfterMaxMs {
				invalid = invalid.add(ErrTimestamp, i, fmt.Sprintf("timestamp %d is outside of %d to %d", r.Timestamp, o.Now-o.BeforeMaxMs, o.Now+o.AfterMaxMs))
			}
		case h.Attributes&batch.LogAppendTimeBit != 0:
			invalid = invalid.add(ErrTimestamp, i, "the timestamp type LogAppendTime is the broker's to set")
		}
	}
	if invalid != nil {
		return w, invalid
	}
	return w, nil
}

// add notes a record; a timestamp out of range names the error of them all.
func (e *InvalidRecordsError) add(err error, index int, message string) *InvalidRecordsError {
	if e == nil {
		e = &InvalidRecordsError{Err: err}
	}
	if err == ErrTimestamp {
		e.Err = err
	}
	if len(e.Records) < MaxRecordErrors {
		e.Records = append(e.Records, RecordError{index, message})
	}
	return e
}

// unreadable returns the error for records that could not be opened.
func unreadable(err error) error {
	if errors.Is(err, batch.ErrRecords) {
		return fmt.Errorf("%w: %w", ErrInvalidRecord, err)
	}
	return fmt.Errorf("%w: %w", ErrUnreadable, err)
}
