package logdir

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// Topics that Kafka keeps its own state in.
const (
	TopicConsumerOffsets   = "__consumer_offsets"
	TopicTransactionState  = "__transaction_state"
	TopicShareGroupState   = "__share_group_state"
	TopicClusterMetadata   = "__cluster_metadata"
	TopicRemoteLogMetadata = "__remote_log_metadata"
)

// IsInternal reports whether Kafka keeps state of its own in a topic.
func IsInternal(topic string) bool {
	switch topic {
	case TopicConsumerOffsets, TopicTransactionState, TopicShareGroupState, TopicClusterMetadata, TopicRemoteLogMetadata:
		return true
	}
	return false
}

// A Role is what a partition directory is for, from the end of its name.
type Role string

// The roles.
const (
	RoleCurrent Role = "current" // served
	RoleFuture  Role = "future"  // being filled, to replace the current one of another log directory
	RoleDelete  Role = "delete"  // removed after file.delete.delay.ms
	RoleStray   Role = "stray"   // the cluster does not know it
)

// ErrPartitionDir says that a directory is no partition. A broker that finds
// one in a log directory does not start.
var ErrPartitionDir = errors.New("not the name of a partition directory")

// maxName is the longest name of a directory that Kafka makes, in bytes.
const maxName = 255

// A PartitionDir is what the name of a partition directory says.
type PartitionDir struct {
	Topic     string
	Partition int32
	Role      Role
	ID        string // 32 hexadecimal digits when Kafka made it, "" with RoleCurrent
}

var moved = regexp.MustCompile(`^[^\t-\r ]+-[^\t-\r ]+\.[^\t-\r ]+-(?:delete|future|stray)$`)

// ParsePartitionDir takes the base name of a directory apart. It fails with
// ErrPartitionDir where Kafka refuses the name. The topic may hold dashes and
// dots; with RoleDelete and RoleStray it may be cut: [PartitionDir.Cut].
func ParsePartitionDir(name string) (PartitionDir, error) {
	p := PartitionDir{Role: RoleCurrent}
	rest := name
	for _, role := range []Role{RoleDelete, RoleFuture, RoleStray} {
		if !strings.HasSuffix(name, "-"+string(role)) {
			continue
		}
		// "x-delete-0" is an ordinary name, "x-delete" is none.
		if !moved.MatchString(name) {
			return PartitionDir{}, fmt.Errorf("%w: %q ends in -%s without <topic>-<partition>.<id>", ErrPartitionDir, name, role)
		}
		dot := strings.LastIndexByte(name, '.')
		p.Role, p.ID = role, strings.TrimSuffix(name[dot+1:], "-"+string(role))
		rest = name[:dot]
	}
	dash := strings.LastIndexByte(rest, '-')
	if dash <= 0 {
		return PartitionDir{}, fmt.Errorf("%w: %q has no topic in front of a dash", ErrPartitionDir, name)
	}
	n, err := strconv.ParseInt(rest[dash+1:], 10, 32)
	if err != nil {
		return PartitionDir{}, fmt.Errorf("%w: %q has no partition number behind the last dash", ErrPartitionDir, name)
	}
	p.Topic, p.Partition = rest[:dash], int32(n)
	return p, nil
}

// Name returns the name of the directory; with RoleDelete and RoleStray the
// topic is cut where the name would be longer than 255 bytes.
func (p PartitionDir) Name() string {
	if p.Role == RoleCurrent {
		return fmt.Sprintf("%s-%d", p.Topic, p.Partition)
	}
	tail := fmt.Sprintf("-%d.%s-%s", p.Partition, p.ID, p.Role)
	if p.Role == RoleFuture {
		return p.Topic + tail
	}
	return p.Topic[:max(0, min(len(p.Topic), maxName-len(tail)))] + tail
}

// Cut reports whether Topic may be only the start of the topic's name.
func (p PartitionDir) Cut() bool {
	return (p.Role == RoleDelete || p.Role == RoleStray) && len(p.Name()) >= maxName
}

// PartitionOf returns the partition that the file at path belongs to, from the
// name of its directory; a relative path counts from the working directory. A
// file of a log directory, such as meta.properties, belongs to none, whatever
// the directory is called.
func PartitionOf(path string) (PartitionDir, bool) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return PartitionDir{}, false
	}
	switch f := ParseFileName(filepath.Base(abs)); f.Kind {
	case KindMetaProperties, KindOffsetCheckpoint, KindCleanShutdown, KindLock:
		return PartitionDir{}, false
	case KindMetadataSnapshot:
		if !f.HasBase && strings.HasPrefix(f.Name, NameBootstrap) {
			return PartitionDir{}, false
		}
	}
	p, err := ParsePartitionDir(filepath.Base(filepath.Dir(abs)))
	return p, err == nil
}
