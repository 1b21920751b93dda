//go:build unix && !linux

package disk

import "golang.org/x/sys/unix"

// setLock takes a lock of the process, as Java does.
const setLock = unix.F_SETLK
