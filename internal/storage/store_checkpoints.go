package storage

import (
	"bytes"
	"path/filepath"

	"kf/internal/format/checkpoint"
	"kf/internal/storage/disk"
)

// checkpoint writes the files of some kinds in all directories. A directory
// where that fails goes offline.
func (s *Store) checkpoint(kinds ...checkpointKind) {
	for _, d := range s.dirs {
		if d.failure() != nil {
			continue
		}
		if err := s.writeCheckpoints(d, kinds...); err != nil {
			s.fail(d, err)
		}
	}
}

// writeCheckpoints writes the files of some kinds in one directory; one whose
// content would be the same is left as it is.
func (s *Store) writeCheckpoints(d *logDir, kinds ...checkpointKind) error {
	// Two writers in turn: else an older state could replace a newer one.
	d.files.Lock()
	defer d.files.Unlock()
	replicas := s.list(d)
	for _, kind := range kinds {
		var entries []checkpoint.Offset
		for _, r := range replicas {
			if offset, ok := r.checkpointed(kind); ok {
				entries = append(entries, checkpoint.Offset{Topic: r.tp.Topic, Partition: r.tp.Partition, Offset: offset})
			}
		}
		p := checkpoint.AppendOffsets(nil, entries)
		if bytes.Equal(p, d.last[kind]) {
			continue
		}
		if err := disk.Replace(s.o.FS, filepath.Join(d.path, kind.fileName()), p); err != nil {
			return err
		}
		d.last[kind] = p
	}
	return nil
}

// checkpointed returns what the file of a kind says of the partition, and
// whether it says anything.
func (r *replica) checkpointed(kind checkpointKind) (offset int64, ok bool) {
	l := r.log.Load()
	switch {
	case kind == cleanerOffsets:
		return r.dir.at(kind, r.tp)
	case l == nil && kind == logStarts:
		return r.dir.at(kind, r.tp)
	case l == nil:
		offset, _ = r.dir.at(kind, r.tp)
		return offset, true
	case kind == logStarts:
		// As in Kafka: only where it does not follow from the first segment.
		return l.LogStartOffset(), l.LogStartOffset() > l.firstBase()
	case kind == recoveryPoints:
		return l.RecoveryPoint(), true
	default:
		return l.HighWatermark(), true
	}
}
