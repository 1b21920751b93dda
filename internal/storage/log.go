package storage

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"sync"
	"sync/atomic"
	"time"

	"kf/internal/format/batch"
	segfile "kf/internal/segment"
	"kf/internal/storage/disk"
)

// LogOptions say where a log is and how it was left.
type LogOptions struct {
	FS     disk.FS
	Dir    string // the partition directory; it exists
	Config Config
	Notice func(Notice)

	// Failed is called with the error of a file operation that failed, which
	// means that the disk did: the store takes the log directory offline. It
	// must not call the log.
	Failed func(error)

	// Files limits the open files; nil for the one that all logs of the process
	// share.
	Files *Files

	// What the checkpoint files of the log directory say; 0 where they say
	// nothing.
	RecoveryPoint  int64
	LogStartOffset int64
	HighWatermark  int64
	// Clean says that the log was closed by a clean stop: it is trusted after
	// a look at its tail instead of recovered from the recovery point.
	Clean bool
}

// A Log is the log of one partition.
//
// What readers need is in atomic fields: the segments, a list that is replaced
// and never changed, and the offsets. Whoever changes the log holds mu, and
// state besides for what SetHighWatermark needs, so that a high watermark does
// not wait for the disk.
type Log struct {
	fsys     disk.FS
	dir      string
	files    *Files
	onNotice func(Notice)
	onFailed func(error)
	config   atomic.Pointer[Config]

	end       logEnd
	view      atomic.Pointer[[]*segment] // by base offset; the last one is active
	logStart  atomic.Int64
	highWater atomic.Int64
	stable    atomic.Int64 // last stable offset
	recovery  atomic.Int64 // recovery point
	stopped   atomic.Pointer[stopReason]
	recent    recent

	mu        sync.Mutex
	producers producers
	snapshots []int64 // offsets of the producer snapshots that are there, rising
	epochs    epochs
	sent      []sent // scratch space of appends
	written   bool   // something was appended or cut since the log was opened
	removals  map[*time.Timer]struct{}
	flushing  *time.Timer // for flush.ms, nil if none waits

	state sync.Mutex // after mu

	flushMu    sync.Mutex // one flush at a time; never taken with mu held
	unsynced   atomic.Bool
	cuts       atomic.Int64 // truncations so far: what a flush saw may be gone
	background sync.WaitGroup

	cleaning sync.Mutex // one Clean at a time; taken before all others
}

// A stopReason is why a log refuses everything.
type stopReason struct{ err error }

// logEnd is where the log ends: an offset, the active segment and the bytes in
// it. They are published together: a writer makes seq odd, changes them and
// makes it even again.
type logEnd struct {
	seq     atomic.Uint64
	offset  atomic.Int64
	segment atomic.Pointer[segment]
	pos     atomic.Int64
}

// A place is a position in a segment; batches below offset end in front of it.
type place struct {
	offset  int64
	segment *segment
	pos     int64
}

func (e *logEnd) load() place {
	for {
		seq := e.seq.Load()
		p := place{e.offset.Load(), e.segment.Load(), e.pos.Load()}
		if seq&1 == 0 && e.seq.Load() == seq {
			return p
		}
	}
}

// store publishes p; its segment has that many bytes from then on.
func (e *logEnd) store(p place) {
	e.seq.Add(1)
	p.segment.size.Store(p.pos)
	e.offset.Store(p.offset)
	e.segment.Store(p.segment)
	e.pos.Store(p.pos)
	e.seq.Add(1)
}

// recent remembers where the newest batches begin, so that readers at the end
// of the log find them without an index.
type recent struct {
	slots [64]struct{ offset, pos atomic.Int64 }
}

func (r *recent) slot(offset int64) int { return int(uint64(offset) * 0x9e3779b97f4a7c15 >> 58) }

func (r *recent) clear() {
	for i := range r.slots {
		r.slots[i].offset.Store(-1)
	}
}

func (r *recent) add(offset, pos int64) {
	s := &r.slots[r.slot(offset)]
	s.offset.Store(-1)
	s.pos.Store(pos)
	s.offset.Store(offset)
}

func (r *recent) find(offset int64) (pos int64, ok bool) {
	s := &r.slots[r.slot(offset)]
	if s.offset.Load() != offset {
		return 0, false
	}
	pos = s.pos.Load()
	return pos, s.offset.Load() == offset
}

