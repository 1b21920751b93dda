package broker

import (
	"errors"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"kf/internal/image"
	"kf/internal/storage"
)

// Fetch, key 1, versions 4 to 18, with sessions (KIP-227).
//
// Deviation from Kafka 4.4.0: none known. A rack does not redirect, as with the
// default replica selector.

// readCommitted is the isolation level that hides open and aborted transactions.
const readCommitted = 1

// A fetchOperation is a fetch, which may wait for records.
type fetchOperation struct {
	broker   *Broker
	call     *call
	context  *fetchContext
	replica  int32 // of the follower that asks, negative for a consumer
	bound    storage.Bound
	minBytes int
	maxBytes int
	targets  []fetchTarget // parallel to context.partitions
}

// A fetchTarget is where a partition of the request is.
type fetchTarget struct {
	replica   *replica
	log       *storage.Log
	partition *image.Partition // nil if it does not exist
	code      int16            // why it cannot be read
}

func (b *Broker) fetch(c *call, q *kmsg.FetchRequest) {
	node := q.ReplicaID
	if q.Version >= 15 {
		node = q.ReplicaState.ID
	}
	ctx, code := b.sessions.begin(q, node >= 0)
	if code != 0 {
		c.replyFetch(&fetchAnswer{errorCode: code})
		return
	}
	o := &fetchOperation{broker: b, call: c, context: ctx, replica: node}
	o.maxBytes = max(0, min(int(q.MaxBytes), b.fetchMaxBytes))
	o.minBytes = min(int(q.MinBytes), o.maxBytes)
	switch {
	case node != consumerReplica:
		o.bound = storage.ToLogEnd
	case q.IsolationLevel == readCommitted:
		o.bound = storage.ToLastStableOffset
	}
	wait := time.Duration(q.MaxWaitMillis) * time.Millisecond
	o.resolve()
	results, enough := o.read()
	var lists []*watchList
	if !enough && wait > 0 {
		lists = make([]*watchList, 0, len(o.targets))
		for i := range o.targets {
			if r := o.targets[i].replica; r != nil {
				lists = append(lists, &r.watch)
			}
		}
	}
	if len(lists) == 0 {
		c.replyFetch(o.answer(results))
		return
	}
	releaseAll(results)
	c.park(o, lists, wait)
}

// consumerReplica is the replica id of those who are no replica.
const consumerReplica = -1

// resolve finds the partitions of the request.
func (o *fetchOperation) resolve() {
	if o.targets == nil {
		o.targets = make([]fetchTarget, len(o.context.partitions))
	}
	var closed []*replica
	for i := range o.context.partitions {
		asked := &o.context.partitions[i]
		t := &o.targets[i]
		*t = fetchTarget{}
		t.replica, _, t.partition, t.code = o.broker.locate(asked.fetchKey, o.context.byID)
		if t.code != 0 {
			continue
		}
		if o.replica >= 0 && !t.replica.leads() {
			t.code = kerr.NotLeaderForPartition.Code
			continue
		}
		if t.code = t.replica.checkEpoch(asked.leaderEpoch); t.code == 0 && t.replica.log.Load() == nil {
			closed = append(closed, t.replica)
		}
	}
	o.broker.replicas.prepare(closed)
	for i := range o.targets {
		asked, t := &o.context.partitions[i], &o.targets[i]
		if t.code != 0 {
			continue
		}
		var err error
		if t.log, err = o.broker.replicas.open(t.replica); err != nil {
			o.broker.log.Error("a partition cannot be opened", "partition", t.replica.tp, "error", err)
			t.code = openCode(err)
			continue
		}
		// A follower asks for what comes after all that it has.
		if o.replica >= 0 && asked.offset <= t.log.LogEndOffset() && !o.broker.replicas.fetched(t.replica, o.replica, asked.offset, t.log) {
			t.code = kerr.NotLeaderForPartition.Code
		}
	}
}

// read reads what is there now. It reports whether that is enough for an answer
// before the time runs out: the bytes that were asked for, or news that the
// client has to know at once. That a partition does not exist is none beside
// others that do, as in Kafka: who asks for it again and again is to wait.
func (o *fetchOperation) read() (results []fetchAnswerPartition, enough bool) {
	results = make([]fetchAnswerPartition, len(o.targets))
	left, total, whole := o.maxBytes, 0, true
	for i := range o.targets {
		results[i] = o.readPartition(i, left, whole)
		n := results[i].records.Len()
		total += n
		left = max(0, left-n)
		whole = whole && n == 0
		exists := o.targets[i].partition != nil
		enough = enough || exists && results[i].errorCode != 0 || results[i].divergingEpoch != -1
	}
	return results, enough || total >= o.minBytes
}

