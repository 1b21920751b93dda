package storage

import (
	"fmt"
	"path/filepath"

	"kf/internal/logdir"
)

// finishMoves settles what a kill in the middle of a move between log
// directories left.
func (s *Store) finishMoves() {
	for _, r := range s.twice {
		if r.dir.failure() != nil {
			continue
		}
		s.o.Notice(Notice{Warn, r.path(), "another log directory has more of this partition: becomes a stray"})
		if err := s.rename(r, logdir.RoleStray); err != nil {
			s.fail(r.dir, err)
		}
	}
	s.twice = nil
	for _, d := range s.dirs {
		for _, p := range d.future {
			if d.failure() != nil {
				break
			}
			if err := s.finishMove(d, p); err != nil {
				s.fail(d, err)
			}
		}
		d.future = nil
	}
}

// finishMove settles a "-future" directory: the copy begins anew from the
// current one; if there is none, because its disk is gone, the copy is what is
// left of the partition and takes its place.
func (s *Store) finishMove(d *logDir, p logdir.PartitionDir) error {
	tp := TopicPartition{p.Topic, p.Partition}
	path := filepath.Join(d.path, p.Name())
	s.mu.Lock()
	current := s.replicas[tp]
	s.mu.Unlock()
	if current != nil {
		p.Role = logdir.RoleDelete
		if err := s.o.FS.Rename(path, filepath.Join(d.path, p.Name())); err != nil {
			return err
		}
		s.removeLater(d, p.Name())
		s.o.Notice(Notice{Info, path, "copy for a move was unfinished: the move begins anew"})
		d.resume = append(d.resume, tp)
		return nil
	}
	if len(s.Offline()) > 0 {
		// The current one may be on the disk that is not there today.
		s.o.Notice(Notice{Warn, path, "copy for a move waits for the log directory that is offline"})
		return nil
	}
	s.o.Notice(Notice{Warn, path, fmt.Sprintf("no other log directory has %v: the copy takes its place", tp)})
	r := &replica{tp: tp, dir: d, clean: d.clean}
	if err := s.o.FS.Rename(path, r.path()); err != nil {
		return err
	}
	s.mu.Lock()
	s.replicas[tp] = r
	s.mu.Unlock()
	return s.o.FS.SyncDir(d.path)
}
