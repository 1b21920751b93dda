package broker

import (
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kf/internal/wire"
)

// adminBuilders are those of the cases about connections, topics, configurations and
// the cluster.
var adminBuilders = map[string]builder{
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

	"configs: describe topic":                               describing(topicKind, "TOPIC"),
	"configs: describe unknown topic":                       describing(topicKind, "not-there"),
	"configs: describe invalid topic name":                  describing(topicKind, "a b"),
	"configs: describe topic ''":                            describing(topicKind, ""),
	"configs: describe broker 1":                            describing(brokerKind, "1"),
	"configs: describe broker '' (cluster default)":         describing(brokerKind, ""), // min.insync.replicas, which a new cluster sets
	"configs: describe broker 9":                            describing(brokerKind, "9"),
	"configs: describe broker 'x'":                          describing(brokerKind, "x"),
	"configs: describe broker logger 1":                     describing(loggerKind, "1"),
	"configs: describe group":                               describing(groupKind, "g"),
	"configs: describe client metrics":                      describing(kmsg.ConfigResourceTypeClientMetrics, "m"),
	"configs: describe type 3":                              describing(3, "x"),
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
	"cluster: DescribeLogDirs unknown topic": func(s *stage, c errorCase) any {
		q := kmsg.NewPtrDescribeLogDirsRequest()
		q.Topics = []kmsg.DescribeLogDirsRequestTopic{{Topic: "nosuch", Partitions: []int32{0}}}
		return q
	},
	"cluster: CreateTopics time-out 0": creating("new", func(q *kmsg.CreateTopicsRequest, _ *kmsg.CreateTopicsRequestTopic) { q.TimeoutMillis = 0 }),
	"cluster: DeleteTopics time-out 0": func(s *stage, c errorCase) any {
		q := deleting(value("TOPIC"), wire.UUID{})(s, c).(*kmsg.DeleteTopicsRequest)
		q.TimeoutMillis = 0
		return q
	},
}
