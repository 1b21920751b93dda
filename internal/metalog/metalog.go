// Package metalog keeps the metadata log of a cluster, __cluster_metadata-0, as
// the leader of a quorum with one voter does: opened at the newest snapshot,
// appended to, snapshotted, trimmed. The files are those of Kafka, which opens
// the directory afterwards, as this package opens one of Kafka's:
//
//	<base>.log  .index  .timeindex      segments; the indexes of the last one are full-size
//	<offset>.snapshot                   always of an empty producer state
//	<offset>-<epoch>.checkpoint         the cluster below offset; 0-0 has the bootstrap records
//	leader-epoch-checkpoint  quorum-state  partition.metadata
//
// A batch is CreateTime without compression, its records have one timestamp, no
// key and no headers. Each leader begins with a control batch that names it.
//
// This is a log of its own, not one of package storage: it is read only from the
// newest snapshot on, every append waits for the disk, snapshots take the place
// of retention, and damage is answered differently. Kafka cuts the log silently
// at the first bad checksum, and a cluster that lost the end of its metadata
// renames the partitions that it no longer knows to -stray. Here a torn end,
// behind which nothing sound follows, is cut and kept aside; bad bytes in front
// of sound ones refuse the start.
//
// Source: Kafka 4.4.0, KafkaMetadataLog, KafkaRaftClient and package
// org.apache.kafka.snapshot.
package metalog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"kf/internal/format/checkpoint"
	"kf/internal/format/kraftrec"
	"kf/internal/image"
	"kf/internal/logdir"
	"kf/internal/storage"
	"kf/internal/storage/disk"
	"kf/internal/wire"
)

// Defaults of [Options].
const (
	DefaultSegmentBytes   = 1 << 30
	DefaultSegmentMs      = 7 * 24 * 60 * 60 * 1000
	DefaultSnapshotBytes  = 20 << 20
	DefaultSnapshotMs     = 60 * 60 * 1000
	DefaultRetentionBytes = 100 << 20
	DefaultRetentionMs    = 7 * 24 * 60 * 60 * 1000
)

// Options say where a metadata log is and how it is kept. Sizes and times that
// are 0 take the default.
type Options struct {
	FS          disk.FS
	Dir         string   // the log directory that has, or gets, __cluster_metadata-0; it exists
	LogDirs     []string // the other log directories of the node
	NodeID      int32
	DirectoryID wire.UUID // of Dir
	Notice      func(storage.Notice)

	// Bootstrap returns the records of a new cluster. It is called if the
	// directory holds none.
	Bootstrap func() []image.Record

	SegmentBytes   int64
	SegmentMs      int64
	SnapshotBytes  int64 // new records after which a snapshot is due
	SnapshotMs     int64 // the same in time
	RetentionBytes int64 // of segments and snapshots
	RetentionMs    int64 // of snapshots but the newest
}

func (o *Options) setDefaults() {
	for _, d := range []struct {
		to    *int64
		value int64
	}{
		{&o.SegmentBytes, DefaultSegmentBytes},
		{&o.SegmentMs, DefaultSegmentMs},
		{&o.SnapshotBytes, DefaultSnapshotBytes},
		{&o.SnapshotMs, DefaultSnapshotMs},
		{&o.RetentionBytes, DefaultRetentionBytes},
		{&o.RetentionMs, DefaultRetentionMs},
	} {
		if *d.to == 0 {
			*d.to = d.value
		}
	}
	if o.Notice == nil {
		o.Notice = func(storage.Notice) {}
	}
}

// A Log is an open metadata log. Append is for one goroutine at a time; Snapshot
// may be called beside it.
type Log struct {
	o   Options
	dir string

	bootstrap []image.Record // to be copied into the log; nil if it has data
	quorum    quorum
	epochs    []checkpoint.Epoch

	mu        sync.Mutex
	segments  []segment // by base offset; the last one is active
	snapshots []kraftrec.SnapshotID
	broken    error // why nothing can be appended any more

	active    active
	end       int64 // offset of the next record
	fresh     int64 // bytes of records behind the newest snapshot
	freshFrom time.Time
}

// A segment is a .log file.
type segment struct {
	base int64
	size int64
}

// Dir returns the directory of the metadata log below a log directory.
func Dir(logDir string) string {
	return filepath.Join(logDir, logdir.PartitionDir{Topic: logdir.TopicClusterMetadata, Role: logdir.RoleCurrent}.Name())
}

// Open opens the log, makes it if there is none, replays it from the newest
// snapshot on, and becomes its leader in a new epoch. The builder that it
// returns stands at the end of the log; a metadata transaction may be open.
func Open(ctx context.Context, o Options) (*Log, *image.Builder, error) {
	o.setDefaults()
	l := &Log{o: o, dir: Dir(o.Dir)}
	b, err := l.open(ctx)
	if err != nil {
		return nil, nil, errors.Join(err, l.active.close())
	}
	return l, b, nil
}

