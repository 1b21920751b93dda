package controller_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"kf/internal/controller"
	"kf/internal/format/kraftrec"
	"kf/internal/image"
	"kf/internal/metalog"
	"kf/internal/storage"
	"kf/internal/storage/disk"
	"kf/internal/wire"
)

// A cluster is a controller with brokers that tests start and stop.
type cluster struct {
	t       *testing.T
	o       controller.Options
	c       *controller.Controller
	epochs  map[int32]int64
	deltas  []*image.Delta
	notices []string
}

func start(t *testing.T, brokers int) *cluster {
	t.Helper()
	levels, err := controller.NewClusterLevels("4.4", map[string]int16{image.FeatureGroupVersion: 1})
	if err != nil {
		t.Fatal(err)
	}
	cl := &cluster{t: t, epochs: map[int32]int64{}}
	cl.o = controller.Options{FS: disk.NoSync(disk.OS), Dir: t.TempDir(), NodeID: 1, Levels: levels, Configs: configs,
		Notice: func(n storage.Notice) { cl.notices = append(cl.notices, n.Message) }}
	cl.open()
	for id := range int32(brokers) {
		cl.up(id+1, -1)
	}
	return cl
}

// configs has a few rules in place of Kafka's table.
var configs = controller.Configs{
	Validate: func(r image.Resource, name string, value *string) error {
		switch {
		case r.Type == image.TopicResource && name == "no.such":
			return errors.New("Unknown topic config name: no.such")
		case value != nil && *value == "bad":
			return errors.New("Invalid value bad for configuration " + name)
		case r.Type == image.BrokerResource && name == "log.dirs":
			return &controller.Error{Code: kerr.InvalidRequest, Message: "Cannot update these configs dynamically: [log.dirs]"}
		}
		return nil
	},
	IsList: func(_ image.ResourceType, name string) bool { return name == "cleanup.policy" },
	Default: func(_ image.ResourceType, name string) (string, bool) {
		value, ok := map[string]string{"cleanup.policy": "delete", "min.insync.replicas": "1"}[name]
		return value, ok
	},
	DescribeTopic: func(_ *image.Image, topic map[string]string) []kmsg.CreateTopicsResponseTopicConfig {
		all := []kmsg.CreateTopicsResponseTopicConfig{}
		for name, value := range topic {
			all = append(all, kmsg.CreateTopicsResponseTopicConfig{Name: name, Value: &value})
		}
		return all
	},
}

func (cl *cluster) open() {
	cl.t.Helper()
	var err error
	if cl.c, err = controller.Open(cl.t.Context(), cl.o); err != nil {
		cl.t.Fatal(err)
	}
	cl.c.Subscribe(func(_, _ *image.Image, d *image.Delta) { cl.deltas = append(cl.deltas, d) })
	cl.t.Cleanup(func() { _ = cl.c.Close() }) // may be closed already
}

func (cl *cluster) close() {
	cl.t.Helper()
	if err := cl.c.Close(); err != nil {
		cl.t.Fatal(err)
	}
}

func dir(broker int32) wire.UUID { return wire.UUID{0: byte(broker), 15: 0xff} }

// register registers a broker that stopped with the broker epoch previous.
func (cl *cluster) register(id int32, previous int64) {
	cl.t.Helper()
	epoch, err := cl.c.RegisterBroker(cl.t.Context(), controller.Registration{BrokerID: id, IncarnationID: metalog.RandomID(), LogDirs: []wire.UUID{dir(id)}, PreviousEpoch: previous,
		Endpoints: []kraftrec.BrokerEndpoint{{Name: "PLAINTEXT", Host: "127.0.0.1", Port: uint16(9092 + id)}}})
	if err != nil {
		cl.t.Fatal(err)
	}
	cl.epochs[id] = epoch
}

func (cl *cluster) up(id int32, previous int64) {
	cl.t.Helper()
	cl.register(id, previous)
	if err := cl.c.Unfence(cl.t.Context(), id, cl.epochs[id]); err != nil {
		cl.t.Fatal(err)
	}
}

func (cl *cluster) stop(id int32) {
	cl.t.Helper()
	if err := cl.c.ControlledShutdown(cl.t.Context(), id, cl.epochs[id]); err != nil {
		cl.t.Fatal(err)
	}
}

// kill fences a broker, as when its session is over.
func (cl *cluster) kill(id int32) {
	cl.t.Helper()
	if err := cl.c.Fence(cl.t.Context(), id, cl.epochs[id]); err != nil {
		cl.t.Fatal(err)
	}
}

func newTopic(name string, partitions int32, factor int16, configs ...string) kmsg.CreateTopicsRequestTopic {
	t := kmsg.NewCreateTopicsRequestTopic()
	t.Topic, t.NumPartitions, t.ReplicationFactor = name, partitions, factor
	for i := 0; i < len(configs); i += 2 {
		t.Configs = append(t.Configs, kmsg.CreateTopicsRequestTopicConfig{Name: configs[i], Value: &configs[i+1]})
	}
	return t
}

