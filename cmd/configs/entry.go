package configs

import (
	"slices"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kadm"

	"kf/internal/client"
	"kf/internal/render"
)

// An entry is a key of an entity and what holds for it.
type entry struct {
	key       string
	value     *string // nil: none, or a secret
	source    string  // of Kafka's names, or the entity that a quota is from
	typ       string
	readOnly  bool
	sensitive bool
	synonyms  synonyms
	doc       *string
	set       bool // for the entity itself; else it is inherited
}

// A synonym is a place where a value of a key is set.
type synonym struct {
	Source string  `json:"source"`
	Key    string  `json:"key"`
	Value  *string `json:"value"`
}

// synonyms are all values that are set for a key, the one that holds first.
type synonyms []synonym

var _ render.Value = (*synonyms)(nil)

// AppendJSON implements [render.Value].
func (s *synonyms) AppendJSON(dst []byte) []byte {
	dst = append(dst, '[')
	for i, syn := range *s {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = render.AppendJSON(append(dst, `{"source":`...), syn.Source)
		dst = render.AppendJSON(append(dst, `,"key":`...), syn.Key)
		dst = append(dst, `,"value":`...)
		if syn.Value == nil {
			dst = append(dst, "null"...)
		} else {
			dst = render.AppendJSON(dst, *syn.Value)
		}
		dst = append(dst, '}')
	}
	return append(dst, ']')
}

// AppendText implements [render.Value], in the form of Kafka's tools.
func (s *synonyms) AppendText(dst []byte) ([]byte, bool) {
	for i, syn := range *s {
		if i > 0 {
			dst = append(dst, ", "...)
		}
		dst = append(append(append(append(dst, syn.Source...), ':'), syn.Key...), '=')
		if syn.Value == nil {
			dst = append(dst, "null"...)
		} else {
			dst = append(dst, *syn.Value...)
		}
	}
	return dst, len(*s) > 0
}

// resourceEntries returns the entries of an entity that has configurations.
func resourceEntries(e Entity, of []client.Config) []entry {
	all := make([]entry, len(of))
	for i, c := range of {
		to := entry{
			key: c.Key, value: c.Value, source: c.Source.String(), typ: c.Type, readOnly: c.ReadOnly, sensitive: c.Sensitive,
			set: c.Source == e.source(),
		}
		// What server.properties says is set for that broker too.
		if e.kind == brokerKind && e.name != "" {
			to.set = c.Source != client.FromDefault
		}
		if c.Doc != "" {
			to.doc = &c.Doc
		}
		for _, s := range c.Synonyms {
			to.synonyms = append(to.synonyms, synonym{s.Source.String(), s.Key, s.Value})
		}
		all[i] = to
	}
	return all
}

// setHere says whether a value is set for the entity itself in the cluster, so that
// it can be deleted there.
func (x *entry) setHere(e Entity) bool {
	if e.kind.resource == 0 {
		return x.set
	}
	here := e.source().String()
	return x.source == here || slices.ContainsFunc(x.synonyms, func(s synonym) bool { return s.Source == here })
}

// quotaKeys are what can be limited, and what that means.
//
// Source: Kafka 4.4.0, QuotaConfig.java.
var (
	connectionQuotas = []quotaKey{
		{"producer_byte_rate", "Bytes a second and broker that producers may send."},
		{"consumer_byte_rate", "Bytes a second and broker that consumers may fetch."},
		{"request_percentage", "Share of the time of one I/O or network thread of a broker, in percent; 100 times the threads are all."},
		{"controller_mutation_rate", "Partitions a second that may be created and deleted."},
	}
	ipQuotas = []quotaKey{{"connection_creation_rate", "Connections a second and broker that may be opened from the address."}}
)

type quotaKey struct{ name, doc string }

func (k *kind) quotaKeys() []quotaKey {
	switch k {
	case userKind, clientKind:
		return connectionQuotas
	case ipKind:
		return ipQuotas
	}
	return nil
}

func quotaDoc(k *kind, key string) *string {
	for _, q := range k.quotaKeys() {
		if q.name == key {
			return &q.doc
		}
	}
	return nil
}

// number writes a quota without an exponent.
func number(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

// scramEntry is a credential of a user, which nobody can read.
func scramEntry(e Entity, c kadm.CredInfo) entry {
	value := "iterations=" + strconv.Itoa(int(c.Iterations))
	key := c.Mechanism.String()
	return entry{
		key: key, value: &value, source: e.String(), typ: "PASSWORD", sensitive: true, set: true,
		synonyms: synonyms{{e.String(), key, &value}},
		doc:      new("A credential with which the user can log in by SASL."),
	}
}

func sortEntries(all []entry) {
	slices.SortFunc(all, func(a, b entry) int { return strings.Compare(a.key, b.key) })
}
