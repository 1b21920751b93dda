package storage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"kf/internal/storage/disk"
	"kf/internal/wire"
)

// The errors of a store; match with errors.Is.
var (
	ErrNoReplica = errors.New("no such partition in the log directories")
	ErrExists    = errors.New("partition is in a log directory already")
	ErrTopicID   = errors.New("partition belongs to another topic of the same name")
)

// StoreOptions say which log directories a store has and how it keeps them.
type StoreOptions struct {
	FS     disk.FS
	Dirs   []string     // log.dirs; each exists
	Notice func(Notice) // called from several goroutines
	// Failed is called once for a log directory that goes offline.
	Failed func(dir int, err error)
	// Moved is called when the log of a partition is replaced by another one,
	// which Open returns; nil for nobody.
	Moved func(tp TopicPartition)
	// LogConfig returns the settings of a topic's logs.
	LogConfig func(topic string) Config

	FlushCheckpointMs         int64 // log.flush.offset.checkpoint.interval.ms
	LogStartCheckpointMs      int64 // log.flush.start.offset.checkpoint.interval.ms
	HighWatermarkCheckpointMs int64 // replica.high.watermark.checkpoint.interval.ms
	RetentionCheckMs          int64 // log.retention.check.interval.ms
	RecoveryThreads           int   // num.recovery.threads.per.data.dir
	Cleaner                   CleanerOptions
}

// CleanerOptions are the broker's settings of compaction.
type CleanerOptions struct {
	Enabled     bool
	Threads     int
	DedupeBytes int64 // log.cleaner.dedupe.buffer.size, for all threads
	LoadFactor  float64
	BufferBytes int   // log.cleaner.io.buffer.size, for all threads
	BackoffMs   int64 // pause of a thread that found nothing to clean
	BytesPerSec float64
}

// A Store has the partitions of a broker's log directories. After a clean stop
// no partition is opened, and no file of one read, before it is asked for;
// after a kill they are recovered in the background, and the one that is asked
// for at once.
type Store struct {
	o    StoreOptions
	dirs []*logDir

	mu       sync.Mutex
	replicas map[TopicPartition]*replica
	removals map[string]*time.Timer // of "-delete" directories, by path
	twice    []*replica             // directories of partitions that another one has more of
	closed   bool

	stop context.CancelFunc // ends what Start began
	wg   sync.WaitGroup
}

// A replica is a partition in a log directory.
type replica struct {
	tp  TopicPartition
	dir *logDir

	moving atomic.Bool

	mu   sync.Mutex // held while the log is opened or goes away
	log  atomic.Pointer[Log]
	id   wire.UUID // of its topic, once it is open
	gone bool      // deleted, a stray, or moved to another directory
	// clean says that the directory was left by a clean stop and nothing was
	// written since.
	clean bool
}

// OpenStore locks the log directories and lists what is in them. It writes
// nothing but the lock files. It fails if one is used by another process
// ([disk.ErrLocked]) or if none can be read; a single one that cannot be read
// is offline.
func OpenStore(ctx context.Context, o StoreOptions) (*Store, error) {
	s := &Store{o: o, replicas: map[TopicPartition]*replica{}, removals: map[string]*time.Timer{}}
	if s.o.Notice == nil {
		s.o.Notice = func(Notice) {}
	}
	if s.o.Moved == nil {
		s.o.Moved = func(TopicPartition) {}
	}
	for i, path := range o.Dirs {
		d := &logDir{index: i, path: path}
		s.dirs = append(s.dirs, d)
		lock, err := disk.LockDir(o.FS, path)
		if errors.Is(err, disk.ErrLocked) {
			s.unlock()
			return nil, err
		}
		if err != nil {
			s.fail(d, err)
			continue
		}
		d.lock = lock
	}
	var wg sync.WaitGroup
	for _, d := range s.dirs {
		wg.Go(func() {
			if d.failure() != nil {
				return
			}
			if err := d.load(s.o.FS, s.o.Notice); err != nil {
				s.fail(d, err)
			}
		})
	}
	wg.Wait()
	if offline := s.Offline(); len(offline) == len(s.dirs) {
		s.unlock()
		return nil, fmt.Errorf("no log directory can be used: %w", errors.Join(slices.Collect(maps.Values(offline))...))
	}
	if err := s.index(); err != nil {
		s.unlock()
		return nil, err
	}
	return s, nil
}

