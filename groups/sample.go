package groups

import (
	"context"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"kf/internal/client"
)

// A sampler is what has to be known of a cluster to tell the lag of groups.
type sampler interface {
	asker
	FirstRecords(ctx context.Context, places []client.Place, committed bool) map[client.Place]client.FirstRecord
	Retentions(ctx context.Context, topics []string) map[string]client.Retention
}

// A sample is how far groups were at one time.
type sample struct {
	at     time.Time
	groups []groupSample
}

// A groupSample is how far one group was.
type groupSample struct {
	standing
	partitions []partitionSample // like standing.positions
}

// A partitionSample is a position and what is known of the records there. What is not
// known is NaN; durations are in seconds.
type partitionSample struct {
	*position
	start     int64     // log start offset; -1 if it is not known
	unread    time.Time // timestamp of the first record that was not read; zero if it is not known, or there is none
	behind    float64   // how long ago that was, 0 if all is read
	lost      float64   // records that were deleted before they were read
	expires   float64   // until the first unread record may be deleted: 0 if it may be already, +Inf for never
	retention client.Retention
	in, out   float64 // records per second written and committed
	catchUp   float64 // until all is read at these rates, +Inf for never
	readErr   error   // why the first unread record is not known
}

// lagging reports whether there is something to read.
func (p *partitionSample) lagging() bool { return p.lagKnown && p.lag > 0 }

// records returns the lag as a number.
func (p *partitionSample) records() float64 {
	switch {
	case p.lagKnown:
		return float64(p.lag)
	case p.commit < 0 && p.err == nil && p.end >= 0 && p.start == p.end:
		return 0 // nothing was committed, and nothing is there
	}
	return math.NaN()
}

// unknownLag reports whether there may be records to read that no lag counts, because
// nothing was committed.
func (p *partitionSample) unknownLag() bool {
	return p.commit < 0 && p.err == nil && math.IsNaN(p.records())
}

// take takes a sample of groups.
func take(ctx context.Context, cl sampler, ids []string, opts *LagOptions, now func() time.Time) sample {
	standings := measure(ctx, cl, cl.DescribeGroupsByID(ctx, ids), opts.Topics, opts.Committed)
	s := sample{at: now()}
	topics := make(map[string]bool)
	var places []client.Place
	uncommitted, unread := make(kadm.TopicsSet), make(kadm.TopicsSet)
	for _, g := range standings {
		group := groupSample{standing: g, partitions: make([]partitionSample, len(g.positions))}
		for i := range g.positions {
			p := &group.partitions[i]
			*p = partitionSample{
				position: &g.positions[i], start: -1, behind: nan, lost: nan, expires: nan, in: nan, out: nan, catchUp: nan,
				retention: client.Retention{Time: client.Forever},
			}
			switch {
			case p.commit < 0:
				uncommitted.Add(p.topic, p.partition)
			case p.lagging():
				places = append(places, client.Place{Topic: p.topic, Partition: p.partition, Offset: p.commit})
				unread.Add(p.topic, p.partition)
				topics[p.topic] = true
			}
		}
		s.groups = append(s.groups, group)
	}
	q := questions{places: places, uncommitted: uncommitted, unread: unread, topics: slices.Sorted(maps.Keys(topics))}
	known := q.ask(ctx, cl, opts)
	for _, g := range s.groups {
		for i := range g.partitions {
			g.partitions[i].learn(known, s.at, opts)
		}
	}
	return s
}

var nan = math.NaN()

// questions are those that the positions of groups leave.
type questions struct {
	places      []client.Place // what is the first record that was not read?
	uncommitted kadm.TopicsSet // where does the log start?
	unread      kadm.TopicsSet // what is the newest record?
	topics      []string       // for how long do they keep records?
}

// answers are those to questions.
type answers struct {
	records   map[client.Place]client.FirstRecord
	starts    kadm.ListedOffsets
	newest    kadm.ListedOffsets
	retention map[string]client.Retention
}

