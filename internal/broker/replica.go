package broker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/twmb/franz-go/pkg/kerr"

	"kf/internal/image"
	"kf/internal/storage"
	"kf/internal/wire"
)

// A replica is a partition of which this broker has a copy. Its log is opened
// when something first wants it.
type replica struct {
	tp   storage.TopicPartition
	id   wire.UUID // of the topic
	node int32     // this broker

	// state is the partition as the newest image has it.
	state atomic.Pointer[image.Partition]
	// minInsync is min.insync.replicas; elr says that the high watermark stands
	// still while fewer are in sync (KIP-966).
	minInsync atomic.Int32
	elr       atomic.Bool

	watch watchList // of waiting fetches and produces
	log   atomic.Pointer[storage.Log]

	gone atomic.Bool // deleted, or moved to other brokers

	mu        sync.Mutex      // held while the log is opened, the leader changes or the high watermark moves
	followers map[int32]int64 // their log end offsets, of those that fetched since the leader is this one
}

// errGone is what opening a replica gives that is no longer hosted.
var errGone = errors.New("the broker no longer has the partition")

func (r *replica) leads() bool { return r.state.Load().Leader == r.node }

// effectiveMinInsync is how many replicas must be in sync for acks=-1: no topic
// asks for more than it has.
//
// Source: Kafka 4.4.0, Partition.effectiveMinIsr.
func (r *replica) effectiveMinInsync(p *image.Partition) int {
	return min(int(r.minInsync.Load()), len(p.Replicas))
}

// checkEpoch compares the leader epoch that a client knows, -1 for none.
func (r *replica) checkEpoch(epoch int32) int16 {
	current := r.state.Load().LeaderEpoch
	switch {
	case epoch == -1 || epoch == current:
		return 0
	case epoch < current:
		return kerr.FencedLeaderEpoch.Code
	default:
		return kerr.UnknownLeaderEpoch.Code
	}
}

// advance moves the high watermark of a leader: to the lowest log end among
// those in sync, while there are enough of them.
func (r *replica) advance(l *storage.Log) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.state.Load()
	if p.Leader != r.node || r.elr.Load() && len(p.ISR) < r.effectiveMinInsync(p) {
		return
	}
	mark := l.LogEndOffset()
	for _, id := range p.ISR {
		if id != r.node {
			mark = min(mark, r.followers[id]) // one that has not fetched yet has nothing
		}
	}
	if mark > l.HighWatermark() {
		l.SetHighWatermark(mark)
	}
}

// fetched notes that a follower has everything below offset. It reports false
// if the node is no follower of the partition.
func (s *replicas) fetched(r *replica, node int32, offset int64, l *storage.Log) bool {
	p := r.state.Load()
	if node == r.node || !slices.Contains(p.Replicas, node) {
		return false
	}
	before := l.HighWatermark() // whoever moves it from here on
	r.mu.Lock()
	if r.followers == nil {
		r.followers = make(map[int32]int64)
	}
	r.followers[node] = offset
	r.mu.Unlock()
	r.advance(l)
	if l.HighWatermark() != before {
		r.watch.wake()
		s.committed(r.tp)
	}
	return true
}

// replicas are the partitions that the broker hosts. The newest image says
// which they are.
type replicas struct {
	ctx   context.Context // of opening logs
	node  int32
	store *storage.Store
	dirs  []wire.UUID // directory ids of the log directories
	log   *slog.Logger

	mu     sync.RWMutex
	hosted map[replicaKey]*replica

	reports reports
	// committed is told that followers moved a high watermark.
	committed func(tp storage.TopicPartition)
}

type replicaKey struct {
	id        wire.UUID
	partition int32
}

func newReplicas(ctx context.Context, node int32, store *storage.Store, dirs []wire.UUID, log *slog.Logger) *replicas {
	return &replicas{ctx: ctx, node: node, store: store, dirs: dirs, log: log, hosted: make(map[replicaKey]*replica), reports: newReports()}
}

// get returns the replica of a partition, nil if the broker has none.
func (s *replicas) get(id wire.UUID, partition int32) *replica {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.hosted[replicaKey{id, partition}]
}

// all returns the replicas.
func (s *replicas) all() []*replica {
	s.mu.RLock()
	defer s.mu.RUnlock()
	rs := make([]*replica, 0, len(s.hosted))
	for _, r := range s.hosted {
		rs = append(rs, r)
	}
	return rs
}

// open returns the log of a replica, and opens it the first time.
func (s *replicas) open(r *replica) (*storage.Log, error) {
	if l := r.log.Load(); l != nil {
		return l, nil
	}
	l, err := s.openFirst(r)
	if err != nil {
		return nil, err
	}
	r.advance(l)
	return l, nil
}

