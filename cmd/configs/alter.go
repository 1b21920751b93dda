package configs

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"kf/internal/cli"
	"kf/internal/client"
	"kf/internal/kafkaconf"
	"kf/internal/render"
)

// AlterOptions are the inputs of "kf configs alter".
type AlterOptions struct {
	DeleteAll bool // also all that is set
	IfSet     bool // leave out deletions of what is not set
	DryRun    bool // only ask whether it could be done
	Output    render.Format

	selectors []selector          // what to change
	changes   []change            // of all of them
	own       map[Entity][]change // from a file that names entities
	entities  []Entity            // the keys of own, in the order of the file
}

// An alterer is what Alter asks of the cluster.
type alterer interface {
	describer
	IncrementalAlterConfigs(ctx context.Context, validateOnly bool, all ...client.ConfigChanges) []error
	AlterClientQuotas(context.Context, []kadm.AlterClientQuotaEntry) (kadm.AlteredClientQuotas, error)
	ValidateAlterClientQuotas(context.Context, []kadm.AlterClientQuotaEntry) (kadm.AlteredClientQuotas, error)
	AlterUserSCRAMs(context.Context, []kadm.DeleteSCRAM, []kadm.UpsertSCRAM) (kadm.AlteredUserSCRAMs, error)
}

// Validate returns what is wrong with the options, as far as that needs no cluster.
func (o *AlterOptions) Validate() error {
	switch {
	case len(o.selectors) == 0 && o.own == nil:
		return errNothingNamed
	case len(o.changes) == 0 && o.own == nil && !o.DeleteAll:
		return errors.New("nothing to change: give --set, --delete, --append, --subtract, --from-file, --scram or --delete-all")
	case len(o.changes) > 0 && o.own != nil:
		return errors.New("the file names the entities: name them on the command line to change more of them than it says")
	}
	for _, s := range o.selectors {
		if s.names.any || s.pair && s.client.any {
			return fmt.Errorf("name each %s to change, or give --regex", s.kind.name)
		}
		if s.kind != o.selectors[0].kind || s.pair != o.selectors[0].pair {
			return errors.New("only entities of one type are changed at once")
		}
		// What holds for one that matches holds for all.
		e := Entity{s.kind, s.names.name, s.pair, s.client.name}
		if s.names.re != nil {
			e.name = "any"
		}
		if err := checkChanges(e, o.changes); err != nil {
			return err
		}
	}
	for _, e := range o.entities {
		if err := checkChanges(e, o.own[e]); err != nil {
			return err
		}
	}
	return nil
}

// An alteration is what is done to one entity.
type alteration struct {
	entity  Entity
	changes []change
	before  map[string]*entry // by key
}

// fail says why some of the changes were not done.
func (a *alteration) fail(env *cli.Env, err error, which func(*change) bool) {
	env.Errorf("%s: %v", a.entity, err)
	for i := range a.changes {
		if which(&a.changes[i]) {
			a.changes[i].err = err
		}
	}
}

func anyChange(*change) bool { return true }

// left returns the changes of a kind that are still to be done.
func (a *alteration) left(which func(*change) bool) []change {
	return slices.DeleteFunc(slices.Clone(a.changes), func(c change) bool { return c.err != nil || !which(&c) })
}

// Alter changes entities and prints what was and what is. Allow is asked before
// anything is changed. What one request changes of an entity is changed as a whole or
// not at all; if one fails the others are still done.
func Alter(ctx context.Context, env *cli.Env, cl alterer, allow func(what string, destroy bool) error, opts AlterOptions) error {
	all, err := plan(ctx, env, cl, &opts)
	if err != nil {
		return err
	}
	what, destroy := summary(all)
	switch {
	case opts.DryRun:
		env.Notef("dry run: nothing is changed")
	case what != "":
		if err := allow(what, destroy); err != nil {
			return err
		}
	}
	alterResources(ctx, env, cl, all, opts.DryRun)
	alterQuotas(ctx, env, cl, all, opts.DryRun)
	if !opts.DryRun {
		alterCredentials(ctx, env, cl, all)
	}
	return report(env, all, &opts)
}

