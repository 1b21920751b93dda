package storage

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"time"

	"kf/internal/format/prodsnapshot"
	"kf/internal/logdir"
	"kf/internal/storage/disk"
)

// snapshotLimit bounds a producer snapshot: five million producers.
const snapshotLimit = 256 << 20

// dropSnapshots removes the producer snapshots for which gone says so.
func (l *Log) dropSnapshots(gone func(offset int64) bool) error {
	var kept []int64
	for _, offset := range l.snapshots {
		if !gone(offset) {
			kept = append(kept, offset)
			continue
		}
		if err := l.fsys.Remove(l.path(logdir.KindProducerSnapshot, offset)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	l.snapshots = kept
	return nil
}

// dropStraySnapshots removes the snapshots that are not at the base offset of a
// segment, but for the newest one if it is above them all.
func (l *Log) dropStraySnapshots() error {
	list := l.segments()
	newest := int64(-1)
	for _, offset := range l.snapshots {
		if offset > list[len(list)-1].base {
			newest = offset
		}
	}
	return l.dropSnapshots(func(offset int64) bool {
		i := floor(list, offset)
		return offset != newest && (i < 0 || list[i].base != offset)
	})
}

// rebuildProducers makes the producer state that at offset, from the newest snapshot
// that can be read and the batches behind it.
func (l *Log) rebuildProducers(ctx context.Context, offset int64) error {
	start := l.logStart.Load()
	if err := l.dropSnapshots(func(o int64) bool { return o > offset || o <= start }); err != nil {
		return err
	}
	l.producers.reset(start)
	for len(l.snapshots) > 0 {
		newest := l.snapshots[len(l.snapshots)-1]
		name := l.path(logdir.KindProducerSnapshot, newest)
		p, err := disk.ReadFile(l.fsys, name, snapshotLimit)
		if err != nil && isIO(err) {
			return err
		}
		var snapshot prodsnapshot.Snapshot
		if err == nil {
			snapshot, err = prodsnapshot.Decode(p)
		}
		if err == nil {
			l.producers.load(snapshot.Entries, time.Now(), l.config.Load().ProducerExpirationMs)
			l.producers.end = newest
			break
		}
		l.notice(Warn, name, "%v: removed, and the producer state rebuilt from an older one and the batches", err)
		if err := l.dropSnapshots(func(o int64) bool { return o == newest }); err != nil {
			return err
		}
	}
	if l.producers.end < offset {
		if err := l.replay(ctx, l.producers.end, offset); err != nil {
			return err
		}
	}
	l.producers.end = offset
	return nil
}

// loadProducers makes the producer state that at the log end, and writes a
// snapshot of it if there is none. Kafka takes it for empty if there is no
// snapshot after a clean stop.
func (ld *loader) loadProducers() error {
	if err := ld.dropStraySnapshots(); err != nil {
		return err
	}
	end := ld.LogEndOffset()
	if !ld.o.Clean && ld.producers.end == end {
		start := ld.logStart.Load()
		if err := ld.dropSnapshots(func(o int64) bool { return o > end || o <= start }); err != nil {
			return err
		}
	} else if err := ld.rebuildProducers(ld.ctx, end); err != nil {
		return err
	}
	_, err := ld.snapshot(false)
	return err
}

// replay takes the batches with the offsets from from on, below to, into the
// producer state, and writes snapshots at the base offsets of the last two
// segments that it comes by.
func (l *Log) replay(ctx context.Context, from, to int64) error {
	list := l.segments()
	for i := max(0, floor(list, from)); i < len(list) && list[i].base < to; i++ {
		s := list[i]
		if i >= len(list)-2 && s.base > from {
			l.producers.end = s.base
			if _, err := l.snapshot(false); err != nil {
				return err
			}
		}
		size := s.size.Load()
		b, err := l.find(s, from, size)
		if err == io.EOF || errors.Is(err, ErrCorrupt) {
			continue
		}
		if err != nil {
			return err
		}
		if _, err := l.walk(ctx, s, b.pos, size, func(b batchAt) error {
			if b.header.Magic < 2 || b.header.BaseOffset >= to {
				return nil
			}
			return l.replayBatch(s, &b.header, func() ([]byte, error) { return s.readEntry(b.pos, &b.header, l.maxRead()) }, false)
		}); err != nil {
			return err
		}
	}
	return nil
}
