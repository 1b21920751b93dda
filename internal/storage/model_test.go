package storage

import (
	"flag"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"kf/internal/format/control"
	"kf/internal/storage/disktest"
)

var seed = flag.Uint64("seed", 0, "repeat the random test with this seed")

// A model is a log as simple as can be.
type model struct {
	batches   []modelBatch
	start     int64
	end       int64
	high      int64
	sequences map[int64]int32 // next one by producer
	open      map[int64]int64 // first offset of a transaction by producer
	ended     []txn           // whose marker is not below the high watermark
}

type modelBatch struct {
	first    int64
	values   []string
	time     int64
	epoch    int32
	producer int64 // -1 for none
	sequence int32
	txn      bool
	end      bool // a marker
	abort    bool
}

func (b *modelBatch) last() int64 { return b.first + int64(len(b.values)) - 1 }

// records returns what a reader gets below limit; committed leaves out what was
// aborted.
func (m *model) records(limit int64, committed bool) []string {
	var all []string
	for i, b := range m.batches {
		if b.last() >= limit { // a batch is read as a whole
			break
		}
		if b.end || committed && b.txn && m.aborted(i) {
			continue
		}
		for j, v := range b.values {
			if o := b.first + int64(j); o >= m.start {
				all = append(all, fmt.Sprintf("%d=%s", o, v))
			}
		}
	}
	return all
}

// aborted reports whether the transaction of batch i was aborted.
func (m *model) aborted(i int) bool {
	for _, b := range m.batches[i+1:] {
		if b.end && b.producer == m.batches[i].producer {
			return b.abort
		}
	}
	return false
}

// stable returns the last stable offset.
func (m *model) stable() int64 {
	stable := m.high
	for _, first := range m.open {
		stable = min(stable, max(first, m.start))
	}
	m.ended = slices.DeleteFunc(m.ended, func(t txn) bool { return t.last < m.high })
	for _, t := range m.ended {
		stable = min(stable, max(t.first, m.start))
	}
	return stable
}

// truncate removes what is at or above offset, and says where the log ends.
func (m *model) truncate(offset int64) {
	m.batches = slices.DeleteFunc(m.batches, func(b modelBatch) bool { return b.last() >= offset })
	m.end, m.start, m.high = offset, min(m.start, offset), min(m.high, offset)
}

