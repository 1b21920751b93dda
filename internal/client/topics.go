package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"kf/internal/wire"
)

// A Topic is what brokers say of a topic.
type Topic struct {
	Name       string
	ID         wire.UUID // zero from brokers before 2.8
	Internal   bool      // Kafka keeps it for itself
	Partitions []Partition
	Err        error // why nothing else is known of it
}

// Replicas returns the replication factor: that of the first partition, as Kafka's
// tools have it, 0 if no partition is known.
func (t *Topic) Replicas() int {
	if len(t.Partitions) == 0 {
		return 0
	}
	return len(t.Partitions[0].Replicas)
}

// A Partition is what brokers say of a partition. Replicas are ids of brokers.
type Partition struct {
	ID          int32
	Leader      int32 // -1: none
	LeaderEpoch int32 // -1: unknown
	Replicas    []int32
	ISR         []int32
	Offline     []int32 // replicas whose broker or log directory is down
	// Eligible leader replicas, and the last leader or those that were eligible when
	// none is left (KIP-966); nil if nobody said.
	ELR, LastKnownELR []int32
}

// A Cluster is the answer to a question for topics.
type Cluster struct {
	ID      string
	Brokers kadm.BrokerDetails // those that are up, by id
	Topics  []Topic            // by name
}

// Topics asks one broker for topics, for all if names is nil, and for none, but the
// brokers, if it is empty. A topic that there is not has Err
// [kerr.UnknownTopicOrPartition]; no topic is created. It is one request.
func (c *Client) Topics(ctx context.Context, names []string) (*Cluster, error) {
	q := kmsg.NewPtrMetadataRequest()
	if names != nil {
		q.Topics = []kmsg.MetadataRequestTopic{}
	}
	for _, name := range names {
		t := kmsg.NewMetadataRequestTopic()
		t.Topic = &name
		q.Topics = append(q.Topics, t)
	}
	r, err := q.RequestWith(ctx, c.kgo)
	if err != nil {
		return nil, err
	}
	if err := kerr.ErrorForCode(r.ErrorCode); err != nil {
		return nil, err
	}
	return clusterOf(r), nil
}

func clusterOf(r *kmsg.MetadataResponse) *Cluster {
	cluster := new(Cluster)
	if r.ClusterID != nil {
		cluster.ID = *r.ClusterID
	}
	for _, b := range r.Brokers {
		cluster.Brokers = append(cluster.Brokers, kadm.BrokerDetail{NodeID: b.NodeID, Host: b.Host, Port: b.Port, Rack: b.Rack})
	}
	slices.SortFunc(cluster.Brokers, func(a, b kadm.BrokerDetail) int { return cmp.Compare(a.NodeID, b.NodeID) })
	for i := range r.Topics {
		t := &r.Topics[i]
		to := Topic{ID: t.TopicID, Internal: t.IsInternal, Err: kerr.ErrorForCode(t.ErrorCode)}
		if t.Topic != nil {
			to.Name = *t.Topic
		}
		for _, p := range t.Partitions {
			to.Partitions = append(to.Partitions, Partition{
				ID: p.Partition, Leader: p.Leader, LeaderEpoch: p.LeaderEpoch,
				Replicas: p.Replicas, ISR: p.ISR, Offline: p.OfflineReplicas,
			})
		}
		sortPartitions(&to)
		cluster.Topics = append(cluster.Topics, to)
	}
	slices.SortFunc(cluster.Topics, func(a, b Topic) int { return strings.Compare(a.Name, b.Name) })
	return cluster
}

func sortPartitions(t *Topic) {
	slices.SortFunc(t.Partitions, func(a, b Partition) int { return cmp.Compare(a.ID, b.ID) })
}

// DescribeTopics is Topics with what only brokers from 3.8 on tell, the eligible
// leader replicas, see [Unsupported]. It asks for a page at a time.
func (c *Client) DescribeTopics(ctx context.Context, names []string) ([]Topic, error) {
	var all []Topic
	if len(names) == 0 { // for the broker that would be all
		return all, nil
	}
	q := kmsg.NewPtrDescribeTopicPartitionsRequest()
	for _, name := range slices.Sorted(slices.Values(names)) {
		t := kmsg.NewDescribeTopicPartitionsRequestTopic()
		t.Topic = name
		q.Topics = append(q.Topics, t)
	}
	for {
		r, err := q.RequestWith(ctx, inTurn{c})
		if err != nil {
			return nil, serves(q, err)
		}
		for i := range r.Topics {
			t := describedTopic(&r.Topics[i])
			if last := len(all) - 1; last >= 0 && all[last].Name == t.Name {
				all[last].Partitions = append(all[last].Partitions, t.Partitions...)
			} else {
				all = append(all, t)
			}
		}
		next := r.NextCursor
		if next == nil {
			break
		}
		if q.Cursor != nil && cmp.Or(strings.Compare(next.Topic, q.Cursor.Topic), cmp.Compare(next.Partition, q.Cursor.Partition)) <= 0 {
			return nil, fmt.Errorf("the broker's pages of topics come to no end, at %s-%d", next.Topic, next.Partition)
		}
		q.Cursor = &kmsg.DescribeTopicPartitionsRequestCursor{Topic: next.Topic, Partition: next.Partition}
		// What is behind us need not be sent again.
		at, _ := slices.BinarySearchFunc(q.Topics, next.Topic, func(t kmsg.DescribeTopicPartitionsRequestTopic, name string) int {
			return strings.Compare(t.Topic, name)
		})
		q.Topics = q.Topics[at:]
	}
	for i := range all {
		sortPartitions(&all[i])
	}
	return all, nil
}