// assigned returns a topic of one partition with these replicas.
func assigned(name string, replicas []int32, configs ...string) kmsg.CreateTopicsRequestTopic {
	t := newTopic(name, -1, -1, configs...)
	t.ReplicaAssignment = []kmsg.CreateTopicsRequestTopicReplicaAssignment{{Replicas: replicas}}
	return t
}

func (cl *cluster) create(topics ...kmsg.CreateTopicsRequestTopic) []kmsg.CreateTopicsResponseTopic {
	req := kmsg.NewPtrCreateTopicsRequest()
	req.Version, req.TimeoutMillis, req.Topics = 7, 1000, topics
	return cl.c.CreateTopics(cl.t.Context(), req).Topics
}

func (cl *cluster) mustCreate(topics ...kmsg.CreateTopicsRequestTopic) {
	cl.t.Helper()
	for _, t := range cl.create(topics...) {
		if t.ErrorCode != 0 {
			cl.t.Fatalf("%s: %s", t.Topic, result(t.ErrorCode, t.ErrorMessage))
		}
	}
}

func result(code int16, message *string) string {
	if message == nil {
		return fmt.Sprint(code)
	}
	return fmt.Sprintf("%d %s", code, *message)
}

// state describes partition 0 of a topic.
func (cl *cluster) state(topic string) string {
	p := cl.c.Image().Topic(topic).Partition(0)
	s := fmt.Sprintf("leader %d/%d isr %v", p.Leader, p.LeaderEpoch, p.ISR)
	if len(p.ELR) > 0 {
		s += fmt.Sprintf(" elr %v", p.ELR)
	}
	if len(p.LastKnownELR) > 0 {
		s += fmt.Sprintf(" last %v", p.LastKnownELR)
	}
	if p.Recovering {
		s += " recovering"
	}
	return s
}

func (cl *cluster) want(topic, what, want string) {
	cl.t.Helper()
	if got := cl.state(topic); got != want {
		cl.t.Errorf("%s: %s\nwant %s", what, got, want)
	}
}

func TestNewCluster(t *testing.T) {
	cl := start(t, 1)
	im := cl.c.Image()
	var features []string
	for name, level := range im.Features() {
		features = append(features, fmt.Sprintf("%s=%d", name, level))
	}
	if want := []string{"eligible.leader.replicas.version=1", "group.version=1", "metadata.version=33"}; !slices.Equal(features, want) {
		t.Errorf("features %q, want %q", features, want)
	}
	if value, _ := im.Config(image.Resource{Type: image.BrokerResource}, "min.insync.replicas"); value != "1" {
		t.Errorf("min.insync.replicas of the cluster is %q", value)
	}
	// LeaderChange, Begin, three levels, Config, End, RegisterController, RegisterBroker
	if b := im.Broker(1); b.Epoch != 8 || b.Fenced || b.CordonedLogDirs == nil || b.Offset != 8 || im.Controller(1) == nil {
		t.Errorf("broker %+v", b)
	}
	if _, err := controller.NewClusterLevels("3.9", nil); err == nil {
		t.Error("3.9 makes a cluster")
	}
	cl.close()

	// It is all there again, at the levels it has.
	cl.o.Levels = nil
	cl.open()
	if again := cl.c.Image(); again.Broker(1).Epoch != 8 || again.MetadataVersion() != 33 || cl.c.Epoch() != 2 {
		t.Errorf("again: %+v, epoch %d", again.Broker(1), cl.c.Epoch())
	}
}

func TestOlderRelease(t *testing.T) {
	cl := &cluster{t: t, epochs: map[int32]int64{}}
	levels, err := controller.NewClusterLevels("4.0", nil)
	if err != nil {
		t.Fatal(err)
	}
	cl.o = controller.Options{FS: disk.OS, Dir: t.TempDir(), NodeID: 1, Levels: levels, Configs: configs}
	cl.open()
	cl.up(1, -1)
	cl.up(2, -1)
	cl.mustCreate(assigned("orders", []int32{1, 2}))
	cl.kill(1)
	cl.want("orders", "killed", "leader 2/1 isr [2]")
	cl.kill(2)
	cl.want("orders", "both killed", "leader -1/2 isr [2]") // without ELR the last one stays
	cl.up(2, -1)
	cl.want("orders", "back", "leader 2/3 isr [2]")
	if b := cl.c.Image().Broker(2); b.CordonedLogDirs != nil {
		t.Errorf("cordoned log dirs %v", b.CordonedLogDirs)
	}
}

