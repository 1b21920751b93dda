package storage

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"kf/internal/format/partmeta"
	"kf/internal/logdir"
	"kf/internal/storage/disk"
	"kf/internal/wire"
)

// A Replica is a partition that the store has, open or not.
type Replica struct {
	TP  TopicPartition
	Dir int // index of its log directory
}

// Replicas returns what the store has, without opening anything.
func (s *Store) Replicas() []Replica {
	s.mu.Lock()
	defer s.mu.Unlock()
	rs := make([]Replica, 0, len(s.replicas))
	for tp, r := range s.replicas {
		rs = append(rs, Replica{tp, r.dir.index})
	}
	return rs
}

func (r *replica) path() string { return filepath.Join(r.dir.path, r.tp.String()) }

// index makes the replicas of what the directories list.
func (s *Store) index() error {
	for _, d := range s.dirs {
		for _, tp := range d.current {
			r := &replica{tp: tp, dir: d, clean: d.clean}
			other, twice := s.replicas[tp]
			if !twice {
				s.replicas[tp] = r
				continue
			}
			keep, extra, err := s.newer(other, r)
			if err != nil {
				return err
			}
			s.replicas[tp] = keep
			s.twice = append(s.twice, extra)
		}
	}
	return nil
}

// newer says which of two directories of the same partition has more of it. A
// move that was killed between its two renames leaves them; Kafka does not
// start then.
func (s *Store) newer(a, b *replica) (keep, extra *replica, err error) {
	ids := [2][]byte{}
	files := [2]segmentFiles{}
	for i, r := range []*replica{a, b} {
		if ids[i], err = disk.ReadFile(s.o.FS, filepath.Join(r.path(), logdir.NamePartitionMetadata), textLimit); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, nil, err
		}
		if files[i], err = s.segments(r); err != nil {
			return nil, nil, err
		}
	}
	if !bytes.Equal(ids[0], ids[1]) {
		return nil, nil, fmt.Errorf("%s and %s hold the same partition of two topics: move one of them out of the log directories", a.path(), b.path())
	}
	if files[1].size > files[0].size {
		return b, a, nil
	}
	return a, b, nil
}

// segmentFiles is what the names, sizes and times of the segment files of a
// partition say.
type segmentFiles struct {
	n      int
	size   int64 // bytes
	oldest time.Time
	// Base offsets of the first and the last one.
	firstBase, lastBase int64
}

// segments looks at the segment files of a partition without opening any.
func (s *Store) segments(r *replica) (f segmentFiles, err error) {
	entries, err := s.o.FS.ReadDir(r.path())
	if err != nil {
		return f, err
	}
	for _, e := range entries { // sorted by name, which is the order of offsets
		name := logdir.ParseFileName(e.Name())
		if name.Kind != logdir.KindLog || name.State != logdir.StateLive {
			continue
		}
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return f, err
		}
		if f.n++; f.n == 1 {
			f.oldest, f.firstBase = info.ModTime(), name.BaseOffset
		}
		f.size += info.Size()
		f.lastBase = name.BaseOffset
	}
	return f, nil
}

func (s *Store) find(tp TopicPartition) (*replica, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch r := s.replicas[tp]; {
	case s.closed:
		return nil, ErrClosed
	case r == nil:
		return nil, fmt.Errorf("%v: %w", tp, ErrNoReplica)
	default:
		return r, nil
	}
}

// Open opens the log of a partition that is there: the first time it recovers
// it if need be and compares its topic id; then it returns the same log. It
// fails with ErrNoReplica, ErrTopicID, ErrOffline, or with what is wrong with
// the directory.
func (s *Store) Open(ctx context.Context, tp TopicPartition, id wire.UUID) (*Log, error) {
	for {
		r, err := s.find(tp)
		if err != nil {
			return nil, err
		}
		l, err := s.open(ctx, r, id)
		if errors.Is(err, ErrNoReplica) {
			continue // it was moved to another log directory, or deleted
		}
		return l, err
	}
}

// Get returns the log of a partition if it is open, else nil.
func (s *Store) Get(tp TopicPartition) *Log {
	if r, err := s.find(tp); err == nil {
		return r.log.Load()
	}
	return nil
}

