package broker

import (
	"encoding/binary"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"kf/internal/format/batch"
	"kf/internal/format/codec"
	"kf/internal/image"
	"kf/internal/storage"
	"kf/internal/storage/disk"
	"kf/internal/wire"
)

// newCaseStage returns a broker with the topic "t".
func newCaseStage(t *testing.T, o Options) *stage {
	b := startBroker(t, o)
	s := &stage{t: t, b: b, ids: make(map[string]wire.UUID), followers: func() {}}
	s.create("t", nil)
	return s
}

// Every version of every API answers a sound request without an error.
func TestEveryVersion(t *testing.T) {
	s := newCaseStage(t, Options{Properties: map[string]string{"group.initial.rebalance.delay.ms": "0"}})
	s.request(9, s.produce(errorCase{}, "t", 1, oneBatch(3, []byte("v"))))
	s.request(6, coordinatorOf(0, "g")(s, errorCase{}).(kmsg.Request)) // makes __consumer_offsets
	requests := map[int16]func(version int16) kmsg.Request{
		0: func(int16) kmsg.Request { return s.produce(errorCase{}, "t", -1, batch75(plainHeader(1))) },
		1: func(v int16) kmsg.Request { return s.fetch(v, "t", 0) },
		2: func(int16) kmsg.Request { return at("t", -1)(s, errorCase{}).(kmsg.Request) },
		3: func(int16) kmsg.Request { return naming(false, "t")(s, errorCase{}).(kmsg.Request) },
		8: func(v int16) kmsg.Request {
			q := kmsg.NewPtrOffsetCommitRequest()
			q.Group, q.Generation = fmt.Sprintf("committed-%d", v), -1
			q.Topics = []kmsg.OffsetCommitRequestTopic{{
				Topic: "t", TopicID: s.b.image.Load().Topic("t").ID, Partitions: []kmsg.OffsetCommitRequestTopicPartition{{Offset: 5}},
			}}
			return q
		},
		9: func(v int16) kmsg.Request {
			q := kmsg.NewPtrOffsetFetchRequest()
			q.Group, q.Topics = "committed-2", []kmsg.OffsetFetchRequestTopic{{Topic: "t", Partitions: []int32{0}}}
			g := kmsg.NewOffsetFetchRequestGroup()
			g.Group = q.Group
			g.Topics = []kmsg.OffsetFetchRequestGroupTopic{{Topic: "t", TopicID: s.b.image.Load().Topic("t").ID, Partitions: []int32{0}}}
			q.Groups = []kmsg.OffsetFetchRequestGroup{g}
			return q
		},
		10: func(int16) kmsg.Request { return coordinatorOf(0, "g")(s, errorCase{}).(kmsg.Request) },
		11: func(v int16) kmsg.Request {
			join := joining("joined-"+itoa(v), "")(s, errorCase{}).(*kmsg.JoinGroupRequest)
			if v >= 4 {
				join.MemberID = s.request(v, join).(*kmsg.JoinGroupResponse).MemberID
			}
			return join
		},
		12: func(v int16) kmsg.Request {
			s.group.generation = 1
			return beating("joined-"+itoa(v), "me", 0)(s, errorCase{}).(kmsg.Request)
		},
		13: func(v int16) kmsg.Request {
			leave := leaving("joined-"+itoa(v), "me", nil)(s, errorCase{}).(*kmsg.LeaveGroupRequest)
			leave.MemberID = leave.Members[0].MemberID
			return leave
		},
		14: func(v int16) kmsg.Request {
			s.request(3, joining("synced-"+itoa(v), "")(s, errorCase{}).(kmsg.Request))
			return syncing("synced-"+itoa(v), "me")(s, errorCase{}).(kmsg.Request)
		},
		15: func(int16) kmsg.Request {
			q := kmsg.NewPtrDescribeGroupsRequest()
			q.Groups = []string{"committed-2"}
			return q
		},
		16: func(int16) kmsg.Request { return kmsg.NewPtrListGroupsRequest() },
		18: func(int16) kmsg.Request { return software("kf", "1")(s, errorCase{}).(kmsg.Request) },
		19: func(v int16) kmsg.Request {
			q := creating(fmt.Sprintf("created-%d", v))(s, errorCase{}).(*kmsg.CreateTopicsRequest)
			q.ValidateOnly = false
			return q
		},
		20: func(v int16) kmsg.Request {
			return deleting(value(fmt.Sprintf("created-%d", min(v+1, 7))), [16]byte{})(s, errorCase{Version: v}).(kmsg.Request)
		},
		21: func(int16) kmsg.Request { return deletingRecords("t", 0, 0) },
		22: func(int16) kmsg.Request { return initProducer(nil, 0, -1, -1)(s, errorCase{}).(kmsg.Request) },
		23: func(int16) kmsg.Request { return epochEnd("t", -1, 0)(s, errorCase{}).(kmsg.Request) },
		32: func(int16) kmsg.Request { return describing(topicKind, "t")(s, errorCase{}).(kmsg.Request) },
		35: func(int16) kmsg.Request { return kmsg.NewPtrDescribeLogDirsRequest() },
		37: func(v int16) kmsg.Request {
			q := kmsg.NewPtrCreatePartitionsRequest()
			t := kmsg.NewCreatePartitionsRequestTopic()
			t.Topic, t.Count = "t", 2+int32(v) // more each time
			q.Topics = append(q.Topics, t)
			return q
		},
		42: func(v int16) kmsg.Request {
			q := kmsg.NewPtrDeleteGroupsRequest()
			q.Groups = []string{fmt.Sprintf("committed-%d", v+3)}
			return q
		},
		44: func(int16) kmsg.Request {
			return altering(topicKind, "t", alteration{"retention.ms", set, value("100000")})(s, errorCase{}).(kmsg.Request)
		},
		47: func(int16) kmsg.Request {
			q := kmsg.NewPtrOffsetDeleteRequest()
			q.Group = "committed-2"
			q.Topics = []kmsg.OffsetDeleteRequestTopic{{Topic: "t", Partitions: []kmsg.OffsetDeleteRequestTopicPartition{{}}}}
			return q
		},
		55: func(int16) kmsg.Request { return describingQuorum("__cluster_metadata", 0) },
		60: func(int16) kmsg.Request { return kmsg.NewPtrDescribeClusterRequest() },
		68: func(int16) kmsg.Request {
			q := kmsg.NewPtrConsumerGroupHeartbeatRequest()
			q.Group, q.MemberID, q.RebalanceTimeoutMillis = "g", "m", 300000
			q.SubscribedTopicNames, q.Topics = []string{"t"}, []kmsg.ConsumerGroupHeartbeatRequestTopic{}
			return q
		},
		69: func(int16) kmsg.Request {
			q := kmsg.NewPtrConsumerGroupDescribeRequest()
			q.Groups, q.IncludeAuthorizedOperations = []string{"g"}, true
			return q
		},
		74: func(int16) kmsg.Request { return kmsg.NewPtrListConfigResourcesRequest() },
		75: func(int16) kmsg.Request { return kmsg.NewPtrDescribeTopicPartitionsRequest() },
	}
	for a := range s.b.apis.all {
		for version := a.from; version <= a.max; version++ {
			answer := s.request(version, requests[a.key](version))
			code, message, fields := outcome(answer)
			for code == kerr.NotCoordinator.Code || code == kerr.CoordinatorLoadInProgress.Code { // till the group is loaded
				time.Sleep(time.Millisecond)
				code, message, fields = outcome(s.request(version, requests[a.key](version)))
			}
			if code != 0 {
				t.Errorf("%s v%d: code %d, %s", a.name, version, code, message)
			}
			if n, ok := fields["bytes"]; ok && n == 0.0 {
				t.Errorf("%s v%d: no records", a.name, version)
			}
		}
	}
}

