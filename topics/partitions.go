package topics

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kadm"

	"kf/internal/cli"
	"kf/internal/client"
)

// partitionsHelp says how arguments name partitions.
const partitionsHelp = `A word is a topic or a pattern, of all partitions or with some behind a colon:
orders:3, orders:0-3 (0, 1 and 2, as Kafka's scripts count), orders:5- (from 5 on), :0
(of every topic); several may be joined by commas.`

// partitioned is matcher for words that may name partitions; only, unless it is
// empty, are the partitions to which all of them are limited.
func (s Selection) partitioned(only []int32) (*matcher, error) {
	m := &matcher{internal: s.Internal, only: only}
	for _, word := range s.Words {
		parts := []string{word}
		if strings.Contains(word, ":") {
			parts = strings.Split(word, ",")
		}
		for _, part := range parts {
			r, err := s.partitionRule(part)
			if err != nil {
				return nil, cli.Usage(err)
			}
			m.rules = append(m.rules, r)
		}
	}
	for _, p := range only {
		if p < 0 {
			return nil, cli.Usagef("--partitions: %d is no partition", p)
		}
	}
	return m, nil
}

// partitionRule reads "topic", "topic:3", "topic:0-3", "topic:5-", "topic:-3" or ":3".
//
// Source: Kafka 4.4.0, GetOffsetShell.java.
func (s Selection) partitionRule(word string) (rule, error) {
	topic, partitions, colon := strings.Cut(strings.TrimSpace(word), ":")
	r := rule{to: math.MaxInt32}
	if topic != "" || !colon {
		var err error
		if r, err = s.rule(topic); err != nil {
			return r, err
		}
	}
	r.word = word
	if partitions == "" {
		return r, nil
	}
	number := func(text string, or int32) (int32, error) {
		if text == "" {
			return or, nil
		}
		n, err := strconv.ParseUint(text, 10, 31)
		if err != nil {
			return 0, fmt.Errorf("%q: %q is no partition: want one like orders:3, orders:0-3, orders:5- or orders:-3", word, text)
		}
		return int32(n), nil
	}
	from, to, between := strings.Cut(partitions, "-")
	var err error
	if r.from, err = number(from, 0); err != nil {
		return r, err
	}
	if !between {
		if r.from == math.MaxInt32 {
			return r, fmt.Errorf("%q: there is no such partition", word)
		}
		r.to = r.from + 1
		return r, nil
	}
	if r.to, err = number(to, math.MaxInt32); err == nil && r.to <= r.from {
		err = fmt.Errorf("%q: no partition is in %s, which is without its end", word, partitions)
	}
	return r, err
}

// has reports whether the selection has a partition.
func (m *matcher) has(t *client.Topic, partition int32) bool {
	if m.only != nil && !slices.Contains(m.only, partition) {
		return false
	}
	return m.all() || slices.ContainsFunc(m.rules, func(r rule) bool {
		return r.from <= partition && partition < r.to && m.takes(r, t)
	})
}

// narrow leaves those partitions in topics that the selection has, and tells of words
// that have none.
func (m *matcher) narrow(topics []client.Topic, report *failures) []client.Topic {
	for _, r := range m.rules {
		found, there := false, false
		for _, t := range topics {
			if m.takes(r, &t) {
				there = true
				found = found || slices.ContainsFunc(t.Partitions, func(p client.Partition) bool {
					return r.from <= p.ID && p.ID < r.to && (m.only == nil || slices.Contains(m.only, p.ID))
				})
			}
		}
		if !found && (there || r.name == "") { // a topic that is not there has been told of
			report.add("%s: no partition matches", r.word)
		}
	}
	var some []client.Topic
	for _, t := range topics {
		t.Partitions = slices.DeleteFunc(slices.Clone(t.Partitions), func(p client.Partition) bool { return !m.has(&t, p.ID) })
		if len(t.Partitions) > 0 {
			some = append(some, t)
		}
	}
	if m.all() && len(some) == 0 && m.only != nil {
		report.add("no topic has partition %s", joined(m.only))
	}
	return some
}

// ledPartitions returns those partitions of topics that have a leader to ask.
func ledPartitions(topics []client.Topic) kadm.TopicsSet {
	set := make(kadm.TopicsSet)
	for _, t := range topics {
		for _, p := range t.Partitions {
			if p.Leader >= 0 {
				set.Add(t.Name, p.ID)
			}
		}
	}
	return set
}

// joined returns numbers with commas between them.
func joined(ids []int32) string {
	var b strings.Builder
	for i, id := range ids {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.Itoa(int(id)))
	}
	return b.String()
}
