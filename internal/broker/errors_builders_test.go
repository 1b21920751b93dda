package broker

import (
	"context"
	"encoding/binary"
	"maps"
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

// builders has a builder for each case.
var builders = func() map[string]builder {
	all := make(map[string]builder)
	for _, some := range []map[string]builder{recordBuilders, adminBuilders, groupBuilders} {
		maps.Copy(all, some)
	}
	return all
}()