// Settings that are valid one by one and do not go together are refused when a
// topic is made and when it is changed, and nothing of them is kept.
func TestConfigsTogether(t *testing.T) {
	s := newCaseStage(t, Options{})
	for _, settings := range []map[string]string{
		{"remote.storage.enable": "true"},
		{"min.compaction.lag.ms": "100", "max.compaction.lag.ms": "50"},
	} {
		create := creating("new")(s, errorCase{}).(*kmsg.CreateTopicsRequest)
		create.ValidateOnly = false
		var changes []alteration
		for name, text := range settings {
			c := kmsg.NewCreateTopicsRequestTopicConfig()
			c.Name, c.Value = name, &text
			create.Topics[0].Configs = append(create.Topics[0].Configs, c)
			changes = append(changes, alteration{name, set, &text})
		}
		for _, q := range []kmsg.Request{create, altering(topicKind, "t", changes...)(s, errorCase{}).(kmsg.Request)} {
			code, message, _ := outcome(s.request(q.MaxVersion(), q))
			if code != kerr.InvalidConfig.Code || message == "" {
				t.Errorf("%T with %v: code %d, %q", q, settings, code, message)
			}
		}
	}
	im := s.b.image.Load()
	if set := topicSettings(im, "t"); im.Topic("new") != nil || len(set) > 0 {
		t.Errorf("a topic was made: %v, or changed: %v", im.Topic("new") != nil, set)
	}
	s.request(1, altering(topicKind, "t", alteration{"min.compaction.lag.ms", set, value("100")})(s, errorCase{}).(kmsg.Request))
	code, _, _ := outcome(s.request(1, altering(topicKind, "t", alteration{"max.compaction.lag.ms", set, value("50")})(s, errorCase{}).(kmsg.Request)))
	if code != kerr.InvalidConfig.Code {
		t.Errorf("code %d for a limit that does not go with an earlier one", code)
	}
}

