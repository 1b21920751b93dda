package broker

import (
	"bytes"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kf/internal/format/batch"
	"kf/internal/format/codec"
	"kf/internal/wire"
)

// recordBuilders are those of the cases about records and offsets.
var recordBuilders = map[string]builder{
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
