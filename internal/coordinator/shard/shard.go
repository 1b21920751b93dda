// Package shard runs coordinators. A coordinator keeps its state in a topic of
// its own, and each partition of that topic is a shard: the broker that leads
// the partition answers for what is kept there.
//
//	request -> operation -> (records, what to do then)
//	                        records are appended, replayed, committed
//	                                                 -> then: the answer
//
// State is what the replay of records makes of it, so that a start, a hand-over to
// another broker, and Kafka on the same directory find what this broker knew. A
// machine that has to change before its records are written says so, and mends what
// it did if they cannot be. What needs no record (timers, requests that wait) lives
// in the machine beside it and is made anew after a load.
//
// The package knows no network and no files: it is given a [Log]. Time comes
// from package time alone, so that testing/synctest can hold it.
package shard

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"kf/internal/format/schema"
)

// A Record is a record of a coordinator's topic; a nil Value is a tombstone.
type Record = schema.CoordinatorRecord

// A Machine is the state of a shard. Its methods are called with the shard's
// lock held, one at a time.
type Machine interface {
	// Replay applies a record. Producer is the id of the producer whose
	// transaction it belongs to, -1 for none: it counts when the transaction is
	// committed.
	Replay(r Record, producer int64)
	// ReplayEnd applies the end of a producer's transaction.
	ReplayEnd(producer int64, committed bool)
	// Loaded is called when the whole log was replayed, before the first
	// operation: timers start here.
	Loaded()
	// Unloaded is called when the shard ends: what waits is answered with err.
	Unloaded(err error)
}

// A Format is how the records of a topic look; package grouprec and its
// neighbours have one each. What Decode returns shares no memory with the record.
type Format struct {
	Decode      func(key, value []byte) (Record, error)
	AppendKey   func(dst []byte, key any) ([]byte, error)
	AppendValue func(dst []byte, value any, version int16) ([]byte, error)
}

// A Log is the partition that keeps the records of a shard. Append is called by
// one goroutine at a time, Read meanwhile by none.
type Log interface {
	// Append appends a batch as the partition's leader, which sets its base
	// offset and leader epoch, and returns the offset behind it.
	Append(batch []byte) (next int64, err error)
	// Read returns whole batches from the one that holds offset on: about max
	// bytes, but one batch at least; none at the log end. The bytes are valid
	// until the next call.
	Read(offset int64, max int) ([]byte, error)
	LogStartOffset() int64
	// HighWatermark is the offset below which records are committed.
	HighWatermark() int64
}

// The errors that end an operation before it began, or before its records were
// committed.
var (
	ErrLoading  = errors.New("the coordinator is loading its records") // COORDINATOR_LOAD_IN_PROGRESS
	ErrResigned = errors.New("this broker is not the coordinator")     // NOT_COORDINATOR
	ErrTimeout  = errors.New("the records were not committed in time") // COORDINATOR_NOT_AVAILABLE
	// ErrUnavailable is for a Log that cannot take an append now, as too few
	// replicas are in sync.
	ErrUnavailable = errors.New("too few replicas of the coordinator's records are in sync") // COORDINATOR_NOT_AVAILABLE
)

// A Result is what an operation wants.
type Result struct {
	// Records are appended in one batch, all or nothing, and replayed.
	Records []Record
	// Replayed says that the machine has changed already as the records say:
	// they are not replayed, and if they cannot be written Then mends that.
	Replayed bool
	// Split says that the records may go in several batches, as many as the
	// partition's limit needs.
	Split bool
	// Then is called with the shard's lock held when the records are committed,
	// with nil, or when they are not, with the reason. With no records it waits
	// for those before it: an answer tells of nothing that could be lost.
	Then func(err error)
}

// An Options says how a shard works.
type Options struct {
	Format Format
	Log    Log
	// Compression is the codec of the batches, as in their attributes.
	Compression func() int16
	// BatchBytes is the size limit of a batch.
	BatchBytes func() int
	// CommitTimeout is how long records may take to be committed.
	CommitTimeout func() time.Duration
	// Notice is told what an operator should know.
	Notice func(message string, err error)
}

// A Shard is one partition of a coordinator's topic. Make it with [New], then
// call Load.
type Shard struct {
	o       Options
	machine Machine
	loaded  chan struct{} // closed when the load is over, one way or the other

	mu      sync.Mutex
	state   state
	failed  error // why the load ended, if it failed
	written int64 // the offset behind the last batch of this shard
	pending []pending
	timeout *time.Timer // of pending[0], nil before the first
	timers  map[string]*timer
	tasks   map[string]*task
	ctx     context.Context // of background work
	end     context.CancelFunc
	buf     encoder
}

type state int8

