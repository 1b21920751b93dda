package shard

import (
	"context"
	"errors"
	"fmt"

	"kf/internal/format/batch"
	"kf/internal/format/control"
	"kf/internal/format/schema"
)

// readBytes is how much of the log is read at once.
//
// Source: Kafka 4.4.0, the default of offsets.load.buffer.size.
const readBytes = 5 << 20

// maxInflated is the size up to which a compressed batch is inflated. A
// coordinator's batches are at most as large as its topic allows, and what it
// writes shrinks by less than this.
const maxInflated = 256 << 20

// Load replays the log and makes the shard work. It returns why it could not, or
// [ErrResigned] if the shard was closed or ctx ended meanwhile. Records of an
// unknown type are passed over, as a newer release may have written them; one
// that cannot be read ends the load, as in Kafka.
//
// Source: Kafka 4.4.0, CoordinatorLoaderImpl.java.
func (s *Shard) Load(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)()
	// Until it is loaded nobody else touches the machine: the lock is not held,
	// and who asks meanwhile is told at once.
	end, err := s.replay(ctx)
	if ctx.Err() != nil {
		s.Close()
		return ErrResigned
	}
	if err != nil {
		return s.fail(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state == resigned {
		return ErrResigned
	}
	s.state, s.written = active, end
	s.machine.Loaded()
	close(s.loaded)
	return nil
}

func (s *Shard) replay(ctx context.Context) (end int64, err error) {
	d := batch.Decoder{MaxInflated: maxInflated}
	for next := s.o.Log.LogStartOffset(); ; {
		p, err := s.o.Log.Read(next, readBytes)
		switch {
		case err != nil:
			return next, err
		case ctx.Err() != nil:
			return next, ctx.Err()
		case len(p) == 0:
			return next, nil
		}
		for len(p) > 0 {
			h, err := batch.DecodeHeader(p)
			if err != nil {
				return next, fmt.Errorf("offset %d: %w", next, err)
			}
			if h.Size() > int64(len(p)) {
				return next, fmt.Errorf("offset %d: %w", next, batch.ErrTruncated)
			}
			entry := p[:max(0, h.Size())]
			if err := h.Check(entry); err != nil {
				return next, fmt.Errorf("batch at offset %d: %w", h.BaseOffset, err)
			}
			if h.LastOffset() >= next { // the first may begin before what was asked for
				if err := s.replayBatch(&d, h, entry); err != nil {
					return next, fmt.Errorf("batch at offset %d: %w", h.BaseOffset, err)
				}
				next = h.LastOffset() + 1
			}
			p = p[h.Size():]
		}
	}
}

func (s *Shard) replayBatch(d *batch.Decoder, h batch.Header, p []byte) error {
	rs, err := d.Open(h, p)
	if err != nil {
		return err
	}
	for r, err := range rs.All() {
		if err != nil {
			return err
		}
		if h.Control() {
			t, err := control.DecodeKey(r.Key)
			if err != nil {
				return err
			}
			if t == control.Commit || t == control.Abort {
				s.machine.ReplayEnd(h.ProducerID, t == control.Commit)
			}
			continue
		}
		decoded, err := s.o.Format.Decode(r.Key, r.Value)
		switch {
		case errors.Is(err, schema.ErrUnknownType):
			s.o.Notice(fmt.Sprintf("a record of an unknown type at offset %d is passed over", r.Offset), err)
		case err != nil:
			return fmt.Errorf("offset %d: %w", r.Offset, err)
		default:
			s.machine.Replay(decoded, h.ProducerID)
		}
	}
	return nil
}
