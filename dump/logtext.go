package dump

import (
	"errors"
	"fmt"
	"strconv"

	"kf/internal/dumptext"
	"kf/internal/format/batch"
	"kf/internal/javafmt"
	"kf/internal/segment"
)

// A segmentPrinter prints the entries of one segment as kafka-dump-log.sh does.
type segmentPrinter struct {
	dump              *logDump
	path, name        string
	decoder           dumptext.Decoder
	print, deep, skip bool
	whole             bool // the file is looked at to its end

	// What is known of the chunks that were printed; only touched in order.
	lastOffset int64 // of the last record, -1 before the first
	sequence   sequence
}

// A pair is two numbers of a report.
type pair struct{ first, second int64 }

// chunkFacts are what the chunks in front need to know of one.
type chunkFacts struct {
	firstOffset, lastOffset int64 // of the records
	records                 bool
	gaps                    []pair // inside the chunk
	firstBatch              batch.Header
	firstPos                int64
	sequence                sequence
	damage                  []error
}

// newWork returns what a worker does with a chunk.
func (p *segmentPrinter) newWork(decoder *batch.Decoder) segment.Work {
	return func(c *segment.Chunk, out *segment.Output) (func() error, error) {
		facts := &chunkFacts{sequence: newSequence(unknownBase)}
		inOrder := func() error {
			p.follow(facts)
			return nil
		}
		if c.Damage != nil {
			return func() error { return p.tail(c) }, nil
		}
		decoder.Exclusive = out.Turn
		for e, err := range c.Entries(p.path) {
			if err != nil {
				if e.Header.Magic < 0 {
					out.B = appendField(out.B, "offset: ", e.Header.BaseOffset)
				}
				return inOrder, damage(err)
			}
			if err := p.entry(e, decoder, out, facts); err != nil {
				return inOrder, err
			}
		}
		return inOrder, nil
	}
}

// at gives an error of an entry its place; nil stays nil.
func (p *segmentPrinter) at(e *segment.Entry, err error) error {
	if err == nil {
		return nil
	}
	return &segment.Error{Path: p.path, Pos: e.Pos, BaseOffset: e.Header.BaseOffset, Err: err}
}

func (p *segmentPrinter) entry(e *segment.Entry, decoder *batch.Decoder, out *segment.Output, facts *chunkFacts) error {
	h := &e.Header
	if !facts.sequence.started {
		facts.firstBatch, facts.firstPos = *h, e.Pos
	}
	facts.found(p.at(e, facts.sequence.next(h)))
	out.B = appendBatchStart(out.B, h)
	if !h.Codec().Known() {
		return damage(p.at(e, fmt.Errorf("unknown compression codec %d", uint8(h.Codec()))))
	}
	check := e.Check()
	out.B = appendBatchEnd(out.B, h, e.Pos, check == nil)
	facts.found(p.at(e, check))
	if p.deep {
		facts.found(p.at(e, emptyBatch(h)))
		return p.records(e, decoder, out, facts)
	}
	return out.Full()
}

func (p *segmentPrinter) records(e *segment.Entry, decoder *batch.Decoder, out *segment.Output, facts *chunkFacts) error {
	rs, err := e.Open(decoder)
	if err == nil && rs.Compressed() && !rs.Legacy() {
		err = rs.Check() // Kafka decodes such a batch whole before it prints any of it
	}
	if err != nil {
		return damage(p.at(e, err))
	}
	for r, err := range rs.Lenient() {
		if err != nil {
			return damage(p.at(e, err))
		}
		facts.add(r.Offset)
		var prefix string
		if out.B, prefix, err = p.record(out.B, &e.Header, r); err != nil {
			return p.recordFailed(e, r, err)
		}
		if p.print && !e.Header.Control() {
			rec := dumptext.Record{Offset: r.Offset, Key: r.Key, Value: r.Value}
			if topic, fault := p.unread(r); fault != nil {
				if out.B, err = topic.AppendUnread(out.B, prefix, rec, fault); err != nil {
					return p.recordFailed(e, r, err)
				}
			} else if d, ok := p.decoder.(classDecoder); ok && d.text && len(r.Key)+len(r.Value) > largeValue {
				if err := largeText(out, prefix, r); err != nil {
					return err
				}
			} else if out.B, err = p.decoder.Append(out.B, prefix, rec); err != nil {
				return p.recordFailed(e, r, err)
			}
		}
		facts.found(p.at(e, r.Fault))
		out.B = append(out.B, '\n')
		if err := out.Full(); err != nil {
			return err
		}
	}
	return nil
}