const (
	loading state = iota
	active
	resigned
)

// A pending is a result whose records are not committed.
type pending struct {
	next int64 // the high watermark that it waits for
	due  time.Time
	then func(error)
}

// New returns a shard of a machine. It answers [ErrLoading] until it is loaded.
func New(o Options, m Machine) *Shard {
	ctx, end := context.WithCancel(context.Background())
	return &Shard{
		o: o, machine: m, loaded: make(chan struct{}), ctx: ctx, end: end,
		timers: make(map[string]*timer), tasks: make(map[string]*task),
	}
}

// Loaded returns a channel that is closed when the load is over: the shard works,
// or it failed or ended.
func (s *Shard) Loaded() <-chan struct{} { return s.loaded }

// Err returns why the shard answers nothing, nil while it works.
func (s *Shard) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err()
}

func (s *Shard) err() error {
	switch {
	case s.failed != nil:
		return s.failed
	case s.state == loading:
		return ErrLoading
	case s.state == resigned:
		return ErrResigned
	}
	return nil
}

// Do runs an operation. Refused is called instead, without the lock, if the shard
// is not there for it.
func (s *Shard) Do(op func() Result, refused func(err error)) {
	s.mu.Lock()
	if err := s.err(); err != nil {
		s.mu.Unlock()
		refused(err)
		return
	}
	defer s.mu.Unlock()
	_ = s.run(op) // its Then is told
}

// run runs an operation with the lock held, and returns why its records were not
// appended.
func (s *Shard) run(op func() Result) error {
	r := op()
	err := s.append(r)
	switch {
	case r.Then == nil:
	case err != nil:
		r.Then(err)
	case s.o.Log.HighWatermark() >= s.written && len(s.pending) == 0:
		r.Then(nil)
	default:
		s.wait(r.Then)
	}
	return err
}

func (s *Shard) append(r Result) error {
	records := r.Records
	for len(records) > 0 {
		batch, n, err := s.buf.encode(&s.o, records, r.Split, time.Now())
		if err != nil {
			return err
		}
		next, err := s.o.Log.Append(batch)
		if err != nil {
			return err
		}
		s.written = next
		if !r.Replayed {
			for _, record := range records[:n] {
				s.machine.Replay(record, -1)
			}
		}
		records = records[n:]
	}
	return nil
}

// wait calls then when what is written is committed.
func (s *Shard) wait(then func(error)) {
	p := pending{s.written, time.Now().Add(s.o.CommitTimeout()), then}
	s.pending = append(s.pending, p)
	if len(s.pending) > 1 {
		return
	}
	s.expect()
}

// expect starts the clock of the first pending result.
func (s *Shard) expect() {
	if s.timeout == nil {
		s.timeout = time.AfterFunc(time.Until(s.pending[0].due), s.overdue)
		return
	}
	s.timeout.Reset(time.Until(s.pending[0].due))
}

// overdue gives up what is not committed in time.
func (s *Shard) overdue() {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	s.settle(func(p pending) (bool, error) { return !p.due.After(now), ErrTimeout })
}

// Committed tells the shard that the high watermark of its log moved.
func (s *Shard) Committed() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.pending) == 0 {
		return // nor is the log asked, which may not be open
	}
	mark := s.o.Log.HighWatermark()
	s.settle(func(p pending) (bool, error) { return p.next <= mark, nil })
}

// settle ends pending results from the first on while done says so.
func (s *Shard) settle(done func(pending) (bool, error)) {
	for len(s.pending) > 0 {
		p := s.pending[0]
		over, err := done(p)
		if !over {
			s.expect()
			return
		}
		s.pending[0].then = nil
		s.pending = s.pending[1:]
		p.then(err)
	}
	if s.timeout != nil {
		s.timeout.Stop()
	}
}

// Close ends the shard: another broker coordinates, or this one stops.
func (s *Shard) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.close(ErrResigned)
}

func (s *Shard) close(err error) {
	if s.state == resigned {
		return
	}
	was := s.state
	s.state = resigned
	s.end()
	if was == active { // a load has none, and may still be in a replay
		for key := range s.timers {
			s.Cancel(key)
		}
		clear(s.tasks)
	}
	s.settle(func(pending) (bool, error) { return true, err })
	if was == active {
		s.machine.Unloaded(err)
	}
	select {
	case <-s.loaded:
	default:
		close(s.loaded)
	}
}

// fail ends a load that cannot be finished. Who asks is told that the coordinator
// is not here, as by Kafka.
func (s *Shard) fail(err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state == resigned {
		return ErrResigned
	}
	s.failed = fmt.Errorf("%w: its records could not be loaded: %w", ErrResigned, err)
	s.close(s.failed)
	return s.failed
}
