package metalog

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"time"

	"kf/internal/format/control"
	"kf/internal/format/kraftrec"
	"kf/internal/format/quorumstate"
	"kf/internal/image"
	"kf/internal/logdir"
	"kf/internal/storage"
	"kf/internal/storage/disk"
)

// recordsPerBatch is how many records a batch of a snapshot has, as in Kafka.
const recordsPerBatch = 1024

// readSnapshot reads a snapshot: a control batch with a header, data, a control
// batch with a footer. Kafka does not miss the footer, and so not the rest of a
// file that was cut between two batches.
func readSnapshot(fsys disk.FS, path string, v visitor) (err error) {
	f, err := fsys.OpenFile(path, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	rd := &reader{path: path, f: f, size: info.Size()}
	next, header, footer := int64(0), false, false
	check := visitor{
		control: func(c control.Record) error {
			switch {
			case header == (c.Type == control.SnapshotHeader):
				return fmt.Errorf("%w: %v out of place", ErrSnapshot, c.Type)
			case c.Type == control.LeaderChange:
				return fmt.Errorf("%w: %v", ErrSnapshot, c.Type)
			}
			header = true
			footer = c.Type == control.SnapshotFooter
			return v.control(c)
		},
		data: func(offset int64, r kraftrec.Record) error {
			if !header {
				return fmt.Errorf("%w: no header", ErrSnapshot)
			}
			return v.data(offset, r)
		},
	}
	for !footer {
		pos := rd.pos
		h, p, err := rd.next()
		switch {
		case err == io.EOF:
			return &Error{path, pos, -1, fmt.Errorf("%w: no footer: it is not all there", ErrSnapshot)}
		case err != nil:
			return err
		case h.BaseOffset != next:
			return &Error{path, pos, h.BaseOffset, fmt.Errorf("%w: offset %d follows %d", ErrGap, h.BaseOffset, next-1)}
		}
		if err := walk(path, pos, h, p, check); err != nil {
			return err
		}
		next = h.LastOffset() + 1
	}
	return nil
}

// restore loads the newest snapshot that can be used. One that cannot is passed
// over if the log has what it would have told.
func (r *replay) restore() error {
	l := r.log
	start := int64(0)
	if len(l.segments) > 0 {
		start = l.segments[0].base
	}
	var damaged []kraftrec.SnapshotID
	var why error
	for _, id := range slices.Backward(l.snapshots) {
		if id.Offset < start || id.Offset == 0 {
			break
		}
		err := r.restoreFrom(id)
		if err == nil {
			start = r.from
			break
		}
		if !isDamage(err) {
			return err
		}
		damaged, why = append(damaged, id), errors.Join(why, err)
	}
	switch {
	case start > r.from && why == nil:
		return &Error{l.logPath(start), 0, start, fmt.Errorf("%w: the log begins here and there is no snapshot of what was before; restore one to %s", ErrSnapshot, l.dir)}
	case start > r.from:
		return why
	case why != nil:
		return r.passOver(damaged, why)
	}
	return nil
}

// restoreFrom loads a snapshot into a new builder.
func (r *replay) restoreFrom(id kraftrec.SnapshotID) error {
	l := r.log
	b, q, from := image.NewBuilder(image.Empty()), l.quorum, image.Position{Offset: id.Offset, Epoch: id.Epoch}
	err := readSnapshot(l.o.FS, l.path(id.String()), visitor{
		control: func(c control.Record) error {
			if h, ok := c.Message.(*control.SnapshotHeaderRecord); ok {
				from.Timestamp = h.LastContainedLogTimestamp
			}
			return q.apply(c, true)
		},
		data: func(_ int64, rec kraftrec.Record) error {
			switch rec.Message.(type) {
			case *kraftrec.BeginTransactionRecord, *kraftrec.EndTransactionRecord, *kraftrec.AbortTransactionRecord:
				return fmt.Errorf("%w in a snapshot", image.ErrTransaction)
			}
			return b.Replay(rec.Message)
		},
	})
	if err != nil {
		return err
	}
	b.SetPosition(from)
	q.epoch = max(q.epoch, id.Epoch)
	r.builder, l.quorum, r.from, r.data = b, q, id.Offset, true
	return nil
}

// passOver puts damaged snapshots aside if the log reaches as far as they do.
func (r *replay) passOver(damaged []kraftrec.SnapshotID, why error) error {
	l := r.log
	if len(l.segments) == 0 {
		return why
	}
	last := l.segments[len(l.segments)-1]
	end, err := l.endOf(last)
	switch {
	case err != nil:
		return err
	case end < damaged[0].Offset:
		return fmt.Errorf("%w; the log ends at offset %d, so what the snapshot has is nowhere else: restore it from a copy", why, end)
	}
	for _, id := range damaged {
		if err := l.putAside(id, why); err != nil {
			return err
		}
	}
	return nil
}

// putAside renames a damaged snapshot that nobody needs: Kafka does not start
// with it.
func (l *Log) putAside(id kraftrec.SnapshotID, why error) error {
	name := l.path(id.String())
	if err := l.o.FS.Rename(name, name+logdir.KeptSuffix); err != nil {
		return err
	}
	l.snapshots = slices.DeleteFunc(l.snapshots, func(other kraftrec.SnapshotID) bool { return other == id })
	l.notice(storage.Warn, name, "the metadata snapshot is damaged and was renamed to end in .kept; the log has all that it had: %v", why)
	return nil
}

// endOf returns the offset behind the last sound batch of a segment.
func (l *Log) endOf(s segment) (end int64, err error) {
	f, err := l.o.FS.OpenFile(l.logPath(s.base), os.O_RDONLY, 0)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	rd := &reader{path: l.logPath(s.base), f: f, size: s.size}
	for end = s.base; ; {
		h, _, err := rd.next()
		switch {
		case err == io.EOF || isDamage(err):
			return end, nil
		case err != nil:
			return 0, err
		}
		end = h.LastOffset() + 1
	}
}

// restoreQuorum takes kraft.version and the voters from the 0-0 snapshot if
// neither the log nor another snapshot has them.
func (r *replay) restoreQuorum() error {
	l := r.log
	if len(l.snapshots) == 0 || l.snapshots[0].Offset > 0 || l.quorum.inLog {
		return nil
	}
	id, q := l.snapshots[0], l.quorum
	err := readSnapshot(l.o.FS, l.path(id.String()), visitor{
		control: func(c control.Record) error { return q.apply(c, false) },
		data:    func(int64, kraftrec.Record) error { return nil },
	})
	switch {
	case err == nil:
		l.quorum = q
		return nil
	case isDamage(err) && r.data && l.quorum.state == quorumstate.Version0:
		return l.putAside(id, err)
	}
	return err
}

// findBootstrap finds the records of a new cluster: those of a formatter, else
// those of the options, which become the 0-0 snapshot.
func (l *Log) findBootstrap() error {
	l.bootstrap = []image.Record{}
	collect := visitor{
		control: func(control.Record) error { return nil },
		data: func(_ int64, r kraftrec.Record) error {
			l.bootstrap = append(l.bootstrap, image.Record{Message: r.Message, Version: r.Version})
			return nil
		},
	}
	if len(l.snapshots) > 0 && l.snapshots[0].Offset == 0 {
		return readSnapshot(l.o.FS, l.path(l.snapshots[0].String()), collect)
	}
	old := filepath.Join(l.o.Dir, logdir.NameBootstrap)
	err := readSnapshot(l.o.FS, old, collect)
	if !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if l.o.Bootstrap != nil {
		l.bootstrap = append(l.bootstrap, l.o.Bootstrap()...)
	}
	return l.writeSnapshot(kraftrec.SnapshotID{}, 0, slices.Values(l.bootstrap))
}

// SnapshotDue reports whether so much was appended, or so long ago, since the
// newest snapshot that another one is due.
func (l *Log) SnapshotDue() bool {
	return l.fresh >= l.o.SnapshotBytes || l.fresh > 0 && time.Since(l.freshFrom) >= time.Duration(l.o.SnapshotMs)*time.Millisecond
}

// longStart is how many bytes of records behind the newest snapshot make the next
// start long: some 15,000 partition changes, 50 ms.
const longStart = 1 << 20

// LongStart reports whether there is so much behind the newest snapshot that a
// stop should write another one, for a short start.
func (l *Log) LongStart() bool { return l.fresh >= longStart }

// SnapshotTaken notes that a snapshot of the log's end is under way.
func (l *Log) SnapshotTaken() { l.fresh, l.freshFrom = 0, time.Now() }

// Snapshot writes a snapshot of an image whose records are in the log, then
// removes the oldest snapshots and segments if there is too much of them. It may
// run beside Append.
func (l *Log) Snapshot(im *image.Image) error {
	id := kraftrec.SnapshotID{Offset: im.Position.Offset, Epoch: im.Position.Epoch}
	l.mu.Lock()
	there := slices.Contains(l.snapshots, id)
	l.mu.Unlock()
	if there {
		return nil
	}
	if err := l.writeSnapshot(id, im.Position.Timestamp, im.Records()); err != nil {
		return err
	}
	return l.retain()
}

// writeSnapshot writes a snapshot under a name that counts for nothing, then
// renames it. It can only be read from then on.
func (l *Log) writeSnapshot(id kraftrec.SnapshotID, timestamp int64, records iter.Seq[image.Record]) error {
	part := l.path(id.String() + ".part")
	if err := l.o.FS.Remove(part); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if err := l.writePart(part, id.Epoch, timestamp, records); err != nil {
		return errors.Join(err, l.o.FS.Remove(part))
	}
	if err := l.o.FS.Rename(part, l.path(id.String())); err != nil {
		return err
	}
	if err := l.o.FS.SyncDir(l.dir); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.snapshots = append(l.snapshots, id)
	slices.SortFunc(l.snapshots, compareSnapshots)
	return nil
}

func (l *Log) writePart(part string, epoch int32, timestamp int64, records iter.Seq[image.Record]) (err error) {
	f, err := l.o.FS.OpenFile(part, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o400)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	at, pos, offset := time.Now(), int64(0), int64(0)
	put := func(p []byte, n int, err error) error {
		if err != nil {
			return err
		}
		if _, err := f.WriteAt(p, pos); err != nil {
			return err
		}
		pos += int64(len(p))
		offset += int64(n)
		return nil
	}
	head := append([]any{&control.SnapshotHeaderRecord{LastContainedLogTimestamp: timestamp}}, l.quorum.records()...)
	p, err := appendControl(nil, head, offset, epoch, at)
	if err := put(p, len(head), err); err != nil {
		return err
	}
	for some := range pieces(records, recordsPerBatch) {
		p, err = appendData(p[:0], some, offset, epoch, at)
		if err := put(p, len(some), err); err != nil {
			return err
		}
	}
	p, err = appendControl(p[:0], []any{&control.SnapshotFooterRecord{}}, offset, epoch, at)
	if err := put(p, 1, err); err != nil {
		return err
	}
	return f.Sync()
}

// retain removes the oldest snapshots, and the segments in front of the oldest
// that is left, while there is more of them than wanted.
//
// Source: Kafka 4.4.0, KafkaMetadataLog.java, cleanSnapshots.
func (l *Log) retain() error {
	for {
		id, more, err := l.tooOld()
		if err != nil || !more {
			return err
		}
		// Segments go first: without its snapshot a log that begins above 0 is no use.
		if err := l.dropBelow(id.next.Offset); err != nil {
			return err
		}
		if err := l.o.FS.Remove(l.path(id.oldest.String())); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		l.mu.Lock()
		l.snapshots = slices.DeleteFunc(l.snapshots, func(other kraftrec.SnapshotID) bool { return other == id.oldest })
		l.mu.Unlock()
	}
}

type oldest struct{ oldest, next kraftrec.SnapshotID }

// tooOld returns the oldest snapshot if it is to be removed.
func (l *Log) tooOld() (id oldest, more bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.snapshots) < 2 {
		return id, false, nil
	}
	id = oldest{l.snapshots[0], l.snapshots[1]}
	size := int64(0)
	for _, s := range l.segments {
		size += s.size
	}
	for _, s := range l.snapshots {
		info, err := l.o.FS.Stat(l.path(s.String()))
		if err != nil {
			return id, false, err
		}
		size += info.Size()
	}
	if l.o.RetentionBytes >= 0 && size > l.o.RetentionBytes {
		return id, true, nil
	}
	if l.o.RetentionMs < 0 {
		return id, false, nil
	}
	at, err := l.snapshotTime(id.oldest)
	return id, err == nil && time.Now().UnixMilli()-at > l.o.RetentionMs, err
}