func TestCreateTopics(t *testing.T) {
	cl := start(t, 1)
	cl.mustCreate(newTopic("exists", 1, 1), newTopic("a.b", 1, 1))
	for _, tt := range []struct {
		name  string
		topic kmsg.CreateTopicsRequestTopic
		want  string
	}{
		{"exists", newTopic("exists", 1, 1), "36 Topic 'exists' already exists."},
		{"space", newTopic("a b", 1, 1), "17 Topic name is invalid: 'a b' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"},
		{"empty", newTopic("", 1, 1), "17 Topic name is invalid: the empty string is not allowed"},
		{"dot", newTopic(".", 1, 1), "17 Topic name is invalid: '.' is not allowed"},
		{"dots", newTopic("..", 1, 1), "17 Topic name is invalid: '..' is not allowed"},
		{"249 letters", newTopic(strings.Repeat("x", 249), 1, 1), "0"},
		{"250 letters", newTopic(strings.Repeat("x", 250), 1, 1), "17 Topic name is invalid: the length of '" + strings.Repeat("x", 250) + "' is longer than the max allowed length 249"},
		{"metadata", newTopic("__cluster_metadata", 1, 1), "42 Creation of internal topic __cluster_metadata is prohibited."},
		{"collision", newTopic("a_b", 1, 1), "17 Topic 'a_b' collides with existing topic: a.b"},
		{"factor 2", newTopic("t", 1, 2), "38 Unable to replicate the partition 2 time(s): The target replication factor of 2 cannot be reached because only 1 broker(s) are registered."},
		{"factor 0", newTopic("t", 1, 0), "38 Replication factor must be larger than 0, or -1 to use the default value."},
		{"factor -2", newTopic("t", 1, -2), "38 Replication factor must be larger than 0, or -1 to use the default value."},
		{"no partitions", newTopic("t", 0, 1), "37 Number of partitions was set to an invalid non-positive value."},
		{"-2 partitions", newTopic("t", -2, 1), "37 Number of partitions was set to an invalid non-positive value."},
		{"10001 partitions", newTopic("t", 10_001, 1), "44 Excessively large number of partitions per request."},
		{"defaults", newTopic("t", -1, -1), "0"},
		{"unknown config", newTopic("t", 1, 1, "no.such", "1"), "40 Unknown topic config name: no.such"},
		{"bad config", newTopic("t", 1, 1, "retention.ms", "bad"), "40 Invalid value bad for configuration retention.ms"},
		{"config before partitions", newTopic("t", 0, 1, "retention.ms", "bad"), "40 Invalid value bad for configuration retention.ms"},
		{"assignment", assigned("t", []int32{1}), "0"},
		{"assignment and factor", func() kmsg.CreateTopicsRequestTopic {
			t := assigned("t", []int32{1})
			t.ReplicationFactor = 1
			return t
		}(), "42 A manual partition assignment was specified, but replication factor was not set to -1."},
		{"assignment and partitions", func() kmsg.CreateTopicsRequestTopic {
			t := assigned("t", []int32{1})
			t.NumPartitions = 1
			return t
		}(), "42 A manual partition assignment was specified, but numPartitions was not set to -1."},
		{"broker 9", assigned("t", []int32{9}), "39 The manual partition assignment includes broker 9, but no such broker is registered."},
		{"broker twice", assigned("t", []int32{1, 1}), "39 The manual partition assignment includes the broker 1 more than once."},
		{"no replicas", assigned("t", nil), "39 The manual partition assignment includes an empty replica list."},
		{"gap", func() kmsg.CreateTopicsRequestTopic {
			t := assigned("t", []int32{1})
			t.ReplicaAssignment[0].Partition = 1
			return t
		}(), "39 partitions should be a consecutive 0-based integer sequence"},
		{"partition twice", func() kmsg.CreateTopicsRequestTopic {
			t := assigned("t", []int32{1})
			t.ReplicaAssignment = append(t.ReplicaAssignment, t.ReplicaAssignment[0])
			return t
		}(), "39 Found multiple manual partition assignments for partition 0"},
		{"config null", func() kmsg.CreateTopicsRequestTopic {
			t := newTopic("t", 1, 1)
			t.Configs = []kmsg.CreateTopicsRequestTopicConfig{{Name: "retention.ms"}}
			return t
		}(), "40 Null value not supported for topic configs: retention.ms"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			req := kmsg.NewPtrCreateTopicsRequest()
			req.Version, req.TimeoutMillis, req.ValidateOnly, req.Topics = 7, 1000, true, []kmsg.CreateTopicsRequestTopic{tt.topic}
			end := cl.c.Image().Position
			res := cl.c.CreateTopics(t.Context(), req).Topics
			if len(res) != 1 || res[0].Topic != tt.topic.Topic {
				t.Fatalf("answer %+v", res)
			}
			if got := result(res[0].ErrorCode, res[0].ErrorMessage); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
			if ok := res[0].ErrorCode == 0; ok != (res[0].NumPartitions > 0) || ok == (res[0].TopicID == [16]byte{}) || res[0].Configs == nil {
				t.Errorf("answer %+v", res[0])
			}
			if cl.c.Image().Position != end {
				t.Error("something was written")
			}
		})
	}

	res := cl.create(newTopic("good", 2, 1, "retention.ms", "5"), newTopic("a b", 1, 1), newTopic("twice", 1, 1), newTopic("twice", 1, 1))
	var got []string
	for _, t := range res {
		got = append(got, fmt.Sprintf("%s %d %d %d", t.Topic, t.ErrorCode, t.NumPartitions, len(t.Configs)))
	}
	if want := []string{"good 0 2 1", "a b 17 -1 0", "twice 42 -1 0"}; !slices.Equal(got, want) {
		t.Errorf("several: %q, want %q", got, want)
	}
	good := cl.c.Image().Topic("good")
	if good.ID != wire.UUID(res[0].TopicID) || good.Len() != 2 || cl.c.Image().Topic("twice") != nil {
		t.Errorf("made %+v", good)
	}
	if p := good.Partition(1); p.Leader != 1 || p.LeaderEpoch != 0 || !slices.Equal(p.Directories, []wire.UUID{dir(1)}) {
		t.Errorf("partition %+v", p)
	}
	req := kmsg.NewPtrCreateTopicsRequest()
	req.Version, req.TimeoutMillis, req.Topics = 7, 0, []kmsg.CreateTopicsRequestTopic{newTopic("late", 1, 1)}
	if res := cl.c.CreateTopics(t.Context(), req).Topics; res[0].ErrorCode != kerr.RequestTimedOut.Code || cl.c.Image().Topic("late") != nil {
		t.Errorf("time-out 0: %+v", res)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	req.TimeoutMillis = 1000
	if res := cl.c.CreateTopics(ctx, req).Topics; res[0].ErrorCode != kerr.RequestTimedOut.Code {
		t.Errorf("cancelled: %+v", res)
	}
	cl.kill(1)
	if res := cl.create(newTopic("t", 1, 1), assigned("u", []int32{1})); res[0].ErrorCode != 38 || res[1].ErrorCode != 39 {
		t.Errorf("all brokers fenced: %+v", res)
	}
}

