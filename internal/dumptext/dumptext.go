// Package dumptext renders the records of Kafka's internal topics and of control
// batches: as the text of kafka-dump-log.sh, exact to the byte, and as JSON that
// also shows what a newer Kafka wrote.
//
// Text behind the record's metadata, by decoder:
//
//	offsets, transaction-log,  key: {"type":"1","data":{…}} payload: {"version":"3","data":{…}}
//	share-group-state          key: {"type":"1","data":{…}} payload: <DELETE>
//	                           key: Unknown record type 99 at offset 5, skipping.
//	                           key: Error at offset 5, skipping. …
//	cluster-metadata           payload: {"type":"TOPIC_RECORD","version":0,"data":{…}}
//	                           payload: Error at 5, skipping. …
//	remote-log-metadata        payload: RemoteLogSegmentMetadata{…}
//	                           payload: Error at offset 5, skipping. …
//
// Two values differ from Kafka's JSON of the body: transactionStatus is a name,
// and in a classic group of protocol type consumer the subscription and the
// assignment of a member are objects where they can be decoded.
//
// Source: Kafka 4.4.0, org.apache.kafka.tools.DumpLogSegments and its output.
package dumptext

import (
	"errors"
	"fmt"
	"strconv"

	"kf/internal/format/batch"
	"kf/internal/format/control"
	"kf/internal/format/grouprec"
	"kf/internal/format/kraftrec"
	"kf/internal/format/remoterec"
	"kf/internal/format/schema"
	"kf/internal/format/sharerec"
	"kf/internal/format/txnrec"
	"kf/internal/wire"
)

// A Record is what a decoder looks at. A nil key or value is null, which an empty
// one is not.
type Record struct {
	Offset     int64
	Key, Value []byte
}

// A Decoder appends the text of a record: prefix before the first of "key: " and
// "payload: ", a blank before the second. It may be used by several goroutines. An
// error is a [*FatalError]; nothing is appended then.
type Decoder interface {
	Append(dst []byte, prefix string, rec Record) ([]byte, error)
}

// A FatalError is an exception that ends the run of kafka-dump-log.sh.
type FatalError struct {
	Class   string // java.lang.RuntimeException
	Message string // "" if it has none
}

// Error returns what Java prints behind `Exception in thread "main" `.
func (e *FatalError) Error() string {
	if e.Message == "" {
		return e.Class
	}
	return e.Class + ": " + e.Message
}

// ShortStack reports whether Java prints no stack lines under the message, as it
// does for exceptions of Kafka's protocol.
func (e *FatalError) ShortStack() bool { return e.Class == invalidRecord }

const (
	runtimeException = "java.lang.RuntimeException"
	nullPointer      = "java.lang.NullPointerException"
	invalidRecord    = "org.apache.kafka.common.InvalidRecordException"
	bufferUnderflow  = "java.nio.BufferUnderflowException"
	illegalArgument  = "java.lang.IllegalArgumentException"
	negativeSize     = "java.lang.NegativeArraySizeException"
)

// A Topic is one of Kafka's internal topics; it is the decoder of its records.
type Topic uint8

// The topics, with the flag of kafka-dump-log.sh for each.
const (
	ConsumerOffsets   Topic = iota // --offsets-decoder
	TransactionState               // --transaction-log-decoder
	ClusterMetadata                // --cluster-metadata-decoder
	RemoteLogMetadata              // --remote-log-metadata-decoder
	ShareGroupState                // --share-group-state-decoder
)

var topicNames = [...]string{
	"__consumer_offsets", "__transaction_state", "__cluster_metadata", "__remote_log_metadata", "__share_group_state",
}

// String returns the name of the topic.
func (t Topic) String() string { return topicNames[t] }

// TopicOf returns the topic of that name; false for one that is not internal.
func TopicOf(name string) (Topic, bool) {
	for i, known := range topicNames {
		if name == known {
			return Topic(i), true
		}
	}
	return 0, false
}

// Append makes the topic a [Decoder].
func (t Topic) Append(dst []byte, prefix string, rec Record) ([]byte, error) {
	switch t {
	case ClusterMetadata:
		return appendMetadata(append(append(dst, prefix...), "payload: "...), rec), nil
	case RemoteLogMetadata:
		return appendRemote(append(append(dst, prefix...), "payload: "...), rec), nil
	}
	return t.appendCoordinator(dst, prefix, rec)
}

