// Package resetplan computes where the committed offsets of groups are to go, and
// reads and writes such plans in two forms: the CSV that kafka-consumer-groups exports
// and takes, see [ReadCSV], and a JSON file that knows what was there before, so that it
// can be applied later and undone, see [Plan].
//
// It asks no cluster: what it needs to know of one it is given.
package resetplan

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
)

// A TopicPartition names a partition.
type TopicPartition struct {
	Topic     string
	Partition int32
}

func (p TopicPartition) String() string { return fmt.Sprintf("%s-%d", p.Topic, p.Partition) }

// Compare orders partitions by topic, then number.
func (p TopicPartition) Compare(q TopicPartition) int {
	return cmp.Or(strings.Compare(p.Topic, q.Topic), cmp.Compare(p.Partition, q.Partition))
}

// A Commit is what a group has committed for a partition.
type Commit struct {
	Offset      int64  `json:"offset"`       // the next record to read
	LeaderEpoch int32  `json:"leader_epoch"` // of the last record read, -1 if it was not committed
	Metadata    string `json:"metadata"`     // of the consumer's own
}

// A Log is what can be read of a partition.
type Log struct {
	Start int64 // the log start offset
	End   int64 // the high watermark: the offset of the next record
}

// Has reports whether a consumer can be at o.
func (l Log) Has(o int64) bool { return l.clamp(o) == o }

// clamp returns the offset nearest to o that a consumer can be at.
func (l Log) clamp(o int64) int64 { return max(l.Start, min(o, l.End)) }

// A Move is what is to become of the commit of a group in one partition.
type Move struct {
	Group string
	TopicPartition
	TopicID string  // base64, "" if the cluster has none
	Now     *Commit // nil if nothing is committed
	New     *Commit // nil if the commit is taken away
	Log     Log
	Wanted  int64  // what was asked for; it differs from New if that was outside of the log
	Note    string // why New is not what might be expected, "" if it is
	Remark  string // what Note says of all partitions alike, without the numbers of this one
	Err     error  // why nothing can be done
}

// Change returns New - Now; false if one of them is not there.
func (m *Move) Change() (int64, bool) {
	if m.Err != nil || m.Now == nil || m.New == nil {
		return 0, false
	}
	return m.New.Offset - m.Now.Offset, true
}

// Records returns how many offsets that were read are read again, and how many that
// were not never will be; false if that depends on the consumer, because nothing is or
// stays committed. What the log has no more counts for neither. Compacted topics and
// those with transactions have fewer records than offsets.
func (m *Move) Records() (replayed, skipped int64, ok bool) {
	if _, ok := m.Change(); !ok {
		return 0, 0, false
	}
	from, to := m.Log.clamp(m.Now.Offset), m.Log.clamp(m.New.Offset)
	return max(0, from-to), max(0, to-from), true
}

// A Target is the rule for where commits go.
type Target struct {
	Kind   Kind
	Offset int64 // for Offset: that one; for Shift: how far
}

// A Kind of target.
type Kind int

const (
	Earliest Kind = iota // the log start offset
	Latest               // the high watermark
	Offset               // one offset, or the nearest in the log
	Shift                // relative to the commit, or the nearest in the log
	Current              // the commit itself; the end where nothing is committed
	Time                 // the first record that is not older, or the end
)

// ErrNoCommit says that nothing is committed that could be shifted.
var ErrNoCommit = errors.New("nothing is committed that could be shifted")

// Apply sets New, Wanted and Note of m from its Now and Log. at is for Time: the offset
// of the first record that is not older, -1 if there is none; since says in words
// which time that is.
//
// What is committed is the offset alone, as by Kafka's tool, unless it stays: then its
// leader epoch and metadata stay too.
//
// Source: Kafka 4.4.0, GroupOffsetsResetter.java.
func (t Target) Apply(m *Move, at int64, since string) {
	switch t.Kind {
	case Earliest:
		m.set(m.Log.Start)
	case Latest:
		m.set(m.Log.End)
	case Offset:
		m.setInLog(t.Offset)
	case Shift:
		if m.Now == nil {
			m.Err = ErrNoCommit
			return
		}
		m.setInLog(add(m.Now.Offset, t.Offset))
	case Current:
		if m.Now == nil {
			m.set(m.Log.End)
			m.remark("nothing committed: the end")
			return
		}
		m.Keep()
	case Time:
		switch {
		case at >= 0:
			m.set(at)
			return
		case m.Log.Start >= m.Log.End:
			m.remark("no records: the end")
		default:
			m.remark("no record since " + since + ": the end")
		}
		m.set(m.Log.End)
	}
}

// Keep leaves the commit as it is, also outside of the log.
func (m *Move) Keep() { m.Restore(m.Now) }

// Restore makes New exactly what was committed once, nil for nothing. It may be outside
// of the log: then a consumer does what its auto.offset.reset says.
func (m *Move) Restore(c *Commit) {
	m.New = nil
	if c == nil {
		m.remark("nothing was committed: taken away")
		if m.Now == nil {
			m.remark("nothing is committed")
		}
		return
	}
	m.New = new(*c)
	m.Wanted = c.Offset
	switch {
	case c.Offset < m.Log.Start:
		m.remark("before the log start")
		m.Note += fmt.Sprintf(" %d", m.Log.Start)
	case c.Offset > m.Log.End:
		m.remark("past the end")
		m.Note += fmt.Sprintf(" %d", m.Log.End)
	}
}

// remark makes text the Note, which is that of other partitions too.
func (m *Move) remark(text string) { m.Note, m.Remark = text, text }

func (m *Move) set(o int64) {
	m.Wanted = o
	if m.Now != nil && m.Now.Offset == o {
		m.New = new(*m.Now)
		return
	}
	m.New = &Commit{Offset: o, LeaderEpoch: -1}
}

func (m *Move) setInLog(wanted int64) {
	m.set(m.Log.clamp(wanted))
	m.Wanted = wanted
	switch {
	case wanted < m.Log.Start:
		m.remark("clamped: before the log start")
		m.Note = fmt.Sprintf("clamped: %d is before the log start", wanted)
	case wanted > m.Log.End:
		m.remark("clamped: past the end")
		m.Note = fmt.Sprintf("clamped: %d is past the end", wanted)
	}
}

// Clamped reports whether New is not what was asked for, because the log has not got
// that.
func (m *Move) Clamped() bool {
	return m.Err == nil && m.New != nil && m.New.Offset != m.Wanted
}

// add returns a + b, held in the range of int64.
func add(a, b int64) int64 {
	sum := a + b
	switch {
	case a > 0 && b > 0 && sum < 0:
		return 1<<63 - 1
	case a < 0 && b < 0 && sum >= 0:
		return -1 << 63
	}
	return sum
}
