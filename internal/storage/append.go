package storage

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"time"

	"kf/internal/format/batch"
	"kf/internal/format/txnindex"
	"kf/internal/storage/validate"
)

// Append appends the one batch p as the leader: it checks it, gives it its
// offset and leader epoch in place, and writes it. p is the log's to change
// until Append returns. Nothing is written if it returns an error.
func (l *Log) Append(p []byte, o AppendOptions) (Appended, error) {
	c := l.config.Load()
	if !c.AppendTime {
		// The checks take longer than the write: appends do them side by side.
		r, err := l.validate(p, c, o)
		if err != nil {
			return Appended{}, err
		}
		l.mu.Lock()
		return l.lead(r, c, o)
	}
	l.mu.Lock() // so that later batches have later times
	r, err := l.validate(p, c, o)
	if err != nil {
		l.mu.Unlock()
		return Appended{}, err
	}
	return l.lead(r, c, o)
}

func (l *Log) validate(p []byte, c *Config, o AppendOptions) (validate.Result, error) {
	return validate.Batch(p, &validate.Options{
		FromClient:      o.Origin == FromClient,
		NoZstd:          o.NoZstd,
		MaxMessageBytes: c.MaxMessageBytes,
		SegmentBytes:    c.SegmentBytes,
		MaxDecompressed: c.MaxDecompressed,
		Compacted:       c.Compact,
		Codec:           c.Codec,
		GzipLevel:       c.GzipLevel,
		LZ4Level:        c.LZ4Level,
		ZstdLevel:       c.ZstdLevel,
		Now:             time.Now().UnixMilli(),
		AppendTime:      c.AppendTime,
		BeforeMaxMs:     c.BeforeMaxMs,
		AfterMaxMs:      c.AfterMaxMs,
	})
}

// lead appends a checked batch; l.mu is held and released.
func (l *Log) lead(r validate.Result, c *Config, o AppendOptions) (Appended, error) {
	a, err := l.leadLocked(&r, c, o)
	l.mu.Unlock()
	if err == nil {
		err = l.syncWhenDue(a.LastOffset+1, c)
	}
	return a, err
}

func (l *Log) leadLocked(r *validate.Result, c *Config, o AppendOptions) (Appended, error) {
	if err := l.usable(); err != nil {
		return Appended{}, err
	}
	p, h := r.Bytes, &r.Header
	first := l.LogEndOffset()
	h.BaseOffset, h.PartitionLeaderEpoch = first, o.LeaderEpoch
	binary.BigEndian.PutUint64(p, uint64(first))
	binary.BigEndian.PutUint32(p[12:], uint32(o.LeaderEpoch))
	marker, err := markerOf(h, p)
	if err != nil {
		return Appended{}, fmt.Errorf("%w: %w", ErrInvalidRecord, err)
	}
	if h.ProducerID >= 0 && (marker != nil || !h.Control()) {
		duplicate, err := l.producers.check(h, marker, o.Origin)
		if err != nil {
			return Appended{}, err
		}
		if duplicate != nil {
			return Appended{
				FirstOffset: duplicate.lastOffset - int64(duplicate.delta), LastOffset: duplicate.lastOffset,
				LogAppendTime: duplicate.timestamp, LogStartOffset: l.LogStartOffset(), Duplicate: true,
			}, nil
		}
	}
	a := Appended{FirstOffset: first, LastOffset: h.LastOffset(), LogAppendTime: r.AppendTime, LogStartOffset: l.LogStartOffset()}
	in := incoming{bytes: p, first: first, last: h.LastOffset(), maxTime: h.MaxTimestamp, maxTimeOffset: h.LastOffset()}
	if h.ProducerID >= 0 {
		in.sent = append(l.sent[:0], sent{*h, marker})
		l.sent = in.sent
	}
	if err := l.epochs.assign(o.LeaderEpoch, first); err != nil {
		return Appended{}, l.failed(err)
	}
	if err := l.write(&in, c); err != nil {
		return Appended{}, err
	}
	return a, nil
}

