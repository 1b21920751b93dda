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
	kgo   *kgo.Client
	seeds []string

	mu    sync.Mutex
	found *Nodes // as the seeds of kgo are: the active controller first
}

// Request sends a request to the active controller.
func (c *controllers) Request(ctx context.Context, q kmsg.Request) (kmsg.Response, error) {
	if _, err := c.find(ctx); err != nil {
		return nil, err
	}
	return c.kgo.SeedBrokers()[0].RetriableRequest(ctx, q)
}

// node returns who sends requests to one controller, nil if there is no such.
func (c *controllers) node(ctx context.Context, id int32) (kmsg.Requestor, error) {
	nodes, err := c.find(ctx)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(nodes.Nodes, func(n Node) bool { return n.ID == id })
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
	var errs []error
	for i, seed := range c.kgo.SeedBrokers() {
		nodes, err := describeControllers(ctx, seed)
		if err != nil {
			errs = append(errs, fmt.Errorf("controller at %s: %w", c.seeds[i], err))
			continue
		}
		var addresses []string
		for _, n := range nodes.Nodes {
			addresses = append(addresses, net.JoinHostPort(n.Host, strconv.Itoa(int(n.Port))))
		}
		if !slices.Equal(addresses, c.seeds) {
			if err := c.kgo.UpdateSeedBrokers(addresses...); err != nil {
				return nil, err
			}
		}
		c.found = nodes
		return nodes, nil
	}
	return nil, errors.Join(errs...)
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
		return nil, errors.New("that is a broker, not a controller: brokers are reached with --bootstrap-server")
	case r.ErrorCode != 0:
		return nil, answerError(r.ErrorCode, r.ErrorMessage)
	case r.Version < 1:
		return nil, errors.New("it is older than 3.7, whose controllers were the first to talk to clients: use --bootstrap-server")
	}
	nodes := nodesOf(r)
	slices.SortStableFunc(nodes.Nodes, func(a, b Node) int {
		switch nodes.Controller {
		case a.ID:
			return -1
		case b.ID:
			return 1
		}
		return 0
	})
	if len(nodes.Nodes) == 0 || nodes.Nodes[0].ID != nodes.Controller {
		return nil, errors.New("it knows of no active controller: try again when one is elected")
	}
	return nodes, nil
}
