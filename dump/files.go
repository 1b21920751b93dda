package dump

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"kf/internal/format/checkpoint"
	"kf/internal/format/cleanshutdown"
	"kf/internal/format/entryfile"
	"kf/internal/format/metaprops"
	"kf/internal/format/offsetindex"
	"kf/internal/format/partmeta"
	"kf/internal/format/prodsnapshot"
	"kf/internal/format/quorumstate"
	"kf/internal/format/timeindex"
	"kf/internal/format/txnindex"
	"kf/internal/logdir"
	"kf/internal/render"
	"kf/internal/wire"
)

type offsetIndexRow struct {
	File     string `col:"file,multi"`
	Kind     string `col:"kind,data"`
	Offset   int64  `col:"offset"`
	Position int32  `col:"position"`
}

type timeIndexRow struct {
	File      string     `col:"file,multi"`
	Kind      string     `col:"kind,data"`
	Time      recordTime `col:"time"`
	Timestamp int64      `col:"timestamp"`
	Offset    int64      `col:"offset"`
}

type txnIndexRow struct {
	File             string `col:"file,multi"`
	Kind             string `col:"kind,data"`
	ProducerID       int64  `col:"producer_id"`
	FirstOffset      int64  `col:"first_offset"`
	LastOffset       int64  `col:"last_offset"`
	LastStableOffset int64  `col:"last_stable_offset"`
}

type producerRow struct {
	File                  string     `col:"file,multi"`
	Kind                  string     `col:"kind,data"`
	ProducerID            int64      `col:"producer_id"`
	ProducerEpoch         int16      `col:"producer_epoch"`
	FirstSequence         number     `col:"first_sequence"`
	LastSequence          number     `col:"last_sequence"`
	LastOffset            number     `col:"last_offset"`
	OffsetDelta           number     `col:"offset_delta,data"`
	Time                  recordTime `col:"time"`
	Timestamp             int64      `col:"timestamp,data"`
	CoordinatorEpoch      number     `col:"coordinator_epoch"`
	CurrentTxnFirstOffset number     `col:"current_txn_first_offset"`
}

type offsetCheckpointRow struct {
	File      string `col:"file,multi"`
	Kind      string `col:"kind,data"`
	Topic     string `col:"topic"`
	Partition int32  `col:"partition"`
	Offset    int64  `col:"offset"`
}

type epochRow struct {
	File        string `col:"file,multi"`
	Kind        string `col:"kind,data"`
	LeaderEpoch int32  `col:"leader_epoch"`
	StartOffset int64  `col:"start_offset"`
}

type propertyRow struct {
	File  string `col:"file,multi"`
	Kind  string `col:"kind,data"`
	Key   string `col:"key"`
	Value string `col:"value"`
}

type partitionMetadataRow struct {
	File    string    `col:"file,multi"`
	Kind    string    `col:"kind,data"`
	Version int32     `col:"version"`
	TopicID wire.UUID `col:"topic_id"`
}

type quorumStateRow struct {
	File             string     `col:"file,multi"`
	Kind             string     `col:"kind,data"`
	Version          int16      `col:"data_version"`
	LeaderID         int32      `col:"leader_id"`
	LeaderEpoch      int32      `col:"leader_epoch"`
	VotedID          number     `col:"voted_id"`
	VotedDirectoryID *wire.UUID `col:"voted_directory_id"`
	AppliedOffset    *int64     `col:"applied_offset,data"`
	CurrentVoters    []int32    `col:"current_voters"`
}

type cleanShutdownRow struct {
	File        string `col:"file,multi"`
	Kind        string `col:"kind,data"`
	Version     int64  `col:"version"`
	BrokerEpoch *int64 `col:"broker_epoch"`
}

// rowWriters hold a writer for each kind of row.
type rowWriters struct {
	record           *render.Writer[recordRow]
	batch            *render.Writer[batchRow]
	offsetIndex      *render.Writer[offsetIndexRow]
	timeIndex        *render.Writer[timeIndexRow]
	txnIndex         *render.Writer[txnIndexRow]
	producer         *render.Writer[producerRow]
	offsetCheckpoint *render.Writer[offsetCheckpointRow]
	epoch            *render.Writer[epochRow]
	property         *render.Writer[propertyRow]
	partition        *render.Writer[partitionMetadataRow]
	quorum           *render.Writer[quorumStateRow]
	cleanShutdown    *render.Writer[cleanShutdownRow]
	expected         bool  // a file has rows, if it has any
	err              error // of the output
}