// Empty reports whether a partition that is not open has no records, by a look
// at the names and sizes in its directory. End is its log end offset then. It is
// not known of a partition that a clean stop did not leave.
func (s *Store) Empty(tp TopicPartition) (end int64, ok bool) {
	r, err := s.find(tp)
	if err != nil {
		return 0, false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.gone || !r.clean || r.log.Load() != nil {
		return 0, false
	}
	f, err := s.segments(r)
	if err != nil || f.n != 1 || f.size > 0 {
		return 0, false
	}
	return f.lastBase, true
}

// Size returns the bytes of the segments of a partition, without opening it.
func (s *Store) Size(tp TopicPartition) (int64, error) {
	r, err := s.find(tp)
	if err != nil {
		return 0, err
	}
	if l := r.log.Load(); l != nil {
		return l.Size(), nil
	}
	f, err := s.segments(r)
	return f.size, err
}

// open opens a log; with the zero id, for a recovery, it compares nothing.
func (s *Store) open(ctx context.Context, r *replica, id wire.UUID) (*Log, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.gone {
		return nil, fmt.Errorf("%v: %w", r.tp, ErrNoReplica)
	}
	if err := r.dir.failure(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrOffline, err)
	}
	if r.id.IsZero() {
		if err := s.identify(r, id); err != nil {
			return nil, s.failed(r.dir, err)
		}
	}
	if !id.IsZero() && id != r.id {
		return nil, fmt.Errorf("%s: %w: topic id %v, want %v", r.path(), ErrTopicID, r.id, id)
	}
	if l := r.log.Load(); l != nil {
		return l, nil
	}
	l, err := OpenLog(ctx, s.logOptions(r))
	if err != nil {
		return nil, s.failed(r.dir, err)
	}
	r.log.Store(l)
	return l, nil
}

func (s *Store) logOptions(r *replica) LogOptions {
	o := LogOptions{FS: s.o.FS, Dir: r.path(), Config: s.o.LogConfig(r.tp.Topic), Notice: s.o.Notice, Clean: r.clean,
		Failed: func(err error) { go s.fail(r.dir, err) }} // go: the log holds its locks
	o.RecoveryPoint, _ = r.dir.at(recoveryPoints, r.tp)
	o.LogStartOffset, _ = r.dir.at(logStarts, r.tp)
	o.HighWatermark, _ = r.dir.at(highWatermarks, r.tp)
	return o
}

// failed takes the directory offline if err says that its disk failed.
func (s *Store) failed(d *logDir, err error) error {
	if errors.Is(err, ErrOffline) {
		s.fail(d, err)
	}
	return err
}

// identify reads the topic id of a partition directory. One without a readable
// id is given the id that the cluster has for it, where Kafka would rename the
// directory to "-stray" and serve a new, empty partition in its place.
func (s *Store) identify(r *replica, id wire.UUID) error {
	name := filepath.Join(r.path(), logdir.NamePartitionMetadata)
	p, err := disk.ReadFile(s.o.FS, name, textLimit)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %w", ErrOffline, err)
	}
	missing := err != nil
	if !missing {
		m, err := partmeta.Decode(p)
		if err == nil {
			r.id = m.TopicID
			return nil
		}
		if id.IsZero() {
			return nil
		}
		s.o.Notice(Notice{Warn, name, fmt.Sprintf("%v: set aside and written anew with the topic id of the cluster, %v", err, id)})
		if err := s.o.FS.Rename(name, name+logdir.KeptSuffix); err != nil {
			return fmt.Errorf("%w: %w", ErrOffline, err)
		}
	}
	if id.IsZero() {
		return nil
	}
	if missing {
		// A kill while the partition was made leaves an empty directory.
		files, err := s.segments(r)
		if err != nil {
			return fmt.Errorf("%w: %w", ErrOffline, err)
		}
		if files.size > 0 {
			s.o.Notice(Notice{Warn, name, fmt.Sprintf("is missing: written anew with the topic id of the cluster, %v", id)})
		}
	}
	if err := s.writeID(r, id); err != nil {
		return fmt.Errorf("%w: %w", ErrOffline, err)
	}
	r.id = id
	return nil
}

func (s *Store) writeID(r *replica, id wire.UUID) error {
	return disk.Replace(s.o.FS, filepath.Join(r.path(), logdir.NamePartitionMetadata), partmeta.Append(nil, partmeta.Metadata{TopicID: id}))
}

// Create makes the directory of a partition that is in none, in the log
// directory of that index or, if it is negative, in the one with the fewest
// partitions, and opens its log.
func (s *Store) Create(ctx context.Context, tp TopicPartition, id wire.UUID, dir int) (*Log, error) {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil, ErrClosed
	}
	if _, exists := s.replicas[tp]; exists {
		s.mu.Unlock()
		return nil, fmt.Errorf("%v: %w", tp, ErrExists)
	}
	d, err := s.choose(dir)
	if err != nil {
		s.mu.Unlock()
		return nil, err
	}
	r := &replica{tp: tp, dir: d, id: id, clean: true}
	r.mu.Lock()
	defer r.mu.Unlock()
	s.replicas[tp] = r
	s.mu.Unlock()
	l, err := s.create(ctx, r)
	if err != nil {
		r.gone = true
		s.mu.Lock()
		delete(s.replicas, tp)
		s.mu.Unlock()
		return nil, s.failed(d, err)
	}
	r.log.Store(l)
	return l, nil
}

