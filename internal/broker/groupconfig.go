package broker

import (
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kf/internal/coordinator/group"
	"kf/internal/image"
	"kf/internal/kafkaconf"
)

// groupConfigs are the settings of the group coordinator. They are worked out when
// a setting changes, not for each request.
type groupConfigs struct {
	broker *group.Config
	own    map[string]*group.Config // of groups that set something, by group
}

// groupConfig returns what holds for a group, for the broker with "".
func (b *Broker) groupConfig(id string) *group.Config {
	all := b.groupConfigs.Load()
	if c, ok := all.own[id]; ok {
		return c
	}
	return all.broker
}

func newGroupConfigs(s *kafkaconf.Settings, im *image.Image) *groupConfigs {
	all := &groupConfigs{newGroupConfig(s, im), map[string]*group.Config{}}
	for r := range im.Resources() {
		if r.Type == image.GroupResource {
			c := *all.broker
			ofGroup(&c, s, groupSettings(im, r.Name))
			all.own[r.Name] = &c
		}
	}
	return all
}

// newGroupConfig returns what holds for groups that set nothing.
func newGroupConfig(s *kafkaconf.Settings, im *image.Image) *group.Config {
	topic := topicValues{s, topicSettings(im, group.Topic)}
	c := &group.Config{
		ClassicMinSessionTimeout: int32(brokerInt(s, "group.min.session.timeout.ms")),
		ClassicMaxSessionTimeout: int32(brokerInt(s, "group.max.session.timeout.ms")),
		ClassicInitialDelay:      int32(brokerInt(s, "group.initial.rebalance.delay.ms")),
		ClassicMaxSize:           int32(brokerInt(s, "group.max.size")),
		ConsumerMaxSize:          int32(brokerInt(s, "group.consumer.max.size")),
		ConsumerRegexRefresh:     int32(brokerInt(s, "group.consumer.regex.refresh.interval.ms")),
		Assignors:                kafkaconf.Split(brokerText(s, "group.consumer.assignors")),
		Migration:                migrations[strings.ToUpper(brokerText(s, "group.consumer.migration.policy"))],
		OffsetMetadataBytes:      int32(brokerInt(s, "offset.metadata.max.bytes")),
		OffsetRetention:          brokerInt(s, "offsets.retention.minutes") * time.Minute.Milliseconds(),
		OffsetCheckInterval:      brokerInt(s, "offsets.retention.check.interval.ms"),
		CommitTimeout:            time.Duration(brokerInt(s, "offsets.commit.timeout.ms")) * time.Millisecond,
		Compression:              int16(brokerInt(s, "offsets.topic.compression.codec")),
		BatchBytes:               int(topic.int("max.message.bytes")),
	}
	for _, protocol := range kafkaconf.Split(brokerText(s, "group.coordinator.rebalance.protocols")) {
		if protocol == group.Consumer.String() {
			c.ConsumerProtocol = im.Feature(image.FeatureGroupVersion) > 0
		}
	}
	ofGroup(c, s, nil)
	return c
}

var migrations = map[string]group.Migration{
	"DISABLED": group.MigrateNone, "UPGRADE": group.MigrateUpgrade, "DOWNGRADE": group.MigrateDowngrade, "BIDIRECTIONAL": group.MigrateBoth,
}

// ofGroup sets in c what groups may set themselves.
func ofGroup(c *group.Config, s *kafkaconf.Settings, settings map[string]string) {
	for name, to := range map[string]*int32{
		"consumer.session.timeout.ms":     &c.ConsumerSessionTimeout,
		"consumer.heartbeat.interval.ms":  &c.ConsumerHeartbeatInterval,
		"consumer.assignment.interval.ms": &c.ConsumerAssignmentInterval,
	} {
		key, ok := kafkaconf.GroupKey(name)
		if !ok {
			panic("no group key " + name)
		}
		*to = int32(s.GroupNumber(key, settings))
	}
}

// newGroupTopic returns the topic of the groups as it is to be created. It has as
// many replicas as is wanted, but not more than there are brokers: a cluster of one
// needs no settings for its first consumer. Kafka refuses to make it then.
//
// Source: Kafka 4.4.0, DefaultAutoTopicCreationManager.java, groupMetadataTopicConfigs
// in GroupCoordinatorService.java.
func newGroupTopic(s *kafkaconf.Settings, im *image.Image) kmsg.CreateTopicsRequestTopic {
	brokers := int64(0)
	for br := range im.Brokers() {
		if br.Active() {
			brokers++
		}
	}
	t := kmsg.NewCreateTopicsRequestTopic()
	t.Topic = group.Topic
	t.NumPartitions = int32(brokerInt(s, "offsets.topic.num.partitions"))
	t.ReplicationFactor = int16(max(1, min(brokers, brokerInt(s, "offsets.topic.replication.factor"))))
	for _, config := range []struct{ name, value string }{
		{"cleanup.policy", "compact"},
		{"compression.type", "producer"},
		{"segment.bytes", brokerText(s, "offsets.topic.segment.bytes")},
	} {
		c := kmsg.NewCreateTopicsRequestTopicConfig()
		c.Name, c.Value = config.name, &config.value
		t.Configs = append(t.Configs, c)
	}
	return t
}
