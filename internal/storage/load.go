package storage

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"kf/internal/format/checkpoint"
	"kf/internal/logdir"
)

// OpenLog opens the log of a directory and recovers it if need be; an empty
// directory becomes an empty log that starts at LogStartOffset. It fails with
// [ErrOffline] if a file operation failed, and with the error of ctx if that
// ends; what was done until then is done, and the next call does the rest.
//
// Source: Kafka 4.4.0, LogLoader.java; what kf does otherwise says so.
func OpenLog(ctx context.Context, o LogOptions) (*Log, error) {
	l := newLog(o)
	ld := &loader{Log: l, o: o, ctx: ctx}
	if err := ld.load(); err != nil {
		for _, s := range l.segments() {
			s.drop()
		}
		if isIO(err) {
			return nil, fmt.Errorf("%w: %w", ErrOffline, err)
		}
		return nil, fmt.Errorf("%s: %w", o.Dir, err)
	}
	return l, nil
}

// A loader opens a log.
type loader struct {
	*Log
	o     LogOptions
	ctx   context.Context
	files map[string]found // of the directory, by name

	fresh  bool // there was no segment
	cut    bool // bytes at an end were taken out, and that was said
	refill bool // the leader epochs are to be read from the batches
}

// A found is a file of the directory.
type found struct {
	logdir.File
	size int64
}

func (ld *loader) load() error {
	if err := ld.list(); err != nil {
		return err
	}
	if err := ld.clearLeftovers(); err != nil {
		return err
	}
	if err := ld.finishSwap(); err != nil {
		return err
	}
	if err := ld.epochs.load(); damagedText(err) {
		n, err := ld.epochs.setAside(err)
		if err != nil {
			return err
		}
		ld.onNotice(n)
		ld.refill = true
	} else if err != nil {
		return err
	}
	if err := ld.collect(); err != nil {
		return err
	}
	ld.logStart.Store(max(0, ld.o.LogStartOffset))
	if list := ld.segments(); len(list) > 0 {
		ld.logStart.Store(max(ld.o.LogStartOffset, list[0].base))
	}
	check := ld.recoverLog
	switch {
	case ld.fresh:
		check = func() error { return nil }
	case ld.o.Clean:
		check = ld.checkLog
	}
	if err := check(); err != nil {
		return err
	}
	ld.compareEnd()
	if err := ld.compareStart(); err != nil {
		return err
	}
	if err := ld.active().countUnindexed(ld.end.load().pos); err != nil {
		return err
	}
	if err := ld.loadEpochs(); err != nil {
		return err
	}
	if err := ld.loadProducers(); err != nil {
		return err
	}
	end := ld.LogEndOffset()
	ld.recovery.Store(end)
	if !ld.o.Clean {
		ld.recovery.Store(min(max(ld.o.RecoveryPoint, 0), end))
	}
	ld.SetHighWatermark(ld.o.HighWatermark)
	return nil
}

// list reads the directory. Directories in it are ignored.
func (ld *loader) list() error {
	entries, err := ld.fsys.ReadDir(ld.dir)
	if err != nil {
		return err
	}
	ld.files = make(map[string]found, len(entries))
	for _, e := range entries {
		if e.IsDir() {
			continue
		}
		info, err := e.Info()
		if err == nil && info.Mode()&fs.ModeSymlink != 0 {
			info, err = ld.fsys.Stat(ld.name(e.Name()))
		}
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		if info.Mode().IsRegular() {
			ld.files[e.Name()] = found{logdir.ParseFileName(e.Name()), info.Size()}
		}
	}
	return nil
}

// sorted returns the files in the order of their names.
func (ld *loader) sorted() []found {
	files := make([]found, 0, len(ld.files))
	for _, name := range slices.Sorted(maps.Keys(ld.files)) {
		files = append(files, ld.files[name])
	}
	return files
}

