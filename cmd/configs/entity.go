package configs

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"kf/internal/cli"
	"kf/internal/client"
)

// A kind is a type of what has configurations.
type kind struct {
	name     string              // "topic"
	plural   string              // as --entity-type of kafka-configs has it
	defaults bool                // there is one for all that have none of their own
	resource client.ConfigType   // 0: it has quotas
	source   client.ConfigSource // of what is set for such a resource itself
	quota    string              // what the quotas call it
}

var (
	topicKind         = &kind{name: "topic", plural: "topics", resource: client.ConfigTypeTopic, source: client.FromTopic}
	brokerKind        = &kind{name: "broker", plural: "brokers", defaults: true, resource: client.ConfigTypeBroker, source: client.FromBroker}
	brokerLoggerKind  = &kind{name: "broker-logger", plural: "broker-loggers", resource: client.ConfigTypeLogger, source: client.FromLogger}
	groupKind         = &kind{name: "group", plural: "groups", resource: client.ConfigTypeGroup, source: client.FromGroup}
	clientMetricsKind = &kind{name: "client-metrics", plural: "client-metrics", resource: client.ConfigTypeClientMetrics, source: client.FromClientMetrics}
	userKind          = &kind{name: "user", plural: "users", defaults: true, quota: "user"}
	clientKind        = &kind{name: "client", plural: "clients", defaults: true, quota: "client-id"}
	ipKind            = &kind{name: "ip", plural: "ips", defaults: true, quota: "ip"}

	kinds = []*kind{topicKind, brokerKind, brokerLoggerKind, groupKind, clientMetricsKind, userKind, clientKind, ipKind}
)

// kindNames are the words that stand for a kind or its defaults.
func kindNames() []string {
	var all []string
	for _, k := range kinds {
		all = append(all, k.name)
		if k.defaults {
			all = append(all, k.name+"-defaults")
		}
	}
	return all
}

// kindNamed returns the kind of a word such as "topic", "topics" or "user-defaults".
func kindNamed(word string) (k *kind, defaults, ok bool) {
	for _, k := range kinds {
		switch {
		case word == k.name, word == k.plural:
			return k, false, true
		case k.defaults && word == k.name+"-defaults":
			return k, true, true
		}
	}
	return nil, false, false
}

// An Entity is one thing that has configurations: a topic, the defaults of all
// brokers, or the clients that connect as a user.
type Entity struct {
	kind *kind
	name string // "" for the defaults
	// pair says that a user stands for its connections as client, "" for those of
	// clients that have no quotas of their own.
	pair   bool
	client string
}

// String returns the entity as it can be typed: topic:orders, broker-defaults,
// user:alice,client:app.
func (e Entity) String() string {
	if e.pair {
		return word(userKind, e.name) + "," + word(clientKind, e.client)
	}
	return word(e.kind, e.name)
}

func word(k *kind, name string) string {
	if name == "" {
		return k.name + "-defaults"
	}
	return k.name + ":" + name
}

// typeName is the kind, or the two of a pair.
func (e Entity) typeName() string {
	if e.pair {
		return "user,client"
	}
	return e.kind.name
}

// resource returns what Kafka's configurations call the entity.
func (e Entity) resource() client.ConfigResource {
	return client.ConfigResource{Type: e.kind.resource, Name: e.name}
}

// source is where what is set for the entity itself comes from, if it is no quota.
func (e Entity) source() client.ConfigSource {
	if e.kind == brokerKind && e.name == "" {
		return client.FromBrokerDefaults
	}
	return e.kind.source
}

// A match says which names are meant: one, "" for the defaults, those that match, or
// any.
type match struct {
	name string
	re   *regexp.Regexp
	any  bool
}

// one says that the match is a name, and needs no list of them.
func (m match) one() bool { return m.re == nil && !m.any }

func (m match) fits(name string) bool {
	switch {
	case m.any:
		return true
	case m.re != nil:
		return name != "" && m.re.MatchString(name)
	}
	return m.name == name
}

// A selector stands for entities of a kind.
type selector struct {
	kind   *kind
	names  match
	pair   bool
	client match
}

// one returns the entity if the selector names it.
func (s selector) one() (Entity, bool) {
	return Entity{s.kind, s.names.name, s.pair, s.client.name}, s.names.one() && (!s.pair || s.client.one())
}

func (s selector) fits(e Entity) bool {
	return e.kind == s.kind && e.pair == s.pair && s.names.fits(e.name) && (!s.pair || s.client.fits(e.client))
}

// parseEntity reads an entity as [Entity.String] writes it.
func parseEntity(text string) (Entity, error) {
	s, err := parseSelector(text)
	if err != nil {
		return Entity{}, err
	}
	e, ok := s.one()
	if !ok {
		return Entity{}, fmt.Errorf("%s: want one entity, such as topic:orders or broker-defaults", text)
	}
	return e, nil
}

// parseSelector reads an entity, or a kind that stands for all of it.
func parseSelector(text string) (selector, error) {
	user, of, pair := cutClient(text)
	k, m, err := parsePart(user)
	if err != nil || !pair {
		return selector{kind: k, names: m}, err
	}
	_, c, err := parsePart(of)
	return selector{userKind, m, true, c}, err
}

// cutClient cuts "user:alice,client:app" in two. The names of users may have commas.
func cutClient(text string) (user, of string, ok bool) {
	switch first, _, _ := strings.Cut(text, ","); {
	case first == "user", first == "users", first == "user-defaults":
	case strings.HasPrefix(text, "user:"), strings.HasPrefix(text, "users:"):
	default:
		return text, "", false
	}
	for _, last := range []string{",client", ",clients", ",client-defaults"} {
		if user, ok := strings.CutSuffix(text, last); ok {
			return user, last[1:], true
		}
	}
	if i := max(strings.LastIndex(text, ",client:"), strings.LastIndex(text, ",clients:")); i > 0 {
		return text[:i], text[i+1:], true
	}
	return text, "", false
}

// parsePart reads "topic", "topic:orders" or "user-defaults".
func parsePart(text string) (*kind, match, error) {
	if k, defaults, ok := kindNamed(text); ok {
		return k, match{any: !defaults}, nil
	}
	before, name, cut := strings.Cut(text, ":")
	k, defaults, ok := kindNamed(before)
	switch {
	case ok && cut && !defaults:
		m, err := parseName(k, name)
		return k, m, err
	case cli.Nearest(before, kindNames()) != "":
		return nil, match{}, fmt.Errorf("%q is no type of entity: did you mean %s?", before, cli.Nearest(before, kindNames()))
	}
	return nil, match{}, fmt.Errorf("%q is no type of entity: name the type first, as in 'topic orders': one of %s", before, strings.Join(kindNames(), ", "))
}

// parseName reads the name of an entity.
func parseName(k *kind, name string) (match, error) {
	switch {
	case name == "":
		return match{}, fmt.Errorf("the name of a %s is empty", k.name)
	case k == brokerKind, k == brokerLoggerKind:
		id, err := strconv.ParseInt(name, 10, 32)
		if err != nil || id < 0 {
			return match{}, fmt.Errorf("%s:%s: the id of a broker is a number", k.name, name)
		}
		name = strconv.FormatInt(id, 10) // "01" is no other broker
	}
	return match{name: name}, nil
}
