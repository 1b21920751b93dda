package client_test

import (
	"errors"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// A group whose coordinator moves is tried again, other errors are those of their
// partitions, and what the answer leaves out is not taken as set.
func TestSetCommits(t *testing.T) {
	k := newCluster(t, kfake.SeedTopics(4, "t"))
	moved := false
	k.ControlKey(int16(kmsg.OffsetCommit), func(q kmsg.Request) (kmsg.Response, error, bool) {
		k.KeepControl()
		commit := q.(*kmsg.OffsetCommitRequest)
		answer := commit.ResponseKind().(*kmsg.OffsetCommitResponse)
		to := kmsg.NewOffsetCommitResponseTopic()
		to.Topic, to.TopicID = commit.Topics[0].Topic, commit.Topics[0].TopicID
		switch {
		case commit.Group == "moves" && !moved:
			moved = true
			for _, p := range commit.Topics[0].Partitions {
				to.Partitions = append(to.Partitions, kmsg.OffsetCommitResponseTopicPartition{Partition: p.Partition, ErrorCode: kerr.NotCoordinator.Code})
			}
		case commit.Group == "odd":
			to.Partitions = append(to.Partitions,
				kmsg.OffsetCommitResponseTopicPartition{Partition: 0},
				kmsg.OffsetCommitResponseTopicPartition{Partition: 1, ErrorCode: kerr.UnknownMemberID.Code},
				kmsg.OffsetCommitResponseTopicPartition{Partition: 9})
		default:
			return nil, nil, false
		}
		answer.Topics = append(answer.Topics, to)
		return answer, nil, true
	})
	cl := k.client(t, 20*time.Second)
	topics, err := cl.Topics(t.Context(), []string{"t"})
	if err != nil {
		t.Fatal(err)
	}
	offsets := func(partitions ...int32) kadm.Offsets {
		all := make(kadm.Offsets)
		for _, p := range partitions {
			all.Add(kadm.Offset{Topic: "t", TopicID: kadm.TopicID(topics.Topics[0].ID), Partition: p, At: 7, LeaderEpoch: 2, Metadata: "m"})
		}
		return all
	}
	ctx := deadline(t, 20*time.Second)
	got := cl.SetCommits(ctx, map[string]kadm.Offsets{"moves": offsets(0, 3), "plain": offsets(1), "odd": offsets(0, 1, 2)})
	if len(got["moves"]["t"]) != 2 || got["moves"]["t"][0] != nil || got["moves"]["t"][3] != nil || got["plain"]["t"][1] != nil {
		t.Errorf("got %v", got)
	}
	if odd := got["odd"]["t"]; len(odd) != 3 || odd[0] != nil || !errors.Is(odd[1], kerr.UnknownMemberID) || odd[2] == nil {
		t.Errorf("got %v", odd)
	}
	commits := cl.Commits(ctx, []string{"moves", "plain"})
	if c := commits["moves"].Of["t"][3]; commits["moves"].Err != nil || c.Offset != 7 || c.LeaderEpoch != 2 || c.Metadata != "m" || len(commits["plain"].Of["t"]) != 1 {
		t.Errorf("committed: %+v", commits)
	}
}