func (s *Store) create(ctx context.Context, r *replica) (*Log, error) {
	// What the checkpoints say of an earlier partition of this name must not
	// meet the new one after a kill: a log start offset above the log end
	// would empty it.
	if r.dir.forget(r.tp) {
		if err := s.writeCheckpoints(r.dir, recoveryPoints, logStarts, highWatermarks, cleanerOffsets); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrOffline, err)
		}
	}
	if err := s.o.FS.Mkdir(r.path(), 0o755); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrOffline, err)
	}
	if err := s.writeID(r, r.id); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrOffline, err)
	}
	l, err := OpenLog(ctx, s.logOptions(r))
	if err != nil {
		return nil, err
	}
	if err := s.o.FS.SyncDir(r.dir.path); err != nil {
		l.Abandon(err)
		return nil, fmt.Errorf("%w: %w", ErrOffline, err)
	}
	return l, nil
}

// choose returns the log directory of an index, or the online one with the
// fewest partitions. s.mu is held.
func (s *Store) choose(dir int) (*logDir, error) {
	if dir >= 0 {
		if err := s.dirs[dir].failure(); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrOffline, err)
		}
		return s.dirs[dir], nil
	}
	count := make([]int, len(s.dirs))
	for _, r := range s.replicas {
		count[r.dir.index]++
	}
	var best *logDir
	for _, d := range s.dirs {
		if d.failure() == nil && (best == nil || count[d.index] < count[best.index]) {
			best = d
		}
	}
	if best == nil {
		return nil, fmt.Errorf("%w: all of them", ErrOffline)
	}
	return best, nil
}

// Delete takes a partition out of service: its directory becomes "-delete" at
// once and is removed after file.delete.delay.ms.
func (s *Store) Delete(tp TopicPartition) error { return s.retire(tp, logdir.RoleDelete) }

// Stray takes a partition out of service that the cluster does not know: its
// directory becomes "-stray" and is kept.
func (s *Store) Stray(tp TopicPartition) error { return s.retire(tp, logdir.RoleStray) }

func (s *Store) retire(tp TopicPartition, role logdir.Role) error {
	r, err := s.find(tp)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.gone {
		return fmt.Errorf("%v: %w", tp, ErrNoReplica)
	}
	r.gone = true
	if l := r.log.Load(); l != nil {
		l.Abandon(fmt.Errorf("%v: %w", tp, ErrClosed))
	}
	s.mu.Lock()
	delete(s.replicas, tp)
	s.mu.Unlock()
	if err := r.dir.failure(); err != nil {
		return fmt.Errorf("%w: %w", ErrOffline, err)
	}
	if err := s.rename(r, role); err != nil {
		err = fmt.Errorf("%w: %w", ErrOffline, err)
		s.fail(r.dir, err)
		return err
	}
	return nil
}

// rename gives a partition directory another role.
func (s *Store) rename(r *replica, role logdir.Role) error {
	name := logdir.PartitionDir{Topic: r.tp.Topic, Partition: r.tp.Partition, Role: role, ID: newID()}.Name()
	if err := s.o.FS.Rename(r.path(), filepath.Join(r.dir.path, name)); err != nil {
		return err
	}
	if err := s.o.FS.SyncDir(r.dir.path); err != nil {
		return err
	}
	if role == logdir.RoleDelete {
		c := s.o.LogConfig(r.tp.Topic)
		if l := r.log.Load(); l != nil {
			c = *l.config.Load() // the topic may be gone, with what it set
		}
		s.removeLater(r.dir, name, c.FileDeleteDelayMs)
	}
	return nil
}

// newID returns 32 random hexadecimal digits, as in the names of directories
// that are no longer current.
func newID() string {
	var id [16]byte
	rand.Read(id[:])
	return hex.EncodeToString(id[:])
}

// removeLater removes a "-delete" directory after a delay in ms; one that a
// stop leaves is taken up by the next start.
func (s *Store) removeLater(d *logDir, name string, delayMs int64) {
	path := filepath.Join(d.path, name)
	delay := time.Duration(delayMs) * time.Millisecond
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	s.removals[path] = time.AfterFunc(delay, func() {
		s.mu.Lock()
		stopped := s.closed
		if !stopped {
			s.wg.Add(1)
			defer s.wg.Done()
		}
		delete(s.removals, path)
		s.mu.Unlock()
		if stopped {
			return
		}
		if err := disk.RemoveAll(s.o.FS, path); err != nil && !errors.Is(err, os.ErrNotExist) {
			s.o.Notice(Notice{Warn, path, "cannot be removed: " + err.Error()})
		}
	})
}

// topicOf returns the topic in the name of a partition directory, which may be
// cut.
func topicOf(name string) string {
	p, err := logdir.ParsePartitionDir(name)
	if err != nil {
		return name
	}
	return p.Topic
}
