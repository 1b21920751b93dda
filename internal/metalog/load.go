package metalog

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"kf/internal/format/batch"
	"kf/internal/format/control"
	"kf/internal/format/kraftrec"
	"kf/internal/image"
	"kf/internal/logdir"
	"kf/internal/storage"
	"kf/internal/storage/disk"
)

// A replay reads a log: the newest snapshot, then the batches behind it.
type replay struct {
	log     *Log
	ctx     context.Context
	builder *image.Builder
	from    int64 // offset from which on the log is read: that of the snapshot
	next    int64 // offset that the next batch must have
	data    bool  // there is a data record, or a snapshot of some
}

func (r *replay) run() error {
	if err := r.restore(); err != nil {
		return err
	}
	l := r.log
	if err := r.readLog(); err != nil {
		return err
	}
	if err := r.restoreQuorum(); err != nil {
		return err
	}
	if len(l.segments) > 0 && r.next < r.from {
		// Kafka does the same: the snapshot has all that the log could say.
		l.notice(storage.Warn, l.dir, "the log ends at offset %d, before the snapshot at %d: the log is dropped and begins there", r.next, r.from)
		if err := l.dropSegments(len(l.segments)); err != nil {
			return err
		}
	}
	l.end = max(r.next, r.from)
	if len(l.segments) == 0 {
		if err := l.create(l.end); err != nil {
			return err
		}
	}
	p := r.builder.Position()
	p.Offset = l.end
	r.builder.SetPosition(p)
	l.freshFrom = time.Now()
	return nil
}

// readLog reads the segments from the one with the offset of the snapshot on.
func (r *replay) readLog() error {
	l := r.log
	if len(l.segments) == 0 {
		return nil
	}
	first := 0
	for i, s := range l.segments {
		if s.base <= r.from {
			first = i
		}
	}
	r.next = l.segments[first].base
	for i := first; i < len(l.segments); i++ {
		s := l.segments[i]
		if s.base != r.next {
			return &Error{l.logPath(s.base), 0, -1, fmt.Errorf("%w: the segment begins at %d, the one before ends at %d", ErrGap, s.base, r.next)}
		}
		if err := r.readSegment(i); err != nil {
			return err
		}
	}
	return nil
}

// readSegment reads a segment, the last one into the active state. If its end is
// cut the segments behind it are removed.
func (r *replay) readSegment(i int) (err error) {
	l := r.log
	s := l.segments[i]
	f, err := l.o.FS.OpenFile(l.logPath(s.base), os.O_RDWR, 0)
	if err != nil {
		return err
	}
	rd := &reader{path: l.logPath(s.base), f: f, size: s.size}
	a := active{base: s.base, log: f}
	defer func() {
		if err != nil {
			err = errors.Join(err, a.close())
		}
	}()
	if err := l.openIndexes(&a); err != nil {
		return err
	}
	if err := a.seek(rd, r.from); err != nil {
		return err
	}
	if rd.pos > 0 {
		r.next = a.startOffset
	}
	for {
		if err := r.ctx.Err(); err != nil {
			return err
		}
		pos := rd.pos
		h, p, err := rd.next()
		switch {
		case err == io.EOF:
			a.size = rd.pos
			if i < len(l.segments)-1 {
				return a.seal()
			}
			l.active = a
			return nil
		case isDamage(err):
			if err := r.cut(rd, i, err); err != nil {
				return err
			}
			continue
		case err != nil:
			return err
		case h.BaseOffset != r.next:
			return &Error{rd.path, pos, h.BaseOffset, fmt.Errorf("%w: the next one must be %d; %s", ErrGap, r.next, r.wayOut(pos, i))}
		}
		if err := a.note(h, pos); err != nil {
			return err
		}
		if err := r.apply(rd.path, pos, h, p); err != nil {
			return err
		}
		r.next = h.LastOffset() + 1
	}
}

// apply replays a batch; records below the snapshot are in it already.
func (r *replay) apply(path string, pos int64, h batch.Header, p []byte) error {
	l := r.log
	l.assignEpoch(h.PartitionLeaderEpoch, h.BaseOffset)
	if h.LastOffset() < r.from {
		return nil
	}
	l.fresh += int64(len(p))
	r.builder.SetPosition(image.Position{Offset: h.BaseOffset, Epoch: max(h.PartitionLeaderEpoch, r.builder.Position().Epoch), Timestamp: h.MaxTimestamp})
	return walk(path, pos, h, p, visitor{
		control: func(c control.Record) error { return l.quorum.apply(c, true) },
		data: func(offset int64, rec kraftrec.Record) error {
			if offset < r.from {
				return nil
			}
			r.data = true
			at := r.builder.Position()
			at.Offset = offset
			r.builder.SetPosition(at)
			return r.builder.Replay(rec.Message)
		},
	})
}

