package foreign

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"go.yaml.in/yaml/v3"
)

// A tree is a mapping of a YAML or TOML file. Reading it never fails: what is of another
// type is not there.
type tree map[string]any

var errShape = errors.New("holds no keys with values")

// yamlMap reads a YAML text. A file with anchors is refused, as few of them can stand
// for a lot of memory.
func yamlMap(text []byte) (tree, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(bytes.TrimPrefix(text, []byte("\ufeff")), &doc); err != nil {
		return nil, err
	}
	if len(doc.Content) == 0 || doc.Content[0].Kind != yaml.MappingNode {
		return nil, errShape
	}
	value, err := plain(doc.Content[0])
	if err != nil {
		return nil, err
	}
	return value.(tree), nil
}

// plain returns a node as tree, []any or string; null is nil.
func plain(n *yaml.Node) (any, error) {
	switch n.Kind {
	case yaml.MappingNode:
		t := make(tree)
		for i := 0; i+1 < len(n.Content); i += 2 {
			value, err := plain(n.Content[i+1])
			if err != nil {
				return nil, err
			}
			t[n.Content[i].Value] = value
		}
		return t, nil
	case yaml.SequenceNode:
		list := []any{}
		for _, item := range n.Content {
			value, err := plain(item)
			if err != nil {
				return nil, err
			}
			list = append(list, value)
		}
		return list, nil
	case yaml.AliasNode:
		return nil, fmt.Errorf("line %d: aliases are not read", n.Line)
	}
	if n.Tag == "!!null" {
		return nil, nil
	}
	return n.Value, nil
}

