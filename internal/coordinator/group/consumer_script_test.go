package group

import (
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"kf/internal/coordinator/groupscript"
	"kf/internal/format/kraftrec"
)

// Members play scripts that were played before Apache Kafka 4.4.0, and are answered
// the same, and the same is recorded. Another coordinator that takes over then has
// the same groups.
func TestScripts(t *testing.T) {
	for _, name := range groupscript.Names() {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, groupscript.Before)
				b.config.ConsumerSessionTimeout, b.config.ConsumerHeartbeatInterval = groupscript.SessionTimeout, groupscript.HeartbeatInterval
				b.config.ClassicMinSessionTimeout = groupscript.MinSession
				play, err := groupscript.Run(benchCluster{b}, name, groupscript.Script(name))
				if err != nil {
					t.Fatal(err)
				}
				got := play.Text(b.log.records(t, 0))
				if want := groupscript.Kafka(name); got != want {
					t.Errorf("got\n%s\nwant\n%s", got, want)
				}
				b.expectReplay()
			})
		})
	}
}

// A benchCluster lets scripts be played before a bench.
type benchCluster struct{ *bench }

// Ask implements [groupscript.Cluster]. Of the request and its answer no more is
// left than their version has.
func (c benchCluster) Ask(_ string, q kmsg.Request) (kmsg.Response, error) {
	sent := kmsg.RequestForKey(q.Key())
	sent.SetVersion(q.GetVersion())
	if err := sent.ReadFrom(q.AppendTo(nil)); err != nil {
		return nil, err
	}
	r, err := c.answer(sent)
	if err != nil {
		return nil, err
	}
	r.SetVersion(q.GetVersion())
	received := q.ResponseKind()
	return received, received.ReadFrom(r.AppendTo(nil))
}

func (c benchCluster) answer(q kmsg.Request) (kmsg.Response, error) {
	done := make(chan kmsg.Response, 1)
	from := Client{ID: "member", Host: "/127.0.0.1"}
	switch q := q.(type) {
	case *kmsg.ConsumerGroupHeartbeatRequest:
		c.ConsumerGroupHeartbeat(from, q, func(r *kmsg.ConsumerGroupHeartbeatResponse) { done <- r })
	case *kmsg.ConsumerGroupDescribeRequest:
		c.ConsumerGroupDescribe(q, func(r *kmsg.ConsumerGroupDescribeResponse) { done <- r })
	case *kmsg.DescribeGroupsRequest:
		c.DescribeGroups(q, func(r *kmsg.DescribeGroupsResponse) { done <- r })
	case *kmsg.JoinGroupRequest:
		c.JoinGroup(from, q, func(r *kmsg.JoinGroupResponse) { done <- r })
	case *kmsg.SyncGroupRequest:
		c.SyncGroup(q, func(r *kmsg.SyncGroupResponse) { done <- r })
	case *kmsg.HeartbeatRequest:
		c.Heartbeat(q, func(r *kmsg.HeartbeatResponse) { done <- r })
	case *kmsg.LeaveGroupRequest:
		c.LeaveGroup(q, func(r *kmsg.LeaveGroupResponse) { done <- r })
	case *kmsg.OffsetCommitRequest:
		for i := range q.Topics { // as the broker does
			t := c.image.Topic(q.Topics[i].Topic)
			if t == nil {
				return nil, kerr.UnknownTopicOrPartition
			}
			q.Topics[i].TopicID = t.ID
		}
		c.OffsetCommit(q, func(r *kmsg.OffsetCommitResponse) { done <- r })
	case *kmsg.OffsetFetchRequest:
		c.OffsetFetch(q.Groups, q.RequireStable, func(groups []kmsg.OffsetFetchResponseGroup) {
			r := kmsg.NewPtrOffsetFetchResponse()
			r.Groups = groups
			done <- r
		})
	default:
		return nil, fmt.Errorf("nobody answers a %T", q)
	}
	return <-done, nil
}

// Create implements [groupscript.Cluster]. A topic that is made anew has another
// id.
func (c benchCluster) Create(topic string, partitions int32) error {
	id := topicID(topic)
	id[15] = byte(c.image.Position.Offset) + 1
	if err := c.build.Replay(&kraftrec.TopicRecord{Name: topic, TopicID: id}); err != nil {
		return err
	}
	for i := range partitions {
		p := &kraftrec.PartitionRecord{PartitionID: i, TopicID: id, Replicas: []int32{1}, ISR: []int32{1}, Leader: 1}
		if err := c.build.Replay(p); err != nil {
			return err
		}
	}
	c.publish()
	return nil
}

// Grow implements [groupscript.Cluster].
func (c benchCluster) Grow(topic string, partitions int32) error {
	t := c.image.Topic(topic)
	if t == nil {
		return kerr.UnknownTopicOrPartition
	}
	c.grow(t, partitions)
	c.publish()
	return nil
}

// Delete implements [groupscript.Cluster].
func (c benchCluster) Delete(topic string) error {
	t := c.image.Topic(topic)
	if t == nil {
		return kerr.UnknownTopicOrPartition
	}
	c.remove(t)
	c.publish()
	return nil
}

// Topics implements [groupscript.Cluster].
func (c benchCluster) Topics() (map[string][16]byte, error) {
	ids := make(map[string][16]byte)
	for t := range c.image.Topics() {
		ids[t.Name] = t.ID
	}
	return ids, nil
}
