package disk

import (
	"errors"

	"golang.org/x/sys/windows"
)

// Descriptors returns how many files and connections the process may have open at
// once.
func Descriptors() int { return noLimit }

// OutOfDescriptors reports whether err says that no more files can be open now,
// which is no fault of the disk.
func OutOfDescriptors(err error) bool { return errors.Is(err, windows.ERROR_TOO_MANY_OPEN_FILES) }
