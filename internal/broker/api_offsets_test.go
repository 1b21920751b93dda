package broker

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"kf/internal/coordinator/group"
	"kf/internal/format/batch"
	"kf/internal/format/grouprec"
	"kf/internal/wire"
)

// newOffsetStage returns a broker with the topics t of 2 partitions and u of 1, whose
// groups are loaded.
func newOffsetStage(t *testing.T) *stage {
	s := newCaseStage(t, Options{Properties: map[string]string{"offsets.topic.num.partitions": "1"}})
	q := kmsg.NewPtrCreatePartitionsRequest()
	q.TimeoutMillis = 5000
	q.Topics = []kmsg.CreatePartitionsRequestTopic{{Topic: "t", Count: 2}}
	s.request(3, q)
	s.create("u", nil)
	s.loadGroups()
	return s
}

// loadGroups asks for a coordinator till there is one.
func (s *stage) loadGroups() {
	s.t.Helper()
	q := kmsg.NewPtrFindCoordinatorRequest()
	q.CoordinatorKeys = []string{"g"}
	for s.request(6, q).(*kmsg.FindCoordinatorResponse).Coordinators[0].ErrorCode != 0 {
		time.Sleep(time.Millisecond)
	}
	for s.b.groups.Loaded(0) == nil {
		time.Sleep(time.Millisecond)
	}
	<-s.b.groups.Loaded(0)
}

// A wanted is a partition of a request by name or id.
type wanted struct {
	topic     string
	id        wire.UUID
	partition int32
}

func (s *stage) topicID(name string) wire.UUID { return s.b.image.Load().Topic(name).ID }

func commitRequest(group string, of ...wanted) *kmsg.OffsetCommitRequest {
	q := kmsg.NewPtrOffsetCommitRequest()
	q.Group, q.Generation = group, -1
	for _, w := range of {
		q.Topics = append(q.Topics, kmsg.OffsetCommitRequestTopic{
			Topic: w.topic, TopicID: w.id,
			Partitions: []kmsg.OffsetCommitRequestTopicPartition{{Partition: w.partition, Offset: 5, LeaderEpoch: -1}},
		})
	}
	return q
}

// What is there is committed, whatever stands beside it.
func TestOffsetCommitTopics(t *testing.T) {
	s := newOffsetStage(t)
	unknown := wire.UUID{1, 2, 3}
	for _, tt := range []struct {
		version int16
		of      []wanted
		want    []int16
	}{
		{9, []wanted{{topic: "t"}, {topic: "none"}, {topic: "t", partition: 2}, {topic: "u"}, {topic: ""}}, []int16{0, 3, 3, 0, 3}},
		{9, []wanted{{topic: "none"}}, []int16{3}},
		{10, []wanted{{id: unknown}, {id: s.topicID("t"), partition: 1}, {id: wire.UUID{}}, {id: s.topicID("u"), partition: 1}}, []int16{100, 0, 100, 3}},
		{10, []wanted{{id: unknown}}, []int16{100}},
	} {
		r := s.request(tt.version, commitRequest("g", tt.of...)).(*kmsg.OffsetCommitResponse)
		var got []int16
		for i, to := range r.Topics {
			if to.TopicID != tt.of[i].id || to.Topic != tt.of[i].topic || to.Partitions[0].Partition != tt.of[i].partition {
				t.Errorf("v%d: topic %d is %s %v", tt.version, i, to.Topic, to.TopicID)
			}
			got = append(got, to.Partitions[0].ErrorCode)
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("v%d %+v: %v, want %v", tt.version, tt.of, got, tt.want)
		}
	}
	if got := s.fetched(9, "g"); got != "g: t-0=5 t-1=5 u-0=5" {
		t.Error(got)
	}
}

