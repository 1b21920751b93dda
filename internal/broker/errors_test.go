package broker

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"kf/internal/controller"
	"kf/internal/format/batch"
	"kf/internal/format/kraftrec"
	"kf/internal/wire"
)

// An errorCase is a line of testdata/errors.jsonl: a request, mostly a bad one,
// and what Apache Kafka 4.4.0 answered to it.
type errorCase struct {
	Area, Request, API string
	Version            int16
	Code               int16
	At, Message        string
	Connection         string // what happened to it, where there was no normal answer
	Fields             map[string]any
}

func (c errorCase) name() string { return c.Area + ": " + c.Request }

// deviations are the cases in which kf answers something else, on purpose, with
// the reason; a nil change skips the case.
var deviations = map[string]struct {
	why    string
	change func(*errorCase)
}{
	"produce: null records": {"Kafka gives no answer and serves the connection no more",
		func(c *errorCase) { c.Connection, c.Code = "", 87 }},
	"produce: ApiVersions on the connection after a Produce with null records": {"the connection works on",
		func(c *errorCase) { c.Connection, c.Code = "", 0 }},
	"frames: compact array length 4294967294": {"kmsg takes a length above 2^31-1 for null; nothing is allocated for it",
		func(c *errorCase) { c.Connection = "answered" }},
	"produce: magic 3":                  {"the text is kf's own", dropMessage},
	"produce: magic 5":                  {"the text is kf's own", dropMessage},
	"produce: magic -1":                 {"the text is kf's own", dropMessage},
	"produce: batch length 0":           {"the text is kf's own", dropMessage},
	"produce: 12 bytes of garbage":      {"the text is kf's own", dropMessage},
	"configs: describe broker 1":        {"kf shows the keys that it heeds", dropFields},
	"configs: describe broker logger 1": {"there are no Java loggers", dropFields},
	"configs: describe client metrics":  {"there are no client metrics", dropFields},
	"configs: alter broker logger":      {"no logger has a level", func(c *errorCase) { c.Message = "Logger" }},
	"configs: describe type 3":          {"the text is kf's own", dropMessage},

	"classic-group: FindCoordinator transaction ''": {"no transactions yet",
		func(c *errorCase) { c.Code = kerr.CoordinatorNotAvailable.Code }},
	"consumer-group: ShareGroupHeartbeat to a consumer group": {"no share groups yet", nil},

	"transactions: InitProducerId unknown id with producer id 5 epoch 0":                               {"no transactions yet", nil},
	"transactions: InitProducerId v5 good":                                                             {"no transactions yet", nil},
	"transactions: InitProducerId again (fences the first)":                                            {"no transactions yet", nil},
	"transactions: InitProducerId with old epoch":                                                      {"no transactions yet", nil},
	"transactions: InitProducerId v3 with old epoch":                                                   {"no transactions yet", nil},
	"transactions: Produce v11 transactional batch, partition not added":                               {"no transactions yet", nil},
	"transactions: Produce v12 transactional batch, old epoch":                                         {"no transactions yet", nil},
	"transactions: Produce v12 good: partition added implicitly":                                       {"no transactions yet", nil},
	"transactions: Produce v12 second batch":                                                           {"no transactions yet", nil},
	"transactions: Produce v12, gap in sequence inside the transaction":                                {"no transactions yet", nil},
	"transactions: Produce non-transactional batch of the same producer while its transaction is open": {"no transactions yet", nil},
	"transactions: Fetch read_committed with the transaction open":                                     {"no transactions yet", nil},
	"transactions: Produce v12 with the epoch before the end":                                          {"no transactions yet", nil},
	"transactions: Produce v12 with the new epoch, sequence 0":                                         {"no transactions yet", nil},
}

func dropFields(c *errorCase)  { c.Fields = nil }
func dropMessage(c *errorCase) { c.Message = "" }

// A stage is a broker and what the cases remember from one to the next.
type stage struct {
	t    *testing.T
	b    *Broker
	conn net.Conn
	ids  map[string]wire.UUID // of topics

	session, epoch int32 // of fetches
	followers      context.CancelFunc
	group          groupStage
	last           kmsg.Response // what the case before was answered
}