// adopt compares what the log knows of producers with the batches that are
// there, and takes over what it remembers of batches that retention deleted.
func (m *model) adopt(t *testing.T, l *Log) {
	m.sequences, m.open, m.ended = map[int64]int32{}, map[int64]int64{}, nil
	for _, b := range m.batches {
		if b.last() >= m.start {
			m.note(b)
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for id, first := range m.open {
		if p := l.producers.byID[id]; p == nil || p.txnFirst < 0 || p.txnFirst > first {
			t.Fatalf("producer %d: %+v, has a transaction open since %d", id, p, first)
		}
	}
	for id, next := range m.sequences {
		p := l.producers.byID[id]
		if p == nil || p.n == 0 || p.batches[p.n-1].lastSequence+1 != next {
			t.Fatalf("producer %d: %+v, want sequence %d next", id, p, next)
		}
	}
	for id, p := range l.producers.byID {
		if p.n > 0 {
			m.sequences[id] = p.batches[p.n-1].lastSequence + 1
		}
		if p.txnFirst >= 0 {
			m.open[id] = p.txnFirst
		}
	}
	m.ended = slices.Clone(l.producers.ended)
}

func (m *model) note(b modelBatch) {
	switch {
	case b.producer < 0:
	case b.end:
		if first, ok := m.open[b.producer]; ok {
			m.ended = append(m.ended, txn{b.producer, first, b.first})
		}
		delete(m.open, b.producer)
	default:
		m.sequences[b.producer] = b.sequence + int32(len(b.values))
		if _, ok := m.open[b.producer]; b.txn && !ok {
			m.open[b.producer] = b.first
		}
	}
}

func (m *model) firstAt(t int64, limit int64) Found {
	for _, b := range m.batches {
		if b.time < t || b.last() < m.start {
			continue
		}
		if o := max(b.first, m.start); o < limit {
			return Found{b.time, o, b.epoch}
		}
		break
	}
	return nothingFound
}

// A random life of a log gives what the same life of the model gives.
func TestModel(t *testing.T) {
	seeds := []uint64{1, 2, 3, 4, 5, rand.Uint64()}
	if *seed != 0 {
		seeds = []uint64{*seed}
	}
	for _, seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { randomLife(t, rand.New(rand.NewPCG(seed, 0)), 400) })
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

func randomLife(t *testing.T, r *rand.Rand, steps int) {
	s := newSetup(t)
	s.o.FS = disktest.New(nil)
	s.o.Config.SegmentBytes, s.o.Config.IndexIntervalBytes, s.o.Config.SegmentIndexBytes = 900, 150, 160
	s.o.Config.FileDeleteDelayMs, s.o.Config.MaxMessageBytes, s.o.Config.SegmentMs = 0, 800, math.MaxInt64
	m := &model{sequences: map[int64]int32{}, open: map[int64]int64{}}
	l := s.open()
	epoch := int32(0)
	now := time.Now().UnixMilli()
	for step := range steps {
		what := r.IntN(100)
		did := ""
		switch {
		case what < 60:
			b := modelBatch{first: m.end, time: now + int64(step), epoch: epoch, producer: -1}
			for i := range 1 + r.IntN(4) {
				b.values = append(b.values, fmt.Sprintf("%d.%d", step, i))
			}
			if kind := r.IntN(3); kind > 0 {
				b.producer, b.txn = int64(r.IntN(3))+3*int64(kind-1), kind == 2
				b.sequence = m.sequences[b.producer]
			}
			sp := spec{values: b.values, time: b.time, sent: b.producer >= 0, producer: b.producer, sequence: b.sequence, txn: b.txn}
			did = fmt.Sprintf("append %d records of producer %d at %d", len(b.values), b.producer, b.first)
			a, err := l.Append(sp.bytes(t), AppendOptions{LeaderEpoch: epoch})
			if err != nil || a.FirstOffset != b.first || a.LastOffset != b.last() || a.Duplicate {
				t.Fatalf("step %d: %s: %+v, %v", step, did, a, err)
			}
			m.batches, m.end = append(m.batches, b), b.last()+1
			m.note(b)
		case what < 70 && len(m.open) > 0:
			ids := slices.Sorted(maps.Keys(m.open))
			b := modelBatch{first: m.end, values: []string{""}, time: now + int64(step), epoch: epoch, producer: ids[r.IntN(len(ids))], txn: true, end: true, abort: r.IntN(2) == 0}
			sp := spec{end: true, producer: b.producer, time: b.time, marker: control.Commit}
			if b.abort {
				sp.marker = control.Abort
			}
			did = fmt.Sprintf("end the transaction of %d", b.producer)
			if _, err := l.Append(sp.bytes(t), AppendOptions{LeaderEpoch: epoch, Origin: FromCoordinator}); err != nil {
				t.Fatal(err)
			}
			m.batches, m.end = append(m.batches, b), m.end+1
			m.note(b)
		case what < 78:
			m.high = m.start + r.Int64N(m.end-m.start+1)
			did = fmt.Sprintf("high watermark %d", m.high)
			l.SetHighWatermark(m.high)
		case what < 82:
			offset := m.high - r.Int64N(3)
			did = fmt.Sprintf("raise the log start to %d", offset)
			if _, err := l.RaiseLogStart(offset); err != nil {
				t.Fatal(err)
			}
			m.start = max(m.start, offset)
		case what < 86:
			// To where a batch begins, as followers do: inside a batch the log end
			// would stay above the last record until the next start.
			offset := m.end
			for _, b := range m.batches {
				if b.first >= max(m.end-r.Int64N(15), m.start) {
					offset = b.first
					break
				}
			}
			did = fmt.Sprintf("truncate to %d", offset)
			if err := l.TruncateTo(offset); err != nil {
				t.Fatal(err)
			}
			m.truncate(offset)
			m.adopt(t, l)
		case what < 87:
			did = "truncate all"
			offset := m.end + r.Int64N(5) - 2
			if offset < 0 {
				continue
			}
			if err := l.TruncateAll(offset); err != nil {
				t.Fatal(err)
			}
			*m = model{start: offset, end: offset, high: offset, sequences: map[int64]int32{}, open: map[int64]int64{}}
		case what < 92:
			c := s.o.Config
			c.RetentionBytes = int64(r.IntN(3000))
			l.SetConfig(c)
			before := l.LogStartOffset()
			n, err := l.Retain()
			if err != nil {
				t.Fatal(err)
			}
			did = fmt.Sprintf("retention, %d segments", n)
			if start := l.LogStartOffset(); start > m.high || start < before || n == 0 && start != before {
				t.Fatalf("step %d: %s: log start %d, was %d, high watermark %d", step, did, start, before, m.high)
			}
			m.start = l.LogStartOffset()
			m.batches = slices.DeleteFunc(m.batches, func(b modelBatch) bool { return b.last() < l.firstBase() })
			m.adopt(t, l)
		case what < 94:
			epoch++
			did = fmt.Sprintf("leader epoch %d", epoch)
			if err := l.BecomeLeader(epoch); err != nil {
				t.Fatal(err)
			}
		default:
			s.o.Clean = r.IntN(2) == 0
			did = fmt.Sprintf("start again, clean %v", s.o.Clean)
			s.o.LogStartOffset, s.o.HighWatermark, s.o.RecoveryPoint = m.start, m.high, l.RecoveryPoint()
			l.mu.Lock()
			producers := l.producers.entries()
			l.mu.Unlock()
			if s.o.Clean {
				closeLog(t, l)
			} else {
				l.Abandon(ErrClosed)
				l.background.Wait()
			}
			l = s.open()
			for _, n := range s.notices {
				if n[0] != '0' {
					t.Errorf("step %d: notice %q", step, n)
				}
			}
			if got := l.producers.entries(); s.o.Clean && m.start < m.end && !slices.Equal(got, producers) {
				t.Errorf("step %d: producers %+v, want %+v", step, got, producers)
			}
			m.adopt(t, l)
		}
		if [4]int64{l.LogStartOffset(), l.LogEndOffset(), l.HighWatermark(), l.LastStableOffset()} != [4]int64{m.start, m.end, m.high, m.stable()} {
			t.Fatalf("step %d: %s: start, end, high watermark, stable %d %d %d %d, want %d %d %d %d", step, did,
				l.LogStartOffset(), l.LogEndOffset(), l.HighWatermark(), l.LastStableOffset(), m.start, m.end, m.high, m.stable())
		}
		if got, want := all(t, l, ToLogEnd), m.records(m.end, false); !slices.Equal(got, want) {
			t.Fatalf("step %d: %s: records %q, want %q", step, did, got, want)
		}
		if got, want := all(t, l, ToHighWatermark), m.records(m.high, false); !slices.Equal(got, want) {
			t.Fatalf("step %d: %s: below the high watermark %d %q, want %q", step, did, m.high, got, want)
		}
		at := now + int64(r.IntN(step+2))
		if got, err := l.FindTime(at, ToLogEnd); err != nil || got != m.firstAt(at, m.end) {
			t.Fatalf("step %d: %s: time %d: %+v, %v, want %+v", step, did, at-now, got, err, m.firstAt(at, m.end))
		}
	}
	closeLog(t, l)
}
