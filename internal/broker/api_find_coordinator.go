package broker

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"kf/internal/coordinator/group"
	"kf/internal/image"
	"kf/internal/wire"
)

// FindCoordinator, key 10, versions 0 to 6.
//
// Deviations from Kafka 4.4.0:
//   - Kafka answers COORDINATOR_NOT_AVAILABLE while it makes __consumer_offsets,
//     which the first group is looked for in, and NOT_COORDINATOR to what the client
//     asks next. Here the answer waits a little until the topic is there and the
//     group's partition of it is loaded: a first consumer starts at once.
//   - There are no transactions and no share groups yet. Keys of them that are sound
//     get COORDINATOR_NOT_AVAILABLE, as from a cluster whose coordinators are not
//     up.

// The kinds of coordinators that a request asks for.
const (
	groupCoordinator       = 0
	transactionCoordinator = 1
	shareCoordinator       = 2 // since version 6
)

// coordinatorWait is how long a client waits for its coordinator to be loaded. It
// is told where that is in any case.
const coordinatorWait = time.Second

func (b *Broker) findCoordinator(c *call, q *kmsg.FindCoordinatorRequest) {
	if q.CoordinatorType != groupCoordinator || b.coordinatorsReady(c.coordinatorKeys(q)) {
		c.reply(b.coordinators(c, q))
		return
	}
	c.later()
	go func() {
		b.awaitCoordinators(c.coordinatorKeys(q))
		c.reply(b.coordinators(c, q))
	}()
}

// coordinatorKeys returns what is asked for: one key before version 4.
func (c *call) coordinatorKeys(q *kmsg.FindCoordinatorRequest) []string {
	if c.version < 4 {
		return []string{q.CoordinatorKey}
	}
	return q.CoordinatorKeys
}

// coordinatorsReady reports whether the groups are those of other brokers, or
// loaded.
func (b *Broker) coordinatorsReady(groups []string) bool {
	t := b.image.Load().Topic(group.Topic)
	if t == nil {
		return len(groups) == 0
	}
	for _, id := range groups {
		if loaded := b.groups.Loaded(group.Partition(id, t.Len())); loaded != nil {
			select {
			case <-loaded:
			default:
				return false
			}
		}
	}
	return true
}

// awaitCoordinators makes the topic of the groups if it is not there, and waits
// until they are loaded, but not for long.
func (b *Broker) awaitCoordinators(groups []string) {
	if b.image.Load().Topic(group.Topic) == nil {
		b.createTopic(group.Topic) // or another request does at this moment
	}
	ctx, cancel := context.WithTimeout(b.ctx, coordinatorWait)
	defer cancel()
	t := b.image.Load().Topic(group.Topic)
	if t == nil {
		return
	}
	for _, id := range groups {
		loaded := b.groups.Loaded(group.Partition(id, t.Len()))
		if loaded == nil { // another broker's
			continue
		}
		select {
		case <-loaded:
		case <-ctx.Done():
			return
		}
	}
}

// coordinators answers with what is known now.
func (b *Broker) coordinators(c *call, q *kmsg.FindCoordinatorRequest) kmsg.Response {
	answer := q.ResponseKind().(*kmsg.FindCoordinatorResponse)
	none := ""
	if q.CoordinatorType < groupCoordinator || q.CoordinatorType > shareCoordinator {
		none = kerr.InvalidRequest.Description // Kafka says more where it fails as a whole
	}
	for _, key := range c.coordinatorKeys(q) {
		e, why := b.coordinatorOf(c, q.CoordinatorType, key)
		to := kmsg.NewFindCoordinatorResponseCoordinator()
		to.Key, to.NodeID, to.Host, to.Port, to.ErrorMessage = key, e.id, e.host, e.port, &none
		if why != nil {
			to.ErrorCode = why.Code
		}
		answer.Coordinators = append(answer.Coordinators, to)
		if c.version < 4 {
			message := "NONE"
			if why != nil {
				message = why.Description
			}
			answer.NodeID, answer.Host, answer.Port, answer.ErrorCode, answer.ErrorMessage = e.id, e.host, e.port, to.ErrorCode, &message
		}
	}
	return answer
}

// nowhere is the endpoint of no node.
var nowhere = endpoint{id: -1, port: -1}

// coordinatorOf returns where a coordinator is, or why it is nowhere.
func (b *Broker) coordinatorOf(c *call, kind int8, key string) (endpoint, *kerr.Error) {
	switch {
	case kind == transactionCoordinator:
		return nowhere, kerr.CoordinatorNotAvailable
	case kind == shareCoordinator && c.version >= 6 && isSharePartition(key):
		return nowhere, kerr.CoordinatorNotAvailable
	case kind != groupCoordinator:
		return nowhere, kerr.InvalidRequest
	}
	im := b.image.Load()
	t := im.Topic(group.Topic)
	if t == nil {
		return nowhere, kerr.CoordinatorNotAvailable
	}
	p := t.Partition(group.Partition(key, t.Len()))
	if p == nil || p.Leader == image.NoLeader {
		return nowhere, kerr.CoordinatorNotAvailable
	}
	leader := im.Broker(p.Leader)
	e, ok := endpointOf(leader, c.conn.listener.name)
	if !ok || leader.Fenced {
		return nowhere, kerr.CoordinatorNotAvailable
	}
	return e, nil
}

// isSharePartition reports whether a key names a partition that a share group
// reads, as GROUP:TOPIC-ID:PARTITION.
//
// Source: Kafka 4.4.0, SharePartitionKey.java.
func isSharePartition(key string) bool {
	parts := strings.Split(key, ":")
	n := len(parts)
	if n < 3 || strings.TrimSpace(strings.Join(parts[:n-2], ":")) == "" {
		return false
	}
	_, wrongID := wire.ParseUUID(parts[n-2])
	_, wrongPartition := strconv.ParseInt(parts[n-1], 10, 32)
	return wrongID == nil && wrongPartition == nil
}
