package broker

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"kf/internal/format/batch"
	"kf/internal/storage"
	"kf/internal/storage/validate"
)

// Produce, key 0, versions 3 to 13; 0 to 2 are advertised, as clients derive
// features from the range, and close the connection, as in Kafka 4.
//
// Deviations from Kafka 4.4.0:
//   - Null records are answered with INVALID_RECORD; Kafka gives no answer, and
//     none to what follows on the connection.
//   - There are no transactions yet, so no transactional id is known: their
//     batches get INVALID_PRODUCER_ID_MAPPING.

// noTransactionalID is why a batch is refused whose request names no
// transaction; Kafka answers it without an authorizer, too.
var noTransactionalID = kerr.TransactionalIDAuthorizationFailed.Code

// adminClientID is the client id that may write to internal topics.
//
// Source: Kafka 4.4.0, AdminUtils.java.
const adminClientID = "__admin_client"

func (b *Broker) produce(c *call, q *kmsg.ProduceRequest) {
	answer := q.ResponseKind().(*kmsg.ProduceResponse)
	answer.Topics = make([]kmsg.ProduceResponseTopic, len(q.Topics))
	transactional := false
	for i := range q.Topics {
		for j := range q.Topics[i].Partitions {
			transactional = transactional || isTransactional(q.Topics[i].Partitions[j].Records)
		}
	}
	var waits []produceWait
	failed := int16(0)
	for i := range q.Topics {
		t := &q.Topics[i]
		to := &answer.Topics[i]
		to.Topic, to.TopicID = t.Topic, t.TopicID
		to.Partitions = make([]kmsg.ProduceResponseTopicPartition, len(t.Partitions))
		for j := range t.Partitions {
			p := &t.Partitions[j]
			result := &to.Partitions[j]
			result.Default()
			result.Partition = p.Partition
			result.BaseOffset, result.LogAppendTime, result.LogStartOffset = -1, -1, -1
			if transactional && q.TransactionID == nil {
				result.ErrorCode = noTransactionalID
			} else if wait := b.producePartition(c, q, t, p, result, answer); wait.replica != nil {
				waits = append(waits, wait)
			}
			if result.ErrorCode != 0 {
				failed = result.ErrorCode
			}
		}
	}
	switch {
	case q.Acks == 0 && failed != 0:
		c.fail(fmt.Errorf("acks=0: %w", kerr.ErrorForCode(failed)))
	case q.Acks == 0:
		c.replyNothing()
	case len(waits) == 0:
		c.reply(answer)
	default:
		op := &produceOperation{call: c, answer: answer, waits: waits}
		lists := make([]*watchList, len(waits))
		for i := range waits {
			lists[i] = &waits[i].replica.watch
		}
		c.park(op, lists, time.Duration(q.TimeoutMillis)*time.Millisecond)
	}
}

// isTransactional reports whether records start with a transactional batch.
func isTransactional(p []byte) bool {
	return len(p) >= batch.HeaderSize && p[16] == 2 && p[22]&transactionalBit != 0
}

const transactionalBit = 1 << 4 // in the low byte of a batch's attributes

// producePartition appends the records for one partition. What it returns has a
// replica if the answer must wait for other replicas.
func (b *Broker) producePartition(c *call, q *kmsg.ProduceRequest, t *kmsg.ProduceRequestTopic, p *kmsg.ProduceRequestTopicPartition,
	result *kmsg.ProduceResponseTopicPartition, answer *kmsg.ProduceResponse) produceWait {
	r, topic, partition, code := b.locateLeader(t.Topic, t.TopicID, q.Version >= 13, p.Partition)
	if partition == nil {
		result.ErrorCode = code
		return produceWait{}
	}
	if p.Records == nil {
		refuse(result, kerr.InvalidRecord.Code, "The records are null.")
		return produceWait{}
	}
	if err := validate.Framing(p.Records, q.Version < 7); err != nil {
		refuse(result, codeOf(err), err.Error())
		return produceWait{}
	}
	switch {
	case q.Acks < -1 || q.Acks > 1:
		code = kerr.InvalidRequiredAcks.Code
	case isTransactional(p.Records):
		code = kerr.InvalidProducerIDMapping.Code
	case internalTopic(topic) && c.clientID != adminClientID:
		code = kerr.InvalidTopicException.Code
	}
	if code == kerr.NotLeaderForPartition.Code && q.Version >= 10 {
		hint := b.hint(partition, c.conn.listener.name)
		result.CurrentLeader.LeaderID, result.CurrentLeader.LeaderEpoch = hint.leader, hint.epoch
		addNodes(answer, hint.nodes)
	}
	if code != 0 {
		result.ErrorCode = code
		return produceWait{}
	}
	return b.appendTo(r, q, p.Records, result)
}

