//go:build unix

package contexts

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// CheckMode fails if the mode of a file with secrets lets others in: those that mask
// names of the permission bits.
func CheckMode(path string, info fs.FileInfo, mask fs.FileMode) error {
	mode := info.Mode()
	if !mode.IsRegular() || mode.Perm()&mask == 0 { // a pipe is nobody else's
		return nil
	}
	return fmt.Errorf("%s: others can read the secrets in it (its mode is %04o): chmod 600 %s", path, mode.Perm(), path)
}

// CheckOwner fails if somebody else could have written the file.
func CheckOwner(path string, info fs.FileInfo) error {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok && stat.Uid != 0 && int(stat.Uid) != os.Geteuid() {
		return fmt.Errorf("%s: belongs to another user (uid %d), whom kf does not trust", path, stat.Uid)
	}
	if mode := info.Mode(); mode.IsRegular() && mode.Perm()&0o002 != 0 {
		return fmt.Errorf("%s: everybody can write to it (its mode is %04o): chmod o-w %s", path, mode.Perm(), path)
	}
	return nil
}
