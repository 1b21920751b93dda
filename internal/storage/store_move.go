package storage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"

	"kf/internal/logdir"
	"kf/internal/storage/disk"
	"kf/internal/wire"
)

// A partition moves to another log directory as in Kafka: a "-future" directory
// there is filled while the current one goes on, then it takes its place and the
// old one becomes "-delete". Here it is filled with the bytes of the files, so
// that segments, indexes and snapshots are the same on both sides.

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
		s.removeLater(d, p.Name(), s.o.LogConfig(tp.Topic).FileDeleteDelayMs)
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

// ErrMoving says that a partition is being moved already.
var ErrMoving = errors.New("partition is being moved")

// Move copies a partition to another log directory, of that index, while it
// stays in use, and puts the copy in its place. It returns when that is done, or
// with the error of ctx. The log of the partition is another one then: the old
// one fails with ErrClosed, and Open returns the new one.
func (s *Store) Move(ctx context.Context, tp TopicPartition, dir int) error {
	to, err := s.choose(dir)
	if err != nil {
		return err
	}
	r, err := s.find(tp)
	if err != nil {
		return err
	}
	if r.dir == to {
		return nil
	}
	if !r.moving.CompareAndSwap(false, true) {
		return fmt.Errorf("%v: %w", tp, ErrMoving)
	}
	defer r.moving.Store(false)
	l, err := s.open(ctx, r, wire.UUID{})
	if err != nil {
		return err
	}
	m := &mover{store: s, from: r, log: l, to: to, copied: map[*segment]int64{}, whole: map[*segment]bool{}}
	if err := m.run(ctx); err != nil {
		if isIO(err) && !errors.Is(err, ErrOffline) {
			err = fmt.Errorf("%w: %w", ErrOffline, err)
			s.fail(to, err)
		}
		return fmt.Errorf("%v: move to %s: %w", tp, to.path, err)
	}
	return nil
}

// resumeMoves begins anew the moves that the last stop interrupted.
func (s *Store) resumeMoves(ctx context.Context) {
	for _, d := range s.dirs {
		for _, tp := range d.resume {
			s.wg.Go(func() {
				if err := s.Move(ctx, tp, d.index); err != nil && ctx.Err() == nil {
					s.o.Notice(Notice{Error, d.path, err.Error()})
				}
			})
		}
		d.resume = nil
	}
}

// A mover copies one partition.
type mover struct {
	store  *Store
	from   *replica
	log    *Log
	to     *logDir
	path   string             // the "-future" directory
	copied map[*segment]int64 // bytes of the .log that are there
	whole  map[*segment]bool  // with the indexes too: the segment was sealed
	buf    []byte
}

const (
	moveBuffer = 1 << 20 // bytes read at a time
	// moveRest is how many bytes may be left to copy while nothing can be appended.
	moveRest = 4 << 20
)

func (m *mover) run(ctx context.Context) (err error) {
	fsys := m.store.o.FS
	name := logdir.PartitionDir{Topic: m.from.tp.Topic, Partition: m.from.tp.Partition, Role: logdir.RoleFuture, ID: newID()}
	m.path = filepath.Join(m.to.path, name.Name())
	m.buf = make([]byte, moveBuffer)
	if err := fsys.Mkdir(m.path, 0o755); err != nil {
		return err
	}
	settled := false
	defer func() {
		if !settled {
			// What cannot be removed now is taken up by the next start.
			_ = disk.RemoveAll(fsys, m.path)
		}
	}()
	if err := m.copyWhole(logdir.NamePartitionMetadata); err != nil {
		return err
	}
	for {
		if err := m.log.usable(); err != nil {
			return err
		}
		end := m.log.end.load()
		n, err := m.pass(ctx, end.segment, end.pos)
		if err != nil {
			return err
		}
		if n <= moveRest {
			break
		}
	}
	settled, err = m.settle(ctx)
	return err
}

// pass copies what the segments have and removes what they no longer have; it
// returns the number of bytes copied. active, nil for none, is written to still
// and has size bytes so far.
func (m *mover) pass(ctx context.Context, active *segment, size int64) (n int64, err error) {
	view := m.log.view.Load()
	list := *view
	live := make(map[*segment]bool, len(list))
	for _, s := range list {
		live[s] = true
	}
	for s := range m.copied {
		if !live[s] {
			if err := m.discard(s.base); err != nil {
				return n, err
			}
			delete(m.copied, s)
			delete(m.whole, s)
		}
	}
	for _, s := range list {
		var k int64
		switch {
		case m.whole[s]:
			continue
		case s == active:
			k, err = m.copySegment(ctx, s, size)
		default:
			k, err = m.copySealed(ctx, s)
		}
		n += k
		switch {
		case errors.Is(err, fs.ErrNotExist) && m.log.view.Load() != view:
			return moveRest + 1, nil // deleted meanwhile: look again
		case err != nil:
			return n, err
		}
	}
	return n, nil
}