func (s *Store) unlock() {
	for _, d := range s.dirs {
		if d.lock != nil {
			d.lock.Drop()
		}
	}
}

// CleanEpoch returns the broker epoch that the markers of a clean stop hold, -1
// if there was none or they differ.
func (s *Store) CleanEpoch() int64 {
	epoch := int64(-1)
	for _, d := range s.dirs {
		switch {
		case d.failure() != nil:
		case d.cleanEpoch < 0, epoch >= 0 && d.cleanEpoch != epoch:
			return -1
		default:
			epoch = d.cleanEpoch
		}
	}
	return epoch
}

// Start takes the directories into use: the marker of the clean stop goes, what
// an earlier run left half done is finished, partitions left by a kill are
// recovered in the background, and the schedules of checkpoints, retention and
// compaction begin. Before it no other method but Replicas, CleanEpoch, Offline
// and Close may be called.
func (s *Store) Start() {
	for _, d := range s.dirs {
		if d.failure() != nil {
			continue
		}
		// Not sooner: a directory that is not Kafka's at all is refused meanwhile.
		for _, name := range d.foreign {
			s.o.Notice(Notice{Warn, filepath.Join(d.path, name), "is no partition and is left alone; Apache Kafka does not start with it here"})
		}
		if err := d.begin(s.o.FS); err != nil {
			s.fail(d, err)
		}
	}
	s.finishMoves()
	for _, d := range s.dirs {
		for _, name := range d.deleted {
			s.removeLater(d, name, s.o.LogConfig(topicOf(name)).FileDeleteDelayMs)
		}
	}
	ctx, stop := context.WithCancel(context.Background())
	s.stop = stop
	s.recover(ctx)
	s.resumeMoves(ctx)
	s.every(ctx, s.o.HighWatermarkCheckpointMs, func() { s.checkpoint(highWatermarks) })
	s.every(ctx, s.o.FlushCheckpointMs, func() { s.checkpoint(recoveryPoints) })
	s.every(ctx, s.o.LogStartCheckpointMs, func() { s.checkpoint(logStarts) })
	s.every(ctx, s.o.RetentionCheckMs, func() { s.retain(ctx) })
	s.startCleaner(ctx)
}

// every calls f each interval until ctx ends.
func (s *Store) every(ctx context.Context, ms int64, f func()) {
	s.wg.Go(func() {
		ticker := time.NewTicker(time.Duration(ms) * time.Millisecond)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
				f()
			}
		}
	})
}

// recover opens the partitions that a kill left, with RecoveryThreads for each
// directory.
func (s *Store) recover(ctx context.Context) {
	for _, d := range s.dirs {
		killed := slices.DeleteFunc(s.list(d), func(r *replica) bool { return r.clean })
		if len(killed) == 0 {
			continue
		}
		s.o.Notice(Notice{Info, d.path, fmt.Sprintf("was not stopped cleanly: partitions are recovered: %d", len(killed))})
		began := time.Now()
		work := make(chan *replica)
		var workers sync.WaitGroup
		for range max(1, s.o.RecoveryThreads) {
			workers.Go(func() {
				for r := range work {
					_, err := s.open(ctx, r, wire.UUID{})
					if err != nil && ctx.Err() == nil && !errors.Is(err, ErrNoReplica) { // that one was deleted meanwhile
						s.o.Notice(Notice{Error, r.path(), "cannot be opened: " + err.Error()})
					}
				}
			})
		}
		s.wg.Go(func() {
			feed(ctx, work, killed)
			workers.Wait()
			if ctx.Err() == nil {
				s.o.Notice(Notice{Info, d.path, fmt.Sprintf("recovery is done after %v", time.Since(began).Round(time.Millisecond))})
			}
		})
	}
}