func describedTopic(t *kmsg.DescribeTopicPartitionsResponseTopic) Topic {
	to := Topic{ID: t.TopicID, Internal: t.IsInternal, Err: kerr.ErrorForCode(t.ErrorCode)}
	if t.Topic != nil {
		to.Name = *t.Topic
	}
	for _, p := range t.Partitions {
		to.Partitions = append(to.Partitions, Partition{
			ID: p.Partition, Leader: p.LeaderID, LeaderEpoch: p.LeaderEpoch,
			Replicas: p.Replicas, ISR: p.ISR, Offline: p.OfflineReplicas,
			ELR: p.EligibleLeaderReplicas, LastKnownELR: p.LastKnownELR,
		})
	}
	return to
}

// inTurn asks one broker after the other, from any of them on, until one can be
// reached. franz-go shares its turn with all that is asked at the same time, and may
// come back to one that is down until its patience ends.
type inTurn struct{ c *Client }

func (t inTurn) Request(ctx context.Context, q kmsg.Request) (r kmsg.Response, err error) {
	brokers := t.c.kgo.DiscoveredBrokers()
	if len(brokers) == 0 {
		return t.c.kgo.Request(ctx, q)
	}
	first := rand.IntN(len(brokers))
	for i := range brokers {
		some, cancel := patience(ctx)
		r, err = brokers[(first+i)%len(brokers)].Request(some, q)
		late := some.Err() != nil
		if err != nil && late {
			err = context.Cause(some)
		}
		cancel()
		if _, lost := errors.AsType[net.Error](err); err == nil || !lost && !late || ctx.Err() != nil {
			break
		}
	}
	return r, err
}

// A Reassignment is what goes on with the replicas of a partition that moves.
type Reassignment struct{ Adding, Removing []int32 }

// Reassignments asks the controller which partitions move between brokers. The error
// comes soon enough to do without the answer.
func (c *Client) Reassignments(ctx context.Context) (map[string]map[int32]Reassignment, error) {
	ctx, cancel := patience(ctx)
	defer cancel()
	q := kmsg.NewPtrListPartitionReassignmentsRequest()
	q.TimeoutMillis = c.timeoutMillis()
	r, err := q.RequestWith(ctx, c.kgo)
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, serves(q, err)
	case r.ErrorCode != 0:
		return nil, answerError(r.ErrorCode, r.ErrorMessage)
	}
	moving := make(map[string]map[int32]Reassignment)
	for _, t := range r.Topics {
		moving[t.Topic] = make(map[int32]Reassignment)
		for _, p := range t.Partitions {
			moving[t.Topic][p.Partition] = Reassignment{p.AddingReplicas, p.RemovingReplicas}
		}
	}
	return moving, nil
}

// AwaitTopics returns when all brokers that can be asked know of the topics what
// ready wants, for a change of them reaches one broker after the other. It fails with
// the error of the context.
func (c *Client) AwaitTopics(ctx context.Context, names []string, ready func([]Topic) bool) error {
	if len(names) == 0 {
		return nil
	}
	q := kmsg.NewPtrMetadataRequest()
	for _, name := range names {
		t := kmsg.NewMetadataRequestTopic()
		t.Topic = &name
		q.Topics = append(q.Topics, t)
	}
	cluster, err := c.Topics(ctx, []string{})
	if err != nil {
		return err
	}
	for _, b := range cluster.Brokers {
		for wait := 20 * time.Millisecond; ; wait = min(2*wait, time.Second) {
			r, err := q.RequestWith(ctx, c.kgo.Broker(int(b.NodeID)))
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if err != nil { // a broker that went away meanwhile misleads nobody
				break
			}
			if ready(clusterOf(r).Topics) {
				break
			}
			select {
			case <-ctx.Done():
				return context.Cause(ctx)
			case <-time.After(wait):
			}
		}
	}
	return nil
}

// NewTopic is a topic to be made. Assignment is nil to let the cluster place the
// replicas.
type NewTopic struct {
	Name        string
	Partitions  int32 // -1: as many as the brokers' default
	Replication int16 // -1: as the brokers' default
	Assignment  [][]int32
	Configs     map[string]string
}

