package kafkaconf

import (
	"slices"
	"strconv"
)

// A Source says where a value comes from. The numbers are those of
// DescribeConfigs.
type Source int8

const (
	FromTopic          Source = 1 // set for the topic
	FromDynamic        Source = 2 // set for the broker while it runs
	FromDynamicDefault Source = 3 // set for all brokers while they run
	FromFile           Source = 4 // server.properties or the command line
	FromDefault        Source = 5 // nobody set it
	FromGroup          Source = 8 // set for the group
)

// Settings are the values that somebody set for brokers, by key, as they were
// written. A value that does not fit its key counts as not set.
type Settings struct {
	Dynamic        map[string]string // of this broker
	DynamicDefault map[string]string // of all brokers
	File           map[string]string
}

// A Value is what holds for a key, and why.
type Value struct {
	// Text is the value as Kafka shows it. It is there for sensitive keys too:
	// whoever shows values looks at [Key.Sensitive].
	Text string
	Null bool // there is no value
	// Source is that of the first synonym, FromDefault without one.
	Source Source
	// Synonyms are the settings that bear on the value, the one that wins first.
	// Those before the first one of the most important name are left out, as in
	// Kafka: if log.retention.hours is all that is set, then retention.ms has that
	// value, but no synonym and FromDefault for its source.
	Synonyms []Setting
}

// A Setting is what one place says about a key.
type Setting struct {
	Name   string // of the key, perhaps another one than that asked for
	Text   string // as it was written
	Source Source
}

// Topic returns what holds for a topic key if the topic has the given settings.
// What an earlier release took holds on, although nobody could set it today.
func (s *Settings) Topic(k Key, topic map[string]string) Value {
	return s.derived(k, topic, FromTopic)
}

// Group returns what holds for a group key if the group has the given settings, as
// it is shown: [Settings.GroupNumber] gives what counts.
func (s *Settings) Group(k Key, group map[string]string) Value {
	v := s.derived(k, group, FromGroup)
	if len(k.Synonyms) == 0 && k.HasDefault {
		v.Synonyms = append(v.Synonyms, Setting{k.Name, k.Default, FromDefault})
	}
	return v
}

// derived returns what holds for a key whose default other keys give.
func (s *Settings) derived(k Key, own map[string]string, from Source) Value {
	v := Value{Text: k.Default, Null: !k.HasDefault, Source: FromDefault}
	if len(k.Synonyms) > 0 {
		names := make([]string, len(k.Synonyms))
		for i, synonym := range k.Synonyms {
			names[i] = synonym.Name
		}
		if all := s.settings(names); len(all) > 0 {
			b := brokerIndex[all[0].Name]
			text, _ := b.Parse(all[0].Text) // settings leaves out what cannot be parsed
			if b.Type == List && k.Type != List {
				text = Split(text)[0]
			}
			i := slices.Index(names, b.Name)
			v.Text, v.Null = multiplied(text, k.Synonyms[i].Factor), false
			v.list(all, names[0])
		}
	}
	if raw, ok := own[k.Name]; ok {
		if k.oldMin != nil {
			k.Min = k.oldMin
		}
		if text, err := k.Parse(raw); err == nil {
			v.Text, v.Null, v.Source = text, false, from
			v.Synonyms = slices.Insert(v.Synonyms, 0, Setting{k.Name, text, from})
		}
	}
	return v
}

// Broker returns what holds for a broker key. Its synonyms are those of the
// setting: log.retention.hours has log.retention.ms and log.retention.minutes.
func (s *Settings) Broker(k Key) Value {
	v := Value{Text: k.Default, Null: !k.HasDefault, Source: FromDefault}
	if own := s.settings([]string{k.Name}); len(own) > 0 {
		v.Text, _ = k.Parse(own[0].Text)
		v.Null = false
	}
	v.list(s.settings(together(k.Name)), k.Name)
	return v
}

// settings returns what is set for broker keys: first by place, then in the
// order of the names.
func (s *Settings) settings(names []string) []Setting {
	var all []Setting
	for _, place := range []struct {
		source Source
		values map[string]string
	}{{FromDynamic, s.Dynamic}, {FromDynamicDefault, s.DynamicDefault}, {FromFile, s.File}} {
		for _, name := range names {
			k, known := brokerIndex[name]
			text, ok := place.values[name]
			if known && ok && k.Validate(text) == nil {
				all = append(all, Setting{name, text, place.source})
			}
		}
	}
	for _, name := range names {
		if k, known := brokerIndex[name]; known && k.HasDefault {
			all = append(all, Setting{name, k.Default, FromDefault})
		}
	}
	return all
}

// list sets the synonyms to what is set from the first entry of a name on.
func (v *Value) list(all []Setting, name string) {
	i := slices.IndexFunc(all, func(s Setting) bool { return s.Name == name })
	if i < 0 {
		return
	}
	v.Synonyms = all[i:]
	v.Source = all[i].Source
}

// together returns the broker keys for the same setting as the one of that name,
// the most important one first.
func together(name string) []string {
	for _, k := range topicKeys {
		if len(k.Synonyms) < 2 {
			continue
		}
		names := make([]string, len(k.Synonyms))
		for i, synonym := range k.Synonyms {
			names[i] = synonym.Name
		}
		// log.flush.scheduler.interval.ms is a setting of its own as well.
		if slices.Contains(names, name) && name != "log.flush.scheduler.interval.ms" {
			return names
		}
	}
	return []string{name}
}

// multiplied returns an integer that counts larger units in smaller ones.
func multiplied(text string, factor int64) string {
	if factor == 1 {
		return text
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return text
	}
	return strconv.FormatInt(n*factor, 10)
}