func (l *Log) open(ctx context.Context) (*image.Builder, error) {
	if err := l.makeDir(); err != nil {
		return nil, err
	}
	entries, err := l.o.FS.ReadDir(l.dir)
	if err != nil {
		return nil, err
	}
	if err := l.list(entries); err != nil {
		return nil, err
	}
	if err := l.quorum.read(l); err != nil {
		return nil, err
	}
	if err := l.readEpochs(); err != nil {
		return nil, err
	}
	r := &replay{log: l, ctx: ctx, builder: image.NewBuilder(image.Empty())}
	if err := r.run(); err != nil {
		return nil, err
	}
	if !r.data {
		if err := l.checkNew(); err != nil {
			return nil, err
		}
		if err := l.findBootstrap(); err != nil {
			return nil, err
		}
	}
	if owner, ok := r.builder.DirectoryOwner(l.o.DirectoryID); ok && owner != l.o.NodeID {
		return nil, fmt.Errorf("%s: %w: the cluster has it as a directory of node %d, and this is node %d: correct node.id in %s",
			l.o.Dir, ErrIdentity, owner, l.o.NodeID, logdir.NameMetaProperties)
	}
	if err := l.clear(entries); err != nil {
		return nil, err
	}
	if err := l.lead(r.builder); err != nil {
		return nil, err
	}
	return r.builder, nil
}

// Bootstrap returns the records that the controller of a new cluster has to
// append before anything else, nil if the log has records.
func (l *Log) Bootstrap() []image.Record { return l.bootstrap }

// Epoch returns the leader epoch.
func (l *Log) Epoch() int32 { return l.quorum.epoch }

// VoterDirectory returns the directory id of this node in the set of voters: zero
// with kraft.version 0, where voters have none.
func (l *Log) VoterDirectory() wire.UUID {
	if l.quorum.version == 0 {
		return wire.UUID{}
	}
	return l.o.DirectoryID
}

// Close ends the use of the log. No other method may run or be called again.
func (l *Log) Close() error {
	err := l.broken
	if err == nil {
		l.broken = storage.ErrClosed
		err = errors.Join(l.active.log.Sync(), l.writeProducerSnapshot(l.end))
	}
	return errors.Join(err, l.active.close())
}

func (l *Log) path(name string) string { return filepath.Join(l.dir, name) }

func (l *Log) notice(level storage.Level, path, format string, args ...any) {
	l.o.Notice(storage.Notice{Level: level, Path: path, Message: fmt.Sprintf(format, args...)})
}

// makeDir makes the directory with its partition.metadata.
func (l *Log) makeDir() error {
	switch err := l.o.FS.Mkdir(l.dir, 0o755); {
	case err == nil:
		if err := l.o.FS.SyncDir(l.o.Dir); err != nil {
			return err
		}
	case !errors.Is(err, os.ErrExist):
		return err
	}
	return l.writePartitionMetadata()
}

// ErrLost says that the records of a cluster are gone.
var ErrLost = errors.New("the metadata log has no records")

// checkNew refuses to make a new cluster where there are partitions: it would not
// know them. Kafka renames them to -stray.
func (l *Log) checkNew() error {
	for _, dir := range append([]string{l.o.Dir}, l.o.LogDirs...) {
		entries, err := l.o.FS.ReadDir(dir)
		if err != nil {
			if dir != l.o.Dir {
				continue // a log directory that is offline
			}
			return err
		}
		for _, e := range entries {
			p, err := logdir.ParsePartitionDir(e.Name())
			if err != nil || e.Type().IsRegular() || p.Role != logdir.RoleCurrent || p.Topic == logdir.TopicClusterMetadata {
				continue
			}
			return fmt.Errorf("%s: %w, but there are partitions such as %s, which a new cluster would not know: restore the log from a copy, or start in an empty directory", l.dir, ErrLost, filepath.Join(dir, e.Name()))
		}
	}
	return nil
}

// list finds segments and snapshots.
func (l *Log) list(entries []fs.DirEntry) error {
	for _, e := range entries {
		f := logdir.ParseFileName(e.Name())
		switch {
		case f.State != logdir.StateLive:
		case f.Kind == logdir.KindMetadataSnapshot:
			id := kraftrec.SnapshotID{Offset: f.BaseOffset, Epoch: f.Epoch}
			if !f.HasBase || id.String() != e.Name() {
				l.notice(storage.Warn, l.path(e.Name()), "is not the name of a metadata snapshot; kf ignores the file, Kafka may not start with it")
				continue
			}
			l.snapshots = append(l.snapshots, id)
		case f.Kind == logdir.KindLog && f.HasBase:
			info, err := e.Info()
			if err != nil {
				return err
			}
			l.segments = append(l.segments, segment{f.BaseOffset, info.Size()})
		}
	}
	slices.SortFunc(l.segments, func(a, b segment) int { return cmp.Compare(a.base, b.base) })
	slices.SortFunc(l.snapshots, compareSnapshots)
	return nil
}

// clear removes what a stop left behind: deleted and unfinished files, and the
// producer snapshots that belong to no segment, those of former ends of the log.
func (l *Log) clear(entries []fs.DirEntry) error {
	for _, e := range entries {
		f := logdir.ParseFileName(e.Name())
		switch {
		case f.State == logdir.StateDeleted, f.Kind == logdir.KindMetadataSnapshot && f.State == logdir.StatePart:
		case f.Kind == logdir.KindProducerSnapshot && f.HasBase && f.State == logdir.StateLive &&
			!slices.ContainsFunc(l.segments, func(s segment) bool { return s.base == f.BaseOffset }):
		default:
			continue
		}
		if err := l.o.FS.Remove(l.path(e.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

func compareSnapshots(a, b kraftrec.SnapshotID) int {
	switch {
	case a.Less(b):
		return -1
	case b.Less(a):
		return 1
	}
	return 0
}
