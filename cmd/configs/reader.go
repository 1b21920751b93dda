package configs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"kf/internal/client"
)

// A describer is what is asked of the cluster to find entities and what is set for
// them.
type describer interface {
	DescribeConfigs(ctx context.Context, docs bool, of ...client.ConfigResource) ([]client.DescribedConfigs, error)
	ConfigResources(context.Context, client.ConfigType) ([]string, error)
	ListTopicsWithInternal(context.Context, ...string) (kadm.TopicDetails, error)
	Nodes(ctx context.Context, fenced bool) (*client.Nodes, error)
	ListGroups(context.Context, ...string) (kadm.ListedGroups, error)
	DescribeClientQuotas(ctx context.Context, strict bool, of []kadm.DescribeClientQuotaComponent) (kadm.DescribedClientQuotas, error)
	DescribeUserSCRAMs(context.Context, ...string) (kadm.DescribedUserSCRAMs, error)
}

// A reader asks the cluster, and for nothing twice.
type reader struct {
	cl   describer
	docs bool
	all  bool // what is inherited too
	warn func(format string, a ...any)

	brokers []string        // nil: not asked for
	groups  map[string]bool // nil: not asked for
	quotas  map[Entity][]kadm.ClientQuotaValue
	asked   map[string]bool // filters of quotas
	scram   map[string][]kadm.CredInfo
}

// A described is an entity and its entries, or why there are none.
type described struct {
	entity  Entity
	entries []entry
	err     error
}

var errNoQuotas = errors.New("the brokers do not support quotas")

// chunk is how many resources one request asks for: it bounds the answer.
const chunk = 1000

// read yields the entries of entities, in their order. An error of an entity is in
// what is yielded; the one returned is that of the cluster, or of yield.
func (r *reader) read(ctx context.Context, all []Entity, yield func(described) error) error {
	if err := r.loadQuotas(ctx, all); err != nil {
		return err
	}
	for part := range slices.Chunk(all, chunk) {
		var resources []client.ConfigResource
		for _, e := range part {
			if e.kind.resource != 0 && r.missing(e) == nil {
				resources = append(resources, e.resource())
			}
		}
		answers, err := r.cl.DescribeConfigs(ctx, r.docs, resources...)
		if err != nil {
			return err
		}
		for _, e := range part {
			d := described{entity: e}
			switch {
			case e.kind.resource == 0:
				d.entries = r.quotaEntries(e)
			case r.missing(e) != nil:
				d.err = r.missing(e)
			default:
				d.err = answers[0].Err
				if errors.Is(d.err, kerr.UnknownTopicOrPartition) {
					d.err = errors.New("there is no such topic")
				}
				d.entries = resourceEntries(e, answers[0].Configs)
				answers = answers[1:]
			}
			if err := yield(d); err != nil {
				return err
			}
		}
	}
	return nil
}

// missing returns why an entity cannot be asked for: a broker that is not there would
// be looked for until the deadline. It needs the brokers, see resolve.
func (r *reader) missing(e Entity) error {
	if r.brokers == nil || e.name == "" || e.kind != brokerKind && e.kind != brokerLoggerKind || slices.Contains(r.brokers, e.name) {
		return nil
	}
	return fmt.Errorf("no node has this id: there are %s", strings.Join(r.brokers, ", "))
}

// resolve returns the entities that selectors stand for, each once: named ones in
// their order, those of a kind by name, the defaults last.
func (r *reader) resolve(ctx context.Context, selectors []selector) ([]Entity, error) {
	var all []Entity
	seen := make(map[Entity]bool)
	add := func(e Entity) {
		if !seen[e] {
			seen[e] = true
			all = append(all, e)
		}
	}
	for _, s := range selectors {
		if e, ok := s.one(); ok {
			if e.kind == brokerKind && e.name != "" || e.kind == brokerLoggerKind {
				if err := r.loadBrokers(ctx); err != nil {
					return nil, err
				}
			}
			add(e)
			continue
		}
		candidates, err := r.candidates(ctx, s)
		if err != nil {
			return nil, err
		}
		found := false
		for _, e := range candidates {
			if s.fits(e) {
				found = true
				add(e)
			}
		}
		if !found && s.names.re != nil {
			return nil, fmt.Errorf("no %s matches %s", s.kind.name, strings.TrimSuffix(strings.TrimPrefix(s.names.re.String(), "^(?:"), ")$"))
		}
	}
	return all, nil
}

