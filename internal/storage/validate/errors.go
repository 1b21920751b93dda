package validate

import (
	"errors"
	"fmt"
)

// Why a batch is refused; match with errors.Is. Each stands for one answer that
// Kafka gives, whose name is behind it.
var (
	ErrCorrupt         = errors.New("corrupt batch")                          // CORRUPT_MESSAGE
	ErrInvalidRecord   = errors.New("invalid record")                         // INVALID_RECORD, perhaps an [*InvalidRecordsError]
	ErrUnreadable      = errors.New("records cannot be read")                 // UNKNOWN_SERVER_ERROR: good checksum, unreadable content
	ErrTooLarge        = errors.New("batch is larger than max.message.bytes") // MESSAGE_TOO_LARGE
	ErrBatchTooLarge   = errors.New("batch is larger than segment.bytes")     // RECORD_LIST_TOO_LARGE
	ErrTimestamp       = errors.New("timestamp out of range")                 // INVALID_TIMESTAMP, an [*InvalidRecordsError]
	ErrCompressionType = errors.New("compression type needs a newer request") // UNSUPPORTED_COMPRESSION_TYPE
)

// MaxRecordErrors is how many records an [InvalidRecordsError] lists at most.
// Kafka lists all, which makes the answer to a bad batch larger than the batch.
const MaxRecordErrors = 1000

// An InvalidRecordsError says which records of a refused batch are why. It
// matches Err.
type InvalidRecordsError struct {
	Err     error         // ErrInvalidRecord or ErrTimestamp
	Records []RecordError // in the order of the batch, MaxRecordErrors at most
}

// A RecordError is one of them.
type RecordError struct {
	Index   int // in the batch, from 0
	Message string
}

func (e *InvalidRecordsError) Error() string {
	if len(e.Records) == 0 {
		return e.Err.Error()
	}
	return fmt.Sprintf("%v: record %d of the batch: %s", e.Err, e.Records[0].Index, e.Records[0].Message)
}

func (e *InvalidRecordsError) Unwrap() error { return e.Err }
