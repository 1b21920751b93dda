package broker

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"kf/internal/image"
	"kf/internal/kafkaconf"
)

// DescribeConfigs, key 32, versions 1 to 4, and IncrementalAlterConfigs, key 44,
// versions 0 and 1.
//
// Deviations from Kafka 4.4.0:
//   - A resource that DescribeConfigs names again gets INVALID_REQUEST; Kafka
//     describes it as often as it is named, which may be a million times.
//   - A broker shows the keys that kf heeds, not all 353 of Kafka.
//   - There are no loggers of Java: the list of a broker's is empty, and no level
//     can be set. Client metrics have no keys yet: what an existing directory has
//     set for them is shown, and nothing can be set.

func (b *Broker) describeConfigs(c *call, q *kmsg.DescribeConfigsRequest) kmsg.Response {
	answer := q.ResponseKind().(*kmsg.DescribeConfigsResponse)
	seen := make(map[resourceKey]bool)
	for i := range q.Resources {
		asked := &q.Resources[i]
		to := kmsg.NewDescribeConfigsResponseResource()
		to.ResourceType, to.ResourceName, to.ErrorMessage = asked.ResourceType, asked.ResourceName, new("")
		key := resourceKey{asked.ResourceType, asked.ResourceName}
		if seen[key] {
			to.ErrorCode, to.ErrorMessage = kerr.InvalidRequest.Code, &twice
			answer.Resources = append(answer.Resources, to)
			continue
		}
		seen[key] = true
		entries, code, message := b.configsOf(asked)
		if code != 0 {
			to.ErrorCode, to.ErrorMessage = code, &message
		}
		for _, e := range entries {
			if len(asked.ConfigNames) == 0 || slices.Contains(asked.ConfigNames, e.key.Name) {
				to.Configs = append(to.Configs, e.describe(q.IncludeSynonyms, q.IncludeDocumentation))
			}
		}
		answer.Resources = append(answer.Resources, to)
	}
	return answer
}

// A resourceKey is what a request names a resource by.
type resourceKey struct {
	kind kmsg.ConfigResourceType
	name string
}

// twice is what is wrong with a resource that a request names again.
var twice = "Each resource must appear at most once."

// A configEntry is a key of a resource and what holds for it.
type configEntry struct {
	key      kafkaconf.Key
	value    kafkaconf.Value
	readOnly bool
}

func (b *Broker) configsOf(asked *kmsg.DescribeConfigsRequestResource) (entries []configEntry, code int16, message string) {
	im, name := b.image.Load(), asked.ResourceName
	switch asked.ResourceType {
	case kmsg.ConfigResourceTypeTopic:
		if wrong := checkTopicName(name); wrong != "" {
			return nil, kerr.InvalidTopicException.Code, wrong
		}
		if im.Topic(name) == nil {
			return nil, kerr.UnknownTopicOrPartition.Code, "This server does not host this topic-partition."
		}
		return topicEntries(b.settings.Load(), topicSettings(im, name)), 0, ""
	case kmsg.ConfigResourceTypeBroker:
		if name == "" {
			return setEntries(im, image.Resource{Type: image.BrokerResource}, kafkaconf.FromDynamicDefault), 0, ""
		}
		if wrong := b.checkBrokerName(name, "expected "+itoa(b.node)+" or empty string, but received "+name); wrong != "" {
			return nil, kerr.InvalidRequest.Code, wrong
		}
		return brokerEntries(b.settings.Load()), 0, ""
	case kmsg.ConfigResourceTypeBrokerLogger:
		wrong := "Broker id must not be empty"
		if name != "" {
			wrong = b.checkBrokerName(name, "expected "+itoa(b.node)+" but received "+name)
		}
		if wrong != "" {
			return nil, kerr.InvalidRequest.Code, wrong
		}
		return nil, 0, ""
	case kmsg.ConfigResourceTypeGroupConfig:
		if name == "" {
			return nil, kerr.InvalidRequest.Code, "Group name must not be empty"
		}
		return groupEntries(b.settings.Load(), groupSettings(im, name)), 0, ""
	case kmsg.ConfigResourceTypeClientMetrics:
		r := image.Resource{Type: image.ClientMetricsResource, Name: name}
		return setEntries(im, r, kafkaconf.Source(kmsg.ConfigSourceClientMetricsConfig)), 0, ""
	}
	return nil, kerr.InvalidRequest.Code, fmt.Sprintf("Unsupported resource type: %d", asked.ResourceType)
}

