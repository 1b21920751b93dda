package storage

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"kf/internal/logdir"
	segfile "kf/internal/segment"
)

// Bytes that a load takes out of a log because they cannot be served stay in the
// partition directory under a name that both Kafka and kf ignore:
//
//	<base offset>-<position>.kept
//
// They are those of the segment with the base offset from the position on.

// keptName returns a free name for bytes of a segment from pos on.
func (l *Log) keptName(base, pos int64) (string, error) {
	for n := 1; ; n++ {
		name := l.name(logdir.KeptName(base, pos))
		if n > 1 {
			name = l.name(fmt.Sprintf("%020d-%d-%d%s", base, pos, n, logdir.KeptSuffix))
		}
		switch _, err := l.fsys.Stat(name); {
		case errors.Is(err, fs.ErrNotExist):
			return name, nil
		case err != nil:
			return "", err
		}
	}
}

// keep copies the bytes of a segment from pos to size into a file of their own
// and cuts them off. Zeros are not worth a file: it returns no name then.
func (l *Log) keep(s *segment, pos, size int64) (name string, err error) {
	zero, err := s.zeros(pos, size)
	if err != nil {
		return "", err
	}
	if !zero {
		if name, err = l.copyAside(s, pos, size); err != nil {
			return "", err
		}
	}
	if err := s.log.truncate(pos); err != nil {
		return "", err
	}
	return name, s.log.sync()
}

func (l *Log) copyAside(s *segment, pos, size int64) (string, error) {
	name, err := l.keptName(s.base, pos)
	if err != nil {
		return "", err
	}
	if err := l.copyTo(name, s, pos, size); err != nil {
		return "", err
	}
	return filepath.Base(name), l.fsys.SyncDir(l.dir)
}

// copyTo makes a file of the bytes of a segment from pos to size.
func (l *Log) copyTo(name string, s *segment, pos, size int64) (err error) {
	to, err := l.fsys.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, to.Close()) }()
	buf := make([]byte, 256<<10)
	for at := pos; at < size; {
		p := buf[:min(int64(len(buf)), size-at)]
		if err := readFull(s.log, p, at); err != nil {
			return err
		}
		if _, err := to.WriteAt(p, at-pos); err != nil {
			return err
		}
		at += int64(len(p))
	}
	return to.Sync()
}

// zeros reports whether the bytes of a segment from pos to size are zero.
func (s *segment) zeros(pos, size int64) (bool, error) {
	h, err := s.log.acquire()
	if err != nil {
		return false, err
	}
	defer h.release()
	return segfile.Zeros(io.NewSectionReader(h, pos, size-pos))
}

// keepWhole takes a segment out of service: its .log becomes a kept file. An empty
// one is not worth a file: it returns no name then.
func (l *Log) keepWhole(s *segment) (name string, err error) {
	gone := s.files()
	if s.size.Load() > 0 {
		if name, err = l.keptName(s.base, 0); err != nil {
			return "", err
		}
		if err := s.log.rename(name); err != nil {
			return "", err
		}
		name, gone = filepath.Base(name), gone[1:]
	}
	for _, f := range gone {
		if err := l.fsys.Remove(f.name()); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
	}
	s.drop()
	return name, nil
}
