package client

import (
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
)

// Properties are settings by the names that Java clients have for them.
type Properties map[string]Property

// A Property is a value and where it was found.
type Property struct {
	Value  string
	Origin string // "-X", "KF_SASL_MECHANISM", "client.properties: line 3", "context prod"
}

// The properties that kf itself looks at.
const (
	BootstrapServers = "bootstrap.servers"
	// With this one the client talks to the controllers at these addresses, whatever
	// the servers are, if Options.Controllers allows it.
	BootstrapControllers = "bootstrap.controllers"
	ClientID             = "client.id"
)

// Get returns the value of a property, "" if it is not set.
func (p Properties) Get(name string) string { return p[name].Value }

// addresses reads bootstrap.servers. A host without a port is at Kafka's usual one.
func addresses(p Property) ([]string, error) {
	var all []string
	for a := range strings.SplitSeq(p.Value, ",") {
		a = strings.TrimSpace(a)
		if a == "" {
			continue
		}
		host, port, err := net.SplitHostPort(a)
		if err != nil {
			host, port = strings.Trim(a, "[]"), defaultPort
		}
		if host == "" {
			return nil, fmt.Errorf("%s: %q names no host", p.Origin, a)
		}
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return nil, fmt.Errorf("%s: %q: a port is a number from 1 to 65535", p.Origin, a)
		}
		if a = net.JoinHostPort(host, port); !slices.Contains(all, a) {
			all = append(all, a)
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s: no address in %q", p.Origin, p.Value)
	}
	return all, nil
}

const defaultPort = "9092"

// softwareVersion is a version as brokers take it: they refuse a client with other
// characters, such as the + of "v1.2.3+dirty". Source: Kafka 4.4.0,
// ApiVersionsRequest.java.
func softwareVersion(version string) string {
	plain := func(r rune) bool { return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' }
	version = strings.Map(func(r rune) rune {
		if plain(r) || r == '.' {
			return r
		}
		return '-'
	}, version)
	if version = strings.TrimFunc(version, func(r rune) bool { return !plain(r) }); version == "" {
		return "unknown"
	}
	return version
}