// checkBrokerName returns what is wrong with the name of a broker resource that
// must be this one; other says so if it is another one.
func (b *Broker) checkBrokerName(name, other string) string {
	id, err := strconv.ParseInt(name, 10, 32)
	switch {
	case err != nil:
		return "Broker id must be an integer, but it is: " + name
	case int32(id) != b.node:
		return "Unexpected broker id, " + other
	}
	return ""
}

// topicEntries lists the keys that every topic has, and what else is set for this
// one: keys of Kafka's tests, and those of other releases.
func topicEntries(s *kafkaconf.Settings, topic map[string]string) []configEntry {
	entries := entriesOf(kafkaconf.TopicKeys(), func(k kafkaconf.Key) kafkaconf.Value { return s.Topic(k, topic) })
	for _, name := range slices.Sorted(maps.Keys(topic)) {
		if _, ok := kafkaconf.TopicKey(name); !ok {
			key := kafkaconf.Key{Name: name, Type: kafkaconf.Unknown}
			entries = append(entries, configEntry{key, s.Topic(key, topic), false})
		}
	}
	return entries
}

func groupEntries(s *kafkaconf.Settings, group map[string]string) []configEntry {
	return entriesOf(kafkaconf.GroupKeys(), func(k kafkaconf.Key) kafkaconf.Value { return s.Group(k, group) })
}

func brokerEntries(s *kafkaconf.Settings) []configEntry {
	entries := entriesOf(kafkaconf.BrokerKeys(), s.Broker)
	for i := range entries {
		entries[i].readOnly = entries[i].key.Mode == kafkaconf.ReadOnly
	}
	return entries
}

// entriesOf lists keys with what holds for them, internal ones where it is set.
func entriesOf(keys []kafkaconf.Key, value func(kafkaconf.Key) kafkaconf.Value) []configEntry {
	entries := make([]configEntry, 0, len(keys))
	for _, key := range keys {
		if v := value(key); !key.Internal || v.Source != kafkaconf.FromDefault {
			entries = append(entries, configEntry{key: key, value: v})
		}
	}
	return entries
}

// setEntries returns what is set for a resource of which only that is shown.
func setEntries(im *image.Image, r image.Resource, source kafkaconf.Source) []configEntry {
	var entries []configEntry
	for name, text := range im.Configs(r) {
		key, ok := kafkaconf.BrokerKey(name)
		if !ok || r.Type != image.BrokerResource {
			key = kafkaconf.Key{Name: name, Type: kafkaconf.String}
		}
		entries = append(entries, configEntry{key, kafkaconf.Value{Text: text, Source: source, Synonyms: []kafkaconf.Setting{{Name: name, Text: text, Source: source}}}, false})
	}
	return entries
}

func (e *configEntry) describe(synonyms, documentation bool) kmsg.DescribeConfigsResponseResourceConfig {
	to := kmsg.NewDescribeConfigsResponseResourceConfig()
	to.Name, to.Source = e.key.Name, kmsg.ConfigSource(e.value.Source)
	to.IsDefault = e.value.Source == kafkaconf.FromDefault
	to.ReadOnly, to.IsSensitive, to.ConfigType = e.readOnly, e.key.Sensitive(), kmsg.ConfigType(e.key.Type)
	if !e.value.Null && !to.IsSensitive {
		to.Value = &e.value.Text
	}
	if synonyms {
		for _, s := range e.value.Synonyms {
			syn := kmsg.NewDescribeConfigsResponseResourceConfigConfigSynonym()
			syn.Name, syn.Source = s.Name, kmsg.ConfigSource(s.Source)
			if !to.IsSensitive {
				syn.Value = &s.Text
			}
			to.ConfigSynonyms = append(to.ConfigSynonyms, syn)
		}
	}
	if documentation && e.key.Doc != "" {
		to.Documentation = &e.key.Doc
	}
	return to
}

