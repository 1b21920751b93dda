package controller

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"kf/internal/format/kraftrec"
	"kf/internal/image"
	"kf/internal/logdir"
	"kf/internal/metalog"
	"kf/internal/wire"
)

// maxPartitions is how many partitions the topics of one request may have.
//
// Source: Kafka 4.4.0, ReplicationControlManager.java.
const maxPartitions = 10_000

// maxTopicName is the longest name of a topic.
const maxTopicName = 249

// CheckTopicName returns Kafka's message if a topic cannot have the name, "" if
// it can.
func CheckTopicName(name string) string {
	switch {
	case name == "":
		return "Topic name is invalid: the empty string is not allowed"
	case name == "." || name == "..":
		return fmt.Sprintf("Topic name is invalid: '%s' is not allowed", name)
	case len(name) > maxTopicName:
		return fmt.Sprintf("Topic name is invalid: the length of '%s' is longer than the max allowed length %d", name, maxTopicName)
	}
	for _, c := range []byte(name) {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '.', c == '_', c == '-':
		default:
			return fmt.Sprintf("Topic name is invalid: '%s' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'", name)
		}
	}
	return ""
}

// collision is what names must not have in common: names of metrics have
// underscores for dots.
func collision(name string) string { return strings.ReplaceAll(name, ".", "_") }

// colliding returns the names of the topics that could collide with others.
func (v view) colliding() map[string]string {
	names := map[string]string{}
	for t := range v.Topics() {
		if strings.ContainsAny(t.Name, "._") {
			names[collision(t.Name)] = t.Name
		}
	}
	return names
}

// CreateTopics answers the request in its version. One topic that cannot be made
// does not stop the others.
func (c *Controller) CreateTopics(ctx context.Context, req *kmsg.CreateTopicsRequest) *kmsg.CreateTopicsResponse {
	res := req.ResponseKind().(*kmsg.CreateTopicsResponse)
	seen := map[string]int{}
	for _, t := range req.Topics {
		if seen[t.Topic]++; seen[t.Topic] == 1 {
			answered := kmsg.NewCreateTopicsResponseTopic()
			answered.Topic = t.Topic
			answered.Configs = []kmsg.CreateTopicsResponseTopicConfig{}
			res.Topics = append(res.Topics, answered)
		}
	}
	fail := func(err error) {
		for i := range res.Topics {
			t := kmsg.NewCreateTopicsResponseTopic()
			t.Topic, t.Configs = res.Topics[i].Topic, []kmsg.CreateTopicsResponseTopicConfig{}
			t.ErrorCode, t.ErrorMessage = answer(err)
			res.Topics[i] = t
		}
	}
	if req.TimeoutMillis <= 0 {
		fail(&Error{Code: kerr.RequestTimedOut})
		return res
	}
	err := c.change(ctx, func(v view) ([]any, error) {
		if err := c.checkPartitions(req); err != nil {
			return nil, err
		}
		var names map[string]string // that could collide
		var records []any
		next := 0
		for _, t := range req.Topics {
			if seen[t.Topic] < 0 {
				continue // answered as a duplicate
			}
			answered := &res.Topics[next]
			next++
			if names == nil && strings.ContainsAny(t.Topic, "._") {
				names = v.colliding()
			}
			made, err := c.createTopic(v, t, answered, seen[t.Topic] > 1, names)
			if seen[t.Topic] > 1 {
				seen[t.Topic] = -1
			}
			answered.ErrorCode, answered.ErrorMessage = answer(err)
			records = append(records, made...)
		}
		if req.ValidateOnly {
			return nil, nil
		}
		return records, nil
	})
	if err != nil {
		fail(err)
	}
	return res
}

func (c *Controller) checkPartitions(req *kmsg.CreateTopicsRequest) error {
	total := int64(0)
	for _, t := range req.Topics {
		switch {
		case len(t.ReplicaAssignment) > 0:
			total += int64(len(t.ReplicaAssignment))
		case t.NumPartitions == -1:
			total += int64(c.o.numPartitions())
		case t.NumPartitions > 0:
			total += int64(t.NumPartitions)
		}
	}
	if total > maxPartitions {
		return &Error{kerr.PolicyViolation, "Excessively large number of partitions per request."}
	}
	return nil
}

func (o *Options) numPartitions() int32 { return max(1, o.NumPartitions) }

func (o *Options) replicationFactor() int16 { return max(1, o.DefaultReplicationFactor) }