func (o *fetchOperation) readPartition(i, limit int, whole bool) fetchAnswerPartition {
	asked, t := &o.context.partitions[i], &o.targets[i]
	r := failedFetch(asked.partition, t.code)
	if t.code != 0 {
		if t.partition == nil {
			r.aborted = []storage.AbortedTxn{} // as Kafka does; the log's own errors have null
		} else if t.code == kerr.NotLeaderForPartition.Code && o.call.version >= 16 {
			r.leader, r.leaderEpoch = t.partition.Leader, t.partition.LeaderEpoch
		}
		return r
	}
	if asked.lastFetchedEpoch >= 0 {
		epoch, end := t.log.EpochEnd(asked.lastFetchedEpoch)
		switch {
		case epoch < 0 || end < 0:
			r.errorCode = kerr.OffsetOutOfRange.Code
			return r
		case epoch < asked.lastFetchedEpoch || end < asked.offset:
			r.divergingEpoch, r.divergingEnd = epoch, end
			r.errorCode = 0
			r.highWatermark, r.lastStableOffset, r.logStartOffset = t.log.HighWatermark(), t.log.LastStableOffset(), t.log.LogStartOffset()
			return r
		}
	}
	got, err := t.log.Read(asked.offset, min(limit, max(0, int(asked.maxBytes))), o.bound, whole)
	if err != nil {
		r.errorCode = codeOf(err)
		if !errors.Is(err, storage.ErrOffsetOutOfRange) && !errors.Is(err, storage.ErrClosed) {
			o.broker.log.Error("a partition cannot be read", "partition", t.replica.tp, "offset", asked.offset, "error", err)
		}
		return r
	}
	r.records = got.Data
	r.highWatermark, r.lastStableOffset, r.logStartOffset = got.HighWatermark, got.LastStableOffset, got.LogStartOffset
	if o.bound == storage.ToLastStableOffset {
		if r.aborted = got.Aborted; r.aborted == nil {
			r.aborted = []storage.AbortedTxn{}
		}
	}
	return r
}

// answer makes the answer of what was read.
func (o *fetchOperation) answer(results []fetchAnswerPartition) *fetchAnswer {
	keys, answered, session := o.context.finish(results)
	a := &fetchAnswer{sessionID: session}
	for i := range answered {
		last := len(a.topics) - 1
		if last < 0 || a.topics[last].topic != keys[i].topic || a.topics[last].id != keys[i].id {
			a.topics = append(a.topics, fetchAnswerTopic{topic: keys[i].topic, id: keys[i].id})
			last++
		}
		a.topics[last].partitions = append(a.topics[last].partitions, answered[i])
		if answered[i].leader != -1 {
			a.addNode(o.broker, answered[i].leader, o.call.conn.listener.name)
		}
	}
	return a
}

// addNode adds the endpoint of a leader, once.
func (f *fetchAnswer) addNode(b *Broker, id int32, listener string) {
	for _, n := range f.nodes {
		if n.id == id {
			return
		}
	}
	if e, ok := endpointOf(b.image.Load().Broker(id), listener); ok {
		f.nodes = append(f.nodes, fetchAnswerNode{e.id, e.host, e.port, e.rack})
	}
}

// try reports whether there is enough to read, or something that the client has
// to know. It reads no file unless the client wants more than one byte.
func (o *fetchOperation) try() bool {
	total := 0
	for i := range o.targets {
		asked, t := &o.context.partitions[i], &o.targets[i]
		if t.partition == nil {
			continue
		}
		end := boundOf(t.log, o.bound)
		switch {
		case t.replica.gone.Load(),
			t.replica.log.Load() != t.log, // moved to another log directory
			o.replica >= 0 && !t.replica.leads(),
			t.replica.checkEpoch(asked.leaderEpoch) != 0,
			asked.offset < t.log.LogStartOffset(),
			asked.offset > t.log.LogEndOffset():
			return true
		case asked.offset >= end:
			continue
		case o.minBytes <= 1:
			return true
		}
		got, err := t.log.Read(asked.offset, max(0, int(asked.maxBytes)), o.bound, false)
		if err != nil {
			return true
		}
		total += got.Data.Len()
		got.Data.Release()
		if total >= o.minBytes {
			return true
		}
	}
	return false
}

// complete reads anew, when it is the answer's turn: on the writer of this
// connection, not on the goroutine that appended.
func (o *fetchOperation) complete() {
	o.call.replyLater(func() (*answer, error) {
		o.resolve()
		results, _ := o.read()
		return o.call.encodeFetch(o.answer(results)), nil
	})
}

func boundOf(l *storage.Log, bound storage.Bound) int64 {
	switch bound {
	case storage.ToHighWatermark:
		return l.HighWatermark()
	case storage.ToLastStableOffset:
		return l.LastStableOffset()
	default:
		return l.LogEndOffset()
	}
}

func releaseAll(results []fetchAnswerPartition) {
	for i := range results {
		results[i].records.Release()
	}
}

// replyFetch answers a fetch.
func (c *call) replyFetch(f *fetchAnswer) { c.send(c.encodeFetch(f)) }

func (c *call) encodeFetch(f *fetchAnswer) *answer {
	a := &answer{buf: c.startAnswer(c.version >= 12)}
	a.buf.b, a.holes = f.appendTo(a.buf.b, c.version)
	a.finish()
	return a
}
