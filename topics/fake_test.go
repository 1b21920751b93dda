package topics

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"kf/internal/cli"
	"kf/internal/client"
	"kf/internal/wire"
)

// A fake is a cluster: it answers from its fields and notes what it was asked.
type fake struct {
	topics  []client.Topic
	brokers []int32
	configs map[string]client.TopicConfigs
	moving  map[string]map[int32]client.Reassignment
	elr     []client.Topic
	dirs    []client.LogDir
	offsets map[int64]map[string]int64 // by point, then "topic-partition"
	errs    map[string]error           // of a method, a topic or "topic-partition"
	deleted kadm.Offsets

	mu    sync.Mutex
	asked []string
}

func (f *fake) note(format string, a ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked = append(f.asked, fmt.Sprintf(format, a...))
}

func (f *fake) Topics(_ context.Context, names []string) (*client.Cluster, error) {
	f.note("topics %s", strings.Join(names, " "))
	cluster := &client.Cluster{Brokers: kadm.BrokerDetails{}}
	for _, id := range f.brokers {
		cluster.Brokers = append(cluster.Brokers, kadm.BrokerDetail{NodeID: id})
	}
	found := make(map[string]bool)
	for _, t := range f.topics {
		if names == nil || slices.Contains(names, t.Name) {
			t.Partitions = slices.Clone(t.Partitions)
			t.Err = f.errs[t.Name]
			cluster.Topics = append(cluster.Topics, t)
			found[t.Name] = true
		}
	}
	for _, name := range names {
		if !found[name] {
			cluster.Topics = append(cluster.Topics, client.Topic{Name: name, Err: kerr.UnknownTopicOrPartition})
		}
	}
	return cluster, f.errs["topics"]
}

func (f *fake) DescribeTopics(_ context.Context, names []string) ([]client.Topic, error) {
	f.note("describe %s", strings.Join(names, " "))
	return f.elr, f.errs["describe"]
}

func (f *fake) TopicConfigs(_ context.Context, names []string) (map[string]client.TopicConfigs, error) {
	f.note("configs %s", strings.Join(names, " "))
	return maps.Clone(f.configs), f.errs["configs"]
}

func (f *fake) Reassignments(context.Context) (map[string]map[int32]client.Reassignment, error) {
	f.note("reassignments")
	return f.moving, f.errs["reassignments"]
}

func (f *fake) LogDirs(_ context.Context, brokers kadm.BrokerDetails, of kadm.TopicsSet) ([]client.LogDir, error) {
	f.note("dirs of %v, all %v", brokers.NodeIDs(), of == nil)
	return f.dirs, f.errs["dirs"]
}

func (f *fake) ListOffsets(_ context.Context, at int64, committed bool, of kadm.TopicsSet) (kadm.ListedOffsets, error) {
	found := make(kadm.ListedOffsets)
	for topic, partitions := range of {
		found[topic] = make(map[int32]kadm.ListedOffset)
		for p := range partitions {
			id := fmt.Sprintf("%s-%d", topic, p)
			o, ok := f.offsets[at][id]
			if !ok {
				o = -1
			}
			if committed && at == client.Latest {
				o--
			}
			found[topic][p] = kadm.ListedOffset{Topic: topic, Partition: p, Offset: o, Timestamp: -1, LeaderEpoch: 4, Err: f.errs[id]}
		}
	}
	return found, nil
}

func (f *fake) CreateTopics(_ context.Context, validate bool, topics []client.NewTopic) ([]client.CreatedTopic, error) {
	var all []client.CreatedTopic
	for _, t := range topics {
		f.note("create %s %d %d %v %v, only validate %v", t.Name, t.Partitions, t.Replication, t.Assignment, t.Configs, validate)
		all = append(all, client.CreatedTopic{Name: t.Name, ID: wire.UUID{1}, Partitions: 6, Replication: 3, Err: f.errs["create "+t.Name]})
	}
	return all, f.errs["create"]
}

func (f *fake) AddPartitions(_ context.Context, validate bool, topics []client.NewPartitions) (map[string]error, error) {
	answer := make(map[string]error)
	for _, t := range topics {
		f.note("add to %s %d %v, only validate %v", t.Topic, t.Count, t.Assignment, validate)
		answer[t.Topic] = f.errs["add "+t.Topic]
	}
	return answer, f.errs["add"]
}

func (f *fake) RemoveTopics(_ context.Context, names []string) (map[string]error, error) {
	f.note("remove %s", strings.Join(names, " "))
	answer := make(map[string]error)
	for _, name := range names {
		answer[name] = f.errs["remove "+name]
	}
	return answer, f.errs["remove"]
}

func (f *fake) AwaitTopics(_ context.Context, names []string, ready func([]client.Topic) bool) error {
	f.note("await %s", strings.Join(names, " "))
	return f.errs["await"]
}

func (f *fake) DeleteRecords(_ context.Context, before kadm.Offsets) (kadm.DeleteRecordsResponses, error) {
	f.deleted = before
	answer := make(kadm.DeleteRecordsResponses)
	before.Each(func(o kadm.Offset) {
		id := fmt.Sprintf("%s-%d", o.Topic, o.Partition)
		if errors.Is(f.errs["trim "+id], errLost) {
			return
		}
		if answer[o.Topic] == nil {
			answer[o.Topic] = make(map[int32]kadm.DeleteRecordsResponse)
		}
		answer[o.Topic][o.Partition] = kadm.DeleteRecordsResponse{Topic: o.Topic, Partition: o.Partition, LowWatermark: o.At, Err: f.errs["trim "+id]}
	})
	return answer, f.errs["trim"]
}

var errLost = errors.New("lost")

// topic returns a topic with partitions whose replicas and those in sync are words
// such as "1,2,3/1,2"; the first in sync leads.
func topic(name string, partitions ...string) client.Topic {
	t := client.Topic{Name: name, ID: wire.UUID{name[0]}, Internal: strings.HasPrefix(name, "__")}
	for i, word := range partitions {
		replicas, isr, _ := strings.Cut(word, "/")
		p := client.Partition{ID: int32(i), Leader: -1, LeaderEpoch: 7, Replicas: ids(replicas), ISR: ids(isr)}
		if len(p.ISR) > 0 {
			p.Leader = p.ISR[0]
		}
		t.Partitions = append(t.Partitions, p)
	}
	return t
}

func ids(s string) []int32 {
	all := []int32{}
	for word := range strings.SplitSeq(s, ",") {
		var id int32
		if n, _ := fmt.Sscan(word, &id); n == 1 {
			all = append(all, id)
		}
	}
	return all
}

// A printed is what a command left behind.
type printed struct {
	stdout, stderr string
	code           int
}

// do runs a command at a certain time.
func do(command func(env *cli.Env) error) printed {
	var out, said bytes.Buffer
	env := &cli.Env{Stdout: &out, Stderr: &said, Now: func() time.Time { return time.UnixMilli(1_700_000_000_000).UTC() }}
	code := env.Exit(command(env))
	return printed{out.String(), said.String(), code}
}

// expect compares what a command printed; want starts with a line feed, which does
// not count.
func (p printed) expect(t *testing.T, code int, stdout, stderr string) {
	t.Helper()
	trim := func(s string) string { return strings.TrimPrefix(s, "\n") }
	if p.code != code || p.stdout != trim(stdout) || p.stderr != trim(stderr) {
		t.Errorf("got exit code %d\n%s--- stderr\n%s\nwant exit code %d\n%s--- stderr\n%s", p.code, p.stdout, p.stderr, code, trim(stdout), trim(stderr))
	}
}

// allowed is for the question before a change: yes.
func allowed(string) error { return nil }