// createTopic returns the records that make a topic, and fills in the answer.
func (c *Controller) createTopic(v view, t kmsg.CreateTopicsRequestTopic, answered *kmsg.CreateTopicsResponseTopic, duplicate bool, names map[string]string) ([]any, error) {
	if err := v.checkNewTopic(t.Topic, duplicate, names); err != nil {
		return nil, err
	}
	configs, configRecords, err := v.newConfigs(t)
	if err != nil {
		return nil, err
	}
	partitions, err := c.newPartitions(v, t)
	if err != nil {
		return nil, err
	}
	id := metalog.RandomID()
	records := append([]any{&kraftrec.TopicRecord{Name: t.Topic, TopicID: id}}, configRecords...)
	for _, p := range partitions {
		records = append(records, p.Record(id, v.MetadataVersion()))
	}
	answered.TopicID = id
	answered.NumPartitions, answered.ReplicationFactor = int32(len(partitions)), int16(len(partitions[0].Replicas))
	if v.configs.DescribeTopic != nil {
		answered.Configs = v.configs.DescribeTopic(v.Image, configs)
	}
	return records, nil
}

// checkNewTopic checks the name of a new topic; names has those of topics that
// it could collide with.
func (v view) checkNewTopic(name string, duplicate bool, names map[string]string) error {
	message := CheckTopicName(name)
	switch {
	case duplicate:
		return &Error{kerr.InvalidRequest, "Duplicate topic name."}
	case name == logdir.TopicClusterMetadata:
		return &Error{kerr.InvalidRequest, "Creation of internal topic " + name + " is prohibited."}
	case v.Topic(name) != nil:
		return &Error{kerr.TopicAlreadyExists, "Topic '" + name + "' already exists."}
	case message != "":
		return &Error{kerr.InvalidTopicException, message}
	}
	if other, ok := names[collision(name)]; ok && strings.ContainsAny(name, "._") {
		return &Error{kerr.InvalidTopicException, "Topic '" + name + "' collides with existing topic: " + other}
	}
	return nil
}

// newConfigs returns the configurations of a new topic and their records.
func (v view) newConfigs(t kmsg.CreateTopicsRequestTopic) (map[string]string, []any, error) {
	configs := map[string]string{}
	var null []string
	for _, c := range t.Configs {
		if c.Value == nil {
			null = append(null, c.Name)
		} else {
			configs[c.Name] = *c.Value
		}
	}
	if len(null) > 0 {
		return nil, nil, &Error{kerr.InvalidConfig, "Null value not supported for topic configs: " + strings.Join(null, ",")}
	}
	var ops []configOp
	for _, name := range slices.Sorted(maps.Keys(configs)) {
		ops = append(ops, configOp{name: name, op: kmsg.IncrementalAlterConfigOpSet, value: new(configs[name])})
	}
	records, err := v.alterConfigs(image.Resource{Type: image.TopicResource, Name: t.Topic}, ops)
	return configs, records, err
}

// newRandom returns what chooses where partitions go.
func newRandom() *rand.Rand { return rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64())) }

// newPartitions returns the partitions of a new topic.
func (c *Controller) newPartitions(v view, t kmsg.CreateTopicsRequestTopic) ([]*image.Partition, error) {
	if len(t.ReplicaAssignment) > 0 {
		switch {
		case t.ReplicationFactor != -1:
			return nil, &Error{kerr.InvalidRequest, "A manual partition assignment was specified, but replication factor was not set to -1."}
		case t.NumPartitions != -1:
			return nil, &Error{kerr.InvalidRequest, "A manual partition assignment was specified, but numPartitions was not set to -1."}
		}
		replicas := map[int32][]int32{}
		factor := 0
		for _, a := range t.ReplicaAssignment {
			if _, ok := replicas[a.Partition]; ok {
				return nil, &Error{kerr.InvalidReplicaAssignment, fmt.Sprintf("Found multiple manual partition assignments for partition %d", a.Partition)}
			}
			if err := v.checkAssignment(a.Replicas, factor); err != nil {
				return nil, err
			}
			factor = len(a.Replicas)
			replicas[a.Partition] = a.Replicas
		}
		return v.assignment(replicas)
	}
	switch {
	case t.ReplicationFactor < -1 || t.ReplicationFactor == 0:
		return nil, &Error{kerr.InvalidReplicationFactor, "Replication factor must be larger than 0, or -1 to use the default value."}
	case t.NumPartitions < -1 || t.NumPartitions == 0:
		return nil, &Error{kerr.InvalidPartitions, "Number of partitions was set to an invalid non-positive value."}
	}
	partitions, factor := t.NumPartitions, t.ReplicationFactor
	if partitions == -1 {
		partitions = c.o.numPartitions()
	}
	if factor == -1 {
		factor = c.o.replicationFactor()
	}
	return v.placement(newRandom(), 0, partitions, factor)
}

