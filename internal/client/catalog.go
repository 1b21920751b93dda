package client

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"kf/internal/nearest"
)

// A use is what kf makes of a property that Java clients know.
type use int

const (
	heeded      use = iota // kf does what it says
	forJava                // of the inner life of Java clients
	forProducer            // of producers only
	forConsumer            // of consumers only
)

// catalog has the properties of the admin clients, producers and consumers of
// Kafka 4.4.0, AdminClientConfig, ProducerConfig and ConsumerConfig.
var catalog = func() map[string]use {
	all := make(map[string]use)
	for u, names := range map[use]string{
		heeded: `bootstrap.controllers bootstrap.servers client.dns.lookup client.id config.providers connections.max.idle.ms
			default.api.timeout.ms metadata.max.age.ms receive.buffer.bytes reconnect.backoff.max.ms
			reconnect.backoff.ms request.timeout.ms retries retry.backoff.max.ms retry.backoff.ms
			sasl.client.callback.handler.class sasl.jaas.config sasl.login.callback.handler.class sasl.login.class
			sasl.login.connect.timeout.ms sasl.login.read.timeout.ms sasl.login.retry.backoff.max.ms
			sasl.login.retry.backoff.ms sasl.login.refresh.window.factor sasl.mechanism
			sasl.oauthbearer.assertion.claim.iss sasl.oauthbearer.assertion.file
			sasl.oauthbearer.client.credentials.client.id sasl.oauthbearer.client.credentials.client.secret
			sasl.oauthbearer.header.urlencode sasl.oauthbearer.jwt.retriever.class sasl.oauthbearer.scope
			sasl.oauthbearer.token.endpoint.url security.protocol send.buffer.bytes
			socket.connection.setup.timeout.ms ssl.cipher.suites ssl.enabled.protocols
			ssl.endpoint.identification.algorithm ssl.engine.factory.class ssl.key.password
			ssl.keystore.certificate.chain ssl.keystore.key ssl.keystore.location ssl.keystore.password
			ssl.keystore.type ssl.protocol ssl.truststore.certificates ssl.truststore.location
			ssl.truststore.password ssl.truststore.type`,
		forJava: `auto.include.jmx.reporter bootstrap.resolve.timeout.ms enable.metrics.push interceptor.classes
			metadata.cluster.check.enable metadata.recovery.rebootstrap.trigger.ms metadata.recovery.strategy
			metric.reporters metrics.num.samples metrics.recording.level metrics.sample.window.ms
			sasl.kerberos.kinit.cmd sasl.kerberos.min.time.before.relogin sasl.kerberos.service.name
			sasl.kerberos.ticket.renew.jitter sasl.kerberos.ticket.renew.window.factor
			sasl.login.refresh.buffer.seconds sasl.login.refresh.min.period.seconds
			sasl.login.refresh.window.jitter sasl.oauthbearer.allow.unverified.audience
			sasl.oauthbearer.allow.unverified.issuer sasl.oauthbearer.assertion.algorithm
			sasl.oauthbearer.assertion.claim.aud sasl.oauthbearer.assertion.claim.exp.seconds
			sasl.oauthbearer.assertion.claim.jti.include sasl.oauthbearer.assertion.claim.nbf.seconds
			sasl.oauthbearer.assertion.claim.sub sasl.oauthbearer.assertion.private.key.file
			sasl.oauthbearer.assertion.private.key.passphrase sasl.oauthbearer.assertion.template.file
			sasl.oauthbearer.clock.skew.seconds sasl.oauthbearer.expected.audience
			sasl.oauthbearer.expected.issuer sasl.oauthbearer.jwks.endpoint.refresh.ms
			sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms
			sasl.oauthbearer.jwks.endpoint.retry.backoff.ms sasl.oauthbearer.jwks.endpoint.url
			sasl.oauthbearer.jwt.validator.class sasl.oauthbearer.scope.claim.name
			sasl.oauthbearer.sub.claim.name security.providers socket.connection.setup.timeout.max.ms
			ssl.keymanager.algorithm ssl.provider ssl.secure.random.implementation
			ssl.trustmanager.algorithm`,
		forProducer: `acks batch.size buffer.memory buffer.memory.allocation.strategy compression.gzip.level
			compression.lz4.level compression.type compression.zstd.level delivery.timeout.ms
			enable.idempotence key.serializer linger.ms max.block.ms
			max.in.flight.requests.per.connection max.request.size metadata.max.idle.ms
			partitioner.adaptive.partitioning.enable partitioner.availability.timeout.ms
			partitioner.class partitioner.ignore.keys partitioner.rack.aware
			transaction.timeout.ms transaction.two.phase.commit.enable transactional.id value.serializer`,
		forConsumer: `allow.auto.create.topics auto.commit.interval.ms auto.offset.reset check.crcs client.rack
			enable.auto.commit exclude.internal.topics fetch.max.bytes fetch.max.wait.ms
			fetch.min.bytes group.id group.instance.id group.protocol group.remote.assignor
			heartbeat.interval.ms internal.throw.on.fetch.stable.offset.unsupported isolation.level
			key.deserializer max.partition.fetch.bytes max.poll.interval.ms max.poll.records
			partition.assignment.strategy session.timeout.ms share.acknowledgement.mode
			share.acquire.mode value.deserializer`,
	} {
		for name := range strings.FieldsSeq(names) {
			all[name] = u
		}
	}
	return all
}()

