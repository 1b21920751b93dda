package broker

import (
	"maps"
	"math"
	"strconv"
	"strings"

	"kf/internal/format/codec"
	"kf/internal/image"
	"kf/internal/kafkaconf"
	"kf/internal/storage"
)

// A topicConfig is what holds for a topic: the settings of its logs, and those
// that the broker heeds itself.
type topicConfig struct {
	log               storage.Config
	minInsyncReplicas int
}

// shownProperties are the properties of the broker with those that other options stand
// for, so that DescribeConfigs shows what a server.properties of Kafka would have to say.
func (b *Broker) shownProperties(listeners []*listener) map[string]string {
	all := make(map[string]string)
	maps.Copy(all, b.o.Properties)
	all["node.id"], all["broker.id"] = itoa(b.node), itoa(b.node)
	all["log.dirs"] = strings.Join(b.o.Dirs, ",")
	if all["process.roles"] == "" {
		all["process.roles"] = "broker,controller"
	}
	var addresses []string
	for _, l := range listeners {
		addresses = append(addresses, l.name+"://"+l.Addr().String())
	}
	all["listeners"] = strings.Join(addresses, ",")
	return all
}

// settingsOf returns what is set for a broker: in its file, and in the image.
func settingsOf(im *image.Image, node int32, file map[string]string) *kafkaconf.Settings {
	return &kafkaconf.Settings{
		Dynamic:        maps.Collect(im.Configs(image.Resource{Type: image.BrokerResource, Name: strconv.Itoa(int(node))})),
		DynamicDefault: maps.Collect(im.Configs(image.Resource{Type: image.BrokerResource})),
		File:           file,
	}
}

// topicSettings returns what is set for a topic.
func topicSettings(im *image.Image, topic string) map[string]string {
	return maps.Collect(im.Configs(image.Resource{Type: image.TopicResource, Name: topic}))
}

// groupSettings returns what is set for a group.
func groupSettings(im *image.Image, group string) map[string]string {
	return maps.Collect(im.Configs(image.Resource{Type: image.GroupResource, Name: group}))
}

// newTopicConfig returns what holds for a topic.
func newTopicConfig(s *kafkaconf.Settings, topic map[string]string, syncAppends bool) topicConfig {
	v := topicValues{s, topic}
	c := topicConfig{minInsyncReplicas: int(v.int("min.insync.replicas"))}
	c.log = storage.Config{
		SegmentBytes:         int32(v.int("segment.bytes")),
		SegmentMs:            v.int("segment.ms"),
		SegmentJitterMs:      v.int("segment.jitter.ms"),
		SegmentIndexBytes:    int32(v.int("segment.index.bytes")),
		IndexIntervalBytes:   int32(v.int("index.interval.bytes")),
		Preallocate:          v.text("preallocate") == "true",
		FlushMessages:        v.int("flush.messages"),
		FlushMs:              v.int("flush.ms"),
		RetentionBytes:       v.int("retention.bytes"),
		RetentionMs:          v.int("retention.ms"),
		FileDeleteDelayMs:    v.int("file.delete.delay.ms"),
		MinCleanableRatio:    v.float("min.cleanable.dirty.ratio"),
		MinCompactionLagMs:   v.int("min.compaction.lag.ms"),
		MaxCompactionLagMs:   v.int("max.compaction.lag.ms"),
		DeleteRetentionMs:    v.int("delete.retention.ms"),
		MaxMessageBytes:      int32(v.int("max.message.bytes")),
		MaxDecompressed:      int32(v.int("max.decompressed.message.bytes")),
		GzipLevel:            int(v.int("compression.gzip.level")),
		LZ4Level:             int(v.int("compression.lz4.level")),
		ZstdLevel:            int(v.int("compression.zstd.level")),
		AppendTime:           v.text("message.timestamp.type") == "LogAppendTime",
		BeforeMaxMs:          v.int("message.timestamp.before.max.ms"),
		AfterMaxMs:           v.int("message.timestamp.after.max.ms"),
		ProducerExpirationMs: brokerInt(s, "producer.id.expiration.ms"),
		Sync:                 syncAppends,
	}
	if bytes := v.text("internal.segment.bytes"); bytes != "" {
		c.log.SegmentBytes = int32(number(bytes))
	}
	for _, policy := range kafkaconf.Split(v.text("cleanup.policy")) {
		c.log.Compact = c.log.Compact || policy == "compact"
		c.log.Delete = c.log.Delete || policy == "delete"
	}
	switch name := v.text("compression.type"); name {
	case "producer":
	case "uncompressed":
		c.log.Codec = new(codec.None)
	default:
		for id := codec.Gzip; id <= codec.Zstd; id++ {
			if id.String() == name {
				c.log.Codec = new(id)
			}
		}
	}
	return c
}

// topicValues gives the values of topic keys, which are valid: kafkaconf leaves
// out what does not fit.
type topicValues struct {
	settings *kafkaconf.Settings
	topic    map[string]string
}

func (v topicValues) text(name string) string {
	key, ok := kafkaconf.TopicKey(name)
	if !ok {
		panic("no topic key " + name)
	}
	return v.settings.Topic(key, v.topic).Text
}

func (v topicValues) int(name string) int64 { return number(v.text(name)) }
func (v topicValues) float(name string) float64 {
	f, _ := strconv.ParseFloat(v.text(name), 64)
	return f
}

func brokerText(s *kafkaconf.Settings, name string) string {
	key, ok := kafkaconf.BrokerKey(name)
	if !ok {
		panic("no broker key " + name)
	}
	return s.Broker(key).Text
}

func brokerInt(s *kafkaconf.Settings, name string) int64 { return number(brokerText(s, name)) }
func brokerBool(s *kafkaconf.Settings, name string) bool { return brokerText(s, name) == "true" }

// number returns the value of a valid number; one that only Java's parser would
// take (it saturates nothing) is as large as it can be.
func number(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return math.MaxInt64
	}
	return n
}

func brokerFloat(s *kafkaconf.Settings, name string) float64 {
	f, _ := strconv.ParseFloat(brokerText(s, name), 64)
	return f
}
