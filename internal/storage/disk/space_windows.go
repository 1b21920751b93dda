package disk

import (
	"math"

	"golang.org/x/sys/windows"
)

// Space returns the size of the volume that a path is on, and how much of it this
// process may still use, in bytes. A volume without a limit has math.MaxInt64.
func Space(path string) (total, usable int64, err error) {
	name, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return 0, 0, err
	}
	var free, all uint64
	if err := windows.GetDiskFreeSpaceEx(name, &free, &all, nil); err != nil {
		return 0, 0, err
	}
	return int64(min(all, math.MaxInt64)), int64(min(free, math.MaxInt64)), nil
}
