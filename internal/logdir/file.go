// Package logdir knows what lies where in a Kafka data directory: it takes names
// apart as Kafka does, recognises files that lost theirs, and lists directories
// without opening a file.
//
// A log directory, an entry of log.dirs, holds
//
//	meta.properties  .lock  .kafka_cleanshutdown  bootstrap.checkpoint
//	{recovery-point,log-start,replication,cleaner}-offset-checkpoint
//	remote-log-index-cache/             <start offset>_<segment uuid>.index, .timeindex, .txnindex
//	<topic>-<partition>/                a partition
//	<topic>-<partition>.<id>-future/    a replica that moves here from another log directory
//	<topic>-<partition>.<id>-delete/    to be removed; a long topic is cut
//	<topic>-<partition>.<id>-stray/     unknown to the cluster; a long topic is cut
//
// and a partition directory
//
//	<base offset>.log  .index  .timeindex  .txnindex
//	<offset>.snapshot                   producer state below the offset
//	leader-epoch-checkpoint  partition.metadata
//	<offset>-<epoch>.checkpoint         metadata snapshot, only in __cluster_metadata-0
//	quorum-state                        only there
//
// Offsets in names have 20 digits, epochs 10; a reader takes the offset from
// what is in front of the first dot, whatever its length. A further suffix says
// what becomes of a file: [State].
//
// Source: Kafka 4.4.0, LocalLog.java, LogFileUtils.java, Snapshots.java,
// RemoteIndexCache.java and LogManager.java; not followed: Java also takes
// digits of other scripts for numbers.
package logdir

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"kf/internal/wire"
)

// A Kind is what a file is to be decoded as; "" stands for unknown. The values
// are what users type and read.
type Kind string

// The kinds of files that hold something to decode.
const (
	KindLog                   Kind = "log"
	KindIndex                 Kind = "index"
	KindTimeIndex             Kind = "timeindex"
	KindTxnIndex              Kind = "txnindex"
	KindProducerSnapshot      Kind = "producer-snapshot"
	KindMetadataSnapshot      Kind = "metadata-snapshot" // bootstrap.checkpoint too
	KindOffsetCheckpoint      Kind = "offset-checkpoint"
	KindLeaderEpochCheckpoint Kind = "leader-epoch-checkpoint"
	KindMetaProperties        Kind = "meta-properties"
	KindPartitionMetadata     Kind = "partition-metadata"
	KindQuorumState           Kind = "quorum-state"
	KindCleanShutdown         Kind = "clean-shutdown"

	// KindLock is the .lock file, which is empty. It is not one of [Kinds].
	KindLock Kind = "lock"
)

// Kinds returns all kinds that can be decoded.
func Kinds() []Kind {
	return []Kind{KindLog, KindIndex, KindTimeIndex, KindTxnIndex, KindProducerSnapshot, KindMetadataSnapshot,
		KindOffsetCheckpoint, KindLeaderEpochCheckpoint, KindMetaProperties, KindPartitionMetadata,
		KindQuorumState, KindCleanShutdown}
}

// ParseKind returns the kind that is written s, one of [Kinds].
func ParseKind(s string) (Kind, error) {
	if kinds := Kinds(); !slices.Contains(kinds, Kind(s)) {
		var names []string
		for _, kind := range kinds {
			names = append(names, string(kind))
		}
		return "", fmt.Errorf("unknown kind of file %q, want one of %s", s, strings.Join(names, ", "))
	}
	return Kind(s), nil
}

// A State is what becomes of a file, from the end of its name.
type State string

// The states.
const (
	StateLive    State = "live"
	StateDeleted State = "deleted" // removed after file.delete.delay.ms, or at the next start
	StateCleaned State = "cleaned" // being written by the cleaner; removed at the next start
	StateSwap    State = "swap"    // finished by the cleaner; replaces segments at the next start
	StatePart    State = "part"    // metadata snapshot being written or fetched; removed at the next start
	StateTmp     State = "tmp"     // being written, to be renamed; ignored
	StateKept    State = "kept"    // taken out of service by kf because of damage; ignored
)

// Names of files that have only one.
const (
	NameMetaProperties        = "meta.properties"
	NameLock                  = ".lock"
	NameCleanShutdown         = ".kafka_cleanshutdown"
	NameBootstrap             = "bootstrap.checkpoint"
	NameRecoveryPoint         = "recovery-point-offset-checkpoint"
	NameLogStart              = "log-start-offset-checkpoint"
	NameReplication           = "replication-offset-checkpoint"
	NameCleaner               = "cleaner-offset-checkpoint"
	NameLeaderEpochCheckpoint = "leader-epoch-checkpoint"
	NamePartitionMetadata     = "partition.metadata"
	NameQuorumState           = "quorum-state"
	NameRemoteIndexCache      = "remote-log-index-cache" // a directory
)

