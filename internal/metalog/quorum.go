package metalog

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"kf/internal/format/checkpoint"
	"kf/internal/format/control"
	"kf/internal/format/partmeta"
	"kf/internal/format/prodsnapshot"
	"kf/internal/format/quorumstate"
	"kf/internal/image"
	"kf/internal/logdir"
	"kf/internal/storage"
	"kf/internal/storage/disk"
	"kf/internal/wire"
)

// ErrVoters says that this node alone is not the quorum.
var ErrVoters = errors.New("this node is not the only voter of the metadata quorum")

// smallFile is the most bytes that the text files of the log may have.
const smallFile = 1 << 20

// quorum is what the log says about its leaders and voters.
type quorum struct {
	epoch   int32                 // the highest that is known
	state   int16                 // version of quorum-state: that of kraft.version when it was written
	version int16                 // kraft.version
	voters  *control.VotersRecord // with kraft.version 1, nil if not known
	inLog   bool                  // version and voters are in the log or a snapshot of it
	former  []int32               // voters at the last change of the leader
}

// read takes the epoch from quorum-state.
func (q *quorum) read(l *Log) error {
	path := l.path(logdir.NameQuorumState)
	p, err := disk.ReadFile(l.o.FS, path, smallFile)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil:
		return err
	}
	s, err := quorumstate.Decode(p)
	if err != nil {
		return fmt.Errorf("%s: %w; Kafka does not start with it either: remove the file, the epoch is in the log too", path, err)
	}
	q.epoch, q.state = s.LeaderEpoch, s.Version
	return nil
}

// apply takes in a control record; inLog is false for the 0-0 snapshot, whose
// records the log has yet to get.
func (q *quorum) apply(c control.Record, inLog bool) error {
	switch m := c.Message.(type) {
	case *control.LeaderChangeMessage:
		q.former = q.former[:0]
		for _, v := range m.Voters {
			q.former = append(q.former, v.VoterID)
		}
	case *control.KRaftVersionRecord:
		if m.KRaftVersion < 0 || m.KRaftVersion > 1 {
			return fmt.Errorf("%w: kraft.version %d, known are 0 and 1", image.ErrValue, m.KRaftVersion)
		}
		q.version, q.inLog = m.KRaftVersion, inLog
	case *control.VotersRecord:
		q.voters, q.inLog = m, inLog
	}
	return nil
}

// records returns what a snapshot and the first batch of a log say about the
// quorum: nothing with kraft.version 0.
func (q *quorum) records() []any {
	if q.version == 0 {
		return nil
	}
	all := []any{&control.KRaftVersionRecord{KRaftVersion: q.version}}
	if q.voters != nil {
		all = append(all, q.voters)
	}
	return all
}

// check compares the voters with this node. With kraft.version 0 they are
// configuration, so that another set is only strange.
func (q *quorum) check(l *Log) error {
	if q.version == 0 {
		if len(q.former) > 0 && !slices.Equal(q.former, []int32{l.o.NodeID}) {
			l.notice(storage.Warn, l.dir, "the metadata quorum was of the nodes %v; node %d goes on as the only one", q.former, l.o.NodeID)
		}
		return nil
	}
	if q.voters == nil || len(q.voters.Voters) == 0 {
		return fmt.Errorf("%s: %w: kraft.version is 1 and there are no voters", l.dir, ErrVoters)
	}
	var ids []int32
	for _, v := range q.voters.Voters {
		ids = append(ids, v.VoterID)
	}
	if !slices.Equal(ids, []int32{l.o.NodeID}) {
		return fmt.Errorf("%s: %w: node %d, voters are %v", l.dir, ErrVoters, l.o.NodeID, ids)
	}
	if id := q.voters.Voters[0].VoterDirectoryID; id != l.o.DirectoryID {
		return fmt.Errorf("%s: %w: directory.id is %v, that of the voter %v; put the latter into meta.properties", l.dir, ErrVoters, l.o.DirectoryID, id)
	}
	return nil
}

