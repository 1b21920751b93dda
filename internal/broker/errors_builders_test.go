package broker

import (
	"bytes"
	"context"
	"encoding/binary"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kf/internal/format/batch"
	"kf/internal/format/codec"
	"kf/internal/wire"
)

// produce returns a Produce for partition 0 of a topic, by id where the version
// wants it.
func (s *stage) produce(c errorCase, topic string, acks int16, records []byte) *kmsg.ProduceRequest {
	q := kmsg.NewPtrProduceRequest()
	q.Acks, q.TimeoutMillis = acks, 30000
	t := kmsg.NewProduceRequestTopic()
	t.Topic, t.TopicID = topic, s.ids[topic]
	if strings.HasPrefix(topic, "no such") {
		t.TopicID = wire.UUID{1, 2, 3}
	}
	p := kmsg.NewProduceRequestTopicPartition()
	p.Records = records
	t.Partitions = append(t.Partitions, p)
	q.Topics = append(q.Topics, t)
	return q
}

// producing builds a Produce of a changed batch to a topic.
func producing(topic string, records func() []byte) builder {
	return func(s *stage, c errorCase) any { return s.produce(c, topic, 1, records()) }
}

// changing builds a Produce of a batch with changed bytes and a good checksum.
func changing(change func(p []byte)) builder {
	return producing("TOPIC", func() []byte { return patched(batch75(plainHeader(1)), change) })
}

// raw changes bytes and leaves the checksum.
func raw(change func(p []byte) []byte) builder {
	return producing("TOPIC", func() []byte { return change(batch75(plainHeader(1))) })
}

// header builds a Produce of a batch with another header.
func header(topic string, change func(h *batch.Header)) builder {
	return producing(topic, func() []byte {
		h := plainHeader(1)
		change(&h)
		return batch75(h)
	})
}

func sequence(epoch int16, seq int32, n int) builder { return producer(4711, epoch, seq, n) }

func producer(id int64, epoch int16, seq int32, n int) builder {
	return producing("idem", func() []byte {
		h := plainHeader(n)
		h.ProducerID, h.ProducerEpoch, h.BaseSequence = id, epoch, seq
		return makeBatch(h, n, []byte("v"))
	})
}

func put32(at int, v int32) func([]byte) {
	return func(p []byte) { binary.BigEndian.PutUint32(p[at:], uint32(v)) }
}

func messageSet(magic int8) []byte {
	p, err := batch.AppendMessages(nil, magic, codec.None, batch.CreateTime, []batch.Record{{Timestamp: 1, Key: []byte("k"), Value: []byte("v"), KeySize: 1, ValueSize: 1}})
	if err != nil {
		panic(err)
	}
	return p
}

// fetch returns a Fetch without a session of partition 0 of a topic.
func (s *stage) fetch(version int16, topic string, offset int64) *kmsg.FetchRequest {
	q := kmsg.NewPtrFetchRequest()
	q.MaxWaitMillis, q.MinBytes, q.MaxBytes, q.SessionEpoch = 10, 1, 1<<20, -1
	t := kmsg.NewFetchRequestTopic()
	t.Topic, t.TopicID = topic, s.ids[topic]
	p := kmsg.NewFetchRequestTopicPartition()
	p.FetchOffset, p.PartitionMaxBytes, p.CurrentLeaderEpoch = offset, 1<<20, -1
	t.Partitions = append(t.Partitions, p)
	q.Topics = append(q.Topics, t)
	return q
}

func fetching(topic string, offset int64, change ...func(q *kmsg.FetchRequest)) builder {
	return func(s *stage, c errorCase) any {
		q := s.fetch(c.Version, topic, offset)
		for _, f := range change {
			f(q)
		}
		return q
	}
}

// inSession builds the next fetch of the session.
func inSession(change func(s *stage, q *kmsg.FetchRequest)) builder {
	return func(s *stage, c errorCase) any {
		q := kmsg.NewPtrFetchRequest()
		q.MaxWaitMillis, q.MinBytes, q.MaxBytes = 0, 1, 1<<20
		q.SessionID = s.session
		change(s, q)
		return q
	}
}

func listing(topic string, change func(p *kmsg.ListOffsetsRequestTopicPartition)) builder {
	return func(s *stage, c errorCase) any {
		q := kmsg.NewPtrListOffsetsRequest()
		q.ReplicaID = -1
		t := kmsg.NewListOffsetsRequestTopic()
		t.Topic = topic
		p := kmsg.NewListOffsetsRequestTopicPartition()
		change(&p)
		t.Partitions = append(t.Partitions, p)
		q.Topics = append(q.Topics, t)
		return q
	}
}

func at(topic string, timestamp int64) builder {
	return listing(topic, func(p *kmsg.ListOffsetsRequestTopicPartition) { p.Timestamp = timestamp })
}

func epochEnd(topic string, current, epoch int32) builder {
	return func(s *stage, c errorCase) any {
		q := kmsg.NewPtrOffsetForLeaderEpochRequest()
		q.ReplicaID = -1
		t := kmsg.NewOffsetForLeaderEpochRequestTopic()
		t.Topic = topic
		p := kmsg.NewOffsetForLeaderEpochRequestTopicPartition()
		p.CurrentLeaderEpoch, p.LeaderEpoch = current, epoch
		t.Partitions = append(t.Partitions, p)
		q.Topics = append(q.Topics, t)
		return q
	}
}

func naming(create bool, names ...string) builder {
	return func(s *stage, c errorCase) any {
		q := kmsg.NewPtrMetadataRequest()
		q.AllowAutoTopicCreation = create
		q.Topics = []kmsg.MetadataRequestTopic{}
		for _, name := range names {
			t := kmsg.NewMetadataRequestTopic()
			t.Topic = &name
			q.Topics = append(q.Topics, t)
		}
		return q
	}
}

