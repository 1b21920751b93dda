package broker

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"kf/internal/coordinator/group"
	"kf/internal/coordinator/shard"
	"kf/internal/format/batch"
	"kf/internal/image"
	"kf/internal/storage"
)

// The broker coordinates the groups of the partitions of __consumer_offsets that
// it leads.
//
// follow says which those are while the controller's lock is held, so it waits
// for no shard: Lead and Resign only note it. What the shards are told of the
// image goes through a queue, as a shard may be busy. A shard calls into the
// replica with its lock held, and nothing of a replica calls a shard while it
// holds a lock of its own.

// newGroups returns the coordinator.
func (b *Broker) newGroups() *group.Coordinator {
	return group.New(group.Options{Image: b.image.Load, Config: b.groupConfig, Log: b.log, Ready: b.ready})
}

// coordinate makes the broker the coordinator of what it leads now.
func (b *Broker) coordinate(d *image.Delta) {
	for _, t := range d.Deleted {
		if t.Name != group.Topic {
			continue
		}
		for p := range t.Partitions() {
			b.groups.Resign(p.ID)
		}
	}
	for _, c := range d.Partitions {
		if c.Topic.Name != group.Topic {
			continue
		}
		r := b.replicas.get(c.Topic.ID, c.New.ID)
		switch {
		case r == nil || c.New.Leader != b.node:
			b.groups.Resign(c.New.ID)
		case c.Old == nil || c.Old.Leader != b.node || c.Old.LeaderEpoch != c.New.LeaderEpoch:
			b.groups.Lead(c.New.ID, c.New.LeaderEpoch, newGroupLog(b.replicas, r, c.New.LeaderEpoch))
		}
	}
}

// committed tells a shard that more of its log is committed.
func (b *Broker) committed(tp storage.TopicPartition) {
	if tp.Topic == group.Topic {
		b.groups.Committed(tp.Partition)
	}
}

// groupNews are the images that the shards are to be told of.
type groupNews struct {
	mu    sync.Mutex
	queue []imageNews
	more  chan struct{} // told when there is something
}

type imageNews struct {
	image *image.Image
	delta *image.Delta
}

func newGroupNews() groupNews { return groupNews{more: make(chan struct{}, 1)} }

func (n *groupNews) add(im *image.Image, d *image.Delta) {
	n.mu.Lock()
	n.queue = append(n.queue, imageNews{im, d})
	n.mu.Unlock()
	select {
	case n.more <- struct{}{}:
	default:
	}
}

func (n *groupNews) take() []imageNews {
	n.mu.Lock()
	defer n.mu.Unlock()
	all := n.queue
	n.queue = nil
	return all
}

// tellGroups tells the shards of images until ctx ends.
func (b *Broker) tellGroups(ctx context.Context) {
	for {
		select {
		case <-b.groupNews.more:
		case <-ctx.Done():
			return
		}
		for _, news := range b.groupNews.take() {
			b.groups.Update(news.image, news.delta)
			for _, c := range news.delta.Partitions { // fewer in sync may mean that more is committed
				if c.Topic.Name == group.Topic {
					b.groups.Committed(c.New.ID)
				}
			}
		}
	}
}

// A groupLog is a partition of __consumer_offsets, led in one epoch: the
// [shard.Log] of its groups.
type groupLog struct {
	replicas *replicas
	replica  *replica
	epoch    int32
	buf      []byte
	// empty is the log end offset of a partition that was found without records
	// and not opened, -1 for none: most of the fifty of a small cluster are.
	empty atomic.Int64
}

func newGroupLog(rs *replicas, r *replica, epoch int32) *groupLog {
	l := &groupLog{replicas: rs, replica: r, epoch: epoch}
	l.empty.Store(-1)
	return l
}

// open opens the log of the partition.
func (l *groupLog) open() (*storage.Log, error) {
	log, err := l.replicas.open(l.replica)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", shard.ErrResigned, err)
	}
	l.empty.Store(-1)
	return log, nil
}

// unopened returns the log end offset of a partition that is known to be empty and
// was not opened yet.
func (l *groupLog) unopened() (end int64, ok bool) {
	end = l.empty.Load()
	return end, end >= 0 && l.replica.log.Load() == nil
}

// Append implements [shard.Log], as Produce with acks=-1 appends.
func (l *groupLog) Append(p []byte) (next int64, err error) {
	log, err := l.open()
	if err != nil {
		return 0, err
	}
	r := l.replica
	switch state := r.state.Load(); {
	case state.Leader != r.node || state.LeaderEpoch != l.epoch:
		return 0, fmt.Errorf("%w: %v is led in epoch %d by broker %d now", shard.ErrResigned, r.tp, state.LeaderEpoch, state.Leader)
	case len(state.ISR) < r.effectiveMinInsync(state):
		return 0, shard.ErrUnavailable
	}
	appended, err := log.Append(p, storage.AppendOptions{LeaderEpoch: l.epoch, Origin: storage.FromCoordinator})
	if err != nil {
		return 0, err
	}
	r.advance(log)
	r.watch.wake()
	return appended.LastOffset + 1, nil
}

// Read implements [shard.Log].
func (l *groupLog) Read(offset int64, max int) ([]byte, error) {
	if _, ok := l.unopened(); ok {
		return nil, nil
	}
	log, err := l.open()
	if err != nil {
		return nil, err
	}
	read, err := log.Read(offset, max, storage.ToLogEnd, true)
	if err != nil {
		return nil, err
	}
	defer read.Data.Release()
	n := read.Data.Len()
	if n == 0 {
		l.buf = nil // all is loaded
		return nil, nil
	}
	if n > cap(l.buf) {
		l.buf = make([]byte, n)
	}
	l.buf = l.buf[:n]
	if _, err := read.Data.ReadAt(l.buf, 0); err != nil {
		return nil, err
	}
	return wholeBatches(l.buf), nil
}

// wholeBatches returns p without a batch that is cut off at its end.
func wholeBatches(p []byte) []byte {
	whole := 0
	for whole+batch.PrefixSize <= len(p) {
		size := batch.DecodePrefix(p[whole:]).Size()
		if size < batch.PrefixSize || size > int64(len(p)-whole) {
			break
		}
		whole += int(size)
	}
	if whole == 0 {
		return p // the first one is damaged: whoever decodes it says how
	}
	return p[:whole]
}

// LogStartOffset implements [shard.Log]. It looks first whether there is anything
// to read.
func (l *groupLog) LogStartOffset() int64 {
	if l.replica.log.Load() == nil {
		if end, ok := l.replicas.store.Empty(l.replica.tp); ok {
			l.empty.Store(end)
			return end
		}
	}
	log, err := l.open()
	if err != nil {
		return 0 // Read says why
	}
	return log.LogStartOffset()
}

// HighWatermark implements [shard.Log].
func (l *groupLog) HighWatermark() int64 {
	if end, ok := l.unopened(); ok {
		return end
	}
	log := l.replica.log.Load()
	if log == nil { // it moved to another log directory
		var err error
		if log, err = l.open(); err != nil {
			return -1
		}
	}
	return log.HighWatermark()
}