// DeleteTopics answers the request in its version, of which those below 6 name
// topics in TopicNames.
//
// Source: Kafka 4.4.0, ControllerApis.scala, deleteTopics.
func (c *Controller) DeleteTopics(ctx context.Context, req *kmsg.DeleteTopicsRequest) *kmsg.DeleteTopicsResponse {
	res := req.ResponseKind().(*kmsg.DeleteTopicsResponse)
	wanted := req.Topics
	for _, name := range req.TopicNames {
		wanted = append(wanted, kmsg.DeleteTopicsRequestTopic{Topic: &name})
	}
	for _, t := range wanted {
		answered := kmsg.NewDeleteTopicsResponseTopic()
		answered.Topic, answered.TopicID = t.Topic, t.TopicID
		if !slices.ContainsFunc(res.Topics, sameTopic(answered)) {
			res.Topics = append(res.Topics, answered)
		}
	}
	fail := func(err error) {
		for i := range res.Topics {
			res.Topics[i].ErrorCode, res.Topics[i].ErrorMessage = answer(err)
		}
	}
	if req.TimeoutMillis <= 0 {
		fail(&Error{Code: kerr.RequestTimedOut})
		return res
	}
	err := c.change(ctx, func(v view) ([]any, error) {
		d := deletion{v: v, times: map[wire.UUID]int{}}
		for _, t := range wanted {
			if found := d.find(t); found != nil {
				d.times[found.ID]++
			}
		}
		var records []any
		for i := range res.Topics {
			t := &res.Topics[i]
			record, err := d.remove(t, wanted)
			if t.ErrorCode, t.ErrorMessage = answer(err); err == nil {
				records = append(records, record)
			}
		}
		return records, nil
	})
	if err != nil {
		fail(err)
	}
	return res
}

func sameTopic(a kmsg.DeleteTopicsResponseTopic) func(kmsg.DeleteTopicsResponseTopic) bool {
	return func(b kmsg.DeleteTopicsResponseTopic) bool {
		if a.TopicID != b.TopicID || (a.Topic == nil) != (b.Topic == nil) {
			return false
		}
		return a.Topic == nil || *a.Topic == *b.Topic
	}
}

// A deletion finds the topics of a request to delete some.
type deletion struct {
	v     view
	times map[wire.UUID]int // how often the request means a topic
}

// find returns the topic that is meant, nil if there is none or it is not said.
func (d *deletion) find(t kmsg.DeleteTopicsRequestTopic) *image.Topic {
	switch id := wire.UUID(t.TopicID); {
	case t.Topic != nil && id.IsZero():
		return d.v.Topic(*t.Topic)
	case t.Topic == nil:
		return d.v.TopicByID(id)
	}
	return nil
}

// remove returns the record that deletes a topic, and fills in its name and id.
func (d *deletion) remove(t *kmsg.DeleteTopicsResponseTopic, wanted []kmsg.DeleteTopicsRequestTopic) (any, error) {
	id := wire.UUID(t.TopicID)
	switch {
	case t.Topic == nil && id.IsZero():
		return nil, &Error{kerr.InvalidRequest, "Neither topic name nor id were specified."}
	case t.Topic != nil && !id.IsZero():
		return nil, &Error{kerr.InvalidRequest, "You may not specify both topic name and topic id."}
	}
	found := d.find(kmsg.DeleteTopicsRequestTopic{Topic: t.Topic, TopicID: t.TopicID})
	same := 0
	for _, w := range wanted {
		if sameTopic(*t)(kmsg.DeleteTopicsResponseTopic{Topic: w.Topic, TopicID: w.TopicID}) {
			same++
		}
	}
	switch {
	case same > 1 && t.Topic != nil:
		return nil, &Error{kerr.InvalidRequest, "Duplicate topic name."}
	case same > 1:
		return nil, &Error{kerr.InvalidRequest, "Duplicate topic id."}
	case found == nil && t.Topic != nil:
		return nil, &Error{kerr.UnknownTopicOrPartition, "This server does not host this topic-partition."}
	case found == nil:
		return nil, &Error{kerr.UnknownTopicID, "This server does not host this topic ID."}
	case d.times[found.ID] > 1:
		return nil, &Error{kerr.InvalidRequest, "The provided topic name maps to an ID that was already supplied."}
	}
	t.Topic, t.TopicID = &found.Name, found.ID
	return &kraftrec.RemoveTopicRecord{TopicID: found.ID}, nil
}
