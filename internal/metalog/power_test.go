package metalog_test

import (
	"bytes"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"kf/internal/storage/disk"
)

// A powerFS is a file system in memory that loses its power: what then is left
// of a file is what was synced, and of a directory the names that it had when it
// was synced.
type powerFS struct{ now, durable map[string]*powerFile }

// A powerFile is a file, or a directory.
type powerFile struct {
	dir    bool
	size   int64
	data   []byte // the rest up to size is zeros
	synced struct {
		size int64
		data []byte
	}
}

func newPowerFS(dirs ...string) *powerFS {
	f := &powerFS{now: map[string]*powerFile{}}
	for _, dir := range dirs {
		f.now[dir] = &powerFile{dir: true}
	}
	f.durable = maps.Clone(f.now)
	return f
}

// cut is the loss of power.
func (f *powerFS) cut() {
	f.now = maps.Clone(f.durable)
	for _, file := range f.now {
		file.size, file.data = file.synced.size, bytes.Clone(file.synced.data)
	}
}

func (f *powerFS) find(op, name string) (*powerFile, error) {
	file, ok := f.now[name]
	if !ok {
		return nil, &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist}
	}
	return file, nil
}

func (f *powerFS) OpenFile(name string, flag int, _ fs.FileMode) (disk.File, error) {
	file, err := f.find("open", name)
	switch {
	case err != nil && flag&os.O_CREATE == 0:
		return nil, err
	case err == nil && flag&os.O_EXCL != 0:
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrExist}
	case err != nil:
		file = &powerFile{}
		f.now[name] = file
	}
	if flag&os.O_TRUNC != 0 {
		file.size, file.data = 0, nil
	}
	return powerHandle{file, filepath.Base(name)}, nil
}

func (f *powerFS) Stat(name string) (fs.FileInfo, error) {
	file, err := f.find("stat", name)
	if err != nil {
		return nil, err
	}
	return powerInfo{file, filepath.Base(name)}, nil
}

func (f *powerFS) ReadDir(name string) ([]fs.DirEntry, error) {
	var all []fs.DirEntry
	for _, path := range slices.Sorted(maps.Keys(f.now)) {
		if filepath.Dir(path) == name && path != name {
			all = append(all, fs.FileInfoToDirEntry(powerInfo{f.now[path], filepath.Base(path)}))
		}
	}
	return all, nil
}

func (f *powerFS) Mkdir(name string, _ fs.FileMode) error {
	if _, ok := f.now[name]; ok {
		return &fs.PathError{Op: "mkdir", Path: name, Err: fs.ErrExist}
	}
	f.now[name] = &powerFile{dir: true}
	return nil
}

func (f *powerFS) Rename(oldname, newname string) error {
	file, err := f.find("rename", oldname)
	if err == nil {
		delete(f.now, oldname)
		f.now[newname] = file
	}
	return err
}

func (f *powerFS) Remove(name string) error {
	_, err := f.find("remove", name)
	delete(f.now, name)
	return err
}

func (f *powerFS) Chtimes(string, time.Time, time.Time) error { return nil }

func (f *powerFS) SyncDir(name string) error {
	in := func(path string, _ *powerFile) bool {
		return strings.HasPrefix(path, name+"/") && filepath.Dir(path) == name
	}
	maps.DeleteFunc(f.durable, in)
	for path, file := range f.now {
		if in(path, file) {
			f.durable[path] = file
		}
	}
	return nil
}

type powerHandle struct {
	*powerFile
	name string
}

func (h powerHandle) ReadAt(p []byte, off int64) (int, error) {
	n := int(max(0, min(int64(len(p)), h.size-off)))
	clear(p[:n])
	if off < int64(len(h.data)) {
		copy(p[:n], h.data[off:])
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (h powerHandle) WriteAt(p []byte, off int64) (int, error) {
	if end := off + int64(len(p)); end > int64(len(h.data)) {
		h.powerFile.data = append(h.data, make([]byte, end-int64(len(h.data)))...)
	}
	copy(h.data[off:], p)
	h.powerFile.size = max(h.size, off+int64(len(p)))
	return len(p), nil
}

func (h powerHandle) Truncate(size int64) error {
	h.powerFile.data = h.data[:min(size, int64(len(h.data)))]
	h.powerFile.size = size
	return nil
}

func (h powerHandle) Sync() error {
	h.powerFile.synced.size, h.powerFile.synced.data = h.size, bytes.Clone(h.data)
	return nil
}

func (h powerHandle) Stat() (fs.FileInfo, error) { return powerInfo(h), nil }
func (powerHandle) Close() error                 { return nil }
func (powerHandle) OS() *os.File                 { return nil }

type powerInfo struct {
	*powerFile
	name string
}

func (i powerInfo) Name() string       { return i.name }
func (i powerInfo) Size() int64        { return i.size }
func (i powerInfo) IsDir() bool        { return i.dir }
func (i powerInfo) ModTime() time.Time { return time.Time{} }
func (i powerInfo) Sys() any           { return nil }
func (i powerInfo) Mode() fs.FileMode {
	if i.dir {
		return fs.ModeDir | 0o755
	}
	return 0o644
}
