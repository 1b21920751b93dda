package storage

import (
	"context"
	"os"

	"kf/internal/storage/disk"
)

// TODO(contract): the bodies of this file are stubs until the log is written.

// LogOptions say where a log is and how it was left.
type LogOptions struct {
	FS     disk.FS
	Dir    string // the partition directory; it exists
	Config Config
	Notice func(Notice)

	// Failed is called with the error of a file operation that failed, which
	// means that the disk did: the store takes the log directory offline. It
	// must not call the log.
	Failed func(error)

	// What the checkpoint files of the log directory say; 0 where they say
	// nothing.
	RecoveryPoint  int64
	LogStartOffset int64
	HighWatermark  int64
	// Clean says that the log was closed by a clean stop: it is trusted after
	// a look at its tail instead of recovered from the recovery point.
	Clean bool
}

// A Log is the log of one partition.
type Log struct{}

// OpenLog opens the log of a directory and recovers it if need be; an empty
// directory becomes an empty log that starts at LogStartOffset.
func OpenLog(ctx context.Context, o LogOptions) (*Log, error) { panic("stub") }

// Append appends the one batch p as the leader: it checks it, gives it its
// offset and leader epoch in place, and writes it. p is the log's to change
// until Append returns. Nothing is written if it returns an error.
func (l *Log) Append(p []byte, o AppendOptions) (Appended, error) { panic("stub") }

// AppendAsFollower appends batches as the leader has them, which hold their
// offsets and epochs already.
func (l *Log) AppendAsFollower(p []byte) (Appended, error) { panic("stub") }

// Read returns where the records from offset on lie, at most max bytes of them
// but at least one whole batch if whole is set. It fails with
// [ErrOffsetOutOfRange] below the log start offset and above the bound's end.
func (l *Log) Read(offset int64, max int, bound Bound, whole bool) (Read, error) { panic("stub") }

// LogStartOffset returns the first offset that may be read.
func (l *Log) LogStartOffset() int64 { panic("stub") }

// firstBase returns the base offset of the first segment.
func (l *Log) firstBase() int64 { panic("stub") }

// LogEndOffset returns the offset that the next record gets.
func (l *Log) LogEndOffset() int64 { panic("stub") }

// HighWatermark returns the offset below which records are committed.
func (l *Log) HighWatermark() int64 { panic("stub") }

// LastStableOffset returns the offset below which every transaction is decided.
func (l *Log) LastStableOffset() int64 { panic("stub") }

// SetHighWatermark moves the high watermark, which is kept between the log
// start and the log end offset.
func (l *Log) SetHighWatermark(offset int64) { panic("stub") }

// SetConfig changes the settings of the log from the next operation on.
func (l *Log) SetConfig(c Config) { panic("stub") }

// BecomeLeader notes that from the log end offset on records have a leader
// epoch, in leader-epoch-checkpoint, before any is written.
func (l *Log) BecomeLeader(epoch int32) error { panic("stub") }

// LatestEpoch returns the leader epoch of the newest entry of the epoch cache.
func (l *Log) LatestEpoch() (epoch int32, ok bool) { panic("stub") }

// EpochEnd returns the largest known epoch at or below the given one, and the
// offset at which it ends; -1, -1 if there is none or the epoch lies above
// every known one, as Kafka answers OffsetForLeaderEpoch.
func (l *Log) EpochEnd(epoch int32) (found int32, end int64) { panic("stub") }

// EpochAt returns the leader epoch of the record at an offset, -1 if unknown.
func (l *Log) EpochAt(offset int64) int32 { panic("stub") }

// FindTime returns the first record at or after a time, by Kafka's rules, of
// those below bound.
func (l *Log) FindTime(timestamp int64, bound Bound) (Found, error) { panic("stub") }

// MaxTime returns the record with the highest timestamp, the first of several.
func (l *Log) MaxTime() (Found, error) { panic("stub") }

// RaiseLogStart moves the log start offset up (DeleteRecords): to the high
// watermark at most, else it fails with ErrOffsetOutOfRange; downwards it does
// nothing. It returns the log start offset.
func (l *Log) RaiseLogStart(offset int64) (int64, error) { panic("stub") }

// TruncateTo removes all records from the batch that holds offset on.
func (l *Log) TruncateTo(offset int64) error { panic("stub") }

// TruncateAll removes everything and starts the log anew at offset.
func (l *Log) TruncateAll(offset int64) error { panic("stub") }

// Retain deletes the segments that retention and the log start offset no longer
// want, and rolls what segment.ms ends. It returns their number.
func (l *Log) Retain() (deleted int, err error) { panic("stub") }

// Flush makes everything up to the log end durable and moves the recovery
// point there.
func (l *Log) Flush() error { panic("stub") }

// RecoveryPoint returns the first offset that is not known to be on the disk.
func (l *Log) RecoveryPoint() int64 { panic("stub") }

// Size returns the bytes of all segments.
func (l *Log) Size() int64 { panic("stub") }

// Close ends the use of the log as a clean stop does: flushed, indexes
// trimmed, producer snapshot written.
func (l *Log) Close() error { panic("stub") }

// Abandon ends the use of the log without writing anything: its directory is
// offline or going away. Operations under way and later ones fail with err.
func (l *Log) Abandon(err error) { panic("stub") }

// A Region is a range of bytes of a segment file. The file stays open, even if
// the segment is deleted meanwhile, until Release.
type Region struct {
	pos int64
	n   int
}

// Len returns the number of bytes.
func (r *Region) Len() int { return r.n }

// Pos returns the position of the first byte in the file.
func (r *Region) Pos() int64 { return r.pos }

// Truncate makes the region shorter; n is at most its length.
func (r *Region) Truncate(n int) { r.n = n }

// ReadAt reads from the region; off counts from its first byte.
func (r *Region) ReadAt(p []byte, off int64) (int, error) { panic("stub") }

// OS returns the file for sendfile(2), nil if there is none.
func (r *Region) OS() *os.File { panic("stub") }

// Release ends the use of the region. It may be called more than once.
func (r *Region) Release() { panic("stub") }
