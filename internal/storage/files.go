package storage

import (
	"io/fs"
	"os"
	"sync"
	"sync/atomic"

	"kf/internal/storage/disk"
)

// DefaultOpenFiles is how many files all logs of a process keep open without
// an own [LogOptions.Files]: half of what the process may open, if that is less.
const DefaultOpenFiles = 4096

// Files limits how many files are open at a time: those that nobody uses right
// now are closed, the ones that were not used for longest first, and opened
// again when they are needed. All logs of a process share one, so that
// thousands of partitions fit under the limit of the process.
type Files struct {
	mu   sync.Mutex
	max  int
	open []*file // a ring
	hand int     // where the search for a file to close goes on
}

// NewFiles returns a limit of max open files. Files in use do not count against
// it: it is exceeded if more than max are in use at once.
func NewFiles(max int) *Files { return &Files{max: max} }

var defaultFiles = NewFiles(min(DefaultOpenFiles, disk.Descriptors()/2))

// A roomyFS is a file system for which idle files are closed when the process has
// no descriptor left for another one.
type roomyFS struct {
	disk.FS
	files *Files
}

func (r roomyFS) OpenFile(name string, flag int, perm fs.FileMode) (disk.File, error) {
	f, err := r.FS.OpenFile(name, flag, perm)
	for disk.OutOfDescriptors(err) && r.files.closeIdle() {
		f, err = r.FS.OpenFile(name, flag, perm)
	}
	return f, err
}

// A file is a file of a log. It is opened when it is first used.
type file struct {
	files  *Files
	fsys   disk.FS
	mu     sync.Mutex // held while it is opened, renamed or dropped
	path   atomic.Pointer[string]
	handle atomic.Pointer[handle]
	used   atomic.Bool // since the hand was here
	slot   int         // in files.open, under files.mu; -1 if it is not there
}

// A handle is an open file. It is closed when the last reference goes; the file
// itself holds one while it counts as open.
type handle struct {
	disk.File
	refs atomic.Int32
}

func newFile(files *Files, fsys disk.FS, path string) *file {
	f := &file{files: files, fsys: fsys, slot: -1}
	f.path.Store(&path)
	return f
}

func (f *file) name() string { return *f.path.Load() }

// ref takes a reference unless the last one is gone.
func (h *handle) ref() bool {
	for {
		n := h.refs.Load()
		if n == 0 {
			return false
		}
		if h.refs.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

func (h *handle) release() {
	if h.refs.Add(-1) == 0 {
		h.Close() // nothing is lost here: what must be on the disk was synced before
	}
}

// acquire returns the open file; the caller releases it.
func (f *file) acquire() (*handle, error) { return f.acquireWith(os.O_RDWR) }

// acquireWith is like acquire; flag is used if the file is not open.
func (f *file) acquireWith(flag int) (*handle, error) {
	if h := f.handle.Load(); h != nil && h.ref() {
		if !f.used.Load() {
			f.used.Store(true)
		}
		return h, nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if h := f.handle.Load(); h != nil && h.ref() {
		return h, nil
	}
	opened, err := f.fsys.OpenFile(f.name(), flag, 0o644)
	if err != nil {
		return nil, err
	}
	h := &handle{File: opened}
	h.refs.Store(2) // the caller's and the file's own
	f.handle.Store(h)
	f.used.Store(true)
	f.files.add(f)
	return h, nil
}

// readAt reads as io.ReaderAt does.
func (f *file) readAt(p []byte, off int64) (int, error) {
	h, err := f.acquire()
	if err != nil {
		return 0, err
	}
	defer h.release()
	return h.ReadAt(p, off)
}

func (f *file) writeAt(p []byte, off int64) error {
	h, err := f.acquire()
	if err != nil {
		return err
	}
	defer h.release()
	_, err = h.WriteAt(p, off)
	return err
}

func (f *file) truncate(size int64) error {
	h, err := f.acquire()
	if err != nil {
		return err
	}
	defer h.release()
	return h.Truncate(size)
}

func (f *file) sync() error {
	h, err := f.acquire()
	if err != nil {
		return err
	}
	defer h.release()
	return h.Sync()
}

// rename renames the file; readers find it under its new name.
func (f *file) rename(path string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.fsys.Rename(f.name(), path); err != nil {
		return err
	}
	f.path.Store(&path)
	return nil
}

// drop closes the file as soon as nobody uses it.
func (f *file) drop() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.files.mu.Lock()
	h := f.handle.Swap(nil)
	f.files.remove(f)
	f.files.mu.Unlock()
	if h != nil {
		h.release()
	}
}

// add counts f as open and closes others that are idle if there are too many.
func (c *Files) add(f *file) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f.slot < 0 {
		f.slot = len(c.open)
		c.open = append(c.open, f)
	}
	c.closeDownTo(c.max, f)
}

// closeIdle closes half of the files, as far as nobody uses them: the process has
// no descriptor left. It reports whether it closed any.
func (c *Files) closeIdle() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	before := len(c.open)
	c.closeDownTo(before/2, nil)
	return len(c.open) < before
}

// closeDownTo closes files that nobody uses, but not keep, until only max are
// open. c.mu is held.
func (c *Files) closeDownTo(max int, keep *file) {
	for looked := 0; len(c.open) > max && looked < 2*len(c.open); looked++ {
		if c.hand >= len(c.open) {
			c.hand = 0
		}
		g := c.open[c.hand]
		if g == keep || g.used.Swap(false) {
			c.hand++
			continue
		}
		h := g.handle.Load()
		if h == nil || !h.refs.CompareAndSwap(1, 0) { // in use
			c.hand++
			continue
		}
		g.handle.CompareAndSwap(h, nil)
		c.remove(g)
		h.Close()
	}
}

// remove takes f out of the ring; c.mu is held.
func (c *Files) remove(f *file) {
	if f.slot < 0 {
		return
	}
	last := c.open[len(c.open)-1]
	c.open[f.slot], last.slot = last, f.slot
	c.open = c.open[:len(c.open)-1]
	f.slot = -1
}
