// Package storage keeps partition logs in the directories of an Apache Kafka
// broker, byte for byte as Kafka keeps them: segments, indexes, producer
// snapshots, leader epochs, checkpoints, and the renames by which they come and
// go. It knows no protocol and no cluster.
//
//	Store   the log directories of a broker: their locks, checkpoints,
//	        partitions, deletions, moves and failures
//	Log     one partition: append, read, look up, roll, truncate, retain, clean,
//	        recover
//
// Those who change a log take turns; readers work on an immutable view of it and
// take no lock. Nothing is kept in memory for a batch, so that memory
// does not grow with the data.
//
// The package returns values and errors. What an operator should know although
// nothing failed (a torn tail was cut, a log directory went offline) goes to
// the [Notice] function of the options.
package storage

import (
	"errors"
	"fmt"

	"kf/internal/format/codec"
	"kf/internal/storage/validate"
)

// A Config holds the settings of one log. The names are those of Kafka's topic
// configurations, which define them; durations are in milliseconds as there,
// -1 for unlimited where Kafka has it.
type Config struct {
	SegmentBytes       int32
	SegmentMs          int64
	SegmentJitterMs    int64
	SegmentIndexBytes  int32 // segment.index.bytes
	IndexIntervalBytes int32
	Preallocate        bool

	FlushMessages int64 // flush.messages; math.MaxInt64 for never
	FlushMs       int64

	RetentionBytes    int64
	RetentionMs       int64
	FileDeleteDelayMs int64

	Compact            bool // cleanup.policy has "compact"
	Delete             bool // cleanup.policy has "delete"
	MinCleanableRatio  float64
	MinCompactionLagMs int64
	MaxCompactionLagMs int64
	DeleteRetentionMs  int64

	MaxMessageBytes int32 // of a batch, its first 12 bytes included
	MaxDecompressed int32 // max.decompressed.message.bytes: of a record of a compressed batch; 0 for any
	// Codec is compression.type; nil stands for "producer": as it comes.
	Codec       *codec.ID
	GzipLevel   int
	LZ4Level    int
	ZstdLevel   int
	AppendTime  bool  // message.timestamp.type is LogAppendTime
	BeforeMaxMs int64 // message.timestamp.before.max.ms
	AfterMaxMs  int64 // message.timestamp.after.max.ms

	// ProducerExpirationMs is the broker's producer.id.expiration.ms.
	ProducerExpirationMs int64
	// Sync makes an append return only when its bytes are on the disk
	// (kf serve --sync); several appends share one fsync.
	Sync bool
}

// A Notice is something that an operator should know although nothing failed.
type Notice struct {
	Level   Level
	Path    string // file or directory it is about
	Message string // what was found and what was done, one line
}

// A Level says how grave a [Notice] is.
type Level int8

const (
	Info  Level = iota
	Warn        // bytes were set aside, or something was rebuilt that should not have needed it
	Error       // something is out of service
)

// The errors that appends and reads give; match with errors.Is. Each stands for
// one answer that Kafka gives, its name in package kerr is behind it.
var (
	ErrCorrupt           = validate.ErrCorrupt                                      // CORRUPT_MESSAGE
	ErrInvalidRecord     = validate.ErrInvalidRecord                                // INVALID_RECORD, see [InvalidRecordsError]
	ErrUnreadable        = validate.ErrUnreadable                                   // UNKNOWN_SERVER_ERROR: good checksum, unreadable content
	ErrTooLarge          = validate.ErrTooLarge                                     // MESSAGE_TOO_LARGE
	ErrBatchTooLarge     = validate.ErrBatchTooLarge                                // RECORD_LIST_TOO_LARGE
	ErrTimestamp         = validate.ErrTimestamp                                    // INVALID_TIMESTAMP, see [InvalidRecordsError]
	ErrSequence          = errors.New("sequence number out of order")               // OUT_OF_ORDER_SEQUENCE_NUMBER
	ErrProducerEpoch     = errors.New("producer epoch is old")                      // INVALID_PRODUCER_EPOCH
	ErrTxnState          = errors.New("batch does not fit the open transaction")    // INVALID_TXN_STATE
	ErrCoordinatorFenced = errors.New("marker of an older transaction coordinator") // TRANSACTION_COORDINATOR_FENCED
	ErrCompressionType   = validate.ErrCompressionType                              // UNSUPPORTED_COMPRESSION_TYPE
	ErrOffsetOutOfRange  = errors.New("offset out of range")                        // OFFSET_OUT_OF_RANGE
	ErrOffline           = errors.New("log directory is offline")                   // KAFKA_STORAGE_ERROR
	ErrClosed            = errors.New("log is closed")                              // NOT_LEADER_OR_FOLLOWER: deleted or moved meanwhile
)

// An InvalidRecordsError says which records of a refused batch are why.
type InvalidRecordsError = validate.InvalidRecordsError

// A RecordError is one of them.
type RecordError = validate.RecordError

// An Origin says who makes an append, which decides what is checked.
type Origin int8

const (
	// FromClient: a produce request. Everything is checked.
	FromClient Origin = iota
	// FromCoordinator: a group or transaction coordinator, or the controller.
	// Sequences are not checked, control batches are allowed.
	FromCoordinator
)

// An AppendOptions says how a leader appends.
type AppendOptions struct {
	LeaderEpoch int32
	Origin      Origin
	NoZstd      bool // the produce request is of a version that must not carry zstd
}

// An Appended is what an append did.
type Appended struct {
	FirstOffset int64 // of the batch, or of the earlier one if it is a duplicate
	LastOffset  int64
	// LogAppendTime is the time the broker gave the batch, ms; -1 if it kept
	// the producer's. For a duplicate it is the time of the earlier batch.
	LogAppendTime  int64
	LogStartOffset int64
	Duplicate      bool // one of the producer's last five batches: nothing was written
}

// A Bound says up to where a read may go.
type Bound int8

const (
	ToHighWatermark    Bound = iota // read_uncommitted
	ToLastStableOffset              // read_committed
	ToLogEnd                        // a follower's, or the broker's own
)

// A Read is what [Log.Read] found. The caller releases Data when it is done.
type Read struct {
	// Data lies in one segment, starts with the batch that holds the offset
	// asked for, and may end inside a batch. Its length is 0 if there is
	// nothing below the bound.
	Data             Region
	HighWatermark    int64
	LastStableOffset int64
	LogStartOffset   int64
	// Aborted has, with ToLastStableOffset, the aborted transactions that
	// overlap Data, by first offset; else it is nil.
	Aborted []AbortedTxn
}

// An AbortedTxn is a transaction whose records are to be left out from
// FirstOffset to its marker.
type AbortedTxn struct {
	ProducerID  int64
	FirstOffset int64
}

// A Found is the answer to a look-up by time; Offset is -1 if there is none.
type Found struct {
	Timestamp   int64 // of the record at Offset, ms; -1 if it has none
	Offset      int64
	LeaderEpoch int32 // of the batch, -1 if unknown
}

// A TopicPartition names a partition.
type TopicPartition struct {
	Topic     string
	Partition int32
}

func (tp TopicPartition) String() string { return fmt.Sprintf("%s-%d", tp.Topic, tp.Partition) }