// AppendAsFollower appends batches as the leader has them, which hold their
// offsets and epochs already. Their last offsets must rise, from the log end
// offset on; what is not a whole batch at the end of p is left out. They may be
// of any magic.
func (l *Log) AppendAsFollower(p []byte) (Appended, error) {
	in, err := follow(p)
	if err != nil {
		return Appended{}, err
	}
	c := l.config.Load()
	l.mu.Lock()
	a, err := l.followLocked(&in, c)
	l.mu.Unlock()
	if err == nil {
		err = l.syncWhenDue(a.LastOffset+1, c)
	}
	return a, err
}

// headers yields the headers of the whole entries in p.
func headers(p []byte, each func(h *batch.Header, entry []byte) error) (size int, err error) {
	for size < len(p) {
		rest := p[size:]
		if len(rest) < batch.PrefixSize {
			break
		}
		prefix := batch.DecodePrefix(rest)
		if prefix.Length < batch.MinLength {
			return size, fmt.Errorf("%w: byte %d: %w: %d, at least %d", ErrCorrupt, size, batch.ErrLength, prefix.Length, batch.MinLength)
		}
		if prefix.Size() > int64(len(rest)) {
			break
		}
		entry := rest[:prefix.Size()]
		h, err := batch.DecodeHeader(entry)
		if err != nil {
			return size, fmt.Errorf("%w: byte %d: %w", ErrCorrupt, size, err)
		}
		if err := each(&h, entry); err != nil {
			return size, err
		}
		size += len(entry)
	}
	return size, nil
}

// follow checks batches that a leader has.
func follow(p []byte) (incoming, error) {
	in := incoming{first: -1, last: -1, maxTime: noTimestamp, maxTimeOffset: -1}
	size, err := headers(p, func(h *batch.Header, entry []byte) error {
		if err := h.Check(entry); err != nil {
			return fmt.Errorf("%w: batch at offset %d: %w", ErrCorrupt, h.BaseOffset, err)
		}
		if h.BaseOffset < 0 || h.LastOffset() < h.BaseOffset || h.LastOffset() <= in.last {
			return fmt.Errorf("%w: batch with offsets %d to %d after offset %d", ErrCorrupt, h.BaseOffset, h.LastOffset(), in.last)
		}
		if in.first < 0 {
			in.first, in.legacy = h.BaseOffset, h.Magic < 2
		}
		in.last = h.LastOffset()
		if h.ProducerID >= 0 {
			marker, err := markerOf(h, entry)
			if err != nil {
				return fmt.Errorf("%w: control batch at offset %d: %w", ErrInvalidRecord, h.BaseOffset, err)
			}
			in.sent = append(in.sent, sent{*h, marker})
		}
		if h.MaxTimestamp > in.maxTime {
			in.maxTime, in.maxTimeOffset = h.MaxTimestamp, in.last
		}
		return nil
	})
	in.bytes = p[:size]
	return in, err
}

func (l *Log) followLocked(in *incoming, c *Config) (Appended, error) {
	if err := l.usable(); err != nil {
		return Appended{}, err
	}
	end := l.LogEndOffset()
	a := Appended{FirstOffset: in.first, LastOffset: in.last, LogAppendTime: noTimestamp, LogStartOffset: l.LogStartOffset()}
	switch {
	case len(in.bytes) == 0:
		a.FirstOffset, a.LastOffset = end, end-1
		return a, nil
	case in.first < end:
		return Appended{}, fmt.Errorf("%w: batches from offset %d on, log end offset is %d", ErrOffsetOutOfRange, in.first, end)
	case int64(len(in.bytes)) > int64(c.SegmentBytes):
		return Appended{}, fmt.Errorf("%w: %d bytes, limit is %d", ErrBatchTooLarge, len(in.bytes), c.SegmentBytes)
	}
	if _, err := headers(in.bytes, func(h *batch.Header, _ []byte) error {
		if h.Magic >= 2 {
			return l.epochs.assign(h.PartitionLeaderEpoch, h.BaseOffset)
		}
		if len(l.epochs.all()) > 0 {
			return l.epochs.clear()
		}
		return nil
	}); err != nil {
		return Appended{}, l.failed(err)
	}
	if err := l.write(in, c); err != nil {
		return Appended{}, err
	}
	return a, nil
}