// A resource that a request names again is not described again.
func TestDescribeTwice(t *testing.T) {
	s := newCaseStage(t, Options{})
	q := kmsg.NewPtrDescribeConfigsRequest()
	for range 3 {
		for name, kind := range map[string]kmsg.ConfigResourceType{"t": topicKind, "1": kmsg.ConfigResourceTypeBroker} {
			r := kmsg.NewDescribeConfigsRequestResource()
			r.ResourceType, r.ResourceName = kind, name
			q.Resources = append(q.Resources, r)
		}
	}
	for i, r := range s.request(4, q).(*kmsg.DescribeConfigsResponse).Resources {
		code := int16(0)
		if i >= 2 {
			code = kerr.InvalidRequest.Code
		}
		if r.ErrorCode != code || (len(r.Configs) > 0) != (code == 0) {
			t.Errorf("resource %d: code %d, %d entries; want code %d", i, r.ErrorCode, len(r.Configs), code)
		}
	}
}

// The features in ApiVersions are those whose APIs are served, supported and
// finalised alike.
func TestFeatures(t *testing.T) {
	s := newCaseStage(t, Options{})
	for version, want := range map[int16]string{
		0: "", 2: "",
		3: "metadata.version 7-33",
		4: "eligible.leader.replicas.version 0-1, group.version 0-1, kraft.version 0-1, metadata.version 7-33",
		5: "eligible.leader.replicas.version 0-1, group.version 0-1, kraft.version 0-1, metadata.version 7-33",
	} {
		r := s.request(version, software("kf", "1")(s, errorCase{}).(kmsg.Request)).(*kmsg.ApiVersionsResponse)
		var supported, finalised []string
		for _, f := range r.SupportedFeatures {
			supported = append(supported, fmt.Sprintf("%s %d-%d", f.Name, f.MinVersion, f.MaxVersion))
		}
		for _, f := range r.FinalizedFeatures {
			finalised = append(finalised, fmt.Sprintf("%s %d-%d", f.Name, f.MinVersionLevel, f.MaxVersionLevel))
		}
		if got := strings.Join(supported, ", "); got != want {
			t.Errorf("v%d: supported %q, want %q", version, got, want)
		}
		if got := strings.Join(finalised, ", "); version >= 3 && got != "eligible.leader.replicas.version 1-1, group.version 1-1, metadata.version 33-33" {
			t.Errorf("v%d: finalised %q", version, got)
		}
		if version >= 3 && r.FinalizedFeaturesEpoch < 0 {
			t.Errorf("v%d: epoch of the features is %d", version, r.FinalizedFeaturesEpoch)
		}
	}
}

// An ApiVersions that nobody knows is answered in version 0, with these bytes.
func TestUnknownApiVersions(t *testing.T) {
	s := newCaseStage(t, Options{})
	s.send(errorCase{}, framed(int16(18), int16(99), int32(5), "anything")(s, errorCase{}))
	p, err := readFrame(s.conn)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprintf("% x", p), "00 00 00 05 00 23 00 00 00 01 00 12 00 00 00 05"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if _, _, fields := outcome(s.request(0, kmsg.NewPtrApiVersionsRequest())); fields["keys"] == 0.0 {
		t.Error("the connection does not work on")
	}
}

