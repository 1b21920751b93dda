package storage

import (
	"errors"
	"io/fs"
	"slices"
	"time"

	"kf/internal/logdir"
)

// deletedSuffix marks files that are removed after file.delete.delay.ms, or at
// the next start.
const deletedSuffix = "." + string(logdir.StateDeleted)

// removeSegments gives the files of segments that are no longer in the list the
// suffix .deleted, in the order given, and removes them after
// file.delete.delay.ms. Readers that still use them go on. It needs l.mu.
func (l *Log) removeSegments(segments []*segment) error {
	var names []string
	for _, s := range segments {
		for _, f := range s.files() {
			name := f.name() + deletedSuffix
			if err := f.rename(name); err == nil {
				names = append(names, name)
			} else if !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
		i, ok := slices.BinarySearch(l.snapshots, s.base)
		if !ok {
			continue
		}
		l.snapshots = slices.Delete(l.snapshots, i, i+1)
		name := l.path(logdir.KindProducerSnapshot, s.base)
		if err := l.fsys.Rename(name, name+deletedSuffix); err == nil {
			names = append(names, name+deletedSuffix)
		} else if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	l.unsynced.Store(true)
	l.removeLater(segments, names)
	return nil
}

// removeLater removes files after file.delete.delay.ms. A stop before that
// leaves them to the next start. It needs l.mu.
func (l *Log) removeLater(segments []*segment, names []string) {
	if len(names) == 0 {
		return
	}
	var timer *time.Timer
	timer = time.AfterFunc(time.Duration(l.config.Load().FileDeleteDelayMs)*time.Millisecond, func() {
		l.mu.Lock()
		if _, waits := l.removals[timer]; !waits || l.usable() != nil {
			l.mu.Unlock()
			return
		}
		delete(l.removals, timer)
		l.background.Add(1)
		l.mu.Unlock()
		defer l.background.Done()
		for _, s := range segments {
			s.drop()
		}
		for _, name := range names {
			if err := l.fsys.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
				l.failed(err)
				return
			}
		}
	})
	l.removals[timer] = struct{}{}
}
