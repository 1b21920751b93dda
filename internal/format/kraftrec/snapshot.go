package kraftrec

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// ErrSnapshotName says that a name is not that of a snapshot.
var ErrSnapshotName = errors.New("not the name of a metadata snapshot")

// A SnapshotID is what the name of a snapshot says: it has the state up to but
// without Offset, and Epoch is that of the record before it.
type SnapshotID struct {
	Offset int64
	Epoch  int32
}

// Less orders snapshots by epoch, then offset, as Kafka does.
func (id SnapshotID) Less(other SnapshotID) bool {
	if id.Epoch != other.Epoch {
		return id.Epoch < other.Epoch
	}
	return id.Offset < other.Offset
}

// String returns the name of the complete snapshot.
func (id SnapshotID) String() string {
	return fmt.Sprintf("%020d-%010d%s", id.Offset, id.Epoch, snapshotSuffix)
}

// A SnapshotState says how far a snapshot file is.
type SnapshotState uint8

// The states, told by the end of the name.
const (
	SnapshotComplete SnapshotState = iota // .checkpoint
	SnapshotPartial                       // .checkpoint.part: being written, removed at start
	SnapshotDeleted                       // .checkpoint.deleted: to be removed
)

const (
	snapshotSuffix = ".checkpoint"
	offsetDigits   = 20
	epochDigits    = 10
)

// ParseSnapshotName parses the base name of a snapshot file. As Kafka does it
// takes 20 characters as the offset and, after one more, 10 as the epoch, and
// ignores what stands between them and the suffix.
func ParseSnapshotName(name string) (SnapshotID, SnapshotState, error) {
	var state SnapshotState
	switch {
	case strings.HasSuffix(name, snapshotSuffix):
	case strings.HasSuffix(name, snapshotSuffix+".part"):
		state = SnapshotPartial
	case strings.HasSuffix(name, snapshotSuffix+".deleted"):
		state = SnapshotDeleted
	default:
		return SnapshotID{}, 0, fmt.Errorf("%w: no %s at the end", ErrSnapshotName, snapshotSuffix)
	}
	if len(name) < offsetDigits+1+epochDigits {
		return SnapshotID{}, 0, fmt.Errorf("%w: too short", ErrSnapshotName)
	}
	offset, err := strconv.ParseInt(name[:offsetDigits], 10, 64)
	if err != nil {
		return SnapshotID{}, 0, fmt.Errorf("%w: offset: %w", ErrSnapshotName, err)
	}
	epoch, err := strconv.ParseInt(name[offsetDigits+1:offsetDigits+1+epochDigits], 10, 32)
	if err != nil {
		return SnapshotID{}, 0, fmt.Errorf("%w: epoch: %w", ErrSnapshotName, err)
	}
	return SnapshotID{offset, int32(epoch)}, state, nil
}
