package client

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// A ConfigType is a kind of thing that has configurations, by Kafka's number.
type ConfigType int8

const (
	ConfigTypeTopic         ConfigType = 2
	ConfigTypeBroker        ConfigType = 4
	ConfigTypeLogger        ConfigType = 8
	ConfigTypeClientMetrics ConfigType = 16
	ConfigTypeGroup         ConfigType = 32
)

// A ConfigResource has configurations. The broker "" stands for what all brokers
// have that are told nothing else.
type ConfigResource struct {
	Type ConfigType
	Name string
}

// A ConfigSource says where a value was set, by Kafka's number.
type ConfigSource int8

const (
	FromTopic          ConfigSource = 1
	FromBroker         ConfigSource = 2
	FromBrokerDefaults ConfigSource = 3
	FromStatic         ConfigSource = 4 // server.properties
	FromDefault        ConfigSource = 5
	FromLogger         ConfigSource = 6
	FromClientMetrics  ConfigSource = 7
	FromGroup          ConfigSource = 8
)

var sourceNames = map[ConfigSource]string{
	FromTopic: "DYNAMIC_TOPIC_CONFIG", FromBroker: "DYNAMIC_BROKER_CONFIG", FromBrokerDefaults: "DYNAMIC_DEFAULT_BROKER_CONFIG",
	FromStatic: "STATIC_BROKER_CONFIG", FromDefault: "DEFAULT_CONFIG", FromLogger: "DYNAMIC_BROKER_LOGGER_CONFIG",
	FromClientMetrics: "DYNAMIC_CLIENT_METRICS_CONFIG", FromGroup: "DYNAMIC_GROUP_CONFIG",
}

// String returns the name that Kafka's tools print.
func (s ConfigSource) String() string { return cmp.Or(sourceNames[s], "UNKNOWN") }

// A Config is a key of a resource and what holds for it.
type Config struct {
	Key       string
	Value     *string // nil: none, or a secret
	Source    ConfigSource
	ReadOnly  bool
	Sensitive bool
	Type      string          // "INT", "LIST", …; "UNKNOWN" from brokers before 2.6
	Synonyms  []ConfigSynonym // all that is set for it, the one that holds first
	Doc       string          // "" if not asked for
}

// A ConfigSynonym is a place where a value is set, maybe by another name.
type ConfigSynonym struct {
	Key    string
	Value  *string
	Source ConfigSource
}

// DescribedConfigs are the configurations of a resource, sorted by key.
type DescribedConfigs struct {
	Resource ConfigResource
	Configs  []Config
	Err      error
}

// DescribeConfigs describes resources, in the order in which they are named: a broker
// and its loggers by a request to that broker, all others by one request to any. The
// error is that of the cluster when nobody answered.
func (c *Client) DescribeConfigs(ctx context.Context, docs bool, of ...ConfigResource) ([]DescribedConfigs, error) {
	q := kmsg.NewPtrDescribeConfigsRequest()
	q.IncludeSynonyms, q.IncludeDocumentation = true, docs
	all := make([]DescribedConfigs, len(of))
	places := make(map[ConfigResource]*DescribedConfigs, len(of))
	for i, r := range of {
		to := kmsg.NewDescribeConfigsRequestResource()
		to.ResourceType, to.ResourceName = kmsg.ConfigResourceType(r.Type), r.Name
		q.Resources = append(q.Resources, to)
		all[i] = DescribedConfigs{Resource: r, Err: errNoAnswer}
		places[r] = &all[i]
	}
	// place returns that of a resource; one that nobody asked for has it to itself.
	place := func(t kmsg.ConfigResourceType, name string) *DescribedConfigs {
		return cmp.Or(places[ConfigResource{ConfigType(t), name}], new(DescribedConfigs))
	}
	if len(of) == 0 {
		return nil, nil
	}
	answered := false
	var first error
	for _, shard := range c.configShards(ctx, q) {
		if shard.Err != nil {
			first = cmp.Or(first, shardError(shard))
			for _, r := range shard.Req.(*kmsg.DescribeConfigsRequest).Resources {
				place(r.ResourceType, r.ResourceName).Err = shardError(shard)
			}
			continue
		}
		answered = true
		for _, r := range shard.Resp.(*kmsg.DescribeConfigsResponse).Resources {
			to := place(r.ResourceType, r.ResourceName)
			to.Err = answerError(r.ErrorCode, r.ErrorMessage)
			for i := range r.Configs {
				to.Configs = append(to.Configs, configOf(&r.Configs[i]))
			}
			slices.SortFunc(to.Configs, func(a, b Config) int { return strings.Compare(a.Key, b.Key) })
		}
	}
	if !answered {
		return nil, first
	}
	return all, nil
}