// createdConfigs are the configurations in the answer to CreateTopics.
func createdConfigs(s *kafkaconf.Settings, topic map[string]string) []kmsg.CreateTopicsResponseTopicConfig {
	entries := topicEntries(s, topic)
	all := make([]kmsg.CreateTopicsResponseTopicConfig, len(entries))
	for i := range entries {
		e := &entries[i]
		all[i] = kmsg.NewCreateTopicsResponseTopicConfig()
		all[i].Name, all[i].Source, all[i].IsSensitive = e.key.Name, int8(e.value.Source), e.key.Sensitive()
		if !e.value.Null && !all[i].IsSensitive {
			all[i].Value = &e.value.Text
		}
	}
	return all
}

func (b *Broker) incrementalAlterConfigs(c *call, q *kmsg.IncrementalAlterConfigsRequest) kmsg.Response {
	answer := q.ResponseKind().(*kmsg.IncrementalAlterConfigsResponse)
	count := make(map[resourceKey]int)
	for _, r := range q.Resources {
		count[resourceKey{r.ResourceType, r.ResourceName}]++
	}
	pass := *q
	pass.Resources = nil
	for i := range q.Resources {
		r := &q.Resources[i]
		k := resourceKey{r.ResourceType, r.ResourceName}
		if count[k] == 0 {
			continue // a duplicate, which is answered
		}
		var code int16
		var message string
		if count[k] > 1 {
			code, message = kerr.InvalidRequest.Code, twice
			count[k] = 0
		} else {
			code, message = b.checkAlter(r)
		}
		if code == 0 {
			pass.Resources = append(pass.Resources, *r)
			continue
		}
		to := kmsg.NewIncrementalAlterConfigsResponseResource()
		to.ResourceType, to.ResourceName, to.ErrorCode, to.ErrorMessage = r.ResourceType, r.ResourceName, code, &message
		answer.Resources = append(answer.Resources, to)
	}
	if len(pass.Resources) > 0 {
		ctx, cancel := b.within(alterTimeout)
		defer cancel()
		answer.Resources = append(answer.Resources, b.controller.IncrementalAlterConfigs(ctx, &pass).Resources...)
	}
	return answer
}

// alterTimeout is how long a change of configurations may take, in ms: the
// request has no time-out of its own.
const alterTimeout = 30000

// checkAlter checks what Kafka's broker does before it asks the controller.
//
// Source: Kafka 4.4.0, ConfigAdminManager.scala.
func (b *Broker) checkAlter(r *kmsg.IncrementalAlterConfigsRequestResource) (code int16, message string) {
	seen := make(map[string]bool)
	var nulls []string
	for _, k := range r.Configs {
		if seen[k.Name] {
			return kerr.InvalidRequest.Code, "Error due to duplicate config keys"
		}
		seen[k.Name] = true
		if k.Value == nil && k.Op != kmsg.IncrementalAlterConfigOpDelete {
			nulls = append(nulls, k.Name)
		}
		if k.Op < kmsg.IncrementalAlterConfigOpSet || k.Op > kmsg.IncrementalAlterConfigOpSubtract {
			return kerr.UnknownServerError.Code, fmt.Sprintf("Unknown operation %d", k.Op)
		}
	}
	if len(nulls) > 0 {
		return kerr.InvalidRequest.Code, "Null value not supported for : " + strings.Join(nulls, ",")
	}
	switch r.ResourceType {
	case kmsg.ConfigResourceTypeTopic, kmsg.ConfigResourceTypeGroupConfig:
		return 0, ""
	case kmsg.ConfigResourceTypeBroker, kmsg.ConfigResourceTypeBrokerLogger:
		if r.ResourceName != "" || r.ResourceType == kmsg.ConfigResourceTypeBrokerLogger {
			if wrong := b.checkBrokerName(r.ResourceName, "expected "+itoa(b.node)+", but received "+r.ResourceName); wrong != "" {
				return kerr.InvalidRequest.Code, wrong
			}
		}
		if r.ResourceType == kmsg.ConfigResourceTypeBrokerLogger && len(r.Configs) > 0 {
			return kerr.InvalidConfig.Code, "Logger " + r.Configs[0].Name + " does not exist!"
		}
		return b.checkBrokerKeys(r)
	case kmsg.ConfigResourceTypeClientMetrics:
		if len(r.Configs) > 0 {
			return kerr.InvalidConfig.Code, "Unknown client metrics configuration: " + r.Configs[0].Name
		}
		return 0, ""
	}
	return kerr.InvalidRequest.Code, fmt.Sprintf("Unknown resource type %d", r.ResourceType)
}