func (s *replicas) openFirst(r *replica) (*storage.Log, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.gone.Load() {
		return nil, errGone
	}
	if l := r.log.Load(); l != nil {
		return l, nil
	}
	l, err := s.store.Open(s.ctx, r.tp, r.id)
	if errors.Is(err, storage.ErrTopicID) {
		s.log.Warn("a partition directory belongs to an earlier topic of the same name: it is set aside", "partition", r.tp, "error", err)
		if err = s.store.Stray(r.tp); err == nil {
			err = storage.ErrNoReplica
		}
	}
	if errors.Is(err, storage.ErrNoReplica) {
		return s.create(r)
	}
	if err != nil {
		return nil, err
	}
	return l, s.started(r, l)
}

// create makes the directory of a replica that has none. Its lock is held. One that
// was in a log directory which is no longer there, as its disk is not mounted or
// was replaced, is not made anew: its records may come back.
func (s *replicas) create(r *replica) (*storage.Log, error) {
	p := r.state.Load()
	dir := -1
	id, _ := p.Directory(r.node)
	if !image.ReservedDirectory(id) && !slices.Contains(s.dirs, id) {
		return nil, fmt.Errorf("%w: the partition is in the one with the id %v, which is not there; bring it back, or delete the topic", storage.ErrOffline, id)
	}
	if len(s.dirs) == 1 {
		dir = 0
	} else if i := slices.Index(s.dirs, id); i >= 0 {
		dir = i
	}
	l, err := s.store.Create(s.ctx, r.tp, r.id, dir)
	if err != nil {
		return nil, err
	}
	if err := s.started(r, l); err != nil {
		return nil, err
	}
	if dir >= 0 && s.dirs[dir] == id {
		return l, nil
	}
	if dir < 0 {
		dir = s.dirOf(r.tp)
	}
	s.reports.placed(r, s.dirs[dir])
	return l, nil
}

// moved lets go of the log of a partition that has another one now, in another log
// directory: the next request opens that. Requests in between are told to try
// again.
func (s *replicas) moved(tp storage.TopicPartition) {
	for _, r := range s.all() {
		if r.tp != tp {
			continue
		}
		r.mu.Lock()
		r.log.Store(nil)
		r.mu.Unlock()
		id, _ := r.state.Load().Directory(r.node)
		if dir := s.dirOf(tp); dir >= 0 && s.dirs[dir] != id {
			s.reports.placed(r, s.dirs[dir])
		}
		r.watch.wake()
	}
}

// dirOf returns the index of the log directory that has a partition, -1 for none.
func (s *replicas) dirOf(tp storage.TopicPartition) int {
	for _, have := range s.store.Replicas() {
		if have.TP == tp {
			return have.Dir
		}
	}
	return -1
}

// started takes a log that was opened into use. The replica's lock is held.
func (s *replicas) started(r *replica, l *storage.Log) error {
	if err := s.lead(r, l); err != nil {
		return err
	}
	r.log.Store(l)
	return nil
}

// lead tells the log of its leader epoch. The replica's lock is held.
func (s *replicas) lead(r *replica, l *storage.Log) error {
	p := r.state.Load()
	if p.Leader != r.node {
		return nil
	}
	if known, ok := l.LatestEpoch(); ok && known >= p.LeaderEpoch {
		return nil
	}
	if err := l.BecomeLeader(p.LeaderEpoch); err != nil {
		return fmt.Errorf("%v: leader epoch %d: %w", r.tp, p.LeaderEpoch, err)
	}
	return nil
}

// apply makes the replicas those of the next image. config gives the settings
// of a topic in it; logs that are opened from now on have them. It returns the
// replicas whose waiters are to be woken once requests see the next image, so
// that they are answered by it.
func (s *replicas) apply(next *image.Image, d *image.Delta, config func(topic string) topicConfig) (changed []*replica) {
	for _, t := range d.Deleted {
		for p := range t.Partitions() {
			if r := s.get(t.ID, p.ID); r != nil {
				s.remove(r)
				changed = append(changed, r)
			}
		}
	}
	config = remembered(config)
	elr := next.ELREnabled()
	var onDisk map[storage.TopicPartition]bool
	var missing []*replica
	for _, change := range d.Partitions {
		p := change.New
		r := s.get(change.Topic.ID, p.ID)
		here := slices.Contains(p.Replicas, s.node)
		switch {
		case r == nil && here:
			if onDisk == nil {
				onDisk = make(map[storage.TopicPartition]bool)
				for _, have := range s.store.Replicas() {
					onDisk[have.TP] = true
				}
			}
			r = &replica{tp: storage.TopicPartition{Topic: change.Topic.Name, Partition: p.ID}, id: change.Topic.ID, node: s.node}
			s.add(r, p, elr, config(change.Topic.Name))
			if !onDisk[r.tp] { // the others are opened when they are asked for
				missing = append(missing, r)
			}
		case r != nil && !here:
			s.remove(r)
			changed = append(changed, r)
		case r != nil:
			s.change(r, p)
			changed = append(changed, r)
		}
	}
	s.createAll(missing)
	if len(d.Configs) > 0 || d.Features {
		changed = append(changed, s.configure(d, elr, config)...)
	}
	return changed
}

