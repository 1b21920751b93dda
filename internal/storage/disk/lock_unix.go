//go:build unix

package disk

import (
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

func lock(f *os.File) error {
	whole := unix.Flock_t{Type: unix.F_WRLCK, Whence: io.SeekStart}
	err := unix.FcntlFlock(f.Fd(), setLock, &whole)
	if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EACCES) {
		return ErrLocked
	}
	return err
}
