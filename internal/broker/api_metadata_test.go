package broker

import (
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestMetadataByID asks for topics as Java consumers do that were assigned
// partitions of them: by ids, with empty names.
func TestMetadataByID(t *testing.T) {
	b := startBroker(t, Options{})
	c := client(t, b)
	if _, err := kadm.NewClient(c).CreateTopics(testContext(t), 1, 1, nil, "one", "two", "three"); err != nil {
		t.Fatal(err)
	}
	id := func(name string) [16]byte { return b.image.Load().Topic(name).ID }
	for _, tt := range []struct {
		name  string
		asked []kmsg.MetadataRequestTopic
		want  []string
	}{
		{"ids", []kmsg.MetadataRequestTopic{{Topic: new(""), TopicID: id("one")}, {Topic: new(""), TopicID: id("two")}}, []string{"one", "two"}},
		{"an id twice", []kmsg.MetadataRequestTopic{{TopicID: id("one")}, {TopicID: id("one")}}, []string{"one"}},
		{"an id and a name", []kmsg.MetadataRequestTopic{{Topic: new("two")}, {TopicID: id("one")}, {Topic: new("three"), TopicID: id("three")}}, []string{"one", "three"}},
		{"a name twice", []kmsg.MetadataRequestTopic{{Topic: new("two")}, {Topic: new("one")}, {Topic: new("two")}}, []string{"two", "one"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			q := kmsg.NewPtrMetadataRequest()
			q.Topics = tt.asked
			r, err := q.RequestWith(testContext(t), c)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, topic := range r.Topics {
				got = append(got, *topic.Topic)
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}