func (s *replicas) add(r *replica, p *image.Partition, elr bool, c topicConfig) {
	r.state.Store(p)
	s.reports.leads(r, p)
	r.elr.Store(elr)
	r.minInsync.Store(int32(c.minInsyncReplicas))
	s.mu.Lock()
	s.hosted[replicaKey{r.id, p.ID}] = r
	s.mu.Unlock()
}

// openedAtOnce is how many partitions are made or opened at once: each waits for
// the disk, which makes several durable in one go.
const openedAtOnce = 16

// createAll makes the directories of new replicas.
func (s *replicas) createAll(rs []*replica) {
	s.openAll(rs, func(r *replica, err error) {
		s.log.Error("a partition could not be created; it is tried again when a client asks for it", "partition", r.tp, "error", err)
	})
}

// openAll opens the logs of replicas side by side, those that are not open yet;
// failed is told of errors.
func (s *replicas) openAll(rs []*replica, failed func(r *replica, err error)) {
	var wg sync.WaitGroup
	slots := make(chan struct{}, openedAtOnce)
	for _, r := range rs {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			if _, err := s.open(r); err != nil {
				failed(r, err)
			}
		})
	}
	wg.Wait()
}

// prepare opens the logs of replicas side by side before a request asks for one
// after the other, which tells the client of errors.
func (s *replicas) prepare(rs []*replica) {
	if len(rs) > 1 {
		s.openAll(rs, func(*replica, error) {})
	}
}

// remove ends the replica of a partition that is deleted, or moved elsewhere.
func (s *replicas) remove(r *replica) {
	s.mu.Lock()
	delete(s.hosted, replicaKey{r.id, r.tp.Partition})
	s.mu.Unlock()
	r.mu.Lock() // no log is being opened after this
	r.gone.Store(true)
	r.mu.Unlock()
	if err := s.store.Delete(r.tp); err != nil && !errors.Is(err, storage.ErrNoReplica) {
		s.log.Error("a partition could not be deleted", "partition", r.tp, "error", err)
	}
}

// change gives a replica its partition's next state.
func (s *replicas) change(r *replica, p *image.Partition) {
	r.mu.Lock()
	old := r.state.Load()
	r.state.Store(p)
	if old.Leader != p.Leader || old.LeaderEpoch != p.LeaderEpoch {
		r.followers = nil
	}
	l := r.log.Load()
	var err error
	if l != nil {
		err = s.lead(r, l)
	}
	r.mu.Unlock()
	s.reports.leads(r, p)
	if err != nil {
		s.log.Error("a leader epoch could not be noted", "partition", r.tp, "error", err)
	}
	if l != nil {
		r.advance(l)
	}
}

// remembered returns config with a memory: the settings of a topic are worked out
// once for all of its partitions.
func remembered(config func(topic string) topicConfig) func(topic string) topicConfig {
	known := make(map[string]topicConfig)
	return func(topic string) topicConfig {
		c, ok := known[topic]
		if !ok {
			c = config(topic)
			known[topic] = c
		}
		return c
	}
}

// configure gives replicas the settings that changed.
func (s *replicas) configure(d *image.Delta, elr bool, config func(topic string) topicConfig) (changed []*replica) {
	all := d.Features
	topics := make(map[string]bool)
	for _, c := range d.Configs {
		switch c.Resource.Type {
		case image.BrokerResource:
			all = true // defaults of topics may be among them
		case image.TopicResource:
			topics[c.Resource.Name] = true
		}
	}
	for _, r := range s.all() {
		if !all && !topics[r.tp.Topic] {
			continue
		}
		c := config(r.tp.Topic)
		r.elr.Store(elr)
		r.minInsync.Store(int32(c.minInsyncReplicas))
		r.mu.Lock() // a log that is being opened may have the old settings
		l := r.log.Load()
		r.mu.Unlock()
		// The store may have opened one that no request wanted yet.
		if opened := s.store.Get(r.tp); opened != nil {
			opened.SetConfig(c.log)
		}
		if l != nil {
			r.advance(l)
			changed = append(changed, r)
		}
	}
	return changed
}

// strays sets aside the partitions on disk that the image does not give to this
// broker.
func (s *replicas) strays(im *image.Image) {
	for _, have := range s.store.Replicas() {
		if t := im.Topic(have.TP.Topic); t != nil && s.get(t.ID, have.TP.Partition) != nil {
			continue
		}
		s.log.Warn("a partition that the cluster does not give to this broker is set aside", "partition", have.TP)
		if err := s.store.Stray(have.TP); err != nil {
			s.log.Error("a partition could not be set aside", "partition", have.TP, "error", err)
		}
	}
}

// finish completes everything that waits, as if its time had run out.
func (s *replicas) finish() {
	for _, r := range s.all() {
		r.watch.expire()
	}
}
