package disk_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"kf/internal/storage/disk"
)

func TestReplace(t *testing.T) {
	name := filepath.Join(t.TempDir(), "file")
	for _, want := range []string{"long content", "short", ""} {
		if err := disk.Replace(disk.OS, name, []byte(want)); err != nil {
			t.Fatal(err)
		}
		got, err := disk.ReadFile(disk.OS, name, 100)
		if err != nil || string(got) != want {
			t.Errorf("got %q, %v; want %q", got, err, want)
		}
		if _, err := os.Stat(name + ".tmp"); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("temporary file: %v", err)
		}
	}
}

func TestReadFileLimit(t *testing.T) {
	name := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(name, make([]byte, 11), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := disk.ReadFile(disk.OS, name, 10); err == nil {
		t.Error("11 bytes were read under a limit of 10")
	}
	if p, err := disk.ReadFile(disk.OS, name, 11); err != nil || len(p) != 11 {
		t.Errorf("got %d bytes, %v", len(p), err)
	}
}

// lockEnv names the directory that the test program locks when it is run as a
// second process.
const lockEnv = "KF_TEST_LOCK_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(lockEnv); dir != "" {
		_, err := disk.LockDir(disk.OS, dir)
		if errors.Is(err, disk.ErrLocked) {
			os.Exit(3)
		}
		if err != nil {
			os.Exit(4)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// second locks dir in another process and returns its exit code: 0 if it got
// the lock, 3 if it was held.
func second(t *testing.T, dir string) int {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), lockEnv+"="+dir)
	err := cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.ExitCode()
	}
	if err != nil {
		t.Fatal(err)
	}
	return 0
}

func TestLockDir(t *testing.T) {
	dir := t.TempDir()
	l, err := disk.LockDir(disk.OS, dir)
	if err != nil {
		t.Fatal(err)
	}
	if got := second(t, dir); got != 3 {
		t.Errorf("another process, while it is held: exit code %d, want 3", got)
	}
	// A lock of the process would be lost here.
	p, err := os.ReadFile(filepath.Join(dir, disk.LockName))
	if err != nil || len(p) != 0 {
		t.Errorf("got %q, %v", p, err)
	}
	if got := second(t, dir); got != 3 {
		t.Errorf("after another descriptor was closed: exit code %d, want 3", got)
	}
	if err := l.Release(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, disk.LockName)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file is still there after a release: %v", err)
	}
	if got := second(t, dir); got != 0 {
		t.Errorf("after the release: exit code %d, want 0", got)
	}
}
