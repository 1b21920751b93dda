package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// LockName is the file that a process locks to have a log directory for itself.
const LockName = ".lock"

// ErrLocked says that another process uses a log directory.
var ErrLocked = errors.New("another process uses this directory")

// A Lock is a held lock of a log directory.
type Lock struct {
	fs   FS
	name string
	file File
}

// LockDir locks a log directory against other processes: another kf, and a Kafka
// broker, whose Java virtual machine takes the same kind of lock on the same
// file. It fails with ErrLocked if one of them holds it. On Linux the lock
// belongs to the open file and not to the process, so that a program which
// closes another descriptor of the file does not lose it.
func LockDir(fsys FS, dir string) (*Lock, error) {
	name := filepath.Join(dir, LockName)
	for {
		f, err := fsys.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o644)
		if err != nil {
			return nil, err
		}
		if osFile := f.OS(); osFile != nil {
			if err := lock(osFile); err != nil {
				f.Close()
				return nil, fmt.Errorf("%s: %w", name, err)
			}
		}
		// The process that held it may have removed the file between our open
		// and our lock: then the lock is on a file that nobody will look at.
		current, err := fsys.Stat(name)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			f.Close()
			return nil, err
		}
		mine, err := f.Stat()
		if err != nil {
			f.Close()
			return nil, err
		}
		if current != nil && os.SameFile(current, mine) {
			return &Lock{fsys, name, f}, nil
		}
		f.Close()
	}
}

// Release removes the file, as a clean stop of Kafka does, and with it the lock.
func (l *Lock) Release() error {
	return errors.Join(l.fs.Remove(l.name), l.file.Close())
}

// Drop gives up the lock and leaves the file, as the end of the process would.
func (l *Lock) Drop() error { return l.file.Close() }