// parseTOML reads a TOML text.
func parseTOML(text []byte) (tree, error) {
	var t map[string]any
	if err := toml.Unmarshal(bytes.TrimPrefix(text, []byte("\ufeff")), &t); err != nil {
		var where *toml.DecodeError
		if errors.As(err, &where) {
			line, _ := where.Position()
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
		return nil, err
	}
	return tree(t), nil
}

// get returns the value of a key; case does not count where a tool reads it so.
func (t tree) get(key string) any {
	if v, ok := t[key]; ok {
		return v
	}
	for k, v := range t {
		if strings.EqualFold(k, key) {
			return v
		}
	}
	return nil
}

func (t tree) tree(key string) tree {
	switch v := t.get(key).(type) {
	case tree:
		return v
	case map[string]any:
		return tree(v)
	}
	return nil
}

// text returns a single value as text.
func (t tree) text(key string) string {
	switch v := t.get(key).(type) {
	case nil, tree, map[string]any, []any:
		return ""
	default:
		return fmt.Sprint(v)
	}
}

func (t tree) bool(key string) bool {
	b, _ := strconv.ParseBool(t.text(key))
	return b
}

// list returns a list; a single value is a list too.
func (t tree) list(key string) []any {
	switch v := t.get(key).(type) {
	case []any:
		return v
	case nil:
		return nil
	default:
		return []any{v}
	}
}

// texts returns the texts of a list, with commas.
func (t tree) texts(key string) string {
	var all []string
	for _, v := range t.list(key) {
		if text, ok := v.(string); ok {
			all = append(all, text)
		}
	}
	return strings.Join(all, ",")
}

// others returns the keys that are not among known and have a value.
func (t tree) others(prefix string, known ...string) []string {
	var all []string
	for _, key := range slices.Sorted(maps.Keys(t)) {
		if empty(t[key]) || slices.ContainsFunc(known, func(k string) bool { return strings.EqualFold(k, key) }) {
			continue
		}
		all = append(all, prefix+key)
	}
	return all
}

func empty(value any) bool {
	switch v := value.(type) {
	case nil:
		return true
	case string:
		return v == "" || v == "false"
	case bool:
		return !v
	case tree:
		return len(v.others("")) == 0
	case map[string]any:
		return empty(tree(v))
	case []any:
		return len(v) == 0
	}
	return false
}

// rpk reads the profiles of rpk.yaml, or the section "rpk" of the old redpanda.yaml.
func (f *file) rpk() error {
	doc, err := yamlMap(f.text)
	if err != nil {
		return err
	}
	f.result.Current = doc.text("current_profile")
	for _, item := range doc.list("profiles") {
		profile, ok := item.(tree)
		if !ok {
			continue
		}
		c := f.add(profile.text("name"))
		c.Description = profile.text("description")
		c.rpkAPI(profile.tree("kafka_api"))
		if profile.bool("from_cloud") && !c.sasl {
			c.notef("the login of Redpanda Cloud, which rpk asks for a token")
		}
		c.without(profile.others("", "name", "description", "kafka_api", "prompt", "admin_api", "schema_registry", "license_check", "cloud_cluster", "from_cloud")...)
		c.done()
	}
	if old := doc.tree("rpk"); len(f.result.Contexts) == 0 && old != nil {
		c := f.add("")
		api := old.tree("kafka_api")
		if api == nil {
			api = make(tree)
		}
		for _, key := range []string{"tls", "sasl"} { // where they were once
			if api.tree(key) == nil && old.tree(key) != nil {
				api[key] = old.tree(key)
			}
		}
		c.rpkAPI(api)
		if c.Bootstrap == "" { // rpk asks the broker that the file is for
			for _, item := range doc.tree("redpanda").list("kafka_api") {
				if address, ok := item.(tree); ok && c.Bootstrap == "" {
					c.Bootstrap = strings.TrimSuffix(address.text("address")+":"+address.text("port"), ":")
				}
			}
		}
		c.done()
	}
	return nil
}

// rpkAPI takes over a section "kafka_api".
func (c *cluster) rpkAPI(api tree) {
	c.Bootstrap = api.texts("brokers")
	if tls, ok := api["tls"]; ok && tls != nil { // also an empty one
		t := api.tree("tls")
		c.tls = true
		ca := t.text("ca_file")
		if ca == "" {
			ca = t.text("truststore_file")
		}
		c.trust(ca)
		c.pair(t.text("cert_file"), t.text("key_file"))
		if t.bool("insecure_skip_verify") {
			c.insecure("tls.insecure_skip_verify")
		}
		c.without(t.others("kafka_api.tls.", "ca_file", "truststore_file", "cert_file", "key_file", "insecure_skip_verify", "enabled")...)
	}
	if s := api.tree("sasl"); s != nil {
		m := s.text("mechanism")
		if m == "" {
			m = s.text("type") // its name in the old form
		}
		if m = mechanism(m); m != "" || s.text("user") != "" {
			c.user(m, s.text("user"), s.text("password"))
		}
	}
}

// kaf reads the clusters of kaf.
func (f *file) kaf() error {
	doc, err := yamlMap(f.text)
	if err != nil {
		return err
	}
	f.result.Current = doc.text("current-cluster")
	for _, item := range doc.list("clusters") {
		t, ok := item.(tree)
		if !ok {
			continue
		}
		c := f.add(t.text("name"))
		c.Bootstrap = t.texts("brokers")
		c.set("security.protocol", t.text("security-protocol"))
		if tls := t.tree("TLS"); tls != nil {
			c.tls = true
			c.trust(tls.text("cafile"))
			c.pair(tls.text("clientfile"), tls.text("clientkeyfile"))
			if tls.bool("insecure") {
				c.insecure("TLS.insecure")
			}
		}
		if s := t.tree("SASL"); s != nil {
			m := mechanism(s.text("mechanism"))
			if m == "" {
				m = "PLAIN"
			}
			c.user(m, s.text("username"), s.text("password"))
			c.set("sasl.oauthbearer.client.credentials.client.id", s.text("clientID"))
			c.set("sasl.oauthbearer.client.credentials.client.secret", s.text("clientSecret"))
			c.set("sasl.oauthbearer.token.endpoint.url", s.text("tokenURL"))
			c.set("sasl.oauthbearer.scope", strings.ReplaceAll(s.texts("scopes"), ",", " "))
			if s.text("token") != "" {
				c.notef("SASL.token: a token that does not change: Java clients read one from a file (sasl.oauthbearer.token.endpoint.url=file:…)")
			}
			if m == "AWS_MSK_IAM" {
				c.notef("SASL.mechanism AWS_MSK_IAM, which kf does not have")
			}
		}
		c.without(t.others("", "name", "brokers", "security-protocol", "TLS", "SASL", "version")...)
		c.done()
	}
	return nil
}

// kafkactl reads the contexts of kafkactl, whose keys are read in any case.
func (f *file) kafkactl() error {
	doc, err := yamlMap(f.text)
	if err != nil {
		return err
	}
	f.result.Current = doc.text("current-context")
	all := doc.tree("contexts")
	for _, name := range slices.Sorted(maps.Keys(all)) {
		t := all.tree(name)
		c := f.add(name)
		c.Bootstrap = t.texts("brokers")
		c.set("client.id", t.text("clientID"))
		tls := t.tree("tls")
		if tls.bool("enabled") {
			c.tls = true
			c.trust(tls.text("ca"))
			c.pair(tls.text("cert"), tls.text("certKey"))
			c.set("ssl.key.password", tls.text("certKeyPassphrase"))
			if tls.bool("insecure") {
				c.insecure("tls.insecure")
			}
		}
		if s := t.tree("sasl"); s.bool("enabled") {
			m := mechanism(s.text("mechanism"))
			if m == "" {
				m = "PLAIN"
			}
			c.user(m, s.text("username"), s.text("password"))
			if s.tree("tokenProvider") != nil {
				c.notef("sasl.tokenProvider, a plugin of kafkactl")
			}
		}
		if t.tree("kubernetes").bool("enabled") {
			c.notef("kubernetes: kf connects from where it runs, not from a pod")
		}
		c.without(t.others("", "brokers", "clientID", "tls", "sasl", "kubernetes", "kafkaVersion", "requestTimeout", "avro", "protobuf", "producer", "consumer", "schemaRegistry")...)
		if t.tree("schemaRegistry") != nil {
			c.without("schemaRegistry")
		}
		c.done()
	}
	return nil
}

// kcl reads the profiles of kcl, or the one cluster of the old form.
func (f *file) kcl() error {
	doc, err := parseTOML(f.text)
	if err != nil {
		return err
	}
	f.result.Current = doc.text("current_profile")
	profiles := doc.tree("profiles")
	for _, name := range slices.Sorted(maps.Keys(profiles)) {
		f.kclProfile(name, profiles.tree(name))
	}
	if len(profiles) == 0 {
		f.kclProfile("", doc)
	}
	return nil
}

func (f *file) kclProfile(name string, t tree) {
	c := f.add(name)
	c.Bootstrap = t.texts("seed_brokers")
	if c.Bootstrap == "" {
		c.Bootstrap = "localhost:9092" // kcl's default
	}
	if tls := t.tree("tls"); tls != nil {
		c.tls = true
		c.trust(tls.text("ca_cert_path"))
		c.pair(tls.text("client_cert_path"), tls.text("client_key_path"))
		if tls.bool("insecure") {
			c.insecure("tls.insecure")
		}
		c.without(tls.others("tls.", "ca_cert_path", "client_cert_path", "client_key_path", "insecure")...)
	}
	if s := t.tree("sasl"); s != nil && s.text("method") != "" {
		m := mechanism(s.text("method"))
		c.user(m, s.text("user"), s.text("pass"))
		if m == "AWS_MSK_IAM" {
			c.notef("sasl.method AWS_MSK_IAM, which kf does not have")
		}
		c.without(s.others("sasl.", "method", "user", "pass")...)
	}
	c.without(t.others("", "seed_brokers", "tls", "sasl", "broker_timeout", "dial_timeout", "retry_timeout", "timeout_ms", "current_profile", "profiles")...)
	c.done()
}