// snapshotTime returns when the last record of a snapshot was appended, ms.
func (l *Log) snapshotTime(id kraftrec.SnapshotID) (at int64, err error) {
	f, err := l.o.FS.OpenFile(l.path(id.String()), os.O_RDONLY, 0)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	rd := &reader{path: l.path(id.String()), f: f, size: info.Size()}
	h, p, err := rd.next()
	if err != nil {
		return 0, err
	}
	err = walk(rd.path, 0, h, p, visitor{
		control: func(c control.Record) error {
			if m, ok := c.Message.(*control.SnapshotHeaderRecord); ok {
				at = cmp.Or(m.LastContainedLogTimestamp, h.MaxTimestamp) // 0 in a formatter's
			}
			return nil
		},
		data: func(int64, kraftrec.Record) error { return nil },
	})
	return at, err
}

// dropBelow removes the segments that end at or below an offset, but not the
// active one.
func (l *Log) dropBelow(offset int64) error {
	for {
		l.mu.Lock()
		if len(l.segments) < 2 || l.segments[1].base > offset {
			l.mu.Unlock()
			return nil
		}
		base := l.segments[0].base
		l.mu.Unlock()
		if err := l.removeSegment(base); err != nil {
			return err
		}
		l.mu.Lock()
		l.segments = l.segments[1:]
		l.mu.Unlock()
	}
}