// An incoming is one write: batches, one behind the other.
type incoming struct {
	bytes       []byte
	first, last int64 // offsets
	// legacy says that the first batch is of magic 0 or 1, and first perhaps not
	// its first offset.
	legacy bool
	// The largest timestamp and the last offset of the first batch that has it.
	maxTime, maxTimeOffset int64

	sent []sent // the batches with a producer ID
}

// A sent is a batch with a producer ID, and what it says if it is a marker.
type sent struct {
	header batch.Header
	marker *endMarker
}

// write appends to the active segment, after a roll if one is due, and makes
// what it wrote known. If that fails the file is cut back, so that nothing of it
// is left, and the log is offline.
func (l *Log) write(in *incoming, c *Config) error {
	s, err := l.rollIfDue(in, c)
	if err != nil {
		return err
	}
	if _, _, err := s.largest(); err != nil {
		return l.failed(err)
	}
	indexed := s.unindexed > int64(c.IndexIntervalBytes)
	if indexed {
		if err := s.prepareEntries(c.SegmentIndexBytes); err != nil {
			return l.failed(err)
		}
	}
	// Aborted transactions are listed before their markers can be read.
	aborts := s.aborts.Load()
	for _, e := range l.applySent(in.sent) {
		if err := s.addAbort(e); err != nil {
			return l.cutBack(s, aborts, err)
		}
	}
	pos := s.size.Load()
	if err := s.log.writeAt(in.bytes, pos); err != nil {
		return l.cutBack(s, aborts, err)
	}
	l.written = true
	if pos == 0 {
		s.firstTime, s.firstRead = in.maxTime, true
	}
	s.sawTime(in.maxTime, in.maxTimeOffset)
	if indexed {
		s.addEntries(in.last, pos)
		s.unindexed = 0
	}
	s.unindexed += int64(len(in.bytes))
	l.recent.add(in.first, pos)
	l.producers.end = in.last + 1
	l.end.store(place{in.last + 1, s, pos + int64(len(in.bytes))})
	l.flushLater(c)
	return nil
}

// applySent takes batches into the producer state and returns the transactions
// that they abort. They lie above the high watermark, so that readers notice
// nothing before they are written.
func (l *Log) applySent(all []sent) (aborted []txnindex.Entry) {
	if len(all) == 0 {
		return nil
	}
	l.state.Lock()
	defer l.state.Unlock()
	for i := range all {
		b := &all[i]
		if b.marker == nil && b.header.Control() {
			continue
		}
		done, stable, ok := l.producers.apply(&b.header, b.marker)
		if ok && b.marker.abort {
			aborted = append(aborted, txnindex.Entry{
				ProducerID: done.producer, FirstOffset: done.first, LastOffset: done.last, LastStableOffset: stable,
			})
		}
	}
	return aborted
}

// addAbort appends to the .txnindex, which comes into being with its first entry.
func (s *segment) addAbort(e txnindex.Entry) error {
	f, err := s.txns.acquireWith(os.O_RDWR | os.O_CREATE)
	if err != nil {
		return err
	}
	defer f.release()
	n := s.aborts.Load()
	if _, err := f.WriteAt(txnindex.AppendEntry(nil, e), n*txnEntry); err != nil {
		return err
	}
	s.aborts.Store(n + 1)
	return nil
}

// cutBack undoes a write that failed, so that the next start finds the log as it
// was, and takes the log offline.
func (l *Log) cutBack(s *segment, aborts int64, why error) error {
	all := []error{why, s.log.truncate(s.size.Load())}
	if s.aborts.Load() > aborts {
		s.aborts.Store(aborts)
		all = append(all, s.txns.truncate(aborts*txnEntry))
	}
	return l.failed(errors.Join(all...))
}
