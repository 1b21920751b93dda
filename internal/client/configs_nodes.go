package client

import (
	"context"
	"strconv"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// configShards sends a request about configurations to those whom it concerns: parts
// about a node or its loggers to that node, the rest to any broker or to the active
// controller. Of controllers only that one changes anything but loggers.
func (c *Client) configShards(ctx context.Context, q kmsg.Request) []kgo.ResponseShard {
	if c.controllers == nil {
		return c.kgo.RequestSharded(ctx, q)
	}
	var all []kgo.ResponseShard
	for id, part := range splitConfigs(q) {
		shard := kgo.ResponseShard{Meta: kgo.BrokerMetadata{NodeID: -1}, Req: part}
		to, err := c.to(), error(nil)
		if id >= 0 {
			to, err = c.controllers.node(ctx, id)
		}
		if err == nil {
			shard.Resp, err = to.Request(ctx, part)
		}
		shard.Err = err
		all = append(all, shard)
	}
	return all
}

// splitConfigs returns the parts of a request by the controller that they are for, -1
// for those that the active one answers.
func splitConfigs(q kmsg.Request) map[int32]kmsg.Request {
	parts := make(map[int32]kmsg.Request)
	switch q := q.(type) {
	case *kmsg.DescribeConfigsRequest:
		for _, r := range q.Resources {
			id := nodeOfConfigs(r.ResourceType, r.ResourceName)
			part, ok := parts[id].(*kmsg.DescribeConfigsRequest)
			if !ok {
				part = new(*q)
				part.Resources = nil
				parts[id] = part
			}
			part.Resources = append(part.Resources, r)
		}
	case *kmsg.IncrementalAlterConfigsRequest:
		for _, r := range q.Resources {
			id := int32(-1)
			if r.ResourceType == kmsg.ConfigResourceTypeBrokerLogger {
				id = nodeOfConfigs(r.ResourceType, r.ResourceName)
			}
			part, ok := parts[id].(*kmsg.IncrementalAlterConfigsRequest)
			if !ok {
				part = new(*q)
				part.Resources = nil
				parts[id] = part
			}
			part.Resources = append(part.Resources, r)
		}
	}
	return parts
}

// nodeOfConfigs returns the node that has to be asked about a resource, -1 if that is
// not one.
func nodeOfConfigs(t kmsg.ConfigResourceType, name string) int32 {
	if t != kmsg.ConfigResourceTypeBroker && t != kmsg.ConfigResourceTypeBrokerLogger {
		return -1
	}
	id, err := strconv.ParseInt(name, 10, 32)
	if err != nil || id < 0 {
		return -1
	}
	return int32(id)
}
