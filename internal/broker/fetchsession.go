package broker

import (
	"math"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"kf/internal/wire"
)

// Fetch sessions (KIP-227): a client names its partitions once and then only
// what changes, and the answers leave out partitions with nothing new.

// A fetchKey names a partition in a request: by topic name up to version 12, by
// id from version 13 on. The other field is zero.
type fetchKey struct {
	topic     string
	id        wire.UUID
	partition int32
}

// A fetchPartition is what is asked of one partition.
type fetchPartition struct {
	fetchKey
	offset           int64
	maxBytes         int32
	leaderEpoch      int32 // that the client knows, -1 for no check
	lastFetchedEpoch int32 // -1 for no check
}

// A sessionPartition is a partition of a session.
type sessionPartition struct {
	fetchPartition
	highWatermark  int64 // as last answered, -1 if never or with an error
	logStartOffset int64
}

// A fetchSession is what the broker remembers for a client.
type fetchSession struct {
	id       int32
	byID     bool // its requests name topics by id
	follower bool
	created  time.Time

	mu         sync.Mutex
	epoch      int32 // of the next request
	partitions map[fetchKey]*sessionPartition
	// order is the order of reading: partitions that had records go to the end,
	// so that a small limit on the answer starves none.
	order []*sessionPartition

	used time.Time // guarded by the cache
	size int       // number of partitions, guarded by the cache
}

// A sessionCache has the sessions of a broker.
type sessionCache struct {
	mu         sync.Mutex
	slots      int // max.incremental.fetch.session.cache.slots
	room       int // how many partitions the sessions may have in all
	partitions int // how many they have
	sessions   map[int32]*fetchSession
}

// maxSessionPartitions is how many partitions all sessions may have, at some 250
// bytes each. Kafka has no such limit: a client may make it remember a thousand
// times what a request holds. Who gets no session fetches without one.
const maxSessionPartitions = 1 << 20

// minEviction is how long a session that is in use is kept from larger ones,
// and how long an unused one is kept at all.
const minEviction = 120 * time.Second

func newSessionCache(slots int) *sessionCache {
	return &sessionCache{slots: slots, room: maxSessionPartitions, sessions: make(map[int32]*fetchSession)}
}

// A fetchContext is one request in the light of its session.
type fetchContext struct {
	cache      *sessionCache
	session    *fetchSession // of an incremental fetch, else nil
	open       bool          // the client wants a session
	byID       bool
	follower   bool
	partitions []fetchPartition // what to read, in this order
}

// The epochs of requests outside the count.
const (
	initialEpoch = 0  // opens a session
	finalEpoch   = -1 // closes one, and does without
)

// begin returns what a request asks for, or the error code of the whole answer.
func (s *sessionCache) begin(r *kmsg.FetchRequest, follower bool) (*fetchContext, int16) {
	ctx := &fetchContext{cache: s, byID: r.Version >= 13, follower: follower}
	if r.SessionEpoch == initialEpoch || r.SessionEpoch == finalEpoch {
		if r.SessionID != 0 {
			s.remove(r.SessionID)
		}
		ctx.open = r.SessionEpoch == initialEpoch
		ctx.partitions = fullFetch(r)
		return ctx, 0
	}
	session := s.get(r.SessionID)
	if session == nil {
		return nil, kerr.FetchSessionIDNotFound.Code
	}
	session.mu.Lock()
	defer session.mu.Unlock()
	switch {
	case session.epoch != r.SessionEpoch:
		return nil, kerr.InvalidFetchSessionEpoch.Code
	case session.byID != ctx.byID:
		return nil, kerr.FetchSessionTopicIDError.Code
	}
	session.update(r)
	if len(session.order) == 0 {
		s.remove(session.id)
		return ctx, 0
	}
	session.epoch = nextEpoch(session.epoch)
	if !s.touch(session, len(session.order)) {
		return nil, kerr.FetchSessionIDNotFound.Code
	}
	ctx.session = session
	ctx.partitions = make([]fetchPartition, len(session.order))
	for i, p := range session.order {
		ctx.partitions[i] = p.fetchPartition
	}
	return ctx, 0
}

func nextEpoch(e int32) int32 {
	if e == math.MaxInt32 {
		return 1
	}
	return e + 1
}

// fullFetch returns the partitions of a request that names all that it wants.
func fullFetch(r *kmsg.FetchRequest) []fetchPartition {
	var all []fetchPartition
	seen := make(map[fetchKey]int)
	eachFetch(r, func(p fetchPartition) {
		if i, ok := seen[p.fetchKey]; ok {
			all[i] = p
			return
		}
		seen[p.fetchKey] = len(all)
		all = append(all, p)
	})
	return all
}

func eachFetch(r *kmsg.FetchRequest, f func(fetchPartition)) {
	for i := range r.Topics {
		t := &r.Topics[i]
		for j := range t.Partitions {
			p := &t.Partitions[j]
			f(fetchPartition{
				fetchKey:    fetchKey{t.Topic, t.TopicID, p.Partition},
				offset:      p.FetchOffset,
				maxBytes:    p.PartitionMaxBytes,
				leaderEpoch: p.CurrentLeaderEpoch, lastFetchedEpoch: p.LastFetchedEpoch,
			})
		}
	}
}

