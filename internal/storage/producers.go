package storage

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"kf/internal/format/batch"
	"kf/internal/format/control"
	"kf/internal/format/prodsnapshot"
)

// window is how many batches of a producer are remembered to recognise
// duplicates.
const window = 5

// A producer is what a log knows of a producer ID.
type producer struct {
	epoch       int16
	coordinator int32 // epoch of the coordinator of the last marker, -1 if none
	timestamp   int64 // ms: of the last batch or marker
	txnFirst    int64 // first offset of the open transaction, -1 if none
	n           int   // batches remembered, the oldest first
	batches     [window]sentBatch
}

// A sentBatch is a batch of a producer.
type sentBatch struct {
	lastSequence int32
	delta        int32 // last offset - first offset
	lastOffset   int64
	timestamp    int64
}

func (b *sentBatch) firstSequence() int32 {
	return prodsnapshot.Entry{LastSequence: b.lastSequence, OffsetDelta: b.delta}.FirstSequence()
}

// A txn is a transaction with data in the log.
type txn struct {
	producer int64
	first    int64 // offset of its first batch
	last     int64 // offset of its marker, if it has one
}

// An endMarker is what a control batch says that ends a transaction.
type endMarker struct {
	abort       bool
	coordinator int32
	timestamp   int64
}

// producers is the state of all producers of a log. open and ended are also read
// under Log.state.
//
// Source: Kafka 4.4.0, ProducerStateManager.java, ProducerAppendInfo.java.
type producers struct {
	byID  map[int64]*producer
	open  []txn // by first offset
	ended []txn // with a marker at or above the high watermark
	end   int64 // offset up to which the state goes
}

func (ps *producers) reset(end int64) {
	*ps = producers{end: end}
}

// check says whether a leader may append the batch with header h: nil if so. A
// batch that is one of the last of its producer is returned, and not an error.
func (ps *producers) check(h *batch.Header, marker *endMarker, origin Origin) (*sentBatch, error) {
	p := ps.byID[h.ProducerID]
	if p == nil {
		return nil, nil // an unknown producer may start anywhere
	}
	if marker == nil && origin == FromClient && h.ProducerEpoch == p.epoch {
		for i := range p.batches[:p.n] {
			b := &p.batches[i]
			if b.firstSequence() == h.BaseSequence && b.lastSequence == h.LastSequence() {
				return b, nil
			}
		}
	}
	if h.ProducerEpoch < p.epoch {
		return nil, fmt.Errorf("%w: %d of producer ID %d, which has %d", ErrProducerEpoch, h.ProducerEpoch, h.ProducerID, p.epoch)
	}
	if marker != nil {
		if marker.coordinator < p.coordinator {
			return nil, fmt.Errorf("%w: epoch %d for producer ID %d, which has had one of epoch %d", ErrCoordinatorFenced, marker.coordinator, h.ProducerID, p.coordinator)
		}
		return nil, nil
	}
	if origin == FromClient {
		if err := p.checkSequence(h); err != nil {
			return nil, err
		}
	}
	if p.txnFirst >= 0 && !h.Transactional() {
		return nil, fmt.Errorf("%w: producer ID %d has one open since offset %d", ErrTxnState, h.ProducerID, p.txnFirst)
	}
	return nil, nil
}

func (p *producer) checkSequence(h *batch.Header) error {
	if h.ProducerEpoch != p.epoch {
		if h.BaseSequence != 0 && p.epoch >= 0 {
			return fmt.Errorf("%w: producer ID %d begins epoch %d with %d", ErrSequence, h.ProducerID, h.ProducerEpoch, h.BaseSequence)
		}
		return nil
	}
	last := int32(-1)
	if p.n > 0 {
		last = p.batches[p.n-1].lastSequence
	}
	if next := int64(last) + 1; p.epoch < 0 || int64(h.BaseSequence) == next || h.BaseSequence == 0 && last == math.MaxInt32 {
		return nil
	}
	return fmt.Errorf("%w: %d of producer ID %d after %d", ErrSequence, h.BaseSequence, h.ProducerID, last)
}

// apply takes a batch into the state that was appended, whatever check says of
// it: a replica and a recovery take what is there. If the batch ends a
// transaction that has data here it returns it and the last stable offset after
// it without regard to the high watermark.
func (ps *producers) apply(h *batch.Header, marker *endMarker) (done txn, stable int64, ok bool) {
	p := ps.byID[h.ProducerID]
	if p == nil {
		p = &producer{epoch: -1, coordinator: -1, timestamp: noTimestamp, txnFirst: -1}
		if ps.byID == nil {
			ps.byID = map[int64]*producer{}
		}
		ps.byID[h.ProducerID] = p
	}
	if p.epoch != h.ProducerEpoch {
		p.epoch, p.n = h.ProducerEpoch, 0
	}
	if marker != nil {
		p.coordinator, p.timestamp = marker.coordinator, marker.timestamp
		if p.txnFirst < 0 {
			return txn{}, 0, false
		}
		done = txn{h.ProducerID, p.txnFirst, h.BaseOffset}
		p.txnFirst = -1
		return done, ps.endTxn(done), true
	}
	if p.n == window {
		copy(p.batches[:], p.batches[1:])
		p.n--
	}
	delta := int32(h.LastOffset() - h.BaseOffset)
	p.batches[p.n] = sentBatch{h.LastSequence(), delta, h.LastOffset(), h.MaxTimestamp}
	p.n++
	p.timestamp = h.MaxTimestamp
	if h.Transactional() && p.txnFirst < 0 {
		p.txnFirst = h.BaseOffset
		ps.beginTxn(txn{producer: h.ProducerID, first: h.BaseOffset})
	}
	return txn{}, 0, false
}