// ask asks all questions at the same time. An error is that of partitions, too.
func (q *questions) ask(ctx context.Context, cl sampler, opts *LagOptions) answers {
	var a answers
	var all sync.WaitGroup
	all.Go(func() { a.starts, _ = cl.ListOffsets(ctx, client.Earliest, false, q.uncommitted) })
	if !opts.NoTimes {
		all.Go(func() { a.records = cl.FirstRecords(ctx, q.places, opts.Committed) })
		all.Go(func() { a.retention = cl.Retentions(ctx, q.topics) })
		if opts.Against == againstNewest {
			all.Go(func() { a.newest, _ = cl.ListOffsets(ctx, client.MaxTimestamp, false, q.unread) })
		}
	}
	all.Wait()
	return a
}

// learn sets what the answers tell of the partition.
func (p *partitionSample) learn(a answers, now time.Time, opts *LagOptions) {
	switch {
	case p.commit < 0:
		if start, ok := a.starts.Lookup(p.topic, p.partition); ok && start.Err == nil {
			p.start = start.Offset
		}
		return
	case !p.lagKnown:
		return
	case p.lag <= 0:
		p.behind, p.lost, p.catchUp = 0, 0, 0
		return
	case opts.NoTimes:
		return
	}
	first := a.records[client.Place{Topic: p.topic, Partition: p.partition, Offset: p.commit}]
	p.retention = a.retention[p.topic]
	if p.start, p.readErr = first.LogStart, first.Err; p.start >= 0 {
		p.lost = float64(max(0, p.start-p.commit))
	}
	switch {
	case first.Err != nil:
		return
	case first.Offset < 0: // only markers are left: a consumer gets nothing more
		p.behind = 0
		return
	case first.Timestamp < 0:
		return
	}
	p.unread = time.UnixMilli(first.Timestamp)
	if opts.Against == againstNewest {
		if newest, ok := a.newest.Lookup(p.topic, p.partition); ok && newest.Err == nil && newest.Timestamp >= 0 {
			p.behind = max(0, time.UnixMilli(newest.Timestamp).Sub(p.unread).Seconds())
		}
	} else {
		p.behind = max(0, now.Sub(p.unread).Seconds())
	}
	switch {
	case p.retention.Err != nil:
	case p.retention.Time == client.Forever:
		p.expires = math.Inf(1)
	default:
		p.expires = max(0, p.unread.Add(p.retention.Time).Sub(now).Seconds())
	}
}

// rate sets how fast groups have been since earlier samples, the oldest first. Each rate
// of a partition is that since the oldest sample that tells it: where nothing was
// committed then, and where the commit has been reset since, a later one may. So a group
// that has just come to a partition counts there, too.
func (s *sample) rate(earlier []sample) {
	for i := range earlier {
		s.rateSince(&earlier[i])
	}
	for _, g := range s.groups {
		for i := range g.partitions {
			p := &g.partitions[i]
			p.catchUp = catchUp(p.records(), p.in, p.out)
		}
	}
}

// rateSince sets those rates that are not known yet. What was committed or ended in both
// samples counts; a commit that went back was reset, and says nothing.
func (s *sample) rateSince(before *sample) {
	took := s.at.Sub(before.at).Seconds()
	if took <= 0 {
		return
	}
	type key struct {
		group, topic string
		partition    int32
	}
	old := make(map[key]*partitionSample)
	for _, g := range before.groups {
		for i := range g.partitions {
			p := &g.partitions[i]
			old[key{g.ID, p.topic, p.partition}] = p
		}
	}
	for _, g := range s.groups {
		for i := range g.partitions {
			p := &g.partitions[i]
			o := old[key{g.ID, p.topic, p.partition}]
			if o == nil {
				continue
			}
			if math.IsNaN(p.in) && o.end >= 0 && p.end >= o.end {
				p.in = float64(p.end-o.end) / took
			}
			if math.IsNaN(p.out) && o.commit >= 0 && p.commit >= o.commit {
				p.out = float64(p.commit-o.commit) / took
			}
		}
	}
}

// catchUp returns how many seconds it takes to read lag records when in come and out
// are read in each: +Inf if that never comes to an end, NaN if something is not known.
func catchUp(lag, in, out float64) float64 {
	switch {
	case math.IsNaN(lag):
		return nan
	case lag <= 0:
		return 0
	case math.IsNaN(in), math.IsNaN(out):
		return nan
	case out <= in:
		return math.Inf(1)
	}
	return lag / (out - in)
}