// recordFailed says why the text of a record could not be made: the damage of a
// control record, or a decoder that is not for this segment.
func (p *segmentPrinter) recordFailed(e *segment.Entry, r *batch.Record, err error) error {
	if errors.Is(err, batch.ErrRecords) {
		return damage(p.at(e, err))
	}
	if e.Header.Control() {
		return damage(p.at(e, fmt.Errorf("control record at offset %d: %w", r.Offset, err)))
	}
	return p.at(e, fmt.Errorf("record at offset %d: %w", r.Offset, err))
}

func (f *chunkFacts) found(err error) {
	if err != nil {
		f.damage = append(f.damage, err)
	}
}

func (f *chunkFacts) add(offset int64) {
	if !f.records {
		f.firstOffset, f.records = offset, true
	} else if offset != f.lastOffset+1 {
		f.gaps = append(f.gaps, pair{f.lastOffset, offset})
	}
	f.lastOffset = offset
}

// follow joins a chunk to those before it.
func (p *segmentPrinter) follow(f *chunkFacts) {
	reports := &p.dump.reports
	if f.records {
		if f.firstOffset != p.lastOffset+1 {
			reports.gap(p.path, pair{p.lastOffset, f.firstOffset})
		}
		for _, g := range f.gaps {
			reports.gap(p.path, g)
		}
		p.lastOffset = f.lastOffset
	}
	if err := p.sequence.join(&f.firstBatch, f.sequence); err != nil {
		p.dump.found(&segment.Error{Path: p.path, Pos: f.firstPos, BaseOffset: f.firstBatch.BaseOffset, Err: err})
	}
	for _, err := range f.damage {
		p.dump.found(err)
	}
}

// tail prints what kafka-dump-log.sh says of the end of a damaged file.
func (p *segmentPrinter) tail(c *segment.Chunk) error {
	if errors.Is(c.Damage, segment.ErrTail) {
		if !p.whole {
			return nil
		}
		p.dump.found(c.Damage)
		if p.dump.opts.Resync {
			return nil
		}
		return p.dump.printf("Found %d invalid bytes at the end of %s\n", c.Size, p.name)
	}
	if errors.Is(c.Damage, segment.ErrZeros) && preallocated(p.path) {
		// Kafka's tool fails here, so this one has to, but nothing is wrong.
		return fmt.Errorf("%w: its index says that the segment is active, so this is no damage", c.Damage)
	}
	if p.dump.opts.Resync {
		p.dump.found(c.Damage)
		return nil
	}
	return damage(c.Damage)
}

// appendField appends a label and a number.
func appendField[T ~int8 | ~int16 | ~int32 | ~int64 | ~uint32 | ~int](dst []byte, label string, v T) []byte {
	return strconv.AppendInt(append(dst, label...), int64(v), 10)
}

func appendOptional(dst []byte, v int64, ok bool) []byte {
	if !ok {
		return append(dst, "OptionalLong.empty"...)
	}
	return append(strconv.AppendInt(append(dst, "OptionalLong["...), v, 10), ']')
}

