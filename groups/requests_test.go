package groups_test

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"kf/groups"
	"kf/internal/cli"
	"kf/internal/client"
	"kf/internal/online"
	"kf/internal/resetplan"
)

// A plan for many groups is a few requests to each broker, and carrying it out one
// more for each group.
func TestResetRequests(t *testing.T) {
	const n = 40
	// So many partitions and groups that each broker has some.
	k, err := kfake.NewCluster(kfake.NumBrokers(3), kfake.SeedTopics(60, "t"))
	if err != nil {
		t.Fatal(err)
	}
	defer k.Close()
	cl, err := client.New(client.Options{
		Properties: client.Properties{client.BootstrapServers: {Value: strings.Join(k.ListenAddrs(), ","), Origin: "test"}},
		Timeout:    time.Minute,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	setup, err := kgo.NewClient(kgo.SeedBrokers(k.ListenAddrs()...))
	if err != nil {
		t.Fatal(err)
	}
	defer setup.Close()
	var ids []string
	for i := range n {
		ids = append(ids, fmt.Sprintf("g%02d", i))
		offsets := make(kadm.Offsets)
		for p := range int32(60) {
			offsets.AddOffset("t", p, 0, -1)
		}
		if err := kadm.NewClient(setup).CommitAllOffsets(t.Context(), ids[i], offsets); err != nil {
			t.Fatal(err)
		}
	}
	var mu sync.Mutex
	counts := make(map[string]int)
	k.Control(func(q kmsg.Request) (kmsg.Response, error, bool) {
		k.KeepControl()
		mu.Lock()
		defer mu.Unlock()
		counts[kmsg.NameForKey(q.Key())]++
		return nil, nil, false
	})
	requests := func() string {
		mu.Lock()
		defer mu.Unlock()
		var all []string
		for name, n := range counts {
			if name != "ApiVersions" && name != "GetTelemetrySubscriptions" {
				all = append(all, fmt.Sprintf("%s %d", name, n))
			}
		}
		clear(counts)
		slices.Sort(all)
		return strings.Join(all, ", ")
	}
	for _, tt := range []struct {
		execute bool
		want    string
	}{
		{false, "DescribeGroups 3, FindCoordinator 1, ListGroups 3, ListOffsets 6, Metadata 3, OffsetFetch 3"},
		{true, "DescribeGroups 6, ListOffsets 6, Metadata 4, OffsetCommit 40, OffsetFetch 9"},
	} {
		env := &cli.Env{Stdout: io.Discard, Stderr: io.Discard, Now: time.Now}
		opts := groups.ResetOptions{Groups: of(ids...), AllTopics: true, Target: to(resetplan.Latest), Execute: tt.execute}
		if err := groups.Reset(t.Context(), env, cl, func(online.Change) error { return nil }, opts); err != nil {
			t.Fatal(err)
		}
		if got := requests(); got != tt.want {
			t.Errorf("execute %v: %s; want %s", tt.execute, got, tt.want)
		}
	}
}
