package client_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"kf/internal/client"
)

func TestDescribeConfigs(t *testing.T) {
	k := newCluster(t, kfake.SeedTopics(1, "orders"))
	cl := k.client(t, time.Minute)
	topic := func(name string) client.ConfigResource {
		return client.ConfigResource{Type: client.ConfigTypeTopic, Name: name}
	}
	broker := func(name string) client.ConfigResource {
		return client.ConfigResource{Type: client.ConfigTypeBroker, Name: name}
	}
	errs := cl.IncrementalAlterConfigs(t.Context(), false,
		client.ConfigChanges{Resource: topic("orders"), Changes: []client.ConfigChange{{Key: "retention.ms", Value: "5"}}},
		client.ConfigChanges{Resource: topic("nope"), Changes: []client.ConfigChange{{Key: "retention.ms", Value: "5"}}})
	if errs[0] != nil || !errors.Is(errs[1], kerr.UnknownTopicOrPartition) {
		t.Fatal(errs)
	}
	k.requests()
	// Brokers are asked themselves, the rest by one request.
	all, err := cl.DescribeConfigs(t.Context(), false, topic("orders"), broker("2"), topic("nope"), broker(""), broker("1"))
	if err != nil || len(all) != 5 {
		t.Fatalf("%d answers, %v", len(all), err)
	}
	if got := k.requests(); !strings.Contains(got, "DescribeConfigs 3") {
		t.Errorf("requests: %s", got)
	}
	if !slices.ContainsFunc(all[0].Configs, func(c client.Config) bool {
		return c.Key == "retention.ms" && *c.Value == "5" && c.Source == client.FromTopic && c.Source.String() == "DYNAMIC_TOPIC_CONFIG"
	}) {
		t.Errorf("orders: %+v", all[0])
	}
	if !slices.IsSortedFunc(all[0].Configs, func(a, b client.Config) int { return strings.Compare(a.Key, b.Key) }) {
		t.Error("the keys are not sorted")
	}
	if all[2].Resource != topic("nope") || !errors.Is(all[2].Err, kerr.UnknownTopicOrPartition) || all[1].Err != nil || all[3].Err != nil || all[4].Resource != broker("1") {
		t.Errorf("%+v", all[1:])
	}
	if none, err := cl.DescribeConfigs(t.Context(), false); none != nil || err != nil || cl.IncrementalAlterConfigs(t.Context(), false) != nil || k.requests() != "" {
		t.Errorf("nothing was asked for: %v, %v", none, err)
	}
}

// What an answer leaves out, and what nobody asked for.
func TestConfigsOfOddAnswers(t *testing.T) {
	k := newCluster(t)
	cl := k.client(t, time.Minute)
	odd := client.ConfigResource{Type: client.ConfigTypeGroup, Name: "g"}
	k.ControlKey(32, func(q kmsg.Request) (kmsg.Response, error, bool) {
		answer := q.ResponseKind().(*kmsg.DescribeConfigsResponse)
		r := kmsg.NewDescribeConfigsResponseResource()
		r.ResourceName, r.ResourceType = "other", kmsg.ConfigResourceTypeGroupConfig
		answer.Resources = append(answer.Resources, r)
		return answer, nil, true
	})
	k.ControlKey(44, func(q kmsg.Request) (kmsg.Response, error, bool) { return q.ResponseKind(), nil, true })
	all, err := cl.DescribeConfigs(t.Context(), false, odd)
	if err != nil || len(all) != 1 || all[0].Resource != odd || all[0].Err == nil {
		t.Errorf("%+v, %v", all, err)
	}
	if errs := cl.IncrementalAlterConfigs(t.Context(), true, client.ConfigChanges{Resource: odd}); len(errs) != 1 || errs[0] == nil {
		t.Errorf("%v", errs)
	}
	if got := client.ConfigSource(99).String(); got != "UNKNOWN" {
		t.Errorf("a source of another release is %s", got)
	}
}

// Version 0 of the request lists client metrics whatever it is asked for.
func TestConfigResources(t *testing.T) {
	k := newCluster(t)
	cl := k.client(t, time.Minute)
	version := int16(1)
	k.ControlKey(18, func(q kmsg.Request) (kmsg.Response, error, bool) {
		k.KeepControl()
		answer := q.ResponseKind().(*kmsg.ApiVersionsResponse)
		for _, key := range []int16{3, 18, 74} {
			answer.ApiKeys = append(answer.ApiKeys, kmsg.ApiVersionsResponseApiKey{ApiKey: key, MaxVersion: map[int16]int16{3: 12, 18: 3, 74: version}[key]})
		}
		return answer, nil, true
	})
	k.ControlKey(74, func(q kmsg.Request) (kmsg.Response, error, bool) {
		k.KeepControl()
		answer := q.ResponseKind().(*kmsg.ListConfigResourcesResponse)
		for _, name := range []string{"b", "a"} {
			for _, kind := range []int8{16, 32} {
				if kind == 32 && q.GetVersion() == 0 {
					continue
				}
				answer.ConfigResources = append(answer.ConfigResources, kmsg.ListConfigResourcesResponseConfigResource{Name: name, Type: kind})
			}
		}
		return answer, nil, true
	})
	for _, kind := range []client.ConfigType{client.ConfigTypeGroup, client.ConfigTypeClientMetrics} {
		if got, err := cl.ConfigResources(t.Context(), kind); err != nil || !slices.Equal(got, []string{"a", "b"}) {
			t.Errorf("type %d: %q, %v", kind, got, err)
		}
	}
	version = 0
	cl = k.client(t, time.Minute)
	if got, err := cl.ConfigResources(t.Context(), client.ConfigTypeClientMetrics); err != nil || !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("version 0: %q, %v", got, err)
	}
	if got, err := cl.ConfigResources(t.Context(), client.ConfigTypeGroup); !client.Unsupported(err) {
		t.Errorf("version 0: %q, %v", got, err)
	}
}