func TestDeleteTopics(t *testing.T) {
	cl := start(t, 1)
	cl.mustCreate(newTopic("one", 1, 1, "retention.ms", "1"), newTopic("two", 1, 1), newTopic("three", 1, 1), newTopic("four", 1, 1))
	name := func(s string) *string { return &s }
	id := func(s string) [16]byte { return cl.c.Image().Topic(s).ID }
	unknown := [16]byte{1, 2, 3}
	req := kmsg.NewPtrDeleteTopicsRequest()
	req.Version, req.TimeoutMillis = 6, 1000
	req.Topics = []kmsg.DeleteTopicsRequestTopic{
		{Topic: name("nosuch")}, {TopicID: unknown}, {Topic: name("one"), TopicID: id("one")}, {},
		{Topic: name("two")}, {TopicID: id("three")}, {Topic: name("four")}, {Topic: name("four")}, {Topic: name("one")}, {TopicID: id("one")},
	}
	var got []string
	for _, r := range cl.c.DeleteTopics(t.Context(), req).Topics {
		topic := "-"
		if r.Topic != nil {
			topic = *r.Topic
		}
		got = append(got, fmt.Sprintf("%s %v %s", topic, r.TopicID != [16]byte{}, result(r.ErrorCode, r.ErrorMessage)))
	}
	want := []string{
		"nosuch false 3 This server does not host this topic-partition.",
		"- true 100 This server does not host this topic ID.",
		"one true 42 You may not specify both topic name and topic id.",
		"- false 42 Neither topic name nor id were specified.",
		"two true 0",
		"three true 0",
		"four false 42 Duplicate topic name.",
		"one false 42 The provided topic name maps to an ID that was already supplied.",
		"- true 42 The provided topic name maps to an ID that was already supplied.",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if im := cl.c.Image(); im.TopicCount() != 2 || im.Topic("one") == nil || im.Topic("four") == nil {
		t.Errorf("%d topics are left", im.TopicCount())
	}
	old := kmsg.NewPtrDeleteTopicsRequest()
	old.Version, old.TimeoutMillis, old.TopicNames = 1, 1000, []string{"one", "nosuch"}
	if res := cl.c.DeleteTopics(t.Context(), old).Topics; len(res) != 2 || res[0].ErrorCode != 0 || res[1].ErrorCode != 3 || cl.c.Image().Topic("one") != nil {
		t.Errorf("by name, version 1: %+v", res)
	}
	for range cl.c.Image().Configs(image.Resource{Type: image.TopicResource, Name: "one"}) {
		t.Error("a configuration outlived its topic")
	}
	old.TimeoutMillis = 0
	if res := cl.c.DeleteTopics(t.Context(), old).Topics; res[0].ErrorCode != kerr.RequestTimedOut.Code {
		t.Errorf("time-out 0: %+v", res)
	}
}

func TestAlterConfigs(t *testing.T) {
	cl := start(t, 1)
	cl.mustCreate(newTopic("orders", 1, 1, "retention.ms", "1"))
	const set, del, add, sub = kmsg.IncrementalAlterConfigOpSet, kmsg.IncrementalAlterConfigOpDelete, kmsg.IncrementalAlterConfigOpAppend, kmsg.IncrementalAlterConfigOpSubtract
	type op struct {
		name  string
		op    kmsg.IncrementalAlterConfigOp
		value string
	}
	alter := func(kind kmsg.ConfigResourceType, name string, ops ...op) kmsg.IncrementalAlterConfigsRequestResource {
		r := kmsg.NewIncrementalAlterConfigsRequestResource()
		r.ResourceType, r.ResourceName = kind, name
		for _, o := range ops {
			c := kmsg.IncrementalAlterConfigsRequestResourceConfig{Name: o.name, Op: o.op}
			if o.op != del && o.value != "null" {
				c.Value = &o.value
			}
			r.Configs = append(r.Configs, c)
		}
		return r
	}
	const topic, broker, logger, group = kmsg.ConfigResourceTypeTopic, kmsg.ConfigResourceTypeBroker, kmsg.ConfigResourceTypeBrokerLogger, kmsg.ConfigResourceType(32)
	for _, tt := range []struct {
		name string
		r    kmsg.IncrementalAlterConfigsRequestResource
		want string
	}{
		{"unknown topic", alter(topic, "nosuch", op{"a", set, "1"}), "3 The topic 'nosuch' does not exist."},
		{"unknown key", alter(topic, "orders", op{"no.such", set, "1"}), "40 Unknown topic config name: no.such"},
		{"bad value", alter(topic, "orders", op{"retention.ms", set, "bad"}), "40 Invalid value bad for configuration retention.ms"},
		{"null value", alter(topic, "orders", op{"retention.ms", set, "null"}), "42 Null value not supported for : retention.ms"},
		{"append to a number", alter(topic, "orders", op{"retention.ms", add, "1"}), "40 Can't APPEND to key retention.ms because its type is not LIST."},
		{"subtract from a number", alter(topic, "orders", op{"retention.ms", sub, "1"}), "40 Can't SUBTRACT to key retention.ms because its type is not LIST."},
		{"op 9", alter(topic, "orders", op{"retention.ms", 9, "1"}), "-1"},
		{"delete what is not set", alter(topic, "orders", op{"segment.ms", del, ""}), "0"},
		{"key twice", alter(topic, "orders", op{"a", set, "1"}, op{"a", set, "2"}), "42 Error due to duplicate config keys"},
		{"too long", alter(topic, "orders", op{"a", set, strings.Repeat("x", 32768)}), "40 The configuration value cannot be added because it exceeds the maximum value size of 32767 bytes."},
		{"read-only key of a broker", alter(broker, "1", op{"log.dirs", set, "1"}), "42 Cannot update these configs dynamically: [log.dirs]"},
		{"unknown broker", alter(broker, "9", op{"a", set, "1"}), "102 No broker with id 9 found."},
		{"no broker", alter(broker, "x", op{"a", set, "1"}), "42 Unable to parse broker name as a base 10 number."},
		{"minimum of a broker", alter(broker, "1", op{"min.insync.replicas", set, "1"}), "40 Broker-level min.insync.replicas cannot be altered while ELR is enabled."},
		{"no minimum", alter(broker, "", op{"min.insync.replicas", del, ""}), "40 Cluster-level min.insync.replicas cannot be removed while ELR is enabled."},
		{"logger", alter(logger, "1", op{"a", set, "1"}), "42 Unexpected resource type BROKER_LOGGER."},
		{"group", alter(group, "g", op{"consumer.session.timeout.ms", set, "50000"}), "0"},
		{"no group", alter(group, "", op{"consumer.session.timeout.ms", set, "50000"}), "42 Default group resources are not allowed."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			req := kmsg.NewPtrIncrementalAlterConfigsRequest()
			req.Version, req.ValidateOnly, req.Resources = 1, true, []kmsg.IncrementalAlterConfigsRequestResource{tt.r}
			end := cl.c.Image().Position
			res := cl.c.IncrementalAlterConfigs(t.Context(), req).Resources
			if got := result(res[0].ErrorCode, res[0].ErrorMessage); got != tt.want || res[0].ResourceName != tt.r.ResourceName || res[0].ResourceType != tt.r.ResourceType {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
			if cl.c.Image().Position != end {
				t.Error("something was written")
			}
		})
	}
	value := func(r image.Resource, name string) string {
		v, ok := cl.c.Image().Config(r, name)
		if !ok {
			return "-"
		}
		return v
	}
	orders := image.Resource{Type: image.TopicResource, Name: "orders"}
	change := func(want string, rs ...kmsg.IncrementalAlterConfigsRequestResource) (records int64) {
		t.Helper()
		req := kmsg.NewPtrIncrementalAlterConfigsRequest()
		req.Version, req.Resources = 1, rs
		end := cl.c.Image().Position.Offset
		var got []string
		for _, r := range cl.c.IncrementalAlterConfigs(t.Context(), req).Resources {
			got = append(got, fmt.Sprint(r.ErrorCode))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("codes %q, want %q", got, want)
		}
		return cl.c.Image().Position.Offset - end
	}
	change("0", alter(topic, "orders", op{"cleanup.policy", add, "compact,delete"}))
	if got := value(orders, "cleanup.policy"); got != "delete,compact" {
		t.Errorf("appended to the default: %q", got)
	}
	change("0", alter(topic, "orders", op{"cleanup.policy", sub, "delete,x"}, op{"retention.ms", del, ""}))
	if got := value(orders, "cleanup.policy") + value(orders, "retention.ms"); got != "compact-" {
		t.Errorf("subtracted and deleted: %q", got)
	}
	if n := change("0", alter(topic, "orders", op{"cleanup.policy", set, "compact"})); n != 0 {
		t.Errorf("%d records for the value that is there", n)
	}
	if n := change("0 3", alter(broker, "", op{"a", set, "1"}), alter(topic, "nosuch", op{"a", set, "1"})); n != 1 {
		t.Errorf("%d records for one good resource of two", n)
	}
	if n := change("0", alter(broker, "", op{"a", set, "1"})); n != 1 {
		t.Errorf("%d records for the same value of a broker", n)
	}
	if n := change("42 42", alter(topic, "orders", op{"a", set, "1"}), alter(topic, "orders", op{"b", set, "1"})); n != 0 {
		t.Errorf("%d records for a resource that comes twice", n)
	}
	if n := change("0", alter(topic, "orders", op{"min.insync.replicas", set, "2"})); n != 2 {
		t.Errorf("%d records for min.insync.replicas, want ClearElr too", n)
	}
}

func TestProducerIDs(t *testing.T) {
	cl := start(t, 1)
	for want := int64(0); want < 3000; want += 1000 {
		if first, n, err := cl.c.AllocateProducerIDs(t.Context(), 1, cl.epochs[1]); first != want || n != 1000 || err != nil {
			t.Errorf("block %d, %d, %v, want %d", first, n, err, want)
		}
	}
	if _, _, err := cl.c.AllocateProducerIDs(t.Context(), 1, 77); !errors.Is(err, kerr.StaleBrokerEpoch) {
		t.Errorf("with another epoch: %v", err)
	}
	if _, _, err := cl.c.AllocateProducerIDs(t.Context(), 2, 77); !errors.Is(err, kerr.StaleBrokerEpoch) {
		t.Errorf("unknown broker: %v", err)
	}
	cl.close()
	cl.open()
	if first, _, err := cl.c.AllocateProducerIDs(t.Context(), 1, cl.epochs[1]); first != 3000 || err != nil {
		t.Errorf("after a restart: %d, %v", first, err)
	}
}

func TestRegistration(t *testing.T) {
	cl := start(t, 2)
	reg := controller.Registration{BrokerID: 3, IncarnationID: metalog.RandomID(), LogDirs: []wire.UUID{dir(3)}, PreviousEpoch: -1}
	for name, f := range map[string]func(r *controller.Registration){
		"no directory":        func(r *controller.Registration) { r.LogDirs = nil },
		"reserved directory":  func(r *controller.Registration) { r.LogDirs = []wire.UUID{image.Lost} },
		"directory twice":     func(r *controller.Registration) { r.LogDirs = []wire.UUID{dir(3), dir(3)} },
		"another's directory": func(r *controller.Registration) { r.LogDirs = []wire.UUID{dir(2)} },
	} {
		r := reg
		if f(&r); true {
			if _, err := cl.c.RegisterBroker(t.Context(), r); !errors.Is(err, kerr.InvalidRegistration) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	old := reg
	old.Features = []kraftrec.BrokerFeature{{Name: image.FeatureMetadataVersion, MinSupportedVersion: 7, MaxSupportedVersion: 32}}
	if _, err := cl.c.RegisterBroker(t.Context(), old); !errors.Is(err, kerr.UnsupportedVersion) {
		t.Errorf("an older broker: %v", err)
	}
	first, err := cl.c.RegisterBroker(t.Context(), reg)
	if err != nil {
		t.Fatal(err)
	}
	if err := cl.c.Unfence(t.Context(), 3, first); err != nil {
		t.Fatal(err)
	}
	if again, err := cl.c.RegisterBroker(t.Context(), reg); again != first || err != nil || cl.c.Image().Broker(3).Fenced {
		t.Errorf("the same incarnation: epoch %d, %v, want %d", again, err, first)
	}
	if err := cl.c.Unfence(t.Context(), 3, first-1); !errors.Is(err, kerr.StaleBrokerEpoch) {
		t.Errorf("another epoch: %v", err)
	}
	cl.mustCreate(assigned("orders", []int32{3, 1}))
	if err := cl.c.UnregisterBroker(t.Context(), 3); err != nil || cl.c.Image().Broker(3) != nil {
		t.Errorf("unregistered: %v", err)
	}
	cl.want("orders", "broker forgotten", "leader 1/1 isr [1]")
	if err := cl.c.UnregisterBroker(t.Context(), 3); !errors.Is(err, kerr.BrokerIDNotRegistered) {
		t.Errorf("unregistered twice: %v", err)
	}
}

// Subscribers see every image in order; what they are told leads from one to the
// next.
func TestSubscribe(t *testing.T) {
	cl := start(t, 1)
	var last *image.Image
	calls := 0
	stop := cl.c.Subscribe(func(old, new *image.Image, d *image.Delta) {
		if calls++; last != nil && old != last {
			t.Error("an image was left out")
		}
		last = new
	})
	if calls != 1 || last != cl.c.Image() {
		t.Errorf("%d calls at first", calls)
	}
	cl.mustCreate(newTopic("a", 1, 1))
	cl.mustCreate(newTopic("b", 1, 1))
	if calls != 3 || last != cl.c.Image() {
		t.Errorf("%d calls after two changes", calls)
	}
	stop()
	cl.mustCreate(newTopic("c", 1, 1))
	if calls != 3 {
		t.Errorf("%d calls after the end", calls)
	}
	if d := cl.deltas[len(cl.deltas)-1]; len(d.Created) != 1 || d.Created[0].Name != "c" {
		t.Errorf("last delta %+v", d)
	}
}

// A change of many records is all there or not at all, also when the log is read
// by somebody who has only seen part of it.
func TestLargeChange(t *testing.T) {
	cl := start(t, 1)
	cl.mustCreate(newTopic("many", 9000, 1))
	if cl.c.Image().Topic("many").Len() != 9000 || len(cl.deltas[len(cl.deltas)-1].Partitions) != 9000 {
		t.Error("not all partitions were made")
	}
	cl.kill(1)
	if d := cl.deltas[len(cl.deltas)-1]; len(d.Partitions) != 9000 || len(d.Brokers) != 1 {
		t.Errorf("fenced: %d partitions", len(d.Partitions))
	}
	cl.up(1, cl.epochs[1])
	cl.close()
	cl.open()
	for p := range cl.c.Image().Topic("many").Partitions() {
		if p.Leader != 1 || p.LeaderEpoch != 2 || p.PartitionEpoch != 2 {
			t.Fatalf("partition %+v", p)
		}
	}
}

// A log that cannot be written refuses changes and keeps its state; a transaction
// that was not finished is undone.
func TestWriteFailure(t *testing.T) {
	cl := start(t, 1)
	cl.close()
	f := &failFS{FS: disk.OS, left: -1}
	cl.o.FS = f
	cl.open()
	cl.mustCreate(newTopic("before", 1, 1))
	im := cl.c.Image()
	for n := range 4 { // Begin, batches of 2000 records, their end
		f.left = n
		if res := cl.create(newTopic("many", 5000, 1)); res[0].ErrorCode != kerr.KafkaStorageError.Code {
			t.Fatalf("failure at write %d: %+v", n, res[0].ErrorCode)
		}
		if got := cl.c.Image(); got.Topic("many") != nil || got.Topic("before") == nil {
			t.Errorf("failure at write %d: topic is there", n)
		}
	}
	f.left = -1
	cl.mustCreate(newTopic("after", 1, 1))
	if im.Topic("after") != nil {
		t.Error("an older image changed")
	}
	// The transaction cannot even be aborted: the next start does it.
	f.left, f.stay = 2, true
	if res := cl.create(newTopic("many", 5000, 1)); res[0].ErrorCode != kerr.KafkaStorageError.Code {
		t.Errorf("%+v", res[0].ErrorCode)
	}
	f.left, f.stay = -1, false
	if res := cl.create(newTopic("more", 1, 1)); res[0].ErrorCode != kerr.KafkaStorageError.Code {
		t.Errorf("after a failed abort: %+v", res[0].ErrorCode)
	}
	cl.close()
	cl.open()
	if im := cl.c.Image(); im.TopicCount() != 2 || im.Topic("before") == nil || im.Topic("after") == nil {
		t.Errorf("%d topics after a restart", im.TopicCount())
	}
	cl.mustCreate(newTopic("more", 1, 1))
}

// A failFS fails the write number left, and with stay those behind it; none with
// left below 0.
type failFS struct {
	disk.FS
	left int
	stay bool
}

func (f *failFS) OpenFile(name string, flag int, perm fs.FileMode) (disk.File, error) {
	file, err := f.FS.OpenFile(name, flag, perm)
	if err != nil || !strings.HasSuffix(name, ".log") {
		return file, err
	}
	return failFile{file, f}, nil
}

type failFile struct {
	disk.File
	fs *failFS
}

func (f failFile) WriteAt(p []byte, off int64) (int, error) {
	switch {
	case f.fs.left == 0:
		if !f.fs.stay {
			f.fs.left = -1
		}
		return 0, os.ErrPermission
	case f.fs.left > 0:
		f.fs.left--
	}
	return f.File.WriteAt(p, off)
}

// A snapshot is written when it is due, and a start reads it.
func TestSnapshot(t *testing.T) {
	cl := start(t, 1)
	cl.close()
	cl.o.Log.SnapshotBytes = 1000
	cl.open()
	for n := range 30 {
		cl.mustCreate(newTopic(fmt.Sprintf("t%d", n), 1, 1))
	}
	cl.close()
	names, err := fs.Glob(os.DirFS(metalog.Dir(cl.o.Dir)), "*.checkpoint")
	if err != nil || len(names) < 2 || len(cl.notices) > 0 {
		t.Fatalf("snapshots %q, %v, %q", names, err, cl.notices)
	}
	cl.open()
	if n := cl.c.Image().TopicCount(); n != 30 {
		t.Errorf("%d topics", n)
	}
}

// Without enough changes a snapshot is written by time, if there is a change.
func TestSnapshotByTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cl := start(t, 1)
		snapshots := func() int {
			names, err := fs.Glob(os.DirFS(metalog.Dir(cl.o.Dir)), "*.checkpoint")
			if err != nil {
				t.Fatal(err)
			}
			return len(names)
		}
		want := func(when string, n int) {
			t.Helper()
			synctest.Wait()
			if got := snapshots(); got != n {
				t.Errorf("%s: %d snapshots, want %d", when, got, n)
			}
		}
		cl.mustCreate(newTopic("a", 1, 1))
		time.Sleep(59 * time.Minute)
		want("after 59 minutes", 1)
		time.Sleep(2 * time.Minute)
		want("after 61 minutes", 2)
		time.Sleep(3 * time.Hour)
		want("after hours without a change", 2)
		cl.mustCreate(newTopic("b", 1, 1))
		want("at the next change", 3)
		cl.mustCreate(newTopic("c", 1, 1))
		want("at the one after that", 3)
		cl.close()
	})
}

