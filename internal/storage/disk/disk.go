// Package disk is what the broker needs of a file system, small enough for a
// test to stand between: every byte that kf writes into a data directory goes
// through an [FS], so that a test can fill the disk, fail or shorten a write
// and stop the world between any two operations (package disktest).
package disk

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"time"
)

// An FS does the file operations of the storage engine. Names are paths as the
// os package takes them; errors are those of the os package.
type FS interface {
	// OpenFile opens name as [os.OpenFile] does.
	OpenFile(name string, flag int, perm fs.FileMode) (File, error)
	Stat(name string) (fs.FileInfo, error)
	ReadDir(name string) ([]fs.DirEntry, error)
	Mkdir(name string, perm fs.FileMode) error
	// Rename replaces newname if it exists.
	Rename(oldname, newname string) error
	Remove(name string) error
	Chtimes(name string, atime, mtime time.Time) error
	// SyncDir makes the entries of a directory durable.
	SyncDir(name string) error
}

// A File is an open file. It is read and written at explicit positions only:
// its own position is never used, so that any number of readers share it.
type File interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	Stat() (fs.FileInfo, error)
	Truncate(size int64) error
	Sync() error
	// OS returns the file of the operating system behind this one, whose
	// descriptor sendfile(2) takes, or nil if there is none.
	OS() *os.File
}

// OS is the file system of the operating system.
var OS FS = osFS{}

type osFS struct{}

func (osFS) OpenFile(name string, flag int, perm fs.FileMode) (File, error) {
	f, err := os.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return osFile{f}, nil
}

func (osFS) Stat(name string) (fs.FileInfo, error)      { return os.Stat(name) }
func (osFS) ReadDir(name string) ([]fs.DirEntry, error) { return os.ReadDir(name) }
func (osFS) Mkdir(name string, perm fs.FileMode) error  { return os.Mkdir(name, perm) }
func (osFS) Rename(oldname, newname string) error       { return os.Rename(oldname, newname) }
func (osFS) Remove(name string) error                   { return os.Remove(name) }
func (osFS) Chtimes(name string, atime, mtime time.Time) error {
	return os.Chtimes(name, atime, mtime)
}

func (osFS) SyncDir(name string) error {
	if runtime.GOOS == "windows" {
		return nil // has no such call: a directory cannot be opened for it
	}
	d, err := os.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

type osFile struct{ *os.File }

func (f osFile) OS() *os.File { return f.File }

// noLimit stands for as many descriptors as anyone needs.
const noLimit = 1 << 20

// ReadFile returns the bytes of a file, which is an error if it has more than
// limit: a text file of a data directory is never trusted to be small.
func ReadFile(fsys FS, name string, limit int64) (_ []byte, err error) {
	f, err := fsys.OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	p, err := io.ReadAll(io.NewSectionReader(f, 0, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(p)) > limit {
		return nil, fmt.Errorf("%s: more than %d bytes", name, limit)
	}
	return p, nil
}

// Replace gives the file name the content p at once or not at all, as Kafka
// does: it writes name+".tmp", syncs it, renames it and syncs the directory.
func Replace(fsys FS, name string, p []byte) error {
	tmp := name + ".tmp"
	if err := create(fsys, tmp, p); err != nil {
		return err
	}
	if err := fsys.Rename(tmp, name); err != nil {
		return err
	}
	return fsys.SyncDir(filepath.Dir(name))
}

func create(fsys FS, name string, p []byte) (err error) {
	f, err := fsys.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if _, err := f.WriteAt(p, 0); err != nil {
		return err
	}
	return f.Sync()
}

// RemoveAll removes a directory with the files in it; it does not enter
// directories below, which no partition has, and fails if there is one.
func RemoveAll(fsys FS, dir string) error {
	entries, err := fsys.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := fsys.Remove(filepath.Join(dir, e.Name())); err != nil {
			return err
		}
	}
	return fsys.Remove(dir)
}
