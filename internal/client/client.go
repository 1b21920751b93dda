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
	Version    string              // of kf, which brokers see
	Getenv     func(string) string // for the references of config.providers; nil: there are none

	// Controllers allows bootstrap.controllers: the caller asks only what controllers
	// answer too.
	Controllers bool

	// Timeout is how long a cluster may take for an answer, retries included; 0 is
	// default.api.timeout.ms, or [DefaultTimeout] if that is not set.
	Timeout time.Duration
}

// DefaultTimeout is how long a cluster may take if nobody says it.
const DefaultTimeout = 30 * time.Second

// A Client administers one cluster. It is safe for concurrent use.
type Client struct {
	*kadm.Client
	kgo     *kgo.Client
	seeds   []string
	timeout time.Duration
	remarks []Remark
	reach   *reach
	groups  knownGroups

	controllers *controllers // nil: it talks to brokers
	version     string       // of kf, as brokers take it
}

// New returns a client. It connects when it is first used: only what is wrong with
// the properties is found here.
func New(opt Options) (*Client, error) {
	p, err := opt.plan()
	if err != nil {
		return nil, err
	}
	cl, err := kgo.NewClient(p.opts...)
	if err != nil {
		return nil, err
	}
	adm := kadm.NewClient(cl)
	c := &Client{Client: adm, kgo: cl, seeds: p.reach.seeds, timeout: p.timeout, remarks: p.remarks, reach: p.reach, version: softwareVersion(opt.Version)}
	if p.controllers {
		c.controllers = &controllers{kgo: cl}
	}
	adm.SetTimeoutMillis(c.timeoutMillis())
	return c, nil
}

// timeoutMillis is the time that a request may give the brokers for its work.
func (c *Client) timeoutMillis() int32 { return int32(min(c.timeout.Milliseconds(), 1<<31-1)) }

// Kgo returns the client underneath, for requests that have no method.
func (c *Client) Kgo() *kgo.Client { return c.kgo }

// Remarks returns what there is to say about the properties: which of them do nothing,
// which are other than they look, and which make the connection less safe.
func (c *Client) Remarks() []Remark { return c.remarks }

// Seeds returns the addresses that were given, "host:port,host:port".
func (c *Client) Seeds() string { return strings.Join(c.seeds, ",") }

// Timeout returns how long the cluster may take for an answer.
func (c *Client) Timeout() time.Duration { return c.timeout }

// Deadline returns a context that ends when the cluster has had its time for an
// answer.
func (c *Client) Deadline(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, c.timeout, fmt.Errorf("no answer within %v: %w", c.timeout, context.DeadlineExceeded))
}