func metadataByID(id wire.UUID) builder {
	return func(s *stage, c errorCase) any {
		q := kmsg.NewPtrMetadataRequest()
		t := kmsg.NewMetadataRequestTopic()
		t.TopicID = id
		if c.Version < 12 {
			t.Topic = kmsg.StringPtr("")
		}
		q.Topics = append(q.Topics, t)
		return q
	}
}

func software(name, version string, change ...func(s *stage, q *kmsg.ApiVersionsRequest)) builder {
	return func(s *stage, c errorCase) any {
		q := kmsg.NewPtrApiVersionsRequest()
		q.ClientSoftwareName, q.ClientSoftwareVersion = name, version
		for _, f := range change {
			f(s, q)
		}
		return q
	}
}

func initProducer(transactional *string, timeout int32, id int64, epoch int16) builder {
	return func(s *stage, c errorCase) any {
		q := kmsg.NewPtrInitProducerIDRequest()
		q.TransactionalID, q.TransactionTimeoutMillis, q.ProducerID, q.ProducerEpoch = transactional, timeout, id, epoch
		return q
	}
}

// creating builds a CreateTopics of one topic.
func creating(name string, change ...func(q *kmsg.CreateTopicsRequest, t *kmsg.CreateTopicsRequestTopic)) builder {
	return func(s *stage, c errorCase) any {
		q := kmsg.NewPtrCreateTopicsRequest()
		q.TimeoutMillis = 10000
		q.ValidateOnly = strings.Contains(c.Request, "validate only") || c.Code == 0 && c.Area == "create-topics"
		t := kmsg.NewCreateTopicsRequestTopic()
		t.Topic, t.NumPartitions, t.ReplicationFactor = name, 1, 1
		for _, f := range change {
			f(q, &t)
		}
		q.Topics = append(q.Topics, t)
		return q
	}
}

func counts(partitions int32, factor int16) func(*kmsg.CreateTopicsRequest, *kmsg.CreateTopicsRequestTopic) {
	return func(_ *kmsg.CreateTopicsRequest, t *kmsg.CreateTopicsRequestTopic) {
		t.NumPartitions, t.ReplicationFactor = partitions, factor
	}
}

func config(name string, value *string) func(*kmsg.CreateTopicsRequest, *kmsg.CreateTopicsRequestTopic) {
	return func(_ *kmsg.CreateTopicsRequest, t *kmsg.CreateTopicsRequestTopic) {
		c := kmsg.NewCreateTopicsRequestTopicConfig()
		c.Name, c.Value = name, value
		t.Configs = append(t.Configs, c)
	}
}

func assignment(partition int32, replicas ...int32) func(*kmsg.CreateTopicsRequest, *kmsg.CreateTopicsRequestTopic) {
	return func(_ *kmsg.CreateTopicsRequest, t *kmsg.CreateTopicsRequestTopic) {
		t.NumPartitions, t.ReplicationFactor = -1, -1
		a := kmsg.NewCreateTopicsRequestTopicReplicaAssignment()
		a.Partition, a.Replicas = partition, replicas
		t.ReplicaAssignment = append(t.ReplicaAssignment, a)
	}
}

func deleting(name *string, id wire.UUID) builder {
	return func(s *stage, c errorCase) any {
		q := kmsg.NewPtrDeleteTopicsRequest()
		q.TimeoutMillis = 10000
		if c.Version < 6 {
			q.TopicNames = []string{*name}
			return q
		}
		t := kmsg.NewDeleteTopicsRequestTopic()
		t.Topic, t.TopicID = name, id
		q.Topics = append(q.Topics, t)
		return q
	}
}

func describing(kind kmsg.ConfigResourceType, name string) builder {
	return func(s *stage, c errorCase) any {
		q := kmsg.NewPtrDescribeConfigsRequest()
		r := kmsg.NewDescribeConfigsRequestResource()
		r.ResourceType, r.ResourceName = kind, name
		q.Resources = append(q.Resources, r)
		return q
	}
}

type alteration struct {
	key   string
	op    kmsg.IncrementalAlterConfigOp
	value *string
}

func altering(kind kmsg.ConfigResourceType, name string, changes ...alteration) builder {
	return func(s *stage, c errorCase) any {
		q := kmsg.NewPtrIncrementalAlterConfigsRequest()
		q.ValidateOnly = strings.Contains(c.Request, "validate only")
		r := kmsg.NewIncrementalAlterConfigsRequestResource()
		r.ResourceType, r.ResourceName = kind, name
		for _, a := range changes {
			k := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
			k.Name, k.Op, k.Value = a.key, a.op, a.value
			r.Configs = append(r.Configs, k)
		}
		q.Resources = append(q.Resources, r)
		if strings.Contains(c.Request, "topic twice") {
			q.Resources = append(q.Resources, r)
		}
		return q
	}
}

// framed returns the bytes of a frame.
func framed(hex ...any) builder {
	return func(*stage, errorCase) any {
		body := join(hex)
		return append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...)
	}
}

func join(parts []any) []byte {
	var p []byte
	for _, part := range parts {
		switch v := part.(type) {
		case int8:
			p = append(p, byte(v))
		case int16:
			p = binary.BigEndian.AppendUint16(p, uint16(v))
		case int32:
			p = binary.BigEndian.AppendUint32(p, uint32(v))
		case uint32:
			p = wire.AppendUvarint(p, v)
		case string:
			p = append(p, v...)
		default:
			panic(part)
		}
	}
	return p
}

// unframed returns bytes as they are.
func unframed(parts ...any) builder {
	return func(*stage, errorCase) any { return join(parts) }
}

type builder func(s *stage, c errorCase) any