// lead makes this node the leader of a new epoch: quorum-state, epoch file, and
// a control batch.
func (l *Log) lead(b *image.Builder) error {
	q := &l.quorum
	if err := q.check(l); err != nil {
		return err
	}
	if q.epoch == 1<<31-1 {
		return fmt.Errorf("%s: %w: leader epoch %d is the last one", l.dir, image.ErrValue, q.epoch)
	}
	q.epoch = max(q.epoch, b.Position().Epoch) + 1
	state := quorumstate.State{Version: q.version, LeaderID: l.o.NodeID, LeaderEpoch: q.epoch, VotedID: -1, CurrentVoters: []int32{l.o.NodeID}}
	p, err := quorumstate.Append(nil, state)
	if err != nil {
		return err
	}
	if err := l.replaceFile(logdir.NameQuorumState, p); err != nil {
		return err
	}
	if err := l.writeEpochs(); err != nil {
		return err
	}
	me := []control.LeaderChangeVoter{{VoterID: l.o.NodeID}}
	records := []any{&control.LeaderChangeMessage{LeaderID: l.o.NodeID, Voters: me, GrantingVoters: me}}
	if !q.inLog {
		records = append(records, q.records()...)
	}
	at := time.Now()
	if p, err = appendControl(nil, records, l.end, q.epoch, at); err != nil {
		return err
	}
	pos, err := l.write(p, len(records), at)
	if err != nil {
		return err
	}
	q.inLog = true
	pos.Offset = l.end
	b.SetPosition(pos)
	return nil
}

// readEpochs reads leader-epoch-checkpoint. What it says about offsets that are
// read is compared with the batches.
func (l *Log) readEpochs() error {
	path := l.path(logdir.NameLeaderEpochCheckpoint)
	p, err := disk.ReadFile(l.o.FS, path, smallFile)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil:
		return err
	}
	entries, err := checkpoint.DecodeEpochs(p)
	if err != nil {
		l.notice(storage.Warn, path, "it cannot be read (%v) and is made anew from the log", err)
		return nil
	}
	for _, e := range entries {
		l.assignEpoch(e.Epoch, e.StartOffset)
	}
	return nil
}

// assignEpoch notes that an epoch begins at an offset, if that is new.
//
// Source: Kafka 4.4.0, LeaderEpochFileCache.java.
func (l *Log) assignEpoch(epoch int32, start int64) {
	if epoch < 0 {
		return
	}
	l.quorum.epoch = max(l.quorum.epoch, epoch)
	if n := len(l.epochs); n > 0 && l.epochs[n-1].Epoch == epoch && l.epochs[n-1].StartOffset <= start {
		return
	}
	for n := len(l.epochs); n > 0 && (l.epochs[n-1].Epoch >= epoch || l.epochs[n-1].StartOffset >= start); n-- {
		l.epochs = l.epochs[:n-1]
	}
	l.epochs = append(l.epochs, checkpoint.Epoch{Epoch: epoch, StartOffset: start})
}

// writeEpochs writes the epochs of the log with that of the new leader.
func (l *Log) writeEpochs() error {
	l.assignEpoch(l.quorum.epoch, l.end)
	// Of what lies in front of the log only the epoch of its first record counts.
	first := l.segments[0].base
	for len(l.epochs) > 1 && l.epochs[1].StartOffset <= first {
		l.epochs = l.epochs[1:]
	}
	l.epochs[0].StartOffset = max(l.epochs[0].StartOffset, first)
	return l.replaceFile(logdir.NameLeaderEpochCheckpoint, checkpoint.AppendEpochs(nil, l.epochs))
}

// topicID is that of the metadata log.
var topicID = wire.UUID{15: 1}

func (l *Log) writePartitionMetadata() error {
	switch _, err := l.o.FS.Stat(l.path(logdir.NamePartitionMetadata)); {
	case err == nil:
		return nil
	case !errors.Is(err, os.ErrNotExist):
		return err
	}
	return l.replaceFile(logdir.NamePartitionMetadata, partmeta.Append(nil, partmeta.Metadata{Version: partmeta.Version, TopicID: topicID}))
}

// writeProducerSnapshot writes the empty producer state that Kafka keeps at the
// base of each segment but the first, and at the end after a stop.
func (l *Log) writeProducerSnapshot(offset int64) error {
	return l.replaceFile(logdir.FileName(logdir.KindProducerSnapshot, offset), prodsnapshot.Append(nil, nil))
}