// A File is what the name of a file says.
type File struct {
	Name       string
	Kind       Kind // "" if the name says nothing
	State      State
	HasBase    bool      // BaseOffset is set
	BaseOffset int64     // of the segment; of a snapshot, the offset up to which it goes
	Epoch      int32     // of a metadata snapshot that has an offset
	SegmentID  wire.UUID // of a file in remote-log-index-cache, else zero
}

// ParseFileName takes the base name of a file apart. It never fails: a name that
// breaks Kafka, such as "foo.log", has a kind and no base offset.
func ParseFileName(name string) File {
	f := File{Name: name, State: StateLive}
	rest := name
	for {
		i := strings.LastIndexByte(rest, '.')
		if i < 0 {
			break
		}
		state := State(rest[i+1:])
		if !slices.Contains([]State{StateDeleted, StateCleaned, StateSwap, StatePart, StateTmp, StateKept}, state) {
			break
		}
		if f.State == StateLive {
			f.State = state // the last suffix counts
		}
		rest = rest[:i]
	}
	switch rest {
	case NameMetaProperties:
		f.Kind = KindMetaProperties
	case NameLock:
		f.Kind = KindLock
	case NameCleanShutdown:
		f.Kind = KindCleanShutdown
	case NameBootstrap:
		f.Kind = KindMetadataSnapshot
	case NameLeaderEpochCheckpoint:
		f.Kind = KindLeaderEpochCheckpoint
	case NamePartitionMetadata:
		f.Kind = KindPartitionMetadata
	case NameQuorumState:
		f.Kind = KindQuorumState
	default:
		f.parseNumbered(rest)
	}
	return f
}

// suffixes are those of the files that have an offset in their names.
var suffixes = map[Kind]string{
	KindLog:              ".log",
	KindIndex:            ".index",
	KindTimeIndex:        ".timeindex",
	KindTxnIndex:         ".txnindex",
	KindProducerSnapshot: ".snapshot",
	KindMetadataSnapshot: ".checkpoint",
}

func (f *File) parseNumbered(name string) {
	if strings.HasSuffix(name, "-offset-checkpoint") {
		f.Kind = KindOffsetCheckpoint
		return
	}
	for kind, suffix := range suffixes {
		if strings.HasSuffix(name, suffix) {
			f.Kind = kind
		}
	}
	switch f.Kind {
	case "":
	case KindMetadataSnapshot:
		f.parseSnapshotID(name)
	default:
		number, _, _ := strings.Cut(name, ".")
		if start, id, ok := strings.Cut(number, "_"); ok {
			segment, err := wire.ParseUUID(id)
			if err != nil {
				return
			}
			number, f.SegmentID = start, segment
		}
		base, err := strconv.ParseInt(number, 10, 64)
		f.HasBase = err == nil
		if f.HasBase {
			f.BaseOffset = base
		}
	}
}

// parseSnapshotID takes characters 0 to 19 and 21 to 30, whatever else there is.
func (f *File) parseSnapshotID(name string) {
	if len(name) < 31 {
		return
	}
	offset, err := strconv.ParseInt(name[:20], 10, 64)
	if err != nil {
		return
	}
	epoch, err := strconv.ParseInt(name[21:31], 10, 32)
	if err != nil {
		return
	}
	f.HasBase, f.BaseOffset, f.Epoch = true, offset, int32(epoch)
}

// FileName returns the name of a segment file or producer snapshot. The kind is
// one of those with an offset in its name, except KindMetadataSnapshot.
func FileName(kind Kind, base int64) string { return fmt.Sprintf("%020d%s", base, suffixes[kind]) }

// KeptSuffix ends the names of files that kf takes out of service and does not
// delete. Apache Kafka ignores them.
const KeptSuffix = "." + string(StateKept)

// KeptName returns the name for the bytes of a segment from pos on that kf takes
// out of service. What stands in front of the first dot is no number: Kafka would
// delete a file with a number there in the range of an interrupted compaction.
func KeptName(base, pos int64) string { return fmt.Sprintf("%020d-%d%s", base, pos, KeptSuffix) }

// MetadataSnapshotName returns the name of the metadata snapshot that holds what
// is below offset; epoch is that of the record before it.
func MetadataSnapshotName(offset int64, epoch int32) string {
	return fmt.Sprintf("%020d-%010d%s", offset, epoch, suffixes[KindMetadataSnapshot])
}