// What a fetch returns for limits and offsets: whole batches from the one that
// holds the offset on, at least one.
func TestFetchLimits(t *testing.T) {
	s := newCaseStage(t, Options{})
	s.create("u", nil)
	s.create("v", nil)
	const n, size = 10, 1000
	one := len(oneBatch(n, payload(size)))
	for _, topic := range []string{"t", "u", "v"} {
		for range 3 {
			s.request(9, s.produce(errorCase{}, topic, 1, oneBatch(n, payload(size))))
		}
	}
	for _, tt := range []struct {
		name           string
		offset         int64
		max, partition int
		topics         []string
		bytes          []int // by topic
		first          int64 // base offset in the first topic
	}{
		{"all", 0, 1 << 20, 1 << 20, []string{"t"}, []int{3 * one}, 0},
		{"inside a batch", 13, 1 << 20, 1 << 20, []string{"t"}, []int{2 * one}, 10},
		{"last of a batch", 19, 1 << 20, 1 << 20, []string{"t"}, []int{2 * one}, 10},
		{"limit 1", 0, 1, 1 << 20, []string{"t"}, []int{one}, 0},
		{"partition limit 1", 0, 1 << 20, 1, []string{"t"}, []int{one}, 0},
		{"two batches", 0, 2 * one, 1 << 20, []string{"t"}, []int{2 * one}, 0},
		{"three partitions, one batch", 0, one, 1 << 20, []string{"t", "u", "v"}, []int{one, 0, 0}, 0},
		{"three partitions, all of one and a piece", 0, 3*one + 1, 1 << 20, []string{"t", "u", "v"}, []int{3 * one, 0, 0}, 0},
		{"three partitions, one batch each", 0, 1 << 20, one, []string{"t", "u", "v"}, []int{one, one, one}, 0},
		{"the end", 30, 1 << 20, 1 << 20, []string{"t"}, []int{0}, 0},
	} {
		for _, version := range []int16{4, 12, 18} {
			q := s.fetch(version, tt.topics[0], tt.offset)
			for _, more := range tt.topics[1:] {
				q.Topics = append(q.Topics, s.fetch(version, more, tt.offset).Topics...)
			}
			q.MaxBytes, q.MaxWaitMillis = int32(tt.max), 0
			for i := range q.Topics {
				q.Topics[i].Partitions[0].PartitionMaxBytes = int32(tt.partition)
			}
			r := s.request(version, q).(*kmsg.FetchResponse)
			for i := range r.Topics {
				records := r.Topics[i].Partitions[0].RecordBatches
				if len(records) != tt.bytes[i] || records == nil {
					t.Errorf("%s, v%d: %d bytes of topic %d, want %d", tt.name, version, len(records), i, tt.bytes[i])
				} else if i == 0 && len(records) > 0 && int64(binary.BigEndian.Uint64(records)) != tt.first {
					t.Errorf("%s, v%d: begins at offset %d, want %d", tt.name, version, binary.BigEndian.Uint64(records), tt.first)
				}
			}
		}
	}
}

// A fetch waits for its bytes; what wakes it is an append, a deleted topic or
// another leader epoch, not the clock.
func TestFetchWaits(t *testing.T) {
	s := newCaseStage(t, Options{})
	one := len(batch75(plainHeader(1)))
	for _, tt := range []struct {
		name     string
		minBytes int
		event    func(s *stage)
		bytes    float64
		code     int16
	}{
		{"append", 1, func(s *stage) { s.append("w") }, float64(one), 0},
		{"two appends", one + 1, func(s *stage) { s.append("w"); s.append("w") }, float64(2 * one), 0},
		{"topic deleted", 1, func(s *stage) {
			s.delete("w")
		}, 0, 100},
		{"leader epoch", 1, fenced, 0, 74},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s.t = t
			s.create("w", nil)
			q := s.fetch(18, "w", 0)
			q.MaxWaitMillis, q.MinBytes = 1<<31-1, int32(tt.minBytes)
			q.Topics[0].Partitions[0].CurrentLeaderEpoch = 0
			q.SetVersion(18)
			c, err := net.Dial("tcp", s.b.Addr())
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			c.SetDeadline(time.Now().Add(20 * time.Second)) // a fetch that is not woken fails the test
			var answer kmsg.Response
			var wg sync.WaitGroup
			wg.Go(func() { answer, err = roundTrip(c, q) })
			r := s.b.replicas.get(s.ids["w"], 0)
			for r.watch.len() == 0 {
				time.Sleep(time.Millisecond)
			}
			tt.event(s)
			wg.Wait()
			if err != nil {
				t.Fatal(err)
			}
			code, _, fields := outcome(answer)
			if code != tt.code || fields["bytes"] != tt.bytes {
				t.Errorf("code %d, %v bytes; want %d, %v", code, fields["bytes"], tt.code, tt.bytes)
			}
			if n := r.watch.len(); n != 0 {
				t.Errorf("%d waiters are left", n)
			}
			if s.b.image.Load().Topic("w") != nil {
				s.delete("w")
			}
		})
	}
}

