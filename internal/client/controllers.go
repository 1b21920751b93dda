package client

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"sync"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// controllers sends requests to the controllers of a cluster (KIP-919). They serve
// no metadata, from which franz-go knows where to send what: each request goes to
// the active one, which the first that answers names.
type controllers struct {
	kgo *kgo.Client

	mu    sync.Mutex
	found *Nodes
	order []int32 // ids of the seeds of kgo: the active controller first
}

// Request sends a request to the active controller.
func (c *controllers) Request(ctx context.Context, q kmsg.Request) (kmsg.Response, error) {
	if _, err := c.find(ctx); err != nil {
		return nil, err
	}
	return c.kgo.SeedBrokers()[0].RetriableRequest(ctx, q)
}

// node returns who sends requests to one controller.
func (c *controllers) node(ctx context.Context, id int32) (kmsg.Requestor, error) {
	if _, err := c.find(ctx); err != nil {
		return nil, err
	}
	i := slices.Index(c.order, id)
	if i < 0 {
		return nil, fmt.Errorf("%w %d", ErrUnknownNode, id)
	}
	return c.kgo.SeedBrokers()[i], nil
}

// find returns the controllers.
func (c *controllers) find(ctx context.Context) (*Nodes, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.found != nil {
		return c.found, nil
	}
	nodes, err := describeControllers(ctx, c.kgo.SeedBrokers()[0])
	if err != nil {
		return nil, err
	}
	var (
		order     []int32
		addresses []string
	)
	for _, n := range nodes.Nodes {
		address := net.JoinHostPort(n.Host, strconv.Itoa(int(n.Port)))
		if n.ID == nodes.Controller {
			order, addresses = slices.Insert(order, 0, n.ID), slices.Insert(addresses, 0, address)
		} else {
			order, addresses = append(order, n.ID), append(addresses, address)
		}
	}
	if err := c.kgo.UpdateSeedBrokers(addresses...); err != nil {
		return nil, err
	}
	c.found, c.order = nodes, order
	return nodes, nil
}

func describeControllers(ctx context.Context, seed *kgo.Broker) (*Nodes, error) {
	const controllerEndpoints = 2
	q := kmsg.NewPtrDescribeClusterRequest()
	q.EndpointType = controllerEndpoints
	r, err := q.RequestWith(ctx, seed)
	switch {
	case err != nil:
		return nil, err
	case r.ErrorCode == kerr.MismatchedEndpointType.Code:
		return nil, errors.New("a broker answers there, not a controller: brokers are reached with --bootstrap-server")
	case r.ErrorCode != 0:
		return nil, answerError(r.ErrorCode, r.ErrorMessage)
	case r.Version < 1:
		return nil, errors.New("the controller is older than 3.7, whose controllers were the first to talk to clients: use --bootstrap-server")
	}
	nodes := nodesOf(r)
	if !slices.ContainsFunc(nodes.Nodes, func(n Node) bool { return n.ID == nodes.Controller }) {
		return nil, errors.New("the controller knows of no active one: try again when one is elected")
	}
	return nodes, nil
}
