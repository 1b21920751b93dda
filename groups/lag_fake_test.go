package groups

import (
	"bytes"
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"kf/internal/cli"
	"kf/internal/client"
)

// A fakeCluster answers the questions of lag from what a test sets. Offsets are by
// topic, an index is a partition; -1 stands for none.
type fakeCluster struct {
	groups    []client.Group
	commits   map[string]map[string][]int64 // by group
	ends      map[string][]int64
	starts    map[string][]int64
	times     map[string]time.Time // of all records of a topic
	retention map[string]time.Duration
	failing   map[string]error // of a group, or of the end of a topic
	step      func(n int)      // called before sample n
	timeout   time.Duration

	mu      sync.Mutex
	samples int
	asked   []string
}

func (f *fakeCluster) note(question string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked = append(f.asked, question)
}

func (f *fakeCluster) Deadline(ctx context.Context) (context.Context, context.CancelFunc) {
	if f.timeout == 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, f.timeout)
}

func (f *fakeCluster) Groups(context.Context, client.GroupFilter) ([]client.ListedGroup, error) {
	var all []client.ListedGroup
	for _, g := range f.groups {
		all = append(all, g.ListedGroup)
	}
	return all, nil
}

func (f *fakeCluster) DescribeGroupsByID(_ context.Context, ids []string) []client.Group {
	if f.step != nil {
		f.step(f.samples)
	}
	f.samples++
	f.note("describe")
	var all []client.Group
	for _, id := range ids {
		i := slices.IndexFunc(f.groups, func(g client.Group) bool { return g.ID == id })
		g := client.Group{ListedGroup: client.ListedGroup{ID: id}, Err: client.ErrNoGroup}
		if i >= 0 {
			g = f.groups[i]
		}
		if err := f.failing[id]; err != nil {
			g.Err = err
		}
		all = append(all, g)
	}
	return all
}

func (f *fakeCluster) Commits(_ context.Context, ids []string) map[string]client.GroupCommits {
	f.note("commits")
	all := make(map[string]client.GroupCommits)
	for _, id := range ids {
		of := make(map[string]map[int32]client.Commit)
		for topic, offsets := range f.commits[id] {
			of[topic] = make(map[int32]client.Commit)
			for p, at := range offsets {
				if at >= 0 {
					of[topic][int32(p)] = client.Commit{Offset: at, LeaderEpoch: -1}
				}
			}
		}
		all[id] = client.GroupCommits{Of: of}
	}
	return all
}

func (f *fakeCluster) ShareOffsets(context.Context, []string) map[string]client.ShareOffsets {
	return nil
}

func (f *fakeCluster) Partitions(_ context.Context, topics []string) (kadm.TopicsSet, error) {
	set := make(kadm.TopicsSet)
	for _, topic := range topics {
		for p := range f.ends[topic] {
			set.Add(topic, int32(p))
		}
	}
	return set, nil
}

func (f *fakeCluster) ListOffsets(_ context.Context, at int64, _ bool, of kadm.TopicsSet) (kadm.ListedOffsets, error) {
	f.note(map[int64]string{client.Latest: "ends", client.Earliest: "starts", client.MaxTimestamp: "newest"}[at])
	listed := make(kadm.ListedOffsets)
	for topic, partitions := range of {
		listed[topic] = make(map[int32]kadm.ListedOffset)
		for p := range partitions {
			o := kadm.ListedOffset{Topic: topic, Partition: p, Offset: -1, Timestamp: -1, Err: f.failing[topic]}
			source := f.ends
			if at == client.Earliest {
				source = f.starts
			}
			switch {
			case int(p) < len(source[topic]):
				o.Offset = source[topic][p]
			case at == client.Earliest:
				o.Offset = 0
			default:
				o.Err = kerr.UnknownTopicOrPartition
			}
			if at == client.MaxTimestamp {
				o.Timestamp = f.times[topic].Add(5 * time.Minute).UnixMilli()
			}
			listed[topic][p] = o
		}
	}
	return listed, nil
}

func (f *fakeCluster) FirstRecords(_ context.Context, places []client.Place, _ bool) map[client.Place]client.FirstRecord {
	f.note("records")
	all := make(map[client.Place]client.FirstRecord)
	for _, p := range places {
		r := client.FirstRecord{Offset: p.Offset, Timestamp: -1}
		if starts := f.starts[p.Topic]; int(p.Partition) < len(starts) {
			r.LogStart = starts[p.Partition]
			r.Offset = max(r.Offset, r.LogStart)
		}
		if at, ok := f.times[p.Topic]; ok {
			r.Timestamp = at.UnixMilli()
		}
		all[p] = r
	}
	return all
}

func (f *fakeCluster) Retentions(_ context.Context, topics []string) map[string]client.Retention {
	f.note("retention")
	all := make(map[string]client.Retention)
	for _, topic := range topics {
		r := client.Retention{Time: client.Forever}
		if d, ok := f.retention[topic]; ok {
			r.Time = d
		}
		all[topic] = r
	}
	return all
}

// group returns a group of a type with members, each of which reads these partitions
// of a topic and subscribes to it.
func group(id string, typ client.GroupType, members ...kadm.TopicsList) client.Group {
	g := client.Group{ListedGroup: client.ListedGroup{ID: id, Type: typ, State: "Stable"}}
	if len(members) == 0 {
		g.State = "Empty"
	}
	for i, m := range members {
		member := client.GroupMember{ID: "m" + string(rune('0'+i)), ClientID: "app", Host: "/127.0.0.1", Assignment: m}
		for _, t := range m {
			member.Topics = append(member.Topics, t.Topic)
		}
		g.Members = append(g.Members, member)
	}
	return g
}

// partitions are those of one topic.
func partitions(topic string, of ...int32) kadm.TopicsList {
	return kadm.TopicsList{{Topic: topic, Partitions: of}}
}

// testEnv returns an Env with a clock and what it prints.
func testEnv(t *testing.T, now func() time.Time) (env *cli.Env, stdout, stderr *bytes.Buffer) {
	t.Helper()
	stdout, stderr = new(bytes.Buffer), new(bytes.Buffer)
	return &cli.Env{Stdout: stdout, Stderr: stderr, Now: now}, stdout, stderr
}

// contextWithin returns a context that ends after d, as an interrupt would end it.
func contextWithin(t *testing.T, d time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(d, cancel)
	return ctx, cancel
}
