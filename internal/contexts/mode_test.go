//go:build unix

package contexts_test

import (
	"io/fs"
	"os"
	"syscall"
	"testing"

	"kf/internal/contexts"
)

func TestCheckOwner(t *testing.T) {
	me := uint32(os.Geteuid())
	for _, tt := range []struct {
		uid  uint32
		mode fs.FileMode
		want bool
	}{
		{me, 0o644, true},
		{0, 0o644, true},
		{me + 1, 0o600, false},
		{me, 0o666, false},
		{me, 0o664, true}, // a group of the user's own, as most systems have it
		{me, fs.ModeSymlink | 0o777, true},
		{me + 1, fs.ModeSymlink | 0o777, false},
	} {
		err := contexts.CheckOwner("FILE", info{sys: &syscall.Stat_t{Uid: tt.uid}, mode: tt.mode})
		if (err == nil) != tt.want {
			t.Errorf("uid %d, %v: got %v", tt.uid, tt.mode, err)
		}
	}
}

// info is a file of somebody.
type info struct {
	fs.FileInfo
	sys  any
	mode fs.FileMode
}

func (i info) Sys() any          { return i.sys }
func (i info) Mode() fs.FileMode { return i.mode }
