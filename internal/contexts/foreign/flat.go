package foreign

import (
	"fmt"
	"slices"
	"strings"

	"kf/internal/contexts"
	"kf/internal/format/metaprops"
)

// A pair is a line of a file of properties.
type pair struct{ key, value string }

func javaPairs(text []byte) []pair {
	parsed, err := metaprops.Parse(text)
	if err != nil {
		return nil
	}
	var all []pair
	for _, p := range parsed {
		all = append(all, pair{p.Key, p.Value})
	}
	return all
}

// paths are the properties of Java clients that name files.
var paths = []string{"ssl.keystore.location", "ssl.truststore.location"}

// properties reads a client.properties.
func (f *file) properties() error {
	if _, err := metaprops.Parse(f.text); err != nil {
		return err
	}
	c := f.add("")
	for _, p := range javaPairs(f.text) {
		switch {
		case p.key == "bootstrap.servers":
			c.Bootstrap = p.value
		case slices.Contains(paths, p.key) && p.value != "":
			c.set(p.key, c.abs(p.value))
		default: // also an empty one: it differs from the default
			c.Set(contexts.Property{Name: p.key, Value: p.value})
		}
	}
	c.done()
	return nil
}

// parseConf reads the lines key=value of librdkafka's tools: blanks around a line do
// not count, # starts a comment, and \: and \= are what they are in files of Java.
func parseConf(text []byte) ([]pair, error) {
	var all []pair
	n := 0
	for line := range strings.Lines(string(text)) {
		n++
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		line = strings.NewReplacer(`\:`, ":", `\=`, "=").Replace(line)
		key, value, ok := strings.Cut(line, "=")
		if !ok || key == "" {
			return nil, fmt.Errorf("line %d: expected property=value", n)
		}
		all = append(all, pair{strings.TrimSpace(key), strings.TrimSpace(value)})
	}
	return all, nil
}

// shared are the properties that librdkafka and Java clients, or kf, have alike.
var shared = []string{
	"client.dns.lookup", "client.id", "client.rack", "connections.max.idle.ms", "metadata.max.age.ms",
	"reconnect.backoff.max.ms", "reconnect.backoff.ms", "retry.backoff.max.ms", "retry.backoff.ms",
	"sasl.jaas.config", // which kcat reads for PLAIN
	"sasl.kerberos.service.name", "sasl.mechanism",
	"sasl.oauthbearer.client.credentials.client.id", "sasl.oauthbearer.client.credentials.client.secret",
	"sasl.oauthbearer.scope", "sasl.oauthbearer.token.endpoint.url",
	"sasl.password", "sasl.username", "socket.connection.setup.timeout.ms", "ssl.key.password", "ssl.keystore.password",
}

// renamed are the properties of librdkafka that Java clients have under another name.
var renamed = map[string]string{
	"sasl.mechanisms":                "sasl.mechanism",
	"sasl.oauthbearer.client.id":     "sasl.oauthbearer.client.credentials.client.id",
	"sasl.oauthbearer.client.secret": "sasl.oauthbearer.client.credentials.client.secret",
	"socket.timeout.ms":              "request.timeout.ms",
}

// inJava returns the name that Java clients have for a property of librdkafka, "" if
// they have none, or mean another value by it.
func inJava(name string) string {
	if slices.Contains(shared, name) {
		return name
	}
	return renamed[name]
}

// librdkafkaOnly reports whether Java clients have no such property, so that a file with
// it is one of librdkafka.
func librdkafkaOnly(key string) bool {
	switch key {
	case "metadata.broker.list", "sasl.username", "sasl.password", "enable.ssl.certificate.verification", "broker.address.family":
		return true
	}
	return renamed[key] != "" || strings.HasPrefix(key, "ssl.ca.") ||
		strings.HasPrefix(key, "ssl.certificate.") || strings.HasPrefix(key, "ssl.key.") && key != "ssl.key.password"
}

// kcat reads a file of librdkafka's properties.
func (f *file) kcat() error {
	pairs, err := parseConf(f.text)
	if err != nil {
		return err
	}
	c := f.add("")
	var certificate, key, oauth string
	var left []string
	for _, p := range pairs {
		name, value := p.key, p.value
		switch java := inJava(name); {
		case name == "bootstrap.servers" || name == "metadata.broker.list":
			c.Bootstrap = value
		case name == "security.protocol":
			c.set(name, strings.ToUpper(value))
		case java == "sasl.mechanism":
			c.set(java, strings.ToUpper(value))
		case java != "":
			c.set(java, value)
		case name == "ssl.ca.location" && value != "probe":
			c.trust(value)
		case name == "ssl.ca.location": // looks where the system has them, as kf does
		case name == "ssl.ca.pem":
			c.set("ssl.truststore.type", "PEM")
			c.set("ssl.truststore.certificates", lines(value))
		case name == "ssl.certificate.location":
			certificate = value
		case name == "ssl.key.location":
			key = value
		case name == "ssl.certificate.pem":
			c.set("ssl.keystore.type", "PEM")
			c.set("ssl.keystore.certificate.chain", lines(value))
		case name == "ssl.key.pem":
			c.set("ssl.keystore.type", "PEM")
			c.set("ssl.keystore.key", lines(value))
		case name == "ssl.keystore.location":
			c.set("ssl.keystore.type", "PKCS12")
			c.set(name, c.abs(value))
		case name == "ssl.endpoint.identification.algorithm" && value == "none":
			c.Set(contexts.Property{Name: name})
		case name == "ssl.endpoint.identification.algorithm":
			c.set(name, value)
		case name == "enable.ssl.certificate.verification":
			if value == "false" || value == "0" || value == "f" {
				c.insecure(name)
			}
		case name == "sasl.oauthbearer.method":
			oauth = value
		default:
			left = append(left, name)
		}
	}
	c.pair(certificate, key)
	if oauth != "" && oauth != "oidc" {
		left = append(left, "sasl.oauthbearer.method="+oauth)
	}
	c.without(left...)
	c.tls = false // security.protocol says it, and nothing else does
	c.done()
	return nil
}

// lines returns a PEM text whose lines were joined to one.
func lines(text string) string { return strings.ReplaceAll(text, `\n`, "\n") }