// A stop writes a snapshot if much lies behind the newest one, and none else:
// the next start reads little.
func TestSnapshotAtClose(t *testing.T) {
	cl := start(t, 1)
	snapshots := func() int {
		t.Helper()
		names, err := filepath.Glob(filepath.Join(metalog.Dir(cl.o.Dir), "*.checkpoint"))
		if err != nil {
			t.Fatal(err)
		}
		return len(names)
	}
	cl.close()
	if n := snapshots(); n != 1 {
		t.Fatalf("%d snapshots after a short log, want that of the start alone", n)
	}
	cl.open()
	q := kmsg.NewPtrIncrementalAlterConfigsRequest()
	r := kmsg.NewIncrementalAlterConfigsRequestResource()
	r.ResourceType = kmsg.ConfigResourceTypeBroker
	const values, length = 40, 30_000
	for i := range values {
		c := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
		c.Name, c.Value = fmt.Sprintf("long.value.%d", i), kmsg.StringPtr(strings.Repeat("x", length))
		r.Configs = append(r.Configs, c)
	}
	q.Resources = append(q.Resources, r)
	if res := cl.c.IncrementalAlterConfigs(t.Context(), q); res.Resources[0].ErrorCode != 0 {
		t.Fatalf("error %d", res.Resources[0].ErrorCode)
	}
	before := cl.c.Image()
	cl.close()
	if n := snapshots(); n != 2 {
		t.Fatalf("%d snapshots after a long log, want 2", n)
	}
	cl.open()
	if got, _ := cl.c.Image().Config(image.Resource{Type: image.BrokerResource}, "long.value.7"); len(got) != length {
		t.Errorf("the value has %d bytes", len(got))
	}
	if got := cl.c.Image().Position.Offset; got <= before.Position.Offset {
		t.Errorf("the log ends at %d, before the stop at %d", got, before.Position.Offset)
	}
	cl.close()
	if n := snapshots(); n != 2 {
		t.Errorf("%d snapshots after another short run, want 2", n)
	}
	if len(cl.notices) > 0 {
		t.Errorf("notices %q", cl.notices)
	}
}
