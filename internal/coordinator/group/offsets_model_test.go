package group

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"kf/internal/format/grouprec"
)

// A model is what offsets should be, told in the simplest way: the records of each
// place as they came, with the transactions that they wait for.
type model struct {
	records map[place][]modelRecord
	groups  map[string]bool
	order   int
}

type modelRecord struct {
	order    int // where it is in the log
	offset   int64
	time     time.Time
	producer int64 // of an open transaction, -1 if the record counts
}

func (m *model) write(p place, offset, producer int64) {
	m.order++
	m.groups[p.group] = true
	m.records[p] = append(m.records[p], modelRecord{m.order, offset, time.Now(), producer})
}

// end lets the newest record of a producer count in each place, or none.
func (m *model) end(producer int64, commit bool) {
	for p, rs := range m.records {
		var kept []modelRecord
		newest := -1
		for i, r := range rs {
			if r.producer == producer {
				newest = i
			} else {
				kept = append(kept, r)
			}
		}
		if commit && newest >= 0 {
			r := rs[newest]
			r.producer = -1
			kept = append(kept, r)
		}
		m.records[p] = kept
	}
}

// get returns the newest record that counts, nil if there is none, and whether
// others may count later.
func (m *model) get(p place) (newest *modelRecord, open bool) {
	for _, r := range m.records[p] {
		if r.producer >= 0 {
			open = true
		} else if newest == nil || r.order > newest.order {
			newest = &r
		}
	}
	return newest, open
}

// remove forgets the places for which what says so.
func (m *model) remove(what func(p place) bool) {
	maps.DeleteFunc(m.records, func(p place, _ []modelRecord) bool { return what(p) })
}

// expire deletes what is older than the retention, and then the groups of which
// nothing is left.
func (m *model) expire(now time.Time, retention time.Duration) {
	for group := range m.groups {
		all := true
		m.remove(func(p place) bool {
			r, open := m.get(p)
			switch {
			case p.group != group || r == nil && !open:
				return false
			case open || now.Sub(r.time) < retention:
				all = false
				return false
			}
			return true
		})
		if all {
			delete(m.groups, group)
		}
	}
}

// show writes what a group has, as the show of an answer does.
func (m *model) show(group string, stable bool) string {
	places := slices.SortedFunc(maps.Keys(m.records), func(a, b place) int {
		return cmp.Or(cmp.Compare(a.topic, b.topic), cmp.Compare(a.partition, b.partition))
	})
	var parts []string
	for _, p := range places {
		r, open := m.get(p)
		switch {
		case p.group != group || r == nil:
		case stable && open:
			parts = append(parts, fmt.Sprintf("%s-%d!88", p.topic, p.partition))
		default:
			parts = append(parts, fmt.Sprintf("%s-%d=%d", p.topic, p.partition, r.offset))
		}
	}
	return strings.Join(parts, " ")
}

// TestOffsetsModel does to a coordinator and to the model what random clients,
// transactions, administrators and time do, and compares them after each step.
func TestOffsetsModel(t *testing.T) {
	for seed := range uint64(10) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newModelWorld(t, rand.New(rand.NewPCG(seed, 5)))
				for range 400 {
					step := w.step()
					if w.compare(step); t.Failed() {
						return
					}
				}
			})
		})
	}
}

// A modelWorld is a coordinator beside its model.
type modelWorld struct {
	*bench
	model  *model
	r      *rand.Rand
	offset int64
	made   int            // topics
	open   map[int64]bool // producers with a transaction
	check  time.Time      // when the coordinator looks next for what expired
}

var modelTopics = []string{"a", "b", "c"}

func newModelWorld(t *testing.T, r *rand.Rand) *modelWorld {
	w := &modelWorld{
		bench: newBench(t, map[string]int32{"a": 4, "b": 4, "c": 4}), r: r, open: make(map[int64]bool),
		model: &model{records: make(map[place][]modelRecord), groups: make(map[string]bool)},
	}
	w.stop()
	w.config.OffsetRetention, w.config.OffsetCheckInterval = time.Hour.Milliseconds(), (10 * time.Minute).Milliseconds()
	w.start()
	return w
}