// appendBatchStart appends the batch line up to the point where an unknown
// codec cuts it off.
func appendBatchStart(dst []byte, h *batch.Header) []byte {
	if h.Magic < 2 {
		return appendField(dst, "offset: ", h.LastOffset())
	}
	dst = appendField(dst, "baseOffset: ", h.BaseOffset)
	dst = appendField(dst, " lastOffset: ", h.LastOffset())
	dst = appendField(dst, " count: ", h.Count)
	dst = appendField(dst, " baseSequence: ", h.BaseSequence)
	dst = appendField(dst, " lastSequence: ", h.LastSequence())
	dst = appendField(dst, " producerId: ", h.ProducerID)
	dst = appendField(dst, " producerEpoch: ", h.ProducerEpoch)
	dst = appendField(dst, " partitionLeaderEpoch: ", h.PartitionLeaderEpoch)
	dst = strconv.AppendBool(append(dst, " isTransactional: "...), h.Transactional())
	dst = strconv.AppendBool(append(dst, " isControl: "...), h.Control())
	horizon, ok := h.DeleteHorizon()
	return appendOptional(append(dst, " deleteHorizonMs: "...), horizon, ok)
}

func appendBatchEnd(dst []byte, h *batch.Header, pos int64, valid bool) []byte {
	dst = appendField(dst, " position: ", pos)
	dst = append(append(dst, ' '), h.TimestampType().String()...)
	dst = appendField(dst, ": ", h.MaxTimestamp)
	dst = appendField(dst, " size: ", h.Size())
	dst = appendField(dst, " magic: ", h.Magic)
	dst = append(append(dst, " compresscodec: "...), h.Codec().String()...)
	dst = appendField(dst, " crc: ", h.CRC)
	dst = strconv.AppendBool(append(dst, " isvalid: "...), valid)
	return append(dst, '\n')
}

// record appends the line of a record up to its contents, and returns what stands
// in front of them. Kafka looks at a key or value that does not fit only to print it.
func (p *segmentPrinter) record(dst []byte, h *batch.Header, r *batch.Record) (_ []byte, prefix string, err error) {
	prefix = " "
	if p.skip {
		prefix = "| "
	} else if r.NoSizes {
		return dst, prefix, r.Fault
	} else {
		dst = appendField(dst, "| offset: ", r.Offset)
		dst = append(append(dst, ' '), h.TimestampType().String()...)
		dst = appendField(dst, ": ", r.Timestamp)
		dst = appendField(dst, " keySize: ", r.KeySize)
		dst = appendField(dst, " valueSize: ", r.ValueSize)
		if h.Magic >= 2 {
			dst = appendField(dst, " sequence: ", r.Sequence)
			dst = append(dst, " headerKeys: ["...)
			first := true
			for hd := range r.Headers() {
				if !first {
					dst = append(dst, ',')
				}
				first = false
				dst = javafmt.AppendText(dst, hd.Key)
			}
			dst = append(dst, ']')
		} else {
			dst = strconv.AppendBool(append(dst, " isValid: "...), r.Valid)
			dst = appendField(dst, " crc: ", r.CRC)
		}
		if h.Control() {
			dst, err = dumptext.AppendControl(dst, r.Key, r.Value)
			return dst, prefix, err
		}
	}
	if p.print && !h.Control() {
		if _, fault := p.unread(r); fault == nil {
			err = r.Fault
		}
	}
	return dst, prefix, err
}

// unread returns why the value of a record cannot be read where that does not end
// the run: the decoders of internal topics print it.
func (p *segmentPrinter) unread(r *batch.Record) (dumptext.Topic, *batch.ValueSizeError) {
	topic, ok := p.decoder.(dumptext.Topic)
	if !ok || r.Fault == nil {
		return topic, nil
	}
	fault, _ := errors.AsType[*batch.ValueSizeError](r.Fault)
	return topic, fault
}

// largeText prints contents that are text without having them in memory again.
func largeText(out *segment.Output, prefix string, r *batch.Record) error {
	for _, field := range []struct {
		label string
		p     []byte
	}{{"key: ", r.Key}, {"payload: ", r.Value}} {
		if field.p == nil {
			continue
		}
		out.B = append(append(out.B, prefix...), field.label...)
		prefix = " "
		for p := field.p; len(p) > 0; {
			n := textBreak(p, min(len(p), pieceSize))
			out.B = javafmt.AppendText(out.B, p[:n])
			p = p[n:]
			if err := out.Full(); err != nil {
				return err
			}
		}
	}
	return nil
}
