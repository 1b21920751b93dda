//go:build interop

package interop

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"

	"kf/internal/format/batch"
)

// A sequence is an idempotent producer of the topic "sequence" that outlives the
// brokers that it writes to.
type sequence struct {
	id      int64
	epoch   int16
	next    int32  // sequence number
	last    []byte // the batch that was written last, nil for none
	offset  int64  // of its first record
	given   []int64
	batches int
}

const sequenceTopic = "sequence"

// turn goes on with a broker: the last batch is recognised if it comes again, one
// with a gap is refused, and the next one is taken.
func (q *sequence) turn(t *testing.T, b *serving) {
	t.Helper()
	// By name: later versions of Produce want topic ids.
	cl := newClient(t, kgo.SeedBrokers(b.bootstrap), kgo.MaxVersions(kversion.V3_6_0()))
	defer cl.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()

	init := kmsg.NewPtrInitProducerIDRequest()
	init.TransactionTimeoutMillis, init.ProducerID, init.ProducerEpoch = 60_000, -1, -1
	for {
		answer, err := init.RequestWith(ctx, cl)
		if err != nil {
			t.Fatalf("InitProducerId of %s: %v\n%s", b.name, err, b.log())
		}
		if err := kerr.ErrorForCode(answer.ErrorCode); err != nil {
			if kerr.IsRetriable(err) {
				continue
			}
			t.Fatalf("InitProducerId of %s: %v\n%s", b.name, err, b.log())
		}
		if slices.Contains(q.given, answer.ProducerID) {
			t.Errorf("%s gives the producer id %d again", b.name, answer.ProducerID)
		}
		q.given = append(q.given, answer.ProducerID)
		if q.last == nil {
			q.id, q.epoch = answer.ProducerID, answer.ProducerEpoch
		}
		break
	}
	if q.last != nil {
		if _, err := q.send(ctx, t, cl, q.batch(t, q.next+7)); err != kerr.OutOfOrderSequenceNumber {
			t.Errorf("%s takes a batch that leaves out others: %v", b.name, err)
		}
		if offset, err := q.send(ctx, t, cl, q.last); err != nil || offset != q.offset {
			t.Errorf("%s takes a batch for another one: offset %d, %v; it was written at %d\n%s", b.name, offset, err, q.offset, b.log())
		}
	}
	for range 7 { // more than a broker remembers
		p := q.batch(t, q.next)
		offset, err := q.send(ctx, t, cl, p)
		if err != nil || offset != int64(q.batches)*sequenceRecords {
			t.Fatalf("batch %d: offset %d, %v\n%s", q.batches, offset, err, b.log())
		}
		q.last, q.offset = p, offset
		q.next += sequenceRecords
		q.batches++
	}
}

const sequenceRecords = 3 // of a batch

func (q *sequence) batch(t *testing.T, number int32) []byte {
	t.Helper()
	now := time.Now().UnixMilli()
	h := batch.Header{
		Magic: 2, PartitionLeaderEpoch: -1, LastOffsetDelta: sequenceRecords - 1, BaseTimestamp: now, MaxTimestamp: now,
		ProducerID: q.id, ProducerEpoch: q.epoch, BaseSequence: number,
	}
	p, err := batch.Append(nil, h, func(yield func(*batch.Record) bool) {
		for i := range int64(sequenceRecords) {
			if !yield(&batch.Record{Offset: i, Timestamp: now, Value: []byte("value")}) {
				return
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// send produces a batch and returns the offset of its first record.
func (q *sequence) send(ctx context.Context, t *testing.T, cl *kgo.Client, p []byte) (int64, error) {
	t.Helper()
	request := kmsg.NewPtrProduceRequest()
	request.Acks, request.TimeoutMillis = -1, 30_000
	partition := kmsg.NewProduceRequestTopicPartition()
	partition.Records = p
	topic := kmsg.NewProduceRequestTopic()
	topic.Topic, topic.Partitions = sequenceTopic, append(topic.Partitions, partition)
	request.Topics = append(request.Topics, topic)
	answer, err := request.RequestWith(ctx, cl)
	if err != nil {
		t.Fatalf("Produce: %v", err)
	}
	result := answer.Topics[0].Partitions[0]
	return result.BaseOffset, kerr.ErrorForCode(result.ErrorCode)
}