func TestErrors(t *testing.T) {
	p, err := os.ReadFile("testdata/errors.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	s := newStage(t)
	known := make(map[string]bool)
	lines := bufio.NewScanner(bytes.NewReader(p))
	for lines.Scan() {
		var c errorCase
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		name := c.name()
		known[name] = true
		if d, ok := deviations[name]; ok {
			if d.change == nil {
				continue
			}
			d.change(&c)
		}
		t.Run(fmt.Sprintf("%s v%d", name, c.Version), func(t *testing.T) {
			s.t = t
			build, ok := builders[name]
			if !ok {
				t.Fatal("there is no builder for this case")
			}
			s.check(c, build(s, c))
		})
	}
	for name := range builders {
		if !known[name] {
			t.Errorf("builder %q is for no case", name)
		}
	}
	for name := range deviations {
		if !known[name] {
			t.Errorf("deviation %q is from no case", name)
		}
	}
}

// check sends what was built, a request or the bytes of a frame, and compares
// the answer with Kafka's.
func (s *stage) check(c errorCase, built any) {
	t := s.t
	switch c.Connection {
	case "closed":
		s.send(c, built)
		if p, err := io.ReadAll(s.conn); len(p) > 0 || err != nil && !isReset(err) {
			t.Errorf("got % x, %v; want a closed connection", p, err)
		}
		s.conn = nil
		return
	case "answered":
		s.send(c, built)
		if _, err := readFrame(s.conn); err != nil {
			t.Errorf("no answer: %v", err)
		}
		return
	case "no answer":
		s.send(c, built)
		for !s.waiting() { // for the rest of the frame
			time.Sleep(time.Millisecond)
		}
		s.conn.Close()
		s.conn = nil
		return
	}
	answer := s.request(c.Version, built.(kmsg.Request))
	s.last = answer
	code, message, fields := outcome(answer)
	if code != c.Code {
		t.Errorf("code %d, want %d (message %q)", code, c.Code, message)
	}
	if !strings.HasPrefix(message, c.Message) {
		t.Errorf("message %q, want %q", message, c.Message)
	}
	for name, want := range c.Fields {
		if name == "keys" && want == 77.0 || name == "timestamp" && want.(float64) > 0 {
			continue // the number of Kafka's APIs; the time of the capture
		}
		if got := fields[name]; !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}

// waiting reports whether the server waits for the rest of a request.
func (s *stage) waiting() bool {
	s.b.server.mu.Lock()
	defer s.b.server.mu.Unlock()
	for c := range s.b.server.conns {
		if c.body.Load() {
			return true
		}
	}
	return false
}

func isReset(err error) bool {
	var op *net.OpError
	return errors.As(err, &op)
}

func (s *stage) send(c errorCase, built any) {
	p, ok := built.([]byte)
	if !ok {
		q := built.(kmsg.Request)
		q.SetVersion(c.Version)
		p = frame(1, q)
	}
	s.dial()
	// The server may close the connection before all is written.
	if _, err := s.conn.Write(p); err != nil && !isReset(err) {
		s.t.Fatal(err)
	}
}

func (s *stage) dial() {
	if s.conn != nil {
		return
	}
	c, err := net.Dial("tcp", s.b.Addr())
	if err != nil {
		s.t.Fatal(err)
	}
	c.SetDeadline(time.Now().Add(20 * time.Second)) // a server that says nothing fails the test
	s.conn = c
}

// request sends a request in a version and returns the answer.
func (s *stage) request(version int16, q kmsg.Request) kmsg.Response {
	s.t.Helper()
	s.dial()
	q.SetVersion(version)
	answer, err := roundTrip(s.conn, q)
	if err != nil {
		s.t.Fatal(err)
	}
	return answer
}

func roundTrip(c net.Conn, q kmsg.Request) (kmsg.Response, error) {
	if _, err := c.Write(frame(7, q)); err != nil {
		return nil, err
	}
	p, err := readFrame(c)
	if err != nil {
		return nil, err
	}
	answer := q.ResponseKind()
	p = p[4:]
	if answer.IsFlexible() && q.Key() != apiVersionsKey {
		p = p[1:]
	}
	return answer, answer.ReadFrom(p)
}

func newStage(t *testing.T) *stage {
	b := startBroker(t, Options{Properties: map[string]string{
		"file.delete.delay.ms":                  "0",
		"group.initial.rebalance.delay.ms":      "0",     // as when Kafka was asked
		"group.consumer.assignment.interval.ms": "15000", // so that a slow test sees what a fast one sees
	}})
	s := &stage{t: t, b: b, ids: make(map[string]wire.UUID), followers: func() {}}
	s.create("TOPIC", nil)
	s.create("TOPIC.x", nil)
	s.create("idem", nil)
	s.create("empty", nil)
	s.create("__consumer_offsets", nil)
	s.create("old", map[string]string{"message.timestamp.before.max.ms": "1000"})
	s.create("append-time", map[string]string{"message.timestamp.type": "LogAppendTime"})
	s.create("small-segments", map[string]string{"segment.bytes": "1048576", "max.message.bytes": "5242880"})
	s.create("compacted", map[string]string{"cleanup.policy": "compact"})
	s.create("min2", map[string]string{"min.insync.replicas": "2"})
	s.create("epochs", nil)
	s.create("a-deleted", nil)
	s.create("f", nil)
	wide := s.request(7, creating("wide", counts(3, 1))(s, errorCase{}).(kmsg.Request)).(*kmsg.CreateTopicsResponse)
	s.ids["wide"] = wide.Topics[0].TopicID
	for i := range 8 {
		h := plainHeader(1)
		h.BaseTimestamp += int64(i)
		if i == 7 {
			h.BaseTimestamp -= 100
		}
		h.MaxTimestamp = h.BaseTimestamp
		answer := s.request(9, s.produce(errorCase{Version: 9}, "f", 1, batch75(h)))
		if code, _, _ := outcome(answer); code != 0 {
			t.Fatalf("produce: code %d", code)
		}
	}
	r := b.replicas.get(s.ids["f"], 0)
	l, err := b.replicas.open(r)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.RaiseLogStart(3); err != nil {
		t.Fatal(err)
	}
	return s
}

// create makes a topic of one partition, or with the given replicas of it.
func (s *stage) create(name string, configs map[string]string, replicas ...int32) {
	q := kmsg.NewPtrCreateTopicsRequest()
	q.SetVersion(7)
	q.TimeoutMillis = 10000
	t := kmsg.NewCreateTopicsRequestTopic()
	t.Topic, t.NumPartitions, t.ReplicationFactor = name, 1, 1
	if replicas != nil {
		t.NumPartitions, t.ReplicationFactor = -1, -1
		a := kmsg.NewCreateTopicsRequestTopicReplicaAssignment()
		a.Replicas = replicas
		t.ReplicaAssignment = append(t.ReplicaAssignment, a)
	}
	for k, v := range configs {
		c := kmsg.NewCreateTopicsRequestTopicConfig()
		c.Name, c.Value = k, &v
		t.Configs = append(t.Configs, c)
	}
	q.Topics = append(q.Topics, t)
	result := s.b.controller.CreateTopics(s.t.Context(), q).Topics[0]
	if result.ErrorCode != 0 {
		s.t.Fatalf("topic %s: code %d", name, result.ErrorCode)
	}
	s.ids[name] = result.TopicID
}

// otherBrokers registers brokers 2 and 3, which nobody can reach.
func (s *stage) otherBrokers() {
	for id := int32(2); id <= 3; id++ {
		if s.b.image.Load().Broker(id) != nil {
			continue
		}
		epoch, err := s.b.controller.RegisterBroker(s.t.Context(), controller.Registration{
			BrokerID: id, IncarnationID: newUUID(), PreviousEpoch: -1, LogDirs: []wire.UUID{newUUID()},
			Endpoints: []kraftrec.BrokerEndpoint{{Name: "PLAINTEXT", Host: "other", Port: uint16(9092 + id)}},
		})
		if err == nil {
			err = s.b.controller.Unfence(s.t.Context(), id, epoch)
		}
		if err != nil {
			s.t.Fatal(err)
		}
	}
}

// follow fetches for the followers 2 and 3 of a topic until the test is over.
func (s *stage) follow(topic string, offset int64) {
	ctx, cancel := context.WithCancel(s.t.Context())
	s.followers = cancel
	addr := s.b.Addr()
	go func() {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			return
		}
		defer c.Close()
		for ctx.Err() == nil {
			for id := int32(2); id <= 3; id++ {
				q := s.fetch(18, topic, offset)
				q.ReplicaState.ID = id
				q.MaxWaitMillis = 1
				q.SetVersion(18)
				if _, err := roundTrip(c, q); err != nil {
					return
				}
			}
		}
	}()
}

// outcome returns what an answer says: the first error, its message, and the
// fields that the cases compare.
func outcome(answer kmsg.Response) (code int16, message string, fields map[string]any) {
	fields = make(map[string]any)
	number := func(name string, n int64) { fields[name] = float64(n) }
	text := func(s *string) string {
		if s == nil {
			return ""
		}
		return *s
	}
	first := func(c int16) {
		if code == 0 {
			code = c
		}
	}
	switch r := answer.(type) {
	case *kmsg.ProduceResponse:
		p := r.Topics[0].Partitions[0]
		first(p.ErrorCode)
		message = text(p.ErrorMessage)
		number("baseOffset", p.BaseOffset)
		number("logStartOffset", p.LogStartOffset)
		number("nodeEndpoints", int64(len(r.Brokers)))
		fields["currentLeader"] = fmt.Sprintf("%d/%d", p.CurrentLeader.LeaderID, p.CurrentLeader.LeaderEpoch)
		if len(p.ErrorRecords) > 0 {
			fields["errorRecords"] = fmt.Sprintf("%d first index %d", len(p.ErrorRecords), p.ErrorRecords[0].RelativeOffset)
		}
	case *kmsg.FetchResponse:
		first(r.ErrorCode)
		number("nodeEndpoints", int64(len(r.Brokers)))
		if len(r.Topics) == 0 {
			break
		}
		p := r.Topics[0].Partitions[0]
		first(p.ErrorCode)
		number("bytes", int64(len(p.RecordBatches)))
		number("hw", p.HighWatermark)
		number("lso", p.LastStableOffset)
		number("logStart", p.LogStartOffset)
		number("preferred", int64(p.PreferredReadReplica))
		fields["currentLeader"] = fmt.Sprintf("%d/%d", p.CurrentLeader.LeaderID, p.CurrentLeader.LeaderEpoch)
		if len(p.RecordBatches) > 0 {
			number("firstBatchBase", int64(binary.BigEndian.Uint64(p.RecordBatches)))
		}
		if fields["aborted"] = any("null"); p.AbortedTransactions != nil {
			number("aborted", int64(len(p.AbortedTransactions)))
		}
	case *kmsg.ListOffsetsResponse:
		p := r.Topics[0].Partitions[0]
		first(p.ErrorCode)
		number("leaderEpoch", int64(p.LeaderEpoch))
		number("offset", p.Offset)
		number("timestamp", p.Timestamp)
	case *kmsg.OffsetForLeaderEpochResponse:
		p := r.Topics[0].Partitions[0]
		first(p.ErrorCode)
		number("leaderEpoch", int64(p.LeaderEpoch))
		number("endOffset", p.EndOffset)
	case *kmsg.MetadataResponse:
		number("controller", int64(r.ControllerID))
		fields["more than 3 topics"] = len(r.Topics) > 3
		if len(r.Topics) == 0 {
			break
		}
		t := r.Topics[0]
		first(t.ErrorCode)
		fields["internal"] = t.IsInternal
		number("partitions", int64(len(t.Partitions)))
		if t.Topic == nil {
			fields["name"] = "null"
		}
		if len(t.Partitions) > 0 {
			p := t.Partitions[0]
			fields["p0"] = fmt.Sprintf("err %d leader %d epoch %d isr %v offline %v", p.ErrorCode, p.Leader, p.LeaderEpoch, p.ISR, p.OfflineReplicas)
		}
	case *kmsg.FindCoordinatorResponse:
		first(r.ErrorCode)
		message = text(r.ErrorMessage)
		for _, to := range r.Coordinators {
			first(to.ErrorCode)
			message = text(to.ErrorMessage)
		}
	case *kmsg.ApiVersionsResponse:
		first(r.ErrorCode)
		number("keys", int64(len(r.ApiKeys)))
	case *kmsg.InitProducerIDResponse:
		first(r.ErrorCode)
		number("epoch", int64(r.ProducerEpoch))
		fields["pid set"] = r.ProducerID >= 0
	case *kmsg.CreateTopicsResponse:
		t := r.Topics[0]
		for _, other := range r.Topics {
			if other.ErrorCode != 0 {
				t = other
			}
		}
		first(t.ErrorCode)
		message = text(t.ErrorMessage)
		number("numPartitions", int64(t.NumPartitions))
		number("replicationFactor", int64(t.ReplicationFactor))
		fields["id set"] = !wire.UUID(t.TopicID).IsZero()
		if fields["configs"] = len(t.Configs) > 0; t.Configs == nil {
			fields["configs"] = "null"
		}
	case *kmsg.ListConfigResourcesResponse:
		first(r.ErrorCode)
	case *kmsg.DescribeTopicPartitionsResponse:
		for _, t := range r.Topics {
			first(t.ErrorCode)
		}
		fields["cursor"] = r.NextCursor != nil
	case *kmsg.DeleteTopicsResponse:
		first(r.Topics[0].ErrorCode)
		message = text(r.Topics[0].ErrorMessage)
	case *kmsg.CreatePartitionsResponse:
		first(r.Topics[0].ErrorCode)
		message = text(r.Topics[0].ErrorMessage)
	case *kmsg.DeleteRecordsResponse:
		p := r.Topics[0].Partitions[0]
		first(p.ErrorCode)
		number("lowWatermark", p.LowWatermark)
	case *kmsg.DescribeConfigsResponse:
		first(r.Resources[0].ErrorCode)
		message = text(r.Resources[0].ErrorMessage)
		number("entries", int64(len(r.Resources[0].Configs)))
	case *kmsg.IncrementalAlterConfigsResponse:
		first(r.Resources[0].ErrorCode)
		message = text(r.Resources[0].ErrorMessage)
	case *kmsg.DescribeClusterResponse:
		first(r.ErrorCode)
		message = text(r.ErrorMessage)
	case *kmsg.DescribeLogDirsResponse:
		first(r.ErrorCode)
		first(r.Dirs[0].ErrorCode)
	case *kmsg.DescribeQuorumResponse:
		first(r.ErrorCode)
		first(r.Topics[0].Partitions[0].ErrorCode)
		message = text(r.Topics[0].Partitions[0].ErrorMessage)
	case *kmsg.ConsumerGroupHeartbeatResponse:
		first(r.ErrorCode)
		message = text(r.ErrorMessage)
		number("epoch", int64(r.MemberEpoch))
		number("heartbeatMs", int64(r.HeartbeatIntervalMillis))
		fields["member set"] = r.MemberID != nil && *r.MemberID != ""
		if fields["assignment"] = "null"; r.Assignment != nil {
			lists := [][]int32{}
			for _, t := range r.Assignment.Topics {
				lists = append(lists, t.Partitions)
			}
			fields["assignment"] = fmt.Sprint(lists)
		}
	case *kmsg.ConsumerGroupDescribeResponse:
		first(r.Groups[0].ErrorCode)
		message = text(r.Groups[0].ErrorMessage)
	default:
		return groupOutcome(answer)
	}
	return code, message, fields
}

// batch75 returns a batch of one record that takes 75 bytes, as those of the
// capture do.
func batch75(h batch.Header) []byte {
	p, err := batch.Append(nil, h, func(yield func(*batch.Record) bool) {
		yield(&batch.Record{Timestamp: h.BaseTimestamp, Key: []byte("k"), Value: []byte("value6")})
	})
	if err != nil {
		panic(err)
	}
	return p
}

// patched changes bytes of a batch and puts the checksum right.
func patched(p []byte, change func(p []byte)) []byte {
	change(p)
	binary.BigEndian.PutUint32(p[17:], crc32.Checksum(p[21:], crc32.MakeTable(crc32.Castagnoli)))
	return p
}
