package client

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Questions about a node or its loggers go to that node and changes of loggers too, all
// else goes to the active controller.
func TestSplitConfigs(t *testing.T) {
	names := []struct {
		kind ConfigType
		name string
	}{
		{ConfigTypeBroker, "2"}, {ConfigTypeTopic, "1"}, {ConfigTypeBroker, ""}, {ConfigTypeLogger, "2"}, {ConfigTypeBroker, "1"},
		{ConfigTypeGroup, "g"}, {ConfigTypeBroker, "x"}, {ConfigTypeBroker, "-1"},
	}
	describe, alter := kmsg.NewPtrDescribeConfigsRequest(), kmsg.NewPtrIncrementalAlterConfigsRequest()
	describe.IncludeSynonyms, alter.ValidateOnly = true, true
	for _, n := range names {
		describe.Resources = append(describe.Resources, kmsg.DescribeConfigsRequestResource{ResourceType: kmsg.ConfigResourceType(n.kind), ResourceName: n.name})
		alter.Resources = append(alter.Resources, kmsg.IncrementalAlterConfigsRequestResource{ResourceType: kmsg.ConfigResourceType(n.kind), ResourceName: n.name})
	}
	for q, want := range map[kmsg.Request]string{
		describe: "-1: 2:1 4: 32:g 4:x 4:-1; 1: 4:1; 2: 4:2 8:2",
		alter:    "-1: 4:2 2:1 4: 4:1 32:g 4:x 4:-1; 2: 8:2",
	} {
		parts := splitConfigs(q)
		var got []string
		for _, id := range slices.Sorted(maps.Keys(parts)) {
			words := []string{fmt.Sprintf("%d:", id)}
			switch part := parts[id].(type) {
			case *kmsg.DescribeConfigsRequest:
				for _, r := range part.Resources {
					words = append(words, fmt.Sprintf("%d:%s", r.ResourceType, r.ResourceName))
				}
				if !part.IncludeSynonyms {
					t.Error("a part does not ask for synonyms")
				}
			case *kmsg.IncrementalAlterConfigsRequest:
				for _, r := range part.Resources {
					words = append(words, fmt.Sprintf("%d:%s", r.ResourceType, r.ResourceName))
				}
				if !part.ValidateOnly {
					t.Error("a part would change something")
				}
			}
			got = append(got, strings.Join(words, " "))
		}
		if text := strings.Join(got, "; "); text != want {
			t.Errorf("%T: %s, want %s", q, text, want)
		}
	}
}