// elsewhere says what to write for names of other clients.
var elsewhere = map[string]string{
	"bootstrap.server":                    BootstrapServers,
	"metadata.broker.list":                BootstrapServers,
	"brokers":                             BootstrapServers,
	"sasl.mechanisms":                     "sasl.mechanism",
	"ssl.ca.location":                     "ssl.truststore.location",
	"ssl.ca.pem":                          "ssl.truststore.certificates",
	"ssl.certificate.location":            "ssl.keystore.location, with key and certificate in one file",
	"ssl.key.location":                    "ssl.keystore.location, with key and certificate in one file",
	"ssl.certificate.pem":                 "ssl.keystore.certificate.chain",
	"ssl.key.pem":                         "ssl.keystore.key",
	"sasl.oauthbearer.config":             "sasl.jaas.config",
	"socket.timeout.ms":                   "request.timeout.ms",
	"enable.ssl.certificate.verification": "ssl.truststore.location",
}

// Known reports whether a Java client has a property of this name.
func Known(name string) bool {
	_, ok := catalog[name]
	return ok || strings.HasPrefix(name, "config.providers.")
}

// Names returns the names of all properties of Java clients, sorted.
func Names() []string { return slices.Sorted(maps.Keys(catalog)) }

// Meant returns what somebody may have meant by a name that is not known, "" if that
// cannot be said: the name for it here, if it is one of another client, or the nearest.
func Meant(name string) string {
	if other := elsewhere[name]; other != "" {
		return other
	}
	return nearest.Name(name, Names(), 4)
}

// A Remark is what there is to say about a property that is not wrong.
type Remark struct {
	Name, Origin string
	Text         string
	Warning      bool // something is other than the user may think
}

func (r Remark) String() string { return fmt.Sprintf("%s: %s: %s", r.Origin, r.Name, r.Text) }

// Idle says which of the properties do nothing in kf, though Java clients have them.
func (p Properties) Idle() []Remark {
	var all []Remark
	for _, name := range slices.Sorted(maps.Keys(p)) {
		r := Remark{Name: name, Origin: p[name].Origin}
		switch u, known := catalog[name]; {
		case !known, u == heeded:
			continue
		case u == forProducer:
			r.Text = "it is a property of producers"
		case u == forConsumer:
			r.Text = "it is a property of consumers"
		default:
			r.Text = "it is of Java clients only and does nothing in kf"
		}
		all = append(all, r)
	}
	return all
}

// A PropertyError says which property is wrong, never what a secret one holds.
type PropertyError struct {
	Name, Origin string
	Err          error
}

func (e *PropertyError) Error() string {
	if e.Origin == "" {
		return fmt.Sprintf("%s: %v", e.Name, e.Err)
	}
	return fmt.Sprintf("%s: %s: %v", e.Origin, e.Name, e.Err)
}

func (e *PropertyError) Unwrap() error { return e.Err }