func (w *rowWriters) open(out *render.Output) {
	w.record = render.Rows[recordRow](out)
	w.batch = render.Rows[batchRow](out)
	w.offsetIndex = render.Rows[offsetIndexRow](out)
	w.timeIndex = render.Rows[timeIndexRow](out)
	w.txnIndex = render.Rows[txnIndexRow](out)
	w.producer = render.Rows[producerRow](out)
	w.offsetCheckpoint = render.Rows[offsetCheckpointRow](out)
	w.epoch = render.Rows[epochRow](out)
	w.property = render.Rows[propertyRow](out)
	w.partition = render.Rows[partitionMetadataRow](out)
	w.quorum = render.Rows[quorumStateRow](out)
	w.cleanShutdown = render.Rows[cleanShutdownRow](out)
}

// expect makes the headings those of files of a kind, if no row is printed.
func (w *rowWriters) expect(kind logdir.Kind, noRecords bool) {
	w.expected = true
	switch kind {
	case logdir.KindLog, logdir.KindMetadataSnapshot:
		if noRecords {
			w.batch.Expect()
		} else {
			w.record.Expect()
		}
	case logdir.KindIndex:
		w.offsetIndex.Expect()
	case logdir.KindTimeIndex:
		w.timeIndex.Expect()
	case logdir.KindTxnIndex:
		w.txnIndex.Expect()
	case logdir.KindProducerSnapshot:
		w.producer.Expect()
	case logdir.KindOffsetCheckpoint:
		w.offsetCheckpoint.Expect()
	case logdir.KindLeaderEpochCheckpoint:
		w.epoch.Expect()
	case logdir.KindMetaProperties:
		w.property.Expect()
	case logdir.KindPartitionMetadata:
		w.partition.Expect()
	case logdir.KindQuorumState:
		w.quorum.Expect()
	case logdir.KindCleanShutdown:
		w.cleanShutdown.Expect()
	}
}

// write writes a row and remembers an error of the output, which ends the run.
func write[T any](w *rowWriters, to *render.Writer[T], row T) error {
	if err := to.Write(row); err != nil {
		w.err = err
		return err
	}
	return nil
}

// failed reports whether err is of the output, not of a file.
func (w *rowWriters) failed(err error) bool { return w.err != nil && errors.Is(err, w.err) }

// A number is one of which Kafka writes -1 for none; other values below 0 only
// come from damage and are shown as they are.
type number int64

// AppendJSON implements render.Value.
func (n *number) AppendJSON(dst []byte) []byte {
	if *n == -1 {
		return append(dst, "null"...)
	}
	return strconv.AppendInt(dst, int64(*n), 10)
}

// AppendText implements render.Value.
func (n *number) AppendText(dst []byte) ([]byte, bool) {
	return strconv.AppendInt(dst, int64(*n), 10), *n != -1
}

// IsNumber aligns it to the right.
func (n *number) IsNumber() {}

// A recordTime is a timestamp in ms, shown as a time. -1 is none.
type recordTime int64

// AppendJSON implements render.Value.
func (t *recordTime) AppendJSON(dst []byte) []byte {
	if *t == -1 {
		return append(dst, "null"...)
	}
	dst, _ = t.AppendText(append(dst, '"'))
	return append(dst, '"')
}

// AppendText implements render.Value.
func (t *recordTime) AppendText(dst []byte) ([]byte, bool) {
	if *t == -1 {
		return dst, false
	}
	return time.UnixMilli(int64(*t)).UTC().AppendFormat(dst, "2006-01-02T15:04:05.000Z"), true
}

// at says in which file something is wrong.
func at(in *input, err error) error { return fmt.Errorf("%s: %w", in.path, err) }

