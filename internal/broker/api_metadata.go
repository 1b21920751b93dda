package broker

import (
	"context"
	"math"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"kf/internal/coordinator/group"
	"kf/internal/image"
	"kf/internal/wire"
)

// Metadata, key 3, versions 0 to 13, and DescribeCluster, key 60, versions 0 to
// 2.
//
// Deviation from Kafka 4.4.0: a topic that is made because a client asks for it
// is there when the answer is sent, which says UNKNOWN_TOPIC_OR_PARTITION all
// the same, as Kafka's first answer does. Of internal topics only that of groups is
// made this way, as the other coordinators are not there yet.

// What a client may do where there is no authorizer, as bits of ACL operations.
const (
	topicOperations   = 0x0df8 // read, write, create, delete, alter, describe, describe and alter configs
	groupOperations   = 0x0d48 // read, delete, describe, describe and alter configs
	clusterOperations = 0x1fa0 // create, alter, describe, cluster action, describe and alter configs, idempotent write
)

// autoCreateTimeout is how long a client waits for a topic to be made.
const autoCreateTimeout = 30 * time.Second

func (b *Broker) metadata(c *call, q *kmsg.MetadataRequest) kmsg.Response {
	answer := q.ResponseKind().(*kmsg.MetadataResponse)
	answer.ControllerID, answer.AuthorizedOperations = -1, math.MinInt32
	if code := checkMetadata(q); code != 0 {
		for _, t := range q.Topics {
			to := unknownTopic(t.Topic, t.TopicID, code)
			if to.Topic == nil {
				to.Topic = kmsg.StringPtr("")
			}
			answer.Topics = append(answer.Topics, to)
		}
		return answer
	}
	listener := c.conn.listener.name
	im := b.image.Load()
	switch {
	case q.Topics == nil || q.Version == 0 && len(q.Topics) == 0:
		for t := range im.Topics() {
			answer.Topics = append(answer.Topics, describeTopic(im, t, listener, q.IncludeTopicAuthorizedOperations))
		}
	default:
		create := (q.AllowAutoTopicCreation || q.Version < 4) && b.autoCreate
		for _, t := range askedTopics(q) {
			answer.Topics = append(answer.Topics, b.askedTopic(im, t, listener, create, q.IncludeTopicAuthorizedOperations))
		}
	}
	for _, e := range aliveBrokers(im, listener) {
		to := kmsg.NewMetadataResponseBroker()
		to.NodeID, to.Host, to.Port, to.Rack = e.id, e.host, e.port, e.rack
		answer.Brokers = append(answer.Brokers, to)
		if answer.ControllerID == -1 {
			answer.ControllerID = e.id
		}
	}
	answer.ClusterID = &b.clusterID
	if q.IncludeClusterAuthorizedOperations {
		answer.AuthorizedOperations = clusterOperations
	}
	return answer
}

// checkMetadata returns the error code of a request that names topics in a way
// that its version does not have.
func checkMetadata(q *kmsg.MetadataRequest) int16 {
	for _, t := range q.Topics {
		id := !wire.UUID(t.TopicID).IsZero()
		switch {
		case q.Version < 12 && (id || t.Topic == nil):
			return kerr.InvalidRequest.Code
		case !id && t.Topic == nil:
			return kerr.UnknownServerError.Code
		}
	}
	return 0
}

// askedTopics returns the topics that a request names, each once. Where one has an id
// only those with ids count, as clients send names that are empty beside them.
func askedTopics(q *kmsg.MetadataRequest) (asked []kmsg.MetadataRequestTopic) {
	byID := slices.ContainsFunc(q.Topics, func(t kmsg.MetadataRequestTopic) bool { return !wire.UUID(t.TopicID).IsZero() })
	type key struct {
		id   wire.UUID
		name string
	}
	seen := make(map[key]bool)
	for _, t := range q.Topics {
		k := key{id: t.TopicID}
		switch {
		case !byID:
			k.name = *t.Topic
		case k.id.IsZero():
			continue
		}
		if !seen[k] {
			seen[k] = true
			asked = append(asked, t)
		}
	}
	return asked
}

// askedTopic describes a topic that the request names.
func (b *Broker) askedTopic(im *image.Image, t kmsg.MetadataRequestTopic, listener string, create, operations bool) kmsg.MetadataResponseTopic {
	if id := wire.UUID(t.TopicID); !id.IsZero() {
		if known := im.TopicByID(id); known != nil {
			return describeTopic(im, known, listener, operations)
		}
		return unknownTopic(nil, t.TopicID, kerr.UnknownTopicID.Code)
	}
	if known := im.Topic(*t.Topic); known != nil {
		return describeTopic(im, known, listener, operations)
	}
	if checkTopicName(*t.Topic) != "" {
		return unknownTopic(t.Topic, t.TopicID, kerr.InvalidTopicException.Code)
	}
	if create && (*t.Topic == group.Topic || !internalTopic(*t.Topic)) {
		if code := b.createTopic(*t.Topic); code == kerr.InvalidTopicException.Code { // it collides with another one
			return unknownTopic(t.Topic, t.TopicID, code)
		}
	}
	return unknownTopic(t.Topic, t.TopicID, kerr.UnknownTopicOrPartition.Code)
}