func configOf(c *kmsg.DescribeConfigsResponseResourceConfig) Config {
	to := Config{
		Key: c.Name, Value: c.Value, Source: ConfigSource(c.Source), ReadOnly: c.ReadOnly, Sensitive: c.IsSensitive,
		Type: c.ConfigType.String(),
	}
	if c.Documentation != nil {
		to.Doc = *c.Documentation
	}
	for _, s := range c.ConfigSynonyms {
		to.Synonyms = append(to.Synonyms, ConfigSynonym{s.Name, s.Value, ConfigSource(s.Source)})
	}
	return to
}

// A ConfigOp is how a configuration is changed, by Kafka's number.
type ConfigOp int8

const (
	SetConfig      ConfigOp = 0
	DeleteConfig   ConfigOp = 1
	AppendConfig   ConfigOp = 2 // to a list
	SubtractConfig ConfigOp = 3 // from a list
)

// A ConfigChange changes a key.
type ConfigChange struct {
	Op    ConfigOp
	Key   string
	Value string // not with DeleteConfig
}

// ConfigChanges change a resource, all of them or none.
type ConfigChanges struct {
	Resource ConfigResource
	Changes  []ConfigChange
}

// IncrementalAlterConfigs changes resources, or with validateOnly lets the brokers say
// whether they would. Brokers and loggers are changed by a request to that broker, all
// others by one request to any. The errors are those of the resources, in their order.
func (c *Client) IncrementalAlterConfigs(ctx context.Context, validateOnly bool, all ...ConfigChanges) []error {
	q := kmsg.NewPtrIncrementalAlterConfigsRequest()
	q.ValidateOnly = validateOnly
	errs := make([]error, len(all))
	for i, r := range all {
		to := kmsg.NewIncrementalAlterConfigsRequestResource()
		to.ResourceType, to.ResourceName = kmsg.ConfigResourceType(r.Resource.Type), r.Resource.Name
		for _, change := range r.Changes {
			tc := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
			tc.Name, tc.Op = change.Key, kmsg.IncrementalAlterConfigOp(change.Op)
			if change.Op != DeleteConfig {
				tc.Value = &change.Value
			}
			to.Configs = append(to.Configs, tc)
		}
		q.Resources = append(q.Resources, to)
		errs[i] = errNoAnswer
	}
	if len(all) == 0 {
		return nil
	}
	say := func(t kmsg.ConfigResourceType, name string, err error) {
		for i := range all {
			if all[i].Resource == (ConfigResource{ConfigType(t), name}) {
				errs[i] = err
			}
		}
	}
	for _, shard := range c.configShards(ctx, q) {
		if shard.Err != nil {
			for _, r := range shard.Req.(*kmsg.IncrementalAlterConfigsRequest).Resources {
				say(r.ResourceType, r.ResourceName, shardError(shard))
			}
			continue
		}
		for _, r := range shard.Resp.(*kmsg.IncrementalAlterConfigsResponse).Resources {
			say(r.ResourceType, r.ResourceName, answerError(r.ErrorCode, r.ErrorMessage))
		}
	}
	return errs
}

// ConfigResources lists the names of the resources of a type that brokers know: of
// groups and client metrics those for which something is set. Brokers before 4.1 know
// only client metrics, see [Unsupported].
func (c *Client) ConfigResources(ctx context.Context, t ConfigType) ([]string, error) {
	q := kmsg.NewPtrListConfigResourcesRequest()
	q.ResourceTypes = []int8{int8(t)}
	answer, err := q.RequestWith(ctx, c.kgo)
	if err != nil {
		return nil, err
	}
	if err := kerr.ErrorForCode(answer.ErrorCode); err != nil {
		return nil, err
	}
	// Version 0 cannot say what it is asked for, and lists client metrics.
	if answer.Version < 1 && t != ConfigTypeClientMetrics {
		return nil, fmt.Errorf("ListConfigResources: %w", kerr.UnsupportedVersion)
	}
	var names []string
	for _, r := range answer.ConfigResources {
		if ConfigType(r.Type) == t {
			names = append(names, r.Name)
		}
	}
	slices.Sort(names)
	return names, nil
}