// indexFinding handles what comes with an entry of an index file. Zeros at the
// end are no damage, nor are the entries in front of them that do not rise: a
// truncation left them, and the broker does not read them.
func (d *dumper) indexFinding(in *input, err error, entries *int, order *error) error {
	switch e := (*entryfile.Error)(nil); {
	case errors.Is(err, entryfile.ErrPreallocated):
		if *order != nil {
			d.env.Notef("%v: left by a truncation, not in use", *order)
			*order = nil
		}
		d.env.Notef("%s: entries: %d, then preallocated zeros: the segment is active, or was when the broker was killed", in.path, *entries)
	case errors.As(err, &e):
		if *order == nil && (errors.Is(err, offsetindex.ErrOrder) || errors.Is(err, timeindex.ErrOrder)) {
			*order = at(in, err)
			return nil
		}
		d.damage(at(in, err))
		if errors.Is(err, entryfile.ErrRemainder) {
			return nil
		}
	default:
		return at(in, err)
	}
	return nil
}

func (d *dumper) offsetIndex(ctx context.Context, in *input, r io.Reader) error {
	base, err := d.base(in)
	if err != nil {
		return err
	}
	entries := 0
	var order error // an entry that does not rise; damage unless zeros follow
	for e, err := range offsetindex.Scan(r, base) {
		if err != nil {
			if err := d.indexFinding(in, err, &entries, &order); err != nil {
				return err
			}
			if e == (offsetindex.Entry{}) {
				continue
			}
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		entries++
		if err := write(&d.rows, d.rows.offsetIndex, offsetIndexRow{in.path, "offset_index_entry", e.Offset, e.Position}); err != nil {
			return err
		}
	}
	if order != nil {
		d.damage(order)
	}
	return nil
}

func (d *dumper) timeIndex(ctx context.Context, in *input, r io.Reader) error {
	base, err := d.base(in)
	if err != nil {
		return err
	}
	entries := 0
	var order error
	for e, err := range timeindex.Scan(r, base) {
		if err != nil {
			if err := d.indexFinding(in, err, &entries, &order); err != nil {
				return err
			}
			if e == (timeindex.Entry{}) {
				continue
			}
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		entries++
		if err := write(&d.rows, d.rows.timeIndex, timeIndexRow{in.path, "time_index_entry", recordTime(e.Timestamp), e.Timestamp, e.Offset}); err != nil {
			return err
		}
	}
	if order != nil {
		d.damage(order)
	}
	return nil
}

func (d *dumper) txnIndex(ctx context.Context, in *input, r io.Reader) error {
	base, err := d.base(in)
	if err != nil {
		return err
	}
	for e, err := range txnindex.Scan(r, base) {
		if err != nil {
			var place *entryfile.Error
			if !errors.As(err, &place) {
				return at(in, err)
			}
			d.damage(at(in, err))
			if e == (txnindex.Entry{}) {
				continue
			}
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := write(&d.rows, d.rows.txnIndex, txnIndexRow{in.path, "aborted_transaction", e.ProducerID, e.FirstOffset, e.LastOffset, e.LastStableOffset}); err != nil {
			return err
		}
	}
	return nil
}

func (d *dumper) offsetCheckpoint(ctx context.Context, in *input, r io.Reader) error {
	for e, err := range checkpoint.Offsets(r) {
		if err := d.line(ctx, in, err); err != nil {
			return err
		}
		if err != nil {
			continue
		}
		if e.Offset < 0 {
			d.damage(at(in, fmt.Errorf("%s-%d: the offset %d is below 0", e.Topic, e.Partition, e.Offset)))
		}
		if err := write(&d.rows, d.rows.offsetCheckpoint, offsetCheckpointRow{in.path, "offset_checkpoint_entry", e.Topic, e.Partition, e.Offset}); err != nil {
			return err
		}
	}
	return nil
}

func (d *dumper) epochCheckpoint(ctx context.Context, in *input, r io.Reader) error {
	var before *checkpoint.Epoch
	for e, err := range checkpoint.Epochs(r) {
		if err := d.line(ctx, in, err); err != nil {
			return err
		}
		if err != nil {
			continue
		}
		if before != nil && (e.Epoch <= before.Epoch || e.StartOffset <= before.StartOffset) {
			d.damage(at(in, fmt.Errorf("epoch %d from offset %d does not rise above epoch %d from offset %d", e.Epoch, e.StartOffset, before.Epoch, before.StartOffset)))
		}
		before = &e
		if err := write(&d.rows, d.rows.epoch, epochRow{in.path, "leader_epoch", e.Epoch, e.StartOffset}); err != nil {
			return err
		}
	}
	return nil
}

// line handles the error that came in place of a line of a checkpoint.
func (d *dumper) line(ctx context.Context, in *input, err error) error {
	var bad *checkpoint.Error
	switch {
	case err == nil:
		return ctx.Err()
	case errors.As(err, &bad):
		d.damage(at(in, err))
		return nil
	}
	return at(in, err)
}

// Bounds of what is read of a file that is decoded whole: 46 bytes a producer, and
// a few lines.
const (
	maxSnapshot = 32 << 20
	maxSmall    = 4 << 20
)

// small prints a file that is decoded whole.
func (d *dumper) small(in *input, r io.Reader) error {
	bound := maxSmall
	if in.kind == logdir.KindProducerSnapshot {
		bound = maxSnapshot
	}
	p, err := io.ReadAll(io.LimitReader(r, int64(bound)+1))
	if err != nil {
		return at(in, err)
	}
	if len(p) > bound {
		return at(in, fmt.Errorf("more than %d bytes are too many for a file of kind %s", bound, in.kind))
	}
	switch in.kind {
	case logdir.KindProducerSnapshot:
		return d.producerSnapshot(in, p)
	case logdir.KindMetaProperties:
		return d.metaProperties(in, p)
	case logdir.KindPartitionMetadata:
		m, err := partmeta.Decode(p)
		if err != nil {
			d.damage(at(in, err))
			return nil
		}
		return write(&d.rows, d.rows.partition, partitionMetadataRow{in.path, "partition_metadata", m.Version, m.TopicID})
	case logdir.KindQuorumState:
		return d.quorumState(in, p)
	case logdir.KindCleanShutdown:
		m, err := cleanshutdown.Decode(p)
		if err != nil {
			d.damage(at(in, err))
			return nil
		}
		return write(&d.rows, d.rows.cleanShutdown, cleanShutdownRow{in.path, "clean_shutdown", m.Version, m.BrokerEpoch})
	}
	return at(in, fmt.Errorf("kind %s cannot be decoded", in.kind))
}

func (d *dumper) producerSnapshot(in *input, p []byte) error {
	s, err := prodsnapshot.Decode(p)
	if err != nil {
		d.damage(at(in, err))
	}
	for _, e := range s.Entries {
		row := producerRow{
			File: in.path, Kind: "producer", ProducerID: e.ProducerID, ProducerEpoch: e.ProducerEpoch,
			Time: recordTime(e.Timestamp), Timestamp: e.Timestamp,
			CoordinatorEpoch: number(e.CoordinatorEpoch), CurrentTxnFirstOffset: number(e.CurrentTxnFirstOffset),
			FirstSequence: -1, LastSequence: -1, LastOffset: -1, OffsetDelta: -1,
		}
		if e.LastOffset >= 0 {
			row.FirstSequence, row.LastSequence = number(e.FirstSequence()), number(e.LastSequence)
			row.LastOffset, row.OffsetDelta = number(e.LastOffset), number(e.OffsetDelta)
		}
		if err := write(&d.rows, d.rows.producer, row); err != nil {
			return err
		}
	}
	return nil
}

// unless returns v, nil if it is unset.
func unless[T any](v T, unset bool) *T {
	if unset {
		return nil
	}
	return &v
}

func (d *dumper) metaProperties(in *input, p []byte) error {
	properties, err := metaprops.Parse(p)
	if err == nil {
		var m metaprops.Meta
		if m, err = metaprops.FromProperties(properties); err == nil && m.NodeID == nil {
			err = errors.New("neither node.id nor broker.id is there: no broker starts with it")
		}
	}
	if err != nil {
		d.damage(at(in, err))
	}
	for _, property := range properties {
		if err := write(&d.rows, d.rows.property, propertyRow{in.path, "property", property.Key, property.Value}); err != nil {
			return err
		}
	}
	return nil
}

func (d *dumper) quorumState(in *input, p []byte) error {
	s, err := quorumstate.Decode(p)
	if err != nil {
		d.damage(at(in, err))
		return nil
	}
	return write(&d.rows, d.rows.quorum, quorumStateRow{
		File: in.path, Kind: "quorum_state", Version: s.Version, LeaderID: s.LeaderID, LeaderEpoch: s.LeaderEpoch, VotedID: number(s.VotedID),
		VotedDirectoryID: unless(s.VotedDirectoryID, s.VotedDirectoryID.IsZero()),
		AppliedOffset:    unless(s.AppliedOffset, s.Version != 0),
		CurrentVoters:    s.CurrentVoters,
	})
}