// feed sends the replicas to those who work on them, until ctx ends.
func feed(ctx context.Context, work chan<- *replica, rs []*replica) {
	defer close(work)
	for _, r := range rs {
		select {
		case work <- r:
		case <-ctx.Done():
			return
		}
	}
}

// Offline returns the log directories that failed, by index, with why.
func (s *Store) Offline() map[int]error {
	offline := map[int]error{}
	for _, d := range s.dirs {
		if err := d.failure(); err != nil {
			offline[d.index] = err
		}
	}
	return offline
}

// fail takes a log directory offline, once: its logs refuse everything from
// now on, and the others go on.
func (s *Store) fail(d *logDir, err error) {
	if !d.fail(err) {
		return
	}
	s.o.Notice(Notice{Error, d.path, "log directory is offline: " + err.Error()})
	for _, r := range s.list(d) {
		if l := r.log.Load(); l != nil {
			l.Abandon(fmt.Errorf("%w: %w", ErrOffline, err))
		}
	}
	if s.o.Failed != nil {
		s.o.Failed(d.index, err)
	}
}

// list returns the partitions of a directory in the order of their names.
func (s *Store) list(d *logDir) []*replica {
	s.mu.Lock()
	defer s.mu.Unlock()
	var rs []*replica
	for _, r := range s.replicas {
		if r.dir == d {
			rs = append(rs, r)
		}
	}
	slices.SortFunc(rs, func(a, b *replica) int {
		return cmp.Or(cmp.Compare(a.tp.Topic, b.tp.Topic), cmp.Compare(a.tp.Partition, b.tp.Partition))
	})
	return rs
}

// Close stops the store: every open log is closed and the checkpoints are
// written, then each directory gets the marker of a clean stop with the broker
// epoch, unless something in it failed or waits for its recovery still.
func (s *Store) Close(brokerEpoch int64) error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return ErrClosed
	}
	s.closed = true
	for _, timer := range s.removals {
		timer.Stop()
	}
	s.mu.Unlock()
	started := s.stop != nil
	if started {
		s.stop()
		s.wg.Wait()
	}
	var all []error
	for _, d := range s.dirs {
		if d.failure() != nil || !started {
			continue
		}
		if err := s.closeDir(d, brokerEpoch); err != nil {
			all = append(all, err)
		}
	}
	for _, d := range s.dirs {
		if d.lock == nil {
			continue
		}
		if err := d.lock.Release(); err != nil && d.failure() == nil {
			all = append(all, err)
		}
	}
	return errors.Join(all...)
}

// closing is how many logs are closed at once: each waits for its own fsync.
const closing = 16

func (s *Store) closeDir(d *logDir, brokerEpoch int64) error {
	var (
		wg    sync.WaitGroup
		mu    sync.Mutex
		errs  []error
		clean = true
		slots = make(chan struct{}, closing)
	)
	for _, r := range s.list(d) {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			r.mu.Lock()
			defer r.mu.Unlock()
			l := r.log.Load()
			if l == nil {
				if !r.clean {
					mu.Lock()
					clean = false
					mu.Unlock()
				}
				return
			}
			if err := l.Close(); err != nil {
				mu.Lock()
				errs, clean = append(errs, fmt.Errorf("%s: %w", r.path(), err)), false
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if err := s.writeCheckpoints(d, recoveryPoints, logStarts, highWatermarks); err != nil {
		errs, clean = append(errs, err), false
	}
	if clean {
		errs = append(errs, d.end(s.o.FS, brokerEpoch))
	}
	return errors.Join(errs...)
}
