package client_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"

	"kf/internal/client"
)

// A coordinator that still loads is asked again, but only for the groups that it could
// not answer for.
func TestGroupLoading(t *testing.T) {
	k := newCluster(t, kfake.SeedTopics(1, "a"))
	ids := k.commit(t, 20, 1, "a")
	var asked [][]string
	k.ControlKey(int16(kmsg.DescribeGroups), func(q kmsg.Request) (kmsg.Response, error, bool) {
		k.KeepControl()
		groups := q.(*kmsg.DescribeGroupsRequest).Groups
		if !slices.Contains(groups, "g7") || len(asked) == 3 {
			return nil, nil, false
		}
		asked = append(asked, groups)
		answer := q.ResponseKind().(*kmsg.DescribeGroupsResponse)
		for _, id := range groups {
			g := kmsg.NewDescribeGroupsResponseGroup()
			g.Group, g.State = id, "Empty"
			if id == "g7" {
				g.ErrorCode = kerr.CoordinatorLoadInProgress.Code
			}
			answer.Groups = append(answer.Groups, g)
		}
		return answer, nil, true
	})
	for _, g := range k.client(t, time.Minute).DescribeGroupsByID(deadline(t, time.Minute), ids) {
		if g.Err != nil || g.State != "Empty" {
			t.Errorf("%+v", g)
		}
	}
	if len(asked) != 3 || len(asked[0]) < 2 || len(asked[1]) != 1 || len(asked[2]) != 1 {
		t.Errorf("asked about %q", asked)
	}
}

// What no coordinator can answer in time is an error of these groups, with the reason,
// and the rest is there.
func TestGroupNeverLoads(t *testing.T) {
	k := newCluster(t, kfake.SeedTopics(1, "a"))
	ids := k.commit(t, 9, 1, "a")
	k.ControlKey(int16(kmsg.OffsetFetch), func(q kmsg.Request) (kmsg.Response, error, bool) {
		k.KeepControl()
		groups := q.(*kmsg.OffsetFetchRequest).Groups
		if !slices.ContainsFunc(groups, func(g kmsg.OffsetFetchRequestGroup) bool { return g.Group == "g3" }) {
			return nil, nil, false
		}
		answer := q.ResponseKind().(*kmsg.OffsetFetchResponse)
		for _, g := range groups {
			one := kmsg.NewOffsetFetchResponseGroup()
			one.Group = g.Group
			if g.Group == "g3" {
				one.ErrorCode = kerr.CoordinatorLoadInProgress.Code
			}
			answer.Groups = append(answer.Groups, one)
		}
		return answer, nil, true
	})
	commits := k.client(t, time.Minute).Commits(deadline(t, 2*time.Second), ids)
	for _, id := range ids {
		if err := commits[id].Err; (id == "g3") != errors.Is(err, kerr.CoordinatorLoadInProgress) {
			t.Errorf("%s: %v", id, err)
		}
	}
}

// A broker that says nothing leaves time for the others.
func TestGroupBrokerHangs(t *testing.T) {
	k := newCluster(t, kfake.SeedTopics(1, "a"), kfake.SleepOutOfOrder())
	ids := k.commit(t, 30, 1, "a")
	silent := k.CoordinatorFor("g3")
	wake := make(chan struct{})
	defer close(wake)
	k.ControlKey(int16(kmsg.OffsetFetch), func(kmsg.Request) (kmsg.Response, error, bool) {
		k.KeepControl()
		if k.CurrentNode() == silent {
			k.SleepControl(func() { <-wake })
		}
		return nil, nil, false
	})
	commits := k.client(t, time.Minute).Commits(deadline(t, 3*time.Second), ids)
	for _, id := range ids {
		hung := k.CoordinatorFor(id) == silent
		if err := commits[id].Err; hung != errors.Is(err, context.DeadlineExceeded) || !hung && len(commits[id].Of) != 1 {
			t.Errorf("%s at broker %d: %v", id, k.CoordinatorFor(id), err)
		}
		var broker *client.BrokerError
		if hung && (!errors.As(commits[id].Err, &broker) || broker.Node != silent) {
			t.Errorf("%s: %v does not name broker %d", id, commits[id].Err, silent)
		}
	}
}

