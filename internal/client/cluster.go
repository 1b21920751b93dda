package client

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// ErrUnknownNode says that the cluster has no node of an id.
var ErrUnknownNode = errors.New("there is no node")

// A Node is a broker, or a controller where the client talks to those.
type Node struct {
	ID     int32
	Host   string
	Port   int32
	Rack   *string
	Fenced bool // registered, but down or not ready: it leads nothing
}

// Nodes are those of a cluster that its clients can know of.
type Nodes struct {
	ClusterID string
	// Controller is the active controller if the client talks to controllers. Brokers
	// of KRaft do not say it, but name any broker that is up; see [Client.Quorum].
	Controller int32
	Nodes      []Node // by id
	// Fenced says that fenced brokers are among them if there are any: brokers before
	// 4.0 do not list them.
	Fenced bool
}

// to returns who sends requests to the cluster.
func (c *Client) to() kmsg.Requestor {
	if c.controllers != nil {
		return c.controllers
	}
	return c.kgo
}

// TalksToControllers reports whether requests go to controllers rather than brokers.
func (c *Client) TalksToControllers() bool { return c.controllers != nil }

// Nodes returns the nodes of the cluster; fenced adds the brokers that are fenced.
// It is one request.
func (c *Client) Nodes(ctx context.Context, fenced bool) (*Nodes, error) {
	if c.controllers != nil {
		return c.controllers.find(ctx)
	}
	q := kmsg.NewPtrDescribeClusterRequest()
	q.IncludeFencedBrokers = fenced
	r, err := q.RequestWith(ctx, c.kgo)
	switch {
	case Unsupported(err):
		return c.nodesOfMetadata(ctx)
	case err != nil:
		return nil, err
	case r.ErrorCode != 0:
		return nil, answerError(r.ErrorCode, r.ErrorMessage)
	}
	nodes := nodesOf(r)
	nodes.Fenced = fenced && r.Version >= 2
	return nodes, nil
}

func nodesOf(r *kmsg.DescribeClusterResponse) *Nodes {
	nodes := &Nodes{ClusterID: r.ClusterID, Controller: r.ControllerID}
	for _, b := range r.Brokers {
		nodes.Nodes = append(nodes.Nodes, Node{b.NodeID, b.Host, b.Port, b.Rack, b.IsFenced})
	}
	slices.SortFunc(nodes.Nodes, func(a, b Node) int { return cmp.Compare(a.ID, b.ID) })
	return nodes
}

// nodesOfMetadata is for brokers before 2.8.
func (c *Client) nodesOfMetadata(ctx context.Context) (*Nodes, error) {
	m, err := c.BrokerMetadata(ctx)
	if err != nil {
		return nil, err
	}
	nodes := &Nodes{ClusterID: m.Cluster, Controller: m.Controller}
	for _, b := range m.Brokers {
		nodes.Nodes = append(nodes.Nodes, Node{ID: b.NodeID, Host: b.Host, Port: b.Port, Rack: b.Rack})
	}
	slices.SortFunc(nodes.Nodes, func(a, b Node) int { return cmp.Compare(a.ID, b.ID) })
	return nodes, nil
}

// UnregisterBroker makes the cluster forget a broker, which is to be down for good.
func (c *Client) UnregisterBroker(ctx context.Context, id int32) error {
	q := kmsg.NewPtrUnregisterBrokerRequest()
	q.BrokerID = id
	r, err := q.RequestWith(ctx, c.to())
	if err != nil {
		return serves(q, err)
	}
	return answerError(r.ErrorCode, r.ErrorMessage)
}

// UnregisterController makes the cluster forget a controller that is no voter.
func (c *Client) UnregisterController(ctx context.Context, id int32) error {
	q := kmsg.NewPtrUnregisterControllerRequest()
	q.ControllerID = id
	r, err := q.RequestWith(ctx, c.to())
	if err != nil {
		return serves(q, err)
	}
	return answerError(r.ErrorCode, r.ErrorMessage)
}