// plan asks the cluster what is set now, and fails the alterations that cannot be done.
func plan(ctx context.Context, env *cli.Env, cl alterer, opts *AlterOptions) ([]*alteration, error) {
	r := &reader{cl: cl, warn: env.Warnf}
	entities, err := r.resolve(ctx, append(selectorsOf(opts.entities), opts.selectors...))
	if err != nil {
		return nil, err
	}
	var all []*alteration
	err = r.read(ctx, entities, func(d described) error {
		a := &alteration{entity: d.entity, before: make(map[string]*entry, len(d.entries))}
		all = append(all, a)
		for i := range d.entries {
			a.before[d.entries[i].key] = &d.entries[i]
		}
		a.changes = slices.Concat(opts.own[d.entity], opts.changes)
		if opts.DeleteAll {
			a.deleteAll(d)
		}
		denied := errors.Is(d.err, kerr.TopicAuthorizationFailed) || errors.Is(d.err, kerr.ClusterAuthorizationFailed) || errors.Is(d.err, kerr.GroupAuthorizationFailed)
		switch {
		case denied: // who may not read may still be allowed to write
			env.Warnf("%s: what was set before is not known: %v", d.entity, d.err)
		case d.err != nil:
			a.fail(env, d.err, anyChange)
		default:
			a.check(env, opts.IfSet)
		}
		return nil
	})
	return all, err
}

func selectorsOf(entities []Entity) []selector {
	all := make([]selector, len(entities))
	for i, e := range entities {
		all[i] = selector{e.kind, match{name: e.name}, e.pair, match{name: e.client}}
	}
	return all
}

// deleteAll adds the deletion of all that is set and not changed otherwise.
func (a *alteration) deleteAll(d described) {
	for i := range d.entries {
		x := &d.entries[i]
		if x.setHere(d.entity) && !slices.ContainsFunc(a.changes, func(c change) bool { return c.key == x.key }) {
			a.changes = append(a.changes, change{op: client.DeleteConfig, key: x.key, from: "--delete-all"})
		}
	}
}

// check fails the deletion of what is not set, unless it is to be left out, and warns
// of keys that look misspelt where the cluster would take them, and of records that
// will be deleted.
func (a *alteration) check(env *cli.Env, ifSet bool) {
	if ifSet {
		a.changes = slices.DeleteFunc(a.changes, func(c change) bool { return c.op == client.DeleteConfig && !a.set(c.key) })
	}
	for _, c := range a.changes {
		switch {
		case a.entity.kind == brokerLoggerKind && a.before[c.key] == nil:
			a.fail(env, fmt.Errorf("there is no logger %s%s", c.key, a.meant(c.key)), anyChange)
			return
		case c.op == client.DeleteConfig && !a.set(c.key):
			a.fail(env, fmt.Errorf("%s is not set, so it cannot be deleted (--if-set passes over that)%s", c.key, a.meant(c.key)), anyChange)
			return
		case c.op == client.SetConfig && a.entity.kind == brokerKind && !a.knows(c.key):
			env.Warnf("%s: brokers take any key, but none of Kafka is called %s%s", a.entity, c.key, a.meant(c.key))
		}
		if loss := a.loss(&c); loss != "" {
			env.Warnf("%s: %s", a.entity, loss)
		}
	}
}

// set says whether something is set for the entity itself.
func (a *alteration) set(key string) bool {
	x := a.before[key]
	return x != nil && x.setHere(a.entity)
}

// knows says whether a broker has a key.
func (a *alteration) knows(key string) bool {
	_, heeded := kafkaconf.BrokerKey(key)
	return heeded || a.before[key] != nil || kafkaconf.UnsupportedBrokerKey(key) || strings.HasPrefix(key, "listener.name.")
}

// meant returns a question for the key that a misspelt one may stand for, "" if there
// is none.
func (a *alteration) meant(key string) string {
	names := keyNames(a.entity.kind)
	names = slices.AppendSeq(names, maps.Keys(a.before))
	if slices.Contains(names, key) {
		return ""
	}
	if near := cli.Nearest(key, names); near != "" {
		return ": did you mean " + near + "?"
	}
	return ""
}

