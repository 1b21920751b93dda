//go:build unix

package disk

import (
	"errors"

	"golang.org/x/sys/unix"
)

// Descriptors returns how many files and connections the process may have open at
// once.
func Descriptors() int {
	var l unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &l); err != nil {
		return noLimit
	}
	return int(min(uint64(l.Cur), noLimit))
}

// OutOfDescriptors reports whether err says that no more files can be open now,
// which is no fault of the disk.
func OutOfDescriptors(err error) bool {
	return errors.Is(err, unix.EMFILE) || errors.Is(err, unix.ENFILE)
}
