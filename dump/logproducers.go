package dump

import (
	"errors"
	"fmt"
	"io"

	"kf/internal/format/prodsnapshot"
	"kf/internal/format/txnindex"
)

// txnIndex prints a .txnindex file.
func (d *logDump) txnIndex(path, name string) error {
	base, err := baseOffset(name)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	f, err := openIndex(path)
	if err != nil {
		return err
	}
	defer f.Close()
	// Kafka reads all entries before it prints one: a wrong version anywhere
	// means no output at all.
	for _, err := range txnindex.Entries(f.reader()) {
		if errors.Is(err, txnindex.ErrVersion) {
			return damage(fmt.Errorf("%s: %w", path, err))
		}
	}
	for e, err := range txnindex.Scan(f.reader(), base) {
		if err != nil {
			d.found(fmt.Errorf("%s: %w", path, err))
			if !errors.Is(err, txnindex.ErrOffset) && !errors.Is(err, txnindex.ErrOrder) { // the rest comes without an entry
				return nil
			}
		}
		if err := d.printf("version: 0 producerId: %d firstOffset: %d lastOffset: %d lastStableOffset: %d\n",
			e.ProducerID, e.FirstOffset, e.LastOffset, e.LastStableOffset); err != nil {
			return err
		}
	}
	return nil
}

// producerSnapshot prints a .snapshot file.
func (d *logDump) producerSnapshot(path string) error {
	f, err := openIndex(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if f.size > maxSnapshot {
		return fmt.Errorf("%s: %d bytes are too many for a producer snapshot", path, f.size)
	}
	p, err := io.ReadAll(f.reader())
	if err != nil {
		return err
	}
	s, err := prodsnapshot.Decode(p)
	if err != nil {
		d.found(fmt.Errorf("%s: %w", path, err))
		return nil
	}
	for _, e := range s.Entries {
		out := appendField(d.buf[:0], "producerId: ", e.ProducerID)
		out = appendField(out, " producerEpoch: ", e.ProducerEpoch)
		out = appendField(out, " coordinatorEpoch: ", e.CoordinatorEpoch)
		out = appendOptional(append(out, " currentTxnFirstOffset: "...), e.CurrentTxnFirstOffset, e.CurrentTxnFirstOffset >= 0)
		out = appendField(out, " lastTimestamp: ", e.Timestamp)
		if e.LastOffset >= 0 {
			out = appendField(out, " firstSequence: ", e.FirstSequence())
			out = appendField(out, " lastSequence: ", e.LastSequence)
			out = appendField(out, " lastOffset: ", e.LastOffset)
			out = appendField(out, " offsetDelta: ", e.OffsetDelta)
			out = appendField(out, " timestamp: ", e.Timestamp)
		}
		d.buf = append(out, '\n')
		if _, err := d.out.Write(d.buf); err != nil {
			return err
		}
	}
	return nil
}
