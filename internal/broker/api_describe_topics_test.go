package broker

import (
	"fmt"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestDescribeTopicPartitions(t *testing.T) {
	b := startBroker(t, Options{Topics: []NewTopic{{Name: "a", Partitions: 3}, {Name: "b", Partitions: 1}, {Name: "c", Partitions: 5}}})
	s := &stage{t: t, b: b, followers: func() {}}
	// ask returns the partitions of the answer as "a0 a1 c4", a topic that has an
	// error as "x:3", and where the next page begins as "> c2".
	ask := func(limit int32, cursor string, topics ...string) string {
		q := kmsg.NewPtrDescribeTopicPartitionsRequest()
		q.ResponsePartitionLimit = limit
		for _, name := range topics {
			q.Topics = append(q.Topics, kmsg.DescribeTopicPartitionsRequestTopic{Topic: name})
		}
		if cursor != "" {
			at := kmsg.NewDescribeTopicPartitionsRequestCursor()
			at.Topic = cursor[:1]
			fmt.Sscan(cursor[1:], &at.Partition)
			q.Cursor = &at
		}
		answer := s.request(0, q).(*kmsg.DescribeTopicPartitionsResponse)
		var words []string
		for _, to := range answer.Topics {
			if to.ErrorCode != 0 {
				words = append(words, fmt.Sprintf("%s:%d", *to.Topic, to.ErrorCode))
			}
			for _, p := range to.Partitions {
				if p.LeaderID != 1 || len(p.Replicas) != 1 || len(p.ISR) != 1 || p.EligibleLeaderReplicas == nil || to.TopicID == ([16]byte{}) {
					t.Errorf("%s-%d: %+v", *to.Topic, p.Partition, p)
				}
				words = append(words, fmt.Sprint(*to.Topic, p.Partition))
			}
		}
		if n := answer.NextCursor; n != nil {
			words = append(words, fmt.Sprint("> ", n.Topic, n.Partition))
		}
		return strings.Join(words, " ")
	}
	unknown, invalid := kerr.UnknownTopicOrPartition.Code, kerr.InvalidTopicException.Code
	for _, c := range []struct {
		limit  int32
		cursor string
		topics []string
		want   string
	}{
		{2000, "", nil, "a0 a1 a2 b0 c0 c1 c2 c3 c4"},
		{2, "", nil, "a0 a1 > a2"},
		{3, "", nil, "a0 a1 a2 > b0"},
		{2, "a2", nil, "a2 b0 > c0"},
		{0, "c3", nil, "c3 > c4"},
		{-5, "c4", nil, "c4"},
		{9, "c9", nil, ""},
		{9, "c2147483647", nil, ""},
		{9, "", []string{"c", "a", "c", "b"}, "a0 a1 a2 b0 c0 c1 c2 c3 c4"},
		{9, "b0", []string{"c", "a", "b"}, "b0 c0 c1 c2 c3 c4"},
		{2, "", []string{"c", "0 invalid", "0unknown"}, fmt.Sprintf("0 invalid:%d 0unknown:%d c0 c1 > c2", invalid, unknown)},
		{9, "b0", []string{"c"}, fmt.Sprintf("c:%d", kerr.InvalidRequest.Code)}, // the cursor is none of the topics
		{9, "b-1", []string{"b"}, fmt.Sprintf("b:%d", kerr.InvalidRequest.Code)},
	} {
		if got := ask(c.limit, c.cursor, c.topics...); got != c.want {
			t.Errorf("limit %d, cursor %q, topics %q: %s\nwant %s", c.limit, c.cursor, c.topics, got, c.want)
		}
	}
}
