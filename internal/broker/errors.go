package broker

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"

	"kf/internal/storage"
)

// codes are what a client is told for the errors of storage.
var codes = []struct {
	err  error
	code int16
}{
	{errGone, kerr.NotLeaderForPartition.Code},
	{storage.ErrClosed, kerr.NotLeaderForPartition.Code},
	{storage.ErrOffline, kerr.KafkaStorageError.Code},
	{storage.ErrOffsetOutOfRange, kerr.OffsetOutOfRange.Code},
	{storage.ErrCorrupt, kerr.CorruptMessage.Code},
	{storage.ErrInvalidRecord, kerr.InvalidRecord.Code},
	{storage.ErrTooLarge, kerr.MessageTooLarge.Code},
	{storage.ErrBatchTooLarge, kerr.RecordListTooLarge.Code},
	{storage.ErrTimestamp, kerr.InvalidTimestamp.Code},
	{storage.ErrSequence, kerr.OutOfOrderSequenceNumber.Code},
	{storage.ErrProducerEpoch, kerr.InvalidProducerEpoch.Code},
	{storage.ErrTxnState, kerr.InvalidTxnState.Code},
	{storage.ErrCoordinatorFenced, kerr.TransactionCoordinatorFenced.Code},
	{storage.ErrCompressionType, kerr.UnsupportedCompressionType.Code},
}

// codeOf returns the error code for an error of storage, 0 for nil and
// UNKNOWN_SERVER_ERROR for one that has none of its own.
func codeOf(err error) int16 {
	if err == nil {
		return 0
	}
	for _, c := range codes {
		if errors.Is(err, c.err) {
			return c.code
		}
	}
	return kerr.UnknownServerError.Code
}

// openCode is codeOf for the error of opening a log: whatever is wrong with a
// directory is a storage error for clients, who try again.
func openCode(err error) int16 {
	if code := codeOf(err); code != kerr.UnknownServerError.Code {
		return code
	}
	return kerr.KafkaStorageError.Code
}

var topicName = regexp.MustCompile(`^[a-zA-Z0-9._-]+$`)

// checkTopicName returns what is wrong with the name of a topic, in Kafka's
// words, "" if nothing is.
func checkTopicName(name string) string {
	const prefix = "Topic name is invalid: "
	switch {
	case name == "":
		return prefix + "the empty string is not allowed"
	case name == "." || name == "..":
		return prefix + "'" + name + "' is not allowed"
	case len(name) > 249:
		return fmt.Sprintf("%sthe length of '%s' is longer than the max allowed length 249", prefix, name)
	case !topicName.MatchString(name):
		return prefix + "'" + name + "' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"
	}
	return ""
}

// internalTopic reports whether a topic is Kafka's own: clients do not write to
// it.
func internalTopic(name string) bool {
	return strings.HasPrefix(name, "__") && (name == "__consumer_offsets" || name == "__transaction_state" || name == "__share_group_state")
}
