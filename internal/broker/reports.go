package broker

import (
	"context"
	"sync"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kf/internal/controller"
	"kf/internal/image"
	"kf/internal/wire"
)

// reports are what the broker has to tell the controller about its replicas:
// in which log directory they are, where the metadata say another, and that a
// leader which was elected uncleanly has recovered what there is.
type reports struct {
	mu        sync.Mutex
	dirs      []controller.DirectoryAssignment
	recovered []*replica
	news      chan struct{} // told when there is something
}

func newReports() reports { return reports{news: make(chan struct{}, 1)} }

// placed notes in which directory a replica is.
func (s *reports) placed(r *replica, dir wire.UUID) {
	s.mu.Lock()
	s.dirs = append(s.dirs, controller.DirectoryAssignment{TopicID: r.id, Partition: r.tp.Partition, Directory: dir})
	s.mu.Unlock()
	s.tell()
}

// leads notes a partition that waits for its leader's recovery. A log is
// recovered when it is opened, before anything reads it.
func (s *reports) leads(r *replica, p *image.Partition) {
	if p.Leader != r.node || !p.Recovering {
		return
	}
	s.mu.Lock()
	s.recovered = append(s.recovered, r)
	s.mu.Unlock()
	s.tell()
}

func (s *reports) tell() {
	select {
	case s.news <- struct{}{}:
	default:
	}
}

// report tells the controller what there is to tell until ctx ends.
func (b *Broker) report(ctx context.Context) {
	for {
		select {
		case <-b.replicas.reports.news:
		case <-ctx.Done():
			return
		}
		if err := b.reportDirs(ctx); err != nil && ctx.Err() == nil {
			b.log.Error("the log directories of partitions could not be noted", "error", err)
		}
		b.reportRecovered(ctx)
	}
}

// reportDirs tells in which log directories replicas are, if the metadata of the
// cluster, which may be of an older release, have a place for that.
func (b *Broker) reportDirs(ctx context.Context) error {
	s := &b.replicas.reports
	s.mu.Lock()
	dirs := s.dirs
	s.dirs = nil
	s.mu.Unlock()
	if len(dirs) == 0 || !b.image.Load().MetadataVersion().Directories() {
		return nil
	}
	return b.controller.AssignDirectories(ctx, b.node, b.epoch, dirs)
}

// reportRecovered ends the recovery of leaders that were elected uncleanly.
func (b *Broker) reportRecovered(ctx context.Context) {
	s := &b.replicas.reports
	s.mu.Lock()
	recovered := s.recovered
	s.recovered = nil
	s.mu.Unlock()
	req := kmsg.NewPtrAlterPartitionRequest()
	req.SetVersion(3)
	req.BrokerID, req.BrokerEpoch = b.node, b.epoch
	topics := map[wire.UUID]int{}
	for _, r := range recovered {
		p := r.state.Load()
		if p.Leader != r.node || !p.Recovering {
			continue
		}
		i, ok := topics[r.id]
		if !ok {
			i = len(req.Topics)
			topics[r.id] = i
			t := kmsg.NewAlterPartitionRequestTopic()
			t.TopicID = r.id
			req.Topics = append(req.Topics, t)
		}
		part := kmsg.NewAlterPartitionRequestTopicPartition()
		part.Partition, part.LeaderEpoch, part.PartitionEpoch = p.ID, p.LeaderEpoch, p.PartitionEpoch
		for _, id := range p.ISR {
			m := kmsg.NewAlterPartitionRequestTopicPartitionNewEpochISR()
			m.BrokerID, m.BrokerEpoch = id, -1
			part.NewEpochISR = append(part.NewEpochISR, m)
		}
		req.Topics[i].Partitions = append(req.Topics[i].Partitions, part)
	}
	if len(req.Topics) == 0 {
		return
	}
	// A partition that changed meanwhile is refused, and noted again if need be.
	if res := b.controller.AlterPartition(ctx, req); res.ErrorCode != 0 && ctx.Err() == nil {
		b.log.Error("the recovery of partitions could not be noted", "code", res.ErrorCode)
	}
}

// misplaced notes the replicas that are in another log directory than the
// metadata say: when a directory has a new id, or a partition was copied from
// one to another.
func (s *replicas) misplaced(im *image.Image) {
	for _, have := range s.store.Replicas() {
		t := im.Topic(have.TP.Topic)
		if t == nil {
			continue
		}
		r := s.get(t.ID, have.TP.Partition)
		if r == nil {
			continue
		}
		if dir, ok := r.state.Load().Directory(s.node); ok && dir != s.dirs[have.Dir] {
			s.reports.placed(r, s.dirs[have.Dir])
		}
	}
}