// A partition that does not exist does not keep a fetch of others from waiting;
// alone it is answered at once.
func TestFetchWaitsBesideUnknown(t *testing.T) {
	s := newCaseStage(t, Options{})
	q := s.fetch(12, "t", 0)
	q.MaxWaitMillis = 1<<31 - 1
	q.SetVersion(12)
	known := q.Topics[0].Partitions[0]
	unknown := known
	unknown.Partition = 9
	c, err := net.Dial("tcp", s.b.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(20 * time.Second))
	fetch := func(partitions ...kmsg.FetchRequestTopicPartition) []kmsg.FetchResponseTopicPartition {
		q.Topics[0].Partitions = partitions
		answer, err := roundTrip(c, q)
		if err != nil {
			t.Error(err)
			return make([]kmsg.FetchResponseTopicPartition, len(partitions))
		}
		return answer.(*kmsg.FetchResponse).Topics[0].Partitions
	}
	if got := fetch(unknown)[0].ErrorCode; got != kerr.UnknownTopicOrPartition.Code {
		t.Errorf("code %d", got)
	}
	answered := make(chan []kmsg.FetchResponseTopicPartition, 1)
	go func() { answered <- fetch(known, unknown) }()
	r := s.b.replicas.get(s.ids["t"], 0)
	for r.watch.len() == 0 {
		select {
		case <-answered:
			t.Fatal("answered before there was anything to read")
		case <-time.After(time.Millisecond):
		}
	}
	s.append("t")
	got := <-answered
	if len(got[0].RecordBatches) == 0 || got[1].ErrorCode != kerr.UnknownTopicOrPartition.Code {
		t.Errorf("%d bytes, code %d", len(got[0].RecordBatches), got[1].ErrorCode)
	}
}

// append appends a record of 75 bytes.
func (s *stage) append(topic string) {
	if code, message, _ := outcome(s.request(9, s.produce(errorCase{}, topic, 1, batch75(plainHeader(1))))); code != 0 {
		s.t.Fatalf("produce: code %d, %s", code, message)
	}
}