func (ps *producers) beginTxn(t txn) {
	i, _ := slices.BinarySearchFunc(ps.open, t, byFirst)
	ps.open = slices.Insert(ps.open, i, t)
}

func byFirst(a, b txn) int { return cmp.Compare(a.first, b.first) }

// endTxn moves t from the open to the ended transactions.
func (ps *producers) endTxn(t txn) (stable int64) {
	stable = ps.stableAfter(t)
	ps.open = slices.DeleteFunc(ps.open, func(o txn) bool { return o.first == t.first && o.producer == t.producer })
	ps.ended = append(ps.ended, t)
	return stable
}

// stableAfter returns the last stable offset when t, which is open, ends: the
// start of the first other open transaction, else what follows its marker.
func (ps *producers) stableAfter(t txn) int64 {
	for _, o := range ps.open {
		if o.producer != t.producer {
			return o.first
		}
	}
	return t.last + 1
}

// committed forgets the ended transactions whose marker lies below offset.
func (ps *producers) committed(offset int64) {
	ps.ended = slices.DeleteFunc(ps.ended, func(t txn) bool { return t.last < offset })
}

// firstUnstable returns the first offset of a transaction that is not decided,
// or whose marker is not committed.
func (ps *producers) firstUnstable() (offset int64, ok bool) {
	offset = math.MaxInt64
	if len(ps.open) > 0 {
		offset = ps.open[0].first
	}
	for _, t := range ps.ended {
		offset = min(offset, t.first)
	}
	return offset, offset != math.MaxInt64
}

// expire forgets producers that wrote nothing for ms and have no open
// transaction.
func (ps *producers) expire(now time.Time, ms int64) {
	for id, p := range ps.byID {
		if p.txnFirst < 0 && now.UnixMilli()-p.timestamp >= ms {
			delete(ps.byID, id)
		}
	}
}

// load takes over the entries of a snapshot, but for expired ones.
func (ps *producers) load(entries []prodsnapshot.Entry, now time.Time, expireMs int64) {
	ps.byID = make(map[int64]*producer, len(entries))
	for _, e := range entries {
		p := &producer{epoch: e.ProducerEpoch, coordinator: e.CoordinatorEpoch, timestamp: e.Timestamp, txnFirst: -1}
		if e.LastOffset >= 0 {
			p.n = 1
			p.batches[0] = sentBatch{e.LastSequence, e.OffsetDelta, e.LastOffset, e.Timestamp}
		}
		if e.CurrentTxnFirstOffset >= 0 {
			p.txnFirst = e.CurrentTxnFirstOffset
			ps.beginTxn(txn{producer: e.ProducerID, first: e.CurrentTxnFirstOffset})
		}
		ps.byID[e.ProducerID] = p
	}
	ps.expire(now, expireMs)
}

// entries returns what a snapshot holds, in the order in which Kafka writes it.
func (ps *producers) entries() []prodsnapshot.Entry {
	all := make([]prodsnapshot.Entry, 0, len(ps.byID))
	for id, p := range ps.byID {
		e := prodsnapshot.Entry{
			ProducerID: id, ProducerEpoch: p.epoch, LastSequence: -1, LastOffset: -1,
			Timestamp: p.timestamp, CoordinatorEpoch: p.coordinator, CurrentTxnFirstOffset: p.txnFirst,
		}
		if p.n > 0 {
			b := p.batches[p.n-1]
			e.LastSequence, e.LastOffset, e.OffsetDelta = b.lastSequence, b.lastOffset, b.delta
		}
		all = append(all, e)
	}
	sortAsKafka(all)
	return all
}

// sortAsKafka puts entries in the order of Kafka's hash map, which is the order
// of the buckets in a table whose size is the least power of two, from 16 on,
// that is filled by three quarters at most. The order does not matter to a
// reader; the same bytes help those who compare replicas.
func sortAsKafka(entries []prodsnapshot.Entry) {
	buckets := 16
	for 4*len(entries) > 3*buckets {
		buckets *= 2
	}
	bucket := func(id int64) int {
		h := uint32(id) ^ uint32(uint64(id)>>32)
		return int(h^h>>16) & (buckets - 1)
	}
	slices.SortFunc(entries, func(a, b prodsnapshot.Entry) int {
		return cmp.Or(cmp.Compare(bucket(a.ProducerID), bucket(b.ProducerID)), cmp.Compare(a.ProducerID, b.ProducerID))
	})
}

// markerOf returns what the control batch p with header h says, nil if it says
// nothing: a data batch, one without a producer ID, one that compaction has
// emptied.
func markerOf(h *batch.Header, p []byte) (*endMarker, error) {
	if !h.Control() || h.ProducerID < 0 || h.Count == 0 {
		return nil, nil
	}
	return decodeMarker(*h, p)
}

func decodeMarker(h batch.Header, p []byte) (*endMarker, error) {
	d := batch.Decoder{MaxInflated: 1 << 20}
	rs, err := d.Open(h, p)
	if err != nil {
		return nil, err
	}
	for r, err := range rs.All() {
		if err != nil {
			return nil, err
		}
		rec, err := control.Decode(r.Key, r.Value)
		if err != nil {
			return nil, err
		}
		m, ok := rec.Message.(*control.EndTxnMarker)
		if !ok {
			return nil, fmt.Errorf("control record of type %v with producer ID %d", rec.Type, h.ProducerID)
		}
		return &endMarker{rec.Type == control.Abort, m.CoordinatorEpoch, r.Timestamp}, nil
	}
	return nil, nil
}