// remove removes a file of the directory.
func (ld *loader) remove(name string) error {
	if err := ld.fsys.Remove(ld.name(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	delete(ld.files, name)
	return nil
}

// clearLeftovers removes what was deleted already, and what a compaction did not
// finish: its .cleaned files and the .swap files that belong to them.
func (ld *loader) clearLeftovers() error {
	unfinished := int64(-1)
	for _, f := range ld.sorted() {
		switch {
		case f.State == logdir.StateDeleted && f.Kind != logdir.KindMetadataSnapshot:
			if err := ld.remove(f.Name); err != nil {
				return err
			}
		case f.State == logdir.StateCleaned && f.HasBase && (unfinished < 0 || f.BaseOffset < unfinished):
			unfinished = f.BaseOffset
		}
	}
	if unfinished < 0 {
		return nil
	}
	for _, state := range []logdir.State{logdir.StateSwap, logdir.StateCleaned} {
		for _, f := range ld.sorted() {
			if f.State == state && f.HasBase && f.BaseOffset >= unfinished {
				if err := ld.remove(f.Name); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

const swapSuffix = "." + string(logdir.StateSwap)

// finishSwap completes a compaction that was interrupted while its finished
// segments replaced the old ones.
func (ld *loader) finishSwap() error {
	var swaps []found
	from, to, active := int64(-1), int64(-1), int64(-1)
	for _, f := range ld.sorted() {
		if f.State == logdir.StateLive && f.Kind == logdir.KindLog && f.HasBase {
			active = f.BaseOffset
		}
		if f.State != logdir.StateSwap || !f.HasBase {
			continue
		}
		swaps = append(swaps, f)
		if f.Kind != logdir.KindLog {
			continue
		}
		next, err := ld.nextOffset(f)
		if err != nil {
			return err
		}
		if from < 0 || f.BaseOffset < from {
			from = f.BaseOffset
		}
		to = max(to, next)
	}
	if len(swaps) == 0 {
		return nil
	}
	if active > from {
		to = min(to, active) // no compaction replaces the active segment, whatever a damaged batch says
	}
	for _, f := range ld.sorted() {
		if f.State == logdir.StateLive && f.HasBase && f.Kind != logdir.KindMetadataSnapshot && f.BaseOffset >= from && f.BaseOffset < to {
			if err := ld.remove(f.Name); err != nil {
				return err
			}
		}
	}
	for _, f := range swaps {
		name := strings.TrimSuffix(f.Name, swapSuffix)
		if err := ld.fsys.Rename(ld.name(f.Name), ld.name(name)); err != nil {
			return err
		}
		delete(ld.files, f.Name)
		ld.files[name] = found{logdir.ParseFileName(name), f.size}
	}
	return ld.fsys.SyncDir(ld.dir)
}

// nextOffset returns the offset behind the last batch of a .log file.
func (ld *loader) nextOffset(f found) (int64, error) {
	s := &segment{base: f.BaseOffset, log: newFile(ld.Log.files, ld.fsys, ld.name(f.Name))}
	defer s.log.drop()
	next := f.BaseOffset
	_, err := ld.walk(ld.ctx, s, 0, f.size, func(b batchAt) error {
		next = b.header.LastOffset() + 1
		return nil
	})
	return next, err
}

// walk calls each for the entries of a segment from pos on, and returns where the
// last whole one ends. Damage ends it without an error.
func (l *Log) walk(ctx context.Context, s *segment, pos, size int64, each func(b batchAt) error) (int64, error) {
	if size == 0 {
		return 0, nil
	}
	w, err := s.walk(size)
	if err != nil {
		return pos, err
	}
	defer w.done()
	for n := 0; ; n++ {
		if n%1024 == 0 && ctx.Err() != nil {
			return pos, ctx.Err()
		}
		prefix, err := w.Prefix(pos)
		if err == nil {
			var b batchAt
			if b.header, err = w.Header(pos); err == nil {
				b.pos = pos
				if err := each(b); err != nil {
					return pos, err
				}
				pos += prefix.Size()
				continue
			}
		}
		if isIO(err) {
			return pos, err
		}
		return pos, nil
	}
}

// collect makes the list of segments from the names and sizes of the files, and
// removes indexes without a .log.
func (ld *loader) collect() error {
	var list []*segment
	for _, f := range ld.sorted() {
		if f.State != logdir.StateLive {
			continue
		}
		switch f.Kind {
		case logdir.KindLog, logdir.KindIndex, logdir.KindTimeIndex, logdir.KindTxnIndex, logdir.KindProducerSnapshot:
		default:
			continue
		}
		if !f.HasBase {
			ld.notice(Warn, ld.name(f.Name), "has no offset in its name and is left alone; Apache Kafka does not start with it here")
			continue
		}
		if f.Kind == logdir.KindProducerSnapshot {
			ld.snapshots = append(ld.snapshots, f.BaseOffset)
			continue
		}
		if f.Kind != logdir.KindLog {
			if _, ok := ld.files[logdir.FileName(logdir.KindLog, f.BaseOffset)]; !ok {
				ld.notice(Info, ld.name(f.Name), "belongs to no segment: removed")
				if err := ld.remove(f.Name); err != nil {
					return err
				}
			}
			continue
		}
		size := func(kind logdir.Kind) int64 { return ld.files[logdir.FileName(kind, f.BaseOffset)].size }
		list = append(list, ld.openSegment(f.BaseOffset, f.size, size(logdir.KindIndex)/offsetKind.size,
			size(logdir.KindTimeIndex)/timeKind.size, size(logdir.KindTxnIndex)/txnEntry))
	}
	slices.Sort(ld.snapshots)
	slices.SortFunc(list, func(a, b *segment) int { return int(min(1, max(-1, a.base-b.base))) })
	ld.setSegments(list)
	if len(list) > 0 {
		return nil
	}
	ld.fresh = true
	return ld.startAt(max(0, ld.o.LogStartOffset))
}

// startAt makes the log an empty one that starts at offset.
func (l *Log) startAt(offset int64) error {
	s, err := l.newSegment(offset)
	if err != nil {
		return err
	}
	l.setSegments([]*segment{s})
	l.end.store(place{offset, s, 0})
	return nil
}

// lacks reports whether a file of a segment is not there.
func (ld *loader) lacks(s *segment, kind logdir.Kind) bool {
	_, ok := ld.files[logdir.FileName(kind, s.base)]
	return !ok
}

// compareEnd says that records are missing at the end of the log which were on the
// disk once; their offsets are given out again, as in Kafka.
func (ld *loader) compareEnd() {
	if end := ld.LogEndOffset(); ld.o.RecoveryPoint > end && !ld.cut {
		ld.notice(Warn, ld.dir, "the recovery point is %d and the log ends at offset %d: records are missing, or the checkpoint is wrong", ld.o.RecoveryPoint, end)
	}
}

// compareStart begins a log anew that ends below its log start offset: its records
// were deleted by DeleteRecords and its end got lost, or the checkpoint is wrong.
// Kafka deletes the segments; here they are kept aside.
func (ld *loader) compareStart() error {
	start, end := ld.o.LogStartOffset, ld.LogEndOffset()
	if start <= end {
		return nil
	}
	ld.notice(Warn, ld.dir, "log end offset %d is below the log start offset %d: the log begins there, without a record", end, start)
	for _, s := range slices.Backward(ld.segments()) {
		path := s.log.name()
		name, err := ld.keepWhole(s)
		if err != nil {
			return err
		}
		if name != "" {
			ld.notice(Warn, path, "is out of service, and kept as %s", name)
		}
	}
	ld.logStart.Store(start)
	if err := ld.startAt(start); err != nil {
		return err
	}
	return ld.epochs.clear()
}

// loadEpochs makes the leader epochs those of what the log holds.
func (ld *loader) loadEpochs() error {
	if ld.refill {
		entries := []checkpoint.Epoch(nil)
		for _, s := range ld.segments() {
			if _, err := ld.walk(ld.ctx, s, 0, s.size.Load(), func(b batchAt) error {
				if b.header.Magic >= 2 && b.header.PartitionLeaderEpoch >= 0 {
					entries = assigned(entries, checkpoint.Epoch{Epoch: b.header.PartitionLeaderEpoch, StartOffset: b.header.BaseOffset})
				}
				return nil
			}); err != nil {
				return err
			}
		}
		ld.epochs.replace(entries)
		if err := ld.epochs.flush(); err != nil {
			return err
		}
	}
	ld.epochs.cutEnd(ld.LogEndOffset())
	ld.epochs.cutStart(max(0, ld.o.LogStartOffset))
	return nil
}