// candidates returns the entities of a kind, sorted.
func (r *reader) candidates(ctx context.Context, s selector) ([]Entity, error) {
	switch s.kind {
	case brokerKind, brokerLoggerKind:
		if err := r.loadBrokers(ctx); err != nil {
			return nil, err
		}
		all := named(s.kind, r.brokers)
		if s.kind == brokerKind {
			all = append(all, Entity{kind: brokerKind})
		}
		return all, nil
	case topicKind:
		topics, err := r.cl.ListTopicsWithInternal(ctx)
		return named(topicKind, topics.Names()), err
	case groupKind:
		names, err := r.cl.ConfigResources(ctx, client.ConfigTypeGroup)
		if err != nil && !client.Unsupported(err) {
			return nil, err
		}
		if r.all || err != nil { // groups for which nothing is set, too
			if err := r.loadGroups(ctx); err != nil {
				return nil, err
			}
			names = slices.AppendSeq(names, maps.Keys(r.groups))
			slices.Sort(names)
			names = slices.Compact(names)
		}
		return named(groupKind, names), nil
	case clientMetricsKind:
		names, err := r.cl.ConfigResources(ctx, client.ConfigTypeClientMetrics)
		if client.Unsupported(err) {
			err = errors.New("the brokers do not support client metrics")
		}
		return named(clientMetricsKind, names), err
	}
	if err := r.askQuotas(ctx, s); err != nil {
		return nil, err
	}
	if s.kind == userKind && !s.pair {
		if err := r.askCredentials(ctx); err != nil {
			return nil, err
		}
	}
	found := make(map[Entity]bool)
	for e := range r.quotas {
		found[e] = true
	}
	for user := range r.scram {
		found[Entity{kind: userKind, name: user}] = true
	}
	return slices.SortedFunc(maps.Keys(found), func(a, b Entity) int {
		last := func(name string) int { // the defaults come last
			if name == "" {
				return 1
			}
			return 0
		}
		return cmp.Or(last(a.name)-last(b.name), strings.Compare(a.name, b.name), last(a.client)-last(b.client), strings.Compare(a.client, b.client))
	}), nil
}

func named(k *kind, names []string) []Entity {
	all := make([]Entity, len(names))
	for i, name := range names {
		all[i] = Entity{kind: k, name: name}
	}
	return all
}

func (r *reader) loadBrokers(ctx context.Context) error {
	if r.brokers != nil {
		return nil
	}
	nodes, err := r.cl.Nodes(ctx, false)
	if err != nil {
		return err
	}
	r.brokers = []string{}
	for _, n := range nodes.Nodes {
		r.brokers = append(r.brokers, fmt.Sprint(n.ID))
	}
	return nil
}

func (r *reader) loadGroups(ctx context.Context) error {
	if r.groups != nil {
		return nil
	}
	groups, err := r.cl.ListGroups(ctx)
	r.groups = make(map[string]bool)
	for _, name := range groups.Groups() {
		r.groups[name] = true
	}
	return err
}

// exists returns why an entity for which nothing is set may be taken for one that is
// not there, nil if it is there or nobody can say.
func (r *reader) exists(ctx context.Context, d described) error {
	if slices.ContainsFunc(d.entries, func(x entry) bool { return x.setHere(d.entity) }) {
		return nil
	}
	switch d.entity.kind {
	case groupKind:
		if err := r.loadGroups(ctx); err != nil {
			return err
		}
		if !r.groups[d.entity.name] {
			return errors.New("there is no such group, and nothing is set for it")
		}
	case clientMetricsKind:
		return errors.New("there is no such subscription")
	}
	return nil
}

