package contexts

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"go.yaml.in/yaml/v3"

	"kf/internal/storage/disk"
)

// Update reads the file at path, lets change change it, and writes it: at once or not
// at all, readable by the user alone. If change fails, nothing is written. No other
// kf changes the file meanwhile.
func Update(path string, change func(*File) error) (err error) {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target // the link stays one
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	lock, err := lockDir(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Release()) }()
	f, err := Load(path)
	if err != nil {
		return err
	}
	if err := change(f); err != nil {
		return err
	}
	text, err := f.Text()
	if err != nil {
		return err
	}
	return replace(path, text)
}

// patience is how long Update waits for another kf that writes, which takes
// milliseconds.
const patience = 5 * time.Second

// lockDir locks the directory of the file.
func lockDir(dir string) (*disk.Lock, error) {
	for end := time.Now().Add(patience); ; time.Sleep(patience / 500) {
		lock, err := disk.LockDir(disk.OS, dir)
		if !errors.Is(err, disk.ErrLocked) || time.Now().After(end) {
			return lock, err
		}
	}
}

// Text returns the text of the file.
func (f *File) Text() ([]byte, error) {
	f.root()
	var b bytes.Buffer
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	if err := errors.Join(e.Encode(f.doc), e.Close()); err != nil {
		return nil, fmt.Errorf("%s: %w", f.Path, err)
	}
	if again, err := Parse(f.Path, b.Bytes()); err != nil || len(again.list) != len(f.list) {
		return nil, fmt.Errorf("%s: would not be read again as it is written: %w", f.Path, err)
	}
	return b.Bytes(), nil
}

// replace gives a file new content at once or not at all.
func replace(path string, text []byte) (err error) {
	tmp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*") // mode 0600
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			if removeErr := os.Remove(tmp.Name()); !errors.Is(removeErr, fs.ErrNotExist) {
				err = errors.Join(err, removeErr)
			}
		}
	}()
	_, err = tmp.Write(text)
	if err = errors.Join(err, tmp.Sync(), tmp.Close()); err != nil {
		return err
	}
	if err := os.Rename(tmp.Name(), path); err != nil {
		return err
	}
	return disk.OS.SyncDir(filepath.Dir(path))
}
