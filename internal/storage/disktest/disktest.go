// Package disktest is a file system for tests that fails when it is told to: a
// full disk, an I/O error, a short write, or a world that stops between two
// operations, as a kill does.
//
// It works on the files of another [disk.FS]. What was written before a stop is
// there afterwards, as the page cache survives a kill; syncs are counted and may
// fail, but are not passed on, because they are slow and a kill needs none.
package disktest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"syscall"
	"time"

	"kf/internal/storage/disk"
)

// ErrStopped is what every operation returns after a stop.
var ErrStopped = errors.New("the world has stopped")

// The errors of the operating system that tests like to see.
var (
	ErrNoSpace = syscall.ENOSPC
	ErrIO      = syscall.EIO
)

// An Op is an operation that changes something, or Read.
type Op struct {
	N    int // how many changing operations there were before; for Read that number too
	Kind Kind
	Path string
	Size int // bytes of a write or a read, the new size of a truncation
}

func (op Op) String() string { return fmt.Sprintf("%d %s %s %d", op.N, op.Kind, op.Path, op.Size) }

// A Kind says what an [Op] does.
type Kind string

// The kinds. A file that is opened without being created or emptied is no
// operation.
const (
	Create   Kind = "create"
	Write    Kind = "write"
	Truncate Kind = "truncate"
	Sync     Kind = "sync"
	SyncDir  Kind = "syncdir"
	Rename   Kind = "rename"
	Remove   Kind = "remove"
	Mkdir    Kind = "mkdir"
	Chtimes  Kind = "chtimes"
	Read     Kind = "read"
)

// A Fault is what becomes of an operation. The zero Fault lets it be done.
type Fault struct {
	Err  error // returned by the operation, which is not done
	Part int   // of a write that fails: so many bytes are written all the same
	Stop bool  // this operation and all later ones fail with ErrStopped
}

// An FS is a [disk.FS] that fails as Decide says. It may be used by several
// goroutines.
type FS struct {
	disk.FS
	// Decide is called before each operation, by one goroutine at a time; nil
	// lets all be done.
	Decide func(Op) Fault
	// Before is called before that by any goroutine, and may block; N is not set.
	Before func(Op)

	mu      sync.Mutex
	n       int
	stopped bool
}

// New returns a file system on top of the operating system's.
func New(decide func(Op) Fault) *FS { return &FS{FS: disk.OS, Decide: decide} }

// StopAt returns a Decide that stops the world at changing operation n, counted
// from 0. If it is a write, part of its bytes, in percent, are written still.
func StopAt(n, percent int) func(Op) Fault {
	return func(op Op) Fault {
		if op.Kind == Read || op.N < n {
			return Fault{}
		}
		f := Fault{Stop: true}
		if op.Kind == Write {
			f.Part = op.Size * percent / 100
		}
		return f
	}
}

// FailOn returns a Decide that fails the operations for which match says so, with
// err; of writes, part of the bytes, in percent, are written.
func FailOn(match func(Op) bool, err error, percent int) func(Op) Fault {
	return func(op Op) Fault {
		if !match(op) {
			return Fault{}
		}
		f := Fault{Err: err}
		if op.Kind == Write {
			f.Part = op.Size * percent / 100
		}
		return f
	}
}

// Ops returns how many changing operations there were.
func (f *FS) Ops() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.n
}

// Stopped reports whether the world has stopped.
func (f *FS) Stopped() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.stopped
}

// begin says what becomes of an operation; part is how many bytes of a failing
// write are written.
func (f *FS) begin(kind Kind, path string, size int) (part int, err error) {
	if f.Before != nil {
		f.Before(Op{Kind: kind, Path: path, Size: size})
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.stopped {
		return 0, &fs.PathError{Op: string(kind), Path: path, Err: ErrStopped}
	}
	op := Op{N: f.n, Kind: kind, Path: path, Size: size}
	if kind != Read {
		f.n++
	}
	if f.Decide == nil {
		return 0, nil
	}
	fault := f.Decide(op)
	if fault.Stop {
		f.stopped = true
		fault.Err = ErrStopped
	}
	if fault.Err == nil {
		return 0, nil
	}
	return min(fault.Part, size), &fs.PathError{Op: string(kind), Path: path, Err: fault.Err}
}

// alive fails after a stop; what it guards is not counted.
func (f *FS) alive(op, path string) error {
	if f.Stopped() {
		return &fs.PathError{Op: op, Path: path, Err: ErrStopped}
	}
	return nil
}

// OpenFile opens a file, which is an operation if it may change something.
func (f *FS) OpenFile(name string, flag int, perm fs.FileMode) (disk.File, error) {
	err := f.alive("open", name)
	if changes := flag & (os.O_CREATE | os.O_TRUNC); err == nil && changes != 0 {
		if _, statErr := f.FS.Stat(name); statErr != nil || flag&os.O_TRUNC != 0 {
			_, err = f.begin(Create, name, 0)
		}
	}
	if err != nil {
		return nil, err
	}
	opened, err := f.FS.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return &file{File: opened, fs: f, name: name}, nil
}

func (f *FS) Stat(name string) (fs.FileInfo, error) {
	if err := f.alive("stat", name); err != nil {
		return nil, err
	}
	return f.FS.Stat(name)
}

func (f *FS) ReadDir(name string) ([]fs.DirEntry, error) {
	if err := f.alive("readdir", name); err != nil {
		return nil, err
	}
	return f.FS.ReadDir(name)
}

func (f *FS) Mkdir(name string, perm fs.FileMode) error {
	if _, err := f.begin(Mkdir, name, 0); err != nil {
		return err
	}
	return f.FS.Mkdir(name, perm)
}

func (f *FS) Rename(oldname, newname string) error {
	if _, err := f.begin(Rename, oldname, 0); err != nil {
		return err
	}
	return f.FS.Rename(oldname, newname)
}

func (f *FS) Remove(name string) error {
	if _, err := f.begin(Remove, name, 0); err != nil {
		return err
	}
	return f.FS.Remove(name)
}

func (f *FS) Chtimes(name string, atime, mtime time.Time) error {
	if _, err := f.begin(Chtimes, name, 0); err != nil {
		return err
	}
	return f.FS.Chtimes(name, atime, mtime)
}

func (f *FS) SyncDir(name string) error {
	_, err := f.begin(SyncDir, name, 0)
	return err
}

type file struct {
	disk.File
	fs   *FS
	name string
}

func (f *file) ReadAt(p []byte, off int64) (int, error) {
	if _, err := f.fs.begin(Read, f.name, len(p)); err != nil {
		return 0, err
	}
	return f.File.ReadAt(p, off)
}

func (f *file) WriteAt(p []byte, off int64) (int, error) {
	part, err := f.fs.begin(Write, f.name, len(p))
	if err != nil {
		n, werr := f.File.WriteAt(p[:part], off)
		return n, errors.Join(err, werr)
	}
	return f.File.WriteAt(p, off)
}

func (f *file) Truncate(size int64) error {
	if _, err := f.fs.begin(Truncate, f.name, int(size)); err != nil {
		return err
	}
	return f.File.Truncate(size)
}

func (f *file) Sync() error {
	_, err := f.fs.begin(Sync, f.name, 0)
	return err
}

// Stat fails after a stop.
func (f *file) Stat() (fs.FileInfo, error) {
	if err := f.fs.alive("stat", f.name); err != nil {
		return nil, err
	}
	return f.File.Stat()
}

// OS returns nil: sendfile would pass this file system by.
func (f *file) OS() *os.File { return nil }