// A leader that says nothing costs the ends of its partitions, and no more than a part
// of the time.
func TestLeaderHangs(t *testing.T) {
	k := newCluster(t, kfake.SeedTopics(12, "a"), kfake.SleepOutOfOrder())
	silent := k.LeaderFor("a", 3)
	wake := make(chan struct{})
	defer close(wake)
	k.ControlKey(int16(kmsg.ListOffsets), func(kmsg.Request) (kmsg.Response, error, bool) {
		k.KeepControl()
		if k.CurrentNode() == silent {
			k.SleepControl(func() { <-wake })
		}
		return nil, nil, false
	})
	cl := k.client(t, time.Minute)
	ctx := deadline(t, 3*time.Second)
	of, err := cl.Partitions(ctx, []string{"a"})
	if err != nil {
		t.Fatal(err)
	}
	ends, err := cl.ListOffsets(ctx, client.Latest, false, of)
	if !errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil {
		t.Errorf("%v; %v", err, ctx.Err())
	}
	for p := range int32(12) {
		end, ok := ends.Lookup("a", p)
		if hung := k.LeaderFor("a", p) == silent; !ok || hung != errors.Is(end.Err, context.DeadlineExceeded) {
			t.Errorf("partition %d at broker %d: %+v", p, k.LeaderFor("a", p), end)
		}
	}
}

// A coordinator whose answer about many groups does not arrive is asked about fewer.
func TestGroupAnswerTooLarge(t *testing.T) {
	k := newCluster(t, kfake.SeedTopics(1, "a"))
	ids := k.commit(t, 40, 1, "a")
	k.ControlKey(int16(kmsg.OffsetFetch), func(q kmsg.Request) (kmsg.Response, error, bool) {
		k.KeepControl()
		if len(q.(*kmsg.OffsetFetchRequest).Groups) > 5 {
			return nil, errors.New("too large"), true // closes the connection
		}
		return nil, nil, false
	})
	commits := k.client(t, time.Minute).Commits(deadline(t, time.Minute), ids)
	for i, id := range ids {
		if c := commits[id]; c.Err != nil || c.Of["a"][0].Offset != int64(i) {
			t.Errorf("%s: %+v", id, c)
		}
	}
}

// Coordinators that moved since they were found are found again.
func TestGroupMoves(t *testing.T) {
	k := newCluster(t, kfake.SeedTopics(1, "a"))
	ids := k.commit(t, 30, 1, "a")
	cl := k.client(t, time.Minute)
	ctx := deadline(t, time.Minute)
	if _, err := cl.Groups(ctx, client.GroupFilter{}); err != nil {
		t.Fatal(err)
	}
	k.RehashCoordinators()
	for _, g := range cl.DescribeGroupsByID(ctx, ids) {
		// kfake drops groups whose coordinator moves.
		if g.Err != nil && !errors.Is(g.Err, client.ErrNoGroup) || g.Coordinator.NodeID != k.CoordinatorFor(g.ID) {
			t.Errorf("%s: coordinator %d, %v; want %d", g.ID, g.Coordinator.NodeID, g.Err, k.CoordinatorFor(g.ID))
		}
	}
}

