package disk_test

import (
	"path/filepath"
	"testing"

	"kf/internal/storage/disk"
)

func TestSpace(t *testing.T) {
	total, usable, err := disk.Space(t.TempDir())
	if err != nil || usable <= 0 || usable > total {
		t.Errorf("%d of %d bytes, %v", usable, total, err)
	}
	if _, _, err := disk.Space(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("a path that is not there has space")
	}
}
