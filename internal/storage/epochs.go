package storage

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"sync/atomic"

	"kf/internal/format/checkpoint"
	"kf/internal/logdir"
	"kf/internal/storage/disk"
)

// epochs is the leader epoch cache of a log: from which offset on records have
// which leader epoch. Both rise strictly. One goroutine changes it, any number
// read it.
//
// Source: Kafka 4.4.0, LeaderEpochFileCache.java.
type epochs struct {
	fsys    disk.FS
	path    string
	entries atomic.Pointer[[]checkpoint.Epoch] // never changed in place
	dirty   bool                               // the file holds more than entries
}

// epochsLimit bounds the file: 2.5 million epochs.
const epochsLimit = 64 << 20

func (c *epochs) init(fsys disk.FS, dir string) {
	c.fsys, c.path = fsys, filepath.Join(dir, logdir.NameLeaderEpochCheckpoint)
	c.entries.Store(new([]checkpoint.Epoch))
}

// load reads the file; one that is not there is made, empty, as Kafka does. It
// fails with an error of package checkpoint if the file is damaged.
func (c *epochs) load() error {
	p, err := disk.ReadFile(c.fsys, c.path, epochsLimit)
	if errors.Is(err, fs.ErrNotExist) {
		return create(c.fsys, c.path)
	}
	if err != nil {
		return err
	}
	read, err := checkpoint.DecodeEpochs(p)
	if err != nil {
		return err
	}
	var entries []checkpoint.Epoch
	for _, e := range read {
		entries = assigned(entries, e)
	}
	c.entries.Store(&entries)
	return nil
}

func (c *epochs) all() []checkpoint.Epoch { return *c.entries.Load() }

// assigned returns entries with e at the end: what it contradicts goes. It
// returns entries itself if they say so already.
func assigned(entries []checkpoint.Epoch, e checkpoint.Epoch) []checkpoint.Epoch {
	n := len(entries)
	if n > 0 && entries[n-1].Epoch == e.Epoch && entries[n-1].StartOffset <= e.StartOffset {
		return entries
	}
	for n > 0 && (entries[n-1].Epoch >= e.Epoch || entries[n-1].StartOffset >= e.StartOffset) {
		n--
	}
	return append(slices.Clone(entries[:n]), e)
}

// assign notes that records from offset on have a leader epoch, in the file
// too. An unknown epoch, -1, changes nothing.
func (c *epochs) assign(epoch int32, offset int64) error {
	if epoch < 0 {
		return nil
	}
	old := c.all()
	if n := len(old); n > 0 && old[n-1].Epoch == epoch && old[n-1].StartOffset <= offset {
		return nil
	}
	next := assigned(old, checkpoint.Epoch{Epoch: epoch, StartOffset: offset})
	if err := c.write(next); err != nil {
		return err
	}
	c.entries.Store(&next)
	return nil
}

func (c *epochs) write(entries []checkpoint.Epoch) error {
	if err := disk.Replace(c.fsys, c.path, checkpoint.AppendEpochs(nil, entries)); err != nil {
		return err
	}
	c.dirty = false
	return nil
}

// flush writes what truncations left for later. A kill before leaves too many
// entries in the file, which the next start cuts again.
func (c *epochs) flush() error {
	if !c.dirty {
		return nil
	}
	return c.write(c.all())
}

func (c *epochs) replace(entries []checkpoint.Epoch) {
	c.entries.Store(&entries)
	c.dirty = true
}

// cutEnd forgets the epochs that begin at or above offset.
func (c *epochs) cutEnd(offset int64) {
	old := c.all()
	n := len(old)
	for n > 0 && old[n-1].StartOffset >= offset {
		n--
	}
	if n < len(old) {
		c.replace(old[:n:n])
	}
}

// cutStart forgets the epochs that end at or below offset.
func (c *epochs) cutStart(offset int64) {
	old := c.all()
	n := 0
	for n < len(old) && old[n].StartOffset <= offset {
		n++
	}
	if n == 0 || n == 1 && old[0].StartOffset == offset {
		return
	}
	kept := slices.Clone(old[n-1:])
	kept[0].StartOffset = offset
	c.replace(kept)
}

// clear forgets everything, in the file too.
func (c *epochs) clear() error {
	c.entries.Store(new([]checkpoint.Epoch))
	return c.write(nil)
}

func (c *epochs) latest() (epoch int32, ok bool) {
	all := c.all()
	if len(all) == 0 {
		return 0, false
	}
	return all[len(all)-1].Epoch, true
}

// end returns the largest epoch at or below the given one and where it ends.
func (c *epochs) end(epoch int32, logEnd int64) (found int32, end int64) {
	all := c.all()
	n := len(all)
	switch {
	case epoch < 0 || n == 0 || epoch > all[n-1].Epoch:
		return -1, -1
	case epoch == all[n-1].Epoch:
		return epoch, logEnd
	}
	i := slices.IndexFunc(all, func(e checkpoint.Epoch) bool { return e.Epoch > epoch })
	if i == 0 {
		return epoch, all[0].StartOffset
	}
	return all[i-1].Epoch, all[i].StartOffset
}

// at returns the epoch of the record at offset, -1 if it is unknown.
func (c *epochs) at(offset int64) int32 {
	found := int32(-1)
	for _, e := range c.all() {
		if e.StartOffset > offset {
			break
		}
		found = e.Epoch
	}
	return found
}

// damagedText reports whether err says that a text file was read and is wrong.
func damagedText(err error) bool {
	_, ok := errors.AsType[*checkpoint.Error](err)
	return ok
}

// setAside gives the damaged file another name, so that a new one can be made.
func (c *epochs) setAside(why error) (Notice, error) {
	kept := c.path + logdir.KeptSuffix
	if err := c.fsys.Rename(c.path, kept); err != nil {
		return Notice{}, err
	}
	return Notice{Warn, c.path, fmt.Sprintf("%v: kept as %s and made anew from the batches", why, filepath.Base(kept))}, nil
}
