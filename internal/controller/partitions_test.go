package controller_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// growing asks for partitions of topics: as many as count says, on the brokers of
// the assignments.
func growing(count int32, assignment [][]int32, topics ...string) *kmsg.CreatePartitionsRequest {
	q := kmsg.NewPtrCreatePartitionsRequest()
	q.SetVersion(q.MaxVersion())
	for _, name := range topics {
		t := kmsg.NewCreatePartitionsRequestTopic()
		t.Topic, t.Count = name, count
		for _, replicas := range assignment {
			a := kmsg.NewCreatePartitionsRequestTopicAssignment()
			a.Replicas = replicas
			t.Assignment = append(t.Assignment, a)
		}
		q.Topics = append(q.Topics, t)
	}
	return q
}

func TestCreatePartitions(t *testing.T) {
	cl := start(t, 3)
	create := kmsg.NewPtrCreateTopicsRequest()
	create.SetVersion(create.MaxVersion())
	for _, name := range []string{"a", "b"} {
		to := kmsg.NewCreateTopicsRequestTopic()
		to.Topic, to.NumPartitions, to.ReplicationFactor = name, 3, 2
		create.Topics = append(create.Topics, to)
	}
	cl.c.CreateTopics(t.Context(), create)

	// The codes and texts are those that Kafka 4.4.0 answered.
	for _, c := range []struct {
		name    string
		q       *kmsg.CreatePartitionsRequest
		code    *kerr.Error
		message string
	}{
		{"fewer", growing(2, nil, "a"), kerr.InvalidPartitions, "The topic a currently has 3 partition(s); 2 would not be an increase."},
		{"same", growing(3, nil, "a"), kerr.InvalidPartitions, "Topic already has 3 partition(s)."},
		{"none", growing(0, nil, "a"), kerr.InvalidPartitions, "The topic a currently has 3 partition(s); 0 would not be an increase."},
		{"negative", growing(-1, nil, "a"), kerr.InvalidPartitions, "The topic a currently has 3 partition(s); -1 would not be an increase."},
		{"least", growing(-1<<31, nil, "a"), kerr.InvalidPartitions, ""},
		{"unknown topic", growing(5, nil, "no-such"), kerr.UnknownTopicOrPartition, ""},
		{"too few assignments", growing(5, [][]int32{{1, 2}}, "a"), kerr.InvalidReplicaAssignment, "Attempted to add 2 additional partition(s), but only 1 assignment(s) were specified."},
		{"unknown broker", growing(4, [][]int32{{1, 9}}, "a"), kerr.InvalidReplicaAssignment, "The manual partition assignment includes broker 9, but no such broker is registered."},
		{"broker twice", growing(4, [][]int32{{1, 1}}, "a"), kerr.InvalidReplicaAssignment, "The manual partition assignment includes the broker 1 more than once."},
		{"another factor", growing(4, [][]int32{{1}}, "a"), kerr.InvalidReplicaAssignment, "The manual partition assignment includes a partition with 1 replica(s)"},
		{"no replicas", growing(4, [][]int32{{}}, "a"), kerr.InvalidReplicaAssignment, "The manual partition assignment includes an empty replica list."},
		{"twice", growing(4, nil, "a", "a"), kerr.InvalidRequest, "Duplicate topic name."},
		{"too many", growing(20_000, nil, "a"), kerr.PolicyViolation, "Excessively large number of additional partitions per request."},
		{"most", growing(1<<31-1, nil, "a"), kerr.PolicyViolation, ""},
	} {
		res := cl.c.CreatePartitions(t.Context(), c.q)
		got := res.Topics[0]
		if len(res.Topics) != 1 || got.ErrorCode != c.code.Code || got.ErrorMessage == nil || !strings.HasPrefix(*got.ErrorMessage, c.message) {
			t.Errorf("%s: %d %v, want %d %s", c.name, got.ErrorCode, got.ErrorMessage, c.code.Code, c.message)
		}
	}
	late := growing(4, nil, "a")
	late.TimeoutMillis = 0
	if got := cl.c.CreatePartitions(t.Context(), late).Topics[0].ErrorCode; got != kerr.RequestTimedOut.Code {
		t.Errorf("without time: %d", got)
	}
	check := growing(9, nil, "a")
	check.ValidateOnly = true
	if got := cl.c.CreatePartitions(t.Context(), check).Topics[0].ErrorCode; got != 0 {
		t.Errorf("validate only: %d", got)
	}
	if n := cl.c.Image().Topic("a").Len(); n != 3 {
		t.Fatalf("after requests that change nothing the topic has %d partitions", n)
	}

	// One that cannot grow does not stop the others.
	res := cl.c.CreatePartitions(t.Context(), growing(5, [][]int32{{3, 1}, {2, 3}}, "no-such", "a"))
	if res.Topics[0].ErrorCode == 0 || res.Topics[1].ErrorCode != 0 {
		t.Errorf("answered %+v", res.Topics)
	}
	cl.c.CreatePartitions(t.Context(), growing(8, nil, "b"))
	a, b := cl.c.Image().Topic("a"), cl.c.Image().Topic("b")
	if a.Len() != 5 || b.Len() != 8 {
		t.Fatalf("topics have %d and %d partitions, want 5 and 8", a.Len(), b.Len())
	}
	if p := a.Partition(4); !slices.Equal(p.Replicas, []int32{2, 3}) || !slices.Equal(p.ISR, []int32{2, 3}) || p.Leader != 2 || p.LeaderEpoch != 0 {
		t.Errorf("partition 4 is %+v", p)
	}
	for p := range b.Partitions() {
		if len(p.Replicas) != 2 || p.Leader != p.Replicas[0] {
			t.Errorf("partition %d is %+v", p.ID, p)
		}
	}
}
