package client

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"
)

func TestQuorumOf(t *testing.T) {
	replica := func(id int32, end, fetch int64) kmsg.DescribeQuorumResponseTopicPartitionReplicaState {
		s := kmsg.NewDescribeQuorumResponseTopicPartitionReplicaState()
		s.ReplicaID, s.LogEndOffset, s.LastFetchTimestamp = id, end, fetch
		return s
	}
	p := kmsg.NewDescribeQuorumResponseTopicPartition()
	p.LeaderID, p.LeaderEpoch, p.HighWatermark = 5, 3, 7
	p.CurrentVoters = []kmsg.DescribeQuorumResponseTopicPartitionReplicaState{replica(6, 8, 0), replica(5, 9, 1796085074510), replica(2, -1, -1)}
	p.Observers = []kmsg.DescribeQuorumResponseTopicPartitionReplicaState{replica(11, 4, 1), replica(10, 4, 1)}
	listener := kmsg.DescribeQuorumResponseNodeListener{Name: "C", Host: "::1", Port: 65535}
	q := quorumOf(p, []kmsg.DescribeQuorumResponseNode{
		{NodeID: 6, Listeners: []kmsg.DescribeQuorumResponseNodeListener{listener, {Name: "D", Host: "h", Port: 1}}}, {NodeID: 10, Listeners: []kmsg.DescribeQuorumResponseNodeListener{listener}},
	})
	var got []string
	for _, r := range q.Replicas {
		got = append(got, fmt.Sprintf("%d %s %d %v %s", r.Node, r.Role, r.LogEndOffset, r.LastFetch.IsZero(), strings.Join(r.Endpoints, ",")))
	}
	want := []string{"5 leader 9 false ", "2 follower -1 true ", "6 follower 8 true C://[::1]:65535,D://h:1", "10 observer 4 false ", "11 observer 4 false "}
	if !slices.Equal(got, want) || q.Leader != 5 || q.Epoch != 3 || q.HighWatermark != 7 {
		t.Errorf("%q\nwant %q; %+v", got, want, q)
	}
	if at := q.Replicas[0].LastFetch; !at.Equal(time.UnixMilli(1796085074510)) {
		t.Error(at)
	}
}

func TestOurMax(t *testing.T) {
	v := kversion.V2_8_0()
	for key, want := range map[int16]int16{3: 11, 75: -1, 9999: -1} {
		if got := ourMax(v, key); got != want {
			t.Errorf("key %d: %d, want %d", key, got, want)
		}
	}
	if got := ourMax(nil, 3); got != 13 {
		t.Errorf("Metadata: %d", got)
	}
	if name := apiName(3) + apiName(9999); name != "Metadata" {
		t.Errorf("%q", name)
	}
	versions := NodeVersions{APIs: []APIVersions{{Key: 1, Max: 2}, {Key: 57, Max: 1}}}
	if a, ok := versions.Serves(UpdateFeaturesKey); !ok || a.Max != 1 {
		t.Errorf("%+v %v", a, ok)
	}
	if _, ok := versions.Serves(56); ok {
		t.Error("it serves what it does not")
	}
}

func TestServes(t *testing.T) {
	q := kmsg.NewPtrUpdateFeaturesRequest()
	err := serves(q, fmt.Errorf("x: %w", kerr.UnsupportedVersion))
	if err.Error() != "this broker does not support UpdateFeatures" || !Unsupported(err) {
		t.Errorf("%v", err)
	}
	if other := errors.New("other"); serves(q, other) != other {
		t.Error("another error is changed")
	}
}

func TestACLNames(t *testing.T) {
	for typed, want := range map[string]ACLOperation{"AlterConfigs": 11, "ALTER_CONFIGS": 11, "alter-configs": 11, "Read": 3, "TwoPhaseCommit": 15, "any": 1, "All": 2} {
		if got, err := ParseACLOperation(typed); got != want || err != nil {
			t.Errorf("%s: %v, %v", typed, got, err)
		}
	}
	for _, wrong := range []string{"", "unknown", "Nope"} {
		if got, err := ParseACLOperation(wrong); err == nil {
			t.Errorf("%q: %v", wrong, got)
		}
	}
	if r, err := ParseACLResource("TransactionalId"); r != TxnResource || err != nil {
		t.Errorf("%v %v", r, err)
	}
	if p, err := ParseACLPermission("Deny"); p != Deny || err != nil {
		t.Errorf("%v %v", p, err)
	}
	if p, err := ParseACLPattern("PREFIXED"); p != PrefixedPattern || err != nil {
		t.Errorf("%v %v", p, err)
	}
	// A newer broker knows more.
	if got := fmt.Sprint(ACLResource(99), ACLOperation(-1), ACLOperation(16), ACLPattern(4), ACLPermission(3)); got != "UNKNOWN UNKNOWN UNKNOWN PREFIXED ALLOW" {
		t.Error(got)
	}
	// The operations of each resource exist.
	for r := TopicResource; r <= PrincipalResource; r++ {
		if all := r.Operations(); len(all) < 2 || all[0] != AllOperations || slices.Contains(all, -1) {
			t.Errorf("%s: %v", r, all)
		}
	}
}