// checkBrokerKeys checks keys of a broker; those that Kafka does not know, or kf
// does not heed, may be set.
func (b *Broker) checkBrokerKeys(r *kmsg.IncrementalAlterConfigsRequestResource) (code int16, message string) {
	var fixed, perBroker []string
	for _, k := range r.Configs {
		key, ok := kafkaconf.BrokerKey(k.Name)
		switch {
		case !ok:
		case key.Mode == kafkaconf.ReadOnly:
			fixed = append(fixed, k.Name)
		case key.Mode == kafkaconf.PerBroker && r.ResourceName == "":
			perBroker = append(perBroker, k.Name)
		}
	}
	switch {
	case len(fixed) > 0:
		return kerr.InvalidRequest.Code, "Cannot update these configs dynamically: [" + strings.Join(fixed, ", ") + "]"
	case len(perBroker) > 0:
		return kerr.InvalidRequest.Code, "Cannot update these configs at default cluster level, broker id must be specified: [" + strings.Join(perBroker, ", ") + "]"
	}
	for _, k := range r.Configs {
		if key, ok := kafkaconf.BrokerKey(k.Name); ok && k.Op == kmsg.IncrementalAlterConfigOpSet {
			if err := key.Validate(*k.Value); err != nil {
				return kerr.InvalidRequest.Code, err.Error()
			}
		}
	}
	if err := b.altered(r).CheckBroker(); err != nil {
		return kerr.InvalidRequest.Code, err.Error()
	}
	return 0, ""
}

// altered returns the settings of the broker as they are after keys of it, or of
// all brokers, were set and deleted.
func (b *Broker) altered(r *kmsg.IncrementalAlterConfigsRequestResource) *kafkaconf.Settings {
	next := *b.settings.Load()
	place := &next.Dynamic
	if r.ResourceName == "" {
		place = &next.DynamicDefault
	}
	*place = maps.Clone(*place)
	for _, k := range r.Configs {
		switch k.Op {
		case kmsg.IncrementalAlterConfigOpSet:
			(*place)[k.Name] = *k.Value
		case kmsg.IncrementalAlterConfigOpDelete:
			delete(*place, k.Name)
		}
	}
	return &next
}

// validateConfig is what the controller asks about one configuration of a topic.
// Those of groups are checked together, those of brokers above, before the
// controller is asked.
func (b *Broker) validateConfig(r image.Resource, name string, value *string) error {
	if r.Type != image.TopicResource {
		return nil
	}
	key, ok := kafkaconf.TopicKey(name)
	switch {
	case !ok:
		return &kafkaconf.UnknownKeyError{Name: name}
	case value == nil:
		return nil
	}
	return key.Validate(*value)
}

// checkTogether is what the controller asks about all that a resource sets after a
// change.
func (b *Broker) checkTogether(r image.Resource, all map[string]string) error {
	switch r.Type {
	case image.TopicResource:
		return b.settings.Load().CheckTogether(all)
	case image.GroupResource:
		return b.settings.Load().CheckGroup(all)
	}
	return nil
}

func isListConfig(t image.ResourceType, name string) bool {
	key, ok := configKey(t, name)
	return ok && key.Type == kafkaconf.List
}

// configKey returns a key of topics or brokers.
func configKey(t image.ResourceType, name string) (kafkaconf.Key, bool) {
	switch t {
	case image.TopicResource:
		return kafkaconf.TopicKey(name)
	case image.BrokerResource:
		return kafkaconf.BrokerKey(name)
	}
	return kafkaconf.Key{}, false
}

func itoa[T int8 | int16 | int32](n T) string { return strconv.Itoa(int(n)) }
