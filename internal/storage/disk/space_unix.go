//go:build unix

package disk

import (
	"math"
	"math/bits"

	"golang.org/x/sys/unix"
)

// Space returns the size of the volume that a path is on, and how much of it this
// process may still use, in bytes. A volume without a limit has
// math.MaxInt64.
func Space(path string) (total, usable int64, err error) {
	var s unix.Statfs_t
	if err := unix.Statfs(path, &s); err != nil {
		return 0, 0, err
	}
	bytes := func(blocks uint64) int64 {
		high, low := bits.Mul64(blocks, uint64(s.Bsize))
		if high > 0 || low > math.MaxInt64 {
			return math.MaxInt64
		}
		return int64(low)
	}
	return bytes(uint64(s.Blocks)), bytes(uint64(max(0, s.Bavail))), nil
}