// loadQuotas asks for the quotas and credentials of entities that have them.
func (r *reader) loadQuotas(ctx context.Context, all []Entity) error {
	count := make(map[string]int)
	for _, e := range all {
		count[e.typeName()]++
	}
	users := false
	for _, e := range all {
		if e.kind.resource != 0 {
			continue
		}
		users = users || e.kind == userKind && !e.pair && e.name != ""
		if _, known := r.quotas[e]; known {
			continue
		}
		s := selector{e.kind, match{name: e.name}, e.pair, match{name: e.client}}
		if count[e.typeName()] > 1 { // one request for all of them
			s.names, s.client = match{any: true}, match{any: true}
		}
		if err := r.askQuotas(ctx, s); err != nil {
			return err
		}
	}
	if !users {
		return nil
	}
	var names []string
	for _, e := range all {
		if e.kind == userKind && !e.pair && e.name != "" {
			names = append(names, e.name)
		}
	}
	return r.askCredentials(ctx, names...)
}

// askQuotas asks for the quotas of the entities that a selector may stand for.
func (r *reader) askQuotas(ctx context.Context, s selector) error {
	var of []kadm.DescribeClientQuotaComponent
	filter := "*"
	if !r.all { // else an entity inherits from all kinds of others
		of = append(of, component(s.kind, s.names))
		filter = fmt.Sprint(s.kind.quota, s.names.one(), s.names.name)
		if s.pair {
			of = append(of, component(clientKind, s.client))
			filter += fmt.Sprint(",", s.client.one(), s.client.name)
		}
	}
	if r.asked[filter] {
		return nil
	}
	answer, err := r.cl.DescribeClientQuotas(ctx, !r.all, of)
	switch {
	case client.Unsupported(err):
		return errNoQuotas
	case err != nil:
		return err
	}
	if r.asked == nil {
		r.asked, r.quotas = make(map[string]bool), make(map[Entity][]kadm.ClientQuotaValue)
	}
	r.asked[filter] = true
	for _, q := range answer {
		if e, ok := quotaEntity(q.Entity); ok {
			r.quotas[e] = q.Values
		}
	}
	return nil
}

// How a filter of quotas matches names. Source: Kafka 4.4.0, DescribeClientQuotasRequest.java.
const (
	matchExact kadm.QuotasMatchType = iota
	matchDefault
	matchAny
)

func component(k *kind, m match) kadm.DescribeClientQuotaComponent {
	c := kadm.DescribeClientQuotaComponent{Type: k.quota}
	switch {
	case !m.one():
		c.MatchType = matchAny
	case m.name == "":
		c.MatchType = matchDefault
	default:
		c.MatchType, c.MatchName = matchExact, &m.name
	}
	return c
}

// quotaEntity returns what an answer calls an entity; ok is false for kinds that other
// releases may have.
func quotaEntity(of kadm.ClientQuotaEntity) (e Entity, ok bool) {
	names := make(map[string]string)
	for _, c := range of {
		names[c.Type] = ""
		if c.Name != nil {
			names[c.Type] = *c.Name
		}
	}
	user, isUser := names[userKind.quota]
	id, isClient := names[clientKind.quota]
	ip, isIP := names[ipKind.quota]
	switch {
	case isUser && isClient && len(names) == 2:
		return Entity{userKind, user, true, id}, true
	case len(names) != 1:
		return Entity{}, false
	case isUser:
		return Entity{kind: userKind, name: user}, true
	case isClient:
		return Entity{kind: clientKind, name: id}, true
	case isIP:
		return Entity{kind: ipKind, name: ip}, true
	}
	return Entity{}, false
}

// askCredentials asks which credentials users have, all users if none is named. Who
// may read quotas but not that is told so.
func (r *reader) askCredentials(ctx context.Context, users ...string) error {
	if r.scram != nil {
		return nil
	}
	r.scram = make(map[string][]kadm.CredInfo)
	answer, err := r.cl.DescribeUserSCRAMs(ctx, users...)
	if _, denied := errors.AsType[*kadm.AuthError](err); denied || client.Unsupported(err) {
		r.warn("SCRAM credentials are not shown: %v", err)
		return nil
	}
	for _, u := range answer {
		if u.Err == nil { // else the user has none
			r.scram[u.User] = u.CredInfos
		}
	}
	return err
}
