package storage

import (
	"errors"
	"fmt"
	"io"
	"io/fs"

	"kf/internal/format/txnindex"
	"kf/internal/logdir"
)

// checkAborts looks at the .txnindex of segments that are not recovered and makes
// those anew that are damaged: with an abort that is not found, readers of committed
// records get those of the aborted transaction. Kafka rebuilds one with a last
// offset that is too low, does not start with another version, and ignores the rest.
func (ld *loader) checkAborts(list []*segment) error {
	for _, s := range list {
		size := ld.files[logdir.FileName(logdir.KindTxnIndex, s.base)].size
		if size == 0 {
			continue
		}
		why, err := s.damagedAborts(size)
		if err != nil {
			return err
		}
		if why == nil {
			continue
		}
		ld.notice(Warn, s.txns.name(), "%v: rebuilt from the batches", why)
		if err := ld.rebuildAborts(s); err != nil {
			return err
		}
	}
	return nil
}

// damagedAborts says what is wrong with a .txnindex of that many bytes.
func (s *segment) damagedAborts(size int64) (why, err error) {
	f, err := s.txns.acquire()
	if err != nil {
		return nil, err
	}
	defer f.release()
	for _, err := range txnindex.Scan(io.NewSectionReader(f, 0, size), s.base) {
		if isIO(err) {
			return nil, err
		}
		if err != nil {
			return err, nil
		}
	}
	return nil, nil
}

// rebuildAborts makes the .txnindex of a segment anew from its control batches.
func (ld *loader) rebuildAborts(s *segment) error {
	if err := ld.rebuildProducers(ld.ctx, s.base); err != nil {
		return err
	}
	if err := ld.fsys.Remove(s.txns.name()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	s.txns.drop()
	s.aborts.Store(0)
	ld.written = true
	_, err := ld.walk(ld.ctx, s, 0, s.size.Load(), func(b batchAt) error {
		if b.header.Magic < 2 {
			return nil
		}
		return ld.replayBatch(s, &b.header, func() ([]byte, error) { return s.readEntry(b.pos, &b.header, ld.maxRead()) }, true)
	})
	if err != nil {
		return fmt.Errorf("%s: %w", s.txns.name(), err)
	}
	return nil
}
