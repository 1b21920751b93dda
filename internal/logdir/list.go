package logdir

import (
	"cmp"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// An Entry is a file of a directory. It was not opened.
type Entry struct {
	File
	Path    string
	Size    int64 // bytes
	ModTime time.Time
}

// A Dir is a partition directory of a log directory.
type Dir struct {
	PartitionDir
	Path string
}

// A Listing is what lies in a log directory. Everything is in the order of names.
type Listing struct {
	Files      []Entry
	Partitions []Dir
	Remote     string   // path of remote-log-index-cache, "" if there is none
	Others     []string // paths of directories that are none of these: a broker does not start with one
}

// ReadPartition lists the files of a partition directory in the order of their
// names. Directories in it are left out, as in Kafka, and so are files that
// vanish meanwhile.
func ReadPartition(dir string) ([]Entry, error) {
	var files []Entry
	err := read(dir, func(path string, info fs.FileInfo) {
		if !info.IsDir() {
			files = append(files, newEntry(path, info))
		}
	})
	return files, err
}

// ReadLogDir lists a log directory. Directories in it are not opened.
func ReadLogDir(dir string) (Listing, error) {
	var l Listing
	err := read(dir, func(path string, info fs.FileInfo) {
		p, err := ParsePartitionDir(info.Name())
		switch {
		case !info.IsDir():
			l.Files = append(l.Files, newEntry(path, info))
		case info.Name() == NameRemoteIndexCache:
			l.Remote = path
		case err != nil:
			l.Others = append(l.Others, path)
		default:
			l.Partitions = append(l.Partitions, Dir{p, path})
		}
	})
	return l, err
}

func newEntry(path string, info fs.FileInfo) Entry {
	return Entry{ParseFileName(info.Name()), path, info.Size(), info.ModTime()}
}

// read follows symbolic links, as Kafka does. What cannot be looked at is part
// of the error; the rest is passed on.
func read(dir string, each func(path string, info fs.FileInfo)) error {
	names, err := os.ReadDir(dir)
	failed := []error{err}
	for _, name := range names {
		path := filepath.Join(dir, name.Name())
		info, err := os.Stat(path)
		if errors.Is(err, fs.ErrNotExist) {
			info, err = os.Lstat(path) // a link to nowhere
		}
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			failed = append(failed, err)
		default:
			each(path, named{info, name.Name()})
		}
	}
	return errors.Join(failed...)
}

// named is a FileInfo under the name of the link that led to it.
type named struct {
	fs.FileInfo
	name string
}

func (n named) Name() string { return n.name }

// A Segment is the set of live files with the same base offset; nil for those
// that are not there.
type Segment struct {
	BaseOffset                      int64
	Log, Index, TimeIndex, TxnIndex *Entry
}

// Segments groups the live segment files of a partition by base offset, in its
// order. A file without a base offset is left out; a segment without Log is an
// orphan, whose files a broker deletes.
func Segments(files []Entry) []Segment {
	byBase := map[int64]*Segment{}
	for i := range files {
		f := &files[i]
		if f.State != StateLive || !f.HasBase {
			continue
		}
		s := byBase[f.BaseOffset]
		if s == nil {
			s = &Segment{BaseOffset: f.BaseOffset}
		}
		switch f.Kind {
		case KindLog:
			s.Log = f
		case KindIndex:
			s.Index = f
		case KindTimeIndex:
			s.TimeIndex = f
		case KindTxnIndex:
			s.TxnIndex = f
		default:
			continue
		}
		byBase[f.BaseOffset] = s
	}
	segments := make([]Segment, 0, len(byBase))
	for s := range maps.Values(byBase) {
		segments = append(segments, *s)
	}
	slices.SortFunc(segments, func(a, b Segment) int { return cmp.Compare(a.BaseOffset, b.BaseOffset) })
	return segments
}
