package client

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// TopicConfigs are the configurations of a topic that differ from Kafka's defaults.
type TopicConfigs struct {
	Set    []TopicConfig // by key
	MinISR int           // min.insync.replicas, also if it is the default; -1: unknown
	Err    error
}

// A TopicConfig holds for a topic.
type TopicConfig struct {
	Key   string
	Value *string // nil: a secret
	Own   bool    // it is set for the topic itself, rather than for brokers
}

const minISRKey = "min.insync.replicas"

// TopicConfigs asks one broker for the configurations of topics, with one request. The
// answer is by name.
func (c *Client) TopicConfigs(ctx context.Context, names []string) (map[string]TopicConfigs, error) {
	q := kmsg.NewPtrDescribeConfigsRequest()
	for _, name := range names {
		r := kmsg.NewDescribeConfigsRequestResource()
		r.ResourceType, r.ResourceName = kmsg.ConfigResourceTypeTopic, name
		q.Resources = append(q.Resources, r)
	}
	if len(names) == 0 {
		return nil, nil
	}
	r, err := q.RequestWith(ctx, inTurn{c})
	if err != nil {
		return nil, serves(q, err)
	}
	found := make(map[string]TopicConfigs)
	for _, resource := range r.Resources {
		to := TopicConfigs{MinISR: -1, Err: answerError(resource.ErrorCode, resource.ErrorMessage)}
		for _, e := range resource.Configs {
			if e.Name == minISRKey && e.Value != nil {
				if n, err := strconv.Atoi(*e.Value); err == nil {
					to.MinISR = n
				}
			}
			// Version 0, of brokers before 1.1, knows defaults but not where the rest is set.
			isDefault := e.Source == kmsg.ConfigSourceDefaultConfig || r.Version == 0 && e.IsDefault
			if !isDefault {
				to.Set = append(to.Set, TopicConfig{e.Name, e.Value, r.Version == 0 || e.Source == kmsg.ConfigSourceDynamicTopicConfig})
			}
		}
		slices.SortFunc(to.Set, func(a, b TopicConfig) int { return strings.Compare(a.Key, b.Key) })
		found[resource.ResourceName] = to
	}
	for _, name := range names {
		if _, ok := found[name]; !ok {
			found[name] = TopicConfigs{MinISR: -1, Err: errNoAnswer}
		}
	}
	return found, nil
}