func newLog(o LogOptions) *Log {
	l := &Log{
		dir: o.Dir, files: o.Files, onNotice: o.Notice, onFailed: o.Failed,
		removals: map[*time.Timer]struct{}{},
	}
	if l.files == nil {
		l.files = defaultFiles
	}
	l.fsys = roomyFS{o.FS, l.files}
	if l.onNotice == nil {
		l.onNotice = func(Notice) {}
	}
	if l.onFailed == nil {
		l.onFailed = func(error) {}
	}
	l.config.Store(&o.Config)
	l.epochs.init(l.fsys, o.Dir)
	l.recent.clear()
	l.view.Store(new([]*segment))
	return l
}

func (l *Log) notice(level Level, path, format string, args ...any) {
	l.onNotice(Notice{level, path, fmt.Sprintf(format, args...)})
}

// segments returns the list of segments, which nobody changes.
func (l *Log) segments() []*segment { return *l.view.Load() }

func (l *Log) setSegments(s []*segment) { l.view.Store(&s) }

func (l *Log) active() *segment {
	s := l.segments()
	return s[len(s)-1]
}

// floor returns the index of the last segment whose base offset is at most
// offset, -1 if there is none.
func floor(segments []*segment, offset int64) int {
	return sort.Search(len(segments), func(i int) bool { return segments[i].base > offset }) - 1
}

// firstBase returns the base offset of the first segment.
func (l *Log) firstBase() int64 { return l.segments()[0].base }

// LogStartOffset returns the first offset that may be read.
func (l *Log) LogStartOffset() int64 { return l.logStart.Load() }

// LogEndOffset returns the offset that the next record gets.
func (l *Log) LogEndOffset() int64 { return l.end.offset.Load() }

// HighWatermark returns the offset below which records are committed.
func (l *Log) HighWatermark() int64 { return l.highWater.Load() }

// LastStableOffset returns the offset below which every transaction is decided.
func (l *Log) LastStableOffset() int64 { return l.stable.Load() }

// RecoveryPoint returns the first offset that is not known to be on the disk.
func (l *Log) RecoveryPoint() int64 { return l.recovery.Load() }

// SetHighWatermark moves the high watermark, which is kept between the log
// start and the log end offset.
func (l *Log) SetHighWatermark(offset int64) {
	l.state.Lock()
	defer l.state.Unlock()
	l.setHighWatermark(offset)
}

// setHighWatermark needs l.state.
func (l *Log) setHighWatermark(offset int64) {
	offset = min(max(offset, l.logStart.Load()), l.end.offset.Load())
	l.highWater.Store(offset)
	l.producers.committed(offset)
	l.setStable()
}

// setStable computes the last stable offset; it needs l.state.
func (l *Log) setStable() {
	stable := l.highWater.Load()
	if first, ok := l.producers.firstUnstable(); ok {
		stable = min(stable, max(first, l.logStart.Load()))
	}
	l.stable.Store(stable)
}

// SetConfig changes the settings of the log from the next operation on.
func (l *Log) SetConfig(c Config) { l.config.Store(&c) }

// BecomeLeader notes that from the log end offset on records have a leader
// epoch, in leader-epoch-checkpoint, before any is written.
func (l *Log) BecomeLeader(epoch int32) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.usable(); err != nil {
		return err
	}
	return l.failed(l.epochs.assign(epoch, l.LogEndOffset()))
}

// LatestEpoch returns the leader epoch of the newest entry of the epoch cache.
func (l *Log) LatestEpoch() (epoch int32, ok bool) { return l.epochs.latest() }

// EpochEnd returns the largest known epoch at or below the given one, and the
// offset at which it ends; -1, -1 if there is none or the epoch lies above
// every known one, as Kafka answers OffsetForLeaderEpoch. An epoch below every
// known one ends where the first of them begins.
func (l *Log) EpochEnd(epoch int32) (found int32, end int64) {
	return l.epochs.end(epoch, l.LogEndOffset())
}

// EpochAt returns the leader epoch of the record at an offset, -1 if unknown.
func (l *Log) EpochAt(offset int64) int32 { return l.epochs.at(offset) }

// Size returns the bytes of all segments.
func (l *Log) Size() int64 {
	var n int64
	for _, s := range l.segments() {
		n += s.size.Load()
	}
	return n
}