var (
	value  = kmsg.StringPtr
	fenced = func(s *stage) { // and unfenced: a leader epoch more
		if err := s.b.controller.Fence(context.Background(), s.b.node, s.b.epoch); err != nil {
			s.t.Fatal(err)
		}
		if err := s.b.controller.Unfence(context.Background(), s.b.node, s.b.epoch); err != nil {
			s.t.Fatal(err)
		}
	}
)

const (
	set      = kmsg.IncrementalAlterConfigOpSet
	del      = kmsg.IncrementalAlterConfigOpDelete
	app      = kmsg.IncrementalAlterConfigOpAppend
	subtract = kmsg.IncrementalAlterConfigOpSubtract

	topicKind  = kmsg.ConfigResourceTypeTopic
	brokerKind = kmsg.ConfigResourceTypeBroker
	loggerKind = kmsg.ConfigResourceTypeBrokerLogger
	groupKind  = kmsg.ConfigResourceTypeGroupConfig
)

// after makes the builder do something first.
func after(first func(s *stage), b builder) builder {
	return func(s *stage, c errorCase) any {
		first(s)
		return b(s, c)
	}
}

var transactionalBatch = func() []byte {
	h := plainHeader(1)
	h.Attributes, h.ProducerID, h.ProducerEpoch, h.BaseSequence = transactionalBit, 5, 0, 0
	return batch75(h)
}

