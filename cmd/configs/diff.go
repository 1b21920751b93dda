package configs

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"kf/internal/cli"
	"kf/internal/kafkaconf"
	"kf/internal/render"
)

// diffDefaults is what --diff calls the defaults of Kafka.
const diffDefaults = "defaults"

// A diffRow is a key whose values differ.
type diffRow struct {
	Entity      string  `col:"entity"`
	EntityType  string  `col:"entity_type,data"`
	EntityName  *string `col:"entity_name,data"`
	Client      *string `col:"client,data"`
	Key         string  `col:"key"`
	Value       *string `col:"value"` // null: none
	Source      *string `col:"source"`
	Other       string  `col:"other,data"` // an entity, or defaults
	OtherValue  *string `col:"other_value"`
	OtherSource *string `col:"other_source"`
}

// diff prints the keys of entities whose values are not those of another entity, or
// the defaults. That there are any is a finding.
func diff(ctx context.Context, env *cli.Env, r *reader, opts DescribeOptions) error {
	selectors := opts.selectors
	var other Entity
	if opts.Diff != diffDefaults {
		var err error
		if other, err = parseEntity(opts.Diff); err != nil {
			return err
		}
		selectors = append([]selector{{other.kind, match{name: other.name}, other.pair, match{name: other.client}}}, selectors...)
	}
	entities, err := r.resolve(ctx, selectors)
	if err != nil {
		return err
	}
	rows := render.New[diffRow](env.Stdout, opts.Output, render.Options{Command: "configs describe --diff", Color: env.ColorStdout()})
	var base []entry
	failed, found := false, false
	err = r.read(ctx, entities, func(d described) error {
		if d.err == nil {
			d.err = r.exists(ctx, d)
		}
		switch {
		case d.err != nil && opts.Diff != diffDefaults && d.entity == other:
			return fmt.Errorf("%s: %w", other, d.err)
		case d.err != nil:
			failed = true
			env.Errorf("%s: %v", d.entity, d.err)
			return nil
		case opts.Diff != diffDefaults && d.entity == other:
			base = d.entries
			return nil
		}
		against := base
		if opts.Diff == diffDefaults {
			against = defaultsOf(d)
		}
		pairs, secrets := differences(d.entries, against)
		if len(secrets) > 0 {
			env.Warnf("%s: secrets cannot be compared: %s", d.entity, strings.Join(secrets, ", "))
		}
		for _, p := range pairs {
			found = true
			to := diffRow{
				Entity: d.entity.String(), EntityType: d.entity.typeName(), EntityName: unlessEmpty(d.entity.name),
				Client: unlessEmpty(d.entity.client), Key: p.key(), Other: opts.Diff,
			}
			if p.here != nil {
				to.Value, to.Source = p.here.value, &p.here.source
			}
			if p.there != nil {
				to.OtherValue, to.OtherSource = p.there.value, &p.there.source
			}
			if err := rows.Write(to); err != nil {
				return err
			}
		}
		return nil
	})
	if err = finish(rows.Close, err, failed); err == nil && found {
		err = cli.ErrFindings
	}
	return err
}

// A pairing is a key of two entities; one of them may not have it.
type pairing struct{ here, there *entry }

func (p pairing) key() string {
	if p.here != nil {
		return p.here.key
	}
	return p.there.key
}

// differences returns the keys whose values differ, sorted, and those of which nobody
// can say.
func differences(here, there []entry) (all []pairing, secrets []string) {
	i, j := 0, 0
	for i < len(here) || j < len(there) {
		switch {
		case j == len(there) || i < len(here) && here[i].key < there[j].key:
			all = append(all, pairing{here: &here[i]})
			i++
			continue
		case i == len(here) || here[i].key > there[j].key:
			all = append(all, pairing{there: &there[j]})
			j++
			continue
		}
		a, b := &here[i], &there[j]
		switch {
		case a.hidden() && b.hidden():
			secrets = append(secrets, a.key)
		case a.hidden() != b.hidden() || !equal(a.value, b.value):
			all = append(all, pairing{a, b})
		}
		i, j = i+1, j+1
	}
	return all, secrets
}

// hidden says whether the entry has a value that is not shown.
func (x *entry) hidden() bool { return x.sensitive && x.value == nil && len(x.synonyms) > 0 }

func equal(a, b *string) bool {
	return a == b || a != nil && b != nil && *a == *b
}

// defaultsOf returns what holds for an entity where nothing is set: in no file, and for
// nothing that it inherits from.
func defaultsOf(d described) []entry {
	var all []entry
	for _, x := range d.entries {
		value, ok := defaultOf(d.entity, &x)
		if !ok {
			continue // loggers: nobody says what they would be
		}
		all = append(all, entry{key: x.key, value: value, source: unlimited, sensitive: x.sensitive})
	}
	return all
}

// defaultOf returns Kafka's default of an entry, nil for none.
func defaultOf(e Entity, x *entry) (value *string, ok bool) {
	if x.source == unlimited {
		return x.value, true
	}
	last := slices.IndexFunc(x.synonyms, func(s synonym) bool { return s.Source == unlimited })
	switch {
	case last >= 0:
		// Hours of a broker's key are not the milliseconds of a topic's.
		if key, known := tableKey(e, x.key); known && x.synonyms[last].Key != x.key && key.HasDefault {
			return &key.Default, true
		}
		return x.synonyms[last].Value, true
	case e.kind == brokerLoggerKind:
		return nil, false
	}
	if key, known := tableKey(e, x.key); known && key.HasDefault {
		return &key.Default, true
	}
	return nil, true
}

// tableKey returns what is known of a key of Kafka 4.4 without asking a broker.
func tableKey(e Entity, name string) (kafkaconf.Key, bool) {
	switch e.kind {
	case topicKind:
		return kafkaconf.TopicKey(name)
	case groupKind:
		return kafkaconf.GroupKey(name)
	case brokerKind:
		return kafkaconf.BrokerKey(name)
	}
	return kafkaconf.Key{}, false
}
