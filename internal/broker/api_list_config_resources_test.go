package broker

import (
	"fmt"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestListConfigResources(t *testing.T) {
	b := startBroker(t, Options{Topics: []NewTopic{{Name: "a", Partitions: 1}, {Name: "b", Partitions: 1}}})
	s := &stage{t: t, b: b, followers: func() {}}
	// ask returns the resources of the answer as "topic a,topic b", and the error code
	// if there is one.
	ask := func(version int16, types ...kmsg.ConfigResourceType) string {
		q := kmsg.NewPtrListConfigResourcesRequest()
		for _, t := range types {
			q.ResourceTypes = append(q.ResourceTypes, int8(t))
		}
		answer := s.request(version, q).(*kmsg.ListConfigResourcesResponse)
		var all []string
		for _, r := range answer.ConfigResources {
			all = append(all, fmt.Sprintf("%d %s", r.Type, r.Name))
		}
		if answer.ErrorCode != 0 {
			all = append(all, fmt.Sprintf("error %d", answer.ErrorCode))
		}
		return strings.Join(all, ",")
	}
	// alter sets a key of a group or deletes it.
	alter := func(group string, value *string) {
		t.Helper()
		q := kmsg.NewPtrIncrementalAlterConfigsRequest()
		r := kmsg.NewIncrementalAlterConfigsRequestResource()
		r.ResourceType, r.ResourceName = kmsg.ConfigResourceTypeGroupConfig, group
		c := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
		c.Name, c.Value = "consumer.session.timeout.ms", value
		if value == nil {
			c.Op = kmsg.IncrementalAlterConfigOpDelete
		}
		r.Configs = append(r.Configs, c)
		q.Resources = append(q.Resources, r)
		if got := s.request(1, q).(*kmsg.IncrementalAlterConfigsResponse).Resources[0]; got.ErrorCode != 0 {
			t.Fatalf("altering group %s: error %d", group, got.ErrorCode)
		}
	}
	const topic, broker, logger, metrics, group = kmsg.ConfigResourceTypeTopic, kmsg.ConfigResourceTypeBroker,
		kmsg.ConfigResourceTypeBrokerLogger, kmsg.ConfigResourceTypeClientMetrics, kmsg.ConfigResourceTypeGroupConfig
	alter("g2", kmsg.StringPtr("50000"))
	alter("g1", kmsg.StringPtr("50000"))
	unsupported := fmt.Sprintf("error %d", kerr.UnsupportedVersion.Code)
	for _, tt := range []struct {
		version int16
		types   []kmsg.ConfigResourceType
		want    string
	}{
		{1, nil, "32 g1,32 g2,8 1,4 1,2 a,2 b"},
		{1, []kmsg.ConfigResourceType{topic}, "2 a,2 b"},
		{1, []kmsg.ConfigResourceType{topic, broker, logger}, "8 1,4 1,2 a,2 b"},
		{1, []kmsg.ConfigResourceType{group}, "32 g1,32 g2"},
		{1, []kmsg.ConfigResourceType{metrics}, ""},
		{1, []kmsg.ConfigResourceType{topic, 3}, unsupported},
		{0, nil, ""},
	} {
		if got := ask(tt.version, tt.types...); got != tt.want {
			t.Errorf("version %d, %v: %q, want %q", tt.version, tt.types, got, tt.want)
		}
	}
	alter("g1", nil)
	if got, want := ask(1, group), "32 g2"; got != want {
		t.Errorf("after a group has nothing set: %q, want %q", got, want)
	}
}