func (w *modelWorld) start() {
	w.bench.start()
	w.check = time.Now().Add(10 * time.Minute)
}

func (w *modelWorld) place() place {
	return place{fmt.Sprintf("g%d", w.r.IntN(3)), spot{modelTopics[w.r.IntN(3)], w.r.Int32N(4)}}
}

// step does one thing, and says what.
func (w *modelWorld) step() string {
	p := w.place()
	switch n := w.r.IntN(100); {
	case n < 30:
		return w.commitSome(p.group)
	case n < 50:
		w.offset++
		producer := w.r.Int64N(3)
		w.open[producer] = true
		r := offsetRecord(p.group, p.topic, p.partition, w.offset)
		v := r.Value.(*grouprec.OffsetCommitValue)
		v.CommitTimestamp, v.TopicID = time.Now().UnixMilli(), w.image.Topic(p.topic).ID
		w.transact(producer, r)
		w.model.write(p, w.offset, producer)
		return fmt.Sprintf("%v=%d by %d", p, w.offset, producer)
	case n < 62:
		producer, commit := w.r.Int64N(3), w.r.IntN(3) > 0
		w.end(producer, commit)
		w.model.end(producer, commit)
		return fmt.Sprintf("end of %d, %v", producer, commit)
	case n < 72:
		if code, _ := w.deleted(p.group, part{topic: p.topic, partition: p.partition}); (code == 0) != w.model.groups[p.group] {
			w.t.Errorf("deletion in %s: code %d, there %v", p.group, code, w.model.groups[p.group])
		}
		w.model.remove(func(q place) bool { return q == p })
		return fmt.Sprintf("deletion of %v", p)
	case n < 75:
		if got := w.deleteGroups(p.group); (got == p.group+"=0") != w.model.groups[p.group] {
			w.t.Errorf("deletion: %s, there %v", got, w.model.groups[p.group])
		}
		w.model.remove(func(q place) bool { return q.group == p.group })
		delete(w.model.groups, p.group)
		return "deletion of " + p.group
	case n < 79:
		w.deleteTopic(p.topic)
		w.made++
		w.addTopicAs(p.topic, fmt.Sprint(w.made), 4)
		w.publish()
		w.model.remove(func(q place) bool { return q.topic == p.topic })
		return "new topic " + p.topic
	case n < 85:
		w.stop()
		w.start()
		return "restart"
	}
	d := time.Duration(w.r.IntN(900)) * time.Second
	for end := time.Now().Add(d); !w.check.After(end); w.check = w.check.Add(10 * time.Minute) {
		w.model.expire(w.check, time.Hour)
	}
	time.Sleep(d)
	synctest.Wait()
	return fmt.Sprintf("%v later", d)
}

func (w *modelWorld) commitSome(group string) string {
	var parts []part
	for range 1 + w.r.IntN(3) {
		w.offset++
		p := place{group, w.place().spot}
		parts = append(parts, part{p.topic, p.partition, w.offset})
		w.model.write(p, w.offset, -1)
	}
	q := commitOf(group, 9, parts...)
	for i := range q.Topics {
		q.Topics[i].TopicID = w.image.Topic(q.Topics[i].Topic).ID
	}
	w.must(q)
	return fmt.Sprintf("commit of %s %v", group, parts)
}

func (w *modelWorld) compare(step string) {
	for i := range 3 {
		id := fmt.Sprintf("g%d", i)
		if got := w.group(id) != nil; got != w.model.groups[id] {
			w.t.Errorf("after %s: %s is there: %v", step, id, got)
		}
		for _, stable := range []bool{false, true} {
			if got, want := show(w.fetch(fetchOf(id), stable)), w.model.show(id, stable); got != want {
				w.t.Errorf("after %s: %s, stable %v:\n %s, want\n %s", step, id, stable, got, want)
			}
		}
	}
}