var builders = map[string]builder{
	"produce: good batch":           producing("TOPIC", func() []byte { return batch75(plainHeader(1)) }),
	"produce: good batch, topic id": producing("TOPIC", func() []byte { return batch75(plainHeader(1)) }),
	"produce: unknown topic":        producing("no such", func() []byte { return batch75(plainHeader(1)) }),
	"produce: unknown topic id":     producing("no such", func() []byte { return batch75(plainHeader(1)) }),
	"produce: zero topic id":        producing("zero", func() []byte { return batch75(plainHeader(1)) }),
	"produce: unknown partition": func(s *stage, c errorCase) any {
		q := s.produce(c, "TOPIC", 1, batch75(plainHeader(1)))
		q.Topics[0].Partitions[0].Partition = 7
		return q
	},
	"produce: negative partition": func(s *stage, c errorCase) any {
		q := s.produce(c, "TOPIC", 1, batch75(plainHeader(1)))
		q.Topics[0].Partitions[0].Partition = -1
		return q
	},
	"produce: acks=2": func(s *stage, c errorCase) any { return s.produce(c, "TOPIC", 2, batch75(plainHeader(1))) },
	"produce: acks=-2": func(s *stage, c errorCase) any {
		return s.produce(c, "TOPIC", -2, batch75(plainHeader(1)))
	},
	"produce: invalid topic name":                producing("a b", func() []byte { return batch75(plainHeader(1)) }),
	"produce: internal topic __consumer_offsets": producing("__consumer_offsets", func() []byte { return batch75(plainHeader(1)) }),
	"produce: null records":                      producing("TOPIC", func() []byte { return nil }),
	"produce: empty records":                     producing("TOPIC", func() []byte { return []byte{} }),
	"produce: corrupt crc":                       raw(func(p []byte) []byte { p[len(p)-1]++; return p }),
	"produce: magic 3":                           changing(func(p []byte) { p[16] = 3 }),
	"produce: magic 5":                           changing(func(p []byte) { p[16] = 5 }),
	"produce: magic -1":                          changing(func(p []byte) { p[16] = 0xff }),
	"produce: magic 0 message set":               producing("TOPIC", func() []byte { return messageSet(0) }),
	"produce: magic 1 message set":               producing("TOPIC", func() []byte { return messageSet(1) }),
	"produce: two batches in one partition": producing("TOPIC", func() []byte {
		return append(batch75(plainHeader(1)), batch75(plainHeader(1))...)
	}),
	"produce: record count too high": changing(put32(57, 2)),
	"produce: record count too low, lastOffsetDelta=count-1": producing("TOPIC", func() []byte {
		return patched(oneBatch(2, []byte("v")), func(p []byte) { put32(57, 1)(p); put32(23, 0)(p) })
	}),
	"produce: lastOffsetDelta wrong": changing(put32(23, 5)),
	"produce: record count 0":        changing(put32(57, 0)),
	"produce: records unreadable, crc good": changing(func(p []byte) {
		for i := 61; i < len(p); i++ {
			p[i] = 0xff
		}
	}),
	"produce: batch length longer than data":  raw(func(p []byte) []byte { put32(8, int32(len(p)))(p); return p }),
	"produce: batch length shorter than data": raw(func(p []byte) []byte { put32(8, int32(len(p)-12-5))(p); return p }),
	"produce: batch length 0":                 raw(func(p []byte) []byte { put32(8, 0)(p); return p }),
	"produce: 12 bytes of garbage": producing("TOPIC", func() []byte {
		return bytes.Repeat([]byte{0xab}, 12)
	}),
	"produce: base offset 5 in batch":                                  raw(func(p []byte) []byte { p[7] = 5; return p }),
	"produce: leader epoch 77 in batch":                                raw(func(p []byte) []byte { p[15] = 77; return p }),
	"produce: control batch from a client":                             changing(func(p []byte) { p[22] |= 1 << 5 }),
	"produce: timestamp type bit LogAppendTime set by client":          changing(func(p []byte) { p[22] |= 1 << 3 }),
	"produce: timestamp 2 h ahead":                                     header("TOPIC", func(h *batch.Header) { h.BaseTimestamp += 7200000; h.MaxTimestamp += 7200000 }),
	"produce: timestamp 1970":                                          header("TOPIC", func(h *batch.Header) { h.BaseTimestamp, h.MaxTimestamp = 5, 5 }),
	"produce: timestamp -5":                                            header("TOPIC", func(h *batch.Header) { h.BaseTimestamp, h.MaxTimestamp = -5, -5 }),
	"produce: maxTimestamp lies (0)":                                   header("TOPIC", func(h *batch.Header) { h.MaxTimestamp = 0 }),
	"produce: timestamp too old, message.timestamp.before.max.ms=1000": header("old", func(h *batch.Header) { h.BaseTimestamp -= 60000; h.MaxTimestamp -= 60000 }),
	"produce: LogAppendTime topic":                                     producing("append-time", func() []byte { return batch75(plainHeader(1)) }),
	"produce: unknown codec 6":                                         changing(func(p []byte) { p[22] |= 6 }),
	"produce: gzip bit, data not gzip":                                 changing(func(p []byte) { p[22] |= 1 }),
	"produce: zstd bit, Produce v6":                                    header("TOPIC", func(h *batch.Header) { h.Attributes = int16(codec.Zstd) }),
	"produce: too large (2 MiB)":                                       producing("TOPIC", func() []byte { return oneBatch(1, payload(2<<20)) }),
	"produce: batch larger than segment.bytes":                         producing("small-segments", func() []byte { return oneBatch(1, payload(3<<19)) }),
	"produce: null key to compacted topic": producing("compacted", func() []byte {
		p, err := batch.Append(nil, plainHeader(1), func(yield func(*batch.Record) bool) {
			yield(&batch.Record{Timestamp: plainHeader(1).BaseTimestamp, Value: []byte("v")})
		})
		if err != nil {
			panic(err)
		}
		return p
	}),
	"produce: acks=-1, min.insync.replicas=2, one replica": func(s *stage, c errorCase) any {
		return s.produce(c, "min2", -1, batch75(plainHeader(1)))
	},
	"produce: acks=1, min.insync.replicas=2, one replica": producing("min2", func() []byte { return batch75(plainHeader(1)) }),
	"produce: advertised but removed version":             producing("TOPIC", func() []byte { return messageSet(1) }),
	"produce: acks=0, unknown topic: connection": func(s *stage, c errorCase) any {
		return s.produce(c, "no such", 0, batch75(plainHeader(1)))
	},
	"produce: acks=0 good, then ApiVersions on the same connection": func(s *stage, c errorCase) any {
		s.send(errorCase{Version: 9}, s.produce(c, "empty-acks", 0, nil))
		s.conn.Close() // that one failed: the topic is not there
		s.conn = nil
		s.create("acks0", nil)
		s.send(errorCase{Version: 9}, s.produce(c, "acks0", 0, batch75(plainHeader(1))))
		return kmsg.NewPtrApiVersionsRequest()
	},
	"produce: ApiVersions on the connection after a Produce with null records": func(s *stage, c errorCase) any {
		s.request(9, s.produce(c, "TOPIC", 1, nil))
		return kmsg.NewPtrApiVersionsRequest()
	},

	"idempotence: InitProducerId without transactional id":                    initProducer(nil, 0, -1, -1),
	"idempotence: new producer, first sequence 5":                             sequence(0, 5, 1),
	"idempotence: then sequence 6":                                            sequence(0, 6, 1),
	"idempotence: same batch again (duplicate)":                               sequence(0, 6, 1),
	"idempotence: gap: sequence 20":                                           sequence(0, 20, 1),
	"idempotence: older sequence 5 of one record (inside the last 5 batches)": sequence(0, 5, 1),
	"idempotence: sequence 6 but other length (not the same batch)":           sequence(0, 6, 2),
	"idempotence: sequence 5 again, now older than the last 5 batches": func(s *stage, c errorCase) any {
		for seq := int32(7); seq <= 13; seq++ {
			s.request(9, sequence(0, seq, 1)(s, c).(kmsg.Request))
		}
		return sequence(0, 5, 1)(s, c)
	},
	"idempotence: epoch 1, sequence 0":                             sequence(1, 0, 1),
	"idempotence: epoch 0 after epoch 1":                           sequence(0, 14, 1),
	"idempotence: epoch 2, sequence 3 (new epoch must start at 0)": sequence(2, 3, 1),
	"idempotence: producer id set, epoch -1":                       sequence(-1, 1, 1),
	"idempotence: producer id set, sequence -1":                    sequence(1, -1, 1),
	"idempotence: producer id never given out, sequence 0":         producer(987654, 0, 0, 1),
	"idempotence: producer id never given out, sequence 9":         producer(987655, 0, 9, 1),

	"fetch: good":        fetching("f", 3),
	"fetch: good, by id": fetching("f", 3),
	"fetch: good, read_committed": fetching("f", 3, func(q *kmsg.FetchRequest) {
		q.IsolationLevel = readCommitted
	}),
	"fetch: offset = high watermark (waits max_wait)": fetching("empty", 0),
	"fetch: offset below log start":                   fetching("f", 2),
	"fetch: offset beyond the end":                    fetching("f", 9),
	"fetch: offset -1":                                fetching("f", -1),
	"fetch: unknown topic":                            fetching("no such", 0),
	"fetch: unknown topic id": fetching("f", 0, func(q *kmsg.FetchRequest) {
		q.Topics[0].TopicID = wire.UUID{9}
	}),
	"fetch: zero topic id": fetching("zero", 0),
	"fetch: unknown partition": fetching("f", 0, func(q *kmsg.FetchRequest) {
		q.Topics[0].Partitions[0].Partition = 7
	}),
	"fetch: invalid topic name": fetching("a b", 0),
	"fetch: current leader epoch 99 (too new)": fetching("f", 3, func(q *kmsg.FetchRequest) {
		q.Topics[0].Partitions[0].CurrentLeaderEpoch = 99
	}),
	"fetch: last fetched epoch 9 (too new)": fetching("f", 3, func(q *kmsg.FetchRequest) {
		q.Topics[0].Partitions[0].LastFetchedEpoch = 9
	}),
	"fetch: max bytes 0, partition max bytes 0": fetching("f", 3, func(q *kmsg.FetchRequest) {
		q.MaxBytes, q.Topics[0].Partitions[0].PartitionMaxBytes = 0, 0
	}),
	"fetch: partition max bytes 1": fetching("f", 3, func(q *kmsg.FetchRequest) {
		q.Topics[0].Partitions[0].PartitionMaxBytes = 1
	}),
	"fetch: session id unknown, epoch 1": fetching("f", 3, func(q *kmsg.FetchRequest) {
		q.SessionID, q.SessionEpoch = 12345, 1
	}),
	"fetch: follower id 42 that is no replica": fetching("f", 3, func(q *kmsg.FetchRequest) { q.ReplicaID = 42 }),
	"fetch: v3 before sessions":                fetching("f", 3),
	"fetch: new session (id 0, epoch 0)": func(s *stage, c errorCase) any {
		q := s.fetch(c.Version, "f", 3)
		q.SessionEpoch = 0
		r := s.request(c.Version, q).(*kmsg.FetchResponse)
		s.session, s.epoch = r.SessionID, 1
		s.request(c.Version, inSession(func(s *stage, q *kmsg.FetchRequest) { q.SessionEpoch = -1 })(s, c).(kmsg.Request))
		q.SetVersion(c.Version)
		r = s.request(c.Version, q).(*kmsg.FetchResponse) // a session of its own, for the cases that follow
		s.session = r.SessionID
		if s.session == 0 {
			s.t.Fatal("no session was opened")
		}
		return q
	},
	"fetch: session epoch 1, nothing listed: same partition returned with its data": inSession(func(s *stage, q *kmsg.FetchRequest) { q.SessionEpoch = 1 }),
	"fetch: session epoch 2, offset moved to the end: no data, partition left out": inSession(func(s *stage, q *kmsg.FetchRequest) {
		q.SessionEpoch, q.Topics = 2, s.fetch(12, "f", 8).Topics
	}),
	"fetch: session epoch 7 (jumps)": inSession(func(s *stage, q *kmsg.FetchRequest) { q.SessionEpoch = 7 }),
	"fetch: session epoch 3, forget the partition": inSession(func(s *stage, q *kmsg.FetchRequest) {
		q.SessionEpoch = 3
		f := kmsg.NewFetchRequestForgottenTopic()
		f.Topic, f.Partitions = "f", []int32{0}
		q.ForgottenTopics = append(q.ForgottenTopics, f)
	}),
	"fetch: session epoch 4 by topic id (v13) on a session of names": inSession(func(s *stage, q *kmsg.FetchRequest) { q.SessionEpoch = 4 }),
	"fetch: session epoch -1 with the id (close)":                    inSession(func(s *stage, q *kmsg.FetchRequest) { q.SessionEpoch = -1 }),
	"fetch: session used after close":                                inSession(func(s *stage, q *kmsg.FetchRequest) { q.SessionEpoch = 1 }),

	"list-offsets: timestamp -1":                at("f", -1),
	"list-offsets: timestamp -2":                at("f", -2),
	"list-offsets: timestamp -3":                at("f", -3),
	"list-offsets: timestamp -4":                at("f", -4),
	"list-offsets: timestamp -5":                at("f", -5),
	"list-offsets: timestamp -6":                at("f", -6),
	"list-offsets: timestamp -7":                at("f", -7),
	"list-offsets: timestamp -3 in v1":          at("f", -3),
	"list-offsets: timestamp -4 in v7":          at("f", -4),
	"list-offsets: timestamp -5 in v8":          at("f", -5),
	"list-offsets: timestamp -6 in v10":         at("f", -6),
	"list-offsets: timestamp in the far future": at("f", 1<<50),
	"list-offsets: empty partition -1":          at("empty", -1),
	"list-offsets: empty partition -3":          at("empty", -3),
	"list-offsets: unknown topic":               at("no such", -1),
	"list-offsets: unknown partition":           listing("f", func(p *kmsg.ListOffsetsRequestTopicPartition) { p.Partition, p.Timestamp = 7, -1 }),
	"list-offsets: leader epoch 99":             listing("f", func(p *kmsg.ListOffsetsRequestTopicPartition) { p.CurrentLeaderEpoch, p.Timestamp = 99, -1 }),
	"list-offsets: same partition twice": func(s *stage, c errorCase) any {
		q := at("f", -1)(s, c).(*kmsg.ListOffsetsRequest)
		q.Topics[0].Partitions = append(q.Topics[0].Partitions, q.Topics[0].Partitions[0])
		return q
	},

	"offset-for-leader-epoch: epoch 0":          epochEnd("f", -1, 0),
	"offset-for-leader-epoch: epoch 5 (future)": epochEnd("f", -1, 5),
	"offset-for-leader-epoch: epoch -1":         epochEnd("f", -1, -1),
	"offset-for-leader-epoch: current epoch 99": epochEnd("f", 99, 0),
	"offset-for-leader-epoch: unknown topic":    epochEnd("no such", -1, 0),

	"metadata: unknown topic, no auto-create":                         naming(false, "not-there"),
	"metadata: unknown topic, auto-create: first answer":              naming(true, "auto"),
	"metadata: unknown topic, auto-create: one second later":          naming(true, "auto"),
	"metadata: unknown topic, v0 (always auto-creates): first answer": naming(false, "auto0"),
	"metadata: invalid name, auto-create":                             naming(true, "a b"),
	"metadata: invalid name, no auto-create":                          naming(false, "a b"),
	"metadata: empty name":                                            naming(true, ""),
	"metadata: name of 250 letters":                                   naming(true, strings.Repeat("x", 250)),
	"metadata: null topic list, v13: all":                             func(*stage, errorCase) any { return kmsg.NewPtrMetadataRequest() },
	"metadata: empty topic list, v13: none":                           naming(true),
	"metadata: empty topic list, v0: all":                             naming(true),
	"metadata: unknown topic id":                                      metadataByID(wire.UUID{9}),
	"metadata: null name and zero id":                                 metadataByID(wire.UUID{}),
	"metadata: topic id in v11":                                       metadataByID(wire.UUID{9}),

	"frames: version above max":                   framed(int16(3), int16(99), int32(1), int16(-1), int8(0), int8(0)),
	"frames: version below min":                   framed(int16(1), int16(0), int32(1), int16(-1), int32(-1), int32(0), int32(0), int32(0)),
	"frames: negative version":                    framed(int16(3), int16(-1), int32(1), int16(-1), int32(0)),
	"frames: unknown key 999":                     framed(int16(999), int16(0), int32(1), int16(-1)),
	"frames: negative key -1":                     framed(int16(-1), int16(0), int32(1), int16(-1)),
	"frames: InitProducerId v6 (unstable)":        framed(int16(22), int16(6), int32(1), int16(-1), int8(0), int8(0), int32(0), "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", int8(0), int8(0), int8(0)),
	"frames: truncated body":                      framed(int16(3), int16(1), int32(1), int16(-1), int16(0)),
	"frames: array length 2147483647":             framed(int16(3), int16(1), int32(1), int16(-1), int32(2147483647)),
	"frames: array length -5":                     framed(int16(3), int16(1), int32(1), int16(-1), int32(-5)),
	"frames: compact array length 4294967294":     framed(int16(3), int16(9), int32(1), int16(-1), int8(0), uint32(4294967295), int8(0), int8(0), int8(0), int8(0)),
	"frames: string length past the end":          framed(int16(3), int16(1), int32(1), int16(-1), int32(1), int16(100), "abc"),
	"frames: trailing bytes after a good body":    framed(int16(18), int16(0), int32(1), int16(-1), "trailing"),
	"frames: header only, 8 bytes (no client id)": framed(int16(18), int16(0), int32(1)),
	"frames: null client id":                      framed(int16(18), int16(0), int32(1), int16(-1)),
	"frames: client id length past the end":       framed(int16(18), int16(0), int32(1), int16(100), "abc"),
	"frames: client id not UTF-8":                 framed(int16(18), int16(0), int32(1), int16(3), "\xff\xfe\x80"),
	"frames: frame length 0":                      unframed(int32(0)),
	"frames: frame length 4, 4 bytes":             unframed(int32(4), int32(0)),
	"frames: frame length -1":                     unframed(int32(-1)),
	"frames: frame length 2147483647":             unframed(int32(2147483647)),
	"frames: frame length 104857600 (limit)":      unframed(int32(104857600)),
	"frames: frame length 104857601 (limit + 1)":  unframed(int32(104857601)),
	"frames: HTTP GET":                            unframed("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"),
	"frames: TLS hello":                           unframed("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"),
	"frames: unknown tagged field in header and body": framed(int16(18), int16(3), int32(1), int16(-1), int8(1), int8(99), int8(2), "ab",
		int8(2), "x", int8(2), "1", int8(1), int8(98), int8(1), "c"),

	"api-versions: empty software name":            software("", "1"),
	"api-versions: software name with a space":     software("a b", "1"),
	"api-versions: software version 'v1.0-x'":      software("kf", "v1.0-x"),
	"api-versions: software version ends with '-'": software("kf", "1-"),
	"api-versions: other cluster id, node 1":       software("kf", "1", func(s *stage, q *kmsg.ApiVersionsRequest) { q.ClusterID, q.NodeID = value("other"), 1 }),
	"api-versions: right cluster id, node 9":       software("kf", "1", func(s *stage, q *kmsg.ApiVersionsRequest) { q.ClusterID, q.NodeID = &s.b.clusterID, 9 }),
	"api-versions: right cluster id, right node":   software("kf", "1", func(s *stage, q *kmsg.ApiVersionsRequest) { q.ClusterID, q.NodeID = &s.b.clusterID, 1 }),
	"api-versions: other cluster id, no node id":   software("kf", "1", func(s *stage, q *kmsg.ApiVersionsRequest) { q.ClusterID = value("other") }),
	"api-versions: no cluster id, node 9":          software("kf", "1", func(s *stage, q *kmsg.ApiVersionsRequest) { q.NodeID = 9 }),

	"transactions: InitProducerId transactional id ''":                                initProducer(value(""), 1000, -1, -1),
	"transactions: InitProducerId timeout 900001 (above the max)":                     initProducer(value("t"), 900001, -1, -1),
	"transactions: InitProducerId timeout 0":                                          initProducer(value("t"), 0, -1, -1),
	"transactions: InitProducerId timeout -1":                                         initProducer(value("t"), -1, -1, -1),
	"transactions: InitProducerId producer id set, epoch -1":                          initProducer(value("t"), 1000, 5, -1),
	"transactions: Produce v11 transactional batch, request without transactional id": producing("TOPIC", transactionalBatch),
	"transactions: Produce v12, unknown transactional id in the request": func(s *stage, c errorCase) any {
		q := s.produce(c, "TOPIC", -1, transactionalBatch())
		q.TransactionID = value("unknown")
		return q
	},

	"create-topics: validate only":                                             creating("new"),
	"create-topics: validate only, v2":                                         creating("new"),
	"create-topics: exists":                                                    creating("TOPIC"),
	"create-topics: exists, validate only":                                     creating("TOPIC"),
	"create-topics: name with a space":                                         creating("a b"),
	"create-topics: empty name":                                                creating(""),
	"create-topics: name '.'":                                                  creating("."),
	"create-topics: name '..'":                                                 creating(".."),
	"create-topics: name of 249 letters (limit), validate only":                creating(strings.Repeat("x", 249)),
	"create-topics: name of 250 letters":                                       creating(strings.Repeat("x", 250)),
	"create-topics: internal name __consumer_offsets":                          creating("__consumer_offsets"),
	"create-topics: name __cluster_metadata":                                   creating("__cluster_metadata"),
	"create-topics: collides with a.b: a_b":                                    creating("TOPIC_x"),
	"create-topics: replication factor 2 on one broker":                        creating("new", counts(1, 2)),
	"create-topics: replication factor 0":                                      creating("new", counts(1, 0)),
	"create-topics: replication factor -2":                                     creating("new", counts(1, -2)),
	"create-topics: partitions 0":                                              creating("new", counts(0, 1)),
	"create-topics: partitions -2":                                             creating("new", counts(-2, 1)),
	"create-topics: partitions 100001, validate only":                          creating("new", counts(100001, 1)),
	"create-topics: partitions -1 and factor -1 (defaults), v7, validate only": creating("new", counts(-1, -1)),
	"create-topics: partitions -1 and factor -1, v3, validate only":            creating("new", counts(-1, -1)),
	"create-topics: unknown config":                                            creating("new", config("no.such", value("1"))),
	"create-topics: bad config value retention.ms=abc":                         creating("new", config("retention.ms", value("abc"))),
	"create-topics: bad config value cleanup.policy=zap":                       creating("new", config("cleanup.policy", value("zap"))),
	"create-topics: bad config value segment.bytes=1":                          creating("new", config("segment.bytes", value("1"))),
	"create-topics: segment.bytes=14 (validate only)":                          creating("new", config("segment.bytes", value("14"))),
	"create-topics: min.insync.replicas=0":                                     creating("new", config("min.insync.replicas", value("0"))),
	"create-topics: config value null":                                         creating("new", config("retention.ms", nil)),
	"create-topics: message.format.version":                                    creating("new", config("message.format.version", value("2.8"))),
	"create-topics: assignment and a partition count":                          creating("new", assignment(0, 1), counts(1, 1)),
	"create-topics: assignment to broker 9":                                    creating("new", assignment(0, 9)),
	"create-topics: assignment with a broker twice":                            creating("new", assignment(0, 1, 1)),
	"create-topics: assignment starts at partition 1":                          creating("new", assignment(1, 1)),
	"create-topics: assignment with no replicas":                               creating("new", assignment(0)),
	"create-topics: same topic twice in a request": func(s *stage, c errorCase) any {
		q := creating("new")(s, c).(*kmsg.CreateTopicsRequest)
		q.Topics = append(q.Topics, q.Topics[0])
		return q
	},
	"create-topics: one good, one bad": func(s *stage, c errorCase) any {
		q := creating("good")(s, c).(*kmsg.CreateTopicsRequest)
		bad := q.Topics[0]
		bad.Topic = "a b"
		q.Topics = append(q.Topics, bad)
		return q
	},

	"delete-topics: unknown name":    deleting(value("not-there"), wire.UUID{}),
	"delete-topics: unknown name v1": deleting(value("not-there"), wire.UUID{}),
	"delete-topics: unknown id":      deleting(nil, wire.UUID{9}),
	"delete-topics: name and id":     func(s *stage, c errorCase) any { return deleting(value("TOPIC"), s.ids["TOPIC"])(s, c) },
	"delete-topics: neither":         deleting(nil, wire.UUID{}),
	"delete-topics: good":            deleting(value("a-deleted"), wire.UUID{}),

	"configs: describe topic":                       describing(topicKind, "TOPIC"),
	"configs: describe unknown topic":               describing(topicKind, "not-there"),
	"configs: describe invalid topic name":          describing(topicKind, "a b"),
	"configs: describe topic ''":                    describing(topicKind, ""),
	"configs: describe broker 1":                    describing(brokerKind, "1"),
	"configs: describe broker '' (cluster default)": describing(brokerKind, ""), // min.insync.replicas, which a new cluster sets
	"configs: describe broker 9":                    describing(brokerKind, "9"),
	"configs: describe broker 'x'":                  describing(brokerKind, "x"),
	"configs: describe broker logger 1":             describing(loggerKind, "1"),
	"configs: describe group":                       describing(groupKind, "g"),
	"configs: describe client metrics":              describing(kmsg.ConfigResourceTypeClientMetrics, "m"),
	"configs: describe type 3":                      describing(3, "x"),

	"configs: alter unknown topic":                          altering(topicKind, "nosuch", alteration{"retention.ms", set, value("1")}),
	"configs: alter topic, unknown key":                     altering(topicKind, "TOPIC", alteration{"no.such", set, value("1")}),
	"configs: alter topic, bad value":                       altering(topicKind, "TOPIC", alteration{"retention.ms", set, value("x")}),
	"configs: alter topic, null value with SET":             altering(topicKind, "TOPIC", alteration{"retention.ms", set, nil}),
	"configs: alter topic, APPEND to a key that is no list": altering(topicKind, "TOPIC", alteration{"retention.ms", app, value("1")}),
	"configs: alter topic, APPEND cleanup.policy=compact":   altering(topicKind, "TOPIC", alteration{"cleanup.policy", app, value("compact")}),
	"configs: alter topic, SUBTRACT cleanup.policy=compact": altering(topicKind, "TOPIC", alteration{"cleanup.policy", subtract, value("compact")}),
	"configs: alter topic, op 9":                            altering(topicKind, "TOPIC", alteration{"retention.ms", 9, value("1")}),
	"configs: alter topic, DELETE of a key not set":         altering(topicKind, "TOPIC", alteration{"retention.ms", del, nil}),
	"configs: alter broker 1, read-only key":                altering(brokerKind, "1", alteration{"log.dirs", set, value("x")}),
	"configs: alter broker 1, unknown key":                  altering(brokerKind, "1", alteration{"no.such", set, value("1")}),
	"configs: alter broker 9":                               altering(brokerKind, "9", alteration{"log.cleaner.threads", set, value("1")}),
	"configs: alter broker 1, bad value":                    altering(brokerKind, "1", alteration{"log.cleaner.threads", set, value("x")}),
	"configs: alter broker logger":                          altering(loggerKind, "1", alteration{"kafka.server.KafkaApis", set, value("LOUD")}),
	"configs: alter group, unknown key":                     altering(groupKind, "g", alteration{"no.such", set, value("1")}),
	"configs: alter group, session timeout out of range":    altering(groupKind, "g", alteration{"consumer.session.timeout.ms", set, value("1")}),
	"configs: alter topic twice in a request":               altering(topicKind, "TOPIC", alteration{"retention.ms", set, value("1000")}),
	"configs: same key twice":                               altering(topicKind, "TOPIC", alteration{"retention.ms", set, value("1")}, alteration{"retention.ms", set, value("2")}),
	"configs: validate only, good":                          altering(topicKind, "TOPIC", alteration{"retention.ms", set, value("1000")}),

	"cluster: DescribeCluster, controllers, on a broker": func(s *stage, c errorCase) any {
		q := kmsg.NewPtrDescribeClusterRequest()
		q.EndpointType = 2
		return q
	},
	"cluster: DescribeCluster, endpoint type 9": func(s *stage, c errorCase) any {
		q := kmsg.NewPtrDescribeClusterRequest()
		q.EndpointType = 9
		return q
	},
	"cluster: CreateTopics time-out 0": creating("new", func(q *kmsg.CreateTopicsRequest, _ *kmsg.CreateTopicsRequestTopic) { q.TimeoutMillis = 0 }),
	"cluster: DeleteTopics time-out 0": func(s *stage, c errorCase) any {
		q := deleting(value("TOPIC"), wire.UUID{})(s, c).(*kmsg.DeleteTopicsRequest)
		q.TimeoutMillis = 0
		return q
	},

	"leader-epoch: Fetch, current leader epoch one too old": after(fenced, fetching("epochs", 0, func(q *kmsg.FetchRequest) {
		q.Topics[0].Partitions[0].CurrentLeaderEpoch = 0
	})),
	"leader-epoch: Fetch v18, current leader epoch one too new": func(s *stage, c errorCase) any {
		q := s.fetch(18, "epochs", 0)
		q.Topics[0].Partitions[0].CurrentLeaderEpoch = s.b.image.Load().Topic("epochs").Partition(0).LeaderEpoch + 1
		return q
	},
	"leader-epoch: ListOffsets, current leader epoch one too old":          listing("epochs", func(p *kmsg.ListOffsetsRequestTopicPartition) { p.CurrentLeaderEpoch, p.Timestamp = 0, -1 }),
	"leader-epoch: OffsetForLeaderEpoch, current leader epoch one too old": epochEnd("epochs", 0, 0),

	"not-leader: Produce to node 1, leader 2, no replica here":                  after(elsewhere, producing("at2", func() []byte { return batch75(plainHeader(1)) })),
	"not-leader: Produce to node 1, leader 3, node 1 follows":                   producing("at3", func() []byte { return batch75(plainHeader(1)) }),
	"not-leader: Fetch from node 1, leader 2, no replica here":                  fetching("at2", 0),
	"not-leader: Fetch from node 1, leader 3, node 1 follows":                   fetching("at3", 0),
	"not-leader: Fetch from leader with a rack of a follower, default selector": fetching("at1", 0, func(q *kmsg.FetchRequest) { q.Rack = "r2" }),
	"not-leader: ListOffsets to a node without a replica":                       at("at2", -1),
	"not-leader: ListOffsets to a follower":                                     at("at3", -1),

	"min-isr: acks=-1, 3 replicas, min.insync.replicas 3, all in sync": func(s *stage, c errorCase) any {
		s.create("min3", map[string]string{"min.insync.replicas": "3"}, 1, 2, 3)
		s.follow("min3", 1)
		return s.produce(c, "min3", -1, batch75(plainHeader(1)))
	},
	"min-isr: acks=-1, one of 3 replicas out, min.insync.replicas 3": func(s *stage, c errorCase) any {
		s.followers()
		if err := s.b.controller.Fence(s.t.Context(), 3, s.b.image.Load().Broker(3).Epoch); err != nil {
			s.t.Fatal(err)
		}
		return s.produce(c, "min3", -1, batch75(plainHeader(1)))
	},
	"min-isr: acks=1, same":                                    producing("min3", func() []byte { return batch75(plainHeader(1)) }),
	"min-isr: Metadata with one of 3 replicas out":             naming(false, "min3"),
	"min-isr: Fetch after the acks=1 write below min ISR":      fetching("min3", 0),
	"min-isr: CreateTopics factor 3 with 2 of 3 brokers alive": creating("three", counts(1, 3)),
}

// elsewhere makes topics that other brokers lead, once.
func elsewhere(s *stage) {
	s.otherBrokers()
	if _, ok := s.ids["at2"]; ok {
		return
	}
	s.create("at2", nil, 2)
	s.create("at3", nil, 3, 1)
	s.create("at1", nil, 1, 2)
}
