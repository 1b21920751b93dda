package broker

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"kf/internal/image"
)

// ListConfigResources, key 74, versions 0 and 1. Version 0 lists client metrics
// alone.
//
// Deviation from Kafka 4.4.0: each type is sorted by name.
//
// Source: Kafka 4.4.0, KafkaApis.scala, ListConfigResourcesRequest.java.

// listedResources are the types that can be asked for, in the order of the answer.
var listedResources = []kmsg.ConfigResourceType{
	kmsg.ConfigResourceTypeGroupConfig, kmsg.ConfigResourceTypeClientMetrics,
	kmsg.ConfigResourceTypeBrokerLogger, kmsg.ConfigResourceTypeBroker, kmsg.ConfigResourceTypeTopic,
}

func (b *Broker) listConfigResources(c *call, q *kmsg.ListConfigResourcesRequest) kmsg.Response {
	answer := q.ResponseKind().(*kmsg.ListConfigResourcesResponse)
	known := listedResources
	if q.Version == 0 {
		known = []kmsg.ConfigResourceType{kmsg.ConfigResourceTypeClientMetrics}
	}
	for _, t := range q.ResourceTypes {
		if !slices.Contains(known, kmsg.ConfigResourceType(t)) {
			answer.ErrorCode = kerr.UnsupportedVersion.Code
			return answer
		}
	}
	im := b.image.Load()
	for _, t := range known {
		if len(q.ResourceTypes) > 0 && !slices.Contains(q.ResourceTypes, int8(t)) {
			continue
		}
		add := func(name string) {
			to := kmsg.NewListConfigResourcesResponseConfigResource()
			to.Name, to.Type = name, int8(t)
			answer.ConfigResources = append(answer.ConfigResources, to)
		}
		switch t {
		case kmsg.ConfigResourceTypeTopic:
			for topic := range im.Topics() {
				add(topic.Name)
			}
		case kmsg.ConfigResourceTypeBroker, kmsg.ConfigResourceTypeBrokerLogger:
			for _, e := range allBrokers(im, c.conn.listener.name) {
				if !e.fenced {
					add(itoa(e.id))
				}
			}
		default: // only those for which something is set are known
			for r := range im.Resources() {
				if r.Type == image.ResourceType(t) {
					add(r.Name)
				}
			}
		}
	}
	return answer
}
