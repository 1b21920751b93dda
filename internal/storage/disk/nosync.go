package disk

import "io/fs"

// NoSync returns fsys without its syncs: for data that need not outlive the
// process, it leaves it to the operating system when anything reaches the disk.
func NoSync(fsys FS) FS { return noSync{fsys} }

type noSync struct{ FS }

func (n noSync) OpenFile(name string, flag int, perm fs.FileMode) (File, error) {
	f, err := n.FS.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return noSyncFile{f}, nil
}

func (noSync) SyncDir(string) error { return nil }

type noSyncFile struct{ File }

func (noSyncFile) Sync() error { return nil }
