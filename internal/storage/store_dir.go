package storage

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"kf/internal/format/checkpoint"
	"kf/internal/format/cleanshutdown"
	"kf/internal/logdir"
	"kf/internal/storage/disk"
)

// A logDir is one entry of log.dirs.
type logDir struct {
	index int
	path  string
	lock  *disk.Lock

	// As load found it.
	clean      bool  // it has the marker of a clean stop
	cleanEpoch int64 // broker epoch in it, -1 if unknown
	current    []TopicPartition
	future     []logdir.PartitionDir
	deleted    []string // names of "-delete" directories
	foreign    []string // names of directories that are no partitions

	resume []TopicPartition // moves to this directory that begin anew

	mu     sync.Mutex
	err    error                                     // why it is offline
	loaded [checkpointKinds]map[TopicPartition]int64 // of partitions that are not open
	last   [checkpointKinds][]byte                   // as last read or written
	files  sync.Mutex                                // held while a checkpoint file is written
}

// A checkpointKind is one of the four files that hold an offset for each
// partition of a log directory.
type checkpointKind int

const (
	recoveryPoints checkpointKind = iota
	logStarts
	highWatermarks
	cleanerOffsets
	checkpointKinds
)

func (k checkpointKind) fileName() string {
	return [...]string{
		logdir.NameRecoveryPoint,
		logdir.NameLogStart,
		logdir.NameReplication,
		logdir.NameCleaner,
	}[k]
}

// lost says what it means that the file of this kind cannot be read.
func (k checkpointKind) lost() string {
	return [...]string{
		"partitions that a kill left are recovered from their first record",
		"records that were deleted by DeleteRecords may come back",
		"high watermarks start from the log start offset",
		"compacted topics are cleaned from their start again",
	}[k]
}

const (
	// textLimit bounds the text files of a log directory: 10,000 partitions
	// with the longest topic names need 3 MB.
	textLimit = 64 << 20
)

// failure returns why the directory is offline, nil if it is not.
func (d *logDir) failure() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.err
}

// fail notes why the directory is offline; it reports whether it was not yet.
func (d *logDir) fail(err error) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.err != nil {
		return false
	}
	d.err = err
	return true
}

// load reads the marker, the checkpoints and the names of the partitions. It
// writes nothing.
func (d *logDir) load(fsys disk.FS, notice func(Notice)) error {
	d.cleanEpoch = -1
	marker, err := disk.ReadFile(fsys, filepath.Join(d.path, logdir.NameCleanShutdown), textLimit)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	default:
		d.clean = true
		// Kafka takes a marker that it cannot read for one without an epoch.
		if m, err := cleanshutdown.Decode(marker); err == nil && m.BrokerEpoch != nil {
			d.cleanEpoch = *m.BrokerEpoch
		}
	}
	for kind := range checkpointKinds {
		if err := d.loadCheckpoint(fsys, kind, notice); err != nil {
			return err
		}
	}
	entries, err := fsys.ReadDir(d.path)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !d.isDir(fsys, e) || e.Name() == logdir.NameRemoteIndexCache {
			continue
		}
		p, err := logdir.ParsePartitionDir(e.Name())
		switch {
		case err != nil:
			d.foreign = append(d.foreign, e.Name())
		case p.Topic == logdir.TopicClusterMetadata:
		case p.Role == logdir.RoleCurrent:
			d.current = append(d.current, TopicPartition{p.Topic, p.Partition})
		case p.Role == logdir.RoleFuture:
			d.future = append(d.future, p)
		case p.Role == logdir.RoleDelete:
			d.deleted = append(d.deleted, e.Name())
		}
	}
	return nil
}

// isDir reports whether an entry is a directory, or a symbolic link to one: some
// spread partitions over disks that way.
func (d *logDir) isDir(fsys disk.FS, e fs.DirEntry) bool {
	if e.Type()&fs.ModeSymlink == 0 {
		return e.IsDir()
	}
	info, err := fsys.Stat(filepath.Join(d.path, e.Name()))
	return err == nil && info.IsDir()
}

func (d *logDir) loadCheckpoint(fsys disk.FS, kind checkpointKind, notice func(Notice)) error {
	d.loaded[kind] = map[TopicPartition]int64{}
	name := filepath.Join(d.path, kind.fileName())
	p, err := disk.ReadFile(fsys, name, textLimit)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	offsets, err := checkpoint.DecodeOffsets(p)
	if err != nil {
		notice(Notice{Warn, name, fmt.Sprintf("%v: its entries are not used: %s", err, kind.lost())})
		return nil
	}
	d.last[kind] = p
	for _, o := range offsets {
		d.loaded[kind][TopicPartition{o.Topic, o.Partition}] = o.Offset
	}
	return nil
}

// begin takes the directory into use: the marker goes before anything else is
// written, so that a kill from here on counts as one. A checkpoint that cannot
// be read is set aside before it is written anew, a missing one is made.
func (d *logDir) begin(fsys disk.FS) error {
	if d.clean {
		if err := fsys.Remove(filepath.Join(d.path, logdir.NameCleanShutdown)); err != nil {
			return err
		}
		if err := fsys.SyncDir(d.path); err != nil {
			return err
		}
	}
	for kind := range checkpointKinds {
		if d.last[kind] != nil {
			continue
		}
		name := filepath.Join(d.path, kind.fileName())
		switch info, err := fsys.Stat(name); {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return err
		case info.Size() == 0:
			continue
		default:
			if err := fsys.Rename(name, name+logdir.KeptSuffix); err != nil {
				return err
			}
		}
		f, err := fsys.OpenFile(name, os.O_CREATE|os.O_WRONLY, 0o644)
		if err != nil {
			return err
		}
		if err := f.Close(); err != nil {
			return err
		}
	}
	return nil
}

// end writes the marker of a clean stop.
func (d *logDir) end(fsys disk.FS, brokerEpoch int64) (err error) {
	f, err := fsys.OpenFile(filepath.Join(d.path, logdir.NameCleanShutdown), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if _, err := f.WriteAt(cleanshutdown.Append(nil, cleanshutdown.Marker{BrokerEpoch: &brokerEpoch}), 0); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	return fsys.SyncDir(d.path)
}

// at returns the offset that the checkpoint of a kind has for a partition which
// is not open, 0 if there is none.
func (d *logDir) at(kind checkpointKind, tp TopicPartition) (offset int64, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	offset, ok = d.loaded[kind][tp]
	return offset, ok
}

// set notes an offset that no open log holds.
func (d *logDir) set(kind checkpointKind, tp TopicPartition, offset int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.loaded[kind][tp] = offset
}

// forget removes a partition from what was loaded; it reports whether a file
// speaks of it.
func (d *logDir) forget(tp TopicPartition) (mentioned bool) {
	d.mu.Lock()
	for kind := range checkpointKinds {
		delete(d.loaded[kind], tp)
	}
	d.mu.Unlock()
	d.files.Lock()
	defer d.files.Unlock()
	line := fmt.Appendf(nil, "\n%s %d ", tp.Topic, tp.Partition)
	return slices.ContainsFunc(d.last[:], func(p []byte) bool { return bytes.Contains(p, line) })
}