// appendTo appends a batch to the log of a partition that this broker leads.
func (b *Broker) appendTo(r *replica, q *kmsg.ProduceRequest, records []byte, result *kmsg.ProduceResponseTopicPartition) produceWait {
	l, err := b.replicas.open(r)
	if err != nil {
		b.log.Error("a partition cannot be opened", "partition", r.tp, "error", err)
		result.ErrorCode = openCode(err)
		return produceWait{}
	}
	state := r.state.Load()
	if q.Acks == -1 && len(state.ISR) < r.effectiveMinInsync(state) {
		result.ErrorCode, result.LogStartOffset = kerr.NotEnoughReplicas.Code, l.LogStartOffset()
		return produceWait{}
	}
	appended, err := l.Append(records, storage.AppendOptions{LeaderEpoch: state.LeaderEpoch, NoZstd: q.Version < 7})
	if err != nil {
		b.refuseAppend(r, l, err, result)
		return produceWait{}
	}
	result.BaseOffset, result.LogStartOffset = appended.FirstOffset, appended.LogStartOffset
	result.LogAppendTime = appended.LogAppendTime
	r.advance(l)
	r.watch.wake()
	if next := appended.LastOffset + 1; q.Acks == -1 && l.HighWatermark() < next {
		return produceWait{r, l, next, result}
	}
	return produceWait{}
}

// untouched are the errors for which Kafka answers no log start offset.
var untouched = []error{storage.ErrTooLarge, storage.ErrBatchTooLarge, storage.ErrCorrupt, storage.ErrOffline, storage.ErrClosed}

// refuseAppend answers why an append failed.
func (b *Broker) refuseAppend(r *replica, l *storage.Log, err error, result *kmsg.ProduceResponseTopicPartition) {
	result.LogStartOffset = l.LogStartOffset()
	for _, e := range untouched {
		if errors.Is(err, e) {
			result.LogStartOffset = -1
		}
	}
	code, message := codeOf(err), err.Error()
	var records *storage.InvalidRecordsError
	if errors.As(err, &records) && len(records.Records) > 0 {
		message = invalidRecords(r.tp, records)
		for _, e := range records.Records {
			to := kmsg.NewProduceResponseTopicPartitionErrorRecord()
			to.RelativeOffset, to.ErrorMessage = int32(e.Index), kmsg.StringPtr(e.Message)
			result.ErrorRecords = append(result.ErrorRecords, to)
		}
	}
	switch code {
	case kerr.KafkaStorageError.Code:
		b.log.Error("an append failed", "partition", r.tp, "error", err)
	case kerr.UnknownServerError.Code:
		b.log.Warn("an append failed", "partition", r.tp, "error", err)
	}
	refuse(result, code, message)
}

// invalidRecords is Kafka's message about refused records.
func invalidRecords(tp storage.TopicPartition, e *storage.InvalidRecordsError) string {
	if errors.Is(e, storage.ErrTimestamp) {
		return "One or more records have been rejected due to invalid timestamp"
	}
	var shown []string
	for _, r := range e.Records[:min(3, len(e.Records))] {
		shown = append(shown, fmt.Sprintf("RecordError(batchIndex=%d, message='%s')", r.Index, r.Message))
	}
	return fmt.Sprintf("One or more records have been rejected due to %d record errors in total, and only showing the first three errors at most: [%s]",
		len(e.Records), strings.Join(shown, ", "))
}

func refuse(result *kmsg.ProduceResponseTopicPartition, code int16, message string) {
	result.ErrorCode, result.ErrorMessage = code, &message
}

// addNodes adds endpoints that the answer does not have yet.
func addNodes(answer *kmsg.ProduceResponse, nodes []endpoint) {
next:
	for _, n := range nodes {
		for i := range answer.Brokers {
			if answer.Brokers[i].NodeID == n.id {
				continue next
			}
		}
		to := kmsg.NewProduceResponseBroker()
		to.NodeID, to.Host, to.Port, to.Rack = n.id, n.host, n.port, n.rack
		answer.Brokers = append(answer.Brokers, to)
	}
}

// A produceWait is a partition whose followers do not have the records yet.
type produceWait struct {
	replica *replica
	log     *storage.Log
	next    int64 // the high watermark that is waited for
	result  *kmsg.ProduceResponseTopicPartition
}

// settle reports whether the waiting is over, and writes into the result how it
// ended.
func (w *produceWait) settle() bool {
	state := w.replica.state.Load()
	switch {
	case w.replica.gone.Load() || state.Leader != w.replica.node:
		w.result.ErrorCode = kerr.NotLeaderForPartition.Code
	case w.log.HighWatermark() < w.next:
		return false
	case len(state.ISR) < w.replica.effectiveMinInsync(state):
		w.result.ErrorCode = kerr.NotEnoughReplicasAfterAppend.Code
	}
	return true
}

// A produceOperation is a request with acks=-1 that waits.
type produceOperation struct {
	call   *call
	answer *kmsg.ProduceResponse
	waits  []produceWait
}

func (o *produceOperation) try() bool {
	waiting := o.waits[:0]
	for _, w := range o.waits {
		if !w.settle() {
			waiting = append(waiting, w)
		}
	}
	o.waits = waiting
	return len(waiting) == 0
}

func (o *produceOperation) complete() {
	for _, w := range o.waits {
		w.result.ErrorCode = kerr.RequestTimedOut.Code
	}
	o.call.reply(o.answer)
}