// cut removes what is behind the last sound batch of segment i, and the segments
// behind it, unless a sound batch follows: then it returns why the log cannot be
// used. What is removed and not just zeros is kept in a file beside it.
func (r *replay) cut(rd *reader, i int, damage error) error {
	l := r.log
	if err := r.refuse(rd, i, damage); err != nil {
		return err
	}
	name := filepath.Join(filepath.Dir(rd.path), logdir.KeptName(l.segments[i].base, rd.pos))
	zero, err := l.keepAside(name, rd)
	if err != nil {
		return err
	}
	if err := rd.f.Truncate(rd.pos); err != nil {
		return err
	}
	if err := rd.f.Sync(); err != nil {
		return err
	}
	e, _ := errors.AsType[*Error](damage)
	if zero {
		l.notice(storage.Info, rd.path, "byte %d: %d zeros at the end of the metadata log were cut", rd.pos, rd.size-rd.pos)
	} else {
		l.notice(storage.Warn, rd.path, "byte %d: the last %d bytes of the metadata log were never finished (%v); they were cut and are kept in %s", rd.pos, rd.size-rd.pos, e.Err, name)
	}
	rd.size, rd.buf = rd.pos, nil
	l.segments[i].size = rd.pos
	return l.removeSegments(i + 1)
}

// refuse returns an error if the log goes on behind the damage.
func (r *replay) refuse(rd *reader, i int, damage error) error {
	l := r.log
	path := rd.path
	at, err := rd.sound(rd.pos+1, r.next)
	for j := i + 1; at < 0 && err == nil && j < len(l.segments); j++ {
		path = l.logPath(l.segments[j].base)
		at, err = l.soundIn(path, l.segments[j].size, r.next)
	}
	if err != nil || at < 0 {
		return err
	}
	e, _ := errors.AsType[*Error](damage)
	return &Error{e.Path, e.Pos, r.next, fmt.Errorf("%w; a sound batch follows in %s at byte %d, so this is no unfinished write: %s", e.Err, path, at, r.wayOut(e.Pos, i))}
}

// wayOut says what can be done about damage at a position of segment i.
func (r *replay) wayOut(pos int64, i int) string {
	text := fmt.Sprintf("restore the file from a copy, or give up all changes of the cluster from offset %d on by cutting it to %d bytes", r.next, pos)
	if i < len(r.log.segments)-1 {
		text += " and removing the segments behind it"
	}
	return text
}

func (l *Log) soundIn(path string, size, offset int64) (at int64, err error) {
	f, err := l.o.FS.OpenFile(path, os.O_RDONLY, 0)
	if err != nil {
		return -1, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return (&reader{path: path, f: f, size: size}).sound(0, offset)
}

// keepAside copies the rest of a segment to a file, unless it is all zeros.
func (l *Log) keepAside(name string, rd *reader) (zero bool, err error) {
	if zero, err = rd.zeros(); zero || err != nil {
		return zero, err
	}
	f, err := l.o.FS.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o644)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	err = rd.rest(func(pos int64, p []byte) error {
		_, err := f.WriteAt(p, pos-rd.pos)
		return err
	})
	if err != nil {
		return false, err
	}
	if err := f.Sync(); err != nil {
		return false, err
	}
	return false, l.o.FS.SyncDir(l.dir)
}

// rest shows what is left of the file.
func (r *reader) rest(f func(pos int64, p []byte) error) error {
	for pos := r.pos; pos < r.size; {
		p, err := r.bytes(pos, int(min(readAhead, r.size-pos)))
		if err != nil {
			return err
		}
		if err := f(pos, p); err != nil {
			return err
		}
		pos += int64(len(p))
	}
	return nil
}

var errNotZero = errors.New("not zero")

func (r *reader) zeros() (bool, error) {
	err := r.rest(func(_ int64, p []byte) error {
		for _, b := range p {
			if b != 0 {
				return errNotZero
			}
		}
		return nil
	})
	if errors.Is(err, errNotZero) {
		return false, nil
	}
	return err == nil, err
}

func (l *Log) logPath(base int64) string { return l.path(logdir.FileName(logdir.KindLog, base)) }

// removeSegments removes the segments from index i on, the last one first, so
// that what is left has no gap.
func (l *Log) removeSegments(i int) error {
	for len(l.segments) > i {
		last := len(l.segments) - 1
		if err := l.removeSegment(l.segments[last].base); err != nil {
			return err
		}
		l.segments = l.segments[:last]
	}
	return nil
}

// dropSegments removes the first n segments, the oldest first.
func (l *Log) dropSegments(n int) error {
	if n == len(l.segments) {
		if err := l.active.close(); err != nil {
			return err
		}
		l.active = active{}
	}
	for range n {
		if err := l.removeSegment(l.segments[0].base); err != nil {
			return err
		}
		l.segments = l.segments[1:]
	}
	return nil
}

// removeSegment removes the files of a segment, the .log last: the others count
// for nothing without it.
func (l *Log) removeSegment(base int64) error {
	for _, kind := range []logdir.Kind{logdir.KindIndex, logdir.KindTimeIndex, logdir.KindProducerSnapshot, logdir.KindLog} {
		if err := l.o.FS.Remove(l.path(logdir.FileName(kind, base))); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return l.o.FS.SyncDir(l.dir)
}

// replaceFile writes a small file at once or not at all.
func (l *Log) replaceFile(name string, p []byte) error { return disk.Replace(l.o.FS, l.path(name), p) }
