// Package client makes clients of Kafka clusters from the properties that Java
// clients take, asks what the admin client of franz-go does not, and says why a
// cluster cannot be reached in words that help.
package client

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// Options are the inputs of [New].
type Options struct {
	Properties Properties
	Version    string        // of kf, which brokers see
	Timeout    time.Duration // how long a cluster may take for an answer, retries included
}

// A Client administers one cluster. It is safe for concurrent use.
type Client struct {
	*kadm.Client
	kgo     *kgo.Client
	seeds   []string
	timeout time.Duration
	groups  knownGroups

	controllers *controllers // nil: it talks to brokers
	version     string       // of kf, as brokers take it
}

// New returns a client. It connects when it is first used: only what is wrong with
// the properties is found here.
func New(opt Options) (*Client, error) {
	opts, seeds, err := opt.kgo()
	if err != nil {
		return nil, err
	}
	cl, err := kgo.NewClient(opts...)
	if err != nil {
		return nil, err
	}
	adm := kadm.NewClient(cl)
	c := &Client{Client: adm, kgo: cl, seeds: seeds, timeout: opt.Timeout, version: softwareVersion(opt.Version)}
	if opt.Properties.Get(BootstrapControllers) != "" {
		c.controllers = &controllers{kgo: cl, seeds: seeds}
	}
	adm.SetTimeoutMillis(c.timeoutMillis())
	return c, nil
}

// timeoutMillis is the time that a request may give the brokers for its work.
func (c *Client) timeoutMillis() int32 { return int32(min(c.timeout.Milliseconds(), 1<<31-1)) }

// Kgo returns the client underneath, for requests that have no method.
func (c *Client) Kgo() *kgo.Client { return c.kgo }

// Seeds returns the addresses that were given, "host:port,host:port".
func (c *Client) Seeds() string { return strings.Join(c.seeds, ",") }

// Deadline returns a context that ends when the cluster has had its time for an
// answer.
func (c *Client) Deadline(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, c.timeout, fmt.Errorf("no answer within %v: %w", c.timeout, context.DeadlineExceeded))
}