// AppendUnread appends what stands in the place of a record whose value does not
// fit the message that it is in: Kafka's tool goes on behind it, unless it has
// given up on the key.
func (t Topic) AppendUnread(dst []byte, prefix string, rec Record, e *batch.ValueSizeError) ([]byte, error) {
	label := map[Topic]string{
		ClusterMetadata:   "payload: Error at ",
		RemoteLogMetadata: "payload: Error at offset ",
	}[t]
	if label == "" {
		if rec.Key == nil {
			return dst, missingKey(rec.Offset)
		}
		label = "key: Error at offset "
	}
	return fmt.Appendf(append(dst, prefix...), "%s%d, skipping. newLimit > capacity: (%d > %d)", label, rec.Offset, e.Size, e.Left), nil
}

// missingKey is how Kafka's tool gives up on a coordinator's record without a key.
func missingKey(offset int64) error {
	return &FatalError{runtimeException, "Failed to decode message at offset " + strconv.FormatInt(offset, 10) +
		" using the specified decoder (message had a missing key)"}
}

func (t Topic) decode(key, value []byte) (schema.CoordinatorRecord, error) {
	switch t {
	case ConsumerOffsets:
		return grouprec.Decode(key, value)
	case TransactionState:
		return txnrec.Decode(key, value)
	}
	return sharerec.Decode(key, value)
}

func (t Topic) appendCoordinator(dst []byte, prefix string, rec Record) ([]byte, error) {
	decoded, err := t.decode(rec.Key, rec.Value)
	if errors.Is(err, schema.ErrMissingKey) {
		return dst, missingKey(rec.Offset)
	}
	dst = append(append(dst, prefix...), "key: "...)
	if errors.Is(err, schema.ErrUnknownType) {
		dst = strconv.AppendInt(append(dst, "Unknown record type "...), int64(decoded.Type), 10)
		dst = strconv.AppendInt(append(dst, " at offset "...), rec.Offset, 10)
		return append(dst, ", skipping."...), nil
	}
	if err != nil {
		return appendSkipping(append(dst, "Error at offset "...), rec.Offset, err), nil
	}
	dst = strconv.AppendInt(append(dst, `{"type":"`...), int64(decoded.Type), 10)
	dst = append(schema.AppendJSON(append(dst, `","data":`...), decoded.Key, 0), "} payload: "...)
	if decoded.Value == nil {
		return append(dst, "<DELETE>"...), nil
	}
	dst = strconv.AppendInt(append(dst, `{"version":"`...), int64(decoded.Version), 10)
	return append(appendValue(append(dst, `","data":`...), decoded.Value, decoded.Version), '}'), nil
}

func appendSkipping(dst []byte, offset int64, err error) []byte {
	dst = append(strconv.AppendInt(dst, offset, 10), ", skipping. "...)
	if e, ok := errors.AsType[*schema.RecordError](err); ok {
		return append(dst, e.Java...)
	}
	return append(dst, err.Error()...)
}

// appendValue appends the body of a coordinator record as the tool shows it.
func appendValue(dst []byte, value any, version int16) []byte {
	var w schema.Writer
	switch v := value.(type) {
	case *grouprec.GroupMetadataValue:
		if v.ProtocolType == grouprec.ConsumerProtocolType {
			w.Bytes = appendProtocol
		}
	case *txnrec.TransactionLogValue:
		w.Int8 = appendStatus
	}
	return w.Append(dst, value, version)
}

func appendProtocol(dst []byte, field string, p []byte) ([]byte, bool) {
	switch field {
	case "subscription":
		if s, version, err := grouprec.DecodeSubscription(p); err == nil {
			return schema.AppendJSON(dst, s, version), true
		}
	case "assignment":
		if a, version, err := grouprec.DecodeAssignment(p); err == nil {
			return schema.AppendJSON(dst, a, version), true
		}
	}
	return dst, false
}

func appendStatus(dst []byte, field string, n int8) ([]byte, bool) {
	if field != "transactionStatus" {
		return dst, false
	}
	return append(append(append(dst, '"'), txnrec.Status(n).String()...), '"'), true
}