// A group that became one of another type since it was listed is described as that.
func TestGroupChangesType(t *testing.T) {
	k := newCluster(t, kfake.SeedTopics(2, "a"))
	k.commit(t, 2, 2, "a")
	cl := k.client(t, time.Minute)
	ctx := deadline(t, time.Minute)
	if g := cl.DescribeGroupsByID(ctx, []string{"g1"})[0]; g.Err != nil || g.Type != client.ClassicGroup {
		t.Fatalf("%+v", g)
	}
	if _, err := cl.DeleteGroups(ctx, "g1"); err != nil {
		t.Fatal(err)
	}
	// What Kafka says of groups of another type, and kfake does not.
	k.ControlKey(int16(kmsg.DescribeGroups), func(q kmsg.Request) (kmsg.Response, error, bool) {
		k.KeepControl()
		answer := q.ResponseKind().(*kmsg.DescribeGroupsResponse)
		for _, id := range q.(*kmsg.DescribeGroupsRequest).Groups {
			g := kmsg.NewDescribeGroupsResponseGroup()
			g.Group, g.ErrorCode = id, kerr.GroupIDNotFound.Code
			answer.Groups = append(answer.Groups, g)
		}
		return answer, nil, true
	})
	member, err := kgo.NewClient(kgo.SeedBrokers(k.ListenAddrs()...), kgo.ConsumerGroup("g1"), kgo.ConsumeTopics("a"), kgo.ServerSideBalancer(), kgo.Balancers(kgo.RangeBalancer()))
	if err != nil {
		t.Fatal(err)
	}
	defer member.Close()
	for {
		g := cl.DescribeGroupsByID(ctx, []string{"g1"})[0]
		if g.Err != nil && !errors.Is(g.Err, client.ErrNoGroup) {
			t.Fatalf("%+v", g)
		}
		if g.Type == client.ConsumerGroup && len(g.Members) == 1 && g.Members[0].Protocol == "consumer" {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// Brokers before Kafka 3.0 take one group in a request for commits or a coordinator,
// and do not tell types.
func TestGroupsOfOldBrokers(t *testing.T) {
	for name, version := range map[string]*kversion.Versions{"2.8": kversion.V2_8_0(), "3.0": kversion.V3_0_0(), "3.8": kversion.V3_8_0(), "4.0": kversion.V4_0_0()} {
		t.Run(name, func(t *testing.T) {
			k := newCluster(t, kfake.SeedTopics(2, "a"), kfake.MaxVersions(version))
			ids := k.commit(t, 7, 2, "a")
			cl := k.client(t, time.Minute)
			ctx := deadline(t, time.Minute)
			commits := cl.Commits(ctx, append(ids, "nope"))
			for i, id := range ids {
				if c := commits[id]; c.Err != nil || c.Of["a"][1].Offset != int64(i) {
					t.Errorf("%s: %+v", id, c)
				}
			}
			if c := commits["nope"]; c.Err != nil || len(c.Of) != 0 {
				t.Errorf("a group that does not exist: %+v", c)
			}
			groups := cl.DescribeGroupsByID(ctx, append(ids, "nope"))
			for _, g := range groups[:len(ids)] {
				if g.Err != nil || g.Type != client.ClassicGroup {
					t.Errorf("%+v", g)
				}
			}
			if err := groups[len(ids)].Err; !errors.Is(err, client.ErrNoGroup) {
				t.Errorf("a group that does not exist: %v", err)
			}
		})
	}
}

// The first record at each place is found in the middle of batches, in large ones,
// behind what was deleted, and by leaders that moved.
func TestFirstRecords(t *testing.T) {
	k := newCluster(t, kfake.SeedTopics(2, "a", "b"))
	at := time.UnixMilli(1786053600000)
	// a-0: 0 to 9 in one batch, of which 0 to 4 are deleted later; 10 in one of 300 KiB.
	k.produce(t, "a", 0, at, 10, 10)
	k.produce(t, "a", 0, at.Add(time.Hour), 1, 300<<10)
	k.produce(t, "b", 1, at, 3, 1000)
	cl := k.client(t, time.Minute)
	ctx := deadline(t, time.Minute)
	offsets := make(kadm.Offsets)
	offsets.AddOffset("a", 0, 5, -1)
	if _, err := cl.DeleteRecords(ctx, offsets); err != nil {
		t.Fatal(err)
	}
	if _, err := cl.Partitions(ctx, []string{"a", "b"}); err != nil { // so that leaders are known, …
		t.Fatal(err)
	}
	k.ShufflePartitionLeaders() // … and wrong, perhaps
	places := []client.Place{place("a", 0, 2), place("a", 0, 7), place("a", 0, 10), place("a", 0, 11), place("b", 1, 1), place("b", 0, 0), place("b", 5, 0), place("none", 0, 0), place("b", 1, 1)}
	records := cl.FirstRecords(ctx, places, false)
	for _, tt := range []struct {
		place  client.Place
		offset int64
		time   time.Time
		start  int64
		err    error
	}{
		{place("a", 0, 2), 5, at.Add(5 * time.Millisecond), 5, nil},
		{place("a", 0, 7), 7, at.Add(7 * time.Millisecond), 5, nil},
		{place("a", 0, 10), 10, at.Add(time.Hour), 5, nil},
		{place("a", 0, 11), -1, time.Time{}, 5, nil},
		{place("b", 1, 1), 1, at.Add(time.Millisecond), 0, nil},
		{place("b", 0, 0), -1, time.Time{}, 0, nil},
		{place("b", 5, 0), -1, time.Time{}, -1, kerr.UnknownTopicOrPartition},
		{place("none", 0, 0), -1, time.Time{}, -1, kerr.UnknownTopicOrPartition},
	} {
		r, ok := records[tt.place]
		stamp := int64(-1)
		if !tt.time.IsZero() {
			stamp = tt.time.UnixMilli()
		}
		if !ok || r.Offset != tt.offset || r.Timestamp != stamp || r.LogStart != tt.start || !errors.Is(r.Err, tt.err) {
			t.Errorf("%v: %+v, want offset %d, timestamp %d, log start %d, %v", tt.place, r, tt.offset, stamp, tt.start, tt.err)
		}
	}
	if len(records) != len(places)-1 {
		t.Errorf("%d records of %d places", len(records), len(places))
	}
}

func place(topic string, partition int32, offset int64) client.Place {
	return client.Place{Topic: topic, Partition: partition, Offset: offset}
}
