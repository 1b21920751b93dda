package client

import (
	"math"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// A plan is a client to be: what the properties are in franz-go's terms.
type plan struct {
	opts    []kgo.Opt
	reach   *reach
	timeout time.Duration
	remarks []Remark

	controllers bool // it talks to controllers
}

// Bounds of franz-go for what it takes.
const (
	leastTimeout = 100 * time.Millisecond
	mostTimeout  = 15 * time.Minute
	mostMetadata = time.Hour
	leastAge     = 10 * time.Millisecond
)

func (o *Options) plan() (*plan, error) {
	props, err := o.Properties.provided(o.Getenv)
	if err != nil {
		return nil, err
	}
	s := &settings{props: props, remarks: o.Properties.Idle()}
	from, controllers := BootstrapServers, s.set(BootstrapControllers)
	if controllers {
		from = BootstrapControllers
	}
	seeds, err := addresses(props[from])
	switch {
	case controllers && !o.Controllers:
		s.refuse(BootstrapControllers, "this asks brokers: set bootstrap.servers")
	case err != nil:
		s.errs = append(s.errs, err)
	}
	p := &plan{timeout: o.Timeout, controllers: controllers}
	if p.timeout == 0 {
		p.timeout = s.millis("default.api.timeout.ms", DefaultTimeout, leastTimeout, math.MaxInt32*time.Millisecond)
	}
	p.reach = s.reach(seeds, p.timeout)
	p.reach.origin, p.reach.controllers = props[from].Origin, controllers
	id := s.get(ClientID)
	if id == "" {
		id = "kf"
	}
	age := s.millis("metadata.max.age.ms", 5*time.Minute, leastAge, mostMetadata)
	request := s.millis("request.timeout.ms", 30*time.Second, leastTimeout, mostTimeout)
	p.opts = []kgo.Opt{
		kgo.SeedBrokers(bootstrapAddress),
		kgo.Dialer(p.reach.dial),
		kgo.WithHooks(p.reach),
		kgo.ClientID(id),
		kgo.SoftwareNameAndVersion("kf", softwareVersion(o.Version)),
		kgo.RetryTimeout(p.timeout),
		kgo.RequestTimeoutOverhead(min(request, max(p.timeout, leastTimeout))),
		kgo.MetadataMaxAge(age),
		kgo.MetadataMinAge(min(age, 5*time.Second)),
		kgo.ConnIdleTimeout(s.millis("connections.max.idle.ms", 5*time.Minute, leastTimeout, mostTimeout)),
		kgo.RetryBackoffFn(backoff(
			s.millis("retry.backoff.ms", 100*time.Millisecond, time.Millisecond, time.Minute),
			s.millis("retry.backoff.max.ms", time.Second, time.Millisecond, time.Minute))),
		kgo.RequestRetries(int(s.number("retries", math.MaxInt32, 0))),
	}
	if c := p.reach.credential; c != nil {
		p.opts = append(p.opts, kgo.SASL(c.Mechanism))
	}
	p.remarks = s.remarks
	return p, s.err()
}

// reach reads how brokers are connected to.
func (s *settings) reach(seeds []string, timeout time.Duration) *reach {
	r := &reach{
		seeds:   seeds,
		setup:   min(timeout, s.millis("socket.connection.setup.timeout.ms", 10*time.Second, leastTimeout, mostTimeout)),
		patient: min(refusedFor, timeout/4),
		backoff: backoff(
			s.millis("reconnect.backoff.ms", 50*time.Millisecond, time.Millisecond, time.Minute),
			s.millis("reconnect.backoff.max.ms", time.Second, time.Millisecond, time.Minute)),
		receive: int(s.number("receive.buffer.bytes", -1, -1)),
		send:    int(s.number("send.buffer.bytes", -1, -1)),
		props:   s.props,
	}
	protocol := s.choice("security.protocol", "PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
	r.protocol = protocol
	if withTLS(protocol) {
		r.secure = s.tls()
	} else {
		s.unused("ssl.", protocol)
	}
	if withSASL(protocol) {
		r.credential = s.sasl()
	} else {
		s.unused("sasl.", protocol)
	}
	switch lookup := strings.ToLower(s.get("client.dns.lookup")); lookup {
	case "", "use_all_dns_ips":
	case "resolve_canonical_bootstrap_servers_only":
		r.canonical = true
	default:
		s.refuse("client.dns.lookup", "it is %q, but must be use_all_dns_ips or resolve_canonical_bootstrap_servers_only", lookup)
	}
	return r
}

// unused warns of properties that a security.protocol does not use, as one that was
// forgotten makes most of them.
func (s *settings) unused(prefix, protocol string) {
	var names []string
	for name := range s.props {
		if strings.HasPrefix(name, prefix) && catalog[name] == heeded && s.set(name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		s.note(name, "security.protocol is %s, which does not use it", protocol)
	}
}

// canonicalNames returns the names that the addresses of hosts have, with which
// certificates may be made out.
func canonicalNames(seeds []string) []string {
	var all []string
	for _, seed := range seeds {
		host, port, _ := net.SplitHostPort(seed)
		ips, err := net.LookupHost(host)
		if err != nil {
			all = append(all, seed)
			continue
		}
		for _, ip := range ips {
			name := ip
			if names, err := net.LookupAddr(ip); err == nil && len(names) > 0 {
				name = strings.TrimSuffix(names[0], ".")
			}
			if a := net.JoinHostPort(name, port); !slices.Contains(all, a) {
				all = append(all, a)
			}
		}
	}
	return all
}