func appendMetadata(dst []byte, rec Record) []byte {
	decoded, err := kraftrec.Decode(rec.Value)
	if err != nil {
		return appendSkipping(append(dst, "Error at "...), rec.Offset, err)
	}
	dst = append(append(append(dst, `{"type":"`...), kraftrec.Name(decoded.Type)...), `","version":`...)
	dst = append(strconv.AppendInt(dst, int64(decoded.Version), 10), `,"data":`...)
	return append(schema.AppendJSON(dst, decoded.Message, decoded.Version), '}')
}

// AppendControl appends what follows the header keys of a control record, blank
// first. An error is a [*FatalError]; nothing is appended then.
func AppendControl(dst, key, value []byte) ([]byte, error) {
	rec, err := control.Decode(key, value)
	if err != nil {
		return dst, controlError(key, value, err)
	}
	switch m := rec.Message.(type) {
	case nil:
		return append(append(dst, " controlType: "...), rec.Type.String()...), nil
	case *control.EndTxnMarker:
		dst = append(append(append(dst, " endTxnMarker: "...), rec.Type.String()...), " coordinatorEpoch: "...)
		return strconv.AppendInt(dst, int64(m.CoordinatorEpoch), 10), nil
	}
	switch rec.Type {
	case control.LeaderChange:
		dst = append(dst, " LeaderChange: "...)
	case control.SnapshotHeader:
		dst = append(dst, " SnapshotHeader "...)
	case control.SnapshotFooter:
		dst = append(dst, " SnapshotFooter "...)
	case control.KRaftVersion:
		dst = append(dst, " KRaftVersion "...)
	default:
		dst = append(dst, " KRaftVoters "...)
	}
	return schema.AppendJSON(dst, rec.Message, rec.Version()), nil
}

// controlError returns the exception that a damaged control record is. Those of
// a null key or value were not seen, only that they must be of this class.
func controlError(key, value []byte, err error) error {
	switch {
	case key == nil:
		return &FatalError{nullPointer, `Cannot invoke "java.nio.ByteBuffer.remaining()" because "key" is null`}
	case errors.Is(err, control.ErrKey) && !errors.Is(err, control.ErrVersion):
		return &FatalError{invalidRecord, "Invalid value size found for control record key. Must have at least " +
			strconv.Itoa(control.KeySize) + " bytes, but found only " + strconv.Itoa(len(key))}
	case errors.Is(err, control.ErrKey):
		return &FatalError{invalidRecord, "Invalid version found for control record: " + version(key) + ". May indicate data corruption"}
	case errors.Is(err, control.ErrMissing):
		return &FatalError{nullPointer, ""}
	case errors.Is(err, control.ErrVersion):
		return &FatalError{invalidRecord, "Invalid version found for end transaction marker: " + version(value) + ". May indicate data corruption"}
	}
	e, ok := errors.AsType[*schema.DecodeError](err)
	switch {
	case !ok:
		return &FatalError{runtimeException, err.Error()}
	case e.Java == "null":
		return &FatalError{bufferUnderflow, ""}
	case errors.Is(err, schema.ErrVarint):
		return &FatalError{illegalArgument, e.Java}
	case len(e.Java) > 0 && e.Java[0] == '-':
		return &FatalError{negativeSize, e.Java}
	}
	return &FatalError{runtimeException, e.Java}
}

func version(p []byte) string {
	c := wire.Cursor{B: p}
	return strconv.Itoa(int(c.Int16()))
}

func appendRemote(dst []byte, rec Record) []byte {
	if rec.Value == nil {
		dst = strconv.AppendInt(append(dst, "Error at offset "...), rec.Offset, 10)
		return append(dst, `, skipping. Cannot invoke "java.nio.ByteBuffer.remaining()" because the return value of "org.apache.kafka.common.record.internal.Record.value()" is null`...)
	}
	decoded, err := remoterec.Decode(rec.Value)
	if err != nil {
		return appendSkipping(append(dst, "Error at offset "...), rec.Offset, err)
	}
	if reason := remoteFault(decoded.Message); reason != "" {
		dst = strconv.AppendInt(append(dst, "Error at offset "...), rec.Offset, 10)
		return append(append(dst, ", skipping. "...), reason...)
	}
	return appendRemoteText(dst, decoded.Message)
}
