package dump

import (
	"fmt"
	"math"

	"kf/internal/format/batch"
)

// A sequence checks what no checksum covers: that the batches of a segment
// follow each other.
type sequence struct {
	base       int64 // lowest possible offset
	started    bool
	lastOffset int64
	epoch      int32 // highest leader epoch so far, -1 if none
}

// newSequence returns the check of a segment that starts at base; MinInt64 if
// that is not known.
func newSequence(base int64) sequence { return sequence{base: base, epoch: -1} }

// next returns what is wrong with the next batch, all of it on one line, nil if
// nothing is.
func (s *sequence) next(h *batch.Header) error {
	var all error
	found := func(format string, a ...any) {
		err := fmt.Errorf(format, a...)
		if all != nil {
			err = fmt.Errorf("%w; %w", all, err)
		}
		all = err
	}
	switch {
	case s.started && h.BaseOffset <= s.lastOffset:
		found("the offset is not above %d, the last offset of the batch in front", s.lastOffset)
	case !s.started && h.BaseOffset < s.base:
		found("the offset is below the base offset %d of the segment", s.base)
	}
	if h.LastOffset() < h.BaseOffset {
		found("last offset delta %d", h.LastOffsetDelta)
	}
	if h.Magic > 2 {
		found("unknown magic %d, read as 2", h.Magic)
	}
	if h.PartitionLeaderEpoch >= 0 && h.PartitionLeaderEpoch < s.epoch {
		found("leader epoch %d is below %d of a batch in front", h.PartitionLeaderEpoch, s.epoch)
	}
	s.started, s.lastOffset, s.epoch = true, h.LastOffset(), max(s.epoch, h.PartitionLeaderEpoch)
	return all
}

// join goes on behind a run of batches whose own checks were made apart, from
// the first of them and their end.
func (s *sequence) join(first *batch.Header, end sequence) error {
	if !end.started {
		return nil
	}
	only := *first // what the batch is by itself was found already
	only.Magic = min(only.Magic, 2)
	only.LastOffsetDelta = max(only.LastOffsetDelta, 0)
	err := s.next(&only)
	s.lastOffset, s.epoch = end.lastOffset, max(s.epoch, end.epoch)
	return err
}

// emptyBatch returns what is wrong with a batch that counts no records but holds
// bytes, at which Kafka does not look.
func emptyBatch(h *batch.Header) error {
	if h.Magic >= 2 && h.Count == 0 && h.Size() > batch.HeaderSize {
		return fmt.Errorf("no records are counted, but %d bytes are there", h.Size()-batch.HeaderSize)
	}
	return nil
}

const unknownBase = math.MinInt64
