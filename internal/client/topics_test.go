package client_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"

	"kf/internal/client"
)

// topicWords returns topics as "name:partitions", or "name!" for one with an error.
func topicWords(topics []client.Topic) string {
	var words []string
	for _, t := range topics {
		word := fmt.Sprintf("%s:%d", t.Name, len(t.Partitions))
		if t.Err != nil {
			word = t.Name + "!"
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

func TestTopics(t *testing.T) {
	c := newCluster(t, kfake.SeedTopics(3, "b", "a"), kfake.SeedTopics(1, "c"))
	cl := c.client(t, 10*time.Second)
	for _, tt := range []struct {
		names []string
		want  string
	}{
		{nil, "a:3 b:3 c:1"},
		{[]string{}, ""}, // none is not all
		{[]string{"c", "nosuch"}, "c:1 nosuch!"},
		{nil, "a:3 b:3 c:1"}, // nobody made nosuch
	} {
		cluster, err := cl.Topics(t.Context(), tt.names)
		if err != nil {
			t.Fatal(err)
		}
		if got := topicWords(cluster.Topics); got != tt.want || len(cluster.Brokers) != 3 || !slices.IsSortedFunc(cluster.Brokers, func(a, b kadm.BrokerDetail) int { return int(a.NodeID - b.NodeID) }) {
			t.Errorf("%q: got %q, brokers %v; want %q", tt.names, got, cluster.Brokers, tt.want)
		}
		if got := c.requests(); got != "Metadata 1" {
			t.Errorf("%q: requests %s", tt.names, got)
		}
	}
}

// page answers DescribeTopicPartitions with the pages, one after the other; "a0 a1 >b0"
// has two partitions and says where the next page begins.
func page(t *testing.T, c *cluster, pages ...string) (asked *[]string) {
	asked = new([]string)
	c.ControlKey(75, func(q kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		var words []string
		for _, t := range q.(*kmsg.DescribeTopicPartitionsRequest).Topics {
			words = append(words, t.Topic)
		}
		if at := q.(*kmsg.DescribeTopicPartitionsRequest).Cursor; at != nil {
			words = append(words, fmt.Sprintf(">%s%d", at.Topic, at.Partition))
		}
		*asked = append(*asked, strings.Join(words, " "))
		r := q.ResponseKind().(*kmsg.DescribeTopicPartitionsResponse)
		for word := range strings.FieldsSeq(pages[0]) {
			var partition int32
			word, next := strings.CutPrefix(word, ">")
			name := word[:1]
			if _, err := fmt.Sscan(word[1:], &partition); err != nil {
				t.Error(err)
			}
			if next {
				r.NextCursor = &kmsg.DescribeTopicPartitionsResponseNextCursor{Topic: name, Partition: partition}
				continue
			}
			if n := len(r.Topics); n == 0 || *r.Topics[n-1].Topic != name {
				r.Topics = append(r.Topics, kmsg.DescribeTopicPartitionsResponseTopic{Topic: &name})
			}
			to := &r.Topics[len(r.Topics)-1]
			to.Partitions = append(to.Partitions, kmsg.DescribeTopicPartitionsResponseTopicPartition{Partition: partition, LeaderID: -1, EligibleLeaderReplicas: []int32{2}})
		}
		if len(pages) > 1 {
			pages = pages[1:]
		}
		return r, nil, true
	})
	return asked
}

func TestDescribeTopics(t *testing.T) {
	c := newCluster(t)
	cl := c.client(t, 10*time.Second)
	asked := page(t, c, "a1 a0 >a2", "a2 b0 >b1", "b1 c0")
	topics, err := cl.DescribeTopics(t.Context(), []string{"c", "a", "b"})
	if err != nil || topicWords(topics) != "a:3 b:2 c:1" || topics[0].Partitions[0].ID != 0 || topics[0].Partitions[2].ELR[0] != 2 {
		t.Errorf("got %+v, %v", topics, err)
	}
	if want := []string{"a b c", "a b c >a2", "b c >b1"}; !slices.Equal(*asked, want) {
		t.Errorf("asked for %q, want %q", *asked, want)
	}
	if topics, err := cl.DescribeTopics(t.Context(), nil); topics != nil || err != nil || len(*asked) != 3 {
		t.Errorf("none: got %v, %v", topics, err)
	}
	round := newCluster(t)
	page(t, round, "a0 >a1", "a1 >a1")
	if _, err := round.client(t, 10*time.Second).DescribeTopics(t.Context(), []string{"a"}); err == nil || !strings.Contains(err.Error(), "come to no end, at a-1") {
		t.Errorf("pages that go round: got %v", err)
	}
}

func TestUnsupportedTopics(t *testing.T) {
	old := newCluster(t, kfake.MaxVersions(kversion.V2_3_0()), kfake.SeedTopics(2, "a"))
	cl := old.client(t, 10*time.Second)
	for name, ask := range map[string]func() error{
		"DescribeTopicPartitions":    func() error { _, err := cl.DescribeTopics(t.Context(), []string{"a"}); return err },
		"ListPartitionReassignments": func() error { _, err := cl.Reassignments(t.Context()); return err },
	} {
		if err := ask(); !client.Unsupported(err) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	// It would take the number of a point that it does not know for a time.
	set := kadm.TopicsSet{"a": {0: {}, 1: {}}}
	listed, err := cl.ListOffsets(t.Context(), client.MaxTimestamp, false, set)
	if o, ok := listed.Lookup("a", 1); !client.Unsupported(err) || !ok || !client.Unsupported(o.Err) || o.Offset != -1 || !strings.Contains(o.Err.Error(), "ListOffsets of point -3") {
		t.Errorf("got %+v, %v", listed, err)
	}
	if listed, err = cl.ListOffsets(t.Context(), client.Latest, false, set); err != nil || listed.Error() != nil || len(listed["a"]) != 2 {
		t.Errorf("got %+v, %v", listed, err)
	}
	if cluster, err := cl.Topics(t.Context(), []string{"a"}); err != nil || topicWords(cluster.Topics) != "a:2" || !cluster.Topics[0].ID.IsZero() {
		t.Errorf("got %+v, %v", cluster, err)
	}
	if client.Unsupported(nil) || client.Unsupported(errors.New("x")) || !client.Unsupported(fmt.Errorf("x: %w", kerr.UnsupportedVersion)) {
		t.Error("Unsupported")
	}
}

func TestCreateTopics(t *testing.T) {
	c := newCluster(t, kfake.SeedTopics(1, "old"))
	cl := c.client(t, 10*time.Second)
	all := []client.NewTopic{
		{Name: "new", Partitions: 4, Replication: -1, Configs: map[string]string{"retention.ms": "5"}},
		{Name: "old", Partitions: 1, Replication: -1},
	}
	for _, validate := range []bool{true, false} {
		created, err := cl.CreateTopics(t.Context(), validate, all)
		if err != nil {
			t.Fatal(err)
		}
		if created[0].Err != nil || created[0].Name != "new" || created[0].Partitions != 4 || !errors.Is(created[1].Err, kerr.TopicAlreadyExists) {
			t.Errorf("validate %v: got %+v", validate, created)
		}
	}
	if got := c.requests(); !strings.Contains(got, "CreateTopics 2") {
		t.Errorf("requests %s", got)
	}
	errs, err := cl.AddPartitions(t.Context(), false, []client.NewPartitions{{Topic: "new", Count: 6}, {Topic: "nosuch", Count: 3}})
	if err != nil || errs["new"] != nil || errs["nosuch"] == nil {
		t.Errorf("got %v, %v", errs, err)
	}
	configs, err := cl.TopicConfigs(t.Context(), []string{"new", "nosuch"})
	if err != nil || !slices.ContainsFunc(configs["new"].Set, func(c client.TopicConfig) bool { return c.Key == "retention.ms" && *c.Value == "5" && c.Own }) || configs["nosuch"].Err == nil {
		t.Errorf("got %+v, %v", configs, err)
	}
	errs, err = cl.RemoveTopics(t.Context(), []string{"new", "nosuch"})
	if err != nil || errs["new"] != nil || !errors.Is(errs["nosuch"], kerr.UnknownTopicOrPartition) {
		t.Errorf("got %v, %v", errs, err)
	}
	if configs, err := cl.TopicConfigs(t.Context(), nil); configs != nil || err != nil {
		t.Errorf("no topics: got %v, %v", configs, err)
	}
}

// What a broker leaves out of an answer has failed.
func TestTopicsLeftOut(t *testing.T) {
	c := newCluster(t)
	c.Control(func(q kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		switch q.(type) {
		case *kmsg.CreateTopicsRequest, *kmsg.CreatePartitionsRequest, *kmsg.DeleteTopicsRequest, *kmsg.DescribeConfigsRequest:
			return q.ResponseKind(), nil, true
		}
		return nil, nil, false
	})
	cl := c.client(t, 10*time.Second)
	created, err := cl.CreateTopics(t.Context(), false, []client.NewTopic{{Name: "a"}})
	if err != nil || created[0].Err == nil {
		t.Errorf("got %+v, %v", created, err)
	}
	errs, err := cl.AddPartitions(t.Context(), false, []client.NewPartitions{{Topic: "a"}})
	if err != nil || errs["a"] == nil {
		t.Errorf("got %v, %v", errs, err)
	}
	errs, err = cl.RemoveTopics(t.Context(), []string{"a"})
	if err != nil || errs["a"] == nil {
		t.Errorf("got %v, %v", errs, err)
	}
	configs, err := cl.TopicConfigs(t.Context(), []string{"a"})
	if err != nil || configs["a"].Err == nil || configs["a"].MinISR != -1 {
		t.Errorf("got %v, %v", configs, err)
	}
}

func TestAwaitTopics(t *testing.T) {
	c := newCluster(t, kfake.SeedTopics(1, "a"))
	cl := c.client(t, 10*time.Second)
	seen := 0
	err := cl.AwaitTopics(t.Context(), []string{"a"}, func(topics []client.Topic) bool {
		seen++
		return topicWords(topics) == "a:1" && seen > 2
	})
	// The first broker was asked three times, the others once.
	if err != nil || seen != 5 {
		t.Errorf("%d answers, %v", seen, err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("too late")
	err = cl.AwaitTopics(ctx, []string{"a"}, func([]client.Topic) bool { cancel(why); return false })
	if err != why {
		t.Errorf("got %v", err)
	}
	c.requests()
	if err := cl.AwaitTopics(t.Context(), nil, nil); err != nil || c.requests() != "" {
		t.Errorf("no topics: %v", err)
	}
}

func TestLogDirs(t *testing.T) {
	c := newCluster(t, kfake.SeedTopics(1, "a"))
	cl := c.client(t, 10*time.Second)
	var requests atomic.Int32
	c.ControlKey(35, func(q kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		requests.Add(1)
		r := q.ResponseKind().(*kmsg.DescribeLogDirsResponse)
		switch c.CurrentNode() {
		case 0:
			if q.(*kmsg.DescribeLogDirsRequest).Topics == nil {
				t.Error("asked for all partitions")
			}
			r.Dirs = []kmsg.DescribeLogDirsResponseDir{{Dir: "/a", TotalBytes: 9, UsableBytes: 3, IsCordoned: true, Topics: []kmsg.DescribeLogDirsResponseDirTopic{
				{Topic: "a", Partitions: []kmsg.DescribeLogDirsResponseDirTopicPartition{{Partition: 0, Size: 5, OffsetLag: 2, IsFuture: true}}},
			}}, {Dir: "/b", ErrorCode: kerr.KafkaStorageError.Code}}
		case 1:
			r.ErrorCode = kerr.ClusterAuthorizationFailed.Code
		}
		return r, nil, true
	})
	cluster, err := cl.Topics(t.Context(), []string{})
	if err != nil {
		t.Fatal(err)
	}
	dirs, err := cl.LogDirs(t.Context(), cluster.Brokers, kadm.TopicsSet{})
	broker, ok := errors.AsType[*client.BrokerError](err)
	if !errors.Is(err, kerr.ClusterAuthorizationFailed) || !ok || broker.Node != 1 {
		t.Errorf("got %v", err)
	}
	if len(dirs) != 2 || dirs[0].Path != "/a" || dirs[0].Usable != 3 || !dirs[0].Cordoned || !errors.Is(dirs[1].Err, kerr.KafkaStorageError) ||
		len(dirs[0].Replicas) != 1 || dirs[0].Replicas[0] != (client.LogDirReplica{Topic: "a", Size: 5, OffsetLag: 2, Future: true}) {
		t.Errorf("got %+v", dirs)
	}
	if got := requests.Load(); got != 3 {
		t.Errorf("%d requests", got)
	}
}

// Of three brokers that the cluster lists two are down, and each may be the first to be
// asked.
func TestBrokersDown(t *testing.T) {
	var addresses []string
	alive := serve(t, broker(func(key int16) kmsg.Response {
		switch key {
		case 18:
			return versions(map[int16]int16{3: 1, 18: 0, 32: 1})
		case 3:
			r := kmsg.NewPtrMetadataResponse()
			r.Version = 1
			for i, address := range addresses {
				host, port, _ := strings.Cut(address, ":")
				b := kmsg.NewMetadataResponseBroker()
				b.NodeID, b.Host = int32(i), host
				fmt.Sscan(port, &b.Port)
				r.Brokers = append(r.Brokers, b)
			}
			return r
		case 32:
			r := kmsg.NewPtrDescribeConfigsResponse()
			r.Version = 1
			r.Resources = []kmsg.DescribeConfigsResponseResource{{ResourceType: 2, ResourceName: "t"}}
			return r
		}
		return nil
	}))
	addresses = []string{closedPort(t), alive, closedPort(t)}
	cl := newClient(t, 30*time.Second, "bootstrap.servers", alive)
	if _, err := cl.Topics(t.Context(), []string{}); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range 200 {
		all.Go(func() {
			ctx, cancel := cl.Deadline(t.Context())
			defer cancel()
			configs, err := cl.TopicConfigs(ctx, []string{"t"})
			if err != nil || configs["t"].Err != nil {
				t.Errorf("got %v, %v", configs, err)
			}
		})
	}
	all.Wait()
}