// A topic of which no partition is named is in the answers to OffsetCommit and
// OffsetDelete if it is not there, and else it is not.
func TestTopicsWithoutPartitions(t *testing.T) {
	s := newOffsetStage(t)
	commit := commitRequest("g", wanted{topic: "t"}, wanted{topic: "u"}, wanted{topic: "none"})
	remove := kmsg.NewPtrOffsetDeleteRequest()
	remove.Group = "g"
	for i := range commit.Topics[1:] {
		commit.Topics[i+1].Partitions = nil
	}
	for _, topic := range commit.Topics {
		remove.Topics = append(remove.Topics, kmsg.OffsetDeleteRequestTopic{Topic: topic.Topic})
	}
	remove.Topics[0].Partitions = []kmsg.OffsetDeleteRequestTopicPartition{{Partition: 1}}
	var got []string
	for _, topic := range s.request(9, commit).(*kmsg.OffsetCommitResponse).Topics {
		got = append(got, fmt.Sprint("commit ", topic.Topic, " ", len(topic.Partitions)))
	}
	for _, topic := range s.request(0, remove).(*kmsg.OffsetDeleteResponse).Topics {
		got = append(got, fmt.Sprint("delete ", topic.Topic, " ", len(topic.Partitions)))
	}
	if want := []string{"commit t 1", "commit none 0", "delete t 1", "delete none 0"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// fetched shows what a version of OffsetFetch answers for all that a group has, or
// for partitions.
func (s *stage) fetched(version int16, group string, of ...wanted) string {
	s.t.Helper()
	q := kmsg.NewPtrOffsetFetchRequest()
	q.Group = group
	g := kmsg.NewOffsetFetchRequestGroup()
	g.Group = group
	for _, w := range of {
		q.Topics = append(q.Topics, kmsg.OffsetFetchRequestTopic{Topic: w.topic, Partitions: []int32{w.partition}})
		g.Topics = append(g.Topics, kmsg.OffsetFetchRequestGroupTopic{Topic: w.topic, TopicID: w.id, Partitions: []int32{w.partition}})
	}
	q.Groups = append(q.Groups, g)
	r := s.request(version, q).(*kmsg.OffsetFetchResponse)
	var parts []string
	show := func(name string, partition int32, offset int64, epoch int32, metadata *string, code int16) {
		part := fmt.Sprintf("%s-%d=%d", name, partition, offset)
		if code != 0 {
			part += fmt.Sprintf("!%d", code)
		}
		if offset == -1 && epoch != -1 || metadata == nil || *metadata != "" {
			s.t.Errorf("%s: epoch %d, metadata %v", part, epoch, metadata)
		}
		parts = append(parts, part)
	}
	for _, t := range r.Topics {
		for _, p := range t.Partitions {
			show(t.Topic, p.Partition, p.Offset, p.LeaderEpoch, p.Metadata, p.ErrorCode)
		}
	}
	if r.ErrorCode != 0 {
		parts = append(parts, fmt.Sprintf("!%d", r.ErrorCode))
	}
	if len(r.Groups) > 0 != (version >= 8) {
		s.t.Errorf("v%d: %d groups", version, len(r.Groups))
	}
	for _, g := range r.Groups {
		parts = append(parts, g.Group+":")
		if g.ErrorCode != 0 {
			parts = append(parts, fmt.Sprintf("!%d", g.ErrorCode))
		}
		for _, t := range g.Topics {
			name := t.Topic
			if version >= 10 {
				if name = "?"; s.b.image.Load().TopicByID(t.TopicID) != nil {
					name = s.b.image.Load().TopicByID(t.TopicID).Name
				}
			}
			for _, p := range t.Partitions {
				show(name, p.Partition, p.Offset, p.LeaderEpoch, p.Metadata, p.ErrorCode)
			}
		}
	}
	return strings.Join(parts, " ")
}

func TestOffsetFetchTopics(t *testing.T) {
	s := newOffsetStage(t)
	s.request(9, commitRequest("g", wanted{topic: "t"}, wanted{topic: "u"}))
	unknown := wire.UUID{1, 2, 3}
	some := []wanted{{topic: "t", id: s.topicID("t")}, {topic: "none", id: unknown}, {topic: "t", id: s.topicID("t"), partition: 7}}
	for version, want := range map[int16]string{
		1: "t-0=5 none-0=-1 t-7=-1", 7: "t-0=5 none-0=-1 t-7=-1", 8: "g: t-0=5 none-0=-1 t-7=-1", 9: "g: t-0=5 none-0=-1 t-7=-1",
		10: "g: t-0=5 t-7=-1 ?-0=-1!100",
	} {
		if got := s.fetched(version, "g", some...); got != want {
			t.Errorf("v%d: %s, want %s", version, got, want)
		}
	}
	// What belongs to no topic any more is told by name, and not at all by id.
	s.writeGroups(&grouprec.OffsetCommitKey{Group: "g", Topic: "gone"}, &grouprec.OffsetCommitValue{Offset: 7, LeaderEpoch: -1, ExpireTimestamp: -1}, 4)
	for version, want := range map[int16]string{2: "gone-0=7 t-0=5 u-0=5", 9: "g: gone-0=7 t-0=5 u-0=5", 10: "g: t-0=5 u-0=5"} {
		if got := s.fetched(version, "g"); got != want {
			t.Errorf("all, v%d: %s, want %s", version, got, want)
		}
	}
}

// writeGroups writes a record that the coordinator has when it has loaded its log
// again.
func (s *stage) writeGroups(key, value any, version int16) {
	s.t.Helper()
	epoch := s.b.image.Load().Topic(group.Topic).Partition(0).LeaderEpoch
	l := newGroupLog(s.b.replicas, s.b.replicas.get(s.topicID(group.Topic), 0), epoch)
	s.b.groups.Resign(0)
	k, err := grouprec.AppendKey(nil, key)
	if err != nil {
		s.t.Fatal(err)
	}
	v, err := grouprec.AppendValue(nil, value, version)
	if err != nil {
		s.t.Fatal(err)
	}
	h := batch.Header{Magic: 2, ProducerID: -1, ProducerEpoch: -1, PartitionLeaderEpoch: -1}
	p, err := batch.Append(nil, h, slices.Values([]*batch.Record{{Key: k, Value: v}}))
	if err != nil {
		s.t.Fatal(err)
	}
	if _, err := l.Append(p); err != nil {
		s.t.Fatal(err)
	}
	s.b.groups.Lead(0, epoch, l)
	<-s.b.groups.Loaded(0)
}

// Before there is a coordinator each version says so where it can.
func TestOffsetFetchRefused(t *testing.T) {
	s := newCaseStage(t, Options{})
	one := wanted{topic: "t", id: s.topicID("t")}
	for version, want := range map[int16]string{1: "t-0=-1!16", 2: "!16", 7: "!16", 8: "g: !16", 10: "g: !16"} {
		if got := s.fetched(version, "g", one); got != want {
			t.Errorf("v%d: %s, want %s", version, got, want)
		}
	}
	r := s.request(9, commitRequest("g", wanted{topic: "t"}, wanted{topic: "none"})).(*kmsg.OffsetCommitResponse)
	if a, b := r.Topics[0].Partitions[0].ErrorCode, r.Topics[1].Partitions[0].ErrorCode; a != kerr.NotCoordinator.Code || b != kerr.UnknownTopicOrPartition.Code {
		t.Errorf("commit: %d, %d", a, b)
	}
}

func TestOffsetDeleteTopics(t *testing.T) {
	s := newOffsetStage(t)
	s.request(9, commitRequest("g", wanted{topic: "t"}, wanted{topic: "t", partition: 1}))
	q := kmsg.NewPtrOffsetDeleteRequest()
	q.Group = "g"
	q.Topics = []kmsg.OffsetDeleteRequestTopic{
		{Topic: "t", Partitions: []kmsg.OffsetDeleteRequestTopicPartition{{Partition: 2}, {Partition: 0}}},
		{Topic: "none", Partitions: []kmsg.OffsetDeleteRequestTopicPartition{{}}},
	}
	r := s.request(0, q).(*kmsg.OffsetDeleteResponse)
	if got := fmt.Sprint(r.ErrorCode, r.Topics); got != "0 [{t [{2 3} {0 0}]} {none [{0 3}]}]" {
		t.Error(got)
	}
	if got := s.fetched(9, "g"); got != "g: t-1=5" {
		t.Error(got)
	}
	q.Group = "none"
	if r := s.request(0, q).(*kmsg.OffsetDeleteResponse); r.ErrorCode != kerr.GroupIDNotFound.Code || len(r.Topics) != 0 {
		t.Errorf("unknown group: %d %v", r.ErrorCode, r.Topics)
	}
}

// A share group that has state is not deleted, and versions that have no message
// say no more than that.
func TestDeleteGroupsOfOthers(t *testing.T) {
	s := newOffsetStage(t)
	s.writeGroups(&grouprec.ShareGroupMetadataKey{GroupID: "share"}, &grouprec.ShareGroupMetadataValue{Epoch: 1}, 0)
	s.writeGroups(&grouprec.ShareGroupStatePartitionMetadataKey{GroupID: "share"}, &grouprec.ShareGroupStatePartitionMetadataValue{
		InitializedTopics: []grouprec.TopicPartitionsInfo{{TopicName: "t", Partitions: []int32{0}}},
	}, 0)
	for version, want := range map[int16]int16{0: kerr.UnknownServerError.Code, 2: kerr.UnknownServerError.Code, 3: kerr.GroupDeletionFailed.Code} {
		q := kmsg.NewPtrDeleteGroupsRequest()
		q.Groups = []string{"share", "none", "share"}
		r := s.request(version, q).(*kmsg.DeleteGroupsResponse)
		if len(r.Groups) != 2 || r.Groups[0].ErrorCode != want || (r.Groups[0].ErrorMessage != nil) != (version >= 3) || r.Groups[1].ErrorCode != kerr.GroupIDNotFound.Code {
			t.Errorf("v%d: %+v", version, r.Groups)
		}
	}
}

// What a client may do with a group is told if it asks.
func TestDescribeGroupsOperations(t *testing.T) {
	s := newOffsetStage(t)
	s.request(9, commitRequest("g", wanted{topic: "t"}))
	for version, want := range map[int16][]int32{
		2: {math.MinInt32, math.MinInt32}, 3: {groupOperations, groupOperations}, 5: {groupOperations, groupOperations}, 6: {groupOperations, math.MinInt32},
	} {
		q := kmsg.NewPtrDescribeGroupsRequest()
		q.Groups, q.IncludeAuthorizedOperations = []string{"g", "none"}, true
		r := s.request(version, q).(*kmsg.DescribeGroupsResponse)
		if got := []int32{r.Groups[0].AuthorizedOperations, r.Groups[1].AuthorizedOperations}; !slices.Equal(got, want) {
			t.Errorf("v%d: %x, want %x", version, got, want)
		}
		q.IncludeAuthorizedOperations = false
		if r := s.request(version, q).(*kmsg.DescribeGroupsResponse); r.Groups[0].AuthorizedOperations != math.MinInt32 {
			t.Errorf("v%d, not asked: %x", version, r.Groups[0].AuthorizedOperations)
		}
	}
}