func unknownTopic(name *string, id [16]byte, code int16) kmsg.MetadataResponseTopic {
	to := kmsg.NewMetadataResponseTopic()
	to.Topic, to.TopicID, to.ErrorCode = name, id, code
	to.IsInternal = name != nil && internalTopic(*name)
	return to
}

// createTopic makes a topic with the broker's defaults, or with those that the topic
// of the groups has.
func (b *Broker) createTopic(name string) int16 {
	q := kmsg.NewPtrCreateTopicsRequest()
	q.SetVersion(q.MaxVersion())
	t := kmsg.NewCreateTopicsRequestTopic()
	t.Topic, t.NumPartitions, t.ReplicationFactor = name, -1, -1
	if name == group.Topic {
		t = newGroupTopic(b.settings.Load(), b.image.Load())
	}
	q.Topics = append(q.Topics, t)
	ctx, cancel := context.WithTimeout(b.ctx, autoCreateTimeout)
	defer cancel()
	code := b.controller.CreateTopics(ctx, q).Topics[0].ErrorCode
	if code != 0 && code != kerr.TopicAlreadyExists.Code {
		b.log.Warn("a topic could not be created for a client that asked for it", "topic", name, "error", kerr.ErrorForCode(code))
	}
	return code
}

func describeTopic(im *image.Image, t *image.Topic, listener string, operations bool) kmsg.MetadataResponseTopic {
	to := kmsg.NewMetadataResponseTopic()
	to.Topic, to.TopicID = &t.Name, t.ID
	to.IsInternal = internalTopic(t.Name)
	if operations {
		to.AuthorizedOperations = topicOperations
	}
	to.Partitions = make([]kmsg.MetadataResponseTopicPartition, 0, t.Len())
	for p := range t.Partitions() {
		result := kmsg.NewMetadataResponseTopicPartition()
		result.Partition, result.Leader, result.LeaderEpoch = p.ID, p.Leader, p.LeaderEpoch
		result.Replicas, result.ISR = p.Replicas, p.ISR
		result.OfflineReplicas = offlineReplicas(im, p)
		if p.Leader == image.NoLeader {
			result.ErrorCode = kerr.LeaderNotAvailable.Code
		} else if _, ok := endpointOf(im.Broker(p.Leader), listener); !ok {
			result.ErrorCode, result.Leader = kerr.ListenerNotFound.Code, -1
		}
		to.Partitions = append(to.Partitions, result)
	}
	return to
}

// offlineReplicas returns the replicas of a partition whose broker is not there.
func offlineReplicas(im *image.Image, p *image.Partition) (offline []int32) {
	for _, id := range p.Replicas {
		if br := im.Broker(id); br == nil || br.Fenced {
			offline = append(offline, id)
		}
	}
	return offline
}

// aliveBrokers returns where clients of a listener reach the brokers that are
// not fenced.
func aliveBrokers(im *image.Image, listener string) []endpoint {
	return slices.DeleteFunc(allBrokers(im, listener), func(e endpoint) bool { return e.fenced })
}

func allBrokers(im *image.Image, listener string) []endpoint {
	var all []endpoint
	for br := range im.Brokers() {
		if e, ok := endpointOf(br, listener); ok {
			e.fenced = br.Fenced
			all = append(all, e)
		}
	}
	return all
}

func (b *Broker) describeCluster(c *call, q *kmsg.DescribeClusterRequest) kmsg.Response {
	const brokers, controllers = 1, 2
	answer := q.ResponseKind().(*kmsg.DescribeClusterResponse)
	answer.ControllerID, answer.ClusterAuthorizedOperations = -1, math.MinInt32
	answer.ClusterID, answer.EndpointType = b.clusterID, brokers
	switch {
	case q.Version < 1, q.EndpointType == brokers:
	case q.EndpointType == controllers:
		answer.ErrorCode = kerr.MismatchedEndpointType.Code
		answer.ErrorMessage = kmsg.StringPtr("The request was sent to an endpoint of type BROKER, but we wanted an endpoint of type CONTROLLER")
		return answer
	default:
		answer.ErrorCode = kerr.UnsupportedEndpointType.Code
		answer.ErrorMessage = kmsg.StringPtr("Unsupported endpoint type " + itoa(q.EndpointType))
		return answer
	}
	for _, e := range allBrokers(b.image.Load(), c.conn.listener.name) {
		if e.fenced && !q.IncludeFencedBrokers {
			continue
		}
		to := kmsg.NewDescribeClusterResponseBroker()
		to.NodeID, to.Host, to.Port, to.Rack, to.IsFenced = e.id, e.host, e.port, e.rack, e.fenced
		answer.Brokers = append(answer.Brokers, to)
		if answer.ControllerID == -1 && !e.fenced {
			answer.ControllerID = e.id
		}
	}
	if q.IncludeClusterAuthorizedOperations {
		answer.ClusterAuthorizedOperations = clusterOperations
	}
	return answer
}