// update does what an incremental request says. The lock is held.
func (s *fetchSession) update(r *kmsg.FetchRequest) {
	eachFetch(r, func(p fetchPartition) {
		if known := s.partitions[p.fetchKey]; known != nil {
			known.fetchPartition = p
		} else {
			s.add(p, -1, -1)
		}
	})
	forgotten := false
	for _, t := range r.ForgottenTopics {
		for _, partition := range t.Partitions {
			key := fetchKey{t.Topic, t.TopicID, partition}
			if _, ok := s.partitions[key]; ok {
				delete(s.partitions, key)
				forgotten = true
			}
		}
	}
	if !forgotten {
		return
	}
	kept := s.order[:0]
	for _, p := range s.order {
		if s.partitions[p.fetchKey] == p {
			kept = append(kept, p)
		}
	}
	clear(s.order[len(kept):])
	s.order = kept
}

func (s *fetchSession) add(p fetchPartition, highWatermark, logStart int64) {
	added := &sessionPartition{p, highWatermark, logStart}
	s.partitions[p.fetchKey] = added
	s.order = append(s.order, added)
}

// finish takes the results for ctx.partitions, in their order, and returns
// those to be answered and the session id for the answer.
func (ctx *fetchContext) finish(results []fetchAnswerPartition) (keys []fetchKey, answered []fetchAnswerPartition, sessionID int32) {
	keys = make([]fetchKey, 0, len(results))
	if ctx.session == nil {
		for i := range results {
			keys = append(keys, ctx.partitions[i].fetchKey)
		}
		if ctx.open && len(results) > 0 {
			sessionID = ctx.cache.create(ctx, results)
		}
		return keys, results, sessionID
	}
	s := ctx.session
	s.mu.Lock()
	defer s.mu.Unlock()
	answered = results[:0]
	moved := make(map[*sessionPartition]bool)
	for i := range results {
		r := &results[i]
		p := s.partitions[ctx.partitions[i].fetchKey]
		if p == nil {
			// Forgotten by a later request that the client sent without
			// waiting: this answer is still of a time when it was wanted.
			p = &sessionPartition{}
		}
		if !p.changed(r) {
			r.records.Release()
			continue
		}
		if r.records.Len() > 0 {
			moved[p] = true
		}
		keys = append(keys, ctx.partitions[i].fetchKey)
		answered = append(answered, *r)
	}
	if len(moved) > 0 && len(moved) < len(s.order) {
		order := make([]*sessionPartition, 0, len(s.order))
		for _, with := range []bool{false, true} {
			for _, p := range s.order {
				if moved[p] == with {
					order = append(order, p)
				}
			}
		}
		s.order = order
	}
	return keys, answered, s.id
}

// changed reports whether the result must be answered, and remembers it.
func (p *sessionPartition) changed(r *fetchAnswerPartition) bool {
	changed := r.records.Len() > 0 || r.errorCode != 0 || r.divergingEpoch != -1 || r.preferredReplica != -1 ||
		r.highWatermark != p.highWatermark || r.logStartOffset != p.logStartOffset
	p.highWatermark, p.logStartOffset = r.highWatermark, r.logStartOffset
	if r.errorCode != 0 {
		p.highWatermark = -1 // whatever comes after an error is news
	}
	return changed
}

func (s *sessionCache) get(id int32) *fetchSession {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sessions[id]
}

func (s *sessionCache) remove(id int32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drop(s.sessions[id])
}

// drop ends a session, nil for none. The lock is held.
func (s *sessionCache) drop(session *fetchSession) {
	if session == nil {
		return
	}
	delete(s.sessions, session.id)
	s.partitions -= session.size
}

// touch notes that a session is in use, and its size. It reports false if the
// session was dropped, now because there is no room for what it has become.
func (s *sessionCache) touch(session *fetchSession, size int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sessions[session.id] != session {
		return false
	}
	s.partitions += size - session.size
	session.used, session.size = time.Now(), size
	if s.partitions > s.room {
		s.drop(session)
		return false
	}
	return true
}

// create makes a session of what was asked and found; 0 if there is no room.
func (s *sessionCache) create(ctx *fetchContext, results []fetchAnswerPartition) int32 {
	if len(results) > s.room {
		return 0
	}
	now := time.Now()
	session := &fetchSession{
		byID: ctx.byID, follower: ctx.follower, created: now, used: now,
		epoch:      nextEpoch(initialEpoch),
		partitions: make(map[fetchKey]*sessionPartition, len(results)),
		size:       len(results),
	}
	for i := range results {
		highWatermark := results[i].highWatermark
		if results[i].errorCode != 0 {
			highWatermark = -1
		}
		session.add(ctx.partitions[i], highWatermark, results[i].logStartOffset)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.sessions) >= s.slots || s.partitions+session.size > s.room {
		if !s.evict(session, now) {
			return 0
		}
	}
	for session.id == 0 || s.sessions[session.id] != nil {
		session.id = rand.Int32()
	}
	s.sessions[session.id] = session
	s.partitions += session.size
	return session.id
}

// evict makes room for a session: one that was not used for a while goes first,
// else the smallest of those that have lived long enough, if the new one counts
// for more. The sessions of followers count for more than those of consumers.
// The lock is held.
func (s *sessionCache) evict(session *fetchSession, now time.Time) bool {
	var victim *fetchSession
	for _, old := range s.sessions {
		if now.Sub(old.used) > minEviction {
			victim = old
			break
		}
		if now.Sub(old.created) > minEviction && old.weighsLess(session) && (victim == nil || old.weighsLess(victim)) {
			victim = old
		}
	}
	if victim == nil {
		return false
	}
	s.drop(victim)
	return true
}

func (s *fetchSession) weighsLess(than *fetchSession) bool {
	if s.follower != than.follower {
		return than.follower
	}
	return s.size < than.size
}