// Look-ups by time find the first record at or after it, and the newest one
// exactly, in plain and compressed batches.
func TestListOffsetsByTime(t *testing.T) {
	s := newCaseStage(t, Options{})
	base := time.Now().UnixMilli() - 1_000_000
	for id := codec.None; id <= codec.Zstd; id++ {
		topic := "times-" + id.String()
		s.create(topic, nil)
		h := plainHeader(3)
		h.Attributes, h.BaseTimestamp, h.MaxTimestamp = int16(id), base, base+10
		p, err := batch.Append(nil, h, func(yield func(*batch.Record) bool) {
			for i, at := range []int64{0, 10, 5} {
				if !yield(&batch.Record{Offset: int64(i), Timestamp: base + at, Value: []byte("v")}) {
					return
				}
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		if code, message, _ := outcome(s.request(9, s.produce(errorCase{}, topic, 1, p))); code != 0 {
			t.Fatalf("%s: code %d, %s", topic, code, message)
		}
		for _, tt := range []struct{ ask, offset, timestamp int64 }{
			{base - 1, 0, base}, {base, 0, base}, {base + 1, 1, base + 10}, {base + 10, 1, base + 10}, {base + 11, -1, -1}, {-3, 1, base + 10},
		} {
			_, _, fields := outcome(s.request(11, at(topic, tt.ask)(s, errorCase{}).(kmsg.Request)))
			if fields["offset"] != float64(tt.offset) || fields["timestamp"] != float64(tt.timestamp) {
				t.Errorf("%s: time %d: offset %v, timestamp %v; want %d, %d", topic, tt.ask, fields["offset"], fields["timestamp"], tt.offset, tt.timestamp)
			}
		}
	}
}

// The high watermark of a leader is the lowest log end among those in sync.
func TestHighWatermark(t *testing.T) {
	l := testLog(t, disk.OS, 10, 10)
	r := &replica{tp: storage.TopicPartition{Topic: "t"}, node: 1}
	r.minInsync.Store(2)
	told := 0
	all := &replicas{committed: func(storage.TopicPartition) { told++ }}
	state := func(leader int32, isr ...int32) {
		r.state.Store(&image.Partition{Leader: leader, Replicas: []int32{1, 2, 3}, ISR: isr})
	}
	for _, step := range []struct {
		name string
		do   func()
		want int64
	}{
		{"nobody has fetched", func() { state(1, 1, 2, 3); r.advance(l) }, 0},
		{"one follower", func() { all.fetched(r, 2, 7, l) }, 0},
		{"the other", func() { all.fetched(r, 3, 5, l) }, 5},
		{"it goes on", func() { all.fetched(r, 3, 9, l) }, 7},
		{"one that is no replica", func() { all.fetched(r, 4, 9, l) }, 7},
		{"the slower leaves the ISR", func() { state(1, 1, 3); r.advance(l) }, 9},
		{"too few in sync, eligible replicas are kept", func() { r.elr.Store(true); state(1, 1); r.advance(l) }, 9},
		{"too few in sync otherwise", func() { r.elr.Store(false); r.advance(l) }, 10},
		{"another leader", func() { l.SetHighWatermark(4); state(2, 1, 2, 3); r.advance(l) }, 4},
	} {
		step.do()
		if got := l.HighWatermark(); got != step.want {
			t.Errorf("%s: high watermark %d, want %d", step.name, got, step.want)
		}
	}
	if told != 2 {
		t.Errorf("followers moved it 2 times, %d were told", told)
	}
}

// A produce with acks=-1 is answered when the followers have the records, when
// its time is over, or when the leader is another.
func TestProduceWaits(t *testing.T) {
	s := newCaseStage(t, Options{})
	s.otherBrokers()
	for _, tt := range []struct {
		name    string
		timeout int32
		event   func()
		code    int16
	}{
		{"followers fetch", 60000, func() { s.follow("p", 1) }, 0},
		{"time-out", 20, func() {}, 7},
		{"topic deleted", 60000, func() { s.delete("p") }, 6},
		{"another leader", 60000, func() {
			if err := s.b.controller.Fence(s.t.Context(), 1, s.b.epoch); err != nil {
				s.t.Fatal(err)
			}
		}, 6},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s.t = t
			s.create("p", nil, 1, 2, 3)
			q := s.produce(errorCase{}, "p", -1, batch75(plainHeader(1)))
			q.TimeoutMillis = tt.timeout
			q.SetVersion(13)
			c, err := net.Dial("tcp", s.b.Addr())
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			c.SetDeadline(time.Now().Add(20 * time.Second)) // a produce that is not woken fails the test
			var answer kmsg.Response
			var wg sync.WaitGroup
			wg.Go(func() { answer, err = roundTrip(c, q) })
			r := s.b.replicas.get(s.ids["p"], 0)
			l, failed := s.b.replicas.open(r)
			if failed != nil {
				t.Fatal(failed)
			}
			for l.LogEndOffset() == 0 {
				time.Sleep(time.Millisecond)
			}
			tt.event()
			wg.Wait()
			if err != nil {
				t.Fatal(err)
			}
			s.followers()
			if code, _, _ := outcome(answer); code != tt.code {
				t.Errorf("code %d, want %d", code, tt.code)
			}
			for r.watch.len() != 0 { // the last fetch of a follower ends
				time.Sleep(time.Millisecond)
			}
			if s.b.image.Load().Topic("p") != nil {
				s.delete("p")
			}
		})
	}
}

// delete deletes a topic.
func (s *stage) delete(topic string) {
	q := deleting(value(topic), [16]byte{})(s, errorCase{Version: 6}).(*kmsg.DeleteTopicsRequest)
	q.SetVersion(6)
	if code := s.b.controller.DeleteTopics(s.t.Context(), q).Topics[0].ErrorCode; code != 0 {
		s.t.Fatalf("topic %s: code %d", topic, code)
	}
}

// A broker goes on without a log directory, but not without the metadata.
func TestDirFailed(t *testing.T) {
	b, err := New(Options{Dirs: []string{"a", "b", "c"}, MetadataDir: "b", Listeners: []Listener{{}}})
	if err != nil {
		t.Fatal(err)
	}
	b.dirFailed(0, storage.ErrOffline)
	select {
	case err := <-b.Failed():
		t.Fatalf("failed with the first directory: %v", err)
	default:
	}
	b.dirFailed(1, storage.ErrOffline)
	if err := <-b.Failed(); !strings.Contains(err.Error(), "b: ") {
		t.Error(err)
	}
}
