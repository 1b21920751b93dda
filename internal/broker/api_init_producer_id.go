package broker

import (
	"context"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// InitProducerId, key 22, versions 0 to 5, for idempotent producers.
//
// Deviation from Kafka 4.4.0: there are no transactions yet. A request with a
// transactional id that is sound gets COORDINATOR_NOT_AVAILABLE, as from a
// cluster whose transaction coordinator is not up, and clients try again until
// their time is over.

func (b *Broker) initProducerID(c *call, q *kmsg.InitProducerIDRequest) kmsg.Response {
	answer := q.ResponseKind().(*kmsg.InitProducerIDResponse)
	answer.ProducerID, answer.ProducerEpoch = -1, -1
	switch {
	case (q.ProducerID == -1) != (q.ProducerEpoch == -1):
		answer.ErrorCode = kerr.InvalidRequest.Code
	case q.TransactionalID == nil:
		id, err := b.producerIDs.next(b.ctx, b.controller.AllocateProducerIDs, b.node, b.epoch)
		if err != nil {
			b.log.Error("no producer id could be allocated", "error", err)
			answer.ErrorCode = kerr.CoordinatorLoadInProgress.Code
			break
		}
		answer.ProducerID, answer.ProducerEpoch = id, 0
	case *q.TransactionalID == "":
		answer.ErrorCode = kerr.InvalidRequest.Code
	case q.TransactionTimeoutMillis <= 0 || int64(q.TransactionTimeoutMillis) > maxTransactionTimeout.Milliseconds():
		answer.ErrorCode = kerr.InvalidTransactionTimeout.Code
	default:
		answer.ErrorCode = kerr.CoordinatorNotAvailable.Code
	}
	return answer
}

// maxTransactionTimeout is the default of transaction.max.timeout.ms.
const maxTransactionTimeout = 15 * time.Minute

// producerIDs hands out the ids of the blocks that the controller gives.
type producerIDs struct {
	mu   sync.Mutex
	id   int64
	left int32
}

// An allocator gives a block of producer ids to a broker.
type allocator func(ctx context.Context, broker int32, epoch int64) (first int64, n int32, err error)

func (p *producerIDs) next(ctx context.Context, allocate allocator, broker int32, epoch int64) (int64, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.left == 0 {
		first, n, err := allocate(ctx, broker, epoch)
		if err != nil {
			return 0, err
		}
		p.id, p.left = first, n
	}
	id := p.id
	p.id++
	p.left--
	return id, nil
}