// usable returns why the log refuses everything, nil if it does not.
func (l *Log) usable() error {
	if why := l.stopped.Load(); why != nil {
		return why.err
	}
	return nil
}

// failed is for the error of a file operation that leaves the log unusable: it
// stops the log, tells the store, and returns an error that matches ErrOffline.
func (l *Log) failed(err error) error {
	if err == nil {
		return nil
	}
	why := &stopReason{fmt.Errorf("%w: %w", ErrOffline, err)}
	if !l.stopped.CompareAndSwap(nil, why) {
		return l.usable()
	}
	l.onFailed(err)
	return why.err
}

// ioFailed is failed for errors of file operations, and returns other errors as
// they are.
func (l *Log) ioFailed(err error) error {
	if err == nil || !isIO(err) {
		return err
	}
	return l.failed(err)
}

// readFailed is ioFailed for what may fail without harm when no descriptor is
// left: the log goes on.
func (l *Log) readFailed(err error) error {
	if disk.OutOfDescriptors(err) {
		return err
	}
	return l.ioFailed(err)
}

// isIO reports whether err is of a file operation.
func isIO(err error) bool {
	_, isPath := errors.AsType[*fs.PathError](err)
	_, isLink := errors.AsType[*os.LinkError](err)
	return isPath || isLink
}

// Abandon ends the use of the log without writing anything: its directory is
// offline or going away. Operations under way and later ones fail with err.
func (l *Log) Abandon(err error) {
	l.stopped.Store(&stopReason{err})
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stopTimers()
	for _, s := range l.segments() {
		s.drop()
	}
}

// stopTimers ends what waits in the background; files that were to be removed
// are left to the next load. It needs l.mu.
func (l *Log) stopTimers() {
	for t := range l.removals {
		t.Stop()
	}
	clear(l.removals)
	if l.flushing != nil {
		l.flushing.Stop()
		l.flushing = nil
	}
}

// Close ends the use of the log as a clean stop does: flushed, indexes
// trimmed, producer snapshot written.
func (l *Log) Close() error {
	err := l.close()
	l.background.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.segments() {
		s.drop()
	}
	return err
}

func (l *Log) close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.usable(); err != nil {
		return err
	}
	defer l.stopped.CompareAndSwap(nil, &stopReason{fmt.Errorf("%s: %w", l.dir, ErrClosed)})
	l.stopTimers()
	if !l.written && l.recovery.Load() == l.LogEndOffset() {
		return l.failed(l.epochs.flush())
	}
	s := l.active()
	if err := l.seal(s); err != nil {
		return l.failed(err)
	}
	if _, err := l.snapshot(true); err != nil {
		return l.failed(err)
	}
	if err := l.epochs.flush(); err != nil {
		return l.failed(err)
	}
	if err := l.syncSegments(l.recovery.Load(), nil); err != nil {
		return l.failed(err)
	}
	l.recovery.Store(l.LogEndOffset())
	return nil
}

// A batchAt is what a look-up finds: a batch with its position.
type batchAt struct {
	pos    int64
	header batch.Header
}

// A walk is a walker over the entries of a segment with what it needs; they are
// used again.
type walk struct {
	segfile.Walker
	file   segfile.File
	handle *handle
}

var walks = sync.Pool{New: func() any { return new(walk) }}

// walk returns a walker over the first limit bytes of a segment; the caller
// calls done.
func (s *segment) walk(limit int64) (*walk, error) {
	h, err := s.log.acquire()
	if err != nil {
		return nil, err
	}
	w := walks.Get().(*walk)
	w.handle = h
	w.file = segfile.FileOf(s.log.name(), h, limit)
	w.Reset(&w.file)
	return w, nil
}

func (w *walk) done() {
	w.handle.release()
	w.handle = nil
	w.file = segfile.File{}
	walks.Put(w)
}

// insertSegment returns the list with s in its place.
func insertSegment(list []*segment, s *segment) []*segment {
	return slices.Insert(slices.Clone(list), floor(list, s.base)+1, s)
}

// create makes an empty file, or empties the one that is there.
func create(fsys disk.FS, path string) error { return createSized(fsys, path, 0) }

func (l *Log) name(base string) string { return filepath.Join(l.dir, base) }
