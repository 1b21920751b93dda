package metalog

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"kf/internal/format/batch"
	"kf/internal/format/control"
	"kf/internal/format/kraftrec"
	"kf/internal/image"
)

// MaxBatch is the largest batch that is appended, in bytes, as in Kafka.
const MaxBatch = 8 << 20

// ErrTooLarge says that records do not fit in one batch.
var ErrTooLarge = errors.New("metadata batch is too large")

// End returns the offset that the next record gets.
func (l *Log) End() int64 { return l.end }

// Append appends records as one batch and returns where it is once it is durable:
// Offset is that of the first record. The records count together or not at all.
// After an error nothing was appended.
func (l *Log) Append(records []image.Record) (image.Position, error) {
	at := time.Now()
	p, err := appendData(nil, records, l.end, l.quorum.epoch, at)
	if err != nil {
		return image.Position{}, err
	}
	if len(p) > MaxBatch {
		return image.Position{}, fmt.Errorf("%w: %d bytes, limit is %d", ErrTooLarge, len(p), MaxBatch)
	}
	return l.write(p, len(records), at)
}

func appendData(dst []byte, records []image.Record, base int64, epoch int32, at time.Time) ([]byte, error) {
	values := make([][]byte, len(records))
	for i, r := range records {
		var err error
		if values[i], err = kraftrec.Append(nil, r.Message, r.Version); err != nil {
			return nil, err
		}
	}
	return appendBatch(dst, nil, values, base, epoch, at, 0)
}

// appendBatch appends a batch; keys are nil for data records.
func appendBatch(dst []byte, keys, values [][]byte, base int64, epoch int32, at time.Time, attributes int16) ([]byte, error) {
	ms := at.UnixMilli()
	h := batch.Header{
		BaseOffset: base, PartitionLeaderEpoch: epoch, Magic: 2, Attributes: attributes, LastOffsetDelta: int32(len(values) - 1),
		BaseTimestamp: ms, MaxTimestamp: ms, ProducerID: -1, ProducerEpoch: -1, BaseSequence: -1,
	}
	return batch.Append(dst, h, func(yield func(*batch.Record) bool) {
		r := batch.Record{Timestamp: ms}
		for i, v := range values {
			r.Offset, r.Value = base+int64(i), v
			if keys != nil {
				r.Key = keys[i]
			}
			if !yield(&r) {
				return
			}
		}
	})
}

// appendControl appends a control batch of messages, pointers to structs of
// package control.
func appendControl(dst []byte, messages []any, base int64, epoch int32, at time.Time) ([]byte, error) {
	var keys, values [][]byte
	for _, m := range messages {
		value, err := control.AppendValue(nil, m)
		if err != nil {
			return nil, err
		}
		keys, values = append(keys, control.AppendKey(nil, controlType(m))), append(values, value)
	}
	return appendBatch(dst, keys, values, base, epoch, at, batch.ControlBit)
}

func controlType(message any) control.Type {
	switch message.(type) {
	case *control.LeaderChangeMessage:
		return control.LeaderChange
	case *control.SnapshotHeaderRecord:
		return control.SnapshotHeader
	case *control.SnapshotFooterRecord:
		return control.SnapshotFooter
	case *control.KRaftVersionRecord:
		return control.KRaftVersion
	case *control.VotersRecord:
		return control.KRaftVoters
	}
	panic(fmt.Sprintf("metalog: %T is no control record of the metadata log", message))
}

// write writes a batch of n records at the end of the log.
func (l *Log) write(p []byte, n int, at time.Time) (image.Position, error) {
	l.mu.Lock()
	broken := l.broken
	l.mu.Unlock()
	if broken != nil {
		return image.Position{}, broken
	}
	if l.rollDue(int64(len(p)), at) {
		if err := l.roll(); err != nil {
			return image.Position{}, l.fail(err)
		}
	}
	a := &l.active
	if _, err := a.log.WriteAt(p, a.size); err != nil {
		// The disk may be full: what was written must not be read as a batch.
		if e := a.log.Truncate(a.size); e != nil {
			return image.Position{}, l.fail(errors.Join(err, e))
		}
		return image.Position{}, err
	}
	if err := a.log.Sync(); err != nil {
		return image.Position{}, l.fail(err) // what is on the disk is unknown
	}
	pos := image.Position{Offset: l.end, Epoch: l.quorum.epoch, Timestamp: at.UnixMilli()}
	h, err := batch.DecodeHeader(p)
	if err == nil {
		err = a.note(h, a.size)
	}
	a.size += int64(len(p))
	l.end += int64(n)
	l.fresh += int64(len(p))
	l.mu.Lock()
	l.segments[len(l.segments)-1].size = a.size
	l.mu.Unlock()
	if err != nil {
		// The batch is in the log: what failed is the next append.
		l.fail(err)
	}
	return pos, nil
}

// fail ends all appending because of err.
func (l *Log) fail(err error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.broken == nil {
		l.broken = fmt.Errorf("metadata log: %w", err)
	}
	return l.broken
}

// rollDue reports whether a batch of so many bytes begins a new segment.
func (l *Log) rollDue(size int64, at time.Time) bool {
	a := &l.active
	return a.size > 0 && (a.size+size > l.o.SegmentBytes || a.first >= 0 && at.UnixMilli()-a.first > l.o.SegmentMs)
}

// pieces yields records in pieces of at most n.
func pieces(records iter.Seq[image.Record], n int) iter.Seq[[]image.Record] {
	return func(yield func([]image.Record) bool) {
		var piece []image.Record
		for r := range records {
			if piece = append(piece, r); len(piece) == n {
				if !yield(piece) {
					return
				}
				piece = slices.Delete(piece, 0, len(piece))
			}
		}
		if len(piece) > 0 {
			yield(piece)
		}
	}
}
