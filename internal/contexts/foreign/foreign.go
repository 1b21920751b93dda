// Package foreign reads the files in which other tools keep how a cluster is reached,
// and says it as kf does, in contexts. What cannot be said so is named.
//
//	kind        file                          holds
//	properties  client.properties             one cluster, properties of Java clients
//	kcat        kcat.conf                     one cluster, properties of librdkafka
//	rpk         rpk.yaml, redpanda.yaml       profiles; in the old form one cluster
//	kaf         ~/.kaf/config                 clusters
//	kafkactl    kafkactl's config.yml         contexts
//	kcl         kcl's config.toml             profiles; in the old form one cluster
//
// Sources: librdkafka 2.x, CONFIGURATION.md; kcat 1.7, kcat.c; rpk, rpk_yaml.go and
// redpanda_yaml.go; kaf, config.go; kafkactl 5, common-operation.go; kcl, client.go.
package foreign

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"kf/internal/contexts"
)

// Kinds are the kinds of files that there are.
var Kinds = []string{"properties", "kcat", "rpk", "kaf", "kafkactl", "kcl"}

// A Result is what a file holds.
type Result struct {
	Kind     string
	Contexts []Imported // in the order of the file; those of a mapping by name
	Current  string     // the one that the tool uses, "" if it does not say
}

// An Imported is a context, and what of it was left out.
type Imported struct {
	contexts.Context
	Notes []string
}

// ErrKind says that a file is of none of the kinds.
var ErrKind = errors.New("not recognised: --from says which tool wrote it: " + strings.Join(Kinds, ", "))

// Read reads a file; kind "" is found out by name and content. A relative path in the
// file starts from its folder. A context without a name has "".
func Read(path string, text []byte, kind string) (Result, error) {
	if kind == "" {
		kind = recognise(path, text)
	}
	read, ok := map[string]func(*file) error{
		"properties": (*file).properties, "kcat": (*file).kcat, "rpk": (*file).rpk,
		"kaf": (*file).kaf, "kafkactl": (*file).kafkactl, "kcl": (*file).kcl,
	}[kind]
	switch {
	case kind == "":
		return Result{}, fmt.Errorf("%s: %w", path, ErrKind)
	case !ok:
		return Result{}, fmt.Errorf("--from: must be one of %s", strings.Join(Kinds, ", "))
	}
	f := &file{path: path, text: text, result: Result{Kind: kind}}
	if err := read(f); err != nil {
		return Result{}, fmt.Errorf("%s: %w", path, err)
	}
	return f.result, nil
}

// recognise returns the kind of a file, "" if it is none.
func recognise(path string, text []byte) string {
	if doc, err := yamlMap(text); err == nil {
		switch {
		case doc["profiles"] != nil, doc["rpk"] != nil, doc["redpanda"] != nil, doc["cloud_auth"] != nil:
			return "rpk"
		case doc["clusters"] != nil, doc["current-cluster"] != nil:
			return "kaf"
		case doc["contexts"] != nil:
			return "kafkactl"
		}
	}
	if _, err := parseTOML(text); err == nil && len(strings.TrimSpace(string(text))) > 0 {
		return "kcl"
	}
	name := strings.ToLower(filepath.Base(path))
	pairs, err := parseConf(text)
	if strings.Contains(name, "kcat") || strings.Contains(name, "kafkacat") ||
		err == nil && slices.ContainsFunc(pairs, func(p pair) bool { return librdkafkaOnly(p.key) }) {
		return "kcat"
	}
	if slices.ContainsFunc(javaPairs(text), func(p pair) bool { return strings.Contains(p.key, ".") }) {
		return "properties"
	}
	return ""
}

// A file is being read.
type file struct {
	path   string
	text   []byte
	result Result
}

// add starts the next context.
func (f *file) add(name string) *cluster {
	return &cluster{f: f, Imported: Imported{Context: contexts.Context{Name: name}}}
}

// A cluster is a context that is put together.
type cluster struct {
	f *file
	Imported
	tls, sasl bool
}

// done ends the context.
func (c *cluster) done() {
	if _, ok := c.Get("security.protocol"); !ok {
		switch {
		case c.tls && c.sasl:
			c.set("security.protocol", "SASL_SSL")
		case c.tls:
			c.set("security.protocol", "SSL")
		case c.sasl:
			c.set("security.protocol", "SASL_PLAINTEXT")
		}
	}
	slices.SortStableFunc(c.Properties, func(a, b contexts.Property) int { return strings.Compare(a.Name, b.Name) })
	c.f.result.Contexts = append(c.f.result.Contexts, c.Imported)
}

func (c *cluster) notef(format string, a ...any) {
	c.Notes = append(c.Notes, fmt.Sprintf(format, a...))
}

// set sets a property, if the value is not empty.
func (c *cluster) set(name, value string) {
	if value != "" {
		c.Set(contexts.Property{Name: name, Value: value})
	}
}

// abs returns what a path in the file means.
func (c *cluster) abs(path string) string {
	if strings.HasPrefix(path, "~/") || filepath.IsAbs(path) {
		return path
	}
	full, err := filepath.Abs(filepath.Join(filepath.Dir(c.f.path), path))
	if err != nil {
		return path
	}
	return full
}

// trust sets the certificates of authorities that sign those of brokers: a PEM file.
func (c *cluster) trust(path string) {
	if path != "" {
		c.tls = true
		c.set("ssl.truststore.type", "PEM")
		c.set("ssl.truststore.location", c.abs(path))
	}
}

// pair sets the certificate of the client and its key, two PEM files.
func (c *cluster) pair(certificate, key string) {
	switch {
	case certificate != "" && key != "":
		c.tls = true
		c.set("ssl.keystore.type", "PEM")
		c.Set(contexts.Property{Name: "ssl.keystore.certificate.chain", Ref: &contexts.Ref{File: c.abs(certificate)}})
		c.Set(contexts.Property{Name: "ssl.keystore.key", Ref: &contexts.Ref{File: c.abs(key)}})
	case certificate != "" || key != "":
		c.tls = true
		c.notef("the certificate of the client, of which certificate or key is missing")
	}
}

// user sets user and password.
func (c *cluster) user(mechanism, user, password string) {
	c.sasl = true
	c.set("sasl.mechanism", mechanism)
	c.set("sasl.username", user)
	c.set("sasl.password", password)
	if user != "" && password == "" {
		c.notef("the password, which the file does not hold: add it with --secret or in %s", contexts.FileName)
	}
}

// insecure says that certificates are not checked, which kf does not do.
func (c *cluster) insecure(key string) {
	c.tls = true
	c.notef("%s: kf checks the certificates of brokers: give it those of their authority (ssl.truststore.location)", key)
}

// without notes what is not taken over.
func (c *cluster) without(keys ...string) {
	if len(keys) > 0 {
		slices.Sort(keys)
		c.notef("%s", strings.Join(slices.Compact(keys), ", "))
	}
}

// mechanism returns the name that Kafka has for a mechanism of any spelling, the text
// itself if it is none of those.
func mechanism(text string) string {
	squeezed := strings.NewReplacer("-", "", "_", "", " ", "").Replace(strings.ToUpper(text))
	switch squeezed {
	case "PLAIN", "PLAINTEXT":
		return "PLAIN"
	case "SCRAMSHA256":
		return "SCRAM-SHA-256"
	case "SCRAMSHA512":
		return "SCRAM-SHA-512"
	case "OAUTH", "OAUTHBEARER":
		return "OAUTHBEARER"
	case "AWSMSKIAM":
		return "AWS_MSK_IAM"
	}
	return text
}
