package client_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"kf/internal/client"
)

// A cluster is one of kfake that counts the requests that it gets.
type cluster struct {
	*kfake.Cluster
	mu     sync.Mutex
	counts map[string]int
}

// newCluster starts three brokers.
func newCluster(t *testing.T, opts ...kfake.Opt) *cluster {
	t.Helper()
	k, err := kfake.NewCluster(append([]kfake.Opt{kfake.NumBrokers(3)}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(k.Close)
	c := &cluster{Cluster: k, counts: make(map[string]int)}
	k.Control(func(q kmsg.Request) (kmsg.Response, error, bool) {
		k.KeepControl()
		c.mu.Lock()
		defer c.mu.Unlock()
		c.counts[kmsg.NameForKey(q.Key())]++
		return nil, nil, false
	})
	return c
}

// requests returns how many requests of each kind came since it was called last,
// without those that every connection starts with.
func (c *cluster) requests() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []string
	for name, n := range c.counts {
		if name != "ApiVersions" {
			all = append(all, fmt.Sprintf("%s %d", name, n))
		}
	}
	slices.Sort(all)
	clear(c.counts)
	return strings.Join(all, ", ")
}

// client returns a client that gives up after timeout.
func (c *cluster) client(t *testing.T, timeout time.Duration) *client.Client {
	t.Helper()
	cl, err := client.New(client.Options{
		Properties: client.Properties{client.BootstrapServers: {Value: strings.Join(c.ListenAddrs(), ","), Origin: "test"}},
		Timeout:    timeout,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.Close)
	return cl
}

// commit makes groups g0… of which each has committed its number for every partition
// of the topics, and returns their ids.
func (c *cluster) commit(t *testing.T, groups, partitions int, topics ...string) []string {
	t.Helper()
	cl, err := kgo.NewClient(kgo.SeedBrokers(c.ListenAddrs()...))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	adm := kadm.NewClient(cl)
	var ids []string
	for i := range groups {
		ids = append(ids, fmt.Sprintf("g%d", i))
		offsets := make(kadm.Offsets)
		for _, topic := range topics {
			for p := range partitions {
				offsets.Add(kadm.Offset{Topic: topic, Partition: int32(p), At: int64(i), LeaderEpoch: -1})
			}
		}
		if err := adm.CommitAllOffsets(t.Context(), ids[i], offsets); err != nil {
			t.Fatal(err)
		}
	}
	c.requests()
	return ids
}

// produce appends n records of this size to a partition, in one batch; record i is i ms
// newer than at.
func (c *cluster) produce(t *testing.T, topic string, partition int32, at time.Time, n, size int) {
	t.Helper()
	cl, err := kgo.NewClient(kgo.SeedBrokers(c.ListenAddrs()...), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerLinger(50*time.Millisecond), kgo.ProducerBatchCompression(kgo.NoCompression()))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	var records []*kgo.Record
	for i := range n {
		records = append(records, &kgo.Record{Topic: topic, Partition: partition, Timestamp: at.Add(time.Duration(i) * time.Millisecond), Value: make([]byte, size)})
	}
	if err := cl.ProduceSync(t.Context(), records...).FirstErr(); err != nil {
		t.Fatal(err)
	}
}

func deadline(t *testing.T, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// Questions about many groups are one request to each broker, not to each group.
func TestGroupRequests(t *testing.T) {
	k := newCluster(t, kfake.SeedTopics(4, "a", "b"))
	ids := k.commit(t, 60, 4, "a", "b")
	cl := k.client(t, time.Minute)
	ctx := deadline(t, time.Minute)

	listed, err := cl.Groups(ctx, client.GroupFilter{})
	if err != nil || len(listed) != len(ids) {
		t.Fatalf("%d groups, %v", len(listed), err)
	}
	if got, want := k.requests(), "ListGroups 3, Metadata 1"; got != want {
		t.Errorf("to list groups: %s; want %s", got, want)
	}
	for _, g := range cl.DescribeGroupsByID(ctx, ids) {
		if g.Err != nil || g.State != "Empty" || g.Type != client.ClassicGroup || g.Coordinator.Host == "" || g.Active() {
			t.Errorf("%+v", g)
		}
	}
	if got, want := k.requests(), "DescribeGroups 3"; got != want {
		t.Errorf("to describe groups that were listed: %s; want %s", got, want)
	}
	commits := cl.Commits(ctx, ids)
	for i, id := range ids {
		if c := commits[id]; c.Err != nil || len(c.Of) != 2 || len(c.Of["a"]) != 4 || c.Of["b"][3].Offset != int64(i) {
			t.Errorf("%s: %+v", id, c)
		}
	}
	if got, want := k.requests(), "Metadata 1, OffsetFetch 3"; got != want {
		t.Errorf("for the commits: %s; want %s", got, want)
	}

	cl = k.client(t, time.Minute)
	for _, g := range cl.DescribeGroupsByID(ctx, ids[:40]) {
		if g.Err != nil {
			t.Errorf("%+v", g)
		}
	}
	if got, want := k.requests(), "DescribeGroups 3, FindCoordinator 1, ListGroups 3, Metadata 1"; got != want {
		t.Errorf("to describe groups by name: %s; want %s", got, want)
	}
	groups := cl.DescribeGroupsByID(ctx, []string{"g1", "nope"})
	if got, want := k.requests(), regexp.MustCompile("^DescribeGroups [12], FindCoordinator 1, ListGroups 1$"); !want.MatchString(got) {
		t.Errorf("to describe one that does not exist: %s; want %s", got, want)
	}
	if groups[0].Err != nil || groups[0].ID != "g1" || !errors.Is(groups[1].Err, client.ErrNoGroup) {
		t.Errorf("%+v", groups)
	}
}