// discard removes the files of a segment that the log no longer has.
func (m *mover) discard(base int64) error {
	for _, kind := range []logdir.Kind{logdir.KindLog, logdir.KindIndex, logdir.KindTimeIndex, logdir.KindTxnIndex} {
		err := m.store.o.FS.Remove(filepath.Join(m.path, logdir.FileName(kind, base)))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// copySegment copies the bytes of a segment up to size that are not there yet.
func (m *mover) copySegment(ctx context.Context, s *segment, size int64) (n int64, err error) {
	have, known := m.copied[s]
	if known && have >= size {
		return 0, nil
	}
	src, err := m.store.o.FS.OpenFile(s.log.name(), os.O_RDONLY, 0)
	if err != nil {
		return 0, err
	}
	defer src.Close()
	dst, err := m.store.o.FS.OpenFile(filepath.Join(m.path, logdir.FileName(logdir.KindLog, s.base)), os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, dst.Close()) }()
	for have < size {
		if err := ctx.Err(); err != nil {
			return n, err
		}
		p := m.buf[:min(int64(len(m.buf)), size-have)]
		if k, err := src.ReadAt(p, have); k < len(p) {
			return n, fmt.Errorf("%s: byte %d: %w", s.log.name(), have+int64(k), shortRead(err))
		}
		if _, err := dst.WriteAt(p, have); err != nil {
			return n, err
		}
		have, n = have+int64(len(p)), n+int64(len(p))
	}
	m.copied[s] = have
	return n, dst.Sync()
}

// shortRead is the error for a read that got less than there should be.
func shortRead(err error) error {
	if err == nil || err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// copySealed copies a segment that is written to no more, with its indexes.
func (m *mover) copySealed(ctx context.Context, s *segment) (n int64, err error) {
	n, err = m.copySegment(ctx, s, s.size.Load())
	if err != nil {
		return n, err
	}
	// Retention looks at the time of a segment without timestamps.
	info, err := m.store.o.FS.Stat(s.log.name())
	if err != nil {
		return n, err
	}
	if err := m.store.o.FS.Chtimes(filepath.Join(m.path, info.Name()), info.ModTime(), info.ModTime()); err != nil {
		return n, err
	}
	for _, f := range s.files()[1:] {
		if err := m.copyWhole(filepath.Base(f.name())); err != nil {
			return n, err
		}
	}
	m.whole[s] = true
	return n, nil
}

// copyWhole copies a file of the partition directory that is no .log.
func (m *mover) copyWhole(name string) error {
	p, err := disk.ReadFile(m.store.o.FS, filepath.Join(m.from.path(), name), math.MaxInt32)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return disk.Replace(m.store.o.FS, filepath.Join(m.path, name), p)
}

// settle closes the log as a clean stop does, copies the rest, and puts the copy
// in its place. It reports whether the copy is settled, for better or worse.
func (m *mover) settle(ctx context.Context) (settled bool, err error) {
	s, r := m.store, m.from
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.gone {
		return false, fmt.Errorf("%v: %w", r.tp, ErrNoReplica)
	}
	m.log.cleaning.Lock() // no round of compaction is in the middle of a swap
	err = m.log.Close()
	m.log.cleaning.Unlock()
	if err != nil {
		return false, err
	}
	if err := m.rest(ctx); err != nil {
		// Back to where it was: the log was closed cleanly.
		o := s.logOptions(r)
		o.Clean, o.RecoveryPoint = true, m.log.RecoveryPoint()
		o.LogStartOffset, o.HighWatermark = m.log.LogStartOffset(), m.log.HighWatermark()
		l, reopened := OpenLog(context.WithoutCancel(ctx), o)
		if reopened != nil {
			return false, errors.Join(err, s.failed(r.dir, reopened))
		}
		r.log.Store(l)
		s.o.Moved(r.tp)
		return false, err
	}
	next := &replica{tp: r.tp, dir: m.to, id: r.id, clean: true}
	m.to.set(recoveryPoints, r.tp, m.log.RecoveryPoint())
	m.to.set(logStarts, r.tp, m.log.LogStartOffset())
	m.to.set(highWatermarks, r.tp, m.log.HighWatermark())
	if offset, ok := r.dir.at(cleanerOffsets, r.tp); ok {
		m.to.set(cleanerOffsets, r.tp, offset)
	}
	// From here on the copy is the partition: after a kill between the two
	// renames the next start finds both and takes one that has all.
	if err := s.o.FS.Rename(m.path, next.path()); err != nil {
		return true, err
	}
	if err := s.o.FS.SyncDir(m.to.path); err != nil {
		return true, err
	}
	r.gone = true
	s.mu.Lock()
	s.replicas[r.tp] = next
	s.mu.Unlock()
	s.o.Moved(r.tp)
	r.dir.forget(r.tp)
	if err := s.rename(r, logdir.RoleDelete); err != nil {
		err = fmt.Errorf("%w: %w", ErrOffline, err)
		s.fail(r.dir, err)
		return true, err
	}
	for _, d := range []*logDir{m.to, r.dir} {
		if err := s.writeCheckpoints(d, recoveryPoints, logStarts, highWatermarks, cleanerOffsets); err != nil {
			s.fail(d, err)
		}
	}
	return true, nil
}

// rest copies what is left once the log is closed: the end of the active
// segment, and what says where the log and its producers are.
func (m *mover) rest(ctx context.Context) error {
	if _, err := m.pass(ctx, nil, 0); err != nil {
		return err
	}
	entries, err := m.store.o.FS.ReadDir(m.from.path())
	if err != nil {
		return err
	}
	for _, e := range entries {
		f := logdir.ParseFileName(e.Name())
		if f.State == logdir.StateLive && (f.Kind == logdir.KindProducerSnapshot || f.Kind == logdir.KindLeaderEpochCheckpoint) {
			if err := m.copyWhole(e.Name()); err != nil {
				return err
			}
		}
	}
	return m.store.o.FS.SyncDir(m.path)
}