// keyNames are the keys that entities of a kind have in Kafka 4.4, sorted; of brokers
// the ones that "kf serve" heeds.
func keyNames(k *kind) []string {
	var keys []kafkaconf.Key
	switch k {
	case topicKind:
		keys = kafkaconf.TopicKeys()
	case groupKind:
		keys = kafkaconf.GroupKeys()
	case brokerKind:
		keys = kafkaconf.BrokerKeys()
	case clientMetricsKind:
		return []string{"interval.ms", "match", "metrics"}
	}
	var names []string
	for _, key := range keys {
		if !key.Internal && key.Mode != kafkaconf.ReadOnly || k != brokerKind && !key.Internal {
			names = append(names, key.Name)
		}
	}
	for _, q := range k.quotaKeys() {
		names = append(names, q.name)
	}
	return names
}

// summary says what is about to be done, "" if that is nothing, and whether it takes
// away what does not come back.
func summary(all []*alteration) (what string, destroy bool) {
	var names []string
	var words []string
	for _, a := range all {
		left := a.left(anyChange)
		if len(left) == 0 {
			continue
		}
		names = append(names, a.entity.String())
		for _, c := range left {
			if word := opNames[c.op] + " " + c.key; !slices.Contains(words, word) {
				words = append(words, word)
			}
			destroy = destroy || isCredential(&c) && c.op == client.DeleteConfig
		}
	}
	const most = 3
	if len(names) == 0 {
		return "", false
	}
	if len(names) > most {
		names = append(names[:most-1], fmt.Sprintf("%d more", len(names)-most+1))
	}
	if len(words) > most {
		words = append(words[:most-1], fmt.Sprintf("%d more changes", len(words)-most+1))
	}
	return strings.Join(words, ", ") + " of " + strings.Join(names, ", "), destroy
}

// alterResources changes configurations.
func alterResources(ctx context.Context, env *cli.Env, cl alterer, all []*alteration, dryRun bool) {
	var of []*alteration
	var send []client.ConfigChanges
	for _, a := range all {
		left := a.left(anyChange)
		if a.entity.kind.resource == 0 || len(left) == 0 {
			continue
		}
		to := client.ConfigChanges{Resource: a.entity.resource()}
		for _, c := range left {
			to.Changes = append(to.Changes, client.ConfigChange{Op: c.op, Key: c.key, Value: c.value})
		}
		of, send = append(of, a), append(send, to)
	}
	for part := range slices.Chunk(send, chunk) {
		for i, err := range cl.IncrementalAlterConfigs(ctx, dryRun, part...) {
			if err != nil {
				of[i].fail(env, of[i].explain(err), anyChange)
			}
		}
		of = of[len(part):]
	}
}

// explain adds to an error what may help.
func (a *alteration) explain(err error) error {
	if errors.Is(err, kerr.InvalidConfig) || errors.Is(err, kerr.InvalidRequest) {
		for _, c := range a.changes {
			if a.before[c.key] == nil && a.meant(c.key) != "" {
				return fmt.Errorf("%w%s", err, a.meant(c.key))
			}
			if unbracket(c.value) != c.value && strings.Contains(err.Error(), c.key) {
				return fmt.Errorf("%w: --set takes values as they are, without brackets", err)
			}
		}
	}
	if client.Unsupported(err) {
		return errors.New("the brokers do not support IncrementalAlterConfigs, and kf uses nothing that could lose the changes of others")
	}
	return err
}

// report prints a row for each change.
func report(env *cli.Env, all []*alteration, opts *AlterOptions) error {
	rows := render.New[alterRow](env.Stdout, opts.Output, render.Options{Command: "configs alter", Color: env.ColorStdout()})
	failed, unchecked := false, false
	for _, a := range all {
		for i := range a.changes {
			to := a.row(&a.changes[i], opts.DryRun)
			failed = failed || to.Result == resultFailed
			unchecked = unchecked || to.Result == resultUnchecked
			if err := rows.Write(to); err != nil {
				return err
			}
		}
		if len(a.changes) == 0 {
			env.Notef("%s: nothing to change", a.entity)
		}
	}
	if unchecked {
		env.Warnf("Kafka cannot say beforehand whether it takes a credential: only its form was checked")
	}
	return finish(rows.Close, nil, failed)
}

