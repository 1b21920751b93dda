package disktest_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"kf/internal/storage/disk"
	"kf/internal/storage/disktest"
)

// write writes p through a new file of fs.
func write(fs disk.FS, path string, p string) error {
	f, err := fs.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteAt([]byte(p), 0)
	return errors.Join(err, f.Sync(), f.Close())
}

func TestStopAt(t *testing.T) {
	for n, want := range []string{"missing", "ab", "abcd", "abcd"} { // create, write, sync, none
		dir := t.TempDir()
		path := filepath.Join(dir, "f")
		fs := disktest.New(disktest.StopAt(n, 50))
		err := write(fs, path, "abcd")
		if (err != nil) != (n < 3) || n < 3 && !errors.Is(err, disktest.ErrStopped) {
			t.Errorf("stopped at %d: %v", n, err)
		}
		if _, err := fs.Stat(path); n < 3 && !errors.Is(err, disktest.ErrStopped) {
			t.Errorf("stat after the stop at %d: %v", n, err)
		}
		if err := fs.Remove(path); n < 3 && !errors.Is(err, disktest.ErrStopped) {
			t.Errorf("remove after the stop at %d: %v", n, err)
		}
		got, err := os.ReadFile(path)
		if err != nil && n < 3 {
			got = []byte("missing")
		}
		if n < 3 && string(got) != want {
			t.Errorf("stopped at %d: the file is %q, want %q", n, got, want)
		}
	}
}

func TestFailOn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	full := true
	fs := disktest.New(disktest.FailOn(func(op disktest.Op) bool { return full && op.Kind == disktest.Write }, disktest.ErrNoSpace, 75))
	if err := write(fs, path, "abcd"); !errors.Is(err, disktest.ErrNoSpace) {
		t.Errorf("a write to a full disk: %v", err)
	}
	if got, err := os.ReadFile(path); string(got) != "abc" {
		t.Errorf("three of four bytes are there: %q, %v", got, err)
	}
	full = false
	if err := write(fs, path, "abcd"); err != nil {
		t.Errorf("with space again: %v", err)
	}
	if n := fs.Ops(); n != 5 { // create, twice write and sync
		t.Errorf("%d operations, want 5", n)
	}
}