// A CreatedTopic is what the cluster says of a topic that it made, or would make.
type CreatedTopic struct {
	Name        string
	ID          wire.UUID // zero if it was not made
	Partitions  int32     // -1: the brokers do not tell
	Replication int16     // -1: the brokers do not tell
	Err         error     // in the words of the broker
}

// CreateTopics makes topics by one request; validate only asks whether it could. The
// answer has them in the order of the question.
func (c *Client) CreateTopics(ctx context.Context, validate bool, topics []NewTopic) ([]CreatedTopic, error) {
	q := kmsg.NewPtrCreateTopicsRequest()
	q.TimeoutMillis, q.ValidateOnly = c.timeoutMillis(), validate
	for _, t := range topics {
		to := kmsg.NewCreateTopicsRequestTopic()
		to.Topic, to.NumPartitions, to.ReplicationFactor = t.Name, t.Partitions, t.Replication
		if t.Assignment != nil {
			to.NumPartitions, to.ReplicationFactor = -1, -1
		}
		for i, replicas := range t.Assignment {
			a := kmsg.NewCreateTopicsRequestTopicReplicaAssignment()
			a.Partition, a.Replicas = int32(i), replicas
			to.ReplicaAssignment = append(to.ReplicaAssignment, a)
		}
		for key, value := range t.Configs {
			e := kmsg.NewCreateTopicsRequestTopicConfig()
			e.Name, e.Value = key, &value
			to.Configs = append(to.Configs, e)
		}
		slices.SortFunc(to.Configs, func(a, b kmsg.CreateTopicsRequestTopicConfig) int { return strings.Compare(a.Name, b.Name) })
		q.Topics = append(q.Topics, to)
	}
	r, err := q.RequestWith(ctx, c.kgo)
	if err != nil {
		return nil, err
	}
	answered := make(map[string]CreatedTopic)
	for _, t := range r.Topics {
		answered[t.Topic] = CreatedTopic{t.Topic, t.TopicID, t.NumPartitions, t.ReplicationFactor, answerError(t.ErrorCode, t.ErrorMessage)}
	}
	all := make([]CreatedTopic, len(topics))
	for i, t := range topics {
		created, ok := answered[t.Name]
		if !ok {
			created = CreatedTopic{Name: t.Name, Partitions: -1, Replication: -1, Err: errNoAnswer}
		}
		all[i] = created
	}
	return all, nil
}

// NewPartitions raises the number of partitions of a topic. Assignment places those
// that are added; nil lets the cluster do it.
type NewPartitions struct {
	Topic      string
	Count      int32 // those that there are included
	Assignment [][]int32
}

// AddPartitions raises numbers of partitions by one request; validate only asks
// whether it could. The answer has an error for each topic, nil for success.
func (c *Client) AddPartitions(ctx context.Context, validate bool, topics []NewPartitions) (map[string]error, error) {
	q := kmsg.NewPtrCreatePartitionsRequest()
	q.TimeoutMillis, q.ValidateOnly = c.timeoutMillis(), validate
	answer := make(map[string]error)
	for _, t := range topics {
		to := kmsg.NewCreatePartitionsRequestTopic()
		to.Topic, to.Count = t.Topic, t.Count
		for _, replicas := range t.Assignment {
			a := kmsg.NewCreatePartitionsRequestTopicAssignment()
			a.Replicas = replicas
			to.Assignment = append(to.Assignment, a)
		}
		q.Topics = append(q.Topics, to)
		answer[t.Topic] = errNoAnswer
	}
	r, err := q.RequestWith(ctx, c.kgo)
	if err != nil {
		return nil, err
	}
	for _, t := range r.Topics {
		answer[t.Topic] = answerError(t.ErrorCode, t.ErrorMessage)
	}
	return answer, nil
}

// RemoveTopics deletes topics by one request. The answer has an error for each, nil
// for success.
func (c *Client) RemoveTopics(ctx context.Context, names []string) (map[string]error, error) {
	q := kmsg.NewPtrDeleteTopicsRequest()
	q.TimeoutMillis = c.timeoutMillis()
	answer := make(map[string]error)
	for _, name := range names {
		to := kmsg.NewDeleteTopicsRequestTopic()
		to.Topic = &name
		q.Topics = append(q.Topics, to)
		answer[name] = errNoAnswer
	}
	q.TopicNames = names // what brokers before 2.7 are sent
	r, err := q.RequestWith(ctx, c.kgo)
	if err != nil {
		return nil, err
	}
	for _, t := range r.Topics {
		if t.Topic != nil {
			answer[*t.Topic] = answerError(t.ErrorCode, t.ErrorMessage)
		}
	}
	return answer, nil
}

// Unsupported reports whether err says that the brokers do not have the API that was
// asked, or not in the version that it needs.
func Unsupported(err error) bool {
	if _, ok := errors.AsType[*UnsupportedError](err); ok {
		return true
	}
	// franz-go knows this from ApiVersions before it asks, and has no name for it.
	return err != nil && (errors.Is(err, kerr.UnsupportedVersion) || strings.Contains(err.Error(), "broker is too old; "))
}