// An alterRow is a change and how it went.
type alterRow struct {
	Entity     string  `col:"entity"`
	EntityType string  `col:"entity_type,data"`
	EntityName *string `col:"entity_name,data"`
	Client     *string `col:"client,data"`
	Key        string  `col:"key"`
	Operation  string  `col:"operation,data"`
	Before     *string `col:"before"`             // null: none, not known, or a secret
	BeforeFrom *string `col:"before_source,data"` // where it is set
	After      *string `col:"after"`
	Source     *string `col:"source"` // where the value after it is set; null: nowhere, or not known
	Result     string  `col:"result"`
	Error      error   `col:"error,data"`
}

// What became of a change.
const (
	resultChanged   = "changed"
	resultUnchanged = "unchanged" // it was so already
	resultValid     = "valid"     // in a dry run: it would be done
	resultUnchecked = "unchecked" // in a dry run: nobody can say
	resultFailed    = "failed"
)

func (a *alteration) row(c *change, dryRun bool) alterRow {
	to := alterRow{
		Entity: a.entity.String(), EntityType: a.entity.typeName(), EntityName: unlessEmpty(a.entity.name), Client: unlessEmpty(a.entity.client),
		Key: c.key, Operation: opNames[c.op], Error: c.err,
	}
	x := a.before[c.key]
	if x != nil {
		to.Before, to.BeforeFrom = x.value, &x.source
	}
	if c.err != nil {
		to.After, to.Result = to.Before, resultFailed
		return to
	}
	to.After, to.Source = a.after(c)
	switch {
	case dryRun && isCredential(c):
		to.Result = resultUnchecked
	case dryRun:
		to.Result = resultValid
	case x != nil && a.set(c.key) && c.op != client.DeleteConfig && !isCredential(c) && to.After != nil && equal(to.Before, to.After):
		to.Result = resultUnchanged
	default:
		to.Result = resultChanged
	}
	return to
}

// after returns the value behind a change, and where it is set.
func (a *alteration) after(c *change) (value, source *string) {
	here := a.entity.String()
	if a.entity.kind.resource != 0 {
		here = a.entity.source().String()
	}
	x := a.before[c.key]
	switch {
	case c.op == client.DeleteConfig && (x == nil || a.entity.kind.resource == 0):
		return nil, nil
	case c.op == client.DeleteConfig:
		for i, s := range x.synonyms {
			if s.Source != here {
				return x.synonyms[i].Value, &x.synonyms[i].Source
			}
		}
		return nil, nil
	case isCredential(c):
		return new(fmt.Sprintf("iterations=%d", c.iterations)), &here
	case secret(x, c.key):
		return nil, &here
	case a.entity.kind.resource == 0:
		f, _ := parseQuota(c.value) // which checkChanges did before
		return new(number(f)), &here
	case c.op == client.SetConfig:
		return &c.value, &here
	}
	return a.listed(c), &here
}

// listed returns a list after elements were added or taken away as a controller does
// it: if none is set Kafka's default is what it begins with. It is nil if that is not
// known.
//
// Source: Kafka 4.4.0, ConfigurationControlManager.java.
func (a *alteration) listed(c *change) *string {
	var old *string
	x := a.before[c.key]
	switch key, known := tableKey(a.entity, c.key); {
	case a.set(c.key):
		old = x.value
	case x != nil:
		old, _ = defaultOf(a.entity, x)
	case !known:
		return nil
	case key.HasDefault:
		old = &key.Default
	}
	var list []string
	if old != nil {
		list = slices.DeleteFunc(strings.Split(*old, ","), func(s string) bool { return s == "" })
	}
	for item := range strings.SplitSeq(c.value, ",") {
		at := slices.Index(list, item)
		switch {
		case c.op == client.AppendConfig && at < 0:
			list = append(list, item)
		case c.op == client.SubtractConfig && at >= 0:
			list = slices.Delete(list, at, at+1)
		}
	}
	return new(strings.Join(list, ","))
}

// secret says whether the value of a key is not to be shown.
func secret(x *entry, key string) bool {
	if x != nil {
		return x.sensitive
	}
	return strings.HasSuffix(key, "password") || strings.HasSuffix(key, ".key") || strings.Contains(key, "secret") || strings.HasSuffix(key, "jaas.config")
}

func isCredential(c *change) bool {
	_, ok := mechanisms[c.key]
	return ok
}
